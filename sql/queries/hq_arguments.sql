-- Arguments of the calls that findings of the runs in hq_examples rest on.
SELECT DISTINCT f.trace_id, f.rule, f.tool_name, s.tool_args, s.start_ns,
    s.call_key
FROM set_diagnosis_v2 f
JOIN base_requested_call_v1 s
    ON s.trace_id = f.trace_id AND s.call_key = f.call_key
WHERE f.trace_id IN (SELECT e.trace_id FROM hq_examples e)
    AND s.tool_args IS NOT NULL
ORDER BY f.trace_id, f.rule, f.tool_name, s.start_ns, s.call_key;
