-- Adds a trial that begins.
-- Parameters: the columns in order.
INSERT INTO eval_trial_starts (
    trial_id, experiment_id, case_id, trial, attempt, started_at, started_ns
) VALUES (?, ?, ?, ?, ?, ?, ?);
