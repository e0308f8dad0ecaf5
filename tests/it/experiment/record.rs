//! Trials as OTLP lines: what is written, always the same, and that it is read back as runs and calls.

use serde_json::{Value, json};
use taco_trace::eval::event::{EventKind, FailureSource, Outcome};
use taco_trace::experiment::record::{About, tools_json, trace_id, traces};

use crate::eval::{called, case, numbered, plain, said, turn};

const ABOUT: About<'static> = About { trial_id: "t1", target: "mine", started_ns: 1_000_000_000 };

fn result(call: u64, outcome: Outcome, value: Value) -> EventKind {
    EventKind::Result { call, outcome, value }
}

/// Spans of a line: name, parent, status code, attributes.
fn spans(line: &str) -> Vec<Value> {
    let line: Value = serde_json::from_str(line).unwrap();
    line["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone()
}

fn attribute<'s>(span: &'s Value, key: &str) -> Option<&'s str> {
    let found = span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
    found.and_then(|attribute| attribute["value"]["stringValue"].as_str())
}

#[test]
fn turn_becomes_a_trace_with_a_root_and_its_calls() {
    let events = numbered([
        turn(),
        called(1, "find", json!({"to": "a"})),
        result(1, Outcome::Ok, json!({"count": 0})),
        said("none"),
        turn(),
        called(2, "add", json!({})),
        result(2, Outcome::ToolError, json!("invalid")),
    ]);
    let written = traces(ABOUT, &events);
    assert_eq!(written.iter().map(|trace| trace.turn).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(written, traces(ABOUT, &events), "the same trial is written the same");
    assert_eq!(written[0].trace_id, trace_id("t1", 1));
    assert_ne!(written[0].trace_id, trace_id("t2", 1));
    let first = spans(&written[0].line);
    assert_eq!(first.len(), 2);
    let (call, root) = (&first[0], &first[1]);
    assert_eq!((root["name"].as_str(), call["name"].as_str()), (Some("invoke_agent mine"), Some("execute_tool find")));
    assert_eq!(call["parentSpanId"], root["spanId"]);
    assert_eq!((&root["traceId"], &call["traceId"]), (&json!(written[0].trace_id), &json!(written[0].trace_id)));
    assert_eq!(attribute(root, "gen_ai.agent.name"), Some("mine"));
    assert_eq!(attribute(root, "gen_ai.conversation.id"), Some("t1"));
    assert_eq!(attribute(call, "gen_ai.tool.call.arguments"), Some("{\"to\":\"a\"}"));
    assert_eq!(attribute(call, "gen_ai.tool.call.result"), Some("{\"count\":0}"));
    assert_eq!(root["status"], json!({"code": 1}));
    // The first event is 10 ms after the beginning.
    assert_eq!(root["startTimeUnixNano"], "1010000000");
    assert_eq!((&call["startTimeUnixNano"], &call["endTimeUnixNano"]), (&json!("1020000000"), &json!("1030000000")));
    let second = spans(&written[1].line);
    assert_eq!(second[0]["status"], json!({"message": "invalid", "code": 2}));
    assert_eq!(attribute(&second[0], "error.type"), Some("tool_error"));
    assert_eq!(second[1]["status"], json!({"message": "no_answer", "code": 2}), "a turn without an answer");
}

#[test]
fn every_outcome_but_ok_is_an_error_and_so_is_a_turn_that_failed() {
    for (outcome, code) in [
        (Outcome::ToolError, "tool_error"),
        (Outcome::ResponseLost, "response_lost"),
        (Outcome::Limit, "limit"),
        (Outcome::UnknownTool, "unknown_tool"),
    ] {
        let events = numbered([turn(), called(1, "x", json!({})), result(1, outcome, Value::Null), said("a")]);
        let spans = spans(&traces(ABOUT, &events)[0].line);
        assert_eq!(spans[0]["status"], json!({"message": code, "code": 2}));
        assert_eq!(attribute(&spans[0], "error.type"), Some(code));
        assert_eq!(spans[1]["status"]["code"], 1, "the turn was answered");
    }
    for (source, code) in [
        (FailureSource::Runner, "runner_failed"),
        (FailureSource::Provider, "provider_failed"),
        (FailureSource::Connection, "connection_failed"),
    ] {
        let failed = EventKind::Failed { source, message: String::new() };
        let events = numbered([turn(), said("a"), failed]);
        let spans = spans(&traces(ABOUT, &events)[0].line);
        assert_eq!(attribute(&spans[0], "error.type"), Some(code), "an answer before it does not make it good");
    }
    assert_eq!(traces(ABOUT, &[]), [], "nothing happened");
}

#[test]
fn contracts_of_a_case_are_a_tools_json() {
    use taco_trace::ingest::tools::{ToolDefaults, parse_tools};
    let defaults = ToolDefaults { timeout_ms: None, max_retries: None };
    let (set, issues) = parse_tools(&tools_json(&case(plain())), "case", defaults).unwrap();
    assert_eq!(issues, []);
    let names: Vec<&str> = set.tools.iter().map(|tool| tool.tool_name.as_str()).collect();
    assert_eq!(names, ["find", "add", "send"]);
}
