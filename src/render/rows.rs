//! Rows of an answer as text: a table for people, Markdown, CSV, JSON lines.
//!
//! A table fits the width it is given: long values are cut, and where there are too many columns each row becomes a
//! block. Control characters are written out, so that a value cannot steer a terminal. Knows nothing of what the
//! rows mean.

mod json;

use std::borrow::Cow;

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::layout::{pad_end, pad_start, plain, split_at_width, truncate_to_width, width, wrap, wrap_lines};
use super::markdown;
use crate::model::{Cell, Column, Example, Relation, Row};

pub use json::{object, unique_names};

/// What NULL looks like where people read.
const NULL: &str = "NULL";
/// Between two columns of a table.
const GAP: &str = "  ";
/// A column that would have to be narrower makes blocks of the rows.
const MIN_COLUMN: usize = 8;
/// Longest name of a column in front of a block's line.
const MAX_LABEL: usize = 30;
/// Longest value of a block, in cells.
const MAX_VALUE: usize = 2_000;

/// A table, and whether values of it were cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Lines, each ended.
    pub text: String,
    /// Whether a value or a name was cut.
    pub is_cut: bool,
}

/// The text of a cell where no format has a form of its own for it; NULL as none. Lists, structs and maps are JSON, a
/// BLOB is hexadecimal.
#[must_use]
pub fn cell_text(cell: &Cell) -> Option<Cow<'_, str>> {
    Some(match cell {
        Cell::Null => return None,
        Cell::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
        Cell::Integer(number) => Cow::Owned(number.to_string()),
        Cell::Float(number) => Cow::Owned(json::float(*number)),
        Cell::Decimal(text) | Cell::Text(text) | Cell::Json(text) | Cell::Time(text) => Cow::Borrowed(text),
        Cell::Blob(bytes) => Cow::Owned(json::hex(bytes)),
        Cell::List(_) | Cell::Struct(_) | Cell::Map(_) => Cow::Owned(json::value(cell)),
    })
}

/// A cell where people read.
fn shown(cell: &Cell) -> String {
    cell_text(cell).map_or_else(|| NULL.to_owned(), |text| plain(&text).into_owned())
}

/// Rows in columns of at most `cells` in all, numbers to the right; without a width nothing is cut. `first` is the
/// number of the first row, for blocks.
#[must_use]
pub fn table(texts: &Texts, columns: &[Column], rows: &[Row], cells: Option<usize>, first: usize) -> Table {
    if let Some(text) = plan(columns, rows) {
        return Table { text, is_cut: false };
    }
    let names: Vec<Cow<'_, str>> = columns.iter().map(|column| plain(&column.name)).collect();
    let shown: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(shown).collect()).collect();
    let widest = |at: usize| {
        let of_rows = shown.iter().filter_map(|row| row.get(at)).map(|text| width(text)).max().unwrap_or(0);
        // A column of nothing still has a line below its name.
        of_rows.max(width(&names[at])).max(1)
    };
    let natural: Vec<usize> = (0..columns.len()).map(widest).collect();
    // A name may be cut, and so may a text; the digits of a number may not.
    let least = |at: usize| {
        let digits = shown.iter().filter_map(|row| row.get(at)).map(|text| width(text)).max().unwrap_or(0);
        natural[at].min(if columns[at].is_number { digits.max(MIN_COLUMN) } else { MIN_COLUMN })
    };
    let least: Vec<usize> = (0..columns.len()).map(least).collect();
    let Some(widths) = cells.map_or_else(|| Some(natural.clone()), |cells| fit(&natural, &least, cells)) else {
        if rows.is_empty() {
            let lines = wrap(&names.join(GAP), cells.unwrap_or(usize::MAX), "", "");
            return Table { text: lines.join("\n") + "\n", is_cut: false };
        }
        return blocks(texts, &names, &shown, cells.unwrap_or(usize::MAX), first);
    };
    let line = |row: &dyn Fn(usize) -> String| {
        let parts: Vec<String> = (0..columns.len())
            .map(|at| {
                let text = truncate_to_width(&row(at), widths[at]);
                if columns[at].is_number { pad_start(&text, widths[at]) } else { pad_end(&text, widths[at]) }
            })
            .collect();
        parts.join(GAP).trim_end().to_owned() + "\n"
    };
    let mut text = line(&|at| names[at].to_string());
    text += &(widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join(GAP) + "\n");
    for row in &shown {
        text += &line(&|at| row.get(at).cloned().unwrap_or_default());
    }
    Table { text, is_cut: widths != natural }
}

