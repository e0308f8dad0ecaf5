//! Cuts lines, and goes on over several lines for a JSON value that spans them.
//!
//! Does not parse JSON into values: the driver does, and comes back with [`LineReader::extend`] when a line ended
//! before its value did. Start with [`LineReader::next`].

use std::io::Read;

use memchr::{memchr, memchr_iter};

use super::scanner::{Invalid, Scanner};
use super::window::Window;
use super::{Framed, Line, MAX_LINE_BYTES};
use crate::model::issue::RAW_CHARS;

/// The text that was returned last: everything in offsets of the uncompressed stream.
#[derive(Debug, Clone, Copy, Default)]
struct Current {
    start: u64,
    end: u64,
    number: u64,
    lines: u64,
    complete: bool,
    /// Where the text after it starts.
    next: u64,
}

/// An attempt of [`LineReader::extend`] that failed, and what is known since.
struct Unfinished {
    /// The scanner where it stopped; its stack holds the brackets that were open there.
    scanner: Scanner,
    /// Offset of the first byte that the scanner has not accepted.
    stop: u64,
    /// Whether only the limit stopped it, so that an attempt that starts further on can go further.
    by_limit: bool,
}

/// Reads texts one after the other, each borrowed from the block it was read into.
///
/// Memory: the text at hand plus a block; after a failed attempt to extend, at most twice the limit.
pub struct LineReader<R> {
    window: Window<R>,
    limit: usize,
    /// Offset at which the next text starts.
    cursor: u64,
    /// The physical line in which `cursor` lies, from 1.
    number: u64,
    current: Current,
    blank_lines: u64,
    unfinished: Option<Unfinished>,
}

impl<R: Read> LineReader<R> {
    /// Reads lines of up to [`MAX_LINE_BYTES`].
    #[must_use]
    pub fn new(input: R) -> Self {
        Self::with_limit(input, MAX_LINE_BYTES)
    }

    /// Reads lines of up to `limit` bytes, the newline not counted.
    #[must_use]
    pub fn with_limit(input: R, limit: usize) -> Self {
        Self {
            window: Window::new(input),
            limit,
            cursor: 0,
            number: 1,
            current: Current::default(),
            blank_lines: 0,
            unfinished: None,
        }
    }

    /// What is held of the stream. Only what is before the first text may be looked at this way.
    pub(super) const fn window(&mut self) -> &mut Window<R> {
        &mut self.window
    }

    /// Says that the first byte of the input is not the first of the file: it stands on line `number` (from 1) at
    /// `byte_offset`. For a byte order mark that was removed, and for a file that is read from the middle on.
    /// To be called before anything is read.
    #[must_use]
    pub fn starting_at(mut self, number: u64, byte_offset: u64) -> Self {
        self.number = number;
        self.window.start_at(byte_offset);
        self.cursor = byte_offset;
        self
    }

    /// The input, for its counters.
    #[must_use]
    pub const fn get_ref(&self) -> &R {
        self.window.get_ref()
    }

    /// How many lines with nothing but white space were passed over. Blank lines inside a document over several
    /// lines are part of that document.
    #[must_use]
    pub const fn blank_lines(&self) -> u64 {
        self.blank_lines
    }

    /// Line number (from 1) and offset in the uncompressed stream at which the next text starts.
    #[must_use]
    pub const fn position(&self) -> (u64, u64) {
        (self.number, self.cursor)
    }

