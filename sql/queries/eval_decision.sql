-- The newest decision on an experiment.
-- Parameter: the experiment.
SELECT d.experiment_id, d.baseline_experiment_id, d.decision, d.decided,
    d.decided_at, d.decided_ns
FROM eval_decisions d
WHERE d.experiment_id = $1
ORDER BY d.decided_ns DESC
LIMIT 1;
