//! What is said in `irumx-eval-target/1`, as JSON. Pure.
//!
//! Submitted events are optional. One form is understood,
//! `{"type": "proposal", "tool": "…", "arguments": {…}, "blocked": true}`: what the model asked for, and whether the
//! runner of the target kept it from being made (`arguments` is `{}` and `blocked` false when absent). All others are
//! kept as they were told, and nothing is judged by them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::error::TargetError;
use crate::chat::Usage;
use crate::eval::case::{Actor, Case};
use crate::model::{SandboxAccess, TARGET_PROTOCOL};
use crate::outbound::one_line;

/// The capability of a target that submits each proposal of its model: only then can proposals be judged.
pub const SUBMITS_PROPOSALS: &str = "proposals";
/// Longest text of a preflight that is kept, in characters.
const WORD_CHARS: usize = 200;

/// What a target says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Preflight {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it can do, such as `cancel_signal`.
    pub capabilities: Vec<String>,
}

impl Preflight {
    /// Whether it says that it submits its proposals.
    #[must_use]
    pub fn submits_proposals(&self) -> bool {
        self.capabilities.iter().any(|capability| capability == SUBMITS_PROPOSALS)
    }
}

/// One turn, as the target is told of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TurnRequest<'t> {
    protocol: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    trial_id: &'t str,
    turn: u64,
    actor: &'t Actor,
    business_rules: &'t [String],
    now: &'t str,
    message: Delivered<'t>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Offered<'t>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<&'t SandboxAccess>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Delivered<'t> {
    role: &'static str,
    content: &'t str,
    event_id: &'t str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Offered<'t> {
    name: &'t str,
    description: &'t str,
    parameters: &'t Value,
}

impl<'t> TurnRequest<'t> {
    /// A turn of a case, from 1; none when the case has no such turn. Without a sandbox no tools are offered: for
    /// targets that only answer.
    #[must_use]
    pub fn new(case: &'t Case, trial_id: &'t str, turn: u64, sandbox: Option<&'t SandboxAccess>) -> Option<Self> {
        let message = case.turns.get(usize::try_from(turn.checked_sub(1)?).ok()?)?;
        let offered = || {
            let tools = case.tools.iter();
            tools.map(|tool| Offered { name: &tool.name, description: &tool.description, parameters: &tool.parameters })
        };
        Some(Self {
            protocol: TARGET_PROTOCOL,
            kind: "turn",
            trial_id,
            turn,
            actor: &case.actor,
            business_rules: &case.business_rules,
            now: case.now_of(turn),
            message: Delivered { role: "user", content: &message.content, event_id: &message.event_id },
            tools: sandbox.map(|_| offered().collect()),
            sandbox,
        })
    }
}

/// What the model of a target asked for, as the target tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub arguments: Value,
    /// Whether the runner of the target kept it from being made.
    pub blocked: bool,
}

/// The answer to a turn.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The final answer.
    pub text: String,
    /// Proposals that it submitted, in order.
    pub proposals: Vec<Proposal>,
    /// Other submitted events, as they were told.
    pub others: Vec<Value>,
    /// The tokens that it says it used.
    pub usage: Option<Usage>,
}

/// The question that comes before any turn.
#[must_use]
pub fn preflight_request() -> Value {
    json!({ "protocol": TARGET_PROTOCOL, "type": "preflight" })
}

/// Reads what a target says of itself.
///
/// # Errors
/// `Protocol`, `Unreadable`.
pub fn read_preflight(answer: &Value) -> Result<Preflight, TargetError> {
    let members = members(answer)?;
    let protocol = members.get("protocol").and_then(Value::as_str).unwrap_or_default();
    if protocol != TARGET_PROTOCOL {
        return Err(TargetError::Protocol { found: word(protocol) });
    }
    let named = |name: &str| {
        let text = members.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        text.map(word).ok_or_else(|| unreadable(&format!("/{name} is no text")))
    };
    let capabilities = match members.get("capabilities") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => {
            let text = |item: &Value| item.as_str().map(word).ok_or_else(|| unreadable("/capabilities holds no texts"));
            items.iter().map(text).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(unreadable("/capabilities is no array")),
    };
    Ok(Preflight { name: named("name")?, version: named("version")?, capabilities })
}

/// Reads the answer to a turn.
///
/// # Errors
/// `Unreadable`.
pub fn read_answer(answer: Value) -> Result<Answer, TargetError> {
    let members = members(&answer)?;
    let text = answer.pointer("/output/text").and_then(Value::as_str);
    let text = text.ok_or_else(|| unreadable("/output/text is no text"))?.to_owned();
    let usage = match members.get("usage") {
        None | Some(Value::Null) => None,
        Some(told) => Some(counted(told).ok_or_else(|| unreadable("/usage does not count tokens"))?),
    };
    let events = match members.get("events") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(events)) => events.clone(),
        Some(_) => return Err(unreadable("/events is no array")),
    };
    let (mut proposals, mut others) = (Vec::new(), Vec::new());
    for event in events {
        match proposal(&event) {
            Some(proposal) => proposals.push(proposal),
            None => others.push(event),
        }
    }
    Ok(Answer { text, proposals, others, usage })
}

/// The tokens of an answer; what is not told is none.
fn counted(told: &Value) -> Option<Usage> {
    let members = told.as_object()?;
    let count = |name: &str| members.get(name).map_or(Some(0), Value::as_u64);
    Some(Usage { input_tokens: count("input_tokens")?, output_tokens: count("output_tokens")? })
}

/// A proposal; none for any other event, also for one that is only half of a proposal.
fn proposal(event: &Value) -> Option<Proposal> {
    if event.get("type")?.as_str()? != "proposal" {
        return None;
    }
    let arguments = match event.get("arguments") {
        None => Value::Object(Map::new()),
        Some(arguments) => arguments.clone(),
    };
    let blocked = match event.get("blocked") {
        None => false,
        Some(blocked) => blocked.as_bool()?,
    };
    Some(Proposal { tool: event.get("tool")?.as_str()?.to_owned(), arguments, blocked })
}

fn members(answer: &Value) -> Result<&Map<String, Value>, TargetError> {
    answer.as_object().ok_or_else(|| unreadable("no JSON object"))
}

fn unreadable(message: &str) -> TargetError {
    TargetError::Unreadable { message: message.to_owned() }
}

/// A foreign text in one line, cut.
fn word(text: &str) -> String {
    one_line(text).chars().take(WORD_CHARS).collect()
}
