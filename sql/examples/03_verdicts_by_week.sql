-- Weeks begin on Monday.
SELECT
    CAST(DATE_TRUNC('week', v.korean_date) AS DATE) AS week,
    v.rule,
    COUNT(*) AS runs,
    ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY week), 1)
        AS percent,
    COUNT(*) - LAG(COUNT(*)) OVER (PARTITION BY v.rule ORDER BY week)
        AS change
FROM verdicts v
GROUP BY week, v.rule
ORDER BY v.rule, week;
