-- The same job in DuckDB's own SQL: spans of agents and tools of one file into
-- an on-disk table, with the columns that taco-trace reads from the file.
-- Parameter: $path. Run by benches/peer.py.
--
-- Less than what taco-trace does: no canonical arguments, no repeated spans
-- taken out, no parents over spans that are left out, no list of problems; and
-- a line that is not JSON ends it.
CREATE TABLE spans AS
WITH scopes AS (
    SELECT
        list_filter(
            r.resource.attributes, lambda a: a.key = 'service.name'
        )[1]['value'].stringValue AS service_name,
        unnest(r.scopeSpans) AS s
    FROM (
        SELECT unnest(resourceSpans) AS r
        FROM read_json($path,
            format = 'newline_delimited',
            maximum_object_size = 268435456,
            columns = {
                resourceSpans: 'STRUCT(
                    resource STRUCT(attributes STRUCT(
                        "key" VARCHAR, "value" STRUCT(stringValue VARCHAR)
                    )[]),
                    scopeSpans STRUCT(
                        "scope" STRUCT("name" VARCHAR),
                        spans STRUCT(
                            traceId VARCHAR,
                            spanId VARCHAR,
                            parentSpanId VARCHAR,
                            startTimeUnixNano BIGINT,
                            endTimeUnixNano BIGINT,
                            attributes STRUCT(
                                "key" VARCHAR,
                                "value" STRUCT(stringValue VARCHAR)
                            )[],
                            status STRUCT(code INTEGER, message VARCHAR)
                        )[]
                    )[]
                )[]'
            })
    )
),
each_span AS (
    SELECT service_name, s.scope.name AS scope_name, unnest(s.spans) AS p
    FROM scopes
),
named AS (
    SELECT
        service_name,
        scope_name,
        p,
        list_filter(
            p.attributes, lambda a: a.key = 'gen_ai.operation.name'
        )[1]['value'].stringValue AS operation
    FROM each_span
)
SELECT
    p.traceId AS trace_id,
    p.spanId AS span_id,
    nullif(p.parentSpanId, '') AS recorded_parent_span_id,
    strftime(
        make_timestamp_ns(p.startTimeUnixNano + 32400000000000),
        '%Y-%m-%dT%H:%M:%S.%g+09:00'
    ) AS start_time,
    operation,
    CASE WHEN operation = 'invoke_agent' THEN list_filter(
        p.attributes, lambda a: a.key = 'gen_ai.agent.name'
    )[1]['value'].stringValue END AS agent_name,
    list_filter(
        p.attributes, lambda a: a.key = 'gen_ai.tool.name'
    )[1]['value'].stringValue AS tool_name,
    list_filter(
        p.attributes, lambda a: a.key = 'gen_ai.tool.call.arguments'
    )[1]['value'].stringValue AS tool_args,
    CASE WHEN p.status.code = 2 THEN 'error' ELSE 'ok' END AS status,
    (p.endTimeUnixNano - p.startTimeUnixNano) // 1000000 AS duration_ms,
    p.startTimeUnixNano AS start_ns,
    p.endTimeUnixNano AS end_ns,
    p.endTimeUnixNano - p.startTimeUnixNano AS duration_ns,
    list_filter(
        p.attributes, lambda a: a.key = 'gen_ai.tool.call.id'
    )[1]['value'].stringValue AS call_id,
    list_filter(
        p.attributes, lambda a: a.key = 'gen_ai.tool.call.result'
    )[1]['value'].stringValue AS tool_result,
    list_filter(
        p.attributes, lambda a: a.key = 'error.type'
    )[1]['value'].stringValue AS error_type,
    p.status.message AS status_message,
    service_name,
    scope_name
FROM named
WHERE operation IN ('invoke_agent', 'execute_tool');
