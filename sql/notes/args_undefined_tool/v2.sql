-- View:    note_args_undefined_tool_v2
-- Judges:  no verdict; the arguments of an undefined tool were not checked.
-- Grain:   one row per run and tool name.
-- Reads:   rule_undefined_tool_v2.
-- Fires when:        the tool is not defined.
-- Stays silent when: the tool is defined.
-- Order:   none.
-- Version: second. Reads the second version of the rule.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_undefined_tool_v2 AS
SELECT
    u.trace_id AS trace_id,
    u.tool_name AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    MIN(u.start_ns) AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM rule_undefined_tool_v2 u
GROUP BY u.trace_id, u.tool_name;
COMMENT ON VIEW note_args_undefined_tool_v2 IS 'Undefined tools, whose arguments were not checked';
COMMENT ON COLUMN note_args_undefined_tool_v2.trace_id IS 'The run';
COMMENT ON COLUMN note_args_undefined_tool_v2.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_undefined_tool_v2.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_undefined_tool_v2.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_undefined_tool_v2.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_undefined_tool_v2.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_undefined_tool_v2.detail IS 'Text that the note compares; NULL when none';
