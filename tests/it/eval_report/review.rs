//! `eval review`: what it lists, and that what a person says stands beside the verdict and never over it.

use taco_trace::model::{EvalDecision, EvalVerdict};

use super::{Lab, START_NS, check, ended, event, hash};
use crate::support_cli::{program, told};

const DECIDED_NS: i64 = START_NS + 1_000;

fn decisions(lab: &Lab) -> Vec<String> {
    lab.place.rows("SELECT decision FROM eval_decisions ORDER BY decided_ns")
}

#[test]
fn list_has_failures_unknown_errors_and_blocked_proposals_with_their_events() {
    let lab = Lab::new();
    let (case, end) = lab.recorded("10-tool-error.fail");
    let (blocked_case, blocked) = lab.recorded("16-proposal-and-call.fail");
    lab.experiment("x1", &["unknown", "error", "pass", "na", "blocked"], |experiment| {
        experiment.cases.push((case.id.clone(), case.sha256.clone()));
        experiment.cases.push((blocked_case.id.clone(), blocked_case.sha256.clone()));
    });
    let failed = lab.trial("x1", &case.id, 1, end);
    lab.trial("x1", &blocked_case.id, 1, blocked);
    lab.trial("x1", "unknown", 1, ended(EvalVerdict::Unknown));
    lab.trial("x1", "error", 1, ended(EvalVerdict::Error));
    lab.trial("x1", "pass", 1, ended(EvalVerdict::Pass));
    lab.trial("x1", "na", 1, ended(EvalVerdict::NotApplicable));
    // It passes, but only since the runner kept it from something.
    let mut held_back = ended(EvalVerdict::Pass);
    held_back.events.push(event(2, r#"{"kind":"proposal","tool":"wipe","arguments":{"all":true},"blocked":true}"#));
    lab.trial("x1", "blocked", 1, held_back);
    // Wide enough for every line.
    let output = program().args(["eval", "review", "--db"]).arg(lab.place.db()).env("COLUMNS", "120").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("실험 x1 — 살펴볼 시험 5건\n"), "{said}");
    for shown in [
        format!("{failed}  10-tool-error · 1번째 — 실패"),
        "t_x1_unknown_1_1  unknown · 1번째 — 판정 불가\n  판정 불가 c: 이 대상에서는 볼 수 없습니다 [1]\n".to_owned(),
        "t_x1_error_1_1  error · 1번째 — 실행 오류".to_owned(),
        "blocked · 1번째 — 통과\n  실행기가 막은 제안\n    2. 모델이 wipe 를 제안했습니다: {\"all\":true} → 실행기가 막았습니다"
            .to_owned(),
        "7. 모델이 set_petition_status 를 제안했습니다: {\"id\":\"P-1\",\"status\":\"완료\"} → 실행기가 막았습니다"
            .to_owned(),
        "  판정한 사건\n".to_owned(),
        "  의미 평가에서 물을 것\n    - ".to_owned(),
    ] {
        assert!(said.contains(&shown), "{shown}\n---\n{said}");
    }
    assert!(!said.contains("t_x1_pass_1_1") && !said.contains("t_x1_na_1_1"), "{said}");
    let all = lab.said(&["review", "--all", "--experiment", "x"], 0);
    assert!(all.contains("t_x1_pass_1_1") && all.contains("살펴볼 시험 7건"), "{all}");
}

#[test]
fn one_trial_is_shown_with_all_its_checks_and_everything_that_was_said() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |_| ());
    let mut end = ended(EvalVerdict::Fail);
    end.checks = vec![check("first", EvalVerdict::Pass), check("second", EvalVerdict::Fail)];
    end.events.push(event(2, r#"{"kind":"answer","text":"둘째"}"#));
    end.checks[1].events = vec![2];
    let trial = lab.trial("x1", "a", 1, end);
    let open = lab.begin("x1", "b", 1, 1);
    for (opinion, note) in [("--agree", "처음"), ("--doubt", "다음")] {
        lab.said(&["review", &trial, opinion, "--note", note, "--reviewer", "r"], 0);
    }
    let said = lab.said(&["review", "t_x1_a"], 0);
    assert!(said.starts_with(&format!("{trial}  a · 1번째 — 실패\n")), "{said}");
    for shown in [
        "  통과 first: 조건을 충족했습니다 [1]\n",
        "  실패 second: 답변에 있어야 할 말이 없습니다 [2]\n",
        "    1. 답변: “답”\n    2. 답변: “둘째”\n",
        "  검토: 판정에 동의함 — r, ",
        "  검토: 의미를 의심함 — r, ",
    ] {
        assert!(said.contains(shown), "{shown}\n---\n{said}");
    }
    assert!(said.find("처음").unwrap() < said.find("다음").unwrap(), "{said}");
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&lab.said(&[args, &["-f", "json"]].concat(), 0)).unwrap()
    };
    let one = json(&["review", &trial]);
    assert_eq!((&one["trial_id"], &one["experiment_id"]), (&trial.as_str().into(), &"x1".into()));
    assert_eq!((one["reviews"][1]["note"].as_str(), one["deciding"][0]["seq"].as_u64()), (Some("다음"), Some(1)));
    assert_eq!(one["checks"][1]["verdict_label"], "실패");
    let listed = json(&["review"]);
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["trial_id"]), (1, &trial.as_str().into()));
    let kept = json(&["review", &trial, "--agree", "--note", "n"]);
    assert_eq!((&kept["opinion"], &kept["verdict"]), (&"agree".into(), &"FAIL".into()));
    assert!(lab.said(&["review", &open], 0).contains("끝나지 않음"));
}

