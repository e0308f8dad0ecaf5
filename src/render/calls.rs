//! Words for recorded calls: what to do about each, the reports of `calls check` and `calls compare`, the list of
//! checks.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain, plain_short, thousands, width, wrap};
use super::markdown::cell;
use crate::model::{CallValue, CallVerdict, CallVerdictKind};

/// Longest text of a cell in Markdown, in characters.
const CELL_CHARS: usize = 200;
/// How far the lines below a call stand in.
const INDENT: &str = "    ";

/// What a compliant call was held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// A list of allowed values.
    List,
    /// An upper limit.
    Limit,
    /// Both.
    ListAndLimit,
    /// Nothing but that it is there, as it must be.
    Presence,
    /// It is absent, as it may be.
    Absent,
    /// Nothing.
    Nothing,
}

/// What the sentence on a call depends on; what a verdict does not need is left empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ActionFacts {
    /// What is said of the call.
    pub verdict: Option<CallVerdictKind>,
    /// compliant: what it was held against.
    pub checked: Option<Checked>,
    /// Name of the tool.
    pub tool: String,
    /// Name of the argument.
    pub argument: String,
    /// Its value.
    pub value: String,
    /// value_not_allowed: the first value allowed; empty when there is none but empty text.
    pub allowed: String,
    /// number_over_limit: the limit.
    pub limit: String,
    /// number_over_limit: `over_limit`, `negative` or `not_a_number`.
    pub problem: String,
    /// duplicate_call: how many rows have the number.
    pub count: i64,
}

/// The sentence on what to do about a call.
#[must_use]
pub fn next_action(texts: &Texts, facts: &ActionFacts) -> String {
    texts.render("call_actions.j2", facts).trim().to_owned()
}

/// Whether a text ends as a sentence for people has to.
#[must_use]
pub fn is_polite(text: &str) -> bool {
    let endings = include_str!("templates/ko/polite_endings.txt").lines().filter(|line| !line.starts_with('#'));
    endings.into_iter().any(|ending| text.trim_end().ends_with(ending))
}

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("calls.j2", context! { key, ..values }).trim_end().to_owned()
}

fn word(texts: &Texts, key: &str) -> String {
    phrase(texts, key, context! {})
}

/// What a check came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Calls, those that could not be judged included.
    pub calls: i64,
    /// Arguments specified.
    pub specs: i64,
    /// Calls left out at load.
    pub left_out: i64,
    /// Calls that could not be judged.
    pub unjudged: i64,
    /// How often each verdict stands, in the order of the output.
    pub verdicts: [i64; 6],
}

impl Totals {
    fn said(&self) -> impl Iterator<Item = (CallVerdictKind, i64)> {
        CallVerdictKind::ALL.into_iter().zip(self.verdicts).filter(|(_, count)| *count > 0)
    }

    fn count(&self, kind: CallVerdictKind) -> i64 {
        self.said().find(|(said, _)| *said == kind).map_or(0, |(_, count)| count)
    }
}

/// Writes the report of a check, verdict by verdict as they come: none is held.
pub struct Report<'t> {
    texts: &'t Texts,
    totals: Totals,
    style: Style,
    markdown: bool,
    show_all: bool,
    last: Option<CallVerdictKind>,
}

impl<'t> Report<'t> {
    /// A report as a table for the terminal, or as Markdown; calls that keep to their specification are listed with
    /// `show_all`.
    #[must_use]
    pub const fn new(texts: &'t Texts, totals: Totals, style: Style, markdown: bool, show_all: bool) -> Self {
        Self { texts, totals, style, markdown, show_all, last: None }
    }

