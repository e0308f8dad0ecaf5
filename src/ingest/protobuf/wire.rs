//! The wire format of protobuf, and which fields OTLP traces have.
//!
//! Follows messages without building values: to tell OTLP from other bytes by the first few of them, to find the texts
//! in a message, and to find where its members stand. Decoding is left to prost.

use std::ops::Range;

/// Wire types of protobuf.
pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const LENGTH: u8 = 2;
const GROUP_START: u8 = 3;
const FIXED32: u8 = 5;

/// How deep messages may stand in one another; prost stops there too.
const MAX_DEPTH: usize = 100;

/// A kind of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Node {
    TracesData,
    ResourceSpans,
    Resource,
    ScopeSpans,
    Scope,
    Span,
    Event,
    Link,
    Status,
    KeyValue,
    AnyValue,
    Values,
    KeyValues,
}

/// What a field holds.
enum Kind {
    Message(Node),
    Text,
    /// Bytes that are no text.
    Bytes,
    /// A value of this wire type.
    Plain(u8),
}

/// The fields of OTLP 1.10; none for a number that the message does not have.
fn kind(node: Node, number: u64) -> Option<Kind> {
    use Kind::{Bytes, Message, Plain, Text};
    Some(match (node, number) {
        (Node::TracesData, 1) => Message(Node::ResourceSpans),
        (Node::ResourceSpans, 1) => Message(Node::Resource),
        (Node::ResourceSpans, 2) => Message(Node::ScopeSpans),
        (Node::ScopeSpans, 1) => Message(Node::Scope),
        (Node::ScopeSpans, 2) => Message(Node::Span),
        (Node::ResourceSpans | Node::ScopeSpans, 3) => Text,
        (Node::Resource, 1) => Message(Node::KeyValue),
        (Node::Resource, 2) => Plain(VARINT),
        (Node::Scope, 1 | 2) => Text,
        (Node::Scope, 3) => Message(Node::KeyValue),
        (Node::Scope, 4) => Plain(VARINT),
        (Node::Span, 1 | 2 | 4) => Bytes,
        (Node::Span, 3 | 5) => Text,
        (Node::Span, 6 | 10 | 12 | 14) => Plain(VARINT),
        (Node::Span, 7 | 8) => Plain(FIXED64),
        (Node::Span, 9) => Message(Node::KeyValue),
        (Node::Span, 11) => Message(Node::Event),
        (Node::Span, 13) => Message(Node::Link),
        (Node::Span, 15) => Message(Node::Status),
        (Node::Span, 16) | (Node::Link, 6) => Plain(FIXED32),
        (Node::Event, 1) => Plain(FIXED64),
        (Node::Event, 2) | (Node::Link, 3) | (Node::Status, 2) => Text,
        (Node::Event, 3) | (Node::Link, 4) => Message(Node::KeyValue),
        (Node::Event, 4) | (Node::Link, 5) | (Node::Status, 3) => Plain(VARINT),
        (Node::Link, 1 | 2) => Bytes,
        (Node::KeyValue, 1) | (Node::AnyValue, 1) => Text,
        (Node::KeyValue, 2) => Message(Node::AnyValue),
        (Node::KeyValue, 3) | (Node::AnyValue, 2 | 3 | 8) => Plain(VARINT),
        (Node::AnyValue, 4) => Plain(FIXED64),
        (Node::AnyValue, 5) => Message(Node::Values),
        (Node::AnyValue, 6) => Message(Node::KeyValues),
        (Node::AnyValue, 7) => Bytes,
        (Node::Values, 1) => Message(Node::AnyValue),
        (Node::KeyValues, 1) => Message(Node::KeyValue),
        _ => return None,
    })
}

/// Why a walk ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The bytes end; what there is of them is sound.
    Cut,
    /// They cannot be protobuf, or not of this message.
    Wrong,
}

/// Follows a message whose end may lie behind the bytes at hand.
pub(super) struct Walk<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Fields met that OTLP has, with the wire type that it gives them.
    pub(super) known: usize,
    /// Fields met that it does not have.
    pub(super) unknown: usize,
    /// Where texts stand.
    pub(super) texts: Vec<Range<usize>>,
}

