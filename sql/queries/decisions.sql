-- Decisions on candidates for HQ, oldest first.
SELECT d.tool_name, d.rule, d.decision, d.reason, d.decided_by, d.decided_at,
    d.decided_ns
FROM hq_decisions d
ORDER BY d.decided_ns, d.tool_name, d.rule, d.decision, d.reason;
