//! The text of JSON strings and numbers: escapes, exact decimal value, depth.
//!
//! Owns what must not pass through a float or a strict decoder. All functions take text that a JSON parser has already
//! accepted, and stay free of panics on any other. It does not parse JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

use memchr::{memchr, memchr2};

use crate::model::JsonType;

/// What may stand around JSON values.
pub(crate) const SPACES: [char; 4] = [' ', '\t', '\n', '\r'];

/// The text of a JSON string literal (quotes included); none when it is no string.
///
/// A surrogate without its partner becomes U+FFFD: the rest of the text is worth more than the refusal.
pub(crate) fn decode(literal: &str) -> Option<Cow<'_, str>> {
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    if memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    let mut decoded = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        decoded.push_str(before);
        let (letter, length) = decode_escape(&escape[1..]);
        decoded.push(letter);
        rest = escape.get(1 + length..).unwrap_or_default();
    }
    decoded.push_str(rest);
    Some(Cow::Owned(decoded))
}

/// The character that the text behind a backslash stands for, and how many bytes of that text it takes.
fn decode_escape(text: &str) -> (char, usize) {
    match text.chars().next() {
        Some('u') => decode_unicode(text),
        Some('b') => ('\u{8}', 1),
        Some('f') => ('\u{c}', 1),
        Some('n') => ('\n', 1),
        Some('r') => ('\r', 1),
        Some('t') => ('\t', 1),
        Some(letter) => (letter, letter.len_utf8()),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}

fn decode_unicode(text: &str) -> (char, usize) {
    let unit_at = |at: usize| text.get(at..at + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let Some(first) = unit_at(1) else { return (char::REPLACEMENT_CHARACTER, 1) };
    let second = if text.get(5..7) == Some("\\u") { unit_at(7) } else { None };
    let mut units = char::decode_utf16([first].into_iter().chain(second));
    match units.next() {
        Some(Ok(letter)) => (letter, if letter.len_utf16() == 2 { 11 } else { 5 }),
        _ => (char::REPLACEMENT_CHARACTER, 5),
    }
}

/// Writes a string literal in the one way that canonical text spells it: only what JSON demands is escaped.
pub(crate) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    // Most have nothing to escape; this walk is one that the compiler makes wide.
    let plain = |byte: u8| (byte != b'"') & (byte != b'\\') & (byte >= 0x20);
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut written = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            0x00..=0x1f => "",
            _ => continue,
        };
        out.push_str(&text[written..at]);
        if escape.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.push_str(escape);
        }
        written = at + 1;
    }
    out.push_str(&text[written..]);
    out.push('"');
}

/// Offset just behind the string literal that starts at the beginning of `text`.
pub(crate) fn literal_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        if bytes[at] == b'"' {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// Whether arrays and objects stand in one another more than `limit` deep.
pub(crate) fn is_deeper_than(json: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = json.as_bytes().get(at) {
        match byte {
            b'"' => {
                at += literal_end(&json[at..]);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > limit {
            return true;
        }
        at += 1;
    }
    false
}

/// The type of a JSON value as it is written: `3` is an integer, `3.0` and `3e0` are numbers.
pub(crate) fn written_type(json: &str) -> JsonType {
    match json.bytes().next() {
        Some(b'{') => JsonType::Object,
        Some(b'[') => JsonType::Array,
        Some(b'"') => JsonType::String,
        Some(b't' | b'f') => JsonType::Boolean,
        Some(b'-' | b'0'..=b'9') if json.contains(['.', 'e', 'E']) => JsonType::Number,
        Some(b'-' | b'0'..=b'9') => JsonType::Integer,
        _ => JsonType::Null,
    }
}

/// The most specific JSON Schema type of a JSON value: `3.0` and `1e400` have no fractional part and are integers.
pub(crate) fn json_type(json: &str) -> JsonType {
    match written_type(json) {
        JsonType::Number if Decimal::of(json).is_integral() => JsonType::Integer,
        other => other,
    }
}

/// Whether the text is a JSON number and nothing else.
pub(crate) fn is_number(text: &str) -> bool {
    // Nearly all are plain integers, and times make two of them a span.
    if text.bytes().all(|digit| digit.is_ascii_digit()) {
        return !text.is_empty() && (text.len() == 1 || !text.starts_with('0'));
    }
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && text.ends_with(|last: char| last.is_ascii_digit())
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()
}

/// The exact value of a JSON number; none when it has a fractional part or does not fit.
pub(crate) fn to_i64(number: &str) -> Option<i64> {
    // Most are times: nineteen plain digits.
    if let Ok(plain) = number.parse() {
        return Some(plain);
    }
    Decimal::of(number).to_i64()
}

/// A JSON number taken apart. Its value is `whole` and `fraction` as one run of digits, times ten to `scale`.
struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    /// Zeros at the end of the run of digits: they are part of the scale.
    trailing_zeros: usize,
    /// Saturates: no text is long enough to make up for an exponent of 64 bits.
    scale: i64,
}

impl<'a> Decimal<'a> {
    fn of(number: &'a str) -> Self {
        let (negative, unsigned) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number),
        };
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let zeros = |digits: &str| digits.bytes().rev().take_while(|digit| *digit == b'0').count();
        let mut trailing_zeros = zeros(fraction);
        if trailing_zeros == fraction.len() {
            trailing_zeros += zeros(whole);
        }
        let scale = saturating_exponent(exponent)
            .saturating_sub(i64::try_from(fraction.len()).unwrap_or(i64::MAX))
            .saturating_add(i64::try_from(trailing_zeros).unwrap_or(i64::MAX));
        Self { negative, whole, fraction, trailing_zeros, scale }
    }

    fn significant_digits(&self) -> impl Iterator<Item = u8> {
        let length = self.whole.len() + self.fraction.len() - self.trailing_zeros;
        self.whole.bytes().chain(self.fraction.bytes()).take(length).skip_while(|digit| *digit == b'0')
    }

    fn is_zero(&self) -> bool {
        self.trailing_zeros == self.whole.len() + self.fraction.len()
    }

    fn is_integral(&self) -> bool {
        self.is_zero() || self.scale >= 0
    }

    fn to_i64(&self) -> Option<i64> {
        /// Digits of the greatest 64-bit integer.
        const MAX_DIGITS: u32 = 19;
        if self.is_zero() {
            return Some(0);
        }
        let scale = u32::try_from(self.scale).ok().filter(|scale| *scale < MAX_DIGITS)?;
        let mut magnitude: i128 = 0;
        for (position, digit) in self.significant_digits().enumerate() {
            if position >= MAX_DIGITS as usize {
                return None;
            }
            magnitude = magnitude * 10 + i128::from(digit.checked_sub(b'0')?);
        }
        // At most 19 + 18 digits, which 128 bits hold.
        magnitude *= 10_i128.pow(scale);
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }
}

fn saturating_exponent(text: &str) -> i64 {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    digits.bytes().fold(0_i64, |value, digit| {
        value.saturating_mul(10).saturating_add(sign * i64::from(digit.saturating_sub(b'0')))
    })
}
