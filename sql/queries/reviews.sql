-- Reviews, oldest first. A review stands until it is undone, or until a later
-- one speaks of the same rule in the same run and of the same tool or of all.
-- Parameter: whether those that do not stand are wanted too.
SELECT v.trace_id, v.rule, v.tool_name, v.decision, v.reason, v.reviewer,
    v.reviewed_at, v.reviewed_ns
FROM reviews v
WHERE $1 OR (v.decision <> 'undone' AND NOT EXISTS (
    SELECT 1
    FROM reviews w
    WHERE w.trace_id = v.trace_id
        AND w.rule = v.rule
        AND w.reviewed_ns > v.reviewed_ns
        AND (w.tool_name IS NULL OR w.tool_name = v.tool_name)
))
ORDER BY v.reviewed_ns, v.trace_id, v.rule, v.tool_name NULLS FIRST,
    v.decision, v.reason;
