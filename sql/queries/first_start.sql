-- Whether the judgement is limited, and a time before which no span of its
-- runs starts. Parameter: such a time, when it is known; else NULL.
SELECT j.scoped, CASE WHEN NOT j.scoped THEN NULL ELSE COALESCE($1, (
    SELECT MIN(s.start_ns)
    FROM spans s
    JOIN judge_scope c ON c.trace_id = s.trace_id
)) END
FROM judge_settings j;
