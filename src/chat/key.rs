//! Keys of providers and of targets: held so that no text shows them by accident.

use std::fmt;

/// A key shorter than this is taken out where it stands as a word of its own: a placeholder, as servers of closed
/// networks want one (`EMPTY`), may be a part of others.
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

    /// The text without the key, as it is and as JSON writes it within a text.
    #[must_use]
    pub fn removed_from(&self, text: &str) -> String {
        let written = serde_json::Value::from(self.0.as_str()).to_string();
        let written = written.trim_start_matches('"').strip_suffix('"').unwrap_or(&self.0);
        let clean = self.without(text, &self.0);
        if written == self.0 { clean } else { self.without(&clean, written) }
    }

    fn without(&self, text: &str, key: &str) -> String {
        if self.0.chars().count() >= SECRET_CHARS {
            return text.replace(key, REMOVED);
        }
        let mut clean = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(key) {
            let end = at + key.len();
            let before = rest[..at].chars().next_back().or_else(|| clean.chars().next_back());
            let joins = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
            let stands_alone = !joins(before) && !joins(rest[end..].chars().next());
            clean.push_str(&rest[..at]);
            clean.push_str(if stands_alone { REMOVED } else { key });
            rest = &rest[end..];
        }
        clean + rest
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
