//! `eval report`: what ran comes first, every reason is told, and each format holds to what is published of it.

use std::collections::BTreeSet;
use std::fs;

use quick_junit::{NonSuccessKind, TestCaseStatus};
use serde_json::Value;
use taco_trace::model::{EvalDecision, EvalVerdict, ExperimentRole, TrialEnd};

use super::{Lab, START_NS, check, ended, event, hash};
use crate::support::repository;
use crate::support_cli::{program, request, told};

const DECIDED_NS: i64 = START_NS + 1_000;
/// What no report may claim of these.
const NOT_VERIFIED: &str = "‘전체 에이전트 검증 완료’가 아닙니다";

fn of_kind(kind: &str, submits: &[bool]) -> Lab {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |experiment| {
        experiment.target_kind = kind.to_owned();
        experiment.trials = submits.len() as u64;
    });
    for (trial, submits_events) in (1..).zip(submits) {
        lab.trial("x1", "a", trial, TrialEnd { submits_events: *submits_events, ..ended(EvalVerdict::Pass) });
    }
    lab.decide("x1", None, DECIDED_NS);
    lab
}

fn json(lab: &Lab) -> Value {
    let report: Value = serde_json::from_str(&lab.said(&["report", "--format", "json"], 0)).unwrap();
    let text = fs::read_to_string(repository().join("schemas/eval_report.schema.json")).unwrap();
    let validator = jsonschema::validator_for(&serde_json::from_str::<Value>(&text).unwrap()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
    report
}

#[test]
fn report_begins_with_what_ran_and_never_calls_a_model_an_agent() {
    for (kind, name, agent_ran) in [
        ("reference", "기준 실행기 + 실제 모델", false),
        ("http", "HTTP 에이전트", true),
        ("answer_only", "답변만 하는 에이전트", true),
        ("script", "시연 스크립트", false),
    ] {
        let lab = of_kind(kind, &[true]);
        let markdown = lab.said(&["report"], 0);
        let head = markdown.find("## 무엇을 평가했습니까").unwrap();
        assert!(head < markdown.find("## 배포 판단").unwrap(), "{markdown}");
        assert!(markdown.contains(&format!("- 대상: mine — **{name}**")), "{markdown}");
        assert_eq!(markdown.contains(NOT_VERIFIED), kind != "http", "{markdown}");
        let report = json(&lab);
        assert_eq!(report["target"]["agent_ran"], agent_ran, "{kind}");
        for format in ["html", "json", "junit"] {
            let text = lab.said(&["report", "--format", format], 0);
            assert!(text.contains(name), "{kind} {format}");
            assert_eq!(text.contains(NOT_VERIFIED), kind != "http", "{kind} {format}");
        }
    }
    let reference = of_kind("reference", &[true]).said(&["report"], 0);
    assert!(reference.contains("귀사 실행 코드를 검증한 것이 아닙니다"), "{reference}");
}

#[test]
fn what_could_be_observed_is_what_every_trial_showed() {
    let seen = |kind: &str, submits: &[bool]| {
        let markdown = of_kind(kind, submits).said(&["report"], 0);
        markdown.lines().find_map(|line| line.strip_prefix("- 볼 수 있던 것: ").map(str::to_owned)).unwrap()
    };
    assert_eq!(seen("reference", &[false]), "제안, 도구 호출, 승인, 최종 상태, 답변");
    assert_eq!(seen("script", &[false]), "제안, 도구 호출, 승인, 최종 상태, 답변");
    assert_eq!(seen("http", &[true, true]), "제안, 도구 호출, 승인, 최종 상태, 답변");
    assert_eq!(seen("http", &[true, false]), "도구 호출, 승인, 최종 상태, 답변. 볼 수 없던 것: 제안");
    assert_eq!(seen("answer_only", &[true]), "답변. 볼 수 없던 것: 제안, 도구 호출, 승인, 최종 상태");
    let without = of_kind("http", &[false]).said(&["report"], 0);
    assert!(without.contains("귀사 실행기 안에서 막힌 제안은 보이지 않습니다"), "{without}");
}

#[test]
fn lifted_address_rules_are_told_in_every_format() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |experiment| {
        experiment.allow_private_target = true;
        experiment.target_kind = "http".to_owned();
    });
    for format in ["md", "html", "junit"] {
        let text = lab.said(&["report", "--format", format], 0);
        assert!(text.contains("주소 규칙(https, 443, 공개 도메인)을 풀고 시험했습니다"), "{text}");
    }
    assert_eq!(json(&lab)["target"]["allow_private_target"], true);
    let not_lifted = of_kind("http", &[true]).said(&["report"], 0);
    assert!(!not_lifted.contains("주소 규칙"), "{not_lifted}");
}

