-- View:    base_stretch_v1
-- Judges:  nothing; stretches of equal calls that reach their tool's limit.
-- Grain:   one row per call of such a stretch.
-- Reads:   spans, base_call_v1, tool_definitions.
-- Fires when:        calls that follow one another among all tool calls of the
--                    trace have equal tool_name and equal args_key, and there
--                    are at least 2 and at least max_retries of them.
-- Stays silent when: another call stands between; arguments are not recorded
--                    or not JSON; the tool is not defined or has no limit.
-- Order:   start_ns, then span_id.
-- Version: first.
-- Tests:   tests/it/views.rs
--
-- Narrow first, window second: only traces in which arguments occur twice
-- are sorted at all (4 to 5 times cheaper at a million calls). Arguments alone
-- are compared; a join or a further key costs more than it saves.
CREATE OR REPLACE VIEW base_stretch_v1 AS
-- Traces, in scope or not, with equal arguments wherever they stand.
WITH repeated AS (
    SELECT DISTINCT r.trace_id AS trace_id
    FROM (
        SELECT s.trace_id AS trace_id
        FROM spans s
        WHERE s.operation = 'execute_tool' AND s.args_key IS NOT NULL
        GROUP BY s.trace_id, s.args_key
        HAVING COUNT(*) > 1
    ) r
),
-- All calls of those traces beside the call before. NULL equals nothing, so a
-- call without readable arguments breaks a stretch and joins none.
neighbours AS (
    SELECT
        c.trace_id AS trace_id,
        c.span_id AS span_id,
        c.start_ns AS start_ns,
        c.tool_name AS tool_name,
        c.args_key AS args_key,
        c.tool_set AS tool_set,
        LAG(c.tool_name) OVER w AS previous_tool,
        LAG(c.args_key) OVER w AS previous_key
    FROM base_call_v1 c
    JOIN repeated r ON r.trace_id = c.trace_id
    WINDOW w AS (PARTITION BY c.trace_id ORDER BY c.start_ns, c.span_id)
),
-- 1 where a new stretch begins.
breaks AS (
    SELECT
        n.trace_id AS trace_id,
        n.span_id AS span_id,
        n.start_ns AS start_ns,
        n.tool_name AS tool_name,
        n.tool_set AS tool_set,
        CASE
            WHEN n.previous_tool = n.tool_name AND n.previous_key = n.args_key
            THEN 0 ELSE 1
        END AS begins
    FROM neighbours n
),
-- The running count of beginnings numbers the stretches.
numbered AS (
    SELECT
        b.trace_id AS trace_id,
        b.span_id AS span_id,
        b.start_ns AS start_ns,
        b.tool_name AS tool_name,
        b.tool_set AS tool_set,
        b.begins AS begins,
        SUM(b.begins) OVER (
            PARTITION BY b.trace_id ORDER BY b.start_ns, b.span_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS stretch_no
    FROM breaks b
),
-- One row per stretch: its first call and its length.
measured AS (
    SELECT
        n.trace_id AS trace_id,
        n.stretch_no AS stretch_no,
        n.tool_name AS tool_name,
        n.tool_set AS tool_set,
        MAX(CASE WHEN n.begins = 1 THEN n.span_id END) AS first_span_id,
        COUNT(*) AS run_length
    FROM numbered n
    GROUP BY n.trace_id, n.stretch_no, n.tool_name, n.tool_set
)
SELECT
    n.trace_id AS trace_id,
    m.first_span_id AS first_span_id,
    n.tool_name AS tool_name,
    n.span_id AS span_id,
    n.start_ns AS start_ns,
    CAST(m.run_length AS BIGINT) AS run_length,
    d.max_retries AS max_retries
FROM measured m
JOIN tool_definitions d
    ON d.tool_set = m.tool_set
    AND d.tool_name = m.tool_name
JOIN numbered n
    ON n.trace_id = m.trace_id
    AND n.stretch_no = m.stretch_no
WHERE m.run_length > 1 AND m.run_length >= d.max_retries;
COMMENT ON VIEW base_stretch_v1 IS 'Calls of stretches that reach the retry limit of their tool';
COMMENT ON COLUMN base_stretch_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_stretch_v1.first_span_id IS 'First call of the stretch: names the stretch';
COMMENT ON COLUMN base_stretch_v1.tool_name IS 'The tool called';
COMMENT ON COLUMN base_stretch_v1.span_id IS 'A call of the stretch';
COMMENT ON COLUMN base_stretch_v1.start_ns IS 'Its start, nanoseconds since 1970 UTC';
COMMENT ON COLUMN base_stretch_v1.run_length IS 'How many equal calls the stretch has';
COMMENT ON COLUMN base_stretch_v1.max_retries IS 'How many are allowed, the first included';
