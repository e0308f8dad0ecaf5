//! What changed between two selections of runs, for people: as lines for a terminal, or as Markdown.

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::layout::{Style, pad_end, pad_start, plain_short, thousands, width, wrap};
use super::markdown::cell;
use super::terminal::NAME_CHARS;
use crate::model::Verdict;
use crate::model::comparison::{
    AgentChange, Change, Comparison, FindingChange, Regression, Selected, SharePart, Table, Test, Trend,
};

/// Pairs that a report names; the JSON output has all.
const LISTED: usize = 10;
/// Width of the label column.
const LABEL: usize = 8;

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("compare_words.j2", context! { key, ..values }).trim().to_owned()
}

fn word(texts: &Texts, key: &str) -> String {
    phrase(texts, key, context! {})
}

/// The comparison in lines of at most `style.width` cells.
#[must_use]
pub fn report(texts: &Texts, comparison: &Comparison, style: Style) -> String {
    let mut page = Page { texts, style, out: String::new() };
    page.side("base", &comparison.base);
    page.side("head", &comparison.head);
    if let Some(pairs) = pairs_line(texts, comparison) {
        page.wrapped(&pairs, "", "  ");
    }
    page.title("by_verdict");
    for row in &comparison.verdicts {
        page.wrapped(row.verdict.label(), "■ ", "  ");
        page.change(&row.change, row.verdict != Verdict::Normal);
    }
    let [worse, better, same] = sorted(comparison);
    for (key, rows) in [("worse", worse), ("better", better), ("same", same)] {
        page.findings(key, &rows);
    }
    page.agents(&comparison.agents);
    page.pairs(comparison);
    page.out.push('\n');
    for line in foot(texts, comparison) {
        page.wrapped(&line, "", "  ");
    }
    page.out
}

/// Rows of tools and verdicts that got worse, better, or neither; those beyond chance first.
fn sorted(comparison: &Comparison) -> [Vec<&FindingChange>; 3] {
    let of = |trends: &[Trend]| {
        let mut rows: Vec<&FindingChange> =
            comparison.findings.iter().filter(|row| trends.contains(&row.change.trend)).collect();
        // A stable sort: the order of priority stays within both parts.
        rows.sort_by_key(|row| !row.change.beyond_chance);
        rows
    };
    [of(&[Trend::New, Trend::More]), of(&[Trend::Gone, Trend::Fewer]), of(&[Trend::Same, Trend::NotComparable])]
}

fn pairs_line(texts: &Texts, comparison: &Comparison) -> Option<String> {
    let pairs = comparison.pairs.as_ref()?;
    let values = context! {
        pairs => pairs.pairs, left_out => pairs.left_out,
        wrong => pairs.newly_wrong.len(), repaired => pairs.repaired.len(),
    };
    Some(phrase(texts, "pairs", values))
}

fn foot(texts: &Texts, comparison: &Comparison) -> Vec<String> {
    let test = match comparison.test {
        Test::FisherExact => "fisher",
        Test::McNemarExact => "mcnemar",
    };
    let mut lines = regressions(texts, comparison);
    lines.extend([test, "method", "intervals"].map(|key| word(texts, key)));
    lines
}

/// What got worse beyond chance, a sentence for each table in which a row did; or one that nothing did.
#[must_use]
pub fn regressions(texts: &Texts, comparison: &Comparison) -> Vec<String> {
    let name = |row: &Regression| {
        let label = row.verdict.map_or("", Verdict::label);
        match row.table {
            Table::Verdicts => label.to_owned(),
            Table::Findings => {
                let tool = plain_short(row.tool_name.as_deref().unwrap_or_default(), NAME_CHARS);
                format!("{tool} · {label}")
            }
            Table::Agents => agent(texts, row.agent_name.as_deref()),
        }
    };
    let tables = [
        (Table::Verdicts, "regression"),
        (Table::Findings, "regression_findings"),
        (Table::Agents, "regression_agents"),
    ];
    let sentence = |(table, key): (Table, &str)| {
        let names: Vec<String> = comparison.regressions.iter().filter(|row| row.table == table).map(name).collect();
        (!names.is_empty()).then(|| phrase(texts, key, context! { names => names.join(", ") }))
    };
    let lines: Vec<String> = tables.into_iter().filter_map(sentence).collect();
    if lines.is_empty() { vec![word(texts, "no_regression")] } else { lines }
}

/// How many of how many, and per cent with the interval.
fn share(texts: &Texts, part: &SharePart) -> String {
    let counted = format!("{}/{}", thousands(signed(part.runs)), thousands(signed(part.of)));
    match (part.rate, part.interval) {
        (Some(rate), Some([low, high])) => {
            format!("{counted} · {} % ({} ~ {})", percent(rate), percent(low), percent(high))
        }
        _ => format!("{counted} · {}", word(texts, "no_runs")),
    }
}

