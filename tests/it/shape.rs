//! `taco-trace shape`: the same agent twice, copies changed in one place each, and what the rules need.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};
use taco_trace::model::Rule;
use taco_trace::shape::{
    Kind, Need, Scope, SeenAttribute, SeenGroup, SeenSpan, Shape, Shaping, StatusUse, differences,
};
use unicode_width::UnicodeWidthStr;

use super::support::repository;

fn taco_trace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.current_dir(repository()).env_remove("COLUMNS").args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn text(key: &str, value: &str) -> Value {
    json!({"key": key, "value": {"stringValue": value}})
}

fn span(run: u64, id: u64, parent: Option<u64>, name: &str, code: u64, attributes: &[Value]) -> Value {
    let start = 1_764_000_000_000_000_000 + run * 1_000_000_000 + id * 1_000_000;
    let mut span = json!({
        "traceId": format!("{run:032x}"),
        "spanId": format!("{:016x}", run * 1_000 + id),
        "name": name,
        "startTimeUnixNano": start.to_string(),
        "endTimeUnixNano": (start + 500_000).to_string(),
        "status": {"code": code},
        "attributes": attributes,
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = json!(format!("{:016x}", run * 1_000 + parent));
    }
    span
}

/// A run: the agent, a model, and so many calls under the agent, the last of which fails.
fn agent(run: u64, calls: u64) -> Vec<Value> {
    let operation = |name| text("gen_ai.operation.name", name);
    let named = text("gen_ai.agent.name", "예산");
    let mut spans = vec![span(run, 1, None, "invoke_agent 예산", 1, &[operation("invoke_agent"), named])];
    let model = text("gen_ai.request.model", &format!("model-{run}"));
    spans.push(span(run, 2, Some(1), &format!("chat model-{run}"), 1, &[operation("chat"), model]));
    for id in 3..3 + calls {
        let failed = id == 2 + calls;
        let mut attributes = vec![
            operation("execute_tool"),
            text("gen_ai.tool.name", &format!("tool_{}", id % 2)),
            text("gen_ai.tool.call.arguments", &format!("{{\"n\":{id}}}")),
            text("gen_ai.tool.call.id", &format!("call-{run}-{id}")),
        ];
        if failed {
            attributes.push(text("error.type", "timeout"));
        }
        let name = format!("execute_tool tool_{}", id % 2);
        spans.push(span(run, id, Some(1), &name, if failed { 2 } else { 1 }, &attributes));
    }
    spans
}

fn request(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{
        "resource": {"attributes": [text("service.name", "agent"), {"key": "process.pid", "value": {"intValue": "7"}}]},
        "scopeSpans": [{"scope": {"name": "site.agent", "version": "1.2"}, "spans": spans}],
    }]})
}

/// Trace files of a test.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, spans: &[Value]) -> String {
        let path: PathBuf = self.0.path().join(name);
        fs::write(&path, request(spans).to_string() + "\n").unwrap();
        path.display().to_string()
    }
}

