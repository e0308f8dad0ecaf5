-- All kept spans of one trace, in order. Parameter: the trace.
SELECT s.trace_id, s.span_id, s.parent_span_id, s.start_time, s.operation,
    s.agent_name, s.tool_name, s.tool_args, s.status, s.duration_ms,
    s.start_ns, s.end_ns, s.parent_lost, s.convention, i.path, s.line
FROM spans s
LEFT JOIN sources i ON i.source_id = s.source_id
WHERE s.trace_id = ?
ORDER BY s.start_ns, s.span_id;
