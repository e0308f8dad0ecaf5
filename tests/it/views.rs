//! Rows in, rows out, for each version of each view: the fewest rows that matter, each inequality below, at and
//! above, and each `Stays silent when` line of a view file as a case.
//!
//! A trace id says what its rows show; a trace that a query does not return stays silent. Base views
//! and rules stand here, notes and sets in files of their own. How rows come into the store, and the
//! words for findings, are tested elsewhere.

mod calls;
mod notes;
mod sets;

use taco_trace::store::view_files;

use super::support::{Fixture, Span, answer, answers, call, tool};

#[test]
fn view_file_without_a_test_here_is_found() {
    let tests = [
        include_str!("views.rs"),
        include_str!("views/calls.rs"),
        include_str!("views/notes.rs"),
        include_str!("views/sets.rs"),
        include_str!("people.rs"),
        include_str!("demo_bench.rs"),
        include_str!("eval_report/views.rs"),
    ]
    .concat();
    // Views that judge calls are held against a naive judge by `calls.rs`, through the command.
    for file in view_files().iter().filter(|file| !file.is_for_calls()) {
        assert!(tests.contains(&format!("FROM {} ", file.view())), "sql/{} has no test of its rows", file.path);
    }
}

// base

#[test]
fn trace_scope_limits_only_when_it_is_switched_on() {
    let traces = |fixture: Fixture| {
        let store = fixture.span(call("t1", "s")).span(call("t2", "s")).store();
        answers(&store, "SELECT trace_id FROM base_trace_v1 ORDER BY trace_id")
    };
    assert_eq!(traces(Fixture::new()), ["t1", "t2"]);
    assert_eq!(traces(Fixture::new().sql("INSERT INTO judge_scope VALUES ('t1');")), ["t1", "t2"]);
    assert_eq!(traces(Fixture::new().scope(&["t1"])), ["t1"]);
    assert_eq!(traces(Fixture::new().scope(&["elsewhere"])), [""; 0]);
    assert_eq!(traces(Fixture::new().scope(&[])), [""; 0]);
}

#[test]
fn trace_tool_set_is_override_then_own_then_default() {
    let tool_sets = |settings: &str| {
        let fixture = Fixture::new().sql(&format!("UPDATE judge_settings SET {settings};"));
        let fixture = fixture.span(call("has its own", "s")).tool_set_of("has its own", Some("own"));
        let store = fixture.span(call("has none", "s")).tool_set_of("has none", None).store();
        answers(&store, "SELECT trace_id, tool_set FROM base_trace_v1 ORDER BY trace_id")
    };
    assert_eq!(tool_sets("scoped = FALSE"), ["has its own|own", "has none|-"]);
    assert_eq!(tool_sets("tool_set_default = 'default'"), ["has its own|own", "has none|default"]);
    assert_eq!(tool_sets("tool_set_override = 'over'"), ["has its own|over", "has none|over"]);
    assert_eq!(
        tool_sets("tool_set_override = 'over', tool_set_default = 'default'"),
        ["has its own|over", "has none|over"]
    );
}

