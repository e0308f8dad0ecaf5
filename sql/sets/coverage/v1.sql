-- View:    set_coverage_v1
-- Judges:  nothing; what the trace let the rules check.
-- Grain:   one row per trace in scope with a tool call.
-- Reads:   base_call_v1, tool_definitions.
-- Fires when:        the trace has a tool call.
-- Stays silent when: it has none.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW set_coverage_v1 AS
SELECT
    c.trace_id AS trace_id,
    CAST(COUNT(*) AS BIGINT) AS tool_calls,
    CAST(COUNT(c.tool_args) AS BIGINT) AS with_arguments,
    CAST(COUNT(c.args_key) AS BIGINT) AS with_readable_arguments,
    CAST(COUNT(d.tool_name) AS BIGINT) AS with_known_tool,
    CAST(COUNT(d.timeout_ms) AS BIGINT) AS with_timeout,
    CAST(COUNT(d.max_retries) AS BIGINT) AS with_max_retries,
    CAST(SUM(CASE WHEN c.args_key IS NOT NULL AND d.schema_readable
        THEN 1 ELSE 0 END) AS BIGINT) AS with_checked_arguments
FROM base_call_v1 c
LEFT JOIN tool_definitions d
    ON d.tool_set = c.tool_set
    AND d.tool_name = c.tool_name
GROUP BY c.trace_id;
COMMENT ON VIEW set_coverage_v1 IS 'What each run let the rules check';
COMMENT ON COLUMN set_coverage_v1.trace_id IS 'The run';
COMMENT ON COLUMN set_coverage_v1.tool_calls IS 'Number of tool calls';
COMMENT ON COLUMN set_coverage_v1.with_arguments IS 'Those whose arguments were recorded';
COMMENT ON COLUMN set_coverage_v1.with_readable_arguments IS 'Those whose arguments are JSON';
COMMENT ON COLUMN set_coverage_v1.with_known_tool IS 'Those whose tool is defined';
COMMENT ON COLUMN set_coverage_v1.with_timeout IS 'Those whose tool has a time limit';
COMMENT ON COLUMN set_coverage_v1.with_max_retries IS 'Those whose tool has a retry limit';
COMMENT ON COLUMN set_coverage_v1.with_checked_arguments IS 'Those whose arguments were held against a schema';
