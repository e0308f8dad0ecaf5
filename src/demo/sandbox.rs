//! Tools of an evaluation: the sandbox of `irumx-eval-target/1`, called with the token of one turn.
//!
//! Owns what the protocol asks of who calls: a call whose outcome is not known is not made again before something was
//! looked up, a limit ends all calling, an approval is looked for before a tool that needs one is called.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use chrono::DateTime;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use reqwest::blocking::{Client, RequestBuilder};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde::Deserialize;
use serde_json::{Value, json};

use super::agent::AgentTexts;
use super::tools::{FailureKind, Reply, ToolFailure, ToolUse, Toolbox, Words};
use crate::chat::key::Key;
use crate::outbound;

/// Longest time of one request.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// A longer reply is none.
const REPLY_BYTES: u64 = 1 << 20;
/// Longest part of what a tool says of an error that the model is told, in characters.
const MESSAGE_CHARS: usize = 1_000;
/// How the names of tools begin that only look something up, so that calling them twice changes nothing.
const LOOKING: [&str; 12] = [
    "get_", "list_", "search_", "find_", "read_", "fetch_", "query_", "lookup_", "look_up_", "check_", "view_",
    "count_",
];
/// And how they end.
const LOOKED: [&str; 4] = ["_lookup", "_search", "_query", "_status"];
/// What a name keeps in a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Where the sandbox is, as a turn says it.
#[derive(Clone, Deserialize)]
pub struct Access {
    /// Its address, before `/tools/…`.
    pub base_url: String,
    /// Bearer token.
    pub token: String,
}

/// A tool as a turn offers it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Offered {
    /// Its name.
    pub name: String,
    /// What it does.
    #[serde(default)]
    pub description: String,
    /// JSON Schema of its arguments.
    #[serde(default)]
    pub parameters: Value,
    /// Its version, against which approvals are held.
    #[serde(default)]
    pub version: Value,
}

/// Why a sandbox cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AccessError {
    /// The address is none.
    #[error("no address of a sandbox")]
    Address,
    /// The token cannot stand in a header.
    #[error("no token")]
    Token,
    /// The client cannot be made.
    #[error("the client cannot be set up")]
    Client,
}

/// What a conversation remembers of its calls, over all turns.
#[derive(Debug, Default)]
pub struct Memory {
    /// Tools whose last call may have been done.
    uncertain: BTreeSet<String>,
    /// Calls for which an approval was asked.
    requested: BTreeSet<String>,
}

/// The sandbox during one turn.
pub struct Sandbox {
    client: Client,
    base: Url,
    token: HeaderValue,
    /// The token once more: what the sandbox says goes into traces and answers, where it has no place.
    secret: Option<Key>,
    tools: Vec<Offered>,
    guarded: BTreeSet<String>,
    now: Option<String>,
    memory: Arc<Mutex<Memory>>,
    limit: AtomicBool,
    words: Words,
}

/// What came of a request.
enum Heard {
    /// Status and body; a body that is no JSON is null.
    Answer(u16, Value),
    /// Nothing was sent.
    NotSent,
    /// It was sent, and the answer is lost.
    Lost,
}

impl Sandbox {
    /// A sandbox; `rules` tell with the descriptions which tools need an approval, `now` whether one has expired.
    ///
    /// # Errors
    /// When the address or the token is none.
    pub fn new(
        access: &Access,
        tools: Vec<Offered>,
        rules: &[String],
        now: Option<String>,
        memory: Arc<Mutex<Memory>>,
    ) -> Result<Self, AccessError> {
        let base = Url::parse(&access.base_url).map_err(|_| AccessError::Address)?;
        let plain = base.query().is_none() && base.fragment().is_none() && base.username().is_empty();
        if !matches!(base.scheme(), "http" | "https") || !plain || base.password().is_some() {
            return Err(AccessError::Address);
        }
        let mut token = HeaderValue::from_str(&format!("Bearer {}", access.token)).map_err(|_| AccessError::Token)?;
        token.set_sensitive(true);
        let secret = Key::new(&access.token);
        let client = outbound::client(base.scheme() == "https")
            .timeout(REQUEST_TIME)
            .build()
            .map_err(|_| AccessError::Client)?;
        let approval = AgentTexts::shipped().approval_words;
        let speaks = |text: &str| approval.iter().any(|word| text.to_lowercase().contains(word.as_str()));
        let guarded = |tool: &&Offered| {
            speaks(&tool.description) || rules.iter().any(|rule| rule.contains(tool.name.as_str()) && speaks(rule))
        };
        let guarded = tools.iter().filter(guarded).map(|tool| tool.name.clone()).collect();
        let (limit, words) = (AtomicBool::new(false), Words::shipped());
        Ok(Self { client, base, token, secret, tools, guarded, now, memory, limit, words })
    }

