-- Ids of the traces with a prefix. Parameters: the prefix, one beyond the last
-- id with it.
SELECT DISTINCT s.trace_id
FROM spans s
WHERE s.trace_id >= $1 AND s.trace_id < $2
ORDER BY s.trace_id;
