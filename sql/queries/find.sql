-- What the rule set found, once: three of the queries read it.
CREATE OR REPLACE TEMP TABLE found AS
SELECT priority, rule, trace_id, finding, tool_name, span_id, start_ns,
    call_key, arg_key, problem, measured, allowed
FROM set_diagnosis_v2;
