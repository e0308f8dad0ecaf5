//! The receiver: forms of requests and answers, limits, pressure, a failing store, and what survives a kill.
//!
//! Most tests run it in this process, with a store and a clock that they can hold up; the last ones run the program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value as OtlpValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message as _;
use serde_json::{Value, json};
use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::MissingStatus;
use taco_trace::ingest::{ChatCalls, Options};
use taco_trace::receive::{Event, Limits, ReceiveError, Setup, Totals, run};
use taco_trace::render::Texts;
use taco_trace::render::receive::{self as words, ReceiveSummary};
use taco_trace::store::{Store, StoreError};
use tokio::sync::oneshot;

use super::support::answers;

/// A test that waits longer for an answer has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// A time that is over soon, for tests of time limits.
const SOON: Duration = Duration::from_millis(100);

const JSON: &str = "Content-Type: application/json\r\n";
const PROTOBUF: &str = "Content-Type: application/x-protobuf\r\n";
const GZIP: &str = "Content-Encoding: gzip\r\n";

/// A receiver in this process.
struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: JoinHandle<Result<Totals, ReceiveError>>,
    events: Receiver<Event>,
    db: PathBuf,
    _folder: tempfile::TempDir,
}

/// Holds the writer up: it says when it has taken a first request, and goes on when it may.
struct Gate {
    entered: Receiver<()>,
    go: Sender<()>,
}

/// Compresses, or does not.
type Encode<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
type Open = Box<dyn FnMut() -> Result<Store, StoreError> + Send>;

struct Start {
    limits: Limits,
    open: Option<Open>,
    now: Box<dyn Fn() -> String + Send>,
}

impl Default for Start {
    fn default() -> Self {
        Self { limits: Limits::default(), open: None, now: Box::new(|| "2026-10-07T09:00:00.000+09:00".to_owned()) }
    }
}

impl Start {
    fn limits(change: impl FnOnce(&mut Limits)) -> Self {
        let mut start = Self::default();
        change(&mut start.limits);
        start
    }

    fn gated(mut self) -> (Self, Gate) {
        let ((say, entered), (go, may_go)) = (channel(), channel());
        self.now = Box::new(move || {
            say.send(()).ok();
            // An error says that the gate is open for good.
            may_go.recv().ok();
            "2026-10-07T09:00:00.000+09:00".to_owned()
        });
        (self, Gate { entered, go })
    }

    fn serve(self) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("taco.duckdb");
        let path = db.clone();
        let (tell, events) = channel();
        let setup = Setup {
            limits: self.limits,
            options: Options {
                conventions: Conventions::builtin(),
                missing_status: MissingStatus::Skip,
                chat_calls: ChatCalls::Read,
            },
            masker: None,
            texts: Texts::korean(),
            open: self.open.unwrap_or_else(|| Box::new(move || Store::open(&path))),
            now: self.now,
            tell: Box::new(move |event| drop(tell.send(event))),
            told_issues: 2,
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let begin = || Ok(async move { drop(stopped.await) });
        let thread = thread::spawn(move || run(listener, setup, begin));
        Server { address, stop: Some(stop), thread, events, db, _folder: folder }
    }
}

impl Server {
    fn client(&self) -> Client {
        Client::to(self.address)
    }

    fn post(&self, headers: &str, body: &[u8]) -> Answer {
        self.client().post(headers, body)
    }

    /// Stops, and gives the sums and what a query on the store then says.
    fn end(mut self, sql: &str) -> (Totals, Vec<String>) {
        self.stop.take().unwrap().send(()).unwrap();
        let totals = self.thread.join().unwrap().unwrap();
        (totals, answers(&Store::open(&self.db).unwrap(), sql))
    }
}

struct Client(BufReader<TcpStream>);

#[derive(Debug)]
struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Client {
    fn to(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self(BufReader::new(stream))
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.get_mut().write_all(bytes).unwrap();
    }

    fn send(&mut self, headers: &str, body: &[u8]) {
        self.write(&request("POST", "/v1/traces", headers, body));
    }

    fn post(&mut self, headers: &str, body: &[u8]) -> Answer {
        self.send(headers, body);
        self.answer().unwrap()
    }

    /// The next answer; none when the connection was closed instead.
    fn answer(&mut self) -> Option<Answer> {
        let mut line = String::new();
        if self.0.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = BTreeMap::new();
        loop {
            line.clear();
            self.0.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).ok()?;
        Some(Answer { status, headers, body })
    }
}

