//! The report for people at a terminal: what needs attention first, normal runs as a count.
//!
//! Every line fits the width in terminal cells; without colour it says the same.

use std::collections::BTreeMap;

use anstyle::{AnsiColor, Style as Ansi};
use minijinja::context;
use minijinja::value::Serde;
use similar::{ChangeTag, TextDiff};

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain, plain_short, thousands, truncate_to_width, width, wrap};
use super::words::{phrase, word};
use crate::model::{Coverage, Diagnosis, Evidence, EvidenceValue, Finding, Rule, Status, Verdict};

/// What a report shows.
#[derive(Debug, Clone)]
pub struct Report<'a> {
    /// Runs that were judged, in order.
    pub runs: Vec<RunView<'a>>,
    /// Runs that could not be judged.
    pub unjudged: Vec<UnjudgedView>,
    /// What the runs let the rules check.
    pub coverage: Coverage,
    /// What the verdicts rest on.
    pub assumptions: Assumptions,
    /// Whether normal runs are listed.
    pub show_all: bool,
}

/// One run.
#[derive(Debug, Clone)]
pub struct RunView<'a> {
    /// What is said of it.
    pub diagnosis: &'a Diagnosis,
    /// Start, ISO 8601 with +09:00.
    pub start_time: String,
    /// Duration in milliseconds and status of the calls that findings rest on, by span id.
    pub calls: &'a BTreeMap<String, (i64, Status)>,
    /// Tool and its description as it stands, when there is a draft.
    pub described: Option<(&'a str, &'a str)>,
}

/// One run that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnjudgedView {
    /// The run.
    pub trace_id: String,
    /// Start, ISO 8601 with +09:00.
    pub start_time: String,
    /// Number of tool calls.
    pub tool_calls: i64,
    /// `no_invoke_agent` or `no_root_invoke_agent`.
    pub reason: String,
}

/// What the verdicts rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assumptions {
    /// Name of the rule set.
    pub rule_set: String,
    /// sha256 of its files.
    pub rule_set_sha256: String,
    /// Tool sets that were in force.
    pub tool_sets: Vec<ToolSetView>,
}

/// One tool set and the runs judged with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSetView {
    /// sha256; none for runs without definitions.
    pub sha256: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// Number of definitions.
    pub tools: Option<i64>,
    /// Number of runs.
    pub traces: i64,
}

/// How much of a sha256 is shown.
pub(super) const SHORT_SHA: usize = 12;
/// Width of the label column.
const LABEL: usize = 10;

/// The report in lines of at most `style.width` cells.
#[must_use]
pub fn report(texts: &Texts, report: &Report<'_>, style: Style) -> String {
    let mut page = Page { texts, style, out: String::new() };
    page.counts(report);
    for run in report.runs.iter().filter(|run| run.diagnosis.verdict != Verdict::Normal) {
        page.attention(run);
    }
    page.normal(report);
    page.unjudged(&report.unjudged);
    page.foot(report);
    page.out
}

/// Runs by verdict, those that occur, most important first.
pub(super) fn verdict_counts(report: &Report<'_>) -> Vec<(Verdict, usize)> {
    let count = |verdict| report.runs.iter().filter(|run| run.diagnosis.verdict == verdict).count();
    Verdict::ALL.into_iter().map(|verdict| (verdict, count(verdict))).filter(|(_, count)| *count > 0).collect()
}

/// What the verdicts rest on, a sentence each.
pub(super) fn assumption_lines(texts: &Texts, assumptions: &Assumptions) -> Vec<String> {
    let short = |sha: &str| sha.chars().take(SHORT_SHA).collect::<String>();
    let mut lines: Vec<String> =
        ["assume_final", "assume_retries", "assume_error"].iter().map(|key| word(texts, key)).collect();
    let sha = short(&assumptions.rule_set_sha256);
    lines.push(phrase(texts, "assume_rules", context! { set => assumptions.rule_set.as_str(), sha }));
    for set in &assumptions.tool_sets {
        lines.push(match &set.sha256 {
            None => phrase(texts, "assume_no_tools", context! { traces => set.traces }),
            Some(sha) => {
                let source = plain(set.source.as_deref().unwrap_or_default()).into_owned();
                let values = context! {
                    source, sha => short(sha), tools => set.tools.unwrap_or_default(), traces => set.traces
                };
                phrase(texts, "assume_tools", values)
            }
        });
    }
    lines
}

