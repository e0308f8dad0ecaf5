-- The newest review of each finding in scope, unless it was undone.
SELECT n.trace_id, n.rule, n.tool_name, n.decision, n.reason, n.reviewer,
    n.reviewed_at, n.reviewed_ns, n.finding
FROM (
    SELECT f.trace_id, f.rule, f.finding, v.tool_name, v.decision, v.reason,
        v.reviewer, v.reviewed_at, v.reviewed_ns
    FROM (
        SELECT DISTINCT s.trace_id, s.rule, s.finding, s.tool_name
        FROM set_diagnosis_v2 s
    ) f
    JOIN reviews v
        ON v.trace_id = f.trace_id
        AND v.rule = f.rule
        AND (v.tool_name IS NULL OR v.tool_name = f.tool_name)
    QUALIFY ROW_NUMBER() OVER (
        PARTITION BY f.trace_id, f.rule, f.finding
        ORDER BY v.reviewed_ns DESC, v.decision, v.reason
    ) = 1
) n
WHERE n.decision <> 'undone'
ORDER BY n.trace_id, n.rule, n.finding;
