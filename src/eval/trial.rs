//! One trial of a case as it goes: turns, calls with their faults, approvals and limits, and the events of all that.
//! The clock is the caller's: every step is told its milliseconds since the trial began.
//!
//! A call without a valid approval is made all the same; the judge looks at it afterwards.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta};
use serde_json::Value;

use super::canonical_sha256;
use super::case::{Case, CaseRef, Fault, FaultKind, RequestAnswer};
use super::event::{CancelScope, Event, EventKind, FailureSource, LimitKind, Outcome};
use super::world::{Reply, World, WorldState};

/// An approval as the target can list it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct HeldApproval {
    /// Its id.
    pub id: String,
    /// The tool it is for.
    pub tool: String,
    /// The arguments it is for.
    pub arguments: Value,
    /// sha256 of their canonical JSON.
    pub arguments_sha256: String,
    /// The version of the tool it is for.
    pub tool_version: String,
    /// From here on it counts no more, RFC 3339.
    pub expires_at: String,
    /// Whether it was used.
    pub consumed: bool,
}

/// The answer to a request for approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The number of the request.
    pub request_id: String,
    /// How it was answered.
    pub answer: RequestAnswer,
    /// The approval, when it was granted.
    pub approval_id: Option<String>,
}

/// A trial that is going on.
#[derive(Debug)]
pub struct Trial<'c> {
    case: CaseRef<'c>,
    world: World<'c>,
    events: Vec<Event>,
    approvals: Vec<HeldApproval>,
    turn: u64,
    calls: u64,
    calls_of_turn: u64,
    calls_of_tool: BTreeMap<String, u64>,
    requests: u64,
    is_cancelled: bool,
    reached: Vec<LimitKind>,
}

impl<'c> Trial<'c> {
    /// A trial in which nothing has happened, of a case that is borrowed or shared.
    #[must_use]
    pub fn new(case: impl Into<CaseRef<'c>>) -> Self {
        let case = case.into();
        let prepared = case.approvals.iter().map(|approval| HeldApproval {
            id: approval.id.clone(),
            tool: approval.tool.clone(),
            arguments: approval.arguments.clone(),
            arguments_sha256: canonical_sha256(&approval.arguments),
            tool_version: approval.tool_version.clone(),
            expires_at: approval.expires_at.clone(),
            consumed: approval.consumed,
        });
        Self {
            approvals: prepared.collect(),
            world: World::new(case.clone()),
            case,
            events: Vec::new(),
            turn: 0,
            calls: 0,
            calls_of_turn: 0,
            calls_of_tool: BTreeMap::new(),
            requests: 0,
            is_cancelled: false,
            reached: Vec::new(),
        }
    }

    /// What happened so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The world as it is.
    #[must_use]
    pub fn world(&self) -> &WorldState {
        self.world.state()
    }

    /// Whether arguments are what the contract of a tool asks for; see [`World::fits`].
    #[must_use]
    pub fn fits(&self, tool: &str, arguments: &Value) -> bool {
        self.world.fits(tool, arguments)
    }

    /// The approvals there are.
    #[must_use]
    pub fn approvals(&self) -> &[HeldApproval] {
        &self.approvals
    }

    /// The case.
    #[must_use]
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// The turn, from 1; 0 before the first.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Whether the target is told to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Calls that are left before the limit.
    #[must_use]
    pub fn tool_calls_left(&self) -> u64 {
        self.case.limits.tool_calls.saturating_sub(self.calls)
    }

    /// The time in the mock world at this turn, RFC 3339.
    #[must_use]
    pub fn now(&self) -> &str {
        self.case.now_of(self.turn)
    }

    fn add(&mut self, at_ms: u64, kind: EventKind) {
        // The clock of a trial does not go back, whatever the caller's does.
        let at_ms = self.events.last().map_or(at_ms, |last| last.at_ms.max(at_ms));
        self.events.push(Event { seq: self.events.len() as u64 + 1, at_ms, turn: self.turn, kind });
    }

    fn reach(&mut self, at_ms: u64, limit: LimitKind) {
        if !self.reached.contains(&limit) {
            self.reached.push(limit);
            self.add(at_ms, EventKind::LimitReached { limit });
        }
    }

