-- Start of the first and of the last run; NULL without one.
SELECT MIN(r.start_ns), MAX(r.start_ns)
FROM (
    SELECT MIN(s.start_ns) AS start_ns
    FROM spans s
    GROUP BY s.trace_id
) r;
