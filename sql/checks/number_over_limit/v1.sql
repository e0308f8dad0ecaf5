-- View:    check_number_over_limit_v1
-- Judges:  a value is no plain decimal number from 0 to max_number.
-- Grain:   one row per such call.
-- Reads:   check_specified_arg_v1.
-- Fires when:        max_number is set and the value is larger, negative, or
--                    no plain decimal number: digits, with digits behind a
--                    point or without, and a minus at most.
-- Stays silent when: the value lies within, both ends included; -0 is 0; the
--                    value is absent; no limit is set. Compared as texts of
--                    digits, so that numbers of any length are exact.
-- Order:   none; place is the order of loading.
-- Version: first.
-- Tests:   tests/it/calls.rs
CREATE OR REPLACE VIEW check_number_over_limit_v1 AS
-- Digits before the point without leading zeros, and those behind it without
-- trailing ones, order numbers by length and by text. Regular expressions are
-- outside the portable subset; these are RE2, as in ClickHouse.
WITH numbers AS (
    SELECT
        a.call_run AS call_run,
        a.place AS place,
        a.call_no AS call_no,
        a.checked_arg AS checked_arg,
        a.tool_name_raw AS tool_name_raw,
        a.arg_value AS arg_value,
        a.max_number AS max_number,
        LTRIM(REGEXP_EXTRACT(a.arg_value, '^[0-9]+'), '0') AS whole,
        RTRIM(REGEXP_EXTRACT(a.arg_value, '[.]([0-9]+)$', 1), '0')
            AS fraction,
        LTRIM(REGEXP_EXTRACT(a.max_number, '^[0-9]+'), '0') AS max_whole,
        RTRIM(REGEXP_EXTRACT(a.max_number, '[.]([0-9]+)$', 1), '0')
            AS max_fraction
    FROM check_specified_arg_v1 a
    WHERE a.max_number IS NOT NULL
        AND a.arg_value IS NOT NULL
),
placed AS (
    SELECT
        n.call_run AS call_run,
        n.place AS place,
        n.call_no AS call_no,
        n.checked_arg AS checked_arg,
        n.tool_name_raw AS tool_name_raw,
        n.arg_value AS arg_value,
        n.max_number AS max_number,
        CASE
            WHEN REGEXP_FULL_MATCH(n.arg_value, '-0+([.]0+)?') THEN 'within'
            WHEN REGEXP_FULL_MATCH(n.arg_value, '-[0-9]+([.][0-9]+)?')
                THEN 'negative'
            WHEN NOT REGEXP_FULL_MATCH(n.arg_value, '[0-9]+([.][0-9]+)?')
                THEN 'not_a_number'
            WHEN LENGTH(n.whole) > LENGTH(n.max_whole) THEN 'over_limit'
            WHEN LENGTH(n.whole) < LENGTH(n.max_whole) THEN 'within'
            WHEN n.whole > n.max_whole THEN 'over_limit'
            WHEN n.whole < n.max_whole THEN 'within'
            WHEN n.fraction > n.max_fraction THEN 'over_limit'
            ELSE 'within'
        END AS problem
    FROM numbers n
)
SELECT
    p.call_run AS call_run,
    p.place AS place,
    p.call_no AS call_no,
    p.checked_arg AS checked_arg,
    p.tool_name_raw AS tool_name_raw,
    p.arg_value AS arg_value,
    p.max_number AS max_number,
    p.problem AS problem
FROM placed p
WHERE p.problem <> 'within';
COMMENT ON VIEW check_number_over_limit_v1 IS 'Calls with a value beyond its limit';
COMMENT ON COLUMN check_number_over_limit_v1.call_run IS 'The check (call_runs)';
COMMENT ON COLUMN check_number_over_limit_v1.place IS 'The call (checked_calls)';
COMMENT ON COLUMN check_number_over_limit_v1.call_no IS 'Number of the call';
COMMENT ON COLUMN check_number_over_limit_v1.checked_arg IS 'The argument that was checked';
COMMENT ON COLUMN check_number_over_limit_v1.tool_name_raw IS 'Name of the tool as given';
COMMENT ON COLUMN check_number_over_limit_v1.arg_value IS 'Its value; NULL when absent';
COMMENT ON COLUMN check_number_over_limit_v1.max_number IS 'Upper limit, a plain decimal number; NULL when none';
COMMENT ON COLUMN check_number_over_limit_v1.problem IS 'over_limit, negative or not_a_number';
