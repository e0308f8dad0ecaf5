//! Evaluation: verdicts, decisions, frozen cases and what lint finds, as stored and published. Codes only; words are
//! templates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Of a check, and of a trial. In order of weight: of several checks the first here is that of the trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EvalVerdict {
    /// Observed behaviour breaks a condition.
    Fail,
    /// Runner, provider or connection failed; never held against the target.
    Error,
    /// The experiment was cancelled.
    Cancelled,
    /// Not enough was observed.
    Unknown,
    /// The evidence needed is there and the conditions hold.
    Pass,
    /// The target lacks a capability that the case needs.
    NotApplicable,
}

impl EvalVerdict {
    /// All of them, in order of weight.
    pub const ALL: [Self; 6] =
        [Self::Fail, Self::Error, Self::Cancelled, Self::Unknown, Self::Pass, Self::NotApplicable];

    /// As stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "FAIL",
            Self::Error => "ERROR",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::Pass => "PASS",
            Self::NotApplicable => "NOT_APPLICABLE",
        }
    }

    /// The verdict of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == name)
    }
}

/// What to do with a candidate, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalDecision {
    /// A critical violation; no success rate offsets it.
    Blocked,
    /// Trials are missing.
    Held,
    /// A person must look.
    Review,
    /// Nothing speaks against it.
    Candidate,
}

impl EvalDecision {
    /// All of them, the gravest first.
    pub const ALL: [Self; 4] = [Self::Blocked, Self::Held, Self::Review, Self::Candidate];

    /// As stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Held => "held",
            Self::Review => "review",
            Self::Candidate => "candidate",
        }
    }

    /// The decision of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.as_str() == name)
    }
}

/// Why a decision is as it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum DecisionReason {
    /// A critical check failed.
    CriticalViolation {
        /// The case.
        case_id: String,
        /// The trial.
        trial: u64,
        /// The check.
        check: String,
    },
    /// Trials did not give a verdict.
    TrialsMissing {
        /// Those with ERROR.
        error: u64,
        /// Those with UNKNOWN.
        unknown: u64,
        /// Those with CANCELLED.
        cancelled: u64,
        /// Those that were not made.
        not_run: u64,
    },
    /// Every trial was not applicable: nothing was tried.
    NothingTried,
    /// The runner kept the target from something.
    BlockedProposal {
        /// The case.
        case_id: String,
        /// The trial.
        trial: u64,
    },
    /// The semantic review has a doubt.
    SemanticDoubt {
        /// The case.
        case_id: String,
        /// The trial.
        trial: u64,
    },
    /// Too few trials passed.
    BelowThreshold {
        /// Those that passed.
        passed: u64,
        /// Those with a verdict.
        decided: u64,
    },
    /// Fewer cases pass than before, beyond chance.
    Regression {
        /// Cases that only the baseline passes.
        baseline_only: u64,
        /// Cases that only the candidate passes.
        candidate_only: u64,
        /// p of McNemar's exact test.
        p: f64,
    },
}

impl DecisionReason {
    /// What it alone leads to; of several reasons the gravest decides.
    #[must_use]
    pub fn decision(&self) -> EvalDecision {
        match self {
            Self::CriticalViolation { .. } => EvalDecision::Blocked,
            Self::TrialsMissing { .. } | Self::NothingTried => EvalDecision::Held,
            Self::BlockedProposal { .. }
            | Self::SemanticDoubt { .. }
            | Self::BelowThreshold { .. }
            | Self::Regression { .. } => EvalDecision::Review,
        }
    }
}

/// The decision of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The decision.
    pub decision: EvalDecision,
    /// Every reason, the gravest first; empty for a candidate.
    pub reasons: Vec<DecisionReason>,
    /// Figures of each case, in order of id.
    pub cases: Vec<CaseFigures>,
    /// Figures of all.
    pub total: Figures,
    /// The comparison, when there is a baseline.
    pub comparison: Option<Comparison>,
}

