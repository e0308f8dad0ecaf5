//! The agent behind `irumx-eval-target/1`: an evaluation sends turns, the agent answers.
//!
//! Turns of one trial are one conversation and run one after another; an event that was answered is answered again
//! without being done again. Tools that a turn offers are called in its sandbox; without any, the agent has its own.
//! Prints nothing; the clock comes from outside. Start with [`run`].

use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, IntoFuture as _};
use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, oneshot};

use super::agent::{Agent, AgentConfig, AgentTexts, Conversation, Ending, RunOutcome};
use super::clock::Clock;
use super::questions::Question;
use super::sandbox::{Access, Memory, Offered, Sandbox};
use super::telemetry::{Telemetry, TraceError};
use super::tools::{Reply, ToolUse, Toolbox};
use crate::chat::stoppable::Stoppable;
use crate::chat::{ChatError, ChatModel, ChatReply, ChatRequest};
use crate::model::{DeclaredParam, TARGET_PROTOCOL, ToolDefinition};
use crate::render::{Texts, agent as words};

/// The protocol.
pub const PROTOCOL: &str = TARGET_PROTOCOL;
/// The name that `preflight` tells.
pub const NAME: &str = "taco-trace-demo";

/// What a server takes at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A body.
    pub body_bytes: usize,
    /// From the end of the head to the end of the body.
    pub body_time: Duration,
    /// Trials that are remembered; the one that is longest unused is forgotten first.
    pub trials: usize,
    /// Turns of one trial.
    pub turns: usize,
    /// Turns that are worked on at once.
    pub at_once: usize,
    /// From the wish to stop until turns that have not ended are given up.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            body_time: Duration::from_secs(30),
            trials: 1_000,
            turns: 200,
            at_once: 16,
            // A call of the sandbox may take half a minute, and the turn has to end behind it.
            drain_time: Duration::from_secs(40),
        }
    }
}

/// What a server needs from outside.
pub struct Setup {
    /// What it takes at most.
    pub limits: Limits,
    /// The model; requests to it wait for one another.
    pub model: Box<dyn ChatModel>,
    /// The agent: its own tools are offered in turns that offer none.
    pub config: AgentConfig,
    /// Calls its own tools.
    pub toolbox: Arc<dyn Toolbox>,
    /// Its time.
    pub clock: Arc<dyn Clock>,
    /// Where its traces go.
    pub telemetry: Arc<Telemetry>,
    /// The words of errors.
    pub texts: Texts,
    /// Is told what happens, on any thread.
    pub tell: Box<dyn Fn(&Event<'_>) + Send + Sync>,
}

/// What happens while serving.
#[derive(Debug)]
pub enum Event<'a> {
    /// A turn was worked on.
    Turn(&'a RunOutcome),
    /// Its trace could not be kept.
    TraceLost(&'a TraceError),
}

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Turns that were worked on.
    pub turns: u64,
    /// Events that came again.
    pub duplicates: u64,
    /// Requests refused.
    pub refused: u64,
    /// Turns whose trace could not be kept.
    pub traces_lost: u64,
    /// Turns that were cut off by the end of serving: without an answer, without a trace.
    pub cut: u64,
}

#[derive(Debug, Default)]
struct Counts {
    under_way: AtomicU64,
    traces_lost: AtomicU64,
    turns: AtomicU64,
    duplicates: AtomicU64,
    refused: AtomicU64,
}

/// A request that is not taken: status, code, and what its text names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Refusal(StatusCode, &'static str, String);

fn refusal(status: StatusCode, code: &'static str, value: impl ToString) -> Refusal {
    Refusal(status, code, value.to_string())
}

#[derive(Deserialize)]
struct Envelope {
    protocol: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Turn {
    trial_id: String,
    #[serde(default)]
    actor: Option<Actor>,
    #[serde(default)]
    business_rules: Vec<String>,
    #[serde(default)]
    now: Option<String>,
    message: Said,
    #[serde(default)]
    tools: Vec<Offered>,
    #[serde(default)]
    sandbox: Option<Access>,
}

#[derive(Deserialize)]
struct Actor {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    role: Option<String>,
}

#[derive(Deserialize)]
struct Said {
    content: String,
    #[serde(default)]
    event_id: Option<String>,
}

/// A trial. Its lock is held while a turn of it is worked on.
struct Trial {
    conversation: Conversation,
    turns: usize,
    answered: BTreeMap<String, Answer>,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Debug, Clone)]
struct Answer {
    status: StatusCode,
    body: Value,
}

#[derive(Default)]
struct Trials {
    known: BTreeMap<String, Arc<Mutex<Trial>>>,
    /// The longest unused first.
    order: VecDeque<String>,
}

struct Shared {
    limits: Limits,
    model: Mutex<Box<dyn ChatModel>>,
    provider: String,
    model_name: String,
    config: AgentConfig,
    toolbox: Arc<dyn Toolbox>,
    clock: Arc<dyn Clock>,
    telemetry: Arc<Telemetry>,
    texts: Texts,
    agent_texts: AgentTexts,
    tell: Box<dyn Fn(&Event<'_>) + Send + Sync>,
    trials: Mutex<Trials>,
    counts: Counts,
    places: Semaphore,
    is_stopping: Arc<AtomicBool>,
}

/// Tools of a turn that is given up when serving ends: behind the call under way nothing more is done.
struct StoppableTools {
    toolbox: Arc<dyn Toolbox>,
    is_stopping: Arc<AtomicBool>,
}

impl Toolbox for StoppableTools {
    fn call(&self, call: &ToolUse<'_>) -> Reply {
        self.toolbox.call(call)
    }

