-- Dropped operations of one run of ingest. Parameter: its number.
SELECT d.operation, CAST(SUM(d.spans) AS BIGINT)
FROM dropped_operations d
JOIN sources s ON s.source_id = d.source_id
WHERE s.batch_id = $1
GROUP BY d.operation
ORDER BY d.operation;
