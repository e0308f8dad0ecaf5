//! The sixteen example cases: what they use, that they are sound, and that frozen ones are judged as ever.
//!
//! `TACO_TRACE_BLESS=1` writes the events and, when run once more, the golden file anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};
use taco_trace::eval::case::{Case, Condition, FaultKind, Metric};
use taco_trace::eval::event::{Event, EventKind, LimitKind};
use taco_trace::eval::freeze::freeze;
use taco_trace::eval::judge::Judgement;
use taco_trace::eval::lint::lint;
use taco_trace::eval::script::{Script, run};
use taco_trace::model::EvalVerdict;

use super::{judged, world_after};
use crate::support::{files_under, repository};

/// A case, the checks that fail with their reasons, and whether a critical one is among them.
type Failing = (&'static str, &'static [(&'static str, &'static str)], bool);

/// Why each failing trial fails.
const FAILURES: [Failing; 16] = [
    (
        "01-mail-draft",
        &[
            ("one-draft", "count_below"),
            ("recipient", "value_missing"),
            ("time-in-body", "value_missing"),
            ("not-sent", "count_above"),
            ("says-draft", "answer_forbidden"),
        ],
        true,
    ),
    ("02-approved-mail", &[("approval", "approval_missing")], true),
    ("03-changed-after-approval", &[("approval", "approval_other_arguments")], true),
    ("04-expired-approval", &[("approval", "approval_expired")], true),
    (
        "05-used-approval",
        &[("approval", "approval_reused"), ("none-new", "count_above"), ("says-denied", "answer_matches_not")],
        true,
    ),
    (
        "06-old-tool-version",
        &[("approval", "approval_other_version"), ("waits", "none_holds"), ("none-sent", "count_above")],
        true,
    ),
    (
        "07-other-tool-approval",
        &[
            ("approval", "approval_other_tool"),
            ("notice", "count_below"),
            ("number", "value_missing"),
            ("mail-draft", "count_below"),
        ],
        true,
    ),
    (
        "08-lost-after-effect",
        &[("one", "count_above"), ("no-blind-retry", "count_above"), ("number", "answer_lacks_state")],
        false,
    ),
    ("09-lost-before-effect", &[("one", "count_below"), ("number", "value_missing")], false),
    ("10-tool-error", &[("honest", "none_holds"), ("no-guess", "answer_forbidden")], true),
    ("11-call-limit", &[("stops", "count_above"), ("few-calls", "count_above")], false),
    ("12-slow-tool", &[("in-time", "count_above"), ("amount", "answer_lacks_state")], false),
    ("13-duplicate-event", &[("once", "count_above"), ("one", "count_above")], true),
    ("14-marker-leak", &[("no-leak", "marker_found")], true),
    ("15-cancel-signal", &[("stops", "count_above"), ("tells", "answer_matches_not")], false),
    ("16-proposal-and-call", &[("proposals", "count_above"), ("blocked", "count_above")], false),
];

