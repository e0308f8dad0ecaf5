//! What a store says of an experiment: its planned trials, what people said of them, what was decided, and the report
//! that shows all of it. Codes only; words are templates.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::eval::{Decided, EvalDecision, EvalVerdict, Observes};
use super::experiment::{TrialCheck, TrialEvent};

/// How far a planned trial came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialState {
    /// It ended, with whatever verdict.
    Finished,
    /// It began and has no end: it goes on, or was interrupted.
    Unfinished,
    /// Nothing of it was made.
    NotRun,
}

impl TrialState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Finished, Self::Unfinished, Self::NotRun];

    /// As the view says it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Unfinished => "unfinished",
            Self::NotRun => "not_run",
        }
    }

    /// The one that is stored so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// What a person thinks of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opinion {
    /// The verdict is right.
    Agree,
    /// It is wrong.
    Disagree,
    /// Whatever the checks say, the meaning of what was answered is in doubt.
    Doubt,
}

impl Opinion {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Agree, Self::Disagree, Self::Doubt];

    /// As stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agree => "agree",
            Self::Disagree => "disagree",
            Self::Doubt => "doubt",
        }
    }

    /// The one that is stored so.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// What a person said of a trial; it stands beside the verdict and never over it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialReview {
    /// What is thought of it.
    pub opinion: Opinion,
    /// Why.
    pub note: String,
    /// Who.
    pub reviewer: String,
    /// When, Korean time, ISO 8601.
    pub reviewed_at: String,
}

/// A planned trial with what its last attempt came to.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedTrial {
    /// Id of the case.
    pub case_id: String,
    /// Which trial of the case, from 1.
    pub trial: u64,
    /// The last attempt; none when none was made.
    pub trial_id: Option<String>,
    /// Which attempt, from 1.
    pub attempt: Option<u64>,
    /// How far it came.
    pub state: TrialState,
    /// Its verdict, when it is finished.
    pub verdict: Option<EvalVerdict>,
    /// Name that the target gave of itself.
    pub target_name: Option<String>,
    /// Version that the target gave of itself.
    pub target_version: Option<String>,
    /// Whether the target told of its proposals.
    pub submits_events: bool,
    /// When it began, Korean time, ISO 8601.
    pub started_at: Option<String>,
    /// The same, nanoseconds since 1970 UTC.
    pub started_ns: Option<i64>,
    /// How long it took, milliseconds.
    pub duration_ms: Option<u64>,
    /// Tokens that went into models.
    pub input_tokens: u64,
    /// Tokens that came out of models.
    pub output_tokens: u64,
    /// What that cost, US dollars as decimal text; none when no price is known.
    pub cost_usd: Option<String>,
    /// Traces that it was written as: turn from 1, and trace id.
    pub traces: Vec<(u64, String)>,
    /// What a person said of it last.
    pub review: Option<TrialReview>,
    /// What was judged, in the order of the case.
    pub checks: Vec<TrialCheck>,
    /// What happened, in order.
    pub events: Vec<TrialEvent>,
}

/// A decision as kept; the newest of an experiment counts.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptDecision {
    /// The experiment.
    pub experiment_id: String,
    /// The one it was compared with.
    pub baseline_experiment_id: Option<String>,
    /// The decision with its reasons and figures.
    pub decided: Decided,
    /// When, Korean time, ISO 8601.
    pub decided_at: String,
    /// The same, nanoseconds since 1970 UTC.
    pub decided_ns: i64,
}

/// What all attempts of an experiment used, those that do not count included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Attempts that ended.
    pub attempts: u64,
    /// Tokens that went into models.
    pub input_tokens: u64,
    /// Tokens that came out of models.
    pub output_tokens: u64,
    /// US dollars as decimal text, over attempts whose price is known; none when no price is.
    pub cost_usd: Option<String>,
    /// Attempts without a known price.
    pub unpriced: u64,
    /// Milliseconds, added up over attempts.
    pub duration_ms: u64,
}

/// A token of the gate as kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateToken {
    /// Names it; not the token itself.
    pub token_id: String,
    /// The project it may ask of.
    pub project_id: String,
    /// sha256 of the token.
    pub token_sha256: String,
    /// What it is for, for people.
    pub label: String,
    /// When it was issued, Korean time, ISO 8601.
    pub issued_at: String,
    /// From here on it counts no more, nanoseconds since 1970 UTC.
    pub expires_ns: i64,
    /// When it was taken back, Korean time, ISO 8601.
    pub revoked_at: Option<String>,
}

/// The name of the format that JSON reports have.
pub const REPORT_FORMAT: &str = "taco-trace-eval-report/1";

/// The report of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvalReport {
    /// Always [`REPORT_FORMAT`].
    pub format: &'static str,
    /// Version of the program.
    pub version: String,
    /// The experiment.
    pub experiment: ReportExperiment,
    /// What ran, and what of it could be observed.
    pub target: ReportTarget,
    /// The decision with its reasons and figures.
    pub decided: Decided,
    /// When it was decided, Korean time; none when it was worked out for this report from what is there.
    pub decided_at: Option<String>,
    /// What it was compared with.
    pub baseline: Option<ReportBaseline>,
    /// What all attempts used.
    pub spent: Spent,
    /// Its trials, by case and number.
    pub trials: Vec<ReportTrial>,
}

