-- View:    rule_retry_over_limit_v1
-- Judges:  equal calls followed one another more often than allowed.
-- Grain:   one row per call of such a stretch; a finding is one stretch.
-- Reads:   base_stretch_v1.
-- Fires when:        run_length > max_retries.
-- Stays silent when: run_length equals max_retries (a note says so); another
--                    call stands between; arguments are not recorded or not
--                    JSON; the tool is not defined or has no limit.
-- Order:   none; start_ns, then span_id, orders the calls of a finding.
-- Version: first.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW rule_retry_over_limit_v1 AS
SELECT
    r.trace_id AS trace_id,
    r.first_span_id AS finding,
    r.tool_name AS tool_name,
    r.span_id AS span_id,
    r.start_ns AS start_ns,
    r.run_length AS measured,
    r.max_retries AS allowed
FROM base_stretch_v1 r
WHERE r.run_length > r.max_retries;
COMMENT ON VIEW rule_retry_over_limit_v1 IS 'Stretches of equal calls that are longer than allowed';
COMMENT ON COLUMN rule_retry_over_limit_v1.trace_id IS 'The run';
COMMENT ON COLUMN rule_retry_over_limit_v1.finding IS 'span_id of the first call of the stretch';
COMMENT ON COLUMN rule_retry_over_limit_v1.tool_name IS 'The tool called';
COMMENT ON COLUMN rule_retry_over_limit_v1.span_id IS 'A call that the finding rests on';
COMMENT ON COLUMN rule_retry_over_limit_v1.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN rule_retry_over_limit_v1.measured IS 'How many equal calls the stretch has';
COMMENT ON COLUMN rule_retry_over_limit_v1.allowed IS 'max_retries of the tool, the first call included';