/// The widths of the columns within `cells`: each gets what it needs up to a limit that is as high as it can be, and
/// none gets less than `least`. None when even that has no room.
fn fit(natural: &[usize], least: &[usize], cells: usize) -> Option<Vec<usize>> {
    let room = cells.checked_sub(GAP.len() * natural.len().saturating_sub(1))?;
    let limited = |most: usize| -> Vec<usize> {
        natural.iter().zip(least).map(|(natural, least)| most.min(*natural).max(*least)).collect()
    };
    let fits = |most: &usize| limited(*most).iter().sum::<usize>() <= room;
    let widest = natural.iter().copied().max().unwrap_or(0);
    let most = (0..=widest.min(room)).rev().find(fits)?;
    let mut widths = limited(most);
    // Less than a cell for each of those that are cut is left.
    let mut rest = room - widths.iter().sum::<usize>();
    for (width, natural) in widths.iter_mut().zip(natural) {
        if rest > 0 && *width == most && *width < *natural {
            *width += 1;
            rest -= 1;
        }
    }
    Some(widths)
}

/// A block for each row: a line for each column, long values over several lines.
fn blocks(texts: &Texts, names: &[Cow<'_, str>], rows: &[Vec<String>], cells: usize, first: usize) -> Table {
    let label = names.iter().map(|name| width(name)).max().unwrap_or(0).min(MAX_LABEL).min(cells / 3);
    let room = cells.saturating_sub(label + GAP.len()).max(2);
    let mut is_cut = names.iter().any(|name| width(name) > label);
    let mut text = String::new();
    for (number, row) in (first..).zip(rows) {
        let head = format!("── {} ", phrase(texts, "row_number", context! { number }));
        text += &format!("{head}{}\n", "─".repeat(cells.min(60).saturating_sub(width(&head))));
        for (name, value) in names.iter().zip(row) {
            let mut lead = pad_end(&truncate_to_width(name, label), label);
            let short = truncate_to_width(value, MAX_VALUE);
            is_cut |= short.len() != value.len();
            let mut rest = short.as_str();
            loop {
                let (head, tail) = split_at_width(rest, room);
                text += format!("{lead}{GAP}{head}").trim_end();
                text.push('\n');
                // A sign without room of its own would never end.
                if tail.is_empty() || head.is_empty() {
                    break;
                }
                rest = tail;
                lead = " ".repeat(label);
            }
        }
    }
    Table { text, is_cut }
}

/// Rows in columns as wide as they need, the last one over several lines where `cells` end.
#[must_use]
pub fn list(columns: &[Column], rows: &[Row], cells: Option<usize>) -> String {
    let head = columns.iter().map(|column| plain(&column.name).into_owned()).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> =
        std::iter::once(head).chain(rows.iter().map(|row| row.iter().map(shown).collect())).collect();
    let last = columns.len().saturating_sub(1);
    let widest = |at: usize| lines.iter().filter_map(|line| line.get(at)).map(|text| width(text)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..last).map(widest).collect();
    let mut text = String::new();
    for line in &lines {
        let lead: String = widths.iter().zip(line).map(|(width, cell)| pad_end(cell, *width) + GAP).collect();
        let value = line.get(last).map_or("", String::as_str);
        let room = cells.map_or(usize::MAX, |cells| cells.max(width(&lead) + MIN_COLUMN));
        text += &(wrap(value, room, &lead, &" ".repeat(width(&lead))).join("\n") + "\n");
    }
    text
}

/// Whether it is what EXPLAIN answers: a drawing, not rows.
#[must_use]
pub fn is_plan(columns: &[Column]) -> bool {
    columns.iter().map(|column| column.name.as_str()).eq(["explain_key", "explain_value"])
}

/// The drawing with its lines.
fn plan(columns: &[Column], rows: &[Row]) -> Option<String> {
    if !is_plan(columns) {
        return None;
    }
    let mut text = String::new();
    for row in rows {
        let drawing = row.get(1).and_then(cell_text).unwrap_or_default();
        for line in drawing.lines() {
            text += plain(line).trim_end();
            text.push('\n');
        }
    }
    Some(text)
}

/// The head of a Markdown table.
#[must_use]
pub fn markdown_head(columns: &[Column]) -> String {
    let names = columns.iter().map(|column| markdown::cell(&column.name));
    let lines = columns.iter().map(|column| if column.is_number { "---:" } else { "---" }.to_owned());
    markdown_line(names) + &markdown_line(lines)
}

/// Rows of a Markdown table.
#[must_use]
pub fn markdown_rows(rows: &[Row]) -> String {
    let text = |cell: &Cell| cell_text(cell).map_or_else(|| NULL.to_owned(), |text| markdown::cell(&text));
    rows.iter().map(|row| markdown_line(row.iter().map(text))).collect()
}

fn markdown_line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// The names of the columns as a line of CSV (RFC 4180, lines ended by a line feed).
///
/// # Errors
/// None in practice: the text stays in memory.
pub fn csv_head(columns: &[Column]) -> std::io::Result<Vec<u8>> {
    csv_lines(std::iter::once(columns.iter().map(|column| Cow::Borrowed(column.name.as_str())).collect()))
}

/// Rows as lines of CSV; NULL is `null`.
///
/// # Errors
/// None in practice: the text stays in memory.
pub fn csv_rows(rows: &[Row], null: &str) -> std::io::Result<Vec<u8>> {
    let text = |cell| cell_text(cell).unwrap_or_else(|| Cow::Owned(null.to_owned()));
    csv_lines(rows.iter().map(|row| row.iter().map(text).collect()))
}

fn csv_lines<'t>(lines: impl Iterator<Item = Vec<Cow<'t, str>>>) -> std::io::Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.write_record(line.iter().map(|text| text.as_bytes()))?;
    }
    writer.into_inner().map_err(csv::IntoInnerError::into_error)
}

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("sql_words.j2", context! { key, ..values }).trim_end().to_owned()
}

