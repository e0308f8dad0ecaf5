-- Definitions of one tool set, in order. Parameter: the tool set.
SELECT d.tool_name, d.description, d.json_schema, d.timeout_ms, d.max_retries,
    d.schema_readable
FROM tool_definitions d
WHERE d.tool_set = ?
ORDER BY d.position;
