//! The options of a model on the command line, through `demo run`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use super::super::support_cli::{Place, program, told};
use super::super::support_model::{Answer, ModelServer, claude, claude_says, gpt_says};
use super::KEY;

const QUESTION: &str = "재무과 규정에서 대금 지급 기한을 알려 주세요.";

/// `demo run` of that question with these options, with the key of the tests or none.
fn ask(key: Option<&str>, options: &[&str]) -> Output {
    let mut command: Command = program();
    command.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY");
    if let Some(key) = key {
        command.env("ANTHROPIC_API_KEY", key).env("OPENAI_API_KEY", key);
    }
    command.args(["demo", "run", QUESTION, "--simulated-time", "--format", "json"]).args(options).output().unwrap()
}

/// The same of `anthropic:m` at that server.
fn ask_claude(server: &ModelServer, options: &[&str]) -> Output {
    let first = ["--model", "anthropic:m", "--model-retries", "0", "--base-url"];
    ask(Some(KEY), &[&first[..], &[&server.url()], options].concat())
}

fn run_of(output: &Output) -> Value {
    let runs: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(output)));
    runs[0].clone()
}

fn assert_silent(output: &Output) {
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(!out.contains(KEY) && !told(output).contains(KEY), "{out}{}", told(output));
}

/// Two requests: a call of a tool, then the answer.
fn calling() -> [Answer; 2] {
    let input = json!({ "dept_name": "재무과" });
    let call = json!([{ "type": "tool_use", "id": "t1", "name": "org_chart_lookup", "input": input }]);
    [Answer::ok(&claude(&call, "tool_use")), claude_says("30일 안에 지급합니다.")]
}

#[test]
fn record_is_not_written_behind_a_store() {
    let place = Place::new();
    drop(taco_trace::store::Store::open(&place.db()).unwrap());
    let before = fs::read(place.db()).unwrap();
    let db = place.db();
    let output = ask(Some(KEY), &["--model", "anthropic:m", "--record", db.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("저장소 파일 위에는"), "{}", told(&output));
    assert_eq!(fs::read(place.db()).unwrap(), before);
}

#[test]
fn models_are_named_by_provider() {
    for wrong in ["", "claude", "anthropic", "anthropic:", "anthropic: ", "openai:", "gemini:x", "script:x"] {
        let output = ask(Some(KEY), &["--model", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(told(&output).contains("--model"), "{wrong}: {}", told(&output));
    }
    // A name may hold colons itself, as those of Ollama do.
    let server = ModelServer::answering([gpt_says("예.")]);
    let url = format!("{}/v1", server.url());
    let output = ask(None, &["--model", "openai:qwen3:8b", "--base-url", &url]);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(server.only().body["model"], "qwen3:8b");
}

#[test]
fn key_that_is_missing_is_named() {
    for (model, variable) in [("anthropic:m", "ANTHROPIC_API_KEY"), ("openai:m", "OPENAI_API_KEY")] {
        let output = ask(None, &["--model", model]);
        assert_eq!(output.status.code(), Some(2));
        assert!(told(&output).contains(variable), "{}", told(&output));
    }
}

#[test]
fn amounts_that_are_none_and_a_cap_without_a_price_are_wrong_use() {
    for options in [
        &["--max-cost", "1"][..],
        &["--max-cost", "1", "--price", "other=3,15"],
        &["--max-cost", "-1", "--price", "3,15"],
        &["--max-cost", "1", "--price", "3"],
        &["--max-cost", "1", "--price", "3,15,1"],
        &["--max-cost", "1", "--price", "a,b"],
        &["--max-calls", "many"],
        &["--model-timeout", "0"],
        &["--model-timeout", "3601"],
        &["--model-retries", "11"],
        &["--record", "a", "--replay", "b"],
    ] {
        let output =
            ask(Some(KEY), &[&["--model", "anthropic:m", "--base-url", "http://127.0.0.1:9"], options].concat());
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", told(&output));
    }
    let output = ask(Some(KEY), &["--model", "anthropic:m", "--max-cost", "1"]);
    assert!(told(&output).contains("--price 3,15"), "{}", told(&output));
}

#[test]
fn caps_stop_between_requests() {
    for (options, sent) in [
        (&["--max-calls", "0"][..], 0),
        (&["--max-calls", "1"], 1),
        (&["--max-calls", "2"], 2),
        (&["--max-cost", "100", "--price", "3,15"], 2),
        (&["--max-cost", "0.000001", "--price", "3,15"], 0),
        // The model's own price goes before that of all.
        (&["--max-cost", "0.000001", "--price", "3,15", "--price", "m=0,0"], 2),
        (&["--max-cost", "0.000001", "--price", "anthropic=0,0", "--price", "3,15"], 0),
    ] {
        let server = ModelServer::answering(calling());
        let output = ask_claude(&server, options);
        assert_eq!(server.seen().len(), sent, "{options:?}: {}", told(&output));
        assert_eq!(run_of(&output)["status"] == "ok", sent == 2, "{options:?}: {}", run_of(&output));
        assert_silent(&output);
    }
}

#[test]
fn what_was_recorded_is_replayed_without_a_server_or_a_key() {
    let place = Place::new();
    let (record, first, second) = (place.path("record.jsonl"), place.path("1.jsonl"), place.path("2.jsonl"));
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let server = ModelServer::answering(calling());
    let recorded = ask_claude(&server, &["--record", &text(&record), "--traces", &text(&first)]);
    assert_eq!(recorded.status.code(), Some(0), "{}", told(&recorded));
    assert_eq!(server.seen().len(), 2);
    drop(server);
    let written = fs::read_to_string(&record).unwrap();
    assert_eq!(written.lines().count(), 2);
    assert!(!written.contains(KEY) && !fs::read_to_string(&first).unwrap().contains(KEY));
    let replay =
        |model: &str, more: &[&str]| ask(None, &[&["--model", model, "--replay", &text(&record)][..], more].concat());
    let replayed = replay("anthropic:m", &["--traces", &text(&second)]);
    assert_eq!(replayed.status.code(), Some(0), "{}", told(&replayed));
    assert_eq!(run_of(&replayed)["answer"], run_of(&recorded)["answer"]);
    // Times of a real model are not simulated, all else is the same.
    assert_eq!(fs::read_to_string(&second).unwrap().lines().count(), 1);

    let other = replay("anthropic:other", &[]);
    assert_ne!(run_of(&other)["status"], "ok");
    place.write("broken.jsonl", format!("{written}{{\n"));
    let broken = ask(None, &["--model", "anthropic:m", "--replay", &text(&place.path("broken.jsonl"))]);
    assert_eq!(broken.status.code(), Some(3));
    assert!(told(&broken).contains("broken.jsonl:3"), "{}", told(&broken));
    let missing = ask(None, &["--model", "anthropic:m", "--replay", "no-such-file"]);
    assert_eq!(missing.status.code(), Some(3));
}

#[test]
fn server_that_refuses_is_told_without_the_key() {
    let body = json!({ "error": { "message": format!("bad key {KEY}") } });
    let server = ModelServer::answering([Answer::status(401, &body)]);
    let output = ask_claude(&server, &[]);
    assert_ne!(run_of(&output)["status"], "ok");
    assert_silent(&output);
    assert_eq!(server.seen().len(), 1);
}