impl<'b> Walk<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, known: 0, unknown: 0, texts: Vec::new() }
    }

    /// Offset of what is looked at next, or of the field that cannot be read.
    pub(super) const fn offset(&self) -> usize {
        self.at
    }

    /// Follows the message that ends at `end`.
    pub(super) fn message(&mut self, node: Node, end: usize) -> Result<(), Stop> {
        self.message_at(node, end, 0)
    }

    fn message_at(&mut self, node: Node, end: usize, depth: usize) -> Result<(), Stop> {
        if depth > MAX_DEPTH {
            return Err(Stop::Wrong);
        }
        while self.at < end {
            let (number, wire_type) = self.tag()?;
            let Some(kind) = kind(node, number) else {
                // The two outermost messages have so few fields that any other means that this is something else.
                if matches!(node, Node::TracesData) {
                    return Err(Stop::Wrong);
                }
                self.unknown += 1;
                let contents = self.value(wire_type)?;
                self.jump(contents.end, end)?;
                continue;
            };
            let wanted = if let Kind::Plain(wire_type) = kind { wire_type } else { LENGTH };
            if wire_type != wanted {
                return Err(Stop::Wrong);
            }
            let contents = self.value(wire_type)?;
            if contents.end > end {
                return Err(Stop::Wrong);
            }
            self.known += 1;
            match kind {
                Kind::Message(inner) => self.message_at(inner, contents.end, depth + 1)?,
                Kind::Text => {
                    self.jump(contents.end, end)?;
                    self.texts.push(contents);
                }
                Kind::Bytes | Kind::Plain(_) => self.jump(contents.end, end)?,
            }
        }
        if self.at == end { Ok(()) } else { Err(Stop::Wrong) }
    }

    /// Calls `visit` with number and contents of each field with a length up to `end`; it says whether to go on.
    pub(super) fn fields(&mut self, end: usize, visit: &mut dyn FnMut(u64, Range<usize>) -> bool) -> Result<(), Stop> {
        while self.at < end {
            let start = self.at;
            let field = self.header().and_then(|(number, contents)| {
                self.jump(contents.end, end)?;
                Ok((number, contents))
            });
            let (number, contents) = field.inspect_err(|_| self.at = start)?;
            if !visit(number, contents) {
                break;
            }
        }
        Ok(())
    }

    /// Number and contents of the field that starts here; the contents may lie behind the bytes at hand.
    pub(super) fn header(&mut self) -> Result<(u64, Range<usize>), Stop> {
        let (number, wire_type) = self.tag()?;
        if number == 1 && wire_type != LENGTH {
            return Err(Stop::Wrong);
        }
        Ok((number, self.value(wire_type)?))
    }

    /// Number and wire type of the next field.
    fn tag(&mut self) -> Result<(u64, u8), Stop> {
        let tag = self.varint()?;
        let number = tag >> 3;
        // Field numbers have 29 bits.
        if number == 0 || number >= 1 << 29 {
            return Err(Stop::Wrong);
        }
        Ok((number, tag.to_le_bytes()[0] & 7))
    }

    /// Where the contents of a field stand; moves to their start.
    fn value(&mut self, wire_type: u8) -> Result<Range<usize>, Stop> {
        let length = match wire_type {
            VARINT => {
                let start = self.at;
                self.varint()?;
                return Ok(start..self.at);
            }
            FIXED64 => 8,
            FIXED32 => 4,
            LENGTH => self.varint()?,
            // Groups are not part of proto3.
            GROUP_START.. => return Err(Stop::Wrong),
        };
        let end = usize::try_from(length).ok().and_then(|length| self.at.checked_add(length)).ok_or(Stop::Wrong)?;
        Ok(self.at..end)
    }

    fn jump(&mut self, to: usize, end: usize) -> Result<(), Stop> {
        if to > end {
            return Err(Stop::Wrong);
        }
        if to > self.bytes.len() {
            return Err(Stop::Cut);
        }
        self.at = to;
        Ok(())
    }

    /// A number of up to 64 bits, seven a byte, lowest first.
    pub(super) fn varint(&mut self) -> Result<u64, Stop> {
        let mut value = 0_u64;
        for place in 0..10 {
            let byte = *self.bytes.get(self.at).ok_or(Stop::Cut)?;
            self.at += 1;
            if place == 9 && byte > 1 {
                return Err(Stop::Wrong);
            }
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Stop::Wrong)
    }
}

/// A field without its contents.
pub(super) struct Field {
    pub(super) number: u64,
    pub(super) wire_type: u8,
    /// Length of the contents in bytes.
    pub(super) length: usize,
}

/// The fields of the first record (span, log record, metric) in a resource's group.
pub(super) fn first_record(group: &[u8]) -> Option<Vec<Field>> {
    let scopes = first_field(group, 2)?;
    let record = first_field(scopes, 2)?;
    let mut walk = Walk::new(record);
    let mut fields = Vec::new();
    while walk.at < record.len() {
        let (number, wire_type) = walk.tag().ok()?;
        let contents = walk.value(wire_type).ok()?;
        walk.jump(contents.end, record.len()).ok()?;
        fields.push(Field { number, wire_type, length: contents.len() });
    }
    Some(fields)
}

/// The contents of the first field of this number.
fn first_field(bytes: &[u8], wanted: u64) -> Option<&[u8]> {
    let mut found = None;
    // The visitor ends the walk where it has what it wants.
    let _ = Walk::new(bytes).fields(bytes.len(), &mut |number, contents| {
        if number == wanted {
            found = bytes.get(contents);
        }
        found.is_none()
    });
    found
}
