-- Traces that the file just read touched: what is settled is theirs.
-- Parameter: source_id of the file.
CREATE OR REPLACE TEMP TABLE touched AS
SELECT s.trace_id AS trace_id FROM spans s WHERE s.source_id = $source_id
UNION
SELECT l.trace_id AS trace_id FROM span_links l
WHERE l.source_id = $source_id AND EXISTS (
    SELECT 1 FROM traces t WHERE t.trace_id = l.trace_id
)
UNION
SELECT c.trace_id AS trace_id FROM chat_calls c
WHERE c.source_id = $source_id AND EXISTS (
    SELECT 1 FROM traces t WHERE t.trace_id = c.trace_id
)
UNION
SELECT f.trace_id AS trace_id FROM chat_failures f
WHERE f.source_id = $source_id AND EXISTS (
    SELECT 1 FROM traces t WHERE t.trace_id = f.trace_id
);
