-- View:    note_args_rewritten_v1
-- Judges:  no verdict; arguments were not recorded plainly.
-- Grain:   one row per run, tool name and way of recording.
-- Reads:   spans, base_trace_v1.
-- Fires when:        args_form is set, or the arguments are from a message.
-- Stays silent when: they are JSON text or a structure, or are no JSON at all
--                    (another note says so).
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_rewritten_v1 AS
SELECT
    s.trace_id AS trace_id,
    s.tool_name AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    MIN(s.start_ns) AS start_ns,
    CAST(COUNT(*) AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CASE WHEN s.args_from_messages THEN 'from_messages'
        ELSE s.args_form END AS detail
FROM spans s
JOIN base_trace_v1 t ON t.trace_id = s.trace_id
WHERE s.args_from_messages
    OR s.args_form NOT IN ('empty', 'truncated')
GROUP BY s.trace_id, s.tool_name,
    CASE WHEN s.args_from_messages THEN 'from_messages'
        ELSE s.args_form END;
COMMENT ON VIEW note_args_rewritten_v1 IS 'Ways in which arguments were recorded that are not plain';
COMMENT ON COLUMN note_args_rewritten_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_args_rewritten_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_rewritten_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_rewritten_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_rewritten_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_rewritten_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_rewritten_v1.detail IS 'Text that the note compares or shows; NULL when none';
