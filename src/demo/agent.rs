//! The loop of the agent: ask the model, call the tools, tell the results, until there is an answer or no way to one.
//!
//! Every run is a trace after the GenAI semantic conventions: an `invoke_agent` root, below it a `chat` for each
//! request to the model and an `execute_tool` for each call. Calls of one reply run beside one another. Messages are
//! not recorded: they would tell which fault was injected.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanKind, SpanRef, Status as SpanStatus, TraceContextExt as _, Tracer as _};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value as Attribute};

use serde_json::{Value, json};

use super::clock::Clock;
use super::fault::{Fault, Injected};
use super::questions::Question;
use super::seed::{below, draw};
use super::telemetry::{Telemetry, TraceError};
use super::tools::{FailureKind, Reply, ToolFailure, ToolUse, Toolbox, Words};
use crate::chat::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, ToolOffer, Usage};
use crate::model::{Status, ToolDefinition};
use crate::spans::names as key;

const SHIPPED: &str = include_str!("data/agent.json");

/// How many calls of tools a run may make unless told otherwise.
const TOOL_CALLS: usize = 12;
/// Tokens of a reply unless told otherwise.
const REPLY_TOKENS: u32 = 1_024;
/// What `max_retries` is taken to be where a definition has none.
const RETRIES: i64 = 2;
/// Between two things that the agent does, on a simulated clock.
const STEP: Duration = Duration::from_millis(1);

/// Texts of the agent.
#[derive(Debug, Clone, serde::Deserialize)]
pub(super) struct AgentTexts {
    pub(super) agent_name: String,
    /// What an answer begins with that says that the work could not be done.
    pub(super) marker: String,
    pub(super) system: String,
    pub(super) actor: String,
    pub(super) now: String,
    pub(super) rules: String,
    pub(super) approval_words: Vec<String>,
}

impl AgentTexts {
    pub(super) fn shipped() -> Self {
        serde_json::from_str(SHIPPED).expect("a test reads the texts that are shipped")
    }
}

/// What an agent is told.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentConfig {
    /// `gen_ai.agent.name`.
    pub name: String,
    /// The system instructions.
    pub system: String,
    /// The tools that the model is offered, with their limits.
    pub tools: Vec<ToolDefinition>,
    /// What is made to go wrong, each once a run.
    pub faults: Vec<Fault>,
    /// Chooses which calls the faults hit.
    pub seed: u64,
    /// How many calls of tools a run may make; one more ends it as error. The repetitions of a fault do not count.
    pub max_tool_calls: usize,
    /// Tokens of one reply of the model.
    pub max_tokens: u32,
}

impl AgentConfig {
    /// The agent as it is shipped, with these tools and without faults.
    #[must_use]
    pub fn new(tools: Vec<ToolDefinition>) -> Self {
        let texts = AgentTexts::shipped();
        Self {
            name: texts.agent_name,
            system: texts.system,
            tools,
            faults: Vec::new(),
            seed: 0,
            max_tool_calls: TOOL_CALLS,
            max_tokens: REPLY_TOKENS,
        }
    }
}

/// How a run ended. Only an answer closes its root span ok.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It answered.
    Answered,
    /// The model said that it could not do the work.
    NotDone,
    /// It wanted more calls than it may make, or the tools allow no more.
    CallLimit,
    /// The model could not be asked.
    ModelFailed(ChatError),
    /// The model ran out of tokens within its answer.
    Cut,
    /// The model declined.
    Refused,
    /// The model said nothing.
    Empty,
    /// It was told to stop.
    Cancelled,
}

impl Ending {
    /// `error.type` of the root span; none for an answer.
    #[must_use]
    pub fn error_type(&self) -> Option<&'static str> {
        match self {
            Self::Answered => None,
            Self::NotDone => Some("not_done"),
            Self::CallLimit => Some("call_limit"),
            Self::ModelFailed(_) => Some("model_failed"),
            Self::Cut => Some("cut"),
            Self::Refused => Some("refused"),
            Self::Empty => Some("empty"),
            Self::Cancelled => Some("cancelled"),
        }
    }
}

/// A call as it was made.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// The arguments as sent.
    pub arguments: String,
    /// `error.type`; none when it went well.
    pub error: Option<String>,
    /// Its span, 16 hex digits.
    pub span_id: String,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunOutcome {
    /// Its trace, 32 hex digits.
    pub trace_id: String,
    /// What was asked.
    pub question: String,
    /// What was answered, or why there is no answer.
    pub answer: String,
    /// Status of the root span.
    pub status: Status,
    /// How it ended.
    pub ending: Ending,
    /// The calls, in the order in which they began.
    pub calls: Vec<Called>,
    /// The faults that were injected, in order. Fewer than were asked for when the run made too few calls.
    pub injected: Vec<Injected>,
    /// Tokens of all replies.
    pub usage: Usage,
}