/// How many rows a table shows; `has_more` when there are more, which at a prompt are asked for in another way.
#[must_use]
pub fn row_count(texts: &Texts, rows: usize, has_more: bool, at_prompt: bool) -> String {
    phrase(texts, if has_more { "first_rows" } else { "rows" }, context! { rows, at_prompt }) + "\n"
}

/// That values were cut, and how to see them.
#[must_use]
pub fn values_cut(texts: &Texts, at_prompt: bool) -> String {
    phrase(texts, "values_cut", context! { at_prompt }) + "\n"
}

/// That whole numbers of these columns were written as rounded ones.
#[must_use]
pub fn rounded(texts: &Texts, columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|name| plain(name).into_owned()).collect();
    phrase(texts, "rounded", context! { columns }) + "\n"
}

/// What a statement that returns no rows came to: rows that changed, where it says so.
#[must_use]
pub fn done(texts: &Texts, changed: Option<i128>) -> String {
    match changed.and_then(|count| i64::try_from(count).ok()) {
        Some(count) => phrase(texts, "changed", context! { count }) + "\n",
        None => phrase(texts, "done", context! {}) + "\n",
    }
}

/// A word or sentence of the prompt.
#[must_use]
pub fn word(texts: &Texts, key: &str) -> String {
    phrase(texts, key, context! {})
}

/// The greeting of the prompt.
#[must_use]
pub fn greeting(texts: &Texts, path: &str, is_writing: bool) -> String {
    phrase(texts, "greeting", context! { path => plain(path), is_writing }) + "\n"
}

/// The question that a worked example answers.
#[must_use]
pub fn question(texts: &Texts, name: &str) -> String {
    phrase(texts, "question", context! { name })
}

/// Worked questions, each with its number and its statement.
#[must_use]
pub fn examples(texts: &Texts, examples: &[(usize, &Example)]) -> String {
    let one = |(number, example): &(usize, &Example)| {
        format!("-- {number}. {}\n{}", question(texts, example.name), example.sql)
    };
    examples.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// Columns and rows of a list of relations.
#[must_use]
pub fn relations(texts: &Texts, relations: &[&Relation]) -> (Vec<Column>, Vec<Row>) {
    let kind = |relation: &Relation| word(texts, if relation.is_view { "view" } else { "table" });
    let row = |relation: &&Relation| [relation.name.clone(), kind(relation), relation.comment.clone()];
    (named(texts, &["name", "kind", "comment"]), relations.iter().map(|relation| texts_of(row(relation))).collect())
}

/// The names of relations without a description, in lines of at most `cells`.
#[must_use]
pub fn undescribed(texts: &Texts, relations: &[&Relation], cells: Option<usize>) -> String {
    let names = relations.iter().map(|relation| plain(&relation.name)).collect::<Vec<_>>().join(", ");
    let line = format!("{}: {names}\n", word(texts, "undescribed"));
    cells.map_or_else(|| line.clone(), |cells| wrap_lines(&line, cells))
}

/// Columns and rows of a list of columns.
#[must_use]
pub fn relation_columns(texts: &Texts, relation: &Relation) -> (Vec<Column>, Vec<Row>) {
    let rows = relation.columns.iter();
    let row = |column: &crate::model::RelationColumn| {
        texts_of([column.name.clone(), column.type_name.clone(), column.comment.clone()])
    };
    (named(texts, &["column", "type", "comment"]), rows.map(row).collect())
}

fn named(texts: &Texts, keys: &[&str]) -> Vec<Column> {
    keys.iter().map(|key| Column { name: word(texts, &format!("head_{key}")), is_number: false }).collect()
}

fn texts_of<const N: usize>(texts: [String; N]) -> Row {
    texts.into_iter().map(Cell::Text).collect()
}