fn request(method: &str, path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("{method} {path} HTTP/1.1\r\nHost: here\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn span(trace: u64, id: u64) -> Value {
    json!({
        "traceId": format!("{trace:032x}"), "spanId": format!("{id:016x}"), "name": "x",
        "startTimeUnixNano": "1791331923000000000", "endTimeUnixNano": "1791331924000000000", "status": {},
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
            {"key": "gen_ai.tool.name", "value": {"stringValue": "budget_api"}},
        ],
    })
}

fn body_of(spans: &[Value]) -> Vec<u8> {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string().into_bytes()
}

/// A request with one good span.
fn body(id: u64) -> Vec<u8> {
    body_of(&[span(1, id)])
}

/// The same, filled up with white space to this length.
fn body_of_length(id: u64, length: usize) -> Vec<u8> {
    let mut bytes = body(id);
    assert!(bytes.len() <= length);
    bytes.resize(length, b' ');
    bytes
}

fn protobuf(id: u64) -> ExportTraceServiceRequest {
    let attribute = |key: &str, value: &str| KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(OtlpValue::StringValue(value.to_owned())) }),
        ..KeyValue::default()
    };
    let span = Span {
        trace_id: 1u128.to_be_bytes().to_vec(),
        span_id: id.to_be_bytes().to_vec(),
        start_time_unix_nano: 1_791_331_923_000_000_000,
        end_time_unix_nano: 1_791_331_924_000_000_000,
        attributes: vec![
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", "budget_api"),
        ],
        status: Some(Status::default()),
        ..Span::default()
    };
    let scope_spans = vec![ScopeSpans { spans: vec![span], ..ScopeSpans::default() }];
    ExportTraceServiceRequest { resource_spans: vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }] }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const KEPT: &str = "SELECT span_id FROM spans ORDER BY span_id";

