-- View:    check_duplicate_call_v1
-- Judges:  a call_no was loaded more than once.
-- Grain:   one row per such call_no.
-- Reads:   left_out_calls.
-- Fires when:        a call was left out because its call_no was loaded
--                    already; whatever its tool.
-- Stays silent when: the call_no came once.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_duplicate_call_v1 AS
WITH numbered AS (
    SELECT
        l.call_run AS call_run,
        l.place AS place,
        l.call_no AS call_no,
        l.arg_name AS arg_name,
        l.tool_name_raw AS tool_name_raw,
        ROW_NUMBER() OVER (
            PARTITION BY l.call_run, l.call_no ORDER BY l.place
        ) AS nth,
        COUNT(*) OVER (PARTITION BY l.call_run, l.call_no) AS left_out
    FROM left_out_calls l
)
SELECT
    n.call_run AS call_run,
    n.place AS place,
    n.call_no AS call_no,
    n.arg_name AS checked_arg,
    n.tool_name_raw AS tool_name_raw,
    CAST(n.left_out + 1 AS BIGINT) AS row_count
FROM numbered n
WHERE n.nth = 1;
COMMENT ON VIEW check_duplicate_call_v1 IS 'Numbers of calls that were loaded more than once';
COMMENT ON COLUMN check_duplicate_call_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_duplicate_call_v1.place IS 'The second call of that number (left_out_calls)';
COMMENT ON COLUMN check_duplicate_call_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_duplicate_call_v1.checked_arg IS 'Its argument';
COMMENT ON COLUMN check_duplicate_call_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_duplicate_call_v1.row_count IS 'Rows with this call_no, the first included';
