-- View:    rule_timeout_exceeded_v1
-- Judges:  a call went over its time limit and ended in error.
-- Grain:   one row per offending call; each is one finding.
-- Reads:   base_defined_call_v1.
-- Fires when:        duration_ms > timeout_ms and status is error.
-- Stays silent when: equal to the limit; over the limit but ok (a note says
--                    so); the tool is not defined or has no limit.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW rule_timeout_exceeded_v1 AS
SELECT
    c.trace_id AS trace_id,
    c.span_id AS finding,
    c.tool_name AS tool_name,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    c.duration_ms AS measured,
    c.timeout_ms AS allowed
FROM base_defined_call_v1 c
WHERE c.status = 'error' AND c.duration_ms > c.timeout_ms;
COMMENT ON VIEW rule_timeout_exceeded_v1 IS 'Calls that went over their time limit and ended in error';
COMMENT ON COLUMN rule_timeout_exceeded_v1.trace_id IS 'The run';
COMMENT ON COLUMN rule_timeout_exceeded_v1.finding IS 'span_id of the call: each call is one finding';
COMMENT ON COLUMN rule_timeout_exceeded_v1.tool_name IS 'The tool called';
COMMENT ON COLUMN rule_timeout_exceeded_v1.span_id IS 'A call that the finding rests on';
COMMENT ON COLUMN rule_timeout_exceeded_v1.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN rule_timeout_exceeded_v1.measured IS 'duration_ms of the call';
COMMENT ON COLUMN rule_timeout_exceeded_v1.allowed IS 'timeout_ms of its tool';
