-- View:    rule_undefined_tool_v2
-- Judges:  a tool was called that the definitions do not have.
-- Grain:   one row per offending call; a finding is all calls of one name.
-- Reads:   base_requested_call_v1, base_trace_v1, spans, chat_calls,
--          tool_definitions.
-- Fires when:        tool_name equals no defined name, letter by letter.
-- Stays silent when: the tool is defined; no tool set is known at all.
-- Order:   none; start_ns, then span_id, orders the calls of a finding.
-- Version: second. Calls that stand in the messages of a model only count too;
--          call_key names each.
-- Tests:   tests/it/views.rs
--
-- Names first, calls second: there are few names, and few tool sets. Only the
-- calls of a name that some tool set lacks are looked at one by one.
CREATE OR REPLACE VIEW rule_undefined_tool_v2 AS
-- Every name that is called, in scope or not.
WITH names AS (
    SELECT s.tool_name AS tool_name
    FROM spans s
    WHERE s.operation = 'execute_tool'
    UNION
    SELECT m.tool_name AS tool_name
    FROM chat_calls m
),
-- Every tool set that judges.
tool_sets_used AS (
    SELECT DISTINCT t.tool_set AS tool_set
    FROM base_trace_v1 t
    WHERE t.tool_set IS NOT NULL
),
-- The names that a tool set does not have.
undefined AS (
    SELECT u.tool_set AS tool_set, n.tool_name AS tool_name
    FROM tool_sets_used u
    CROSS JOIN names n
    WHERE NOT EXISTS (
        SELECT 1 FROM tool_definitions d
        WHERE d.tool_set = u.tool_set AND d.tool_name = n.tool_name
    )
)
SELECT
    c.trace_id AS trace_id,
    c.tool_name AS finding,
    c.tool_name AS tool_name,
    c.span_id AS span_id,
    c.start_ns AS start_ns,
    c.call_key AS call_key
FROM base_requested_call_v1 c
JOIN undefined u
    ON u.tool_set = c.tool_set
    AND u.tool_name = c.tool_name
WHERE c.tool_name IN (SELECT n.tool_name FROM undefined n);
COMMENT ON VIEW rule_undefined_tool_v2 IS 'Calls of tools that are not defined';
COMMENT ON COLUMN rule_undefined_tool_v2.trace_id IS 'The run';
COMMENT ON COLUMN rule_undefined_tool_v2.finding IS 'The undefined name: all its calls are one finding';
COMMENT ON COLUMN rule_undefined_tool_v2.tool_name IS 'The tool called';
COMMENT ON COLUMN rule_undefined_tool_v2.span_id IS 'A call that the finding rests on';
COMMENT ON COLUMN rule_undefined_tool_v2.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN rule_undefined_tool_v2.call_key IS 'Names that call: its span_id, or span_id#place of a call in messages';
