-- View:    note_span_conflict_v1
-- Judges:  no verdict; a span was recorded twice with different content.
-- Grain:   one row per span.
-- Reads:   ingest_issues, base_trace_v1.
-- Fires when:        an issue span_conflict names the span.
-- Stays silent when: none does.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_span_conflict_v1 AS
SELECT DISTINCT
    i.trace_id AS trace_id,
    CAST(NULL AS VARCHAR) AS tool_name,
    i.span_id AS span_id,
    CAST(0 AS BIGINT) AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM ingest_issues i
JOIN base_trace_v1 t ON t.trace_id = i.trace_id
WHERE i.code = 'span_conflict';
COMMENT ON VIEW note_span_conflict_v1 IS 'Spans that were recorded twice with different content';
COMMENT ON COLUMN note_span_conflict_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_span_conflict_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_span_conflict_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_span_conflict_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_span_conflict_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_span_conflict_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_span_conflict_v1.detail IS 'Text that the note compares; NULL when none';
