-- View:    base_trace_v1
-- Judges:  nothing; says which traces are judged, and with which tool set.
-- Grain:   one row per trace in scope.
-- Reads:   traces, judge_settings, judge_scope.
-- Fires when:        not scoped, or the trace is in judge_scope.
-- Stays silent when: scoped and the trace is not in judge_scope.
-- Order:   none.
-- Version: first.
-- Tests:   tests/it/views.rs
--
-- The scope stands here, under every window, because a filter outside a rule
-- view is not pushed through its windows.
CREATE OR REPLACE VIEW base_trace_v1 AS
SELECT
    t.trace_id AS trace_id,
    COALESCE(j.tool_set_override, t.tool_set, j.tool_set_default) AS tool_set
FROM traces t
CROSS JOIN judge_settings j
WHERE NOT j.scoped
UNION ALL
SELECT
    t.trace_id AS trace_id,
    COALESCE(j.tool_set_override, t.tool_set, j.tool_set_default) AS tool_set
FROM traces t
JOIN judge_scope c ON c.trace_id = t.trace_id
CROSS JOIN judge_settings j
WHERE j.scoped;
COMMENT ON VIEW base_trace_v1 IS 'The traces that are judged, each with its tool set';
COMMENT ON COLUMN base_trace_v1.trace_id IS 'The run';
COMMENT ON COLUMN base_trace_v1.tool_set IS 'sha256 of the tools.json it is judged with; NULL when none is known';
