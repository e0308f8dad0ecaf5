-- New traces get the tool set in force. Parameters: source_id of the file, its
-- batch.
INSERT INTO traces
SELECT u.trace_id, b.tool_set, b.batch_id
FROM touched u
JOIN batches b ON b.batch_id = $batch_id
WHERE NOT EXISTS (SELECT 1 FROM traces t WHERE t.trace_id = u.trace_id)
    AND EXISTS (
        SELECT 1 FROM spans s
        WHERE s.source_id = $source_id AND s.trace_id = u.trace_id
    );
