-- A page of the spans whose arguments are checked. Parameters: the place
-- before the first, the last.
SELECT s.place, s.id, s.tool_name, s.args_key
FROM call_spans s
WHERE s.place > ?
    AND s.place <= ?
ORDER BY s.place;
