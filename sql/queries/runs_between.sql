-- Whether any run began in a period. Parameters: its first instant, and the
-- one behind it; NULL for an open end.
SELECT COUNT(*) > 0
FROM (
    SELECT MIN(s.start_ns) AS start_ns
    FROM spans s
    GROUP BY s.trace_id
) r
WHERE r.start_ns >= COALESCE($1, r.start_ns)
    AND (CAST($2 AS BIGINT) IS NULL OR r.start_ns < CAST($2 AS BIGINT));