    fn is_cancelled(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed) || self.toolbox.is_cancelled()
    }
}

fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one model of a server, asked by one turn at a time.
struct OneModel<'a> {
    shared: &'a Shared,
}

impl ChatModel for OneModel<'_> {
    fn provider(&self) -> &str {
        &self.shared.provider
    }

    fn name(&self) -> &str {
        &self.shared.model_name
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        locked(&self.shared.model).chat(request)
    }
}

/// Serves on a bound socket until told to stop, and returns when the turns under way are answered: they do not ask
/// further, and their runs end as cancelled.
///
/// `begin` is called when requests can be taken; it returns what ends when serving should stop. It runs inside the
/// runtime, so that it may ask for signals.
///
/// # Errors
/// When the system gives no runtime, socket or signal.
pub fn run<S>(listener: TcpListener, setup: Setup, begin: impl FnOnce() -> io::Result<S>) -> io::Result<Totals>
where
    S: Future<Output = ()> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let is_stopping = Arc::<AtomicBool>::default();
    let is_told_to_stop = {
        let is_stopping = Arc::clone(&is_stopping);
        move || is_stopping.load(Ordering::Relaxed)
    };
    let shared = Arc::new(Shared {
        places: Semaphore::new(setup.limits.at_once),
        limits: setup.limits,
        provider: setup.model.provider().to_owned(),
        model_name: setup.model.name().to_owned(),
        model: Mutex::new(Box::new(Stoppable::new(setup.model, is_told_to_stop))),
        config: setup.config,
        toolbox: setup.toolbox,
        clock: setup.clock,
        telemetry: setup.telemetry,
        texts: setup.texts,
        agent_texts: AgentTexts::shipped(),
        tell: setup.tell,
        trials: Mutex::default(),
        counts: Counts::default(),
        is_stopping,
    });
    let drain = shared.limits.drain_time;
    let served = runtime.block_on(serve(listener, Arc::clone(&shared), begin));
    // A turn whose asker left goes on for its trace; one that was waited for already is given up.
    let has_time_left = served.as_ref().is_ok_and(|is_drained| *is_drained);
    runtime.shutdown_timeout(if has_time_left { drain } else { Duration::ZERO });
    served?;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let counts = &shared.counts;
    Ok(Totals {
        turns: read(&counts.turns),
        duplicates: read(&counts.duplicates),
        refused: read(&counts.refused),
        traces_lost: read(&counts.traces_lost),
        cut: read(&counts.under_way),
    })
}

/// Whether every request was answered in time when it was told to stop.
async fn serve<S>(listener: TcpListener, shared: Arc<Shared>, begin: impl FnOnce() -> io::Result<S>) -> io::Result<bool>
where
    S: Future<Output = ()> + Send + 'static,
{
    let drain = shared.limits.drain_time;
    let is_stopping = Arc::clone(&shared.is_stopping);
    let router =
        Router::new().fallback(handle).layer(DefaultBodyLimit::max(shared.limits.body_bytes)).with_state(shared);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let stop = begin()?;
    let (stopping, stopped) = oneshot::channel();
    let signal = async move {
        stop.await;
        is_stopping.store(true, Ordering::Relaxed);
        stopping.send(()).ok();
    };
    let serving = axum::serve(listener, router).with_graceful_shutdown(signal).into_future();
    tokio::select! {
        done = serving => done.map(|()| true),
        () = async {
            stopped.await.ok();
            tokio::time::sleep(drain).await;
        } => Ok(false),
    }
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let answer = match take(&shared, request).await {
        Ok(answer) => answer,
        Err(Refusal(status, code, value)) => {
            shared.counts.refused.fetch_add(1, Ordering::Relaxed);
            let message = words::refusal(&shared.texts, code, &value);
            Answer { status, body: json!({ "error": { "code": code, "message": message } }) }
        }
    };
    (answer.status, [(CONTENT_TYPE, "application/json")], answer.body.to_string()).into_response()
}