/// What `shape diff` says of a run and a copy that was changed: exit status and the differences as
/// `kind operation subject: rules`.
fn changed(change: impl Fn(&mut Vec<Value>)) -> (i32, Vec<String>) {
    let files = Files::new();
    let a = files.write("a.jsonl", &agent(1, 6));
    let mut copy = agent(2, 6);
    change(&mut copy);
    let b = files.write("b.jsonl", &copy);
    let output = taco_trace(&["shape", "diff", &a, &b, "--format", "json"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    for format in ["table", "md"] {
        let again = taco_trace(&["shape", "diff", &a, &b, "--format", format]);
        assert_eq!(again.status.code(), output.status.code());
        assert!(!stdout(&again).contains(".j2"), "{}", stdout(&again));
    }
    let rows = found["differences"].as_array().unwrap().iter().map(|one| {
        let rules: Vec<&str> = one["rules"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap()).collect();
        let of = |key: &str| one[key].as_str().unwrap().to_owned();
        let row = format!("{} {} {}: {}", of("kind"), of("operation"), of("subject"), rules.join(" "));
        row.trim().to_owned()
    });
    (output.status.code().unwrap(), rows.collect())
}

fn is_call(span: &Value) -> bool {
    span["name"].as_str().unwrap().starts_with("execute_tool")
}

fn calls(spans: &mut [Value]) -> impl Iterator<Item = &mut Value> {
    spans.iter_mut().filter(|span| is_call(span))
}

fn without(span: &mut Value, key: &str) {
    span["attributes"].as_array_mut().unwrap().retain(|attribute| attribute["key"] != key);
}

const ALL: &str = "undefined_tool args_mismatch timeout_exceeded retry_over_limit error_hidden";

#[test]
fn two_runs_of_one_agent_are_the_same() {
    assert_eq!(changed(|_| {}), (0, vec![]));
    let files = Files::new();
    let a = files.write("a.jsonl", &agent(1, 6));
    let b = files.write("b.jsonl", &[agent(2, 3), agent(3, 9)].concat());
    let output = taco_trace(&["shape", "diff", &a, &b]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("모양이 같습니다."), "{}", stdout(&output));
}

#[test]
fn a_run_without_errors_is_the_same() {
    let no_error = |spans: &mut Vec<Value>| {
        calls(spans).for_each(|call| {
            call["status"]["code"] = json!(1);
            without(call, "error.type");
        });
    };
    assert_eq!(changed(no_error), (0, vec![]));
}

#[test]
fn a_missing_attribute_names_its_rules() {
    let change =
        |key: &'static str| changed(move |spans: &mut Vec<Value>| calls(spans).for_each(|call| without(call, key)));
    let arguments = "attribute_missing execute_tool gen_ai.tool.call.arguments: args_mismatch retry_over_limit";
    assert_eq!(change("gen_ai.tool.call.arguments"), (1, vec![arguments.to_owned()]));
    let name = format!("attribute_missing execute_tool gen_ai.tool.name: {ALL}");
    let (exit, found) = change("gen_ai.tool.name");
    assert_eq!((exit, found.first()), (1, Some(&name)));
    let (exit, found) = change("gen_ai.operation.name");
    assert_eq!(exit, 1);
    assert!(found.contains(&format!("operation_missing execute_tool : {ALL}")), "{found:?}");
}

#[test]
fn another_place_that_is_read_too_loses_nothing() {
    let moved = changed(|spans| {
        for call in calls(spans) {
            for attribute in call["attributes"].as_array_mut().unwrap() {
                if attribute["key"] == "gen_ai.tool.call.arguments" {
                    attribute["key"] = json!("gen_ai.tool.arguments");
                }
            }
        }
    });
    let told = [
        "attribute_extra execute_tool gen_ai.tool.arguments:",
        "attribute_missing execute_tool gen_ai.tool.call.arguments:",
    ];
    assert_eq!(moved, (0, told.map(str::to_owned).to_vec()));
}

#[test]
fn another_type_counts_where_it_is_read_otherwise() {
    let typed = |value: Value| {
        changed(move |spans: &mut Vec<Value>| {
            for call in calls(spans) {
                for attribute in call["attributes"].as_array_mut().unwrap() {
                    if attribute["key"] == "gen_ai.tool.call.arguments" {
                        attribute["value"] = value.clone();
                    }
                }
            }
        })
    };
    let row = "attribute_type execute_tool gen_ai.tool.call.arguments:";
    let rules = "args_mismatch retry_over_limit";
    assert_eq!(typed(json!({"intValue": "7"})), (1, vec![format!("{row} {rules}")]));
    assert_eq!(typed(json!({"doubleValue": 7.5})), (1, vec![format!("{row} {rules}")]));
    assert_eq!(typed(json!({"boolValue": true})), (1, vec![format!("{row} {rules}")]));
    assert_eq!(typed(json!({"arrayValue": {"values": []}})), (1, vec![format!("{row} {rules}")]));
    // The reader makes the same object of it.
    let map = json!({"kvlistValue": {"values": [{"key": "n", "value": {"intValue": "3"}}]}});
    assert_eq!(typed(map), (0, vec![row.to_owned()]));
    assert_eq!(typed(json!({"bytesValue": "eyJuIjozfQ=="})), (0, vec![row.to_owned()]));
}

#[test]
fn other_nesting_is_told() {
    let top = changed(|spans| calls(spans).for_each(|call| call["parentSpanId"] = json!("")));
    assert_eq!(top, (1, vec![format!("nesting execute_tool : {ALL}")]));
    // Under the model, which stands under the agent: the call is still one of that run.
    let below = changed(|spans| calls(spans).for_each(|call| call["parentSpanId"] = json!(format!("{:016x}", 2_002))));
    assert_eq!(below, (0, vec!["nesting execute_tool :".to_owned()]));
    let lost = changed(|spans| calls(spans).for_each(|call| call["parentSpanId"] = json!("00000000000000ff")));
    assert_eq!(lost, (1, vec![format!("nesting execute_tool : {ALL}")]));
}

#[test]
fn status_that_is_never_set_is_told() {
    let rules = "timeout_exceeded error_hidden";
    let never = changed(|spans| spans.iter_mut().for_each(|span| span["status"] = json!({})));
    let rows = [
        format!("status execute_tool : {rules}"),
        format!("status invoke_agent : {rules}"),
        "status chat :".to_owned(),
    ];
    assert_eq!(never, (1, rows.to_vec()));
    // UNSET is read as OK where errors are still marked.
    let unset = changed(|spans| {
        calls(spans).filter(|span| span["status"]["code"] == 1).for_each(|span| span["status"] = json!({"code": 0}));
    });
    assert_eq!(unset, (0, vec!["status execute_tool :".to_owned()]));
    let absent = changed(|spans| {
        calls(spans).for_each(|span| {
            span.as_object_mut().unwrap().remove("status");
        });
    });
    assert_eq!(absent, (1, vec![format!("status execute_tool : {ALL}")]));
}

/// Whether calls failed is what happened, not how it is written.
#[test]
fn errors_on_one_side_alone_are_the_same() {
    let files = Files::new();
    let run = |number: u64, codes: &[u64]| {
        let mut spans = agent(number, codes.len() as u64);
        for (call, code) in calls(&mut spans).zip(codes) {
            call["status"]["code"] = json!(code);
            without(call, "error.type");
            if *code == 2 {
                let attribute = json!({"key": "error.type", "value": {"stringValue": "tool_error"}});
                call["attributes"].as_array_mut().unwrap().push(attribute);
            }
        }
        spans
    };
    let unset = files.write("unset.jsonl", &run(1, &[0; 20]));
    for (name, codes) in [("one.jsonl", vec![2]), ("many.jsonl", [[2, 0]; 10].concat())] {
        let other = files.write(name, &run(2, &codes));
        for (a, b) in [(&unset, &other), (&other, &unset)] {
            let output = taco_trace(&["shape", "diff", a, b]);
            assert_eq!(output.status.code(), Some(0), "{name}: {}", stdout(&output));
            assert!(stdout(&output).contains("모양이 같습니다."), "{name}: {}", stdout(&output));
        }
    }
}

#[test]
fn errors_that_only_one_status_tells_are_told() {
    let silent = changed(|spans| {
        calls(spans).filter(|span| span["status"]["code"] == 2).for_each(|span| span["status"] = json!({"code": 1}));
    });
    assert_eq!(silent, (1, vec!["status execute_tool : timeout_exceeded error_hidden".to_owned()]));
}

#[test]
fn a_span_more_that_no_rule_needs_is_told_and_no_failure() {
    let extra = changed(|spans| spans.push(span(2, 90, Some(1), "GET /budget/17", 0, &[])));
    assert_eq!(extra, (0, vec!["operation_extra GET /budget/#".to_owned() + " :"]));
}

#[test]
fn times_that_cannot_be_read_are_told() {
    let timeless = changed(|spans| calls(spans).for_each(|span| span["endTimeUnixNano"] = json!("0")));
    assert_eq!(timeless, (1, vec![format!("readable execute_tool times: {ALL}")]));
}

#[test]
fn scope_and_resource_are_told_and_no_failure() {
    let files = Files::new();
    let a = files.write("a.jsonl", &agent(1, 3));
    let mut other = request(&agent(2, 3));
    other["resourceSpans"][0]["scopeSpans"][0]["scope"]["version"] = json!("1.3");
    other["resourceSpans"][0]["resource"]["attributes"] = json!([text("process.pid", "7")]);
    let b = files.write("b.jsonl", &[]);
    fs::write(&b, other.to_string()).unwrap();
    let output = taco_trace(&["shape", "diff", &a, &b]);
    assert_eq!(output.status.code(), Some(0));
    let shown = stdout(&output);
    assert!(shown.contains("규칙에 필요한 모양은 같습니다."), "{shown}");
    for told in ["계측 범위가 다릅니다", "리소스 속성이 B 에 없습니다 — service.name", "site.agent 1.3"]
    {
        assert!(shown.contains(told), "{told} in\n{shown}");
    }
    assert!(shown.contains("리소스 속성의 형식이 다릅니다 — process.pid"), "{shown}");
}

#[test]
fn show_tells_operations_parents_attributes_and_status() {
    let files = Files::new();
    let a = files.write("a.jsonl", &agent(1, 6));
    let output = taco_trace(&["shape", "show", &a, "--format", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let shape: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shape["spans"], 8);
    assert_eq!(shape["scopes"], json!([{"name": "site.agent 1.2", "count": 8}]));
    let operations = shape["operations"].as_array().unwrap();
    let call = operations.iter().find(|one| one["operation"] == "execute_tool").unwrap();
    assert_eq!(call["is_kept"], true);
    assert_eq!(call["parents"], json!([{"name": "invoke_agent", "count": 6}]));
    assert_eq!(call["status"], json!([{"name": "ok", "count": 5}, {"name": "error", "count": 1}]));
    assert_eq!(call["names"], json!([{"name": "execute_tool {tool}", "count": 6}]));
    let attributes = call["attributes"].as_array().unwrap();
    let of = |key: &str| attributes.iter().find(|one| one["key"] == key).unwrap();
    assert_eq!((&of("error.type")["present"], &of("error.type")["of"]), (&json!(1), &json!(6)));
    assert_eq!(of("gen_ai.tool.name")["read_as"], "tool_name");
    assert_eq!(of("gen_ai.tool.name")["types"], json!([{"name": "string", "count": 6}]));
    for word in ["model-1", "call-1-3", "{\"n\":3}"] {
        assert!(!stdout(&output).contains(word), "{word} is a value");
    }
    let shown = stdout(&taco_trace(&["shape", "show", &a]));
    assert!(shown.contains("gen_ai.tool.call.arguments: string 6 / 6 · 규칙 args_mismatch,"), "{shown}");
    assert!(shown.lines().all(|line| line.width() <= 80), "{shown}");
    let markdown = stdout(&taco_trace(&["shape", "show", &a, "--format", "md"]));
    assert!(markdown.contains("| gen_ai.tool.name | string 6 | 6 / 6 |"), "{markdown}");
}

#[test]
fn input_that_repeats_spans_or_has_them_in_another_order_is_the_same() {
    let files = Files::new();
    let spans = agent(1, 6);
    let a = files.write("a.jsonl", &spans);
    let backwards: Vec<Value> = spans.iter().chain(&spans).rev().cloned().collect();
    let b = files.write("b.jsonl", &backwards);
    let shown = |path: &str| stdout(&taco_trace(&["shape", "show", path, "--format", "json"]));
    assert_eq!(shown(&a), shown(&b));
}

#[test]
fn output_goes_to_a_file_that_is_no_input() {
    let files = Files::new();
    let a = files.write("a.jsonl", &agent(1, 6));
    let out = files.0.path().join("shape.json").display().to_string();
    let output = taco_trace(&["shape", "show", &a, "--format", "json", "-o", &out]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(0), String::new()));
    assert!(fs::read_to_string(&out).unwrap().starts_with('{'));
    assert_eq!(taco_trace(&["shape", "show", &a, "-o", &a]).status.code(), Some(2));
}

#[test]
fn what_cannot_be_read_is_exit_3_and_wrong_use_exit_2() {
    let files = Files::new();
    let a = files.write("a.jsonl", &agent(1, 2));
    let empty = files.write("empty.jsonl", &[]);
    let code = |arguments: &[&str]| taco_trace(arguments).status.code();
    assert_eq!(code(&["shape", "show", "fixtures/no-such-file.jsonl"]), Some(3));
    assert_eq!(code(&["shape", "diff", &a, "fixtures/no-such-file.jsonl"]), Some(3));
    assert_eq!(code(&["shape", "show", &empty]), Some(3));
    assert_eq!(code(&["shape", "diff", &a]), Some(2));
    assert_eq!(code(&["shape", "diff", &a, &a, &a]), Some(2));
    assert_eq!(code(&["shape", "diff", "-", "-"]), Some(2));
    assert_eq!(code(&["shape"]), Some(2));
    assert_eq!(code(&["shape", "show", &a, "--format", "xml"]), Some(2));
}

#[test]
fn table_of_what_the_rules_need() {
    let rules = |need: Need| need.rules().iter().map(|rule| rule.as_str()).collect::<Vec<_>>().join(" ");
    for need in [Need::Operation, Need::Nesting, Need::StatusThere, Need::Times, Need::ToolName] {
        assert_eq!(rules(need), ALL, "{need:?}");
    }
    assert_eq!(rules(Need::Status), "timeout_exceeded error_hidden");
    assert_eq!(rules(Need::Arguments), "args_mismatch retry_over_limit");
    assert_eq!(rules(Need::CallId), "retry_over_limit");
    assert_eq!(rules(Need::Messages), "undefined_tool args_mismatch retry_over_limit");
    for need in [Need::AgentName, Need::Result, Need::ErrorType] {
        assert_eq!(rules(need), "", "{need:?}");
    }
    let needed = |rule: &Rule| Need::ALL.iter().any(|need| need.rules().contains(rule));
    assert!(Rule::ALL.iter().all(needed));
}

/// A shape of `of` calls of which the first `with` have an attribute.
fn shape_with(with: u64, of: u64) -> Shape {
    let mut shaping = Shaping::default();
    let spans = (0..of).map(|number| SeenSpan {
        operation: "chat".to_owned(),
        is_kept: false,
        name: "chat".to_owned(),
        id: Some(number),
        parent: None,
        status: StatusUse::Unset,
        readable: Vec::new(),
        attributes: (number < with)
            .then(|| SeenAttribute { key: "k".to_owned(), kind: "string", need: None })
            .into_iter()
            .collect(),
    });
    shaping.add(SeenGroup { scope: Scope::default(), resource: Vec::new(), spans: spans.collect() });
    shaping.finish()
}

#[test]
fn what_is_seldom_may_be_missing_by_chance() {
    let kinds = |a: &Shape, b: &Shape| differences(a, b).into_iter().map(|one| one.kind).collect::<Vec<_>>();
    // One in ten: two were to be expected among 20, three among 30.
    assert_eq!(kinds(&shape_with(10, 100), &shape_with(0, 29)), []);
    assert_eq!(kinds(&shape_with(10, 100), &shape_with(0, 30)), [Kind::AttributeMissing]);
    assert_eq!(kinds(&shape_with(10, 100), &shape_with(0, 31)), [Kind::AttributeMissing]);
    assert_eq!(kinds(&shape_with(0, 30), &shape_with(10, 100)), [Kind::AttributeExtra]);
    // What all have is missing in a single span already.
    assert_eq!(kinds(&shape_with(1, 1), &shape_with(0, 1)), [Kind::AttributeMissing]);
    // Four of five have it: of two spans both may, of fifteen not.
    assert_eq!(kinds(&shape_with(2, 2), &shape_with(4, 5)), []);
    assert_eq!(kinds(&shape_with(14, 14), &shape_with(4, 5)), []);
    assert_eq!(kinds(&shape_with(15, 15), &shape_with(4, 5)), [Kind::AttributeRate]);
}
