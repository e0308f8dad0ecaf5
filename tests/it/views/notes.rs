//! Rows of the notes: facts that are no verdict. Where a rule and a note share an inequality, they share the rows.

use taco_trace::model::IssueCode;

use super::super::support::{Fixture, answer, answers, call, tool};
use super::{durations, errors, stretches};

#[test]
fn notes_on_final_errors_tell_only_those_that_stand() {
    let sql = "SELECT trace_id, tool_name, span_id FROM note_final_error_not_hidden_v1 ORDER BY ALL";
    let expected = [
        "final error|-|-",
        "final error, error again|-|-",
        "final error, ok at the same time|-|-",
        "final error, only another tool is ok|-|-",
    ];
    assert_eq!(answers(&errors().store(), sql), expected);
}

#[test]
fn notes_on_arguments_tell_what_was_not_checked() {
    let store = Fixture::new()
        .tool(tool("a"))
        .tool(tool("unreadable").unreadable())
        .calls("checked", "a/1")
        .calls("not recorded", "a/- a/1 a/-")
        .calls("not JSON", "a/! a/1")
        .calls("not defined", "x/- x/! y/1")
        .calls("unreadable", "unreadable/1 unreadable/2")
        .store();
    let not_recorded = "SELECT trace_id, tool_name, span_id FROM note_args_not_recorded_v1 ORDER BY ALL";
    assert_eq!(answers(&store, not_recorded), ["not recorded|a|s1", "not recorded|a|s3"]);
    let not_json = "SELECT trace_id, tool_name, span_id FROM note_args_not_json_v1 ORDER BY ALL";
    assert_eq!(answers(&store, not_json), ["not JSON|a|s1"]);
    let undefined = "SELECT trace_id, tool_name, span_id FROM note_args_undefined_tool_v1 ORDER BY ALL";
    assert_eq!(answers(&store, undefined), ["not defined|x|-", "not defined|y|-"]);
    let unreadable = "SELECT trace_id, tool_name, span_id FROM note_args_unreadable_schema_v1 ORDER BY ALL";
    assert_eq!(answers(&store, unreadable), ["unreadable|unreadable|-"]);
}

#[test]
fn notes_on_limits_tell_what_is_at_over_or_without_one() {
    let over = "SELECT trace_id, tool_name, span_id, measured, allowed FROM note_over_limit_but_ok_v1 ORDER BY ALL";
    assert_eq!(answers(&durations().store(), over), ["above, ok|a|s1|101|100"]);
    let no_timeout = "SELECT trace_id, tool_name, span_id FROM note_timeout_unknown_v1 ORDER BY ALL";
    assert_eq!(answers(&durations().store(), no_timeout), ["no limit, error|free|-", "no limit, ok|free|-"]);
    let no_retries = "SELECT trace_id, tool_name, span_id FROM note_max_retries_unknown_v1 ORDER BY ALL";
    assert_eq!(answers(&stretches().store(), no_retries), ["no limit|free|-"]);
    let at = "SELECT trace_id, tool_name, span_id, measured, allowed FROM note_run_at_limit_v1 ORDER BY ALL";
    let expected = ["3 of 3|a|s1|3|3", "two stretches|a|s1|3|3", "two tools|a|s1|3|3"];
    assert_eq!(answers(&stretches().store(), at), expected);
}

#[test]
fn notes_on_ways_of_writing_tell_each_way_of_a_stretch() {
    let xy = |trace: &str, id: &str, text: &str| call(trace, id).written(text, "{x,y}");
    let store = Fixture::new()
        .tool(tool("a").max_retries(2))
        .span(xy("one way", "s1", "{x,y}"))
        .span(xy("one way", "s2", "{x,y}"))
        .span(xy("two ways", "s1", "{x,y}").start(5))
        .span(xy("two ways", "s2", "{y,x}"))
        .span(xy("two ways", "s3", "{x,y}"))
        .span(call("two ways, then one way", "s1").args("1"))
        .span(call("two ways, then one way", "s2").written("1 ", "1"))
        .span(call("two ways, then one way", "s3").args("2"))
        .span(call("two ways, then one way", "s4").args("2"))
        .span(xy("below the limit", "s1", "{x,y}"))
        .span(xy("below the limit", "s2", "{y,x}").tool("b"))
        .store();
    let sql =
        "SELECT trace_id, tool_name, span_id, start_ns, detail FROM note_args_written_differently_v1 ORDER BY ALL";
    assert_eq!(
        answers(&store, sql),
        [
            "two ways|a|s1|5|{x,y}",
            "two ways|a|s1|5|{y,x}",
            "two ways, then one way|a|s1|1050|1",
            "two ways, then one way|a|s1|1050|1 ",
        ]
    );
}

#[test]
fn notes_on_the_final_answer_tell_a_choice_and_a_lost_parent() {
    let store = Fixture::new()
        .span(answer("one", "a"))
        .span(answer("two", "a").end(1))
        .span(answer("two", "b").end(2))
        .span(answer("parent lost", "a").parent_lost())
        .span(answer("parent lost of another", "a").parent_lost())
        .span(answer("parent lost of another", "b"))
        .store();
    let several = "SELECT trace_id, span_id, measured FROM note_several_final_answers_v1 ORDER BY ALL";
    assert_eq!(answers(&store, several), ["parent lost of another|b|2", "two|b|2"]);
    let lost = "SELECT trace_id, span_id FROM note_final_answer_parent_missing_v1 ORDER BY ALL";
    assert_eq!(answers(&store, lost), ["parent lost|a"]);
}

#[test]
fn note_on_no_tool_definitions_is_silent_for_an_empty_set() {
    let store = Fixture::new()
        .calls("none known", "a/1 b/1")
        .tool_set_of("none known", None)
        .calls("an empty set", "a/1")
        .span(answer("none known, no call", "a"))
        .tool_set_of("none known, no call", None)
        .store();
    let sql = "SELECT trace_id FROM note_no_tool_definitions_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["none known"]);
}

#[test]
fn notes_on_reading_tell_the_issues_of_traces_in_scope() {
    let mut fixture = Fixture::new().scope(&["t1", "no issue", "another issue"]).calls("no issue", "a/1");
    fixture = fixture.calls("another issue", "a/!").issue("another issue", Some("s1"), IssueCode::ArgsNotJson);
    for trace in ["t1", "out of scope"] {
        fixture = fixture.calls(trace, "a/1");
        for (code, spans) in [
            (IssueCode::SpanRedelivered, ["s1", "s2"]),
            (IssueCode::SpanConflict, ["s3", "s3"]),
            (IssueCode::StatusMissing, ["s4", "s5"]),
            (IssueCode::ParentCycle, ["s6", "s7"]),
        ] {
            fixture = fixture.issue(trace, Some(spans[0]), code).issue(trace, Some(spans[1]), code);
        }
    }
    let store = fixture.store();
    assert_eq!(answers(&store, "SELECT trace_id, measured FROM note_span_redelivered_v1 ORDER BY ALL"), ["t1|2"]);
    assert_eq!(answers(&store, "SELECT trace_id, span_id FROM note_span_conflict_v1 ORDER BY ALL"), ["t1|s3"]);
    assert_eq!(answers(&store, "SELECT trace_id, measured FROM note_spans_skipped_v1 ORDER BY ALL"), ["t1|2"]);
    assert_eq!(answers(&store, "SELECT trace_id, span_id FROM note_parent_cycle_v1 ORDER BY ALL"), ["t1|-"]);
}
