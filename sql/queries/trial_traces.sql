-- Traces that a trial was written as, a turn each.
-- Parameter: the trial.
SELECT t.turn, t.trace_id
FROM eval_trial_traces t
WHERE t.trial_id = $1
ORDER BY t.turn, t.trace_id;
