-- The newest candidate with exactly this configuration.
-- Parameters: sha256 of the configuration; the project, NULL for any.
SELECT e.experiment_id
FROM eval_experiments e
WHERE e.role = 'candidate'
    AND e.config_sha256 = $1
    AND ($2 IS NULL OR e.project_id = $2)
ORDER BY e.started_ns DESC, e.experiment_id DESC
LIMIT 1;
