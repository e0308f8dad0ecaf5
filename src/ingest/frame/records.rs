//! Cuts a stream into messages: protobuf with or without a length in front, each perhaps compressed by itself.
//!
//! Owns what the Collector's file exporter writes besides lines (`format: proto`, `compression: zstd`): a length of
//! four bytes, big-endian, then a message; and what `writeDelimitedTo` of protobuf writes: a varint, then a message.
//! What is in a message becomes OTLP JSON text here; it is read elsewhere. A message that cannot be read is told and
//! passed over.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::ops::Range;

use memchr::memmem;

use super::form::{ZSTD_MAGIC, begins_record};
use super::window::Window;
use super::{Framed, Line};
use crate::ingest::protobuf::{self, Member};
use crate::model::IssueCode;

/// The most bytes that a length takes.
const PREFIX_BYTES: u64 = 10;
/// How many unreadable messages in a row mean that lengths are no longer where they are looked for.
const DAMAGED_IN_A_ROW: u32 = 3;

/// What stands in front of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Its length in four bytes, big-endian.
    BigEndian,
    /// Its length as a varint.
    Varint,
    /// Nothing: the stream is one message, read member by member.
    None,
}

impl Prefix {
    /// The length at the start of `bytes` and how many bytes it takes; none when they are too few, an error when they
    /// are no length.
    pub(super) fn read(self, bytes: &[u8]) -> Result<Option<(u64, usize)>, ()> {
        match self {
            Self::BigEndian => Ok(bytes.first_chunk::<4>().map(|length| (u64::from(u32::from_be_bytes(*length)), 4))),
            Self::Varint => protobuf::varint(bytes),
            Self::None => match protobuf::member(bytes) {
                Member::Group(contents) => Ok(Some((contents.end - contents.start, contents.start as usize))),
                Member::Other(end) => Ok(Some((0, end as usize))),
                Member::Short => Ok(None),
                Member::Wrong => Err(()),
            },
        }
    }
}

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Its number, from 1.
    number: u64,
    /// Offset of its first byte, the length included.
    start: u64,
    /// Offsets of its contents.
    contents: (u64, u64),
}

/// Reads messages one after the other, each as one text or several.
///
/// Memory: one message, what it decompresses to, and one member of its `resourceSpans`, decoded and as JSON text. A
/// message of 200 MB takes 0.3 GB when its spans are spread over members, and 0.7 GB when they all are in one.
pub(super) struct RecordReader {
    prefix: Prefix,
    limit: usize,
    /// Offset of the next record, and its number.
    cursor: u64,
    number: u64,
    at: Place,
    /// What the record at hand decompressed to.
    decompressed: Vec<u8>,
    is_compressed: bool,
    /// Members of `resourceSpans` of the record at hand that are to come, as ranges of its contents.
    members: VecDeque<Range<usize>>,
    text: String,
    /// How many physical records end in the text at hand.
    lines: u64,
    /// How much of the text at hand was replaced.
    replaced: u64,
    empty: u64,
    damaged_in_a_row: u32,
    ended: bool,
}

impl RecordReader {
    /// Reads records from offset `cursor` on, the first of which has this number.
    pub(super) const fn new(number: u64, cursor: u64, limit: usize, prefix: Prefix) -> Self {
        Self {
            prefix,
            limit,
            cursor,
            number,
            at: Place { number, start: cursor, contents: (cursor, cursor) },
            decompressed: Vec::new(),
            is_compressed: false,
            members: VecDeque::new(),
            text: String::new(),
            lines: 0,
            replaced: 0,
            empty: 0,
            damaged_in_a_row: 0,
            ended: false,
        }
    }

    /// How many records were empty.
    pub(super) const fn empty_records(&self) -> u64 {
        self.empty
    }

    /// Number of the next record and its offset.
    pub(super) const fn position(&self) -> (u64, u64) {
        (self.number, self.cursor)
    }

