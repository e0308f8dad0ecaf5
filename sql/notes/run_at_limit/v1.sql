-- View:    note_run_at_limit_v1
-- Judges:  no verdict; a stretch of equal calls is as long as allowed.
-- Grain:   one row per stretch.
-- Reads:   base_stretch_v1.
-- Fires when:        run_length equals max_retries and is 2 or more.
-- Stays silent when: longer (that is a verdict) or shorter.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_run_at_limit_v1 AS
SELECT
    r.trace_id AS trace_id,
    r.tool_name AS tool_name,
    r.span_id AS span_id,
    r.start_ns AS start_ns,
    r.run_length AS measured,
    r.max_retries AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_stretch_v1 r
WHERE r.run_length = r.max_retries AND r.span_id = r.first_span_id;
COMMENT ON VIEW note_run_at_limit_v1 IS 'Stretches of equal calls exactly as long as allowed';
COMMENT ON COLUMN note_run_at_limit_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_run_at_limit_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_run_at_limit_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_run_at_limit_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_run_at_limit_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_run_at_limit_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_run_at_limit_v1.detail IS 'Text that the note compares; NULL when none';
