//! Rows of JSON: the objects of a stream, one a line, in an array, or pretty-printed; and the members of one.
//!
//! Objects are cut by their brackets, so that an array of any length is read row by row. A bracket that is missing
//! costs one row: an object that begins where none can, or a newline inside a text, ends the one before it.

use std::borrow::Cow;
use std::fmt;
use std::io::Read;

use memchr::{memchr2, memchr3};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::buffer::Buffer;
use super::{Cell, MAX_ROW_BYTES, Piece};
use crate::model::IssueCode;

/// Finds objects.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    /// Arrays around the objects that are not closed.
    pub(super) open_arrays: u64,
}

/// How an object ends.
enum End {
    /// With its bracket.
    Whole(usize),
    /// Before a byte that cannot stand in it.
    Broken(usize),
    /// With the stream.
    Truncated(usize),
    TooLong,
}

impl Scanner {
    /// Passes over what stands between rows and finds the end of the next.
    pub(super) fn next<R: Read>(&mut self, buffer: &mut Buffer<R>) -> Piece {
        loop {
            let between = buffer.bytes().iter().take_while(|byte| is_between(**byte)).count();
            for byte in buffer.head(between) {
                match byte {
                    b'[' => self.open_arrays += 1,
                    b']' => self.open_arrays = self.open_arrays.saturating_sub(1),
                    _ => {}
                }
            }
            buffer.take(between);
            if !buffer.bytes().is_empty() {
                break;
            }
            if !buffer.more() {
                return Piece::End;
            }
        }
        if buffer.bytes()[0] != b'{' {
            return match foreign_end(buffer) {
                Some(length) => {
                    let is_json = serde_json::from_slice::<IgnoredAny>(buffer.head(length)).is_ok();
                    if is_json {
                        return Piece::Broken { length, code: IssueCode::NotAnObject, detail: String::new() };
                    }
                    // A line of anything is one problem, however many commas stand in it.
                    let rest = &buffer.bytes()[length..];
                    let more = if self.open_arrays == 0 { memchr2(b'{', b'\n', rest).unwrap_or(0) } else { 0 };
                    Piece::Broken { length: length + more, code: IssueCode::NotJson, detail: String::new() }
                }
                None => Piece::BrokenLine { code: IssueCode::LineTooLong, detail: MAX_ROW_BYTES.to_string() },
            };
        }
        match object_end(buffer) {
            End::Whole(length) => Piece::Row(length),
            End::Broken(length) => Piece::Broken { length, code: IssueCode::NotJson, detail: String::new() },
            End::Truncated(length) => {
                Piece::Broken { length, code: IssueCode::TruncatedJson, detail: length.to_string() }
            }
            End::TooLong => Piece::BrokenLine { code: IssueCode::LineTooLong, detail: MAX_ROW_BYTES.to_string() },
        }
    }
}

const fn is_between(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']')
}

/// Where something that is no object ends: before the next newline, comma or closing bracket, which in a text do not
/// count; none over the limit.
fn foreign_end<R: Read>(buffer: &mut Buffer<R>) -> Option<usize> {
    // The first byte is none of these.
    let mut at = if buffer.bytes()[0] == b'"' { text_end(buffer) } else { 1 };
    loop {
        let bytes = buffer.bytes();
        if let Some(found) = memchr3(b'\n', b',', b']', &bytes[at..]) {
            return Some(at + found);
        }
        at = bytes.len();
        if at > MAX_ROW_BYTES {
            return None;
        }
        if !buffer.more() {
            return Some(at);
        }
    }
}

/// Behind the quote that ends the text that begins here; behind the first one when the line has no other.
fn text_end<R: Read>(buffer: &mut Buffer<R>) -> usize {
    let mut at = 1;
    loop {
        let bytes = buffer.bytes();
        match memchr3(b'"', b'\\', b'\n', &bytes[at..]).map(|found| (at + found, bytes[at + found])) {
            Some((found, b'"')) => return found + 1,
            Some((found, b'\\')) => at = found + 2,
            Some(_) => return 1,
            None => at = bytes.len(),
        }
        while at >= buffer.bytes().len() {
            if at > MAX_ROW_BYTES || !buffer.more() {
                return 1;
            }
        }
    }
}

fn object_end<R: Read>(buffer: &mut Buffer<R>) -> End {
    // Brackets that are open, and the last byte that is not blank: they say where an object may begin.
    let mut open: Vec<u8> = Vec::new();
    let mut before = b':';
    let mut in_text = false;
    let mut at = 0;
    loop {
        while at < buffer.bytes().len() {
            let bytes = buffer.bytes();
            if in_text {
                let Some(found) = memchr3(b'"', b'\\', b'\n', &bytes[at..]) else {
                    at = bytes.len();
                    break;
                };
                at += found;
                match bytes[at] {
                    b'"' => in_text = false,
                    b'\n' => return End::Broken(at),
                    _ if at + 1 >= bytes.len() => break,
                    _ => at += 1,
                }
                at += 1;
                continue;
            }
            let byte = bytes[at];
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    at += 1;
                    continue;
                }
                b'"' => in_text = true,
                b'{' if open.last() == Some(&b'{') && before != b':' => return End::Broken(at),
                b'{' | b'[' => open.push(byte),
                b'}' | b']' => {
                    open.pop();
                    if open.is_empty() {
                        return End::Whole(at + 1);
                    }
                }
                _ => {}
            }
            before = byte;
            at += 1;
        }
        if at > MAX_ROW_BYTES {
            return End::TooLong;
        }
        if !buffer.more() {
            return End::Truncated(buffer.bytes().len());
        }
    }
}

/// The members of an object in order, with what their values are.
pub(super) fn members(text: &str) -> Result<Vec<(String, Cell)>, String> {
    let members: Members<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
    members.0.into_iter().map(|(key, value)| Ok((key.into_owned(), cell(value.get())?))).collect()
}

fn cell(text: &str) -> Result<Cell, String> {
    Ok(match text.as_bytes().first() {
        Some(b'n') => Cell::Null,
        Some(b't') => Cell::Boolean(true),
        Some(b'f') => Cell::Boolean(false),
        Some(b'"') => Cell::Text(serde_json::from_str(text).map_err(|error| error.to_string())?),
        Some(b'{' | b'[') => Cell::Nested(text.to_owned()),
        _ => Cell::Number(text.to_owned()),
    })
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::with_capacity(map.size_hint().unwrap_or(8));
                while let Some((key, value)) = map.next_entry::<Key<'de>, &RawValue>()? {
                    members.push((key.0, value));
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(InOrder).map(Members)
    }
}

/// A key, borrowed from the text unless it has escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);
