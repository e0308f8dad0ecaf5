-- What the checks say of the calls at hand, in the order of the output, each
-- with its number: read in pages afterwards. The loading order follows the
-- verdict. Runs over temporary tables alone (src/store/calls.rs). Numbering
-- leaves the rows in order, so that a page reads a part of the table only.
CREATE TEMP TABLE call_entries AS
SELECT
    CAST(ROW_NUMBER() OVER (ORDER BY s.rank, s.place) AS BIGINT) AS entry,
    s.rank, s.verdict, s.place, s.call_no, s.checked_arg, s.tool_name_raw,
    s.arg_value, s.allowed_values, s.max_number, s.is_required, s.problem,
    s.row_count
FROM set_call_check_v1 s;
CREATE TEMP TABLE call_unjudged AS
SELECT
    CAST(ROW_NUMBER() OVER (ORDER BY u.place) AS BIGINT) AS nth,
    u.place, u.call_no, u.checked_arg, u.tool_name_raw, u.input,
    u.row_number, u.line, u.reason, u.detail
FROM set_call_unjudged_v1 u;
