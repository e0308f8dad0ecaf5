-- Every run of the store with what selects it, in order.
SELECT n.trace_id, n.start_ns, n.agent_name, n.batch_id, n.tool_set,
    n.tool_calls, n.unjudged_reason IS NULL
FROM runs n
ORDER BY n.start_ns, n.trace_id;