/// A conversation that goes on over several runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// `gen_ai.conversation.id`.
    pub id: String,
    /// The messages so far.
    pub messages: Vec<Message>,
}

/// An agent.
pub struct Agent {
    config: AgentConfig,
    toolbox: Arc<dyn Toolbox>,
    clock: Arc<dyn Clock>,
    telemetry: Arc<Telemetry>,
    words: Words,
    marker: String,
}

impl Agent {
    /// An agent that calls tools through `toolbox` and leaves its traces with `telemetry`.
    #[must_use]
    pub fn new(
        config: AgentConfig,
        toolbox: Arc<dyn Toolbox>,
        clock: Arc<dyn Clock>,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        Self { config, toolbox, clock, telemetry, words: Words::shipped(), marker: AgentTexts::shipped().marker }
    }

    /// Asks one question in a conversation of its own. Blocks.
    ///
    /// # Errors
    /// When its trace cannot be kept; whatever goes wrong in the run itself is an outcome.
    pub fn run(&self, model: &mut dyn ChatModel, question: &Question) -> Result<RunOutcome, TraceError> {
        let begin = self.clock.begin();
        let since = begin.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos().to_string();
        let id = format!("conv-{:016x}", draw(self.config.seed, &["conversation", &question.text, &since]));
        let mut conversation = Conversation { id, messages: Vec::new() };
        let (outcome, kept) = self.begin(model, &mut conversation, question, begin);
        kept.map(|()| outcome)
    }

    /// Asks the next question of a conversation, whose messages grow by it. Blocks. What came of it stands whether its
    /// trace could be kept or not.
    pub fn go_on(
        &self,
        model: &mut dyn ChatModel,
        conversation: &mut Conversation,
        question: &Question,
    ) -> (RunOutcome, Result<(), TraceError>) {
        self.begin(model, conversation, question, self.clock.begin())
    }

    fn begin(
        &self,
        model: &mut dyn ChatModel,
        conversation: &mut Conversation,
        question: &Question,
        begin: SystemTime,
    ) -> (RunOutcome, Result<(), TraceError>) {
        let root = self
            .telemetry
            .tracer()
            .span_builder(format!("invoke_agent {}", self.config.name))
            .with_kind(SpanKind::Internal)
            .with_start_time(begin)
            .with_attributes([
                KeyValue::new(key::OPERATION_NAME, "invoke_agent"),
                KeyValue::new(key::PROVIDER_NAME, model.provider().to_owned()),
                KeyValue::new(key::AGENT_NAME, self.config.name.clone()),
                KeyValue::new(key::CONVERSATION_ID, conversation.id.clone()),
                KeyValue::new(key::REQUEST_MODEL, model.name().to_owned()),
            ])
            .start_with_context(self.telemetry.tracer(), &Context::new());
        let context = Context::new().with_span(root);
        conversation.messages.push(Message::User(question.text.clone()));
        let mut run = Run {
            agent: self,
            question,
            pending: plan(&self.config, question),
            context,
            at: begin,
            calls: Vec::new(),
            asked: 0,
            injected: Vec::new(),
            usage: Usage::default(),
            messages: &mut conversation.messages,
        };
        let (ending, answer) = run.go_to_the_end(model);
        let Run { context, at, calls, injected, usage, .. } = run;
        let root = context.span();
        root.set_attributes([
            KeyValue::new(key::USAGE_INPUT_TOKENS, count(usage.input_tokens)),
            KeyValue::new(key::USAGE_OUTPUT_TOKENS, count(usage.output_tokens)),
        ]);
        let status = match ending.error_type() {
            None => {
                root.set_status(SpanStatus::Ok);
                Status::Ok
            }
            Some(error) => {
                fail(&root, error, &answer);
                Status::Error
            }
        };
        root.end_with_timestamp(self.clock.after(at, STEP));
        let trace_id = root.span_context().trace_id().to_string();
        let kept = self.telemetry.settle();
        let question = question.text.clone();
        (RunOutcome { trace_id, question, answer, status, ending, calls, injected, usage }, kept)
    }

