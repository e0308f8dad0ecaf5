-- View:    note_spans_merged_v1
-- Judges:  no verdict; several spans of one call were counted as one.
-- Grain:   one row per run and tool name.
-- Reads:   merged_spans, base_trace_v1.
-- Fires when:        a tool span was merged into the one around it.
-- Stays silent when: each call has one span.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_spans_merged_v1 AS
SELECT
    m.trace_id AS trace_id,
    m.tool_name AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    MIN(m.start_ns) AS start_ns,
    CAST(COUNT(*) AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM merged_spans m
JOIN base_trace_v1 t ON t.trace_id = m.trace_id
GROUP BY m.trace_id, m.tool_name;
COMMENT ON VIEW note_spans_merged_v1 IS 'Tools whose calls had several spans each';
COMMENT ON COLUMN note_spans_merged_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_spans_merged_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_spans_merged_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_spans_merged_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_spans_merged_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_spans_merged_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_spans_merged_v1.detail IS 'Text that the note compares or shows; NULL when none';
