-- View:    note_args_written_differently_v1
-- Judges:  no verdict; equal arguments of a stretch were written differently.
-- Grain:   one row per stretch and way of writing.
-- Reads:   base_stretch_v1, spans.
-- Fires when:        the calls of a stretch at or over the limit have two or
--                    more different texts in tool_args.
-- Stays silent when: all texts are the same.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_args_written_differently_v1 AS
WITH texts AS (
    SELECT DISTINCT
        r.trace_id AS trace_id,
        r.tool_name AS tool_name,
        r.first_span_id AS first_span_id,
        s.tool_args AS tool_args
    FROM base_stretch_v1 r
    JOIN spans s ON s.trace_id = r.trace_id AND s.span_id = r.span_id
),
several AS (
    SELECT t.trace_id AS trace_id, t.first_span_id AS first_span_id
    FROM texts t
    GROUP BY t.trace_id, t.first_span_id
    HAVING COUNT(*) > 1
)
SELECT
    t.trace_id AS trace_id,
    t.tool_name AS tool_name,
    t.first_span_id AS span_id,
    s.start_ns AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    t.tool_args AS detail
FROM texts t
JOIN several v
    ON v.trace_id = t.trace_id
    AND v.first_span_id = t.first_span_id
JOIN spans s ON s.trace_id = t.trace_id AND s.span_id = t.first_span_id;
COMMENT ON VIEW note_args_written_differently_v1 IS 'Ways in which equal arguments of a stretch were written';
COMMENT ON COLUMN note_args_written_differently_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_args_written_differently_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_args_written_differently_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_args_written_differently_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_args_written_differently_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_args_written_differently_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_args_written_differently_v1.detail IS 'Text that the note compares; NULL when none';
