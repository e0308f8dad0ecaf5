-- Kept spans of the runs in judge_scope, run by run, each in order of start.
-- Parameter: whether arguments are wanted; else they are not read at all.
SELECT s.trace_id, s.span_id, s.parent_span_id, s.start_time, s.operation,
    s.agent_name, s.tool_name, CASE WHEN ? THEN s.tool_args END, s.status,
    s.duration_ms, s.start_ns, s.end_ns, s.parent_lost, s.convention,
    CAST(NULL AS VARCHAR), s.line
FROM spans s
JOIN judge_scope c ON c.trace_id = s.trace_id
ORDER BY s.trace_id, s.start_ns, s.span_id;
