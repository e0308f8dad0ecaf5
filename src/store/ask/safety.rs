//! What may run when nothing is to be written.
//!
//! A question (`SELECT` and its kin) may read whatever its user may, files too. That it is one is asked of DuckDB's
//! parser; other statements are let through by their first word, when they cannot write past the store, which is
//! open for reading only. Everything else (COPY, ATTACH, EXPORT, INSTALL, LOAD, SET, CALL, PREPARE …) could write a
//! file, or run what does.

use duckdb::Connection;

use super::split::{after_first_word, first_words};

/// Changes rows or tables: DuckDB refuses it for the store and does it for temporary tables.
const OF_TABLES: [&str; 8] = ["insert", "update", "delete", "merge", "alter", "drop", "truncate", "comment"];
/// Pure bookkeeping of the connection. PIVOT is a question in several steps.
const HARMLESS: [&str; 9] = ["pivot", "unpivot", "begin", "start", "commit", "end", "rollback", "abort", "deallocate"];

/// Whether the statement writes nothing but to temporary tables.
pub(super) fn writes_nothing(connection: &Connection, text: &str) -> bool {
    let words = first_words(text, 4);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    if word(0) == "explain" {
        return explains_question(connection, text);
    }
    if is_question(connection, text) || fails_to_parse(connection, text) {
        return true;
    }
    // A second statement behind a semicolon would be let through unseen: what is refused here is one within quotes.
    if text.contains(';') {
        return false;
    }
    let makes = usize::from((word(1), word(2)) == ("or", "replace")) * 2 + 1;
    match word(0) {
        "create" => matches!(word(makes), "temp" | "temporary"),
        "set" | "reset" => word(1) == "variable",
        first => OF_TABLES.contains(&first) || HARMLESS.contains(&first),
    }
}

/// EXPLAIN ANALYZE runs what it explains: that must be a question.
fn explains_question(connection: &Connection, text: &str) -> bool {
    let whole = after_first_word(text);
    let rest = match first_words(whole, 1).first().map(String::as_str) {
        Some("analyze" | "analyse") => after_first_word(whole),
        Some("(") => whole.split_once(')').map_or(whole, |(_, behind)| behind),
        _ => whole,
    };
    is_question(connection, rest) || is_question(connection, whole) || fails_to_parse(connection, text)
}

/// Whether it is exactly one statement, and a SELECT or one of its kin: FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE.
pub(super) fn is_question(connection: &Connection, text: &str) -> bool {
    is_true(
        connection,
        "SELECT json_extract_string(said, '$.error') = 'false' AND json_array_length(said, '$.statements') = 1
        FROM (SELECT json_serialize_sql(?) AS said)",
        text,
    )
}

/// Whether it is no SQL at all: it fails before anything of it runs, with DuckDB's own words.
pub(super) fn fails_to_parse(connection: &Connection, text: &str) -> bool {
    is_true(connection, "SELECT json_extract_string(json_serialize_sql(?), '$.error_type') = 'parser'", text)
}

fn is_true(connection: &Connection, sql: &str, text: &str) -> bool {
    connection.query_row(sql, [text], |row| row.get::<_, Option<bool>>(0)).ok().flatten().unwrap_or(false)
}
