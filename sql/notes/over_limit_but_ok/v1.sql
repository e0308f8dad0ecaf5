-- View:    note_over_limit_but_ok_v1
-- Judges:  no verdict; a call went over its time limit and is ok.
-- Grain:   one row per call.
-- Reads:   base_defined_call_v1.
-- Fires when:        duration_ms > timeout_ms and status is ok.
-- Stays silent when: equal to the limit; status error (that is a verdict).
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_over_limit_but_ok_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.tool_name AS tool_name,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    c.duration_ms AS measured,
    c.timeout_ms AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_defined_call_v1 c
WHERE c.status = 'ok' AND c.duration_ms > c.timeout_ms;
COMMENT ON VIEW note_over_limit_but_ok_v1 IS 'Calls over their time limit that are ok';
COMMENT ON COLUMN note_over_limit_but_ok_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_over_limit_but_ok_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_over_limit_but_ok_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_over_limit_but_ok_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_over_limit_but_ok_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_over_limit_but_ok_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_over_limit_but_ok_v1.detail IS 'Text that the note compares; NULL when none';
