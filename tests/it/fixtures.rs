//! Whole files through the library: the seed's examples, made cases, broken input, encodings met in the field, and traces
//! of real frameworks.
//!
//! Where a file's own account cannot be reached, a table here says what the library gives and why; an entry that is
//! no longer true fails.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use taco_trace::ingest::document::MissingStatus;
use taco_trace::model::{Issue, Severity};

use super::support::repository;
use super::support_run::{Outcome, judge_file, judge_file_with};

fn path(name: &str) -> PathBuf {
    repository().join("fixtures").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_else(|| panic!("no array: {value}"))
}

fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// Judges a file of a folder with the tools.json beside it.
fn judged(folder: &str, file: &str) -> Outcome {
    judge_file(&path(&format!("{folder}/{file}")), &text(&format!("{folder}/tools.json")))
}

fn without(mut diagnosis: Value, fields: &[&str]) -> Value {
    let object = diagnosis.as_object_mut().expect("a diagnosis is an object");
    fields.iter().for_each(|field| drop(object.remove(*field)));
    diagnosis
}

// the seed's examples

/// Summaries that say what no column holds, and what is said in their place.
const SEED_SUMMARIES: [(&str, &str, &str); 1] = [(
    "83e0b2c94f1a4d7e9c6b5a3f0e8d1c42",
    "예산 집행 현황 없이 답이 나갔는지 답변을 열어 봅니다.",
    "그 결과 없이 답이 나갔는지 답변을 열어 봅니다.",
)];

#[test]
fn seed_examples_are_reproduced_to_the_letter() {
    let found = judged("seed", "traces.jsonl");
    let expected = json("seed/expected.json");
    assert_eq!(found.runs.len(), array(&expected).len());
    assert_eq!(found.unjudged, []);
    for (diagnosis, expected) in found.diagnoses().into_iter().zip(array(&expected)) {
        let mut expected = expected.clone();
        let trace_id = str_of(&expected["trace_id"]).to_owned();
        for (_, seed_words, our_words) in SEED_SUMMARIES.iter().filter(|(trace, ..)| *trace == trace_id) {
            let summary = str_of(&expected["summary"]);
            assert!(summary.contains(seed_words), "{summary}");
            expected["summary"] = Value::from(summary.replace(seed_words, our_words));
        }
        assert_eq!(diagnosis["description_draft"].is_null(), expected["description_draft"].is_null(), "{diagnosis}");
        let draft = ["description_draft"];
        assert_eq!(without(diagnosis, &draft), without(expected, &draft));
    }
}

// made cases

#[test]
fn generated_cases_have_the_expected_diagnoses_in_order() {
    let found = judged("generated", "traces.jsonl");
    let expected = json("generated/expected.json");
    let diagnoses = array(&expected["diagnoses"]);
    let ids = |diagnoses: &[Value]| -> Vec<String> {
        diagnoses.iter().map(|diagnosis| str_of(&diagnosis["trace_id"]).to_owned()).collect()
    };
    assert_eq!(ids(&found.diagnoses()), ids(diagnoses));
    for (diagnosis, expected) in found.diagnoses().into_iter().zip(diagnoses) {
        assert_eq!(!diagnosis["description_draft"].is_null(), expected["description_draft_required"], "{diagnosis}");
        let words = ["notes", "summary", "description_draft", "note_codes", "description_draft_required"];
        assert_eq!(without(diagnosis, &words), without(expected.clone(), &words));
    }
}

#[test]
fn generated_traces_without_a_final_answer_are_listed_with_the_reason() {
    let found = judged("generated", "traces.jsonl");
    let listed: BTreeSet<_> =
        found.unjudged.iter().map(|row| (row.trace_id.clone(), row.tool_calls, row.reason.clone())).collect();
    let expected: BTreeSet<_> = array(&json("generated/expected.json")["undiagnosable"])
        .iter()
        .map(|run| {
            let calls = run["tool_calls"].as_i64().expect("a number of calls");
            (str_of(&run["trace_id"]).to_owned(), calls, str_of(&run["reason"]).to_owned())
        })
        .collect();
    assert_eq!(listed, expected);
}

// broken input

