-- View:    note_several_final_answers_v1
-- Judges:  no verdict; several spans could stand for the answer of the run.
-- Grain:   one row per run.
-- Reads:   base_final_answer_v1.
-- Fires when:        candidate_count is 2 or more.
-- Stays silent when: there is one candidate.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_several_final_answers_v1 AS
SELECT
    f.trace_id AS trace_id,
    CAST(NULL AS VARCHAR) AS tool_name,
    f.span_id AS span_id,
    CAST(0 AS BIGINT) AS start_ns,
    f.candidate_count AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_final_answer_v1 f
WHERE f.candidate_count > 1;
COMMENT ON VIEW note_several_final_answers_v1 IS 'Runs with several candidates for the final answer span';
COMMENT ON COLUMN note_several_final_answers_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_several_final_answers_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_several_final_answers_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_several_final_answers_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_several_final_answers_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_several_final_answers_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_several_final_answers_v1.detail IS 'Text that the note compares; NULL when none';
