-- View:    check_compliant_v1
-- Judges:  a call keeps to its specification.
-- Grain:   one row per call that does.
-- Reads:   check_specified_arg_v1, check_required_arg_missing_v1,
--          check_number_over_limit_v1, check_value_not_allowed_v1.
-- Fires when:        the argument is listed and none of the other checks
--                    fires. An optional argument may be absent.
-- Stays silent when: another check fires, the argument is not listed, it has
--                    a value and a limit that no column can hold, or there is
--                    such a limit of all its tool's arguments together.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_compliant_v1 AS
SELECT
    a.call_run AS call_run,
    a.place AS place,
    a.call_no AS call_no,
    a.checked_arg AS checked_arg,
    a.tool_name_raw AS tool_name_raw,
    a.arg_value AS arg_value,
    a.allowed_values AS allowed_values,
    a.max_number AS max_number,
    a.is_required AS is_required
FROM check_specified_arg_v1 a
WHERE a.is_held
    AND NOT EXISTS (
        SELECT 1 FROM check_required_arg_missing_v1 m
        WHERE m.call_run = a.call_run AND m.place = a.place
    )
    AND NOT EXISTS (
        SELECT 1 FROM check_number_over_limit_v1 n
        WHERE n.call_run = a.call_run AND n.place = a.place
    )
    AND NOT EXISTS (
        SELECT 1 FROM check_value_not_allowed_v1 v
        WHERE v.call_run = a.call_run AND v.place = a.place
    );
COMMENT ON VIEW check_compliant_v1 IS 'Calls that keep to their specification';
COMMENT ON COLUMN check_compliant_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_compliant_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_compliant_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_compliant_v1.checked_arg IS 'The argument that was checked';
COMMENT ON COLUMN check_compliant_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_compliant_v1.arg_value IS 'Its value; NULL when absent';
COMMENT ON COLUMN check_compliant_v1.allowed_values IS 'Allowed values between bars; NULL when any is';
COMMENT ON COLUMN check_compliant_v1.max_number IS 'Upper limit, a plain decimal number; NULL when none';
COMMENT ON COLUMN check_compliant_v1.is_required IS 'Whether the argument has to be there';
