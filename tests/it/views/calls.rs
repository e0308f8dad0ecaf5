//! Rows of the views that also look at calls in messages, at merged spans and at what beside the status tells of failure.

use super::super::support::{Fixture, answer, answers, call, tool};

/// A row of `chat_calls` that has no span of its own, with these columns: name, canonical arguments, shape, status.
fn chat_call(trace: &str, place: u32, name: &str, args: [&str; 2], status: &str) -> String {
    let [args_key, shape] = args.map(|text| if text.is_empty() { "NULL".to_owned() } else { format!("'{text}'") });
    let status = if status.is_empty() { "NULL".to_owned() } else { format!("'{status}'") };
    format!(
        "INSERT INTO chat_calls VALUES ('{trace}', 'c#{place}', 'c', {}, '{name}', {args_key}, NULL, NULL, {args_key},
            {shape}, NULL, TRUE, {status}, NULL, '', 1, 1, 1);",
        5_000 + place
    )
}

/// The same row as a call that has a span.
fn with_span(row: &str) -> String {
    row.replace("TRUE", "FALSE")
}

#[test]
fn requested_call_is_each_span_and_each_call_in_messages_without_one() {
    let alone = chat_call("t1", 1, "b", ["{}", ""], "");
    let store = Fixture::new()
        .scope(&["t1"])
        .span(call("t1", "s1").duration_ms(7))
        .span(answer("t1", "root"))
        .span(call("out of scope", "s1"))
        .sql(&alone)
        .sql(&with_span(&chat_call("t1", 2, "b", ["{}", ""], "")))
        .sql(&chat_call("out of scope", 1, "b", ["{}", ""], ""))
        .store();
    let sql = "SELECT call_key, span_id, tool_name, args_key, status, duration_ms, tool_set, origin \
        FROM base_requested_call_v1 ORDER BY call_key";
    assert_eq!(answers(&store, sql), ["c#1|c|b|{}|-|0|set1|chat", "s1|s1|a|{}|ok|7|set1|span"]);
}

#[test]
fn undefined_tool_is_also_one_that_messages_only_ask_for() {
    let store = Fixture::new()
        .tool(tool("a"))
        .span(call("in messages", "s1"))
        .sql(&chat_call("in messages", 1, "x", ["{}", ""], ""))
        .sql(&chat_call("in messages", 2, "x", ["{}", ""], "error"))
        .span(call("defined", "s1"))
        .sql(&chat_call("defined", 1, "a", ["{}", ""], ""))
        .span(call("with a span", "s1"))
        .sql(&with_span(&chat_call("with a span", 1, "x", ["{}", ""], "")))
        .span(call("a span", "s1").tool("x"))
        .span(call("no definitions", "s1").tool("x"))
        .tool_set_of("no definitions", None)
        .store();
    let sql = "SELECT trace_id, finding, span_id, call_key FROM rule_undefined_tool_v2 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["a span|x|s1|s1", "in messages|x|c|c#1", "in messages|x|c|c#2"]);
    let sql = "SELECT trace_id, tool_name FROM note_args_undefined_tool_v2 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["a span|x", "in messages|x"]);
}

#[test]
fn args_mismatch_holds_calls_in_messages_against_the_schema_one_by_one() {
    let shapes = "INSERT INTO arg_shapes VALUES ('q text', 'q', 'string', 'string', 1), \
        ('q number', 'q', 'integer', 'integer', 1);";
    let store = Fixture::new()
        .tool(tool("a").required("q", &["string"]))
        .sql(shapes)
        .span(call("fits", "s1").arg("q", "string"))
        .sql(&chat_call("fits", 1, "a", ["{q}", "q text"], ""))
        .span(call("missing and wrong", "s1").arg("q", "string"))
        .sql(&chat_call("missing and wrong", 1, "a", ["{}", "{}"], ""))
        .sql(&chat_call("missing and wrong", 2, "a", ["{q}", "q number"], "error"))
        .span(call("not recorded", "s1").arg("q", "string"))
        .sql(&chat_call("not recorded", 1, "a", ["", ""], ""))
        .span(call("with a span", "s1").arg("q", "string"))
        .sql(&with_span(&chat_call("with a span", 1, "a", ["{}", "{}"], "")))
        .span(call("a span", "s1"))
        .store();
    let sql = "SELECT trace_id, finding, span_id, call_key, arg_key, problem FROM rule_args_mismatch_v2 ORDER BY ALL";
    let expected =
        ["a span|s1|s1|s1|q|missing", "missing and wrong|c#1|c|c#1|q|missing", "missing and wrong|c#2|c|c#2|q|integer"];
    assert_eq!(answers(&store, sql), expected);
}

