//! A fixed sequence that stands for a target: no model, no cost. For trying cases and judges.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::case::Case;
use super::event::{Event, FailureSource};
use super::trial::Trial;
use super::world::WorldState;

/// The format of a script.
pub const FORMAT: &str = "irumx-eval-script/1";

/// What a target does, step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Always [`FORMAT`].
    pub format: String,
    /// The case it is for.
    pub case_id: String,
    /// The steps in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// So many milliseconds pass.
    Wait(u64),
    /// The next turn is delivered; when there is none left, or no more is allowed, nothing is.
    Turn,
    /// The model asks for a call.
    Propose {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// Whether the runner keeps it from being made.
        #[serde(default)]
        blocked: bool,
    },
    /// A call is made.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: Value,
        /// The approval it names.
        #[serde(default)]
        approval_id: Option<String>,
    },
    /// An approval is asked for.
    AskApproval {
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
        /// Why.
        reason: String,
    },
    /// The target answers.
    Answer(String),
    /// The experiment is cancelled.
    Cancel,
    /// Runner, provider or connection fails.
    Fail(FailureSource),
}

/// Milliseconds that each step takes, so that times differ.
const STEP_MS: u64 = 10;

/// Runs a script against a case: the events and the final world. A delay of the case passes at once.
#[must_use]
pub fn run(case: &Case, script: &Script) -> (Vec<Event>, WorldState) {
    let mut trial = Trial::new(case);
    let mut at_ms = 0;
    for step in &script.steps {
        match step {
            Step::Wait(more) => at_ms += more,
            Step::Turn => {
                trial.next_turn(at_ms);
            }
            Step::Propose { tool, arguments, blocked } => trial.propose(at_ms, tool, arguments, *blocked),
            Step::Call { tool, arguments, approval_id } => {
                // A delay is over before what comes of the call is told.
                let late = trial.delay_of_next(tool, arguments);
                trial.call_late(at_ms, late, tool, arguments, approval_id.as_deref());
                at_ms += late;
            }
            Step::AskApproval { tool, arguments, reason } => {
                trial.ask_approval(at_ms, tool, arguments, reason);
            }
            Step::Answer(text) => trial.answer(at_ms, text),
            Step::Cancel => trial.cancel(at_ms),
            Step::Fail(source) => trial.fail(at_ms, *source, ""),
        }
        at_ms += STEP_MS;
    }
    trial.finish()
}