/// Figures of trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Those that passed.
    pub passed: u64,
    /// Those that passed or failed.
    pub decided: u64,
    /// pass@1: the share that passed; none when nothing was decided.
    pub pass_at_1: Option<f64>,
    /// Lower end of Wilson's 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Figures of a case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseFigures {
    /// The case.
    pub case_id: String,
    /// Its trials.
    #[serde(flatten)]
    pub figures: Figures,
    /// pass^k for k from 1 to the number of decided trials: how likely k trials all pass.
    pub pass_power: Vec<f64>,
}

/// Candidate and baseline on the same cases. A case passes when each of its trials does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Cases that both pass.
    pub both: u64,
    /// Cases that only the baseline passes.
    pub baseline_only: u64,
    /// Cases that only the candidate passes.
    pub candidate_only: u64,
    /// Cases that neither passes.
    pub neither: u64,
    /// Cases that lack a verdict on one of the sides.
    pub left_out: u64,
    /// p of McNemar's exact test.
    pub p: f64,
    /// Whether the difference is within chance; true as well where all cases are left out.
    pub within_chance: bool,
}

/// What runs as the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// Our runner drives a model.
    Reference,
    /// The user's own agent calls the sandbox.
    Http,
    /// An agent that only answers.
    AnswerOnly,
    /// A fixed sequence from a file.
    Script,
}

impl TargetKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Reference, Self::Http, Self::AnswerOnly, Self::Script];

    /// As stored.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reference => "reference",
            Self::Http => "http",
            Self::AnswerOnly => "answer_only",
            Self::Script => "script",
        }
    }

    /// What can be observed of it; `submits_events` says whether an HTTP target tells of its proposals.
    #[must_use]
    pub fn observes(self, submits_events: bool) -> Observes {
        let all = Observes { proposals: true, calls: true, approvals: true, state: true, answer: true };
        match self {
            Self::Reference | Self::Script => all,
            Self::Http => Observes { proposals: submits_events, ..all },
            Self::AnswerOnly => Observes { answer: true, ..Observes::default() },
        }
    }
}

/// What can be observed of a target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observes {
    /// What the model asked for.
    pub proposals: bool,
    /// What reached the tools.
    pub calls: bool,
    /// Which approvals there were.
    pub approvals: bool,
    /// The final world.
    pub state: bool,
    /// What was answered.
    pub answer: bool,
}

impl Observes {
    /// Each part with its code, and whether it can be observed.
    #[must_use]
    pub fn parts(self) -> [(&'static str, bool); 5] {
        [
            ("proposals", self.proposals),
            ("calls", self.calls),
            ("approvals", self.approvals),
            ("state", self.state),
            ("answer", self.answer),
        ]
    }
}

/// One mistake in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseProblem {
    /// Line of the file, from 1.
    pub line: u64,
    /// JSON Pointer (RFC 6901) of what is wrong; empty for the document.
    pub pointer: String,
    /// What is wrong: a key of the template `eval_problems.j2`.
    pub code: &'static str,
    /// What the words name.
    pub values: BTreeMap<&'static str, String>,
}

/// A version of a case that can no longer change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FrozenCase {
    /// sha256 of `document`, 64 lower-case hex digits.
    pub sha256: String,
    /// Id of the case.
    pub id: String,
    /// Its name for people.
    pub name: String,
    /// The document as canonical JSON (RFC 8785).
    pub document: String,
    /// When it was frozen, Korean time, ISO 8601; empty before it is stored.
    pub frozen_at: String,
}

/// The protocol between an evaluation and a target that is an agent of its own.
pub const TARGET_PROTOCOL: &str = "irumx-eval-target/1";

/// Where the sandbox of a trial is and how it is entered, as a turn tells the target.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct SandboxAccess {
    /// Its address, before `/tools/…`.
    pub base_url: String,
    /// Bearer token.
    pub token: String,
    /// From here on the token counts no more, RFC 3339.
    pub expires_at: String,
}

impl std::fmt::Debug for SandboxAccess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = formatter.debug_struct("SandboxAccess");
        shown.field("base_url", &self.base_url).field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}
