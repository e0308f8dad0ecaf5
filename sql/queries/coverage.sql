-- What the traces in scope let the rules check, in sum.
SELECT
    CAST(COALESCE(SUM(c.tool_calls), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_arguments), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_readable_arguments), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_known_tool), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_timeout), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.with_max_retries), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.without_span), 0) AS BIGINT),
    CAST(COALESCE(SUM(c.failed_beside_status), 0) AS BIGINT)
FROM set_coverage_v2 c;
