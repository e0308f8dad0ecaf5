-- View:    set_note_v2
-- Judges:  no verdict; all notes together.
-- Grain:   one row per row of a note view.
-- Reads:   note_args_not_recorded_v1,
--          note_args_not_json_v2,
--          note_args_undefined_tool_v2,
--          note_args_unreadable_schema_v1,
--          note_over_limit_but_ok_v1,
--          note_run_at_limit_v1,
--          note_args_written_differently_v1,
--          note_final_error_not_hidden_v1,
--          note_several_final_answers_v1,
--          note_final_answer_parent_missing_v1,
--          note_timeout_unknown_v1,
--          note_max_retries_unknown_v1,
--          note_no_tool_definitions_v1,
--          note_span_redelivered_v1,
--          note_span_conflict_v1,
--          note_spans_skipped_v1,
--          note_parent_cycle_v1,
--          note_call_without_span_v1,
--          note_args_rewritten_v1,
--          note_failure_beside_status_v1,
--          note_inner_agent_failed_v1,
--          note_spans_merged_v1,
--          note_args_changed_v1.
-- Fires when:        a note fires.
-- Stays silent when: no note fires.
-- Order:   none; place, then start_ns, then span_id, orders a run's notes.
-- Version: second. Tells of calls without spans, of merged spans, of how
--          arguments were recorded and of failures beside the status.
-- Tests:   tests/it/views.rs
CREATE OR REPLACE VIEW set_note_v2 AS
SELECT 1 AS place, 'args_not_recorded' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_not_recorded_v1
UNION ALL
SELECT 2 AS place, 'args_not_json' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_not_json_v2
UNION ALL
SELECT 3 AS place, 'args_undefined_tool' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_undefined_tool_v2
UNION ALL
SELECT 4 AS place, 'args_unreadable_schema' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_unreadable_schema_v1
UNION ALL
SELECT 5 AS place, 'over_limit_but_ok' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_over_limit_but_ok_v1
UNION ALL
SELECT 6 AS place, 'run_at_limit' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_run_at_limit_v1
UNION ALL
SELECT 7 AS place, 'args_written_differently' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_written_differently_v1
UNION ALL
SELECT 8 AS place, 'final_error_not_hidden' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_final_error_not_hidden_v1
UNION ALL
SELECT 9 AS place, 'several_final_answers' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_several_final_answers_v1
UNION ALL
SELECT 10 AS place, 'final_answer_parent_missing' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_final_answer_parent_missing_v1
UNION ALL
SELECT 11 AS place, 'timeout_unknown' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_timeout_unknown_v1
UNION ALL
SELECT 12 AS place, 'max_retries_unknown' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_max_retries_unknown_v1
UNION ALL
SELECT 13 AS place, 'no_tool_definitions' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_no_tool_definitions_v1
UNION ALL
SELECT 14 AS place, 'span_redelivered' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_span_redelivered_v1
UNION ALL
SELECT 15 AS place, 'span_conflict' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_span_conflict_v1
UNION ALL
SELECT 16 AS place, 'spans_skipped' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_spans_skipped_v1
UNION ALL
SELECT 17 AS place, 'parent_cycle' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_parent_cycle_v1
UNION ALL
SELECT 18 AS place, 'call_without_span' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_call_without_span_v1
UNION ALL
SELECT 19 AS place, 'args_rewritten' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_rewritten_v1
UNION ALL
SELECT 20 AS place, 'failure_beside_status' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_failure_beside_status_v1
UNION ALL
SELECT 21 AS place, 'inner_agent_failed' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_inner_agent_failed_v1
UNION ALL
SELECT 22 AS place, 'spans_merged' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_spans_merged_v1
UNION ALL
SELECT 23 AS place, 'args_changed' AS note,
    trace_id, tool_name, span_id, start_ns,
    measured, allowed, detail
FROM note_args_changed_v1;
COMMENT ON VIEW set_note_v2 IS 'Facts that are no verdict, a row each';
COMMENT ON COLUMN set_note_v2.place IS 'Order in which notes are told';
COMMENT ON COLUMN set_note_v2.note IS 'Name of the note';
COMMENT ON COLUMN set_note_v2.trace_id IS 'The run';
COMMENT ON COLUMN set_note_v2.tool_name IS 'The tool; NULL when the note is about the run';
COMMENT ON COLUMN set_note_v2.span_id IS 'The span; NULL when the note is about a tool or the run';
COMMENT ON COLUMN set_note_v2.start_ns IS 'Start of the span or of the first one, for order; 0 when it is about the run';
COMMENT ON COLUMN set_note_v2.measured IS 'What was measured or counted; NULL when nothing';
COMMENT ON COLUMN set_note_v2.allowed IS 'The limit it was held against; NULL when none';
COMMENT ON COLUMN set_note_v2.detail IS 'Text that the note compares; NULL when none';
