-- How many judged runs call each tool. Parameter: earliest start of a run.
SELECT c.tool_name, COUNT(DISTINCT c.trace_id)
FROM base_requested_call_v1 c
JOIN set_run_v1 r ON r.trace_id = c.trace_id
WHERE r.start_ns >= $1
GROUP BY c.tool_name
ORDER BY c.tool_name;
