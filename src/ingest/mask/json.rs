//! Masking inside JSON: walks the text as it stands and replaces values only, so that spacing, order, keys and every
//! other value keep their bytes.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::scan;
use super::{MaskCounts, MaskKind, Masker, is_number_pseudonym};
use crate::ingest::args::text;

/// How deep JSON in a string in JSON is followed; deeper text is masked as text.
const MAX_NESTED_TEXTS: usize = 4;

/// An open array or object.
struct Open {
    is_object: bool,
    /// Whether its next string is a key.
    at_key: bool,
    /// Whether the values in it, or behind its last key, are employee numbers.
    is_employee: bool,
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
        let inside = open.last().is_some_and(|last| last.is_employee);
        let mut length = 1;
        match byte {
            b'{' => open.push(Open { is_object: true, at_key: true, is_employee: false }),
            b'[' => open.push(Open { is_object: false, at_key: false, is_employee: inside }),
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
                    last.is_employee = masker.words.is_employee_key(&decoded);
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
                if let Some((kind, normal)) = number(literal, inside) {
                    counts.count(kind);
                    out.push_str(&json[written..at]);
                    out.push_str(&masker.number(kind, normal));
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

fn string<'t>(masker: &Masker, value: &'t str, is_employee: bool, nested: usize) -> (Cow<'t, str>, MaskCounts) {
    if is_employee && scan::is_employee_value(value) {
        let mut counts = MaskCounts::default();
        counts.count(MaskKind::Employee);
        return (Cow::Owned(masker.token(MaskKind::Employee, &scan::employee_normal(value))), counts);
    }
    let looks_nested = value.trim_start().starts_with(['{', '[', '"']);
    let inner = if looks_nested && nested < MAX_NESTED_TEXTS { mask(masker, value, nested + 1) } else { None };
    inner.unwrap_or_else(|| masker.mask_text(value))
}

/// What a number literal is. Only plain digits are: a sign, a fraction or an exponent is no one's number.
fn number(literal: &str, is_employee: bool) -> Option<(MaskKind, &str)> {
    if !literal.bytes().all(|byte| byte.is_ascii_digit()) || is_number_pseudonym(literal) {
        return None;
    }
    let kind = if is_employee { Some(MaskKind::Employee) } else { scan::kind_of_digits(literal) };
    kind.map(|kind| (kind, literal))
}
