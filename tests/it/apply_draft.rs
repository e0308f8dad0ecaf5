//! `tools apply-draft`: which draft is taken, what the copy changes, and when nothing is written.

use std::collections::BTreeMap;
use std::fs;
use std::process::Output;

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::diagnose::{DraftMode, JudgedRun, chosen_drafts, diagnose};
use taco_trace::ingest::tools::{ToolDefaults, ToolsError, parse_tools, with_descriptions};
use taco_trace::model::ToolDefinition;
use taco_trace::render::Texts;
use taco_trace::store::{Scope, Store};

use super::support::repository;
use super::support_cli::{Place, program, told};

const TRACES: &str = "fixtures/seed/traces.jsonl";
const TOOLS: &str = "fixtures/seed/tools.json";

fn apply(arguments: &[&str]) -> Output {
    program().args(["tools", "apply-draft"]).args(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn tools(text: &str) -> Vec<ToolDefinition> {
    parse_tools(text, "t", ToolDefaults::default()).unwrap().0.tools
}

/// Only the description of that tool differs.
fn assert_changed(before: &str, after: &str, name: &str, description: &str) {
    let mut expected = tools(before);
    let changed = expected.iter_mut().find(|tool| tool.tool_name == name).unwrap();
    changed.description = description.to_owned();
    assert_eq!(tools(after), expected);
}

const DRAFT: &str = "새 설명 \"인용\"\\ 그리고\n둘째 줄 😀";

#[test]
fn every_form_keeps_every_byte_but_the_description() {
    for (form, today) in [
        ("definitions", "\"부서의 예산 집행 현황을 돌려줍니다.\""),
        ("wrapped", "\"Budget of a department.\""),
        ("openai", "\"Budget of a department.\""),
        ("anthropic", "\"Budget of a department.\""),
        ("mcp", "\"Budget of a department.\""),
    ] {
        let text = fs::read_to_string(repository().join(format!("fixtures/tools/{form}.json"))).unwrap();
        for text in [text.clone(), format!("\u{feff}{text}"), text.replace('\n', "\r\n")] {
            let copy = with_descriptions(&text, &BTreeMap::from([("budget_api", DRAFT)])).unwrap();
            assert_eq!(copy, text.replacen(today, &Value::from(DRAFT).to_string(), 1), "{form}");
            assert_changed(&text, &copy, "budget_api", DRAFT);
        }
    }
}

#[test]
fn missing_null_escaped_and_repeated_descriptions_are_found() {
    let wanted = BTreeMap::from([("t", DRAFT)]);
    let drafted = Value::from(DRAFT).to_string();
    let ascii = r#""\uc0c8 \uc124\uba85 \"\uc778\uc6a9\"\\ \uadf8\ub9ac\uace0\n\ub458\uc9f8 \uc904 \ud83d\ude00""#;
    for (before, after) in [
        (r#"[ {"name": "t", "parameters": {}} ]"#, r#"[ {"description": @,"name": "t", "parameters": {}} ]"#),
        (
            r#"[{"type": "function", "function": {"name": "t"}}]"#,
            r#"[{"type": "function", "function": {"description": @,"name": "t"}}]"#,
        ),
        (
            r#"[{"function": {"name": "t"}, "description": "out"}]"#,
            r#"[{"function": {"name": "t"}, "description": @}]"#,
        ),
        (r#"[{"description": null, "name": "t"}]"#, r#"[{"description": @, "name": "t"}]"#),
        // The last of a repeated key counts, and the first of a repeated tool.
        (
            r#"[{"description": "a", "name": "t", "description": "b"}, {"name": "t", "description": "c"}]"#,
            r#"[{"description": "a", "name": "t", "description": @}, {"name": "t", "description": "c"}]"#,
        ),
        (r#"[7, {"name": "u", "description": "d"}]"#, r#"[7, {"name": "u", "description": "d"}]"#),
    ] {
        let copy = with_descriptions(before, &wanted).unwrap();
        assert_eq!(copy, after.replace('@', &drafted), "{before}");
        if after.contains('@') {
            assert_changed(before, &copy, "t", DRAFT);
        }
    }
    let before = r#"[{"name": "t", "description": "\uc608"}]"#;
    let copy = with_descriptions(before, &wanted).unwrap();
    assert_eq!(copy, before.replace(r#""\uc608""#, ascii), "a file in ASCII stays so");
    assert_eq!(with_descriptions("{}", &wanted), Err(ToolsError::NotAList));
    assert!(matches!(with_descriptions("[\n{", &wanted), Err(ToolsError::NotJson { line: 2, .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any descriptions, for any part of the tools: what is parsed afterwards is what was wanted.
    #[test]
    fn any_description_is_read_back(
        old in proptest::collection::vec(proptest::option::of(".{0,12}"), 1..6),
        new in proptest::collection::vec(proptest::option::of("(?s).{0,12}"), 6),
    ) {
        let members: Vec<Value> = old.iter().enumerate().map(|(n, description)| {
            json!({"name": format!("t{n}"), "description": description, "parameters": {}})
        }).collect();
        let text = serde_json::to_string_pretty(&members).unwrap();
        let names: Vec<String> = (0..6).map(|n| format!("t{n}")).collect();
        let wanted: BTreeMap<&str, &str> = names.iter().zip(&new)
            .filter_map(|(name, new)| Some((name.as_str(), new.as_deref()?))).collect();
        let mut expected = tools(&text);
        for tool in &mut expected {
            if let Some(new) = wanted.get(tool.tool_name.as_str()) {
                tool.description = (*new).to_owned();
            }
        }
        prop_assert_eq!(tools(&with_descriptions(&text, &wanted).unwrap()), expected);
    }
}

/// A judged run with a draft for its tool, out of the seed's examples.
fn drafted_run() -> JudgedRun {
    let place = Place::new();
    let output = program().args(["ingest", TRACES, "--tools", TOOLS, "--db"]).arg(place.db()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let store = Store::open_to_read(&place.db()).unwrap();
    let outcome = diagnose(&store, &Texts::korean(), &Scope::default(), DraftMode::Template).unwrap();
    outcome.runs.into_iter().find(|run| run.described_tool.is_some()).expect("the seed has a draft")
}

#[test]
fn draft_of_most_runs_is_taken_and_of_the_newest_where_they_tie() {
    let one = drafted_run();
    let run = |draft: &str, start_ns: i64| {
        let mut run = one.clone();
        run.diagnosis.description_draft = Some(draft.to_owned());
        run.start_ns = start_ns;
        run
    };
    let chosen = |runs: &[JudgedRun]| {
        let chosen = chosen_drafts(runs);
        assert_eq!(chosen.len(), 1);
        (chosen[0].draft.clone(), chosen[0].runs, chosen[0].of_runs, chosen[0].drafts, chosen[0].tied)
    };
    assert_eq!(chosen(&[run("a", 1)]), ("a".to_owned(), 1, 1, 1, false));
    assert_eq!(chosen(&[run("a", 1), run("b", 2)]), ("b".to_owned(), 1, 2, 2, true));
    assert_eq!(chosen(&[run("a", 2), run("b", 1)]), ("a".to_owned(), 1, 2, 2, true));
    assert_eq!(chosen(&[run("a", 1), run("a", 2), run("b", 3)]), ("a".to_owned(), 2, 3, 2, false));
    assert_eq!(chosen(&[run("a", 1), run("b", 9), run("a", 2), run("b", 1)]), ("b".to_owned(), 2, 4, 2, true));
    let mut without = one.clone();
    without.diagnosis.description_draft = None;
    assert!(chosen_drafts(&[without]).is_empty());
}

#[test]
fn copy_is_written_with_yes_only_and_never_over_an_input() {
    let one = drafted_run();
    let tool = one.described_tool.clone().unwrap().tool_name;
    let draft = one.diagnosis.description_draft.clone().unwrap();
    let place = Place::new();
    let before = fs::read_to_string(repository().join(TOOLS)).unwrap();
    let tools_json = place.write("tools.json", &before);
    let copy = place.path("new.json");
    let (tools_path, copy_path) = (tools_json.to_str().unwrap(), copy.to_str().unwrap());
    let only = apply(&[TRACES, "--tools", tools_path]);
    assert_eq!(only.status.code(), Some(0), "{}", told(&only));
    assert!(out(&only).contains(&tool) && out(&only).contains("\n  + "), "{}", out(&only));
    assert!(told(&only).contains("-o "), "{}", told(&only));
    // No terminal and no --yes: nothing is written.
    let shown = apply(&[TRACES, "--tools", tools_path, "-o", copy_path]);
    assert_eq!((shown.status.code(), copy.exists()), (Some(0), false));
    assert!(told(&shown).contains("--yes"), "{}", told(&shown));
    let written = apply(&[TRACES, "--tools", tools_path, "-o", copy_path, "--yes", "--tool", &tool]);
    assert_eq!(written.status.code(), Some(0), "{}", told(&written));
    assert_eq!(out(&written), out(&only));
    let after = fs::read_to_string(&copy).unwrap();
    assert_changed(&before, &after, &tool, &draft);
    assert_eq!(fs::read_to_string(&tools_json).unwrap(), before);
    let over = apply(&[TRACES, "--tools", tools_path, "-o", tools_path, "--yes"]);
    assert_eq!(over.status.code(), Some(2), "{}", told(&over));
    assert_eq!(fs::read_to_string(&tools_json).unwrap(), before);
    // From a store, and for one run.
    let db = place.db();
    let ingested = program().args(["ingest", TRACES, "--tools", TOOLS, "--db"]).arg(&db).output().unwrap();
    assert_eq!(ingested.status.code(), Some(0));
    let trace = &one.diagnosis.trace_id[..12];
    let stored = apply(&["--db", db.to_str().unwrap(), "--tools", tools_path, "--trace", trace]);
    assert_eq!((stored.status.code(), out(&stored).contains(&tool)), (Some(0), true), "{}", told(&stored));
}

#[test]
fn without_a_draft_it_says_so_and_without_tools_it_is_refused() {
    let place = Place::new();
    let traces = place.write("t.jsonl", super::support_cli::requests(0..1));
    let copy = place.path("new.json");
    let arguments = [traces.to_str().unwrap(), "--tools", TOOLS, "-o", copy.to_str().unwrap(), "--yes"];
    let none = apply(&arguments);
    assert_eq!((none.status.code(), copy.exists()), (Some(0), false), "{}", told(&none));
    assert!(out(&none).contains("수정안이 없습니다"), "{}", out(&none));
    assert_eq!(apply(&[TRACES]).status.code(), Some(2));
    assert_eq!(apply(&[TRACES, "--tools", TOOLS, "--yes"]).status.code(), Some(2), "--yes writes a file");
    assert_eq!(apply(&[TRACES, "--tools", TOOLS, "--tool", "nobody"]).status.code(), Some(2));
    assert_eq!(apply(&[TRACES, "--tools", "gone.json"]).status.code(), Some(3));
}
