//! Text on a grid of terminal cells: width, padding, wrapping, and making foreign text harmless.
//!
//! Hangul takes two cells. Knows nothing of diagnoses and holds no words.

use std::borrow::Cow;

use anstyle::Style as Ansi;
use unicode_width::UnicodeWidthStr;

/// How wide to write, and whether to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Cells in a line; below [`MIN_WIDTH`] it counts as that.
    pub width: usize,
    /// Whether to write colour codes. No meaning rests on them.
    pub color: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false }
    }
}

/// Below this a table row (a span id and its indent) has no room at all.
pub const MIN_WIDTH: usize = 24;

impl Style {
    /// The width to write with.
    #[must_use]
    pub fn cells(self) -> usize {
        self.width.max(MIN_WIDTH)
    }

    /// `text` in that colour, or as it is.
    pub(super) fn paint(self, ansi: Ansi, text: &str) -> String {
        if self.color && !text.is_empty() { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
    }
}

/// Whether a character could steer a terminal, hide text or turn its direction.
fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// `text` with control, direction and invisible characters written out (`\n`, `\u{1b}`), so that a trace
/// cannot steer the terminal that shows it.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_harmful(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// The same for a text that is JSON, in the escapes of JSON.
#[must_use]
pub fn plain_json(json: &str) -> Cow<'_, str> {
    if !json.chars().any(is_harmful) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_harmful(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// [`plain`], cut to `max` characters with `…` at the cut.
#[must_use]
pub fn plain_short(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => plain(text).into_owned(),
        Some((cut, _)) => format!("{}…", plain(&text[..cut])),
    }
}

/// A name in a sentence: in quotes when it is empty or has white space around it, which would not be seen.
#[must_use]
pub fn named(text: &str) -> Cow<'_, str> {
    if text.is_empty() || text.trim().len() != text.len() { format!("'{text}'").into() } else { text.into() }
}

/// Cells that `text` takes.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// `text` and spaces up to `cells`; longer text stays as it is.
#[must_use]
pub fn pad_end(text: &str, cells: usize) -> String {
    format!("{text}{}", " ".repeat(cells.saturating_sub(width(text))))
}

/// Spaces up to `cells` and `text`; longer text stays as it is.
#[must_use]
pub fn pad_start(text: &str, cells: usize) -> String {
    format!("{}{text}", " ".repeat(cells.saturating_sub(width(text))))
}

/// Rows below one another, their columns two spaces apart.
#[must_use]
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let cells: Vec<usize> = (0..columns)
        .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let padded = row.iter().zip(&cells).map(|(cell, cells)| pad_end(cell, *cells)).collect::<Vec<_>>();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// The narrowest that [`table_within`] makes a column.
const MIN_COLUMN: usize = 8;

/// [`table`] in at most `cells`, as far as that can be: columns in `flexible` are made narrower, the widest first, and
/// what does not fit goes on in a further line, so that nothing is lost.
#[must_use]
pub fn table_within(rows: &[Vec<String>], flexible: &[usize], cells: usize) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let widest = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(widest).collect();
    let gaps = 2 * columns.saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > cells {
        let wide = flexible.iter().copied().filter(|at| widths.get(*at).is_some_and(|wide| *wide > MIN_COLUMN));
        let Some(at) = wide.max_by_key(|at| widths[*at]) else { break };
        widths[at] -= 1;
    }
    let mut lines = Vec::new();
    for row in rows {
        let fold = |(cell, wide): (&String, &usize)| {
            if width(cell) > *wide { wrap(cell, *wide, "", "") } else { vec![cell.clone()] }
        };
        let parts: Vec<Vec<String>> = row.iter().zip(&widths).map(fold).collect();
        let most = parts.iter().map(Vec::len).max().unwrap_or(0);
        lines.extend((0..most).map(|line| {
            let cells = parts.iter().zip(&widths);
            cells.map(|(part, wide)| pad_end(part.get(line).map_or("", String::as_str), *wide)).collect::<Vec<_>>()
        }));
    }
    table(&lines)
}

/// `text` when it fits into `cells`, else its beginning and `…`.
#[must_use]
pub fn truncate_to_width(text: &str, cells: usize) -> String {
    if width(text) <= cells {
        return text.to_owned();
    }
    let (head, _) = split_at_width(text, cells.saturating_sub(1));
    if cells == 0 { String::new() } else { format!("{head}…") }
}

/// The longest beginning that fits into `cells`, and the rest.
pub(super) fn split_at_width(text: &str, cells: usize) -> (&str, &str) {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        // Whole strings are measured because a mark can change the width of the sign before it.
        if width(&text[..at + c.len_utf8()]) > cells {
            break;
        }
        end = at + c.len_utf8();
    }
    text.split_at(end)
}

/// `text` in lines of at most `cells`: broken at spaces, and inside a word only when the word alone is too long.
///
/// The first line starts with `first`, the others with `rest`; both belong to the width.
#[must_use]
pub fn wrap(text: &str, cells: usize, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let mut word = word;
        let room = |lines: &Vec<String>| {
            let indent = if lines.is_empty() { first } else { rest };
            // Two cells hold any character.
            cells.saturating_sub(width(indent)).max(2)
        };
        if !line.is_empty() {
            let joined = format!("{line} {word}");
            if width(&joined) <= room(&lines) {
                line = joined;
                continue;
            }
            lines.push(std::mem::take(&mut line));
        }
        while width(word) > room(&lines) {
            let (head, tail) = split_at_width(word, room(&lines));
            if head.is_empty() {
                break;
            }
            lines.push(head.to_owned());
            word = tail;
        }
        line = word.to_owned();
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    let indents = std::iter::once(first).chain(std::iter::repeat(rest));
    lines.iter().zip(indents).map(|(line, indent)| format!("{indent}{line}").trim_end().to_owned()).collect()
}

/// Each line of `text` wrapped at words to `cells`, what goes on four cells further in; shorter lines stay as they are.
#[must_use]
pub fn wrap_lines(text: &str, cells: usize) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for line in text.lines() {
        let first = &line[..line.len() - line.trim_start().len()];
        let lines = if width(line) <= cells {
            vec![line.to_owned()]
        } else {
            wrap(line.trim_start(), cells, first, &format!("{first}    "))
        };
        lines.iter().for_each(|line| {
            out.push_str(line);
            out.push('\n');
        });
    }
    out
}

/// A path in at most `cells`: what is cut is in the middle, so that its beginning and the name of the file stay.
#[must_use]
pub fn short_path(path: &str, cells: usize) -> String {
    let path = plain(path);
    if width(&path) <= cells {
        return path.into_owned();
    }
    let name_at = path.rfind('/').unwrap_or(path.len());
    let name = &path[name_at..];
    let room = cells.saturating_sub(1);
    if width(name) <= room {
        let (start, _) = split_at_width(&path[..name_at], room - width(name));
        return format!("{start}…{name}");
    }
    // A name that is too long itself: its ending tells what it is.
    let name = name.trim_start_matches('/');
    let name = if name.is_empty() { &*path } else { name };
    let (start, rest) = split_at_width(name, room / 2);
    let end = rest.char_indices().map(|(at, _)| &rest[at..]).find(|end| width(end) <= room - width(start));
    format!("{start}…{}", end.unwrap_or_default())
}

/// A number with separators between thousands: `12,400`.
#[must_use]
pub fn thousands(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::from(if number < 0 { "-" } else { "" });
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
