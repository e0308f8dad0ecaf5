//! The report as Markdown: plain tables and lists, no HTML, foreign text escaped.

use std::fmt::Write as _;

use minijinja::context;
use minijinja::value::Serde;

use super::Texts;
use super::layout::{plain, plain_short};
use super::review;
use super::terminal::{
    ARGUMENT_CHARS, NAME_CHARS, Report, RunView, UnjudgedView, against, agent_name, also_found, assumption_lines,
    draft_of, measured, short_time, shown_arguments, verdict_counts,
};
use super::words::{captures, phrase, word};
use crate::model::{Finding, Verdict};

/// Text for a table cell or a line: on one line, and with every sign that Markdown would read escaped, so that
/// it makes no markup, no HTML, no link and no second cell.
#[must_use]
pub fn cell(text: &str) -> String {
    let plain = plain(text);
    let text = plain.trim();
    let mut out = String::with_capacity(text.len() + 8);
    let marker = list_marker(text);
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        let read = match c {
            '|' | '`' | '*' | '<' | '>' | '[' | ']' | '\\' | '#' | '~' | '&' | '$' => true,
            // Inside a word it is a letter, and names stay readable and searchable.
            '_' => !(before.is_alphanumeric() && rest.starts_with(char::is_alphanumeric)),
            ':' => rest.starts_with("//"),
            '.' => before.eq_ignore_ascii_case(&'w') && text[..at].to_ascii_lowercase().ends_with("www"),
            _ => false,
        };
        if read || marker == Some(at) {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// Where the sign stands that would make a list or an underline of a line: `- `, `+ `, `===`, `1. `, `1) `.
fn list_marker(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = text.as_bytes().get(digits)?;
    let marks = if digits == 0 { matches!(sign, b'-' | b'+' | b'=') } else { matches!(sign, b'.' | b')') };
    marks.then_some(digits)
}

/// The report as one Markdown document.
#[must_use]
pub fn report(texts: &Texts, report: &Report<'_>) -> String {
    let mut document = Document { texts, out: String::new() };
    document.counts(report);
    for run in report.runs.iter().filter(|run| run.diagnosis.verdict != Verdict::Normal && !run.folded) {
        document.attention(run);
    }
    document.normal(report);
    document.unjudged(&report.unjudged);
    document.foot(report);
    document.out
}

struct Document<'a> {
    texts: &'a Texts,
    out: String,
}

impl Document<'_> {
    fn line(&mut self, text: &str) {
        writeln!(self.out, "{text}").expect("writing to a String cannot fail");
    }

    fn word(&self, key: &str) -> String {
        word(self.texts, key)
    }

    fn row(&mut self, cells: &[String]) {
        self.line(&format!("| {} |", cells.join(" | ")));
    }

    fn header(&mut self, cells: &[String]) {
        self.row(cells);
        self.line(&format!("|{}", "---|".repeat(cells.len())));
    }

    fn counts(&mut self, report: &Report<'_>) {
        let title = self.word("report_title");
        self.line(&format!("# {title}\n"));
        if report.runs.is_empty() && report.unjudged.is_empty() {
            let text = self.word("no_runs");
            self.line(&text);
            return;
        }
        let runs = phrase(self.texts, "runs", context! { count => report.runs.len() });
        self.line(&format!("{runs}\n"));
        self.header(&[self.word("verdict"), self.word("count")]);
        for (verdict, count) in verdict_counts(report) {
            self.row(&[cell(verdict.label()), count.to_string()]);
        }
        if !report.unjudged.is_empty() {
            self.row(&[self.word("unjudged_label"), report.unjudged.len().to_string()]);
        }
    }

    fn attention(&mut self, run: &RunView<'_>) {
        let diagnosis = run.diagnosis;
        self.line(&format!("\n## {} · {}\n", diagnosis.verdict.label(), cell(&diagnosis.trace_id)));
        self.line(&format!("{}\n", cell(&diagnosis.summary)));
        let facts = [
            ("agent", cell(&agent_name(self.texts, diagnosis))),
            ("time", cell(&short_time(&run.start_time))),
            ("also", also_found(diagnosis)),
            ("fix", diagnosis.fix_target.map_or("", |fix| fix.label()).to_owned()),
        ];
        for (key, text) in facts.into_iter().filter(|(_, text)| !text.is_empty()) {
            let label = self.word(key);
            self.line(&format!("- {label}: {text}"));
        }
        self.line("");
        let header = ["verdict", "tool", "span", "measured", "status", "defined"].map(|key| self.word(key));
        self.header(&header);
        for finding in &diagnosis.findings {
            self.finding(run, finding);
        }
        for arguments in diagnosis.findings.iter().filter_map(shown_arguments) {
            let label = self.word("arguments");
            self.line(&format!("\n{label}: {}", cell(&plain_short(arguments, ARGUMENT_CHARS))));
        }
        self.reviews(&diagnosis.findings);
        self.notes(&diagnosis.notes);
        self.draft(run);
    }

    fn finding(&mut self, run: &RunView<'_>, finding: &Finding) {
        let defined = against(self.texts, finding).join(", ");
        for span_id in &finding.span_ids {
            let (measured, status) = measured(self.texts, run, finding, span_id);
            self.row(&[
                finding.rule.verdict().label().to_owned(),
                cell(&plain_short(&finding.tool_name, NAME_CHARS)),
                cell(span_id),
                measured,
                status.to_owned(),
                cell(&defined),
            ]);
        }
    }

    /// What people said of the findings.
    fn reviews(&mut self, findings: &[Finding]) {
        let reviewed: Vec<_> =
            findings.iter().filter_map(|finding| Some((finding, finding.review.as_ref()?))).collect();
        if !reviewed.is_empty() {
            self.line("");
        }
        for (finding, said) in reviewed {
            let tool = plain_short(&finding.tool_name, NAME_CHARS);
            let text = format!("{} · {tool} · {}", finding.rule.verdict().label(), review::mark(self.texts, said));
            let label = review::label(self.texts);
            self.line(&format!("- {label}: {}", cell(&text)));
        }
    }

    fn notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        self.line("");
        for note in notes {
            self.line(&format!("- {}", cell(note)));
        }
    }

    fn draft(&mut self, run: &RunView<'_>) {
        let Some((title, diff)) = draft_of(self.texts, run) else { return };
        let label = self.word("draft");
        // A fence is longer than any run of backticks inside it.
        let longest = diff.iter().flat_map(|(_, line)| line.split(|c| c != '`').map(str::len)).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&format!("\n{label}: {}\n\n{fence}diff", cell(&title)));
        for (sign, text) in diff {
            self.line(&format!("{sign} {text}"));
        }
        self.line(&fence);
    }

    fn normal(&mut self, report: &Report<'_>) {
        let normal: Vec<&RunView<'_>> =
            report.runs.iter().filter(|run| run.diagnosis.verdict == Verdict::Normal).collect();
        if normal.is_empty() {
            return;
        }
        let key = if report.show_all { "normal_listed" } else { "normal_hidden" };
        let title = phrase(self.texts, key, context! { count => normal.len() });
        if !report.show_all {
            self.line(&format!("\n{}", cell(&title)));
            return;
        }
        self.line(&format!("\n## {title}\n"));
        self.header(&["trace", "time", "agent", "summary", "notes"].map(|key| word(self.texts, key)));
        for run in normal {
            self.row(&[
                cell(&run.diagnosis.trace_id),
                cell(&short_time(&run.start_time)),
                cell(&agent_name(self.texts, run.diagnosis)),
                cell(&run.diagnosis.summary),
                cell(&run.diagnosis.notes.join(" ")),
            ]);
        }
    }

    fn unjudged(&mut self, unjudged: &[UnjudgedView]) {
        if unjudged.is_empty() {
            return;
        }
        let title = phrase(self.texts, "unjudged", context! { count => unjudged.len() });
        self.line(&format!("\n## {title}\n"));
        self.header(&["trace", "time", "calls", "reason"].map(|key| word(self.texts, key)));
        for run in unjudged {
            let reason = cell(&self.word(&run.reason));
            let time = cell(&short_time(&run.start_time));
            self.row(&[cell(&run.trace_id), time, run.tool_calls.to_string(), reason]);
        }
    }

    fn foot(&mut self, report: &Report<'_>) {
        let title = self.word("coverage_title");
        let coverage = phrase(self.texts, "coverage", context! { c => Serde(report.coverage) });
        self.line(&format!("\n## {title}\n\n{coverage}"));
        for capture in captures(self.texts, &report.captures) {
            self.line(&format!("\n{}", cell(&capture)));
        }
        let title = self.word("assumptions_title");
        self.line(&format!("\n## {title}\n"));
        for line in assumption_lines(self.texts, &report.assumptions) {
            self.line(&format!("- {}", cell(&line)));
        }
    }
}
