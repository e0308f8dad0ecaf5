-- Where the spans of the runs in judge_scope were read, and when they ran, in
-- order.
SELECT s.trace_id, s.span_id, i.path, s.line, s.start_ns, s.end_ns
FROM spans s
JOIN judge_scope c ON c.trace_id = s.trace_id
LEFT JOIN sources i ON i.source_id = s.source_id
ORDER BY s.trace_id, s.start_ns, s.span_id;
