-- The traces to which the file committed last brought something new.
SELECT t.trace_id
FROM touched t
JOIN (
    SELECT s.trace_id AS trace_id
    FROM spans s
    WHERE s.source_id = (SELECT MAX(o.source_id) FROM sources o)
    UNION
    SELECT l.trace_id AS trace_id
    FROM span_links l
    WHERE l.source_id = (SELECT MAX(o.source_id) FROM sources o)
) n ON n.trace_id = t.trace_id
ORDER BY t.trace_id;
