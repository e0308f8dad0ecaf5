//! The house rules that a compiler does not know: rooms, printing, headers, words, documents.
//!
//! Reads the source tree. An exception is listed by name with its reason.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use taco_trace::model::{FixTarget, IssueCode, JsonType, Operation, Rule, Status, Verdict};
use taco_trace::store::Store;

use super::support::{files_under, repository};

/// Files that may hold Hangul in code although they stand outside `src/model` and `src/cli`.
const HANGUL_IN_CODE: [(&str, &str); 0] = [];

/// Which other rooms a room may use. The line runs ingest, store, diagnose, render; cli uses every one.
const ROOMS: [(&str, &[&str]); 31] = [
    ("src/model/", &[]),
    ("src/digest.rs", &[]),
    ("src/near.rs", &[]),
    ("src/connection", &[]),
    ("src/outbound.rs", &[]),
    ("src/stats.rs", &[]),
    ("src/verdict.rs", &["model"]),
    ("src/baseline.rs", &["digest", "model"]),
    ("src/bench.rs", &["model", "stats"]),
    ("src/bench/", &["model", "stats"]),
    ("src/compare.rs", &["model", "stats"]),
    ("src/shape.rs", &["model"]),
    ("src/chat", &["digest", "outbound"]),
    // `render` words the answers of its server.
    ("src/demo", &["chat", "model", "outbound", "render", "spans"]),
    ("src/eval.rs", &["digest"]),
    ("src/eval/", &["digest", "model", "stats"]),
    ("src/sandbox", &["connection", "digest", "eval", "model"]),
    // `chat` holds keys and counts tokens.
    ("src/target", &["chat", "eval", "model", "outbound"]),
    ("src/spans", &[]),
    ("src/reference", &["chat", "eval"]),
    // `chat` holds models and prices, `spans` writes lines.
    ("src/experiment", &["chat", "digest", "eval", "model", "reference", "sandbox", "spans", "target"]),
    // `shape` adds spans up while they are read.
    ("src/ingest/", &["model", "digest", "shape"]),
    ("src/store/", &["model", "digest"]),
    ("src/render/", &["model"]),
    // `render` words the answers to senders.
    ("src/receive/", &["connection", "ingest", "model", "render", "store"]),
    // `ingest` masks what leaves the site.
    ("src/hq.rs", &["ingest", "model", "store"]),
    // `render` makes the summaries and notes of a diagnosis, `ingest` reads the keys of its arguments.
    ("src/diagnose.rs", &["ingest", "model", "render", "store", "verdict"]),
    // `render` words what a model is asked.
    ("src/drafts.rs", &["chat", "diagnose", "digest", "model", "render"]),
    ("src/eval_report.rs", &["eval", "model", "store"]),
    // `render` words the answers of its server.
    ("src/gate", &["connection", "digest", "eval_report", "model", "render", "store"]),
    // `render` words what to do about a call.
    ("src/calls.rs", &["model", "render", "store"]),
];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Rust files under a folder, each with its code: comments taken out, lines kept.
fn rust_files(folder: &str) -> Vec<(String, String)> {
    let paths = files_under(folder).into_iter().filter(|path| path.ends_with(".rs"));
    paths.map(|path| (path.clone(), code(&read(&path)))).collect()
}

/// The text without its comments. A `//` behind a quote or a colon stands in a text, as in `https://`.
fn code(text: &str) -> String {
    let without = |line: &str| match line.match_indices("//").find(|(at, _)| !line[..*at].ends_with([':', '"'])) {
        Some((at, _)) => line[..at].to_owned(),
        None => line.to_owned(),
    };
    text.lines().map(without).collect::<Vec<_>>().join("\n")
}

/// Fails on each word found in the code of `src` outside of `allowed`.
fn refuse(words: &[&str], allowed: &[&str]) {
    for (path, code) in rust_files("src").iter().filter(|(path, _)| !allowed.iter().any(|room| path.starts_with(room)))
    {
        for (number, line) in (1..).zip(code.lines()) {
            for word in words {
                assert!(!line.contains(word), "{path}:{number}: {word} belongs into {allowed:?}");
            }
        }
    }
}

fn is_hangul(c: char) -> bool {
    ('가'..='힣').contains(&c) || ('ㄱ'..='ㆎ').contains(&c)
}

#[test]
fn duckdb_is_used_in_the_store_only() {
    refuse(&["duckdb::", "use duckdb", "extern crate duckdb"], &["src/store/"]);
}

#[test]
fn clap_and_anyhow_are_used_in_the_command_line_only() {
    refuse(&["clap::", "use clap", "anyhow::", "use anyhow"], &["src/cli/"]);
}

#[test]
fn nothing_prints_past_the_terminal_of_the_command_line() {
    refuse(&["println!", "print!", "dbg!"], &[]);
    refuse(&["io::stdout", "io::stderr", "stdout()", "stderr()"], &["src/cli/"]);
}

#[test]
fn environment_and_clock_are_read_by_the_command_line_only() {
    // `main` hands the arguments over.
    refuse(&["std::env", "env::var"], &["src/cli/", "src/main.rs"]);
    refuse(&["SystemTime::now", "Instant::now", "Utc::now", "Local::now"], &["src/cli/"]);
}

#[test]
fn rooms_use_only_what_stands_before_them() {
    for (path, code) in rust_files("src") {
        let Some((room, allowed)) = ROOMS.iter().find(|(room, _)| path.starts_with(room)) else {
            let free = ["src/cli/", "src/lib.rs", "src/main.rs"].iter().any(|room| path.starts_with(room));
            assert!(free, "{path} stands in no room that ROOMS knows");
            continue;
        };
        let own = room.trim_start_matches("src/").trim_end_matches('/').trim_end_matches(".rs");
        for used in code.split("crate::").skip(1) {
            let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let known = used == own || allowed.contains(&used.as_str());
            assert!(known, "{path} uses {used}: {room} may use {allowed:?}");
        }
    }
}

