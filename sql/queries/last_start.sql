-- Start of the last run.
SELECT MAX(r.start_ns)
FROM (
    SELECT MIN(s.start_ns) AS start_ns
    FROM spans s
    GROUP BY s.trace_id
) r;