fn read(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn is_blessed() -> bool {
    std::env::var_os("TACO_TRACE_BLESS").is_some()
}

fn documents() -> Vec<(String, String)> {
    let files = files_under("fixtures/eval/cases");
    let id = |path: &str| path.rsplit('/').next().unwrap().trim_end_matches(".json").to_owned();
    files.iter().map(|path| (id(path), read(path))).collect()
}

fn cases() -> Vec<(String, Case)> {
    documents()
        .into_iter()
        .map(|(id, text)| {
            let (_, case) = freeze(&text).unwrap_or_else(|problems| panic!("{id}: {problems:#?}"));
            (id, case)
        })
        .collect()
}

fn events(id: &str, kind: &str) -> Vec<Event> {
    let text = read(&format!("fixtures/eval/events/{id}.{kind}.jsonl"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines(events: &[Event]) -> String {
    events.iter().map(|event| serde_json::to_string(event).unwrap() + "\n").collect()
}

/// The judgement as the golden file has it.
fn told(judgement: &Judgement) -> Value {
    serde_json::to_value(judgement).unwrap()
}

#[test]
fn there_are_sixteen_sound_cases() {
    let documents = documents();
    assert_eq!(documents.len(), 16);
    for (id, text) in documents {
        assert_eq!(lint(&text), [], "{id}");
        assert_eq!(freeze(&text).unwrap().1.id, id);
    }
}

/// A case and its scripts give the committed events, so that events and world belong together.
#[test]
fn scripts_give_the_recorded_events() {
    for (id, case) in cases() {
        for kind in ["pass", "fail"] {
            let script: Script =
                serde_json::from_str(&read(&format!("fixtures/eval/scripts/{id}.{kind}.json"))).unwrap();
            assert_eq!(script.case_id, id);
            let (events_now, world) = run(&case, &script);
            let path = repository().join(format!("fixtures/eval/events/{id}.{kind}.jsonl"));
            if is_blessed() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, lines(&events_now)).unwrap();
            }
            assert_eq!(lines(&events_now), lines(&events(&id, kind)), "{id}.{kind}");
            assert_eq!(world, world_after(&case, &events_now), "{id}.{kind}");
        }
    }
}

#[test]
fn passing_trials_pass_and_failing_ones_fail_for_the_right_reason() {
    let cases = cases();
    assert_eq!(
        FAILURES.map(|(id, ..)| id.to_owned()).to_vec(),
        cases.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>()
    );
    for ((id, case), (_, failures, is_critical)) in cases.iter().zip(FAILURES) {
        let passing = judged(case, &events(id, "pass"));
        assert_eq!(passing.verdict, EvalVerdict::Pass, "{id}: {passing:#?}");
        let failing = judged(case, &events(id, "fail"));
        let failed: Vec<(String, String)> = failing
            .checks
            .iter()
            .filter(|check| check.verdict != EvalVerdict::Pass)
            .map(|check| (check.id.clone(), serde_json::to_value(check.reason).unwrap().as_str().unwrap().to_owned()))
            .collect();
        let expected: Vec<(String, String)> =
            failures.iter().map(|(check, reason)| ((*check).to_owned(), (*reason).to_owned())).collect();
        assert_eq!((failing.verdict, failed), (EvalVerdict::Fail, expected), "{id}");
        let blocks = failing.checks.iter().any(|check| {
            check.verdict == EvalVerdict::Fail && check.severity == taco_trace::eval::case::CheckSeverity::Critical
        });
        assert_eq!(blocks, is_critical, "{id}");
    }
}

/// A later program judges frozen cases as this one did: hashes and verdicts, with the events that decided them.
#[test]
fn frozen_cases_and_verdicts_are_golden() {
    let mut hashes = BTreeMap::new();
    let mut verdicts = BTreeMap::new();
    for (id, text) in documents() {
        let (frozen, case) = freeze(&text).unwrap();
        hashes.insert(id.clone(), frozen.sha256);
        for kind in ["pass", "fail"] {
            verdicts.insert(format!("{id}.{kind}"), told(&judged(&case, &events(&id, kind))));
        }
    }
    let found = json!({ "sha256": hashes, "judgements": verdicts });
    let path = "fixtures/eval/golden.json";
    if is_blessed() {
        fs::write(repository().join(path), serde_json::to_string_pretty(&found).unwrap() + "\n").unwrap();
    }
    let golden: Value = serde_json::from_str(&read(path)).unwrap();
    for part in ["sha256", "judgements"] {
        let (found, golden) = (found[part].as_object().unwrap(), golden[part].as_object().unwrap());
        assert!(found.keys().eq(golden.keys()), "{part} of other cases");
        for (name, one) in found {
            assert_eq!(one, &golden[name], "{part} of {name}");
        }
    }
}

fn conditions(condition: &Condition) -> Vec<&Condition> {
    match condition {
        Condition::AnyOf { of } => [condition].into_iter().chain(of.iter().flat_map(conditions)).collect(),
        one => vec![one],
    }
}

#[test]
fn cases_use_each_check_fault_approval_state_and_limit() {
    let cases = cases();
    let used = |names: Vec<String>| names.into_iter().collect::<BTreeSet<_>>();
    let words = |value: Value| value.as_str().unwrap().to_owned();
    let all: Vec<&Condition> =
        cases.iter().flat_map(|(_, case)| case.checks.iter().flat_map(|check| conditions(&check.condition))).collect();
    let kinds = used(all.iter().map(|condition| condition.kind().to_owned()).collect());
    let expected = [
        "answer",
        "answer_has_state",
        "any_of",
        "approval_integrity",
        "event_count",
        "metric",
        "no_marker_leak",
        "state_count",
        "state_value",
    ];
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    let metrics: BTreeSet<Metric> = all
        .iter()
        .filter_map(|condition| match condition {
            Condition::Metric { metric, .. } => Some(*metric),
            _ => None,
        })
        .collect();
    assert_eq!(metrics, Metric::ALL.into_iter().collect());
    let faults: BTreeSet<FaultKind> =
        cases.iter().flat_map(|(_, case)| case.faults.iter().map(|fault| fault.kind)).collect();
    assert_eq!(faults, FaultKind::ALL.into_iter().collect());
    let recorded: Vec<Event> =
        cases.iter().flat_map(|(id, _)| ["pass", "fail"].map(|kind| events(id, kind))).flatten().collect();
    let happened: BTreeSet<FaultKind> = recorded
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::FaultInjected { fault, .. } => Some(fault),
            _ => None,
        })
        .collect();
    assert_eq!(happened, FaultKind::ALL.into_iter().collect(), "faults that happen in a trial");
    let limits: BTreeSet<LimitKind> = recorded
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::LimitReached { limit } => Some(limit),
            _ => None,
        })
        .collect();
    assert_eq!(limits, LimitKind::ALL.into_iter().collect(), "limits that are reached");
    let reasons =
        used(FAILURES.iter().flat_map(|(_, checks, _)| checks.iter().map(|(_, why)| (*why).to_owned())).collect());
    for state in ["missing", "other_arguments", "expired", "reused", "other_version", "other_tool"] {
        assert!(reasons.contains(&format!("approval_{state}")), "{state}");
    }
    let answers = used(cases.iter().map(|(_, case)| words(json!(case.approval_requests.answer))).collect());
    assert_eq!(answers, used(["deny", "grant", "pending"].map(str::to_owned).to_vec()));
    let event_kinds =
        used(recorded.iter().map(|event| words(serde_json::to_value(event).unwrap()["kind"].clone())).collect());
    for kind in [
        "turn",
        "proposal",
        "call",
        "result",
        "approval_asked",
        "approval_granted",
        "approval_consumed",
        "fault_injected",
        "state_change",
        "answer",
        "cancelled",
        "limit_reached",
    ] {
        assert!(event_kinds.contains(kind), "{kind}");
    }
}
