-- View:    note_final_error_not_hidden_v1
-- Judges:  no verdict; tool errors stood, and the run said so by ending in
--          error.
-- Grain:   one row per run.
-- Reads:   base_call_v1, base_final_answer_v1, spans.
-- Fires when:        an error call is not followed by an ok call of the same
--                    tool, and the final answer span is error.
-- Stays silent when: the final answer span is ok (that is a verdict); every
--                    error was recovered.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_final_error_not_hidden_v1 AS
SELECT DISTINCT
    e.trace_id AS trace_id,
    CAST(NULL AS VARCHAR) AS tool_name,
    CAST(NULL AS VARCHAR) AS span_id,
    CAST(0 AS BIGINT) AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM base_call_v1 e
JOIN base_final_answer_v1 f ON f.trace_id = e.trace_id
WHERE e.status = 'error'
    AND f.status = 'error'
    AND NOT EXISTS (
        SELECT 1 FROM spans k
        WHERE k.trace_id = e.trace_id
            AND k.tool_name = e.tool_name
            AND k.operation = 'execute_tool'
            AND k.status = 'ok'
            AND k.start_ns > e.start_ns
    );
COMMENT ON VIEW note_final_error_not_hidden_v1 IS 'Runs that ended in error after a tool error';
COMMENT ON COLUMN note_final_error_not_hidden_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_final_error_not_hidden_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_final_error_not_hidden_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_final_error_not_hidden_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_final_error_not_hidden_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_final_error_not_hidden_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_final_error_not_hidden_v1.detail IS 'Text that the note compares; NULL when none';