    fn failure(&self, kind: FailureKind, words: &str, value: &str) -> ToolFailure {
        ToolFailure { kind, message: self.words.say(words, value) }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        url
    }

    fn hear(&self, request: RequestBuilder) -> Heard {
        let response = match request.header(AUTHORIZATION, self.token.clone()).send() {
            Ok(response) => response,
            Err(error) if error.is_connect() || error.is_builder() => return Heard::NotSent,
            Err(_) => return Heard::Lost,
        };
        let status = response.status().as_u16();
        let Ok(body) = outbound::body(response, REPLY_BYTES) else { return Heard::Lost };
        let text = String::from_utf8_lossy(&body);
        let text = self.secret.as_ref().map_or_else(|| text.to_string(), |secret| secret.removed_from(&text));
        Heard::Answer(status, serde_json::from_str(&text).unwrap_or_default())
    }

    fn answer(&self, call: &ToolUse<'_>) -> Result<Value, ToolFailure> {
        if self.limit.load(Ordering::Relaxed) {
            return Err(self.failure(FailureKind::CallLimit, "limit", call.name));
        }
        let Ok(arguments @ Value::Object(_)) = serde_json::from_str::<Value>(call.arguments) else {
            return Err(self.failure(FailureKind::InvalidArguments, "not_json", call.name));
        };
        let changes = !only_looks(call.name);
        if changes && self.memory().uncertain.contains(call.name) {
            return Err(self.failure(FailureKind::NotRepeated, "not_repeated", call.name));
        }
        let mut body = json!({ "arguments": arguments });
        if self.guarded.contains(call.name) {
            let approval = self.approval(call, &arguments)?;
            body["approval_id"] = approval;
        }
        let url = self.url(&format!("tools/{}", utf8_percent_encode(call.name, IN_PATH)));
        match self.hear(self.client.post(url).json(&body)) {
            Heard::NotSent => Err(self.failure(FailureKind::Unreachable, "unreachable", call.name)),
            Heard::Lost | Heard::Answer(504, _) => Err(self.not_known(call.name, changes)),
            Heard::Answer(429, _) => {
                self.limit.store(true, Ordering::Relaxed);
                Err(self.failure(FailureKind::CallLimit, "limit", call.name))
            }
            Heard::Answer(200, body) if body.get("ok") == Some(&Value::Bool(true)) => {
                if !changes {
                    // What is there now is known.
                    self.memory().uncertain.clear();
                }
                Ok(body.get("result").cloned().unwrap_or_default())
            }
            Heard::Answer(422, body) => Err(ToolFailure { kind: FailureKind::ToolError, message: said(&body) }),
            // It was done, or not, by a server that says neither.
            Heard::Answer(200 | 500.., _) => Err(self.not_known(call.name, changes)),
            Heard::Answer(status, _) => {
                Err(self.failure(FailureKind::Unreachable, "unreachable", &format!("{} ({status})", call.name)))
            }
        }
    }

    fn not_known(&self, name: &str, changes: bool) -> ToolFailure {
        if changes {
            self.memory().uncertain.insert(name.to_owned());
        }
        self.failure(FailureKind::OutcomeUnknown, "outcome_unknown", name)
    }

