-- The tool calls of the store in order, each with what names it: the span, and
-- its trace too where two traces use one span id.
CREATE TEMP TABLE call_spans AS
WITH counted AS (
    SELECT
        s.trace_id AS trace_id,
        s.span_id AS span_id,
        s.start_ns AS start_ns,
        s.tool_name AS tool_name,
        s.args_key AS args_key,
        COUNT(*) OVER (PARTITION BY s.span_id) AS traces
    FROM spans s
    WHERE s.operation = 'execute_tool'
)
SELECT
    CAST(ROW_NUMBER() OVER (
        ORDER BY c.start_ns, c.trace_id, c.span_id
    ) AS BIGINT) AS place,
    CASE WHEN c.traces > 1 THEN c.trace_id || '/' || c.span_id
        ELSE c.span_id
    END AS id,
    c.tool_name AS tool_name,
    c.args_key AS args_key
FROM counted c;