/// Date and time to the second.
pub(super) fn short_time(start_time: &str) -> String {
    start_time.get(..19).unwrap_or(start_time).replace('T', " ")
}

/// What the definition says against a finding, and the arguments where they matter.
pub(super) fn against(texts: &Texts, finding: &Finding) -> Vec<String> {
    let integer = |field: &str| {
        finding.evidence.iter().find(|evidence| evidence.field == field && evidence.table == "tool_definitions").map_or(
            0,
            |evidence| match evidence.value {
                EvidenceValue::Integer(value) => value,
                _ => 0,
            },
        )
    };
    match finding.rule {
        Rule::UndefinedTool => vec![word(texts, "undefined")],
        Rule::ArgsMismatch => {
            let keys = finding.missing_keys.join(", ");
            let missing = (!keys.is_empty()).then(|| phrase(texts, "missing", context! { keys }));
            missing.into_iter().chain(finding.type_errors.iter().cloned()).collect()
        }
        Rule::TimeoutExceeded => {
            let gap = finding.timeout_gap_ms.unwrap_or_default();
            vec![phrase(texts, "timeout", context! { limit => integer("timeout_ms"), gap })]
        }
        Rule::RetryOverLimit => {
            let length = finding.run_length.unwrap_or_default();
            vec![phrase(texts, "retries", context! { length, limit => integer("max_retries") })]
        }
        Rule::ErrorHidden => vec![phrase(texts, "unrecovered", context! { count => 0 })],
    }
}

/// The arguments that a finding shows as evidence.
pub(super) fn shown_arguments(finding: &Finding) -> Option<&str> {
    finding.evidence.iter().find(|evidence| evidence.field == "tool_args").and_then(|evidence| match evidence {
        Evidence { value: EvidenceValue::Text(text), .. } => Some(text.as_str()),
        _ => None,
    })
}

struct Page<'a> {
    texts: &'a Texts,
    style: Style,
    out: String,
}

