-- Whether the spans of repeated_ids have the same content as those that the
-- store already has; they go. Place, derived and bookkeeping columns do not
-- count.
-- Parameter: source_id of the file.
CREATE OR REPLACE TEMP TABLE repeated_spans AS
SELECT
    n.trace_id AS trace_id,
    n.span_id AS span_id,
    n.line AS line,
    (n.operation = o.operation
        AND n.status = o.status
        AND n.start_ns = o.start_ns
        AND n.end_ns = o.end_ns
        AND n.agent_name IS NOT DISTINCT FROM o.agent_name
        AND n.tool_name IS NOT DISTINCT FROM o.tool_name
        AND COALESCE(n.tool_args_raw,
                CASE WHEN n.args_from_messages THEN NULL ELSE n.tool_args END)
            IS NOT DISTINCT FROM COALESCE(o.tool_args_raw,
                CASE WHEN o.args_from_messages THEN NULL ELSE o.tool_args END)
        AND n.recorded_parent_span_id
            IS NOT DISTINCT FROM o.recorded_parent_span_id
        AND n.call_id IS NOT DISTINCT FROM o.call_id
        AND n.tool_result IS NOT DISTINCT FROM o.tool_result
        AND n.error_type IS NOT DISTINCT FROM o.error_type
        AND n.failure IS NOT DISTINCT FROM o.failure
        AND n.status_message IS NOT DISTINCT FROM o.status_message
        AND n.service_name IS NOT DISTINCT FROM o.service_name
        AND n.scope_name IS NOT DISTINCT FROM o.scope_name) AS same_content
FROM repeated_ids r
JOIN spans n ON n.trace_id = r.trace_id AND n.span_id = r.span_id
JOIN spans o ON o.trace_id = r.trace_id AND o.span_id = r.span_id
WHERE n.source_id = $source_id AND o.source_id < $source_id;
DELETE FROM spans s
WHERE s.source_id = $source_id AND EXISTS (
    SELECT 1 FROM repeated_spans r
    WHERE r.trace_id = s.trace_id AND r.span_id = s.span_id
);
