-- View:    note_args_not_json_v2
-- Judges:  no verdict; a call whose arguments are not JSON.
-- Grain:   one row per call.
-- Reads:   base_defined_call_v1, spans, tool_params.
-- Fires when:        tool_args is recorded, args_key is NULL and the tool is
--                    defined.
-- Stays silent when: the tool is not defined (another note says so), or the
--                    arguments are empty and the tool has no required key.
-- Order:   none.
-- Version: second. detail says whether they are empty or cut off; a tool
--          without required keys may be called with nothing.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_not_json_v2 AS
SELECT
    c.trace_id AS trace_id,
    c.tool_name AS tool_name,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    s.args_form AS detail
FROM base_defined_call_v1 c
JOIN spans s ON s.trace_id = c.trace_id AND s.span_id = c.span_id
WHERE c.tool_args IS NOT NULL
    AND c.args_key IS NULL
    AND NOT (
        COALESCE(s.args_form, '') = 'empty'
        AND NOT EXISTS (
            SELECT 1 FROM tool_params p
            WHERE p.tool_set = c.tool_set
                AND p.tool_name = c.tool_name
                AND p.required
        )
    );
COMMENT ON VIEW note_args_not_json_v2 IS 'Calls whose arguments are not JSON';
COMMENT ON COLUMN note_args_not_json_v2.trace_id IS 'The run';
COMMENT ON COLUMN note_args_not_json_v2.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_not_json_v2.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_not_json_v2.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_not_json_v2.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_not_json_v2.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_not_json_v2.detail IS 'Text that the note compares; NULL when none';