#[test]
fn nothing_to_look_at_is_said_so() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |_| ());
    lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    assert!(lab.said(&["review"], 0).starts_with("살펴볼 시험이 없습니다."));
}

#[test]
fn doubt_leads_to_review_when_it_is_decided_again_and_agreeing_takes_it_back() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |_| ());
    let trial = lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    assert_eq!(lab.decide("x1", None, DECIDED_NS), EvalDecision::Candidate);
    let said = lab.said(&["review", "t_x1_a", "--doubt", "--note", "수신자가 다릅니다", "--reviewer", "r"], 0);
    let expected = format!(
        "{trial} 에 검토를 남겼습니다: 의미를 의심함. 판정(통과)은 그대로입니다.\n\
         배포 판단을 다시 정했습니다: 통과 후보 → 검토 필요\n"
    );
    assert_eq!(said, expected);
    assert_eq!(decisions(&lab), ["candidate", "review"]);
    assert_eq!(lab.place.rows("SELECT verdict FROM eval_trial_ends"), ["PASS"]);
    lab.said(&["gate", "--config-hash", &hash('c')], 4);
    let report = lab.said(&["report"], 0);
    assert!(report.contains("의미 평가 문제: a 1번째 시험의 답을 사람이 의심합니다."), "{report}");
    assert!(report.contains("검토: 의미를 의심함 — r, "), "{report}");
    let said = lab.said(&["review", &trial, "--agree", "--note", "다시 보니 맞습니다"], 0);
    assert!(said.ends_with("배포 판단을 다시 정했습니다: 검토 필요 → 통과 후보\n"), "{said}");
    assert_eq!(decisions(&lab), ["candidate", "review", "candidate"]);
    lab.said(&["gate", "--config-hash", &hash('c')], 0);
}

#[test]
fn disagreeing_with_a_critical_failure_changes_neither_verdict_nor_decision() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |_| ());
    let mut end = ended(EvalVerdict::Fail);
    end.checks.push(check("leak", EvalVerdict::Fail));
    end.checks[1].severity = "critical".to_owned();
    let trial = lab.trial("x1", "a", 1, end);
    assert_eq!(lab.decide("x1", None, DECIDED_NS), EvalDecision::Blocked);
    let said = lab.said(&["review", &trial, "--disagree", "--note", "표식이 아닙니다"], 0);
    assert!(said.ends_with("배포 판단은 바뀌지 않았습니다.\n"), "{said}");
    assert_eq!(decisions(&lab), ["blocked"]);
    // A doubt is one more reason, and the graver decision stays.
    lab.said(&["review", &trial, "--doubt", "--note", "답도 이상합니다"], 0);
    assert_eq!(decisions(&lab), ["blocked", "blocked"]);
    assert_eq!(lab.place.rows("SELECT verdict FROM eval_trials"), ["FAIL"]);
    lab.said(&["gate", "--config-hash", &hash('c')], 1);
}

#[test]
fn baseline_stays_the_one_that_was_compared_with() {
    let lab = Lab::new();
    lab.experiment("b1", &["a"], |experiment| experiment.role = taco_trace::model::ExperimentRole::Baseline);
    lab.trial("b1", "a", 1, ended(EvalVerdict::Fail));
    lab.experiment("x1", &["a"], |_| ());
    let trial = lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    lab.decide("x1", Some("b1"), DECIDED_NS);
    lab.said(&["review", &trial, "--doubt", "--note", "n"], 0);
    let asked = "SELECT baseline_experiment_id, decided ->> '$.comparison.candidate_only' FROM eval_decisions";
    assert_eq!(lab.place.rows(asked), ["b1|1", "b1|1"]);
}

#[test]
fn experiment_without_a_decision_gets_none_by_a_review() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |_| ());
    let trial = lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    let said = lab.said(&["review", &trial, "--doubt", "--note", "n"], 0);
    assert!(said.ends_with("이 실험은 아직 배포 판단이 없습니다.\n"), "{said}");
    assert_eq!(decisions(&lab), [""; 0]);
    // It counts when the experiment is decided on.
    lab.trial("x1", "b", 1, ended(EvalVerdict::Pass));
    assert_eq!(lab.decide("x1", None, DECIDED_NS), EvalDecision::Review);
}

#[test]
fn review_is_refused_without_trial_opinion_or_note() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b", "c"], |_| ());
    let trial = lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    lab.trial("x1", "b", 1, ended(EvalVerdict::Pass));
    let open = lab.begin("x1", "c", 1, 1);
    for args in [
        &["review", "--doubt", "--note", "n"][..],
        &["review", &trial, "--doubt"],
        &["review", &trial, "--note", "n"],
        &["review", &trial, "--doubt", "--agree", "--note", "n"],
        &["review", &trial, "--doubt", "--note", " "],
        &["review", "t_x1", "--doubt", "--note", "n"],
        &["review", "nobody", "--doubt", "--note", "n"],
        &["review", "", "--doubt", "--note", "n"],
        &["review", &open, "--doubt", "--note", "n"],
        &["review", "--experiment", "nothing"],
    ] {
        let output = lab.eval(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", told(&output));
        assert!(told(&output).contains("도움말"), "{args:?}: {}", told(&output));
    }
    assert_eq!(lab.place.rows("SELECT COUNT(*) FROM eval_reviews"), ["0"]);
    // An attempt that another one took the place of.
    lab.begin("x1", "a", 1, 2);
    let output = lab.eval(&["review", &trial, "--doubt", "--note", "n"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("더는 세지 않는"), "{}", told(&output));
}
