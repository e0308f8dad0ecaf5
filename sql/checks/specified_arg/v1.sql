-- View:    check_specified_arg_v1
-- Judges:  nothing; calls beside what their tool's specification says of the
--          argument.
-- Grain:   one row per checked call whose argument is listed.
-- Reads:   checked_calls, call_specs, call_spec_gaps.
-- Fires when:        the tool and the argument are in the specifications of
--                    the check.
-- Stays silent when: the tool is in none, or does not list the argument.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_specified_arg_v1 AS
SELECT
    c.call_run AS call_run,
    c.place AS place,
    c.call_no AS call_no,
    c.arg_name AS checked_arg,
    c.tool_name_raw AS tool_name_raw,
    c.arg_value AS arg_value,
    s.allowed_values AS allowed_values,
    s.max_number AS max_number,
    s.is_required AS is_required,
    g.reason IS NULL
        OR (g.reason = 'limit_not_held' AND c.arg_value IS NULL) AS is_held
FROM checked_calls c
JOIN call_specs s
    ON s.call_run = c.call_run
    AND s.tool_key = c.tool_key
    AND s.arg_name = c.arg_name
LEFT JOIN call_spec_gaps g
    ON g.call_run = s.call_run
    AND g.tool_key = s.tool_key
    AND g.arg_name = s.arg_name
    AND g.reason IN ('limit_not_held', 'tool_limit_not_held');
COMMENT ON VIEW check_specified_arg_v1 IS 'Calls beside what is specified of their argument';
COMMENT ON COLUMN check_specified_arg_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_specified_arg_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_specified_arg_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_specified_arg_v1.checked_arg IS 'The argument that was checked';
COMMENT ON COLUMN check_specified_arg_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_specified_arg_v1.arg_value IS 'Its value; NULL when absent';
COMMENT ON COLUMN check_specified_arg_v1.allowed_values IS 'Allowed values between bars; NULL when any is';
COMMENT ON COLUMN check_specified_arg_v1.max_number IS 'Upper limit, a plain decimal number; NULL when none';
COMMENT ON COLUMN check_specified_arg_v1.is_required IS 'Whether the argument has to be there';
COMMENT ON COLUMN check_specified_arg_v1.is_held IS 'Whether these columns say all that the definition of the tool does of this call';