async fn take(shared: &Arc<Shared>, request: Request) -> Result<Answer, Refusal> {
    if request.uri().path() != "/" {
        return Err(refusal(StatusCode::NOT_FOUND, "not_found", request.uri().path()));
    }
    if request.method() != Method::POST {
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", request.method()));
    }
    let body = tokio::time::timeout(shared.limits.body_time, Bytes::from_request(request, &()))
        .await
        .map_err(|_| refusal(StatusCode::REQUEST_TIMEOUT, "slow", ""))?
        .map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                refusal(StatusCode::PAYLOAD_TOO_LARGE, "too_large", shared.limits.body_bytes)
            }
            _ => refusal(StatusCode::BAD_REQUEST, "cut", ""),
        })?;
    let not_json = |error: serde_json::Error| refusal(StatusCode::BAD_REQUEST, "not_json", error);
    let body: Value = serde_json::from_slice(&body).map_err(not_json)?;
    let envelope = Envelope::deserialize(&body).map_err(|error| refusal(StatusCode::BAD_REQUEST, "invalid", error))?;
    let protocol = envelope.protocol.unwrap_or_default();
    if protocol != PROTOCOL {
        return Err(refusal(StatusCode::BAD_REQUEST, "unknown_protocol", protocol));
    }
    match envelope.kind.unwrap_or_default().as_str() {
        "preflight" => Ok(Answer {
            status: StatusCode::OK,
            body: json!({
                "protocol": PROTOCOL, "name": NAME, "version": env!("CARGO_PKG_VERSION"),
                "capabilities": ["cancel_signal"],
            }),
        }),
        "turn" => {
            let invalid = |error| refusal(StatusCode::UNPROCESSABLE_ENTITY, "invalid", error);
            let turn: Turn = serde_json::from_value(body).map_err(invalid)?;
            let _place =
                shared.places.acquire().await.map_err(|_| refusal(StatusCode::SERVICE_UNAVAILABLE, "busy", ""))?;
            let shared = Arc::clone(shared);
            tokio::task::spawn_blocking(move || shared.turn(&turn))
                .await
                .map_err(|_| refusal(StatusCode::INTERNAL_SERVER_ERROR, "failed", ""))?
        }
        other => Err(refusal(StatusCode::BAD_REQUEST, "unknown_type", other)),
    }
}

impl Shared {
    fn trial(&self, id: &str) -> Arc<Mutex<Trial>> {
        let mut trials = locked(&self.trials);
        trials.order.retain(|known| known != id);
        trials.order.push_back(id.to_owned());
        if trials.order.len() > self.limits.trials
            && let Some(oldest) = trials.order.pop_front()
        {
            trials.known.remove(&oldest);
        }
        let new = || {
            Arc::new(Mutex::new(Trial {
                conversation: Conversation { id: id.to_owned(), messages: Vec::new() },
                turns: 0,
                answered: BTreeMap::new(),
                memory: Arc::default(),
            }))
        };
        Arc::clone(trials.known.entry(id.to_owned()).or_insert_with(new))
    }

    /// Works on a turn, or answers it again. Blocks.
    fn turn(&self, turn: &Turn) -> Result<Answer, Refusal> {
        let unprocessable = |code, value: &str| refusal(StatusCode::UNPROCESSABLE_ENTITY, code, value);
        if turn.trial_id.is_empty() {
            return Err(unprocessable("invalid", "trial_id"));
        }
        let trial = self.trial(&turn.trial_id);
        // An event that comes again while it is worked on waits here.
        let mut trial = locked(&trial);
        let event = turn.message.event_id.as_deref();
        if let Some((event, answer)) = event.and_then(|event| Some((event, trial.answered.get(event)?))) {
            self.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            let mut again = answer.clone();
            if let Some(body) = again.body.as_object_mut().filter(|body| body.contains_key("output")) {
                body.insert("events".to_owned(), json!([{ "type": "duplicate_delivery", "event_id": event }]));
                body.insert("usage".to_owned(), json!({ "input_tokens": 0, "output_tokens": 0 }));
            }
            return Ok(again);
        }
        if trial.turns >= self.limits.turns {
            return Err(refusal(StatusCode::TOO_MANY_REQUESTS, "too_many_turns", self.limits.turns));
        }
        let agent = self.agent(turn, &trial.memory)?;
        trial.turns += 1;
        let before = trial.conversation.messages.len();
        let question = Question::free(&turn.message.content);
        self.counts.under_way.fetch_add(1, Ordering::Relaxed);
        let (outcome, kept) = agent.go_on(&mut OneModel { shared: self }, &mut trial.conversation, &question);
        self.counts.turns.fetch_add(1, Ordering::Relaxed);
        (self.tell)(&Event::Turn(&outcome));
        self.counts.under_way.fetch_sub(1, Ordering::Relaxed);
        if let Err(error) = &kept {
            self.counts.traces_lost.fetch_add(1, Ordering::Relaxed);
            (self.tell)(&Event::TraceLost(error));
        }
        let failed = matches!(outcome.ending, Ending::ModelFailed(_));
        let answer = if failed {
            let message = words::refusal(&self.texts, "model_failed", "");
            let body = json!({ "error": { "code": "model_failed", "message": message } });
            Answer { status: StatusCode::BAD_GATEWAY, body }
        } else {
            Answer { status: StatusCode::OK, body: told(&outcome) }
        };
        if failed && outcome.calls.is_empty() {
            // Nothing was done: it may be asked again.
            trial.conversation.messages.truncate(before);
        } else if let Some(event) = event {
            trial.answered.insert(event.to_owned(), answer.clone());
        }
        Ok(answer)
    }

