-- Ids of spans of the file just read that the store already has. Those in
-- span_links go; those in spans are compared first.
-- Parameter: source_id of the file.
CREATE OR REPLACE TEMP TABLE repeated_ids AS
SELECT n.trace_id AS trace_id, n.span_id AS span_id
FROM known k
JOIN spans n ON n.trace_id = k.trace_id
JOIN spans o ON o.trace_id = n.trace_id AND o.span_id = n.span_id
WHERE n.source_id = $source_id AND o.source_id < $source_id;
CREATE OR REPLACE TEMP TABLE repeated_links AS
SELECT DISTINCT n.trace_id AS trace_id, n.span_id AS span_id
FROM known k
JOIN span_links n ON n.trace_id = k.trace_id
JOIN span_links o ON o.trace_id = n.trace_id AND o.span_id = n.span_id
WHERE n.source_id = $source_id AND o.source_id < $source_id;
DELETE FROM span_links l
WHERE l.source_id = $source_id AND EXISTS (
    SELECT 1 FROM repeated_links r
    WHERE r.trace_id = l.trace_id AND r.span_id = l.span_id
);
