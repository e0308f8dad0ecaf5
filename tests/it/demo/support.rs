//! An agent for tests: models and tools that do as they are told, a simulated clock, traces in memory.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use taco_trace::chat::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, ToolCall, Usage};
use taco_trace::demo::{
    Agent, AgentConfig, LocalTools, Question, Reply, RunOutcome, ScriptConfig, ScriptModel, SimulatedClock, TOOLS_JSON,
    Telemetry, TelemetrySetup, ToolUse, Toolbox, TraceText, questions,
};
use taco_trace::ingest::tools::{ToolDefaults, parse_tools};
use taco_trace::model::ToolDefinition;

/// The definitions of a tools.json.
pub(super) fn defined(text: &str) -> Vec<ToolDefinition> {
    let (set, issues) = parse_tools(text, "tools.json", ToolDefaults::default()).unwrap();
    assert_eq!(issues, []);
    set.tools
}

pub(super) fn shipped() -> AgentConfig {
    AgentConfig::new(defined(TOOLS_JSON))
}

/// A model that leaves nothing out and corrects itself always.
pub(super) fn careful() -> ScriptModel {
    ScriptModel::new(ScriptConfig { seed: 0, omits_percent: 0, recovers_percent: 100 })
}

pub(super) fn question(id: &str) -> Question {
    questions::shipped().into_iter().find(|question| question.id == id).unwrap()
}

/// What a run came to, and its line.
pub(super) fn run_with(
    config: AgentConfig,
    toolbox: Arc<dyn Toolbox>,
    model: &mut dyn ChatModel,
    question: &Question,
) -> (RunOutcome, String) {
    let lines = TraceText::default();
    let setup = TelemetrySetup { lines: Some(Box::new(lines.clone())), seed: Some(config.seed), ..Default::default() };
    let telemetry = Arc::new(Telemetry::new(setup).unwrap());
    let agent = Agent::new(config, toolbox, Arc::new(SimulatedClock::new()), telemetry);
    let outcome = agent.run(model, question).unwrap();
    (outcome, lines.text())
}

/// The same with the tools that are shipped.
pub(super) fn run(config: AgentConfig, model: &mut dyn ChatModel, question: &Question) -> (RunOutcome, String) {
    let tools = Arc::new(LocalTools::new(config.seed));
    run_with(config, tools, model, question)
}

/// The spans of lines, in the order in which they ended.
pub(super) fn spans(lines: &str) -> Vec<Value> {
    let mut spans = Vec::new();
    for line in lines.lines() {
        let request: Value = serde_json::from_str(line).unwrap();
        for scope in request.pointer("/resourceSpans/0/scopeSpans").unwrap().as_array().unwrap() {
            spans.extend(scope["spans"].as_array().unwrap().iter().cloned());
        }
    }
    spans
}

/// An attribute's value, as text.
pub(super) fn attribute(span: &Value, key: &str) -> Option<String> {
    let found = span["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    let value = found["value"].as_object()?.values().next()?.clone();
    Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

/// The spans of an operation.
pub(super) fn of<'s>(spans: &'s [Value], operation: &str) -> Vec<&'s Value> {
    spans.iter().filter(|span| attribute(span, "gen_ai.operation.name").as_deref() == Some(operation)).collect()
}

pub(super) fn asks(calls: &[(&str, Value)]) -> ChatReply {
    static NUMBER: Mutex<u64> = Mutex::new(0);
    let id = || {
        let mut number = NUMBER.lock().unwrap();
        *number += 1;
        format!("c{number}")
    };
    let calls = calls.iter().map(|(name, arguments)| ToolCall {
        id: id(),
        name: (*name).to_owned(),
        arguments: arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned),
    });
    ChatReply { text: String::new(), calls: calls.collect(), finish: Finish::ToolCalls, ..says("") }
}

pub(super) fn says(text: &str) -> ChatReply {
    let usage = Usage { input_tokens: 3, output_tokens: 2 };
    ChatReply { text: text.to_owned(), calls: Vec::new(), finish: Finish::Stop, usage, model: "told-1".to_owned() }
}

/// A model that says what it is told, and keeps what it hears.
#[derive(Default)]
pub(super) struct Told {
    pub(super) replies: Vec<Result<ChatReply, ChatError>>,
    pub(super) heard: Arc<Mutex<Vec<ChatRequest>>>,
}

impl Told {
    pub(super) fn new(replies: impl IntoIterator<Item = ChatReply>) -> Self {
        Self { replies: replies.into_iter().map(Ok).collect(), heard: Arc::default() }
    }
}

impl ChatModel for Told {
    fn provider(&self) -> &str {
        "told"
    }

    fn name(&self) -> &str {
        "told"
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        self.heard.lock().unwrap().push(request.clone());
        if self.replies.is_empty() { Err(ChatError::NothingLeft) } else { self.replies.remove(0) }
    }
}

/// Tools that always answer after the same time.
pub(super) struct Taking(pub(super) Duration);

impl Toolbox for Taking {
    fn call(&self, call: &ToolUse<'_>) -> Reply {
        Reply { result: Ok(json!({ "name": call.name })), takes: self.0 }
    }
}
