//! What a person is to look at, with the events that decided it, and what is told when a review was kept.

use minijinja::context;

use super::view::{TrialView, said, trial};
use super::{coded, phrase};
use crate::model::eval_report::{EvalReport, ReportTrial};
use crate::model::{EvalDecision, EvalVerdict, Opinion, TrialReview};
use crate::render::Texts;
use crate::render::eval;
use crate::render::layout::{Style, plain_short, wrap_lines};
use crate::render::terminal::NAME_CHARS;

/// Failures, what could not be judged, errors and blocked proposals of an experiment; with `all` every trial that
/// ended.
#[must_use]
pub fn review(texts: &Texts, report: &EvalReport, all: bool, style: Style) -> String {
    let trials: Vec<TrialView> = report.to_review(all).map(|one| trial(texts, one)).collect();
    if trials.is_empty() {
        return wrap_lines(&phrase(texts, "nothing_to_review", context! {}), style.cells());
    }
    let experiment = plain_short(&report.experiment.experiment_id, NAME_CHARS);
    let mut out = phrase(texts, "review_head", context! { experiment, count => trials.len() }) + "\n";
    for told in &trials {
        out += &one(texts, told, false, told.review.as_slice());
    }
    out += &("\n".to_owned() + &phrase(texts, "review_foot", context! {}) + "\n");
    wrap_lines(&out, style.cells())
}

/// One trial: its verdict, every check with the events that decided it, and what people said, the oldest first.
#[must_use]
pub fn reviewed_trial(texts: &Texts, one: &ReportTrial, reviews: &[TrialReview], style: Style) -> String {
    let reviews: Vec<String> = reviews.iter().map(|review| said(texts, review)).collect();
    let told = self::one(texts, &trial(texts, one), true, &reviews);
    let foot = phrase(texts, "review_foot", context! {});
    wrap_lines(&format!("{}\n{foot}\n", told.trim_start()), style.cells())
}

fn one(texts: &Texts, told: &TrialView, all_checks: bool, reviews: &[String]) -> String {
    let word = |key: &str| phrase(texts, key, context! {});
    let mut lines = vec![String::new(), format!("{}  {} — {}", told.trial_id, told.name, told.verdict)];
    if !told.case_name.is_empty() {
        lines.push(format!("  {}", told.case_name));
    }
    let shown = told.checks.iter().filter(|check| all_checks || check.code != EvalVerdict::Pass.as_str());
    lines.extend(shown.map(|check| format!("  {}", check.line())));
    let (blocked, deciding): (Vec<_>, Vec<_>) = told.deciding.iter().partition(|event| event.is_blocked);
    for (key, events) in [("review_events", deciding), ("review_blocked", blocked)] {
        if !events.is_empty() {
            lines.push(format!("  {}", word(key)));
            lines.extend(events.iter().map(|event| format!("    {}. {}", event.seq, event.text)));
        }
    }
    if !told.rubric.is_empty() {
        lines.push(format!("  {}", word("review_rubric")));
        lines.extend(told.rubric.iter().map(|question| format!("    - {question}")));
    }
    lines.extend(reviews.iter().map(|said| format!("  {}: {said}", word("review_said"))));
    lines.join("\n") + "\n"
}

/// What is told of a review that was kept.
#[derive(Debug, Clone, Copy)]
pub struct ReviewKept<'a> {
    /// The trial.
    pub trial_id: &'a str,
    /// What was said.
    pub opinion: Opinion,
    /// The verdict, which stays; none for a trial that has none.
    pub verdict: Option<EvalVerdict>,
    /// The decision before, when there was one.
    pub before: Option<EvalDecision>,
    /// The decision worked out again, when anything in it changed.
    pub after: Option<EvalDecision>,
}

/// That a review was kept, and what became of the decision.
#[must_use]
pub fn kept(texts: &Texts, kept: ReviewKept<'_>) -> String {
    let verdict = kept.verdict.map_or_else(|| "–".to_owned(), |verdict| eval::verdict(texts, verdict));
    let values = context! {
        trial => plain_short(kept.trial_id, NAME_CHARS),
        opinion => coded(texts, "opinion", kept.opinion.as_str()), verdict,
    };
    let decided = match (kept.before, kept.after) {
        (None, _) => phrase(texts, "review_undecided", context! {}),
        (Some(before), Some(after)) if before != after => phrase(
            texts,
            "review_decided",
            context! { before => eval::decision(texts, before), after => eval::decision(texts, after) },
        ),
        (Some(_), _) => phrase(texts, "review_same", context! {}),
    };
    format!("{}\n{decided}\n", phrase(texts, "review_kept", values))
}
