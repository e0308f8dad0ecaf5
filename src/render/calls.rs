//! Words for recorded calls: what to do about each, the reports of `calls check` and `calls compare`, the list of
//! checks.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain, plain_short, short_path, thousands, width, wrap};
use super::markdown::cell;
use crate::model::{CallValue, CallVerdict, CallVerdictKind};

/// Longest text of a cell in Markdown, in characters.
const CELL_CHARS: usize = 200;
/// How far the lines below a call stand in.
const INDENT: &str = "    ";
/// Longest name of an input in a list, in cells.
const NAME_CELLS: usize = 60;

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
    /// Name of the argument; empty when none was checked.
    pub argument: String,
    /// Its value, where it was held against something.
    pub value: String,
    /// compliant, value_not_allowed: the first value allowed; empty when there is none but empty text.
    pub allowed: String,
    /// compliant, number_over_limit: the limit.
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
    /// Rows of calls that could not be read.
    pub unreadable: i64,
    /// Rows of specifications that could not be read.
    pub unreadable_specs: i64,
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
    /// How many calls with one verdict are listed.
    limit: i64,
    last: Option<CallVerdictKind>,
    /// How many calls with the verdict at hand were listed.
    listed: i64,
}

impl<'t> Report<'t> {
    /// A report as a table for the terminal, or as Markdown; calls that keep to their specification are listed with
    /// `show_all`, and of each verdict no more than `limit`.
    #[must_use]
    pub const fn new(
        texts: &'t Texts,
        totals: Totals,
        style: Style,
        markdown: bool,
        show_all: bool,
        limit: i64,
    ) -> Self {
        Self { texts, totals, style, markdown, show_all, limit, last: None, listed: 0 }
    }

    /// What stands in front.
    #[must_use]
    pub fn head(&self) -> String {
        let Totals { calls, specs, left_out, unjudged, unreadable, unreadable_specs, .. } = self.totals;
        let values = context! { calls, specs, left_out, unjudged, unreadable, unreadable_specs };
        let totals = phrase(self.texts, "totals", values);
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

    /// How many more calls there are with the verdict at hand than were listed; empty when there are none.
    fn more(&self) -> String {
        let more = self.last.map_or(0, |kind| self.totals.count(kind)) - self.listed;
        if more <= 0 {
            return String::new();
        }
        let text = phrase(self.texts, "more_rows", context! { more });
        if self.markdown { format!("\n{text}\n") } else { format!("  {text}\n") }
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
            text += &self.more();
            self.last = Some(kind);
            self.listed = 0;
            let group =
                phrase(self.texts, "group", context! { label => kind.label(), count => self.totals.count(kind) });
            if self.markdown {
                let columns = ["call", "basis", "action"].map(|key| word(self.texts, key)).join(" | ");
                text += &format!("\n## {group}\n\n| {columns} |\n|---|---|---|\n");
            } else {
                text += &format!("\n■ {group}\n");
            }
        }
        if self.listed >= self.limit {
            return text;
        }
        self.listed += 1;
        let what = self.what(verdict, tool);
        let call_no = seen(&verdict.call_no);
        if self.markdown {
            let cells = [call_no.as_str(), &what, &verdict.next_action];
            let cells = cells.map(|text| cell(&plain_short(text, CELL_CHARS))).join(" | ");
            return text + &format!("| {cells} |\n");
        }
        let first = format!("{} · {what}", plain_short(&call_no, CELL_CHARS));
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
        let more = self.more();
        if self.show_all || hidden == 0 {
            return more;
        }
        let text = phrase(self.texts, "hidden", context! { count => hidden });
        wrap(&text, self.style.cells(), "", "").into_iter().fold(more + "\n", |text, line| text + &line + "\n")
    }

