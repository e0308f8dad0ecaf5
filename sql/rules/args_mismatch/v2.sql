-- View:    rule_args_mismatch_v2
-- Judges:  the arguments of a call do not fit the schema of its tool.
-- Grain:   one row per key that does not fit; a finding is one call.
-- Reads:   base_requested_call_v1, base_trace_v1, spans, chat_calls,
--          arg_shapes, tool_params, tool_param_types.
-- Fires when:        a required key is absent, or the type of a present key is
--                    none of the declared types (top level only).
-- Stays silent when: arguments are not recorded or not JSON; the tool is not
--                    defined; its schema is unreadable; the key declares no
--                    type; an integer, also written 3.0, meets number.
-- Order:   none; tool_params has the order of required and of properties.
-- Version: second. Calls that stand in the messages of a model only count too;
--          call_key names each.
-- Tests:   tests/it/views.rs
--
-- Shapes first, calls second: there are few shapes, and few tool sets. Only
-- calls of a shape that does not fit are looked at one by one.
CREATE OR REPLACE VIEW rule_args_mismatch_v2 AS
-- Every shape of arguments that a tool is called with, in scope or not.
WITH called AS (
    SELECT s.tool_name AS tool_name, s.args_shape AS args_shape
    FROM spans s
    WHERE s.operation = 'execute_tool' AND s.args_shape IS NOT NULL
    UNION
    SELECT m.tool_name AS tool_name, m.args_shape AS args_shape
    FROM chat_calls m
    WHERE m.args_shape IS NOT NULL
),
-- Every tool set that judges.
tool_sets_used AS (
    SELECT DISTINCT t.tool_set AS tool_set
    FROM base_trace_v1 t
    WHERE t.tool_set IS NOT NULL
),
-- Each shape beside each tool set.
shapes AS (
    SELECT
        u.tool_set AS tool_set,
        c.tool_name AS tool_name,
        c.args_shape AS args_shape
    FROM tool_sets_used u
    CROSS JOIN called c
),
-- What of each shape does not fit: required keys that are absent, then present
-- keys whose type is none of the declared ones.
problems AS (
    SELECT
        s.tool_set AS tool_set,
        s.tool_name AS tool_name,
        s.args_shape AS args_shape,
        p.key AS arg_key,
        'missing' AS problem
    FROM shapes s
    JOIN tool_params p
        ON p.tool_set = s.tool_set
        AND p.tool_name = s.tool_name
    WHERE p.required
        AND NOT EXISTS (
            SELECT 1 FROM arg_shapes a
            WHERE a.args_shape = s.args_shape AND a.key = p.key
        )
    UNION ALL
    SELECT
        s.tool_set AS tool_set,
        s.tool_name AS tool_name,
        s.args_shape AS args_shape,
        a.key AS arg_key,
        a.written_type AS problem
    FROM shapes s
    JOIN arg_shapes a ON a.args_shape = s.args_shape
    JOIN tool_params p
        ON p.tool_set = s.tool_set
        AND p.tool_name = s.tool_name
        AND p.key = a.key
    WHERE p.declared_type IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM tool_param_types t
            WHERE t.tool_set = p.tool_set
                AND t.tool_name = p.tool_name
                AND t.key = p.key
                AND t.json_type = a.json_type
        )
)
SELECT
    c.trace_id AS trace_id,
    c.call_key AS finding,
    c.tool_name AS tool_name,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    c.call_key AS call_key,
    p.arg_key AS arg_key,
    p.problem AS problem
FROM base_requested_call_v1 c
JOIN problems p
    ON p.tool_set = c.tool_set
    AND p.tool_name = c.tool_name
    AND p.args_shape = c.args_shape
WHERE c.args_shape IN (SELECT q.args_shape FROM problems q);
COMMENT ON VIEW rule_args_mismatch_v2 IS 'Calls whose arguments do not fit the schema of their tool';
COMMENT ON COLUMN rule_args_mismatch_v2.trace_id IS 'The run';
COMMENT ON COLUMN rule_args_mismatch_v2.finding IS 'call_key of the call: each call is one finding';
COMMENT ON COLUMN rule_args_mismatch_v2.tool_name IS 'The tool called';
COMMENT ON COLUMN rule_args_mismatch_v2.span_id IS 'A call that the finding rests on';
COMMENT ON COLUMN rule_args_mismatch_v2.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN rule_args_mismatch_v2.arg_key IS 'The key that does not fit';
COMMENT ON COLUMN rule_args_mismatch_v2.problem IS 'missing, or the type of its value as written';
COMMENT ON COLUMN rule_args_mismatch_v2.call_key IS 'Names that call: its span_id, or span_id#place of a call in messages';
