-- The judgement recorded last.
SELECT
    rule_set, rule_set_sha256, tool_set_override,
    runs, runs_with_findings, unjudged
FROM judgements
ORDER BY judged_at DESC
LIMIT 1;
