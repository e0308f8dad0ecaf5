-- View:    check_required_arg_missing_v1
-- Judges:  a required argument is absent.
-- Grain:   one row per such call.
-- Reads:   check_specified_arg_v1.
-- Fires when:        arg_value is NULL and the argument is required.
-- Stays silent when: there is a value, be it empty text, or the argument is
--                    optional.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_required_arg_missing_v1 AS
SELECT
    a.call_run AS call_run,
    a.place AS place,
    a.call_no AS call_no,
    a.checked_arg AS checked_arg,
    a.tool_name_raw AS tool_name_raw,
    a.arg_value AS arg_value,
    a.is_required AS is_required
FROM check_specified_arg_v1 a
WHERE a.arg_value IS NULL
    AND a.is_required;
COMMENT ON VIEW check_required_arg_missing_v1 IS 'Calls that lack a required argument';
COMMENT ON COLUMN check_required_arg_missing_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_required_arg_missing_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_required_arg_missing_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_required_arg_missing_v1.checked_arg IS 'The argument that was checked';
COMMENT ON COLUMN check_required_arg_missing_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_required_arg_missing_v1.arg_value IS 'NULL';
COMMENT ON COLUMN check_required_arg_missing_v1.is_required IS 'Whether the argument has to be there';