#[test]
fn error_hidden_counts_calls_in_messages_only_where_they_say_so() {
    let mut fixture = Fixture::new().tool(tool("a"));
    for (trace, status) in [("says error", "error"), ("does not say", "")] {
        fixture = fixture.span(answer(trace, "root")).sql(&chat_call(trace, 1, "a", ["{}", ""], status));
        fixture = fixture.span(call(trace, "s0").tool("b"));
    }
    let recovered = fixture
        .span(answer("recovered", "root"))
        .sql(&chat_call("recovered", 1, "a", ["{}", ""], "error"))
        .span(call("recovered", "s1").start(9_000))
        .span(answer("ended in error", "root").error())
        .sql(&chat_call("ended in error", 1, "a", ["{}", ""], "error"))
        .span(call("ended in error", "s0").tool("b"));
    let sql = "SELECT trace_id, finding, span_id, call_key FROM rule_error_hidden_v2 ORDER BY ALL";
    assert_eq!(answers(&recovered.store(), sql), ["says error|a|c|c#1"]);
}

#[test]
fn notes_on_calls_without_spans_count_them_by_tool() {
    let store = Fixture::new()
        .span(call("t1", "s1"))
        .sql(&chat_call("t1", 1, "b", ["{}", ""], ""))
        .sql(&chat_call("t1", 2, "b", ["{}", ""], ""))
        .sql(&with_span(&chat_call("t1", 3, "a", ["{}", ""], "")))
        .store();
    let sql = "SELECT trace_id, tool_name, span_id, measured FROM note_call_without_span_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["t1|b|c|2"]);
}

#[test]
fn notes_on_arguments_tell_how_they_were_recorded() {
    let form = |id: &str, form: &str| format!("UPDATE spans SET args_form = '{form}' WHERE span_id = '{id}';");
    let store = Fixture::new()
        .tool(tool("a").required("q", &["string"]))
        .tool(tool("free"))
        .span(call("t1", "s1"))
        .span(call("t1", "s2"))
        .span(call("t1", "s3").args_not_json())
        .span(call("t1", "s4").args_not_json())
        .span(call("t1", "s5").args_not_json())
        .span(call("t1", "s6").tool("free").args_not_json())
        .span(call("t1", "s7").tool("x").args_not_json())
        .span(call("t1", "s8"))
        .span(call("t1", "s9"))
        .then(&[form("s1", "wrapped"), form("s2", "wrapped"), form("s3", "truncated"), form("s4", "empty")].concat())
        .then(&form("s6", "empty"))
        .then("UPDATE spans SET args_from_messages = TRUE WHERE span_id = 's8';")
        .then("UPDATE spans SET asked_args = '{q}' WHERE span_id = 's9';")
        .store();
    let sql = "SELECT tool_name, measured, detail FROM note_args_rewritten_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["a|1|from_messages", "a|2|wrapped"]);
    let sql = "SELECT span_id, tool_name, detail FROM note_args_not_json_v2 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["s3|a|truncated", "s4|a|empty", "s5|a|-"]);
    let sql = "SELECT span_id, detail FROM note_args_changed_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["s9|{q}"]);
}

#[test]
fn notes_on_failure_tell_what_the_status_hides() {
    let failed = |id: &str| format!("UPDATE spans SET failure = 'error.type=x' WHERE span_id = '{id}';");
    let store = Fixture::new()
        .span(answer("t1", "root").end(99_000_000))
        .span(answer("t1", "inner").parent("root").error())
        .span(answer("t1", "inner ok").parent("root"))
        .span(call("t1", "s1"))
        .span(call("t1", "s2").error())
        .span(call("t1", "s3"))
        .span(answer("ended in error", "r2").error())
        .span(answer("ended in error", "i2").parent("r2").error())
        .then(&[failed("s1"), failed("s2"), failed("root")].concat())
        .store();
    let sql = "SELECT span_id, tool_name, detail FROM note_failure_beside_status_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["s1|a|error.type=x"]);
    let sql = "SELECT trace_id, span_id FROM note_inner_agent_failed_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["t1|inner"]);
}

#[test]
fn note_on_merged_spans_counts_them_by_tool() {
    let store = Fixture::new()
        .scope(&["t1"])
        .span(call("t1", "s1"))
        .span(call("t1", "s2"))
        .span(call("out of scope", "s3"))
        .then("INSERT INTO merged_spans BY NAME SELECT *, 's1' AS outer_span_id FROM spans WHERE span_id <> 's1';")
        .store();
    let sql = "SELECT trace_id, tool_name, measured FROM note_spans_merged_v1 ORDER BY ALL";
    assert_eq!(answers(&store, sql), ["t1|a|1"]);
}
