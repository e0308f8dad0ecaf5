//! Which encoding a file is in, UTF-8 or CP949, and its texts.
//!
//! A file has one encoding. Lines decide that only one of the two can read; two letters of CP949 may by chance be one
//! of UTF-8 below U+0800, so such lines do not count. Both keep ASCII as it is, and no second byte of CP949 is a quote,
//! a comma, a bar, a brace or a newline, so that bytes can be cut into rows and cells before they are decoded.

use std::borrow::Cow;
use std::str;

use encoding_rs::EUC_KR;

/// What is known of a file's encoding.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Nothing yet: all that was met is ASCII, or could be either.
    #[default]
    Open,
    Utf8,
    Cp949,
}

impl Encoding {
    /// What the lines of the first block say; the more count.
    pub(super) fn of(head: &[u8]) -> Self {
        if head.is_ascii() {
            return Self::Open;
        }
        let (mut utf8, mut cp949) = (0_usize, 0_usize);
        // The last line may be cut in the middle of a letter.
        let whole = memchr::memrchr(b'\n', head).map_or(head, |end| &head[..end]);
        for line in whole.split(|byte| *byte == b'\n').filter(|line| !line.is_ascii()) {
            match Self::of_text(line) {
                Self::Open => {}
                Self::Utf8 => utf8 += 1,
                Self::Cp949 => cp949 += 1,
            }
        }
        match utf8.cmp(&cp949) {
            std::cmp::Ordering::Greater => Self::Utf8,
            std::cmp::Ordering::Less => Self::Cp949,
            std::cmp::Ordering::Equal => Self::Open,
        }
    }

    fn of_text(bytes: &[u8]) -> Self {
        match simdutf8::basic::from_utf8(bytes) {
            Ok(text) if text.chars().any(|letter| letter >= '\u{800}') => Self::Utf8,
            Ok(_) => Self::Open,
            Err(_) if as_cp949(bytes).is_some() => Self::Cp949,
            Err(_) => Self::Open,
        }
    }

    /// The text of these bytes; none when they are not in the encoding of the file.
    pub(super) fn decode<'b>(&mut self, bytes: &'b [u8]) -> Option<Cow<'b, str>> {
        if bytes.is_ascii() {
            return simdutf8::basic::from_utf8(bytes).ok().map(Cow::Borrowed);
        }
        if *self == Self::Open {
            *self = Self::of_text(bytes);
        }
        match self {
            Self::Cp949 => as_cp949(bytes),
            Self::Open | Self::Utf8 => simdutf8::basic::from_utf8(bytes).ok().map(Cow::Borrowed),
        }
    }
}

fn as_cp949(bytes: &[u8]) -> Option<Cow<'_, str>> {
    // The web's EUC-KR is CP949.
    EUC_KR.decode_without_bom_handling_and_without_replacement(bytes)
}