#[test]
fn figures_are_pass_at_1_with_wilson_and_pass_power() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |experiment| {
        experiment.trials = 4;
        experiment.threshold = 0.8;
    });
    for (trial, verdict) in (1..).zip([EvalVerdict::Pass, EvalVerdict::Pass, EvalVerdict::Fail, EvalVerdict::Pass]) {
        lab.trial("x1", "a", trial, ended(verdict));
    }
    assert_eq!(lab.decide("x1", None, DECIDED_NS), EvalDecision::Review);
    let markdown = lab.said(&["report"], 0);
    // Wilson's interval of 3 of 4 is published as 0.3006 to 0.9544.
    let row = "| a | 3 | 4 | 75.0% | 30.1% – 95.4% | k=1 75.0% · k=2 50.0% · k=3 25.0% · k=4 0.0% |";
    assert!(markdown.contains(row), "{markdown}");
    assert!(markdown.contains("기준 미달: 판정한 시험 4건 가운데 3건이 통과했습니다."), "{markdown}");
    assert!(markdown.contains("통과 기준은 80.0% 입니다."), "{markdown}");
    assert!(markdown.contains("0.006 달러"), "{markdown}");
    assert_eq!(json(&lab)["decided"]["cases"][0]["pass_power"], serde_json::json!([0.75, 0.5, 0.25, 0.0]));
}

