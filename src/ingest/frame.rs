//! Texts out of a byte stream: lines, JSON values that span several lines, and messages.
//!
//! Owns the cutting of a stream into texts with their place in the file, and what form the stream has (lines of UTF-8
//! or UTF-16, messages with a length in front, one protobuf message, or a file of another kind altogether), which is
//! told by content. It does not parse JSON into values. Start with [`TextReader::next`].

mod form;
mod lines;
mod records;
mod scanner;
mod utf16;
mod window;

use std::io::Read;

use form::{Form, HEAD_BYTES, form_of, is_plainly_json};
pub use lines::LineReader;
use records::RecordReader;

use crate::model::IssueCode;
use crate::model::issue::RAW_CHARS;

/// The longest line, document over several lines, or message that is read: 256 MiB (spec, "Never stop, never lose").
pub const MAX_LINE_BYTES: usize = 256 * 1024 * 1024;

/// A text to parse, and where it stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// The text, without the newline (or CR LF) at its end; of a protobuf message, the JSON that stands for it.
    pub bytes: &'a [u8],
    /// The physical line on which it starts, from 1; in a file of messages, the number of the message.
    pub number: u64,
    /// Offset of its first byte in the uncompressed stream.
    pub byte_offset: u64,
    /// How many physical lines end in it; at the end of the stream, the last one too. The sum over all texts, blank
    /// lines and lines over the limit is the number of lines of the file.
    pub lines: u64,
    /// Whether it had a newline at its end; false only at the end of the stream, and for a text that ends in the
    /// middle of a line because the next one begins there.
    pub complete: bool,
}

/// What [`TextReader::next`] met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Framed<'a> {
    /// A line that is not blank.
    Line(Line<'a>),
    /// A line over the limit. It was passed over up to its newline.
    TooLong {
        /// The physical line, from 1.
        number: u64,
        /// Offset of its first byte in the uncompressed stream.
        byte_offset: u64,
        /// Its beginning, enough for [`raw_excerpt`].
        raw_prefix: Vec<u8>,
    },
    /// The stream cannot be read on. All that came before was delivered; nothing comes after.
    Damaged {
        /// The physical line on which the stream breaks off, from 1.
        number: u64,
        /// Offset in the uncompressed stream up to which it could be read.
        byte_offset: u64,
        /// What the decoder or the system says.
        message: String,
    },
    /// Something that could not be read, or not as it stands.
    Problem {
        /// What kind.
        code: IssueCode,
        /// The line or record, from 1.
        number: u64,
        /// Offset of its first byte in the uncompressed stream.
        byte_offset: u64,
        /// What the code leaves open.
        detail: String,
        /// How many lines or records were left out because of it.
        lines: u64,
    },
}

/// Reads texts of a stream of any form, one after the other.
pub struct TextReader<R> {
    /// Reads lines; what it holds of the stream serves the other forms too.
    lines: LineReader<R>,
    /// Once the first bytes were looked at.
    form: Option<Form>,
    /// Reads messages, when the stream is of such.
    records: Option<Box<RecordReader>>,
    limit: usize,
}

impl<R: Read> TextReader<R> {
    /// Reads texts of up to [`MAX_LINE_BYTES`].
    #[must_use]
    pub fn new(input: R) -> Self {
        Self::with_limit(input, MAX_LINE_BYTES)
    }

    /// Reads texts of up to `limit` bytes, as lines and as messages.
    #[must_use]
    pub fn with_limit(input: R, limit: usize) -> Self {
        Self { lines: LineReader::with_limit(input, limit), form: None, records: None, limit }
    }

    /// Says that the first byte of the input is not the first of the file: it stands on line `number` (from 1) at
    /// `byte_offset`. For a byte order mark that was removed, and for a file that is read from the middle on.
    /// To be called before anything is read.
    #[must_use]
    pub fn starting_at(self, number: u64, byte_offset: u64) -> Self {
        Self { lines: self.lines.starting_at(number, byte_offset), ..self }
    }

    /// The input, for its counters.
    #[must_use]
    pub const fn get_ref(&self) -> &R {
        self.lines.get_ref()
    }

    /// How many lines with nothing but white space, or messages with nothing in them, were passed over.
    #[must_use]
    pub fn blank_lines(&self) -> u64 {
        self.records.as_ref().map_or(self.lines.blank_lines(), |records| records.empty_records())
    }

