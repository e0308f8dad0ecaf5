//! A body to the JSON text that the reader of files knows: decompressed within a limit, protobuf turned into JSON.

use std::borrow::Cow;
use std::io::{self, Read};

use super::answer::{Form, Refusal};
use crate::ingest::protobuf::request_to_json;

/// The window of zstd, in powers of two: 32 MiB, above what encoders use unless told otherwise.
const ZSTD_WINDOW_LOG: u32 = 25;

/// How a body is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Zstd,
}

impl Coding {
    /// The coding of this name; names are of any case.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The bytes without compression. Never holds more than one byte above the limit.
    fn decode<'b>(self, body: &'b [u8], limit: usize) -> Result<Cow<'b, [u8]>, Refusal> {
        let bytes = match self {
            Self::Identity => Ok(Cow::Borrowed(body)),
            Self::Gzip => read_limited(flate2::read::MultiGzDecoder::new(body), limit).map(Cow::Owned),
            Self::Zstd => zstd::Decoder::with_buffer(body)
                .and_then(|mut decoder| {
                    decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                    read_limited(decoder, limit)
                })
                .map(Cow::Owned),
        };
        let bytes = bytes.map_err(|error| Refusal::Damaged(error.to_string()))?;
        if bytes.len() > limit { Err(Refusal::TooLarge(limit)) } else { Ok(bytes) }
    }
}

fn read_limited(input: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take((limit as u64).saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The JSON text of a body.
pub(super) fn text(body: &[u8], coding: Coding, form: Form, limit: usize) -> Result<Cow<'_, [u8]>, Refusal> {
    let bytes = coding.decode(body, limit)?;
    match form {
        Form::Json => Ok(bytes),
        Form::Protobuf => {
            let text = request_to_json(&bytes).map_err(|error| Refusal::NotProtobuf(error.to_string()))?;
            Ok(Cow::Owned(text.into_bytes()))
        }
    }
}