/// The difference in percentage points with its interval; empty when there is none.
fn difference(change: &Change) -> String {
    match (change.difference, change.difference_interval) {
        (Some(difference), Some([low, high])) => {
            format!("{} %p ({} ~ {})", points(difference), points(low), points(high))
        }
        _ => String::new(),
    }
}

/// What to make of a difference. `is_bad` says that more of it is worse.
fn meaning(texts: &Texts, change: &Change, is_bad: bool) -> String {
    let more = change.difference.is_some_and(|difference| difference > 0.0);
    let key = match (change.trend, change.beyond_chance) {
        (Trend::NotComparable, _) => "not_comparable",
        (Trend::Same, _) => "unchanged",
        (_, false) => "within_chance",
        _ if more == is_bad => "worse_beyond",
        _ => "better_beyond",
    };
    let [p, corrected] = [change.p, change.p_corrected].map(|p| p.map(p_value).unwrap_or_default());
    let trend = word(texts, trend_key(change.trend));
    phrase(texts, key, context! { p, corrected, trend, base_only => change.base_only, head_only => change.head_only })
}

const fn trend_key(trend: Trend) -> &'static str {
    match trend {
        Trend::New => "trend_new",
        Trend::Gone => "trend_gone",
        Trend::More => "trend_more",
        Trend::Fewer => "trend_fewer",
        Trend::Same | Trend::NotComparable => "trend_same",
    }
}

fn percent(rate: f64) -> String {
    format!("{:.1}", rate * 100.0)
}

/// Percentage points with their sign; a proper minus, as in print.
pub(super) fn points(difference: f64) -> String {
    let text = format!("{:+.1}", difference * 100.0);
    match text.strip_prefix('-') {
        Some("0.0") => "0.0".to_owned(),
        Some(digits) => format!("−{digits}"),
        None if text == "+0.0" => "0.0".to_owned(),
        None => text,
    }
}

pub(super) fn p_value(p: f64) -> String {
    if p < 0.001 { "<0.001".to_owned() } else { format!("={p:.3}") }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn agent(texts: &Texts, name: Option<&str>) -> String {
    name.map_or_else(|| word(texts, "nobody"), |name| plain_short(name, NAME_CHARS))
}

fn side_text(texts: &Texts, side: &Selected) -> String {
    let sets: Vec<String> = side
        .tool_sets
        .iter()
        .map(|set| set.as_deref().map_or_else(|| "-".to_owned(), |sha| sha.chars().take(12).collect()))
        .collect();
    let values = context! {
        selection => plain_short(&side.selection, NAME_CHARS), runs => side.runs, calls => side.tool_calls,
        unjudged => side.unjudged, unpaired => side.unpaired,
        dismissed => side.dismissed, rules => side.rule_set.as_str(),
        sets => sets.join(", "),
    };
    phrase(texts, "side", values)
}

struct Page<'a> {
    texts: &'a Texts,
    style: Style,
    out: String,
}

