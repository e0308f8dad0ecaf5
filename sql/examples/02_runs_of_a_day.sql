-- The last day of the store; write a date instead: DATE '2026-10-07'.
SELECT
    v.start_time[12:19] AS time,
    v.trace_id[:8] AS trace,
    v.agent_name,
    v.verdict
FROM verdicts v
WHERE v.korean_date = (SELECT MAX(r.korean_date) FROM runs r)
    AND v.rule <> 'normal'
ORDER BY v.start_ns, v.trace_id;
