-- Parents that are not the recorded ones, of traces that are settled already.
-- Parameter: source_id of the file.
UPDATE spans
SET parent_span_id = m.parent_span_id, parent_lost = m.parent_lost
FROM moved m
WHERE spans.source_id = $source_id
    AND spans.trace_id = m.trace_id
    AND spans.span_id = m.span_id;
