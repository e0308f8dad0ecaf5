-- View:    base_defined_call_v1
-- Judges:  nothing; tool calls beside the definition of their tool.
-- Grain:   one row per tool call whose tool is defined in its tool set.
-- Reads:   base_call_v1, tool_definitions.
-- Fires when:        tool_name equals a defined name exactly.
-- Stays silent when: the tool is not defined, or no tool set is known.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW base_defined_call_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    c.tool_name AS tool_name,
    c.tool_args AS tool_args,
    c.args_key AS args_key,
    c.args_shape AS args_shape,
    c.status AS status,
    c.duration_ms AS duration_ms,
    c.tool_set AS tool_set,
    d.timeout_ms AS timeout_ms,
    d.max_retries AS max_retries,
    d.schema_readable AS schema_readable
FROM base_call_v1 c
JOIN tool_definitions d
    ON d.tool_set = c.tool_set
    AND d.tool_name = c.tool_name;
COMMENT ON VIEW base_defined_call_v1 IS 'Tool calls beside the definition of their tool';
COMMENT ON COLUMN base_defined_call_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_defined_call_v1.span_id IS 'The call';
COMMENT ON COLUMN base_defined_call_v1.start_ns IS 'Start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN base_defined_call_v1.tool_name IS 'Name of the tool called';
COMMENT ON COLUMN base_defined_call_v1.tool_args IS 'Arguments as recorded; NULL when not recorded';
COMMENT ON COLUMN base_defined_call_v1.args_key IS 'Canonical arguments; NULL when not recorded or not JSON';
COMMENT ON COLUMN base_defined_call_v1.args_shape IS 'Keys and types of the arguments; NULL as args_key is';
COMMENT ON COLUMN base_defined_call_v1.status IS 'ok or error';
COMMENT ON COLUMN base_defined_call_v1.duration_ms IS 'Duration, whole milliseconds';
COMMENT ON COLUMN base_defined_call_v1.tool_set IS 'Tool set the call is judged with';
COMMENT ON COLUMN base_defined_call_v1.timeout_ms IS 'Time limit, milliseconds; NULL when not known';
COMMENT ON COLUMN base_defined_call_v1.max_retries IS 'Equal calls allowed in a row, the first included; NULL when not known';
COMMENT ON COLUMN base_defined_call_v1.schema_readable IS 'Whether json_schema is a JSON Schema';
