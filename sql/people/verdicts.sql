-- View:    verdicts
-- Judges:  nothing itself; what diagnose says of each run, for people who ask
--          in SQL.
-- Grain:   one row per run that can be judged.
-- Reads:   runs, findings.
-- Fires when:        the run has a final answer span.
-- Stays silent when: it has none (runs.unjudged_reason says why).
-- Order:   none; start_ns, then trace_id, is the order of runs.
-- Version: first.
-- Tests:   tests/it/people.rs
CREATE OR REPLACE VIEW verdicts AS
-- The rules that hold in each run, a row each.
WITH holding AS (
    SELECT
        f.trace_id AS trace_id,
        f.priority AS priority,
        f.rule AS rule,
        f.verdict AS verdict,
        -- A missing key decides over a wrong type.
        FIRST(f.fix_target ORDER BY f.missing_keys = [], f.place)
            AS fix_target,
        COUNT(*) AS findings,
        COUNT(*) FILTER (WHERE f.review = 'dismissed') AS dismissed
    FROM findings f
    GROUP BY f.trace_id, f.priority, f.rule, f.verdict
),
-- One row per run with a finding.
summed AS (
    SELECT
        h.trace_id AS trace_id,
        LIST(h.rule ORDER BY h.priority) AS rules,
        LIST(h.verdict ORDER BY h.priority) AS verdicts,
        FIRST(h.fix_target ORDER BY h.priority) AS fix_target,
        CAST(SUM(h.findings) AS BIGINT) AS findings,
        CAST(SUM(h.dismissed) AS BIGINT) AS dismissed
    FROM holding h
    GROUP BY h.trace_id
)
SELECT
    n.trace_id AS trace_id,
    n.agent_name AS agent_name,
    n.korean_date AS korean_date,
    n.start_time AS start_time,
    n.final_status AS final_status,
    n.tool_calls AS tool_calls,
    COALESCE(s.rules[1], 'normal') AS rule,
    COALESCE(s.verdicts[1], '정상 완료') AS verdict,
    COALESCE(s.verdicts[2:], []) AS also_found,
    s.fix_target AS fix_target,
    COALESCE(s.findings, 0) AS findings,
    COALESCE(s.dismissed, 0) AS dismissed,
    n.tool_set AS tool_set,
    n.start_ns AS start_ns
FROM runs n
LEFT JOIN summed s ON s.trace_id = n.trace_id
WHERE n.unjudged_reason IS NULL;
COMMENT ON VIEW verdicts IS 'One of the six verdicts for each run that can be judged';
COMMENT ON COLUMN verdicts.trace_id IS 'The run';
COMMENT ON COLUMN verdicts.agent_name IS 'Agent of the final answer span';
COMMENT ON COLUMN verdicts.korean_date IS 'Date in Korea on which the run began';
COMMENT ON COLUMN verdicts.start_time IS 'Start of the run, Korean time, ISO 8601';
COMMENT ON COLUMN verdicts.final_status IS 'ok or error: status of the final answer span';
COMMENT ON COLUMN verdicts.tool_calls IS 'Number of execute_tool spans';
COMMENT ON COLUMN verdicts.rule IS 'The most important rule that holds, or normal';
COMMENT ON COLUMN verdicts.verdict IS 'The same in the words of diagnose';
COMMENT ON COLUMN verdicts.also_found IS 'The other verdicts that hold, in order of priority';
COMMENT ON COLUMN verdicts.fix_target IS 'Where to fix what the verdict says; NULL of a normal run';
COMMENT ON COLUMN verdicts.findings IS 'Number of findings';
COMMENT ON COLUMN verdicts.dismissed IS 'Those of them that a person dismissed';
COMMENT ON COLUMN verdicts.tool_set IS 'sha256 of the tools.json it is judged with; NULL when none is known';
COMMENT ON COLUMN verdicts.start_ns IS 'Start of the run, nanoseconds since 1970 UTC';
