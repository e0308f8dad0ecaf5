-- Adds an experiment.
-- Parameters: the columns in order.
INSERT INTO eval_experiments (
    experiment_id, project_id, role, target, target_kind, config_sha256,
    config, allow_private_target, trials, threshold, started_at, started_ns
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
