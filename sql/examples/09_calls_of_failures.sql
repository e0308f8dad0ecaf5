SELECT
    e.case_id,
    e.trial,
    e.seq,
    e.turn,
    e.kind,
    e.event ->> 'tool' AS tool,
    e.event -> 'arguments' AS arguments
FROM eval_events e
WHERE e.verdict = 'FAIL'
    AND e.kind IN ('proposal', 'call')
ORDER BY e.experiment_id, e.case_id, e.trial, e.seq;
