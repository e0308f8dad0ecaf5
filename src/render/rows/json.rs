//! Cells as JSON. Numbers keep their digits; NaN and infinities, which JSON does not have, are null.

use std::collections::BTreeSet;

use serde_json::value::RawValue;

use crate::model::{Cell, Column, Row};

/// The names of the columns as keys of an object: a name that came before gets `_1`, `_2`, ….
#[must_use]
pub fn unique_names(columns: &[Column]) -> Vec<String> {
    let given: BTreeSet<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let mut taken: BTreeSet<String> = BTreeSet::new();
    let mut names = Vec::with_capacity(columns.len());
    for column in columns {
        let mut name = column.name.clone();
        let mut number = 0;
        while !taken.insert(name.clone()) {
            number += 1;
            name = format!("{}_{number}", column.name);
            // A name that another column has by itself stays that column's.
            while given.contains(name.as_str()) {
                number += 1;
                name = format!("{}_{number}", column.name);
            }
        }
        names.push(name);
    }
    names
}

/// A row as an object on one line.
#[must_use]
pub fn object(names: &[String], row: &Row) -> String {
    let mut out = String::new();
    members(&mut out, names.iter().map(String::as_str).zip(row));
    out
}

/// A value on one line.
pub(super) fn value(cell: &Cell) -> String {
    let mut out = String::new();
    write(&mut out, cell);
    out
}

fn members<'c>(out: &mut String, members: impl Iterator<Item = (&'c str, &'c Cell)>) {
    out.push('{');
    for (at, (name, cell)) in members.enumerate() {
        if at > 0 {
            out.push(',');
        }
        text(out, name);
        out.push(':');
        write(out, cell);
    }
    out.push('}');
}

fn write(out: &mut String, cell: &Cell) {
    match cell {
        Cell::Null => out.push_str("null"),
        Cell::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Cell::Integer(number) => out.push_str(&number.to_string()),
        Cell::Decimal(digits) => out.push_str(digits),
        Cell::Float(number) if number.is_finite() => out.push_str(&float(*number)),
        Cell::Float(_) => out.push_str("null"),
        Cell::Text(value) | Cell::Time(value) => text(out, value),
        Cell::Json(value) => match serde_json::from_str::<&RawValue>(value) {
            // Line breaks outside of texts would break a format of lines.
            Ok(raw) if !raw.get().contains(['\n', '\r']) => out.push_str(raw.get()),
            Ok(raw) => out.push_str(&raw.get().replace(['\n', '\r'], " ")),
            Err(_) => text(out, value),
        },
        Cell::Blob(bytes) => text(out, &hex(bytes)),
        Cell::List(cells) => {
            out.push('[');
            for (at, cell) in cells.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, cell);
            }
            out.push(']');
        }
        Cell::Struct(fields) => members(out, fields.iter().map(|(name, cell)| (name.as_str(), cell))),
        Cell::Map(entries) => {
            let keys: Vec<String> =
                entries.iter().map(|(key, _)| super::cell_text(key).unwrap_or_default().into_owned()).collect();
            members(out, keys.iter().map(String::as_str).zip(entries.iter().map(|(_, cell)| cell)));
        }
    }
}

fn text(out: &mut String, value: &str) {
    // A text can always be written.
    out.push_str(&serde_json::to_string(value).unwrap_or_default());
}

/// The shortest text that reads back as the number: `0.1`, `1e20`; `nan`, `inf` and `-inf`.
pub(super) fn float(number: f64) -> String {
    if number.is_nan() { "nan".to_owned() } else { format!("{number:?}") }
}

/// Two hexadecimal digits for each byte.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |half: u8| char::from(DIGITS[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
