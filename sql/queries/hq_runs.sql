-- The runs in scope, in order.
SELECT n.trace_id, n.agent_name, n.start_ns, n.tool_set,
    n.unjudged_reason IS NULL
FROM runs n
ORDER BY n.start_ns, n.trace_id;
