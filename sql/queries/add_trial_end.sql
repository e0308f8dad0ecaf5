-- Adds the end of a trial, unless it has one.
-- Parameters: the columns in order.
INSERT INTO eval_trial_ends
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
    CAST($11 AS DECIMAL(24, 12)), $12
WHERE NOT EXISTS (SELECT 1 FROM eval_trial_ends e WHERE e.trial_id = $1);