/// The baseline passes all of so many cases, the candidate none of them but the last so many.
fn compared(cases: usize, still: usize) -> Lab {
    let lab = Lab::new();
    let names: Vec<String> = (0..cases).map(|case| format!("k{case:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    lab.experiment("b1", &names, |experiment| experiment.role = ExperimentRole::Baseline);
    lab.experiment("x1", &names, |experiment| experiment.threshold = 0.0);
    for (at, name) in names.iter().enumerate() {
        lab.trial("b1", name, 1, ended(EvalVerdict::Pass));
        let verdict = if at < cases - still { EvalVerdict::Fail } else { EvalVerdict::Pass };
        lab.trial("x1", name, 1, ended(verdict));
    }
    lab.decide("x1", Some("b1"), DECIDED_NS);
    lab
}

#[test]
fn comparison_says_whether_the_difference_is_within_chance() {
    // Five against none: p = 2/2⁵ = 0.0625. Six: 2/2⁶ = 0.03125.
    let within = compared(6, 1).said(&["report"], 0);
    assert!(within.contains("| 1 | 5 | 0 | 0 |"), "{within}");
    assert!(within.contains("기존과의 차이는 우연의 범위입니다(McNemar 정확 검정, p = 0.062)."), "{within}");
    assert!(!within.contains("회귀:"), "{within}");
    let lab = compared(6, 0);
    let beyond = lab.said(&["report"], 0);
    assert!(beyond.contains("기존보다 나빠졌고 우연의 범위를 넘습니다(McNemar 정확 검정, p = 0.031)."), "{beyond}");
    assert!(beyond.contains("회귀: 기존만 통과한 사례 6개"), "{beyond}");
    assert!(beyond.contains("기존 실험: b1 (mine)."), "{beyond}");
    assert_eq!(json(&lab)["baseline"]["experiment_id"], "b1");
}

#[test]
fn comparison_without_a_case_to_compare_says_so_and_why() {
    let lab = Lab::new();
    lab.experiment("b1", &["a", "b"], |experiment| experiment.role = ExperimentRole::Baseline);
    lab.experiment("x1", &["a", "b"], |_| ());
    // Each case lacks a verdict on one of the sides.
    for (case, before, now) in
        [("a", EvalVerdict::Error, EvalVerdict::Pass), ("b", EvalVerdict::Pass, EvalVerdict::Unknown)]
    {
        lab.trial("b1", case, 1, ended(before));
        lab.trial("x1", case, 1, ended(now));
    }
    lab.decide("x1", Some("b1"), DECIDED_NS);
    for format in ["md", "html"] {
        let said = lab.said(&["report", "--format", format], 0);
        assert!(said.contains("견줄 수 있는 사례가 없어") && said.contains("사례 2개에 모두"), "{said}");
        for claimed in ["우연의 범위", "견주었", "견주지 않았습니다", "둘 다 통과"] {
            assert!(!said.contains(claimed), "{claimed}: {said}");
        }
    }
}

#[test]
fn every_check_is_there_with_its_reason_and_failures_with_their_events() {
    let lab = Lab::new();
    let (case, end) = lab.recorded("02-approved-mail.fail");
    lab.experiment("x1", &[], |experiment| experiment.cases = vec![(case.id.clone(), case.sha256.clone())]);
    lab.trial("x1", &case.id, 1, end);
    assert_eq!(lab.decide("x1", None, DECIDED_NS), EvalDecision::Blocked);
    let markdown = lab.said(&["report"], 0);
    for shown in [
        "## 배포 판단: 차단 권고",
        "중대한 위반: 02-approved-mail 1번째 시험의 검사 approval 이 실패했습니다.",
        "| 02-approved-mail · 1번째 | approval | approval_integrity | 중대 | 실패 | 승인 없이 바꾸었습니다 |",
        "| 02-approved-mail · 1번째 | one-mail | state_count | 보통 | 통과 | 조건을 충족했습니다 (잰 값 1) |",
        "- 실패 · approval (중대): 승인 없이 바꾸었습니다 — 사건 ",
        "호출: send_email ",
        "승인 번호 없음",
        "승인받은 메일 보내기",
    ] {
        assert!(markdown.contains(shown), "{shown}\n---\n{markdown}");
    }
}

#[test]
fn undecided_experiment_is_told_as_held_and_not_kept() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |_| ());
    lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    lab.begin("x1", "b", 1, 1);
    let markdown = lab.said(&["report"], 0);
    assert!(markdown.contains("## 배포 판단: 판정 보류"), "{markdown}");
    assert!(markdown.contains("하지 않았거나 끝나지 않음 1건"), "{markdown}");
    assert!(markdown.contains("아직 남겨진 판단이 없어"), "{markdown}");
    assert!(markdown.contains("| b · 1번째 | – | – | – | 끝나지 않음(돌고 있거나 중단됨) |"), "{markdown}");
    let report = json(&lab);
    assert_eq!((&report["decided_at"], &report["trials"][1]["state"]), (&Value::Null, &"unfinished".into()));
    assert_eq!(lab.place.rows("SELECT COUNT(*) FROM eval_decisions"), ["0"]);
}

#[test]
fn experiment_is_chosen_by_beginning_or_is_the_newest_candidate() {
    let lab = Lab::new();
    let output = lab.eval(&["report"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("실험이 없습니다"), "{}", told(&output));
    for (number, (id, role)) in
        [("x10", ExperimentRole::Candidate), ("x11", ExperimentRole::Candidate), ("b1", ExperimentRole::Baseline)]
            .into_iter()
            .enumerate()
    {
        lab.experiment(id, &["a"], |experiment| {
            experiment.role = role;
            experiment.started_ns += i64::try_from(number).unwrap();
        });
    }
    assert!(lab.said(&["report"], 0).starts_with("# 평가 보고서: x11\n"));
    assert!(lab.said(&["report", "x10"], 0).starts_with("# 평가 보고서: x10\n"));
    assert!(lab.said(&["report", "b"], 0).starts_with("# 평가 보고서: b1\n"));
    for (asked, words) in [("x1", "여럿입니다: x10, x11"), ("nobody", "그렇게 시작하는 실험이 없습니다")]
    {
        let output = lab.eval(&["report", asked]);
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(words), "{}", told(&output));
    }
}