    /// The text returned last.
    pub(super) fn current(&self) -> Line<'_> {
        let Place { number, start, .. } = self.at;
        Line { bytes: self.text.as_bytes(), number, byte_offset: start, lines: self.lines, complete: true }
    }

    /// How many bytes were replaced in the text returned last, since the last call.
    pub(super) const fn take_replaced(&mut self) -> u64 {
        std::mem::replace(&mut self.replaced, 0)
    }

    /// The next text, or what is wrong with the next record; none at the end.
    pub(super) fn next<R: Read>(&mut self, window: &mut Window<R>) -> Option<Framed<'_>> {
        loop {
            if let Some(member) = self.members.pop_front() {
                self.lines = u64::from(self.members.is_empty());
                return Some(match self.read_member(window, member) {
                    Ok(()) => Framed::Line(self.current()),
                    Err(detail) => self.problem(IssueCode::RecordDamaged, detail, self.lines),
                });
            }
            if self.ended {
                let failure = window.take_failure()?;
                return Some(Framed::Damaged {
                    number: self.number,
                    byte_offset: self.cursor,
                    message: failure.to_string(),
                });
            }
            match self.next_record(window) {
                Ok(true) => return Some(Framed::Line(self.current())),
                Ok(false) => {}
                Err((code, detail)) => return Some(self.problem(code, detail, 1)),
            }
        }
    }

    /// Reads the next record: true when `text` holds it, false when its members wait or there is none.
    fn next_record<R: Read>(&mut self, window: &mut Window<R>) -> Result<bool, (IssueCode, String)> {
        let start = self.cursor;
        let head = window.hold(start, start + PREFIX_BYTES);
        let have = head.len() as u64;
        if have == 0 {
            self.ended = true;
            return Ok(false);
        }
        let prefix = self.prefix.read(head);
        self.at = Place { number: self.number, start, contents: (start, start) };
        self.number += 1;
        let (length, taken) = match prefix {
            Ok(Some(read)) => read,
            Ok(None) => {
                self.end(window);
                return Err((IssueCode::RecordTruncated, format!("{have}")));
            }
            Err(()) => {
                self.end(window);
                return Err((IssueCode::RecordDamaged, "no length".to_owned()));
            }
        };
        let contents = start.saturating_add(taken as u64);
        let end = contents.saturating_add(length);
        self.at.contents = (contents, end);
        self.cursor = end;
        if length > self.limit as u64 {
            return Err(self.pass_over(window, end));
        }
        let held = window.hold(start, end);
        let have = held.len() as u64;
        if have < end - start {
            // A stop in the middle of a record, after which the writer began anew, looks like a longer record.
            if !self.find_next_start(window) {
                self.end(window);
            }
            return Err((IssueCode::RecordTruncated, format!("{have}/{}", end - start)));
        }
        if length == 0 {
            self.empty += 1;
            return Ok(false);
        }
        match self.open_record(window) {
            Ok(read) => {
                self.damaged_in_a_row = 0;
                Ok(read)
            }
            Err(detail) => {
                self.damaged_in_a_row += 1;
                if !self.find_next_start(window) && self.damaged_in_a_row >= DAMAGED_IN_A_ROW {
                    self.end(window);
                    return Err((IssueCode::RecordDamaged, format!("{detail}; no further record is found")));
                }
                Err((IssueCode::RecordDamaged, detail))
            }
        }
    }

    /// No record comes any more; the rest is read for its hash.
    fn end<R: Read>(&mut self, window: &mut Window<R>) {
        window.drain();
        self.ended = true;
    }

    /// Reads on to behind a record that is too long to be held.
    fn pass_over<R: Read>(&mut self, window: &mut Window<R>, end: u64) -> (IssueCode, String) {
        let start = self.at.start;
        while window.read_end() < end && window.fill(window.read_end()) {}
        let read_end = window.read_end();
        if read_end < end {
            self.end(window);
            return (IssueCode::RecordTruncated, format!("{}/{}", read_end - start, end - start));
        }
        (IssueCode::LineTooLong, self.limit.to_string())
    }

    /// Looks inside a record that could not be read for the start of another, as there is one where a writer stopped
    /// in the middle of a record and began anew, or where a length is wrong. The next record is then read from there.
    fn find_next_start<R: Read>(&mut self, window: &Window<R>) -> bool {
        if self.prefix != Prefix::BigEndian {
            return false;
        }
        let from = self.at.start + 1;
        let held = window.slice(from, window.read_end());
        let limit = self.limit as u64;
        let is_start = |at: &usize| {
            let Some(bytes) = held.get(*at..) else { return false };
            let Ok(Some((length, taken))) = Prefix::BigEndian.read(bytes) else { return false };
            let record = bytes.get(taken..).unwrap_or_default();
            // As a record all of it must be there, or it is one more cut one.
            length > 0 && length <= limit && begins_record(record, length, Prefix::BigEndian)
        };
        let compressed = memmem::find_iter(held, ZSTD_MAGIC).filter_map(|at| at.checked_sub(4)).find(&is_start);
        // Lengths of less than 16 MiB begin with a zero byte, and a request with its tag.
        let plain = || {
            let starts = memchr::memchr_iter(0, held);
            starts.filter(|at| matches!(held.get(at + 4), Some(0x0a | b'{' | b'['))).find(&is_start)
        };
        match compressed.or_else(plain) {
            Some(at) => {
                self.cursor = from + at as u64;
                self.damaged_in_a_row = 0;
                true
            }
            None => false,
        }
    }

    /// Looks into the record that is held; true when it is JSON text, which `text` then holds.
    fn open_record<R: Read>(&mut self, window: &Window<R>) -> Result<bool, String> {
        let (start, end) = self.at.contents;
        if self.prefix == Prefix::None {
            self.is_compressed = false;
            self.members.push_back(0..(end - start) as usize);
            return Ok(false);
        }
        let held = window.slice(start, end);
        self.is_compressed = held.starts_with(ZSTD_MAGIC);
        if self.is_compressed {
            self.decompressed.clear();
            decompress(held, self.limit, &mut self.decompressed)?;
        }
        let bytes = if self.is_compressed { &self.decompressed } else { held };
        if bytes.trim_ascii_start().starts_with(b"{") || bytes.trim_ascii_start().starts_with(b"[") {
            self.text.clear();
            let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
            self.text.push_str(text.trim_ascii());
            self.lines = 1;
            return Ok(true);
        }
        self.members = protobuf::groups(bytes).map_err(|error| error.to_string())?.into();
        match (self.members.is_empty(), bytes.is_empty()) {
            (true, true) => self.empty += 1,
            (true, false) => return Err("no OTLP message".to_owned()),
            (false, _) => {}
        }
        Ok(false)
    }

    /// Makes the JSON text of a member of the record at hand.
    fn read_member<R: Read>(&mut self, window: &Window<R>, member: Range<usize>) -> Result<(), String> {
        let (start, end) = self.at.contents;
        let bytes = if self.is_compressed { &self.decompressed } else { window.slice(start, end) };
        let read = protobuf::group_to_json(bytes.get(member).unwrap_or_default());
        let read = read.map_err(|error| error.to_string())?;
        self.text = read.json;
        self.replaced += read.replaced;
        Ok(())
    }

    fn problem(&self, code: IssueCode, detail: String, lines: u64) -> Framed<'static> {
        let Place { number, start, .. } = self.at;
        Framed::Problem { code, number, byte_offset: start, detail, lines }
    }
}

/// Decompresses a zstd frame of which no more than `limit` bytes may come.
fn decompress(frame: &[u8], limit: usize, out: &mut Vec<u8>) -> Result<(), String> {
    let read = |out: &mut Vec<u8>| -> io::Result<usize> {
        zstd::Decoder::with_buffer(frame)?.take(limit as u64 + 1).read_to_end(out)
    };
    match read(out) {
        Ok(length) if length > limit => Err(format!("more than {limit} bytes")),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
