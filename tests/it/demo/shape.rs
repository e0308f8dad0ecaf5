//! The shape of what the agent writes: two runs are the same, five changed copies are not.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::super::support_cli::{program, told};

/// What is done to the spans.
type Change<'c> = &'c dyn Fn(&mut Value);

/// The traces of twenty questions.
fn recorded(path: &Path, seed: &str) {
    let arguments = ["demo", "run", "--questions", "--simulated-time", "--seed", seed, "--fault", "slow", "--traces"];
    let output = program().args(arguments).arg(path).output().unwrap();
    assert!(path.is_file(), "{}", told(&output));
}

/// Exit status and differences as kind, operation and subject.
fn diff(a: &Path, b: &Path) -> (Option<i32>, Vec<String>) {
    let output = program().args(["shape", "diff", "--format", "json"]).args([a, b]).output().unwrap();
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let row = |one: &Value| format!("{} {} {}", one["kind"], one["operation"], one["subject"]).replace('"', "");
    let rows = found["differences"].as_array().unwrap().iter().map(|one| row(one).trim().to_owned());
    (output.status.code(), rows.collect())
}

/// A copy in which every span that is a call was changed.
fn copy(of: &Path, to: &Path, change: impl Fn(&mut Value)) {
    let lines = fs::read_to_string(of).unwrap();
    let changed = lines.lines().map(|line| {
        let mut request: Value = serde_json::from_str(line).unwrap();
        for resource in request["resourceSpans"].as_array_mut().unwrap() {
            for scope in resource["scopeSpans"].as_array_mut().unwrap() {
                change(&mut scope["spans"]);
            }
        }
        format!("{request}\n")
    });
    fs::write(to, changed.collect::<String>()).unwrap();
}

fn each(spans: &mut Value, change: impl Fn(&mut Value)) {
    let calls = spans.as_array_mut().unwrap().iter_mut();
    calls.filter(|span| span["name"].as_str().unwrap().starts_with("execute_tool")).for_each(change);
}

fn arguments(span: &mut Value) -> &mut Vec<Value> {
    span["attributes"].as_array_mut().unwrap()
}

#[test]
fn two_runs_of_the_agent_have_one_shape_and_each_change_of_a_copy_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b, changed] = ["a.jsonl", "b.jsonl", "changed.jsonl"].map(|name| folder.path().join(name));
    recorded(&a, "1");
    recorded(&b, "2");
    assert_eq!(diff(&a, &b), (Some(0), vec![]));
    let key = "gen_ai.tool.call.arguments";
    let cases: [(&str, Change<'_>); 5] = [
        ("attribute_missing execute_tool gen_ai.tool.call.arguments", &|spans| {
            each(spans, |span| arguments(span).retain(|attribute| attribute["key"] != key))
        }),
        ("attribute_type execute_tool gen_ai.tool.call.arguments", &|spans| {
            each(spans, |span| {
                let found = arguments(span).iter_mut().find(|attribute| attribute["key"] == key);
                found.unwrap()["value"] = json!({"boolValue": true});
            });
        }),
        ("nesting execute_tool", &|spans| each(spans, |span| span["parentSpanId"] = json!(""))),
        ("status execute_tool", &|spans| {
            spans.as_array_mut().unwrap().iter_mut().for_each(|span| span["status"] = json!({}))
        }),
        ("operation_extra rerank", &|spans| {
            let spans = spans.as_array_mut().unwrap();
            let mut extra = spans[0].clone();
            extra["name"] = json!("rerank");
            extra["spanId"] = json!(format!("{:016x}", 0xfeed));
            extra["attributes"] = json!([]);
            spans.push(extra);
        }),
    ];
    for (named, change) in cases {
        copy(&b, &changed, change);
        let (exit, found) = diff(&a, &changed);
        assert!(found.iter().any(|row| row == named), "{named}: {found:?}");
        // A span more takes nothing from any rule.
        assert_eq!(exit, Some(i32::from(!named.starts_with("operation_extra"))), "{named}: {found:?}");
    }
}
