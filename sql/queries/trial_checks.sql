-- Checks of a trial, in the order of the case.
-- Parameter: the trial.
SELECT c.check_id, c.kind, c.severity, c.verdict, c.reason, c.events,
    c.measured
FROM eval_trial_checks c
WHERE c.trial_id = $1
ORDER BY c.place;
