-- View:    note_args_unreadable_schema_v1
-- Judges:  no verdict; a tool whose json_schema cannot be read.
-- Grain:   one row per run and tool name.
-- Reads:   base_defined_call_v1.
-- Fires when:        schema_readable is false.
-- Stays silent when: the schema is readable, or the tool is not defined.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_unreadable_schema_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.tool_name AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    MIN(c.start_ns) AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_defined_call_v1 c
WHERE NOT c.schema_readable
GROUP BY c.trace_id, c.tool_name;
COMMENT ON VIEW note_args_unreadable_schema_v1 IS 'Tools called whose schema cannot be read';
COMMENT ON COLUMN note_args_unreadable_schema_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_args_unreadable_schema_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_unreadable_schema_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_unreadable_schema_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_unreadable_schema_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_unreadable_schema_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_unreadable_schema_v1.detail IS 'Text that the note compares; NULL when none';
