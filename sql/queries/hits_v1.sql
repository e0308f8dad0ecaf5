-- Rules that hold in the runs in scope by the first rule set, with the number
-- of calls that they rest on.
SELECT d.trace_id, d.rule, d.tool_name, COUNT(DISTINCT d.span_id)
FROM set_diagnosis_v1 d
JOIN set_run_v1 r ON r.trace_id = d.trace_id
GROUP BY d.trace_id, d.priority, d.rule, d.tool_name
ORDER BY d.trace_id, d.priority, d.tool_name;
