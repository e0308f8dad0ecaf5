//! Trace and span ids in every spelling met in the field, and base64.
//!
//! Owns the way from the recorded text to lower-case hex. It does not look at spans.

use crate::ingest::args::text;

/// Bytes of a trace id.
pub(crate) const TRACE_ID_BYTES: usize = 16;
/// Bytes of a span id.
pub(crate) const SPAN_ID_BYTES: usize = 8;

/// An id as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Id {
    /// Absent, null, empty, or all zeros, which OpenTelemetry defines as no id.
    Missing,
    /// None of the spellings known.
    Invalid,
    /// Lower-case hex.
    Hex(String),
}

impl Id {
    /// Reads the JSON text of an id of `bytes` bytes.
    ///
    /// Hex comes first, then base64 of the bytes, then base64 of the hex text (generic protobuf printers make the one
    /// or the other). Lengths keep them apart: 16 bytes are 32, 24 and 44 characters, 8 bytes are 16, 12 and 24.
    pub(crate) fn read(json: Option<&str>, bytes: usize) -> Self {
        let Some(json) = json.filter(|json| *json != "null") else { return Self::Missing };
        if let Some(id) = Self::read_hex(json, bytes) {
            return id;
        }
        let Some(recorded) = text::decode(json) else { return Self::Invalid };
        if recorded.is_empty() {
            return Self::Missing;
        }
        // Hex with escapes in it is hex all the same.
        let hex = if is_hex(recorded.as_bytes(), bytes) {
            Some(recorded.to_ascii_lowercase())
        } else {
            hex_of_base64(&recorded, bytes)
        };
        let Some(hex) = hex else { return Self::Invalid };
        if hex.bytes().all(|digit| digit == b'0') { Self::Missing } else { Self::Hex(hex) }
    }

    /// Hex in a JSON string, as nearly all are written; none for anything else.
    fn read_hex(json: &str, bytes: usize) -> Option<Self> {
        let hex = json.strip_prefix('"')?.strip_suffix('"').filter(|hex| is_hex(hex.as_bytes(), bytes))?;
        Some(if hex.bytes().all(|digit| digit == b'0') { Self::Missing } else { Self::Hex(hex.to_ascii_lowercase()) })
    }

    /// The hex text, when there is one.
    pub(crate) fn hex(self) -> Option<String> {
        match self {
            Self::Hex(hex) => Some(hex),
            Self::Missing | Self::Invalid => None,
        }
    }
}

fn is_hex(text: &[u8], bytes: usize) -> bool {
    text.len() == 2 * bytes && text.iter().fold(true, |all, digit| all & digit.is_ascii_hexdigit())
}

fn hex_of_base64(recorded: &str, bytes: usize) -> Option<String> {
    // Longer than base64 of the hex text: not worth decoding.
    if recorded.len() > 4 * bytes {
        return None;
    }
    let decoded = decode_base64(recorded)?;
    if decoded.len() == bytes {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |value: u8| char::from(DIGITS[usize::from(value & 0x0f)]);
        return Some(decoded.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect());
    }
    if is_hex(&decoded, bytes) { String::from_utf8(decoded).ok().map(|hex| hex.to_ascii_lowercase()) } else { None }
}

/// Decodes base64, standard or URL alphabet, padded to full groups of four; none for anything else.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut decoded = Vec::with_capacity(digits.len() * 3 / 4 + 1);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count).to_le_bytes()[0]);
        }
    }
    Some(decoded)
}
