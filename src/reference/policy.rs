//! The six policies of the reference runner, each of which can be switched off.
//!
//! - Approval check: a call of a tool that needs an approval is blocked, unless there is one for this tool, these
//!   arguments and this version of the tool that has neither run out nor been used. Switched off, the runner attaches
//!   whatever approval of the tool there is, and calls.
//! - Tool eligibility: a call of a tool that was not offered is blocked, and one whose arguments its JSON Schema
//!   refuses.
//! - Personal connection: a call is blocked in whose arguments a person or connection is named that is not the actor's
//!   ([`ACTING`]).
//! - Writes of unknown outcome: a write of a tool whose last response was lost is blocked until a tool that only reads
//!   has answered.
//! - Duplicate events: a message that was delivered before is answered as before, without a request to the model.
//! - Human takeover: every further call of a turn in which the target was told to stop is blocked, and the turn ends
//!   with words that hand over. So are calls to the outside in a turn in which a person was asked and has not answered;
//!   its answer ends with these words.

use std::collections::BTreeSet;

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::eval::canonical_sha256;
use crate::eval::case::{Case, Effect};
use crate::eval::trial::Trial;
use crate::eval::world::{Reply, WorldState};

/// Which policies are on. All are unless they are switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools, reason = "six switches, each on its own")]
pub struct Policies {
    /// Calls that need an approval are made with a valid one only.
    pub approval_check: bool,
    /// Only offered tools are called, with arguments that fit.
    pub tool_eligibility: bool,
    /// Calls act for the actor only.
    pub personal_connection: bool,
    /// A write of unknown outcome is not repeated before something was read.
    pub unknown_writes: bool,
    /// A message that was delivered before is not worked on again.
    pub duplicate_events: bool,
    /// What a person took over is left alone.
    pub human_takeover: bool,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            approval_check: true,
            tool_eligibility: true,
            personal_connection: true,
            unknown_writes: true,
            duplicate_events: true,
            human_takeover: true,
        }
    }
}

/// Why a call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blocked {
    /// No approval is valid for it.
    ApprovalRequired,
    /// There is no such tool.
    ToolNotOffered,
    /// The arguments do not fit.
    ArgumentsInvalid,
    /// It acts for somebody else.
    OtherPerson,
    /// Whether the write before was made is not known.
    OutcomeUnknown,
    /// A person has it.
    HandedOver,
}

impl Blocked {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::ApprovalRequired,
        Self::ToolNotOffered,
        Self::ArgumentsInvalid,
        Self::OtherPerson,
        Self::OutcomeUnknown,
        Self::HandedOver,
    ];

    /// The code that the model is told.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::ApprovalRequired => "approval_required",
            Self::ToolNotOffered => "tool_not_offered",
            Self::ArgumentsInvalid => "arguments_invalid",
            Self::OtherPerson => "other_person",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::HandedOver => "handed_over",
        }
    }
}

/// Arguments, at any depth, that name for whom or through whose connection a call acts.
pub const ACTING: [&str; 10] = [
    "actor",
    "actor_id",
    "as_user",
    "connection",
    "connection_id",
    "on_behalf_of",
    "sender",
    "sender_id",
    "user",
    "user_id",
];
/// Fields of a record that say whose it is.
const OWNERS: [&str; 5] = ["actor_id", "owner", "owner_id", "user", "user_id"];

/// What the policies remember of a trial.
#[derive(Debug, Default)]
pub(super) struct Guard {
    /// Tools that write and whose last response was lost.
    open: BTreeSet<String>,
    waits: bool,
}

impl Guard {
    pub(super) fn begin_turn(&mut self) {
        self.waits = false;
    }

    pub(super) fn wait_for_person(&mut self) {
        self.waits = true;
    }

    /// Whether a person was asked in this turn and has not answered.
    pub(super) fn waits_for_person(&self) -> bool {
        self.waits
    }

    /// Takes notice of a reply.
    pub(super) fn note(&mut self, tool: &str, effect: Effect, reply: &Reply) {
        match (reply, effect) {
            (Reply::Done(_), Effect::Read) => self.open.clear(),
            (Reply::Lost, Effect::Write | Effect::External) => {
                self.open.insert(tool.to_owned());
            }
            _ => {}
        }
    }

    /// Whether the last write of the tool may or may not have been made.
    pub(super) fn is_open(&self, tool: &str) -> bool {
        self.open.contains(tool)
    }
}

/// The id of an approval that is valid for this call at the time of the turn.
#[must_use]
pub fn valid_approval(case: &Case, trial: &Trial<'_>, tool: &str, arguments: &Value) -> Option<String> {
    let contract = case.tool(tool)?;
    let now = DateTime::parse_from_rfc3339(trial.now()).ok()?;
    let sha256 = canonical_sha256(arguments);
    let valid = trial.approvals().iter().find(|held| {
        let expires = DateTime::parse_from_rfc3339(&held.expires_at);
        held.tool == tool
            && held.arguments_sha256 == sha256
            && held.tool_version == contract.version
            && !held.consumed
            && expires.is_ok_and(|expires| now < expires)
    });
    valid.map(|held| held.id.clone())
}

/// Whether the arguments name a person or connection that is not the actor's: a text in an argument of [`ACTING`] that
/// is neither the id nor the name of the actor, nor the id of a record that says it is the actor's.
#[must_use]
pub fn acts_for_other(case: &Case, world: &WorldState, arguments: &Value) -> bool {
    match arguments {
        Value::Object(members) => members.iter().any(|(name, value)| match value {
            Value::String(text) if ACTING.contains(&name.as_str()) => !is_own(case, world, text),
            other => acts_for_other(case, world, other),
        }),
        Value::Array(items) => items.iter().any(|item| acts_for_other(case, world, item)),
        _ => false,
    }
}

fn is_own(case: &Case, world: &WorldState, text: &str) -> bool {
    let actor = &case.actor;
    if text == actor.id || text == actor.name {
        return true;
    }
    let record = world.collections.keys().find_map(|collection| world.record(collection, text));
    let owner = |field: &&str| record.and_then(|record| record.get(*field)).and_then(Value::as_str);
    OWNERS.iter().find_map(owner).is_some_and(|owner| owner == actor.id)
}
