//! The rules in SQL against a naive judge in Rust, over small worlds made at random.
//!
//! `generate` makes worlds and writes them as files, `judge` judges them without the library. Cases come from a fixed
//! seed; `PROPTEST_CASES` asks for more and `PROPTEST_RNG_SEED` for others.

mod generate;
mod json;
mod judge;

use std::collections::BTreeMap;

use jsonschema::Validator;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngSeed, TestCaseResult, TestRunner};
use serde_json::Value;
use taco_trace::store::{Store, StoreError};

use self::generate::{Layout, Schema, World, layout, worlds};
use self::judge::judge;
use super::support::{answers, repository};
use super::support_run::{Outcome, judge_batches};

/// The cases asked for are worlds: a case here has half of [`generate::worlds`]' 16 on average.
const WORLDS_A_CASE: u32 = 8;
/// What a case does not compare: words, which have tests of their own.
const WORDS: [&str; 3] = ["notes", "summary", "description_draft"];

/// Runs the test on some cases, each of several worlds.
fn check<S: Strategy>(strategy: S, test: impl Fn(S::Value) -> TestCaseResult) {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(20_261_007),
        chosen @ RngSeed::Fixed(_) => chosen,
    };
    let cases = default.cases / WORLDS_A_CASE;
    let config = ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_iters: 200, ..default };
    if let Err(error) = TestRunner::new(config).run(&strategy, test) {
        panic!("{error}");
    }
}

/// The lines of each world.
fn lines(worlds: &[World], layout: &Layout) -> Vec<Vec<String>> {
    worlds.iter().map(|world| world.lines(layout)).collect()
}

/// Each world in a run of ingest of its own; each of its texts is a file.
fn judged_files(worlds: &[World], files: &[Vec<String>]) -> Outcome {
    let tools: Vec<String> = worlds.iter().map(World::tools_json).collect();
    let files: Vec<Vec<&str>> = files.iter().map(|texts| texts.iter().map(String::as_str).collect()).collect();
    judge_batches(tools.iter().map(String::as_str).zip(files.iter().map(Vec::as_slice)))
}

fn judged(worlds: &[World], lines: &[Vec<String>]) -> Outcome {
    let files: Vec<Vec<String>> = lines.iter().map(|lines| vec![lines.join("\n")]).collect();
    judged_files(worlds, &files)
}

/// Diagnoses without words.
fn without_words(diagnoses: Vec<Value>) -> Vec<Value> {
    diagnoses
        .into_iter()
        .map(|mut diagnosis| {
            let fields = diagnosis.as_object_mut().expect("a diagnosis is an object");
            WORDS.iter().for_each(|word| drop(fields.remove(*word)));
            diagnosis
        })
        .collect()
}

/// Diagnoses without words and without the arguments as recorded.
fn without_written_args(outcome: &Outcome) -> Vec<Value> {
    let mut diagnoses = without_words(outcome.diagnoses());
    let findings =
        diagnoses.iter_mut().flat_map(|diagnosis| diagnosis["findings"].as_array_mut().into_iter().flatten());
    for entry in findings.flat_map(|finding| finding["evidence"].as_array_mut().into_iter().flatten()) {
        if entry["field"] == "tool_args" {
            entry["value"] = Value::Null;
        }
    }
    diagnoses
}

fn unjudged(outcome: &Outcome) -> Vec<(String, i64, &str)> {
    outcome.unjudged.iter().map(|row| (row.trace_id.clone(), row.tool_calls, row.reason.as_str())).collect()
}

#[test]
fn sql_rules_agree_with_the_naive_judge() {
    check((worlds(), layout()), |(worlds, layout)| {
        let outcome = judged(&worlds, &lines(&worlds, &layout));
        let expected = judge(&worlds);
        prop_assert_eq!(without_words(outcome.diagnoses()), expected.diagnoses);
        prop_assert_eq!(unjudged(&outcome), expected.unjudged);
        prop_assert_eq!(notes(&outcome), expected.notes);
        let mut counts = judge::Counts::default();
        for source in &outcome.sources {
            counts.seen += source.totals.spans_seen;
            counts.kept += source.totals.spans_kept;
            counts.dropped += source.totals.dropped.values().sum::<u64>();
            counts.skipped += source.totals.spans_skipped;
        }
        prop_assert_eq!(counts, expected.counts);
        Ok(())
    });
}

/// Notes of judged runs by trace and name, those apart that the naive judge does not count.
fn notes(outcome: &Outcome) -> BTreeMap<(String, &'static str), usize> {
    let counted = "SELECT n.trace_id, n.note, COUNT(*) FROM set_note_v1 n JOIN set_run_v1 r ON r.trace_id = n.trace_id
        WHERE n.note <> 'args_written_differently' GROUP BY n.trace_id, n.note";
    let read = |row: String| {
        let cells: Vec<&str> = row.split('|').collect();
        let name = taco_trace::render::notes::NoteKind::from_name(cells[1]).expect("a note has a kind").as_str();
        ((cells[0].to_owned(), name), cells[2].parse().expect("a count is a number"))
    };
    answers(&outcome.store, counted).into_iter().map(read).collect()
}

