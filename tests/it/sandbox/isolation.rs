//! Tokens: of one trial, for as long as it lasts, shown nowhere.

use std::net::TcpListener;

use serde_json::json;
use taco_trace::model::SandboxAccess;
use taco_trace::sandbox::{OpenError, Sandbox, StartError};

use super::{Bench, Caller, called, setup, shared};
use crate::eval::plain;

const UNAUTHORIZED: (u16, &str) = (401, "unauthorized");

/// Every endpoint with a body that it would take.
const ENDPOINTS: [(&str, &str, &[u8]); 4] = [
    ("POST", "tools/add", b"{\"arguments\": {\"to\": \"a\"}}"),
    ("POST", "approval-requests", b"{\"tool\": \"send\"}"),
    ("GET", "approvals", b""),
    ("GET", "status", b""),
];

fn all_refused(caller: &Caller, why: &str) {
    for (method, path, body) in ENDPOINTS {
        let answer = caller.send(method, path, body);
        assert_eq!(answer.code(), UNAUTHORIZED, "{why}: {method} {path}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{why}");
    }
}

#[test]
fn a_token_of_another_trial_is_401_everywhere() {
    let bench = Bench::new();
    let (one, other) = (bench.open("one", plain()), bench.open("other", plain()));
    assert_ne!(one.access().token, other.access().token);
    let mut foreign = Caller::of(&one);
    foreign.authorization = Caller::of(&other).authorization;
    all_refused(&foreign, "foreign");
    assert_eq!(Caller::of(&one).add("a").status, 200);
    assert_eq!(called(&other.close().0), [json!(null); 0]);
    assert_eq!(called(&one.close().0).len(), 1);
}

#[test]
fn a_token_is_401_after_its_trial_and_that_of_a_later_run_is_new() {
    let bench = Bench::new();
    let lease = bench.open("t1", plain());
    let (caller, token) = (Caller::of(&lease), lease.access().token.clone());
    assert_eq!(caller.add("a").status, 200);
    let (events, world) = lease.close();
    all_refused(&caller, "closed");
    assert_eq!((called(&events).len(), world.created["notes"].len()), (1, 1));
    // The same trial again, as after a resumption.
    let again = bench.open("t1", plain());
    all_refused(&caller, "of an earlier run");
    assert_ne!(again.access().token, token);
    assert_eq!(Caller::of(&again).add("b").status, 200);
    // A lease that is lost ends its trial as well.
    let caller = Caller::of(&again);
    drop(again);
    all_refused(&caller, "dropped");
}

/// A case lasts 1,000 ms; the token a minute longer, so that calls which come too late are told so.
#[test]
fn a_token_is_401_when_its_time_is_over() {
    let bench = Bench::new();
    bench.at(7);
    let lease = bench.open("t1", plain());
    let caller = Caller::of(&lease);
    assert_eq!(lease.access().expires_at, "2026-10-07T00:01:01Z");
    for (at, expected) in [(1_007, (200, "")), (1_008, (429, "limit")), (61_006, (429, "limit"))] {
        bench.at(at);
        assert_eq!(caller.add("a").code(), expected, "{at}");
    }
    for at in [61_007, 61_008, u64::MAX] {
        bench.at(at);
        all_refused(&caller, "expired");
    }
    // The runner still tells how it ended.
    lease.answer("late");
    assert_eq!(lease.time_left(), std::time::Duration::ZERO);
    assert_eq!(called(&lease.close().0).len(), 3);
}

#[test]
fn a_wrong_token_is_401_and_says_no_more_than_a_trial_that_is_not_there() {
    let bench = Bench::new();
    let lease = bench.open("t1", plain());
    let right = Caller::of(&lease);
    let token = lease.access().token.clone();
    assert_eq!(token.len(), 64, "32 random bytes in hexadecimal");
    let mut cut = token.clone();
    cut.pop();
    for authorization in [
        String::new(),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Basic {token}"),
        token.clone(),
        format!("Bearer {cut}"),
        format!("Bearer {token}0"),
        format!("Bearer {}", token.to_uppercase() + "x"),
        format!("Bearer {token} {token}"),
        format!("Bearer {token}\r\nAuthorization: Bearer {token}"),
    ] {
        all_refused(&Caller { authorization: authorization.clone(), ..right.clone() }, &authorization);
    }
    let nowhere = Caller { path: "/api/sandbox/none".to_owned(), ..right.clone() };
    let wrong = Caller { authorization: "Bearer x".to_owned(), ..right.clone() };
    assert_eq!(nowhere.get("status").body, wrong.get("status").body);
    // Nor does a path that is not there say that the trial is.
    assert_eq!(wrong.get("none").code(), UNAUTHORIZED);
    for path in ["", "/", "/api", "/status", "/api/other/t1"] {
        assert_eq!(Caller { path: path.to_owned(), ..right.clone() }.get("status").status, 404, "{path}");
    }
    let lower = Caller { authorization: format!("bearer {token}"), ..right };
    assert_eq!(lower.get("status").status, 200, "schemes are written in any case");
}

#[test]
fn no_text_shows_a_token() {
    let bench = Bench::new();
    let lease = bench.open("t1", plain());
    let access: &SandboxAccess = lease.access();
    assert!(!format!("{access:?}").contains(&access.token));
    Caller::of(&lease).add("a");
    let token = access.token.clone();
    let (events, world) = lease.close();
    assert!(!format!("{events:?}{world:?}").contains(&token));
}

#[test]
fn a_trial_is_open_once_and_has_an_id_that_a_path_can_hold() {
    let bench = Bench::new();
    let lease = bench.open("t1", plain());
    let open = |id: &str| bench.sandbox.open(id, shared(plain())).map(|_| ());
    assert_eq!(open("t1"), Err(OpenError::Open("t1".to_owned())));
    assert_eq!(Caller::of(&lease).add("a").status, 200, "the first one goes on");
    for id in ["", ".", ".."] {
        assert_eq!(open(id), Err(OpenError::Id(id.to_owned())));
    }
    drop(lease);
    assert_eq!(open("t1"), Ok(()));
}

#[test]
fn targets_are_told_the_public_address() {
    let started = |url: &str| {
        let (mut setup, _) = setup(taco_trace::sandbox::Limits::default());
        setup.public_url = Some(url.to_owned());
        Sandbox::start(TcpListener::bind("127.0.0.1:0").unwrap(), setup)
    };
    for (url, base) in [
        ("https://eval.example.com", "https://eval.example.com/api/sandbox/t%201"),
        ("https://eval.example.com:8443/lab/", "https://eval.example.com:8443/lab/api/sandbox/t%201"),
    ] {
        let sandbox = started(url).unwrap();
        assert_eq!(sandbox.open("t 1", shared(plain())).unwrap().access().base_url, base);
    }
    for url in ["", "eval.example.com", "ftp://a.example.com", "https://u@a.b", "https://a.b?x", "https://a.b#x"] {
        assert!(matches!(started(url), Err(StartError::PublicUrl)), "{url}");
    }
    let bench = Bench::new();
    let lease = bench.open("t", plain());
    assert_eq!(lease.access().base_url, format!("http://{}/api/sandbox/t", bench.sandbox.address()));
}
