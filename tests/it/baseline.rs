//! The baseline: what is known stays quiet, what is new fails, and checking less fails too.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Output;

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::baseline::{Baseline, BaselineError, Checked, Fall, Fingerprint};
use taco_trace::model::{Coverage, Finding, Rule, Standing};

use super::support::repository;
use super::support_cli::{Place, program, told};
use super::support_run::judge_batches;

const SEED: &str = "fixtures/seed/traces.jsonl";
const TOOLS: [&str; 2] = ["--tools", "fixtures/seed/tools.json"];

fn diagnose(traces: &str, more: &[&str]) -> Output {
    program().args(["diagnose", traces]).args(TOOLS).args(more).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A baseline of the seed, as a value and where it was written.
fn written(place: &Place) -> (std::path::PathBuf, Value) {
    let path = place.path("baseline.json");
    let output = diagnose(SEED, &["--write-baseline", text(&path)]);
    assert_eq!(status(&output), 0, "{}", told(&output));
    assert!(told(&output).contains("기준선을 썼습니다"), "{}", told(&output));
    let value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    (path, value)
}

fn rewrite(path: &Path, value: &Value) {
    fs::write(path, serde_json::to_string(value).unwrap()).unwrap();
}

/// Lines of the seed without those in which one of these stands.
fn seed_without(place: &Place, traces: &[&str]) -> std::path::PathBuf {
    let seed = fs::read_to_string(repository().join(SEED)).unwrap();
    let kept = seed.lines().filter(|line| !traces.iter().any(|trace| line.contains(trace)));
    place.write("some.jsonl", kept.map(|line| format!("{line}\n")).collect::<String>())
}

fn finding() -> Finding {
    Finding {
        rule: Rule::ArgsMismatch,
        tool_name: "t".to_owned(),
        span_ids: vec!["1".to_owned()],
        missing_keys: vec!["b".to_owned(), "a".to_owned()],
        type_errors: vec!["c: string → integer".to_owned()],
        timeout_gap_ms: None,
        run_length: None,
        evidence: Vec::new(),
        review: None,
    }
}

// --- the fingerprint ---

#[test]
fn fingerprint_is_agent_rule_tool_and_keys_and_nothing_else() {
    let one = finding();
    let of = |finding: &Finding| Fingerprint::of(Some("a"), finding).digest();
    let same = Finding {
        span_ids: vec!["2".to_owned()],
        missing_keys: vec!["a".to_owned(), "b".to_owned()],
        timeout_gap_ms: Some(3),
        ..one.clone()
    };
    assert_eq!(of(&one), of(&same));
    let mut others = BTreeSet::from([of(&one), Fingerprint::of(None, &one).digest()]);
    others.insert(of(&Finding { rule: Rule::ErrorHidden, ..one.clone() }));
    others.insert(of(&Finding { tool_name: "u".to_owned(), ..one.clone() }));
    others.insert(of(&Finding { missing_keys: vec!["a".to_owned()], ..one.clone() }));
    others.insert(of(&Finding { type_errors: Vec::new(), ..one.clone() }));
    // The parts stay apart whatever they hold.
    others.insert(of(&Finding { missing_keys: vec!["a\",\"b".to_owned()], ..one.clone() }));
    others.insert(Fingerprint::of(Some(""), &one).digest());
    assert_eq!(others.len(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fingerprints_do_not_depend_on_the_order_of_reading(
        order in Just((0..8).collect::<Vec<usize>>()).prop_shuffle(), split in 0_usize..=8,
    ) {
        let seed = fs::read_to_string(repository().join(SEED)).unwrap();
        let tools = fs::read_to_string(repository().join(TOOLS[1])).unwrap();
        let lines: Vec<&str> = seed.lines().collect();
        let digests = |texts: &[&str]| -> Vec<String> {
            let outcome = judge_batches([(tools.as_str(), texts)]);
            let mut digests: Vec<String> = outcome.runs.iter().flat_map(|run| {
                let agent = run.diagnosis.agent_name.as_deref();
                run.diagnosis.findings.iter().map(move |finding| Fingerprint::of(agent, finding).digest())
            }).collect();
            digests.sort();
            digests
        };
        let shuffled: Vec<&str> = order.iter().map(|place| lines[*place]).collect();
        let (first, second) = shuffled.split_at(split);
        let (first, second) = (first.join("\n"), second.join("\n"));
        prop_assert_eq!(digests(&[&first, &second]), digests(&[&seed]));
    }
}

// --- the file ---

#[test]
fn written_file_fits_its_schema_is_sorted_and_the_same_each_time() {
    let place = Place::new();
    let (path, value) = written(&place);
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(repository().join("schemas/baseline.schema.json")).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0]);
    let first = fs::read_to_string(&path).unwrap();
    assert_eq!(status(&diagnose(SEED, &["--write-baseline", text(&path)])), 0);
    assert_eq!(fs::read_to_string(&path).unwrap(), first);
    let of = |entry: &Value| {
        format!("{} {} {}", entry["agent"].as_str().unwrap(), entry["verdict"].as_str().unwrap(), entry["tool"])
    };
    let entries: Vec<String> = value["findings"].as_array().unwrap().iter().map(of).collect();
    assert_eq!(entries.len(), 7);
    assert!(entries.contains(&"규정 질의 에이전트 args-mismatch \"search_regulation\"".to_owned()), "{entries:?}");
    assert_eq!(value["coverage"]["tool_calls"], 16);
    assert_eq!(value["coverage"]["with_arguments"], 15);
    // Neither runs nor values are in it.
    for part in ["7f21c0a4e93b4d1f8a6c2e5b90d417aa", "16eaf0f648963898", "출장비", "F-2210"] {
        assert!(!first.contains(part), "{part}");
    }
    // The schema and the reader refuse the same.
    for (pointer, wrong) in
        [("/format", json!("taco-trace-baseline/2")), ("/findings/0/ignore", json!({"reason": " "}))]
    {
        let mut other = value.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        other.pointer_mut(parent).unwrap()[key] = wrong;
        assert!(!validator.is_valid(&other) && Baseline::parse(&other.to_string()).is_err(), "{pointer}");
    }
}

#[test]
fn file_is_read_back_as_it_was_written() {
    let mut baseline = Baseline::default();
    baseline.add(Fingerprint::of(None, &finding()));
    baseline.add(Fingerprint::of(None, &finding()));
    baseline.add(Fingerprint::of(Some("한글"), &Finding { rule: Rule::ErrorHidden, ..finding() }));
    baseline.checked.coverage.tool_calls = 4;
    let read = Baseline::parse(&baseline.to_text()).unwrap();
    assert_eq!(read, baseline);
    assert_eq!(Baseline::parse(&format!("\u{feff}{}", baseline.to_text())).unwrap(), baseline);
    assert_eq!(read.standing(&Fingerprint::of(None, &finding())), Standing::Known);
    assert_eq!(read.standing(&Fingerprint::of(Some("b"), &finding())), Standing::New);
}

#[test]
fn what_cannot_be_used_is_refused_with_what_it_is() {
    let mut baseline = Baseline::default();
    baseline.add(Fingerprint::of(Some("a"), &finding()));
    let good: Value = serde_json::from_str(&baseline.to_text()).unwrap();
    let with = |pointer: &str, value: Value| {
        let mut other = good.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        other.pointer_mut(parent).unwrap()[key] = value;
        Baseline::parse(&other.to_string()).unwrap_err()
    };
    assert!(matches!(Baseline::parse("").unwrap_err(), BaselineError::NotJson(_)));
    assert!(matches!(Baseline::parse("{\"format\":").unwrap_err(), BaselineError::NotJson(_)));
    assert_eq!(Baseline::parse("[]").unwrap_err(), BaselineError::Format(String::new()));
    assert_eq!(Baseline::parse("{\"format\": 1}").unwrap_err(), BaselineError::Format(String::new()));
    assert_eq!(with("/format", json!("taco-trace-baseline/2")), BaselineError::Format("taco-trace-baseline/2".into()));
    assert!(matches!(with("/findings/0/verdict", json!("normal")), BaselineError::Invalid(_)));
    assert!(matches!(with("/findings/0/count", json!(-1)), BaselineError::Invalid(_)));
    // A slip of the pen must not pass for an entry without `ignore`.
    assert!(matches!(with("/findings/0/ignored", json!({"reason": "x"})), BaselineError::Invalid(_)));
    let entry = "a / args-mismatch / t / a / b / c: string → integer".to_owned();
    for ignore in [json!({}), json!({"reason": ""}), json!({"reason": " \n"})] {
        assert_eq!(with("/findings/0/ignore", ignore), BaselineError::NoReason(entry.clone()));
    }
}

#[test]
fn entry_that_two_branches_brought_counts_once() {
    let mut baseline = Baseline::default();
    baseline.add(Fingerprint::of(None, &finding()));
    let mut value: Value = serde_json::from_str(&baseline.to_text()).unwrap();
    let mut other = value["findings"][0].clone();
    other["ignore"] = json!({"reason": "r"});
    other["count"] = json!(5);
    value["findings"].as_array_mut().unwrap().push(other);
    let read = Baseline::parse(&value.to_string()).unwrap();
    assert_eq!(read.entries.len(), 1);
    assert_eq!(read.standing(&Fingerprint::of(None, &finding())), Standing::Accepted("r".to_owned()));
}

// --- coverage ---

fn checked(part: i64, all: i64) -> Checked {
    let coverage = Coverage {
        tool_calls: all,
        with_arguments: part,
        with_readable_arguments: all,
        with_known_tool: all,
        with_timeout: all,
        with_max_retries: all,
        ..Coverage::default()
    };
    Checked { runs: 1, unjudged: 0, with_definitions: all.unsigned_abs(), coverage }
}

#[test]
fn share_falls_only_below_what_is_allowed() {
    let known = Baseline { checked: checked(90, 100), ..Baseline::default() };
    let fell = |part, all, points| known.falls(&checked(part, all), points).len();
    // More calls with the same share, and a larger share, are no fall.
    assert_eq!((fell(90, 100, 0), fell(9, 10, 0), fell(91, 100, 0), fell(900, 1000, 0)), (0, 0, 0, 0));
    assert_eq!((fell(899, 1000, 0), fell(89, 100, 0)), (1, 1));
    // One point less: at what is allowed, and just below it.
    assert_eq!((fell(89, 100, 1), fell(889, 1000, 1), fell(891, 1000, 1)), (0, 1, 0));
    assert_eq!(known.falls(&checked(1, 2), 0), [Fall { name: "with_arguments", before: (90, 100), now: (1, 2) }]);
}

#[test]
fn checking_nothing_is_a_fall_of_all_that_was_checked() {
    let known = Baseline { checked: checked(0, 4), ..Baseline::default() };
    let names = |now: &Checked, points| known.falls(now, points).iter().map(|fall| fall.name).collect::<Vec<_>>();
    let of_calls = ["with_readable_arguments", "with_definitions"];
    assert_eq!(names(&checked(0, 0), 0), of_calls);
    assert_eq!(names(&checked(0, 0), 100), of_calls);
    assert_eq!(names(&Checked::default(), 0).first(), Some(&"judged"));
    let empty = Baseline::default();
    assert!(empty.falls(&Checked::default(), 0).is_empty() && empty.falls(&checked(0, 4), 0).is_empty());
}

#[test]
fn call_of_an_undefined_tool_is_no_fall_but_missing_definitions_are() {
    let known = Baseline { checked: checked(4, 4), ..Baseline::default() };
    let names = |now: &Checked| known.falls(now, 0).iter().map(|fall| fall.name).collect::<Vec<_>>();
    let mut now = checked(4, 4);
    // One of four tools is undefined: that is a finding, and limits are those of the other three.
    now.coverage = Coverage { with_known_tool: 3, with_timeout: 3, with_max_retries: 3, ..now.coverage };
    assert_eq!(names(&now), [""; 0]);
    now.coverage.with_timeout = 2;
    assert_eq!(names(&now), ["with_timeout"]);
    now.coverage = Coverage { with_known_tool: 0, with_timeout: 0, with_max_retries: 0, ..now.coverage };
    assert_eq!(names(&now), [""; 0]);
    now.with_definitions = 0;
    assert_eq!(names(&now), ["with_definitions"]);
}

#[test]
fn share_of_judged_runs_counts_too() {
    let known = Baseline { checked: Checked { unjudged: 1, runs: 9, ..checked(1, 1) }, ..Baseline::default() };
    let fell = |runs, unjudged| known.falls(&Checked { runs, unjudged, ..checked(1, 1) }, 0).len();
    assert_eq!((fell(9, 1), fell(90, 10), fell(89, 11)), (0, 0, 1));
}

// --- the command ---

#[test]
fn what_is_known_is_folded_and_passes() {
    let place = Place::new();
    let (path, _) = written(&place);
    let output = diagnose(SEED, &["--baseline", text(&path)]);
    assert_eq!(status(&output), 0, "{}", stdout(&output));
    let shown = stdout(&output);
    assert!(!shown.contains("■"), "{shown}");
    assert!(shown.contains("기준선에 있음 7건"), "{shown}");
    assert!(shown.starts_with("실행 8건"), "{shown}");
    let output = diagnose(SEED, &["--baseline", text(&path), "--format", "md"]);
    assert!(stdout(&output).contains("## 기준선과 견줌") && !stdout(&output).contains("\n## 제한 시간"));
}

#[test]
fn what_is_new_fails_and_is_shown() {
    let place = Place::new();
    let path = place.path("baseline.json");
    let some = seed_without(&place, &["80a3f6d21c7e48b5b04a9e3c6f1d2208"]);
    assert_eq!(status(&diagnose(text(&some), &["--write-baseline", text(&path), "--quiet"])), 0);
    let with = |more: &[&str]| diagnose(SEED, &[&["--baseline", text(&path)], more].concat());
    let output = with(&[]);
    assert_eq!(status(&output), 1);
    let shown = stdout(&output);
    assert_eq!(shown.matches('■').count(), 1, "{shown}");
    assert!(shown.contains("■ 제한 시간을 넘겨 끊김") && shown.contains("새로 나타난 근거 1건"), "{shown}");
    // Named verdicts narrow what fails.
    assert_eq!(status(&with(&["--fail-on", "error-hidden"])), 0);
    assert_eq!(status(&with(&["--fail-on", "error-hidden,timeout-exceeded"])), 1);
    assert_eq!(status(&with(&["--fail-on", "any"])), 1);
    // Filters narrow what is looked at.
    assert_eq!(status(&with(&["--trace", "7f21"])), 0);
    assert_eq!(status(&with(&["--verdict", "timeout-exceeded"])), 1);
    for format in ["json", "jsonl", "junit", "sarif", "github"] {
        let output = with(&["--format", format]);
        assert_eq!(status(&output), 1, "{format}");
        assert!(told(&output).contains("새로 나타난 근거 1건"), "{format}: {}", told(&output));
    }
}

#[test]
fn formats_for_machines_say_how_each_finding_stands() {
    let place = Place::new();
    let path = place.path("baseline.json");
    let some = seed_without(&place, &["80a3f6d21c7e48b5b04a9e3c6f1d2208"]);
    diagnose(text(&some), &["--write-baseline", text(&path)]);
    let mut value: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let entries = value["findings"].as_array_mut().unwrap();
    let retries = entries.iter_mut().find(|entry| entry["verdict"] == "retry-over-limit").unwrap();
    retries["ignore"] = json!({"reason": "OCR 은 원래 느립니다"});
    rewrite(&path, &value);
    let with = |format: &str| stdout(&diagnose(SEED, &["--baseline", text(&path), "--format", format, "--all"]));
    let log: Value = serde_json::from_str(&with("sarif")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let states: Vec<String> = results
        .iter()
        .map(|one| format!("{} {}", one["ruleId"].as_str().unwrap(), one["baselineState"].as_str().unwrap()))
        .collect();
    assert_eq!(states.iter().filter(|state| state.ends_with(" new")).count(), 1);
    assert!(states.contains(&"timeout-exceeded new".to_owned()) && states.contains(&"normal unchanged".to_owned()));
    let accepted = results.iter().find(|one| one["ruleId"] == "retry-over-limit").unwrap();
    assert_eq!(
        accepted["suppressions"],
        json!([{"kind": "external", "justification": "무시하기로 함: OCR 은 원래 느립니다"}])
    );
    assert_eq!(results.iter().filter(|one| one.get("suppressions").is_some()).count(), 1);
    let junit = quick_junit::Report::deserialize_from_str(&with("junit")).unwrap();
    assert_eq!((junit.tests, junit.failures, junit.test_suites[0].skipped), (8, 1, 5));
    assert!(with("junit").contains("무시하기로 함: OCR 은 원래 느립니다"));
    let github = with("github");
    assert_eq!(github.lines().filter(|line| line.starts_with("::error")).count(), 1, "{github}");
    assert!(github.contains("기준선에 있는 것만 있어 접은 실행 5건"), "{github}");
}

#[test]
fn what_does_not_occur_any_more_is_told_where_its_agent_ran() {
    let place = Place::new();
    let (path, _) = written(&place);
    // The agents of both runs ran otherwise too, but only one of them in what is left.
    let some = seed_without(&place, &["b2e6d9a0f47c4e1385b0a2d6c9e17f63", "80a3f6d21c7e48b5b04a9e3c6f1d2208"]);
    let output = diagnose(text(&some), &["--baseline", text(&path)]);
    assert_eq!(status(&output), 0, "{}", stdout(&output));
    let shown = stdout(&output).replace("\n    ", " ");
    assert!(shown.contains("이번에 나타나지 않은 것 1건"), "{shown}");
    assert!(shown.contains("예산 집행 질의 에이전트 / args-mismatch / budget_api / year: string → integer"), "{shown}");
    // A part of the runs says nothing of the others.
    let output = diagnose(text(&some), &["--baseline", text(&path), "--limit", "1"]);
    assert!(stdout(&output).contains("사라진 것은 세지 않았습니다"), "{}", stdout(&output));
    let output = diagnose(text(&some), &["--baseline", text(&path), "--agent", "규정 질의 에이전트"]);
    assert!(!stdout(&output).contains("나타나지 않은 것"), "{}", stdout(&output));
}

#[test]
fn runs_that_are_not_shown_were_checked_all_the_same() {
    let place = Place::new();
    let (path, _) = written(&place);
    for more in [["--limit", "1"], ["--limit", "0"], ["--verdict", "undefined-tool"]] {
        let output = diagnose(SEED, &[&["--baseline", text(&path)][..], &more].concat());
        assert_eq!(status(&output), 0, "{more:?}: {}", stdout(&output));
    }
}

#[test]
fn checking_less_fails_and_says_what_fell() {
    let place = Place::new();
    let (path, mut value) = written(&place);
    // 15 of 16 calls have arguments: 93.75 %.
    value["coverage"]["with_arguments"] = json!(16);
    rewrite(&path, &value);
    let output = diagnose(SEED, &["--baseline", text(&path)]);
    assert_eq!(status(&output), 1);
    let shown = stdout(&output).replace("\n    ", " ");
    let fell = "기준선보다 덜 검사했습니다: 인자가 기록된 호출이 100.00 % 에서 93.75 % 로 줄었습니다(15/16).";
    assert!(shown.contains(fell), "{shown}");
    let allowed = |points: &str| status(&diagnose(SEED, &["--baseline", text(&path), "--allow-coverage-drop", points]));
    assert_eq!((allowed("6"), allowed("7")), (1, 0));
    // A point is allowed unless something else is said: another mix of runs is not less checking.
    value["coverage"]["with_arguments"] = json!(947);
    for (figure, count) in [("tool_calls", 1000), ("with_readable_arguments", 900), ("with_definitions", 1000)] {
        value["coverage"][figure] = json!(count);
    }
    rewrite(&path, &value);
    assert_eq!(status(&diagnose(SEED, &["--baseline", text(&path)])), 0);
    assert_eq!(allowed("0"), 1);
    value["coverage"]["with_arguments"] = json!(948);
    rewrite(&path, &value);
    assert_eq!(status(&diagnose(SEED, &["--baseline", text(&path)])), 1);
    value["coverage"]["with_arguments"] = json!(1000);
    rewrite(&path, &value);
    // It fails whatever verdicts are asked for.
    assert_eq!(status(&diagnose(SEED, &["--baseline", text(&path), "--fail-on", "error-hidden"])), 1);
}

#[test]
fn checking_nothing_fails() {
    let place = Place::new();
    let (path, _) = written(&place);
    let output = diagnose(SEED, &["--baseline", text(&path), "--until", "2026-10-01"]);
    assert_eq!(status(&output), 1);
    let shown = stdout(&output).replace("\n    ", " ");
    assert!(shown.contains("도구 정의와 견준 호출이 100.00 % 였는데 이번에는 하나도 없습니다"), "{shown}");
}

#[test]
fn writing_again_keeps_what_is_ignored_and_drops_what_is_gone() {
    let place = Place::new();
    let (path, mut value) = written(&place);
    for entry in value["findings"].as_array_mut().unwrap() {
        if entry["verdict"] == "timeout-exceeded" || entry["verdict"] == "retry-over-limit" {
            entry["ignore"] = json!({"reason": format!("{} 은 압니다", entry["tool"])});
        }
    }
    rewrite(&path, &value);
    let some = seed_without(&place, &["80a3f6d21c7e48b5b04a9e3c6f1d2208", "b2e6d9a0f47c4e1385b0a2d6c9e17f63"]);
    let output = diagnose(text(&some), &["--baseline", text(&path), "--write-baseline", text(&path)]);
    assert_eq!(status(&output), 0, "{}", told(&output));
    let again = Baseline::parse(&fs::read_to_string(&path).unwrap()).unwrap();
    let told: Vec<String> = again
        .entries
        .iter()
        .map(|(one, entry)| format!("{} {} {}", one.tool, entry.count, entry.reason.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(told.len(), 6, "{told:?}");
    assert!(told.contains(&"hr_db_lookup 0 \"hr_db_lookup\" 은 압니다".to_owned()), "{told:?}");
    assert!(told.contains(&"ocr_attachment 1 \"ocr_attachment\" 은 압니다".to_owned()), "{told:?}");
    assert!(!told.iter().any(|one| one.starts_with("budget_api 1") && one.contains("year")), "{told:?}");
}

#[test]
fn dismissed_findings_are_not_written_and_come_back_as_new() {
    let place = Place::new();
    let (db, path) = (place.db(), place.path("baseline.json"));
    let run = |arguments: &[&str]| program().args(arguments).arg("--db").arg(&db).output().unwrap();
    let (all, new) = (["diagnose", "--baseline", text(&path)], |output: &Output| {
        let shown = stdout(output).replace("\n  ", " ");
        shown[shown.find("기준선과 견줌").unwrap()..].lines().next().unwrap().to_owned()
    });
    assert!(run(&[&["ingest", SEED][..], &TOOLS].concat()).status.success());
    let review = |command: &str, more: &[&str]| {
        let about = ["review", command, "80a3", "--verdict", "timeout-exceeded", "--by", "김하나"];
        let output = run(&[&about[..], more].concat());
        assert!(output.status.success(), "{}", told(&output));
    };
    review("dismiss", &["--reason", "점검 시간"]);
    let output = run(&["diagnose", "--write-baseline", text(&path)]);
    assert!(told(&output).contains("오탐으로 넘긴 근거 1건은 쓰지 않았습니다"), "{}", told(&output));
    assert!(!fs::read_to_string(&path).unwrap().contains("timeout-exceeded"));
    let held = run(&all);
    assert_eq!(status(&held), 0, "{}", told(&held));
    let line = new(&held);
    assert!(line.contains("새로 나타난 근거 0건") && line.contains("오탐으로 넘김 1건"), "{line}");
    review("undo", &[]);
    let held = run(&all);
    assert_eq!(status(&held), 1);
    assert!(new(&held).contains("새로 나타난 근거 1건") && !new(&held).contains("오탐으로"), "{}", new(&held));
    // Nothing is dismissed now: all of it is written.
    let output = run(&["diagnose", "--write-baseline", text(&path)]);
    assert!(!told(&output).contains("오탐으로"), "{}", told(&output));
    assert_eq!(status(&run(&all)), 0);
}

/// Runs in which nothing is new are not shown: how many they are, and their findings, is said.
#[test]
fn folded_runs_are_counted_where_they_are_not_shown() {
    let place = Place::new();
    let (path, _) = written(&place);
    let told_by = |format: &str, more: &[&str]| {
        let output = diagnose(SEED, &[&["--baseline", text(&path), "--format", format], more].concat());
        (stdout(&output) + &told(&output)).replace("\n  ", " ")
    };
    for format in ["table", "md", "github"] {
        let told = told_by(format, &[]);
        assert!(told.contains("새로 나타난 근거가 없는 실행 6건(근거 7건)은 접었습니다"), "{format}: {told}");
    }
    for format in ["json", "junit", "sarif"] {
        assert!(!told_by(format, &[]).contains("접었습니다"), "{format}");
    }
    assert!(!told_by("table", &["--verdict", "normal"]).contains("근거가 없는 실행"), "none is folded");
}

#[test]
fn both_flags_compare_first_and_write_then() {
    let place = Place::new();
    let (old, new) = (place.path("old.json"), place.path("new.json"));
    let some = seed_without(&place, &["80a3f6d21c7e48b5b04a9e3c6f1d2208"]);
    diagnose(text(&some), &["--write-baseline", text(&old)]);
    let output = diagnose(SEED, &["--baseline", text(&old), "--write-baseline", text(&new)]);
    assert_eq!(status(&output), 1);
    assert_eq!(status(&diagnose(SEED, &["--baseline", text(&new)])), 0);
}

#[test]
fn wrong_files_and_flags_are_told() {
    let place = Place::new();
    let (path, mut value) = written(&place);
    // Blank, and a sign that leaves no mark.
    value["findings"][0]["ignore"] = json!({"reason": " \u{200b}"});
    rewrite(&path, &value);
    let before = fs::read_to_string(&path).unwrap();
    let not_json = place.write("not.json", "{");
    let other = place.write("other.json", r#"{"format": "taco-trace-baseline/9"}"#);
    let unknown = place.write("unknown.json", r#"{"format": "taco-trace-baseline/1", "x": 1}"#);
    for (flag, file, part) in [
        ("--baseline", place.path("none.json"), "파일이 없습니다"),
        ("--baseline", not_json.clone(), "JSON 이 아닙니다"),
        ("--baseline", other, "taco-trace-baseline/9"),
        ("--baseline", unknown, "내용을 쓸 수 없습니다"),
        ("--baseline", path.clone(), "ignore.reason"),
        // A file that people wrote into is not overwritten unread.
        ("--write-baseline", path.clone(), "ignore.reason"),
        ("--write-baseline", not_json, "JSON 이 아닙니다"),
    ] {
        let output = diagnose(SEED, &[flag, text(&file)]);
        assert_eq!(status(&output), 3, "{flag} {part}: {}", told(&output));
        assert!(told(&output).contains(part), "{part}: {}", told(&output));
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let output = diagnose(SEED, &["--write-baseline", text(&place.path("no/such/folder.json"))]);
    assert_eq!(status(&output), 3);
    for more in [["--agent", "x"], ["--limit", "1"], ["--trace", "7f"], ["--tool", "x"], ["--verdict", "any"]] {
        let output = diagnose(SEED, &[&["--write-baseline", text(&path)][..], &more].concat());
        assert_eq!(status(&output), 2, "{more:?}");
    }
    assert_eq!(status(&diagnose(SEED, &["--allow-coverage-drop", "1"])), 2);
}