    fn offers(&self) -> Vec<ToolOffer> {
        let offer = |tool: &ToolDefinition| ToolOffer {
            name: tool.tool_name.clone(),
            description: tool.description.clone(),
            parameters: serde_json::from_str(&tool.json_schema).unwrap_or_else(|_| json!({ "type": "object" })),
        };
        self.config.tools.iter().map(offer).collect()
    }

    fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.config.tools.iter().find(|tool| tool.tool_name == name)
    }

    fn time_limit(&self, name: &str) -> Option<u64> {
        self.definition(name)?.timeout_ms.and_then(|limit| u64::try_from(limit).ok())
    }
}

/// Which faults hit from which call on: each waits for its call, by number from 0, and for one that it can hit.
///
/// A call swallowed ends the work, so that it comes last of those that have a call.
fn plan(config: &AgentConfig, question: &Question) -> Vec<(u64, Fault)> {
    let mut faults = config.faults.clone();
    faults.sort_by_key(|fault| draw(config.seed, &["order", &question.text, fault.as_str()]));
    faults.dedup();
    // A call that fails is made again as a rule: even a question that needs one call has room for two.
    let room = question.tools.len().max(2).min(faults.len());
    if let Some(at) = faults.iter().position(|fault| *fault == Fault::SwallowError) {
        let swallowed = faults.remove(at);
        faults.insert(if at < room { room - 1 } else { faults.len() }, swallowed);
    }
    let calls = question.tools.len().max(faults.len()).max(1) as u64;
    let first = below(calls, config.seed, &["call", &question.text]);
    let mut numbers: Vec<u64> = (0..faults.len() as u64).map(|more| (first + more) % calls).collect();
    numbers.sort_unstable();
    numbers.into_iter().zip(faults).collect()
}

/// A call on its way to its tool.
struct OnItsWay {
    /// What the model asked for.
    asked: ToolCall,
    /// What is called.
    name: String,
    arguments: String,
    fault: Option<Fault>,
    context: Context,
    start: SystemTime,
}

/// A call that came back.
struct Back {
    result: Result<Value, ToolFailure>,
    end: SystemTime,
}

struct Run<'a> {
    agent: &'a Agent,
    question: &'a Question,
    pending: Vec<(u64, Fault)>,
    context: Context,
    at: SystemTime,
    calls: Vec<Called>,
    /// Calls that the model asked for and that were made.
    asked: usize,
    injected: Vec<Injected>,
    usage: Usage,
    messages: &'a mut Vec<Message>,
}