#[test]
fn verdict_does_not_depend_on_how_spans_are_spread_over_lines_and_files() {
    check((worlds(), layout(), layout(), any::<Index>()), |(worlds, one, other, cut)| {
        let written = lines(&worlds, &one);
        let first = judged(&worlds, &written);
        let (diagnoses, left_out) = (without_words(first.diagnoses()), unjudged(&first));
        let halves = |lines: &Vec<String>| {
            let (begin, end) = lines.split_at(cut.index(lines.len() + 1));
            vec![begin.join("\n"), end.join("\n")]
        };
        let files: Vec<Vec<String>> = written.iter().map(halves).collect();
        let swapped: Vec<Vec<String>> = files.iter().map(|halves| halves.iter().rev().cloned().collect()).collect();
        let variants = [
            ("other lines", judged(&worlds, &lines(&worlds, &other))),
            ("two files", judged_files(&worlds, &files)),
            ("two files the other way round", judged_files(&worlds, &swapped)),
        ];
        for (name, outcome) in variants {
            prop_assert_eq!(&without_words(outcome.diagnoses()), &diagnoses, "{}: {:#?}", name, files);
            prop_assert_eq!(unjudged(&outcome), left_out.clone(), "{}: {:#?}", name, files);
        }
        Ok(())
    });
}

#[test]
fn verdict_does_not_depend_on_key_order_and_dropped_spans() {
    let chosen = prop::collection::vec(any::<bool>(), 1..=7);
    check((worlds(), layout(), chosen), |(worlds, layout, chosen)| {
        let first = judged(&worlds, &lines(&worlds, &layout));
        let reversed: Vec<World> = worlds.iter().map(World::with_keys_reversed).collect();
        let dropped: Vec<World> = worlds.iter().map(|world| world.with_dropped_parents(&chosen)).collect();
        for (name, variant) in [("keys reversed", reversed), ("dropped spans", dropped)] {
            let outcome = judged(&variant, &lines(&variant, &layout));
            prop_assert_eq!(without_written_args(&outcome), without_written_args(&first), "{}: {:?}", name, variant);
            prop_assert_eq!(unjudged(&outcome), unjudged(&first), "{}: {:?}", name, variant);
        }
        Ok(())
    });
}

#[test]
fn reading_everything_twice_changes_nothing_and_counts_reconcile() {
    let broken = prop::collection::vec((any::<Index>(), 0..BROKEN_LINES.len()), 0..=3);
    check((worlds(), layout(), broken), |(worlds, layout, broken)| {
        let mut written = lines(&worlds, &layout);
        let once = judged(&worlds, &written);
        for lines in &mut written {
            for (place, kind) in &broken {
                lines.insert(place.index(lines.len() + 1), BROKEN_LINES[*kind].to_owned());
            }
        }
        let files: Vec<Vec<String>> = written.iter().map(|lines| vec![lines.join("\n"); 2]).collect();
        let twice = judged_files(&worlds, &files);
        prop_assert_eq!(twice.diagnoses(), once.diagnoses());
        prop_assert_eq!(&twice.unjudged, &once.unjudged);
        for (lines, read) in written.iter().zip(twice.sources.chunks(2)) {
            for source in read {
                let totals = &source.totals;
                let dropped: u64 = totals.dropped.values().sum();
                let told_apart = totals.spans_kept + dropped + totals.spans_redelivered + totals.spans_skipped;
                prop_assert_eq!(totals.spans_seen, told_apart, "{:?}", totals);
                prop_assert_eq!(totals.lines, lines.len() as u64, "{:?}", totals);
                prop_assert_eq!(totals.lines_skipped, broken.len() as u64, "{:?}", totals);
            }
            let (first, second) = (&read[0].totals, &read[1].totals);
            prop_assert_eq!(first.spans_redelivered, 0);
            prop_assert_eq!((second.spans_kept, second.spans_redelivered), (0, first.spans_kept));
        }
        Ok(())
    });
}