    /// The call and what it was held against, in short.
    fn what(&self, verdict: &CallVerdict, tool: &str) -> String {
        let text = |field: &str| {
            let found = verdict.evidence.iter().find(|cell| cell.field == field).map(|cell| &cell.value);
            found.and_then(|value| match value {
                CallValue::Text(text) | CallValue::Number(text) => Some(seen(text)),
                CallValue::Null | CallValue::Boolean(_) | CallValue::Count(_) => None,
            })
        };
        let count = verdict.evidence.iter().find_map(|cell| match cell.value {
            CallValue::Count(count) => Some(count),
            _ => None,
        });
        let values = context! {
            verdict => verdict.verdict.as_str(), tool => seen(tool),
            argument => verdict.checked_arg.as_deref().map(seen),
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
    /// Why: a reason of `set_call_unjudged_v1`.
    pub reason: String,
    /// limit_not_held, tool_limit_not_held: the keywords of JSON Schema.
    pub detail: Option<String>,
}

/// How many calls could not be judged, and for which reasons, for standard error.
#[must_use]
pub fn unjudged_head(texts: &Texts, reasons: &[(String, i64)], total: i64) -> String {
    let counted = reasons.iter().map(|(reason, count)| format!("{} {}", word(texts, reason), thousands(*count)));
    let reasons = counted.collect::<Vec<_>>().join(" · ");
    phrase(texts, "unjudged_calls", context! { total, reasons }) + "\n"
}

/// One of them.
#[must_use]
pub fn unjudged_line(texts: &Texts, call: &UnjudgedView) -> String {
    let values = context! {
        place => plain(&call.place), call => seen(&call.call_no), tool => seen(&call.tool),
        argument => call.argument.as_deref().map(seen),
        reason => word(texts, &call.reason), detail => call.detail.as_deref(),
    };
    phrase(texts, "unjudged_call", values) + "\n"
}

/// That there are more of them.
#[must_use]
pub fn unjudged_more(texts: &Texts, more: i64) -> String {
    phrase(texts, "unjudged_more", context! { more }) + "\n"
}

/// What became of a check, or of an input: `kept`, `not_kept`, `nothing_kept`, `store_refused`, `deleted` or
/// `empty_input`, with its name.
#[must_use]
pub fn told_of_run(texts: &Texts, what: &str, name: &str) -> String {
    phrase(texts, what, context! { run => name }) + "\n"
}

/// A text as a cell of CSV: signs that would steer or hide are written out, and no spreadsheet takes it for a formula.
/// Numbers stay as they are.
#[must_use]
pub fn csv_text(text: &str) -> String {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.starts_with(|digit: char| digit.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number { text.to_owned() } else { super::hq::csv_cell(text) }
}

/// A text in which white space around it, or nothing else, can be seen.
fn seen(text: &str) -> String {
    let inner = text.trim();
    if inner.len() == text.len() && !text.is_empty() {
        return text.to_owned();
    }
    let shown =
        |part: &str| part.chars().map(|letter| if letter == ' ' { '\u{2423}' } else { letter }).collect::<String>();
    let start = text.len() - text.trim_start().len();
    let end = (start + inner.len()).min(text.len());
    format!("'{}{inner}{}'", shown(&text[..start]), shown(&text[end..]))
}

/// An input of a check that was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InputView {
    /// `calls` or `specs`.
    pub role: String,
    /// Path as given, or what stands for it.
    pub path: String,
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
    /// What it was given.
    pub inputs: Vec<InputView>,
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

    /// Paths of the inputs of one kind, each in at most `cells`.
    fn paths(&self, role: &str, cells: usize) -> String {
        let paths = self.inputs.iter().filter(|input| input.role == role).map(|input| short_path(&input.path, cells));
        paths.collect::<Vec<_>>().join(", ")
    }

    /// Date and time up to the second.
    fn time(&self) -> String {
        self.checked_at.chars().take(19).map(|letter| if letter == 'T' { ' ' } else { letter }).collect()
    }
}

/// The list of checks that were kept. The inputs stand below a check where the columns have no room for them.
#[must_use]
pub fn list(texts: &Texts, runs: &[RunView], style: Style) -> String {
    if runs.is_empty() {
        return word(texts, "no_runs") + "\n";
    }
    let head = ["run", "time", "calls", "deviating", "unjudged_count", "issues", "calls_from", "specs_from"];
    let head = head.map(|key| word(texts, key));
    let row = |run: &RunView| {
        let counts = [run.calls, run.deviating(), run.unjudged, run.issues].map(thousands);
        let [calls, deviating, unjudged, issues] = counts;
        let (calls_from, specs_from) = (run.paths("calls", NAME_CELLS), run.paths("specs", NAME_CELLS));
        [run.call_run.clone(), run.time(), calls, deviating, unjudged, issues, calls_from, specs_from]
    };
    let rows: Vec<[String; 8]> = std::iter::once(head.clone()).chain(runs.iter().map(row)).collect();
    let widest = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(widest).collect();
    let line = |cells: &[String]| {
        let cells = cells.iter().zip(&widths).enumerate().map(|(column, (text, width))| {
            // The counts stand to the right.
            if (2..6).contains(&column) { pad_start(text, *width) } else { pad_end(text, *width) }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    if widths.iter().sum::<usize>() + 2 * (head.len() - 1) <= style.cells() {
        return rows.iter().map(|row| line(row)).collect();
    }
    let mut text = line(&head[..6]);
    for (run, row) in runs.iter().zip(&rows[1..]) {
        text += &line(&row[..6]);
        for (label, role) in [(&head[6], "calls"), (&head[7], "specs")] {
            let room = style.cells().saturating_sub(width(INDENT) + width(label) + 3);
            let inputs = format!("{label}: {}", run.paths(role, room.min(NAME_CELLS)));
            wrap(&inputs, style.cells(), INDENT, &INDENT.repeat(2)).into_iter().for_each(|line| text += &(line + "\n"));
        }
    }
    text
}

/// How calls changed, in the order told.
pub const CHANGES: [&str; 7] =
    ["newly_deviating", "repaired", "still_deviating", "newly_unjudged", "judged_again", "gone", "new"];

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
            let text = phrase(texts, "changed_call", context! { call => seen(&call.call_no), from, to });
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
            let told = phrase(texts, "changed_call", context! { call => seen(&call.call_no), from, to });
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
