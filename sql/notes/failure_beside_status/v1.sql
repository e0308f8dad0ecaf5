-- View:    note_failure_beside_status_v1
-- Judges:  no verdict; something says that a call failed whose status is ok.
-- Grain:   one row per call.
-- Reads:   spans, base_trace_v1.
-- Fires when:        failure is set and status is ok.
-- Stays silent when: the status says so too, or nothing does.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_failure_beside_status_v1 AS
SELECT
    s.trace_id AS trace_id,
    s.tool_name AS tool_name,
    s.span_id AS span_id,
    s.start_ns AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    s.failure AS detail
FROM spans s
JOIN base_trace_v1 t ON t.trace_id = s.trace_id
WHERE s.operation = 'execute_tool'
    AND s.status = 'ok'
    AND s.failure IS NOT NULL;
COMMENT ON VIEW note_failure_beside_status_v1 IS 'Calls that failed by something other than their status';
COMMENT ON COLUMN note_failure_beside_status_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_failure_beside_status_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_failure_beside_status_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_failure_beside_status_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_failure_beside_status_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_failure_beside_status_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_failure_beside_status_v1.detail IS 'Text that the note compares or shows; NULL when none';
