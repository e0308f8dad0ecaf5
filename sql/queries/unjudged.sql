-- The runs in scope that cannot be judged, in order.
SELECT u.trace_id, u.start_ns, u.tool_calls, u.reason
FROM set_unjudged_v1 u
ORDER BY u.start_ns, u.trace_id;
