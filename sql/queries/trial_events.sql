-- Events of a trial, in order.
-- Parameter: the trial.
SELECT v.seq, v.at_ms, v.turn, v.kind, v.event
FROM eval_trial_events v
WHERE v.trial_id = $1
ORDER BY v.seq;
