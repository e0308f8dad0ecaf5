-- Findings of the runs in scope beside the cells they rest on, in order of
-- run, priority and place; keys in the order of required, then of properties.
SELECT f.trace_id, f.rule, f.finding, f.tool_name, f.span_id,
    s.tool_args, s.status, s.duration_ms,
    f.arg_key, f.problem, s.args_key, p.declared_type,
    f.measured, f.allowed, d.json_schema, d.timeout_ms,
    s.origin, f.start_ns
FROM set_diagnosis_v2 f
JOIN set_run_v1 r ON r.trace_id = f.trace_id
JOIN base_requested_call_v1 s
    ON s.trace_id = f.trace_id AND s.call_key = f.call_key
LEFT JOIN tool_definitions d
    ON d.tool_set = r.tool_set AND d.tool_name = f.tool_name
LEFT JOIN tool_params p
    ON p.tool_set = r.tool_set
    AND p.tool_name = f.tool_name
    AND p.key = f.arg_key
ORDER BY r.start_ns, f.trace_id, f.priority, f.start_ns, f.call_key,
    f.finding,
    CASE WHEN f.problem = 'missing' THEN 0 ELSE 1 END,
    CASE WHEN f.problem = 'missing' THEN p.required_position
        ELSE p.position END;