#[test]
fn malformed_input_is_skipped_with_its_line_and_the_rest_is_judged() {
    let manifest = json("malformed/manifest.json");
    let kinds = array(&manifest["kinds"]);
    assert!(kinds.len() >= 20, "the seed asks for 20 kinds, there are {}", kinds.len());
    for kind in kinds {
        let file = str_of(&kind["file"]);
        let found = judged("malformed", file);
        let lines: Vec<u64> = array(&kind["lines"]).iter().filter_map(Value::as_u64).collect();
        let accepted: Vec<&str> = [&kind["expect"]].into_iter().chain(array(&kind["also_ok"])).map(str_of).collect();
        let happened = what_happened(&found, &lines);
        assert!(accepted.contains(&happened), "{file}: {happened}, not {accepted:?}: {:?}", found.sources[0].issues);
        for trace_id in good_traces(file) {
            assert_eq!(found.run(&trace_id).diagnosis.verdict.label(), "정상 완료", "{file}: {trace_id}");
        }
        let Some(trace) = kind.get("trace") else { continue };
        let diagnosis = serde_json::to_value(&found.run(str_of(&trace["trace_id"])).diagnosis).expect("plain data");
        for (field, value) in trace.as_object().expect("an object of fields") {
            assert_eq!(diagnosis[field], *value, "{file}: {field}");
        }
    }
}

/// What became of the broken lines, in the words of the manifest.
fn what_happened(found: &Outcome, lines: &[u64]) -> &'static str {
    let source = &found.sources[0];
    let at_lines: Vec<&Issue> = source.issues.iter().filter(|issue| lines.contains(&issue.line)).collect();
    assert_eq!(at_lines.len(), source.issues.len(), "an issue names another line: {:?}", source.issues);
    if source.totals.lines_skipped > 0 {
        assert_eq!(source.totals.lines_skipped, lines.len() as u64);
        let told: BTreeSet<u64> = at_lines.iter().map(|issue| issue.line).collect();
        assert_eq!(told, lines.iter().copied().collect(), "each line that is left out is told");
        "skip_line"
    } else if at_lines.iter().any(|issue| issue.code.severity() == Severity::DataLoss) {
        "skip_span"
    } else if at_lines.iter().any(|issue| issue.span_id.is_some()) {
        "keep_with_note"
    } else {
        "accept"
    }
}

/// Traces of the first and the last line, which are whole in every file.
fn good_traces(file: &str) -> BTreeSet<String> {
    let bytes = fs::read(path(&format!("malformed/{file}"))).expect("the file is there");
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let ends = [lines.next(), lines.next_back()].map(|line| line.expect("a good line at each end"));
    ends.into_iter().flat_map(trace_ids).collect()
}

fn trace_ids(line: &str) -> Vec<String> {
    let request: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let groups = array(&request["resourceSpans"]).iter().flat_map(|group| array(&group["scopeSpans"]));
    let spans = groups.flat_map(|group| array(&group["spans"]));
    spans.map(|span| str_of(&span["traceId"]).to_owned()).collect()
}

// encodings

/// Encodings in which spans have no status: broken input unless the site says otherwise.
const WITHOUT_STATUS: [&str; 1] = ["status_absent.jsonl"];

/// Verdicts and findings, without the arguments as recorded.
fn findings(found: &Outcome) -> Vec<Value> {
    let mut diagnoses = found.diagnoses();
    for diagnosis in &mut diagnoses {
        *diagnosis = without(diagnosis.take(), &["notes", "summary", "description_draft"]);
        let of_run = diagnosis["findings"].as_array_mut().into_iter().flatten();
        for entry in of_run.flat_map(|finding| finding["evidence"].as_array_mut().into_iter().flatten()) {
            if entry["field"] == "tool_args" {
                entry["value"] = Value::Null;
            }
        }
    }
    diagnoses
}

#[test]
fn every_encoding_gives_the_findings_of_the_baseline() {
    let baseline = findings(&judged("quirks", "baseline.jsonl"));
    assert!(baseline.iter().any(|run| run["findings"] != Value::Array(Vec::new())), "{baseline:?}");
    let manifest = json("quirks/manifest.json");
    let files = array(&manifest).iter().map(|encoding| str_of(&encoding["file"]));
    let read = files.filter(|file| !WITHOUT_STATUS.contains(file));
    let deviating: Vec<&str> = read.filter(|file| findings(&judged("quirks", file)) != baseline).collect();
    assert_eq!(deviating, [""; 0]);
}

#[test]
fn spans_without_status_are_skipped_unless_they_are_to_be_unset() {
    let baseline = findings(&judged("quirks", "baseline.jsonl"));
    for file in WITHOUT_STATUS {
        let skipped = judged("quirks", file);
        assert!(skipped.sources[0].totals.spans_skipped > 0, "{file}");
        let tools = text("quirks/tools.json");
        let unset = judge_file_with(&path(&format!("quirks/{file}")), &tools, MissingStatus::Unset);
        assert_eq!(findings(&unset), baseline, "{file}");
        assert_eq!(unset.sources[0].totals.spans_skipped, 0, "{file}");
    }
}

