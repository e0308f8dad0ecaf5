//! Tables of rows in text: JSON lines, JSON arrays, CSV; UTF-8 or CP949.
//!
//! Owns the forms (told by content), the cutting of a stream into rows with their place, the encoding of a file, and
//! the cells of a row by wanted column. What cannot be read is an issue with file and row, and the next row is read.
//! It does not know what a column means. Memory: a row and a block, whatever the file. Start with
//! [`TableReader::next`].
//!
//! CSV is cut here and not by the crate `csv`, which cannot tell an empty cell from `""`, and takes the rest of a file
//! into one cell after a quote that is never closed.

mod buffer;
mod csv;
mod encoding;
mod json;

use std::io::Read;

use self::buffer::Buffer;
use self::csv::CsvRow;
use self::encoding::Encoding;
use super::frame::{foreign_form, raw_excerpt};
use crate::model::{Issue, IssueCode};

/// The longest row that is read: 16 MiB.
pub const MAX_ROW_BYTES: usize = 16 * 1024 * 1024;

/// A cell of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// `null` of JSON, or a cell of CSV with nothing in it.
    Null,
    /// Text of JSON.
    Text(String),
    /// A cell of CSV with quotes around it, which may be empty. Programs put them around numbers too.
    Quoted(String),
    /// A cell of CSV without quotes: what it is depends on its column. Never empty.
    Bare(String),
    /// A number of JSON as written.
    Number(String),
    /// `true` or `false` of JSON.
    Boolean(bool),
    /// An array or an object of JSON, as written.
    Nested(String),
}

impl Cell {
    /// The cell as it was written, for an issue.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Boolean(value) => value.to_string(),
            Self::Text(text) | Self::Quoted(text) | Self::Bare(text) | Self::Number(text) | Self::Nested(text) => {
                raw_excerpt(text.as_bytes())
            }
        }
    }
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// From 1; a header and blank lines are not counted, rows that are left out are.
    pub number: u64,
    /// Line on which it begins, from 1.
    pub line: u64,
    /// Offset of its first byte in the uncompressed stream.
    pub byte_offset: u64,
    /// The cells in the order of the wanted columns.
    pub cells: Vec<Cell>,
}

/// What a piece of the stream is, and how much of it is taken.
enum Piece {
    /// A row of so many bytes.
    Row(usize),
    /// Bytes that are no row.
    Broken { length: usize, code: IssueCode, detail: String },
    /// The line at hand is no row; it need not be held.
    BrokenLine { code: IssueCode, detail: String },
    /// Nothing more.
    End,
}

/// What form a stream has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Csv,
    /// Something else: nothing of it is read.
    Foreign,
}

/// Reads rows one after the other.
pub struct TableReader<R> {
    buffer: Buffer<R>,
    columns: &'static [&'static str],
    form: Option<Form>,
    encoding: Encoding,
    rows: u64,
    json: json::Scanner,
    csv: CsvRow,
    /// CSV: where the wanted columns stand; none before the header was read, or when it cannot be used.
    places: Option<Vec<usize>>,
    /// CSV: cells of the header.
    header: Vec<String>,
    /// JSON: unknown columns that were told.
    told: Vec<String>,
    last: Vec<u8>,
    /// Cells of rows that were cut and not returned.
    refused: Vec<Vec<Cell>>,
}

