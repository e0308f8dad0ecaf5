-- Adds a trace that a trial was written as.
-- Parameters: the columns in order.
INSERT INTO eval_trial_traces (trial_id, turn, trace_id) VALUES (?, ?, ?);
