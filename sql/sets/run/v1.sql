-- View:    set_run_v1
-- Judges:  nothing; the runs that can be judged.
-- Grain:   one row per trace in scope that has a final answer span.
-- Reads:   spans, base_trace_v1, base_final_answer_v1.
-- Fires when:        the trace has a final answer span.
-- Stays silent when: it has none (set_unjudged_v1 lists it).
-- Order:   none; start_ns, then trace_id, is the order of runs.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW set_run_v1 AS
-- What the spans of each trace add up to.
WITH totals AS (
    SELECT
        s.trace_id AS trace_id,
        MIN(s.start_ns) AS start_ns,
        SUM(CASE WHEN s.operation = 'execute_tool' THEN 1 ELSE 0 END)
            AS tool_calls,
        SUM(CASE WHEN s.operation = 'execute_tool' AND s.status = 'error'
            THEN 1 ELSE 0 END) AS error_calls
    FROM spans s
    JOIN base_trace_v1 t ON t.trace_id = s.trace_id
    GROUP BY s.trace_id
)
SELECT
    f.trace_id AS trace_id,
    a.start_ns AS start_ns,
    f.agent_name AS agent_name,
    f.status AS final_status,
    f.span_id AS final_span_id,
    CAST(a.tool_calls AS BIGINT) AS tool_calls,
    CAST(a.error_calls AS BIGINT) AS error_calls,
    t.tool_set AS tool_set
FROM base_final_answer_v1 f
JOIN totals a ON a.trace_id = f.trace_id
JOIN base_trace_v1 t ON t.trace_id = f.trace_id;
COMMENT ON VIEW set_run_v1 IS 'The runs that can be judged';
COMMENT ON COLUMN set_run_v1.trace_id IS 'The run';
COMMENT ON COLUMN set_run_v1.start_ns IS 'Start of its earliest kept span, nanoseconds since 1970 UTC';
COMMENT ON COLUMN set_run_v1.agent_name IS 'Agent of the final answer span';
COMMENT ON COLUMN set_run_v1.final_status IS 'Status of the final answer span';
COMMENT ON COLUMN set_run_v1.final_span_id IS 'The final answer span';
COMMENT ON COLUMN set_run_v1.tool_calls IS 'Number of execute_tool spans';
COMMENT ON COLUMN set_run_v1.error_calls IS 'Number of execute_tool spans with status error';
COMMENT ON COLUMN set_run_v1.tool_set IS 'Tool set the run is judged with; NULL when none is known';
