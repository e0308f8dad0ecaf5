//! `--draft claude` and `--draft openai` end to end: through the program against a server of this machine.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use taco_trace::store::Store;

use super::super::support::repository;
use super::super::support_cli::{Place, program, told};
use super::super::support_model::{Answer, ModelServer, claude_says, gpt_says};
use super::KEY;

const TRACES: &str = "fixtures/seed/traces.jsonl";
const TOOLS: &str = "fixtures/seed/tools.json";
/// The run of the seed without `dept_code`.
const TRACE: &str = "7f21c0a4e93b4d1f8a6c2e5b90d417aa";
const DRAFT: &str = "기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다. dept_code 에는 부서 코드를 꼭 넣으세요.";
/// What the rules make of it.
const TEMPLATE: &str = "dept_code(부서 코드)는 빠뜨리면 안 되는 값입니다.";

/// The program with the key of the tests, or none.
fn with_key(key: Option<&str>) -> Command {
    let mut command = program();
    command.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY");
    if let Some(key) = key {
        command.env("ANTHROPIC_API_KEY", key).env("OPENAI_API_KEY", key);
    }
    command
}

/// `diagnose` of the store with `--draft claude` at that address.
fn claude(db: &Path, url: &str, more: &[&str]) -> Output {
    let mut command = with_key(Some(KEY));
    command.args(["diagnose", "--draft", "claude", "--draft-base-url", url, "--draft-retries", "0", "--db"]).arg(db);
    command.args(more).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The drafts of a JSON report, by run.
fn drafts(output: &Output) -> Vec<String> {
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(output)));
    let validator = {
        let schema = fs::read_to_string(repository().join("schemas/diagnosis.schema.json")).unwrap();
        jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap()
    };
    let runs = report.as_array().unwrap();
    assert!(runs.iter().all(|run| validator.is_valid(run)));
    runs.iter().filter_map(|run| run["description_draft"].as_str().map(str::to_owned)).collect()
}

/// Neither output has the key.
fn assert_silent(output: &Output) {
    assert!(!out(output).contains(KEY) && !told(output).contains(KEY), "{}", told(output));
}

fn file_has_no_key(path: &Path) {
    let bytes = fs::read(path).unwrap();
    assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()), "{}", path.display());
}

#[test]
fn draft_of_claude_is_shown_kept_and_not_asked_for_again() {
    let place = Place::seeded();
    let server = ModelServer::answering([claude_says(DRAFT)]);
    let first = claude(&place.db(), &server.url(), &["--format", "json"]);
    assert_eq!(first.status.code(), Some(0), "{}", told(&first));
    assert_eq!(drafts(&first), [DRAFT]);
    assert!(told(&first).contains("claude-sonnet-5 가 쓴 것 1건(지금 물음 1, 저장소에 있던 것 0)"), "{}", told(&first));
    let seen = server.only();
    assert_eq!(seen.body["model"], "claude-sonnet-5");
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    let kept = "SELECT provider, model, missing_keys, prompt_version, tool_name, draft FROM model_drafts";
    let row = format!(r#"anthropic|claude-sonnet-5|["dept_code"]|1|search_regulation|{DRAFT}"#);
    assert_eq!(place.rows(kept), [row]);

    let second = claude(&place.db(), &server.url(), &[]);
    assert_eq!(second.status.code(), Some(0), "{}", told(&second));
    // The report is folded to its width, so the beginning of the sentence does.
    assert!(out(&second).contains("search_regulation 의 설명 · claude-sonnet-5 로 쓴 초안"), "{}", out(&second));
    assert!(out(&second).contains("dept_code 에는 부서 코드를 꼭 넣으세요."), "{}", out(&second));
    assert!(told(&second).contains("지금 물음 0, 저장소에 있던 것 1"), "{}", told(&second));
    assert_eq!(server.seen().len(), 1, "the second time nothing is asked");
    for output in [&first, &second] {
        assert_silent(output);
    }
    file_has_no_key(&place.db());
    // Other models are other writers.
    let other = claude(&place.db(), &server.url(), &["--draft-model", "claude-haiku-9", "--format", "md", "--quiet"]);
    assert!(out(&other).contains("claude-haiku-9 로 쓴 초안"), "{}", out(&other));
    assert_eq!((server.seen().len(), told(&other).as_str()), (2, ""));
}

/// Without a draft by a model the report says nothing of who wrote it.
#[test]
fn template_and_off_ask_nobody() {
    let place = Place::seeded();
    for mode in [&["--draft", "template"][..], &["--draft", "off"], &[]] {
        let output = with_key(Some(KEY)).args(["diagnose", "--db"]).arg(place.db()).args(mode).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{mode:?}");
        assert!(!out(&output).contains("쓴 초안"), "{mode:?}");
        assert_eq!(out(&output).contains("수정안"), mode != ["--draft", "off"], "{mode:?}");
    }
}

#[test]
fn nothing_of_the_run_is_sent() {
    let server = ModelServer::answering([claude_says(DRAFT)]);
    claude(&Place::seeded().db(), &server.url(), &[]);
    let body = server.only().body.to_string();
    let span = fs::read_to_string(repository().join(TRACES)).unwrap();
    let span: Value = serde_json::from_str(span.lines().find(|line| line.contains(TRACE)).unwrap()).unwrap();
    let mut values = Vec::new();
    attribute_values(&span, &mut values);
    let of_the_tool = ["search_regulation", "org_chart_lookup"];
    for value in values.iter().filter(|value| !of_the_tool.contains(&value.as_str()) && value.len() > 8) {
        assert!(!body.contains(value.as_str()), "{value} is sent");
    }
    assert!(!body.contains(TRACE));
}

/// Every text of an attribute.
fn attribute_values(value: &Value, values: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if let Some(text) = members.get("stringValue").and_then(Value::as_str) {
                values.push(text.to_owned());
            }
            members.values().for_each(|value| attribute_values(value, values));
        }
        Value::Array(list) => list.iter().for_each(|value| attribute_values(value, values)),
        _ => {}
    }
}

