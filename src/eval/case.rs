//! The document `irumx-eval-case/1` as types. `schemas/irumx-eval-case-1.schema.json` publishes the same.
//!
//! A case stands alone: what it means depends on nothing outside of it, and there is no code in it.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The format that this program reads.
pub const FORMAT: &str = "irumx-eval-case/1";
/// A format that the guide names without publishing it.
pub const UNPUBLISHED_FORMAT: &str = "irumx-eval-case-proposal-v1";
/// The pointer word for records that the trial created; no record may have it as its id.
pub const NEW: &str = "new";

/// One case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Always [`FORMAT`].
    pub format: String,
    /// Names the case among all its versions.
    pub id: String,
    /// For people.
    pub name: String,
    /// What the case is about, for people.
    #[serde(default)]
    pub description: String,
    /// Capabilities that a target must have, such as `cancel_signal`.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Who speaks to the agent.
    pub actor: Actor,
    /// Rules that the agent is told.
    pub business_rules: Vec<String>,
    /// The time in the mock world, RFC 3339.
    pub now: String,
    /// What is said, in order.
    pub turns: Vec<Turn>,
    /// Collections of records; each record has a text `id`.
    pub world: BTreeMap<String, Vec<Map<String, Value>>>,
    /// What the agent may call.
    pub tools: Vec<Tool>,
    /// What goes wrong on purpose.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// Approvals that are there when the trial begins.
    #[serde(default)]
    pub approvals: Vec<Approval>,
    /// How requests for approval are answered.
    #[serde(default)]
    pub approval_requests: ApprovalRequests,
    /// What should come out, for people.
    pub expected: Vec<String>,
    /// What must not, for people.
    pub forbidden: Vec<String>,
    /// What is judged by the program.
    pub checks: Vec<Check>,
    /// What is judged by meaning.
    #[serde(default)]
    pub rubric: Vec<RubricItem>,
    /// Where the trial ends.
    pub limits: Limits,
    /// One right way through.
    pub golden_flow: Vec<GoldenStep>,
}

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// Id.
    pub id: String,
    /// Name.
    pub name: String,
    /// Role.
    pub role: String,
    /// Organisation; none when there is none.
    pub org: Option<String>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The same one again is a duplicate delivery.
    pub event_id: String,
    /// What is said.
    pub content: String,
    /// The time from this turn on; that of the turn before when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// After so many calls in this turn the target is told to stop (`GET status`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_after_calls: Option<u64>,
}

/// A tool's contract.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Name.
    pub name: String,
    /// What the agent is told.
    pub description: String,
    /// Version of the contract: an approval is for one of them.
    pub version: String,
    /// What a call does.
    pub effect: Effect,
    /// Whether each change needs an approval.
    #[serde(default)]
    pub needs_approval: bool,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// What comes back.
    pub result: ToolResult,
}

impl Tool {
    /// Whether a change by this tool must have an approval: those to the outside always.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        self.needs_approval || self.effect == Effect::External
    }
}

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing changes.
    Read,
    /// Something within changes.
    Write,
    /// Something reaches the outside.
    External,
}

/// What a tool gives back, declared. Values may hold `{"$arg": "/pointer"}`, `{"$now": true}`, `{"$actor": "id"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolResult {
    /// Always the same.
    Constant {
        /// That.
        value: Value,
    },
    /// Records of a collection.
    Lookup {
        /// Where to look.
        collection: String,
        /// Fields that must be equal; an argument that was not given asks for nothing.
        #[serde(default, rename = "where")]
        conditions: BTreeMap<String, Value>,
        /// Fields to give; all when empty.
        #[serde(default)]
        fields: Vec<String>,
        /// Whether all that fit come back; else the first one, and none is a tool error.
        #[serde(default)]
        many: bool,
    },
    /// A new record.
    Insert {
        /// Where to.
        collection: String,
        /// Its fields without the id.
        record: Map<String, Value>,
        /// What its id begins with.
        id_prefix: String,
    },
    /// Fields of a record.
    Update {
        /// Where.
        collection: String,
        /// Which.
        id: Value,
        /// Fields that are put in.
        set: Map<String, Value>,
    },
    /// A record less.
    Delete {
        /// Where.
        collection: String,
        /// Which.
        id: Value,
    },
}

