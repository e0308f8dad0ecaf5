//! What an experiment came to, in words: the report as Markdown, HTML, JSON and JUnit, the list for a review, and what
//! the gate answers. Queries nothing and decides nothing; every verdict comes in.

mod gate;
mod html;
mod json;
mod junit;
mod review;
mod tried;
mod view;

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::{Serde, Value};
use serde_json::Value as Json;

use super::Texts;
use super::eval;
use super::layout::{plain, plain_short};
use crate::model::eval::{Comparison, DecisionReason};
use crate::model::eval_report::{EvalReport, ReportEvent};

pub use gate::{gate_json, gate_refusal, gate_words, listening, open_to_all, served, store_failed};
pub use gate::{token_issued, token_revoked, tokens};
pub use html::html;
pub use json::{json, kept_json, review_json, trial_json};
pub use junit::junit;
pub use review::{ReviewKept, kept, review, reviewed_trial};
pub use tried::{hand_turn, tried};

/// Characters of a value that a report quotes.
const VALUE_CHARS: usize = 600;
/// Every member that an event may have; those it has not are empty.
const MEMBERS: [&str; 23] = [
    "event_id",
    "duplicate",
    "tool",
    "arguments",
    "blocked",
    "call",
    "approval_id",
    "outcome",
    "value",
    "request_id",
    "reason",
    "tool_version",
    "expires_at",
    "fault",
    "op",
    "collection",
    "id",
    "after",
    "text",
    "scope",
    "limit",
    "source",
    "message",
];

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("eval_words.j2", context! { key, ..values }).trim().to_owned()
}

fn coded(texts: &Texts, key: &str, code: &str) -> String {
    phrase(texts, key, context! { code => plain_short(code, VALUE_CHARS) })
}

/// The report as one Markdown document.
#[must_use]
pub fn markdown(texts: &Texts, report: &EvalReport) -> String {
    let text = texts.render("eval_report.md.j2", context! { r => Serde(view::View::of(texts, report)) });
    // Blocks that are left out leave empty lines behind.
    let mut out = String::with_capacity(text.len());
    let mut was_empty = false;
    for line in text.lines() {
        let is_empty = line.trim().is_empty();
        if !(is_empty && was_empty) {
            out += line.trim_end();
            out.push('\n');
        }
        was_empty = is_empty;
    }
    out.trim_end().to_owned() + "\n"
}

/// What kind of target this is.
#[must_use]
pub fn kind(texts: &Texts, code: &str) -> String {
    coded(texts, "kind", code)
}

/// What ran with this kind of target, and what of it was seen.
#[must_use]
pub fn kind_text(texts: &Texts, code: &str) -> String {
    coded(texts, "kind_text", code)
}

/// What may not be claimed of this kind of target.
#[must_use]
pub fn claim(texts: &Texts, code: &str) -> String {
    coded(texts, "claim", code)
}

/// What a verdict means.
#[must_use]
pub fn verdict_text(texts: &Texts, code: &str) -> String {
    coded(texts, "verdict_text", code)
}

/// What a decision means.
#[must_use]
pub fn decision_text(texts: &Texts, code: &str) -> String {
    coded(texts, "decision_text", code)
}

/// What a check of this kind looks at.
#[must_use]
pub fn check_text(texts: &Texts, code: &str) -> String {
    coded(texts, "check", code)
}

/// Why a check came out as it did; a code of another version stands as it is.
fn check_reason(texts: &Texts, code: &str) -> String {
    let text = eval::reason(texts, code);
    if text.is_empty() || text.starts_with("eval.j2:") { plain_short(code, VALUE_CHARS) } else { text }
}

/// Why a decision is as it is.
#[must_use]
pub fn decision_reason(texts: &Texts, reason: &DecisionReason) -> String {
    let name = |text: &str| plain_short(text, super::terminal::NAME_CHARS);
    let values = match reason {
        DecisionReason::CriticalViolation { case_id, trial, check } => {
            context! { code => "critical_violation", case_id => name(case_id), trial, check => name(check) }
        }
        DecisionReason::TrialsMissing { error, unknown, cancelled, not_run } => {
            context! { code => "trials_missing", error, unknown, cancelled, not_run }
        }
        DecisionReason::NothingTried => context! { code => "nothing_tried" },
        DecisionReason::BlockedProposal { case_id, trial } => {
            context! { code => "blocked_proposal", case_id => name(case_id), trial }
        }
        DecisionReason::SemanticDoubt { case_id, trial } => {
            context! { code => "semantic_doubt", case_id => name(case_id), trial }
        }
        DecisionReason::BelowThreshold { passed, decided } => context! { code => "below_threshold", passed, decided },
        DecisionReason::Regression { baseline_only, candidate_only, p } => {
            context! { code => "regression", baseline_only, candidate_only, p => chance(*p) }
        }
    };
    phrase(texts, "decision_reason", values)
}

/// Decimal text without zeros that say nothing.
pub(super) fn dollars(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text.to_owned() }
}

/// What happened in an event, in one line.
#[must_use]
pub fn event(texts: &Texts, event: &ReportEvent) -> String {
    let mut members: BTreeMap<&str, String> = MEMBERS.iter().map(|name| (*name, String::new())).collect();
    for (name, value) in event.event.as_object().into_iter().flatten() {
        if let Some(member) = members.get_mut(name.as_str()) {
            *member = match value {
                Json::Null => String::new(),
                Json::String(text) => plain_short(text, VALUE_CHARS),
                other => plain_short(&other.to_string(), VALUE_CHARS),
            };
        }
    }
    phrase(texts, "event", context! { code => plain(&event.kind), e => Serde(members) })
}

/// A share in percent; a dash for none.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{:.1}%", share * 100.0))
}

/// A p value as it is told, with the sign before it.
pub(super) fn chance(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

/// Whether any case could be compared: without one there is no difference to speak of.
pub(super) fn has_pairs(found: &Comparison) -> bool {
    found.both + found.baseline_only + found.candidate_only + found.neither > 0
}

/// That no case could be compared, and why.
pub(super) fn not_compared(texts: &Texts, found: &Comparison) -> String {
    phrase(texts, "not_compared", context! { left_out => found.left_out })
}
