-- What all attempts of an experiment used. Parameter: the experiment.
SELECT COUNT(*), CAST(COALESCE(SUM(d.input_tokens), 0) AS BIGINT),
    CAST(COALESCE(SUM(d.output_tokens), 0) AS BIGINT),
    CAST(SUM(d.cost_usd) AS VARCHAR),
    COUNT(*) FILTER (WHERE d.cost_usd IS NULL),
    CAST(COALESCE(SUM(d.duration_ms), 0) AS BIGINT)
FROM eval_trial_starts s
JOIN eval_trial_ends d ON d.trial_id = s.trial_id
WHERE s.experiment_id = ?;
