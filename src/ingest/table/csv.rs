//! Rows of CSV (RFC 4180): cut into cells, quotes taken off.

use std::io::Read;
use std::ops::Range;

use memchr::{memchr, memchr2};

use super::buffer::Buffer;
use super::encoding::Encoding;
use super::{Cell, MAX_ROW_BYTES, Piece};
use crate::model::IssueCode;

/// Where the cells of the row at hand stand.
#[derive(Debug, Default)]
pub(super) struct CsvRow {
    cells: Vec<CellRange>,
}

#[derive(Debug, Clone)]
struct CellRange {
    /// Without the quotes around it.
    bytes: Range<usize>,
    quoted: bool,
    /// Whether quotes stand doubled in it.
    doubled: bool,
}

/// Why a row ends where it should not.
enum Cut {
    /// A quote that is not closed before the limit or the end of the file.
    Open,
    /// Something stands behind a closing quote.
    Behind,
    /// The row is over the limit.
    TooLong,
}

impl CsvRow {
    /// Finds the end of the next row. After a quote that cannot be understood, only the line on which the row begins is
    /// given up.
    pub(super) fn next<R: Read>(&mut self, buffer: &mut Buffer<R>) -> Piece {
        if buffer.bytes().is_empty() && !buffer.more() {
            return Piece::End;
        }
        match self.cut(buffer) {
            Ok(length) => Piece::Row(length),
            Err(Cut::Open) => Piece::BrokenLine { code: IssueCode::TableRowInvalid, detail: "\"…".to_owned() },
            Err(Cut::Behind) => Piece::BrokenLine { code: IssueCode::TableRowInvalid, detail: "\"…\"…".to_owned() },
            Err(Cut::TooLong) => Piece::BrokenLine { code: IssueCode::LineTooLong, detail: MAX_ROW_BYTES.to_string() },
        }
    }

    /// The length of the row with its newline.
    fn cut<R: Read>(&mut self, buffer: &mut Buffer<R>) -> Result<usize, Cut> {
        self.cells.clear();
        let mut at = 0;
        loop {
            if at > MAX_ROW_BYTES {
                return Err(Cut::TooLong);
            }
            let quoted = byte(buffer, at) == Some(b'"');
            let (end, doubled) = if quoted { quoted_end(buffer, at + 1)? } else { (bare_end(buffer, at)?, false) };
            let bytes = if quoted { at + 1..end - 1 } else { at..end };
            self.cells.push(CellRange { bytes, quoted, doubled });
            match byte(buffer, end) {
                Some(b',') => at = end + 1,
                None => {
                    self.trim_return(buffer.bytes());
                    return Ok(end);
                }
                // A carriage return before the newline is not a part of the cell.
                Some(b'\r') => return Ok(end + 2),
                Some(_) => {
                    self.trim_return(buffer.bytes());
                    return Ok(end + 1);
                }
            }
        }
    }

    /// Takes the carriage return off a last cell without quotes.
    fn trim_return(&mut self, bytes: &[u8]) {
        if let Some(last) = self.cells.last_mut()
            && !last.quoted
            && bytes[last.bytes.clone()].last() == Some(&b'\r')
        {
            last.bytes.end -= 1;
        }
    }

    /// Whether there is nothing in the row, as in the empty lines below a table that a spreadsheet writes.
    pub(super) fn is_blank(&self, bytes: &[u8]) -> bool {
        self.cells.iter().all(|cell| !cell.quoted && bytes[cell.bytes.clone()].trim_ascii().is_empty())
    }

    /// The cells of the row at hand; none when they are not in the encoding of the file.
    pub(super) fn cells(&self, bytes: &[u8], encoding: &mut Encoding) -> Option<Vec<Cell>> {
        let one = |cell: &CellRange| {
            let text = encoding.decode(&bytes[cell.bytes.clone()])?;
            Some(match (cell.quoted, cell.doubled) {
                (true, true) => Cell::Quoted(text.replace("\"\"", "\"")),
                (true, false) => Cell::Quoted(text.into_owned()),
                (false, _) if text.is_empty() => Cell::Null,
                (false, _) => Cell::Bare(text.into_owned()),
            })
        };
        self.cells.iter().map(one).collect()
    }
}

/// A cell as the name of a column.
pub(super) fn name(cell: &Cell) -> String {
    match cell {
        Cell::Quoted(text) | Cell::Bare(text) => text.trim().to_owned(),
        _ => String::new(),
    }
}

/// The byte there, read when it must be; none at the end.
fn byte<R: Read>(buffer: &mut Buffer<R>, at: usize) -> Option<u8> {
    while at >= buffer.bytes().len() {
        if !buffer.more() {
            return None;
        }
    }
    Some(buffer.bytes()[at])
}

/// Where a cell without quotes ends: at a comma, a newline or the end.
fn bare_end<R: Read>(buffer: &mut Buffer<R>, start: usize) -> Result<usize, Cut> {
    let mut at = start;
    loop {
        let bytes = buffer.bytes();
        if let Some(found) = memchr2(b',', b'\n', &bytes[at..]) {
            return Ok(at + found);
        }
        at = bytes.len();
        if at > MAX_ROW_BYTES {
            return Err(Cut::TooLong);
        }
        if !buffer.more() {
            return Ok(at);
        }
    }
}

/// Behind the closing quote of a cell whose text begins at `start`, and whether quotes stand doubled in it.
fn quoted_end<R: Read>(buffer: &mut Buffer<R>, start: usize) -> Result<(usize, bool), Cut> {
    let mut at = start;
    let mut doubled = false;
    loop {
        let bytes = buffer.bytes();
        match memchr(b'"', &bytes[at..]) {
            Some(found) => {
                let behind = at + found + 1;
                match byte(buffer, behind) {
                    Some(b'"') => {
                        doubled = true;
                        at = behind + 1;
                    }
                    None | Some(b',' | b'\n') => return Ok((behind, doubled)),
                    Some(b'\r') if byte(buffer, behind + 1) == Some(b'\n') => return Ok((behind, doubled)),
                    Some(_) => return Err(Cut::Behind),
                }
            }
            None => {
                at = bytes.len();
                if at > MAX_ROW_BYTES {
                    return Err(Cut::TooLong);
                }
                if !buffer.more() {
                    return Err(Cut::Open);
                }
            }
        }
    }
}
