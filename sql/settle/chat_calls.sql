-- Which calls in messages have no span of their own, in the touched traces.
-- Parameter: source_id of the first file that has rows of them.
--
-- The calls to settle. Of several with one id the first is the call.
CREATE OR REPLACE TEMP TABLE asked AS
SELECT
    c.trace_id AS trace_id,
    c.call_key AS call_key,
    -- Time, then span, then place in its messages, 2 before 10.
    ROW_NUMBER() OVER (
        PARTITION BY c.trace_id
        ORDER BY c.start_ns, c.span_id, LENGTH(c.call_key), c.call_key
    ) AS turn,
    c.tool_name AS tool_name,
    c.tool_args AS tool_args,
    c.args_key AS args_key,
    c.args_shape AS args_shape,
    c.call_id AS call_id
FROM chat_calls c
JOIN settling t ON t.trace_id = c.trace_id
QUALIFY c.call_id IS NULL OR ROW_NUMBER() OVER (
    PARTITION BY c.trace_id, c.call_id
    ORDER BY c.start_ns, c.span_id, LENGTH(c.call_key), c.call_key
) = 1;
-- Their tool spans, and whether an id is known for their calls. All that is
-- asked of spans stands here: looking through the arguments of all is dear.
CREATE OR REPLACE TEMP TABLE tool_spans AS
SELECT s.trace_id, s.span_id, s.start_ns, s.tool_name, s.args_key, s.call_id,
    s.tool_args IS NOT NULL AS has_args,
    (s.call_id IS NOT NULL OR EXISTS (
        SELECT 1 FROM merged_spans m
        WHERE m.trace_id = s.trace_id
            AND m.outer_span_id = s.span_id
            AND m.call_id IS NOT NULL
    )) AS knows_id
FROM spans s
WHERE s.operation = 'execute_tool'
    AND s.source_id >= $first_source_id
    AND s.trace_id IN (SELECT a.trace_id FROM asked a);
CREATE OR REPLACE TEMP TABLE by_id AS
SELECT a.trace_id AS trace_id, a.call_key AS call_key, s.span_id AS span_id
FROM asked a
JOIN tool_spans s ON s.trace_id = a.trace_id AND s.call_id = a.call_id
UNION
SELECT a.trace_id, a.call_key, m.outer_span_id
FROM asked a
JOIN merged_spans m ON m.trace_id = a.trace_id AND m.call_id = a.call_id;
-- What is left, in two kinds: calls with ids beside spans without, and calls
-- without ids beside all spans.
CREATE OR REPLACE TEMP TABLE left_calls AS
SELECT a.*, a.call_id IS NOT NULL AS has_id,
    ROW_NUMBER() OVER (
        PARTITION BY a.trace_id, a.call_id IS NOT NULL, a.tool_name, a.args_key
        ORDER BY a.turn
    ) AS place
FROM asked a
WHERE NOT EXISTS (
    SELECT 1 FROM by_id i
    WHERE i.trace_id = a.trace_id AND i.call_key = a.call_key
);
CREATE OR REPLACE TEMP TABLE left_spans AS
SELECT s.*, k.has_id AS has_id,
    ROW_NUMBER() OVER (
        PARTITION BY s.trace_id, k.has_id, s.tool_name, s.args_key
        ORDER BY s.start_ns, s.span_id
    ) AS place
FROM tool_spans s
CROSS JOIN (VALUES (TRUE), (FALSE)) k(has_id)
WHERE NOT (s.knows_id AND k.has_id);
-- The n-th call of a tool with certain arguments is the n-th such span.
CREATE OR REPLACE TEMP TABLE by_args AS
SELECT c.trace_id AS trace_id, c.call_key AS call_key, s.span_id AS span_id,
    c.has_id AS has_id
FROM left_calls c
JOIN left_spans s
    ON s.trace_id = c.trace_id
    AND s.has_id = c.has_id
    AND s.tool_name = c.tool_name
    AND s.args_key IS NOT DISTINCT FROM c.args_key
    AND s.place = c.place;
-- What is then left is paired by the tool alone: a framework may change the
-- arguments, or not record them.
CREATE OR REPLACE TEMP TABLE by_tool AS
WITH calls AS (
    SELECT c.trace_id, c.call_key, c.tool_name, c.has_id,
        ROW_NUMBER() OVER (
            PARTITION BY c.trace_id, c.has_id, c.tool_name
            ORDER BY c.turn
        ) AS place
    FROM left_calls c
    WHERE NOT EXISTS (
        SELECT 1 FROM by_args b
        WHERE b.trace_id = c.trace_id AND b.call_key = c.call_key
    )
),
free AS (
    SELECT s.trace_id, s.span_id, s.tool_name, s.has_id,
        ROW_NUMBER() OVER (
            PARTITION BY s.trace_id, s.has_id, s.tool_name
            ORDER BY s.start_ns, s.span_id
        ) AS place
    FROM left_spans s
    WHERE NOT EXISTS (
        SELECT 1 FROM by_args b
        WHERE b.trace_id = s.trace_id
            AND b.span_id = s.span_id
            AND b.has_id = s.has_id
    )
)
SELECT c.trace_id AS trace_id, c.call_key AS call_key, f.span_id AS span_id
FROM calls c
JOIN free f
    ON f.trace_id = c.trace_id
    AND f.has_id = c.has_id
    AND f.tool_name = c.tool_name
    AND f.place = c.place;
