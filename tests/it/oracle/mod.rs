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
use taco_trace::render::notes::NoteKind;
use taco_trace::store::Store;

use self::generate::{Layout, Schema, World, layout, worlds};
use self::judge::judge;
use super::support::{answers, repository};
use super::support_run::{Outcome, judge_batches};

/// The cases asked for are worlds: a case here has 1 to 16 of them.
const WORLDS_A_CASE: u32 = 7;
/// Of tests that compare the library with itself, this part is enough.
const PART: u32 = 2;
/// What a case does not compare: words, which have tests of their own.
const WORDS: [&str; 3] = ["notes", "summary", "description_draft"];
/// How long a failing case may be made smaller.
const SHRINK_MS: u32 = 30_000;
/// Lines that are left out, each for itself.
const BROKEN_LINES: [&str; 4] = ["2026-10-07 09:12:03 INFO started", "[1, 2, 3]", r#""text""#, r#"{"resource":1,}"#];

/// Runs the test on cases of several worlds each.
fn check<S: Strategy>(part: u32, strategy: S, test: impl Fn(S::Value) -> TestCaseResult) {
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(20_261_007),
        chosen @ RngSeed::Fixed(_) => chosen,
    };
    let cases = default.cases / WORLDS_A_CASE / part;
    let config = ProptestConfig { cases, rng_seed, failure_persistence: None, max_shrink_time: SHRINK_MS, ..default };
    if let Err(error) = TestRunner::new(config).run(&strategy, test) {
        panic!("{error}");
    }
}

/// A world and the files that its spans are written to.
type Written = (World, Vec<String>);

/// The world in one file.
fn in_one_file(world: World, layout: &Layout) -> Written {
    let file = world.lines(layout).join("\n");
    (world, vec![file])
}

/// Each world in a run of ingest of its own, all in one store.
fn judged(written: &[Written]) -> Outcome {
    let tools: Vec<String> = written.iter().map(|(world, _)| world.tools_json()).collect();
    let files: Vec<Vec<&str>> = written.iter().map(|(_, files)| files.iter().map(String::as_str).collect()).collect();
    judge_batches(tools.iter().map(String::as_str).zip(files.iter().map(Vec::as_slice)))
}

/// The diagnoses, and the runs without one, of a variant made with [`World::named`].
fn of_variant(outcome: &Outcome, variant: usize) -> (Vec<Value>, Vec<(String, i64, &str)>) {
    let digit = format!("{variant:x}");
    let mut diagnoses = outcome.diagnoses();
    diagnoses.retain(|diagnosis| diagnosis["trace_id"].as_str().is_some_and(|id| id.starts_with(&digit)));
    for diagnosis in &mut diagnoses {
        diagnosis["trace_id"] = Value::from(&diagnosis["trace_id"].as_str().unwrap_or_default()[1..]);
    }
    let mut left_out = unjudged(outcome);
    left_out.retain(|(id, ..)| id.starts_with(&digit));
    for (id, ..) in &mut left_out {
        id.remove(0);
    }
    (diagnoses, left_out)
}

fn without_words(mut diagnoses: Vec<Value>) -> Vec<Value> {
    for diagnosis in &mut diagnoses {
        let fields = diagnosis.as_object_mut().expect("a diagnosis is an object");
        WORDS.iter().for_each(|word| drop(fields.remove(*word)));
    }
    diagnoses
}

