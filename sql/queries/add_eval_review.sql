-- Adds a review behind the newest one, also when the clock was set back.
-- Parameters: the columns in order.
INSERT INTO eval_reviews
SELECT $1, $2, $3, $4, $5,
    GREATEST($6, COALESCE(MAX(r.reviewed_ns) + 1, $6))
FROM eval_reviews r
WHERE r.trial_id = $1;
