//! Masking for a document that leaves the site: values become labels with a running number, `[PHONE 1]`.
//!
//! There is no key, so nothing can be tried out: the number says in which place the value first stood in the document,
//! and nothing else. The same document comes out the same each time. More is taken for personal than on the way into
//! the store (`personal`).

use std::collections::BTreeMap;

use super::{MaskKind, Masker, is_number_pseudonym, scan};

/// Masks the texts of one document, in its order.
pub struct Numbered {
    masker: Masker,
    /// What stands before the number, by kind, and of a value of a kind that is not known any more.
    labels: [String; MaskKind::ALL.len() + 1],
    /// The numbers given, by label and pseudonym.
    given: BTreeMap<(usize, String), usize>,
}

impl Numbered {
    /// `labels` are in the order of [`MaskKind::ALL`]; the last is for numbers that were masked before they were
    /// stored.
    #[must_use]
    pub fn new(labels: [String; MaskKind::ALL.len() + 1]) -> Self {
        // Pseudonyms of this key are seen here only: the document has the numbers.
        Self { masker: Masker::new(b"").for_leaving(), labels, given: BTreeMap::new() }
    }

    /// The text with every personal value replaced, also such that were masked with a key before, and such in JSON
    /// keys.
    pub fn mask(&mut self, text: &str) -> String {
        let values = self.masker.mask_value(text).0;
        // Once more as text, for what stands in keys.
        let masked = self.masker.mask_text(&values).0.into_owned();
        self.number(&masked)
    }

    /// The text with pseudonyms replaced by numbers.
    fn number(&mut self, text: &str) -> String {
        let bytes = text.as_bytes();
        let mut out = String::with_capacity(text.len());
        let (mut at, mut written) = (0, 0);
        while at < bytes.len() {
            let Some((label, end)) = pseudonym(bytes, at) else {
                at += 1;
                continue;
            };
            let next = self.given.keys().filter(|(known, _)| *known == label).count() + 1;
            let number = *self.given.entry((label, text[at..end].to_owned())).or_insert(next);
            out.push_str(&text[written..at]);
            out.push_str(&format!("[{} {number}]", self.labels[label]));
            (at, written) = (end, end);
        }
        out.push_str(&text[written..]);
        out
    }
}

/// The pseudonym that begins here: the place of its label, and its end.
fn pseudonym(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    if let Some(end) = scan::own_token(bytes, at) {
        let kind = MaskKind::ALL.into_iter().find(|kind| bytes[at..].starts_with(kind.prefix().as_bytes()))?;
        return Some((kind as usize, end));
    }
    if at > 0 && bytes[at - 1].is_ascii_digit() {
        return None;
    }
    let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = std::str::from_utf8(&bytes[at..at + digits]).unwrap_or_default();
    is_number_pseudonym(text).then_some((MaskKind::ALL.len(), at + digits))
}
