//! Labels and short phrases of the reports, by key, from `report_words.j2`.

use minijinja::context;
use minijinja::value::Value;

use super::Texts;

/// The phrase of that key without values.
pub(super) fn word(texts: &Texts, key: &str) -> String {
    phrase(texts, key, context! {})
}

/// The phrase of that key with values.
pub(super) fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("report_words.j2", context! { key, ..values }).trim().to_owned()
}

/// A sentence for each convention of calls without arguments: what makes it record them.
pub(super) fn captures(texts: &Texts, captures: &[(String, Option<String>)]) -> Vec<String> {
    let sentence =
        |(convention, setting): &(String, Option<String>)| phrase(texts, "capture", context! { convention, setting });
    captures.iter().map(sentence).collect()
}
