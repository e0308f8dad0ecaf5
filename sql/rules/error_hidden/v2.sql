-- View:    rule_error_hidden_v2
-- Judges:  a tool error was never recovered, and yet the run ended ok.
-- Grain:   one row per error call; a finding is all such calls of one name.
-- Reads:   base_final_answer_v1, spans, chat_calls.
-- Fires when:        status is error, no ok call of the same tool_name starts
--                    later (strictly, in ns), and the final answer span is ok.
-- Stays silent when: the run ended in error (a note says so); a later call of
--                    the same tool, whatever its arguments, is ok; the trace
--                    has no final answer span.
-- Order:   none; start_ns, then span_id, orders the calls of a finding.
--
-- NOT EXISTS instead of a window: several times faster, and row-equal. Error
-- calls come from the tables: base_final_answer_v1 limits them to the scope.
-- Version: second. Calls that stand in the messages of a model only count too;
--          call_key names each.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW rule_error_hidden_v2 AS
-- Every error call.
WITH errors AS (
    SELECT
        s.trace_id AS trace_id,
        s.tool_name AS tool_name,
        s.span_id AS span_id,
        s.start_ns AS start_ns,
        s.span_id AS call_key
    FROM spans s
    WHERE s.operation = 'execute_tool' AND s.status = 'error'
    UNION ALL
    SELECT
        m.trace_id AS trace_id,
        m.tool_name AS tool_name,
        m.span_id AS span_id,
        m.start_ns AS start_ns,
        m.call_key AS call_key
    FROM chat_calls m
    WHERE m.alone AND m.status = 'error'
),
-- Those after which no call of the same tool is ok.
unrecovered AS (
    SELECT
        e.trace_id AS trace_id,
        e.tool_name AS tool_name,
        e.span_id AS span_id,
        e.start_ns AS start_ns,
        e.call_key AS call_key
    FROM errors e
    WHERE NOT EXISTS (
        SELECT 1 FROM spans k
        WHERE k.trace_id = e.trace_id
            AND k.tool_name = e.tool_name
            AND k.operation = 'execute_tool'
            AND k.status = 'ok'
            AND k.start_ns > e.start_ns
    )
)
SELECT
    u.trace_id AS trace_id,
    u.tool_name AS finding,
    u.tool_name AS tool_name,
    u.span_id AS span_id,
    u.start_ns AS start_ns,
    u.call_key AS call_key
FROM unrecovered u
JOIN base_final_answer_v1 f ON f.trace_id = u.trace_id
WHERE f.status = 'ok';
COMMENT ON VIEW rule_error_hidden_v2 IS 'Tool errors that were never recovered in a run that ended ok';
COMMENT ON COLUMN rule_error_hidden_v2.trace_id IS 'The run';
COMMENT ON COLUMN rule_error_hidden_v2.finding IS 'The tool name: all its unrecovered errors are one finding';
COMMENT ON COLUMN rule_error_hidden_v2.tool_name IS 'The tool called';
COMMENT ON COLUMN rule_error_hidden_v2.span_id IS 'A call that the finding rests on';
COMMENT ON COLUMN rule_error_hidden_v2.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN rule_error_hidden_v2.call_key IS 'Names that call: its span_id, or span_id#place of a call in messages';
