//! The agent behind `irumx-eval-target/1`, against a sandbox of the test.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use taco_trace::chat::{ChatError, ChatModel, ChatReply, ChatRequest, Message};
use taco_trace::demo::serve::{self, Limits, Setup, Totals};
use taco_trace::demo::{LocalTools, Reply, SimulatedClock, Telemetry, TelemetrySetup, ToolUse, Toolbox, TraceText};
use taco_trace::render::Texts;
use tokio::sync::oneshot;

use super::super::support_cli::{program, told};
use super::support::{Told, asks, attribute, careful, of, question, says, shipped, spans};

/// A test that waits longer for an answer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends a request with a body and reads status and body.
fn send(address: SocketAddr, head: &str, body: &[u8]) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses need not read all.
    stream.write_all(body).ok();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/json"), "{head}");
    (head.split_whitespace().nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap())
}

fn post(address: SocketAddr, body: &Value) -> (u16, Value) {
    send(address, "POST /", body.to_string().as_bytes())
}

/// The agent in this process.
struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: JoinHandle<std::io::Result<Totals>>,
    lines: TraceText,
}

fn serve_with(model: Box<dyn ChatModel>, limits: Limits) -> Server {
    serve_tools(Arc::new(LocalTools::new(0)), model, limits)
}

fn serve_tools(toolbox: Arc<dyn Toolbox>, model: Box<dyn ChatModel>, limits: Limits) -> Server {
    let lines = TraceText::default();
    let setup = TelemetrySetup { lines: Some(Box::new(lines.clone())), ..Default::default() };
    let setup = Setup {
        limits,
        model,
        config: shipped(),
        toolbox,
        clock: Arc::new(SimulatedClock::new()),
        telemetry: Arc::new(Telemetry::new(setup).unwrap()),
        texts: Texts::korean(),
        tell: Box::new(|_| {}),
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let begin = move || {
        Ok(async move {
            stopped.await.ok();
        })
    };
    let thread = std::thread::spawn(move || serve::run(listener, setup, begin));
    Server { address, stop: Some(stop), thread, lines }
}

fn serve(model: impl ChatModel + 'static) -> Server {
    serve_with(Box::new(model), Limits::default())
}

impl Server {
    fn end(mut self) -> (Totals, String) {
        self.stop.take().unwrap().send(()).unwrap();
        (self.thread.join().unwrap().unwrap(), self.lines.text())
    }
}

/// A request that a sandbox got: method and path, token, body.
#[derive(Debug, Clone, PartialEq)]
struct Got {
    line: String,
    token: String,
    body: Value,
}

/// A sandbox that answers each path with the next of its answers, and the last of them for ever. Its status is one
/// that lets everything go on unless it is given.
struct SandboxServer {
    address: SocketAddr,
    got: Receiver<Got>,
}

type Answers = Vec<(&'static str, Vec<(u16, Value)>)>;

fn sandbox(answers: Answers) -> SandboxServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (tell, got) = channel();
    let answers: Vec<_> =
        answers.into_iter().map(|(line, answers)| (line, Mutex::new(VecDeque::from(answers)))).collect();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            if answer(stream.unwrap(), &answers, &tell).is_none() {
                break;
            }
        }
    });
    SandboxServer { address, got }
}

/// A request line and what it is answered, in order.
type Queued<'a> = (&'a str, Mutex<VecDeque<(u16, Value)>>);

