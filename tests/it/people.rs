//! The views for people (`sql/people/`) against what `diagnose` says, and what reviews do to them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use taco_trace::diagnose::{DraftMode, diagnose};
use taco_trace::render::Texts;
use taco_trace::store::{Scope, Store};

use super::oracle;
use super::support::{Fixture, answer, answers, call, repository, tool};
use super::support_run::{judge_batches, judge_files};

/// Every finding of every run, as JSON of the columns that `findings` shares with a diagnosis.
const FINDINGS: &str = "SELECT to_json({trace_id: trace_id, verdict: verdict, tool_name: tool_name,
        span_ids: span_ids, missing_keys: missing_keys, type_errors: type_errors,
        timeout_gap_ms: CASE WHEN rule = 'timeout_exceeded' THEN measured - allowed END,
        run_length: CASE WHEN rule = 'retry_over_limit' THEN measured END})
    FROM findings ORDER BY start_ns, trace_id, place";
/// Every run with its verdict.
const VERDICTS: &str = "SELECT to_json({trace_id: trace_id, agent_name: agent_name, final_status: final_status,
        tool_calls: tool_calls, verdict: verdict, also_found: also_found, fix_target: fix_target})
    FROM verdicts ORDER BY start_ns, trace_id";

fn json_rows(store: &Store, sql: &str) -> Vec<Value> {
    answers(store, sql).iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// The views say what `diagnose` says, to the last span.
pub(crate) fn assert_views_agree(store: &Store) {
    let outcome = diagnose(store, &Texts::korean(), &Scope::default(), DraftMode::Off).unwrap();
    let (mut findings, mut verdicts) = (Vec::new(), Vec::new());
    for run in &outcome.runs {
        let diagnosis = serde_json::to_value(&run.diagnosis).unwrap();
        let of = |value: &Value, keys: &[&str]| -> Value {
            keys.iter().map(|key| ((*key).to_owned(), value[*key].clone())).collect()
        };
        let own = ["trace_id", "agent_name", "final_status", "tool_calls", "verdict", "also_found", "fix_target"];
        verdicts.push(of(&diagnosis, &own));
        for finding in diagnosis["findings"].as_array().unwrap() {
            let keys = ["verdict", "tool_name", "span_ids", "missing_keys", "type_errors", "timeout_gap_ms"];
            let mut row = of(finding, &keys);
            row["run_length"] = finding["run_length"].clone();
            row["trace_id"] = diagnosis["trace_id"].clone();
            findings.push(row);
        }
    }
    assert_eq!(json_rows(store, FINDINGS), findings);
    assert_eq!(json_rows(store, VERDICTS), verdicts);
    let unjudged: Vec<String> = outcome.unjudged.iter().map(|run| format!("{}|{}", run.trace_id, run.reason)).collect();
    let asked = "SELECT trace_id, unjudged_reason FROM runs WHERE unjudged_reason IS NOT NULL
        ORDER BY start_ns, trace_id";
    assert_eq!(answers(store, asked), unjudged);
}

#[test]
fn views_agree_with_diagnose_on_the_fixtures() {
    for (traces, tools) in
        [("seed/traces.jsonl", "seed/tools.json"), ("generated/traces.jsonl", "generated/tools.json")]
    {
        let folder = repository().join("fixtures");
        let tools = fs::read_to_string(folder.join(tools)).unwrap();
        assert_views_agree(&judge_files(&[&folder.join(traces)], &tools).store);
    }
}

#[test]
fn views_agree_with_diagnose_on_random_worlds() {
    oracle::for_each_store(assert_views_agree);
}

#[test]
fn views_agree_with_diagnose_on_three_weeks_of_two_tool_sets() {
    let folder = repository().join("fixtures/days");
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let weeks = ["1", "2"].map(|number| {
        let mut days: Vec<PathBuf> =
            fs::read_dir(folder.join(format!("tools-{number}"))).unwrap().map(|entry| entry.unwrap().path()).collect();
        days.sort();
        (read(folder.join(format!("tools-{number}.json"))), days.into_iter().map(read).collect::<Vec<String>>())
    });
    let files: Vec<Vec<&str>> = weeks.iter().map(|(_, days)| days.iter().map(String::as_str).collect()).collect();
    let outcome = judge_batches(weeks.iter().map(|(tools, _)| tools.as_str()).zip(files.iter().map(Vec::as_slice)));
    assert_views_agree(&outcome.store);
    let agents =
        "SELECT COUNT(DISTINCT agent_name), COUNT(DISTINCT tool_set), MIN(korean_date), MAX(korean_date) FROM runs";
    assert_eq!(answers(&outcome.store, agents), ["5|2|2026-09-28|2026-10-16"]);
    // Each problem of the generator is there, and runs that cannot be judged.
    let rules = "SELECT COUNT(DISTINCT rule), (SELECT COUNT(*) > 0 FROM runs WHERE unjudged_reason IS NOT NULL)
        FROM findings";
    assert_eq!(answers(&outcome.store, rules), ["5|true"]);
}

#[test]
fn run_begins_on_its_korean_date() {
    // 15:00 UTC is midnight in Korea.
    let midnight = 1_790_002_800_000_000_000_i64;
    let store = Fixture::new()
        .span(answer("before", "r1").start(midnight - 1))
        .span(answer("at", "r2").start(midnight))
        .store();
    let asked = "SELECT trace_id, korean_date FROM runs ORDER BY start_ns";
    assert_eq!(answers(&store, asked), ["before|2026-09-21", "at|2026-09-22"]);
}

/// Two findings of one rule, of the tools `a` and `b`.
fn two_findings() -> Store {
    Fixture::new()
        .tool(tool("a").required("k", &["string"]))
        .tool(tool("b").required("k", &["string"]))
        .span(answer("t1", "root"))
        .span(call("t1", "s1"))
        .span(call("t1", "s2").tool("b"))
        .store()
}

fn review(store: &Store, tool_name: Option<&str>, decision: &str, place: i64) {
    let tool_name = tool_name.map_or("NULL".to_owned(), |name| format!("'{name}'"));
    let sql = format!(
        "INSERT INTO reviews VALUES ('t1', 'args_mismatch', {tool_name}, '{decision}', 'why {place}', 'me', 'now', {place})"
    );
    store.execute(&sql).unwrap();
}

fn reviewed(store: &Store) -> Vec<String> {
    answers(store, "SELECT tool_name, review, review_reason FROM findings ORDER BY tool_name")
}

#[test]
fn newest_review_counts_until_it_is_undone() {
    let store = two_findings();
    assert_eq!(reviewed(&store), ["a|-|-", "b|-|-"]);
    review(&store, None, "dismissed", 1);
    assert_eq!(reviewed(&store), ["a|dismissed|why 1", "b|dismissed|why 1"]);
    assert_eq!(answers(&store, "SELECT findings, dismissed FROM verdicts"), ["2|2"]);
    review(&store, Some("b"), "confirmed", 2);
    assert_eq!(reviewed(&store), ["a|dismissed|why 1", "b|confirmed|why 2"]);
    review(&store, Some("a"), "undone", 3);
    assert_eq!(reviewed(&store), ["a|-|-", "b|confirmed|why 2"]);
    assert_eq!(answers(&store, "SELECT findings, dismissed FROM verdicts"), ["2|0"]);
}

#[test]
fn review_of_another_rule_or_run_says_nothing() {
    let store = two_findings();
    store.execute("INSERT INTO reviews VALUES ('t1', 'error_hidden', NULL, 'dismissed', '', '', '', 1)").unwrap();
    store.execute("INSERT INTO reviews VALUES ('t2', 'args_mismatch', NULL, 'dismissed', '', '', '', 1)").unwrap();
    assert_eq!(reviewed(&store), ["a|-|-", "b|-|-"]);
    assert_eq!(json_rows(&store, "SELECT to_json({n: COUNT(*)}) FROM findings"), [json!({"n": 2})]);
}

#[test]
fn tables_for_people_and_their_columns_have_comments() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("taco.duckdb")).unwrap();
    let tables = "('spans', 'tool_definitions', 'ingest_issues', 'reviews', 'hq_decisions')";
    let asked = format!(
        "SELECT table_name, '' FROM duckdb_tables() WHERE table_name IN {tables} AND comment IS NULL
        UNION ALL
        SELECT table_name, column_name FROM duckdb_columns() WHERE table_name IN {tables} AND comment IS NULL"
    );
    assert_eq!(answers(&store, &asked), [""; 0]);
}