impl Run<'_> {
    fn go_to_the_end(&mut self, model: &mut dyn ChatModel) -> (Ending, String) {
        let tools = self.agent.offers();
        loop {
            if self.agent.toolbox.is_cancelled() {
                return self.stop(Ending::Cancelled, "cancelled");
            }
            let reply = match self.ask(model, &tools) {
                Ok(reply) => reply,
                Err(ChatError::Stopped) => return self.stop(Ending::Cancelled, "cancelled"),
                Err(error) => return self.stop(Ending::ModelFailed(error), "model_failed"),
            };
            match reply.finish {
                Finish::Length => return self.stop(Ending::Cut, "cut"),
                Finish::Refused => return self.stop(Ending::Refused, "refused"),
                Finish::Stop | Finish::ToolCalls => {}
            }
            if reply.calls.is_empty() {
                return self.answer(reply);
            }
            let calls = reply.calls.clone();
            self.messages.push(Message::Assistant { text: reply.text, calls: reply.calls });
            if self.asked + calls.len() > self.agent.config.max_tool_calls {
                self.leave_unanswered(&calls, "limit");
                return self.stop(Ending::CallLimit, "call_limit");
            }
            if self.agent.toolbox.is_cancelled() {
                self.leave_unanswered(&calls, "cancelled");
                return self.stop(Ending::Cancelled, "cancelled");
            }
            if self.call(calls) {
                return self.stop(Ending::CallLimit, "call_limit");
            }
        }
    }

    fn answer(&mut self, reply: ChatReply) -> (Ending, String) {
        let text = reply.text.trim();
        if text.is_empty() {
            return self.stop(Ending::Empty, "empty");
        }
        let (ending, answer) = match text.strip_prefix(self.agent.marker.as_str()) {
            Some(rest) => (Ending::NotDone, rest.trim().to_owned()),
            None => (Ending::Answered, text.to_owned()),
        };
        self.messages.push(Message::Assistant { text: reply.text, calls: Vec::new() });
        (ending, answer)
    }

    /// Ends without an answer of the model. What is said instead becomes part of the conversation, which may go on.
    fn stop(&mut self, ending: Ending, words: &str) -> (Ending, String) {
        let answer = self.agent.words.say(words, "");
        self.messages.push(Message::Assistant { text: answer.clone(), calls: Vec::new() });
        (ending, answer)
    }

    /// Every call in a conversation has a result, or a provider refuses what follows.
    fn leave_unanswered(&mut self, calls: &[ToolCall], words: &str) {
        for call in calls {
            let content = self.agent.words.say(words, &call.name);
            self.messages.push(Message::Tool { call_id: call.id.clone(), content, is_error: true });
        }
    }

    fn tick(&mut self) -> SystemTime {
        self.at = self.agent.clock.after(self.at, STEP);
        self.at
    }

    fn span(&self, name: String, kind: SpanKind, start: SystemTime, attributes: Vec<KeyValue>) -> Context {
        let tracer = self.agent.telemetry.tracer();
        let builder = tracer.span_builder(name).with_kind(kind).with_start_time(start).with_attributes(attributes);
        Context::new().with_span(builder.start_with_context(tracer, &self.context))
    }

    fn ask(&mut self, model: &mut dyn ChatModel, tools: &[ToolOffer]) -> Result<ChatReply, ChatError> {
        let config = &self.agent.config;
        let request = ChatRequest {
            system: config.system.clone(),
            messages: self.messages.clone(),
            tools: tools.to_vec(),
            max_tokens: config.max_tokens,
        };
        let start = self.tick();
        let attributes = vec![
            KeyValue::new(key::OPERATION_NAME, "chat"),
            KeyValue::new(key::PROVIDER_NAME, model.provider().to_owned()),
            KeyValue::new(key::REQUEST_MODEL, model.name().to_owned()),
            KeyValue::new(key::REQUEST_MAX_TOKENS, i64::from(config.max_tokens)),
        ];
        let context = self.span(format!("chat {}", model.name()), SpanKind::Client, start, attributes);
        let reply = model.chat(&request);
        let number = self.messages.len().to_string();
        let takes = 300 + below(600, self.agent.config.seed, &["chat", &self.question.text, &number]);
        self.at = self.agent.clock.after(start, Duration::from_millis(takes));
        let span = context.span();
        match &reply {
            Ok(reply) => {
                self.usage = self.usage.plus(reply.usage);
                let finish = Array::String(vec![StringValue::from(finish_reason(reply.finish))]);
                span.set_attributes([
                    KeyValue::new(key::RESPONSE_MODEL, reply.model.clone()),
                    KeyValue::new(key::RESPONSE_FINISH_REASONS, Attribute::Array(finish)),
                    KeyValue::new(key::USAGE_INPUT_TOKENS, count(reply.usage.input_tokens)),
                    KeyValue::new(key::USAGE_OUTPUT_TOKENS, count(reply.usage.output_tokens)),
                ]);
            }
            Err(error) => fail(&span, model_error_type(error), &error.to_string()),
        }
        span.end_with_timestamp(self.at);
        reply
    }

    /// Calls beside one another; tells whether the tools allow no more.
    fn call(&mut self, calls: Vec<ToolCall>) -> bool {
        let on_their_way: Vec<OnItsWay> = calls.into_iter().map(|call| self.send(call)).collect();
        let agent = self.agent;
        let backs: Vec<Back> = if let [only] = on_their_way.as_slice() {
            vec![fetch(agent, only)]
        } else {
            std::thread::scope(|scope| {
                let threads: Vec<_> = on_their_way.iter().map(|call| scope.spawn(move || fetch(agent, call))).collect();
                let joined = threads.into_iter().zip(&on_their_way).map(|(thread, call)| {
                    thread.join().unwrap_or_else(|_| Back {
                        result: Err(agent.failure(FailureKind::ToolError, "broken", &call.name)),
                        end: agent.clock.after(call.start, STEP),
                    })
                });
                joined.collect()
            })
        };
        self.at = backs.iter().map(|back| back.end).fold(self.at, SystemTime::max);
        let last = on_their_way.len().saturating_sub(1);
        let mut no_more = false;
        let mut told = Vec::new();
        for (number, (call, back)) in on_their_way.into_iter().zip(backs).enumerate() {
            no_more |= back.result.as_ref().is_err_and(|failure| failure.kind == FailureKind::CallLimit);
            let span_id = self.came_back(&call.context, &call.name, &call.arguments, call.start, &back);
            if let Some(fault) = call.fault {
                self.injected.push(Injected { fault, tool: call.asked.name.clone(), span_id });
            }
            told.push((number == last, call, back));
        }
        for (is_last, call, mut back) in told {
            if call.fault == Some(Fault::Repeat) {
                back = self.repeat(&call, is_last);
            }
            let (content, is_error) = match back.result {
                Ok(value) => (value.to_string(), false),
                Err(_) if call.fault == Some(Fault::SwallowError) => (SWALLOWED.to_owned(), false),
                Err(failure) => (
                    json!({ "error": { "type": failure.kind.as_str(), "message": failure.message } }).to_string(),
                    true,
                ),
            };
            self.messages.push(Message::Tool { call_id: call.asked.id, content, is_error });
        }
        no_more
    }

    /// Sends a call, with what the faults make of it.
    fn send(&mut self, asked: ToolCall) -> OnItsWay {
        let number = self.asked as u64;
        self.asked += 1;
        let due = self.pending.iter().position(|(from, fault)| *from <= number && self.can_hit(*fault, &asked));
        let fault = due.map(|at| self.pending.remove(at).1);
        let (mut name, mut arguments) = (asked.name.clone(), asked.arguments.clone());
        match fault {
            Some(Fault::UnknownTool) => name = self.unknown_name(&name),
            Some(Fault::DropArg) => arguments = self.without_one(&asked).unwrap_or(arguments),
            _ => {}
        }
        let start = self.tick();
        let context = self.begin_call(&name, &asked.id, &arguments, start);
        OnItsWay { asked, name, arguments, fault, context, start }
    }

    fn begin_call(&self, name: &str, id: &str, arguments: &str, start: SystemTime) -> Context {
        let mut attributes = vec![
            KeyValue::new(key::OPERATION_NAME, "execute_tool"),
            KeyValue::new(key::TOOL_NAME, name.to_owned()),
            KeyValue::new(key::TOOL_TYPE, "function"),
            KeyValue::new(key::TOOL_CALL_ID, id.to_owned()),
            KeyValue::new(key::TOOL_CALL_ARGUMENTS, arguments.to_owned()),
        ];
        if let Some(tool) = self.agent.definition(name) {
            attributes.push(KeyValue::new(key::TOOL_DESCRIPTION, tool.description.clone()));
        }
        self.span(format!("execute_tool {name}"), SpanKind::Internal, start, attributes)
    }

    /// Ends the span of a call and notes the call; gives its id.
    fn came_back(&mut self, context: &Context, name: &str, arguments: &str, start: SystemTime, back: &Back) -> String {
        let span = context.span();
        let error = match &back.result {
            Ok(value) => {
                span.set_attribute(KeyValue::new(key::TOOL_CALL_RESULT, value.to_string()));
                None
            }
            Err(failure) => {
                fail(&span, failure.kind.as_str(), &failure.message);
                Some(failure.kind.as_str().to_owned())
            }
        };
        span.end_with_timestamp(back.end);
        let span_id = span.span_context().span_id().to_string();
        let duration_ms = back.end.duration_since(start).unwrap_or_default().as_millis();
        self.calls.push(Called {
            tool: name.to_owned(),
            arguments: arguments.to_owned(),
            error,
            span_id: span_id.clone(),
            duration_ms: u64::try_from(duration_ms).unwrap_or(u64::MAX),
        });
        span_id
    }

    /// Makes the call again until one more than `max_retries` equal calls follow one another.
    fn repeat(&mut self, call: &OnItsWay, is_last: bool) -> Back {
        let allowed = self.agent.definition(&call.name).and_then(|tool| tool.max_retries).unwrap_or(RETRIES);
        // Where another call began in between, the first one counts for nothing.
        let more = allowed.max(1) + i64::from(!is_last);
        let mut back = Back { result: Ok(Value::Null), end: self.at };
        for number in 1..=more {
            let arguments = reordered(&call.arguments, number % 2 == 1);
            let start = self.tick();
            let context = self.begin_call(&call.name, &format!("{}-{number}", call.asked.id), &arguments, start);
            let again =
                OnItsWay { asked: call.asked.clone(), name: call.name.clone(), arguments, fault: None, context, start };
            back = fetch(self.agent, &again);
            self.at = back.end;
            self.came_back(&again.context, &again.name, &again.arguments, start, &back);
        }
        back
    }

    fn can_hit(&self, fault: Fault, call: &ToolCall) -> bool {
        match fault {
            Fault::DropArg => self.without_one(call).is_some(),
            Fault::Slow => self.agent.time_limit(&call.name).is_some(),
            Fault::Repeat | Fault::SwallowError => self.agent.definition(&call.name).is_some(),
            Fault::UnknownTool => true,
        }
    }

    /// The arguments without a required one, which the seed chooses; none when there is none to drop.
    fn without_one(&self, call: &ToolCall) -> Option<String> {
        let definition = self.agent.definition(&call.name)?;
        let Ok(Value::Object(mut arguments)) = serde_json::from_str(&call.arguments) else { return None };
        let required = definition.params.iter().filter(|param| param.required_position.is_some());
        let there: Vec<&str> =
            required.map(|param| param.key.as_str()).filter(|key| arguments.contains_key(*key)).collect();
        let at = below(there.len() as u64, self.agent.config.seed, &["drop", &self.question.text, &call.name]);
        arguments.remove(*there.get(usize::try_from(at).ok()?)?)?;
        Some(Value::Object(arguments).to_string())
    }

    /// A name like this one that no tool has.
    fn unknown_name(&self, name: &str) -> String {
        let mut words: Vec<&str> = name.split('_').collect();
        words.reverse();
        let candidates = [words.join("_"), format!("get_{name}"), format!("{name}_v2")];
        let free = candidates.into_iter().find(|other| self.agent.definition(other).is_none());
        free.unwrap_or_else(|| format!("{name}_{:04x}", draw(self.agent.config.seed, &["name", name]) & 0xffff))
    }
}