    /// The text that `next` or `extend` returned last; empty before the first and after a line over the limit.
    #[must_use]
    pub fn current(&self) -> Line<'_> {
        let Current { start, end, number, lines, complete, .. } = self.current;
        Line { bytes: self.slice(start, end), number, byte_offset: start, lines, complete }
    }

    /// The next text; none at the end.
    #[allow(clippy::should_implement_trait, reason = "an iterator could not lend the text out of its buffer")]
    pub fn next(&mut self) -> Option<Framed<'_>> {
        loop {
            let start = self.cursor;
            self.current = Current { start, end: start, number: self.number, ..Current::default() };
            // One more than the limit, for the CR of a CR LF.
            let newline = match self.find_newline(start, self.most_from(start) + 1) {
                Found::Newline(newline) => Some(newline),
                Found::End if self.read_end() == start => return self.take_failure(),
                Found::End => None,
                Found::OverLimit => return Some(self.skip_long_line()),
            };
            let end = self.without_carriage_return(start, newline);
            if end - start > self.limit as u64 {
                return Some(self.skip_long_line());
            }
            let blank = self.slice(start, end).iter().all(|byte| b" \t\r".contains(byte));
            self.finish_text(newline, 1);
            self.current.end = end;
            if !blank {
                return Some(Framed::Line(self.current()));
            }
            self.blank_lines += 1;
        }
    }

    /// Whether the line that `next` returned last is an object by its ends, and the next one begins with another, as
    /// far as that is held already: then [`Self::extend`] would find nothing, since no value goes on with `}` and `{`.
    #[must_use]
    pub fn is_surely_whole(&self) -> bool {
        let Current { start, end, next, complete, .. } = self.current;
        let is = |at: u64, byte: u8| at < self.read_end() && self.slice(at, at + 1) == [byte];
        complete && end > start && is(start, b'{') && is(end - 1, b'}') && is(next, b'{')
    }

    /// Tries to complete the JSON value that is open at the end of the line returned last, by reading on.
    ///
    /// To be called when a parser met the end of that line inside a value. On success: one text from the start of
    /// that line through the end of the line on which the value ends, with whatever else stands on that line; when
    /// something else *begins* there and stays open (`}{` between two documents), the text ends before it, and `next`
    /// goes on with it. On failure: none; the lines that were read ahead come from `next` as if nothing had been
    /// tried, and [`Self::current`] is still the line to report.
    ///
    /// # Cost
    /// The text is scanned once, and only as long as it can still become a value. A line cut inside a string fails at
    /// once, since no JSON string holds a newline. A line cut elsewhere takes one good line for its continuation at
    /// most: a second object without a comma cannot follow. So a file of cut lines costs about twice its length.
    ///
    /// That leaves texts that stay possible for long, such as one document without its end, or a file of `[`.
    /// A failed attempt leaves behind which brackets were open where it stopped. A later attempt whose own first
    /// bracket is one of them takes the same steps from there on (what may follow depends on the innermost bracket
    /// only), so it would stop at the same byte and is not made; or, when only the limit had stopped the first, it
    /// goes on from there. A later attempt whose bracket was closed before the stop succeeds, and what it reads is
    /// used up. Either way a byte is scanned a fixed number of times.
    pub fn extend(&mut self) -> Option<Line<'_>> {
        if !self.current.complete {
            return None;
        }
        let (start, next) = (self.current.start, self.current.next);
        let mut scanner = Scanner::default();
        if scanner.feed(self.slice(start, next), start).is_err() {
            return None;
        }
        let first_open = scanner.open.first()?.offset;
        scanner.closed_at = None;
        let position = match self.resume(first_open) {
            Resume::Fresh => next,
            Resume::Hopeless => return None,
            Resume::From(known, stop) => {
                scanner = known;
                stop
            }
        };
        let end = self.scan_on(scanner, position)?;
        self.accept(end);
        Some(self.current())
    }

    /// Compares with the last failed attempt; see "Cost" at [`Self::extend`].
    fn resume(&mut self, first_open: u64) -> Resume {
        let Some(known) = &mut self.unfinished else { return Resume::Fresh };
        let Ok(place) = known.scanner.open.binary_search_by_key(&first_open, |open| open.offset) else {
            return Resume::Fresh;
        };
        if !known.by_limit {
            return Resume::Hopeless;
        }
        known.scanner.open.drain(..place);
        let resumed = Resume::From(std::mem::take(&mut known.scanner), known.stop);
        self.unfinished = None;
        resumed
    }

    /// Feeds the scanner from `position` on until the value closes; remembers where it cannot.
    fn scan_on(&mut self, mut scanner: Scanner, mut position: u64) -> Option<TextEnd> {
        let most = self.most_from(self.current.start);
        loop {
            let (stop, by_limit) = if position >= most {
                (position, true)
            } else if position == self.read_end() && !self.fill() {
                (position, false)
            } else {
                let end = self.read_end().min(most);
                // Up to the end of a line at a time: a closed value is looked at line by line.
                let end = memchr(b'\n', self.slice(position, end)).map_or(end, |newline| position + newline as u64 + 1);
                let fed = scanner.feed(self.slice(position, end), position);
                if let Some(closed_at) = scanner.closed_at {
                    return Some(self.end_of_text(scanner, closed_at, fed.is_ok().then_some(end)));
                }
                match fed {
                    Ok(()) => {
                        position = end;
                        continue;
                    }
                    Err(Invalid { at }) => (at, false),
                }
            };
            self.unfinished = Some(Unfinished { scanner, stop, by_limit });
            return None;
        }
    }

    /// Where the text of a value ends that closed before `closed_at`: with its line, unless another value begins there
    /// and stays open, or the line goes beyond the limit. `fed_to` is the end of what the scanner accepted.
    fn end_of_text(&mut self, mut scanner: Scanner, closed_at: u64, fed_to: Option<u64>) -> TextEnd {
        let most = self.most_from(self.current.start);
        let newline = match self.find_newline(closed_at, most + 1) {
            Found::Newline(newline) if newline <= most => Some(newline),
            Found::End if self.read_end() <= most => None,
            Found::Newline(_) | Found::End | Found::OverLimit => return TextEnd::Within(closed_at),
        };
        let Some(fed_to) = fed_to else { return TextEnd::Line(newline) };
        let rest = newline.map_or_else(|| self.read_end(), |newline| newline + 1);
        if rest > fed_to && scanner.feed(self.slice(fed_to, rest), fed_to).is_err() {
            return TextEnd::Line(newline);
        }
        match (newline, scanner.open.first()) {
            (Some(_), Some(open)) => TextEnd::Within(open.offset),
            _ => TextEnd::Line(newline),
        }
    }

    /// Makes the current text reach to `end`.
    fn accept(&mut self, end: TextEnd) {
        let Current { start, number, .. } = self.current;
        self.number = number;
        match end {
            TextEnd::Line(newline) => {
                let text_end = self.without_carriage_return(start, newline);
                let more = memchr_iter(b'\n', self.slice(start, text_end)).count() as u64;
                self.finish_text(newline, more + 1);
                self.number += more;
                self.current.end = text_end;
            }
            TextEnd::Within(offset) => {
                let more = memchr_iter(b'\n', self.slice(start, offset)).count() as u64;
                self.current = Current { end: offset, lines: more, complete: false, next: offset, ..self.current };
                self.cursor = offset;
                self.number += more;
            }
        }
    }

    /// Moves behind a text that ends with `newline`, or with the stream.
    fn finish_text(&mut self, newline: Option<u64>, lines: u64) {
        self.cursor = newline.map_or_else(|| self.read_end(), |newline| newline + 1);
        self.number += u64::from(newline.is_some());
        self.current.lines = lines;
        self.current.complete = newline.is_some();
        self.current.next = self.cursor;
    }

    /// The end of the text from `start` to `newline`, or to the end of the stream.
    fn without_carriage_return(&self, start: u64, newline: Option<u64>) -> u64 {
        let Some(newline) = newline else { return self.read_end() };
        newline - u64::from(self.slice(start, newline).last() == Some(&b'\r'))
    }

    fn skip_long_line(&mut self) -> Framed<'static> {
        let (number, byte_offset) = (self.number, self.cursor);
        let enough = (RAW_CHARS * char::MAX.len_utf8()) as u64;
        let raw_prefix = self.slice(byte_offset, self.read_end().min(byte_offset + enough)).to_vec();
        loop {
            if let Some(newline) = memchr(b'\n', self.slice(self.cursor, self.read_end())) {
                let newline = self.cursor + newline as u64;
                self.finish_text(Some(newline), 0);
                break;
            }
            self.cursor = self.read_end();
            // Nothing of this line is needed any more.
            self.current.start = self.cursor;
            if !self.fill() {
                self.finish_text(None, 0);
                break;
            }
        }
        self.current =
            Current { start: self.cursor, end: self.cursor, number, next: self.cursor, ..Current::default() };
        Framed::TooLong { number, byte_offset, raw_prefix }
    }

    fn take_failure(&mut self) -> Option<Framed<'static>> {
        let message = self.window.take_failure()?.to_string();
        Some(Framed::Damaged { number: self.number, byte_offset: self.cursor, message })
    }

    /// The first newline at or after `from`, reading on as long as the text stays below offset `most`.
    fn find_newline(&mut self, from: u64, most: u64) -> Found {
        let mut searched = from;
        loop {
            if let Some(newline) = memchr(b'\n', self.slice(searched, self.read_end())) {
                return Found::Newline(searched + newline as u64);
            }
            searched = self.read_end();
            if searched > most {
                return Found::OverLimit;
            }
            if !self.fill() {
                return Found::End;
            }
        }
    }

    /// The farthest end that a text from `start` may have. Below `u64::MAX`, so that one may be added.
    fn most_from(&self, start: u64) -> u64 {
        start.saturating_add(self.limit as u64).min(u64::MAX - 1)
    }

    /// Offset behind the last byte that was read.
    fn read_end(&self) -> u64 {
        self.window.read_end()
    }

    /// The bytes between two offsets; only what is held.
    fn slice(&self, start: u64, end: u64) -> &[u8] {
        self.window.slice(start, end)
    }

    /// Reads one more block behind what is held from the current text on; false at the end of the stream.
    fn fill(&mut self) -> bool {
        self.window.fill(self.current.start)
    }

    /// Reads to the end without looking at anything: the rest still counts for the input's hash and for progress.
    pub(super) fn pass_over_rest(&mut self) {
        self.window.drain();
        self.cursor = self.window.read_end();
        self.current = Current { start: self.cursor, end: self.cursor, next: self.cursor, ..self.current };
    }

    /// How many characters were replaced in the text returned last and before it, since the last call; see
    /// [`Window::take_replaced`].
    pub(super) fn take_replaced(&mut self) -> u64 {
        self.window.take_replaced(self.current.next)
    }
}

enum Found {
    Newline(u64),
    End,
    OverLimit,
}

enum Resume {
    /// Nothing is known: scan from the next line on.
    Fresh,
    /// It is known to stop before it closes.
    Hopeless,
    /// It is known up to this offset.
    From(Scanner, u64),
}

enum TextEnd {
    /// With this newline, or with the stream.
    Line(Option<u64>),
    /// Before this offset, in the middle of a line.
    Within(u64),
}
