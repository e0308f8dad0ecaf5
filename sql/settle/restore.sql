-- Spans of touched traces that were merged, put back as they were before: what
-- is merged is worked out anew below.
CREATE OR REPLACE TEMP TABLE restored AS
SELECT m.*
FROM merged_spans m
WHERE m.trace_id IN (SELECT t.trace_id FROM unsettled t);
CREATE OR REPLACE TEMP TABLE taken_back AS
SELECT
    r.trace_id AS trace_id,
    r.outer_span_id AS span_id,
    BOOL_OR(r.gave_args) AS args,
    MAX(CASE WHEN r.gave_args THEN r.tool_args_raw END) AS raw,
    MAX(CASE WHEN r.gave_args THEN r.args_form END) AS form,
    BOOL_OR(r.gave_result) AS result,
    BOOL_OR(r.gave_error_type) AS error_type,
    BOOL_OR(r.gave_failure) AS failure
FROM restored r
GROUP BY r.trace_id, r.outer_span_id;
UPDATE spans
SET tool_args = CASE WHEN t.args THEN NULL ELSE spans.tool_args END,
    tool_args_raw = CASE WHEN t.args AND spans.tool_args_raw = t.raw THEN NULL
        ELSE spans.tool_args_raw END,
    args_form = CASE WHEN t.args AND spans.args_form = t.form THEN NULL
        ELSE spans.args_form END,
    args_key = CASE WHEN t.args THEN NULL ELSE spans.args_key END,
    args_shape = CASE WHEN t.args THEN NULL ELSE spans.args_shape END,
    tool_result = CASE WHEN t.result THEN NULL ELSE spans.tool_result END,
    error_type = CASE WHEN t.error_type THEN NULL ELSE spans.error_type END,
    failure = CASE WHEN t.failure THEN NULL ELSE spans.failure END
FROM taken_back t
WHERE spans.trace_id = t.trace_id AND spans.span_id = t.span_id;
INSERT INTO spans BY NAME
SELECT r.* EXCLUDE (
    outer_span_id, gave_args, gave_result, gave_error_type, gave_failure
)
FROM restored r;
DELETE FROM merged_spans m
WHERE EXISTS (SELECT 1 FROM restored r WHERE r.trace_id = m.trace_id);
