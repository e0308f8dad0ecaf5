//! Targets behind `irumx-eval-target/1`: where they may be, what they are asked, and what comes of their answers.

mod address;
mod http;
pub(crate) mod python;
mod wire;