    /// The number of an approval of this very call. Asks for one, once, when there is none.
    fn approval(&self, call: &ToolUse<'_>, arguments: &Value) -> Result<Value, ToolFailure> {
        let unreachable = || self.failure(FailureKind::Unreachable, "unreachable", call.name);
        let Heard::Answer(200, listed) = self.hear(self.client.get(self.url("approvals"))) else {
            return Err(unreachable());
        };
        let approvals = listed.as_array().or_else(|| listed.get("approvals")?.as_array());
        let fitting = |approval: &&Value| self.fits(approval, call.name, arguments);
        if let Some(number) = approvals.into_iter().flatten().find(fitting).and_then(number) {
            return Ok(number);
        }
        let needed = || self.failure(FailureKind::ApprovalRequired, "approval_required", call.name);
        let asked = format!("{} {arguments}", call.name);
        if !self.memory().requested.insert(asked.clone()) {
            return Err(needed());
        }
        let body = json!({ "tool": call.name, "arguments": arguments, "reason": self.words.say("reason", call.name) });
        match self.hear(self.client.post(self.url("approval-requests")).json(&body)) {
            Heard::Answer(200..=202, _) => Err(needed()),
            // It may have been asked for.
            Heard::Lost => Err(unreachable()),
            Heard::NotSent | Heard::Answer(..) => {
                self.memory().requested.remove(&asked);
                Err(unreachable())
            }
        }
    }

    /// Whether an approval is for this tool and these arguments, of this version, still good and not used.
    fn fits(&self, approval: &Value, name: &str, arguments: &Value) -> bool {
        let is = |key: &str| approval.get(key).is_some_and(|value| value == &Value::Bool(true));
        let used = is("consumed") || is("used") || approval.get("consumed_at").is_some_and(|at| !at.is_null());
        let approved = approval.get("status").and_then(Value::as_str).is_none_or(|status| status == "approved");
        let tool = approval.get("tool").or_else(|| approval.get("tool_name")).and_then(Value::as_str);
        let expires = approval.get("expires_at").and_then(Value::as_str);
        let expired = expires.is_some_and(|expires| self.is_past(expires));
        let version = approval.get("tool_version").filter(|version| !version.is_null());
        let offered = self.tools.iter().find(|tool| tool.name == name).map(|tool| &tool.version);
        let other = version.is_some_and(|version| offered.is_some_and(|is| !is.is_null() && is != version));
        let meant = match approval.get("arguments") {
            Some(approved) => approved == arguments,
            None => approval.get("target").is_none_or(|target| aims_at(target, name, arguments)),
        };
        tool == Some(name) && approved && !used && !expired && !other && meant
    }

    /// Whether a time is over. Without a time of the turn none is known to be: the sandbox looks itself.
    fn is_past(&self, time: &str) -> bool {
        let parsed = |text: &str| DateTime::parse_from_rfc3339(text).ok();
        let Some(now) = self.now.as_deref().and_then(parsed) else { return false };
        parsed(time).is_none_or(|time| time <= now)
    }
}

impl Toolbox for Sandbox {
    fn call(&self, call: &ToolUse<'_>) -> Reply {
        Reply { result: self.answer(call), takes: Duration::ZERO }
    }

    fn is_cancelled(&self) -> bool {
        let Heard::Answer(200, status) = self.hear(self.client.get(self.url("status"))) else { return false };
        if status.get("tool_calls_left").and_then(Value::as_i64) == Some(0) {
            self.limit.store(true, Ordering::Relaxed);
        }
        status.get("cancelled") == Some(&Value::Bool(true))
    }
}

/// Whether a tool only looks something up, told by its name, since the protocol does not say.
fn only_looks(name: &str) -> bool {
    LOOKING.iter().any(|start| name.starts_with(start)) || LOOKED.iter().any(|end| name.ends_with(end))
}

fn number(approval: &Value) -> Option<Value> {
    approval.get("approval_id").or_else(|| approval.get("id")).filter(|number| number.is_string()).cloned()
}

/// Whether what is approved is what is called: the tool itself, a value of the arguments, or a part of them.
fn aims_at(target: &Value, name: &str, arguments: &Value) -> bool {
    match target {
        Value::Null => true,
        Value::Object(part) => part.iter().all(|(key, value)| arguments.get(key) == Some(value)),
        Value::String(text) if text == name => true,
        target => arguments.as_object().is_some_and(|arguments| arguments.values().any(|value| value == target)),
    }
}

/// What a tool says of its error.
fn said(body: &Value) -> String {
    let error = body.get("error");
    let message = error.and_then(|error| error.get("message").or_else(|| error.get("code"))).and_then(Value::as_str);
    message.unwrap_or("tool_error").chars().take(MESSAGE_CHARS).collect()
}
