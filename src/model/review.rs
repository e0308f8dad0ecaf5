//! What people say: of a finding in a run (reviews), and of what recurs in several agents (decisions).

use serde::{Serialize, Serializer};

use super::diagnosis::{Rule, Verdict};

/// Whether a text says nothing to a reader: blanks, controls, and characters that leave no mark.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    let leaves_no_mark = |c: char| {
        matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
            || matches!(c, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2800}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
            || matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
    };
    text.chars().all(|c| c.is_whitespace() || c.is_control() || leaves_no_mark(c))
}

/// What a person says of a rule in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewKind {
    /// It holds, and is no problem.
    Dismissed,
    /// It is a problem.
    Confirmed,
    /// What was said before is taken back.
    Undone,
}

impl ReviewKind {
    const ALL: [Self; 3] = [Self::Dismissed, Self::Confirmed, Self::Undone];

    /// The text in the column `decision` of `reviews`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dismissed => "dismissed",
            Self::Confirmed => "confirmed",
            Self::Undone => "undone",
        }
    }

    /// Reads the column back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Serialize for ReviewKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A row of `reviews`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Review {
    /// The run.
    pub trace_id: String,
    /// The rule it is about; in JSON its Korean label.
    #[serde(rename = "verdict", serialize_with = "label")]
    pub rule: Rule,
    /// The tool it is about; none for every tool.
    pub tool_name: Option<String>,
    /// What was said.
    pub decision: ReviewKind,
    /// Why; may be empty unless it dismisses.
    pub reason: String,
    /// Who.
    pub reviewer: String,
    /// When, ISO 8601 with +09:00.
    pub reviewed_at: String,
    /// When, nanoseconds since 1970 UTC.
    #[serde(skip)]
    pub reviewed_ns: i64,
}

/// What is to be done about a tool and verdict that recur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HqDecision {
    /// HQ gets it.
    HandOver,
    /// The site mends it.
    FixHere,
    /// It waits.
    Hold,
}

impl HqDecision {
    const ALL: [Self; 3] = [Self::HandOver, Self::FixHere, Self::Hold];

    /// The text in the column `decision` of `hq_decisions`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::HandOver => "hand_over",
            Self::FixHere => "fix_here",
            Self::Hold => "hold",
        }
    }

    /// Reads the column back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.as_str() == name)
    }
}

impl Serialize for HqDecision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A row of `hq_decisions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// The tool.
    pub tool_name: String,
    /// The rule; in JSON its Korean label.
    #[serde(rename = "verdict", serialize_with = "label")]
    pub rule: Rule,
    /// What was decided.
    pub decision: HqDecision,
    /// Why.
    pub reason: String,
    /// Who.
    pub decided_by: String,
    /// When, ISO 8601 with +09:00.
    pub decided_at: String,
    /// When, nanoseconds since 1970 UTC.
    #[serde(skip)]
    pub decided_ns: i64,
}

pub(super) fn label<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    Verdict::Found(*rule).serialize(serializer)
}
