//! One run as a tree with times, its findings in full, and the SQL that re-derives each.

use anstyle::{AnsiColor, Style as Ansi};

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain, plain_short, thousands, truncate_to_width, width, wrap};
use super::terminal::{against, short_time, shown_arguments};
use super::words::word;
use crate::model::{Diagnosis, Finding, Status};

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

/// Room that the bar of a span gets at least, and at most a third of the width.
const MIN_BAR: usize = 10;

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

    fn head(&mut self, explanation: &Explanation<'_>) {
        match (explanation.diagnosis, explanation.unjudged) {
            (Some(diagnosis), _) => {
                let headline = format!("■ {}", diagnosis.verdict.label());
                let headline = self.style.paint(Ansi::new().bold(), &headline);
                self.line(&headline);
                let agent = diagnosis.agent_name.clone().unwrap_or_else(|| word(self.texts, "nobody"));
                self.wrapped(&format!("{} · {agent}", diagnosis.trace_id), "  ", "  ");
                self.wrapped(&diagnosis.summary, "  ", "  ");
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
        let total = nodes.iter().map(|node| node.offset_ms + node.duration_ms).max().unwrap_or(0).max(1);
        let bar = (self.style.cells() / 4).max(MIN_BAR);
        for (index, node) in nodes.iter().enumerate() {
            let guide = guide(nodes, index);
            let marks: String = node.findings.iter().map(|finding| format!("[{}]", finding + 1)).collect();
            let status = if node.status == Status::Error { "✗" } else { "✓" };
            let duration = format!("{}ms", thousands(node.duration_ms));
            let right = format!(" {} {}", pad_start(&duration, 10), waterfall(node, total, bar));
            let name = if node.name.is_empty() { word(self.texts, "nobody") } else { plain_short(&node.name, 80) };
            let left = format!("{guide}{status} {name}{}{marks}", if marks.is_empty() { "" } else { " " });
            let room = self.style.cells().saturating_sub(width(&right));
            let row = format!("{}{right}", pad_end(&truncate_to_width(&left, room), room));
            let ansi = match (node.status, node.findings.is_empty()) {
                (Status::Error, _) => AnsiColor::Red.on_default(),
                (Status::Ok, false) => AnsiColor::Yellow.on_default(),
                (Status::Ok, true) => Ansi::new(),
            };
            let painted = self.style.paint(ansi, row.trim_end());
            self.line(&painted);
            let below = " ".repeat(width(&guide) + 2);
            let place = format!("{below}{} · {} · {}", node.span_id, short_time(&node.start_time), plain(&node.place));
            let place = truncate_to_width(&place, self.style.cells());
            self.line(&place);
            if let Some(arguments) = &node.tool_args {
                let text = format!("{below}{}", plain_short(arguments, 400));
                let text = truncate_to_width(&text, self.style.cells());
                self.line(&text);
            }
        }
    }

    fn findings(&mut self, diagnosis: &Diagnosis, derivations: &[Derivation]) {
        for (index, finding) in diagnosis.findings.iter().enumerate() {
            self.line("");
            let label = finding.rule.verdict().label();
            let first = format!("[{}] ", index + 1);
            let rest = " ".repeat(width(&first));
            for line in wrap(label, self.style.cells(), &first, &rest) {
                let painted = self.style.paint(Ansi::new().bold(), &line);
                self.line(&painted);
            }
            self.finding(finding, &rest);
            if let Some(derivation) = derivations.get(index) {
                let title = word(self.texts, "rederive");
                self.wrapped(&title, &rest, &rest);
                for line in derivation.sql.lines() {
                    self.line(&format!("{rest}  {line}"));
                }
            }
        }
    }

    fn finding(&mut self, finding: &Finding, indent: &str) {
        let mut rows = vec![
            (word(self.texts, "tool"), finding.tool_name.clone()),
            (word(self.texts, "span"), finding.span_ids.join(" ")),
            (word(self.texts, "defined"), against(self.texts, finding).join(", ")),
        ];
        if let Some(arguments) = shown_arguments(finding) {
            rows.push((word(self.texts, "arguments"), plain_short(arguments, 400)));
        }
        for (label, text) in rows {
            let first = format!("{indent}{}", pad_end(&label, 8));
            let rest = " ".repeat(width(&first));
            self.wrapped(&text, &first, &rest);
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

/// The lines that join a span to its parent: `│` where a sibling of an ancestor still comes.
fn guide(nodes: &[Node], index: usize) -> String {
    let depth = nodes[index].depth;
    let more_at =
        |level: usize| nodes[index + 1..].iter().take_while(|node| node.depth >= level).any(|node| node.depth == level);
    let mut guide = String::new();
    for level in 1..=depth {
        guide.push_str(match (level == depth, more_at(level)) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    guide
}

/// A bar from start to end of the span, on the scale of the run; every span shows at least one block.
fn waterfall(node: &Node, total: i64, cells: usize) -> String {
    let scale = |ms: i64| {
        let place = i128::from(ms.max(0)) * cells as i128 / i128::from(total);
        usize::try_from(place).unwrap_or(cells).min(cells)
    };
    let start = scale(node.offset_ms).min(cells - 1);
    let end = scale(node.offset_ms + node.duration_ms).clamp(start + 1, cells);
    format!("{}{}{}", "·".repeat(start), "█".repeat(end - start), "·".repeat(cells - end))
}
