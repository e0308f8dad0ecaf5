//! Finds synthetic secrets in texts, also when they are split by white space, in another case, or hidden in base64, hex
//! or URL encoding, up to two of these one in the other.
//!
//! Texts are decoded instead of markers encoded: so case, white space and what stands before and after a marker in the
//! encoded bytes do not matter. Base64 is read from each of four characters on, which are all places at which a group
//! of four can begin, and hex from each of two.

use std::borrow::Cow;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

/// How many encodings may stand one in the other.
const MAX_LAYERS: usize = 2;
/// Letters that a marker needs at least: shorter ones would be found in anything. Counted as [`normal`] writes it.
pub const MIN_MARKER_CHARS: usize = 6;

/// Takes the last group as it comes: texts are cut anywhere.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// How a text was hidden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// Base64, standard or URL alphabet.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// Percent encoding.
    Url,
}

/// A marker that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Its place among the markers.
    pub marker: usize,
    /// What it was hidden in, the outermost first; empty when it stood there as it is.
    pub layers: Vec<Encoding>,
}

/// Letters in lower case and one form, without white space and what no one sees.
#[must_use]
pub fn normal(text: &str) -> String {
    let is_seen = |c: &char| {
        !c.is_whitespace()
            && !c.is_control()
            && !matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    text.nfkc().filter(is_seen).flat_map(char::to_lowercase).collect()
}

/// The first marker that is in the text.
#[must_use]
pub fn find(text: &str, markers: &[String]) -> Option<Leak> {
    let markers: Vec<String> = markers.iter().map(|marker| normal(marker)).collect();
    let mut layers = Vec::new();
    let marker = search(text, &markers, &mut layers)?;
    Some(Leak { marker, layers })
}

/// The first marker that is in a JSON value: its texts, keys and numbers one by one.
#[must_use]
pub fn find_in_value(value: &Value, markers: &[String]) -> Option<Leak> {
    match value {
        Value::String(text) => find(text, markers),
        Value::Number(number) => find(&number.to_string(), markers),
        Value::Array(items) => items.iter().find_map(|item| find_in_value(item, markers)),
        Value::Object(members) => {
            members.iter().find_map(|(key, value)| find(key, markers).or_else(|| find_in_value(value, markers)))
        }
        Value::Null | Value::Bool(_) => None,
    }
}

/// Leaves in `layers` those that led to what was found.
fn search(text: &str, markers: &[String], layers: &mut Vec<Encoding>) -> Option<usize> {
    let plain = normal(text);
    let is_in = |marker: &String| !marker.is_empty() && plain.contains(marker.as_str());
    if let Some(found) = markers.iter().position(is_in) {
        return Some(found);
    }
    if layers.len() == MAX_LAYERS {
        return None;
    }
    // Case counts in base64, so it is kept here.
    let joined: String = text.nfkc().filter(|c| !c.is_whitespace() && !c.is_control()).collect();
    // Letters may be written in fewer bytes than their normal form has, yet never in less than half of them.
    let shortest = markers.iter().filter(|marker| !marker.is_empty()).map(String::len).min()?;
    let mut descend = |encoding: Encoding, bytes: &[u8]| {
        layers.push(encoding);
        let found = search(&String::from_utf8_lossy(bytes), markers, layers);
        if found.is_none() {
            layers.pop();
        }
        found
    };
    if joined.contains('%') {
        let decoded = percent_decode_str(&joined).collect::<Vec<u8>>();
        if let Some(found) = descend(Encoding::Url, &decoded) {
            return Some(found);
        }
        // Forms write a blank as a plus.
        if joined.contains('+') {
            let decoded = percent_decode_str(&joined.replace('+', "")).collect::<Vec<u8>>();
            if let Some(found) = descend(Encoding::Url, &decoded) {
                return Some(found);
            }
        }
    }
    // Digits are often written in pairs: 4f:50, \x4f\x50.
    let unpaired = without_separators(&joined);
    for run in runs(&unpaired, |byte| byte.is_ascii_hexdigit(), shortest) {
        for start in 0..2 {
            if let Some(found) = descend(Encoding::Hex, &unhexed(&run[start..])) {
                return Some(found);
            }
        }
    }
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_');
    for run in runs(&joined, is_base64, shortest * 2 / 3) {
        let standard: Vec<u8> = run
            .iter()
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            })
            .collect();
        for start in 0..4 {
            let rest = &standard[start.min(standard.len())..];
            // One character alone is no byte.
            let rest = if rest.len() % 4 == 1 { &rest[..rest.len() - 1] } else { rest };
            let Ok(decoded) = BASE64.decode(rest) else { continue };
            if let Some(found) = descend(Encoding::Base64, &decoded) {
                return Some(found);
            }
        }
    }
    None
}

fn without_separators(text: &str) -> Cow<'_, str> {
    if text.contains("\\x") || text.contains(':') {
        Cow::Owned(text.replace("\\x", "").replace(':', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// The longest stretches of such bytes that are not shorter than `least`.
fn runs(text: &str, is_in: impl Fn(u8) -> bool, least: usize) -> Vec<&[u8]> {
    text.as_bytes().split(|byte| !is_in(*byte)).filter(|run| run.len() >= least.max(2)).collect()
}

fn unhexed(digits: &[u8]) -> Vec<u8> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).unwrap_or(0);
    digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect()
}
