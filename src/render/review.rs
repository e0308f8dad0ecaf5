//! Reviews of findings and decisions on candidates, in words.

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::layout::{Style, plain, plain_short, wrap};
use super::markdown::cell;
use super::terminal::{ARGUMENT_CHARS, NAME_CHARS, short_time};
use crate::model::{Decided, Review, ReviewKind, Rule};

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("review_words.j2", context! { key, ..values }).trim().to_owned()
}

fn word(texts: &Texts, key: &str) -> String {
    phrase(texts, key, context! {})
}

/// The label of a mark in a report.
pub(super) fn label(texts: &Texts) -> String {
    word(texts, "review")
}

/// The one word for what a person says of a finding.
pub(super) fn said(texts: &Texts, decision: ReviewKind) -> String {
    phrase(texts, "said", context! { decision => decision.as_str() })
}

/// What a person said of a finding, on one line: what, why, who, when.
pub(super) fn mark(texts: &Texts, review: &Review) -> String {
    let values = context! {
        decision => review.decision.as_str(), reason => plain_short(&review.reason, ARGUMENT_CHARS),
        by => plain_short(&review.reviewer, NAME_CHARS), at => short_time(&review.reviewed_at),
    };
    phrase(texts, "mark", values)
}

/// That a review was kept, and of how many findings it speaks.
#[must_use]
pub fn reviewed(texts: &Texts, review: &Review, findings: usize) -> String {
    let values = context! {
        decision => review.decision.as_str(), trace => review.trace_id.as_str(),
        verdict => review.rule.verdict().label(), tool => review.tool_name.as_deref().map(plain), findings,
    };
    phrase(texts, "reviewed", values) + "\n"
}

/// That a decision was kept.
#[must_use]
pub fn decision_kept(texts: &Texts, decided: &Decided) -> String {
    let values = context! {
        decision => decided.decision.as_str(), tool => plain_short(&decided.tool_name, NAME_CHARS),
        verdict => decided.rule.verdict().label(),
    };
    phrase(texts, "decision_kept", values) + "\n"
}

/// A review or a decision, as both lists show it.
struct Entry {
    /// Where it is about, first; empty for a decision.
    trace_id: String,
    rule: Rule,
    tool: String,
    said: String,
    reason: String,
    by: String,
    at: String,
}

fn of_review(texts: &Texts, review: &Review) -> Entry {
    Entry {
        trace_id: review.trace_id.clone(),
        rule: review.rule,
        tool: review.tool_name.clone().unwrap_or_else(|| word(texts, "every_tool")),
        said: said(texts, review.decision),
        reason: review.reason.clone(),
        by: review.reviewer.clone(),
        at: short_time(&review.reviewed_at),
    }
}

fn of_decision(texts: &Texts, decided: &Decided) -> Entry {
    Entry {
        trace_id: String::new(),
        rule: decided.rule,
        tool: decided.tool_name.clone(),
        said: phrase(texts, "decided", context! { decision => decided.decision.as_str() }),
        reason: decided.reason.clone(),
        by: decided.decided_by.clone(),
        at: short_time(&decided.decided_at),
    }
}

/// Reviews in lines of at most `style.width` cells.
#[must_use]
pub fn reviews(texts: &Texts, reviews: &[Review], style: Style) -> String {
    let entries: Vec<Entry> = reviews.iter().map(|review| of_review(texts, review)).collect();
    list(texts, &entries, "no_reviews", style)
}

/// Decisions in lines of at most `style.width` cells.
#[must_use]
pub fn decisions(texts: &Texts, decisions: &[Decided], style: Style) -> String {
    let entries: Vec<Entry> = decisions.iter().map(|decided| of_decision(texts, decided)).collect();
    list(texts, &entries, "no_decisions", style)
}

fn list(texts: &Texts, entries: &[Entry], none: &str, style: Style) -> String {
    if entries.is_empty() {
        return word(texts, none) + "\n";
    }
    let mut lines = Vec::new();
    for entry in entries {
        let head = format!("{}  {} · {}", entry.at, entry.said, plain_short(&entry.by, NAME_CHARS));
        lines.extend(wrap(&head, style.cells(), "", "  "));
        let subject = format!("{} · {}", entry.rule.verdict().label(), plain_short(&entry.tool, NAME_CHARS));
        let rest = [plain_short(&entry.trace_id, NAME_CHARS), subject, plain_short(&entry.reason, ARGUMENT_CHARS)];
        for text in rest.iter().filter(|text| !text.trim().is_empty()) {
            lines.extend(wrap(text, style.cells(), "  ", "  "));
        }
    }
    lines.join("\n") + "\n"
}

/// Reviews as a Markdown table.
#[must_use]
pub fn reviews_markdown(texts: &Texts, reviews: &[Review]) -> String {
    let entries: Vec<Entry> = reviews.iter().map(|review| of_review(texts, review)).collect();
    table(texts, &entries, "no_reviews", true)
}

/// Decisions as a Markdown table.
#[must_use]
pub fn decisions_markdown(texts: &Texts, decisions: &[Decided]) -> String {
    let entries: Vec<Entry> = decisions.iter().map(|decided| of_decision(texts, decided)).collect();
    table(texts, &entries, "no_decisions", false)
}

fn table(texts: &Texts, entries: &[Entry], none: &str, has_traces: bool) -> String {
    if entries.is_empty() {
        return word(texts, none) + "\n";
    }
    let keys = ["trace", "verdict", "tool", "decision", "reason", "by", "at"];
    let skipped = usize::from(!has_traces);
    let head: Vec<String> = keys[skipped..].iter().map(|key| word(texts, key)).collect();
    let mut lines = vec![format!("| {} |", head.join(" | ")), format!("|{}", "---|".repeat(head.len()))];
    for entry in entries {
        let cells = [
            cell(&entry.trace_id),
            cell(entry.rule.verdict().label()),
            cell(&plain_short(&entry.tool, NAME_CHARS)),
            cell(&entry.said),
            cell(&plain_short(&entry.reason, ARGUMENT_CHARS)),
            cell(&plain_short(&entry.by, NAME_CHARS)),
            cell(&entry.at),
        ];
        lines.push(format!("| {} |", cells[skipped..].join(" | ")));
    }
    lines.join("\n") + "\n"
}
