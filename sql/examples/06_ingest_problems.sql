SELECT
    i.severity,
    i.code,
    COUNT(*) AS issues,
    COUNT(DISTINCT i.source) AS files,
    ARG_MIN(i.source || ':' || i.line, (i.source, i.line)) AS first_place
FROM ingest_issues i
GROUP BY i.severity, i.code
ORDER BY
    CASE i.severity WHEN 'data_loss' THEN 1 WHEN 'warning' THEN 2 ELSE 3 END,
    issues DESC,
    i.code;
