//! The report as workflow commands of GitHub Actions: an annotation for each run that needs attention, and the counts.

use std::fmt::Write as _;

use minijinja::context;

use super::Texts;
use super::layout::plain;
use super::machine::{MachineReport, Place, counts, phrase};
use super::review;
use super::words::word;
use crate::model::{Finding, ReviewKind, Standing, Verdict};

/// One command a line.
#[must_use]
pub fn report(texts: &Texts, report: &MachineReport<'_>) -> String {
    let mut out = String::new();
    for run in &report.runs {
        let diagnosis = run.view.diagnosis;
        let level = match diagnosis.verdict {
            Verdict::Normal if report.show_all => "notice",
            Verdict::Normal => continue,
            Verdict::Found(_) if !run.counts() => continue,
            Verdict::Found(_) => "error",
        };
        let finding = run.counting();
        let place = run.place(finding);
        let of_standing = |(finding, standing, _): (&Finding, &Standing, &str)| {
            matches!(standing, Standing::Dismissed(_)).then(|| finding.rule.verdict().label())
        };
        let mut dismissed: Vec<&str> = run.findings().filter_map(of_standing).collect();
        dismissed.dedup();
        let values = context! {
            summary => run.said(texts),
            trace => diagnosis.trace_id.as_str(),
            span => finding.and_then(|finding| finding.span_ids.first()).map_or("", String::as_str),
            agent => diagnosis.agent_name.as_deref().map(plain).unwrap_or_default(),
            dismissed => dismissed.join(", "), said => review::said(texts, ReviewKind::Dismissed),
        };
        let message = phrase(texts, "annotation", values);
        command(&mut out, level, run.counting_verdict().label(), place, &message);
    }
    for (run, place) in &report.unjudged {
        let values = context! { reason => word(texts, &run.reason), trace => run.trace_id.as_str() };
        let message = phrase(texts, "unjudged_annotation", values);
        command(&mut out, "warning", &word(texts, "unjudged_label"), place.as_ref(), &message);
    }
    command(&mut out, "notice", "taco-trace", None, &counts(texts, report));
    out
}

fn command(out: &mut String, level: &str, title: &str, place: Option<&Place>, message: &str) {
    let mut properties = format!("title={}", property(title));
    if let Some(place) = place {
        write!(properties, ",file={}", property(&plain(&place.path))).expect("writing to a String cannot fail");
        if place.line > 0 {
            write!(properties, ",line={}", place.line).expect("writing to a String cannot fail");
        }
    }
    writeln!(out, "::{level} {properties}::{}", data(message)).expect("writing to a String cannot fail");
}

/// What a message may not hold as it is.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// What a property may not hold as it is, besides.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
