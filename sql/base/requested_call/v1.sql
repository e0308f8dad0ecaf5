-- View:    base_requested_call_v1
-- Judges:  nothing; the tool calls that the model asked for.
-- Grain:   one row per tool span, and one per call in the messages of a model
--          that has no span of its own, of a trace in scope.
-- Reads:   base_call_v1, chat_calls, base_trace_v1.
-- Fires when:        it is a tool call, or a call in messages that is alone.
-- Stays silent when: the call in messages has a span, or repeats another.
-- Order:   none; start_ns, then call_key, is the order of calls in a trace.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW base_requested_call_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.span_id AS call_key,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    c.tool_name AS tool_name,
    c.tool_args AS tool_args,
    c.args_key AS args_key,
    c.args_shape AS args_shape,
    c.status AS status,
    c.duration_ms AS duration_ms,
    c.tool_set AS tool_set,
    'span' AS origin
FROM base_call_v1 c
UNION ALL
SELECT
    m.trace_id AS trace_id,
    m.call_key AS call_key,
    m.span_id AS span_id,
    m.start_ns AS start_ns,
    m.tool_name AS tool_name,
    m.tool_args AS tool_args,
    m.args_key AS args_key,
    m.args_shape AS args_shape,
    m.status AS status,
    0 AS duration_ms,
    t.tool_set AS tool_set,
    'chat' AS origin
FROM chat_calls m
JOIN base_trace_v1 t ON t.trace_id = m.trace_id
WHERE m.alone;
COMMENT ON VIEW base_requested_call_v1 IS 'Tool calls in scope, those without a span of their own included';
COMMENT ON COLUMN base_requested_call_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_requested_call_v1.call_key IS 'Names the call: its span_id, or span_id#place of a call in messages';
COMMENT ON COLUMN base_requested_call_v1.span_id IS 'The call, or the span in whose messages it stands';
COMMENT ON COLUMN base_requested_call_v1.start_ns IS 'Start of the call, or end of that span, nanoseconds since 1970 UTC';
COMMENT ON COLUMN base_requested_call_v1.tool_name IS 'Name of the tool called';
COMMENT ON COLUMN base_requested_call_v1.tool_args IS 'Arguments; NULL when not recorded';
COMMENT ON COLUMN base_requested_call_v1.args_key IS 'Canonical arguments; NULL when not recorded or not JSON';
COMMENT ON COLUMN base_requested_call_v1.args_shape IS 'Keys and types of the arguments; NULL as args_key is';
COMMENT ON COLUMN base_requested_call_v1.status IS 'ok or error; NULL when messages do not say';
COMMENT ON COLUMN base_requested_call_v1.duration_ms IS 'Duration, whole milliseconds; 0 in messages';
COMMENT ON COLUMN base_requested_call_v1.tool_set IS 'Tool set the call is judged with; NULL when none is known';
COMMENT ON COLUMN base_requested_call_v1.origin IS 'span, or chat when it stands in messages only';