impl Page<'_> {
    fn wrapped(&mut self, text: &str, first: &str, rest: &str) {
        for line in wrap(text, self.style.cells(), first, rest) {
            self.out.push_str(&line);
            self.out.push('\n');
        }
    }

    fn title(&mut self, key: &str) {
        self.out.push('\n');
        let title = word(self.texts, key);
        self.wrapped(&title, "", "  ");
    }

    fn side(&mut self, key: &str, side: &Selected) {
        let first = pad_end(&word(self.texts, key), LABEL - 2);
        let rest = " ".repeat(width(&first));
        let text = side_text(self.texts, side);
        self.wrapped(&text, &first, &rest);
    }

    fn labelled(&mut self, key: &str, text: &str) {
        let first = format!("    {}", pad_end(&word(self.texts, key), LABEL - 2));
        let rest = " ".repeat(width(&first));
        self.wrapped(text, &first, &rest);
    }

    /// Both shares, the difference, and what to make of it.
    fn change(&mut self, change: &Change, is_bad: bool) {
        for (key, part) in [("base", &change.base), ("head", &change.head)] {
            let calls = if is_bad {
                format!(" · {}", phrase(self.texts, "calls", context! { count => part.calls }))
            } else {
                String::new()
            };
            let text = format!("{}{calls}", share(self.texts, part));
            self.labelled(key, &text);
        }
        let meant = meaning(self.texts, change, is_bad);
        let difference = difference(change);
        let text = if difference.is_empty() { meant } else { format!("{difference} · {meant}") };
        self.labelled("difference", &text);
    }

    fn findings(&mut self, key: &str, rows: &[&FindingChange]) {
        if rows.is_empty() {
            return;
        }
        self.title(key);
        for row in rows {
            let tool = plain_short(&row.tool_name, NAME_CHARS);
            self.wrapped(&format!("{tool} · {}", row.verdict.label()), "  ", "    ");
            self.short(&row.change);
        }
    }

    /// Runs from base to head and what to make of it, in one line where it fits.
    fn short(&mut self, change: &Change) {
        let counts = [&change.base, &change.head]
            .map(|part| format!("{}/{}", thousands(signed(part.runs)), thousands(signed(part.of))));
        let moved = format!("{} → {}", pad_start(&counts[0], 7), counts[1]);
        let text = format!("{moved} · {}", meaning(self.texts, change, true));
        self.wrapped(&text, "    ", "      ");
    }

    fn agents(&mut self, rows: &[AgentChange]) {
        if rows.is_empty() {
            return;
        }
        self.title("by_agent");
        for row in rows {
            let name = agent(self.texts, row.agent_name.as_deref());
            self.wrapped(&name, "  ", "    ");
            self.short(&row.change);
        }
    }

    fn pairs(&mut self, comparison: &Comparison) {
        let Some(pairs) = &comparison.pairs else { return };
        for (key, list) in [("newly_wrong", &pairs.newly_wrong), ("repaired", &pairs.repaired)] {
            if list.is_empty() {
                continue;
            }
            self.title(key);
            for [base, head] in list.iter().take(LISTED) {
                let text = if base == head { base.clone() } else { format!("{base} → {head}") };
                self.wrapped(&text, "  ", "    ");
            }
            if list.len() > LISTED {
                let text = phrase(self.texts, "more", context! { count => list.len() - LISTED });
                self.wrapped(&text, "  ", "    ");
            }
        }
    }
}

/// The comparison as one Markdown document.
#[must_use]
pub fn document(texts: &Texts, comparison: &Comparison) -> String {
    let mut lines = vec![format!("# {}", word(texts, "title")), String::new()];
    let row = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let header = |keys: &[&str]| {
        let cells: Vec<String> = keys.iter().map(|key| word(texts, key)).collect();
        [row(&cells), format!("|{}", "---|".repeat(keys.len()))]
    };
    for (key, side) in [("base", &comparison.base), ("head", &comparison.head)] {
        lines.push(format!("- {}: {}", word(texts, key), cell(&side_text(texts, side))));
    }
    lines.extend(pairs_line(texts, comparison).map(|line| format!("- {}", cell(&line))));
    let values = |change: &Change, is_bad: bool| {
        [share(texts, &change.base), share(texts, &change.head), difference(change), meaning(texts, change, is_bad)]
    };
    lines.extend([String::new(), format!("## {}", word(texts, "by_verdict")), String::new()]);
    lines.extend(header(&["verdict", "base", "head", "difference", "meaning"]));
    for one in &comparison.verdicts {
        let mut cells = vec![cell(one.verdict.label())];
        cells.extend(values(&one.change, one.verdict != Verdict::Normal));
        lines.push(row(&cells));
    }
    let [worse, better, same] = sorted(comparison);
    for (key, rows) in [("worse", worse), ("better", better), ("same", same)] {
        if rows.is_empty() {
            continue;
        }
        lines.extend([String::new(), format!("## {}", word(texts, key)), String::new()]);
        lines.extend(header(&["tool", "verdict", "base", "head", "difference", "meaning"]));
        for one in rows {
            let mut cells = vec![cell(&plain_short(&one.tool_name, NAME_CHARS)), cell(one.verdict.label())];
            cells.extend(values(&one.change, true));
            lines.push(row(&cells));
        }
    }
    lines.extend([String::new(), format!("## {}", word(texts, "by_agent")), String::new()]);
    lines.extend(header(&["agent", "base", "head", "difference", "meaning"]));
    for one in &comparison.agents {
        let mut cells = vec![cell(&agent(texts, one.agent_name.as_deref()))];
        cells.extend(values(&one.change, true));
        lines.push(row(&cells));
    }
    if let Some(pairs) = &comparison.pairs {
        for (key, list) in [("newly_wrong", &pairs.newly_wrong), ("repaired", &pairs.repaired)] {
            if list.is_empty() {
                continue;
            }
            lines.extend([String::new(), format!("## {}", word(texts, key)), String::new()]);
            lines.extend(list.iter().map(|[base, head]| {
                if base == head { format!("- {}", cell(base)) } else { format!("- {} → {}", cell(base), cell(head)) }
            }));
        }
    }
    lines.push(String::new());
    lines.extend(foot(texts, comparison).iter().map(|line| format!("- {}", cell(line))));
    lines.join("\n") + "\n"
}
