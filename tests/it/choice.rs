//! What runs are chosen by, and what every command says when the store has no such thing: agents, tools, the beginning
//! of a trace id, periods; and the names that are near.

use std::process::Output;

use proptest::prelude::*;
use taco_trace::near::near;

use super::support_cli::{Place, program, told};

const AGENT: &str = "예산 집행 질의 에이전트";

fn run(place: &Place, arguments: &[&str]) -> Output {
    program().args(arguments).arg("--db").arg(place.db()).output().unwrap()
}

fn refused(place: &Place, arguments: &[&str]) -> String {
    let output = run(place, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
    assert!(output.stdout.is_empty(), "{arguments:?}");
    told(&output)
}

#[test]
fn unknown_agent_is_refused_with_the_names_that_are_near() {
    let place = Place::seeded();
    let html = place.path("x.html");
    let html = html.to_str().unwrap();
    for wrong in ["예산 집행 질의 에이전", "예산집행 질의 에이전트", "예산 집행", "예산 집헹 질의 에이전트"]
    {
        let compared = format!("agent:{wrong}");
        for arguments in [
            &["diagnose", "--agent", wrong][..],
            &["diagnose", "--agent", wrong, "--format", "json"],
            &["report", "--html", html, "--agent", wrong],
            &["compare", "--base", &compared, "--head", "batch:1"],
            &["compare", "--base", "batch:1", "--head", &compared],
        ] {
            let told = refused(&place, arguments);
            let lines: Vec<&str> = told.lines().filter(|line| !line.trim().is_empty()).collect();
            let expected = [
                format!("그런 에이전트의 실행이 없습니다: `{wrong}`"),
                format!("도움말: 비슷한 이름은 `{AGENT}` 입니다."),
            ];
            assert_eq!(lines, expected, "{arguments:?}");
        }
    }
    assert!(!std::path::Path::new(html).exists());
    // Nothing is near: some of those there are.
    for far in ["", "zzzz"] {
        let told = refused(&place, &["diagnose", "--agent", far]);
        assert!(told.contains("있는 이름은 ") && told.contains(AGENT), "{told}");
    }
    assert_eq!(run(&place, &["diagnose", "--agent", AGENT]).status.code(), Some(0));
    // Files are asked as a store is.
    let mut files = program();
    files.args([
        "diagnose",
        "fixtures/seed/traces.jsonl",
        "--tools",
        "fixtures/seed/tools.json",
        "--agent",
        "예산 집행",
    ]);
    assert_eq!(files.output().unwrap().status.code(), Some(2));
}

#[test]
fn store_without_agents_says_so() {
    let place = Place::new();
    let call = r#"{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","parent_span_id":null,"start_time":"2026-10-07T09:00:00.000+09:00","operation":"execute_tool","agent_name":null,"tool_name":"a","tool_args":"{}","status":"ok","duration_ms":1}"#;
    place.write("rows.jsonl", call);
    place.ingested(&["rows.jsonl"]);
    assert!(refused(&place, &["diagnose", "--agent", "a"]).contains("이름이 적힌 실행이 하나도 없습니다"));
}

#[test]
fn unknown_tool_is_refused() {
    let place = Place::seeded();
    let told = refused(&place, &["diagnose", "--tool", "budget"]);
    assert!(told.contains("없는 도구입니다: `budget`"), "{told}");
    // One that is called and not defined is known.
    assert_eq!(run(&place, &["diagnose", "--tool", "get_budget_status"]).status.code(), Some(0));
}

#[test]
fn trace_that_is_not_there_is_refused_in_the_same_words() {
    let place = Place::seeded();
    let review = |command: &'static str, trace: &'static str| {
        let mut arguments = vec!["review", command, trace, "--verdict", "error-hidden"];
        if command == "dismiss" {
            arguments.extend(["--reason", "시험"]);
        }
        arguments
    };
    for (trace, part) in [
        ("ffff", "그 trace_id 로 시작하는 실행이 없습니다: `ffff`"),
        ("not hex", "그 trace_id 로 시작하는 실행이 없습니다: `not hex`"),
        ("", "trace_id 가 비어 있습니다"),
        (" \t", "trace_id 가 비어 있습니다"),
    ] {
        let asked: Vec<String> = [
            vec!["explain", trace],
            vec!["diagnose", "--trace", trace],
            review("dismiss", trace),
            review("confirm", trace),
            review("undo", trace),
        ]
        .iter()
        .map(|arguments| refused(&place, arguments))
        .collect();
        assert!(asked.iter().all(|told| told == &asked[0] && told.contains(part)), "{trace}: {asked:?}");
    }
    // Of several, one command shows all and the others want one.
    let told = refused(&place, &["explain", "8"]);
    assert!(told.contains("실행이 4개입니다: `8`") && told == refused(&place, &review("confirm", "8")), "{told}");
    assert_eq!(run(&place, &["diagnose", "--trace", "8"]).status.code(), Some(0));
    // No case, and the whole id too.
    for trace in ["A5F0", "a5f03c8e21d74b6990e4c1a7b3d52f08"] {
        assert_eq!(run(&place, &["explain", trace]).status.code(), Some(0), "{trace}");
        assert_eq!(run(&place, &["diagnose", "--trace", trace]).status.code(), Some(0), "{trace}");
    }
}

#[test]
fn period_that_ends_before_it_begins_is_refused() {
    let place = Place::seeded();
    for (since, until, status) in [
        ("2026-10-08", "2026-10-07", 2),
        ("2026-10-07", "2026-10-07", 0),
        ("2026-10-07 09:00", "2026-10-07 08:59", 2),
        ("2026-10-07 09:00", "2026-10-07 09:00", 2),
        ("2026-10-07 09:00", "2026-10-07 09:00:00.001", 0),
    ] {
        for command in [&["diagnose"][..], &["report", "--html", "-"]] {
            let arguments = [command, &["--since", since, "--until", until]].concat();
            let output = run(&place, &arguments);
            assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", told(&output));
            let is_told = told(&output).contains(&format!("처음 날짜가 끝 날짜보다 뒤입니다: `{since} {until}`"));
            assert_eq!(is_told, status == 2, "{}", told(&output));
        }
    }
}

#[test]
fn period_without_runs_is_told_with_the_dates_there_are() {
    let place = Place::seeded();
    let empty = "그 기간에 시작한 실행이 없습니다. 있는 실행은 2026-10-07 ~ 2026-10-07 에 시작했습니다(한국 날짜).\n";
    for command in
        [&["diagnose"][..], &["diagnose", "--format", "json"], &["report", "--html", "-"], &["hq-candidates"]]
    {
        for (period, is_empty) in [
            (["--since", "2026-10-08"], true),
            (["--since", "2026-10-07"], false),
            (["--until", "2026-10-06"], true),
            (["--until", "2026-10-07"], false),
        ] {
            let output = run(&place, &[command, &period].concat());
            assert_eq!(output.status.code(), Some(0), "{command:?} {period:?}: {}", told(&output));
            let errors = String::from_utf8(output.stderr.clone()).unwrap();
            assert_eq!(errors.contains(empty), is_empty, "{command:?} {period:?}: {errors}");
        }
    }
    let told = refused(&place, &["compare", "--base", "date:2026-10-08", "--head", "batch:1"]);
    assert!(told.contains("(있는 실행은 2026-10-07 ~ 2026-10-07 에 시작했습니다)"), "{told}");
    // A filter that leaves nothing is no empty period.
    let output = run(&place, &["diagnose", "--since", "2026-10-07", "--verdict", "normal", "--tool", "ocr_attachment"]);
    assert!(!String::from_utf8(output.stderr).unwrap().contains("그 기간에"));
    let none = Place::new();
    none.write("rows.jsonl", "");
    taco_trace::store::Store::open(&none.db()).map(drop).unwrap();
    let output = run(&none, &["diagnose", "--since", "2026-10-07"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(told_of(&output).contains("저장소에 실행이 하나도 없습니다."), "{}", told_of(&output));
}

fn told_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The figures in the foot are of the runs above it.
#[test]
fn tool_sets_are_counted_over_the_runs_that_are_shown() {
    let place = Place::seeded();
    let foot = |more: &[&str]| {
        let output = run(&place, &[&["diagnose"], more].concat());
        let text = String::from_utf8(output.stdout).unwrap().replace("\n  ", " ");
        let line = text.lines().find(|line| line.contains("도구 정의 ") && line.contains("실행 ")).map(str::to_owned);
        let count = line.map(|line| line.rsplit("실행 ").next().unwrap().trim_end_matches('건').to_owned());
        count.unwrap_or_default()
    };
    assert_eq!(foot(&[]), "8");
    assert_eq!(foot(&["--agent", AGENT]), "3");
    assert_eq!(foot(&["--verdict", "args-mismatch"]), "2");
    assert_eq!(foot(&["--limit", "1"]), "1");
    // None is left: nor is its line.
    assert_eq!(foot(&["--agent", AGENT, "--verdict", "timeout-exceeded"]), "");
}

#[test]
fn near_names_are_few_and_the_nearest_first() {
    let names = ["budget_api", "budget_apis", "budget_db", "hr_db_lookup", "ocr"];
    assert_eq!(near("budgt_api", names), ["budget_api", "budget_apis"]);
    assert_eq!(near("BUDGET_API", names), ["budget_api", "budget_apis", "budget_db"]);
    assert_eq!(near("db", names), ["budget_db", "hr_db_lookup"]);
    // Two letters swapped are one change: a third of three letters, and more than that of two.
    assert_eq!(near("orc", names), ["ocr"]);
    assert_eq!(near("ba", ["ab"]), [""; 0]);
    assert_eq!(near("", names), [""; 0]);
    assert_eq!(near("x", []), [""; 0]);
}

/// Changes counted by trying each of them, as the words say.
fn naive(one: &[char], other: &[char]) -> usize {
    match (one.split_last(), other.split_last()) {
        (None, _) => other.len(),
        (_, None) => one.len(),
        (Some((a, one_rest)), Some((b, other_rest))) => {
            let replaced = naive(one_rest, other_rest) + usize::from(a != b);
            let mut least = replaced.min(naive(one_rest, other) + 1).min(naive(one, other_rest) + 1);
            if let ([.., before_a], [.., before_b]) = (one_rest, other_rest)
                && a == before_b
                && b == before_a
            {
                least = least.min(naive(&one_rest[..one_rest.len() - 1], &other_rest[..other_rest.len() - 1]) + 1);
            }
            least
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn near_is_what_few_changes_make(one in "[ab가]{0,6}", other in "[ab가]{0,6}") {
        let [first, second] = [&one, &other].map(|text| text.chars().collect::<Vec<char>>());
        let holds = !one.is_empty() && other.contains(&one);
        let is_near = holds || naive(&first, &second) * 3 <= first.len().max(second.len());
        prop_assert_eq!(!near(&one, [other.as_str()]).is_empty(), is_near);
    }
}