impl Page<'_> {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// Text under a label, wrapped, in one colour.
    fn labelled(&mut self, label: &str, text: &str, ansi: Ansi) {
        let first = format!("  {}", pad_end(label, LABEL));
        let rest = " ".repeat(width(&first));
        let room = self.style.cells();
        for (index, line) in wrap(&plain(text), room, &first, &rest).into_iter().enumerate() {
            let lead = if index == 0 { &first } else { &rest };
            let body = line.strip_prefix(lead.as_str()).unwrap_or(line.trim_start());
            let lead = if index == 0 && label.is_empty() { rest.as_str() } else { lead };
            let painted = format!("{lead}{}", self.style.paint(ansi, body));
            self.line(&painted);
        }
    }

    fn wrapped(&mut self, text: &str, first: &str, rest: &str) {
        for line in wrap(&plain(text), self.style.cells(), first, rest) {
            self.line(&line);
        }
    }

    fn counts(&mut self, report: &Report<'_>) {
        if report.runs.is_empty() && report.unjudged.is_empty() {
            let text = word(self.texts, "no_runs");
            self.wrapped(&text, "", "");
            return;
        }
        let mut parts = vec![phrase(self.texts, "runs", context! { count => report.runs.len() })];
        for (verdict, count) in verdict_counts(report) {
            parts.push(phrase(self.texts, "verdict_count", context! { label => verdict.label(), count }));
        }
        if !report.unjudged.is_empty() {
            parts.push(phrase(self.texts, "unjudged_count", context! { count => report.unjudged.len() }));
        }
        // A part breaks as a whole where that is possible.
        let mut current = String::new();
        for part in parts {
            let joined = if current.is_empty() { part.clone() } else { format!("{current} · {part}") };
            if width(&joined) > self.style.cells() && !current.is_empty() {
                self.wrapped(&current.clone(), "", "  ");
                current = format!("· {part}");
            } else {
                current = joined;
            }
        }
        self.wrapped(&current, "", "  ");
    }

    fn attention(&mut self, run: &RunView<'_>) {
        let diagnosis = run.diagnosis;
        let ansi = color_of(diagnosis.verdict).bold();
        self.line("");
        for line in wrap(diagnosis.verdict.label(), self.style.cells(), "■ ", "  ") {
            let painted = self.style.paint(ansi, &line);
            self.line(&painted);
        }
        self.run_facts(run);
        for finding in &diagnosis.findings {
            self.finding(finding, run.calls);
        }
        if let Some(fix) = diagnosis.fix_target {
            let label = word(self.texts, "fix");
            self.labelled(&label, fix.label(), Ansi::new().bold());
        }
        self.draft(run);
        self.notes(&diagnosis.notes);
    }

    fn run_facts(&mut self, run: &RunView<'_>) {
        let diagnosis = run.diagnosis;
        let label = |key| word(self.texts, key);
        let also = diagnosis.also_found.iter().map(|verdict| verdict.label()).collect::<Vec<_>>().join(", ");
        let nobody = label("nobody");
        let agent = diagnosis.agent_name.clone().unwrap_or(nobody);
        let rows = [
            (label("also"), also),
            (label("agent"), agent),
            (label("trace"), diagnosis.trace_id.clone()),
            (label("time"), short_time(&run.start_time)),
            (label("summary"), diagnosis.summary.clone()),
        ];
        for (label, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
            self.labelled(label, text, Ansi::new());
        }
    }

    /// The calls of a finding, one row each, with the definition beside the first.
    fn finding(&mut self, finding: &Finding, calls: &BTreeMap<String, (i64, Status)>) {
        let label = word(self.texts, "evidence");
        let head = format!("{} · {}", plain_short(&finding.tool_name, 60), against(self.texts, finding).join(" · "));
        self.labelled(&label, &head, Ansi::new());
        let indent = " ".repeat(LABEL + 4);
        for span_id in &finding.span_ids {
            let row = match calls.get(span_id) {
                Some((duration_ms, status)) => {
                    let duration = pad_start(&format!("{}ms", thousands(*duration_ms)), 12);
                    format!("{indent}{}{duration}  {}", pad_end(span_id, 16), status.as_str())
                }
                None => format!("{indent}{}  {}", pad_end(span_id, 16), word(self.texts, "final")),
            };
            let row = truncate_to_width(&row, self.style.cells());
            self.line(&row);
        }
        if let Some(arguments) = shown_arguments(finding) {
            let text = format!("{indent}{} {}", word(self.texts, "arguments"), plain_short(arguments, 400));
            let text = truncate_to_width(&text, self.style.cells());
            self.line(&text);
        }
    }

    fn draft(&mut self, run: &RunView<'_>) {
        let (Some(draft), Some((tool, today))) = (&run.diagnosis.description_draft, run.described) else { return };
        let label = word(self.texts, "draft");
        let title = phrase(self.texts, "draft_for", context! { tool });
        let text = format!("{title} · {}", word(self.texts, "draft_hint"));
        self.labelled(&label, &text, Ansi::new());
        for (sign, line) in draft_diff(today, draft) {
            let color = match sign {
                '-' => AnsiColor::Red.on_default(),
                '+' => AnsiColor::Green.on_default(),
                _ => Ansi::new(),
            };
            let first = format!("    {sign} ");
            for wrapped in wrap(&plain(&line), self.style.cells(), &first, "      ") {
                let painted = self.style.paint(color, &wrapped);
                self.line(&painted);
            }
        }
    }

    fn notes(&mut self, notes: &[String]) {
        let label = word(self.texts, "notes");
        for (index, note) in notes.iter().enumerate() {
            let label = if index == 0 { label.as_str() } else { "" };
            self.labelled(label, &format!("- {note}"), Ansi::new());
        }
    }

    fn normal(&mut self, report: &Report<'_>) {
        let normal: Vec<&RunView<'_>> =
            report.runs.iter().filter(|run| run.diagnosis.verdict == Verdict::Normal).collect();
        if normal.is_empty() {
            return;
        }
        self.line("");
        let key = if report.show_all { "normal_listed" } else { "normal_hidden" };
        let text = phrase(self.texts, key, context! { count => normal.len() });
        self.wrapped(&text, "", "  ");
        if report.show_all {
            for run in normal {
                let agent = run.diagnosis.agent_name.clone().unwrap_or_else(|| word(self.texts, "nobody"));
                let text = format!("{} {} {agent}", run.diagnosis.trace_id, short_time(&run.start_time));
                self.wrapped(&text, "  ", "    ");
                self.wrapped(&run.diagnosis.summary, "    ", "    ");
                for note in &run.diagnosis.notes {
                    self.wrapped(note, "    - ", "      ");
                }
            }
        }
    }

    fn unjudged(&mut self, unjudged: &[UnjudgedView]) {
        if unjudged.is_empty() {
            return;
        }
        self.line("");
        let title = phrase(self.texts, "unjudged", context! { count => unjudged.len() });
        self.wrapped(&title, "□ ", "  ");
        for run in unjudged {
            let text = format!("{} {}", run.trace_id, short_time(&run.start_time));
            self.wrapped(&text, "  ", "    ");
            let reason = word(self.texts, &run.reason);
            self.wrapped(&reason, "    ", "    ");
        }
    }

    fn foot(&mut self, report: &Report<'_>) {
        self.line("");
        let coverage = phrase(self.texts, "coverage", context! { c => Serde(report.coverage) });
        self.wrapped(&coverage, "", "  ");
        if report.coverage.with_arguments < report.coverage.tool_calls {
            let capture = word(self.texts, "capture");
            self.wrapped(&capture, "  ", "  ");
        }
        let title = word(self.texts, "assumptions_title");
        self.wrapped(&title, "", "  ");
        for line in assumption_lines(self.texts, &report.assumptions) {
            self.wrapped(&line, "  - ", "    ");
        }
    }
}

