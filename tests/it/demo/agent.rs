//! The loop: ends, limits, conversations, the script, where traces go.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use taco_trace::chat::{ChatError, ChatModel as _, ChatReply, ChatRequest, Finish, Message, ToolOffer};
use taco_trace::demo::{
    Agent, AgentConfig, Conversation, Ending, LocalTools, Question, ScriptConfig, ScriptModel, SimulatedClock,
    Sink as _, Telemetry, TelemetrySetup, TraceFile, questions,
};
use taco_trace::model::Status;

use super::super::support_cli::{Place, SmallDisk, program, told};
use super::support::{Taking, Told, asks, careful, question, run, run_with, says, shipped};

fn look_up(name: &str) -> (&'static str, Value) {
    ("org_chart_lookup", json!({ "dept_name": name }))
}

fn ask(replies: Vec<ChatReply>, limit: usize) -> (Ending, Status, usize) {
    let config = AgentConfig { max_tool_calls: limit, ..shipped() };
    let (outcome, _) = run(config, &mut Told::new(replies), &Question::free("물음"));
    (outcome.ending, outcome.status, outcome.calls.len())
}

#[test]
fn call_limit_ends_the_run_when_it_is_passed() {
    let replies = || vec![asks(&[look_up("재무과")]), asks(&[look_up("인사과")]), says("답")];
    assert_eq!(ask(replies(), 3), (Ending::Answered, Status::Ok, 2));
    assert_eq!(ask(replies(), 2), (Ending::Answered, Status::Ok, 2));
    assert_eq!(ask(replies(), 1), (Ending::CallLimit, Status::Error, 1));
    assert_eq!(ask(replies(), 0), (Ending::CallLimit, Status::Error, 0));
    // Calls of one reply are made together or not at all.
    let both = vec![asks(&[look_up("재무과"), look_up("인사과")]), says("답")];
    assert_eq!(ask(both, 1), (Ending::CallLimit, Status::Error, 0));
}

#[test]
fn only_an_answer_closes_ok() {
    let finish = |finish| ChatReply { finish, ..says("반쪽") };
    let ends = [
        (says("답"), Ending::Answered, Status::Ok),
        (says("  "), Ending::Empty, Status::Error),
        (says("[처리 불가] 자료가 없습니다."), Ending::NotDone, Status::Error),
        (finish(Finish::Length), Ending::Cut, Status::Error),
        (finish(Finish::Refused), Ending::Refused, Status::Error),
    ];
    for (reply, ending, status) in ends {
        assert_eq!(ask(vec![reply], 5), (ending, status, 0));
    }
}

#[test]
fn answer_is_given_without_its_marker() {
    let (outcome, _) = run(shipped(), &mut Told::new([says("[처리 불가] 자료가 없습니다.")]), &Question::free("물음"));
    assert_eq!(outcome.answer, "자료가 없습니다.");
}

#[test]
fn provider_error_ends_the_run_as_error() {
    let error = ChatError::Status { status: 500, message: "broken".to_owned() };
    let mut model = Told::new([asks(&[look_up("재무과")])]);
    model.replies.push(Err(error.clone()));
    let (outcome, lines) = run(shipped(), &mut model, &Question::free("물음"));
    assert_eq!((outcome.status, outcome.ending), (Status::Error, Ending::ModelFailed(error)));
    assert_eq!(outcome.calls.len(), 1);
    let spans = super::support::spans(&lines);
    let chats = super::support::of(&spans, "chat");
    assert_eq!(chats[1]["status"]["code"], 2);
    assert_eq!(super::support::attribute(chats[1], "error.type").as_deref(), Some("server_error"));
}

/// A conversation in which a call has no result is one that providers refuse.
#[test]
fn every_call_of_a_conversation_has_a_result() {
    let lines = Telemetry::new(TelemetrySetup::default()).unwrap();
    let config = AgentConfig { max_tool_calls: 1, ..shipped() };
    let clock = Arc::new(SimulatedClock::new());
    let agent = Agent::new(config, Arc::new(LocalTools::new(0)), clock, Arc::new(lines));
    let mut model = Told::new([
        asks(&[look_up("재무과"), look_up("인사과")]),
        asks(&[("budget_api", json!("{"))]),
        says("둘째 답"),
    ]);
    let mut conversation = Conversation { id: "trial".to_owned(), messages: Vec::new() };
    let (first, _) = agent.go_on(&mut model, &mut conversation, &Question::free("첫째"));
    let (second, _) = agent.go_on(&mut model, &mut conversation, &Question::free("둘째"));
    assert_eq!((first.ending, second.answer.as_str()), (Ending::CallLimit, "둘째 답"));
    let mut open = Vec::new();
    for message in &conversation.messages {
        match message {
            Message::User(_) => assert_eq!(open, [""; 0]),
            Message::Assistant { calls, .. } => open.extend(calls.iter().map(|call| call.id.clone())),
            Message::Tool { call_id, .. } => open.retain(|id| id != call_id),
        }
    }
    assert_eq!(open, [""; 0]);
    let heard = model.heard.lock().unwrap();
    assert!(heard[1].messages.contains(&Message::User("첫째".to_owned())), "one conversation");
}

