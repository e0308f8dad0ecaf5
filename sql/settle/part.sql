-- One part of the touched traces: those that are settled now.
-- Parameters: number of the part, from 0; number of parts.
CREATE OR REPLACE TEMP TABLE settling AS
SELECT t.trace_id AS trace_id, t.parents AS parents
FROM unsettled t
WHERE HASH(t.trace_id) % $parts = $part;
