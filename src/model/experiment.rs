//! Experiments of evaluations as stored: what was tried on which target, how each trial went, what was decided. Codes
//! only; words are templates.

use serde::{Deserialize, Serialize};

use super::EvalVerdict;

/// What an experiment is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExperimentRole {
    /// The version in force, to compare with.
    Baseline,
    /// The version to be decided on.
    Candidate,
}

impl ExperimentRole {
    /// As stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
        }
    }

    /// The role of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Baseline, Self::Candidate].into_iter().find(|role| role.as_str() == name)
    }
}

/// An experiment: cases tried on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// Names it.
    pub experiment_id: String,
    /// Its project.
    pub project_id: String,
    /// What it is for.
    pub role: ExperimentRole,
    /// Name of the target in the project file.
    pub target: String,
    /// `reference`, `http`, `answer_only` or `script`.
    pub target_kind: String,
    /// sha256 of `config`.
    pub config_sha256: String,
    /// Everything that decides behaviour, as canonical JSON (RFC 8785). No secret.
    pub config: String,
    /// Whether the rules on addresses were lifted for the target.
    pub allow_private_target: bool,
    /// Trials of each case.
    pub trials: u64,
    /// Share of trials that must pass, 0 to 1.
    pub threshold: f64,
    /// When it began, Korean time, ISO 8601.
    pub started_at: String,
    /// The same, nanoseconds since 1970 UTC.
    pub started_ns: i64,
    /// Its cases: id, and sha256 of the frozen version.
    pub cases: Vec<(String, String)>,
}

/// A trial that began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialStart {
    /// Names it; a further attempt has another one.
    pub trial_id: String,
    /// Its experiment.
    pub experiment_id: String,
    /// Id of the case.
    pub case_id: String,
    /// Which trial of the case, from 1.
    pub trial: u64,
    /// Which attempt at that trial, from 1; the last one counts.
    pub attempt: u64,
    /// When it began, Korean time, ISO 8601.
    pub started_at: String,
    /// The same, nanoseconds since 1970 UTC.
    pub started_ns: i64,
}

/// How a trial ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialEnd {
    /// The trial.
    pub trial_id: String,
    /// The gravest verdict of its checks.
    pub verdict: EvalVerdict,
    /// When it ended, Korean time, ISO 8601.
    pub ended_at: String,
    /// How long it took, milliseconds.
    pub duration_ms: u64,
    /// Name that the target gave of itself.
    pub target_name: Option<String>,
    /// Version that the target gave of itself.
    pub target_version: Option<String>,
    /// What the target can do.
    pub capabilities: Vec<String>,
    /// Whether the target told of its proposals.
    pub submits_events: bool,
    /// Tokens that went into models.
    pub input_tokens: u64,
    /// Tokens that came out of models.
    pub output_tokens: u64,
    /// What that cost, US dollars as decimal text; none when no price is known.
    pub cost_usd: Option<String>,
    /// The mock world at the end, JSON.
    pub world: String,
    /// What happened, in order.
    pub events: Vec<TrialEvent>,
    /// What was judged, in the order of the case.
    pub checks: Vec<TrialCheck>,
    /// Traces that it was written as: turn from 1, and trace id.
    pub traces: Vec<(u64, String)>,
}

/// An event of a trial as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialEvent {
    /// Its number in the trial, from 1, without gaps.
    pub seq: u64,
    /// Milliseconds since the trial began.
    pub at_ms: u64,
    /// The turn, from 1; 0 before the first.
    pub turn: u64,
    /// What happened.
    pub kind: String,
    /// The whole event, JSON.
    pub event: String,
}

/// A check of a trial as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialCheck {
    /// Id of the check in the case.
    pub check_id: String,
    /// Its kind.
    pub kind: String,
    /// `normal` or `critical`.
    pub severity: String,
    /// The verdict.
    pub verdict: EvalVerdict,
    /// Why, a code.
    pub reason: String,
    /// Numbers of the events that decided it.
    pub events: Vec<u64>,
    /// What was counted, when something was.
    pub measured: Option<u64>,
}

/// A trial as stored, with its end if it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredTrial {
    /// How it began.
    pub start: TrialStart,
    /// How it ended; none while it goes on, or when it was interrupted.
    pub end: Option<TrialEnd>,
}
