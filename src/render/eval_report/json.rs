//! The report as JSON: the codes and figures as they are, and beside each the words that people read.

use serde_json::{Value, json};

use super::{check_reason, claim, decision_reason, event, kind};
use crate::model::eval_report::EvalReport;
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
        value["verdict_label"] = trial.verdict.map_or(json!(null), |verdict| json!(eval::verdict(texts, verdict)));
        for (check, value) in trial.checks.iter().zip(value["checks"].as_array_mut().into_iter().flatten()) {
            value["verdict_label"] = Value::from(eval::verdict(texts, check.verdict));
            value["reason_text"] = Value::from(check_reason(texts, &check.reason));
        }
        for (one, value) in trial.deciding.iter().zip(value["deciding"].as_array_mut().into_iter().flatten()) {
            value["text"] = Value::from(event(texts, one));
        }
    }
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// A reason with its code, its values and its words.
pub(super) fn worded(texts: &Texts, reason: &crate::model::eval::DecisionReason) -> Value {
    let mut value = serde_json::to_value(reason).unwrap_or_default();
    value["text"] = Value::from(decision_reason(texts, reason));
    value
}
