//! Trace and span ids in every spelling met in the field, and base64.
//!
//! Owns the way from the recorded text to the number. It does not look at spans.

use crate::ingest::args::text;
use crate::model::OtelId;
use crate::model::id::number_of_hex;

/// An id as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Id<T> {
    /// Absent, null, empty, or all zeros, which OpenTelemetry defines as no id.
    Missing,
    /// None of the spellings known.
    Invalid,
    /// An id.
    Known(T),
}

impl<T: OtelId> Id<T> {
    /// Reads the JSON text of an id.
    ///
    /// Hex comes first, then base64 of the bytes, then base64 of the hex text (generic protobuf printers make the one
    /// or the other). Lengths keep them apart: 16 bytes are 32, 24 and 44 characters, 8 bytes are 16, 12 and 24.
    pub(crate) fn read(json: Option<&str>) -> Self {
        let Some(json) = json.filter(|json| *json != "null") else { return Self::Missing };
        // Hex in a JSON string, as nearly all are written.
        let plain = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
        if let Some(number) = plain.and_then(|hex| Self::number_of_hex(hex.as_bytes())) {
            return Self::of_number(number);
        }
        let Some(recorded) = text::decode(json) else { return Self::Invalid };
        if recorded.is_empty() {
            return Self::Missing;
        }
        // Hex with escapes in it is hex all the same.
        let number = Self::number_of_hex(recorded.as_bytes()).or_else(|| Self::number_of_base64(&recorded));
        number.map_or(Self::Invalid, Self::of_number)
    }

    /// The id, when there is one.
    pub(crate) fn known(self) -> Option<T> {
        match self {
            Self::Known(id) => Some(id),
            Self::Missing | Self::Invalid => None,
        }
    }

    fn of_number(number: u128) -> Self {
        T::of_number(number).map_or(Self::Missing, Self::Known)
    }

    fn number_of_hex(hex: &[u8]) -> Option<u128> {
        if hex.len() == 2 * T::BYTES { number_of_hex(hex) } else { None }
    }

    fn number_of_base64(recorded: &str) -> Option<u128> {
        // Longer than base64 of the hex text: not worth decoding.
        if recorded.len() > 4 * T::BYTES {
            return None;
        }
        let decoded = decode_base64(recorded)?;
        if decoded.len() == T::BYTES {
            return Some(decoded.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)));
        }
        Self::number_of_hex(&decoded)
    }
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
