-- Tool calls of the runs whose summary tells of single calls: those with a
-- finding and those with an error call.
SELECT s.trace_id, s.span_id, s.tool_name, s.status, s.duration_ms, s.args_key,
    s.start_ns
FROM spans s
JOIN set_run_v1 r ON r.trace_id = s.trace_id
WHERE s.operation = 'execute_tool'
    AND (r.error_calls > 0
        OR EXISTS (
            SELECT 1 FROM set_diagnosis_v2 f WHERE f.trace_id = s.trace_id
        ))
ORDER BY r.start_ns, s.trace_id, s.start_ns, s.span_id;
