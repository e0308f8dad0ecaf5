//! A target that is an agent of its own, behind `irumx-eval-target/1`: where it may be, and how it is asked.
//!
//! ```text
//! address --> resolved, judged, pinned --> HttpTarget --> preflight | turn --> Answer
//! ```
//!
//! An agent that only answers is asked in the same way, by turns that offer neither tools nor a sandbox. What fails
//! here is never held against the target: every [`TargetError`] is a failure of the connection. Opens no file, reads no
//! environment, prints nothing; names are resolved by who asks. Start with [`http::HttpTarget`].

pub mod address;
mod error;
pub mod http;
pub mod wire;

pub use address::{AddressError, Pinned};
pub use error::TargetError;
pub use http::{AuthHeader, HttpTarget, Limits};
pub use wire::{Answer, Preflight, Proposal, TurnRequest, read_answer};
