//! Spans: the attributes of the conventions, parents, times, and the form of a line.

use std::collections::BTreeSet;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use serde_json::{Value, json};
use taco_trace::demo::{AgentConfig, Fault, Question};

use super::super::support::repository;
use super::super::support_cli::{Place, program, told};
use super::support::{Told, asks, attribute, careful, of, question, run, says, shipped, spans};

fn keys(span: &Value) -> BTreeSet<&str> {
    span["attributes"].as_array().unwrap().iter().map(|attribute| attribute["key"].as_str().unwrap()).collect()
}

fn nanos(span: &Value, key: &str) -> u64 {
    span[key].as_str().unwrap().parse().unwrap()
}

#[test]
fn spans_have_the_attributes_of_the_conventions() {
    let (outcome, lines) = run(shipped(), &mut careful(), &question("q15"));
    let spans = spans(&lines);
    let [root] = of(&spans, "invoke_agent")[..] else { panic!("{spans:?}") };
    assert_eq!(root["parentSpanId"], "");
    assert_eq!(root["name"], format!("invoke_agent {}", shipped().name));
    assert_eq!(root["kind"], 1);
    assert_eq!(root["status"], json!({ "code": 1 }));
    for key in
        ["agent.name", "conversation.id", "provider.name", "request.model", "usage.input_tokens", "usage.output_tokens"]
    {
        assert!(keys(root).contains(format!("gen_ai.{key}").as_str()), "{key}");
    }
    let chats = of(&spans, "chat");
    assert_eq!(chats.len(), 3);
    for chat in &chats {
        assert_eq!((&chat["name"], &chat["kind"]), (&json!("chat script"), &json!(3)));
        assert_eq!(attribute(chat, "gen_ai.request.model").as_deref(), Some("script"));
        assert_eq!(attribute(chat, "gen_ai.response.model").as_deref(), Some("script"));
        assert!(attribute(chat, "gen_ai.usage.input_tokens").unwrap().parse::<u64>().unwrap() > 0);
        assert!(keys(chat).contains("gen_ai.response.finish_reasons"));
        assert_eq!(chat["status"], json!({}));
    }
    let tools = of(&spans, "execute_tool");
    assert_eq!(tools.len(), 2);
    for (tool, call) in tools.iter().zip(&outcome.calls) {
        assert_eq!(tool["name"], format!("execute_tool {}", call.tool));
        assert_eq!(attribute(tool, "gen_ai.tool.call.arguments").as_ref(), Some(&call.arguments));
        assert_eq!(tool["spanId"], call.span_id.as_str());
        for key in ["tool.call.id", "tool.call.result", "tool.type", "tool.description"] {
            assert!(keys(tool).contains(format!("gen_ai.{key}").as_str()), "{key}");
        }
        assert_eq!(tool["status"], json!({}));
    }
    for span in chats.into_iter().chain(tools) {
        assert_eq!(span["parentSpanId"], root["spanId"]);
        assert!(nanos(root, "startTimeUnixNano") < nanos(span, "startTimeUnixNano"));
        assert!(nanos(span, "startTimeUnixNano") < nanos(span, "endTimeUnixNano"));
        assert!(nanos(span, "endTimeUnixNano") < nanos(root, "endTimeUnixNano"));
    }
    assert!(spans.iter().all(|span| span["traceId"] == outcome.trace_id.as_str()));
}

/// Every name stands in the registry that the conventions file of this program reads, or in the general one.
#[test]
fn names_of_attributes_are_those_of_the_conventions() {
    let config = AgentConfig { faults: vec![Fault::DropArg], ..shipped() };
    let (_, lines) = run(config, &mut careful(), &question("q15"));
    for span in spans(&lines) {
        assert!(keys(&span).iter().all(|key| key.starts_with("gen_ai.") || *key == "error.type"), "{:?}", keys(&span));
    }
}

#[test]
fn failed_call_says_why() {
    let config = AgentConfig { faults: vec![Fault::DropArg], ..shipped() };
    let (outcome, lines) = run(config, &mut careful(), &question("q15"));
    let spans = spans(&lines);
    let hit = spans.iter().find(|span| span["spanId"] == outcome.injected[0].span_id.as_str()).unwrap();
    assert_eq!(hit["status"]["code"], 2);
    assert!(!hit["status"]["message"].as_str().unwrap().is_empty());
    assert_eq!(attribute(hit, "error.type").as_deref(), Some("invalid_arguments"));
    assert!(!keys(hit).contains("gen_ai.tool.call.result"));
}

