//! Masking inside JSON: walks the text as it stands and replaces values only, so that spacing, order, keys and every
//! other value keep their bytes.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{MaskCounts, MaskKind, Masker, is_number_pseudonym, personal, scan};
use crate::ingest::args::text;

/// How deep JSON in a string in JSON is followed; deeper text is masked as text.
const MAX_NESTED_TEXTS: usize = 4;

/// An open array or object.
#[derive(Default)]
struct Open {
    is_object: bool,
    /// Whether its next string is a key.
    at_key: bool,
    /// What the values in it, or behind its last key, are by the name of the key.
    kind: Option<MaskKind>,
    /// The last key.
    key: String,
    /// The key it stands behind, and what that says of the values in it.
    parent: (String, Option<MaskKind>),
}

impl Open {
    /// What is known of the value behind this key.
    fn enter(&mut self, masker: &Masker, key: &str) {
        self.kind = if masker.words.is_employee_key(key) {
            Some(MaskKind::Employee)
        } else if let Some(names) = &masker.names {
            names.kind_of_key(&self.parent.0, key).or(self.parent.1)
        } else {
            None
        };
        if masker.names.is_some() {
            key.clone_into(&mut self.key);
        }
    }
}

/// The masked text; none when it is no JSON.
pub(super) fn mask<'t>(masker: &Masker, json: &'t str, nested: usize) -> Option<(Cow<'t, str>, MaskCounts)> {
    serde_json::from_str::<&RawValue>(json).ok()?;
    let mut counts = MaskCounts::default();
    let mut out = String::new();
    let mut written = 0;
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = json.as_bytes().get(at) {
        let inside = open.last().and_then(|last| last.kind);
        let key = || open.last().map(|last| last.key.clone()).unwrap_or_default();
        let mut length = 1;
        match byte {
            b'{' => {
                // The key says what is one level below it where all that may be personal is masked.
                let parent = (key(), inside.filter(|_| masker.names.is_some()));
                open.push(Open { is_object: true, at_key: true, parent, ..Open::default() });
            }
            b'[' => {
                let key = key();
                open.push(Open { kind: inside, key, ..Open::default() });
            }
            b'}' | b']' => drop(open.pop()),
            b',' | b':' => {
                if let Some(last) = open.last_mut().filter(|last| last.is_object) {
                    last.at_key = byte == b',';
                }
            }
            b'"' => {
                length = text::literal_end(&json[at..]);
                let decoded = text::decode(&json[at..at + length]).unwrap_or_default();
                if let Some(last) = open.last_mut().filter(|last| last.at_key) {
                    last.enter(masker, &decoded);
                } else {
                    let (masked, found) = string(masker, &decoded, inside, nested);
                    if found.total() > 0 {
                        counts.add(&found);
                        out.push_str(&json[written..at]);
                        text::write_string(&masked, &mut out);
                        written = at + length;
                    }
                }
            }
            b'-' | b'0'..=b'9' => {
                let rest = &json[at..];
                length = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                let literal = &rest[..length];
                if let Some((kind, normal)) = number(masker, literal, inside) {
                    counts.count(kind);
                    out.push_str(&json[written..at]);
                    let is_text = masker.names.is_some();
                    out.push_str(&if is_text { masker.token(kind, &normal) } else { masker.number(kind, &normal) });
                    written = at + length;
                }
            }
            _ => {}
        }
        at += length;
    }
    if written == 0 {
        return Some((Cow::Borrowed(json), counts));
    }
    out.push_str(&json[written..]);
    Some((Cow::Owned(out), counts))
}

fn string<'t>(masker: &Masker, value: &'t str, key: Option<MaskKind>, nested: usize) -> (Cow<'t, str>, MaskCounts) {
    let of_key = match key {
        Some(kind) if masker.names.is_some() => personal::value_of_key(kind, value).map(|normal| (kind, normal)),
        Some(kind) if scan::is_employee_value(value) => Some((kind, scan::employee_normal(value))),
        _ => None,
    };
    if let Some((kind, normal)) = of_key {
        let mut counts = MaskCounts::default();
        counts.count(kind);
        return (Cow::Owned(masker.token(kind, &normal)), counts);
    }
    let looks_nested = value.trim_start().starts_with(['{', '[', '"']);
    let inner = if looks_nested && nested < MAX_NESTED_TEXTS { mask(masker, value, nested + 1) } else { None };
    inner.unwrap_or_else(|| masker.mask_text(value))
}

/// What a number literal is. On the way into the store only plain digits are: a sign, a fraction or an exponent is no
/// one's number there.
fn number(masker: &Masker, literal: &str, key: Option<MaskKind>) -> Option<(MaskKind, String)> {
    if is_number_pseudonym(literal) {
        return None;
    }
    let is_plain = literal.bytes().all(|byte| byte.is_ascii_digit());
    let careful = || if is_plain { scan::kind_of_digits(literal) } else { None };
    if masker.names.is_some() {
        return personal::number(literal, key).or_else(|| Some((careful()?, literal.to_owned())));
    }
    let kind = if is_plain { key } else { None }.or_else(careful)?;
    Some((kind, literal.to_owned()))
}