    /// What stands in front.
    #[must_use]
    pub fn head(&self) -> String {
        let Totals { calls, specs, left_out, unjudged, .. } = self.totals;
        let totals = phrase(self.texts, "totals", context! { calls, specs, left_out, unjudged });
        if self.markdown {
            let mut text = format!("# {}\n\n{totals}\n", word(self.texts, "title"));
            if self.totals.said().next().is_some() {
                text += &format!("\n| {} | {} |\n|---|---|\n", word(self.texts, "verdict"), word(self.texts, "count"));
            }
            for (kind, count) in self.totals.said() {
                text += &format!("| {} | {count} |\n", cell(kind.label()));
            }
            return text;
        }
        let counts = self
            .totals
            .said()
            .map(|(kind, count)| phrase(self.texts, "verdict_count", context! { label => kind.label(), count }));
        let counts: Vec<String> = counts.collect();
        let line = if counts.is_empty() { word(self.texts, "nothing") } else { counts.join(" · ") };
        let lines = [totals, line].into_iter().flat_map(|line| wrap(&line, self.style.cells(), "", ""));
        lines.map(|line| line + "\n").collect()
    }

    /// One verdict; empty for one that is not listed.
    #[must_use]
    pub fn entry(&mut self, verdict: &CallVerdict, tool: &str) -> String {
        let kind = verdict.verdict;
        if kind == CallVerdictKind::Compliant && !self.show_all {
            return String::new();
        }
        let mut text = String::new();
        if self.last != Some(kind) {
            self.last = Some(kind);
            let group =
                phrase(self.texts, "group", context! { label => kind.label(), count => self.totals.count(kind) });
            if self.markdown {
                let columns = ["call", "basis", "action"].map(|key| word(self.texts, key)).join(" | ");
                text += &format!("\n## {group}\n\n| {columns} |\n|---|---|---|\n");
            } else {
                text += &format!("\n■ {group}\n");
            }
        }
        let what = self.what(verdict, tool);
        if self.markdown {
            let cells = [verdict.call_no.as_str(), &what, &verdict.next_action];
            let cells = cells.map(|text| cell(&plain_short(text, CELL_CHARS))).join(" | ");
            return text + &format!("| {cells} |\n");
        }
        let first = format!("{} · {what}", plain_short(&verdict.call_no, CELL_CHARS));
        let lines = wrap(&first, self.style.cells(), "  ", INDENT).into_iter();
        let lines = lines.chain(wrap(&verdict.next_action, self.style.cells(), INDENT, INDENT));
        lines.for_each(|line| {
            text += &line;
            text.push('\n');
        });
        text
    }

    /// What stands behind.
    #[must_use]
    pub fn foot(&self) -> String {
        let hidden = self.totals.count(CallVerdictKind::Compliant);
        if self.show_all || hidden == 0 {
            return String::new();
        }
        let text = phrase(self.texts, "hidden", context! { count => hidden });
        wrap(&text, self.style.cells(), "", "").into_iter().fold("\n".to_owned(), |text, line| text + &line + "\n")
    }

    /// The call and what it was held against, in short.
    fn what(&self, verdict: &CallVerdict, tool: &str) -> String {
        let text = |field: &str| {
            let found = verdict.evidence.iter().find(|cell| cell.field == field).map(|cell| &cell.value);
            found.and_then(|value| match value {
                CallValue::Text(text) | CallValue::Number(text) => Some(text.clone()),
                CallValue::Null | CallValue::Boolean(_) | CallValue::Count(_) => None,
            })
        };
        let count = verdict.evidence.iter().find_map(|cell| match cell.value {
            CallValue::Count(count) => Some(count),
            _ => None,
        });
        let values = context! {
            verdict => verdict.verdict.as_str(), tool, argument => verdict.checked_arg.as_deref(),
            value => text("arg_value"),
            allowed => text("allowed_values"), limit => text("max_number"), count => count.unwrap_or_default(),
        };
        phrase(self.texts, "what", values)
    }
}

/// A call that could not be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnjudgedView {
    /// File and line, or what stands for them.
    pub place: String,
    /// Number of the call.
    pub call_no: String,
    /// Name of the tool.
    pub tool: String,
    /// Name of the argument.
    pub argument: Option<String>,
}

