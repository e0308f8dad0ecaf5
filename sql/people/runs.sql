-- View:    runs
-- Judges:  nothing; for people who ask in SQL.
-- Grain:   one row per trace in scope.
-- Reads:   spans, traces, base_trace_v1, base_final_answer_v1,
--          set_unjudged_v1.
-- Fires when:        the trace has a kept span.
-- Stays silent when: it has none.
-- Order:   none; start_ns, then trace_id, is the order of runs.
-- Version: first.
-- Tests:   tests/it/people.rs
CREATE OR REPLACE VIEW runs AS
-- What the spans of each trace add up to.
WITH totals AS (
    SELECT
        s.trace_id AS trace_id,
        MIN(s.start_ns) AS start_ns,
        MAX(s.end_ns) AS end_ns,
        MIN_BY(s.start_time, s.start_ns) AS start_time,
        COUNT(*) FILTER (WHERE s.operation = 'execute_tool') AS tool_calls,
        COUNT(*) FILTER (WHERE s.operation = 'execute_tool'
            AND s.status = 'error') AS error_calls
    FROM spans s
    GROUP BY s.trace_id
)
SELECT
    a.trace_id AS trace_id,
    f.agent_name AS agent_name,
    -- Korea has had no summer time since 1988: nine hours ahead of UTC.
    CAST(make_timestamp(a.start_ns // 1000 + 32400000000) AS DATE)
        AS korean_date,
    a.start_time AS start_time,
    (a.end_ns - a.start_ns) // 1000000 AS duration_ms,
    f.status AS final_status,
    a.tool_calls AS tool_calls,
    a.error_calls AS error_calls,
    u.reason AS unjudged_reason,
    t.tool_set AS tool_set,
    r.batch_id AS batch_id,
    a.start_ns AS start_ns
FROM totals a
JOIN base_trace_v1 t ON t.trace_id = a.trace_id
JOIN traces r ON r.trace_id = a.trace_id
LEFT JOIN base_final_answer_v1 f ON f.trace_id = a.trace_id
LEFT JOIN set_unjudged_v1 u ON u.trace_id = a.trace_id;
COMMENT ON VIEW runs IS 'Runs of agents, a row a trace';
COMMENT ON COLUMN runs.trace_id IS 'The run';
COMMENT ON COLUMN runs.agent_name IS 'Agent of the final answer span; NULL when it is unnamed or there is none';
COMMENT ON COLUMN runs.korean_date IS 'Date in Korea on which the run began';
COMMENT ON COLUMN runs.start_time IS 'Start of its earliest kept span, Korean time, ISO 8601';
COMMENT ON COLUMN runs.duration_ms IS 'From its earliest start to its latest end, whole milliseconds';
COMMENT ON COLUMN runs.final_status IS 'ok or error: status of the final answer span; NULL when there is none';
COMMENT ON COLUMN runs.tool_calls IS 'Number of execute_tool spans';
COMMENT ON COLUMN runs.error_calls IS 'Number of execute_tool spans with status error';
COMMENT ON COLUMN runs.unjudged_reason IS 'Why the run cannot be judged; NULL when it can';
COMMENT ON COLUMN runs.tool_set IS 'sha256 of the tools.json it is judged with; NULL when none is known';
COMMENT ON COLUMN runs.batch_id IS 'The ingest that first brought it';
COMMENT ON COLUMN runs.start_ns IS 'Start, nanoseconds since 1970 UTC';
