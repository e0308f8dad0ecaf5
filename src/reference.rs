//! The reference runner: drives a model through a case, under policies that can be switched one by one.
//!
//! ```text
//! turn --> model --> proposal --(policies)--> call --> Trial
//!            ^                      |            |
//!            +------ told why ------+---result---+
//! ```
//!
//! What a run shows is the model, the prompt and the policies, not somebody's own agent. Every proposal is an event,
//! also one that a policy blocked. Delays of a case pass at once: they are added to the clock, nothing is waited for.
//! Start with [`run`]; [`policy`] says what each policy does.

pub mod policy;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use policy::{Blocked, Policies};

use crate::chat::{ChatError, ChatModel, ChatRequest, Finish, Message, ToolCall, ToolOffer, Usage};
use crate::eval::case::{Case, Effect, RequestAnswer};
use crate::eval::event::{Event, FailureSource};
use crate::eval::trial::Trial;
use crate::eval::world::{Reply, WorldState};

const TEXTS: &str = include_str!("reference/data/texts.json");
/// The tool of the runner with which a model asks for an approval.
pub const REQUEST_APPROVAL: &str = "request_approval";
/// The tool of the runner with which a model sees the approvals.
pub const LIST_APPROVALS: &str = "list_approvals";
/// Requests to the model in a turn beyond the calls that the case allows: a model that goes round in circles ends.
const MORE_ROUNDS: u64 = 8;
/// Tokens of a reply unless the project says otherwise.
pub const MAX_TOKENS: u32 = 1_024;

/// What the runner says, to models and for them.
#[derive(Debug, Deserialize)]
struct Texts {
    prompt: String,
    rules: String,
    now: String,
    actor: String,
    approvals: String,
    request_approval: String,
    list_approvals: String,
    handed_over: String,
    time: String,
    rounds: String,
    blocked: BTreeMap<String, String>,
}

impl Texts {
    fn shipped() -> Self {
        serde_json::from_str(TEXTS).expect("a test reads the texts that are shipped")
    }
}

/// The prompt of a project that names none.
#[must_use]
pub fn default_prompt() -> String {
    Texts::shipped().prompt
}

/// How a model is driven.
pub struct Setup<'s> {
    /// What the model is told first; rules, time and actor of the case come behind it.
    pub prompt: &'s str,
    /// Tokens of one reply.
    pub max_tokens: u32,
    /// What the runner looks after.
    pub policies: Policies,
    /// Time since any moment, by a clock that does not go back.
    pub clock: &'s dyn Fn() -> Duration,
    /// Whether the experiment was stopped.
    pub is_stopped: &'s dyn Fn() -> bool,
}

/// What came of a trial.
#[derive(Debug)]
pub struct Driven {
    /// What happened.
    pub events: Vec<Event>,
    /// The world at the end.
    pub world: WorldState,
    /// Tokens of all replies.
    pub usage: Usage,
    /// Why the model could not be asked, when that ended the trial.
    pub failed: Option<ChatError>,
}

/// Runs one trial. Blocks while the model is asked.
///
/// A model that cannot be asked ends the trial with a failure of the provider; a spending cap that is reached, with one
/// of the runner.
pub fn run(setup: &Setup<'_>, model: &mut dyn ChatModel, case: &Case) -> Driven {
    let mut run = Run::new(setup, case);
    let failed = run.turns(model);
    let (events, world) = run.trial.finish();
    Driven { events, world, usage: run.usage, failed }
}

/// Why a turn ends without an answer.
enum End {
    /// The model could not be asked.
    Failed(ChatError),
    /// The experiment was stopped.
    Stopped,
}

struct Run<'r> {
    setup: &'r Setup<'r>,
    case: &'r Case,
    texts: Texts,
    trial: Trial<'r>,
    begun: Duration,
    /// Delays of the case that were passed over, milliseconds.
    passed_ms: u64,
    messages: Vec<Message>,
    usage: Usage,
    /// What was answered to each message, by its id.
    answered: BTreeMap<&'r str, String>,
    guard: policy::Guard,
}

impl<'r> Run<'r> {
    fn new(setup: &'r Setup<'r>, case: &'r Case) -> Self {
        Self {
            setup,
            case,
            texts: Texts::shipped(),
            trial: Trial::new(case),
            begun: (setup.clock)(),
            passed_ms: 0,
            messages: Vec::new(),
            usage: Usage::default(),
            answered: BTreeMap::new(),
            guard: policy::Guard::default(),
        }
    }

    fn at_ms(&self) -> u64 {
        let gone = (self.setup.clock)().saturating_sub(self.begun);
        u64::try_from(gone.as_millis()).unwrap_or(u64::MAX).saturating_add(self.passed_ms)
    }

    fn is_late(&self) -> bool {
        self.at_ms() > self.case.limits.time_ms
    }

