-- View:    check_limit_not_held_v1
-- Judges:  nothing; calls with a value whose argument has a limit that the
--          specification cannot hold.
-- Grain:   one row per such call.
-- Reads:   checked_calls, call_spec_gaps.
-- Fires when:        the definition of the tool limits the argument in a way
--                    that allowed_values and max_number cannot say.
-- Stays silent when: the value is absent, or both columns say all.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_limit_not_held_v1 AS
SELECT
    c.call_run AS call_run,
    c.place AS place,
    c.call_no AS call_no,
    c.arg_name AS checked_arg,
    c.tool_name_raw AS tool_name_raw,
    c.arg_value AS arg_value
FROM checked_calls c
WHERE c.arg_value IS NOT NULL
    AND EXISTS (
        SELECT 1 FROM call_spec_gaps g
        WHERE g.call_run = c.call_run
            AND g.tool_key = c.tool_key
            AND g.arg_name = c.arg_name
            AND g.reason = 'limit_not_held'
    );
COMMENT ON VIEW check_limit_not_held_v1 IS 'Calls whose argument has a limit that no specification holds';
COMMENT ON COLUMN check_limit_not_held_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_limit_not_held_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_limit_not_held_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_limit_not_held_v1.checked_arg IS 'The argument';
COMMENT ON COLUMN check_limit_not_held_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_limit_not_held_v1.arg_value IS 'Its value';