    /// Begins the next turn; false when there is none, or the limit of turns is reached.
    pub fn next_turn(&mut self, at_ms: u64) -> bool {
        if self.turn >= self.case.limits.turns && self.turn < self.case.turns.len() as u64 {
            self.reach(at_ms, LimitKind::Turns);
            return false;
        }
        let place = usize::try_from(self.turn).unwrap_or(usize::MAX);
        let Some(turn) = self.case.turns.get(place) else { return false };
        let duplicate = self.case.turns[..place].iter().any(|earlier| earlier.event_id == turn.event_id);
        self.turn += 1;
        self.calls_of_turn = 0;
        self.is_cancelled = false;
        self.add(at_ms, EventKind::Turn { event_id: turn.event_id.clone(), duplicate });
        true
    }

    /// Keeps a proposal of the model.
    pub fn propose(&mut self, at_ms: u64, tool: &str, arguments: &Value, blocked: bool) {
        let (tool, arguments) = (tool.to_owned(), arguments.clone());
        self.add(at_ms, EventKind::Proposal { tool, arguments, blocked });
    }

    /// Milliseconds by which the next call of this tool is late. One beyond the limit is refused at once, and so are
    /// arguments that the contract refuses.
    #[must_use]
    pub fn delay_of_next(&self, tool: &str, arguments: &Value) -> u64 {
        if self.tool_calls_left() == 0 || !self.fits(tool, arguments) {
            return 0;
        }
        self.fault_of_next(&self.case, tool).and_then(|fault| fault.delay_ms).unwrap_or_default()
    }

