//! The client over real sockets: what it sends, and each way in which a target cannot be asked.

use std::net::{IpAddr, TcpListener};
use std::time::Duration;

use serde_json::json;
use taco_trace::chat::key::Key;
use taco_trace::eval::event::FailureSource;
use taco_trace::target::address::system;
use taco_trace::target::{AuthHeader, HttpTarget, Limits, TargetError, TurnRequest};

use crate::eval::{case, plain};
use crate::support_model::{Answer, ModelServer};

const SECRET: &str = "s3cret-\"of\"-the-target";

fn auth(name: &str, value: &str) -> Result<AuthHeader, TargetError> {
    AuthHeader::new(name, &Key::new(value).unwrap())
}

fn target(url: &str, limits: Limits) -> HttpTarget {
    let header = auth("X-Agent-Key", &format!("Token {SECRET}")).unwrap();
    HttpTarget::new(url, true, &system, Some(header), limits).unwrap()
}

/// What comes of a preflight and of a turn that are answered so.
fn asked(answer: Answer, limits: Limits) -> [TargetError; 2] {
    let server = ModelServer::answering([answer]);
    let target = target(&server.url(), limits);
    let case = case(plain());
    let turn = TurnRequest::new(&case, "t1", 1, None).unwrap();
    [target.preflight().unwrap_err(), target.turn(&turn, Duration::from_secs(60)).unwrap_err()]
}

#[test]
fn a_turn_and_a_preflight_are_sent_and_read() {
    let ready = json!({"protocol": "irumx-eval-target/1", "name": "a", "version": "1"});
    let server = ModelServer::answering([Answer::ok(&ready), Answer::ok(&json!({"output": {"text": "done"}}))]);
    let target = target(&format!("{}/agent?x=1", server.url()), Limits::default());
    assert_eq!(target.preflight().unwrap().name, "a");
    let case = case(plain());
    let turn = TurnRequest::new(&case, "t1", 1, None).unwrap();
    assert_eq!(target.turn(&turn, Duration::from_secs(60)).unwrap().text, "done");
    let seen = server.seen();
    assert_eq!(seen[0].body, json!({"protocol": "irumx-eval-target/1", "type": "preflight"}));
    assert_eq!(seen[1].body, serde_json::to_value(&turn).unwrap());
    for request in seen {
        assert_eq!(request.path, "/agent?x=1");
        assert_eq!(request.header("x-agent-key"), Some(format!("Token {SECRET}").as_str()));
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert!(request.header("user-agent").unwrap().starts_with("taco-trace/"));
    }
}

