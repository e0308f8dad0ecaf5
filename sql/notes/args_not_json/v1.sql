-- View:    note_args_not_json_v1
-- Judges:  no verdict; a call whose arguments are not JSON.
-- Grain:   one row per call.
-- Reads:   base_defined_call_v1.
-- Fires when:        tool_args is recorded, args_key is NULL and the tool is
--                    defined.
-- Stays silent when: the tool is not defined (another note says so).
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_not_json_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.tool_name AS tool_name,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_defined_call_v1 c
WHERE c.tool_args IS NOT NULL AND c.args_key IS NULL;
COMMENT ON VIEW note_args_not_json_v1 IS 'Calls whose arguments are not JSON';
COMMENT ON COLUMN note_args_not_json_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_args_not_json_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_not_json_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_not_json_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_not_json_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_not_json_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_not_json_v1.detail IS 'Text that the note compares; NULL when none';
