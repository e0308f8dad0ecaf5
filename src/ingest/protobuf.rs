//! OTLP protobuf messages to OTLP JSON text, so that one reader of spans serves both.
//!
//! Owns the decoding of an `ExportTraceServiceRequest` (which is a `TracesData`, field for field), the JSON that stands
//! for it, and what tells such a message from other bytes. Cutting a stream into messages is `frame`'s. Start with
//! [`request_to_json`].
//!
//! The JSON is written here and not by the serde support of `opentelemetry-proto`, which writes doubles that are not
//! finite as null (OTLP JSON has `"NaN"`, `"Infinity"`, `"-Infinity"`). In protobuf an absent status is UNSET, so
//! `"status":{}` stands for it: it is not the broken input that a span without the key is in JSON.

mod json;
mod wire;

use std::ops::Range;

use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::Message as _;
use thiserror::Error;

use wire::{Node, Stop, Walk};

/// Known fields after which bytes that turn out wrong, or go on, are taken for OTLP all the same.
const ENOUGH_FIELDS: usize = 6;
/// Known fields after which bytes that are cut off are.
const ENOUGH_FIELDS_WHEN_CUT: usize = 3;

/// Why bytes are no trace request.
#[derive(Debug, Error)]
pub enum ProtobufError {
    /// The bytes break the encoding of protobuf, or end early.
    #[error("no protobuf message of OTLP: byte {offset}")]
    NotARequest {
        /// Offset of the first byte that cannot be read on from.
        offset: usize,
    },
    /// A message in them cannot be decoded.
    #[error("{0}")]
    NotDecoded(#[from] prost::DecodeError),
    /// The request holds another signal.
    #[error("the request holds {0} and no traces")]
    OtherSignal(&'static str),
}

/// The OTLP JSON text of an `ExportTraceServiceRequest` (or `TracesData`) in protobuf.
///
/// Text that is not UTF-8 is read with `?` in place of the wrong bytes, as encoders that cut a text by bytes make it.
///
/// # Errors
/// When the bytes are no such message, or hold logs or metrics.
pub fn request_to_json(bytes: &[u8]) -> Result<String, ProtobufError> {
    let mut text = String::from("{\"resourceSpans\":[");
    for (place, group) in groups(bytes)?.into_iter().enumerate() {
        let group = bytes.get(group).unwrap_or_default();
        if let Some(signal) = other_signal(group) {
            return Err(ProtobufError::OtherSignal(signal));
        }
        if place > 0 {
            text.push(',');
        }
        json::write_resource_spans(&decode_group(group)?.spans, &mut text);
    }
    text.push_str("]}");
    Ok(text)
}

/// The JSON text of one member of `resourceSpans`.
pub(crate) struct GroupText {
    /// A request with this member alone; an empty one of the other signal when the bytes are of another.
    pub(crate) json: String,
    /// How many bytes of text were no UTF-8 and were replaced.
    pub(crate) replaced: u64,
}

/// The JSON text of one member of `resourceSpans`: large requests are read member by member.
pub(crate) fn group_to_json(bytes: &[u8]) -> Result<GroupText, ProtobufError> {
    if let Some(signal) = other_signal(bytes) {
        return Ok(GroupText { json: format!("{{\"{signal}\":[]}}"), replaced: 0 });
    }
    let Group { spans, replaced } = decode_group(bytes)?;
    let mut json = String::from("{\"resourceSpans\":[");
    json::write_resource_spans(&spans, &mut json);
    json.push_str("]}");
    Ok(GroupText { json, replaced })
}

/// Where the members of `resourceSpans` stand in a message that was found sound throughout, texts aside.
pub(crate) fn groups(bytes: &[u8]) -> Result<Vec<Range<usize>>, ProtobufError> {
    let wrong = |offset| ProtobufError::NotARequest { offset };
    let mut walk = Walk::new(bytes);
    let mut groups = Vec::new();
    let walked = walk.fields(bytes.len(), &mut |number, contents| {
        if number == 1 {
            groups.push(contents);
        }
        true
    });
    walked.map_err(|_| wrong(walk.offset()))?;
    for group in &groups {
        let contents = bytes.get(group.clone()).unwrap_or_default();
        let mut walk = Walk::new(contents);
        if walk.message(Node::ResourceSpans, contents.len()).is_err() && other_signal(contents).is_none() {
            return Err(wrong(group.start + walk.offset()));
        }
    }
    Ok(groups)
}

/// What stands at the start of a message that has no length in front of it.
pub(crate) enum Member {
    /// A member of `resourceSpans`: its contents, from the start of the message.
    Group(Range<u64>),
    /// A field of another kind, and where it ends.
    Other(u64),
    /// The bytes at hand do not tell.
    Short,
    /// Nothing of protobuf.
    Wrong,
}

/// Looks at the tag and length at the start of `bytes`, which may be cut behind them.
pub(crate) fn member(bytes: &[u8]) -> Member {
    let mut walk = Walk::new(bytes);
    match walk.header() {
        Ok((1, contents)) => Member::Group(contents.start as u64..contents.end as u64),
        Ok((_, contents)) => Member::Other(contents.end as u64),
        Err(Stop::Cut) => Member::Short,
        Err(Stop::Wrong) => Member::Wrong,
    }
}

/// A length in the encoding of protobuf at the start of `bytes`: its value and how many bytes it takes; none when
/// `bytes` is too short for it, an error when it is none.
pub(crate) fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, ()> {
    let mut walk = Walk::new(bytes);
    match walk.varint() {
        Ok(value) => Ok(Some((value, walk.offset()))),
        Err(Stop::Cut) => Ok(None),
        Err(Stop::Wrong) => Err(()),
    }
}

/// Whether a request of `length` bytes begins with `head`, as far as that shows. Fields that OTLP does not have count
/// for nothing, so that text and other formats do not pass.
pub(crate) fn begins_request(head: &[u8], length: u64) -> bool {
    let end = usize::try_from(length).unwrap_or(usize::MAX);
    let mut walk = Walk::new(head.get(..end).unwrap_or(head));
    match walk.message(Node::TracesData, end) {
        Ok(()) => walk.known > 0,
        Err(Stop::Cut) => walk.known >= ENOUGH_FIELDS_WHEN_CUT && walk.unknown <= walk.known / 2,
        Err(Stop::Wrong) => walk.known >= ENOUGH_FIELDS && walk.unknown <= walk.known / 2,
    }
}

struct Group {
    spans: ResourceSpans,
    replaced: u64,
}

fn decode_group(bytes: &[u8]) -> Result<Group, ProtobufError> {
    match ResourceSpans::decode(bytes) {
        Ok(spans) => Ok(Group { spans, replaced: 0 }),
        Err(error) => {
            // One text cut in the middle of a character would cost the whole message.
            let Some((repaired, replaced)) = repair(bytes) else { return Err(error.into()) };
            Ok(Group { spans: ResourceSpans::decode(repaired.as_slice())?, replaced })
        }
    }
}

/// The same bytes with `?` for every byte of a text that is no UTF-8, and how many; none when something else is wrong.
fn repair(bytes: &[u8]) -> Option<(Vec<u8>, u64)> {
    let mut walk = Walk::new(bytes);
    walk.message(Node::ResourceSpans, bytes.len()).ok()?;
    let mut repaired = bytes.to_vec();
    let mut replaced = 0;
    for text in walk.texts {
        let mut at = text.start;
        for chunk in bytes.get(text)?.utf8_chunks() {
            at += chunk.valid().len();
            let wrong = chunk.invalid().len();
            repaired.get_mut(at..at + wrong)?.fill(b'?');
            replaced += wrong as u64;
            at += wrong;
        }
    }
    (replaced > 0).then_some((repaired, replaced))
}

/// The JSON key of the signal when a group holds logs or metrics, which have the same shape down to the records.
fn other_signal(group: &[u8]) -> Option<&'static str> {
    let record = wire::first_record(group)?;
    let has = |number, wire_type| record.iter().any(|field| (field.number, field.wire_type) == (number, wire_type));
    let is_long = |number, length| record.iter().any(|field| (field.number, field.length) == (number, length));
    // Fields of a span that neither a log record nor a metric has with this wire type.
    if has(7, wire::FIXED64) || has(8, wire::FIXED64) || has(15, wire::LENGTH) || has(6, wire::VARINT) {
        return None;
    }
    if has(1, wire::FIXED64) || has(11, wire::FIXED64) {
        return Some("resourceLogs");
    }
    let data = [5, 7, 9, 10, 11].iter().filter(|number| has(**number, wire::LENGTH)).count();
    // A name and a description as long as the ids of a span are would be a strange coincidence.
    (data == 1 && !(is_long(1, 16) && is_long(2, 8))).then_some("resourceMetrics")
}