#[test]
fn call_over_its_time_limit_is_a_time_out() {
    let over = |ms: u64| {
        let mut model = Told::new([asks(&[look_up("재무과")]), says("답")]);
        let tools = Arc::new(Taking(Duration::from_micros(ms)));
        let (outcome, _) = run_with(shipped(), tools, &mut model, &Question::free("물음"));
        outcome.calls[0].error.clone()
    };
    // 3,000 ms, as whole milliseconds of a span.
    assert_eq!(over(2_999_000), None);
    assert_eq!(over(3_000_000), None);
    assert_eq!(over(3_000_999), None);
    assert_eq!(over(3_001_000).as_deref(), Some("timeout"));
}

#[test]
fn script_gives_what_the_description_names() {
    let omitted = |description: &str, percent: u8| {
        let tool = |name: &str, description: &str, required: Value| ToolOffer {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({ "type": "object", "required": required }),
        };
        let tools = vec![
            tool("search_regulation", description, json!(["query", "dept_code"])),
            tool("org_chart_lookup", "dept_name", json!(["dept_name"])),
        ];
        let mut model = ScriptModel::new(ScriptConfig { omits_percent: percent, ..ScriptConfig::default() });
        let asked = questions::shipped()
            .into_iter()
            .filter(|question| question.tools == ["org_chart_lookup", "search_regulation"]);
        let first = asked.map(|question| {
            let messages = vec![Message::User(question.text)];
            let request = ChatRequest { messages, tools: tools.clone(), ..ChatRequest::default() };
            model.chat(&request).unwrap().calls[0].name == "search_regulation"
        });
        let first: Vec<bool> = first.collect();
        (first.iter().filter(|omitted| **omitted).count(), first.len())
    };
    assert_eq!(omitted("dept_code 를 주세요", 60).0, 0);
    assert_eq!(omitted("dept_codes", 100), (14, 14), "another word is not the key");
    assert_eq!(omitted("질문", 0).0, 0);
    let (some, all) = omitted("질문", 60);
    assert!(0 < some && some < all, "{some} of {all}: neither always nor never");
}

#[test]
fn script_answers_every_question_that_is_shipped() {
    for question in questions::shipped() {
        let (outcome, _) = run(shipped(), &mut careful(), &question);
        assert_eq!(outcome.ending, Ending::Answered, "{}: {}", question.text, outcome.answer);
        let called: Vec<&str> = outcome.calls.iter().map(|call| call.tool.as_str()).collect();
        assert_eq!(called, question.tools, "{}", question.text);
    }
}

#[test]
fn trace_is_added_as_whole_lines() {
    let place = Place::new();
    let path = place.write("traces.jsonl", "{\"resourceSp");
    TraceFile::open(&path).unwrap().append("{}\n").unwrap();
    TraceFile::open(&path).unwrap().append("{}\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"resourceSp\n{}\n{}\n");
}

#[test]
fn full_disk_leaves_no_part_of_a_line() {
    let Some(disk) = SmallDisk::mounted(1) else { return };
    let path = disk.path("traces.jsonl");
    TraceFile::open(&path).unwrap().append("{}\n").unwrap();
    disk.fill();
    let line = "x".repeat(100_000) + "\n";
    TraceFile::open(&path).unwrap().append(&line).unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
    let arguments = ["demo", "run", "--questions", "--simulated-time", "--traces"];
    let output = program().args(arguments).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("자리가 없어"), "{}", told(&output));
    // The last page of the file may have had room for whole lines.
    let left = std::fs::read_to_string(&path).unwrap();
    assert!(left.ends_with('\n') && left.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{left}");
}

fn demo(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program().arg("demo").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), told(&output))
}

