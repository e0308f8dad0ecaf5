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
use super::review;
use super::words::{captures, phrase, word};
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
    /// Conventions of calls without arguments, each with the setting that makes it record them, when one is known.
    pub captures: Vec<(String, Option<String>)>,
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
    /// Duration in milliseconds and status of the calls that findings rest on, by span id. A call that stands in
    /// messages only has no duration, and a status where they say so.
    pub calls: &'a BTreeMap<String, (Option<i64>, Option<Status>)>,
    /// Tool and its description as it stands, when there is a draft.
    pub described: Option<(&'a str, &'a str)>,
    /// The model that wrote the draft; none for one that was made by rule.
    pub drafted_by: Option<&'a str>,
    /// Whether it is only counted: a baseline has all that was found in it.
    pub folded: bool,
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
/// Longest name, key or path that a report shows, in characters.
pub(super) const NAME_CHARS: usize = 120;
/// Longest arguments that a report shows, in characters; the JSON output has them in full.
pub(super) const ARGUMENT_CHARS: usize = 400;

/// The report in lines of at most `style.width` cells.
#[must_use]
pub fn report(texts: &Texts, report: &Report<'_>, style: Style) -> String {
    let mut page = Page { texts, style, out: String::new() };
    page.counts(report);
    for run in report.runs.iter().filter(|run| run.diagnosis.verdict != Verdict::Normal && !run.folded) {
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
                let source = plain_short(set.source.as_deref().unwrap_or_default(), NAME_CHARS);
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

/// The same to the minute, where there is little room.
pub(super) fn minute(start_time: &str) -> String {
    start_time.get(..16).unwrap_or(start_time).replace('T', " ")
}

/// The agent of the final answer span, or that it has no name.
pub(super) fn agent_name(texts: &Texts, diagnosis: &Diagnosis) -> String {
    diagnosis.agent_name.as_ref().map_or_else(|| word(texts, "nobody"), |name| plain_short(name, NAME_CHARS))
}

/// Labels of the verdicts that hold besides the first.
pub(super) fn also_found(diagnosis: &Diagnosis) -> String {
    diagnosis.also_found.iter().map(|verdict| verdict.label()).collect::<Vec<_>>().join(", ")
}

/// What the definition says against a finding.
pub(super) fn against(texts: &Texts, finding: &Finding) -> Vec<String> {
    let integer = |wanted: &dyn Fn(&Evidence) -> bool| match finding.evidence.iter().find(|e| wanted(e)) {
        Some(Evidence { value: EvidenceValue::Integer(value), .. }) => *value,
        _ => 0,
    };
    let defined = |field: &str| integer(&|e| e.table == "tool_definitions" && e.field == field);
    match finding.rule {
        Rule::UndefinedTool => vec![word(texts, "undefined")],
        Rule::ArgsMismatch => {
            let keys =
                finding.missing_keys.iter().map(|key| plain_short(key, NAME_CHARS)).collect::<Vec<_>>().join(", ");
            let missing = (!keys.is_empty()).then(|| phrase(texts, "missing", context! { keys }));
            let types = finding.type_errors.iter().map(|error| plain_short(error, NAME_CHARS));
            missing.into_iter().chain(types).collect()
        }
        Rule::TimeoutExceeded => {
            let gap = finding.timeout_gap_ms.unwrap_or_default();
            vec![phrase(texts, "timeout", context! { limit => defined("timeout_ms"), gap })]
        }
        Rule::RetryOverLimit => {
            let length = finding.run_length.unwrap_or_default();
            vec![phrase(texts, "retries", context! { length, limit => defined("max_retries") })]
        }
        Rule::ErrorHidden => {
            let count = integer(&|e| e.table == "spans" && e.agg.is_some());
            vec![phrase(texts, "unrecovered", context! { count })]
        }
    }
}

/// Duration and status of a span of a finding. The final answer of a hidden error is no call: it has a status only.
pub(super) fn measured(texts: &Texts, run: &RunView<'_>, finding: &Finding, span_id: &str) -> (String, &'static str) {
    let is_final = finding.rule == Rule::ErrorHidden && finding.span_ids.last().is_some_and(|last| last == span_id);
    match run.calls.get(span_id) {
        Some((duration_ms, status)) => {
            let in_messages = || word(texts, "in_messages");
            let duration = duration_ms.map_or_else(in_messages, |duration_ms| format!("{}ms", thousands(duration_ms)));
            (duration, status.map_or("-", Status::as_str))
        }
        None if is_final => (word(texts, "final"), run.diagnosis.final_status.as_str()),
        // The caller gave no figures: none are better than invented ones.
        None => ("-".to_owned(), "-"),
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
            self.finding(finding, run);
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
        let rows = [
            (label("also"), also_found(diagnosis)),
            (label("agent"), agent_name(self.texts, diagnosis)),
            (label("trace"), diagnosis.trace_id.clone()),
            (label("time"), short_time(&run.start_time)),
            (label("summary"), diagnosis.summary.clone()),
        ];
        for (label, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
            self.labelled(label, text, Ansi::new());
        }
    }

    /// What a finding says, and its spans, one row each.
    fn finding(&mut self, finding: &Finding, run: &RunView<'_>) {
        let label = word(self.texts, "evidence");
        let tool = plain_short(&finding.tool_name, NAME_CHARS);
        let head = format!("{tool} · {}", against(self.texts, finding).join(" · "));
        self.labelled(&label, &head, Ansi::new());
        let row = |indent: &str, span_id: &str| {
            let (duration, status) = measured(self.texts, run, finding, span_id);
            format!("{indent}{}{}  {status}", pad_end(&plain_short(span_id, 32), 16), pad_start(&duration, 12))
        };
        // In a narrow window the rows move to the left before anything is cut.
        let wide = " ".repeat(LABEL + 4);
        let fits = finding.span_ids.iter().all(|span_id| width(&row(&wide, span_id)) <= self.style.cells());
        let indent = if fits { wide.as_str() } else { "    " };
        let mut rows: Vec<String> = finding.span_ids.iter().map(|span_id| row(indent, span_id)).collect();
        if let Some(arguments) = shown_arguments(finding) {
            let arguments = plain_short(arguments, ARGUMENT_CHARS);
            rows.push(format!("{indent}{} {arguments}", word(self.texts, "arguments")));
        }
        for row in rows {
            let row = truncate_to_width(&row, self.style.cells());
            self.line(&row);
        }
        if let Some(review) = &finding.review {
            let label = review::label(self.texts);
            self.labelled(&label, &review::mark(self.texts, review), Ansi::new().bold());
        }
    }

    fn draft(&mut self, run: &RunView<'_>) {
        let Some((title, diff)) = draft_of(self.texts, run) else { return };
        let label = word(self.texts, "draft");
        self.labelled(&label, &title, Ansi::new());
        for (sign, line) in diff {
            let color = match sign {
                '-' => AnsiColor::Red.on_default(),
                '+' => AnsiColor::Green.on_default(),
                _ => Ansi::new(),
            };
            let first = format!("    {sign} ");
            for wrapped in wrap(&line, self.style.cells(), &first, "      ") {
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
                let agent = agent_name(self.texts, run.diagnosis);
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
            let calls = phrase(self.texts, "tool_calls", context! { count => run.tool_calls });
            let text = format!("{} {} {calls}", run.trace_id, short_time(&run.start_time));
            self.wrapped(&text, "  ", "    ");
            let reason = word(self.texts, &run.reason);
            self.wrapped(&reason, "    ", "    ");
        }
    }

    fn foot(&mut self, report: &Report<'_>) {
        self.line("");
        let coverage = phrase(self.texts, "coverage", context! { c => Serde(report.coverage) });
        self.wrapped(&coverage, "", "  ");
        for capture in captures(self.texts, &report.captures) {
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

/// The title of the draft of a run, and the draft against the description as it stands.
pub(super) fn draft_of(texts: &Texts, run: &RunView<'_>) -> Option<(String, Vec<(char, String)>)> {
    let draft = run.diagnosis.description_draft.as_ref()?;
    let hint = word(texts, "draft_hint");
    // Without a description to compare with, the whole draft is new.
    let Some((tool, today)) = run.described else { return Some((hint, draft_diff("", draft))) };
    let title = phrase(texts, "draft_for", context! { tool, writer => run.drafted_by });
    Some((format!("{title} · {hint}"), draft_diff(today, draft)))
}

/// Sentences of the description that go, stay and come.
pub(super) fn draft_diff(today: &str, draft: &str) -> Vec<(char, String)> {
    // A description is one paragraph: its sentences are the lines of the diff.
    let sentences = |text: &str| {
        let mut lines = String::new();
        for line in text.split('\n') {
            for sentence in line.split_inclusive(". ").map(str::trim).filter(|sentence| !sentence.is_empty()) {
                // Made harmless before the comparison, which would break lines at a carriage return too.
                lines.push_str(&plain(sentence));
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
