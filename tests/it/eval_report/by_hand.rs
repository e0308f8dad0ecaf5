//! `eval serve --case`: a trial that the test takes through its turns, calling the mock tools as a target would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::repository;
use crate::support_cli::{Place, program, terminated, told};

fn case(name: &str) -> PathBuf {
    repository().join("fixtures/eval/cases").join(name)
}

/// A server with an open trial; it ends with the test.
struct Hand {
    child: Child,
    address: String,
    answers: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Hand {
    fn new(place: &Place, name: &str, more: &[&str]) -> Self {
        let mut command = program();
        command
            .args(["eval", "serve", "--listen", "127.0.0.1:0", "--db"])
            .arg(place.db())
            .arg("--case")
            .arg(case(name));
        command.args(more).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/api/ci/gate"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let answers = child.stdin.take();
        Self { child, address, answers, lines }
    }

    /// The next line of standard output.
    fn json(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    fn answer(&mut self, text: &str) {
        writeln!(self.answers.as_mut().unwrap(), "{text}").unwrap();
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &Value) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = body.to_string();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
    }

    fn stop(mut self) -> (Option<i32>, String) {
        terminated(&mut self.child)
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The path of the sandbox and the token that a turn tells.
fn access(hand: &Hand, turn: &Value) -> (String, String) {
    let base = turn["sandbox"]["base_url"].as_str().unwrap();
    let path = base.strip_prefix(&format!("http://{}", hand.address)).unwrap_or_else(|| panic!("{base}"));
    (path.to_owned(), turn["sandbox"]["token"].as_str().unwrap().to_owned())
}

#[test]
fn trial_is_taken_through_its_turns_judged_and_left_as_traces() {
    let place = Place::new();
    let traces = place.path("traces.jsonl");
    let mut hand = Hand::new(&place, "13-duplicate-event.json", &["--traces", traces.to_str().unwrap()]);
    let first = hand.json();
    assert_eq!((&first["protocol"], &first["turn"]), (&json!("irumx-eval-target/1"), &json!(1)));
    assert_eq!(first["message"]["event_id"], "evt_n13_1");
    let (path, token) = access(&hand, &first);
    let call = |tool: &str, arguments: Value| {
        hand.send("POST", &format!("{path}/tools/{tool}"), &token, &json!({ "arguments": arguments }))
    };
    let reserve = json!({ "room": "R2", "time": "2026-10-08T14:00" });
    assert_eq!(call("cancel_reservation", json!({ "id": "RV-0001" })).0, 200);
    assert_eq!(call("reserve_room", reserve).0, 200);
    assert_eq!(call("none", json!({})), (404, json!({ "ok": false, "error": { "code": "unknown_tool" } })));
    let status = hand.send("GET", &format!("{path}/status"), &token, &json!({}));
    assert_eq!(status, (200, json!({ "cancelled": false, "tool_calls_left": 5 })));
    hand.answer("R2 를 잡았습니다.");
    let second = hand.json();
    assert_eq!((&second["turn"], &second["trial_id"]), (&json!(2), &first["trial_id"]));
    let proposal = json!({ "type": "proposal", "tool": "reserve_room", "arguments": {}, "blocked": true });
    hand.answer(&json!({ "output": { "text": "이미 처리했습니다." }, "events": [proposal] }).to_string());
    let ended = hand.json();
    assert_eq!((&ended["verdict"], &ended["case_id"]), (&json!("PASS"), &json!("13-duplicate-event")), "{ended}");
    let kinds: Vec<&str> =
        ended["events"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "call").count(), 3, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "proposal").count(), 1, "{kinds:?}");
    let answers: Vec<&Value> = ended["events"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["kind"] == "answer")
        .map(|one| &one["event"]["text"])
        .collect();
    assert_eq!(answers, ["R2 를 잡았습니다.", "이미 처리했습니다."]);
    // The trial is over and its token dead; the gate still answers, without a store with 503.
    let dead = hand.send("GET", &format!("{path}/status"), &token, &json!({}));
    assert_eq!(dead, (401, json!({ "ok": false, "error": { "code": "unauthorized" } })));
    let gate = format!("/api/ci/gate?config_hash={}", "0".repeat(64));
    assert_eq!(hand.send("GET", &gate, &taco_trace::gate::new_token().unwrap(), &json!({})).0, 503);
    let (code, said) = hand.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("일어난 일") && said.contains("통과"), "{said}");
    for line in said.lines().filter(|line| !line.contains("http://") && !line.contains("503")) {
        assert!(taco_trace::render::layout::width(line) <= 80, "{line}");
    }
    // What was done by hand is read as any other trace.
    let read = program().current_dir(place.path("")).args(["ingest", "traces.jsonl"]).output().unwrap();
    assert_eq!(read.status.code(), Some(0), "{}", told(&read));
    assert_eq!(place.rows("SELECT COUNT(*) FROM traces"), ["2"]);
}

