//! What form a stream has, told by its first bytes: never by a name.

use super::records::Prefix;
use crate::ingest::protobuf;

/// How many bytes are looked at.
pub(super) const HEAD_BYTES: usize = 64 * 1024;
/// How many messages with a length in front are looked at: the first may be damaged.
const MESSAGES_LOOKED_AT: usize = 3;
/// How many bytes tell a file that is no text.
const BINARY_BYTES: usize = 4096;

pub(super) const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The form of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// UTF-8 text, or nothing that is known: line by line.
    Lines,
    /// UTF-16 text with a byte order mark of so many bytes.
    Utf16 { big_endian: bool, bom: usize },
    /// Messages, or one message.
    Records(Prefix),
    /// A file of another kind, by its name.
    Foreign(&'static str),
}

/// Whether the very first bytes are enough to know JSON lines.
pub(super) fn is_plainly_json(head: &[u8]) -> bool {
    head.starts_with(b"{\"") || head.starts_with(b"[{") || head.starts_with(b"{ ")
}

/// The form that a stream with this beginning has, of [`HEAD_BYTES`] unless the stream is shorter.
pub(super) fn form_of(head: &[u8]) -> Form {
    if is_plainly_json(head) {
        return Form::Lines;
    }
    if let Some(name) = foreign_by_magic(head) {
        return Form::Foreign(name);
    }
    match head {
        [0xff, 0xfe, ..] => return Form::Utf16 { big_endian: false, bom: 2 },
        [0xfe, 0xff, ..] => return Form::Utf16 { big_endian: true, bom: 2 },
        _ => {}
    }
    // Taken for a length in front, the tag of a request would mean 160 MiB and more.
    if protobuf::begins_request(head, head.len() as u64) || protobuf::begins_request(head, u64::MAX) {
        return Form::Records(Prefix::None);
    }
    if begins_records(head, Prefix::BigEndian) {
        return Form::Records(Prefix::BigEndian);
    }
    if begins_records(head, Prefix::Varint) {
        return Form::Records(Prefix::Varint);
    }
    match head {
        [b'{' | b'[', 0, letter, 0, ..] if *letter != 0 => return Form::Utf16 { big_endian: false, bom: 0 },
        [0, b'{' | b'[', 0, letter, ..] if *letter != 0 => return Form::Utf16 { big_endian: true, bom: 0 },
        _ => {}
    }
    if is_binary(head) { Form::Foreign("binary") } else { Form::Lines }
}

/// Whether one of the first messages is one of OTLP.
fn begins_records(head: &[u8], prefix: Prefix) -> bool {
    let mut rest = head;
    for _ in 0..MESSAGES_LOOKED_AT {
        let Some((length, taken)) = prefix.read(rest).ok().flatten() else { return false };
        let Some(record) = rest.get(taken..) else { return false };
        if begins_record(record, length, prefix) {
            return true;
        }
        let Some(next) = usize::try_from(length).ok().and_then(|length| record.get(length..)) else { return false };
        rest = next;
    }
    false
}

/// Whether a record of `length` bytes may begin so.
pub(super) fn begins_record(head: &[u8], length: u64, prefix: Prefix) -> bool {
    // The file exporter compresses each message by itself.
    let compressed = prefix == Prefix::BigEndian && head.starts_with(ZSTD_MAGIC);
    // Text does not hold the zero byte that a length of less than 16 MiB begins with.
    let json = prefix == Prefix::BigEndian && length < 1 << 24 && is_plainly_json(head);
    compressed || json || protobuf::begins_request(head, length)
}

/// Magic numbers at the start of a file.
const MAGICS: &[(&[u8], &str)] = &[
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP (xlsx, docx)"),
    (b"PAR1", "Parquet"),
    (b"SQLite format 3\0", "SQLite"),
    (b"ARROW1", "Arrow"),
    (b"Obj\x01", "Avro"),
    (b"ORC", "ORC"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\xfd7zXZ\0", "xz"),
    (b"BZh", "bzip2"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"\x7fELF", "ELF"),
    (b"\x89PNG\r\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE (xls, doc, hwp)"),
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
];

fn foreign_by_magic(head: &[u8]) -> Option<&'static str> {
    if let Some((_, name)) = MAGICS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(name);
    }
    // A checksum, then the name, then a version that takes one byte of eight.
    if head.get(8..12) == Some(b"DUCK".as_slice()) && head.get(13..20) == Some([0; 7].as_slice()) {
        return Some("DuckDB");
    }
    if head.get(257..262) == Some(b"ustar".as_slice()) {
        return Some("tar");
    }
    let start = head.trim_ascii_start();
    let begins = |tag: &str| start.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()));
    if begins("<!doctype html") || begins("<html") {
        return Some("HTML");
    }
    begins("<?xml").then_some("XML")
}

/// More than a tenth control characters, a zero among them, and no object that might be a good line.
fn is_binary(head: &[u8]) -> bool {
    let head = head.get(..BINARY_BYTES).unwrap_or(head);
    let controls = head.iter().filter(|byte| matches!(byte, 0..=8 | 0x0e..=0x1f | 0x7f)).count();
    controls * 10 > head.len() && head.contains(&0) && memchr::memmem::find(head, b"{\"").is_none()
}
