//! Faults put into the demo agent and the verdicts on them, for people and as JSON.

use minijinja::context;
use serde::Serialize;

use super::Texts;
use super::bench::{Figure, LabelledRow, confusion, figure, list};
use super::doctor::{laid_out, name};
use super::layout::{Style, plain};
use super::markdown::cell;
use crate::model::bench::Answer;
use crate::model::demo::{BenchReport, BenchRun, InjectedFault, Why};
use crate::model::{Rule, Status, Verdict};

#[derive(Serialize)]
struct Row {
    number: u64,
    trace_id: String,
    question: String,
    faults: String,
    not_reached: String,
    expected: &'static str,
    expected_also: String,
    given: &'static str,
    also_found: String,
    /// Further verdicts that were expected and not given, and the other way round.
    lacking: String,
    more: String,
    /// An error is hidden that was not expected, beside the call of a tool that does not exist.
    hides_unknown: bool,
    /// An error was to be hidden and is not, although the run ended ok.
    is_recovered: bool,
    why: &'static str,
    summary: String,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct TableRow {
    faults: String,
    expected: &'static str,
    given: [u64; 7],
    runs: u64,
    matched: u64,
}

#[derive(Serialize)]
struct AlsoFound {
    faults: String,
    also_found: &'static str,
    is_expected: bool,
    runs: u64,
}

#[derive(Serialize)]
struct Values<'a> {
    part: &'a str,
    seed: u64,
    model: String,
    overlap: bool,
    runs: u64,
    controls: u64,
    combinations: u64,
    each: u64,
    remainder: u64,
    rule_set: &'a str,
    verdict: Figure,
    all_rules: Figure,
    quiet_controls: Option<Figure>,
    answers: [&'static str; 7],
    confusion: Vec<TableRow>,
    mismatches: Vec<Row>,
    also_differs: Vec<Row>,
    also_found: Vec<AlsoFound>,
}

/// The report for a terminal.
#[must_use]
pub fn table(texts: &Texts, report: &BenchReport, style: Style) -> String {
    let part =
        |part: &'static str| texts.render("demo_bench.j2", values(report, part, |text| plain(text).into_owned()));
    let words = part("table_words");
    let mut words = words.lines();
    let (corner, sum) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let label = |faults: &[InjectedFault], expected: Answer| {
        let named = match faults {
            [fault] => format!("{} {}", fault.slug(), fault.label()),
            [] => words.clone().next().unwrap_or_default().to_owned(),
            _ => slugs(faults),
        };
        format!("{named} → {}", expected.place() + 1)
    };
    let rows: Vec<LabelledRow> =
        report.confusion.iter().map(|row| (label(&row.faults, row.expected), row.given, row.runs)).collect();
    laid_out(&part("head"), style) + &confusion(&rows, (corner, sum)) + &laid_out(&part("rest"), style)
}

/// The report in Markdown.
#[must_use]
pub fn markdown(texts: &Texts, report: &BenchReport) -> String {
    texts.render("demo_bench.j2", values(report, "md", cell))
}

/// The report as JSON that begins with where its labels come from.
///
/// # Errors
/// None in practice: all keys are text.
pub fn json(texts: &Texts, report: &BenchReport) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Whole<'a> {
        provenance: String,
        #[serde(flatten)]
        report: &'a BenchReport,
        not_seen: Vec<String>,
    }
    let provenance = texts.render("demo_bench.j2", context! { part => "provenance" }).trim().to_owned();
    let not_seen = texts.render("demo_bench.j2", context! { part => "not_seen" });
    let not_seen = not_seen.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    Ok(serde_json::to_string_pretty(&Whole { provenance, report, not_seen })? + "\n")
}

fn slugs(faults: &[InjectedFault]) -> String {
    faults.iter().map(|fault| fault.slug()).collect::<Vec<_>>().join(" + ")
}

/// Switch and meaning of each; empty of none.
fn named(faults: &[InjectedFault]) -> String {
    faults.iter().map(|fault| format!("{}({})", fault.slug(), fault.label())).collect::<Vec<_>>().join(" + ")
}

fn values<'a>(report: &'a BenchReport, part: &'a str, shown: impl Fn(&str) -> String) -> Values<'a> {
    let rows = |list: &[BenchRun]| list.iter().map(|one| row(one, &shown)).collect();
    let combinations = report.confusion.iter().filter(|row| !row.faults.is_empty()).count() as u64;
    Values {
        part,
        seed: report.seed,
        model: shown(&report.model),
        overlap: report.overlap,
        runs: report.runs,
        controls: report.controls,
        combinations,
        each: report.runs / combinations.max(1),
        remainder: report.remainder,
        rule_set: &report.rule_set,
        verdict: figure(&report.verdict),
        all_rules: figure(&report.all_rules),
        quiet_controls: report.quiet_controls.as_ref().map(figure),
        answers: Answer::ALL.map(Answer::label),
        confusion: report
            .confusion
            .iter()
            .map(|row| TableRow {
                faults: named(&row.faults),
                expected: row.expected.label(),
                given: row.given,
                runs: row.runs,
                matched: row.verdict.matched,
            })
            .collect(),
        mismatches: rows(&report.mismatches),
        also_differs: rows(&report.also_differs),
        also_found: report
            .also_found
            .iter()
            .map(|row| AlsoFound {
                faults: named(&row.faults),
                also_found: row.also_found.label(),
                is_expected: row.is_expected,
                runs: row.runs,
            })
            .collect(),
    }
}

fn row(run: &BenchRun, shown: impl Fn(&str) -> String) -> Row {
    let without = |list: &[Verdict], other: &[Verdict]| -> Vec<Verdict> {
        list.iter().copied().filter(|verdict| !other.contains(verdict)).collect()
    };
    let lacking = without(&run.expected_also, &run.also_found);
    let more = without(&run.also_found, &run.expected_also);
    let hidden = Rule::ErrorHidden.verdict();
    let is_in = |fault: InjectedFault| run.faults.contains(&fault) && !run.not_reached.contains(&fault);
    Row {
        hides_unknown: more.contains(&hidden) && is_in(InjectedFault::UnknownTool),
        is_recovered: run.given != Answer::Judged(hidden)
            && !run.also_found.contains(&hidden)
            && is_in(InjectedFault::SwallowError)
            && run.final_status == Some(Status::Ok),
        lacking: list(&lacking),
        more: list(&more),
        number: run.number,
        trace_id: shown(&run.trace_id),
        question: shown(&run.question),
        faults: named(&run.faults),
        not_reached: named(&run.not_reached),
        expected: run.expected.label(),
        expected_also: list(&run.expected_also),
        given: run.given.label(),
        also_found: list(&run.also_found),
        why: run.why.map_or("", Why::as_str),
        summary: shown(&run.summary),
        notes: run.notes.iter().map(|note| shown(note)).collect(),
    }
}

/// Where a bench was kept, for standard error.
#[must_use]
pub fn kept(texts: &Texts, bench_run: &str, store: &str) -> String {
    texts.render("demo_bench.j2", context! { part => "kept", bench_run, store => name(store) })
}
