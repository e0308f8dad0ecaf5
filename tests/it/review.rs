//! `review`: from a dismissal to its undoing, where it shows, and what is refused.

use std::process::Output;

use serde_json::Value;

use super::support_cli::{Place, program, told};

/// Two verdicts, both of `get_budget_status`.
const TWO: &str = "a5f03c8e21d74b6990e4c1a7b3d52f08";
/// A normal run.
const NORMAL: &str = "8d47a1e0";

fn run(place: &Place, arguments: &[&str]) -> Output {
    program().args(arguments).arg("--db").arg(place.db()).env("USER", "login").output().unwrap()
}

/// What a command that succeeds writes.
fn text(place: &Place, arguments: &[&str]) -> String {
    let output = run(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn review(place: &Place, command: &str, verdict: &str, more: &[&str]) -> String {
    text(place, &[&["review", command, "A5F0", "--verdict", verdict], more].concat())
}

fn listed(place: &Place, more: &[&str]) -> Vec<Value> {
    let json = text(place, &[&["review", "list", "--format", "json"], more].concat());
    serde_json::from_str::<Value>(&json).unwrap().as_array().unwrap().clone()
}

#[test]
fn review_lives_from_dismissal_to_undoing() {
    let place = Place::seeded();
    assert_eq!(text(&place, &["review", "list"]), "남은 검토가 없습니다.\n");
    let told = review(&place, "dismiss", "error-hidden", &["--reason", " 다른 도구로 해냈습니다 ", "--by", "김하나"]);
    let verdict = "도구 오류 뒤에도 성공처럼 답함";
    assert_eq!(told, format!("오탐으로 넘겼습니다: {TWO} · {verdict} · 판정 1건\n"));
    let rows = listed(&place, &[]);
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["trace_id"], TWO);
    assert_eq!(rows[0]["verdict"], verdict);
    assert_eq!(rows[0]["decision"], "dismissed");
    assert_eq!(rows[0]["reason"], "다른 도구로 해냈습니다");
    assert_eq!(rows[0]["reviewer"], "김하나");
    assert!(rows[0]["reviewed_at"].as_str().unwrap().ends_with("+09:00"));
    // Who is logged in, unless someone is named; a reason is wanted for a dismissal only.
    review(&place, "confirm", "error-hidden", &[]);
    let rows = listed(&place, &[]);
    assert_eq!((rows.len(), &rows[0]["decision"], &rows[0]["reviewer"]), (1, &"confirmed".into(), &"login".into()));
    review(&place, "undo", "error-hidden", &["--reason", "다시 봅니다"]);
    assert_eq!(listed(&place, &[]).len(), 0);
    let all: Vec<Value> = listed(&place, &["--all"]).into_iter().map(|row| row["decision"].clone()).collect();
    assert_eq!(all, ["dismissed", "confirmed", "undone"]);
}

#[test]
fn review_is_marked_in_reports_and_leaves_json_as_it_was() {
    let place = Place::seeded();
    let before = text(&place, &["diagnose", "--format", "json"]);
    let table_before = text(&place, &["diagnose"]);
    review(&place, "dismiss", "undefined-tool", &["--reason", "시험 | 호출", "--by", "김하나"]);
    assert_eq!(text(&place, &["diagnose", "--format", "json"]), before);
    let table = text(&place, &["diagnose"]);
    assert!(table.contains("  검토      오탐으로 넘김 · 시험 | 호출 · 김하나 · 20"), "{table}");
    let markdown = text(&place, &["diagnose", "--format", "md"]);
    let mark = "- 검토: 정의에 없는 도구를 부름 · get_budget_status · 오탐으로 넘김 · 시험 \\| 호출 · 김하나 · 20";
    assert!(markdown.contains(mark), "{markdown}");
    assert!(text(&place, &["explain", "a5f0"]).contains("검토     오탐으로 넘김 · 시험 | 호출 · 김하나"));
    review(&place, "confirm", "undefined-tool", &["--by", "이둘"]);
    assert!(text(&place, &["diagnose"]).contains("  검토      맞다고 확인함 · 이둘 · 20"));
    review(&place, "undo", "undefined-tool", &[]);
    assert_eq!(text(&place, &["diagnose"]), table_before);
}

#[test]
fn dismissed_finding_fails_no_more() {
    let place = Place::seeded();
    let status = |fail_on: &str| run(&place, &["diagnose", "--trace", "a5f0", "--fail-on", fail_on]).status.code();
    let all = |place: &Place| {
        ["any", "undefined-tool", "error-hidden"]
            .map(|name| run(place, &["diagnose", "--trace", "a5f0", "--fail-on", name]).status.code())
    };
    assert_eq!(all(&place), [Some(1); 3]);
    review(&place, "dismiss", "undefined-tool", &["--reason", "시험"]);
    assert_eq!(all(&place), [Some(1), Some(0), Some(1)]);
    review(&place, "dismiss", "error-hidden", &["--reason", "시험"]);
    assert_eq!(all(&place), [Some(0); 3]);
    // It is not a normal run for that.
    assert_eq!(status("normal"), Some(0));
    review(&place, "confirm", "error-hidden", &[]);
    assert_eq!(all(&place), [Some(1), Some(0), Some(1)]);
    assert_eq!(run(&place, &["diagnose", "--trace", NORMAL, "--fail-on", "normal"]).status.code(), Some(1));
}

#[test]
fn dismissed_finding_is_no_candidate() {
    let place = Place::seeded();
    let all = |place: &Place| text(place, &["hq-candidates", "--min-agents", "1", "--format", "csv"]);
    let has = |place: &Place, rule: &str| all(place).contains(&format!("get_budget_status,{rule},"));
    assert!(has(&place, "undefined_tool") && has(&place, "error_hidden"));
    review(&place, "dismiss", "error-hidden", &["--reason", "시험"]);
    assert!(has(&place, "undefined_tool") && !has(&place, "error_hidden"));
    let document = text(&place, &["hq-candidates"]);
    assert!(document.contains("- 사람이 오탐으로 넘긴 판정 1건은 뺐습니다."), "{document}");
    review(&place, "undo", "error-hidden", &[]);
    assert!(has(&place, "error_hidden"));
    review(&place, "confirm", "error-hidden", &[]);
    let document = text(&place, &["hq-candidates", "--min-agents", "1"]);
    assert!(document.contains("- 사람이 맞다고 확인한 실행 1건"), "{document}");
}

#[test]
fn review_of_a_tool_is_of_that_tool() {
    let place = Place::seeded();
    let dismissed = |place: &Place| text(place, &["diagnose", "--trace", "a5f0"]).matches("오탐으로 넘김").count();
    let tool = ["--tool", "get_budget_status"];
    review(&place, "dismiss", "error-hidden", &[&tool[..], &["--reason", "시험"]].concat());
    assert_eq!(dismissed(&place), 1);
    assert_eq!(listed(&place, &[])[0]["tool_name"], "get_budget_status");
    review(&place, "undo", "error-hidden", &tool);
    assert_eq!((dismissed(&place), listed(&place, &[]).len()), (0, 0));
    // What is said of every tool can be taken back for one; once.
    review(&place, "dismiss", "error-hidden", &["--reason", "시험"]);
    review(&place, "undo", "error-hidden", &tool);
    assert_eq!(dismissed(&place), 0);
    let again = run(&place, &["review", "undo", "a5f0", "--verdict", "error-hidden", "--tool", tool[1]]);
    assert_eq!(again.status.code(), Some(2), "{}", told(&again));
    review(&place, "undo", "error-hidden", &[]);
    assert_eq!(listed(&place, &[]).len(), 0);
}

#[test]
fn list_fits_the_window_and_a_table() {
    let place = Place::seeded();
    let reason = "같은 일을 다른 도구로 해낸 실행이라 오류를 숨긴 것이 아닙니다. ".repeat(4) + "a|b\n# c";
    review(&place, "dismiss", "error-hidden", &["--reason", &reason, "--by", "<b>"]);
    let table = text(&place, &["review", "list"]);
    assert!(table.contains("오탐으로 넘김 · <b>") && table.contains(TWO) && table.contains("모든 도구"), "{table}");
    assert!(table.lines().all(|line| taco_trace::render::layout::width(line) <= 80), "{table}");
    let markdown = text(&place, &["review", "list", "--format", "md"]);
    assert_eq!(markdown.lines().count(), 3, "{markdown}");
    assert!(markdown.contains("a\\|b\\n\\# c") || markdown.contains("a\\|b\\\\n\\# c"), "{markdown}");
    assert!(markdown.contains("\\<b\\>"), "{markdown}");
}

#[test]
fn what_cannot_be_reviewed_is_told() {
    let place = Place::seeded();
    let reason = ["--reason", "시험"];
    for (trace, verdict, more, status, named) in [
        ("ffff", "error-hidden", &reason[..], 2, "ffff"),
        ("8", "error-hidden", &reason, 2, "80a3f6d21c7e48b5b04a9e3c6f1d2208\n81c95e0b"),
        ("a5f0", "timeout-exceeded", &reason, 2, "도구 오류 뒤에도 성공처럼 답함 (get_budget_status)"),
        ("a5f0", "error-hidden", &["--reason", "시험", "--tool", "budget_api"], 2, "(budget_api)"),
        (NORMAL, "error-hidden", &reason, 2, "걸린 판정이 없습니다"),
        ("a5f0", "normal", &reason, 2, "undefined-tool, args-mismatch"),
        ("a5f0", "정상 완료", &reason, 2, "정상 완료"),
        ("a5f0", "nothing", &reason, 2, "nothing"),
        ("a5f0", "error-hidden", &["--reason", " \t"], 2, "이유가 비어"),
        ("a5f0", "error-hidden", &["--reason", "\u{200b}\u{feff} \u{3164}"], 2, "이유가 비어"),
        ("a5f0", "error-hidden", &["--reason", "\u{202e}"], 2, "이유가 비어"),
        ("a5f0", "error-hidden", &[], 2, "--reason"),
    ] {
        let output = run(&place, &[&["review", "dismiss", trace, "--verdict", verdict], more].concat());
        assert_eq!(output.status.code(), Some(status), "{trace} {verdict}: {}", told(&output));
        assert!(told(&output).contains(named), "{trace} {verdict}: {}", told(&output));
        assert!(output.stdout.is_empty());
    }
    let undo = run(&place, &["review", "undo", "a5f0", "--verdict", "error-hidden"]);
    assert_eq!(undo.status.code(), Some(2));
    assert!(told(&undo).contains("되돌릴 검토가 없습니다"), "{}", told(&undo));
    assert_eq!(run(&place, &["review", "confirm", "a5f0"]).status.code(), Some(2));
    assert_eq!(listed(&place, &["--all"]).len(), 0);
    let missing = run(&Place::new(), &["review", "list"]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn run_without_a_verdict_cannot_be_reviewed() {
    let place = Place::new();
    let call = r#"{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","parent_span_id":null,"start_time":"2026-10-07T09:00:00.000+09:00","operation":"execute_tool","agent_name":null,"tool_name":"a","tool_args":"{}","status":"ok","duration_ms":1}"#;
    place.write("rows.jsonl", call);
    place.ingested(&["rows.jsonl"]);
    let output = run(&place, &["review", "confirm", "0af7", "--verdict", "error-hidden"]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("판정할 수 없는 실행입니다"), "{}", told(&output));
}

#[test]
fn korean_verdict_and_whole_id_are_taken() {
    let place = Place::seeded();
    let arguments = ["review", "confirm", TWO, "--verdict", "정의에 없는 도구를 부름"];
    assert!(text(&place, &arguments).starts_with("맞다고 확인했습니다"));
    let mut nobody = program();
    nobody.args(["review", "confirm", TWO, "--verdict", "error-hidden", "--db"]).arg(place.db());
    let output = nobody.env_remove("USER").env("LOGNAME", "  ").output().unwrap();
    let of_process = user_of_process();
    if of_process.is_none() {
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert!(told(&output).contains("`--by 이름` 으로 적으세요"), "{}", told(&output));
    } else {
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }
    // What is blank names nobody; the other variable does.
    nobody.args(["--by", "\u{200b}"]);
    nobody.env("LOGNAME", "second");
    assert_eq!(nobody.output().unwrap().status.code(), Some(0));
    let who: Vec<Value> = listed(&place, &["--all"]).into_iter().map(|row| row["reviewer"].clone()).collect();
    let expected: Vec<String> =
        ["login".to_owned()].into_iter().chain(of_process).chain(["second".to_owned()]).collect();
    assert_eq!(who, expected);
}

/// The name that `id -un` says; none when the system knows none.
fn user_of_process() -> Option<String> {
    let output = std::process::Command::new("id").arg("-un").output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// What six people say at one time is kept: they wait for one another.
#[test]
fn reviews_at_one_time_are_all_kept() {
    let place = Place::seeded();
    let running: Vec<_> = (0..6)
        .map(|number| {
            let mut review = program();
            review.args([
                "review",
                "confirm",
                TWO,
                "--verdict",
                "undefined-tool",
                "--by",
                &format!("p{number}"),
                "--db",
            ]);
            review.arg(place.db()).stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut one in running {
        assert_eq!(one.wait().unwrap().code(), Some(0));
    }
    assert_eq!(listed(&place, &["--all"]).len(), 6);
}

#[test]
fn blank_is_what_leaves_no_mark() {
    for blank in ["", " \t\n", "\u{200b}", "\u{feff}\u{2060}", "\u{3164}\u{115f}\u{1160}\u{ffa0}", "\u{ad}\u{2800}"] {
        assert!(taco_trace::model::is_blank(blank), "{blank:?}");
    }
    for said in ["가", "?", "\u{200b}x", "ㄱ", "…"] {
        assert!(!taco_trace::model::is_blank(said), "{said:?}");
    }
}