#[test]
fn hangul_in_code_stands_in_labels_help_and_templates_only() {
    for (path, code) in rust_files("src") {
        let room = ["src/model/", "src/cli/"].iter().any(|room| path.starts_with(room));
        if room || HANGUL_IN_CODE.iter().any(|(excepted, _)| *excepted == path) {
            continue;
        }
        for (number, line) in (1..).zip(code.lines()) {
            assert!(!line.chars().any(is_hangul), "{path}:{number} holds Hangul");
        }
    }
}

#[test]
fn rust_file_begins_with_what_it_is_for() {
    for path in files_under("src").into_iter().chain(files_under("tests")).filter(|path| path.ends_with(".rs")) {
        assert!(read(&path).starts_with("//! "), "{path} does not begin with //!");
    }
}

#[test]
fn source_line_is_not_over_120_characters() {
    let mut wrong = Vec::new();
    for path in files_under("src").into_iter().filter(|path| path.ends_with(".rs")) {
        let text = read(&path);
        let long = (1..).zip(text.lines()).filter(|(_, line)| line.chars().count() > 120);
        wrong.extend(long.map(|(number, _)| format!("{path}:{number}")));
    }
    assert_eq!(wrong, [""; 0], "lines that are too long");
}

/// A file of tests that no one lists is never run.
#[test]
fn test_file_is_listed_in_main() {
    let main = read("tests/it/main.rs");
    let listed: BTreeSet<&str> =
        main.lines().filter_map(|line| line.trim().strip_prefix("mod ")?.strip_suffix(';')).collect();
    let files = files_under("tests/it");
    let there: BTreeSet<&str> = files
        .iter()
        .filter_map(|path| path.strip_prefix("tests/it/")?.strip_suffix(".rs"))
        .map(|name| name.strip_suffix("/mod").unwrap_or(name))
        .filter(|name| *name != "main" && !name.contains('/'))
        .collect();
    assert_eq!(listed, there);
}

#[test]
fn tests_read_only_the_repository() {
    for path in files_under("tests") {
        let text = read(&path);
        // Put together here, so that this file does not refuse itself.
        for outside in [["..", "/shared"].concat(), ["/work", "/"].concat(), ["/home", "/"].concat()] {
            assert!(!text.contains(&outside), "{path} reads {outside}");
        }
    }
}

#[test]
fn issue_codes_are_in_the_readme() {
    let readme = read("README.md");
    let missing: Vec<&str> =
        IssueCode::ALL.iter().map(|code| code.as_str()).filter(|code| !readme.contains(&format!("`{code}`"))).collect();
    assert_eq!(missing, [""; 0], "codes that README.md does not tell of");
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&read(&format!("schemas/{name}.schema.json")))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The texts of an array in a schema, in order; `null` as nothing.
fn texts(schema: &Value, pointer: &str) -> Vec<String> {
    let values = schema.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("no array at {pointer}"));
    values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

fn sorted<T: Into<String>>(words: impl IntoIterator<Item = T>) -> Vec<String> {
    let mut words: Vec<String> = words.into_iter().map(Into::into).collect();
    words.sort_unstable();
    words
}

#[test]
fn words_of_the_model_are_those_of_the_diagnosis_schema() {
    let diagnosis = schema("diagnosis");
    let verdicts = sorted(Verdict::ALL.map(Verdict::label));
    assert_eq!(sorted(texts(&diagnosis, "/properties/verdict/enum")), verdicts);
    let found = sorted(Rule::ALL.map(|rule| rule.verdict().label()));
    assert_eq!(sorted(texts(&diagnosis, "/properties/also_found/items/enum")), found);
    assert_eq!(sorted(texts(&diagnosis, "/properties/findings/items/properties/verdict/enum")), found);
    let targets = [
        FixTarget::ToolDescription,
        FixTarget::ArgumentSchema,
        FixTarget::TimeLimit,
        FixTarget::RetryLimit,
        FixTarget::ErrorHandling,
    ];
    assert_eq!(texts(&diagnosis, "/properties/fix_target/enum"), targets.map(FixTarget::label));
    assert_eq!(texts(&diagnosis, "/properties/final_status/enum"), [Status::Ok, Status::Error].map(Status::as_str));
}

#[test]
fn words_and_columns_of_the_store_are_those_of_the_row_schemas() {
    let span_row = schema("span_row");
    let operations = [Operation::InvokeAgent, Operation::ExecuteTool].map(Operation::as_str);
    assert_eq!(texts(&span_row, "/properties/operation/enum"), operations);
    assert_eq!(texts(&span_row, "/properties/status/enum"), [Status::Ok, Status::Error].map(Status::as_str));
    let store = Store::in_memory().unwrap();
    for (table, name) in [("spans", "span_row"), ("tool_definitions", "tool_definition")] {
        let required = texts(&schema(name), "/required");
        let columns: Vec<String> = store.columns(table).unwrap().into_iter().map(|(column, _)| column).collect();
        assert_eq!(columns[..required.len()], required, "{table} begins with the columns of its schema");
    }
}

#[test]
fn json_types_have_the_names_of_json_schema() {
    let names = ["null", "boolean", "integer", "number", "string", "array", "object"];
    assert_eq!(names.map(|name| JsonType::from_name(name).map(JsonType::as_str)), names.map(Some));
    assert_eq!(JsonType::from_name("float"), None);
}
