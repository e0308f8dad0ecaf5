-- Trials of an experiment that ended, of which a trace is not in the store.
-- Parameter: the experiment.
SELECT s.trial_id, s.experiment_id, s.case_id, s.trial, s.attempt,
    s.started_at, s.started_ns
FROM eval_trial_starts s
WHERE s.experiment_id = $1
    AND EXISTS (
        SELECT 1
        FROM eval_trial_traces t
        LEFT JOIN traces r ON r.trace_id = t.trace_id
        WHERE t.trial_id = s.trial_id AND r.trace_id IS NULL
    )
ORDER BY s.case_id, s.trial, s.attempt, s.trial_id;
