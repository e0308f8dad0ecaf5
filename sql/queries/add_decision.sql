-- Adds a decision behind the newest one, also when the clock was set back.
-- Parameters: the columns in order.
INSERT INTO hq_decisions
SELECT $1, $2, $3, $4, $5, $6,
    GREATEST($7, COALESCE(MAX(d.decided_ns) + 1, $7))
FROM hq_decisions d;
