//! What a sandbox takes at most, and how it ends.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};
use taco_trace::eval::event::{CancelScope, EventKind, FailureSource};

use super::{Bench, Caller, SOON, called, faulty, read};
use crate::eval::{plain, world_after};

#[test]
fn a_slow_client_is_given_up_and_hinders_nobody() {
    let bench = Bench::with(|limits| (limits.body_time, limits.head_time) = (SOON, SOON));
    let (one, other) = (bench.open("one", plain()), bench.open("other", plain()));
    let slow = Caller::of(&one);
    let mut body = slow.connect();
    body.write_all(slow.head("POST", "tools/add", "", 30).as_bytes()).unwrap();
    body.write_all(b"{\"argu").unwrap();
    let mut head = slow.connect();
    head.write_all(b"POST /api/sand").unwrap();
    let silent = slow.connect();
    for to in ["a", "b"] {
        assert_eq!(Caller::of(&other).add(to).status, 200);
        assert_eq!(slow.add(to).status, 200, "nor its own trial");
    }
    assert_eq!(read(&body).unwrap().code(), (408, "slow"));
    for mut stream in [head, silent] {
        let closed = |stream: &mut TcpStream| stream.read(&mut [0; 1]).map_or(true, |read| read == 0);
        assert!(closed(&mut stream));
    }
    assert_eq!(called(&one.close().0).len(), 2);
}

#[test]
fn headers_below_at_and_above_the_limit() {
    let bench = Bench::with(|limits| limits.headers = 6);
    let lease = bench.open("t1", plain());
    // Host, Authorization and Content-Length are three.
    for (more, expected) in [(2, (200, "")), (3, (200, "")), (4, (431, "too_many_headers"))] {
        let more: String = (0..more).map(|number| format!("X-{number}: 1\r\n")).collect();
        let body = json!({"arguments": {"to": "a"}}).to_string();
        let answer = Caller::of(&lease).send_with("POST", "tools/add", &more, body.as_bytes());
        assert_eq!(answer.code(), expected, "{more}");
    }
}

/// A target that runs wild is told that the limit is reached, and fills no memory.
#[test]
fn a_record_has_an_end() {
    let bench = Bench::with(|limits| limits.trial_requests = 3);
    let lease = bench.open("t1", faulty(Value::Null, 100));
    let caller = Caller::of(&lease);
    let ask = || caller.send("POST", "approval-requests", b"{\"tool\": \"send\"}");
    assert_eq!([caller.add("a").status, ask().status, caller.add("b").status], [200; 3]);
    assert_eq!((caller.add("c").code(), ask().code()), ((429, "limit"), (429, "limit")));
    assert_eq!(caller.get("status").status, 200, "what is not recorded is not counted");
    assert_eq!(called(&lease.close().0).len(), 2);

    let body = json!({"arguments": {"to": "a"}}).to_string();
    for (bytes, taken) in [(2 * body.len() - 1, 1), (2 * body.len(), 2), (2 * body.len() + 1, 2)] {
        let bench = Bench::with(|limits| limits.trial_bytes = bytes as u64);
        let lease = bench.open("t1", plain());
        for _ in 0..3 {
            Caller::of(&lease).send("POST", "tools/add", body.as_bytes());
        }
        assert_eq!(called(&lease.close().0).len(), taken, "{bytes} bytes");
    }
}

/// What only the runner does stands in the same record, in order, with times of the clock.
#[test]
fn steps_of_the_runner_and_of_the_target_are_one_record() {
    let bench = Bench::new();
    bench.at(100);
    let lease = bench.open("t1", plain());
    assert_eq!((lease.trial_id(), lease.turn()), ("t1", 1));
    bench.at(110);
    Caller::of(&lease).add("a");
    bench.at(120);
    lease.propose("add", &json!({"to": "a"}), true);
    lease.answer("done");
    assert_eq!(lease.time_left(), std::time::Duration::from_millis(980));
    assert!(!lease.next_turn(), "the case has one turn");
    bench.at(130);
    lease.fail(FailureSource::Connection, "m");
    lease.cancel();
    let (events, world) = lease.close();
    let times: Vec<u64> = events.iter().map(|event| event.at_ms).collect();
    assert_eq!(times, [0, 10, 10, 10, 20, 20, 30, 30]);
    assert!((1..).zip(&events).all(|(number, event)| event.seq == number));
    let kinds: Vec<&EventKind> = events.iter().map(|event| &event.kind).collect();
    assert!(matches!(kinds[4], EventKind::Proposal { blocked: true, .. }), "{kinds:#?}");
    assert!(matches!(kinds[5], EventKind::Answer { text } if text == "done"), "{kinds:#?}");
    let failed = |kind: &EventKind| matches!(kind, EventKind::Failed { source: FailureSource::Connection, .. });
    assert!(failed(kinds[6]), "{kinds:#?}");
    assert!(matches!(kinds[7], EventKind::Cancelled { scope: CancelScope::Experiment }), "{kinds:#?}");
    assert_eq!(world, world_after(&crate::eval::case(plain()), &events));
}

#[test]
fn a_sandbox_that_ends_leaves_its_records() {
    let bench = Bench::new();
    let lease = bench.open("t1", plain());
    let caller = Caller::of(&lease);
    caller.add("a");
    drop(bench);
    assert!(TcpStream::connect(caller.address).is_err());
    lease.answer("done");
    assert_eq!(called(&lease.close().0).len(), 1);
}

/// A call that waits is given up when the sandbox ends, within its time for that.
#[test]
fn a_sandbox_ends_although_a_call_waits() {
    let bench = Bench::with(|limits| limits.drain_time = SOON);
    let lease = bench.open("t1", faulty(json!({"kind": "delay", "delay_ms": 3_600_000}), 9));
    let caller = Caller::of(&lease);
    let stream = caller.connect();
    let body = json!({"arguments": {"to": "a"}}).to_string();
    let head = caller.head("POST", "tools/add", "", body.len());
    (&stream).write_all(format!("{head}{body}").as_bytes()).unwrap();
    while caller.get("status").body["tool_calls_left"] == 9 {}
    drop(bench);
    assert_eq!(read(&stream), None);
    assert_eq!(called(&lease.close().0).len(), 1, "it was made, and is in the record");
}