    fn agent(&self, turn: &Turn, memory: &Arc<Mutex<Memory>>) -> Result<Agent, Refusal> {
        let mut config = self.config.clone();
        config.system = self.instructions(turn);
        let toolbox: Arc<dyn Toolbox> = if turn.tools.is_empty() {
            Arc::clone(&self.toolbox)
        } else {
            let missing = || refusal(StatusCode::UNPROCESSABLE_ENTITY, "no_sandbox", "");
            let access = turn.sandbox.as_ref().ok_or_else(missing)?;
            config.tools = turn.tools.iter().map(definition).collect();
            let sandbox =
                Sandbox::new(access, turn.tools.clone(), &turn.business_rules, turn.now.clone(), Arc::clone(memory));
            Arc::new(sandbox.map_err(|error| refusal(StatusCode::UNPROCESSABLE_ENTITY, "bad_sandbox", error))?)
        };
        let toolbox = Arc::new(StoppableTools { toolbox, is_stopping: Arc::clone(&self.is_stopping) });
        Ok(Agent::new(config, toolbox, Arc::clone(&self.clock), Arc::clone(&self.telemetry)))
    }

    /// The system instructions with what the turn says of the one who asks, of the rules and of the time.
    fn instructions(&self, turn: &Turn) -> String {
        let mut lines = vec![self.config.system.clone()];
        if let Some(actor) = &turn.actor {
            let part = |text: &Option<String>| text.clone().unwrap_or_default();
            let line = self.agent_texts.actor.replace("{name}", &part(&actor.name));
            lines.push(line.replace("{role}", &part(&actor.role)));
        }
        if let Some(now) = &turn.now {
            lines.push(self.agent_texts.now.replace("{now}", now));
        }
        if !turn.business_rules.is_empty() {
            lines.push(self.agent_texts.rules.clone());
            lines.extend(turn.business_rules.iter().map(|rule| format!("- {rule}")));
        }
        lines.join("\n")
    }
}

/// A tool of a turn as the agent knows tools. A turn sets no limits.
fn definition(tool: &Offered) -> ToolDefinition {
    let required = tool.parameters.get("required").and_then(Value::as_array).into_iter().flatten();
    let param = |(place, key): (i64, &str)| DeclaredParam {
        key: key.to_owned(),
        position: None,
        required_position: Some(place),
        types: Vec::new(),
    };
    ToolDefinition {
        tool_name: tool.name.clone(),
        description: tool.description.clone(),
        json_schema: if tool.parameters.is_object() { tool.parameters.to_string() } else { "{}".to_owned() },
        timeout_ms: None,
        max_retries: None,
        schema_readable: tool.parameters.is_object(),
        params: (0..).zip(required.filter_map(Value::as_str)).map(param).collect(),
    }
}

/// What a turn is answered: the answer, and the calls as a record of the agent's own.
fn told(outcome: &RunOutcome) -> Value {
    let calls = outcome.calls.iter().map(|call| {
        let status = call.error.as_deref().unwrap_or("ok");
        json!({ "type": "tool_call", "tool": call.tool, "status": status, "trace_id": outcome.trace_id })
    });
    json!({
        "output": { "text": outcome.answer },
        "events": calls.collect::<Vec<_>>(),
        "usage": { "input_tokens": outcome.usage.input_tokens, "output_tokens": outcome.usage.output_tokens },
    })
}
