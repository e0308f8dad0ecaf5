//! Ids of traces and spans, as OpenTelemetry defines them: bytes that are not all zero, told as lower-case hex.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};

/// An id of OpenTelemetry: a number of so many bytes, the first of them the highest, which is not zero.
pub trait OtelId: Copy + Eq + fmt::Display {
    /// How many bytes it has.
    const BYTES: usize;

    /// The id that is this number; none of zero, which is no id, and of one with more bytes.
    fn of_number(number: u128) -> Option<Self>;

    /// Writes the lower-case hex digits, two for each byte, to the beginning of the buffer.
    fn hex(self, buffer: &mut [u8; 32]) -> &str;

    /// Reads exactly so many hex digits, lower or upper case.
    #[must_use]
    fn of_hex(hex: &str) -> Option<Self> {
        if hex.len() == 2 * Self::BYTES { Self::of_number(number_of_hex(hex.as_bytes())?) } else { None }
    }
}

/// Id of a trace: 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(NonZeroU128);

/// Id of a span: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(NonZeroU64);

impl SpanId {
    /// The number that its digits stand for; never zero.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0.get()
    }
}

impl OtelId for TraceId {
    const BYTES: usize = 16;

    fn of_number(number: u128) -> Option<Self> {
        NonZeroU128::new(number).map(Self)
    }

    fn hex(self, buffer: &mut [u8; 32]) -> &str {
        for (digits, byte) in buffer.as_chunks_mut().0.iter_mut().zip(self.0.get().to_be_bytes()) {
            *digits = hex_of_byte(byte);
        }
        text_of(buffer)
    }
}

impl OtelId for SpanId {
    const BYTES: usize = 8;

    fn of_number(number: u128) -> Option<Self> {
        NonZeroU64::new(u64::try_from(number).ok()?).map(Self)
    }

    fn hex(self, buffer: &mut [u8; 32]) -> &str {
        let (digits, _) = buffer.split_at_mut(16);
        for (digits, byte) in digits.as_chunks_mut().0.iter_mut().zip(self.0.get().to_be_bytes()) {
            *digits = hex_of_byte(byte);
        }
        text_of(digits)
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.hex(&mut [0; 32]))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.hex(&mut [0; 32]))
    }
}

/// The number that hex digits stand for; none of anything else, or of more than 32 digits.
#[must_use]
pub fn number_of_hex(hex: &[u8]) -> Option<u128> {
    if hex.is_empty() || hex.len() > 32 {
        return None;
    }
    // No digit is looked at twice, and none ends the walk: what is wrong shows in the high half of a value.
    let mut wrong = 0;
    let mut number = 0_u128;
    for half in hex.rchunks(16).rev() {
        let mut low = 0_u64;
        for digit in half {
            let value = DIGIT_VALUES[usize::from(*digit)];
            wrong |= value;
            low = low << 4 | u64::from(value & 0x0f);
        }
        number = number << 64 | u128::from(low);
    }
    (wrong & 0xf0 == 0).then_some(number)
}

/// The value of each hex digit; 0xff of every other byte.
const DIGIT_VALUES: [u8; 256] = {
    let mut values = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        values[HEX_DIGITS[value as usize] as usize] = value;
        values[HEX_DIGITS[value as usize].to_ascii_uppercase() as usize] = value;
        value += 1;
    }
    values
};

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

fn hex_of_byte(byte: u8) -> [u8; 2] {
    [HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 0x0f)]]
}

/// Digits are ASCII.
fn text_of(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}