impl<R: Read> TableReader<R> {
    /// Reads rows with these columns. `start` is the offset of the first byte: that of a byte order mark removed.
    #[must_use]
    pub fn new(input: R, start: u64, columns: &'static [&'static str]) -> Self {
        Self {
            buffer: Buffer::new(input, start),
            columns,
            form: None,
            encoding: Encoding::default(),
            rows: 0,
            json: json::Scanner::default(),
            csv: CsvRow::default(),
            places: None,
            header: Vec::new(),
            told: Vec::new(),
            last: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// The rows that the last [`TableReader::next`] left out although their cells could be told apart: the cells of the
    /// wanted columns, as far as they are there.
    #[must_use]
    pub fn refused(&self) -> &[Vec<Cell>] {
        &self.refused
    }

    /// How many rows were met, those left out included.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// The beginning of the row that was returned last, for an issue.
    #[must_use]
    pub fn raw(&self) -> String {
        raw_excerpt(&self.last)
    }

    /// The next row that has every column; what is met before it that cannot be read is added to `issues`, at most a
    /// block of it at a time: then it returns none while [`TableReader::ended`] says no.
    pub fn next(&mut self, issues: &mut Vec<Issue>) -> Option<Row> {
        self.refused.clear();
        let form = self.form(issues);
        while issues.len() < ISSUES_AT_ONCE {
            let piece = match form {
                Form::Json => self.json.next(&mut self.buffer),
                Form::Csv => self.csv.next(&mut self.buffer),
                Form::Foreign => Piece::End,
            };
            let (line, byte_offset) = (self.buffer.line(), self.buffer.offset());
            match piece {
                Piece::End => {
                    self.end(issues);
                    return None;
                }
                Piece::Broken { length, code, detail } => {
                    self.broken(length, code, &detail, issues);
                    self.buffer.take(length);
                }
                Piece::BrokenLine { code, detail } => {
                    self.broken(self.buffer.bytes().len(), code, &detail, issues);
                    self.buffer.pass_line();
                }
                Piece::Row(length) => {
                    let cells = match form {
                        Form::Json => self.json_cells(length, line, byte_offset, issues),
                        _ => self.csv_cells(length, line, byte_offset, issues),
                    };
                    self.last.clear();
                    let kept = length.min(RAW_BYTES);
                    self.last.extend_from_slice(&self.buffer.head(length)[..kept]);
                    self.buffer.take(length);
                    if let Some(cells) = cells {
                        return Some(Row { number: self.rows, line, byte_offset, cells });
                    }
                }
            }
        }
        None
    }

    /// Whether there is nothing more to read.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.form == Some(Form::Foreign) || self.buffer.is_at_end()
    }

    /// The form, told by the first block.
    fn form(&mut self, issues: &mut Vec<Issue>) -> Form {
        if let Some(form) = self.form {
            return form;
        }
        self.buffer.fill_block();
        let head = self.buffer.bytes();
        let form = if let Some(name) = foreign_form(head) {
            let raw = raw_excerpt(head);
            issues.push(issue(IssueCode::UnknownFormat, 0, 0, name.to_owned(), raw));
            Form::Foreign
        } else {
            self.encoding = Encoding::of(head);
            if is_json(head, self.columns) { Form::Json } else { Form::Csv }
        };
        self.form = Some(form);
        form
    }

    /// Counts and tells a row that cannot be cut.
    fn broken(&mut self, length: usize, code: IssueCode, detail: &str, issues: &mut Vec<Issue>) {
        self.rows += 1;
        let head = self.buffer.head(length);
        let line = memchr::memchr(b'\n', head).map_or(head, |end| &head[..end]);
        // The codes that traces have as well say what they say of a line; those of tables begin with the row.
        let detail = match code {
            IssueCode::TableRowInvalid => format!("{}: {detail}", self.rows),
            _ => detail.to_owned(),
        };
        issues.push(issue(code, self.buffer.line(), self.buffer.offset(), detail, raw_excerpt(line)));
    }

    /// What is told once nothing more comes.
    fn end(&mut self, issues: &mut Vec<Issue>) {
        let (line, offset) = (self.buffer.line(), self.buffer.offset());
        if let Some(failure) = self.buffer.take_failure() {
            issues.push(issue(IssueCode::StreamDamaged, line, offset, failure.to_string(), String::new()));
        } else if self.form == Some(Form::Json) && std::mem::take(&mut self.json.open_arrays) > 0 {
            // The rows before the end were read.
            issues.push(issue(IssueCode::TruncatedJson, line, offset, String::new(), String::new()));
        }
    }

    fn json_cells(&mut self, length: usize, line: u64, offset: u64, issues: &mut Vec<Issue>) -> Option<Vec<Cell>> {
        self.rows += 1;
        let number = self.rows;
        let bytes = self.buffer.head(length);
        let report = |code: IssueCode, what: &str| {
            let detail = if what.is_empty() { number.to_string() } else { format!("{number}: {what}") };
            issue(code, line, offset, detail, raw_excerpt(bytes))
        };
        let Some(text) = self.encoding.decode(bytes) else {
            issues.push(report(IssueCode::EncodingInvalid, ""));
            return None;
        };
        let members = match json::members(&text) {
            Ok(members) => members,
            Err(message) => {
                issues.push(issue(IssueCode::NotJson, line, offset, message, raw_excerpt(bytes)));
                return None;
            }
        };
        let mut cells: Vec<Option<Cell>> = vec![None; self.columns.len()];
        for (key, value) in members {
            match self.columns.iter().position(|column| *column == key) {
                Some(place) if cells[place].is_some() => issues.push(report(IssueCode::ColumnRepeated, &key)),
                Some(place) => cells[place] = Some(value),
                None if self.told.contains(&key) || self.told.len() >= COLUMNS_TOLD => {}
                None => {
                    let shown = raw_excerpt(key.as_bytes());
                    issues.push(issue(IssueCode::ColumnUnknown, line, offset, shown, raw_excerpt(bytes)));
                    self.told.push(key);
                }
            }
        }
        if let Some(missing) = cells.iter().position(Option::is_none) {
            issues.push(report(IssueCode::ColumnMissing, self.columns[missing]));
            self.refused.push(cells.into_iter().map(|cell| cell.unwrap_or(Cell::Null)).collect());
            return None;
        }
        Some(cells.into_iter().flatten().collect())
    }

    fn csv_cells(&mut self, length: usize, line: u64, offset: u64, issues: &mut Vec<Issue>) -> Option<Vec<Cell>> {
        let bytes = self.buffer.head(length);
        if self.csv.is_blank(bytes) {
            return None;
        }
        let is_header = self.header.is_empty();
        let number = if is_header { 0 } else { self.rows + 1 };
        let report = |code: IssueCode, what: &str| {
            let detail = if what.is_empty() { number.to_string() } else { format!("{number}: {what}") };
            issue(code, line, offset, detail, raw_excerpt(bytes))
        };
        let Some(cells) = self.csv.cells(bytes, &mut self.encoding) else {
            self.rows += u64::from(!is_header);
            issues.push(report(IssueCode::EncodingInvalid, ""));
            return None;
        };
        if is_header {
            self.header = cells.iter().map(csv::name).collect();
            if let Some(separator) = other_separator(self.columns, &self.header) {
                let detail = format!("{number}: separator {separator}");
                issues.push(issue(IssueCode::TableRowInvalid, line, offset, detail, raw_excerpt(bytes)));
                return None;
            }
            self.places = find_columns(self.columns, &self.header, |code, what| {
                // A column that is not read is told of without a row, as in JSON.
                let detail =
                    if code == IssueCode::ColumnUnknown { what.to_owned() } else { format!("{number}: {what}") };
                issues.push(issue(code, line, offset, detail, raw_excerpt(bytes)));
            });
            return None;
        }
        if cells.len() == self.header.len() && cells.iter().map(csv::name).eq(self.header.iter().cloned()) {
            // It is no row, so it has no number: the next row has the next one.
            issues.push(issue(IssueCode::HeaderRepeated, line, offset, String::new(), raw_excerpt(bytes)));
            return None;
        }
        self.rows += 1;
        let places = self.places.as_ref()?;
        let beyond = cells.iter().skip(self.header.len()).any(|cell| *cell != Cell::Null);
        if cells.len() < self.header.len() || beyond {
            let what = format!("{} / {}", cells.len(), self.header.len());
            issues.push(report(IssueCode::TableRowInvalid, &what));
            self.refused.push(places.iter().map(|place| cells.get(*place).cloned().unwrap_or(Cell::Null)).collect());
            return None;
        }
        let mut cells = cells;
        Some(places.iter().map(|place| std::mem::replace(&mut cells[*place], Cell::Null)).collect())
    }
}

