//! `taco-trace doctor`: what it says of real files and of each kind of trouble, and that observing changes nothing.

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};
use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::MissingStatus;
use taco_trace::ingest::observe::Observed;
use taco_trace::ingest::source::{self, Source};
use taco_trace::ingest::{self, Batch, ChatCalls, Options, Start};
use taco_trace::render::layout::width;

use super::support::{files_under, repository};

fn taco_trace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.current_dir(repository()).env_remove("COLUMNS").args(arguments).output().unwrap()
}

fn report(path: &str, more: &[&str]) -> Value {
    let output = taco_trace(&[&["doctor", path, "--format", "json"], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn table(path: &str) -> String {
    let output = taco_trace(&["doctor", path]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn codes<'v>(report: &'v Value, list: &str) -> Vec<&'v str> {
    report[list].as_array().unwrap().iter().map(|entry| entry["code"].as_str().unwrap()).collect()
}

fn entry<'v>(report: &'v Value, list: &str, code: &str) -> &'v Value {
    let found = report[list].as_array().unwrap().iter().find(|entry| entry["code"] == code);
    found.unwrap_or_else(|| panic!("no {code}: {report:#}"))
}

/// A span of a made trace: name, parent, start, end, attributes, status.
struct Made<'a> {
    trace: u64,
    id: u64,
    parent: u64,
    times: (u64, u64),
    attributes: &'a [(&'a str, &'a str)],
    status: Option<u64>,
}

const RUN: [(&str, &str); 2] = [("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", "a")];
const CALL: [(&str, &str); 3] =
    [("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "t"), ("gen_ai.tool.call.arguments", "{}")];

fn run(trace: u64, times: (u64, u64)) -> Made<'static> {
    Made { trace, id: 1, parent: 0, times, attributes: &RUN, status: Some(1) }
}

fn call(trace: u64, id: u64, times: (u64, u64)) -> Made<'static> {
    Made { trace, id, parent: 1, times, attributes: &CALL, status: Some(1) }
}

fn line(service: &str, scope: &str, spans: &[Made]) -> String {
    let spans: Vec<Value> = spans
        .iter()
        .map(|span| {
            let attributes: Vec<Value> = span
                .attributes
                .iter()
                .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
                .collect();
            let mut made = json!({
                "traceId": format!("{:032x}", span.trace), "spanId": format!("{:016x}", span.id), "name": "x",
                "startTimeUnixNano": span.times.0.to_string(), "endTimeUnixNano": span.times.1.to_string(),
                "attributes": attributes,
            });
            if span.parent > 0 {
                made["parentSpanId"] = Value::from(format!("{:016x}", span.parent));
            }
            if let Some(code) = span.status {
                made["status"] = json!({ "code": code });
            }
            made
        })
        .collect();
    let resource = json!({"attributes": [{"key": "service.name", "value": {"stringValue": service}}]});
    let scopes = json!([{"spans": spans, "scope": {"name": scope, "version": "1.2"}, "schemaUrl": "https://s/1"}]);
    json!({"resourceSpans": [{"scopeSpans": scopes, "resource": resource}]}).to_string()
}

fn report_of(lines: &[String], more: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces.jsonl");
    fs::write(&path, lines.join("\n")).unwrap();
    report(path.to_str().unwrap(), more)
}

const MS: u64 = 1_000_000;

