//! The gate: exactly one configuration, the newest candidate with it, and exit statuses.

use serde_json::Value;
use taco_trace::model::{EvalDecision, EvalVerdict, ExperimentRole};
use taco_trace::store::Store;

use super::{Lab, START_NS, check, ended, hash};
use crate::support::repository;
use crate::support_cli::told;

const DECIDED_NS: i64 = START_NS + 1_000;

fn lab(verdict: EvalVerdict) -> Lab {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |_| ());
    lab.trial("x1", "a", 1, ended(verdict));
    lab.decide("x1", None, DECIDED_NS);
    lab
}

/// The answer in JSON, which holds to its schema.
fn answer(lab: &Lab, config: &str, status: i32) -> Value {
    let answer: Value =
        serde_json::from_str(&lab.said(&["gate", "--config-hash", config, "--format", "json"], status)).unwrap();
    assert_schema(&answer);
    answer
}

pub(super) fn assert_schema(answer: &Value) {
    let text = std::fs::read_to_string(repository().join("schemas/eval_gate.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(answer).map(|error| error.to_string()).collect();
    assert_eq!(errors, [""; 0], "{answer}");
}

#[test]
fn candidate_is_0_blocked_1_and_everything_else_4() {
    let candidate = lab(EvalVerdict::Pass);
    let said = answer(&candidate, &hash('c'), 0);
    let expected = serde_json::json!({
        "found": true, "decision": "candidate", "label": "통과 후보", "reasons": [], "experiment_id": "x1",
    });
    assert_eq!(said, expected);
    let words = candidate.said(&["gate", "--config-hash", &hash('c')], 0);
    assert!(words.starts_with("통과 후보 — "), "{words}");

    let blocked = Lab::new();
    blocked.experiment("x1", &["a"], |_| ());
    let mut end = ended(EvalVerdict::Fail);
    end.checks[0].severity = "critical".to_owned();
    blocked.trial("x1", "a", 1, end);
    assert_eq!(blocked.decide("x1", None, DECIDED_NS), EvalDecision::Blocked);
    let said = answer(&blocked, &hash('c'), 1);
    assert_eq!((said["decision"].as_str(), said["label"].as_str()), (Some("blocked"), Some("차단 권고")));
    assert_eq!(said["reasons"][0]["code"], "critical_violation");
    assert!(said["reasons"][0]["text"].as_str().unwrap().starts_with("중대한 위반: a 1번째"), "{said}");

    for (verdict, decision, label) in
        [(EvalVerdict::Error, "held", "판정 보류"), (EvalVerdict::Fail, "review", "검토 필요")]
    {
        let said = answer(&lab(verdict), &hash('c'), 4);
        assert_eq!((said["decision"].as_str(), said["label"].as_str()), (Some(decision), Some(label)));
    }
}

#[test]
fn one_changed_digit_of_the_hash_finds_nothing() {
    let lab = lab(EvalVerdict::Pass);
    let mut other = hash('c');
    other.replace_range(63.., "d");
    let said = answer(&lab, &other, 4);
    let nothing = serde_json::json!({
        "found": false, "decision": null, "label": null, "reasons": [], "experiment_id": null,
    });
    assert_eq!(said, nothing);
    let words = lab.said(&["gate", "--config-hash", &other], 4);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("과거 결과를 쓰지 않습니다"), "{words}");
}

/// What decides behaviour differs in one byte: its hash is another one, and the pass is not found.
#[test]
fn one_changed_byte_of_the_configuration_never_answers_from_the_old_pass() {
    let config = |prompt: &str| serde_json::json!({"kind": "reference", "model": "m", "prompt": prompt});
    let before = taco_trace::eval::canonical_sha256(&config("도와주세요."));
    let after = taco_trace::eval::canonical_sha256(&config("도와주세요!"));
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |experiment| experiment.config_sha256 = before.clone());
    lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    lab.decide("x1", None, DECIDED_NS);
    assert_eq!(answer(&lab, &before, 0)["found"], true);
    assert_eq!(answer(&lab, &after, 4)["found"], false);
    // Digits are the same in either case.
    assert_eq!(answer(&lab, &before.to_ascii_uppercase(), 0)["found"], true);
}

#[test]
fn newer_experiment_without_a_decision_holds_in_spite_of_an_older_pass() {
    let lab = lab(EvalVerdict::Pass);
    lab.experiment("x2", &["a"], |experiment| experiment.started_ns += 1);
    lab.begin("x2", "a", 1, 1);
    let said = answer(&lab, &hash('c'), 4);
    assert_eq!((said["decision"].as_str(), said["experiment_id"].as_str()), (Some("held"), Some("x2")));
    assert_eq!(said["reasons"][0]["code"], "undecided");
    let words = lab.said(&["gate", "--config-hash", &hash('c')], 4);
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("그 전의 판단으로 답하지 않습니다"), "{words}");
    // An older experiment that is decided on later is still the older one.
    lab.decide("x1", None, DECIDED_NS + 1_000_000);
    assert_eq!(answer(&lab, &hash('c'), 4)["experiment_id"], "x2");
}