/// Whether the rows are JSON. A broken first line does not decide it: a line behind it that begins as an object does,
/// unless the first is a header of CSV.
fn is_json(head: &[u8], columns: &[&str]) -> bool {
    let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let begins = |line: &[u8]| matches!(line.first(), Some(b'{' | b'['));
    let Some(first) = lines.next() else { return false };
    let is_column = |cell: &[u8]| {
        let name = cell.trim_ascii();
        let name = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")).unwrap_or(name);
        columns.iter().any(|column| column.as_bytes() == name.trim_ascii())
    };
    begins(first) || (!first.split(|byte| *byte == b',').any(is_column) && lines.any(begins))
}

/// How many issues are handed out at once: a file of nothing but wrong rows takes no more memory than another.
const ISSUES_AT_ONCE: usize = 1024;
/// Enough for an excerpt.
const RAW_BYTES: usize = 1024;
/// How many unknown columns are told.
const COLUMNS_TOLD: usize = 64;

/// Where the wanted columns stand; none when one is missing, which is told as the others are.
fn find_columns(columns: &[&str], header: &[String], mut report: impl FnMut(IssueCode, &str)) -> Option<Vec<usize>> {
    let mut places = Vec::with_capacity(columns.len());
    let mut complete = true;
    for column in columns {
        let mut found = header.iter().enumerate().filter(|(_, name)| name == column).map(|(place, _)| place);
        match found.next() {
            Some(place) => places.push(place),
            None => {
                report(IssueCode::ColumnMissing, column);
                complete = false;
            }
        }
        if found.next().is_some() {
            report(IssueCode::ColumnRepeated, column);
        }
    }
    let unknown = header.iter().filter(|name| !name.is_empty() && !columns.contains(&name.as_str()));
    for name in unknown.take(COLUMNS_TOLD) {
        report(IssueCode::ColumnUnknown, &raw_excerpt(name.as_bytes()));
    }
    complete.then_some(places)
}

/// What the cells of a header of one cell are apart by, when that is no comma: as it is told.
fn other_separator(columns: &[&str], header: &[String]) -> Option<&'static str> {
    let [header] = header else { return None };
    [(';', ";"), ('\t', "tab"), ('|', "|")].into_iter().find_map(|(separator, told)| {
        let mut cells = header.split(separator).map(|cell| cell.trim().trim_matches('"'));
        (header.contains(separator) && cells.any(|cell| columns.contains(&cell))).then_some(told)
    })
}

fn issue(code: IssueCode, line: u64, byte_offset: u64, detail: String, raw: String) -> Issue {
    Issue { code, line, byte_offset, trace_id: None, span_id: None, detail, raw }
}
