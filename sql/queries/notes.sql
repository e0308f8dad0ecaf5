-- Notes of the runs in scope, in order of run and of telling.
SELECT n.trace_id, n.note, n.tool_name, n.span_id, n.measured, n.allowed,
    n.detail
FROM set_note_v2 n
JOIN set_run_v1 r ON r.trace_id = n.trace_id
ORDER BY r.start_ns, n.trace_id, n.place, n.start_ns, n.span_id, n.tool_name,
    n.detail;