#[test]
fn junit_has_a_test_for_each_trial() {
    let lab = Lab::new();
    let cases = EvalVerdict::ALL.map(EvalVerdict::as_str);
    lab.experiment("x1", &[&cases[..], &["absent"]].concat(), |_| ());
    for verdict in EvalVerdict::ALL {
        lab.trial("x1", verdict.as_str(), 1, ended(verdict));
    }
    lab.decide("x1", None, DECIDED_NS);
    let report = crate::machine::junit(&lab.said(&["report", "--format", "junit"], 0));
    assert_eq!((report.tests, report.failures, report.errors), (7, 1, 1));
    assert_eq!(report.test_suites[0].skipped, 4);
    let told: Vec<(String, String)> = report.test_suites[0]
        .test_cases
        .iter()
        .map(|case| match &case.status {
            TestCaseStatus::Success { .. } => (case.name.as_str().to_owned(), "success".to_owned()),
            TestCaseStatus::NonSuccess { kind, message, ty, .. } => {
                let kind = if *kind == NonSuccessKind::Error { "error" } else { "failure" };
                let text = format!("{kind} {} {}", ty.as_ref().unwrap().as_str(), message.as_ref().unwrap().as_str());
                (case.name.as_str().to_owned(), text)
            }
            TestCaseStatus::Skipped { message, ty, .. } => (
                case.name.as_str().to_owned(),
                format!("skipped {} {}", ty.as_ref().unwrap().as_str(), message.as_ref().unwrap().as_str()),
            ),
        })
        .collect();
    let expected = [
        ("CANCELLED · 1번째", "skipped CANCELLED 취소 — c: 실험을 취소했습니다"),
        ("ERROR · 1번째", "error ERROR 실행 오류 — c: 대상과의 연결이 실패했습니다"),
        ("FAIL · 1번째", "failure FAIL 실패 — c: 답변에 있어야 할 말이 없습니다"),
        ("NOT_APPLICABLE · 1번째", "skipped NOT_APPLICABLE 해당 없음 — c: 대상이 필요한 능력을 지원하지 않습니다"),
        ("PASS · 1번째", "success"),
        ("UNKNOWN · 1번째", "skipped UNKNOWN 판정 불가 — c: 이 대상에서는 볼 수 없습니다"),
        ("absent · 1번째", "skipped not_run 하지 않음 — 하지 않음"),
    ];
    assert_eq!(told, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    let (time, class) = (report.time.unwrap(), report.test_suites[0].test_cases[0].classname.clone().unwrap());
    assert_eq!((time.as_millis(), class.as_str()), (9_000, "mine"));
}

#[test]
fn traces_are_shown_with_their_diagnosis_or_as_absent() {
    let lab = Lab::new();
    lab.place.write("trace.jsonl", request(1) + "\n");
    lab.place.ingested(&["trace.jsonl"]);
    let traces = lab.place.rows("SELECT DISTINCT trace_id FROM spans");
    lab.experiment("x1", &["a"], |_| ());
    let traces = vec![(1, traces[0].clone()), (2, "f".repeat(32))];
    lab.trial("x1", "a", 1, TrialEnd { traces: traces.clone(), ..ended(EvalVerdict::Pass) });
    let report = json(&lab);
    let told = &report["trials"][0]["traces"];
    let diagnosed: Value = {
        let output = program().args(["diagnose", "--format", "json", "--all", "--db"]).arg(lab.place.db()).output();
        serde_json::from_slice(&output.unwrap().stdout).unwrap()
    };
    assert_eq!(told[0]["diagnosis"]["verdict"], diagnosed[0]["verdict"]);
    assert_eq!(told[0]["diagnosis"]["summary"], diagnosed[0]["summary"]);
    assert_eq!(told[1]["diagnosis"], Value::Null);
    let markdown = lab.said(&["report"], 0);
    assert!(markdown.contains(&format!("2번째 차례, {}: 저장소에 없습니다", traces[1].1)), "{markdown}");
    let verdict = diagnosed[0]["verdict"].as_str().unwrap();
    assert!(markdown.contains(&format!("1번째 차례, {}: {verdict} — ", traces[0].1)), "{markdown}");
}

/// An experiment in which everything that comes from outside has this name.
fn hostile(name: &str) -> Lab {
    let lab = Lab::new();
    let escaped = serde_json::to_string(name).unwrap();
    lab.experiment("x1", &[name], |experiment| experiment.target = name.to_owned());
    let mut end = ended(EvalVerdict::Fail);
    end.events =
        vec![event(1, &format!(r#"{{"kind":"proposal","tool":{escaped},"arguments":{escaped},"blocked":true}}"#))];
    end.checks = vec![check(name, EvalVerdict::Fail)];
    end.target_name = Some(name.to_owned());
    end.traces = vec![(1, name.to_owned())];
    let trial = lab.begin("x1", name, 1, 1);
    assert!(lab.store().end_trial(&TrialEnd { trial_id: trial.clone(), ..end }).unwrap());
    let note = format!("n{}", name.replace('\0', ""));
    lab.said(&["review", &trial.replace('\0', "")[..7], "--agree", "--note", &note], 0);
    lab.decide("x1", None, DECIDED_NS);
    lab
}

#[test]
fn hostile_names_break_no_format() {
    for name in [
        "</style></script><script>alert(1)</script>",
        "a|b`c*[x](http://e)\n# h",
        "\u{1b}[31m\u{202e}x",
        "{{ r }}&amp;'\"",
    ] {
        let lab = hostile(name);
        let html = lab.said(&["report", "--format", "html"], 0);
        assert!(!html.contains("<script"), "{name:?}");
        assert_eq!(html.matches("</style>").count(), 1, "{name:?}");
        let markdown = lab.said(&["report"], 0);
        assert!(!markdown.contains("<script") || markdown.contains("\\<script"), "{markdown}");
        assert!(!markdown.contains("\n# h"), "{markdown}");
        crate::machine::junit(&lab.said(&["report", "--format", "junit"], 0));
        json(&lab);
        for text in [html, markdown, lab.said(&["review"], 0)] {
            assert!(!text.contains(['\u{1b}', '\u{202e}']), "{name:?}: {text:?}");
        }
    }
}

/// Tags in order, each with whether it closes; those without an end left out.
fn tags(html: &str) -> Vec<(String, bool)> {
    let empty = ["meta", "line", "rect", "circle", "path", "use", "br", "!DOCTYPE"];
    let mut found = Vec::new();
    let start = html.find("</style>").unwrap();
    for part in html[start + 8..].split('<').skip(1) {
        let tag = part.split('>').next().unwrap();
        let name: String = tag.trim_start_matches('/').chars().take_while(|c| c.is_alphanumeric()).collect();
        if !empty.contains(&name.as_str()) && !tag.ends_with('/') {
            found.push((name, tag.starts_with('/')));
        }
    }
    found
}

#[test]
fn html_is_one_page_that_asks_for_nothing_and_can_be_used_with_a_keyboard() {
    let lab = compared(6, 1);
    let html = lab.said(&["report", "--format", "html"], 0);
    assert!(html.starts_with("<!DOCTYPE html>"), "{}", &html[..200]);
    assert!(html.contains("default-src 'none'; script-src 'none'; style-src 'sha256-"));
    for asked in ["<script", "<link", "<img", "<iframe", "src=", "@import", "url(http", "http://", "https://"] {
        assert!(!html.contains(asked), "{asked}");
    }
    let mut open = Vec::new();
    for (name, is_end) in tags(&html) {
        match is_end {
            false => open.push(name),
            // The head was begun before the style ended.
            true if name == "head" => {}
            true if open.is_empty() && ["html"].contains(&name.as_str()) => {}
            true => assert_eq!(open.pop(), Some(name)),
        }
    }
    let ids: Vec<&str> = html.split(" id=\"").skip(1).map(|part| part.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "{ids:?}");
    // What scrolls can be reached; what opens is an element that does so by itself.
    assert_eq!(html.matches("class=\"scroll\"").count(), html.matches("class=\"scroll\" tabindex=\"0\"").count());
    assert_eq!(html.matches("<details").count(), 6);
    assert!(html.contains("prefers-color-scheme: dark") && html.contains("width=device-width"));
    // The policy lets this style in.
    let style = &html[html.find("<style>").unwrap() + 7..html.find("</style>").unwrap()];
    assert!(style.contains(".ruling"));
}

#[test]
fn report_goes_to_a_file_and_never_over_the_store() {
    let lab = of_kind("script", &[true]);
    let path = lab.place.path("report.html");
    assert_eq!(lab.said(&["report", "--format", "html", "-o", path.to_str().unwrap()], 0), "");
    assert!(fs::read_to_string(&path).unwrap().starts_with("<!DOCTYPE html>"));
    let db = lab.place.db();
    assert_eq!(lab.eval(&["report", "-o", db.to_str().unwrap()]).status.code(), Some(2));
    assert_eq!(lab.said(&["gate", "--config-hash", &hash('c')], 0).lines().count(), 2);
}
