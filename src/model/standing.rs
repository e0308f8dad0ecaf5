//! How a finding stands to what was known before.

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
    /// A person said why it does not count.
    Accepted(String),
}

impl Standing {
    /// Whether it counts.
    #[must_use]
    pub const fn counts(&self) -> bool {
        matches!(self, Self::Unasked | Self::New)
    }
}
