//! What could follow a text that is being typed: names of relations and columns, words of SQL, commands of the prompt.

use std::collections::BTreeSet;

use crate::model::Relation;

/// Commands of the prompt, which begin with a point.
pub const COMMANDS: [&str; 9] =
    [".tables", ".views", ".schema", ".examples", ".format", ".rows", ".wide", ".help", ".quit"];

/// Formats that the prompt writes.
pub const FORMATS: [&str; 5] = ["table", "csv", "json", "jsonl", "md"];

/// Words of SQL that questions are made of.
const KEYWORDS: &str = "\
    ALL AND AS ASC BETWEEN BY CASE CAST COALESCE COUNT DATE DATE_TRUNC DESC DESCRIBE DISTINCT ELSE END \
    EXISTS EXPLAIN FILTER FROM GROUP HAVING IN INNER INTERVAL IS JOIN LEFT LIKE LIMIT MAX MIN NOT NULL \
    OFFSET ON OR ORDER OVER PARTITION PIVOT QUALIFY ROUND SELECT SUM SUMMARIZE THEN UNION UNNEST USING \
    VALUES WHEN WHERE WITH";

/// The place where the word before `position` begins, and what it could become.
#[must_use]
pub fn complete(line: &str, position: usize, relations: &[Relation]) -> (usize, Vec<String>) {
    let before = line.get(..position).unwrap_or(line);
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let last_word = |text: &'_ str| text.trim_end_matches(is_of_word).len();
    let start = last_word(before);
    let typed = &before[start..];
    let command = before.trim_start();
    if command.starts_with('.') {
        let indent = before.len() - command.len();
        let names = || relations.iter().map(|relation| relation.name.clone());
        return match command.split_once(char::is_whitespace) {
            None => (indent, matching(command, COMMANDS.iter().map(|name| (*name).to_owned()))),
            Some((".schema", _)) => (start, matching(typed, names())),
            Some((".rows", _)) => (start, matching(typed, ["all", "first"].map(str::to_owned))),
            Some((".wide", _)) => (start, matching(typed, ["on", "off"].map(str::to_owned))),
            Some((".format", _)) => (start, matching(typed, FORMATS.iter().map(|name| (*name).to_owned()))),
            Some(_) => (start, Vec::new()),
        };
    }
    if let Some(owner) = before[..start].strip_suffix('.') {
        let owner = &owner[last_word(owner)..];
        let named: Vec<&Relation> = relations.iter().filter(|relation| relation.name == owner).collect();
        // An alias may stand for any of them.
        let of = if named.is_empty() { relations.iter().collect() } else { named };
        return (start, matching(typed, columns(&of)));
    }
    let mut found = matching(typed, relations.iter().map(|relation| relation.name.clone()));
    let last = before[..start].split_whitespace().next_back().unwrap_or_default();
    if ["from", "join"].iter().any(|word| last.eq_ignore_ascii_case(word)) {
        return (start, found);
    }
    if typed.is_empty() {
        return (start, Vec::new());
    }
    found.extend(matching(typed, columns(&relations.iter().collect::<Vec<_>>())));
    let is_small = typed.chars().all(|c| !c.is_ascii_uppercase());
    let cased = |word: &str| if is_small { word.to_ascii_lowercase() } else { word.to_owned() };
    found.extend(matching(typed, KEYWORDS.split(' ').map(cased)));
    let mut seen = BTreeSet::new();
    found.retain(|name| seen.insert(name.clone()));
    (start, found)
}

fn columns(relations: &[&Relation]) -> BTreeSet<String> {
    relations.iter().flat_map(|relation| &relation.columns).map(|column| column.name.clone()).collect()
}

fn matching(typed: &str, names: impl IntoIterator<Item = String>) -> Vec<String> {
    let begins = |name: &String| {
        let head = name.get(..typed.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(typed))
    };
    names.into_iter().filter(begins).collect()
}
