//! What ends a command, in words: what failed, where, the value, and one hint.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Texts;
use super::layout::plain;

/// The text for a failure of this kind, for standard error. `values` are named in the template.
#[must_use]
pub fn error(texts: &Texts, kind: &str, values: &BTreeMap<&'static str, String>) -> String {
    #[derive(Serialize)]
    struct Values<'a> {
        kind: &'a str,
        problem: &'a str,
        v: BTreeMap<&'a str, String>,
    }
    // A list of traces is the program's own and keeps its lines; everything else may be foreign.
    let harmless = |name: &str, value: &String| match name {
        "traces" => value.clone(),
        // Lines with the place of the mistake below it.
        "sql" => value.lines().map(plain).collect::<Vec<_>>().join("\n"),
        _ => plain(value).into_owned(),
    };
    let mut v: BTreeMap<&str, String> = NAMES.iter().map(|name| (*name, String::new())).collect();
    v.extend(values.iter().map(|(name, value)| (*name, harmless(name, value))));
    let problem = values.get("problem").map_or("", String::as_str);
    texts.render("errors.j2", Values { kind, problem, v })
}

/// Every value that the template may name: undefined ones are errors there, absent ones are empty.
const NAMES: &[&str] = &[
    "argument",
    "column",
    "count",
    "first",
    "found",
    "free",
    "holder",
    "kind",
    "known",
    "last",
    "line",
    "least",
    "lines",
    "message",
    "more",
    "most",
    "name",
    "near",
    "needed",
    "operations",
    "path",
    "paths",
    "pattern",
    "place",
    "prior",
    "rule",
    "scopes",
    "skipped",
    "spans",
    "sql",
    "told",
    "subcommand",
    "suggested_argument",
    "suggested_subcommand",
    "suggested_value",
    "trace",
    "traces",
    "valid",
    "value",
];
