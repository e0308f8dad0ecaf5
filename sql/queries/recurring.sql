-- What the rules found in the runs in scope by tool and rule, a row an agent,
-- groups of most agents first. What a person dismissed is left out, and so are
-- runs without a name of their agent. A run counts once in a group.
WITH by_agent AS (
    SELECT
        f.tool_name AS tool_name,
        f.rule AS rule,
        f.priority AS priority,
        f.agent_name AS agent_name,
        COUNT(DISTINCT f.trace_id) AS runs,
        MIN(f.korean_date) AS first_date,
        MAX(f.korean_date) AS last_date
    FROM findings f
    WHERE f.agent_name IS NOT NULL
        AND f.review IS DISTINCT FROM 'dismissed'
    GROUP BY f.tool_name, f.rule, f.priority, f.agent_name
),
-- The same beside the sums of its group.
grouped AS (
    SELECT
        b.*,
        COUNT(*) OVER (PARTITION BY b.tool_name, b.rule) AS agents,
        SUM(b.runs) OVER (PARTITION BY b.tool_name, b.rule) AS all_runs
    FROM by_agent b
)
SELECT g.tool_name, g.rule, g.agent_name, g.runs,
    CAST(g.first_date AS VARCHAR), CAST(g.last_date AS VARCHAR)
FROM grouped g
ORDER BY g.agents DESC, g.all_runs DESC, g.priority, g.tool_name, g.runs DESC,
    g.agent_name;
