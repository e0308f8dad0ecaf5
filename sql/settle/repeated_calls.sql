-- A chat span that is delivered again holds the same calls again.
-- Parameter: source_id of the file.
DELETE FROM chat_calls c
WHERE c.source_id = $source_id AND EXISTS (
    SELECT 1 FROM chat_calls o
    WHERE o.trace_id = c.trace_id
        AND o.call_key = c.call_key
        AND (o.source_id < c.source_id
            OR (o.source_id = c.source_id AND o.rowid < c.rowid))
);
DELETE FROM chat_failures f
WHERE f.source_id = $source_id AND EXISTS (
    SELECT 1 FROM chat_failures o
    WHERE o.trace_id = f.trace_id
        AND o.call_id = f.call_id
        AND o.failure = f.failure
        AND o.source_id < f.source_id
);
