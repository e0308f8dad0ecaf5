-- The tool sets that the traces in scope are judged with.
SELECT t.tool_set, MAX(s.source), MAX(s.tools), COUNT(*)
FROM base_trace_v1 t
LEFT JOIN tool_sets s ON s.tool_set = t.tool_set
GROUP BY t.tool_set
ORDER BY t.tool_set NULLS FIRST;
