-- Start of the first run that the judgement is limited to; NULL without one.
SELECT MIN(s.start_ns)
FROM spans s
JOIN judge_scope c ON c.trace_id = s.trace_id;