/// Without words and without the arguments as recorded.
fn without_written_args(diagnoses: Vec<Value>) -> Vec<Value> {
    let mut diagnoses = without_words(diagnoses);
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

/// Notes of judged runs by trace and name, those apart that the naive judge does not count.
fn notes(outcome: &Outcome) -> BTreeMap<(String, &'static str), usize> {
    let counted = "SELECT n.trace_id, n.note, COUNT(*) FROM set_note_v2 n JOIN set_run_v1 r ON r.trace_id = n.trace_id
        WHERE n.note NOT IN ('args_written_differently', 'parent_cycle', 'args_rewritten', 'failure_beside_status',
            'inner_agent_failed') GROUP BY n.trace_id, n.note";
    let read = |row: String| {
        let cells: Vec<&str> = row.split('|').collect();
        let name = NoteKind::from_name(cells[1]).expect("a note has a kind").as_str();
        ((cells[0].to_owned(), name), cells[2].parse().expect("a count is a number"))
    };
    answers(&outcome.store, counted).into_iter().map(read).collect()
}

/// Runs the test on a store of random worlds, as often as a part of the tests here.
pub(crate) fn for_each_store(test: impl Fn(&Store)) {
    check(PART, (worlds(), layout()), |(worlds, layout)| {
        let written: Vec<Written> = worlds.into_iter().map(|world| in_one_file(world, &layout)).collect();
        test(&judged(&written).store);
        Ok(())
    });
}

#[test]
fn sql_rules_agree_with_the_naive_judge() {
    check(1, (worlds(), layout()), |(worlds, layout)| {
        let expected = judge(&worlds);
        let written: Vec<Written> = worlds.into_iter().map(|world| in_one_file(world, &layout)).collect();
        let outcome = judged(&written);
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

#[test]
fn verdict_does_not_depend_on_how_spans_are_spread_over_lines_and_files() {
    check(PART, (worlds(), layout(), layout(), any::<Index>()), |(worlds, one, other, cut)| {
        let mut written = Vec::new();
        for world in &worlds {
            let lines = |variant| world.named(variant).lines(&one);
            let halves = |lines: Vec<String>| {
                let (begin, end) = lines.split_at(cut.index(lines.len() + 1));
                [begin.join("\n"), end.join("\n")]
            };
            let [begin, end] = halves(lines(3));
            written.push((world.named(0), vec![lines(0).join("\n")]));
            written.push((world.named(1), vec![world.named(1).lines(&other).join("\n")]));
            written.push((world.named(2), halves(lines(2)).to_vec()));
            written.push((world.named(3), vec![end, begin]));
        }
        let outcome = judged(&written);
        let (diagnoses, left_out) = of_variant(&outcome, 0);
        for (variant, name) in [(1, "other lines"), (2, "two files"), (3, "two files the other way round")] {
            let (found, found_left_out) = of_variant(&outcome, variant);
            prop_assert_eq!(without_words(found), without_words(diagnoses.clone()), "{}", name);
            prop_assert_eq!(&found_left_out, &left_out, "{}", name);
        }
        Ok(())
    });
}

#[test]
fn verdict_does_not_depend_on_key_order_and_dropped_spans() {
    let chosen = prop::collection::vec(any::<bool>(), 1..=7);
    check(PART, (worlds(), layout(), chosen), |(worlds, layout, chosen)| {
        let variants = worlds.iter().flat_map(|world| {
            [world.named(0), world.with_keys_reversed().named(1), world.with_dropped_parents(&chosen).named(2)]
        });
        let written: Vec<Written> = variants.map(|world| in_one_file(world, &layout)).collect();
        let outcome = judged(&written);
        let (diagnoses, left_out) = of_variant(&outcome, 0);
        for (variant, name) in [(1, "keys reversed"), (2, "dropped spans")] {
            let (found, found_left_out) = of_variant(&outcome, variant);
            prop_assert_eq!(without_written_args(found), without_written_args(diagnoses.clone()), "{}", name);
            prop_assert_eq!(&found_left_out, &left_out, "{}", name);
        }
        Ok(())
    });
}

#[test]
fn reading_everything_twice_changes_nothing_and_counts_reconcile() {
    let broken = prop::collection::vec((any::<Index>(), 0..BROKEN_LINES.len()), 0..=3);
    check(PART, (worlds(), layout(), broken), |(worlds, layout, broken)| {
        let once = worlds.iter().map(|world| in_one_file(world.named(0), &layout));
        let twice = worlds.iter().map(|world| {
            let mut lines = world.named(1).lines(&layout);
            for (place, kind) in &broken {
                lines.insert(place.index(lines.len() + 1), BROKEN_LINES[*kind].to_owned());
            }
            (world.named(1), vec![lines.join("\n"); 2])
        });
        let written: Vec<Written> = once.chain(twice).collect();
        let outcome = judged(&written);
        prop_assert_eq!(of_variant(&outcome, 1), of_variant(&outcome, 0));
        let (_, read_twice) = outcome.sources.split_at(worlds.len());
        for ((_, files), read) in written[worlds.len()..].iter().zip(read_twice.chunks(2)) {
            for totals in read.iter().map(|source| &source.totals) {
                let dropped: u64 = totals.dropped.values().sum();
                let told_apart = totals.spans_kept + dropped + totals.spans_redelivered + totals.spans_skipped;
                prop_assert_eq!(totals.spans_seen, told_apart, "{:?}", totals);
                prop_assert_eq!(totals.lines, files[0].lines().count() as u64, "{:?}", totals);
                prop_assert_eq!(totals.lines_skipped, broken.len() as u64, "{:?}", totals);
            }
            let (first, second) = (&read[0].totals, &read[1].totals);
            prop_assert_eq!(first.spans_redelivered, 0);
            prop_assert_eq!((second.spans_kept, second.spans_redelivered), (0, first.spans_kept));
        }
        Ok(())
    });
}

#[test]
fn diagnosis_satisfies_its_schema_and_its_evidence_is_what_the_store_holds() {
    let validator = diagnosis_validator();
    check(PART, (worlds(), layout()), |(worlds, layout)| {
        let written: Vec<Written> = worlds.iter().map(|world| in_one_file(world.clone(), &layout)).collect();
        let outcome = judged(&written);
        let cells = Cells::of(&outcome.store);
        for (run, diagnosis) in outcome.runs.iter().zip(outcome.diagnoses()) {
            let problems: Vec<String> = validator.iter_errors(&diagnosis).map(|error| error.to_string()).collect();
            prop_assert_eq!(problems, Vec::<String>::new(), "{}", diagnosis);
            cells.check(run.tool_set.as_deref().unwrap_or_default(), &diagnosis)?;
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

/// A row of a table: its cells by column, as text.
type Row = BTreeMap<String, Option<String>>;

/// The two tables that evidence may name, as the store holds them.
struct Cells {
    /// By trace and span.
    spans: BTreeMap<(String, String), Row>,
    /// By tool set and name.
    tools: BTreeMap<(String, String), Row>,
}

impl Cells {
    fn of(store: &Store) -> Self {
        let table = |name: &str, one: &str, other: &str| {
            let columns = store.columns(name).expect("the table is there");
            let rows = store.query_text(&format!("SELECT * FROM {name}")).expect("the table can be read");
            let rows = rows
                .into_iter()
                .map(|cells| -> Row { columns.iter().map(|(column, _)| column.clone()).zip(cells).collect() });
            let text = |row: &Row, column: &str| row[column].clone().unwrap_or_default();
            rows.map(|row| ((text(&row, one), text(&row, other)), row)).collect()
        };
        Self { spans: table("spans", "trace_id", "span_id"), tools: table("tool_definitions", "tool_set", "tool_name") }
    }

    /// Seed 002, 자동 검증 12 and 13.
    fn check(&self, tool_set: &str, diagnosis: &Value) -> TestCaseResult {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let trace_id = text(&diagnosis["trace_id"]);
        for finding in diagnosis["findings"].as_array().into_iter().flatten() {
            let mut error_span = String::new();
            for entry in finding["evidence"].as_array().into_iter().flatten() {
                if entry.get("agg").is_some() {
                    let counted = self.count(tool_set, &trace_id, finding, &error_span);
                    prop_assert_eq!(entry["value"].as_u64(), Some(counted as u64), "{}", entry);
                    prop_assert!(entry["agg"] == "count" && entry["row"].is_null(), "{}", entry);
                    continue;
                }
                let row = match entry["table"].as_str() {
                    Some("spans") => self.spans.get(&(trace_id.clone(), text(&entry["row"]))),
                    Some("tool_definitions") => self.tools.get(&(tool_set.to_owned(), text(&entry["row"]))),
                    _ => None,
                };
                error_span = text(&entry["row"]);
                let value = match &entry["value"] {
                    Value::Null => None,
                    Value::String(text) => Some(text.clone()),
                    number => Some(number.to_string()),
                };
                let cell = row.and_then(|row| row.get(entry["field"].as_str()?));
                prop_assert_eq!(cell, Some(&value), "{}", entry);
            }
        }
        Ok(())
    }

    /// What a count of a finding counts. `error_span` is the row of the evidence before it.
    fn count(&self, tool_set: &str, trace_id: &str, finding: &Value, error_span: &str) -> usize {
        let of_trace = |id: &str| self.spans.get(&(trace_id.to_owned(), id.to_owned()));
        let start = |row: &Row| row["start_ns"].as_deref().and_then(|start| start.parse::<i64>().ok());
        let tool = finding["tool_name"].as_str();
        match finding["verdict"].as_str() {
            Some("정의에 없는 도구를 부름") => {
                self.tools.keys().filter(|(set, name)| set == tool_set && Some(name.as_str()) == tool).count()
            }
            Some("같은 호출을 재시도 한도보다 많이 되풀이함") => {
                let listed = finding["span_ids"].as_array().into_iter().flatten().filter_map(Value::as_str);
                listed.filter(|id| of_trace(id).is_some()).count()
            }
            _ => {
                let error_start = of_trace(error_span).and_then(start);
                let spans = self.spans.iter().filter(|((trace, _), _)| trace == trace_id).map(|(_, row)| row);
                let recovers = |row: &&Row| {
                    row["tool_name"].as_deref() == tool
                        && row["status"].as_deref() == Some("ok")
                        && start(row) > error_start
                };
                spans.filter(recovers).count()
            }
        }
    }
}

/// Seed 002, 자동 검증 11 and 14. Keys that only `required` names are no fields of the schema: a draft may not name
/// them, and there is none when nothing else is missing.
fn check_words(world: &World, diagnosis: &Value) -> TestCaseResult {
    let is_polite = |text: &str| ["니다.", "세요."].iter().any(|end| text.ends_with(end));
    let summary = diagnosis["summary"].as_str().unwrap_or_default();
    prop_assert!(is_polite(summary), "{}", summary);
    let missing = |finding: &Value| -> Vec<String> {
        finding["missing_keys"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut findings = diagnosis["findings"].as_array().into_iter().flatten();
    let lacking = findings.find(|finding| !missing(finding).is_empty());
    let draft = diagnosis["description_draft"].as_str();
    let Some(finding) = lacking else {
        prop_assert_eq!(draft, None, "a draft without missing keys");
        return Ok(());
    };
    let tool = world.tools.iter().find(|tool| Some(tool.name) == finding["tool_name"].as_str());
    let Some(Schema::Readable { properties, .. }) = tool.map(|tool| &tool.schema) else {
        return Err(TestCaseError::fail(format!("keys missing of no schema: {finding}")));
    };
    let is_property = |word: &str| properties.iter().any(|(key, _)| *key == word);
    let Some(draft) = draft else {
        prop_assert!(!missing(finding).iter().any(|key| is_property(key)), "no draft: {}", diagnosis);
        return Ok(());
    };
    prop_assert!(is_polite(draft), "{}", draft);
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for word in draft.split(|c| !is_part(c)).filter(|word| !word.is_empty()) {
        let is_tool = world.tools.iter().any(|tool| tool.name == word);
        prop_assert!(is_property(word) || is_tool, "the draft names `{}`: {}", word, draft);
    }
    Ok(())
}
