-- Cases of experiments: of one, or of all.
-- Parameter: the experiment; NULL for all.
SELECT c.experiment_id, c.case_id, c.case_sha256
FROM eval_experiment_cases c
WHERE $1 IS NULL OR c.experiment_id = $1
ORDER BY c.experiment_id, c.case_id;
