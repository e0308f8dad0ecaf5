-- What the rules can check of all calls in scope: the sums of set_coverage_v2,
-- counted by tool before its definition is looked up, so that no text of
-- arguments goes through a join.
WITH calls AS (
    SELECT
        t.tool_set AS tool_set,
        s.tool_name AS tool_name,
        COUNT(*) AS tool_calls,
        COUNT(s.tool_args) AS with_arguments,
        -- There where there are canonical arguments, and quicker to look at.
        COUNT(s.args_shape) AS with_readable_arguments,
        COUNT(*) FILTER (WHERE s.status = 'ok' AND s.failure IS NOT NULL)
            AS failed_beside_status
    FROM spans s
    JOIN base_trace_v1 t ON t.trace_id = s.trace_id
    WHERE s.operation = 'execute_tool'
    GROUP BY t.tool_set, s.tool_name
),
chat AS (
    SELECT COUNT(*) AS without_span
    FROM chat_calls m
    JOIN base_trace_v1 t ON t.trace_id = m.trace_id
    WHERE m.alone
)
SELECT
    CAST(COALESCE(SUM(c.tool_calls), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_arguments), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_readable_arguments), 0) AS BIGINT),
    CAST(COALESCE(
        SUM(c.tool_calls) FILTER (WHERE d.tool_name IS NOT NULL), 0
    ) AS BIGINT),
    CAST(COALESCE(
        SUM(c.tool_calls) FILTER (WHERE d.timeout_ms IS NOT NULL), 0
    ) AS BIGINT),
    CAST(COALESCE(
        SUM(c.tool_calls) FILTER (WHERE d.max_retries IS NOT NULL), 0
    ) AS BIGINT),
    (SELECT x.without_span FROM chat x),
    CAST(COALESCE(SUM(c.failed_beside_status), 0) AS BIGINT)
FROM calls c
LEFT JOIN tool_definitions d
    ON d.tool_set = c.tool_set
    AND d.tool_name = c.tool_name;
