-- Traces that the file just read touched; those that are new get the tool set
-- in force. Parameters: source_id of the file, its batch.
CREATE OR REPLACE TEMP TABLE touched AS
SELECT s.trace_id AS trace_id FROM spans s WHERE s.source_id = $source_id
UNION
SELECT l.trace_id AS trace_id FROM span_links l
WHERE l.source_id = $source_id AND EXISTS (
    SELECT 1 FROM traces t WHERE t.trace_id = l.trace_id
);
INSERT INTO traces
SELECT u.trace_id, b.tool_set, b.batch_id
FROM touched u
JOIN batches b ON b.batch_id = $batch_id
WHERE NOT EXISTS (SELECT 1 FROM traces t WHERE t.trace_id = u.trace_id);
