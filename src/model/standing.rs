//! How a finding stands to what was known before.

use super::diagnosis::Finding;

/// Whether a finding counts, when there is a baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Standing {
    /// There is no baseline: every finding counts.
    #[default]
    Unasked,
    /// The baseline does not have it.
    New,
    /// The baseline has it.
    Known,
    /// A person said in the baseline why it does not count.
    Accepted(String),
    /// A person dismissed it in a review, and said why.
    Dismissed(String),
}

impl Standing {
    /// The same, unless a person dismissed the finding.
    #[must_use]
    pub fn reviewed(self, finding: &Finding) -> Self {
        finding.dismissed_for().map_or(self, |reason| Self::Dismissed(reason.to_owned()))
    }

    /// Whether it counts.
    #[must_use]
    pub const fn counts(&self) -> bool {
        matches!(self, Self::Unasked | Self::New)
    }
}
