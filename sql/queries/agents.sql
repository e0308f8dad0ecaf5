-- Agents that a run can have, in order.
SELECT DISTINCT s.agent_name
FROM spans s
WHERE s.operation = 'invoke_agent' AND s.agent_name IS NOT NULL
ORDER BY s.agent_name;