/// The calls that could not be judged, for standard error: those given, and how many there are in all.
#[must_use]
pub fn unjudged(texts: &Texts, calls: &[UnjudgedView], total: i64) -> String {
    let mut lines = vec![phrase(texts, "unjudged_calls", context! { total })];
    lines.extend(calls.iter().map(|call| {
        let place = plain(&call.place);
        let values = context! {
            place, call => call.call_no.as_str(), tool => call.tool.as_str(), argument => call.argument.as_deref(),
        };
        phrase(texts, "unjudged_call", values)
    }));
    let more = total - calls.len() as i64;
    if more > 0 {
        lines.push(phrase(texts, "unjudged_more", context! { more }));
    }
    lines.join("\n") + "\n"
}

/// That the arguments of so many spans cannot be told.
#[must_use]
pub fn spans_left_out(texts: &Texts, count: i64) -> String {
    phrase(texts, "spans_left_out", context! { count }) + "\n"
}

/// That a check was kept.
#[must_use]
pub fn kept(texts: &Texts, run: &str) -> String {
    phrase(texts, "kept", context! { run }) + "\n"
}

/// A check that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunView {
    /// Names it.
    pub call_run: String,
    /// When, Korean time.
    pub checked_at: String,
    /// Calls.
    pub calls: i64,
    /// Arguments specified.
    pub specs: i64,
    /// Calls left out at load.
    pub left_out: i64,
    /// Calls that could not be judged.
    pub unjudged: i64,
    /// Problems met while reading.
    pub issues: i64,
    /// How often each verdict stands in it.
    pub verdicts: BTreeMap<&'static str, i64>,
}

impl RunView {
    fn deviating(&self) -> i64 {
        self.verdicts
            .iter()
            .filter(|(name, _)| **name != CallVerdictKind::Compliant.as_str())
            .map(|(_, count)| count)
            .sum()
    }

    /// Date and time up to the second.
    fn time(&self) -> String {
        self.checked_at.chars().take(19).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
    }
}

/// The list of checks that were kept.
#[must_use]
pub fn list(texts: &Texts, runs: &[RunView]) -> String {
    if runs.is_empty() {
        return word(texts, "no_runs") + "\n";
    }
    let head = ["run", "time", "calls", "deviating"].map(|key| word(texts, key));
    let rows =
        runs.iter().map(|run| [run.call_run.clone(), run.time(), thousands(run.calls), thousands(run.deviating())]);
    let rows: Vec<[String; 4]> = std::iter::once(head).chain(rows).collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let (run, time, calls, deviating) = (widest(0), widest(1), widest(2), widest(3));
    let line = |row: &[String; 4]| {
        let cells =
            [pad_end(&row[0], run), pad_end(&row[1], time), pad_start(&row[2], calls), pad_start(&row[3], deviating)];
        cells.join("  ") + "\n"
    };
    rows.iter().map(line).collect()
}

/// How calls changed, in the order told.
pub const CHANGES: [&str; 5] = ["newly_deviating", "repaired", "still_deviating", "gone", "new"];

/// Calls that changed in one way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ChangeView {
    /// One of [`CHANGES`].
    pub change: String,
    /// How many calls.
    pub calls: i64,
    /// The same under each reason; a call with two reasons counts under both.
    pub reasons: BTreeMap<String, i64>,
    /// The first of them, or all.
    pub list: Vec<ChangedCall>,
}

/// A call that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedCall {
    /// Number of the call.
    pub call_no: String,
    /// What was said of it.
    pub before: Vec<String>,
    /// What is said of it.
    pub after: Vec<String>,
}

/// Two checks side by side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The earlier.
    pub before: RunView,
    /// The later.
    pub after: RunView,
    /// What the figures are worth.
    pub note: String,
    /// Each of [`CHANGES`] in order.
    pub changes: Vec<ChangeView>,
}

/// What the figures of a comparison are worth (seed, 2주차).
#[must_use]
pub fn demonstration(texts: &Texts) -> String {
    word(texts, "demonstration")
}

