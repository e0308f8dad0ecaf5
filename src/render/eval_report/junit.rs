//! The report as JUnit XML: a trial is a test. FAIL is a failure, ERROR an error; what says nothing of the target is
//! skipped, with the reason.

use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::view::{TrialView, View};
use crate::model::EvalVerdict;
use crate::model::eval_report::{EvalReport, ReportTrial};
use crate::render::Texts;
use crate::render::junit::{written, xml};

/// Name of the report and of its suite.
const NAME: &str = "taco-trace eval";

/// The report as one XML document.
#[must_use]
pub fn junit(texts: &Texts, report: &EvalReport) -> String {
    let view = View::of(texts, report);
    let mut suite = TestSuite::new(NAME);
    if let Ok(start) = DateTime::<FixedOffset>::parse_from_rfc3339(&report.experiment.started_at) {
        suite.set_timestamp(start);
    }
    for (name, value) in [
        ("taco_trace.version", view.version.as_str()),
        ("taco_trace.experiment", &view.experiment_id),
        ("taco_trace.config_sha256", &view.config_sha256),
        ("taco_trace.target_kind", &report.target.kind),
        ("taco_trace.target", &view.kind),
        ("taco_trace.claim", &view.claim),
        ("taco_trace.decision", view.code),
        ("taco_trace.decision_label", &view.decision),
    ] {
        suite.add_property(Property::new(name, xml(value)));
    }
    if let Some(lifted) = &view.lifted {
        suite.add_property(Property::new("taco_trace.allow_private_target", xml(lifted)));
    }
    for reason in &view.reasons {
        suite.add_property(Property::new("taco_trace.reason", xml(reason)));
    }
    let mut total = Duration::ZERO;
    for (trial, told) in report.trials.iter().zip(&view.trials) {
        let mut case = TestCase::new(xml(&told.name), status(trial, told));
        let time = Duration::from_millis(trial.duration_ms.unwrap_or_default());
        total = total.saturating_add(time);
        case.set_classname(xml(&view.target));
        case.set_time(time);
        suite.add_test_case(case);
    }
    suite.set_time(total);
    let mut whole = Report::new(NAME);
    whole.set_time(total);
    whole.add_test_suite(suite);
    written(&whole)
}

fn status(trial: &ReportTrial, told: &TrialView) -> TestCaseStatus {
    let mut status = match trial.verdict {
        Some(EvalVerdict::Pass) => return TestCaseStatus::success(),
        Some(EvalVerdict::Fail) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Some(EvalVerdict::Error) => TestCaseStatus::non_success(NonSuccessKind::Error),
        Some(EvalVerdict::Unknown | EvalVerdict::Cancelled | EvalVerdict::NotApplicable) | None => {
            TestCaseStatus::skipped()
        }
    };
    // The checks that made the verdict of the trial; without any, how far it came.
    let deciding: Vec<String> = told
        .checks
        .iter()
        .filter(|check| check.code == told.code)
        .map(|check| format!("{}: {}", check.id, check.reason))
        .collect();
    let why = if deciding.is_empty() { told.state.clone() } else { deciding.join(" · ") };
    let kind = trial.verdict.map_or(trial.state.as_str(), EvalVerdict::as_str);
    status.set_type(kind).set_message(xml(&format!("{} — {why}", told.verdict))).set_description(xml(&body(told)));
    status
}

/// What a person looks at when a test did not succeed.
fn body(told: &TrialView) -> String {
    let mut lines = vec![told.trial_id.clone(), String::new()];
    lines.extend(told.checks.iter().filter(|check| check.code != EvalVerdict::Pass.as_str()).map(|check| {
        let events = if check.events.is_empty() { String::new() } else { format!(" [{}]", check.events) };
        format!("{} {} ({}): {}{events}", check.verdict, check.id, check.kind, check.reason)
    }));
    lines.extend(told.deciding.iter().map(|event| format!("{}. {}", event.seq, event.text)));
    lines.extend(told.traces.iter().map(|trace| format!("{} {}", trace.trace_id, trace.text)));
    lines.extend(told.review.clone());
    lines.join("\n") + "\n"
}
