-- View:    set_call_check_v1
-- Judges:  the six checks together: one released judgement of calls.
-- Grain:   one row per row of a check view; a call may break two of its
--          limits.
-- Reads:   check_compliant_v1, check_value_not_allowed_v1,
--          check_number_over_limit_v1, check_required_arg_missing_v1,
--          check_tool_unmapped_v1, check_duplicate_call_v1.
-- Fires when:        a check fires.
-- Stays silent when: no check fires (set_call_unjudged_v1 says why).
-- Order:   none; rank, then place, is the order of the output.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW set_call_check_v1 AS
SELECT 1 AS rank, 'compliant' AS verdict,
    call_run, place, call_no, checked_arg, tool_name_raw,
    arg_value, allowed_values, max_number, is_required,
    CAST(NULL AS VARCHAR) AS problem, CAST(NULL AS BIGINT) AS row_count
FROM check_compliant_v1
UNION ALL
SELECT 2 AS rank, 'value_not_allowed' AS verdict,
    call_run, place, call_no, checked_arg, tool_name_raw,
    arg_value, allowed_values, NULL AS max_number, NULL AS is_required,
    NULL AS problem, NULL AS row_count
FROM check_value_not_allowed_v1
UNION ALL
SELECT 3 AS rank, 'number_over_limit' AS verdict,
    call_run, place, call_no, checked_arg, tool_name_raw,
    arg_value, NULL AS allowed_values, max_number, NULL AS is_required,
    problem, NULL AS row_count
FROM check_number_over_limit_v1
UNION ALL
SELECT 4 AS rank, 'required_arg_missing' AS verdict,
    call_run, place, call_no, checked_arg, tool_name_raw,
    arg_value, NULL AS allowed_values, NULL AS max_number, is_required,
    NULL AS problem, NULL AS row_count
FROM check_required_arg_missing_v1
UNION ALL
SELECT 5 AS rank, 'tool_unmapped' AS verdict,
    call_run, place, call_no, checked_arg, tool_name_raw,
    NULL AS arg_value, NULL AS allowed_values, NULL AS max_number,
    NULL AS is_required, NULL AS problem, NULL AS row_count
FROM check_tool_unmapped_v1
UNION ALL
SELECT 6 AS rank, 'duplicate_call' AS verdict,
    call_run, place, call_no, checked_arg, tool_name_raw,
    NULL AS arg_value, NULL AS allowed_values, NULL AS max_number,
    NULL AS is_required, NULL AS problem, row_count
FROM check_duplicate_call_v1;
COMMENT ON VIEW set_call_check_v1 IS 'What the six checks of calls say';
COMMENT ON COLUMN set_call_check_v1.rank IS 'Order of the output: 1 is compliant';
COMMENT ON COLUMN set_call_check_v1.verdict IS 'The verdict';
COMMENT ON COLUMN set_call_check_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN set_call_check_v1.place IS 'The call (checked_calls; left_out_calls of a duplicate_call)';
COMMENT ON COLUMN set_call_check_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN set_call_check_v1.checked_arg IS 'The argument that was checked';
COMMENT ON COLUMN set_call_check_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN set_call_check_v1.arg_value IS 'Its value; NULL when absent';
COMMENT ON COLUMN set_call_check_v1.allowed_values IS 'Allowed values between bars; NULL when any is';
COMMENT ON COLUMN set_call_check_v1.max_number IS 'Upper limit, a plain decimal number; NULL when none';
COMMENT ON COLUMN set_call_check_v1.is_required IS 'Whether the argument has to be there';
COMMENT ON COLUMN set_call_check_v1.problem IS 'over_limit, negative or not_a_number';
COMMENT ON COLUMN set_call_check_v1.row_count IS 'Rows with this call_no, the first included';
