-- The newest decision on an experiment, and whether an attempt began after it.
-- Parameter: the experiment.
SELECT d.experiment_id, d.baseline_experiment_id, d.decided, d.decided_at,
    d.decided_ns,
    EXISTS (
        SELECT 1
        FROM eval_trial_starts s
        WHERE s.experiment_id = d.experiment_id
            AND s.started_ns > d.decided_ns
    )
FROM eval_decisions d
WHERE d.experiment_id = ?
ORDER BY d.decided_ns DESC, d.decided_at DESC, d.decided DESC
LIMIT 1;
