//! What `taco-trace doctor` found, for people and for programs.
//!
//! Owns the layout of the report. The numbers and the choice of suggestions come from the caller.

use serde::Serialize;

use super::Texts;
use super::layout::{Style, pad_end, plain, plain_short, wrap};

/// Cells in front of the text of a labelled line.
const LABEL_CELLS: usize = 14;
/// Cells in front of the text behind a mark or a number.
const MARK_CELLS: usize = 5;
/// Longest foreign name shown, in characters.
const NAME_CHARS: usize = 120;
/// How many operations, and how many attribute keys, are shown.
const SHOWN: usize = 10;

/// The analysis of a set of files.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Doctor {
    /// Files read.
    pub files: u64,
    /// Their lines.
    pub lines: u64,
    /// Lines left out.
    pub lines_skipped: u64,
    /// Spans met.
    pub spans_seen: u64,
    /// Spans kept.
    pub spans_kept: u64,
    /// Spans that are the same call as a span around them.
    pub spans_merged: u64,
    /// Traces with a kept span.
    pub traces: u64,
    /// Agent runs, inner ones included.
    pub runs: u64,
    /// Tool calls with a span.
    pub calls: u64,
    /// Tool calls that stand in messages only.
    pub calls_without_span: u64,
    /// Conversations named.
    pub conversations: u64,
    /// Tools that the traces name in definitions.
    pub recorded_tools: u64,
    /// Those of them that come with a JSON Schema.
    pub defined_tools: u64,
    /// Per scope, most kept spans first.
    pub scopes: Vec<ScopeView>,
    /// What is wrong with how the traces hang together, and issues by code.
    pub problems: Vec<Problem>,
    /// What to do, most valuable first.
    pub suggestions: Vec<Suggestion>,
}

/// One instrumentation scope of one service.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ScopeView {
    /// Its name; empty when it has none.
    pub scope: String,
    /// Its version.
    pub version: String,
    /// `schemaUrl`.
    pub schema_url: String,
    /// `service.name`.
    pub service: String,
    /// Spans met.
    pub spans: u64,
    /// Conventions that recognised spans.
    pub conventions: Vec<ConventionView>,
    /// Spans that hold messages in which calls would stand.
    pub with_messages: u64,
    /// Calls in them, repeats included.
    pub asked_calls: u64,
    /// Spans with tool definitions.
    pub with_definitions: u64,
    /// Spans that are not kept, by operation, most first.
    pub operations: Vec<(String, u64)>,
    /// Attribute keys of spans that nothing recognised, most first.
    pub unknown_keys: Vec<(String, u64)>,
}

/// What one convention recognised in a scope.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ConventionView {
    /// Its name.
    pub name: String,
    /// Agent runs.
    pub runs: u64,
    /// Runs that name their agent.
    pub named_runs: u64,
    /// Tool calls.
    pub calls: u64,
    /// Calls with arguments on their span.
    pub with_arguments: u64,
    /// Calls whose span says nothing of arguments.
    pub not_recorded: u64,
    /// Calls with a result.
    pub with_results: u64,
    /// Calls with an id.
    pub with_call_id: u64,
    /// Calls whose status is set.
    pub with_status: u64,
    /// Calls that something beside the status calls failed.
    pub failed_beside_status: u64,
    /// Forms of arguments that are not plain JSON.
    pub forms: Vec<(String, u64)>,
    /// The setting that makes it record arguments, when one is known.
    pub capture: Option<String>,
}

/// Something wrong, by code, with how often.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Problem {
    /// Stable name; that of the issue where it is one.
    pub code: String,
    /// `data_loss`, `warning` (something looks wrong) or `info` (worth knowing).
    pub severity: &'static str,
    /// How often.
    pub count: u64,
    /// What it concerns.
    pub name: String,
    /// A figure to it.
    pub value: String,
    /// The reason in words, of an issue.
    pub reason: String,
}

/// Something to do.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Suggestion {
    /// Stable name.
    pub code: &'static str,
    /// How much it concerns.
    pub count: u64,
    /// What it concerns.
    pub name: String,
    /// What to set.
    pub value: String,
    /// Attribute keys.
    pub keys: Vec<String>,
    /// The same in words.
    pub text: String,
}

/// The words of a suggestion.
#[must_use]
pub fn suggestion(texts: &Texts, suggestion: &Suggestion) -> String {
    let shown = Suggestion {
        name: plain_short(&suggestion.name, NAME_CHARS),
        keys: suggestion.keys.iter().take(SHOWN).map(|key| plain_short(key, NAME_CHARS)).collect(),
        ..suggestion.clone()
    };
    texts.render("doctor_suggestion.j2", shown).trim().to_owned()
}

/// The report for people.
#[must_use]
pub fn doctor(texts: &Texts, doctor: &Doctor, style: Style) -> String {
    let mut shown = doctor.clone();
    for scope in &mut shown.scopes {
        for name in [&mut scope.scope, &mut scope.version, &mut scope.schema_url, &mut scope.service] {
            *name = plain_short(name, NAME_CHARS);
        }
        scope.operations.truncate(SHOWN);
        for (name, _) in scope.operations.iter_mut().chain(&mut scope.unknown_keys) {
            *name = plain_short(name, NAME_CHARS);
        }
    }
    laid_out(&texts.render("doctor.j2", &shown), style)
}

/// Lines wrapped to the width; a tab parts a label from the text that is wrapped beside it.
pub(super) fn laid_out(text: &str, style: Style) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let lines = match line.split_once('\t') {
            Some((label, text)) => {
                let marked = label.trim().chars().count() <= 2 && !label.trim().starts_with(char::is_alphabetic);
                let cells = if marked { MARK_CELLS } else { LABEL_CELLS };
                wrap(text, style.cells(), &pad_end(label, cells), &" ".repeat(cells))
            }
            None => {
                let indent = &line[..line.len() - line.trim_start().len()];
                wrap(line.trim(), style.cells(), indent, indent)
            }
        };
        for line in lines {
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// A foreign name for a line of text.
pub(super) fn name(text: &str) -> String {
    plain(&plain_short(text, NAME_CHARS)).into_owned()
}
