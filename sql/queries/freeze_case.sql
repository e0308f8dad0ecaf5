-- Keeps a version of a case unless it is there.
-- Parameters: the columns in order.
INSERT INTO eval_cases
SELECT $1, $2, $3, $4, $5
WHERE NOT EXISTS (SELECT 1 FROM eval_cases c WHERE c.sha256 = $1);
