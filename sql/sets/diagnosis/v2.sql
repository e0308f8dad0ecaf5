-- View:    set_diagnosis_v2
-- Judges:  the five rules together: one released judgement.
-- Grain:   one row per row of a rule view.
-- Reads:   rule_undefined_tool_v2, rule_args_mismatch_v2,
--          rule_timeout_exceeded_v1, rule_retry_over_limit_v1,
--          rule_error_hidden_v2.
-- Fires when:        a rule fires.
-- Stays silent when: no rule fires.
-- Order:   none; priority says which verdict comes first (seed 002, rule 9).
-- Version: second. Calls that stand in the messages of a model only count in
--          three rules (their second versions).
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW set_diagnosis_v2 AS
SELECT 1 AS priority, 'undefined_tool' AS rule,
    trace_id, finding, tool_name, span_id, start_ns, call_key,
    CAST(NULL AS VARCHAR) AS arg_key, CAST(NULL AS VARCHAR) AS problem,
    CAST(NULL AS BIGINT) AS measured, CAST(NULL AS BIGINT) AS allowed
FROM rule_undefined_tool_v2
UNION ALL
SELECT 2 AS priority, 'args_mismatch' AS rule,
    trace_id, finding, tool_name, span_id, start_ns, call_key,
    arg_key, problem, NULL AS measured, NULL AS allowed
FROM rule_args_mismatch_v2
UNION ALL
SELECT 3 AS priority, 'timeout_exceeded' AS rule,
    trace_id, finding, tool_name, span_id, start_ns, span_id AS call_key,
    NULL AS arg_key, NULL AS problem, measured, allowed
FROM rule_timeout_exceeded_v1
UNION ALL
SELECT 4 AS priority, 'retry_over_limit' AS rule,
    trace_id, finding, tool_name, span_id, start_ns, span_id AS call_key,
    NULL AS arg_key, NULL AS problem, measured, allowed
FROM rule_retry_over_limit_v1
UNION ALL
SELECT 5 AS priority, 'error_hidden' AS rule,
    trace_id, finding, tool_name, span_id, start_ns, call_key,
    NULL AS arg_key, NULL AS problem, NULL AS measured, NULL AS allowed
FROM rule_error_hidden_v2;
COMMENT ON VIEW set_diagnosis_v2 IS 'What the five rules found, a row per span or key';
COMMENT ON COLUMN set_diagnosis_v2.priority IS '1 is the most important rule';
COMMENT ON COLUMN set_diagnosis_v2.rule IS 'Name of the rule';
COMMENT ON COLUMN set_diagnosis_v2.trace_id IS 'The run';
COMMENT ON COLUMN set_diagnosis_v2.finding IS 'Names a finding within its run and rule';
COMMENT ON COLUMN set_diagnosis_v2.tool_name IS 'The tool called';
COMMENT ON COLUMN set_diagnosis_v2.span_id IS 'A call that the finding rests on';
COMMENT ON COLUMN set_diagnosis_v2.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN set_diagnosis_v2.call_key IS 'Names that call: its span_id, or span_id#place of a call in messages';
COMMENT ON COLUMN set_diagnosis_v2.arg_key IS 'args_mismatch: the key that does not fit';
COMMENT ON COLUMN set_diagnosis_v2.problem IS 'args_mismatch: missing, or the type of its value as written';
COMMENT ON COLUMN set_diagnosis_v2.measured IS 'timeout_exceeded: duration_ms; retry_over_limit: run length';
COMMENT ON COLUMN set_diagnosis_v2.allowed IS 'timeout_exceeded: timeout_ms; retry_over_limit: max_retries';
