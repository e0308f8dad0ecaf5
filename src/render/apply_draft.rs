//! What `taco-trace tools apply-draft` would change, and what it asks.

use minijinja::context;
use serde::Serialize;

use super::Texts;
use super::doctor::name;
use super::terminal::draft_diff;
use crate::model::ChosenDraft;

/// What is said around the writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Whether to write.
    Question,
    /// It was not wanted.
    Declined,
    /// Nothing was written; how to.
    HowTo,
    /// The copy is there.
    Written,
}

/// The drafts as diffs, for standard output.
#[must_use]
pub fn drafts(texts: &Texts, chosen: &[ChosenDraft]) -> String {
    #[derive(Serialize)]
    struct Row {
        tool: String,
        runs: u64,
        of_runs: u64,
        drafts: u64,
        tied: bool,
        lines: Vec<String>,
    }
    #[derive(Serialize)]
    struct Values {
        key: &'static str,
        rows: Vec<Row>,
    }
    let rows: Vec<Row> = chosen
        .iter()
        .map(|draft| Row {
            tool: name(&draft.tool_name),
            runs: draft.runs,
            of_runs: draft.of_runs,
            drafts: draft.drafts,
            tied: draft.tied,
            lines: draft_diff(&draft.today, &draft.draft).iter().map(|(sign, line)| format!("{sign} {line}")).collect(),
        })
        .collect();
    texts.render("apply_draft.j2", Values { key: "drafts", rows })
}

/// A line for standard error; `output` is the file to write.
#[must_use]
pub fn asked(texts: &Texts, what: Asked, output: Option<&str>) -> String {
    let key = match what {
        Asked::Question => "question",
        Asked::Declined => "declined",
        Asked::HowTo => "how_to",
        Asked::Written => "written",
    };
    let output = output.map(|path| super::layout::plain(path).into_owned()).unwrap_or_default();
    let text = texts.render("apply_draft.j2", context! { key, output });
    // The answer stands on the line of the question.
    if what == Asked::Question { text.trim_end().to_owned() + " " } else { text }
}
