//! Keys of providers and of targets: held so that no text shows them by accident.

use std::fmt;

/// A key shorter than this is a placeholder, as servers of closed networks want one (`EMPTY`): taking it out of texts
/// would tear words apart.
const SECRET_CHARS: usize = 8;
/// What stands in its place.
const REMOVED: &str = "***";

/// A key. `Debug` shows nothing of it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Wraps a key; white space around it does not count. None when nothing is left.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// For the header of a request, and nothing else.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text without the key.
    #[must_use]
    pub fn removed_from(&self, text: &str) -> String {
        if self.0.chars().count() < SECRET_CHARS { text.to_owned() } else { text.replace(&self.0, REMOVED) }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Key(***)")
    }
}

/// The text without words that look like keys of providers (`sk-…`): a server may repeat a part of one.
#[must_use]
pub fn without_key_words(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*' | '.');
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        clean.push_str(if word.starts_with("sk-") && word.len() > 3 { REMOVED } else { word });
        let next = rest[end..].find(is_part).map_or(rest.len(), |at| end + at);
        clean.push_str(&rest[end..next]);
        rest = &rest[next..];
    }
    clean
}