    /// What goes wrong in the next call that comes to this tool. One that its contract refuses does not come to it and
    /// is not counted: it must not use up what the case tests.
    fn fault_of_next<'f>(&self, case: &'f Case, tool: &str) -> Option<&'f Fault> {
        let number = self.calls_of_tool.get(tool).copied().unwrap_or_default() + 1;
        case.faults.iter().find(|fault| fault.tool == tool && fault.call == number)
    }

    /// Makes a call at once.
    pub fn call(&mut self, at_ms: u64, tool: &str, arguments: &Value, approval_id: Option<&str>) -> Reply {
        self.call_late(at_ms, 0, tool, arguments, approval_id)
    }

    /// Makes a call whose result comes so many milliseconds later: nothing is waited for, the caller does.
    pub fn call_late(
        &mut self,
        at_ms: u64,
        late_ms: u64,
        tool: &str,
        arguments: &Value,
        approval_id: Option<&str>,
    ) -> Reply {
        self.calls += 1;
        let call = self.calls;
        self.add(
            at_ms,
            EventKind::Call {
                call,
                tool: tool.to_owned(),
                arguments: arguments.clone(),
                approval_id: approval_id.map(str::to_owned),
            },
        );
        let reply = if call > self.case.limits.tool_calls {
            self.reach(at_ms, LimitKind::ToolCalls);
            Reply::Limit
        } else if at_ms > self.case.limits.time_ms {
            self.reach(at_ms, LimitKind::Time);
            Reply::Limit
        } else {
            self.make(at_ms, call, tool, arguments, approval_id)
        };
        let (outcome, value) = match &reply {
            Reply::Done(value) => (Outcome::Ok, value.clone()),
            Reply::ToolError(message) => (Outcome::ToolError, Value::from(message.as_str())),
            Reply::Lost => (Outcome::ResponseLost, Value::Null),
            Reply::Limit => (Outcome::Limit, Value::Null),
            Reply::UnknownTool => (Outcome::UnknownTool, Value::Null),
        };
        let at_ms = at_ms.saturating_add(late_ms);
        self.add(at_ms, EventKind::Result { call, outcome, value });
        self.calls_of_turn += 1;
        let place = usize::try_from(self.turn.saturating_sub(1)).unwrap_or(usize::MAX);
        let stop = self.case.turns.get(place).and_then(|turn| turn.cancel_after_calls);
        if stop == Some(self.calls_of_turn) {
            self.is_cancelled = true;
            self.add(at_ms, EventKind::Cancelled { scope: CancelScope::Signal });
        }
        reply
    }

    fn make(&mut self, at_ms: u64, call: u64, tool: &str, arguments: &Value, approval_id: Option<&str>) -> Reply {
        let case = self.case.clone();
        let fits = self.fits(tool, arguments);
        let fault = self.fault_of_next(&case, tool).filter(|_| fits);
        *self.calls_of_tool.entry(tool.to_owned()).or_default() += u64::from(fits);
        let told = fault.map(|fault| (fault.kind, fault.message.as_deref().unwrap_or("tool_error")));
        let now = case.now_of(self.turn);
        let (reply, changes) = self.world.call(tool, arguments, now, told);
        // What was not done could not be lost after it was done.
        if let Some(fault) = fault.filter(|fault| fault.kind != FaultKind::LostAfter || reply == Reply::Lost) {
            self.add(at_ms, EventKind::FaultInjected { call, fault: fault.kind });
            if fault.kind == FaultKind::Limit {
                self.add(at_ms, EventKind::LimitReached { limit: LimitKind::ToolCalls });
            }
        }
        // A constant result changes nothing here, yet what it stands for was done.
        let is_lost_after = fault.is_some_and(|fault| fault.kind == FaultKind::LostAfter);
        let was_done = matches!(reply, Reply::Done(_)) || (reply == Reply::Lost && is_lost_after);
        for change in changes {
            self.add(at_ms, EventKind::StateChange { call, change });
        }
        let is_approved = case.tool(tool).is_some_and(super::case::Tool::is_approved);
        if let Some(id) = approval_id.filter(|_| was_done && is_approved)
            && let Some(held) = self.approvals.iter_mut().find(|held| held.id == id)
        {
            held.consumed = true;
            self.add(at_ms, EventKind::ApprovalConsumed { approval_id: id.to_owned(), call });
        }
        reply
    }

    /// Asks for an approval, which the case says how to answer; none when there is no such tool, which is recorded as
    /// well.
    pub fn ask_approval(&mut self, at_ms: u64, tool: &str, arguments: &Value, reason: &str) -> Option<Asked> {
        self.requests += 1;
        let request_id = format!("req_{}", self.requests);
        self.add(
            at_ms,
            EventKind::ApprovalAsked {
                request_id: request_id.clone(),
                tool: tool.to_owned(),
                arguments: arguments.clone(),
                reason: reason.to_owned(),
            },
        );
        let asked = &self.case.approval_requests;
        let contract = self.case.tool(tool)?;
        if asked.answer != RequestAnswer::Grant {
            return Some(Asked { request_id, answer: asked.answer, approval_id: None });
        }
        let mut id = format!("ap_{request_id}");
        while self.approvals.iter().any(|held| held.id == id) {
            id.push('x');
        }
        let held = HeldApproval {
            id: id.clone(),
            tool: tool.to_owned(),
            arguments: arguments.clone(),
            arguments_sha256: canonical_sha256(arguments),
            tool_version: contract.version.clone(),
            expires_at: later(self.now(), asked.valid_seconds),
            consumed: false,
        };
        self.approvals.push(held.clone());
        self.add(
            at_ms,
            EventKind::ApprovalGranted {
                approval_id: id.clone(),
                request_id: request_id.clone(),
                tool: held.tool,
                arguments_sha256: held.arguments_sha256,
                tool_version: held.tool_version,
                expires_at: held.expires_at,
            },
        );
        Some(Asked { request_id, answer: RequestAnswer::Grant, approval_id: Some(id) })
    }

    /// Keeps an answer.
    pub fn answer(&mut self, at_ms: u64, text: &str) {
        if at_ms > self.case.limits.time_ms {
            self.reach(at_ms, LimitKind::Time);
        }
        self.add(at_ms, EventKind::Answer { text: text.to_owned() });
    }

    /// The experiment was stopped, which the target is told as well.
    pub fn cancel(&mut self, at_ms: u64) {
        self.is_cancelled = true;
        let told = EventKind::Cancelled { scope: CancelScope::Experiment };
        // Who watches the experiment and who plays the turns may both say so.
        if self.events.iter().any(|event| event.kind == told) {
            return;
        }
        self.add(at_ms, told);
    }

    /// Runner, provider or connection failed.
    pub fn fail(&mut self, at_ms: u64, source: FailureSource, message: &str) {
        self.add(at_ms, EventKind::Failed { source, message: message.to_owned() });
    }

    /// All that happened, and the world at the end.
    #[must_use]
    pub fn finish(self) -> (Vec<Event>, WorldState) {
        (self.events, self.world.state().clone())
    }
}

/// So many seconds later, RFC 3339; the same time when it is none.
fn later(now: &str, seconds: u64) -> String {
    let delta = i64::try_from(seconds).ok().and_then(TimeDelta::try_seconds);
    let then = DateTime::parse_from_rfc3339(now).ok().zip(delta).and_then(|(now, delta)| now.checked_add_signed(delta));
    then.map_or_else(|| now.to_owned(), |then| then.to_rfc3339())
}
