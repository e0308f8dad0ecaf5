-- The runs in scope, in order, each with what it let the rules check.
SELECT r.trace_id, r.start_ns, r.agent_name, r.final_status, r.final_span_id,
    r.tool_calls, r.error_calls, r.tool_set,
    COALESCE(c.with_arguments, 0), COALESCE(c.with_readable_arguments, 0),
    COALESCE(c.with_known_tool, 0), COALESCE(c.with_timeout, 0),
    COALESCE(c.with_max_retries, 0), COALESCE(c.with_checked_arguments, 0),
    COALESCE(c.without_span, 0), COALESCE(c.failed_beside_status, 0)
FROM set_run_v1 r
LEFT JOIN set_coverage_v2 c ON c.trace_id = r.trace_id
ORDER BY r.start_ns, r.trace_id;
