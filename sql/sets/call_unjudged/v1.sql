-- View:    set_call_unjudged_v1
-- Judges:  nothing; the calls that no check can judge, each with why.
-- Grain:   one row per such call.
-- Reads:   checked_calls, call_specs, call_spec_gaps,
--          check_required_arg_missing_v1, check_number_over_limit_v1,
--          check_value_not_allowed_v1.
-- Fires when:        the tool is known and no specification that could be read
--                    lists the argument; the call names none; or the value
--                    keeps to all that is specified, but the definition of the
--                    tool says more than a specification can hold.
-- Stays silent when: a check fires, or the tool is in no specification.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW set_call_unjudged_v1 AS
-- What is known of each tool as a whole.
WITH known AS (
    SELECT
        k.call_run AS call_run,
        k.tool_key AS tool_key,
        BOOL_OR(k.reason = 'listed') AS is_listed,
        BOOL_OR(k.reason = 'spec_refused') AS is_refused,
        BOOL_OR(k.reason = 'schema_unreadable') AS is_unreadable
    FROM (
        SELECT s.call_run, s.tool_key, 'listed' AS reason
        FROM call_specs s
        UNION ALL
        SELECT g.call_run, g.tool_key, g.reason
        FROM call_spec_gaps g
    ) k
    GROUP BY k.call_run, k.tool_key
)
SELECT
    c.call_run AS call_run,
    c.place AS place,
    c.call_no AS call_no,
    c.arg_name AS checked_arg,
    c.tool_name_raw AS tool_name_raw,
    c.input AS input,
    c.row_number AS row_number,
    c.line AS line,
    CASE
        WHEN k.is_unreadable THEN 'schema_unreadable'
        WHEN g.reason IS NOT NULL OR (k.is_refused AND NOT k.is_listed)
            THEN 'spec_refused'
        -- A span has no line, and names no argument when none can be told.
        WHEN c.arg_name IS NULL AND c.line = 0 THEN 'args_unreadable'
        WHEN c.arg_name IS NULL THEN 'no_argument'
        ELSE 'not_listed'
    END AS reason,
    CAST(NULL AS VARCHAR) AS detail
FROM checked_calls c
JOIN known k ON k.call_run = c.call_run AND k.tool_key = c.tool_key
LEFT JOIN call_spec_gaps g
    ON g.call_run = c.call_run
    AND g.tool_key = c.tool_key
    AND g.arg_name = c.arg_name
    AND g.reason = 'spec_refused'
WHERE NOT EXISTS (
    SELECT 1 FROM call_specs s
    WHERE s.call_run = c.call_run
        AND s.tool_key = c.tool_key
        AND s.arg_name = c.arg_name
)
UNION ALL
SELECT
    c.call_run, c.place, c.call_no, c.arg_name, c.tool_name_raw,
    c.input, c.row_number, c.line, g.reason, g.detail
FROM checked_calls c
JOIN call_spec_gaps g
    ON g.call_run = c.call_run
    AND g.tool_key = c.tool_key
    AND g.arg_name = c.arg_name
    AND g.reason IN ('limit_not_held', 'tool_limit_not_held')
JOIN call_specs s
    ON s.call_run = c.call_run
    AND s.tool_key = c.tool_key
    AND s.arg_name = c.arg_name
WHERE (c.arg_value IS NOT NULL OR g.reason = 'tool_limit_not_held')
    AND NOT EXISTS (
        SELECT 1 FROM check_required_arg_missing_v1 m
        WHERE m.call_run = c.call_run AND m.place = c.place
    )
    AND NOT EXISTS (
        SELECT 1 FROM check_number_over_limit_v1 n
        WHERE n.call_run = c.call_run AND n.place = c.place
    )
    AND NOT EXISTS (
        SELECT 1 FROM check_value_not_allowed_v1 v
        WHERE v.call_run = c.call_run AND v.place = c.place
    );
COMMENT ON VIEW set_call_unjudged_v1 IS 'Calls that no check can judge';
COMMENT ON COLUMN set_call_unjudged_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN set_call_unjudged_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN set_call_unjudged_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN set_call_unjudged_v1.checked_arg IS 'The argument; NULL when the call names none';
COMMENT ON COLUMN set_call_unjudged_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN set_call_unjudged_v1.input IS 'The input (call_inputs)';
COMMENT ON COLUMN set_call_unjudged_v1.row_number IS 'Row of the input, from 1';
COMMENT ON COLUMN set_call_unjudged_v1.line IS 'Line of the input, from 1; 0 of a span';
COMMENT ON COLUMN set_call_unjudged_v1.reason IS 'not_listed, no_argument, args_unreadable, spec_refused, schema_unreadable, limit_not_held or tool_limit_not_held';
COMMENT ON COLUMN set_call_unjudged_v1.detail IS 'limit_not_held, tool_limit_not_held: the keywords of JSON Schema; else NULL';
