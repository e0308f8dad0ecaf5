SELECT
    t.case_id,
    t.role,
    COUNT(*) AS planned,
    COUNT(*) FILTER (WHERE t.verdict = 'PASS') AS passed,
    COUNT(*) FILTER (WHERE t.verdict = 'FAIL') AS failed,
    COUNT(*) FILTER (WHERE t.verdict IS DISTINCT FROM 'PASS'
        AND t.verdict IS DISTINCT FROM 'FAIL') AS undecided,
    CAST(AVG(t.duration_ms) AS BIGINT) AS mean_ms,
    SUM(t.cost_usd) AS cost_usd
FROM eval_trials t
GROUP BY t.case_id, t.role
ORDER BY t.case_id, t.role;
