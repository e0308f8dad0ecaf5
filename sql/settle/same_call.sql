-- Tool spans of touched traces whose nearest kept ancestor is the same call:
-- a tool span of the same tool, with the same call id or one of the two ids
-- missing. One row per inner span, with the outermost span of the call.
CREATE OR REPLACE TEMP TABLE same_call AS
WITH RECURSIVE pairs AS (
    SELECT
        i.trace_id AS trace_id,
        i.span_id AS span_id,
        o.span_id AS outer_span_id
    FROM resolved i
    JOIN resolved o
        ON o.trace_id = i.trace_id
        AND o.span_id = i.parent_span_id
        AND o.tool_name = i.tool_name
    WHERE i.call_id = o.call_id OR i.call_id IS NULL OR o.call_id IS NULL
),
climb AS (
    SELECT p.trace_id, p.span_id, p.outer_span_id FROM pairs p
    UNION
    SELECT c.trace_id, c.span_id, p.outer_span_id
    FROM climb c
    JOIN pairs p
        ON p.trace_id = c.trace_id AND p.span_id = c.outer_span_id
)
SELECT
    c.trace_id AS trace_id,
    c.span_id AS span_id,
    c.outer_span_id AS outer_span_id
FROM climb c
-- The outermost is inside no other; in a cycle there is none.
WHERE NOT EXISTS (
    SELECT 1 FROM pairs p
    WHERE p.trace_id = c.trace_id AND p.span_id = c.outer_span_id
);
