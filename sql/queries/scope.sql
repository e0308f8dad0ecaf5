-- Limits the judgement to the traces that fit every filter that is given.
-- Parameters: first trace id and one beyond the last (prefix), earliest start,
-- start that is too late, tool name; NULL where there is no filter.
INSERT INTO judge_scope
SELECT s.trace_id
FROM spans s
WHERE ($1 IS NULL OR s.trace_id >= $1)
    AND ($2 IS NULL OR s.trace_id < $2)
GROUP BY s.trace_id
HAVING ($3 IS NULL OR MIN(s.start_ns) >= $3)
    AND ($4 IS NULL OR MIN(s.start_ns) < $4)
    AND ($5 IS NULL OR MAX(CASE WHEN s.tool_name = $5 THEN 1 ELSE 0 END) = 1);
