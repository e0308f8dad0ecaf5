-- Adds a case of an experiment.
-- Parameters: the columns in order.
INSERT INTO eval_experiment_cases (experiment_id, case_id, case_sha256)
VALUES (?, ?, ?);
