-- View:    note_call_without_span_v1
-- Judges:  no verdict; calls that stand in the messages of a model only.
-- Grain:   one row per run and tool name.
-- Reads:   base_requested_call_v1.
-- Fires when:        origin is chat.
-- Stays silent when: the call has a span of its own.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_call_without_span_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.tool_name AS tool_name,
    MIN(c.span_id) AS span_id,
    MIN(c.start_ns) AS start_ns,
    CAST(COUNT(*) AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_requested_call_v1 c
WHERE c.origin = 'chat'
GROUP BY c.trace_id, c.tool_name;
COMMENT ON VIEW note_call_without_span_v1 IS 'Calls without a span of their own';
COMMENT ON COLUMN note_call_without_span_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_call_without_span_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_call_without_span_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_call_without_span_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_call_without_span_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_call_without_span_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_call_without_span_v1.detail IS 'Text that the note compares or shows; NULL when none';
