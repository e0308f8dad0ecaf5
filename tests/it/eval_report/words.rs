//! Every row of the guide's tables in words, every event and reason, and that no word decides a verdict.

use std::fs;

use serde_json::{Value, json};
use taco_trace::eval::case::FaultKind;
use taco_trace::eval::event::LimitKind;
use taco_trace::eval::judge::{Reason, TargetKind};
use taco_trace::model::eval::DecisionReason;
use taco_trace::model::eval_report::ReportEvent;
use taco_trace::model::{EvalDecision, EvalVerdict};
use taco_trace::render::{Texts, eval, eval_report as words};

use crate::support::{files_under, repository};

fn is_korean(text: &str) -> bool {
    text.chars().any(|c| ('가'..='힣').contains(&c)) && !text.contains("j2:")
}

/// Guide, section 1.
#[test]
fn target_kinds_are_the_rows_of_the_guide() {
    let texts = Texts::korean();
    let rows = [
        (TargetKind::Reference, "기준 실행기 + 실제 모델", "귀사 실행 코드를 검증한 것이 아닙니다"),
        (TargetKind::Http, "HTTP 에이전트", "도구 호출·승인·최종 상태는 평가 실행기가 직접 관측했습니다"),
        (TargetKind::AnswerOnly, "답변만 하는 에이전트", "도구·승인·상태 검사는 볼 수 없어 판정 불가입니다"),
        (TargetKind::Script, "시연 스크립트", "비용이 없습니다"),
    ];
    assert_eq!(rows.map(|(kind, ..)| kind), TargetKind::ALL);
    for (kind, name, text) in rows {
        assert_eq!(words::kind(&texts, kind.as_str()), name);
        let told = words::kind_text(&texts, kind.as_str());
        assert!(told.contains(text), "{told}");
        let claim = words::claim(&texts, kind.as_str());
        // Only what ran whole may go without the sentence.
        assert_eq!(claim.contains("‘전체 에이전트 검증 완료’가 아닙니다"), kind != TargetKind::Http, "{claim}");
        assert!(!claim.contains("검증했습니다") && !told.contains("검증했습니다"), "{claim} {told}");
    }
    // A kind of a later version claims nothing.
    assert!(words::claim(&texts, "later").contains("아무것도 검증했다고 하지 않습니다"));
}

/// Guide, section 2, the table.
#[test]
fn verdicts_are_the_rows_of_the_guide() {
    let texts = Texts::korean();
    let rows = [
        (EvalVerdict::Pass, "PASS", "통과", "필요한 증거가 있고 사례의 조건을 충족"),
        (EvalVerdict::Fail, "FAIL", "실패", "의도적으로 넣은 오류를 잘못 처리한 것도 실패"),
        (EvalVerdict::Error, "ERROR", "실행 오류", "대상의 실패로 치지 않습니다"),
        (EvalVerdict::Unknown, "UNKNOWN", "판정 불가", "답변만 받은 대상의 도구·승인·상태 검사"),
        (EvalVerdict::Cancelled, "CANCELLED", "취소", "실험을 취소"),
        (EvalVerdict::NotApplicable, "NOT_APPLICABLE", "해당 없음", "대상이 필요한 능력을 지원하지 않습니다"),
    ];
    for (verdict, code, label, text) in rows {
        assert_eq!((verdict.as_str(), eval::verdict(&texts, verdict).as_str()), (code, label));
        let told = words::verdict_text(&texts, code);
        assert!(told.contains(text), "{told}");
    }
    assert_eq!(rows.len(), EvalVerdict::ALL.len());
}

/// Guide, section 2, the line below the table.
#[test]
fn decisions_are_those_of_the_guide() {
    let texts = Texts::korean();
    let rows = [
        (EvalDecision::Blocked, "차단 권고", "중대한 위반"),
        (EvalDecision::Held, "판정 보류", "빠진 시험"),
        (EvalDecision::Review, "검토 필요", "위험 제안 후 실행기 차단, 의미 평가 문제, 기준 미달, 회귀"),
        (EvalDecision::Candidate, "통과 후보", "막을 까닭을 찾지 못했습니다"),
    ];
    assert_eq!(rows.map(|(decision, ..)| decision), EvalDecision::ALL);
    for (decision, label, text) in rows {
        assert_eq!(eval::decision(&texts, decision), label);
        assert!(words::decision_text(&texts, decision.as_str()).contains(text));
    }
}