// real frameworks

const NOWHERE: &str = "the call stands nowhere in the trace: this instrumentation writes no chat spans";
const COERCED: &str = "the framework changed the arguments before its span; a note says what the model sent";
const SLOW_BUT_OK: &str = "over the limit with status ok is a note by the seed";
const ERROR_IN_RESULT: &str = "the failure stands in the result of a call with status ok, which a note tells";
const ERROR_IN_WORDS: &str = "the failure stands in the result in words that nothing tells from an answer";
const NO_ARGUMENTS: &str = "arguments are not recorded with these settings, and results neither";
const NULL_SENT: &str = "null is sent for an optional argument whose schema does not allow null";

/// Traces whose rules differ from what really happened: folder, scenario, rules that hold, why.
#[rustfmt::skip]
const REAL: &[(&str, &str, &[&str], &str)] = &[
    ("agent-framework-1.23.0", "wrong_type_coercible", &[], COERCED),
    ("agent-framework-1.23.0", "slow_ok", &[], SLOW_BUT_OK),
    ("crewai-1.15.30-openinference", "slow_ok", &[], SLOW_BUT_OK),
    ("google-adk-2.13.0", "missing_arg", &["error_hidden"], NO_ARGUMENTS),
    ("google-adk-2.13.0", "wrong_type", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "wrong_type_coercible", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "bad_arg_then_fixed", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "repeat_same_call", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "repeat_error", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "hidden_error", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "timeout", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "slow_ok", &[], SLOW_BUT_OK),
    ("google-adk-2.13.0", "run_failure", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0", "subagent_error", &[], NO_ARGUMENTS),
    ("google-adk-2.13.0-semconv", "wrong_type", &["args_mismatch"], ERROR_IN_RESULT),
    ("google-adk-2.13.0-semconv", "repeat_error", &["retry_over_limit"], ERROR_IN_RESULT),
    ("google-adk-2.13.0-semconv", "hidden_error", &[], ERROR_IN_RESULT),
    ("google-adk-2.13.0-semconv", "timeout", &[], ERROR_IN_RESULT),
    ("google-adk-2.13.0-semconv", "slow_ok", &[], SLOW_BUT_OK),
    ("google-adk-2.13.0-semconv", "subagent_error", &[], ERROR_IN_RESULT),
    ("langchain-1.5.2-genai", "repeat_error", &["retry_over_limit"], ERROR_IN_WORDS),
    ("langchain-1.5.2-genai", "hidden_error", &[], ERROR_IN_WORDS),
    ("langchain-1.5.2-genai", "timeout", &[], ERROR_IN_WORDS),
    ("langchain-1.5.2-genai", "slow_ok", &[], SLOW_BUT_OK),
    ("langchain-1.5.2-genai", "subagent_error", &[], ERROR_IN_WORDS),
    ("langchain-1.5.2-openinference", "repeat_error", &["retry_over_limit"], ERROR_IN_RESULT),
    ("langchain-1.5.2-openinference", "hidden_error", &[], ERROR_IN_RESULT),
    ("langchain-1.5.2-openinference", "timeout", &[], ERROR_IN_RESULT),
    ("langchain-1.5.2-openinference", "slow_ok", &[], SLOW_BUT_OK),
    ("langchain-1.5.2-openinference", "subagent_error", &[], ERROR_IN_RESULT),
    ("llama-index-0.14.25-openinference", "slow_ok", &[], SLOW_BUT_OK),
    ("mastra-1.71.0", "missing_arg", &["args_mismatch"], ERROR_IN_RESULT),
    ("mastra-1.71.0", "wrong_type", &["args_mismatch"], ERROR_IN_RESULT),
    ("mastra-1.71.0", "wrong_type_coercible", &["args_mismatch"], ERROR_IN_RESULT),
    ("mastra-1.71.0", "undefined_tool", &["undefined_tool"], ERROR_IN_WORDS),
    ("mastra-1.71.0", "slow_ok", &[], SLOW_BUT_OK),
    ("mastra-1.71.0", "subagent", &["args_mismatch"], NULL_SENT),
    ("mastra-1.71.0", "subagent_error", &["args_mismatch", "error_hidden"], NULL_SENT),
    ("openai-agents-0.24.0-genai", "undefined_tool", &[], NOWHERE),
    ("openai-agents-0.24.0-genai", "slow_ok", &[], SLOW_BUT_OK),
    ("openai-agents-0.24.0-openinference", "slow_ok", &[], SLOW_BUT_OK),
    ("openai-agents-0.24.0-traceloop", "slow_ok", &[], SLOW_BUT_OK),
    ("pydantic-ai-1.0.18-v2", "slow_ok", &[], SLOW_BUT_OK),
    ("pydantic-ai-2.68.0-v5", "slow_ok", &[], SLOW_BUT_OK),
    ("strands-agents-1.62.0-latest", "slow_ok", &[], SLOW_BUT_OK),
    ("vercel-ai-sdk-6.0.326", "slow_ok", &[], SLOW_BUT_OK),
];

const FRAMEWORKS: [&str; 16] = [
    "agent-framework-1.23.0",
    "crewai-1.15.30-openinference",
    "fastapi-pydantic-ai-2.68.0",
    "google-adk-2.13.0",
    "google-adk-2.13.0-semconv",
    "langchain-1.5.2-genai",
    "langchain-1.5.2-openinference",
    "llama-index-0.14.25-openinference",
    "mastra-1.71.0",
    "openai-agents-0.24.0-genai",
    "openai-agents-0.24.0-openinference",
    "openai-agents-0.24.0-traceloop",
    "pydantic-ai-1.0.18-v2",
    "pydantic-ai-2.68.0-v5",
    "strands-agents-1.62.0-latest",
    "vercel-ai-sdk-6.0.326",
];

#[test]
fn real_traces_have_the_verdicts_of_what_happened_but_for_those_listed() {
    let mut used = 0;
    for framework in FRAMEWORKS {
        let folder = format!("real/{framework}");
        let found = judged(&folder, "traces.jsonl");
        assert_eq!(found.unjudged, [], "{framework}");
        let manifest = json(&format!("{folder}/manifest.json"));
        let entries = array(&manifest["traces"]).iter().filter(|entry| entry["file"] == "traces.jsonl");
        let mut runs = 0;
        for entry in entries {
            let (trace_id, scenario) = (str_of(&entry["trace_id"]), str_of(&entry["scenario"]));
            let happened: BTreeSet<&str> = array(&entry["verdicts"]).iter().filter_map(rule_of).collect();
            let listed = REAL.iter().find(|(folder, name, ..)| *folder == framework && *name == scenario);
            let expected = match listed {
                None => happened.clone(),
                Some((_, _, rules, why)) => {
                    used += 1;
                    let rules = rules.iter().copied().collect();
                    assert_ne!(rules, happened, "{framework} {scenario}: `{why}` says nothing");
                    rules
                }
            };
            let diagnosis = &found.run(trace_id).diagnosis;
            let rules: BTreeSet<&str> = diagnosis.findings.iter().map(|finding| finding.rule.as_str()).collect();
            assert_eq!(rules, expected, "{framework} {scenario} {trace_id}: {diagnosis:#?}");
            runs += 1;
        }
        assert_eq!(found.runs.len(), runs, "{framework}: every run of the file is in the manifest");
    }
    assert_eq!(used, REAL.len(), "an entry names no trace");
}

/// The rule of a manifest's verdict; none for the normal one.
fn rule_of(verdict: &Value) -> Option<&str> {
    match str_of(verdict) {
        "normal" => None,
        "undefined_tool" => Some("undefined_tool"),
        "arg_mismatch" => Some("args_mismatch"),
        "timeout" => Some("timeout_exceeded"),
        "retry_limit" => Some("retry_over_limit"),
        "hidden_error" => Some("error_hidden"),
        other => panic!("a verdict without a name here: {other}"),
    }
}

/// A cycle beside a proper root is reported too, and the run is judged all the same.
#[test]
fn cycle_of_parents_beside_a_root_is_reported_and_noted() {
    let span = |id: u8, parent: &str, operation: &str| {
        format!(
            r#"{{"traceId":"{:032x}","spanId":"{id:016x}","parentSpanId":"{parent}","name":"s",
                "startTimeUnixNano":"{}","endTimeUnixNano":"200","status":{{}},"attributes":[
                {{"key":"gen_ai.operation.name","value":{{"stringValue":"{operation}"}}}},
                {{"key":"gen_ai.tool.name","value":{{"stringValue":"lookup"}}}}]}}"#,
            7,
            100 + u64::from(id)
        )
    };
    let spans = [
        span(1, "", "invoke_agent"),
        span(2, "0000000000000003", "execute_tool"),
        span(3, "0000000000000002", "execute_tool"),
    ];
    let text = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let outcome = super::support_run::judge_batches([("[]", &[text.as_str()][..])]);
    let run = &outcome.runs[0].diagnosis;
    assert_eq!(run.tool_calls, 2);
    assert!(run.notes.iter().any(|note| note.contains("제자리로")), "{:?}", run.notes);
}
