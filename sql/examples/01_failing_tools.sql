-- Findings that a person dismissed do not count; a run counts once.
SELECT
    f.agent_name,
    f.tool_name,
    COUNT(DISTINCT f.trace_id) AS runs,
    STRING_AGG(DISTINCT f.rule, ', ' ORDER BY f.rule) AS rules
FROM findings f
WHERE f.review IS DISTINCT FROM 'dismissed'
GROUP BY f.agent_name, f.tool_name
QUALIFY ROW_NUMBER() OVER (
    PARTITION BY f.agent_name
    ORDER BY runs DESC, f.tool_name
) = 1
ORDER BY runs DESC, f.agent_name;
