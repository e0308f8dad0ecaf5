-- Experiments, the oldest first.
SELECT e.experiment_id, e.project_id, e.role, e.target, e.target_kind,
    e.config_sha256, e.config, e.allow_private_target, e.trials, e.threshold,
    e.started_at, e.started_ns
FROM eval_experiments e
ORDER BY e.started_ns, e.experiment_id;