#[test]
fn many_runs_ask_once_and_files_keep_nothing() {
    let place = Place::new();
    let text = fs::read_to_string(repository().join(TRACES)).unwrap();
    // The same run again under another id.
    let again: String = text.lines().filter(|line| line.contains(TRACE)).map(|line| format!("{line}\n")).collect();
    place.write("again.jsonl", again.replace(TRACE, "7f21c0a4e93b4d1f8a6c2e5b90d417ab"));
    let server = ModelServer::answering([gpt_says(DRAFT)]);
    let mut command = with_key(None);
    command.args(["diagnose", TRACES]).arg(place.path("again.jsonl")).args(["--tools", TOOLS, "--format", "json"]);
    let url = format!("{}/v1", server.url());
    command.args(["--draft", "openai", "--draft-model", "site-llm", "--draft-base-url", &url]);
    let output = command.output().unwrap();
    assert_eq!(drafts(&output), [DRAFT, DRAFT], "{}", told(&output));
    let seen = server.only();
    assert_eq!((seen.path.as_str(), &seen.body["model"]), ("/v1/chat/completions", &json!("site-llm")));
    assert_eq!(seen.header("authorization"), None);
    assert!(!told(&output).contains("경고"), "{}", told(&output));
}

#[test]
fn draft_that_is_refused_is_asked_for_once_more() {
    let place = Place::seeded();
    let server = ModelServer::answering([claude_says("dept_id 를 넣으세요."), claude_says(DRAFT)]);
    let output = claude(&place.db(), &server.url(), &["--format", "json"]);
    assert_eq!(drafts(&output), [DRAFT]);
    let [_, again] = &server.seen()[..] else { panic!("{:?}", server.seen()) };
    let said = again.body["messages"].to_string();
    assert!(said.contains("properties 에 없는 필드를 적었습니다: dept_id"), "{said}");
    assert!(!told(&output).contains("경고"), "{}", told(&output));
}