impl ToolResult {
    /// The collection that it works on.
    #[must_use]
    pub fn collection(&self) -> Option<&str> {
        match self {
            Self::Constant { .. } => None,
            Self::Lookup { collection, .. }
            | Self::Insert { collection, .. }
            | Self::Update { collection, .. }
            | Self::Delete { collection, .. } => Some(collection),
        }
    }
}

/// What goes wrong at the n-th call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// The tool.
    pub tool: String,
    /// Which call of this tool, from 1.
    pub call: u64,
    /// What goes wrong.
    pub kind: FaultKind,
    /// What the target reads in a tool error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How long a delay is, milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The tool says no and does nothing (422).
    ToolError,
    /// Nothing was done, and nobody is told so (504).
    LostBefore,
    /// It was done, and nobody is told so (504).
    LostAfter,
    /// It is done, late.
    Delay,
    /// The limit of calls is said to be reached (429).
    Limit,
}

impl FaultKind {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::ToolError, Self::LostBefore, Self::LostAfter, Self::Delay, Self::Limit];
}

/// A permission for one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// What the call must name.
    pub id: String,
    /// The tool it is for.
    pub tool: String,
    /// The arguments it is for.
    pub arguments: Value,
    /// The version of the tool it is for.
    pub tool_version: String,
    /// From here on it counts no more, RFC 3339.
    pub expires_at: String,
    /// Whether it has been used.
    #[serde(default)]
    pub consumed: bool,
}

/// How requests for approval are answered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequests {
    /// The answer to each.
    #[serde(default)]
    pub answer: RequestAnswer,
    /// How long a granted one counts, seconds.
    #[serde(default = "ten_minutes")]
    pub valid_seconds: u64,
}

fn ten_minutes() -> u64 {
    600
}

/// The answer to a request for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestAnswer {
    /// None yet.
    #[default]
    Pending,
    /// Yes.
    Grant,
    /// No.
    Deny,
}

/// Something to be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Names it in the case.
    pub id: String,
    /// How much it weighs.
    #[serde(default)]
    pub severity: CheckSeverity,
    /// What must hold.
    #[serde(flatten)]
    pub condition: Condition,
}

/// How much a check weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckSeverity {
    /// It counts in the rate.
    #[default]
    Normal,
    /// One failure blocks.
    Critical,
}

/// What must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Condition {
    /// How many there are in the final world.
    StateCount {
        /// A collection, `/c/new`, or an array in a record.
        pointer: String,
        /// Fields that must fit.
        #[serde(default, rename = "where")]
        conditions: BTreeMap<String, Matcher>,
        /// At least; no bound when absent.
        min: Option<u64>,
        /// At most; no bound when absent.
        max: Option<u64>,
    },
    /// A value in the final world.
    StateValue {
        /// `/collection/id/field`, or `/collection/new/0/field` of what the trial created.
        pointer: String,
        /// What it must be.
        value: Matcher,
    },
    /// How often the target proposed or called.
    EventCount {
        /// Which of both.
        event: CountedEvent,
        /// Of this tool; of any when absent.
        tool: Option<String>,
        /// Pointers into the arguments that must fit.
        #[serde(default)]
        arguments: BTreeMap<String, Matcher>,
        /// At least; no bound when absent.
        min: Option<u64>,
        /// At most; no bound when absent.
        max: Option<u64>,
    },
    /// Each change that needs an approval had a valid one.
    ApprovalIntegrity {
        /// Of these tools; of all that need one when empty.
        #[serde(default)]
        tools: Vec<String>,
    },
    /// Synthetic secrets are nowhere.
    NoMarkerLeak {
        /// The secrets.
        markers: Vec<String>,
        /// Where they must not be; everywhere when empty.
        #[serde(default)]
        places: Vec<LeakPlace>,
    },
    /// The wording of the answer.
    Answer {
        /// The turn whose answer is meant, from 1; the last answer when absent.
        turn: Option<u64>,
        /// Each must be in it.
        #[serde(default)]
        contains: Vec<String>,
        /// Each must be found in it.
        #[serde(default)]
        matches: Vec<String>,
        /// None may be found, in any answer when no turn is named.
        #[serde(default)]
        none_of: Vec<String>,
    },
    /// The answer names a value of the final world.
    AnswerHasState {
        /// The value.
        pointer: String,
        /// The turn whose answer is meant, from 1; the last answer when absent.
        turn: Option<u64>,
    },
    /// A number of the trial.
    Metric {
        /// Which.
        metric: Metric,
        /// At least; no bound when absent.
        min: Option<u64>,
        /// At most; no bound when absent.
        max: Option<u64>,
    },
    /// One of several.
    AnyOf {
        /// Them.
        of: Vec<Condition>,
    },
}

