-- View:    note_inner_agent_failed_v1
-- Judges:  no verdict; an agent inside the run failed, and the run ended ok.
-- Grain:   one row per failed invoke_agent span.
-- Reads:   spans, base_final_answer_v1.
-- Fires when:        an invoke_agent span other than the final answer is error
--                    and the final answer span is ok.
-- Stays silent when: the run ended in error, or no inner agent failed.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW note_inner_agent_failed_v1 AS
SELECT
    s.trace_id AS trace_id,
    s.agent_name AS tool_name,
    s.span_id AS span_id,
    s.start_ns AS start_ns,
    CAST(NULL AS BIGINT) AS measured,
    CAST(NULL AS BIGINT) AS allowed,
    CAST(NULL AS VARCHAR) AS detail
FROM spans s
JOIN base_final_answer_v1 f ON f.trace_id = s.trace_id
WHERE s.operation = 'invoke_agent'
    AND s.status = 'error'
    AND f.status = 'ok'
    AND s.span_id <> f.span_id;
COMMENT ON VIEW note_inner_agent_failed_v1 IS 'Agents that failed inside a run that ended ok';
COMMENT ON COLUMN note_inner_agent_failed_v1.trace_id IS 'The run';
COMMENT ON COLUMN note_inner_agent_failed_v1.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN note_inner_agent_failed_v1.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN note_inner_agent_failed_v1.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN note_inner_agent_failed_v1.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN note_inner_agent_failed_v1.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN note_inner_agent_failed_v1.detail IS 'Text that the note compares or shows; NULL when none';
