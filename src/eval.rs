//! Trials of an agent against a mock world: cases, what happened, and what is judged of it. Pure: no file, no clock, no
//! network, no words for people.
//!
//! ```text
//! text --> lint/freeze --> Case --> Trial (World, faults, approvals) --> events --> judge --> decide
//! ```
//!
//! Start with [`case::Case`], then [`trial::Trial`] and [`judge::judge`].

pub mod again;
pub mod case;
pub mod decide;
pub mod event;
pub mod freeze;
pub mod judge;
pub mod lint;
pub mod marker;
mod place;
pub mod script;
pub mod template;
pub mod trial;
pub mod world;

/// sha256 of the canonical JSON (RFC 8785) of a value, in 64 lower-case hex digits.
///
/// Arguments that differ in the order of keys or in how a number is written are the same.
#[must_use]
pub fn canonical_sha256(value: &serde_json::Value) -> String {
    crate::digest::sha256_hex(canonical(value).as_bytes())
}

/// The canonical JSON (RFC 8785) of a value.
#[must_use]
pub fn canonical(value: &serde_json::Value) -> String {
    // A JSON value always has a canonical form: its keys are texts, none twice, and its numbers are finite.
    serde_json_canonicalizer::to_string(value).unwrap_or_default()
}
