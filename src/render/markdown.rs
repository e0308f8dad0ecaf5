//! The report as Markdown: plain tables and lists, no HTML, foreign text escaped.

use std::fmt::Write as _;

use minijinja::context;
use minijinja::value::Serde;

use super::Texts;
use super::layout::{plain, thousands};
use super::terminal::{
    Report, RunView, UnjudgedView, against, assumption_lines, draft_diff, short_time, shown_arguments, verdict_counts,
};
use super::words::{phrase, word};
use crate::model::{Finding, Verdict};

/// Text for a table cell or a line: on one line, and with every sign that Markdown would read escaped.
#[must_use]
pub fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).trim().chars() {
        if matches!(c, '|' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '\\' | '#' | '~' | '&') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// The report as one Markdown document.
#[must_use]
pub fn report(texts: &Texts, report: &Report<'_>) -> String {
    let mut document = Document { texts, out: String::new() };
    document.counts(report);
    for run in report.runs.iter().filter(|run| run.diagnosis.verdict != Verdict::Normal) {
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
        self.header(&[self.word("verdict"), self.word("count")]);
        for (verdict, count) in verdict_counts(report) {
            self.row(&[cell(verdict.label()), count.to_string()]);
        }
        if !report.unjudged.is_empty() {
            let label = phrase(self.texts, "unjudged_count", context! { count => report.unjudged.len() });
            let (label, count) = label.rsplit_once(' ').unwrap_or((&label, ""));
            self.row(&[label.to_owned(), count.to_owned()]);
        }
    }

    fn attention(&mut self, run: &RunView<'_>) {
        let diagnosis = run.diagnosis;
        self.line(&format!("\n## {} · {}\n", diagnosis.verdict.label(), &diagnosis.trace_id));
        self.line(&format!("{}\n", cell(&diagnosis.summary)));
        let agent = diagnosis.agent_name.clone().unwrap_or_else(|| self.word("nobody"));
        let also = diagnosis.also_found.iter().map(|verdict| verdict.label()).collect::<Vec<_>>().join(", ");
        let facts = [
            ("agent", cell(&agent)),
            ("time", short_time(&run.start_time)),
            ("also", also),
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
            self.line(&format!("\n{label}: {}", cell(arguments)));
        }
        self.notes(&diagnosis.notes);
        self.draft(run);
    }

    fn finding(&mut self, run: &RunView<'_>, finding: &Finding) {
        let defined = against(self.texts, finding).join(", ");
        for span_id in &finding.span_ids {
            let (measured, status) = match run.calls.get(span_id) {
                Some((duration_ms, status)) => (format!("{}ms", thousands(*duration_ms)), status.as_str().to_owned()),
                None => (self.word("final"), run.diagnosis.final_status.as_str().to_owned()),
            };
            self.row(&[
                finding.rule.verdict().label().to_owned(),
                cell(&finding.tool_name),
                span_id.clone(),
                measured,
                status,
                cell(&defined),
            ]);
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
        let (Some(draft), Some((tool, today))) = (&run.diagnosis.description_draft, run.described) else { return };
        let title = phrase(self.texts, "draft_for", context! { tool => cell(tool) });
        let (label, hint) = (self.word("draft"), self.word("draft_hint"));
        let diff = draft_diff(today, draft);
        // A fence is longer than any run of backticks inside it.
        let longest = diff.iter().flat_map(|(_, line)| line.split(|c| c != '`').map(str::len)).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(&format!("\n{label}: {title} · {hint}\n\n{fence}diff"));
        for (sign, text) in diff {
            self.line(&format!("{sign} {}", plain(&text)));
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
            let agent = run.diagnosis.agent_name.clone().unwrap_or_else(|| self.word("nobody"));
            self.row(&[
                run.diagnosis.trace_id.clone(),
                short_time(&run.start_time),
                cell(&agent),
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
            self.row(&[run.trace_id.clone(), short_time(&run.start_time), run.tool_calls.to_string(), reason]);
        }
    }

    fn foot(&mut self, report: &Report<'_>) {
        let title = self.word("coverage_title");
        let coverage = phrase(self.texts, "coverage", context! { c => Serde(report.coverage) });
        self.line(&format!("\n## {title}\n\n{coverage}"));
        if report.coverage.with_arguments < report.coverage.tool_calls {
            let capture = cell(&self.word("capture"));
            self.line(&format!("\n{capture}"));
        }
        let title = self.word("assumptions_title");
        self.line(&format!("\n## {title}\n"));
        for line in assumption_lines(self.texts, &report.assumptions) {
            self.line(&format!("- {}", cell(&line)));
        }
    }
}
