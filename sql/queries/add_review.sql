-- Adds a review behind the newest one, also when the clock was set back.
-- Parameters: the columns in order.
INSERT INTO reviews
SELECT $1, $2, $3, $4, $5, $6, $7,
    GREATEST($8, COALESCE(MAX(v.reviewed_ns) + 1, $8))
FROM reviews v;
