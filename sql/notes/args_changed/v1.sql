-- View:    note_args_changed_v1
-- Judges:  no verdict; a framework changed the arguments that the model sent.
-- Grain:   one row per call.
-- Reads:   spans, base_trace_v1.
-- Fires when:        the message that asks for the call has other arguments
--                    than its span.
-- Stays silent when: they are equal, or one of them was not recorded.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_changed_v1 AS
SELECT
    s.trace_id AS trace_id,
    s.tool_name AS tool_name,
    s.span_id AS span_id,
    s.start_ns AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    s.asked_args AS detail
FROM spans s
JOIN base_trace_v1 t ON t.trace_id = s.trace_id
WHERE s.asked_args IS NOT NULL;
COMMENT ON VIEW note_args_changed_v1 IS 'Calls whose arguments a framework changed';
COMMENT ON COLUMN note_args_changed_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_args_changed_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_changed_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_changed_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_changed_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_changed_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_changed_v1.detail IS 'Text that the note compares or shows; NULL when none';
