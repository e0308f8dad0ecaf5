-- View:    set_unjudged_v1
-- Judges:  nothing; the runs that cannot be judged, and why.
-- Grain:   one row per trace in scope without a final answer span.
-- Reads:   spans, base_trace_v1, base_final_answer_v1.
-- Fires when:        no invoke_agent span without a kept ancestor is there:
--                    the root was lost, has not arrived yet, or is in a cycle.
-- Stays silent when: the trace has a final answer span.
-- Order:   none; start_ns, then trace_id, is the order of runs.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW set_unjudged_v1 AS
SELECT
    s.trace_id AS trace_id,
    MIN(s.start_ns) AS start_ns,
    CAST(SUM(CASE WHEN s.operation = 'execute_tool' THEN 1 ELSE 0 END)
        AS BIGINT) AS tool_calls,
    CASE
        WHEN MAX(CASE WHEN s.operation = 'invoke_agent' THEN 1 ELSE 0 END) = 1
        THEN 'no_root_invoke_agent' ELSE 'no_invoke_agent'
    END AS reason
FROM spans s
JOIN base_trace_v1 t ON t.trace_id = s.trace_id
WHERE NOT EXISTS (
    SELECT 1 FROM base_final_answer_v1 f WHERE f.trace_id = s.trace_id
)
GROUP BY s.trace_id;
COMMENT ON VIEW set_unjudged_v1 IS 'The runs that cannot be judged';
COMMENT ON COLUMN set_unjudged_v1.trace_id IS 'The run';
COMMENT ON COLUMN set_unjudged_v1.start_ns IS 'Start of its earliest kept span, nanoseconds since 1970 UTC';
COMMENT ON COLUMN set_unjudged_v1.tool_calls IS 'Number of execute_tool spans';
COMMENT ON COLUMN set_unjudged_v1.reason IS 'no_invoke_agent: none is there; no_root_invoke_agent: each has a parent';
