//! One run as a tree with times, its findings in full, and the SQL that re-derives each.

use std::collections::BTreeSet;

use anstyle::{AnsiColor, Style as Ansi};

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain, plain_short, thousands, truncate_to_width, width, wrap};
use super::review;
use super::terminal::{ARGUMENT_CHARS, NAME_CHARS, against, agent_name, also_found, short_time};
use super::words::word;
use crate::model::{Diagnosis, Evidence, EvidenceValue, Finding, Status};

/// A run taken apart.
#[derive(Debug, Clone)]
pub struct Explanation<'a> {
    /// What is said of it; none when it could not be judged.
    pub diagnosis: Option<&'a Diagnosis>,
    /// Why it could not be judged.
    pub unjudged: Option<&'a str>,
    /// Its spans in the order of the tree: parents before children, children by start.
    pub nodes: Vec<Node>,
    /// One statement per finding, in the same order.
    pub derivations: Vec<Derivation>,
}

/// One span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// How many kept ancestors it has.
    pub depth: usize,
    /// `invoke_agent` or `execute_tool`.
    pub operation: String,
    /// Agent or tool; empty when it has no name.
    pub name: String,
    /// The span.
    pub span_id: String,
    /// Its status.
    pub status: Status,
    /// Start, ISO 8601 with +09:00.
    pub start_time: String,
    /// Start after the earliest span, in milliseconds.
    pub offset_ms: i64,
    /// Duration in milliseconds.
    pub duration_ms: i64,
    /// Arguments as recorded.
    pub tool_args: Option<String>,
    /// File and line it came from.
    pub place: String,
    /// The findings that rest on it, counted from 0.
    pub findings: Vec<usize>,
}

/// A statement that finds a finding again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derivation {
    /// SQL for any DuckDB client on the same store.
    pub sql: String,
}

/// Cells that the bar of a span gets at least; else it has a quarter of the width.
const MIN_BAR: usize = 6;
/// Cells of the duration column.
const DURATION: usize = 10;
/// Cells of the label column below a finding.
const LABEL: usize = 8;

/// The explanation in lines of at most `style.width` cells (statements excepted: they are to be copied).
#[must_use]
pub fn explain(texts: &Texts, explanation: &Explanation<'_>, style: Style) -> String {
    let mut page = Page { texts, style, out: String::new() };
    page.head(explanation);
    page.tree(&explanation.nodes);
    match explanation.diagnosis {
        None => {}
        Some(diagnosis) if diagnosis.findings.is_empty() => {
            page.line("");
            let text = word(texts, "no_findings");
            page.wrapped(&text, "", "  ");
        }
        Some(diagnosis) => page.findings(diagnosis, &explanation.derivations),
    }
    if let Some(diagnosis) = explanation.diagnosis {
        page.notes(&diagnosis.notes);
    }
    page.out
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

    fn wrapped(&mut self, text: &str, first: &str, rest: &str) {
        for line in wrap(&plain(text), self.style.cells(), first, rest) {
            self.line(&line);
        }
    }

    fn bold(&mut self, text: &str, first: &str, rest: &str) {
        for line in wrap(text, self.style.cells(), first, rest) {
            let painted = self.style.paint(Ansi::new().bold(), &line);
            self.line(&painted);
        }
    }

    fn labelled(&mut self, key: &str, text: &str, indent: &str) {
        let first = format!("{indent}{} ", pad_end(&word(self.texts, key), LABEL));
        let rest = " ".repeat(width(&first));
        self.wrapped(text, &first, &rest);
    }

    fn head(&mut self, explanation: &Explanation<'_>) {
        match (explanation.diagnosis, explanation.unjudged) {
            (Some(diagnosis), _) => {
                self.bold(diagnosis.verdict.label(), "■ ", "  ");
                let fix = diagnosis.fix_target.map_or("", |fix| fix.label()).to_owned();
                let rows = [
                    ("also", also_found(diagnosis)),
                    ("agent", agent_name(self.texts, diagnosis)),
                    ("trace", diagnosis.trace_id.clone()),
                    ("summary", diagnosis.summary.clone()),
                    ("fix", fix),
                    ("draft", diagnosis.description_draft.clone().unwrap_or_default()),
                ];
                for (key, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
                    self.labelled(key, text, "  ");
                }
            }
            (None, Some(reason)) => {
                let text = word(self.texts, reason);
                self.wrapped(&text, "□ ", "  ");
            }
            (None, None) => {}
        }
        self.line("");
    }

    fn tree(&mut self, nodes: &[Node]) {
        let total = nodes.iter().map(|node| node.offset_ms.saturating_add(node.duration_ms)).max().unwrap_or(0).max(1);
        let bar = (self.style.cells() / 4).max(MIN_BAR);
        let room = self.style.cells().saturating_sub(DURATION + bar + 2);
        // A third of the room, at three cells a level, keeps two thirds for the name.
        let guides = guides(nodes, (room / 9).max(1));
        for (node, guide) in nodes.iter().zip(guides) {
            let row = self.row(node, &guide, room, &waterfall(node, total, bar));
            let ansi = match (node.status, node.findings.is_empty()) {
                (Status::Error, _) => AnsiColor::Red.on_default(),
                (Status::Ok, false) => AnsiColor::Yellow.on_default(),
                (Status::Ok, true) => Ansi::new(),
            };
            let painted = self.style.paint(ansi, &row);
            self.line(&painted);
            self.below(node, &" ".repeat(width(&guide) + 2));
        }
    }

    /// The line of a span: guide, status sign, name and marks to the left, duration and bar to the right.
    fn row(&self, node: &Node, guide: &str, room: usize, bar: &str) -> String {
        let marks: String = node.findings.iter().map(|finding| format!("[{}]", finding.saturating_add(1))).collect();
        let marks = if marks.is_empty() { marks } else { format!(" {}", truncate_to_width(&marks, room / 3)) };
        let sign = if node.status == Status::Error { "✗" } else { "✓" };
        let name = if node.name.is_empty() { word(self.texts, "nobody") } else { plain_short(&node.name, NAME_CHARS) };
        // The name gives way to the marks: they are what leads to the findings.
        let left = truncate_to_width(&format!("{guide}{sign} {name}"), room.saturating_sub(width(&marks)));
        let duration = pad_start(&format!("{}ms", thousands(node.duration_ms)), DURATION);
        let row = format!("{} {duration} {bar}", pad_end(&format!("{left}{marks}"), room));
        truncate_to_width(&row, self.style.cells()).trim_end().to_owned()
    }

    /// What else is known of a span, below its line.
    fn below(&mut self, node: &Node, indent: &str) {
        let facts = [
            plain_short(&node.span_id, 32),
            plain_short(&node.operation, 32),
            node.status.as_str().to_owned(),
            short_time(&node.start_time),
            plain_short(&node.place, NAME_CHARS),
        ];
        self.wrapped(&facts.join(" · "), indent, indent);
        if let Some(arguments) = &node.tool_args {
            let text = format!("{indent}{}", plain_short(arguments, ARGUMENT_CHARS));
            let text = truncate_to_width(&text, self.style.cells());
            self.line(&text);
        }
    }

    fn findings(&mut self, diagnosis: &Diagnosis, derivations: &[Derivation]) {
        for (index, finding) in diagnosis.findings.iter().enumerate() {
            self.line("");
            let first = format!("[{}] ", index + 1);
            let rest = " ".repeat(width(&first));
            self.bold(finding.rule.verdict().label(), &first, &rest);
            self.finding(finding, &rest);
            if let Some(derivation) = derivations.get(index) {
                let title = word(self.texts, "rederive");
                self.wrapped(&title, &rest, &rest);
                for line in derivation.sql.lines() {
                    let text = format!("{rest}  {}", plain(line));
                    self.line(&text);
                }
            }
        }
    }

    fn finding(&mut self, finding: &Finding, indent: &str) {
        self.labelled("tool", &plain_short(&finding.tool_name, NAME_CHARS), indent);
        self.labelled("span", &finding.span_ids.join(" "), indent);
        self.labelled("defined", &against(self.texts, finding).join(", "), indent);
        if let Some(review) = &finding.review {
            let first = format!("{indent}{} ", pad_end(&review::label(self.texts), LABEL));
            let rest = " ".repeat(width(&first));
            self.wrapped(&review::mark(self.texts, review), &first, &rest);
        }
        for (index, evidence) in finding.evidence.iter().enumerate() {
            // An empty label keeps the column.
            self.labelled(if index == 0 { "evidence" } else { "" }, &evidence_line(evidence), indent);
        }
    }

    fn notes(&mut self, notes: &[String]) {
        if notes.is_empty() {
            return;
        }
        self.line("");
        for note in notes {
            self.wrapped(note, "- ", "  ");
        }
    }
}