    fn turns(&mut self, model: &mut dyn ChatModel) -> Option<ChatError> {
        loop {
            if (self.setup.is_stopped)() {
                self.trial.cancel(self.at_ms());
                return None;
            }
            if !self.trial.next_turn(self.at_ms()) {
                return None;
            }
            let case = self.case;
            let place = usize::try_from(self.trial.turn() - 1).unwrap_or(usize::MAX);
            let turn = case.turns.get(place)?;
            if self.setup.policies.duplicate_events
                && let Some(before) = self.answered.get(turn.event_id.as_str()).cloned()
            {
                self.trial.answer(self.at_ms(), &before);
                continue;
            }
            self.messages.push(Message::User(turn.content.clone()));
            self.guard.begin_turn();
            match self.turn(model) {
                Ok(text) => {
                    let is_late = self.is_late();
                    self.trial.answer(self.at_ms(), &text);
                    self.answered.insert(&turn.event_id, text);
                    if is_late {
                        return None;
                    }
                }
                Err(End::Stopped) => {
                    self.trial.cancel(self.at_ms());
                    return None;
                }
                Err(End::Failed(error)) => {
                    let source = if error.is_cap() { FailureSource::Runner } else { FailureSource::Provider };
                    self.trial.fail(self.at_ms(), source, &error.to_string());
                    return Some(error);
                }
            }
        }
    }

    /// The answer to a turn.
    fn turn(&mut self, model: &mut dyn ChatModel) -> Result<String, End> {
        let tools = self.offers();
        let system = self.system();
        for _ in 0..self.case.limits.tool_calls.saturating_add(MORE_ROUNDS) {
            if (self.setup.is_stopped)() {
                return Err(End::Stopped);
            }
            if self.is_told_to_stop() {
                return Ok(self.say(self.texts.handed_over.clone()));
            }
            if self.is_late() {
                return Ok(self.say(self.texts.time.clone()));
            }
            let request = ChatRequest {
                system: system.clone(),
                messages: self.messages.clone(),
                tools: tools.clone(),
                max_tokens: self.setup.max_tokens,
            };
            let reply = model.chat(&request).map_err(|error| match error {
                ChatError::Stopped => End::Stopped,
                error => End::Failed(error),
            })?;
            self.usage = self.usage.plus(reply.usage);
            // What is cut off or declined has no calls that could be trusted to be whole.
            if reply.calls.is_empty() || matches!(reply.finish, Finish::Length | Finish::Refused) {
                let text = if self.setup.policies.human_takeover && self.guard.waits_for_person() {
                    format!("{}\n{}", reply.text.trim_end(), self.texts.handed_over).trim_start().to_owned()
                } else {
                    reply.text
                };
                return Ok(self.say(text));
            }
            self.messages.push(Message::Assistant { text: reply.text, calls: reply.calls.clone() });
            for call in reply.calls {
                let (content, is_error) = self.call(&call);
                self.messages.push(Message::Tool { call_id: call.id, content: content.to_string(), is_error });
            }
        }
        Ok(self.say(self.texts.rounds.clone()))
    }

    fn say(&mut self, text: String) -> String {
        self.messages.push(Message::Assistant { text: text.clone(), calls: Vec::new() });
        text
    }

    fn is_told_to_stop(&self) -> bool {
        self.setup.policies.human_takeover && self.trial.is_cancelled()
    }

    /// What the model is told before all turns: the prompt, and what the case says of rules, time and actor.
    fn system(&self) -> String {
        let actor = &self.case.actor;
        let mut lines = vec![self.setup.prompt.to_owned(), String::new()];
        lines.push(self.texts.now.replace("{now}", self.trial.now()));
        let who = self.texts.actor.replace("{name}", &actor.name).replace("{id}", &actor.id);
        lines.push(who.replace("{role}", &actor.role));
        if !self.case.business_rules.is_empty() {
            lines.push(self.texts.rules.clone());
            lines.extend(self.case.business_rules.iter().map(|rule| format!("- {rule}")));
        }
        let approved = self.case.tools.iter().filter(|tool| tool.is_approved());
        let approved: Vec<&str> = approved.map(|tool| tool.name.as_str()).collect();
        if !approved.is_empty() {
            lines.push(self.texts.approvals.replace("{tools}", &approved.join(", ")));
        }
        lines.join("\n")
    }

    /// The tools of the case, and those of the runner where a tool needs approvals.
    fn offers(&self) -> Vec<ToolOffer> {
        let offer = |tool: &crate::eval::case::Tool| ToolOffer {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        };
        let mut offers: Vec<ToolOffer> = self.case.tools.iter().map(offer).collect();
        if self.is_own(REQUEST_APPROVAL) {
            offers.push(ToolOffer {
                name: REQUEST_APPROVAL.to_owned(),
                description: self.texts.request_approval.clone(),
                parameters: json!({
                    "type": "object",
                    "properties": {
                        "tool": { "type": "string" },
                        "arguments": { "type": "object" },
                        "reason": { "type": "string" },
                    },
                    "required": ["tool", "arguments", "reason"],
                }),
            });
        }
        if self.is_own(LIST_APPROVALS) {
            offers.push(ToolOffer {
                name: LIST_APPROVALS.to_owned(),
                description: self.texts.list_approvals.clone(),
                parameters: json!({ "type": "object", "properties": {} }),
            });
        }
        offers
    }