#[test]
fn same_command_leaves_the_same_bytes() {
    let place = Place::new();
    let leave = |name: &str, seed: &str| {
        let path = place.path(name);
        let path = path.to_str().unwrap();
        let faults = ["--fault", "slow", "--fault", "drop-arg"];
        let arguments = ["run", "--questions", "--simulated-time", "--seed", seed, "--traces", path];
        let (code, out, told) = demo(&[arguments.as_slice(), &faults].concat());
        assert_eq!(code, Some(0), "{told}");
        (std::fs::read(path).unwrap(), out)
    };
    let first = leave("a.jsonl", "5");
    assert_eq!(first, leave("b.jsonl", "5"));
    assert_ne!(first.0, leave("c.jsonl", "6").0);
    assert_eq!(first.0.iter().filter(|byte| **byte == b'\n').count(), questions::shipped().len());
}

#[test]
fn command_tells_answer_and_calls() {
    let asked = question("q15").text;
    let (code, out, _) = demo(&["run", &asked, "--simulated-time"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("물음: 재무과의 2026년 2분기") && out.contains("답: 재무과 2026년 2분기"), "{out}");
    assert!(out.contains("1. org_chart_lookup") && out.contains("2. budget_api"), "{out}");
    let (_, out, _) = demo(&["run", &asked, "--simulated-time", "--format", "json", "--fault", "unknown-tool"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found[0]["injected"][0]["fault"], "unknown-tool");
    assert!(found[0]["calls"].as_array().unwrap().iter().any(|call| call["error"] == "tool_not_found"), "{out}");
    let (code, out, _) = demo(&["run", "\u{1b}[31m안녕", "--simulated-time"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("끝내지 못함(not_done)") && !out.contains('\u{1b}'), "{out:?}");
}

#[test]
fn command_refuses_what_cannot_be() {
    let place = Place::new();
    let wrong = [
        (vec!["run"], 2),
        (vec!["run", "물음", "--questions"], 2),
        (vec!["run", "물음", "--fault", "nope"], 2),
        (vec!["run", "물음", "--otlp-endpoint", "127.0.0.1"], 2),
        (vec!["run", "물음", "--otlp-endpoint", "ftp://127.0.0.1"], 2),
        (vec!["run", "물음", "--traces", "/no/such/folder/traces.jsonl"], 3),
        (vec!["run", "물음", "--traces", "/dev/full"], 3),
        (vec!["run", "물음", "--tools", "/no/such/tools.json"], 3),
        (vec!["serve", "--listen", "nowhere"], 2),
    ];
    for (arguments, expected) in wrong {
        let (code, _, told) = demo(&arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {told}");
        assert!(!told.is_empty(), "{arguments:?}");
    }
    let tools = place.write("tools.json", taco_trace::demo::TOOLS_JSON);
    let tools = tools.to_str().unwrap();
    let (code, _, told) = demo(&["run", "물음", "--tools", tools, "--traces", tools]);
    assert_eq!(code, Some(2), "{told}");
    assert_eq!(std::fs::read_to_string(tools).unwrap(), taco_trace::demo::TOOLS_JSON);
    assert_eq!(demo(&["tools"]).1, taco_trace::demo::TOOLS_JSON);
}

#[test]
fn closed_collector_is_told() {
    // A port that was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (code, _, told) = demo(&["run", "물음", "--simulated-time", "--otlp-endpoint", &format!("http://{address}")]);
    assert_eq!(code, Some(3));
    assert!(told.contains("Collector 가 트레이스를 받지 않았습니다"), "{told}");
}

/// Our own receiver stands for the Collector.
#[test]
fn traces_reach_a_collector() {
    use std::io::{BufRead as _, BufReader};
    let place = Place::new();
    let mut receiver = program()
        .args(["receive", "--listen", "127.0.0.1:0", "--quiet", "--db"])
        .arg(place.db())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(receiver.stdout.take().unwrap()).read_line(&mut url).unwrap();
    let base = url.trim().trim_end_matches("/v1/traces");
    let asked = question("q15").text;
    for endpoint in [base, url.trim()] {
        let (code, _, told) = demo(&["run", &asked, "--otlp-endpoint", endpoint]);
        assert_eq!(code, Some(0), "{told}");
    }
    let stopped = std::process::Command::new("kill").arg(receiver.id().to_string()).status().unwrap();
    assert!(stopped.success() && receiver.wait().unwrap().success());
    let rows = place.rows("SELECT operation, COUNT(*) FROM spans GROUP BY 1 ORDER BY 1");
    assert_eq!(rows, ["execute_tool|4", "invoke_agent|2"]);
}

#[test]
fn cut_line_is_not_glued_to_the_next() {
    let place = Place::new();
    let path = place.path("traces.jsonl");
    OpenOptions::new().create(true).append(true).open(&path).unwrap().write_all(b"").unwrap();
    TraceFile::open(&path).unwrap().append("{}\n").unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}\n");
}