/// A cell or a count as `table[row].column = value`, the way a person would look it up.
pub(super) fn evidence_line(evidence: &Evidence) -> String {
    let value = match &evidence.value {
        EvidenceValue::Text(text) => plain_short(text, ARGUMENT_CHARS),
        EvidenceValue::Integer(number) => number.to_string(),
        EvidenceValue::Null => "null".to_owned(),
    };
    let row = evidence.row.as_ref().map(|row| format!("[{}]", plain_short(row, NAME_CHARS))).unwrap_or_default();
    match evidence.agg {
        Some(agg) => format!("{agg}({}{row}.{}) = {value}", evidence.table, evidence.field),
        None => format!("{}{row}.{} = {value}", evidence.table, evidence.field),
    }
}

/// The lines that join each span to its parent: `│` where a sibling of an ancestor still comes.
///
/// Of a span deeper than `levels` only the nearest levels are drawn, behind `…`.
fn guides(nodes: &[Node], levels: usize) -> Vec<String> {
    // From the end: the levels on which a later span still hangs on the same ancestors.
    let mut open = BTreeSet::new();
    let mut guides: Vec<String> = Vec::with_capacity(nodes.len());
    for node in nodes.iter().rev() {
        let hidden = node.depth.saturating_sub(levels);
        let mut guide = String::from(if hidden > 0 { "…" } else { "" });
        for level in hidden + 1..=node.depth {
            guide.push_str(match (level == node.depth, open.contains(&level)) {
                (true, true) => "├─ ",
                (true, false) => "└─ ",
                (false, true) => "│  ",
                (false, false) => "   ",
            });
        }
        guides.push(guide);
        // What is deeper than this span belongs to spans below it, not to those before it.
        let _deeper = open.split_off(&node.depth);
        open.insert(node.depth);
    }
    guides.reverse();
    guides
}

/// A bar from start to end of the span, on the scale of the run; every span shows at least one block.
fn waterfall(node: &Node, total: i64, cells: usize) -> String {
    let scale = |ms: i64| {
        let place = i128::from(ms.max(0)) * cells as i128 / i128::from(total);
        usize::try_from(place).unwrap_or(cells).min(cells)
    };
    let start = scale(node.offset_ms).min(cells - 1);
    let end = scale(node.offset_ms.saturating_add(node.duration_ms)).clamp(start + 1, cells);
    format!("{}{}{}", "·".repeat(start), "█".repeat(end - start), "·".repeat(cells - end))
}