#[test]
fn unknown_tool_ends_at_once() {
    let config = AgentConfig { faults: vec![Fault::UnknownTool], ..shipped() };
    let (outcome, _) = run(config, &mut careful(), &question("q15"));
    let hit = outcome.calls.iter().find(|call| call.span_id == outcome.injected[0].span_id).unwrap();
    assert_eq!((hit.duration_ms, hit.error.as_deref()), (0, Some("tool_not_found")));
}

#[test]
fn calls_of_one_reply_run_beside_one_another() {
    let (_, lines) = run(shipped(), &mut careful(), &question("q19"));
    let spans = spans(&lines);
    let tools = of(&spans, "execute_tool");
    let [first, second, third, fourth] = tools[..] else { panic!("{} calls", tools.len()) };
    for (one, other) in [(first, second), (third, fourth)] {
        assert_eq!(one["parentSpanId"], other["parentSpanId"]);
        assert!(nanos(other, "startTimeUnixNano") > nanos(one, "startTimeUnixNano"));
        assert!(nanos(other, "startTimeUnixNano") < nanos(one, "endTimeUnixNano"), "they overlap");
    }
    assert!(nanos(third, "startTimeUnixNano") > nanos(second, "endTimeUnixNano").max(nanos(first, "endTimeUnixNano")));
}

#[test]
fn line_is_what_the_protocol_says() {
    let mut model = Told::new([asks(&[("org_chart_lookup", json!("{\"dept_name\": \"\\u0000\\\"\"}"))]), says("답")]);
    let (_, line) = run(shipped(), &mut model, &Question::free("따옴표 \" 와 줄바꿈 \n 물음"));
    assert_eq!(line.matches('\n').count(), 1);
    let request: ExportTraceServiceRequest = serde_json::from_str(&line).unwrap();
    let [resource] = &request.resource_spans[..] else { panic!("{request:?}") };
    assert_eq!(resource.scope_spans.len(), 1);
    assert_eq!(resource.scope_spans[0].spans.len(), 4);
    // Nothing but what was there: the protocol's own reader finds every value again.
    let written: Value = serde_json::from_str(&line).unwrap();
    let read = serde_json::to_value(&request).unwrap();
    for (number, span) in written["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().iter().enumerate() {
        let again = &read["resourceSpans"][0]["scopeSpans"][0]["spans"][number];
        for (key, value) in span.as_object().unwrap() {
            if key != "status" {
                assert_eq!(&again[key], value, "{key}");
            }
        }
    }
}

/// A Collector's members in a Collector's order, as its own files show.
#[test]
fn members_stand_in_the_order_of_the_collector() {
    let order = |span: &str| -> Vec<String> {
        // Members of spans only: a value of theirs may hold the same words, but not first.
        let names = [
            "traceId",
            "spanId",
            "parentSpanId",
            "flags",
            "name",
            "kind",
            "startTimeUnixNano",
            "endTimeUnixNano",
            "attributes",
            "status",
        ];
        let mut found: Vec<(usize, &str)> =
            names.iter().filter_map(|name| Some((span.find(&format!("\"{name}\":"))?, *name))).collect();
        found.sort_unstable();
        found.into_iter().map(|(_, name)| name.to_owned()).collect()
    };
    let (_, line) = run(shipped(), &mut careful(), &question("q15"));
    let theirs =
        std::fs::read_to_string(repository().join("fixtures/real/langchain-1.5.2-genai/traces.jsonl")).unwrap();
    let first_span = |text: &str| text.split_once("\"spans\":[").unwrap().1.to_owned();
    assert_eq!(order(&first_span(&line)), order(&first_span(theirs.lines().next().unwrap())));
}

#[test]
fn doctor_knows_the_spans() {
    let place = Place::new();
    let (_, lines) = run(AgentConfig { faults: vec![Fault::Slow], ..shipped() }, &mut careful(), &question("q15"));
    let path = place.write("traces.jsonl", lines);
    let output = program().arg("doctor").arg(&path).output().unwrap();
    let out = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(out.contains("taco_trace::demo") && out.contains("otel-genai"), "{out}");
    assert!(out.contains("인자        3/3건(100%)"), "{out}");
}
