//! What can be made to go wrong between the model and its tools.

use std::fmt;
use std::str::FromStr;

/// A fault that can be injected. One hits a run once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A required argument is dropped on the way to the tool.
    DropArg,
    /// The tool answers after its time limit; the call ends as a time-out.
    Slow,
    /// The same call is made more often than `max_retries` allows, with keys in another order.
    Repeat,
    /// The tool fails, and the model is told that it is done.
    SwallowError,
    /// A tool of a name that does not exist is called.
    UnknownTool,
}

impl Fault {
    /// All, in the order of the page.
    pub const ALL: [Self; 5] = [Self::DropArg, Self::Slow, Self::Repeat, Self::SwallowError, Self::UnknownTool];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DropArg => "drop-arg",
            Self::Slow => "slow",
            Self::Repeat => "repeat",
            Self::SwallowError => "swallow-error",
            Self::UnknownTool => "unknown-tool",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A name that is no fault's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no such fault")]
pub struct NoFault;

impl FromStr for Fault {
    type Err = NoFault;

    fn from_str(text: &str) -> Result<Self, NoFault> {
        Self::ALL.into_iter().find(|fault| fault.as_str() == text).ok_or(NoFault)
    }
}

/// A fault that was injected. The trace does not tell of it: it must not give the answer away.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Injected {
    /// What was injected.
    pub fault: Fault,
    /// The tool that the model called.
    pub tool: String,
    /// The first span that it shows on, 16 hex digits.
    pub span_id: String,
}