#[test]
fn newest_decision_of_an_experiment_counts_and_a_later_attempt_takes_it_back() {
    let lab = lab(EvalVerdict::Pass);
    // A decision made before the last attempt began says nothing of it.
    let store = lab.store();
    let start = taco_trace::model::TrialStart {
        trial_id: "later".to_owned(),
        experiment_id: "x1".to_owned(),
        case_id: "a".to_owned(),
        trial: 1,
        attempt: 2,
        started_at: super::AT.to_owned(),
        started_ns: DECIDED_NS + 1,
    };
    store.begin_trial(&start).unwrap();
    drop(store);
    assert_eq!(answer(&lab, &hash('c'), 4)["decision"], "held");
    let end = taco_trace::model::TrialEnd { trial_id: "later".to_owned(), ..ended(EvalVerdict::Fail) };
    assert!(lab.store().end_trial(&end).unwrap());
    assert_eq!(lab.decide("x1", None, DECIDED_NS + 2), EvalDecision::Review);
    assert_eq!(answer(&lab, &hash('c'), 4)["decision"], "review");
}

#[test]
fn critical_violation_stands_while_the_experiment_goes_on() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |_| ());
    let mut end = ended(EvalVerdict::Fail);
    end.checks.push(check("leak", EvalVerdict::Fail));
    end.checks[1].severity = "critical".to_owned();
    lab.trial("x1", "a", 1, end);
    // Decided before the second case began.
    lab.decide("x1", None, START_NS);
    lab.begin("x1", "b", 1, 1);
    assert_eq!(answer(&lab, &hash('c'), 1)["decision"], "blocked");
}

/// A run that was killed leaves no decision; what was seen until then stands.
#[test]
fn critical_violation_stands_before_anything_was_decided() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |_| ());
    let mut end = ended(EvalVerdict::Fail);
    lab.begin("x1", "b", 1, 1);
    assert_eq!(answer(&lab, &hash('c'), 4)["decision"], "held");
    end.checks.push(check("leak", EvalVerdict::Fail));
    end.checks[1].severity = "critical".to_owned();
    lab.trial("x1", "a", 1, end);
    let said = answer(&lab, &hash('c'), 1);
    assert_eq!((&said["decision"], &said["experiment_id"]), (&"blocked".into(), &"x1".into()));
    assert!(said["reasons"].to_string().contains("critical_violation"), "{said}");
    let text = lab.said(&["gate", "--config-hash", &hash('c')], 1);
    assert!(text.contains("차단 권고") && !text.contains("판단한 때"), "{text}");
}

#[test]
fn baseline_and_other_projects_do_not_answer() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |experiment| experiment.role = ExperimentRole::Baseline);
    lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    lab.decide("x1", None, DECIDED_NS);
    assert_eq!(answer(&lab, &hash('c'), 4)["found"], false);
    lab.experiment("x2", &["a"], |_| ());
    lab.trial("x2", "a", 1, ended(EvalVerdict::Pass));
    lab.decide("x2", None, DECIDED_NS);
    lab.said(&["gate", "--config-hash", &hash('c'), "--project", "p"], 0);
    lab.said(&["gate", "--config-hash", &hash('c'), "--project", "q"], 4);
}

#[test]
fn text_that_is_no_hash_and_a_store_that_is_not_there_are_refused() {
    let lab = lab(EvalVerdict::Pass);
    for text in ["", "abc", &hash('g'), &(hash('c') + "c"), &hash('c')[1..]] {
        let output = lab.eval(&["gate", "--config-hash", text]);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(told(&output).contains("도움말"), "{}", told(&output));
    }
    std::fs::remove_file(lab.place.db()).unwrap();
    assert_eq!(lab.eval(&["gate", "--config-hash", &hash('c')]).status.code(), Some(3));
}

#[test]
fn decision_that_cannot_be_read_holds() {
    let lab = lab(EvalVerdict::Pass);
    let store = Store::open(&lab.place.db()).unwrap();
    store
        .execute(
            "INSERT INTO eval_decisions VALUES ('x1', NULL, 'candidate', '{\"later\":1}', 'z', 9223372036854775807)",
        )
        .unwrap();
    drop(store);
    assert_eq!(answer(&lab, &hash('c'), 4)["decision"], "held");
}