#[test]
fn trial_that_is_broken_off_is_cancelled_and_what_happened_is_told() {
    let place = Place::new();
    let mut hand = Hand::new(&place, "02-approved-mail.json", &["--quiet"]);
    let turn = hand.json();
    let (path, token) = access(&hand, &turn);
    assert_eq!(hand.send("GET", &format!("{path}/approvals"), &token, &json!({})).0, 200);
    // An end of the input ends nothing.
    hand.answers = None;
    assert_eq!(hand.send("GET", &format!("{path}/status"), &token, &json!({})).0, 200);
    let (code, said) = terminated(&mut hand.child);
    let ended = hand.json();
    assert_eq!((&ended["verdict"], code), (&json!("CANCELLED"), Some(0)), "{ended}");
    assert_eq!(said, "", "--quiet");
}

#[test]
fn token_of_another_trial_is_refused() {
    let place = Place::new();
    let mut hand = Hand::new(&place, "02-approved-mail.json", &[]);
    hand.json();
    let unauthorized = (401, json!({ "ok": false, "error": { "code": "unauthorized" } }));
    for path in ["/api/sandbox/other/status", "/api/sandbox/other/tools/send_email"] {
        assert_eq!(hand.send("POST", path, &"0".repeat(64), &json!({})), unauthorized, "{path}");
    }
    assert_eq!(hand.send("GET", "/api/sandbox/", "x", &json!({})).0, 404);
    hand.stop();
}

#[test]
fn what_cannot_be_served_is_told_before_anything_listens() {
    let place = Place::new();
    let serve = |more: &[&str]| {
        let output = program().current_dir(place.path("")).args(["eval", "serve"]).args(more).output().unwrap();
        (output.status.code(), told(&output))
    };
    let (code, said) = serve(&["--case", "none.json"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("none.json"), "{said}");
    place.write("bad.json", "{\"format\": \"irumx-eval-case/1\"}");
    let (code, said) = serve(&["--case", "bad.json"]);
    assert_eq!(code, Some(1), "{said}");
    let good = case("02-approved-mail.json");
    let good = good.to_str().unwrap();
    let (code, said) = serve(&["--case", good, "--sandbox-url", "ftp://x"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = serve(&["--case", good, "--traces", good]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = serve(&["--case", good, "--traces", "none/traces.jsonl"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("none/traces.jsonl"), "{said}");
    let (code, said) = serve(&["--sandbox-url", "https://x"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = serve(&[]);
    assert_eq!(code, Some(3), "a store that is not there: {said}");
}

#[test]
fn public_address_of_the_sandbox_stands_in_the_turn() {
    let place = Place::new();
    let mut hand = Hand::new(&place, "02-approved-mail.json", &["--sandbox-url", "https://eval.example.com/"]);
    let turn = hand.json();
    let base = turn["sandbox"]["base_url"].as_str().unwrap();
    assert!(base.starts_with("https://eval.example.com/api/sandbox/"), "{base}");
    hand.stop();
}
