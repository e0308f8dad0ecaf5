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
