//! Rows of the sets: what Rust reads, the rules and the notes together.

use taco_trace::model::{IssueCode, Rule};
use taco_trace::store::view_files;

use super::super::support::{Fixture, answer, answers, call, tool};

/// A trace in which each rule finds something.
fn all_rules(fixture: Fixture, trace: &str) -> Fixture {
    let fixture = fixture.span(answer(trace, "root")).span(call(trace, "s0").tool("x"));
    let fixture = fixture.span(call(trace, "s1").duration_ms(101).error());
    fixture
        .span(call(trace, "s2").arg("q", "string"))
        .span(call(trace, "s3").arg("q", "string"))
        .span(call(trace, "s4").error())
}

#[test]
fn diagnosis_has_the_rules_in_their_priority_and_scope_limits_it() {
    let a = || tool("a").required("q", &["string"]).timeout_ms(100).max_retries(2);
    let scoped = Fixture::new().tool(a()).scope(&["t1", "nothing found"]);
    let fixture = all_rules(all_rules(scoped, "t1"), "out of scope").span(answer("nothing found", "root"));
    let expected: Vec<String> =
        Rule::ALL.iter().zip(1..).map(|(rule, priority)| format!("t1|{priority}|{}", rule.as_str())).collect();
    let store = fixture.store();
    let sql = "SELECT DISTINCT trace_id, priority, rule FROM set_diagnosis_v2 ORDER BY priority";
    assert_eq!(answers(&store, sql), expected);
    let sql = "SELECT DISTINCT trace_id, priority, rule FROM set_diagnosis_v1 ORDER BY priority";
    assert_eq!(answers(&store, sql), expected);
}

/// What tells of calls without spans, merged spans, arguments and failures, in the trace `t1`.
const BESIDE: &str = "
    INSERT INTO chat_calls VALUES
        ('t1', 'c#1', 'c', 1, 'a', NULL, NULL, NULL, NULL, NULL, NULL, TRUE, NULL, NULL, '', 1, 1, 1);
    UPDATE spans SET args_form = 'wrapped', failure = 'event exception', asked_args = '{q}'
        WHERE trace_id = 't1' AND span_id = 's5';
    INSERT INTO merged_spans BY NAME SELECT *, 's5' AS outer_span_id FROM spans WHERE span_id = 's6';";

#[test]
fn note_set_has_every_note_in_the_order_of_telling() {
    let trace = "t1";
    let store = Fixture::new()
        .tool(tool("a").timeout_ms(100).max_retries(2))
        .tool(tool("b").unreadable().timeout_ms(None).max_retries(None))
        .calls(trace, "a/- a/! x/1 b/1")
        .span(call(trace, "s5").written("{x,y}", "{x,y}").duration_ms(101))
        .span(call(trace, "s6").written("{y,x}", "{x,y}"))
        .span(call(trace, "s7").tool("x").error())
        .span(answer(trace, "r1").error().parent_lost())
        .span(answer(trace, "r2").error().parent_lost())
        .then(BESIDE)
        .issue(trace, None, IssueCode::SpanRedelivered)
        .issue(trace, Some("s1"), IssueCode::SpanConflict)
        .issue(trace, None, IssueCode::StatusMissing)
        .issue(trace, None, IssueCode::ParentCycle)
        .calls("no definitions", "a/1")
        .tool_set_of("no definitions", None)
        .calls("nothing to tell", "a/1")
        .span(answer("agent inside", "r3"))
        .span(answer("agent inside", "r4").parent("r3").error())
        .store();
    let sql = "SELECT DISTINCT trace_id, place, note FROM set_note_v2 ORDER BY place";
    // Each once, whatever its version; the places are those of the first versions' order.
    let mut names: Vec<&str> = Vec::new();
    for file in view_files().iter().filter(|file| file.kind() == "notes") {
        if !names.contains(&file.name()) {
            names.push(file.name());
        }
    }
    let expected: Vec<String> = names
        .iter()
        .zip(1..)
        .map(|(name, place)| {
            let told_of = match *name {
                "no_tool_definitions" => "no definitions",
                "inner_agent_failed" => "agent inside",
                _ => trace,
            };
            format!("{told_of}|{place}|{name}")
        })
        .collect();
    assert_eq!(answers(&store, sql), expected);
    let sql = "SELECT DISTINCT trace_id, place, note FROM set_note_v1 ORDER BY place";
    assert_eq!(answers(&store, sql), expected[..17]);
}

/// A run with calls, one without, and three traces that cannot be judged.
fn runs() -> Fixture {
    Fixture::new()
        .tool(tool("a"))
        .tool(tool("a").set("set2"))
        .tool(tool("free").timeout_ms(None).max_retries(None).unreadable())
        .span(answer("with calls", "root").start(20).error())
        .span(call("with calls", "s1").start(10).error())
        .span(call("with calls", "s2").no_args())
        .span(call("with calls", "s3").args_not_json())
        .span(call("with calls", "s4").tool("free"))
        .span(call("with calls", "s5").tool("x"))
        .span(answer("without calls", "root").start(30))
        .tool_set_of("without calls", None)
        .span(call("no agent", "s1").start(40))
        .span(call("no agent", "s2").start(41))
        .span(answer("a cycle", "a").start(50).parent("b"))
        .span(answer("a cycle", "b").start(51).parent("a"))
        .span(answer("out of scope", "root"))
        .span(call("out of scope, no agent", "s1"))
        .scope(&["with calls", "without calls", "no agent", "a cycle"])
}

#[test]
fn run_is_each_trace_in_scope_with_a_final_answer() {
    let sql = "SELECT * FROM set_run_v1 ORDER BY start_ns";
    let expected = ["with calls|10|agent|error|root|5|1|set1", "without calls|30|agent|ok|root|0|0|-"];
    assert_eq!(answers(&runs().store(), sql), expected);
}

#[test]
fn coverage_counts_what_a_trace_let_the_rules_check() {
    let sql = "SELECT trace_id, tool_calls, with_arguments, with_readable_arguments, with_known_tool, with_timeout, \
        with_max_retries, with_checked_arguments, without_span, failed_beside_status \
        FROM set_coverage_v2 ORDER BY trace_id";
    assert_eq!(answers(&runs().store(), sql), ["no agent|2|2|2|2|2|2|2|0|0", "with calls|5|4|3|4|3|3|1|0|0"]);
    let sql = "SELECT trace_id, tool_calls, with_arguments, with_readable_arguments, with_known_tool, with_timeout, \
        with_max_retries, with_checked_arguments FROM set_coverage_v1 ORDER BY trace_id";
    assert_eq!(answers(&runs().store(), sql), ["no agent|2|2|2|2|2|2|2", "with calls|5|4|3|4|3|3|1"]);
}

#[test]
fn unjudged_is_each_trace_in_scope_without_a_final_answer() {
    let sql = "SELECT * FROM set_unjudged_v1 ORDER BY start_ns";
    assert_eq!(answers(&runs().store(), sql), ["no agent|40|2|no_invoke_agent", "a cycle|50|0|no_root_invoke_agent"]);
}
