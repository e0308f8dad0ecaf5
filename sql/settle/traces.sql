-- Touched traces that are new get the tool set in force.
-- Parameter: the batch of the file.
INSERT INTO traces
SELECT u.trace_id, b.tool_set, b.batch_id
FROM touched u
JOIN batches b ON b.batch_id = $batch_id
WHERE NOT EXISTS (SELECT 1 FROM traces t WHERE t.trace_id = u.trace_id);