#[test]
fn shares_are_those_that_a_plain_count_gives() {
    let path = "fixtures/real/fastapi-pydantic-ai-2.68.0/traces.jsonl";
    let found = report(path, &[]);
    let (mut calls, mut arguments, mut results, mut chats) = (0, 0, 0, 0);
    for line in fs::read_to_string(repository().join(path)).unwrap().lines() {
        let document: Value = serde_json::from_str(line).unwrap();
        for span in document["resourceSpans"].as_array().unwrap().iter().flat_map(|resource| {
            let scopes = resource["scopeSpans"].as_array().unwrap().iter();
            scopes.flat_map(|scope| scope["spans"].as_array().unwrap())
        }) {
            let of =
                |key: &str| span["attributes"].as_array().unwrap().iter().find(|attribute| attribute["key"] == key);
            let operation =
                of("gen_ai.operation.name").map_or("", |found| found["value"]["stringValue"].as_str().unwrap());
            chats += u64::from(operation == "chat");
            if operation == "execute_tool" {
                calls += 1;
                arguments += u64::from(of("gen_ai.tool.call.arguments").is_some());
                results += u64::from(of("gen_ai.tool.call.result").is_some());
            }
        }
    }
    let scope = &found["scopes"][0];
    let seen = &scope["conventions"][0];
    assert_eq!((scope["scope"].as_str(), scope["version"].as_str()), (Some("pydantic-ai"), Some("2.68.0")));
    assert_eq!((seen["calls"].as_u64(), seen["with_arguments"].as_u64()), (Some(calls), Some(arguments)));
    assert_eq!((seen["with_results"].as_u64(), scope["with_messages"].as_u64()), (Some(results), Some(chats)));
    assert_eq!(scope["operations"], json!([["chat", chats]]));
    // The scope of the web framework is listed without a convention.
    assert_eq!(found["scopes"][1]["scope"], "opentelemetry.instrumentation.fastapi");
    assert_eq!(found["scopes"][1]["conventions"], json!([]));
}

#[test]
fn every_real_file_is_laid_out_in_80_columns_and_looks_sound() {
    for path in files_under("fixtures/real").iter().filter(|path| path.ends_with("/traces.jsonl")) {
        // What was found in public projects has no agent in it.
        if path.contains("/otlp/") {
            continue;
        }
        let text = table(path);
        for line in text.lines() {
            assert!(width(line) <= 80, "{path}: {line}");
        }
        assert!(text.contains("■ ") && text.contains("제안") && !text.contains(".j2:"), "{path}: {text}");
        let found = report(path, &[]);
        for code in ["nothing_recognised", "no_tool_spans", "export_stamps", "skew", "orphans"] {
            assert!(!codes(&found, "problems").contains(&code), "{path}: {code}");
        }
    }
}

#[test]
fn observing_changes_nothing_of_what_is_read() {
    let options = Options {
        conventions: Conventions::builtin(),
        missing_status: MissingStatus::Skip,
        chat_calls: ChatCalls::Read,
    };
    let read = |path: &str, observed: Option<&mut Observed>| {
        let mut input = source::open(&Source::File(repository().join(path))).unwrap();
        let start = Start { line: 1, byte_offset: input.bom_bytes() };
        let mut all = Vec::new();
        let mut sink = |batch: Batch| -> Result<(), Infallible> {
            all.push(format!("{batch:?}"));
            Ok(())
        };
        let report = ingest::read_observed(&mut input, start, &options, observed, &mut sink, &mut |_, _| {}).unwrap();
        (report, all)
    };
    let folders = ["fixtures/real", "fixtures/malformed", "fixtures/quirks", "fixtures/seed"];
    let files: Vec<String> = folders.into_iter().flat_map(files_under).collect();
    for path in files.iter().filter(|path| Path::new(path).extension().is_some_and(|end| end != "md")) {
        let mut observed = Observed::default();
        let with = read(path, Some(&mut observed));
        assert_eq!(read(path, None), with, "{path}");
        // Every OTLP span of a text that counts is in the sums, and no other.
        let in_scopes: u64 = with.0.scopes.values().sum();
        assert_eq!(observed.scopes.values().map(|scope| scope.spans).sum::<u64>(), in_scopes, "{path}");
    }
}

#[test]
fn scope_is_told_wherever_its_name_and_the_service_stand() {
    let found = report_of(&[line("불러오기", "mine", &[run(1, (1, 9)), call(1, 2, (2, 3))])], &[]);
    let scope = &found["scopes"][0];
    assert_eq!((scope["scope"].as_str(), scope["version"].as_str()), (Some("mine"), Some("1.2")));
    assert_eq!((scope["service"].as_str(), scope["schema_url"].as_str()), (Some("불러오기"), Some("https://s/1")));
    assert_eq!(
        (found["runs"].as_u64(), found["calls"].as_u64(), found["traces"].as_u64()),
        (Some(1), Some(1), Some(1))
    );
}