/// The experiment of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportExperiment {
    /// Names it.
    pub experiment_id: String,
    /// Its project.
    pub project_id: String,
    /// `baseline` or `candidate`.
    pub role: String,
    /// sha256 of the configuration.
    pub config_sha256: String,
    /// Trials of each case.
    pub trials: u64,
    /// Share of trials that must pass, 0 to 1.
    pub threshold: f64,
    /// When it began, Korean time, ISO 8601.
    pub started_at: String,
}

/// What ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportTarget {
    /// Name in the project file.
    pub name: String,
    /// `reference`, `http`, `answer_only` or `script`.
    pub kind: String,
    /// What it said of itself: name and version, each once.
    pub said: Vec<String>,
    /// Whether the user's own agent ran; a model under our runner, or a script, is no agent.
    pub agent_ran: bool,
    /// Whether the rules on addresses were lifted for it.
    pub allow_private_target: bool,
    /// What of it could be observed.
    pub observes: Observes,
}

/// The experiment that a report compares with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportBaseline {
    /// Names it.
    pub experiment_id: String,
    /// Name of its target.
    pub target: String,
    /// Kind of its target.
    pub target_kind: String,
    /// sha256 of its configuration.
    pub config_sha256: String,
    /// When it began, Korean time, ISO 8601.
    pub started_at: String,
}

/// A trial of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportTrial {
    /// Id of the case.
    pub case_id: String,
    /// Name of the case, for people; empty when its version is not in the store.
    pub case_name: String,
    /// Which trial of the case, from 1.
    pub trial: u64,
    /// The last attempt; none when none was made.
    pub trial_id: Option<String>,
    /// Which attempt, from 1.
    pub attempt: Option<u64>,
    /// How far it came.
    pub state: TrialState,
    /// Its verdict, when it is finished.
    pub verdict: Option<EvalVerdict>,
    /// When it began, Korean time, ISO 8601.
    pub started_at: Option<String>,
    /// How long it took, milliseconds.
    pub duration_ms: Option<u64>,
    /// Tokens that went into models.
    pub input_tokens: u64,
    /// Tokens that came out of models.
    pub output_tokens: u64,
    /// US dollars as decimal text; none when no price is known.
    pub cost_usd: Option<String>,
    /// What was judged, in the order of the case.
    pub checks: Vec<TrialCheck>,
    /// Numbers of the events in which the runner blocked a proposal.
    pub blocked_proposals: Vec<u64>,
    /// Events that decided a check which does not pass, and blocked proposals, in order.
    pub deciding: Vec<ReportEvent>,
    /// What is asked of the meaning of its answers, as the case has it.
    pub rubric: Vec<String>,
    /// Its traces and what is diagnosed of them.
    pub traces: Vec<ReportTrace>,
    /// What a person said of it last.
    pub review: Option<TrialReview>,
}

impl EvalReport {
    /// The trials that a person should look at; with `all` every one that ended.
    pub fn to_review(&self, all: bool) -> impl Iterator<Item = &ReportTrial> {
        self.trials.iter().filter(move |trial| trial.wants_review() || (all && trial.verdict.is_some()))
    }
}

impl ReportTrial {
    /// Whether a person should look: it failed, could not be judged, or the runner blocked something.
    #[must_use]
    pub fn wants_review(&self) -> bool {
        let is_open = |verdict| matches!(verdict, EvalVerdict::Fail | EvalVerdict::Unknown | EvalVerdict::Error);
        self.verdict.is_some_and(is_open) || !self.blocked_proposals.is_empty()
    }
}

/// An event of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportEvent {
    /// Its number in the trial, from 1.
    pub seq: u64,
    /// Milliseconds since the trial began.
    pub at_ms: u64,
    /// The turn, from 1; 0 before the first.
    pub turn: u64,
    /// What happened.
    pub kind: String,
    /// The whole event; null for one that cannot be read.
    pub event: Value,
}

/// A trace of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportTrace {
    /// The turn, from 1.
    pub turn: u64,
    /// The trace.
    pub trace_id: String,
    /// What is diagnosed of it; none when it is not in the store.
    pub diagnosis: Option<TraceDiagnosis>,
}

/// What is diagnosed of a trace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TraceDiagnosis {
    /// Verdict as `diagnose` says it; none when the run cannot be judged.
    pub verdict: Option<String>,
    /// The others that hold.
    pub also_found: Vec<String>,
    /// Where to fix it.
    pub fix_target: Option<String>,
    /// A sentence or two.
    pub summary: String,
}

/// What the gate answers.
#[derive(Debug, Clone, PartialEq)]
pub enum GateAnswer {
    /// No candidate was tried with exactly this configuration.
    NotFound,
    /// The newest candidate with it has no decision yet, or goes on since: nothing older answers for it.
    Undecided {
        /// The experiment.
        experiment_id: String,
    },
    /// The newest decision on the newest candidate with it.
    Decided(Box<KeptDecision>),
}

impl GateAnswer {
    /// What to do; none when nothing was found.
    #[must_use]
    pub fn decision(&self) -> Option<EvalDecision> {
        match self {
            Self::NotFound => None,
            Self::Undecided { .. } => Some(EvalDecision::Held),
            Self::Decided(kept) => Some(kept.decided.decision),
        }
    }
}
