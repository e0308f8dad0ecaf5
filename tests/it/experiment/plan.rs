//! What is left of an experiment.

use std::sync::Arc;

use taco_trace::eval::case::Case;
use taco_trace::experiment::plan::{left, trial_id};
use taco_trace::model::{EvalVerdict, StoredTrial, TrialEnd, TrialStart};

use crate::eval::plain;

fn cases(ids: &[&str]) -> Vec<Arc<Case>> {
    let case = |id: &&str| {
        let mut document = plain();
        document["id"] = (*id).into();
        Arc::new(serde_json::from_value(document).unwrap())
    };
    ids.iter().map(case).collect()
}

fn made(case: &str, trial: u64, attempt: u64, verdict: Option<EvalVerdict>) -> StoredTrial {
    let trial_id = trial_id("x", case, trial, attempt);
    let end = verdict.map(|verdict| TrialEnd {
        trial_id: trial_id.clone(),
        verdict,
        ended_at: String::new(),
        duration_ms: 0,
        target_name: None,
        target_version: None,
        capabilities: Vec::new(),
        submits_events: false,
        input_tokens: 0,
        output_tokens: 0,
        cost_usd: None,
        world: String::new(),
        events: Vec::new(),
        checks: Vec::new(),
        traces: Vec::new(),
    });
    let start = TrialStart {
        trial_id,
        experiment_id: "x".to_owned(),
        case_id: case.to_owned(),
        trial,
        attempt,
        started_at: String::new(),
        started_ns: 0,
    };
    StoredTrial { start, end }
}

fn told(made: &[StoredTrial], retry: bool) -> Vec<(String, u64, u64)> {
    let left = left("x", &cases(&["a", "b"]), 2, made, retry);
    left.tasks.iter().map(|task| (task.case.id.clone(), task.trial, task.attempt)).collect()
}

fn task(case: &str, trial: u64, attempt: u64) -> (String, u64, u64) {
    (case.to_owned(), trial, attempt)
}

#[test]
fn every_case_is_tried_once_before_any_is_tried_again() {
    assert_eq!(told(&[], false), [task("a", 1, 1), task("b", 1, 1), task("a", 2, 1), task("b", 2, 1)]);
    let ids: std::collections::BTreeSet<String> =
        left("x", &cases(&["a", "b"]), 2, &[], false).tasks.into_iter().map(|task| task.trial_id).collect();
    assert_eq!(ids.len(), 4);
}

#[test]
fn what_ended_stays_and_what_was_interrupted_is_told() {
    for verdict in EvalVerdict::ALL {
        let rest = told(&[made("a", 1, 1, Some(verdict))], false);
        assert_eq!(rest, [task("b", 1, 1), task("a", 2, 1), task("b", 2, 1)], "{verdict:?}");
    }
    let begun = [made("a", 1, 1, None), made("b", 1, 1, Some(EvalVerdict::Pass))];
    assert_eq!(told(&begun, false), [task("a", 2, 1), task("b", 2, 1)]);
    let interrupted = left("x", &cases(&["a", "b"]), 2, &begun, false).interrupted;
    assert_eq!(interrupted, [begun[0].clone()]);
}

#[test]
fn errors_are_tried_again_only_when_that_is_asked_for_and_the_last_attempt_counts() {
    let error = [made("a", 1, 1, Some(EvalVerdict::Error)), made("b", 1, 1, Some(EvalVerdict::Fail))];
    assert_eq!(told(&error, true)[0], task("a", 1, 2));
    assert_eq!(told(&error, true).len(), 3, "a failure is not tried again");
    let mended = [made("a", 1, 2, Some(EvalVerdict::Pass)), made("a", 1, 1, Some(EvalVerdict::Error))];
    assert!(!told(&mended, true).iter().any(|(case, trial, _)| case == "a" && *trial == 1));
    assert_eq!(told(&[made("a", 1, 1, None)], true)[0], task("a", 1, 2), "an interruption ends as ERROR");
}
