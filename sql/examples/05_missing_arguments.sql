SELECT
    f.tool_name,
    UNNEST(f.missing_keys) AS missing_key,
    COUNT(*) AS calls,
    COUNT(DISTINCT f.trace_id) AS runs,
    COUNT(DISTINCT f.agent_name) AS agents,
    MAX(f.korean_date) AS last_seen
FROM findings f
WHERE f.rule = 'args_mismatch'
    AND f.review IS DISTINCT FROM 'dismissed'
GROUP BY f.tool_name, missing_key
ORDER BY calls DESC, f.tool_name, missing_key;