impl Condition {
    /// The name of its kind.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::StateCount { .. } => "state_count",
            Self::StateValue { .. } => "state_value",
            Self::EventCount { .. } => "event_count",
            Self::ApprovalIntegrity { .. } => "approval_integrity",
            Self::NoMarkerLeak { .. } => "no_marker_leak",
            Self::Answer { .. } => "answer",
            Self::AnswerHasState { .. } => "answer_has_state",
            Self::Metric { .. } => "metric",
            Self::AnyOf { .. } => "any_of",
        }
    }
}

/// Proposals and real calls are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CountedEvent {
    /// What the model asked for.
    Proposal,
    /// What reached the tool.
    Call,
}

/// Where a secret may come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeakPlace {
    /// Answers.
    Answer,
    /// Arguments of calls and proposals.
    Arguments,
    /// What the trial wrote into the world: drafts.
    State,
}

/// A number of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Calls.
    ToolCalls,
    /// Calls after the limit was said to be reached.
    CallsAfterLimit,
    /// Calls after the target was told to stop.
    CallsAfterCancel,
    /// Writes repeated after a lost response, without a read between.
    WritesAfterLost,
    /// Changes in turns that were delivered again.
    ChangesInDuplicateTurns,
    /// Proposals that the runner blocked.
    BlockedProposals,
    /// Milliseconds from the first event to the last.
    DurationMs,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ToolCalls,
        Self::CallsAfterLimit,
        Self::CallsAfterCancel,
        Self::WritesAfterLost,
        Self::ChangesInDuplicateTurns,
        Self::BlockedProposals,
        Self::DurationMs,
    ];
}

/// What a value must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matcher {
    /// The same JSON value; 1 and 1.0 are the same.
    Equals(Value),
    /// One of these.
    OneOf(Vec<Value>),
    /// A text that holds this.
    Contains(String),
    /// A text in which the regular expression is found.
    Matches(String),
    /// A number not below.
    AtLeast(f64),
    /// A number not above.
    AtMost(f64),
    /// Whether it is there.
    Exists(bool),
}

/// One question of the semantic review.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RubricItem {
    /// Names it in the case.
    pub id: String,
    /// The question.
    pub question: String,
}

/// Where the trial ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Calls in all.
    pub tool_calls: u64,
    /// Turns.
    pub turns: u64,
    /// Milliseconds of the trial.
    pub time_ms: u64,
}

/// One step of a right way through.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoldenStep {
    /// The turn, from 1.
    pub turn: u64,
    /// The tool; none for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Its arguments, when they matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// What is answered, in short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// A case as a trial holds it: borrowed, or shared by trials that run on other threads.
#[derive(Debug, Clone)]
pub enum CaseRef<'c> {
    /// Borrowed for as long as the trial lives.
    Borrowed(&'c Case),
    /// Held together with others.
    Shared(Arc<Case>),
}

impl Deref for CaseRef<'_> {
    type Target = Case;

    fn deref(&self) -> &Case {
        match self {
            Self::Borrowed(case) => case,
            Self::Shared(case) => case,
        }
    }
}

impl<'c> From<&'c Case> for CaseRef<'c> {
    fn from(case: &'c Case) -> Self {
        Self::Borrowed(case)
    }
}

impl From<Arc<Case>> for CaseRef<'_> {
    fn from(case: Arc<Case>) -> Self {
        Self::Shared(case)
    }
}

impl Case {
    /// The tool of this name.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// The time of a turn, from 1: its own, else that of the turn before.
    #[must_use]
    pub fn now_of(&self, turn: u64) -> &str {
        let turns = usize::try_from(turn).unwrap_or(usize::MAX).min(self.turns.len());
        self.turns[..turns].iter().rev().find_map(|turn| turn.now.as_deref()).unwrap_or(&self.now)
    }
}
