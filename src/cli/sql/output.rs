//! Answers on their way out: to standard output or a file, in one of the formats, as the rows come.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use super::Format;
use crate::cli::terminal::{self, ResultWriter};
use crate::model::{Cell, Column, Row};
use crate::render::{Texts, rows as words};
use crate::store::ask::Taker;

/// Rows that a table shows unless all are asked for, and rows that are aligned with each other.
const PAGE: usize = 1_000;

/// How answers look.
#[derive(Debug, Clone)]
pub(super) struct Look {
    /// The format.
    pub(super) format: Format,
    /// Cells of a table's line; none leaves values whole.
    pub(super) width: Option<usize>,
    /// Whether a table shows more than its first rows.
    pub(super) all_rows: bool,
    /// What stands for NULL in CSV.
    pub(super) null: String,
    /// Whether CSV begins with a byte order mark.
    pub(super) bom: bool,
    /// Whether they are asked for at the prompt.
    pub(super) at_prompt: bool,
}

/// Writes answers one after the other.
pub(super) struct Printer<'t> {
    pub(super) texts: &'t Texts,
    pub(super) look: Look,
    writer: ResultWriter,
    /// Answers written so far.
    answers: usize,
    answer: Answer,
}

/// The answer at hand.
#[derive(Default)]
struct Answer {
    /// Whether its statement asks; others say what they changed.
    is_question: bool,
    /// Whether only the count of changed rows is of interest.
    is_count: bool,
    changed: Option<i128>,
    columns: Vec<Column>,
    names: Vec<String>,
    /// Rows of a table that are not written yet.
    waiting: Vec<Row>,
    written: usize,
    has_more: bool,
    is_cut: bool,
}

impl<'t> Printer<'t> {
    pub(super) fn new(texts: &'t Texts, look: Look, writer: ResultWriter) -> Self {
        Self { texts, look, writer, answers: 0, answer: Answer::default() }
    }

    /// The file that a Parquet answer is written to before it gets its name.
    pub(super) fn parquet_path(&self) -> Option<&Path> {
        self.writer.partial().filter(|_| self.look.format == Format::Parquet)
    }

    /// A statement follows.
    pub(super) fn begin(&mut self, is_question: bool) {
        self.answer = Answer { is_question, ..Answer::default() };
    }

    /// The statement is through.
    pub(super) fn end(&mut self) -> io::Result<()> {
        if self.answer.is_count {
            self.writer.flush()?;
            terminal::tell(&words::done(self.texts, self.answer.changed));
            return Ok(());
        }
        match self.look.format {
            Format::Table => {
                if self.answer.written == 0 || !self.answer.waiting.is_empty() {
                    let rows = std::mem::take(&mut self.answer.waiting);
                    self.page(&rows)?;
                }
                if !words::is_plan(&self.answer.columns) {
                    let count =
                        words::row_count(self.texts, self.answer.written, self.answer.has_more, self.look.at_prompt);
                    self.write(count.as_bytes())?;
                }
                if self.answer.is_cut {
                    self.writer.flush()?;
                    terminal::tell(&words::values_cut(self.texts, self.look.at_prompt));
                }
            }
            Format::Json => self.write(if self.answer.written > 0 { b"\n]\n" } else { b"]\n" })?,
            Format::Csv | Format::Jsonl | Format::Md | Format::Parquet => {}
        }
        self.answers += 1;
        // What is told of the next statement comes behind it.
        self.writer.flush()
    }

    /// Writes a list whose last column may take several lines.
    pub(super) fn list(&mut self, columns: &[Column], rows: &[Row]) -> io::Result<()> {
        let text = words::list(columns, rows, self.look.width);
        self.write(text.as_bytes())?;
        self.writer.flush()
    }

    /// Writes a line behind a list.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.write(text.as_bytes())?;
        self.writer.flush()
    }

    /// Everything is written.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.writer.finish()
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.writer.write_all(bytes)
    }

    /// Rows of a table that are aligned with each other.
    fn page(&mut self, rows: &[Row]) -> io::Result<()> {
        let first = self.answer.written + 1;
        let table = words::table(self.texts, &self.answer.columns, rows, self.look.width, first);
        self.answer.is_cut |= table.is_cut;
        self.answer.written += rows.len();
        self.write(table.text.as_bytes())
    }
}

impl Taker for Printer<'_> {
    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        self.answer.is_count = !self.answer.is_question && matches!(names.as_slice(), [] | ["Count"] | ["Success"]);
        if self.answer.is_count {
            return Ok(());
        }
        self.answer.columns = columns.to_vec();
        self.answer.names = words::unique_names(columns);
        let is_first = self.answers == 0;
        if !is_first && matches!(self.look.format, Format::Table | Format::Csv | Format::Md) {
            self.write(b"\n")?;
        }
        match self.look.format {
            Format::Csv => {
                if is_first && self.look.bom {
                    self.write("\u{feff}".as_bytes())?;
                }
                self.write(&words::csv_head(columns)?)
            }
            Format::Md => self.write(words::markdown_head(columns).as_bytes()),
            Format::Json => self.write(b"["),
            Format::Table | Format::Jsonl | Format::Parquet => Ok(()),
        }
    }

    fn rows(&mut self, rows: Vec<Row>) -> io::Result<ControlFlow<()>> {
        if self.answer.is_count {
            if let Some(Cell::Integer(count)) = rows.first().and_then(|row| row.first()) {
                self.answer.changed = Some(*count);
            }
            return Ok(ControlFlow::Continue(()));
        }
        match self.look.format {
            Format::Table => {
                self.answer.waiting.extend(rows);
                if !self.look.all_rows && self.answer.waiting.len() > PAGE {
                    self.answer.waiting.truncate(PAGE);
                    self.answer.has_more = true;
                    return Ok(ControlFlow::Break(()));
                }
                while self.answer.waiting.len() > PAGE {
                    let rest = self.answer.waiting.split_off(PAGE);
                    let page = std::mem::replace(&mut self.answer.waiting, rest);
                    self.page(&page)?;
                }
                return Ok(ControlFlow::Continue(()));
            }
            Format::Csv => {
                let lines = words::csv_rows(&rows, &self.look.null)?;
                self.write(&lines)?;
            }
            Format::Md => self.write(words::markdown_rows(&rows).as_bytes())?,
            Format::Jsonl | Format::Json => {
                let is_array = self.look.format == Format::Json;
                for (at, row) in rows.iter().enumerate() {
                    let object = words::object(&self.answer.names, row);
                    if is_array {
                        self.write(if self.answer.written + at > 0 { b",\n" } else { b"\n" })?;
                    }
                    self.write(object.as_bytes())?;
                    if !is_array {
                        self.write(b"\n")?;
                    }
                }
            }
            Format::Parquet => {}
        }
        self.answer.written += rows.len();
        Ok(ControlFlow::Continue(()))
    }
}