/// Each failure is one of the connection, which is never held against the target, and its text holds no secret.
#[test]
fn each_failure_has_its_kind_and_is_one_of_the_connection() {
    let said = || json!({"error": {"message": format!("no access with {SECRET}\u{7}\nat all")}});
    let text = |body: &str| Answer::Json(200, Vec::new(), body.to_owned());
    let limits = Limits { answer_bytes: 200, request: Duration::from_millis(300), ..Limits::default() };
    let rows = [
        ("3xx", Answer::status(302, &json!({})).with("location", "http://127.0.0.1:1/"), "target_redirected"),
        ("3xx without a place", Answer::status(304, &json!({})), "target_redirected"),
        ("4xx", Answer::status(401, &said()), "target_refused"),
        ("4xx of many requests", Answer::status(429, &said()), "target_refused"),
        ("5xx", Answer::status(500, &said()), "target_failed"),
        ("5xx of a proxy", Answer::Json(503, Vec::new(), format!("<p>{SECRET}</p>")), "target_failed"),
        ("2xx that is not 200", Answer::status(201, &json!({"output": {"text": "a"}})), "target_status"),
        ("no JSON", text("<html>"), "target_unreadable"),
        ("empty", text(""), "target_unreadable"),
        ("another form", text("[]"), "target_unreadable"),
        ("too long", text(&format!("\"{}\"", "a".repeat(199))), "target_too_large"),
        ("cut", Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{".to_vec()), "target_unreachable"),
        ("no HTTP", Answer::Bytes(b"SSH-2.0-x\r\n".to_vec()), "target_unreachable"),
        ("hung up", Answer::Bytes(Vec::new()), "target_unreachable"),
        ("time-out", Answer::Silence, "target_timed_out"),
    ];
    for (name, answer, code) in rows {
        for error in asked(answer.clone(), limits) {
            assert_eq!((error.code(), error.source()), (code, FailureSource::Connection), "{name}: {error}");
            let shown = format!("{error} {error:?}");
            assert!(!shown.contains("s3cret") && !shown.contains('\u{7}'), "{name}: {shown}");
        }
    }
    let [preflight, turn] = asked(Answer::ok(&json!({"protocol": "other/1", "name": "a", "version": "1"})), limits);
    assert_eq!((preflight.code(), turn.code()), ("target_protocol", "target_unreadable"));
    assert_eq!(asked(Answer::status(404, &said()), limits)[0].to_string().matches("***").count(), 1);
}

#[test]
fn an_answer_below_at_and_above_the_limit() {
    let body = json!({"protocol": "irumx-eval-target/1", "name": "a", "version": "1"});
    let length = body.to_string().len() as u64;
    for (limit, is_read) in [(length - 1, false), (length, true), (length + 1, true)] {
        let server = ModelServer::answering([Answer::ok(&body)]);
        let found = target(&server.url(), Limits { answer_bytes: limit, ..Limits::default() }).preflight();
        assert_eq!(found.is_ok(), is_read, "{limit}: {found:?}");
    }
}

#[test]
fn a_turn_waits_no_longer_than_is_left() {
    let server = ModelServer::answering([Answer::Silence]);
    let target = target(&server.url(), Limits::default());
    let case = case(plain());
    let turn = TurnRequest::new(&case, "t1", 1, None).unwrap();
    let found = target.turn(&turn, Duration::from_millis(100));
    assert_eq!(found, Err(TargetError::TimedOut { seconds: 1 }));
    assert_eq!(server.seen().len(), 1, "it is not asked again");
}

#[test]
fn nobody_there_is_a_failure_of_the_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = target(&url, Limits::default()).preflight().unwrap_err();
    assert_eq!(error.code(), "target_unreachable", "{error}");
}

/// A redirect is not followed, whatever the rules: the second server is never asked.
#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = ModelServer::answering([Answer::ok(&json!({}))]);
    for status in [301, 302, 303, 307, 308] {
        let server = ModelServer::answering([Answer::status(status, &json!({})).with("location", &elsewhere.url())]);
        let found = target(&server.url(), Limits::default()).preflight();
        assert_eq!(found, Err(TargetError::Redirected { status }));
    }
    assert_eq!(elsewhere.seen().len(), 0);
}

/// The client connects to the addresses that were judged, whatever the system would say of the name.
#[test]
fn connections_go_to_the_pinned_addresses() {
    let ready = json!({"protocol": "irumx-eval-target/1", "name": "a", "version": "1"});
    let server = ModelServer::answering([Answer::ok(&ready)]);
    let port = server.url().rsplit(':').next().unwrap().to_owned();
    let local = |_: &str| Ok(vec![IpAddr::from([127, 0, 0, 1])]);
    let url = format!("http://agent.example.com:{port}/");
    let target = HttpTarget::new(&url, true, &local, None, Limits::default()).unwrap();
    assert_eq!(target.preflight().unwrap().version, "1");
    assert_eq!(server.only().header("host"), Some(format!("agent.example.com:{port}").as_str()));
    let refused = HttpTarget::new("https://agent.example.com/", false, &local, None, Limits::default());
    assert_eq!(refused.unwrap_err().code(), "address_not_public");
}

#[test]
fn the_value_of_the_header_is_shown_nowhere() {
    let echo = json!({
        "output": {"text": format!("I have {SECRET}")},
        "events": [{"type": "proposal", "tool": "add", "arguments": {SECRET: [SECRET]}}, {"x": format!("Token {SECRET}")}],
    });
    let server = ModelServer::answering([Answer::ok(&echo)]);
    let target = target(&server.url(), Limits::default());
    let case = case(plain());
    let turn = TurnRequest::new(&case, "t1", 1, None).unwrap();
    let answer = target.turn(&turn, Duration::from_secs(60)).unwrap();
    assert_eq!(answer.text, "I have ***");
    for shown in [format!("{answer:?}"), format!("{target:?}"), format!("{:?}", auth("X-Agent-Key", SECRET))] {
        assert!(!shown.contains("s3cret"), "{shown}");
    }
    let line = auth("Authorization", "Bearer a\nb").unwrap_err();
    assert!(!line.to_string().contains("Bearer"), "{line}");
    for name in ["", "a b", "Host", "content-length", "Content-Type", "Connection", "Transfer-Encoding"] {
        assert_eq!(auth(name, SECRET).unwrap_err().code(), "target_setup", "{name}");
    }
}