fn answer(mut stream: TcpStream, answers: &[Queued<'_>], tell: &Sender<Got>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let line = line.rsplit_once(' ')?.0.to_owned();
    let (mut token, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(": ") else { break };
        match name.to_lowercase().as_str() {
            "authorization" => value.clone_into(&mut token),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let found = answers.iter().find(|(path, _)| line.ends_with(path));
    let (status, reply) = match found {
        Some((_, answers)) => {
            let mut answers = answers.lock().unwrap();
            if answers.len() > 1 { answers.pop_front()? } else { answers.front()?.clone() }
        }
        None if line.ends_with("/status") => (200, json!({ "cancelled": false, "tool_calls_left": 9 })),
        None => (404, json!({})),
    };
    let is_status = line.ends_with("/status");
    let got = Got { line, token, body };
    if !is_status {
        tell.send(got).ok()?;
    }
    let reply = reply.to_string();
    // Status 0 hangs up without an answer.
    if status > 0 {
        write!(stream, "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{reply}", reply.len())
            .ok();
    }
    Some(())
}

impl SandboxServer {
    /// What it got but requests for its status, in order.
    fn got(&self) -> Vec<Got> {
        self.got.try_iter().collect()
    }

    fn lines(&self) -> Vec<String> {
        self.got().into_iter().map(|got| got.line).collect()
    }
}

fn turn(content: &str, event: &str) -> Value {
    json!({
        "protocol": "irumx-eval-target/1", "type": "turn", "trial_id": "t1", "turn": 1,
        "actor": { "id": "u_pm", "name": "김매니저", "role": "project_manager", "org": null },
        "business_rules": ["메일은 초안만 씁니다."], "now": "2026-10-06T10:00:00+09:00",
        "message": { "role": "user", "content": content, "event_id": event },
        "an_unknown_member": { "is": "tolerated" },
    })
}

fn tool(name: &str, description: &str) -> Value {
    let parameters = json!({ "type": "object", "properties": { "to": { "type": "string" } }, "required": ["to"] });
    json!({ "name": name, "description": description, "parameters": parameters })
}

/// A turn with these tools in this sandbox.
fn in_sandbox(content: &str, event: &str, tools: &[Value], sandbox: &SandboxServer) -> Value {
    let mut turn = turn(content, event);
    turn["tools"] = json!(tools);
    turn["sandbox"] = json!({
        "base_url": format!("http://{}/api/sandbox/t1/", sandbox.address), "token": "secret-7",
        "expires_at": "2026-10-06T11:00:00+09:00",
    });
    turn
}

fn done(result: &Value) -> (u16, Value) {
    (200, json!({ "ok": true, "result": result }))
}

/// What the model was told of its calls.
fn told_results(heard: &Mutex<Vec<taco_trace::chat::ChatRequest>>) -> Vec<(String, bool)> {
    let heard = heard.lock().unwrap();
    let results = heard.last().unwrap().messages.iter().filter_map(|message| match message {
        Message::Tool { content, is_error, .. } => Some((content.clone(), *is_error)),
        _ => None,
    });
    results.collect()
}

const SEND: &str = "POST /api/sandbox/t1/tools/save_email_draft";
const FIND: &str = "POST /api/sandbox/t1/tools/search_mail";
const APPROVALS: &str = "GET /api/sandbox/t1/approvals";
const REQUESTS: &str = "POST /api/sandbox/t1/approval-requests";

fn draft() -> (&'static str, Value) {
    ("save_email_draft", json!({ "to": "kim@agency.example" }))
}

fn find() -> (&'static str, Value) {
    ("search_mail", json!({ "to": "kim@agency.example" }))
}

#[test]
fn preflight_names_the_agent() {
    let server = serve(careful());
    let (status, body) = post(server.address, &json!({ "protocol": "irumx-eval-target/1", "type": "preflight" }));
    let expected = json!({
        "protocol": "irumx-eval-target/1", "name": "taco-trace-demo", "version": env!("CARGO_PKG_VERSION"),
        "capabilities": ["cancel_signal"],
    });
    assert_eq!((status, body), (200, expected));
    assert_eq!(server.end().0, Totals::default());
}

#[test]
fn turn_without_tools_uses_the_agents_own() {
    let server = serve(careful());
    let (status, body) = post(server.address, &turn(&question("q15").text, "e1"));
    assert_eq!(status, 200, "{body}");
    assert!(body["output"]["text"].as_str().unwrap().starts_with("재무과 2026년 2분기"), "{body}");
    assert!(body["usage"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(body["events"].as_array().unwrap().len(), 2);
    let (totals, lines) = server.end();
    assert_eq!(totals.turns, 1);
    let spans = spans(&lines);
    assert_eq!(attribute(of(&spans, "invoke_agent")[0], "gen_ai.conversation.id").as_deref(), Some("t1"));
}

#[test]
fn tools_of_a_turn_are_called_in_its_sandbox() {
    let sandbox = sandbox(vec![(SEND, vec![done(&json!({ "draft_id": "d1" }))])]);
    let model = Told::new([asks(&[draft()]), says("초안을 저장했습니다.")]);
    let heard = Arc::clone(&model.heard);
    let server = serve(model);
    let turn = in_sandbox("초안을 써 주세요.", "e1", &[tool("save_email_draft", "메일 초안을 저장합니다.")], &sandbox);
    let (status, body) = post(server.address, &turn);
    assert_eq!((status, &body["output"]["text"]), (200, &json!("초안을 저장했습니다.")));
    let got = sandbox.got();
    let [got] = &got[..] else { panic!("{got:?}") };
    assert_eq!((got.line.as_str(), got.token.as_str()), (SEND, "Bearer secret-7"));
    assert_eq!(got.body, json!({ "arguments": { "to": "kim@agency.example" } }));
    assert_eq!(told_results(&heard), [(r#"{"draft_id":"d1"}"#.to_owned(), false)]);
    let request = heard.lock().unwrap()[0].clone();
    assert_eq!(request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["save_email_draft"]);
    assert_eq!(request.tools[0].parameters["required"], json!(["to"]));
    let knows = ["김매니저", "메일은 초안만 씁니다.", "2026-10-06T10:00:00+09:00"];
    assert!(knows.iter().all(|word| request.system.contains(word)), "{}", request.system);
    assert!(!server.end().1.contains("secret-7"), "no token in a trace");
}

#[test]
fn tool_error_is_told_to_the_model() {
    let refused = (422, json!({ "ok": false, "error": { "code": "tool_error", "message": "받는 사람이 없습니다" } }));
    let sandbox = sandbox(vec![(SEND, vec![refused, done(&json!({}))])]);
    let model = Told::new([asks(&[draft()]), asks(&[draft()]), says("답")]);
    let heard = Arc::clone(&model.heard);
    let server = serve(model);
    let turn = in_sandbox("써 주세요.", "e1", &[tool("save_email_draft", "초안")], &sandbox);
    assert_eq!(post(server.address, &turn).0, 200);
    let results = told_results(&heard);
    assert!(results[0].1 && results[0].0.contains("받는 사람이 없습니다"), "{results:?}");
    assert!(!results[1].1, "after a tool error it may be called again");
    assert_eq!(sandbox.lines(), [SEND, SEND]);
    let spans = spans(&server.end().1);
    assert_eq!(attribute(of(&spans, "execute_tool")[0], "error.type").as_deref(), Some("tool_error"));
}

/// A call whose outcome is not known is not made again before something was looked up, in this turn or the next.
#[test]
fn lost_answer_is_looked_up_before_it_is_done_again() {
    let lost =
        [(504, json!({ "ok": false, "outcome": "unknown", "error": { "code": "response_lost" } })), (0, json!({}))];
    for lost in lost {
        let sandbox = sandbox(vec![(SEND, vec![lost.clone(), done(&json!({}))]), (FIND, vec![done(&json!([]))])]);
        let tools = [tool("save_email_draft", "초안"), tool("search_mail", "메일을 찾습니다")];
        let model = Told::new([
            asks(&[draft()]),
            asks(&[draft()]),
            says("모르겠습니다."),
            asks(&[draft()]),
            asks(&[find()]),
            asks(&[draft()]),
            says("저장했습니다."),
        ]);
        let heard = Arc::clone(&model.heard);
        let server = serve(model);
        post(server.address, &in_sandbox("써 주세요.", "e1", &tools, &sandbox));
        assert_eq!(sandbox.lines(), [SEND], "{lost:?}");
        let results = told_results(&heard);
        assert!(results[0].0.contains("outcome_unknown") && results[1].0.contains("not_repeated"), "{results:?}");
        post(server.address, &in_sandbox("다시요.", "e2", &tools, &sandbox));
        assert_eq!(sandbox.lines(), [FIND, SEND], "{lost:?}");
        server.end();
    }
}

#[test]
fn lost_answer_of_a_look_may_be_asked_for_again() {
    let lost = (504, json!({ "ok": false, "outcome": "unknown" }));
    let sandbox = sandbox(vec![(FIND, vec![lost, done(&json!([]))])]);
    let server = serve(Told::new([asks(&[find()]), asks(&[find()]), says("없습니다.")]));
    let turn = in_sandbox("찾아 주세요.", "e1", &[tool("search_mail", "찾기")], &sandbox);
    assert_eq!(post(server.address, &turn).1["output"]["text"], "없습니다.");
    assert_eq!(sandbox.lines(), [FIND, FIND]);
    server.end();
}

#[test]
fn limit_of_calls_ends_all_calling() {
    let sandbox = sandbox(vec![(FIND, vec![(429, json!({ "ok": false, "error": { "code": "limit" } }))])]);
    let server = serve(Told::new([asks(&[find()]), asks(&[find()]), says("답")]));
    let turn = in_sandbox("찾아 주세요.", "e1", &[tool("search_mail", "찾기")], &sandbox);
    let (status, body) = post(server.address, &turn);
    assert_eq!(status, 200, "{body}");
    assert_eq!(sandbox.lines(), [FIND]);
    let spans = spans(&server.end().1);
    let root = of(&spans, "invoke_agent")[0];
    assert_eq!((attribute(root, "error.type").as_deref(), &root["status"]["code"]), (Some("call_limit"), &json!(2)));
}

#[test]
fn status_without_calls_left_makes_none() {
    let left = |left: u64| {
        let status = (200, json!({ "cancelled": false, "tool_calls_left": left }));
        let sandbox = sandbox(vec![("/status", vec![status]), (FIND, vec![done(&json!([]))])]);
        let server = serve(Told::new([asks(&[find()]), says("답")]));
        post(server.address, &in_sandbox("찾아 주세요.", "e1", &[tool("search_mail", "찾기")], &sandbox));
        server.end();
        sandbox.lines().len()
    };
    assert_eq!((left(0), left(1)), (0, 1));
}

#[test]
fn cancelled_turn_stops() {
    let status = |cancelled: bool| (200, json!({ "cancelled": cancelled, "tool_calls_left": 5 }));
    // Before the model is asked, and between its reply and the call.
    for answers in [vec![status(true)], vec![status(false), status(true)]] {
        let sandbox = sandbox(vec![("/status", answers), (FIND, vec![done(&json!([]))])]);
        let server = serve(Told::new([asks(&[find()]), says("답")]));
        let turn = in_sandbox("찾아 주세요.", "e1", &[tool("search_mail", "찾기")], &sandbox);
        let (status, body) = post(server.address, &turn);
        assert_eq!((status, &body["output"]["text"]), (200, &json!("요청이 취소되어 멈추었습니다.")));
        assert_eq!(sandbox.lines(), [""; 0]);
        let spans = spans(&server.end().1);
        assert_eq!(attribute(of(&spans, "invoke_agent")[0], "error.type").as_deref(), Some("cancelled"));
    }
}

fn approval(change: impl FnOnce(&mut Value)) -> Value {
    let mut approval = json!({
        "approval_id": "ap_100", "tool": "save_email_draft", "target": "kim@agency.example", "consumed": false,
        "expires_at": "2026-10-06T10:00:01+09:00", "tool_version": "1",
    });
    change(&mut approval);
    approval
}

#[test]
fn tool_that_needs_an_approval_is_called_with_its_number() {
    let sandbox = sandbox(vec![
        (APPROVALS, vec![(200, json!({ "approvals": [approval(|_| {})] }))]),
        (SEND, vec![done(&json!({}))]),
    ]);
    let server = serve(Told::new([asks(&[draft()]), says("답")]));
    let turn = in_sandbox("써 주세요.", "e1", &[tool("save_email_draft", "승인이 필요합니다.")], &sandbox);
    assert_eq!(post(server.address, &turn).0, 200);
    let got = sandbox.got();
    assert_eq!(got.iter().map(|got| got.line.as_str()).collect::<Vec<_>>(), [APPROVALS, SEND]);
    assert_eq!(got[1].body["approval_id"], "ap_100");
    server.end();
}

#[test]
fn approval_that_does_not_fit_is_not_used() {
    let wrong: [fn(&mut Value); 7] = [
        |approval| approval["consumed"] = json!(true),
        |approval| approval["expires_at"] = json!("2026-10-06T10:00:00+09:00"),
        |approval| approval["expires_at"] = json!("no time"),
        |approval| approval["tool"] = json!("send_email"),
        |approval| approval["target"] = json!("lee@agency.example"),
        |approval| approval["tool_version"] = json!("2"),
        |approval| approval["arguments"] = json!({ "to": "lee@agency.example" }),
    ];
    for change in wrong {
        let listed = approval(change);
        let sandbox = sandbox(vec![
            (APPROVALS, vec![(200, json!([listed]))]),
            (REQUESTS, vec![(200, json!({ "approval_id": "ap_1", "status": "pending" }))]),
            (SEND, vec![done(&json!({}))]),
        ]);
        let model = Told::new([asks(&[draft()]), asks(&[draft()]), says("승인을 기다립니다.")]);
        let heard = Arc::clone(&model.heard);
        let server = serve(model);
        let mut offered = tool("save_email_draft", "초안");
        offered["version"] = json!("1");
        let mut turn = in_sandbox("써 주세요.", "e1", &[offered], &sandbox);
        turn["business_rules"] = json!(["save_email_draft 는 승인을 받은 뒤에만 씁니다."]);
        assert_eq!(post(server.address, &turn).1["output"]["text"], "승인을 기다립니다.");
        let got = sandbox.got();
        // Asked for once, however often the model tries.
        let lines: Vec<&str> = got.iter().map(|got| got.line.as_str()).collect();
        assert_eq!(lines, [APPROVALS, REQUESTS, APPROVALS], "{listed}");
        assert_eq!(got[1].body["tool"], "save_email_draft");
        assert_eq!(got[1].body["arguments"], json!({ "to": "kim@agency.example" }));
        assert!(!got[1].body["reason"].as_str().unwrap().is_empty());
        assert!(told_results(&heard)[0].0.contains("approval_required"));
        server.end();
    }
}

#[test]
fn approval_that_could_not_be_asked_for_is_asked_for_again() {
    let sandbox = sandbox(vec![
        (APPROVALS, vec![(200, json!([]))]),
        (REQUESTS, vec![(429, json!({})), (200, json!({ "status": "pending" }))]),
    ]);
    let model = Told::new([asks(&[draft()]), asks(&[draft()]), asks(&[draft()]), says("승인을 기다립니다.")]);
    let server = serve(model);
    let turn = in_sandbox("써 주세요.", "e1", &[tool("save_email_draft", "승인이 필요합니다.")], &sandbox);
    assert_eq!(post(server.address, &turn).0, 200);
    let got = sandbox.got();
    let lines: Vec<&str> = got.iter().map(|got| got.line.as_str()).collect();
    assert_eq!(lines, [APPROVALS, REQUESTS, APPROVALS, REQUESTS, APPROVALS]);
    server.end();
}

#[test]
fn sandbox_that_cannot_be_reached_or_says_nonsense_is_a_tool_error() {
    let nowhere =
        SandboxServer { address: TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap(), got: channel().1 };
    let nonsense = sandbox(vec![(FIND, vec![(200, json!("?"))])]);
    let forbidden = sandbox(vec![(FIND, vec![(401, json!({}))])]);
    for (sandbox, kind) in [(nowhere, "unreachable"), (nonsense, "outcome_unknown"), (forbidden, "unreachable")] {
        let model = Told::new([asks(&[find()]), says("답")]);
        let heard = Arc::clone(&model.heard);
        let server = serve(model);
        let turn = in_sandbox("찾아 주세요.", "e1", &[tool("search_mail", "찾기")], &sandbox);
        assert_eq!(post(server.address, &turn).0, 200);
        assert!(told_results(&heard)[0].0.contains(kind), "{kind}");
        server.end();
    }
}

#[test]
fn tool_that_the_turn_does_not_offer_never_reaches_the_sandbox() {
    let sandbox = sandbox(vec![]);
    let server = serve(Told::new([asks(&[("../status", json!({})), ("budget_api", json!({}))]), says("답")]));
    post(server.address, &in_sandbox("찾아 주세요.", "e1", &[tool("search_mail", "찾기")], &sandbox));
    assert_eq!(sandbox.lines(), [""; 0]);
    server.end();
}

#[test]
fn name_of_a_tool_stays_within_its_path() {
    let sandbox = sandbox(vec![]);
    let server = serve(Told::new([asks(&[("a/../../b ?c", json!({}))]), says("답")]));
    post(server.address, &in_sandbox("불러 주세요.", "e1", &[tool("a/../../b ?c", "이름")], &sandbox));
    assert_eq!(sandbox.lines(), ["POST /api/sandbox/t1/tools/a%2F..%2F..%2Fb%20%3Fc"]);
    server.end();
}

#[test]
fn turns_of_a_trial_are_one_conversation() {
    let model = Told::new([says("첫째 답"), says("둘째 답"), says("다른 시험")]);
    let heard = Arc::clone(&model.heard);
    let server = serve(model);
    post(server.address, &turn("첫째", "e1"));
    post(server.address, &turn("둘째", "e2"));
    let mut other = turn("셋째", "e1");
    other["trial_id"] = json!("t2");
    assert_eq!(post(server.address, &other).1["output"]["text"], "다른 시험");
    let lengths: Vec<usize> = heard.lock().unwrap().iter().map(|request| request.messages.len()).collect();
    assert_eq!(lengths, [1, 3, 1]);
    let (totals, lines) = server.end();
    assert_eq!((totals.turns, lines.lines().count()), (3, 3));
}

#[test]
fn event_that_comes_again_is_not_done_twice() {
    let sandbox = sandbox(vec![(SEND, vec![done(&json!({}))])]);
    let server = serve(Told::new([asks(&[draft()]), says("저장했습니다.")]));
    let turn = in_sandbox("써 주세요.", "e1", &[tool("save_email_draft", "초안")], &sandbox);
    let (first, again) = (post(server.address, &turn), post(server.address, &turn));
    assert_eq!((first.0, again.0), (200, 200));
    assert_eq!(first.1["output"], again.1["output"]);
    assert_eq!(again.1["events"], json!([{ "type": "duplicate_delivery", "event_id": "e1" }]));
    assert_eq!(again.1["usage"], json!({ "input_tokens": 0, "output_tokens": 0 }));
    assert_eq!(sandbox.lines(), [SEND]);
    let (totals, lines) = server.end();
    assert_eq!((totals.turns, totals.duplicates, lines.lines().count()), (1, 1, 1));
}

/// Deliveries at once wait for one another.
#[test]
fn events_that_come_at_once_are_done_once() {
    let sandbox = sandbox(vec![(SEND, vec![done(&json!({}))])]);
    let server = serve(Told::new([asks(&[draft()]), says("저장했습니다.")]));
    let turn = in_sandbox("써 주세요.", "e1", &[tool("save_email_draft", "초안")], &sandbox);
    let address = server.address;
    std::thread::scope(|scope| {
        let sent: Vec<_> = (0..6).map(|_| scope.spawn(|| post(address, &turn))).collect();
        for sent in sent {
            let (status, body) = sent.join().unwrap();
            assert_eq!((status, &body["output"]["text"]), (200, &json!("저장했습니다.")));
        }
    });
    assert_eq!(sandbox.lines(), [SEND]);
    let (totals, _) = server.end();
    assert_eq!((totals.turns, totals.duplicates), (1, 5));
}

#[test]
fn turn_without_an_event_id_is_always_new() {
    let server = serve(Told::new([says("하나"), says("둘")]));
    let mut turn = turn("물음", "");
    turn["message"] = json!({ "role": "user", "content": "물음" });
    assert_eq!(post(server.address, &turn).1["output"]["text"], "하나");
    assert_eq!(post(server.address, &turn).1["output"]["text"], "둘");
    server.end();
}

/// Before anything was done the event may come again; afterwards it is answered as before.
#[test]
fn model_that_fails_is_the_servers_error() {
    let server = serve(Told::default());
    let (status, body) = post(server.address, &turn("물음", "e1"));
    assert_eq!((status, &body["error"]["code"]), (502, &json!("model_failed")));
    assert_eq!(post(server.address, &turn("물음", "e1")).0, 502);
    assert_eq!(server.end().0.turns, 2);

    let sandbox = sandbox(vec![(SEND, vec![done(&json!({}))])]);
    let server = serve(Told::new([asks(&[draft()])]));
    let turn = in_sandbox("써 주세요.", "e1", &[tool("save_email_draft", "초안")], &sandbox);
    assert_eq!((post(server.address, &turn).0, post(server.address, &turn).0), (502, 502));
    assert_eq!(sandbox.lines(), [SEND], "what was done is not done again");
    server.end();
}

#[test]
fn what_is_no_request_is_told_so() {
    let limits = Limits { body_bytes: 1_000, turns: 1, trials: 2, ..Limits::default() };
    let server = serve_with(Box::new(Told::new([says("답"), says("답"), says("답"), says("답")])), limits);
    let at = server.address;
    let refused = |head: &str, body: &[u8]| {
        let (status, body) = send(at, head, body);
        assert!(!body["error"]["message"].as_str().unwrap().is_empty(), "{body}");
        (status, body["error"]["code"].as_str().unwrap().to_owned())
    };
    let is = |status: u16, code: &str| (status, code.to_owned());
    let turn = |change: fn(&mut Value)| {
        let mut turn = turn("물음", "e9");
        change(&mut turn);
        turn.to_string().into_bytes()
    };
    assert_eq!(refused("POST /", b"{"), is(400, "not_json"));
    assert_eq!(refused("POST /", b""), is(400, "not_json"));
    assert_eq!(refused("POST /", b"[]"), is(400, "unknown_protocol").min(is(400, "invalid")));
    assert_eq!(refused("POST /", b"{}"), is(400, "unknown_protocol"));
    assert_eq!(
        refused("POST /", br#"{"protocol":"irumx-eval-target/2","type":"preflight"}"#),
        is(400, "unknown_protocol")
    );
    assert_eq!(refused("POST /", br#"{"protocol":"irumx-eval-target/1","type":"score"}"#), is(400, "unknown_type"));
    assert_eq!(refused("POST /", br#"{"protocol":"irumx-eval-target/1"}"#), is(400, "unknown_type"));
    assert_eq!(refused("POST /", &turn(|turn| turn["trial_id"] = json!(""))), is(422, "invalid"));
    assert_eq!(refused("POST /", &turn(|turn| turn["message"] = json!({ "role": "user" }))), is(422, "invalid"));
    assert_eq!(refused("POST /", &turn(|turn| turn["tools"] = json!([tool("a", "b")]))), is(422, "no_sandbox"));
    for base in ["nowhere", "file:///etc", "http://u:p@127.0.0.1/", "http://127.0.0.1/?x=1"] {
        let mut body: Value = serde_json::from_slice(&turn(|turn| turn["tools"] = json!([tool("a", "b")]))).unwrap();
        body["sandbox"] = json!({ "base_url": base, "token": "t" });
        assert_eq!(refused("POST /", body.to_string().as_bytes()), is(422, "bad_sandbox"), "{base}");
    }
    let mut body: Value = serde_json::from_slice(&turn(|turn| turn["tools"] = json!([tool("a", "b")]))).unwrap();
    body["sandbox"] = json!({ "base_url": "http://127.0.0.1/", "token": "a\nb" });
    assert_eq!(refused("POST /", body.to_string().as_bytes()), is(422, "bad_sandbox"));
    assert_eq!(refused("GET /", b""), is(405, "method_not_allowed"));
    assert_eq!(refused("POST /elsewhere", b"{}"), is(404, "not_found"));
    let of = |length: usize| format!("{:length$}", "{}").into_bytes();
    assert_eq!(refused("POST /", &of(1_000)), is(400, "unknown_protocol"));
    assert_eq!(refused("POST /", &of(1_001)), is(413, "too_large"));
    assert_eq!(post(at, &super::serve::turn("물음", "e1")).0, 200);
    assert_eq!(post(at, &super::serve::turn("물음", "e1")).0, 200, "a repeated event is no further turn");
    assert_eq!(refused("POST /", super::serve::turn("물음", "e2").to_string().as_bytes()), is(429, "too_many_turns"));
    // Two further trials push the first one out.
    for trial in ["t2", "t3", "t1"] {
        let mut turn = super::serve::turn("물음", "e3");
        turn["trial_id"] = json!(trial);
        assert_eq!(post(at, &turn).0, 200, "{trial}");
    }
    server.end();
}

#[test]
fn script_follows_an_order_in_a_sandbox() {
    let sandbox = sandbox(vec![(SEND, vec![done(&json!({ "draft_id": "d1" }))])]);
    let server = serve(careful());
    let order = r#"save_email_draft {"to":"kim@agency.example"} 로 저장해 주세요."#;
    let turn = in_sandbox(order, "e1", &[tool("save_email_draft", "초안")], &sandbox);
    let (_, body) = post(server.address, &turn);
    assert!(body["output"]["text"].as_str().unwrap().contains("d1"), "{body}");
    assert_eq!(sandbox.got()[0].body, json!({ "arguments": { "to": "kim@agency.example" } }));
    server.end();
}

/// A model that says when it is asked, and waits for a word before it replies.
struct Waiting {
    asked: Sender<()>,
    go: Receiver<()>,
    told: Told,
}

impl ChatModel for Waiting {
    fn provider(&self) -> &str {
        self.told.provider()
    }

    fn name(&self) -> &str {
        self.told.name()
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        self.asked.send(()).ok();
        self.go.recv().ok();
        self.told.chat(request)
    }
}

/// Tools of which a call says that it was made, and waits for a word before it is answered.
struct HeldTools {
    asked: Mutex<Sender<()>>,
    go: Mutex<Receiver<()>>,
}

impl Toolbox for HeldTools {
    fn call(&self, call: &ToolUse<'_>) -> Reply {
        self.asked.lock().unwrap().send(()).ok();
        self.go.lock().unwrap().recv().ok();
        LocalTools::new(0).call(call)
    }
}

/// Begins a turn, tells the server to stop when `is_asked` says that something waits, and returns when the server takes
/// no more requests.
fn stop_within_a_turn(server: &mut Server, is_asked: &Receiver<()>) -> JoinHandle<std::io::Result<String>> {
    let address = server.address;
    let answer = std::thread::spawn(move || {
        let body = turn("찾아 주세요.", "e1").to_string();
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    });
    is_asked.recv_timeout(PATIENCE).unwrap();
    server.stop.take().unwrap().send(()).unwrap();
    while TcpStream::connect(address).is_ok() {
        std::thread::yield_now();
    }
    answer
}

/// The model never replies: its reply is not waited for.
#[test]
fn turn_under_way_ends_as_cancelled_when_serving_ends() {
    let ((asked, is_asked), (_word, go)) = (channel(), channel());
    let model = Waiting { asked, go, told: Told::new([asks(&[find()]), says("답")]) };
    let mut server = serve_with(Box::new(model), Limits::default());
    let answer = stop_within_a_turn(&mut server, &is_asked).join().unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("멈추었습니다"), "{answer}");
    let totals = server.thread.join().unwrap().unwrap();
    assert_eq!((totals.turns, totals.cut, totals.traces_lost), (1, 0, 0));
    let spans = spans(&server.lines.text());
    assert_eq!(attribute(of(&spans, "invoke_agent")[0], "error.type").as_deref(), Some("cancelled"));
    assert!(of(&spans, "execute_tool").is_empty());
}

#[test]
fn turn_that_does_not_end_is_cut_and_counted() {
    let limits = Limits { drain_time: Duration::from_millis(1), ..Limits::default() };
    let ((asked, is_asked), (word, go)) = (channel(), channel());
    let tools = Arc::new(HeldTools { asked: Mutex::new(asked), go: Mutex::new(go) });
    let own = ("search_regulation", json!({ "query": "출장" }));
    let mut server = serve_tools(tools, Box::new(Told::new([asks(&[own]), says("답")])), limits);
    let answer = stop_within_a_turn(&mut server, &is_asked);
    let totals = server.thread.join().unwrap().unwrap();
    assert_eq!((totals.turns, totals.cut), (0, 1));
    drop(word);
    // Cut off, with or without an error of the connection.
    assert!(!answer.join().unwrap().unwrap_or_default().contains("output"));
}

#[test]
fn program_serves_until_it_is_interrupted() {
    let place = super::super::support_cli::Place::new();
    let mut child = program()
        .args(["demo", "serve", "--listen", "127.0.0.1:0", "--traces"])
        .arg(place.path("traces.jsonl"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let address = url.trim().trim_start_matches("http://").trim_end_matches('/').parse().unwrap();
    let (status, body) = post(address, &turn(&question("q21").text, "e1"));
    assert_eq!(status, 200, "{body}");
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(told(&output).contains("차례 1 · 다시 온 사건 0 · 거절 0"), "{}", told(&output));
    assert_eq!(std::fs::read_to_string(place.path("traces.jsonl")).unwrap().lines().count(), 1);
}
