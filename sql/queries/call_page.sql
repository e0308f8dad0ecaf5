-- A page of what the checks say. Parameters: the entry before the first, the
-- last.
SELECT e.verdict, e.call_no, e.checked_arg, e.tool_name_raw, e.arg_value,
    e.allowed_values, e.max_number, e.is_required, e.problem, e.row_count
FROM call_entries e
WHERE e.entry > ?
    AND e.entry <= ?
ORDER BY e.entry;
