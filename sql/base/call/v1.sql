-- View:    base_call_v1
-- Judges:  nothing; the tool calls that the rules look at.
-- Grain:   one row per execute_tool span of a trace in scope.
-- Reads:   spans, base_trace_v1.
-- Fires when:        operation is execute_tool.
-- Stays silent when: operation is invoke_agent.
-- Order:   none; start_ns, then span_id, is the order of calls in a trace.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW base_call_v1 AS
SELECT
    s.trace_id AS trace_id,
    s.span_id AS span_id,
    s.start_ns AS start_ns,
    s.tool_name AS tool_name,
    s.tool_args AS tool_args,
    s.args_key AS args_key,
    s.args_shape AS args_shape,
    s.status AS status,
    s.duration_ms AS duration_ms,
    t.tool_set AS tool_set
FROM spans s
JOIN base_trace_v1 t ON t.trace_id = s.trace_id
WHERE s.operation = 'execute_tool';
COMMENT ON VIEW base_call_v1 IS 'Tool calls in scope, each with the tool set it is judged with';
COMMENT ON COLUMN base_call_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_call_v1.span_id IS 'The call';
COMMENT ON COLUMN base_call_v1.start_ns IS 'Start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN base_call_v1.tool_name IS 'Name of the tool called';
COMMENT ON COLUMN base_call_v1.tool_args IS 'Arguments as recorded; NULL when not recorded';
COMMENT ON COLUMN base_call_v1.args_key IS 'Canonical arguments; NULL when not recorded or not JSON';
COMMENT ON COLUMN base_call_v1.args_shape IS 'Keys and types of the arguments; NULL as args_key is';
COMMENT ON COLUMN base_call_v1.status IS 'ok or error';
COMMENT ON COLUMN base_call_v1.duration_ms IS 'Duration, whole milliseconds';
COMMENT ON COLUMN base_call_v1.tool_set IS 'Tool set the call is judged with; NULL when none is known';
