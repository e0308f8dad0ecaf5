-- Traces of the trials of an experiment. Parameter: the experiment.
SELECT r.trial_id, r.turn, r.trace_id
FROM eval_trial_traces r
JOIN eval_trials t ON t.trial_id = r.trial_id
WHERE t.experiment_id = ?
ORDER BY r.trial_id, r.turn, r.trace_id;