/// What a model is told of an error that is swallowed.
const SWALLOWED: &str = r#"{"status":"completed"}"#;

impl Agent {
    fn failure(&self, kind: FailureKind, words: &str, value: &str) -> ToolFailure {
        ToolFailure { kind, message: self.words.say(words, value) }
    }
}

/// Calls the tool and lets its time pass.
fn fetch(agent: &Agent, call: &OnItsWay) -> Back {
    let Some(_) = agent.definition(&call.name) else {
        // Nobody is asked, so that no time passes.
        let result = Err(agent.failure(FailureKind::ToolNotFound, "no_tool", &call.name));
        return Back { result, end: call.start };
    };
    let mut reply = match call.fault {
        Some(Fault::SwallowError) => Reply {
            result: Err(agent.failure(FailureKind::ToolError, "broken", &call.name)),
            takes: Duration::from_millis(40),
        },
        _ => agent.toolbox.call(&ToolUse { name: &call.name, arguments: &call.arguments }),
    };
    let limit = agent.time_limit(&call.name);
    if let (Some(Fault::Slow), Some(limit)) = (call.fault, limit) {
        let late = 200 + below(1_300, agent.config.seed, &["late", &call.name, &call.arguments]);
        reply.takes = Duration::from_millis(limit.saturating_add(late));
    }
    let end = agent.clock.wait(call.start, reply.takes).max(call.start);
    let took = end.duration_since(call.start).unwrap_or_default().as_millis();
    if limit.is_some_and(|limit| took > u128::from(limit)) {
        reply.result = Err(agent.failure(FailureKind::Timeout, "timeout", &call.name));
    }
    Back { result: reply.result, end }
}

fn fail(span: &SpanRef<'_>, error_type: &'static str, message: &str) {
    span.set_attribute(KeyValue::new(key::ERROR_TYPE, error_type));
    span.set_status(SpanStatus::error(message.to_owned()));
}

fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::Refused => "content_filter",
    }
}

/// `error.type` of a request that failed.
fn model_error_type(error: &ChatError) -> &'static str {
    match error {
        ChatError::Cap(_) => "spending_cap",
        ChatError::TimedOut { .. } => "timeout",
        ChatError::Unreachable { .. } => "unreachable",
        ChatError::Status { status: 401 | 403, .. } => "unauthorized",
        ChatError::Status { status: 429, .. } => "rate_limited",
        ChatError::Status { .. } => "server_error",
        ChatError::Unreadable { .. } => "unreadable",
        _ => "_OTHER",
    }
}

/// An object with its keys in falling or rising order; other texts as they are.
fn reordered(arguments: &str, falling: bool) -> String {
    let Ok(Value::Object(members)) = serde_json::from_str(arguments) else { return arguments.to_owned() };
    let mut members: Vec<String> =
        members.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
    members.sort_unstable();
    if falling {
        members.reverse();
    }
    format!("{{{}}}", members.join(","))
}
