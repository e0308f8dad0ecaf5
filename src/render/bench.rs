//! Where verdicts and labels agree, for people.

use serde::Serialize;

use super::Texts;
use super::doctor::{laid_out, name};
use super::layout::{Style, pad_end, pad_start, width};
use super::markdown::cell;
use crate::model::Verdict;
use crate::model::bench::{Agreeing, Agreement, Answer, ConfusionRow, Mismatch};

/// Blanks between the columns of the confusion table.
const GAP: &str = "  ";

#[derive(Serialize)]
struct Row {
    trace_id: String,
    scenario: String,
    line: u64,
    expected: &'static str,
    given: &'static str,
    expected_also: String,
    also_found: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct AbsentRow {
    trace_id: String,
    file: String,
    file_found: bool,
    line: u64,
}

#[derive(Serialize)]
struct UnlabelledRow {
    trace_id: String,
    given: &'static str,
}

/// So many of so many, as a sentence shows it.
#[derive(Serialize)]
pub(super) struct Figure {
    matched: u64,
    compared: u64,
    percent: String,
    low: String,
    high: String,
}

#[derive(Serialize)]
struct Values<'a> {
    part: &'a str,
    md: bool,
    manifest: String,
    labels_from: Vec<(String, String)>,
    rule_set: &'a str,
    verdict: Figure,
    all_rules: Figure,
    answers: [&'static str; 7],
    confusion: Vec<(&'static str, [u64; 7], u64)>,
    mismatches: Vec<Row>,
    also_differs: Vec<Row>,
    only_in_manifest: Vec<AbsentRow>,
    only_in_files: Vec<UnlabelledRow>,
    no_run: u64,
}

/// The report for a terminal.
#[must_use]
pub fn table(texts: &Texts, found: &Agreement, style: Style) -> String {
    let part = |part: &'static str| texts.render("bench.j2", values(found, part, name));
    let head = laid_out(&part("head"), style);
    let words = part("table_words");
    let mut words = words.lines();
    let (corner, sum) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let label = |(number, row): (usize, &ConfusionRow)| format!("{number} {}", row.expected.label());
    let rows: Vec<LabelledRow> = (1..).zip(&found.confusion).map(|one| (label(one), one.1.given, one.1.runs)).collect();
    head + &confusion(&rows, (corner, sum)) + &laid_out(&part("rest"), style)
}

/// The report in Markdown.
#[must_use]
pub fn markdown(texts: &Texts, found: &Agreement) -> String {
    let mut values = values(found, "md", cell);
    values.md = true;
    texts.render("bench.j2", values)
}

/// A label, runs by what was given, and their sum.
pub(super) type LabelledRow = (String, [u64; 7], u64);

/// Rows are what was expected, columns what was given; columns have the numbers of the answers, as names are long.
/// `corner` stands above the labels, `sum` above the sums.
pub(super) fn confusion(rows: &[LabelledRow], (corner, sum): (&str, &str)) -> String {
    let first = rows.iter().map(|(label, ..)| label.as_str()).chain([corner]).map(width).max().unwrap_or_default();
    let numbers = rows.iter().flat_map(|(_, given, runs)| given.iter().chain([runs]));
    let cells = numbers.map(|number| number.to_string().len()).max().unwrap_or_default();
    let mut out = String::new();
    let mut line = |label: &str, cells_of: Vec<String>| {
        out.push_str(GAP);
        out.push_str(&pad_end(label, first));
        let last = cells_of.len().saturating_sub(1);
        for (place, text) in cells_of.iter().enumerate() {
            out.push_str(GAP);
            out.push_str(&pad_start(text, if place == last { cells.max(width(sum)) } else { cells }));
        }
        out.push('\n');
    };
    line(corner, (1..=Answer::ALL.len()).map(|number| number.to_string()).chain([sum.to_owned()]).collect());
    for (label, given, runs) in rows {
        // A dot is easier to pass over than a nought.
        let shown = |number: &u64| if *number == 0 { "·".to_owned() } else { number.to_string() };
        line(label, given.iter().chain([runs]).map(shown).collect());
    }
    out
}

fn values<'a>(found: &'a Agreement, part: &'a str, shown: impl Fn(&str) -> String) -> Values<'a> {
    let rows = |list: &[Mismatch]| list.iter().map(|one| row(one, &shown)).collect();
    let text = |text: &Option<String>| text.as_deref().map(&shown).unwrap_or_default();
    Values {
        part,
        md: false,
        manifest: shown(&found.manifest),
        labels_from: found.labels_from.iter().map(|(key, words)| (shown(key), shown(words))).collect(),
        rule_set: &found.rule_set,
        verdict: figure(&found.verdict),
        all_rules: figure(&found.all_rules),
        answers: Answer::ALL.map(Answer::label),
        confusion: found.confusion.iter().map(|row| (row.expected.label(), row.given, row.runs)).collect(),
        mismatches: rows(&found.mismatches),
        also_differs: rows(&found.also_differs),
        only_in_manifest: found
            .only_in_manifest
            .iter()
            .map(|one| AbsentRow {
                trace_id: shown(&one.trace_id),
                file: text(&one.file),
                file_found: one.file_found.unwrap_or(true),
                line: one.line,
            })
            .collect(),
        only_in_files: found
            .only_in_files
            .iter()
            .map(|one| UnlabelledRow { trace_id: shown(&one.trace_id), given: one.given.label() })
            .collect(),
        no_run: found.no_run,
    }
}

fn row(one: &Mismatch, shown: impl Fn(&str) -> String) -> Row {
    Row {
        trace_id: shown(&one.trace_id),
        scenario: one.scenario.as_deref().map(&shown).unwrap_or_default(),
        line: one.line,
        expected: one.expected.label(),
        given: one.given.label(),
        expected_also: list(&one.expected_also),
        also_found: list(&one.also_found),
        notes: one.notes.iter().map(|note| shown(note)).collect(),
    }
}

/// Their labels, one behind the other.
pub(super) fn list(verdicts: &[Verdict]) -> String {
    verdicts.iter().map(|verdict| verdict.label()).collect::<Vec<_>>().join(", ")
}

/// As a sentence shows it.
pub(super) fn figure(agreeing: &Agreeing) -> Figure {
    let percent = |share: f64| format!("{:.1}", share * 100.0);
    Figure {
        matched: agreeing.matched,
        compared: agreeing.compared,
        percent: agreeing.share.map(percent).unwrap_or_default(),
        low: percent(agreeing.low),
        high: percent(agreeing.high),
    }
}
