-- Share of the limit that the slowest call and most calls of a tool used.
SELECT
    c.tool_name,
    MAX(c.timeout_ms) AS limit_ms,
    COUNT(*) AS calls,
    COUNT(*) FILTER (WHERE c.duration_ms > c.timeout_ms) AS over_limit,
    CAST(QUANTILE_CONT(c.duration_ms, 0.95) AS BIGINT) AS p95_ms,
    MAX(c.duration_ms) AS slowest_ms,
    ARG_MAX(c.trace_id, c.duration_ms)[:8] AS trace
FROM base_defined_call_v1 c
WHERE c.timeout_ms IS NOT NULL
GROUP BY c.tool_name
ORDER BY MAX(c.duration_ms / c.timeout_ms) DESC, c.tool_name;
