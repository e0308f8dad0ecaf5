//! A case becomes a version that can no longer change: its canonical JSON (RFC 8785) and the sha256 of that.

use serde_json::Value;

use super::case::Case;
use super::{canonical, lint};
use crate::digest::sha256_hex;
use crate::model::{CaseProblem, FrozenCase};

/// Freezes a case. White space, the order of keys and how a number is written do not change it.
///
/// # Errors
/// Everything that is wrong with the case, as [`lint::lint`] tells it.
pub fn freeze(text: &str) -> Result<(FrozenCase, Case), Vec<CaseProblem>> {
    let problems = lint::lint(text);
    if !problems.is_empty() {
        return Err(problems);
    }
    let unreadable = |error: serde_json::Error| vec![lint::unreadable(&error)];
    let value: Value = serde_json::from_str(lint::without_mark(text)).map_err(unreadable)?;
    let case = Case::deserialize_value(value.clone()).map_err(unreadable)?;
    let document = canonical(&value);
    let frozen = FrozenCase {
        sha256: sha256_hex(document.as_bytes()),
        id: case.id.clone(),
        name: case.name.clone(),
        document,
        frozen_at: String::new(),
    };
    Ok((frozen, case))
}

impl Case {
    /// Reads a case that lint found nothing wrong with.
    ///
    /// # Errors
    /// That of the parser.
    pub fn deserialize_value(value: Value) -> serde_json::Result<Self> {
        serde_json::from_value(value)
    }
}
