//! What happens in a trial, in order. One event is one line of a record and one row of a store.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::FaultKind;

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the trial, from 1, without gaps.
    pub seq: u64,
    /// Milliseconds since the trial began.
    pub at_ms: u64,
    /// The turn, from 1; 0 before the first.
    pub turn: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum EventKind {
    /// A message was delivered.
    Turn {
        /// Its id.
        event_id: String,
        /// Whether it was delivered before.
        #[serde(default)]
        duplicate: bool,
    },
    /// The model asked for a call.
    Proposal {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// Whether the runner kept it from being made.
        #[serde(default)]
        blocked: bool,
    },
    /// A call reached the tool.
    Call {
        /// Its number in the trial, from 1.
        call: u64,
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The approval it names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval_id: Option<String>,
    },
    /// What the target was told of a call.
    Result {
        /// The call.
        call: u64,
        /// How it came out for the target.
        outcome: Outcome,
        /// The result, or the message of an error.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        value: Value,
    },
    /// The target asked for an approval.
    ApprovalAsked {
        /// The number of the request.
        request_id: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
        /// Why.
        #[serde(default)]
        reason: String,
    },
    /// An approval was given.
    ApprovalGranted {
        /// Its id.
        approval_id: String,
        /// The request it answers.
        request_id: String,
        /// The tool.
        tool: String,
        /// sha256 of the canonical arguments.
        arguments_sha256: String,
        /// The version of the tool.
        tool_version: String,
        /// From here on it counts no more, RFC 3339.
        expires_at: String,
    },
    /// A call that did something used an approval up.
    ApprovalConsumed {
        /// The approval.
        approval_id: String,
        /// The call.
        call: u64,
    },
    /// Something went wrong on purpose.
    FaultInjected {
        /// The call.
        call: u64,
        /// What.
        fault: FaultKind,
    },
    /// The world changed.
    StateChange {
        /// The call.
        call: u64,
        /// How.
        #[serde(flatten)]
        change: Change,
    },
    /// The target answered.
    Answer {
        /// The answer.
        text: String,
    },
    /// Something was stopped.
    Cancelled {
        /// What.
        scope: CancelScope,
    },
    /// The trial came to a limit.
    LimitReached {
        /// Which.
        limit: LimitKind,
    },
    /// Runner, provider or connection failed.
    Failed {
        /// Which of them.
        source: FailureSource,
        /// What it said.
        #[serde(default)]
        message: String,
    },
}

/// A change of the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// What was done.
    pub op: ChangeOp,
    /// The collection.
    pub collection: String,
    /// The record.
    pub id: String,
    /// The record before; null for a new one.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub before: Value,
    /// The record after; null for a deleted one.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub after: Value,
}

/// What was done to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeOp {
    /// Made.
    Insert,
    /// Changed.
    Update,
    /// Taken out.
    Delete,
}

/// How a call came out for the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Done (200).
    Ok,
    /// Refused by the tool (422).
    ToolError,
    /// No response: whether it was done is not known (504).
    ResponseLost,
    /// No more calls (429).
    Limit,
    /// No such tool (404).
    UnknownTool,
}

/// What was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelScope {
    /// The experiment, by a person: the trial does not count.
    Experiment,
    /// The turn: the target is told to stop, which is part of the case.
    Signal,
}

/// A limit of the case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Calls.
    ToolCalls,
    /// Turns.
    Turns,
    /// Time.
    Time,
}

impl LimitKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ToolCalls, Self::Turns, Self::Time];
}

/// What failed that is not the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureSource {
    /// Our runner.
    Runner,
    /// The provider of the model.
    Provider,
    /// The connection to the target.
    Connection,
}
