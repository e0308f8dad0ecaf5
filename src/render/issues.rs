//! What could not be read as it stands, in words: reasons, the list on standard error, the last line.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use super::Texts;
use super::layout::plain;
use super::words::{captures, phrase};
use crate::model::{Coverage, IssueCode, Severity};

/// An issue as it is told on standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldIssue {
    /// The file as given.
    pub source: String,
    /// Line from 1; 0 for the file as a whole.
    pub line: u64,
    /// What kind.
    pub code: IssueCode,
    /// Its reason in words.
    pub reason: String,
}

/// What `ingest` came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IngestSummary {
    /// Files read now.
    pub files: u64,
    /// Files that were read before and have not changed.
    pub unchanged: u64,
    /// Lines of the files read now.
    pub lines: u64,
    /// Lines left out.
    pub lines_skipped: u64,
    /// Spans kept.
    pub spans_kept: u64,
    /// Spans left out because of an issue.
    pub spans_skipped: u64,
    /// Spans met before.
    pub spans_redelivered: u64,
    /// Spans of other operations, by operation; the empty name is that of spans without one.
    pub dropped: BTreeMap<String, u64>,
    /// Number of issues.
    pub issues: u64,
    /// Traces that have a span of the files read now.
    pub traces: u64,
    /// Wall time in seconds.
    pub seconds: f64,
    /// Spans that are the same call as a span around them.
    pub spans_merged: u64,
    /// What all runs of the store let the rules check; none when that is as it was before.
    pub coverage: Option<Coverage>,
    /// Conventions of calls without arguments, each with the setting that makes it record them, when one is known.
    pub captures: Vec<(String, Option<String>)>,
}

/// The reason of an issue of this code; `detail` is what the code leaves open.
#[must_use]
pub fn reason(texts: &Texts, code: IssueCode, detail: &str) -> String {
    #[derive(Serialize)]
    struct Values<'a> {
        code: &'a str,
        detail: &'a str,
    }
    let rendered = texts.render("issue_reasons.j2", Values { code: code.as_str(), detail: &plain(detail) });
    rendered.trim_end().to_owned()
}

/// The list of issues for standard error: those given, and how many there are in all.
#[must_use]
pub fn skipped_lines(texts: &Texts, issues: &[ToldIssue], total: u64) -> String {
    #[derive(Serialize)]
    struct Row {
        place: String,
        mark: &'static str,
        reason: String,
    }
    #[derive(Serialize)]
    struct Values {
        issues: Vec<Row>,
        total: u64,
    }
    let issues = issues
        .iter()
        .map(|issue| Row {
            place: match issue.line {
                0 => plain(&issue.source).into_owned(),
                line => format!("{}:{line}", plain(&issue.source)),
            },
            mark: match issue.code.severity() {
                Severity::DataLoss => "✗",
                Severity::Warning => "!",
                Severity::Info => "·",
            },
            reason: issue.reason.clone(),
        })
        .collect();
    texts.render("skipped_lines.j2", Values { issues, total })
}

/// The last line of `ingest`.
#[must_use]
pub fn ingest_summary(texts: &Texts, summary: &IngestSummary) -> String {
    #[derive(Serialize)]
    struct Values<'a> {
        #[serde(flatten)]
        summary: &'a IngestSummary,
        dropped: Vec<(String, u64)>,
        spans_dropped: u64,
        seconds: String,
        coverage: Option<String>,
        capture_lines: Vec<String>,
    }
    texts.render(
        "ingest_summary.j2",
        Values {
            summary,
            dropped: summary.dropped.iter().map(|(name, count)| (plain(name).into_owned(), *count)).collect(),
            spans_dropped: summary.dropped.values().sum(),
            coverage: summary.coverage.map(|coverage| phrase(texts, "coverage", context! { c => Serde(coverage) })),
            capture_lines: captures(texts, &summary.captures),
            seconds: format!("{:.2}", summary.seconds),
        },
    )
}

/// How many values of each kind (`ingest::mask::MaskKind`) `ingest --mask` replaced.
#[must_use]
pub fn masked(texts: &Texts, counts: &BTreeMap<&'static str, u64>) -> String {
    texts.render("masked.j2", context! { counts => counts, total => counts.values().sum::<u64>() })
}
