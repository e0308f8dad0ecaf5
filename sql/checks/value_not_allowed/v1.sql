-- View:    check_value_not_allowed_v1
-- Judges:  a value is not one of those allowed.
-- Grain:   one row per such call.
-- Reads:   check_specified_arg_v1.
-- Fires when:        allowed_values is set and none of the texts between its
--                    bars is the value, letter for letter. A value with a bar
--                    in it is never listed.
-- Stays silent when: the value is listed (empty text where nothing stands
--                    between two bars), or absent; any value is allowed.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_value_not_allowed_v1 AS
SELECT
    a.call_run AS call_run,
    a.place AS place,
    a.call_no AS call_no,
    a.checked_arg AS checked_arg,
    a.tool_name_raw AS tool_name_raw,
    a.arg_value AS arg_value,
    a.allowed_values AS allowed_values
FROM check_specified_arg_v1 a
WHERE a.allowed_values IS NOT NULL
    AND a.arg_value IS NOT NULL
    AND (
        POSITION('|' IN a.arg_value) > 0
        OR POSITION('|' || a.arg_value || '|'
            IN '|' || a.allowed_values || '|') = 0
    );
COMMENT ON VIEW check_value_not_allowed_v1 IS 'Calls with a value that is not allowed';
COMMENT ON COLUMN check_value_not_allowed_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_value_not_allowed_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_value_not_allowed_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_value_not_allowed_v1.checked_arg IS 'The argument that was checked';
COMMENT ON COLUMN check_value_not_allowed_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_value_not_allowed_v1.arg_value IS 'Its value; NULL when absent';
COMMENT ON COLUMN check_value_not_allowed_v1.allowed_values IS 'Allowed values between bars; NULL when any is';