/// Guide, section 4, the table.
#[test]
fn checks_are_the_rows_of_the_guide() {
    let texts = Texts::korean();
    let rows = [
        ("state_count", "최종 업무 상태의 개수"),
        ("state_value", "최종 업무 상태의 값"),
        ("event_count", "도구 제안과 실제 호출의 수"),
        ("approval_integrity", "대상·인자 해시·도구 버전·만료·단회 소비"),
        ("no_marker_leak", "합성 비밀 표식이 답변·도구 인자·초안에 없음"),
        ("answer", "답변 표현"),
        ("answer_has_state", "실제 생성된 번호를 안내했는지"),
        ("metric", "한도 도달 뒤 계속 호출했는지"),
        ("any_of", "여러 조건 중 하나"),
    ];
    for (kind, text) in rows {
        assert!(words::check_text(&texts, kind).contains(text), "{kind}");
    }
    let schema = fs::read_to_string(repository().join("schemas/irumx-eval-case-1.schema.json")).unwrap();
    for (kind, _) in rows {
        assert!(schema.contains(&format!("\"{kind}\"")), "{kind}");
    }
}

#[test]
fn every_reason_of_a_decision_has_its_words_and_values() {
    let texts = Texts::korean();
    let (case_id, check) = ("c-1".to_owned(), "k-1".to_owned());
    let reasons = [
        (DecisionReason::CriticalViolation { case_id: case_id.clone(), trial: 7, check }, ["c-1", "7번째", "k-1"]),
        (
            DecisionReason::TrialsMissing { error: 11, unknown: 12, cancelled: 13, not_run: 14 },
            ["실행 오류 11건", "판정 불가 12건, 취소 13건", "14건"],
        ),
        (DecisionReason::NothingTried, ["해당 없음", "아무것도", "않았습니다"]),
        (
            DecisionReason::BlockedProposal { case_id: case_id.clone(), trial: 7 },
            ["위험 제안 후 실행기 차단", "c-1", "7"],
        ),
        (DecisionReason::SemanticDoubt { case_id, trial: 7 }, ["의미 평가 문제", "c-1", "7"]),
        (DecisionReason::BelowThreshold { passed: 3, decided: 4 }, ["기준 미달", "4건", "3건"]),
        (
            DecisionReason::Regression { baseline_only: 6, candidate_only: 0, p: 0.031_25 },
            ["회귀", "6개", "(p = 0.031)"],
        ),
        (
            DecisionReason::Regression { baseline_only: 16, candidate_only: 0, p: 0.000_9 },
            ["회귀", "16개", "(p < 0.001)"],
        ),
        (DecisionReason::Regression { baseline_only: 9, candidate_only: 0, p: 0.001 }, ["회귀", "9개", "(p = 0.001)"]),
    ];
    for (reason, parts) in reasons {
        let told = words::decision_reason(&texts, &reason);
        assert!(parts.iter().all(|part| told.contains(part)) && told.ends_with('.'), "{told}");
    }
}

fn told(event: Value) -> String {
    let kind = event["kind"].as_str().unwrap().to_owned();
    words::event(&Texts::korean(), &ReportEvent { seq: 1, at_ms: 0, turn: 1, kind, event })
}

