-- Checks of the trials of an experiment. Parameter: the experiment.
SELECT c.trial_id, c.check_id, c.kind, c.severity, c.verdict, c.reason,
    c.events, c.measured
FROM eval_checks c
WHERE c.experiment_id = ?
ORDER BY c.trial_id, c.place;
