-- View:    note_no_tool_definitions_v1
-- Judges:  no verdict; no tool set is known, so four rules had nothing to
--          check.
-- Grain:   one row per run with a tool call.
-- Reads:   base_call_v1.
-- Fires when:        tool_set is NULL.
-- Stays silent when: a tool set is known, even an empty one.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_no_tool_definitions_v1 AS
SELECT DISTINCT
    c.trace_id AS trace_id,
    CAST(NULL AS VARCHAR) AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    CAST(0 AS BIGINT) AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_call_v1 c
WHERE c.tool_set IS NULL;
COMMENT ON VIEW note_no_tool_definitions_v1 IS 'Runs that were judged without tool definitions';
COMMENT ON COLUMN note_no_tool_definitions_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_no_tool_definitions_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_no_tool_definitions_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_no_tool_definitions_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_no_tool_definitions_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_no_tool_definitions_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_no_tool_definitions_v1.detail IS 'Text that the note compares; NULL when none';