/// The comparison as a table for the terminal.
#[must_use]
pub fn compare(texts: &Texts, comparison: &Comparison, style: Style) -> String {
    let mut lines = wrap(&compared(texts, comparison), style.cells(), "", "");
    lines.push(String::new());
    for change in &comparison.changes {
        lines.extend(wrap(&change_line(texts, change), style.cells(), "", INDENT));
        for call in &change.list {
            let (from, to) = (reasons(texts, &call.before), reasons(texts, &call.after));
            let text = phrase(texts, "changed_call", context! { call => call.call_no.as_str(), from, to });
            lines.extend(wrap(&text, style.cells(), "  ", INDENT));
        }
        let more = change.calls - change.list.len() as i64;
        if more > 0 {
            lines.extend(wrap(&phrase(texts, "more", context! { more }), style.cells(), "  ", INDENT));
        }
    }
    lines.push(String::new());
    lines.extend(wrap(&comparison.note, style.cells(), "", ""));
    lines.join("\n") + "\n"
}

/// The same as Markdown.
#[must_use]
pub fn compare_markdown(texts: &Texts, comparison: &Comparison) -> String {
    let mut text = format!("# {}\n\n{}\n\n", word(texts, "compare_title"), compared(texts, comparison));
    let head = ["change", "reason", "count"].map(|key| word(texts, key)).join(" | ");
    text += &format!("| {head} |\n|---|---|---|\n");
    for change in &comparison.changes {
        let label = word(texts, &change.change);
        text += &format!("| {label} | | {} |\n", change.calls);
        for (reason, calls) in ordered(&change.reasons) {
            text += &format!("| {label} | {} | {calls} |\n", reason_label(texts, reason));
        }
    }
    for change in comparison.changes.iter().filter(|change| !change.list.is_empty()) {
        text += &format!("\n## {}\n\n", change_line(texts, &ChangeView { reasons: BTreeMap::new(), ..change.clone() }));
        for call in &change.list {
            let (from, to) = (reasons(texts, &call.before), reasons(texts, &call.after));
            let told = phrase(texts, "changed_call", context! { call => call.call_no.as_str(), from, to });
            text += &format!("- {}\n", cell(&told));
        }
        let more = change.calls - change.list.len() as i64;
        if more > 0 {
            text += &format!("- {}\n", phrase(texts, "more", context! { more }));
        }
    }
    text + &format!("\n{}\n", comparison.note)
}

fn compared(texts: &Texts, comparison: &Comparison) -> String {
    let Comparison { before, after, .. } = comparison;
    let values = context! {
        before => before.call_run.as_str(), before_time => before.time(), before_calls => before.calls,
        after => after.call_run.as_str(), after_time => after.time(), after_calls => after.calls,
    };
    phrase(texts, "compared", values)
}

fn change_line(texts: &Texts, change: &ChangeView) -> String {
    let counted =
        ordered(&change.reasons).map(|(reason, calls)| format!("{} {}", reason_label(texts, reason), thousands(calls)));
    let reasons = counted.collect::<Vec<_>>().join(" · ");
    phrase(texts, "change_line", context! { label => word(texts, &change.change), count => change.calls, reasons })
}

/// Reasons in the order of the output, what is no verdict last.
fn ordered(reasons: &BTreeMap<String, i64>) -> impl Iterator<Item = (&str, i64)> {
    let place = |reason: &str| CallVerdictKind::ALL.iter().position(|kind| kind.as_str() == reason);
    let mut ordered: Vec<(&str, i64)> = reasons.iter().map(|(reason, calls)| (reason.as_str(), *calls)).collect();
    ordered.sort_by_key(|(reason, _)| place(reason).unwrap_or(usize::MAX));
    ordered.into_iter()
}

fn reasons(texts: &Texts, names: &[String]) -> String {
    names.iter().map(|name| reason_label(texts, name)).collect::<Vec<_>>().join(", ")
}

fn reason_label(texts: &Texts, name: &str) -> String {
    CallVerdictKind::from_name(name).map_or_else(|| word(texts, name), |kind| kind.label().to_owned())
}
