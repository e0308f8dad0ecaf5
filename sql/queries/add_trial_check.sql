-- Adds a check of a trial.
-- Parameters: the columns in order.
INSERT INTO eval_trial_checks (
    trial_id, place, check_id, kind, severity,
    verdict, reason, events, measured
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);
