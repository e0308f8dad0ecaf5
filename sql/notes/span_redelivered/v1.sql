-- View:    note_span_redelivered_v1
-- Judges:  no verdict; spans of the run were recorded twice with the same
--          content.
-- Grain:   one row per run.
-- Reads:   ingest_issues, base_trace_v1.
-- Fires when:        an issue span_redelivered names the trace.
-- Stays silent when: none does.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_span_redelivered_v1 AS
SELECT
    i.trace_id AS trace_id,
    CAST(NULL AS VARCHAR) AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    CAST(0 AS BIGINT) AS start_ns,
    COUNT(DISTINCT i.span_id) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM ingest_issues i
JOIN base_trace_v1 t ON t.trace_id = i.trace_id
WHERE i.code = 'span_redelivered'
GROUP BY i.trace_id;
COMMENT ON VIEW note_span_redelivered_v1 IS 'Runs with spans that were recorded twice';
COMMENT ON COLUMN note_span_redelivered_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_span_redelivered_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_span_redelivered_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_span_redelivered_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_span_redelivered_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_span_redelivered_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_span_redelivered_v1.detail IS 'Text that the note compares; NULL when none';
