-- How the traces of a store hang together, in numbers.
WITH
    -- Calls of a trace, with the time from the first start to the last.
    calls AS (
        SELECT
            s.trace_id,
            COUNT(*) AS calls,
            MAX(s.duration_ns) AS longest_ns,
            MAX(s.start_ns) - MIN(s.start_ns) AS over_ns
        FROM spans s
        WHERE s.operation = 'execute_tool'
        GROUP BY s.trace_id
    ),
    -- Runs and services of a trace.
    whole AS (
        SELECT
            s.trace_id,
            COUNT(*) FILTER (WHERE s.operation = 'invoke_agent') AS runs,
            COUNT(DISTINCT s.service_name) AS services
        FROM spans s
        GROUP BY s.trace_id
    ),
    -- Spans that start before the kept span around them.
    early AS (
        SELECT p.start_ns - s.start_ns AS early_ns
        FROM spans s
        INNER JOIN spans p
            ON p.trace_id = s.trace_id
            AND p.span_id = s.parent_span_id
        WHERE s.start_ns < p.start_ns
    )
SELECT
    (SELECT COUNT(*) FROM whole),
    (SELECT COUNT(*) FROM spans s WHERE s.operation = 'invoke_agent'),
    (SELECT COUNT(*) FROM spans s WHERE s.operation = 'execute_tool'),
    (SELECT COUNT(*) FROM whole w WHERE w.runs = 0),
    (SELECT COUNT(*) FROM spans s WHERE s.parent_lost),
    (SELECT COUNT(*) FROM early),
    (SELECT COALESCE(CAST(MAX(e.early_ns) / 1000000 AS BIGINT), 0)
        FROM early e),
    -- Either no time at all passed, or calls that a model asks for one after
    -- the other stand closer together than it can answer.
    (SELECT COUNT(*) FROM calls c
        WHERE (c.calls >= 3 AND c.longest_ns = 0)
            OR (c.calls >= 5 AND c.longest_ns < 1000000
                AND c.over_ns < 1000000)),
    (SELECT COUNT(DISTINCT s.service_name) FROM spans s),
    (SELECT COUNT(*) FROM whole w WHERE w.services > 1),
    (SELECT COUNT(*) FROM spans s
        WHERE s.operation = 'invoke_agent' AND s.agent_name IS NULL);