#[test]
fn every_form_and_compression_is_taken_on_one_connection() {
    let server = Start::default().serve();
    let mut client = server.client();
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    let plain = |bytes: &[u8]| bytes.to_vec();
    let codings: [(&str, Encode<'_>); 5] = [
        ("", &plain),
        ("Content-Encoding: identity\r\n", &plain),
        (GZIP, &gzip),
        ("Content-Encoding: X-GZIP\r\n", &gzip),
        ("Content-Encoding: zstd\r\n", &zstd),
    ];
    for (nth, (coding, encode)) in (0..).zip(codings) {
        let answer =
            client.post(&format!("content-type: Application/JSON; charset=utf-8\r\n{coding}"), &encode(&body(nth + 1)));
        assert_eq!((answer.status, answer.json()), (200, json!({})), "{coding}");
        let answer = client.post(&format!("{PROTOBUF}{coding}"), &encode(&protobuf(nth + 11).encode_to_vec()));
        assert_eq!((answer.status, answer.body.as_slice()), (200, b"".as_slice()), "{coding}");
        assert_eq!(answer.headers["content-type"], "application/x-protobuf");
    }
    let (totals, kept) = server.end(KEPT);
    let expected: Vec<String> = (1..=5).chain(11..=15).map(|id| format!("{id:016x}")).collect();
    assert_eq!(kept, expected);
    assert_eq!((totals.requests, totals.kept, totals.commits), (10, 10, 10));
}

#[test]
fn chunked_body_in_pieces_is_taken() {
    let server = Start::default().serve();
    let mut client = server.client();
    let bytes = body(1);
    let (first, rest) = bytes.split_at(7);
    client.write(format!("POST /v1/traces HTTP/1.1\r\nHost: x\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n").as_bytes());
    for chunk in [first, rest] {
        client.write(format!("{:x}\r\n", chunk.len()).as_bytes());
        client.write(&[chunk, b"\r\n".as_slice()].concat());
    }
    client.write(b"0\r\n\r\n");
    assert_eq!(client.answer().unwrap().status, 200);
    assert_eq!(server.end(KEPT).1.len(), 1);
}

#[test]
fn sender_that_asks_whether_to_send_is_told_to() {
    let server = Start::default().serve();
    let mut client = server.client();
    let bytes = body(1);
    let head = request("POST", "/v1/traces", &format!("{JSON}Expect: 100-continue\r\n"), &bytes);
    client.write(&head[..head.len() - bytes.len()]);
    assert_eq!(client.answer().unwrap().status, 100);
    client.write(&bytes);
    assert_eq!(client.answer().unwrap().status, 200);
}

#[test]
fn requests_without_spans_are_taken_and_leave_no_source() {
    let server = Start::default().serve();
    for (headers, body) in
        [(JSON, b"{}".as_slice()), (JSON, br#"{"resourceSpans":[]}"#), (PROTOBUF, b""), (JSON, b"\xef\xbb\xbf{}")]
    {
        assert_eq!(server.post(headers, body).status, 200);
    }
    let (totals, sources) = server.end("SELECT COUNT(*) FROM sources");
    assert_eq!((totals.requests, totals.commits, sources), (4, 0, vec!["0".to_owned()]));
}

#[test]
fn partial_success_counts_spans_and_names_codes() {
    let server = Start::default().serve();
    let mut nameless = span(1, 2);
    nameless["attributes"].as_array_mut().unwrap().pop();
    let mut late = span(1, 3);
    late["endTimeUnixNano"] = json!("1");
    let mut late_too = late.clone();
    late_too["spanId"] = json!("0000000000000004");
    let answer = server.post(JSON, &body_of(&[span(1, 1), nameless, late, late_too]));
    assert_eq!(answer.status, 200);
    let message = "span 3개를 받지 않았습니다: end_before_start 2, tool_name_missing 1";
    assert_eq!(answer.json(), json!({"partialSuccess": {"rejectedSpans": "3", "errorMessage": message}}));

    let mut broken = protobuf(5);
    broken.resource_spans[0].scope_spans[0].spans[0].end_time_unix_nano = 1;
    let answer = server.post(PROTOBUF, &broken.encode_to_vec());
    let partial = ExportTraceServiceResponse::decode(answer.body.as_slice()).unwrap().partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert_eq!(partial.error_message, "span 1개를 받지 않았습니다: end_before_start 1");

    let answer = server.post(JSON, br#"{"resourceLogs":[]}"#);
    assert_eq!(answer.json()["partialSuccess"]["errorMessage"], "읽지 못한 곳이 있습니다: other_signal 1");
    let Event::Committed { totals, issues } = server.events.recv().unwrap() else { panic!("no commit") };
    assert_eq!((totals.issues, issues.len()), (3, 2), "only as many issues as asked for are told");
    let (totals, issues) = server.end("SELECT source, line, code FROM ingest_issues ORDER BY ALL");
    assert_eq!((totals.kept, totals.skipped, totals.issues), (1, 4, 5));
    assert_eq!(issues.len(), 5);
    assert!(issues.iter().all(|issue| issue.starts_with("otlp-http")), "{issues:?}");
}

#[test]
fn redelivered_and_dropped_spans_are_success() {
    let server = Start::default().serve();
    let mut chat = span(1, 9);
    chat["attributes"][0]["value"]["stringValue"] = json!("chat");
    let bytes = body_of(&[span(1, 1), span(1, 1), chat]);
    for _ in 0..2 {
        assert_eq!(server.post(JSON, &bytes).json(), json!({}));
    }
    let (totals, kept) = server.end(KEPT);
    assert_eq!((totals.kept, totals.redelivered, totals.dropped, kept.len()), (1, 3, 2, 1));
}

#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

#[test]
fn malformed_bodies_are_refused_as_a_whole_in_the_form_of_the_request() {
    let server = Start::default().serve();
    let whole = gzip(&body(1));
    let mut wrong_sum = whole.clone();
    let last = wrong_sum.len() - 8;
    wrong_sum[last] ^= 1;
    let half = body(1)[..100].to_vec();
    let zstd = "Content-Encoding: zstd\r\n";
    let cases: [(&str, &str, &[u8]); 11] = [
        ("", "JSON 이 아닙니다", b"no"),
        ("", "끊겼습니다", b""),
        ("", "끊겼습니다", b" \r\n"),
        ("", "끊겼습니다", &half),
        ("", "트레이스가 아닌", br#"{"hello":1}"#),
        ("", "객체가 아닙니다", b"1"),
        ("", "UTF-8", b"{\"resourceSpans\":[\"\xff\"]}"),
        (GZIP, "압축", &whole[..whole.len() - 1]),
        (GZIP, "압축", &wrong_sum),
        (GZIP, "압축", b""),
        (zstd, "압축", b"no"),
    ];
    for (coding, reason, bytes) in cases {
        let answer = server.post(&format!("{JSON}{coding}"), bytes);
        assert_eq!(answer.status, 400, "{bytes:?}");
        let status = answer.json();
        assert_eq!(status["code"], 3);
        assert!(status["message"].as_str().unwrap().contains(reason), "{status}");
        assert!(!answer.headers.contains_key("retry-after"));
    }
    let cut = protobuf(1).encode_to_vec();
    let answer = server.post(PROTOBUF, &cut[..cut.len() - 1]);
    assert_eq!(answer.status, 400);
    let status = RpcStatus::decode(answer.body.as_slice()).unwrap();
    assert_eq!(status.code, 3);
    assert!(status.message.contains("protobuf"), "{}", status.message);
    let (totals, left) = server.end("SELECT (SELECT COUNT(*) FROM ingest_issues) + (SELECT COUNT(*) FROM sources)");
    assert_eq!((totals.refused, totals.requests, left), (12, 0, vec!["0".to_owned()]));
}

#[test]
fn other_paths_methods_and_types_are_refused() {
    let server = Start::default().serve();
    let two = "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n";
    let cases = [
        ("POST", "/v1/logs", JSON.to_owned(), 404),
        ("POST", "/v1/metrics", PROTOBUF.to_owned(), 404),
        ("POST", "/", JSON.to_owned(), 404),
        ("POST", "/v1/traces/", JSON.to_owned(), 404),
        ("GET", "/v1/traces", String::new(), 405),
        ("PUT", "/v1/traces", JSON.to_owned(), 405),
        ("POST", "/v1/traces", String::new(), 415),
        ("POST", "/v1/traces", "Content-Type: text/plain\r\n".to_owned(), 415),
        ("POST", "/v1/traces", format!("{JSON}Content-Encoding: br\r\n"), 415),
        ("POST", "/v1/traces", format!("{JSON}{two}"), 415),
    ];
    // All on one connection: the rest of a refused request must not be read as the next one.
    let mut client = server.client();
    for (method, path, headers, status) in cases {
        client.write(&request(method, path, &headers, &body(1)));
        let answer = client.answer().unwrap();
        assert_eq!(answer.status, status, "{method} {path} {headers}");
        assert_eq!(answer.headers.get("allow").map(String::as_str), (status == 405).then_some("POST"));
    }
    let (totals, kept) = server.end(KEPT);
    assert_eq!((totals.refused, kept.len()), (10, 0));
}

#[test]
fn body_limit_holds_below_at_and_above_for_what_comes_and_what_it_unpacks_to() {
    const LIMIT: usize = 4_096;
    let server = Start::limits(|limits| limits.body_bytes = LIMIT).serve();
    for (nth, (length, status)) in (0..).zip([(LIMIT - 1, 200), (LIMIT, 200), (LIMIT + 1, 413)]) {
        let bytes = body_of_length(10 * nth + 1, length);
        assert_eq!(server.post(JSON, &bytes).status, status, "{length}");
        let packed = gzip(&body_of_length(10 * nth + 2, length));
        assert!(packed.len() < LIMIT);
        assert_eq!(server.post(&format!("{JSON}{GZIP}"), &packed).status, status, "{length} in gzip");
        let packed = zstd::encode_all(body_of_length(10 * nth + 3, length).as_slice(), 1).unwrap();
        let answer = server.post(&format!("{JSON}Content-Encoding: zstd\r\n"), &packed);
        assert_eq!(answer.status, status, "{length} in zstd");
        // Without an announced length.
        let mut client = server.client();
        let chunk = body_of_length(10 * nth + 4, length);
        let head = format!("POST /v1/traces HTTP/1.1\r\nHost: x\r\n{JSON}Transfer-Encoding: chunked\r\n\r\n");
        client.write(&[format!("{head}{length:x}\r\n").as_bytes(), &chunk, b"\r\n0\r\n\r\n"].concat());
        assert_eq!(client.answer().unwrap().status, status, "{length} in chunks");
    }
    assert_eq!(server.end(KEPT).1.len(), 8);
}

#[test]
fn bomb_is_refused_without_being_unpacked() {
    let server = Start::limits(|limits| limits.body_bytes = 1 << 20).serve();
    let bomb = gzip(&vec![b' '; 256 << 20]);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(server.post(&format!("{JSON}{GZIP}"), &bomb).status, 413);
}

#[test]
fn full_queue_of_bytes_asks_to_come_again() {
    let bytes = body(1);
    // At the limit one fits; one byte less and it never does.
    let server = Start::limits(|limits| limits.queue_bytes = bytes.len() - 1).serve();
    assert_eq!(server.post(JSON, &bytes).status, 429);
    server.end(KEPT);

    let (start, gate) = Start::limits(|limits| limits.queue_bytes = bytes.len()).gated();
    let server = start.serve();
    let mut first = server.client();
    first.send(JSON, &bytes);
    gate.entered.recv().unwrap();
    let mut second = server.client();
    let answer = second.post(JSON, &body(2));
    assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (429, "1"));
    assert_eq!(answer.json()["code"], 8);
    drop(gate.go);
    assert_eq!(first.answer().unwrap().status, 200);
    assert_eq!(second.post(JSON, &body(2)).status, 200, "the room came back");
    let (totals, kept) = server.end(KEPT);
    assert_eq!((totals.deferred, kept.len()), (1, 2));
}

#[test]
fn full_queue_of_requests_asks_to_come_again() {
    let (start, gate) = Start::limits(|limits| limits.queue_requests = 1).gated();
    let server = start.serve();
    let (say, statuses) = channel();
    let post = |id: u64| {
        let (mut client, say) = (server.client(), say.clone());
        thread::spawn(move || say.send(client.post(JSON, &body(id)).status).unwrap())
    };
    post(1);
    gate.entered.recv().unwrap();
    // One of these two waits, the other has no room.
    post(2);
    post(3);
    assert_eq!(statuses.recv().unwrap(), 429);
    drop(gate.go);
    assert_eq!([statuses.recv().unwrap(), statuses.recv().unwrap()], [200, 200]);
    assert_eq!(server.end(KEPT).1.len(), 2);
}

#[test]
fn requests_that_wait_are_committed_together() {
    // One of them is malformed, and two have the same span.
    let bodies = [body(1), body(2), body(3), body(3), b"no".to_vec()];
    let all = bodies.iter().map(Vec::len).sum();
    let (start, gate) = Start::limits(|limits| limits.queue_bytes = all).gated();
    let server = start.serve();
    let mut clients: Vec<Client> = bodies.iter().map(|_| server.client()).collect();
    clients[0].send(JSON, &bodies[0]);
    gate.entered.recv().unwrap();
    clients[1..].iter_mut().zip(&bodies[1..]).for_each(|(client, bytes)| client.send(JSON, bytes));
    // When one byte more has no room, all of them wait.
    let expect = format!("{JSON}Expect: 100-continue\r\n");
    let probe = request("POST", "/v1/traces", &expect, b" ");
    let is_full = || {
        let mut client = server.client();
        client.write(&probe[..probe.len() - 1]);
        client.answer().unwrap().status == 429
    };
    while !is_full() {}
    drop(gate.go);
    let statuses: Vec<u16> = clients.iter_mut().map(|client| client.answer().unwrap().status).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 400]);
    let (totals, kept) = server.end(KEPT);
    assert_eq!((totals.requests, totals.kept, totals.redelivered, totals.commits), (4, 3, 1, 1));
    assert_eq!(kept.len(), 3);
}

#[test]
fn failing_store_asks_to_come_again_and_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("taco.duckdb");
    let (path, mut opened) = (db.clone(), 0);
    let open = move || {
        opened += 1;
        match opened {
            1 => {
                let store = Store::in_memory()?;
                store.execute("DROP TABLE sources")?;
                Ok(store)
            }
            2 => Err(StoreError::DiskFull { message: "full".to_owned() }),
            _ => Store::open(&path),
        }
    };
    let server = Start { open: Some(Box::new(open)), ..Start::default() }.serve();
    for _ in 0..2 {
        let answer = server.post(JSON, &body(1));
        assert_eq!((answer.status, answer.headers["retry-after"].as_str()), (503, "10"));
        assert_eq!(answer.json()["code"], 14);
    }
    assert_eq!(server.post(JSON, &body(1)).status, 200);
    assert_eq!(server.post(JSON, &body(2)).status, 200);
    let told: Vec<Event> = server.events.try_iter().collect();
    assert!(matches!(told[0], Event::StoreFailed(StoreError::Statement { .. })), "{told:?}");
    assert!(matches!(told[1], Event::StoreBack), "told once and not again: {told:?}");
    let (totals, _) = server.end("SELECT 1");
    assert_eq!((totals.deferred, totals.kept, totals.commits), (2, 2, 2));
    assert_eq!(answers(&Store::open(&db).unwrap(), KEPT).len(), 2);
}

#[test]
fn store_that_does_not_open_ends_at_once() {
    let open: Open = Box::new(|| Err(StoreError::Missing { path: PathBuf::from("x") }));
    let server = Start { open: Some(open), ..Start::default() }.serve();
    let ended = server.thread.join().unwrap();
    assert!(matches!(ended, Err(ReceiveError::Store(StoreError::Missing { .. }))), "{ended:?}");
}

#[test]
fn slow_head_is_cut_off() {
    let server = Start::limits(|limits| limits.head_time = SOON).serve();
    let mut silent = server.client();
    assert!(silent.answer().is_none());
    let mut slow = server.client();
    slow.write(b"POST /v1/traces HTTP/1.1\r\nHost:");
    assert!(slow.answer().is_none());
    // Also behind a request that was whole.
    let mut second = server.client();
    assert_eq!(second.post(JSON, &body(1)).status, 200);
    second.write(b"POST");
    assert!(second.answer().is_none());
}

#[test]
fn slow_body_is_cut_off() {
    let server = Start::limits(|limits| limits.body_time = SOON).serve();
    let mut client = server.client();
    let whole = request("POST", "/v1/traces", JSON, &body(1));
    client.write(&whole[..whole.len() - 1]);
    assert_eq!(client.answer().unwrap().status, 408);
    assert!(client.answer().is_none(), "the connection is closed");
    assert_eq!(server.end(KEPT).1.len(), 0);
}

#[test]
fn idle_connection_is_closed_but_not_while_its_request_waits() {
    let (start, gate) = Start::limits(|limits| (limits.idle_time, limits.head_time) = (SOON, SOON)).gated();
    let server = start.serve();
    let mut waiting = server.client();
    waiting.send(JSON, &body(1));
    gate.entered.recv().unwrap();
    // A time that is over for another connection is none for this one.
    assert!(server.client().answer().is_none());
    drop(gate.go);
    assert_eq!(waiting.answer().unwrap().status, 200);
    assert!(waiting.answer().is_none());
}

#[test]
fn connection_over_the_limit_waits_for_one_to_close() {
    let server = Start::limits(|limits| limits.connections = 1).serve();
    let mut first = server.client();
    assert_eq!(first.post(JSON, &body(1)).status, 200);
    let mut second = server.client();
    second.send(JSON, &body(2));
    second.0.get_ref().set_read_timeout(Some(SOON)).unwrap();
    let waits = second.0.get_mut().read(&mut [0]).unwrap_err().kind();
    assert!(matches!(waits, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{waits:?}");
    second.0.get_ref().set_read_timeout(Some(PATIENCE)).unwrap();
    drop(first);
    assert_eq!(second.answer().unwrap().status, 200);
}

#[test]
fn sender_that_goes_away_keeps_nobody_back() {
    let server = Start::default().serve();
    let whole = request("POST", "/v1/traces", JSON, &body(1));
    server.client().write(&whole[..whole.len() - 1]);
    server.client().write(&whole);
    assert_eq!(server.post(JSON, &body(2)).status, 200);
    server.end(KEPT);
}

#[test]
fn stop_answers_what_was_taken() {
    let (start, gate) = Start::default().gated();
    let mut server = start.serve();
    let mut client = server.client();
    client.send(JSON, &body(1));
    gate.entered.recv().unwrap();
    server.stop.take().unwrap().send(()).unwrap();
    drop(gate.go);
    let answer = client.answer().unwrap();
    assert_eq!(answer.status, 200);
    assert!(client.answer().is_none(), "the connection is closed");
    let totals = server.thread.join().unwrap().unwrap();
    assert_eq!((totals.requests, totals.kept), (1, 1));
    assert!(TcpStream::connect(server.address).is_err(), "nobody accepts any more");
}

#[test]
fn stop_does_not_wait_for_a_request_that_never_ends() {
    let server = Start::limits(|limits| limits.drain_time = SOON).serve();
    let mut client = server.client();
    let whole = request("POST", "/v1/traces", JSON, &body(1));
    client.write(&whole[..whole.len() - 1]);
    let mut idle = server.client();
    assert_eq!(idle.post(JSON, &body(2)).status, 200);
    assert_eq!(server.end(KEPT).1, ["0000000000000002"]);
    assert!(client.answer().is_none());
    assert!(idle.answer().is_none());
}

#[test]
fn people_are_told_in_whole_sentences() {
    let texts = Texts::korean();
    let full = "저장소에 쓰지 못했습니다: 디스크가 가득 찼습니다(no room). 다시 쓸 수 있을 때까지 보내는 쪽에 503 으로 \
                답하고 계속 받습니다\n";
    assert_eq!(words::store_failed(&texts, "no room", true), full);
    assert!(words::store_failed(&texts, "why", false).starts_with("저장소에 쓰지 못했습니다(why)."));
    assert_eq!(words::store_back(&texts), "저장소에 다시 쓰고 있습니다\n");
    let quiet = ReceiveSummary { requests: 1_200, kept: 9, ..ReceiveSummary::default() };
    let line = "요청 1,200 · span 남김 9 · 버림 0 · 다시 옴 0 · 건너뜀 0";
    assert_eq!(words::status(&texts, quiet), line);
    let busy = ReceiveSummary { refused: 1, deferred: 2, ..quiet };
    assert_eq!(words::status(&texts, busy), format!("{line} · 거절 1 · 미룸 2"));
    // What comes from outside cannot write on the terminal or into the logs of a sender.
    assert!(!words::refusal(&texts, "path", "/\u{1b}[2J\n").contains(['\u{1b}', '\n']));
}

/// The program, receiving on a port of its own choice.
struct Program {
    child: Child,
    address: SocketAddr,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.arg("receive").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Program {
    fn start(db: &Path, more: &[&str]) -> Self {
        let arguments = [&["--listen", "127.0.0.1:0", "--db", db.to_str().unwrap()], more].concat();
        let mut child = command(&arguments).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("http://").and_then(|url| url.strip_suffix("/v1/traces"));
        Self { address: address.unwrap_or_else(|| panic!("{line}")).parse().unwrap(), child }
    }

    fn terminate(self, signal: &str) -> Output {
        let killed = Command::new("sh").args(["-c", &format!("kill -{signal} {}", self.child.id())]).status();
        assert!(killed.unwrap().success());
        self.child.wait_with_output().unwrap()
    }
}

#[test]
fn program_ends_well_on_both_signals() {
    for signal in ["TERM", "INT"] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("taco.duckdb");
        let program = Program::start(&db, &["--tools", "fixtures/seed/tools.json"]);
        let mut client = Client::to(program.address);
        assert_eq!(client.post(JSON, &body(1)).status, 200);
        assert_eq!(client.post(JSON, b"no").status, 400);
        let output = program.terminate(signal);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert!(told.contains("요청: 받음 1 · 거절 1"), "{told}");
        assert!(!told.contains("인증이 없습니다"), "{told}");
        let store = Store::open(&db).unwrap();
        assert_eq!(answers(&store, "SELECT COUNT(*) FROM traces WHERE tool_set IS NOT NULL"), ["1"]);
    }
}

#[test]
fn quiet_program_says_its_address_only() {
    let folder = tempfile::tempdir().unwrap();
    let output = Program::start(&folder.path().join("taco.duckdb"), &["--quiet"]).terminate("TERM");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}

#[test]
fn program_warns_where_others_can_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("taco.duckdb");
    // The later value counts.
    let mut child = command(&["--db", db.to_str().unwrap(), "--listen", "0.0.0.0:0"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("인증이 없습니다"), "{line}");
}

#[test]
fn program_says_why_it_cannot_receive() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("taco.duckdb");
    let db = db.to_str().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases: [(&[&str], i32, &str); 6] = [
        (&["--listen", &taken], 3, "이미 이 주소에서"),
        (&["--listen", "192.0.2.1:0"], 3, "받을 수 없습니다"),
        (&["--listen", "4318"], 2, "주소로 읽을 수 없습니다"),
        (&["--listen", "127.0.0.1:0", "--max-body-mib", "5", "--queue-mib", "4"], 2, "`4` < `5`"),
        (&["--max-body-mib", "0"], 2, "1 부터 1024 까지"),
        (&["--listen", "127.0.0.1:0", "--db", "/nowhere/x.duckdb"], 3, "저장소를 열 수 없습니다"),
    ];
    for (arguments, status, words) in cases {
        let arguments =
            if arguments.contains(&"--db") { arguments.to_vec() } else { [arguments, &["--db", db]].concat() };
        let output = command(&arguments).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
        assert!(told.contains(words), "{arguments:?}: {told}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn locked_store_is_told_with_its_holder() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("taco.duckdb");
    let program = Program::start(&db, &[]);
    let output = command(&["--listen", "127.0.0.1:0", "--db", db.to_str().unwrap()]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains(&program.child.id().to_string()), "{told}");
    program.terminate("TERM");
}

/// The spans of one request of a sender: five of one trace, no two alike.
fn ids(sender: u64, nth: u64) -> Vec<(u64, u64)> {
    (1..=5).map(|id| (sender * 1_000 + nth, (sender << 32) + (nth << 8) + id)).collect()
}

fn body_with(ids: &[(u64, u64)]) -> Vec<u8> {
    body_of(&ids.iter().map(|(trace, id)| span(*trace, *id)).collect::<Vec<_>>())
}

#[test]
fn killed_program_loses_no_acknowledged_span_and_takes_none_twice() {
    const SENDERS: u64 = 3;
    const REQUESTS: u64 = 14;
    for kill_at in [1, 2, 5, 11, 23] {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("taco.duckdb");
        let mut program = Program::start(&db, &["--quiet"]);
        let (acknowledge, acknowledged) = channel();
        let senders: Vec<_> = (1..=SENDERS)
            .map(|sender| {
                let (acknowledge, mut client) = (acknowledge.clone(), Client::to(program.address));
                thread::spawn(move || {
                    for nth in 0..REQUESTS {
                        let ids = ids(sender, nth);
                        let bytes = request("POST", "/v1/traces", JSON, &body_with(&ids));
                        let sent = client.0.get_mut().write_all(&bytes).is_ok();
                        match client.answer().filter(|_| sent) {
                            Some(answer) => assert_eq!(answer.status, 200),
                            // Killed.
                            None => break,
                        }
                        acknowledge.send(ids).unwrap();
                    }
                })
            })
            .collect();
        drop(acknowledge);
        let mut known = BTreeSet::new();
        for count in 1.. {
            let Ok(ids) = acknowledged.recv() else { break };
            known.extend(ids.into_iter().map(|(_, id)| format!("{id:016x}")));
            if count == kill_at {
                program.child.kill().unwrap();
            }
        }
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        program.child.wait().unwrap();
        assert!(known.len() < (SENDERS * REQUESTS * 5) as usize, "the kill came in the middle");

        let kept = answers(&Store::open(&db).unwrap(), KEPT);
        let there: BTreeSet<String> = kept.iter().cloned().collect();
        assert_eq!(there.len(), kept.len(), "twice after a kill at {kill_at}");
        let mut lost = String::new();
        known.difference(&there).for_each(|id| writeln!(lost, "{id}").unwrap());
        assert_eq!(lost, "", "lost after a kill at {kill_at}");

        let program = Program::start(&db, &["--quiet"]);
        let mut client = Client::to(program.address);
        for (sender, nth) in (1..=SENDERS).flat_map(|sender| (0..REQUESTS).map(move |nth| (sender, nth))) {
            assert_eq!(client.post(JSON, &body_with(&ids(sender, nth))).json(), json!({}));
        }
        assert_eq!(program.terminate("TERM").status.code(), Some(0));
        let all = (1..=SENDERS).flat_map(|sender| (0..REQUESTS).flat_map(move |nth| ids(sender, nth)));
        let all: Vec<String> = all.map(|(_, id)| format!("{id:016x}")).collect();
        assert_eq!(answers(&Store::open(&db).unwrap(), KEPT), all, "after all was sent again");
    }
}
