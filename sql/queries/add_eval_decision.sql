-- Adds a decision on an experiment. Its time is moved behind the newest one
-- when the clock was set back: the newest counts.
-- Parameters: the columns in order.
INSERT INTO eval_decisions
SELECT $1, $2, $3, $4, $5,
    GREATEST($6, COALESCE(MAX(d.decided_ns) + 1, $6))
FROM eval_decisions d
WHERE d.experiment_id = $1;
