-- View:    set_call_unjudged_v1
-- Judges:  nothing; the calls that no check can judge.
-- Grain:   one row per such call.
-- Reads:   checked_calls, call_specs.
-- Fires when:        the tool is specified and does not list the argument, or
--                    the call names none.
-- Stays silent when: the argument is listed, or the tool is in no
--                    specification.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW set_call_unjudged_v1 AS
SELECT
    c.call_run AS call_run,
    c.place AS place,
    c.call_no AS call_no,
    c.arg_name AS checked_arg,
    c.tool_name_raw AS tool_name_raw,
    c.input AS input,
    c.row_number AS row_number,
    c.line AS line
FROM checked_calls c
WHERE EXISTS (
    SELECT 1 FROM call_specs s
    WHERE s.call_run = c.call_run AND s.tool_key = c.tool_key
)
    AND NOT EXISTS (
        SELECT 1 FROM call_specs s
        WHERE s.call_run = c.call_run
            AND s.tool_key = c.tool_key
            AND s.arg_name = c.arg_name
    );
COMMENT ON VIEW set_call_unjudged_v1 IS 'Calls with an argument that their tool does not list';
COMMENT ON COLUMN set_call_unjudged_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN set_call_unjudged_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN set_call_unjudged_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN set_call_unjudged_v1.checked_arg IS 'The argument; NULL when the call names none';
COMMENT ON COLUMN set_call_unjudged_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN set_call_unjudged_v1.input IS 'The input (call_inputs)';
COMMENT ON COLUMN set_call_unjudged_v1.row_number IS 'Row of the input, from 1';
COMMENT ON COLUMN set_call_unjudged_v1.line IS 'Line of the input, from 1';
