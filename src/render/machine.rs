//! A diagnosis for machines that know tests, code scanning or annotations: what `junit`, `sarif` and `github` share.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::layout::{plain, plain_short};
use super::review;
use super::terminal::{Assumptions, NAME_CHARS, RunView, UnjudgedView, against};
use crate::model::{Coverage, Finding, ReviewKind, Rule, Standing, Verdict};

/// What is written.
#[derive(Debug, Clone)]
pub struct MachineReport<'a> {
    /// Version of the program.
    pub version: &'a str,
    /// Runs that were judged, in order.
    pub runs: Vec<MachineRun<'a>>,
    /// Runs that could not be judged, each with where its first span was read.
    pub unjudged: Vec<(UnjudgedView, Option<Place>)>,
    /// What the runs let the rules check.
    pub coverage: Coverage,
    /// What the verdicts rest on.
    pub assumptions: Assumptions,
    /// Whether the findings were held against a baseline.
    pub has_baseline: bool,
    /// Whether normal runs are listed where the format can do without.
    pub show_all: bool,
}

/// One run.
#[derive(Debug, Clone)]
pub struct MachineRun<'a> {
    /// What is said of it.
    pub view: RunView<'a>,
    /// Its start, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// From its first start to its last end, nanoseconds.
    pub duration_ns: u64,
    /// How each finding stands to the baseline, and its fingerprint; in the order of the findings.
    pub standings: Vec<(Standing, String)>,
    /// Where its spans were read.
    pub places: BTreeMap<String, Place>,
    /// The final answer span.
    pub final_span_id: &'a str,
}

/// Where a span was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to where the program runs when it lies below.
    pub path: String,
    /// The line, from 1.
    pub line: i64,
}

impl MachineRun<'_> {
    /// Its findings, each with how it stands and its fingerprint.
    pub fn findings(&self) -> impl Iterator<Item = (&Finding, &Standing, &str)> {
        let findings = self.view.diagnosis.findings.iter();
        findings.zip(&self.standings).map(|(finding, (standing, digest))| (finding, standing, digest.as_str()))
    }

    /// Whether any finding counts.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.standings.iter().any(|(standing, _)| standing.counts())
    }

    /// The first finding that counts: what a person dismissed is no reason for a failure, and does not name it.
    pub(super) fn counting(&self) -> Option<&Finding> {
        self.findings().find(|(_, standing, _)| standing.counts()).map(|(finding, ..)| finding)
    }

    /// The verdict of what counts, or else of the run.
    pub(super) fn counting_verdict(&self) -> Verdict {
        self.counting().map_or(self.view.diagnosis.verdict, |finding| finding.rule.verdict())
    }

    /// What is said of the run: its summary, or, where that is of a verdict that does not count, what counts.
    pub(super) fn said(&self, texts: &Texts) -> String {
        let diagnosis = self.view.diagnosis;
        match self.counting() {
            Some(finding) if finding.rule.verdict() != diagnosis.verdict => told(texts, finding),
            _ => plain(&diagnosis.summary).into_owned(),
        }
    }

    /// Where a finding is shown: its first span, or else the final answer of the run.
    #[must_use]
    pub fn place(&self, finding: Option<&Finding>) -> Option<&Place> {
        let spans = finding.into_iter().flat_map(|finding| finding.span_ids.first());
        spans.map(String::as_str).chain([self.final_span_id]).find_map(|span| self.places.get(span))
    }
}

/// How much a verdict weighs: wrong answers are errors, limits are warnings.
#[must_use]
pub const fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Found(Rule::UndefinedTool | Rule::ArgsMismatch | Rule::ErrorHidden) => "error",
        Verdict::Found(Rule::TimeoutExceeded | Rule::RetryOverLimit) => "warning",
        Verdict::Normal => "none",
    }
}

/// The phrase of that key.
pub(super) fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("machine_words.j2", context! { key, ..values }).trim().to_owned()
}

/// What a finding says in one line.
pub(super) fn told(texts: &Texts, finding: &Finding) -> String {
    let tool = plain_short(&finding.tool_name, NAME_CHARS);
    format!("{}: {tool} · {}", finding.rule.verdict().label(), against(texts, finding).join(" · "))
}

/// What a baseline says of a finding; empty when it counts.
pub(super) fn standing(texts: &Texts, standing: &Standing) -> String {
    match standing {
        Standing::Unasked | Standing::New => String::new(),
        Standing::Known => phrase(texts, "known", context! {}),
        Standing::Accepted(reason) => phrase(texts, "accepted", context! { reason => plain(reason) }),
        Standing::Dismissed(reason) => {
            let said = review::said(texts, ReviewKind::Dismissed);
            phrase(texts, "dismissed", context! { said, reason => plain(reason) })
        }
    }
}

/// Runs by verdict, and those that could not be judged, in one line.
pub(super) fn counts(texts: &Texts, report: &MachineReport<'_>) -> String {
    let verdict = |run: &MachineRun<'_>| run.view.diagnosis.verdict;
    let mut text = phrase(texts, "runs", context! { count => report.runs.len() });
    for one in Verdict::ALL {
        let count = report.runs.iter().filter(|run| verdict(run) == one).count();
        if count > 0 {
            write!(text, " · {} {count}", one.label()).expect("writing to a String cannot fail");
        }
    }
    let (dismissed, known): (Vec<_>, Vec<_>) = report
        .runs
        .iter()
        .filter(|run| verdict(run) != Verdict::Normal && !run.counts())
        .partition(|run| run.standings.iter().all(|(standing, _)| matches!(standing, Standing::Dismissed(_))));
    let more = context! { unjudged => report.unjudged.len(), known => known.len(), dismissed => dismissed.len() };
    let more = phrase(texts, "counts_more", more);
    if more.is_empty() { text } else { format!("{text} {more}") }
}
