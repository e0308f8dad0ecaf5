//! What there is to choose runs from, in words.

use minijinja::context;

use super::Texts;
use super::words::{phrase, word};

/// That no run began in the period asked for; `held` are the dates of the first and the last run that there is.
#[must_use]
pub fn empty_period(texts: &Texts, held: Option<(String, String)>) -> String {
    match held {
        None => word(texts, "store_empty"),
        Some((first, last)) => phrase(texts, "period_empty", context! { first, last }),
    }
}
