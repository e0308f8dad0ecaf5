//! The report as JSON: the codes and figures as they are, and beside each the words that people read.

use serde_json::{Value, json};

use super::{check_reason, claim, decision_reason, event, kind};
use crate::model::eval_report::{EvalReport, ReportTrial};
use crate::model::{EvalDecision, EvalVerdict, TrialReview};
use crate::render::Texts;
use crate::render::eval;

/// The report as one JSON document; `schemas/eval_report.schema.json` publishes its form.
#[must_use]
pub fn json(texts: &Texts, report: &EvalReport) -> String {
    // Plain data can always be written.
    let mut document = serde_json::to_value(report).unwrap_or_default();
    document["target"]["kind_label"] = Value::from(kind(texts, &report.target.kind));
    document["target"]["claim"] = Value::from(claim(texts, &report.target.kind));
    let decided = &mut document["decided"];
    decided["label"] = Value::from(eval::decision(texts, report.decided.decision));
    decided["reasons"] = report.decided.reasons.iter().map(|reason| worded(texts, reason)).collect();
    for (trial, value) in report.trials.iter().zip(document["trials"].as_array_mut().into_iter().flatten()) {
        word_trial(texts, trial, value);
    }
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// Those trials of a report that a person is to look at, as in the report; with `all` every one that ended.
#[must_use]
pub fn review_json(texts: &Texts, report: &EvalReport, all: bool) -> String {
    let trials: Vec<Value> = report.to_review(all).map(|trial| trial_value(texts, trial)).collect();
    serde_json::to_string_pretty(&trials).unwrap_or_default() + "\n"
}

/// One trial as in the report, with its experiment and everything that was said of it, the oldest first.
#[must_use]
pub fn trial_json(texts: &Texts, experiment_id: &str, trial: &ReportTrial, reviews: &[TrialReview]) -> String {
    let mut value = trial_value(texts, trial);
    value["experiment_id"] = Value::from(experiment_id);
    value["reviews"] = serde_json::to_value(reviews).unwrap_or_default();
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

/// That a review was kept.
#[must_use]
pub fn kept_json(kept: super::ReviewKept<'_>) -> String {
    let decision = |decision: Option<EvalDecision>| decision.map(EvalDecision::as_str);
    let value = json!({
        "trial_id": kept.trial_id, "opinion": kept.opinion.as_str(),
        "verdict": kept.verdict.map(EvalVerdict::as_str),
        "decision_before": decision(kept.before), "decision": decision(kept.after.or(kept.before)),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

fn trial_value(texts: &Texts, trial: &ReportTrial) -> Value {
    let mut value = serde_json::to_value(trial).unwrap_or_default();
    word_trial(texts, trial, &mut value);
    value
}

/// Puts the words beside the codes of a trial.
fn word_trial(texts: &Texts, trial: &ReportTrial, value: &mut Value) {
    value["verdict_label"] = trial.verdict.map_or(json!(null), |verdict| json!(eval::verdict(texts, verdict)));
    for (check, value) in trial.checks.iter().zip(value["checks"].as_array_mut().into_iter().flatten()) {
        value["verdict_label"] = Value::from(eval::verdict(texts, check.verdict));
        value["reason_text"] = Value::from(check_reason(texts, &check.reason));
    }
    for (one, value) in trial.deciding.iter().zip(value["deciding"].as_array_mut().into_iter().flatten()) {
        value["text"] = Value::from(event(texts, one));
    }
}

/// A reason with its code, its values and its words.
pub(super) fn worded(texts: &Texts, reason: &crate::model::eval::DecisionReason) -> Value {
    let mut value = serde_json::to_value(reason).unwrap_or_default();
    value["text"] = Value::from(decision_reason(texts, reason));
    value
}
