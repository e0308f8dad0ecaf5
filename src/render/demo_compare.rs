//! Argument verdicts before and after a description was changed, for people and as JSON.

use minijinja::context;
use serde::Serialize;

use super::Texts;
use super::bench::{Figure, figure};
use super::compare::{p_value, points};
use super::doctor::laid_out;
use super::layout::{Style, pad_start, plain};
use super::markdown::cell;
use super::terminal::draft_diff;
use crate::model::demo::{AfterFrom, AskedRun, AskedTwice, DescriptionReport, ModelChange};

#[derive(Serialize)]
struct ChangedRow {
    tool: String,
    lines: Vec<String>,
}

#[derive(Serialize)]
struct RunRow {
    trace_id: String,
    given: &'static str,
    has_mismatch: bool,
    missing: String,
    failed: String,
}

#[derive(Serialize)]
struct QuestionRow {
    /// As wide as the last one.
    number: String,
    question: String,
    before: RunRow,
    after: Option<RunRow>,
    is_left_out: bool,
}

#[derive(Serialize)]
struct PairsRow {
    both: u64,
    before_only: u64,
    after_only: u64,
    neither: u64,
    difference: String,
    low: String,
    high: String,
    is_fewer: bool,
    is_more: bool,
    beyond_chance: bool,
    p: String,
    p_corrected: String,
    is_corrected: bool,
}

#[derive(Serialize)]
struct ModelRow {
    model: String,
    before: Figure,
    after: Option<Figure>,
    pairs: Option<PairsRow>,
    left_out: u64,
    questions: Vec<QuestionRow>,
}

#[derive(Serialize)]
struct Values<'a> {
    part: &'a str,
    seed: u64,
    questions: u64,
    rule_set: &'a str,
    after_from: &'static str,
    changed: Vec<ChangedRow>,
    models: Vec<ModelRow>,
}

/// The report for a terminal.
#[must_use]
pub fn table(texts: &Texts, report: &DescriptionReport, style: Style) -> String {
    laid_out(&texts.render("demo_compare.j2", values(report, "table", |text| plain(text).into_owned())), style)
}

/// The report in Markdown.
#[must_use]
pub fn markdown(texts: &Texts, report: &DescriptionReport) -> String {
    texts.render("demo_compare.j2", values(report, "md", cell))
}

/// The report as JSON that begins with where its questions come from.
///
/// # Errors
/// None in practice: all keys are text.
pub fn json(texts: &Texts, report: &DescriptionReport) -> Result<String, serde_json::Error> {
    #[derive(Serialize)]
    struct Whole<'a> {
        provenance: String,
        #[serde(flatten)]
        report: &'a DescriptionReport,
    }
    let provenance = texts.render("demo_compare.j2", context! { part => "provenance" }).trim().to_owned();
    Ok(serde_json::to_string_pretty(&Whole { provenance, report })? + "\n")
}

fn values<'a>(report: &'a DescriptionReport, part: &'a str, shown: impl Fn(&str) -> String) -> Values<'a> {
    let is_corrected = report.models.len() > 1;
    let digits = report.questions.to_string().len();
    let model = |change: &ModelChange| ModelRow {
        model: shown(&change.model),
        before: figure(&change.before),
        after: change.after.as_ref().map(figure),
        pairs: change.pairs.map(|pairs| {
            let difference = pairs.difference.unwrap_or_default();
            let [low, high] = pairs.difference_interval.map(|ends| ends.map(points)).unwrap_or_default();
            PairsRow {
                both: pairs.both,
                before_only: pairs.before_only,
                after_only: pairs.after_only,
                neither: pairs.neither,
                difference: pairs.difference.map(points).unwrap_or_default(),
                low,
                high,
                is_fewer: difference < 0.0,
                is_more: difference > 0.0,
                beyond_chance: pairs.beyond_chance,
                p: p_value(pairs.p),
                p_corrected: p_value(pairs.p_corrected),
                is_corrected,
            }
        }),
        left_out: change.left_out,
        questions: change.questions.iter().map(|question| question_row(question, digits, &shown)).collect(),
    };
    Values {
        part,
        seed: report.seed,
        questions: report.questions,
        rule_set: &report.rule_set,
        after_from: match report.after_from {
            AfterFrom::Draft => "draft",
            AfterFrom::File => "file",
            AfterFrom::Nothing => "nothing",
        },
        changed: report
            .changed
            .iter()
            .map(|changed| ChangedRow {
                tool: shown(&changed.tool_name),
                lines: draft_diff(&changed.before, &changed.after)
                    .iter()
                    .map(|(sign, line)| format!("{sign} {}", shown(line)))
                    .collect(),
            })
            .collect(),
        models: report.models.iter().map(model).collect(),
    }
}

fn question_row(question: &AskedTwice, digits: usize, shown: impl Fn(&str) -> String) -> QuestionRow {
    let run = |run: &AskedRun| RunRow {
        trace_id: shown(&run.trace_id),
        given: run.given.label(),
        has_mismatch: run.has_mismatch,
        missing: run.missing.iter().map(|key| shown(key)).collect::<Vec<_>>().join(", "),
        failed: run.failed.as_deref().map(&shown).unwrap_or_default(),
    };
    let is_left_out = !question.before.counts() || question.after.as_ref().is_some_and(|after| !after.counts());
    QuestionRow {
        number: pad_start(&question.number.to_string(), digits),
        question: shown(&question.question),
        before: run(&question.before),
        after: question.after.as_ref().map(run),
        is_left_out,
    }
}
