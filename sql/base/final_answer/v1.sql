-- View:    base_final_answer_v1
-- Judges:  nothing; which span stands for the answer of a run.
-- Grain:   one row per trace in scope that has such a span.
-- Reads:   spans, base_trace_v1.
-- Fires when:        an invoke_agent span has no kept ancestor.
-- Stays silent when: the trace has no invoke_agent span, or each has a parent.
-- Order:   of several candidates those whose parents are all known come before
--          those whose named parent is lost; then the one that ends last, then
--          starts last, then the smallest span_id.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW base_final_answer_v1 AS
-- Every candidate of a trace with its place and their number.
WITH candidates AS (
    SELECT
        s.trace_id AS trace_id,
        s.span_id AS span_id,
        s.agent_name AS agent_name,
        s.status AS status,
        s.parent_lost AS parent_lost,
        ROW_NUMBER() OVER (
            PARTITION BY s.trace_id
            ORDER BY CASE WHEN s.parent_lost THEN 1 ELSE 0 END,
                s.end_ns DESC, s.start_ns DESC, s.span_id
        ) AS place,
        COUNT(*) OVER (PARTITION BY s.trace_id) AS candidate_count
    FROM spans s
    JOIN base_trace_v1 t ON t.trace_id = s.trace_id
    WHERE s.operation = 'invoke_agent' AND s.parent_span_id IS NULL
)
SELECT
    c.trace_id AS trace_id,
    c.span_id AS span_id,
    c.agent_name AS agent_name,
    c.status AS status,
    c.parent_lost AS parent_lost,
    CAST(c.candidate_count AS BIGINT) AS candidate_count
FROM candidates c
WHERE c.place = 1;
COMMENT ON VIEW base_final_answer_v1 IS 'The final answer span of each run';
COMMENT ON COLUMN base_final_answer_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_final_answer_v1.span_id IS 'The final answer span';
COMMENT ON COLUMN base_final_answer_v1.agent_name IS 'Its agent';
COMMENT ON COLUMN base_final_answer_v1.status IS 'ok or error: the final status of the run';
COMMENT ON COLUMN base_final_answer_v1.parent_lost IS 'Whether it names a parent that is not in the store';
COMMENT ON COLUMN base_final_answer_v1.candidate_count IS 'How many spans could have been taken';
