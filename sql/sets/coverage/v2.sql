-- View:    set_coverage_v2
-- Judges:  nothing; what the trace let the rules check.
-- Grain:   one row per trace in scope with a tool call, also one in messages
--          only.
-- Reads:   base_requested_call_v1, spans, base_trace_v1, tool_definitions.
-- Fires when:        the trace has a tool call.
-- Stays silent when: it has none.
-- Order:   none.
-- Version: second. Counts calls without spans and failures beside the status.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW set_coverage_v2 AS
-- Calls of each trace that failed by something other than their status.
WITH beside AS (
    SELECT s.trace_id AS trace_id, COUNT(*) AS failures
    FROM spans s
    JOIN base_trace_v1 t ON t.trace_id = s.trace_id
    WHERE s.operation = 'execute_tool'
        AND s.status = 'ok'
        AND s.failure IS NOT NULL
    GROUP BY s.trace_id
),
-- Every call, those without a span apart.
calls AS (
    SELECT
        c.trace_id AS trace_id,
        c.origin = 'span' AS has_span,
        c.tool_args AS tool_args,
        c.args_key AS args_key,
        d.tool_name AS known_tool,
        d.timeout_ms AS timeout_ms,
        d.max_retries AS max_retries,
        d.schema_readable AS schema_readable
    FROM base_requested_call_v1 c
    LEFT JOIN tool_definitions d
        ON d.tool_set = c.tool_set
        AND d.tool_name = c.tool_name
)
SELECT
    c.trace_id AS trace_id,
    CAST(COUNT(*) FILTER (WHERE c.has_span) AS BIGINT) AS tool_calls,
    CAST(COUNT(c.tool_args) FILTER (WHERE c.has_span) AS BIGINT)
        AS with_arguments,
    CAST(COUNT(c.args_key) FILTER (WHERE c.has_span) AS BIGINT)
        AS with_readable_arguments,
    CAST(COUNT(c.known_tool) FILTER (WHERE c.has_span) AS BIGINT)
        AS with_known_tool,
    CAST(COUNT(c.timeout_ms) FILTER (WHERE c.has_span) AS BIGINT)
        AS with_timeout,
    CAST(COUNT(c.max_retries) FILTER (WHERE c.has_span) AS BIGINT)
        AS with_max_retries,
    CAST(COUNT(*) FILTER (WHERE c.has_span AND c.schema_readable
        AND c.args_key IS NOT NULL) AS BIGINT) AS with_checked_arguments,
    CAST(COUNT(*) FILTER (WHERE NOT c.has_span) AS BIGINT) AS without_span,
    CAST(COALESCE(MIN(b.failures), 0) AS BIGINT) AS failed_beside_status
FROM calls c
LEFT JOIN beside b ON b.trace_id = c.trace_id
GROUP BY c.trace_id;
COMMENT ON VIEW set_coverage_v2 IS 'What each run let the rules check';
COMMENT ON COLUMN set_coverage_v2.trace_id IS 'The run';
COMMENT ON COLUMN set_coverage_v2.tool_calls IS 'Number of tool calls';
COMMENT ON COLUMN set_coverage_v2.with_arguments IS 'Those whose arguments were recorded';
COMMENT ON COLUMN set_coverage_v2.with_readable_arguments IS 'Those whose arguments are JSON';
COMMENT ON COLUMN set_coverage_v2.with_known_tool IS 'Those whose tool is defined';
COMMENT ON COLUMN set_coverage_v2.with_timeout IS 'Those whose tool has a time limit';
COMMENT ON COLUMN set_coverage_v2.with_max_retries IS 'Those whose tool has a retry limit';
COMMENT ON COLUMN set_coverage_v2.with_checked_arguments IS 'Those whose arguments were held against a schema';
COMMENT ON COLUMN set_coverage_v2.without_span IS 'Further calls, which stand in messages only';
COMMENT ON COLUMN set_coverage_v2.failed_beside_status IS 'Calls with status ok of which something else says that they failed';
