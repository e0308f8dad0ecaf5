-- Adds an event of a trial.
-- Parameters: the columns in order.
INSERT INTO eval_trial_events (trial_id, seq, at_ms, turn, kind, event)
VALUES (?, ?, ?, ?, ?, ?);
