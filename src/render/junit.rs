//! The report as JUnit XML: a run is a test, a run with findings a failure, one that cannot be judged is skipped.
//!
//! Elements and attributes are those that Jenkins' `junit-10.xsd` has; what the format has no place for (rule set, tool
//! sets, coverage) are properties of the suite.

use std::fmt::Write as _;
use std::time::Duration;

use chrono::{DateTime, FixedOffset};
use minijinja::context;
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::Texts;
use super::layout::{plain, plain_short};
use super::machine::{MachineReport, MachineRun, phrase, standing, told};
use super::terminal::{ARGUMENT_CHARS, agent_name, measured, short_time, shown_arguments};
use super::words::word;
use crate::model::Verdict;

/// Name of the report and of its suite.
const NAME: &str = "taco-trace diagnose";

/// Korea's offset from UTC in seconds.
const KOREA: i32 = 9 * 3600;

/// The report as one XML document.
#[must_use]
pub fn report(texts: &Texts, report: &MachineReport<'_>) -> String {
    let mut suite = TestSuite::new(NAME);
    let earliest = report.runs.iter().map(|run| run.start_ns).min();
    let korea = FixedOffset::east_opt(KOREA);
    if let (Some(start_ns), Some(korea)) = (earliest, korea) {
        suite.set_timestamp(DateTime::from_timestamp_nanos(start_ns).with_timezone(&korea));
    }
    for (name, value) in properties(report) {
        suite.add_property(Property::new(name, xml(&value)));
    }
    let mut total = Duration::ZERO;
    for run in &report.runs {
        let mut case = TestCase::new(
            xml(&format!("{} {}", run.view.diagnosis.trace_id, short_time(&run.view.start_time))),
            status(texts, run),
        );
        let time = Duration::from_nanos(run.duration_ns);
        total = total.saturating_add(time);
        case.set_classname(xml(&agent_name(texts, run.view.diagnosis)));
        case.set_time(time);
        suite.add_test_case(case);
    }
    for (run, _) in &report.unjudged {
        let mut status = TestCaseStatus::skipped();
        status.set_type("unjudged").set_message(xml(&word(texts, &run.reason)));
        let mut case = TestCase::new(xml(&format!("{} {}", run.trace_id, short_time(&run.start_time))), status);
        case.set_classname(xml(&word(texts, "nobody")));
        case.set_time(Duration::ZERO);
        suite.add_test_case(case);
    }
    suite.set_time(total);
    let mut whole = Report::new(NAME);
    whole.set_time(total);
    whole.add_test_suite(suite);
    written(&whole)
}

/// A report as XML.
pub(super) fn written(report: &Report) -> String {
    let text = report.to_string().unwrap_or_default();
    // The schema of Jenkins has no such sum at the root; the suite has it.
    text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1)
}

fn properties(report: &MachineReport<'_>) -> Vec<(String, String)> {
    let assumptions = &report.assumptions;
    let mut properties = vec![
        ("taco_trace.version".to_owned(), report.version.to_owned()),
        ("taco_trace.rule_set".to_owned(), assumptions.rule_set.clone()),
        ("taco_trace.rule_set_sha256".to_owned(), assumptions.rule_set_sha256.clone()),
    ];
    for set in &assumptions.tool_sets {
        let sha256 = set.sha256.clone().unwrap_or_else(|| "-".to_owned());
        properties.push(("taco_trace.tool_set".to_owned(), sha256));
    }
    let figures = serde_json::to_value(report.coverage).unwrap_or_default();
    for (name, value) in figures.as_object().into_iter().flatten() {
        properties.push((format!("taco_trace.coverage.{name}"), value.to_string()));
    }
    properties
}

fn status(texts: &Texts, run: &MachineRun<'_>) -> TestCaseStatus {
    let diagnosis = run.view.diagnosis;
    if diagnosis.verdict == Verdict::Normal {
        return TestCaseStatus::success();
    }
    let mut status = if run.counts() {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(xml(&run.said(texts)));
        status
    } else {
        let mut status = TestCaseStatus::skipped();
        let mut reasons: Vec<String> = run.findings().map(|(_, known, _)| standing(texts, known)).collect();
        reasons.dedup();
        status.set_message(xml(&reasons.join(" · ")));
        status
    };
    status.set_type(run.counting_verdict().slug()).set_description(xml(&body(texts, run)));
    status
}

/// What a person looks at when a test failed.
fn body(texts: &Texts, run: &MachineRun<'_>) -> String {
    let diagnosis = run.view.diagnosis;
    let mut text = run.said(texts) + "\n";
    let mut line = |line: &str| writeln!(text, "{line}").expect("writing to a String cannot fail");
    for (finding, known, _) in run.findings() {
        line("");
        let known = standing(texts, known);
        let known = if known.is_empty() { known } else { format!(" ({known})") };
        line(&format!("{}{known}", told(texts, finding)));
        for span_id in &finding.span_ids {
            let (duration, status) = measured(texts, &run.view, finding, span_id);
            let place = run.places.get(span_id).map(|place| format!(" · {}:{}", plain(&place.path), place.line));
            line(&format!("  {} · {duration} · {status}{}", plain(span_id), place.unwrap_or_default()));
        }
        if let Some(arguments) = shown_arguments(finding) {
            line(&format!("  {} {}", word(texts, "arguments"), plain_short(arguments, ARGUMENT_CHARS)));
        }
    }
    line("");
    // Where to fix it is said of the run's own verdict.
    if let Some(fix) = diagnosis.fix_target.filter(|_| run.counting_verdict() == diagnosis.verdict) {
        line(&phrase(texts, "fix", context! { fix => fix.label() }));
    }
    for note in &diagnosis.notes {
        line(&format!("- {}", plain(note)));
    }
    text
}

/// Without the two characters that XML 1.0 forbids and that are neither controls nor hidden signs.
pub(super) fn xml(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