/// Lines that are left out, each for itself.
const BROKEN_LINES: [&str; 4] = ["2026-10-07 09:12:03 INFO started", "[1, 2, 3]", r#""text""#, r#"{"resource":1,}"#];

#[test]
fn diagnosis_satisfies_its_schema_and_its_evidence_is_what_the_store_holds() {
    let validator = diagnosis_validator();
    check((worlds(), layout()), |(worlds, layout)| {
        let outcome = judged(&worlds, &lines(&worlds, &layout));
        for (run, diagnosis) in outcome.runs.iter().zip(outcome.diagnoses()) {
            let problems: Vec<String> = validator.iter_errors(&diagnosis).map(|error| error.to_string()).collect();
            prop_assert_eq!(problems, Vec::<String>::new(), "{}", diagnosis);
            check_evidence(&outcome.store, run.tool_set.as_deref().unwrap_or_default(), &diagnosis)?;
            let is_of_run = |world: &&World| world.traces.iter().any(|trace| trace.id == run.diagnosis.trace_id);
            check_words(worlds.iter().find(is_of_run).expect("a run comes from a world"), &diagnosis)?;
        }
        Ok(())
    });
}

fn diagnosis_validator() -> Validator {
    let path = repository().join("schemas/diagnosis.schema.json");
    let text = std::fs::read_to_string(path).expect("the schema is in the repository");
    let schema = serde_json::from_str(&text).expect("the schema is JSON");
    jsonschema::validator_for(&schema).expect("the schema is a JSON Schema")
}

/// Seed 002, 자동 검증 12 and 13.
fn check_evidence(store: &Store, tool_set: &str, diagnosis: &Value) -> TestCaseResult {
    let trace = quoted(&diagnosis["trace_id"]);
    for finding in diagnosis["findings"].as_array().into_iter().flatten() {
        let mut last_row = String::new();
        for entry in finding["evidence"].as_array().into_iter().flatten() {
            let table = entry["table"].as_str().unwrap_or_default();
            let field = entry["field"].as_str().unwrap_or_default();
            let columns = store.columns(table);
            let is_column = columns.is_ok_and(|columns| columns.iter().any(|(name, _)| name == field));
            prop_assert!(is_column, "{}", entry);
            let stored = if entry.get("agg").is_some() {
                prop_assert!(entry["agg"] == "count" && entry["row"].is_null(), "{}", entry);
                count(store, tool_set, finding, &trace, &last_row)
            } else {
                let row = quoted(&entry["row"]);
                let place = match table {
                    "spans" => format!("trace_id = {trace} AND span_id = {row}"),
                    _ => format!("tool_set = '{tool_set}' AND tool_name = {row}"),
                };
                last_row = row;
                store.query_text(&format!("SELECT {field} FROM {table} WHERE {place}"))
            };
            let stored = stored.unwrap_or_else(|error| panic!("{error}"));
            let value = match &entry["value"] {
                Value::Null => None,
                Value::String(text) => Some(text.clone()),
                number => Some(number.to_string()),
            };
            prop_assert_eq!(stored, vec![vec![value]], "{}", entry);
        }
    }
    Ok(())
}

/// As a text in SQL.
fn quoted(value: &Value) -> String {
    format!("'{}'", value.as_str().unwrap_or_default().replace('\'', "''"))
}

type Cells = Result<Vec<Vec<Option<String>>>, StoreError>;

/// What a count of a finding counts. `error_span` is the row of the evidence before it.
fn count(store: &Store, tool_set: &str, finding: &Value, trace: &str, error_span: &str) -> Cells {
    let tool = quoted(&finding["tool_name"]);
    let span_ids: Vec<String> = finding["span_ids"].as_array().into_iter().flatten().map(quoted).collect();
    let of_trace = format!("SELECT COUNT(*) FROM spans WHERE trace_id = {trace}");
    store.query_text(&match finding["verdict"].as_str().unwrap_or_default() {
        "정의에 없는 도구를 부름" => {
            format!("SELECT COUNT(*) FROM tool_definitions WHERE tool_set = '{tool_set}' AND tool_name = {tool}")
        }
        "같은 호출을 재시도 한도보다 많이 되풀이함" => {
            format!("{of_trace} AND span_id IN ({})", span_ids.join(","))
        }
        _ => format!(
            "{of_trace} AND tool_name = {tool} AND status = 'ok' AND start_ns > (
                SELECT e.start_ns FROM spans e WHERE e.trace_id = {trace} AND e.span_id = {error_span})"
        ),
    })
}

/// Seed 002, 자동 검증 11 and 14.
fn check_words(world: &World, diagnosis: &Value) -> TestCaseResult {
    let summary = diagnosis["summary"].as_str().unwrap_or_default();
    prop_assert!(["니다.", "세요."].iter().any(|end| summary.ends_with(end)), "{}", summary);
    let findings = diagnosis["findings"].as_array().into_iter().flatten();
    let lacking: Vec<&Value> = findings.filter(|finding| finding["missing_keys"] != Value::Array(Vec::new())).collect();
    let Some(draft) = diagnosis["description_draft"].as_str() else {
        prop_assert!(lacking.is_empty(), "missing keys and no draft: {}", diagnosis);
        return Ok(());
    };
    let of_draft = lacking.first().and_then(|finding| finding["tool_name"].as_str());
    let tool = world.tools.iter().find(|tool| Some(tool.name) == of_draft);
    let Some(Schema::Readable { properties, .. }) = tool.map(|tool| &tool.schema) else {
        return Err(TestCaseError::fail(format!("a draft for no tool: {diagnosis}")));
    };
    prop_assert!(["니다.", "세요."].iter().any(|end| draft.ends_with(end)), "{}", draft);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for word in draft.split(|c| !is_part(c)).filter(|word| !word.is_empty()) {
        let is_property = properties.iter().any(|(key, _)| *key == word);
        let is_tool = world.tools.iter().any(|tool| tool.name == word);
        prop_assert!(is_property || is_tool, "the draft names `{}`: {}", word, draft);
    }
    Ok(())
}