#[test]
fn draft_that_is_refused_twice_gives_way_to_the_rules() {
    let place = Place::seeded();
    for (draft, why) in [("dept_id 를 넣으세요.", "dept_id"), ("dept_code 를 넣는다.", "존댓말")] {
        let server = ModelServer::answering([claude_says(draft)]);
        let output = claude(&place.db(), &server.url(), &["--format", "json"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(drafts(&output)[0].contains(TEMPLATE), "{}", out(&output));
        let warned = told(&output);
        assert!(warned.contains("경고: search_regulation 의 설명은 규칙으로 만든 수정안을 씁니다"), "{warned}");
        assert!(warned.contains(why) && warned.contains("규칙으로 만든 것 1건"), "{warned}");
        assert_eq!(server.seen().len(), 2);
    }
    assert_eq!(place.rows("SELECT draft FROM model_drafts"), [""; 0], "what was refused is not kept");
}

#[test]
fn server_that_fails_gives_way_to_the_rules() {
    let place = Place::seeded();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let body = json!({ "error": { "message": format!("invalid x-api-key {KEY}") } });
    let refusing = ModelServer::answering([Answer::status(401, &body)]);
    let broken = ModelServer::answering([Answer::Json(200, Vec::new(), "{}".to_owned())]);
    for (url, why) in [
        (format!("http://127.0.0.1:{port}"), "모델 서버에 연결하지 못했습니다"),
        (refusing.url(), "모델 서버가 요청을 받지 않았습니다: 401 (invalid x-api-key ***)"),
        (broken.url(), "모델 서버의 답을 읽지 못했습니다"),
    ] {
        // The exit status is that of the verdicts, whoever writes the drafts.
        for (more, code) in [(&[][..], 0), (&["--fail-on", "args-mismatch"][..], 1)] {
            let output = claude(&place.db(), &url, &[&["--format", "json"], more].concat());
            assert_eq!(output.status.code(), Some(code), "{}", told(&output));
            assert!(drafts(&output)[0].contains(TEMPLATE));
            assert!(
                told(&output).contains("경고: search_regulation") && told(&output).contains(why),
                "{}",
                told(&output)
            );
            assert_silent(&output);
        }
    }
}

/// The seed's runs, and one that leaves a key of another tool out.
#[test]
fn server_that_is_not_there_is_not_asked_for_every_tool() {
    let place = Place::new();
    let tools = fs::read_to_string(repository().join(TOOLS)).unwrap();
    // In this edition of the tools every tool wants one key more.
    let tools = tools
        .replace(r#"\"properties\":{"#, r#"\"properties\":{\"case_no\":{\"type\":\"string\"},"#)
        .replace(r#"\"required\":["#, r#"\"required\":[\"case_no\","#);
    place.write("tools.json", tools);
    let server = ModelServer::answering([Answer::status(404, &json!({ "error": "no such model" }))]);
    let mut command = with_key(Some(KEY));
    command.args(["diagnose", TRACES, "--tools"]).arg(place.path("tools.json")).args(["--draft", "claude"]);
    let output = command.args(["--draft-base-url", &server.url(), "--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(server.seen().len(), 1);
    let warned = told(&output);
    assert!(warned.contains("no such model") && warned.contains("묻지 않고 규칙으로 만든 수정안을 씁니다"), "{warned}");
}

#[test]
fn store_that_others_read_is_judged_and_the_draft_not_kept() {
    let place = Place::seeded();
    let server = ModelServer::answering([claude_says(DRAFT)]);
    let reader = Store::open_to_read(&place.db()).unwrap();
    for format in ["json", "sarif"] {
        let output = claude(&place.db(), &server.url(), &["--format", format]);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        assert!(
            told(&output).contains("경고: claude-sonnet-5 의 초안을 저장소에 두지 못했습니다"),
            "{}",
            told(&output)
        );
        assert!(told(&output).contains("다른 프로세스가 저장소를 잡고 있습니다"), "{}", told(&output));
    }
    drop(reader);
    assert_eq!(place.rows("SELECT draft FROM model_drafts"), [""; 0]);
    // Formats that read the store once more keep it as well.
    let output = claude(&place.db(), &server.url(), &["--format", "sarif"]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(place.rows("SELECT draft FROM model_drafts"), [DRAFT]);
}

#[test]
fn draft_changed_by_hand_is_checked_again() {
    let place = Place::seeded();
    let server = ModelServer::answering([claude_says(DRAFT)]);
    claude(&place.db(), &server.url(), &[]);
    let store = Store::open_existing(&place.db()).unwrap();
    store.execute("UPDATE model_drafts SET draft = 'dept_id 를 넣어라'").unwrap();
    drop(store);
    let output = claude(&place.db(), &server.url(), &["--format", "json"]);
    assert_eq!(drafts(&output), [DRAFT]);
    assert_eq!(server.seen().len(), 2);
}

#[test]
fn wrong_use_is_told_before_anything_is_read() {
    let at_openai = ["--draft", "openai", "--draft-model", "m"];
    for (arguments, hint) in [
        (&["--draft", "claude"][..], "ANTHROPIC_API_KEY"),
        (&at_openai[..], "OPENAI_API_KEY"),
        (&[&at_openai[..], &["--draft-base-url", "https://api.openai.com/v1"]].concat(), "OPENAI_API_KEY"),
        (&["--draft", "openai"], "--draft-model"),
        (&["--draft-model", "m"], "--draft claude"),
        (&["--draft", "off", "--draft-base-url", "http://127.0.0.1:9"], "--draft claude"),
        (&[&at_openai[..], &["--draft-base-url", "localhost:8000"]].concat(), "http://10.0.0.5:8000/v1"),
        (&["--draft", "gpt"], "--draft"),
        (&["--draft", "claude", "--draft-timeout", "0"], "--draft-timeout"),
        (&["--draft", "claude", "--draft-retries", "11"], "--draft-retries"),
    ] {
        for command in [&["diagnose", "no-such-file"][..], &["tools", "apply-draft", "no-such-file", "--tools", TOOLS]]
        {
            let output = with_key(None).args(command).args(arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
            assert!(told(&output).contains(hint), "{arguments:?}: {}", told(&output));
        }
    }
    let output = with_key(Some("  ")).args(["diagnose", "x", "--draft", "claude"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a blank key is none");
    let output = with_key(Some("secret \u{1}key")).args(["diagnose", "x", "--draft", "claude"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!told(&output).contains("secret"), "{}", told(&output));
}

#[test]
fn draft_of_a_model_can_be_applied() {
    let place = Place::seeded();
    let server = ModelServer::answering([claude_says(DRAFT)]);
    let apply = |output: &Path| {
        let mut command = with_key(Some(KEY));
        command.args(["tools", "apply-draft", "--tools", TOOLS, "--db"]).arg(place.db()).arg("-o").arg(output);
        command.args(["--yes", "--draft", "claude", "--draft-base-url", &server.url()]).output().unwrap()
    };
    for name in ["first.json", "second.json"] {
        let copy = place.path(name);
        let output = apply(&copy);
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let before = fs::read_to_string(repository().join(TOOLS)).unwrap();
        let expected = before.replacen("기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다.", DRAFT, 1);
        assert_eq!(fs::read_to_string(&copy).unwrap(), expected);
        assert_silent(&output);
    }
    assert_eq!(server.seen().len(), 1, "the second time it is in the store");
}
