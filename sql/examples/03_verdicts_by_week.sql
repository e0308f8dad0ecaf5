-- Weeks begin on Monday.
WITH counted AS (
    SELECT
        CAST(DATE_TRUNC('week', v.korean_date) AS DATE) AS week,
        v.rule,
        COUNT(*) AS runs
    FROM verdicts v
    GROUP BY week, v.rule
),
-- A rule that no run of a week had counts 0.
filled AS (
    SELECT w.week, r.rule, COALESCE(c.runs, 0) AS runs
    FROM (SELECT DISTINCT week FROM counted) w
    CROSS JOIN (SELECT DISTINCT rule FROM counted) r
    LEFT JOIN counted c ON c.week = w.week AND c.rule = r.rule
)
SELECT
    f.rule,
    f.week,
    f.runs,
    ROUND(100.0 * f.runs / SUM(f.runs) OVER (PARTITION BY f.week), 1)
        AS percent,
    f.runs - LAG(f.runs) OVER (PARTITION BY f.rule ORDER BY f.week)
        AS change
FROM filled f
ORDER BY f.rule, f.week;