#[test]
fn nothing_recognised_is_analysed_and_points_to_a_convention() {
    let unknown = [("acme.kind", "tool"), ("acme.tool", "t")];
    let span = |id| Made { attributes: &unknown[..usize::try_from(id).unwrap()], ..call(1, id, (1, 2)) };
    let lines = [line("s", "acme", &[span(1), span(2)])];
    let found = report_of(&lines, &[]);
    assert_eq!(codes(&found, "problems"), ["nothing_recognised"]);
    assert_eq!(codes(&found, "suggestions"), ["convention"]);
    assert_eq!(found["suggestions"][0]["keys"], json!(["acme.kind", "acme.tool"]));
    assert!(found["suggestions"][0]["text"].as_str().unwrap().contains("acme.kind, acme.tool"));
    // The command that judges fails, names what it tried, and points here; two equal files are no success either.
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        fs::write(folder.path().join(name), &lines[0]).unwrap();
    }
    let output = taco_trace(&["diagnose", folder.path().to_str().unwrap()]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("taco-trace doctor") && told.contains("otel-genai") && told.contains("acme 2"), "{told}");
}

#[test]
fn file_without_spans_and_file_that_is_not_there() {
    assert_eq!(
        codes(&report_of(&[r#"{"hello":"world"}"#.to_owned()], &[]), "suggestions"),
        ["not_traces", "data_loss"]
    );
    let output = taco_trace(&["doctor", "fixtures/no-such-file.jsonl"]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    assert_eq!(taco_trace(&["doctor"]).status.code(), Some(2));
}

#[test]
fn run_without_tool_spans_is_not_taken_for_normal() {
    let found = report_of(&[line("s", "mine", &[run(1, (1, 9))])], &[]);
    assert_eq!(codes(&found, "problems"), ["no_tool_spans"]);
    assert_eq!(codes(&found, "suggestions")[0], "tool_spans");
    let with_call = report_of(&[line("s", "mine", &[run(1, (1, 9)), call(1, 2, (2, 3))])], &[]);
    assert!(!codes(&with_call, "problems").contains(&"no_tool_spans"));
}

#[test]
fn calls_without_a_run_are_told() {
    let found = report_of(&[line("s", "mine", &[call(1, 2, (2, 3))])], &[]);
    assert_eq!(entry(&found, "problems", "no_runs")["count"], 1);
    assert_eq!(entry(&found, "problems", "orphans")["count"], 1);
    assert!(codes(&found, "suggestions").contains(&"runs"));
}

#[test]
fn stamps_of_the_export_are_told_from_times() {
    let stamped = |calls: &[(u64, u64)]| {
        let mut spans = vec![run(1, (MS, 90 * MS))];
        spans.extend((2..).zip(calls).map(|(id, times)| call(1, id, *times)));
        codes(&report_of(&[line("s", "mine", &spans)], &[]), "problems").contains(&"export_stamps")
    };
    let calls = |count: u64, gap_ns: u64, lasting_ns: u64| -> Vec<(u64, u64)> {
        (0..count).map(|place| (2 * MS + place * gap_ns, 2 * MS + place * gap_ns + lasting_ns)).collect()
    };
    // Five spans 60 µs apart; four of them may be calls made at once.
    assert!(stamped(&calls(5, 60_000, 1_000)));
    assert!(!stamped(&calls(4, 60_000, 1_000)));
    // Durations below, at and above a millisecond.
    assert!(stamped(&calls(5, 60_000, 999_999)));
    assert!(!stamped(&calls(5, 60_000, MS)));
    assert!(!stamped(&calls(5, 60_000, MS + 1)));
    // From the first to the last below, at and above a millisecond.
    assert!(stamped(&calls(5, 249_999, 1_000)));
    assert!(!stamped(&calls(5, 250_000, 1_000)));
    assert!(!stamped(&calls(5, 250_001, 1_000)));
    // No time at all, wherever they stand.
    assert!(stamped(&calls(3, 10 * MS, 0)));
    assert!(!stamped(&calls(2, 10 * MS, 0)));
}

#[test]
fn clocks_that_differ_are_told_and_not_mended() {
    let skewed = |start: u64| {
        let found = report_of(
            &[line("s", "mine", &[run(1, (5_000 * MS, 9_000 * MS)), call(1, 2, (start, start + 50 * MS))])],
            &[],
        );
        let found = found["problems"].as_array().unwrap().iter().find(|entry| entry["code"] == "skew").cloned();
        found.map(|entry| (entry["count"].as_u64().unwrap(), entry["value"].as_str().unwrap().to_owned()))
    };
    assert_eq!(skewed(2_000 * MS), Some((1, "3000".to_owned())));
    assert_eq!(skewed(5_000 * MS - 1), Some((1, "0".to_owned())));
    assert_eq!(skewed(5_000 * MS), None);
    assert_eq!(skewed(5_000 * MS + 1), None);
}

#[test]
fn services_and_conversations_over_several_traces_are_told() {
    let talk = |conversation: &'static str| [RUN[0], RUN[1], ("gen_ai.conversation.id", conversation)];
    let (first, other) = (talk("c1"), talk("c2"));
    let found = report_of(
        &[
            line("front", "mine", &[Made { attributes: &first, ..run(1, (1, 9)) }]),
            line("back", "mine", &[call(1, 2, (2, 3))]),
            line("front", "mine", &[Made { attributes: &first, ..run(2, (1, 9)) }]),
            line("front", "mine", &[Made { attributes: &other, ..run(3, (1, 9)) }]),
        ],
        &[],
    );
    assert_eq!(entry(&found, "problems", "several_services")["count"], 1);
    assert_eq!(entry(&found, "problems", "several_services")["value"], "2");
    assert_eq!(entry(&found, "problems", "conversation_over_traces")["count"], 1);
    assert_eq!(found["conversations"], 2);
}

#[test]
fn status_that_is_missing_or_never_set_is_told() {
    let without = Made { status: None, ..call(1, 2, (2, 3)) };
    let lines = [line("s", "mine", &[run(1, (1, 9)), without])];
    let found = report_of(&lines, &[]);
    assert_eq!(codes(&found, "suggestions")[0], "missing_status");
    assert_eq!(found["calls"], 0);
    let found = report_of(&lines, &["--missing-status", "unset"]);
    assert_eq!(found["calls"], 1);
    assert_eq!(entry(&found, "problems", "status_never_set")["name"], "otel-genai");
    let set = report_of(&[line("s", "mine", &[run(1, (1, 9)), call(1, 2, (2, 3))])], &[]);
    assert!(!codes(&set, "problems").contains(&"status_never_set"));
}

#[test]
fn missing_arguments_name_the_setting_that_records_them() {
    let bare = Made { attributes: &CALL[..2], ..call(1, 2, (2, 3)) };
    let found = report_of(&[line("s", "mine", &[run(1, (1, 9)), bare])], &[]);
    let capture = entry(&found, "suggestions", "capture");
    assert_eq!((capture["count"].as_u64(), capture["name"].as_str()), (Some(1), Some("otel-genai")));
    assert_eq!(capture["value"], "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true");
    // A bare value was recorded, only without its name: no setting mends that.
    let found = report("fixtures/real/langchain-1.5.2-openinference/traces.jsonl", &[]);
    assert!(!codes(&found, "suggestions").contains(&"capture"), "{found:#}");
}

#[test]
fn recorded_definitions_are_suggested_unless_tools_are_given() {
    let path = "fixtures/real/langchain-1.5.2-genai/traces.jsonl";
    let found = report(path, &[]);
    assert_eq!(entry(&found, "suggestions", "tools_from_trace")["count"], 4);
    let given = report(path, &["--tools", "fixtures/real/langchain-1.5.2-genai/tools.json"]);
    assert!(!codes(&given, "suggestions").contains(&"tools_from_trace"));
}

#[test]
fn names_from_a_trace_cannot_steer_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces.jsonl");
    let hostile = "\u{1b}[2J\u{202e}sc\tope";
    fs::write(&path, line(hostile, hostile, &[run(1, (1, 9)), call(1, 2, (2, 3))])).unwrap();
    let text = table(path.to_str().unwrap());
    assert!(!text.contains(['\u{1b}', '\u{202e}', '\t']), "{text}");
}
