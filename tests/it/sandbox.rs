//! The sandbox over real sockets: what each request is answered, that trials are apart, and that nobody waits for others.

mod isolation;
mod limits;
mod load;
mod status;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use taco_trace::eval::case::Case;
use taco_trace::eval::event::{Event, EventKind};
use taco_trace::model::SandboxAccess;
use taco_trace::sandbox::{Clock, Lease, Limits, Sandbox, Setup};

use crate::eval::{case, plain};

/// A test that waits longer for an answer has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// A time that is over soon, for tests of time limits.
const SOON: Duration = Duration::from_millis(100);
/// 2026-10-07T00:00:00Z.
const START: Duration = Duration::from_secs(1_791_331_200);

/// A sandbox whose clock stands still until a test moves it.
struct Bench {
    sandbox: Sandbox,
    elapsed_ms: Arc<AtomicU64>,
}

fn setup(limits: Limits) -> (Setup, Arc<AtomicU64>) {
    let elapsed_ms = Arc::new(AtomicU64::new(0));
    let read = |clock: &Arc<AtomicU64>| Duration::from_millis(clock.load(Ordering::Relaxed));
    let (one, other) = (Arc::clone(&elapsed_ms), Arc::clone(&elapsed_ms));
    let clock = Clock {
        elapsed: Box::new(move || read(&one)),
        now: Box::new(move || SystemTime::UNIX_EPOCH + START + read(&other)),
    };
    (Setup { limits, clock, public_url: None }, elapsed_ms)
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Limits)) -> Self {
        let mut limits = Limits::default();
        change(&mut limits);
        let (setup, elapsed_ms) = setup(limits);
        let sandbox = Sandbox::start(TcpListener::bind("127.0.0.1:0").unwrap(), setup).unwrap();
        Self { sandbox, elapsed_ms }
    }

    fn at(&self, elapsed_ms: u64) {
        self.elapsed_ms.store(elapsed_ms, Ordering::Relaxed);
    }

    /// A trial in its first turn.
    fn open(&self, trial_id: &str, document: Value) -> Lease {
        let lease = self.sandbox.open(trial_id, shared(document)).unwrap();
        assert!(lease.next_turn());
        lease
    }
}

fn shared(document: Value) -> Arc<Case> {
    Arc::new(case(document))
}

/// The plain case with a fault at the first call of `add`, and with these limits of calls.
fn faulty(fault: Value, tool_calls: u64) -> Value {
    let mut document = plain();
    let mut fault = fault;
    if let Some(members) = fault.as_object_mut() {
        members.insert("tool".to_owned(), json!("add"));
        members.insert("call".to_owned(), json!(1));
        document["faults"] = json!([fault]);
    }
    document["limits"]["tool_calls"] = json!(tool_calls);
    document
}

/// An answer: status, headers in small letters, body.
#[derive(Debug, PartialEq)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn code(&self) -> (u16, &str) {
        (self.status, self.body["error"]["code"].as_str().unwrap_or_default())
    }
}

/// Who calls with a token: one connection after the other.
#[derive(Clone)]
struct Caller {
    address: SocketAddr,
    path: String,
    authorization: String,
}

impl Caller {
    fn of(lease: &Lease) -> Self {
        Self::with(lease.access())
    }

    fn with(access: &SandboxAccess) -> Self {
        let (host, path) = access.base_url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        Self {
            address: host.parse().unwrap(),
            path: format!("/{path}"),
            authorization: format!("Bearer {}", access.token),
        }
    }

    fn head(&self, method: &str, path: &str, more: &str, length: usize) -> String {
        let Self { path: base, authorization, .. } = self;
        format!(
            "{method} {base}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\n{more}\
             Content-Length: {length}\r\n\r\n"
        )
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    fn send(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.send_with(method, path, "", body)
    }

    fn send_with(&self, method: &str, path: &str, more: &str, body: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(self.head(method, path, more, body.len()).as_bytes()).unwrap();
        // A server that refuses need not read all.
        stream.write_all(body).ok();
        read(&stream).unwrap()
    }

    fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.send("POST", &format!("tools/{tool}"), json!({ "arguments": arguments }).to_string().as_bytes())
    }

    fn add(&self, to: &str) -> Answer {
        self.call("add", json!({ "to": to }))
    }

    fn get(&self, path: &str) -> Answer {
        self.send("GET", path, b"")
    }
}

/// The next answer; none when the connection was closed instead.
fn read(stream: &TcpStream) -> Option<Answer> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Answer { status, headers, body: serde_json::from_slice(&body).ok()? })
}

/// Arguments of the calls in a record.
fn called(events: &[Event]) -> Vec<Value> {
    let arguments = |event: &Event| match &event.kind {
        EventKind::Call { arguments, .. } => Some(arguments.clone()),
        _ => None,
    };
    events.iter().filter_map(arguments).collect()
}