#[test]
fn call_is_each_tool_span_in_scope_with_its_tool_set() {
    let store = Fixture::new()
        .scope(&["t1"])
        .span(answer("t1", "agent"))
        .span(call("t1", "s1").args("{\"q\":1}").arg("q", "integer").start(7).duration_ms(3))
        .span(call("t1", "s2").tool("b").no_args().error().start(8))
        .span(call("t2", "out of scope"))
        .store();
    let sql = "SELECT * FROM base_call_v1 ORDER BY span_id";
    assert_eq!(
        answers(&store, sql),
        [r#"t1|s1|7|a|{"q":1}|{"q":1}|q integer integer|ok|3|set1"#, "t1|s2|8|b|-|-|-|error|1|set1",]
    );
}

#[test]
fn call_arg_is_each_key_of_arguments_that_are_an_object() {
    let store = Fixture::new()
        .scope(&["object", "empty object", "no object", "not recorded", "not JSON"])
        .span(call("object", "s1").arg("q", "string").arg_written("n", "integer", "number"))
        .span(call("object", "s2").arg("q", "string").arg_written("n", "integer", "number"))
        .span(call("object", "s3").arg("q", "null"))
        .span(call("empty object", "s1"))
        .span(call("no object", "s1").args("[1]"))
        .span(call("not recorded", "s1").no_args())
        .span(call("not JSON", "s1").args_not_json())
        .span(call("out of scope", "s1").arg("q", "string"))
        .store();
    let sql = "SELECT * FROM base_call_arg_v1 ORDER BY ALL";
    let expected = [
        "object|s1|n|integer|number",
        "object|s1|q|string|string",
        "object|s2|n|integer|number",
        "object|s2|q|string|string",
        "object|s3|q|null|null",
    ];
    assert_eq!(answers(&store, sql), expected);
}

#[test]
fn defined_call_needs_the_exact_name_in_the_tool_set_of_the_trace() {
    let store = Fixture::new()
        .tool(tool("a").timeout_ms(70).max_retries(2))
        .tool(tool("b").timeout_ms(None).max_retries(None).unreadable())
        .tool(tool("elsewhere").set("set2"))
        .calls("defined", "a/1")
        .calls("defined without limits", "b/1")
        .calls("defined in another set", "elsewhere/1")
        .calls("not defined", "x/1")
        .calls("other letters", "A/1")
        .calls("no tool set", "a/1")
        .tool_set_of("no tool set", None)
        .store();
    let sql = "SELECT trace_id, tool_name, tool_set, timeout_ms, max_retries, schema_readable \
        FROM base_defined_call_v1 ORDER BY trace_id";
    assert_eq!(answers(&store, sql), ["defined|a|set1|70|2|true", "defined without limits|b|set1|-|-|false"]);
}

#[test]
fn final_answer_of_several_candidates_is_taken_in_the_stated_order() {
    let pair = |fixture: Fixture, first: Span, second: Span| fixture.span(first).span(second);
    let agent = |trace: &str, id: &str, start, end| answer(trace, id).start(start).end(end);
    let mut fixture = Fixture::new().span(call("1 no agent", "s1").no_parent());
    for (trace, first, second) in [
        // The other one ends later, starts later and has the smaller id: a kept parent counts first.
        ("2 lost parent", (5, 50), (1, 10)),
        ("3 ends last by 1 ns", (9, 10), (1, 11)),
        ("4 starts last by 1 ns", (1, 10), (2, 10)),
        ("5 equal times", (1, 10), (1, 10)),
    ] {
        let first = agent(trace, "a", first.0, first.1);
        let first = if trace.starts_with('2') { first.parent_lost() } else { first };
        fixture = pair(fixture, first, agent(trace, "b", second.0, second.1));
    }
    fixture = pair(fixture, agent("6 below it", "a", 1, 10), agent("6 below it", "b", 1, 99).parent("a").error());
    fixture = pair(fixture, answer("7 a cycle", "a").parent("b"), answer("7 a cycle", "b").parent("a"));
    fixture = fixture.span(agent("8 only a lost one", "a", 1, 10).parent_lost().error());
    let sql = "SELECT trace_id, span_id, agent_name, status, parent_lost, candidate_count \
        FROM base_final_answer_v1 ORDER BY trace_id";
    let expected = [
        "2 lost parent|b|agent|ok|false|2",
        "3 ends last by 1 ns|b|agent|ok|false|2",
        "4 starts last by 1 ns|b|agent|ok|false|2",
        "5 equal times|a|agent|ok|false|2",
        "6 below it|a|agent|ok|false|1",
        "8 only a lost one|a|agent|error|true|1",
    ];
    assert_eq!(answers(&fixture.store(), sql), expected);
}

/// Stretches at, below and above the limit, and everything that breaks one.
fn stretches() -> Fixture {
    let limited = Fixture::new().tool(tool("a").max_retries(3)).tool(tool("b").max_retries(3));
    limited
        .tool(tool("a").set("set2").max_retries(2))
        .tool(tool("once").max_retries(1))
        .tool(tool("free").max_retries(None))
        .calls("2 of 3", "a/1 a/1")
        .calls("3 of 3", "a/1 a/1 a/1")
        .calls("4 of 3", "a/1 a/1 a/1 a/1")
        .calls("1 of 1", "once/1")
        .calls("2 of 1", "once/1 once/1")
        .calls("2 of 1, then 1 of 1", "once/1 once/1 once/2")
        .calls("arguments not recorded", "a/- a/- a/- a/-")
        .calls("arguments not JSON", "a/! a/! a/! a/!")
        .calls("between: another tool", "a/1 a/1 b/1 a/1 a/1")
        .calls("between: other arguments", "a/1 a/1 a/2 a/1 a/1")
        .calls("between: not recorded", "a/1 a/1 a/- a/1 a/1")
        .calls("between: not JSON", "a/1 a/1 a/! a/1 a/1")
        .calls("between: not defined", "a/1 a/1 x/1 a/1 a/1")
        .calls("not defined", "x/1 x/1 x/1 x/1")
        .calls("no limit", "free/1 free/1 free/1 free/1")
        .calls("no tool set", "a/1 a/1 a/1 a/1")
        .tool_set_of("no tool set", None)
        .calls("two stretches", "a/1 a/1 a/1 a/- a/1 a/1 a/1 a/1")
        .calls("two tools", "a/1 a/1 a/1 b/1 b/1 b/1 b/1")
        .calls("1 and 1.0 differ", "a/1 a/1.0 a/1 a/1.0")
}

#[test]
fn stretch_reaches_the_limit_when_as_long_or_longer() {
    let sql = "SELECT trace_id, first_span_id, tool_name, run_length, max_retries, MIN(span_id), MAX(span_id), COUNT(*) \
        FROM base_stretch_v1 GROUP BY ALL ORDER BY ALL";
    let expected = [
        "2 of 1|s1|once|2|1|s1|s2|2",
        "2 of 1, then 1 of 1|s1|once|2|1|s1|s2|2",
        "3 of 3|s1|a|3|3|s1|s3|3",
        "4 of 3|s1|a|4|3|s1|s4|4",
        "two stretches|s1|a|3|3|s1|s3|3",
        "two stretches|s5|a|4|3|s5|s8|4",
        "two tools|s1|a|3|3|s1|s3|3",
        "two tools|s4|b|4|3|s4|s7|4",
    ];
    assert_eq!(answers(&stretches().store(), sql), expected);
}

#[test]
fn stretch_order_is_start_then_span_id_over_all_agents() {
    let at = |trace: &str, id: &str, start: i64, args: &str| call(trace, id).start(start).args(args);
    let store = Fixture::new()
        .tool(tool("a").max_retries(2))
        // Added in another order than they start in.
        .span(at("by start: together", "s1", 30, "2"))
        .span(at("by start: together", "s2", 20, "1"))
        .span(at("by start: together", "s3", 10, "1"))
        .span(at("by start: apart", "s1", 10, "1"))
        .span(at("by start: apart", "s2", 30, "1"))
        .span(at("by start: apart", "s3", 20, "2"))
        .span(at("same start: together", "s1", 10, "1"))
        .span(at("same start: together", "s2", 10, "1"))
        .span(at("same start: together", "s3", 10, "2"))
        .span(at("same start: apart", "s1", 10, "1"))
        .span(at("same start: apart", "s2", 10, "2"))
        .span(at("same start: apart", "s3", 10, "1"))
        .span(at("two agents: together", "s1", 10, "1"))
        .span(at("two agents: together", "s2", 20, "1").parent("sub"))
        .span(at("two agents: apart", "s1", 10, "1"))
        .span(at("two agents: apart", "s2", 20, "2").parent("sub"))
        .span(at("two agents: apart", "s3", 30, "1"))
        .store();
    let sql = "SELECT DISTINCT trace_id, first_span_id FROM base_stretch_v1 ORDER BY trace_id";
    assert_eq!(answers(&store, sql), ["by start: together|s3", "same start: together|s1", "two agents: together|s1"]);
}

// rules

#[test]
fn undefined_tool_is_a_name_that_no_definition_equals() {
    let store = Fixture::new()
        .tool(tool("a"))
        .tool(tool("elsewhere").set("set2"))
        .calls("defined", "a/1")
        .calls("not defined", "x/1 a/1 x/2 y/1")
        .calls("other letters", "A/1")
        .calls("defined in another set", "elsewhere/1")
        .calls("empty tool set", "a/1")
        .tool_set_of("empty tool set", Some("empty"))
        .calls("no tool set", "x/1")
        .tool_set_of("no tool set", None)
        .store();
    let sql = "SELECT trace_id, finding, tool_name, span_id FROM rule_undefined_tool_v1 ORDER BY trace_id, span_id";
    let expected = [
        "defined in another set|elsewhere|elsewhere|s1",
        "empty tool set|a|a|s1",
        "not defined|x|x|s1",
        "not defined|x|x|s3",
        "not defined|y|y|s4",
        "other letters|A|A|s1",
    ];
    assert_eq!(answers(&store, sql), expected);
}

#[test]
fn args_mismatch_is_an_absent_required_key_or_another_type() {
    let a = || tool("a").required("q", &["string"]).optional("n", &["integer"]).optional("any", &[]);
    let with_q = |trace: &str| call(trace, "s1").arg("q", "string");
    let store = Fixture::new()
        // `number` stands for number and integer in tool_param_types.
        .tool(a().optional("x", &["number", "integer"]).optional("list", &["string", "null"]))
        .tool(tool("unreadable").unreadable())
        // What another tool or another set accepts does not count.
        .tool(tool("other").optional("n", &["string"]))
        .tool(tool("a").set("set2").required("only in set2", &["string"]).optional("n", &["string"]))
        .span(with_q("fits"))
        .span(call("absent", "s1"))
        .span(call("absent and another type", "s1").arg("n", "string"))
        .span(with_q("absent in the second call"))
        .span(call("absent in the second call", "s2"))
        .span(call("absent in two equal calls", "s1"))
        .span(call("absent in two equal calls", "s2"))
        .span(with_q("judged with another set"))
        .tool_set_of("judged with another set", Some("set2"))
        .span(call("no object", "s1").args("[1]"))
        .span(with_q("optional key of another type").arg("n", "string"))
        .span(call("required key is null", "s1").arg("q", "null"))
        .span(with_q("3.0 for integer").arg_written("n", "integer", "number"))
        .span(with_q("3.5 for integer").arg("n", "number"))
        .span(with_q("true for integer").arg("n", "boolean"))
        .span(with_q("3 for number").arg("x", "integer"))
        .span(with_q("3.0 for number").arg_written("x", "integer", "number"))
        .span(with_q("3.5 for number").arg("x", "number"))
        .span(with_q("one of two types").arg("list", "null"))
        .span(with_q("none of two types").arg_written("list", "integer", "number"))
        .span(with_q("no type declared").arg("any", "object"))
        .span(with_q("key not declared").arg("new", "object"))
        .span(call("not recorded", "s1").no_args())
        .span(call("not JSON", "s1").args_not_json())
        .span(call("not defined", "s1").tool("x"))
        .span(call("schema unreadable", "s1").tool("unreadable").arg("q", "object"))
        .span(call("no tool set", "s1"))
        .tool_set_of("no tool set", None)
        .store();
    let sql = "SELECT trace_id, finding, span_id, arg_key, problem FROM rule_args_mismatch_v1 ORDER BY ALL";
    let expected = [
        "3.5 for integer|s1|s1|n|number",
        "absent|s1|s1|q|missing",
        "absent and another type|s1|s1|n|string",
        "absent and another type|s1|s1|q|missing",
        "absent in the second call|s2|s2|q|missing",
        "absent in two equal calls|s1|s1|q|missing",
        "absent in two equal calls|s2|s2|q|missing",
        "judged with another set|s1|s1|only in set2|missing",
        "no object|s1|s1|q|missing",
        "none of two types|s1|s1|list|number",
        "optional key of another type|s1|s1|n|string",
        "required key is null|s1|s1|q|null",
        "true for integer|s1|s1|n|boolean",
    ];
    assert_eq!(answers(&store, sql), expected);
}

/// Calls below, at and above the limit of 100 ms, ok and error, and those without a limit.
fn durations() -> Fixture {
    let timed = |trace: &str, duration_ms| call(trace, "s1").duration_ms(duration_ms);
    let limited = Fixture::new().tool(tool("a").timeout_ms(100)).tool(tool("free").timeout_ms(None));
    limited
        .span(timed("below, error", 99).error())
        .span(timed("equal, error", 100).error())
        .span(timed("above, error", 101).error())
        .span(timed("equal, ok", 100))
        .span(timed("above, ok", 101))
        .span(timed("no limit, error", 101).tool("free").error())
        .span(timed("no limit, ok", 101).tool("free"))
        .span(timed("not defined", 101).tool("x").error())
        .span(timed("no tool set", 101).error())
        .tool_set_of("no tool set", None)
}

#[test]
fn timeout_exceeded_is_over_the_limit_and_error() {
    let sql =
        "SELECT trace_id, finding, tool_name, span_id, measured, allowed FROM rule_timeout_exceeded_v1 ORDER BY ALL";
    assert_eq!(answers(&durations().store(), sql), ["above, error|s1|a|s1|101|100"]);
}

#[test]
fn retry_over_limit_is_a_stretch_longer_than_the_limit() {
    let sql = "SELECT trace_id, finding, tool_name, measured, allowed, MIN(span_id), MAX(span_id), COUNT(*) \
        FROM rule_retry_over_limit_v1 GROUP BY ALL ORDER BY ALL";
    let expected = [
        "2 of 1|s1|once|2|1|s1|s2|2",
        "2 of 1, then 1 of 1|s1|once|2|1|s1|s2|2",
        "4 of 3|s1|a|4|3|s1|s4|4",
        "two stretches|s5|a|4|3|s5|s8|4",
        "two tools|s4|b|4|3|s4|s7|4",
    ];
    assert_eq!(answers(&stretches().store(), sql), expected);
}

/// Errors that a later call of the same tool recovers or not; the final answer is ok unless it says so.
fn errors() -> Fixture {
    let failed = |trace: &str| call(trace, "s1").start(10).error();
    let later = |trace: &str, start| call(trace, "s2").start(start);
    let mut fixture = Fixture::new()
        .span(failed("no call after it"))
        .span(failed("ok 1 ns earlier"))
        .span(later("ok 1 ns earlier", 9))
        .span(failed("ok at the same time"))
        .span(later("ok at the same time", 10))
        .span(failed("ok 1 ns later"))
        .span(later("ok 1 ns later", 11))
        .span(failed("ok with other arguments"))
        .span(later("ok with other arguments", 20).args("{\"q\":1}"))
        .span(failed("ok below another agent"))
        .span(later("ok below another agent", 20).parent("sub"))
        .span(failed("only another tool is ok"))
        .span(later("only another tool is ok", 20).tool("b"))
        .span(failed("error again"))
        .span(later("error again", 20).error())
        .span(failed("first recovered, second not"))
        .span(later("first recovered, second not", 20))
        .span(call("first recovered, second not", "s3").start(30).error())
        .span(later("no error", 20))
        .span(failed("final error"))
        .span(answer("final error", "root").error())
        .span(failed("final error, ok at the same time"))
        .span(later("final error, ok at the same time", 10))
        .span(answer("final error, ok at the same time", "root").error())
        .span(failed("final error, error again"))
        .span(later("final error, error again", 20).error())
        .span(answer("final error, error again", "root").error())
        .span(failed("final error, only another tool is ok"))
        .span(later("final error, only another tool is ok", 20).tool("b"))
        .span(answer("final error, only another tool is ok", "root").error())
        .span(failed("final error, ok 1 ns later"))
        .span(later("final error, ok 1 ns later", 11))
        .span(answer("final error, ok 1 ns later", "root").error())
        .span(failed("final ok, agent below error"))
        .span(answer("final ok, agent below error", "sub").parent("root").error())
        .span(failed("no final answer"))
        .span(answer("no final answer", "cycle").parent("cycle"));
    for trace in [
        "no call after it",
        "ok 1 ns earlier",
        "ok at the same time",
        "ok 1 ns later",
        "ok with other arguments",
        "ok below another agent",
        "only another tool is ok",
        "error again",
        "first recovered, second not",
        "no error",
        "final ok, agent below error",
    ] {
        fixture = fixture.span(answer(trace, "root"));
    }
    fixture
}

#[test]
fn error_hidden_is_an_error_not_recovered_in_a_run_that_ended_ok() {
    let sql = "SELECT trace_id, finding, tool_name, span_id FROM rule_error_hidden_v1 ORDER BY ALL";
    let expected = [
        "error again|a|a|s1",
        "error again|a|a|s2",
        "final ok, agent below error|a|a|s1",
        "first recovered, second not|a|a|s3",
        "no call after it|a|a|s1",
        "ok 1 ns earlier|a|a|s1",
        "ok at the same time|a|a|s1",
        "only another tool is ok|a|a|s1",
    ];
    assert_eq!(answers(&errors().store(), sql), expected);
}
