-- Whether a tool is called or defined. Parameter: its name.
SELECT EXISTS (SELECT 1 FROM spans s WHERE s.tool_name = $1)
    OR EXISTS (SELECT 1 FROM chat_calls m WHERE m.tool_name = $1)
    OR EXISTS (SELECT 1 FROM tool_definitions d WHERE d.tool_name = $1);