fn color_of(verdict: Verdict) -> Ansi {
    match verdict {
        Verdict::Found(Rule::UndefinedTool) => AnsiColor::Magenta.on_default(),
        Verdict::Found(Rule::ArgsMismatch) => AnsiColor::Red.on_default(),
        Verdict::Found(Rule::TimeoutExceeded) => AnsiColor::Yellow.on_default(),
        Verdict::Found(Rule::RetryOverLimit) => AnsiColor::Cyan.on_default(),
        Verdict::Found(Rule::ErrorHidden) => AnsiColor::Red.on_default(),
        Verdict::Normal => AnsiColor::Green.on_default(),
    }
}

/// Sentences of the description that go, stay and come.
pub(super) fn draft_diff(today: &str, draft: &str) -> Vec<(char, String)> {
    // A description is one paragraph: its sentences are the lines of the diff.
    let sentences = |text: &str| {
        let mut lines = String::new();
        for sentence in text.split_inclusive(['.', '\n']) {
            let sentence = sentence.trim();
            if !sentence.is_empty() {
                lines.push_str(sentence);
                lines.push('\n');
            }
        }
        lines
    };
    let (today, draft) = (sentences(today), sentences(draft));
    let diff = TextDiff::from_lines(&today, &draft);
    let changes = diff.iter_all_changes().map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        (sign, change.value().trim_end().to_owned())
    });
    changes.collect()
}
