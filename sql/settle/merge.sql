-- Merges the spans of same_call into the outermost. It takes what it lacks
-- from the first that has it, the inner ones move to merged_spans, and their
-- children become its own.
-- Parameter: source_id of the first file that has rows of them.
CREATE OR REPLACE TEMP TABLE inner_spans AS
SELECT
    s.*,
    c.outer_span_id AS outer_span_id,
    CASE WHEN s.status = 'error' THEN COALESCE(s.failure, 'status=error')
        ELSE s.failure END AS inner_failure,
    ROW_NUMBER() OVER (
        PARTITION BY s.trace_id, c.outer_span_id
        ORDER BY s.start_ns, s.span_id
    ) AS place
FROM spans s
JOIN same_call c ON c.trace_id = s.trace_id AND c.span_id = s.span_id
WHERE s.source_id >= $first_source_id;
-- The places from which the outer span takes what it lacks, and what it takes.
CREATE OR REPLACE TEMP TABLE given AS
SELECT
    i.trace_id AS trace_id,
    i.outer_span_id AS outer_span_id,
    MIN(CASE WHEN o.tool_args IS NULL AND i.tool_args IS NOT NULL
        THEN i.place END) AS args_place,
    MIN(CASE WHEN o.tool_result IS NULL AND i.tool_result IS NOT NULL
        THEN i.place END) AS result_place,
    MIN(CASE WHEN o.error_type IS NULL AND i.error_type IS NOT NULL
        THEN i.place END) AS error_type_place,
    MIN(CASE WHEN o.failure IS NULL AND i.inner_failure IS NOT NULL
        THEN i.place END) AS failure_place,
    ARG_MIN(i.tool_result, i.place) AS tool_result,
    ARG_MIN(i.error_type, i.place) AS error_type,
    ARG_MIN(i.inner_failure, i.place) AS failure
FROM inner_spans i
JOIN spans o ON o.trace_id = i.trace_id AND o.span_id = i.outer_span_id
WHERE o.source_id >= $first_source_id
GROUP BY i.trace_id, i.outer_span_id;
INSERT INTO merged_spans BY NAME
SELECT
    i.* EXCLUDE (inner_failure, place),
    i.place IS NOT DISTINCT FROM g.args_place AS gave_args,
    i.place IS NOT DISTINCT FROM g.result_place AS gave_result,
    i.place IS NOT DISTINCT FROM g.error_type_place AS gave_error_type,
    i.place IS NOT DISTINCT FROM g.failure_place AS gave_failure
FROM inner_spans i
JOIN given g
    ON g.trace_id = i.trace_id AND g.outer_span_id = i.outer_span_id;
UPDATE spans
SET tool_args = i.tool_args,
    -- What the outer one recorded stays: it may be no arguments, but a text.
    tool_args_raw = COALESCE(spans.tool_args_raw, i.tool_args_raw),
    args_form = COALESCE(spans.args_form, i.args_form),
    args_key = i.args_key,
    args_shape = i.args_shape
FROM given g, inner_spans i
WHERE i.trace_id = g.trace_id
    AND i.outer_span_id = g.outer_span_id
    AND i.place = g.args_place
    AND spans.trace_id = g.trace_id
    AND spans.span_id = g.outer_span_id;
UPDATE spans
SET tool_result = COALESCE(spans.tool_result, g.tool_result),
    error_type = COALESCE(spans.error_type, g.error_type),
    failure = COALESCE(spans.failure, g.failure)
FROM given g
WHERE spans.trace_id = g.trace_id AND spans.span_id = g.outer_span_id;
DELETE FROM spans s
WHERE EXISTS (
    SELECT 1 FROM same_call c
    WHERE c.trace_id = s.trace_id AND c.span_id = s.span_id
);
UPDATE spans
SET parent_span_id = c.outer_span_id
FROM same_call c
WHERE spans.trace_id = c.trace_id AND spans.parent_span_id = c.span_id;
