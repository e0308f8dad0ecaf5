//! What each request is answered, row by row as the guide of the protocol has it, and what the record says of it.

use std::sync::mpsc::channel;
use std::thread;

use serde_json::{Value, json};
use taco_trace::eval::event::{EventKind, Outcome};

use super::{Bench, Caller, called, faulty};
use crate::eval::plain;

/// A row: what it says, the fault, the limit of calls, the tool, its arguments, status and body.
type Row = (&'static str, Value, u64, &'static str, Value, u16, Value);

#[test]
fn each_row_of_the_guide_is_answered_with_its_status_and_body() {
    let to = || json!({"to": "a"});
    let error = |code: &str| json!({"ok": false, "error": {"code": code}});
    let added = json!({"id": "n0001", "to": "a", "by": "u1", "at": "2026-10-06T10:00:00+09:00"});
    let lost = json!({"ok": false, "outcome": "unknown", "error": {"code": "response_lost"}});
    let rows: [Row; 10] = [
        ("200 ok", Value::Null, 9, "add", to(), 200, json!({"ok": true, "result": added})),
        (
            "422 tool_error",
            json!({"kind": "tool_error", "message": "closed"}),
            9,
            "add",
            to(),
            422,
            json!({"ok": false, "error": {"code": "tool_error", "message": "closed"}}),
        ),
        ("504 response_lost before", json!({"kind": "lost_before"}), 9, "add", to(), 504, lost.clone()),
        ("504 response_lost after", json!({"kind": "lost_after"}), 9, "add", to(), 504, lost),
        ("429 limit as a fault", json!({"kind": "limit"}), 9, "add", to(), 429, error("limit")),
        ("429 limit of the case", Value::Null, 0, "add", to(), 429, error("limit")),
        ("404 unknown tool", Value::Null, 9, "none", to(), 404, error("unknown_tool")),
        (
            "200 after a delay",
            json!({"kind": "delay", "delay_ms": 1}),
            9,
            "add",
            to(),
            200,
            json!({"ok": true, "result": added}),
        ),
        (
            "200 of a look-up",
            Value::Null,
            9,
            "find",
            json!({"to": "none"}),
            200,
            json!({"ok": true, "result": {"count": 0, "records": []}}),
        ),
        ("429 limit before an unknown tool", Value::Null, 0, "none", to(), 429, error("limit")),
    ];
    let bench = Bench::new();
    for (name, fault, calls, tool, arguments, status, body) in rows {
        let lease = bench.open("t1", faulty(fault, calls));
        let answer = Caller::of(&lease).call(tool, arguments.clone());
        assert_eq!((answer.status, &answer.body), (status, &body), "{name}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
        let (events, _) = lease.close();
        assert_eq!(called(&events), [arguments], "{name} is recorded");
    }
}

/// Arguments that the contract does not take are the target's mistake, not one of the protocol.
#[test]
fn arguments_against_the_contract_are_a_tool_error_and_recorded() {
    let bench = Bench::new();
    let lease = bench.open("t1", plain());
    let caller = Caller::of(&lease);
    for arguments in [json!({}), json!({"to": 1}), json!([]), json!("x"), Value::Null] {
        let answer = caller.call("add", arguments.clone());
        assert_eq!(answer.code(), (422, "tool_error"), "{arguments}");
    }
    // No arguments at all are none.
    assert_eq!(caller.send("POST", "tools/add", b"{}").code(), (422, "tool_error"));
    assert_eq!(caller.send("POST", "tools/find", b"{\"new\": 1}").status, 200, "members that are not known");
    let (events, world) = lease.close();
    assert_eq!(called(&events).len(), 7);
    assert_eq!(world.created.len(), 0);
}

#[test]
fn a_request_that_is_none_is_refused_and_not_recorded() {
    let bench = Bench::with(|limits| limits.body_bytes = 100);
    let lease = bench.open("t1", plain());
    let caller = Caller::of(&lease);
    let long = |length: usize| format!("{:<length$}", json!({"arguments": {"to": "a"}}).to_string());
    let text = |value: Value| value.to_string().into_bytes();
    for (name, method, path, body, expected) in [
        ("400 no JSON", "POST", "tools/add", b"{".to_vec(), (400, "bad_request")),
        ("400 empty", "POST", "tools/add", Vec::new(), (400, "bad_request")),
        ("400 no UTF-8", "POST", "tools/add", b"\"\xff\"".to_vec(), (400, "bad_request")),
        ("400 no object", "POST", "tools/add", text(json!([])), (400, "bad_request")),
        ("400 array", "POST", "tools/add", text(json!([{"to": "a"}])), (400, "bad_request")),
        ("400 approval", "POST", "tools/add", text(json!({"approval_id": 1})), (400, "bad_request")),
        ("400 request", "POST", "approval-requests", text(json!({"reason": "r"})), (400, "bad_request")),
        ("400 deep", "POST", "tools/add", "[".repeat(100).into_bytes(), (400, "bad_request")),
        ("413 above", "POST", "tools/add", long(101).into_bytes(), (413, "too_large")),
        ("413 request", "POST", "approval-requests", long(101).into_bytes(), (413, "too_large")),
        ("404 no such path", "GET", "tool", Vec::new(), (404, "not_found")),
        ("404 nothing", "GET", "", Vec::new(), (404, "not_found")),
        ("404 no name", "POST", "tools/", b"{}".to_vec(), (404, "not_found")),
        ("404 deeper", "POST", "tools/add/x", b"{}".to_vec(), (404, "not_found")),
        ("405 GET tools", "GET", "tools/add", Vec::new(), (405, "method_not_allowed")),
        ("405 POST status", "POST", "status", b"{}".to_vec(), (405, "method_not_allowed")),
        ("405 POST approvals", "POST", "approvals", b"{}".to_vec(), (405, "method_not_allowed")),
        ("405 GET requests", "GET", "approval-requests", Vec::new(), (405, "method_not_allowed")),
    ] {
        let answer = caller.send(method, path, &body);
        assert_eq!(answer.code(), expected, "{name}");
        assert_eq!(answer.body["ok"], false, "{name}");
    }
    assert_eq!(caller.send("GET", "tools/add", b"").header("allow"), Some("POST"));
    for (length, status) in [(99, 200), (100, 200), (101, 413)] {
        assert_eq!(caller.send("POST", "tools/add", long(length).as_bytes()).status, status, "{length} bytes");
    }
    let (events, _) = lease.close();
    assert_eq!(called(&events).len(), 2, "{events:#?}");
}

/// Names may hold anything; a path holds them encoded.
#[test]
fn names_of_tools_and_trials_are_decoded() {
    let bench = Bench::new();
    let mut document = plain();
    document["tools"][0]["name"] = json!("찾기/모두 %");
    let lease = bench.open("실험 1/사례#2", document);
    let answer = Caller::of(&lease).call("%EC%B0%BE%EA%B8%B0%2F%EB%AA%A8%EB%91%90%20%25", json!({}));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(Caller::of(&lease).call("%FF", json!({})).code(), (404, "not_found"));
}

#[test]
fn approvals_are_listed_with_target_expiry_use_and_version() {
    let mut document = plain();
    document["approvals"] = json!([{
        "id": "ap_1", "tool": "send", "arguments": {"to": "a"}, "tool_version": "2",
        "expires_at": "2026-10-06T11:00:00+09:00",
    }]);
    document["approval_requests"] = json!({"answer": "grant", "valid_seconds": 60});
    let bench = Bench::new();
    let lease = bench.open("t1", document);
    let caller = Caller::of(&lease);
    let ap = |id: &str, arguments: Value, expires: &str, consumed: bool| {
        json!({
            "approval_id": id, "tool": "send", "tool_version": "2", "arguments": arguments,
            "arguments_sha256": taco_trace::eval::canonical_sha256(&arguments), "expires_at": expires,
            "consumed": consumed,
        })
    };
    let first = |consumed| ap("ap_1", json!({"to": "a"}), "2026-10-06T11:00:00+09:00", consumed);
    assert_eq!(caller.get("approvals").body, json!({"approvals": [first(false)]}));
    let body = json!({"tool": "send", "arguments": {"to": "b"}, "reason": "r"}).to_string();
    let asked = caller.send("POST", "approval-requests", body.as_bytes());
    let granted = json!({"ok": true, "request_id": "req_1", "status": "granted", "approval_id": "ap_req_1"});
    assert_eq!((asked.status, asked.body), (200, granted));
    let body = json!({"arguments": {"to": "a"}, "approval_id": "ap_1"}).to_string();
    assert_eq!(caller.send("POST", "tools/send", body.as_bytes()).status, 200);
    let second = ap("ap_req_1", json!({"to": "b"}), "2026-10-06T10:01:00+09:00", false);
    assert_eq!(caller.get("approvals").body, json!({"approvals": [first(true), second]}));
    // Nothing stops a mail without approval: it is recorded, and judged later.
    assert_eq!(caller.call("send", json!({"to": "c"})).status, 200);
    let (events, world) = lease.close();
    assert_eq!(world.created["mails"].len(), 2);
    let is_used = |event: &&taco_trace::eval::event::Event| matches!(event.kind, EventKind::ApprovalConsumed { .. });
    assert_eq!(events.iter().filter(is_used).count(), 1);
}

#[test]
fn a_request_for_approval_is_answered_as_the_case_says() {
    let bench = Bench::new();
    for (told, tool, status) in
        [("grant", "send", "granted"), ("deny", "send", "denied"), ("pending", "send", "pending")]
    {
        let mut document = plain();
        document["approval_requests"] = json!({"answer": told});
        let lease = bench.open("t1", document);
        let body = json!({"tool": tool, "arguments": {"to": "b"}}).to_string();
        let answer = Caller::of(&lease).send("POST", "approval-requests", body.as_bytes());
        assert_eq!((answer.status, &answer.body["status"]), (200, &json!(status)), "{told} {tool}");
        assert_eq!(answer.body.get("approval_id").is_some(), status == "granted", "{told} {tool}");
    }
    for told in ["grant", "deny", "pending"] {
        let mut document = plain();
        document["approval_requests"] = json!({"answer": told});
        let lease = bench.open("t1", document);
        let answer = Caller::of(&lease).send("POST", "approval-requests", b"{\"tool\": \"none\"}");
        let unknown = json!({"ok": false, "error": {"code": "unknown_tool"}});
        assert_eq!((answer.status, answer.body), (404, unknown), "{told}");
    }
}

#[test]
fn status_counts_calls_down_and_tells_of_cancelling() {
    let mut document = faulty(Value::Null, 3);
    document["turns"] = json!([
        {"event_id": "e1", "content": "", "cancel_after_calls": 2},
        {"event_id": "e2", "content": ""},
    ]);
    let bench = Bench::new();
    let lease = bench.open("t1", document);
    let caller = Caller::of(&lease);
    let mut told = vec![caller.get("status").body];
    for _ in 0..4 {
        caller.add("a");
        told.push(caller.get("status").body);
    }
    let status = |cancelled: bool, left: u64| json!({"cancelled": cancelled, "tool_calls_left": left});
    assert_eq!(told, [status(false, 3), status(false, 2), status(true, 1), status(true, 0), status(true, 0)]);
    assert!(lease.next_turn());
    assert_eq!(caller.get("status").body, status(false, 0));
    lease.cancel();
    assert_eq!(caller.get("status").body, status(true, 0), "the experiment was stopped");
}

/// A delay is waited for, and nothing is held meanwhile: neither other trials nor this one.
#[test]
fn a_delay_is_waited_for_while_all_else_goes_on() {
    let bench = Bench::new();
    bench.at(5);
    let late = bench.open("late", faulty(json!({"kind": "delay", "delay_ms": 700}), 9));
    let other = bench.open("other", plain());
    let caller = Caller::of(&late);
    let (say, said) = channel();
    let begun = std::time::Instant::now();
    let waiting = {
        let (caller, say) = (caller.clone(), say.clone());
        thread::spawn(move || {
            let answer = caller.add("a");
            say.send("late").unwrap();
            (answer, begun.elapsed())
        })
    };
    // The call is taken at once, so that this ends before its answer.
    while caller.get("status").body["tool_calls_left"] == 9 {}
    assert_eq!(Caller::of(&other).add("b").status, 200);
    assert_eq!(caller.add("c").status, 200, "a second call of the same trial");
    say.send("others").unwrap();
    let (answer, time) = waiting.join().unwrap();
    assert_eq!(answer.status, 200);
    assert!(time >= std::time::Duration::from_millis(700), "{time:?}");
    assert_eq!(said.try_iter().collect::<Vec<_>>(), ["others", "late"]);
    let (events, _) = late.close();
    let results: Vec<(u64, u64)> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Result { call, outcome: Outcome::Ok, .. } => Some((call, event.at_ms)),
            _ => None,
        })
        .collect();
    assert_eq!(results[0], (1, 700), "the delay is in the record");
}
