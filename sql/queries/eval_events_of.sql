-- Events of the trials of an experiment. Parameter: the experiment.
SELECT e.trial_id, e.seq, e.at_ms, e.turn, e.kind, e.event
FROM eval_events e
WHERE e.experiment_id = ?
ORDER BY e.trial_id, e.seq;
