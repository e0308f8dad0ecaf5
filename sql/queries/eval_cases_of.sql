-- Cases of an experiment. Parameter: the experiment.
SELECT c.case_id, c.case_sha256
FROM eval_experiment_cases c
WHERE c.experiment_id = ?
ORDER BY c.case_id, c.case_sha256;