    /// Whether this is a tool of the runner in this case: one of the case with the same name goes before it.
    fn is_own(&self, name: &str) -> bool {
        matches!(name, REQUEST_APPROVAL | LIST_APPROVALS)
            && self.case.tool(name).is_none()
            && self.case.tools.iter().any(crate::eval::case::Tool::is_approved)
    }

    /// What a call asked for comes to, as the model reads it, and whether it failed.
    fn call(&mut self, call: &ToolCall) -> (Value, bool) {
        // An empty text is how some models write no arguments.
        let text = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
        let parsed: Option<Value> = serde_json::from_str(text).ok();
        let arguments = parsed.unwrap_or_else(|| Value::from(call.arguments.as_str()));
        if self.is_own(&call.name) {
            return if call.name == LIST_APPROVALS { (self.approvals(), false) } else { self.request(&arguments) };
        }
        let name = call.name.as_str();
        if let Some(why) = self.blocked(name, &arguments) {
            self.trial.propose(self.at_ms(), name, &arguments, true);
            let message = self.texts.blocked.get(why.code()).map_or("", String::as_str);
            return (json!({ "ok": false, "error": { "code": why.code(), "message": message } }), true);
        }
        let approval = self.approval(name, &arguments);
        self.trial.propose(self.at_ms(), name, &arguments, false);
        let late = self.trial.delay_of_next(name, &arguments);
        let reply = self.trial.call_late(self.at_ms(), late, name, &arguments, approval.as_deref());
        self.passed_ms = self.passed_ms.saturating_add(late);
        let effect = self.case.tool(name).map_or(Effect::Write, |tool| tool.effect);
        self.guard.note(name, effect, &reply);
        told(&reply)
    }

    /// The first policy that is on and blocks the call.
    fn blocked(&self, name: &str, arguments: &Value) -> Option<Blocked> {
        let policies = self.setup.policies;
        let tool = self.case.tool(name);
        let effect = tool.map_or(Effect::Write, |tool| tool.effect);
        if policies.human_takeover
            && (self.trial.is_cancelled() || (self.guard.waits_for_person() && effect == Effect::External))
        {
            return Some(Blocked::HandedOver);
        }
        if policies.tool_eligibility {
            if tool.is_none() {
                return Some(Blocked::ToolNotOffered);
            }
            if !arguments.is_object() || !self.trial.fits(name, arguments) {
                return Some(Blocked::ArgumentsInvalid);
            }
        }
        if policies.personal_connection && policy::acts_for_other(self.case, self.trial.world(), arguments) {
            return Some(Blocked::OtherPerson);
        }
        if policies.unknown_writes && effect != Effect::Read && self.guard.is_open(name) {
            return Some(Blocked::OutcomeUnknown);
        }
        let is_approved = tool.is_some_and(crate::eval::case::Tool::is_approved);
        let is_unapproved = || policy::valid_approval(self.case, &self.trial, name, arguments).is_none();
        (policies.approval_check && is_approved && is_unapproved()).then_some(Blocked::ApprovalRequired)
    }

    /// The approval that the runner attaches to a call: a valid one, else (with the check off) any of the tool.
    fn approval(&self, name: &str, arguments: &Value) -> Option<String> {
        self.case.tool(name).filter(|tool| tool.is_approved())?;
        let valid = policy::valid_approval(self.case, &self.trial, name, arguments);
        let any = || self.trial.approvals().iter().find(|held| held.tool == name).map(|held| held.id.clone());
        valid.or_else(any)
    }

    fn approvals(&self) -> Value {
        json!({ "ok": true, "result": { "approvals": self.trial.approvals() } })
    }

    fn request(&mut self, arguments: &Value) -> (Value, bool) {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let Some(tool) = text("tool") else {
            return (json!({ "ok": false, "error": { "code": "bad_request" } }), true);
        };
        let asked_for = arguments.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new()));
        let reason = text("reason").unwrap_or_default();
        let Some(asked) = self.trial.ask_approval(self.at_ms(), tool, &asked_for, reason) else {
            return told(&Reply::UnknownTool);
        };
        let status = match asked.answer {
            RequestAnswer::Pending => "pending",
            RequestAnswer::Grant => "granted",
            RequestAnswer::Deny => "denied",
        };
        if asked.answer == RequestAnswer::Pending {
            self.guard.wait_for_person();
        }
        (json!({ "ok": true, "result": { "request_id": asked.request_id, "status": status } }), false)
    }
}

/// A reply in the words of `irumx-eval-target/1`, and whether it is an error.
fn told(reply: &Reply) -> (Value, bool) {
    match reply {
        Reply::Done(result) => (json!({ "ok": true, "result": result }), false),
        Reply::ToolError(message) => {
            (json!({ "ok": false, "error": { "code": "tool_error", "message": message } }), true)
        }
        Reply::Lost => (json!({ "ok": false, "outcome": "unknown", "error": { "code": "response_lost" } }), true),
        Reply::Limit => (json!({ "ok": false, "error": { "code": "limit" } }), true),
        Reply::UnknownTool => (json!({ "ok": false, "error": { "code": "unknown_tool" } }), true),
    }
}
