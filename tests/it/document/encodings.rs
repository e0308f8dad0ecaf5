//! Real traces in every encoding met, and the broken files. Whole folders are swept, so that a new file must be named here.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use taco_trace::ingest::document::{MissingStatus, Parsed};
use taco_trace::model::{ArgsForm, IssueCode, SpanId, SpanRow, TraceId};

use super::{assert_sums, codes, try_read_as};

fn fixture(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

fn text_of(path: &str) -> String {
    fs::read_to_string(fixture(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads a file line by line, or as one text when it is one.
fn read_file(path: &str, missing_status: MissingStatus) -> Parsed {
    let text = text_of(path);
    let mut parsed = Parsed::default();
    let texts: Vec<&str> = if path.ends_with(".jsonl") { text.split('\n').collect() } else { vec![&text] };
    for (number, one) in (1..).zip(texts) {
        try_read_as(one, missing_status, &mut parsed).unwrap_or_else(|error| panic!("{path}:{number}: {error}"));
    }
    assert_sums(&parsed);
    parsed
}

/// Rows by id; a row that came twice must be the same twice.
fn rows(parsed: Parsed) -> BTreeMap<(TraceId, SpanId), SpanRow> {
    let mut rows = BTreeMap::new();
    for row in parsed.spans {
        let key = (row.trace_id, row.span_id);
        if let Some(first) = rows.insert(key, row.clone()) {
            assert_eq!(first, row);
        }
    }
    rows
}

#[test]
fn every_encoding_gives_the_rows_of_the_baseline() {
    let baseline = rows(read_file("quirks/baseline.jsonl", MissingStatus::Skip));
    assert_eq!(baseline.len(), 22);
    let manifest: serde_json::Value = serde_json::from_str(&text_of("quirks/manifest.json")).unwrap();
    let entries = manifest.as_array().unwrap();
    assert_eq!(entries.len(), 32);
    for entry in entries {
        let file = entry["file"].as_str().unwrap();
        let missing_status = match file {
            "status_absent.jsonl" => MissingStatus::Unset,
            _ => MissingStatus::Skip,
        };
        let parsed = read_file(&format!("quirks/{file}"), missing_status);
        let allowed = if file == "mixed_signals.jsonl" { vec!["other_signal"; 2] } else { Vec::new() };
        assert_eq!(codes(&parsed), allowed, "{file}");
        let read = rows(parsed);
        assert_eq!(read.keys().collect::<Vec<_>>(), baseline.keys().collect::<Vec<_>>(), "{file}");
        for (key, row) in read {
            let mut expected = baseline[&key].clone();
            match file {
                // Doubles hold 53 bits: the file itself lost the last digits.
                "nanos_float_exp.jsonl" => {
                    assert!((row.start_ns - expected.start_ns).abs() < 1_000_000, "{file}");
                    (expected.start_ns, expected.end_ns) = (row.start_ns, row.end_ns);
                }
                // JSON inside a JSON string is taken out of it; what was recorded stays beside it.
                "args_double_encoded.jsonl" if expected.tool_args.is_some() => {
                    let inner: String = serde_json::from_str(row.tool_args_raw.as_deref().unwrap()).unwrap();
                    assert_eq!(Some(inner), expected.tool_args, "{file}");
                    expected.tool_args_raw.clone_from(&row.tool_args_raw);
                    expected.args_form = Some(ArgsForm::JsonString);
                }
                // The same arguments, spelled anew.
                "args_kvlist.jsonl" => expected.tool_args.clone_from(&row.tool_args),
                _ => {}
            }
            assert_eq!(row, expected, "{file}");
        }
    }
}

#[test]
fn absent_status_in_a_real_file_is_skipped_by_default() {
    let parsed = read_file("quirks/status_absent.jsonl", MissingStatus::Skip);
    assert!(parsed.counts.skipped > 0);
    assert!(parsed.issues.iter().all(|issue| issue.code == IssueCode::StatusMissing));
}

#[test]
fn seed_and_generated_traces_are_read_whole() {
    for folder in ["seed", "generated"] {
        let parsed = read_file(&format!("{folder}/traces.jsonl"), MissingStatus::Skip);
        assert_eq!(parsed.counts.skipped, 0, "{folder}");
        assert!(parsed.counts.kept >= 24, "{folder}");
        assert!(codes(&parsed).iter().all(|code| *code == "args_not_json"), "{folder}: {:?}", codes(&parsed));
    }
}

/// What the second line of each broken file comes to: kept and skipped spans and codes of issues, or the refusal.
const MALFORMED: [(&str, &str); 17] = [
    ("args_not_json", "3 kept, 0 skipped: args_not_json"),
    ("args_truncated", "3 kept, 0 skipped: args_not_json"),
    ("bad_group_next_to_good_group", "2 kept, 0 skipped: group_invalid"),
    ("concatenated_objects", "4 kept, 0 skipped: "),
    ("end_before_start", "2 kept, 1 skipped: end_before_start"),
    ("log_prefix", "refused: not_json"),
    ("logs_line", "0 kept, 0 skipped: other_signal"),
    ("not_an_object", "refused: not_an_object"),
    ("nul_byte_in_line", "refused: not_json"),
    ("span_id_empty", "2 kept, 1 skipped: span_id_missing"),
    ("spans_not_array", "0 kept, 0 skipped: group_invalid"),
    ("start_time_missing", "2 kept, 1 skipped: time_missing"),
    ("status_code_99", "2 kept, 1 skipped: status_invalid"),
    ("status_missing", "2 kept, 1 skipped: status_missing"),
    ("tool_name_absent", "2 kept, 1 skipped: tool_name_missing"),
    ("trace_id_missing", "2 kept, 1 skipped: trace_id_missing"),
    ("trace_id_not_hex", "2 kept, 1 skipped: trace_id_invalid"),
];

#[test]
fn broken_line_of_each_kind_costs_what_it_must() {
    for (kind, expected) in MALFORMED {
        let text = text_of(&format!("malformed/{kind}.jsonl"));
        let mut parsed = Parsed::default();
        let outcome = match try_read_as(text.lines().nth(1).unwrap(), MissingStatus::Skip, &mut parsed) {
            Ok(()) => {
                let counts = &parsed.counts;
                format!("{} kept, {} skipped: {}", counts.kept, counts.skipped, codes(&parsed).join(","))
            }
            Err(error) => format!("refused: {}", error.code.as_str()),
        };
        assert_eq!(outcome, expected, "{kind}");
        assert_sums(&parsed);
        // The good lines around it.
        let last = text.lines().last().unwrap();
        for good in [text.lines().next().unwrap(), last] {
            let mut parsed = Parsed::default();
            try_read_as(good, MissingStatus::Skip, &mut parsed).unwrap();
            assert!(parsed.counts.kept > 0 && parsed.issues.is_empty(), "{kind}");
        }
    }
}

#[test]
fn broken_file_over_lines_is_incomplete_at_its_first_line() {
    for (kind, line) in [("pretty_printed", 1), ("truncated_json_half", 1)] {
        let text =
            String::from_utf8_lossy(&fs::read(fixture(&format!("malformed/{kind}.jsonl"))).unwrap()).into_owned();
        let error =
            try_read_as(text.lines().nth(line).unwrap(), MissingStatus::Skip, &mut Parsed::default()).unwrap_err();
        assert_eq!((error.code, error.incomplete), (IssueCode::TruncatedJson, true), "{kind}");
    }
    let pretty = text_of("malformed/pretty_printed.jsonl");
    let mut parsed = Parsed::default();
    try_read_as(&pretty, MissingStatus::Skip, &mut parsed).unwrap();
    assert_eq!((parsed.counts.kept, parsed.issues.len()), (5, 0));
}