CREATE OR REPLACE TEMP TABLE paired AS
SELECT i.trace_id, i.call_key, i.span_id FROM by_id i
UNION ALL
SELECT b.trace_id, b.call_key, b.span_id FROM by_args b
UNION ALL
SELECT t.trace_id, t.call_key, t.span_id FROM by_tool t;
-- Calls whose arguments a span with their id has: they have nothing to add.
-- Such calls are let go while reading, so it must not matter whether they are
-- here.
CREATE OR REPLACE TEMP TABLE answered AS
SELECT DISTINCT i.trace_id AS trace_id, i.call_key AS call_key
FROM by_id i
JOIN asked a ON a.trace_id = i.trace_id AND a.call_key = i.call_key
JOIN tool_spans s ON s.trace_id = i.trace_id AND s.span_id = i.span_id
WHERE s.has_args AND s.args_key IS NOT DISTINCT FROM a.args_key
UNION
SELECT a.trace_id, a.call_key
FROM asked a
JOIN merged_spans m ON m.trace_id = a.trace_id AND m.call_id = a.call_id
WHERE m.tool_args IS NOT NULL AND m.args_key IS NOT DISTINCT FROM a.args_key;
-- Arguments that a span lacks are those of the message that asked for it.
CREATE OR REPLACE TEMP TABLE lent AS
SELECT
    p.trace_id AS trace_id,
    p.span_id AS span_id,
    a.tool_args AS tool_args,
    a.args_key AS args_key,
    a.args_shape AS args_shape
FROM paired p
JOIN asked a ON a.trace_id = p.trace_id AND a.call_key = p.call_key
JOIN tool_spans s ON s.trace_id = p.trace_id AND s.span_id = p.span_id
WHERE a.tool_args IS NOT NULL
    AND NOT s.has_args
    AND NOT EXISTS (
        SELECT 1 FROM answered k
        WHERE k.trace_id = p.trace_id AND k.call_key = p.call_key
    )
QUALIFY ROW_NUMBER() OVER (
    PARTITION BY p.trace_id, p.span_id
    ORDER BY a.turn
) = 1;
UPDATE spans
SET tool_args = l.tool_args,
    args_key = l.args_key,
    args_shape = l.args_shape,
    args_from_messages = TRUE
FROM lent l
WHERE spans.source_id >= $first_source_id
    AND spans.trace_id = l.trace_id AND spans.span_id = l.span_id;
-- A framework may change the arguments that it was given.
CREATE OR REPLACE TEMP TABLE changed AS
SELECT
    p.trace_id AS trace_id,
    p.span_id AS span_id,
    ARG_MIN(a.args_key, a.turn) AS asked_args
FROM by_id p
JOIN asked a ON a.trace_id = p.trace_id AND a.call_key = p.call_key
JOIN tool_spans s ON s.trace_id = p.trace_id AND s.span_id = p.span_id
LEFT JOIN lent l ON l.trace_id = p.trace_id AND l.span_id = p.span_id
WHERE COALESCE(l.args_key, s.args_key) <> a.args_key
    AND NOT EXISTS (
        SELECT 1 FROM answered k
        WHERE k.trace_id = p.trace_id AND k.call_key = p.call_key
    )
GROUP BY p.trace_id, p.span_id;
UPDATE spans
SET asked_args = c.asked_args
FROM changed c
WHERE spans.source_id >= $first_source_id
    AND spans.trace_id = c.trace_id AND spans.span_id = c.span_id;
CREATE OR REPLACE TEMP TABLE settled AS
SELECT
    o.trace_id AS trace_id,
    o.call_key AS call_key,
    (a.call_key IS NOT NULL AND p.call_key IS NULL) AS alone,
    f.failure AS failure
FROM chat_calls o
LEFT JOIN asked a ON a.trace_id = o.trace_id AND a.call_key = o.call_key
LEFT JOIN paired p ON p.trace_id = o.trace_id AND p.call_key = o.call_key
LEFT JOIN (
    SELECT x.trace_id, x.call_id, MIN(x.failure) AS failure
    FROM chat_failures x
    GROUP BY x.trace_id, x.call_id
) f
    ON f.trace_id = o.trace_id AND f.call_id = o.call_id
WHERE o.trace_id IN (SELECT x.trace_id FROM asked x);
UPDATE chat_calls
SET alone = s.alone,
    failure = s.failure,
    status = CASE WHEN s.failure IS NULL THEN NULL ELSE 'error' END
FROM settled s
WHERE chat_calls.trace_id = s.trace_id AND chat_calls.call_key = s.call_key;
-- A call whose id a span has can never be without a span again. Its row stays
-- where it says more than the span does by itself.
DELETE FROM chat_calls c
WHERE EXISTS (
        SELECT 1 FROM by_id i
        WHERE i.trace_id = c.trace_id AND i.call_key = c.call_key
    )
    AND NOT EXISTS (
        SELECT 1 FROM by_id i
        JOIN tool_spans s
            ON s.trace_id = i.trace_id AND s.span_id = i.span_id
        LEFT JOIN lent l ON l.trace_id = i.trace_id AND l.span_id = i.span_id
        WHERE i.trace_id = c.trace_id
            AND i.call_key = c.call_key
            AND (l.span_id IS NOT NULL
                OR s.args_key IS DISTINCT FROM c.args_key)
    )
    AND NOT EXISTS (
        SELECT 1 FROM merged_spans m WHERE m.trace_id = c.trace_id
    );
