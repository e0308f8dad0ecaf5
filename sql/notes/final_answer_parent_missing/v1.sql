-- View:    note_final_answer_parent_missing_v1
-- Judges:  no verdict; the final answer span names a parent that is not in
--          the store.
-- Grain:   one row per run.
-- Reads:   base_final_answer_v1.
-- Fires when:        parent_lost is true.
-- Stays silent when: it names no parent, or only parents that were dropped.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_final_answer_parent_missing_v1 AS
SELECT
    f.trace_id AS trace_id,
    CAST(NULL AS VARCHAR) AS tool_name,
    f.span_id AS span_id,
    CAST(0 AS BIGINT) AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_final_answer_v1 f
WHERE f.parent_lost;
COMMENT ON VIEW note_final_answer_parent_missing_v1 IS 'Runs whose final answer span has lost its parent';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_final_answer_parent_missing_v1.detail IS 'Text that the note compares; NULL when none';
