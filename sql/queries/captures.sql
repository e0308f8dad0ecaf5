-- Conventions of the calls in scope whose arguments were not recorded.
SELECT DISTINCT s.convention
FROM spans s
JOIN base_trace_v1 t ON t.trace_id = s.trace_id
WHERE s.operation = 'execute_tool' AND s.tool_args IS NULL
ORDER BY s.convention;
