-- Parents of the spans of traces whose parents are not settled yet, worked out
-- anew: the result is the same whatever order spans and files come in.
--
-- A recorded parent that is kept is the parent. From one that is not, dropped
-- and skipped spans are climbed (UNION removes what was seen: a cycle ends).
-- Parameter: source_id of the first file that has rows of them.
CREATE OR REPLACE TEMP TABLE kept AS
SELECT s.trace_id AS trace_id, s.span_id AS span_id,
    s.recorded_parent_span_id AS recorded_parent_span_id,
    s.tool_name AS tool_name, s.call_id AS call_id
FROM spans s
JOIN settling t ON t.trace_id = s.trace_id
WHERE NOT t.parents AND s.source_id >= $first_source_id;
CREATE OR REPLACE TEMP TABLE passed AS
SELECT l.trace_id AS trace_id, l.span_id AS span_id,
    l.parent_span_id AS parent_span_id
FROM span_links l
JOIN settling t ON t.trace_id = l.trace_id
WHERE NOT t.parents AND l.source_id >= $first_source_id;
CREATE OR REPLACE TEMP TABLE climbed AS
WITH RECURSIVE climb AS (
    SELECT
        k.trace_id AS trace_id,
        k.span_id AS span_id,
        k.recorded_parent_span_id AS ancestor
    FROM kept k
    WHERE k.recorded_parent_span_id IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM kept p
            WHERE p.trace_id = k.trace_id
                AND p.span_id = k.recorded_parent_span_id
        )
    UNION
    SELECT
        c.trace_id AS trace_id,
        c.span_id AS span_id,
        l.parent_span_id AS ancestor
    FROM climb c
    JOIN passed l
        ON l.trace_id = c.trace_id
        AND l.span_id = c.ancestor
    WHERE NOT EXISTS (
        SELECT 1 FROM kept p
        WHERE p.trace_id = c.trace_id AND p.span_id = c.ancestor
    )
)
SELECT
    c.trace_id AS trace_id,
    c.span_id AS span_id,
    MIN(p.span_id) AS parent_span_id,
    -- A climb that reached a span without a parent came to the real root.
    BOOL_OR(c.ancestor IS NULL) AS reached_root
FROM climb c
LEFT JOIN kept p ON p.trace_id = c.trace_id AND p.span_id = c.ancestor
GROUP BY c.trace_id, c.span_id;
CREATE OR REPLACE TEMP TABLE resolved AS
SELECT
    k.trace_id AS trace_id,
    k.span_id AS span_id,
    CASE WHEN c.span_id IS NULL THEN k.recorded_parent_span_id
        ELSE c.parent_span_id END AS parent_span_id,
    (c.span_id IS NOT NULL AND c.parent_span_id IS NULL
        AND NOT c.reached_root) AS parent_lost,
    k.tool_name AS tool_name,
    k.call_id AS call_id
FROM kept k
LEFT JOIN climbed c ON c.trace_id = k.trace_id AND c.span_id = k.span_id;
UPDATE spans
SET parent_span_id = r.parent_span_id, parent_lost = r.parent_lost
FROM resolved r
WHERE spans.source_id >= $first_source_id
    AND spans.trace_id = r.trace_id
    AND spans.span_id = r.span_id
    AND (spans.parent_span_id IS DISTINCT FROM r.parent_span_id
        OR spans.parent_lost <> r.parent_lost);
-- Spans that no walk down from a span without a parent comes to: their parents
-- lead back to themselves.
CREATE OR REPLACE TEMP TABLE cycles AS
WITH RECURSIVE rooted AS (
    SELECT r.trace_id AS trace_id, r.span_id AS span_id
    FROM resolved r
    WHERE r.parent_span_id IS NULL
    UNION
    SELECT r.trace_id AS trace_id, r.span_id AS span_id
    FROM rooted p
    JOIN resolved r
        ON r.trace_id = p.trace_id
        AND r.parent_span_id = p.span_id
)
SELECT DISTINCT r.trace_id AS trace_id
FROM resolved r
WHERE NOT EXISTS (
        SELECT 1 FROM rooted k
        WHERE k.trace_id = r.trace_id AND k.span_id = r.span_id
    )
    AND NOT EXISTS (
        SELECT 1 FROM ingest_issues i
        WHERE i.code = 'parent_cycle' AND i.trace_id = r.trace_id
    );