    /// Line number (from 1) and offset in the uncompressed stream at which the next text starts; none where the stream
    /// cannot be read on from there: before the first text, in UTF-16, and in a file of another kind.
    #[must_use]
    pub fn position(&self) -> Option<(u64, u64)> {
        match self.form? {
            Form::Lines => Some(self.lines.position()),
            Form::Records(_) => self.records.as_ref().map(|records| records.position()),
            Form::Utf16 { .. } | Form::Foreign(_) => None,
        }
    }

    /// The text that `next` or `extend` returned last; empty before the first.
    #[must_use]
    pub fn current(&self) -> Line<'_> {
        self.records.as_ref().map_or_else(|| self.lines.current(), |records| records.current())
    }

    /// Whether no value can go on behind the line returned last: see [`LineReader::is_surely_whole`].
    #[must_use]
    pub fn is_surely_whole(&self) -> bool {
        self.records.is_none() && self.lines.is_surely_whole()
    }

    /// Tries to complete the JSON value that is open at the end of the line returned last: see [`LineReader::extend`].
    pub fn extend(&mut self) -> Option<Line<'_>> {
        if self.records.is_some() { None } else { self.lines.extend() }
    }

    /// The next text; none at the end.
    #[allow(clippy::should_implement_trait, reason = "an iterator could not lend the text out of its buffer")]
    pub fn next(&mut self) -> Option<Framed<'_>> {
        match self.form {
            None => {
                if let Some(problem) = self.begin() {
                    return Some(problem);
                }
            }
            Some(_) => {
                if let Some(problem) = self.replaced() {
                    return Some(problem);
                }
            }
        }
        match &mut self.records {
            Some(records) => records.next(self.lines.window()),
            None => self.lines.next(),
        }
    }

    /// Says that something of the text returned last was replaced.
    fn replaced(&mut self) -> Option<Framed<'static>> {
        let replaced = match &mut self.records {
            Some(records) => records.take_replaced(),
            None => self.lines.take_replaced(),
        };
        let Line { number, byte_offset, .. } = self.current();
        let (code, detail) = (IssueCode::TextReplaced, replaced.to_string());
        (replaced > 0).then_some(Framed::Problem { code, number, byte_offset, detail, lines: 0 })
    }

    /// Looks at the first bytes; a file of another kind is read to its end and told.
    fn begin(&mut self) -> Option<Framed<'static>> {
        let (number, start) = self.lines.position();
        let window = self.lines.window();
        // The bytes that most streams begin with are enough: a slow stream need not be waited for.
        let form = if is_plainly_json(window.hold(start, start.saturating_add(2))) {
            Form::Lines
        } else {
            form_of(window.hold(start, start.saturating_add(HEAD_BYTES as u64)))
        };
        self.form = Some(form);
        match form {
            Form::Lines => None,
            Form::Utf16 { big_endian, bom } => {
                window.decode_utf16(big_endian, bom);
                None
            }
            Form::Records(prefix) => {
                self.records = Some(Box::new(RecordReader::new(number, start, self.limit, prefix)));
                None
            }
            Form::Foreign(name) => {
                self.lines.pass_over_rest();
                let (code, detail) = (IssueCode::UnknownFormat, name.to_owned());
                Some(Framed::Problem { code, number, byte_offset: start, detail, lines: 1 })
            }
        }
    }
}

/// What a file is that holds no text to read as it stands, by its first bytes; none when it may be such text.
pub(crate) fn foreign_form(head: &[u8]) -> Option<&'static str> {
    match form_of(head.get(..HEAD_BYTES).unwrap_or(head)) {
        Form::Foreign(name) => Some(name),
        Form::Utf16 { .. } => Some("UTF-16"),
        Form::Lines | Form::Records(_) => None,
    }
}

/// The first [`RAW_CHARS`] characters, fit to be shown: bytes that are not UTF-8 and control characters other than
/// tab are replaced by U+FFFD.
#[must_use]
pub fn raw_excerpt(bytes: &[u8]) -> String {
    let enough = bytes.len().min(RAW_CHARS * char::MAX.len_utf8());
    String::from_utf8_lossy(&bytes[..enough])
        .chars()
        .take(RAW_CHARS)
        .map(|letter| if letter.is_control() && letter != '\t' { char::REPLACEMENT_CHARACTER } else { letter })
        .collect()
}
