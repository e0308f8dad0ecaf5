-- How many of the traces that the store knew have a span of the file just
-- read.
-- Parameter: source_id of the file.
SELECT COUNT(DISTINCT s.trace_id)
FROM spans s
WHERE s.source_id = ? AND s.trace_id IN (SELECT k.trace_id FROM known k);
