//! Why a target could not be asked. None of it is held against the target.

use super::address::AddressError;
use crate::eval::event::FailureSource;

/// Why there is no answer. No text of it holds the value of the authentication header, and what a target says is cut to
/// a few hundred characters without control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TargetError {
    /// The address is refused. Nothing was sent.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The client cannot be made: a header that HTTP does not hold, or that is not the user's to set.
    #[error("the client cannot be set up: {message}")]
    Setup {
        /// What is wrong.
        message: String,
    },
    /// It cannot be reached, or hung up before the answer was whole.
    #[error("the target cannot be reached: {message}")]
    Unreachable {
        /// What the system says.
        message: String,
    },
    /// It did not answer in time.
    #[error("the target did not answer within {seconds} s")]
    TimedOut {
        /// The limit of the request, in seconds, rounded up.
        seconds: u64,
    },
    /// It sends elsewhere (3xx), where nobody follows.
    #[error("the target redirects with status {status}")]
    Redirected {
        /// The HTTP status.
        status: u16,
    },
    /// It refuses the request (4xx).
    #[error("the target refuses with status {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says of it; empty when it says nothing.
        message: String,
    },
    /// It failed (5xx).
    #[error("the target failed with status {status}: {message}")]
    Failed {
        /// The HTTP status.
        status: u16,
        /// What it says of it; empty when it says nothing.
        message: String,
    },
    /// Another status than 200 that is none of these.
    #[error("the target answers with status {status} instead of 200")]
    Status {
        /// The HTTP status.
        status: u16,
    },
    /// Its answer is longer than allowed.
    #[error("the answer has more than {bytes} bytes")]
    TooLarge {
        /// The limit.
        bytes: u64,
    },
    /// Its answer is no JSON, or none of the form that it should have.
    #[error("the answer cannot be read: {message}")]
    Unreadable {
        /// What is wrong with it.
        message: String,
    },
    /// It speaks another protocol.
    #[error("the target speaks {found} instead of {}", crate::model::TARGET_PROTOCOL)]
    Protocol {
        /// What it says; empty when it says nothing.
        found: String,
    },
}

impl TargetError {
    /// Its code, as records and templates name it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address(error) => error.code(),
            Self::Setup { .. } => "target_setup",
            Self::Unreachable { .. } => "target_unreachable",
            Self::TimedOut { .. } => "target_timed_out",
            Self::Redirected { .. } => "target_redirected",
            Self::Refused { .. } => "target_refused",
            Self::Failed { .. } => "target_failed",
            Self::Status { .. } => "target_status",
            Self::TooLarge { .. } => "target_too_large",
            Self::Unreadable { .. } => "target_unreadable",
            Self::Protocol { .. } => "target_protocol",
        }
    }

    /// What failed, as the record of a trial has it: always the connection, so that the trial becomes ERROR.
    #[must_use]
    pub fn source(&self) -> FailureSource {
        FailureSource::Connection
    }
}