#[test]
fn every_event_is_told_in_words() {
    for (event, expected) in [
        (json!({"kind": "turn", "event_id": "e1"}), "메시지를 전했습니다(e1)"),
        (
            json!({"kind": "turn", "event_id": "e1", "duplicate": true}),
            "메시지를 전했습니다(e1). 같은 event_id 의 중복 전달입니다",
        ),
        (json!({"kind": "proposal", "tool": "send", "arguments": {"a": 1}}), "모델이 send 를 제안했습니다: {\"a\":1}"),
        (
            json!({"kind": "proposal", "tool": "send", "arguments": {}, "blocked": true}),
            "모델이 send 를 제안했습니다: {} → 실행기가 막았습니다",
        ),
        (
            json!({"kind": "call", "call": 2, "tool": "send", "arguments": {}, "approval_id": "ap_1"}),
            "2번 호출: send {}, 승인 ap_1",
        ),
        (json!({"kind": "call", "call": 2, "tool": "send", "arguments": {}}), "2번 호출: send {}, 승인 번호 없음"),
        (
            json!({"kind": "result", "call": 2, "outcome": "ok", "value": {"n": 1}}),
            "2번 호출의 결과: 성공했습니다(200): {\"n\":1}",
        ),
        (
            json!({"kind": "result", "call": 2, "outcome": "tool_error", "value": "m"}),
            "2번 호출의 결과: 도구 오류입니다(422): m",
        ),
        (
            json!({"kind": "result", "call": 2, "outcome": "response_lost"}),
            "2번 호출의 결과: 응답을 잃었습니다(504, 실행됐는지 모름)",
        ),
        (json!({"kind": "result", "call": 2, "outcome": "limit"}), "2번 호출의 결과: 호출 상한에 닿았습니다(429)"),
        (json!({"kind": "result", "call": 2, "outcome": "unknown_tool"}), "2번 호출의 결과: 그런 도구가 없습니다(404)"),
        (
            json!({"kind": "approval_asked", "request_id": "r1", "tool": "send", "arguments": {}, "reason": "급합니다"}),
            "승인을 요청했습니다(r1): send {}, 까닭 “급합니다”",
        ),
        (
            json!({"kind": "approval_granted", "approval_id": "ap_1", "request_id": "r1", "tool": "send",
                "arguments_sha256": "0", "tool_version": "3", "expires_at": "2026"}),
            "승인이 났습니다(ap_1): send 버전 3, 만료 2026",
        ),
        (json!({"kind": "approval_consumed", "approval_id": "ap_1", "call": 2}), "승인 ap_1 을 2번 호출이 썼습니다"),
        (
            json!({"kind": "state_change", "call": 2, "op": "insert", "collection": "mails", "id": "m1", "after": {"to": "a"}}),
            "2번 호출이 mails 의 m1 을 만들었습니다: {\"to\":\"a\"}",
        ),
        (
            json!({"kind": "state_change", "call": 2, "op": "delete", "collection": "mails", "id": "m1", "before": {}}),
            "2번 호출이 mails 의 m1 을 지웠습니다",
        ),
        (json!({"kind": "answer", "text": "네"}), "답변: “네”"),
        (json!({"kind": "cancelled", "scope": "signal"}), "대상에 취소 신호를 보냈습니다"),
        (json!({"kind": "cancelled", "scope": "experiment"}), "실험을 취소했습니다"),
        (json!({"kind": "failed", "source": "provider", "message": "529"}), "모델 제공자에서 실패했습니다: 529"),
        (json!({"kind": "later"}), "later"),
    ] {
        assert_eq!(told(event.clone()), expected, "{event}");
    }
    for fault in FaultKind::ALL {
        let said = told(json!({"kind": "fault_injected", "call": 2, "fault": fault}));
        assert!(is_korean(said.split(": ").nth(1).unwrap()), "{said}");
    }
    for limit in LimitKind::ALL {
        let said = told(json!({"kind": "limit_reached", "limit": limit}));
        assert!(is_korean(said.split(": ").nth(1).unwrap()), "{said}");
    }
    assert!(Reason::ALL.iter().all(|reason| {
        is_korean(&eval::reason(&Texts::korean(), serde_json::to_value(reason).unwrap().as_str().unwrap()))
    }));
}

/// What judges and decides knows no template: it neither uses the room of words nor reads one of its files, so changing one
/// changes no verdict.
#[test]
fn no_word_reaches_what_judges() {
    for path in files_under("src").into_iter().filter(|path| {
        path.starts_with("src/eval/") || path == "src/eval.rs" || path == "src/eval_report.rs" || path == "src/stats.rs"
    }) {
        let text = fs::read_to_string(repository().join(&path)).unwrap();
        for word in ["crate::render", "minijinja", "templates/"] {
            assert!(!text.contains(word), "{path} knows {word}");
        }
    }
}
