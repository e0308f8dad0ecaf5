//! The report as one self-contained HTML page without any script: what opens and closes are elements of HTML.

use std::collections::BTreeMap;

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use super::phrase;
use super::view::View;
use super::{percent, verdict_text};
use crate::model::EvalVerdict;
use crate::model::eval_report::EvalReport;
use crate::render::Texts;
use crate::render::chart::{self, Bar, Caption, Counts, KINDS, Span};
use crate::render::eval;
use crate::render::layout::plain_short;
use crate::render::page::{STYLE, csp};
use crate::render::terminal::NAME_CHARS;

const OWN_STYLE: &str = include_str!("../templates/ko/page/eval.css");
/// Marks and patterns of the page that stand for a trial without a verdict.
const NONE: (&str, usize) = ("NONE", 0);

/// The mark and pattern of the page that stands for a verdict.
const fn kind(verdict: EvalVerdict) -> usize {
    match verdict {
        EvalVerdict::Fail => 4,
        EvalVerdict::Error => 1,
        EvalVerdict::Cancelled => 2,
        EvalVerdict::NotApplicable => 3,
        EvalVerdict::Pass => chart::NORMAL,
        EvalVerdict::Unknown => chart::UNJUDGED,
    }
}

#[derive(Serialize)]
struct Figure {
    title: String,
    text: String,
    svg: String,
}

#[derive(Serialize)]
struct Meaning {
    code: &'static str,
    label: String,
    text: String,
}

/// The page.
#[must_use]
pub fn html(texts: &Texts, report: &EvalReport) -> String {
    let style = format!("{STYLE}\n{OWN_STYLE}");
    let marks = EvalVerdict::ALL.map(|verdict| (verdict.as_str(), kind(verdict)));
    let kinds: BTreeMap<&str, usize> = marks.into_iter().chain([NONE]).collect();
    let meanings = EvalVerdict::ALL.map(|verdict| Meaning {
        code: verdict.as_str(),
        label: eval::verdict(texts, verdict),
        text: verdict_text(texts, verdict.as_str()),
    });
    let values = context! {
        r => Serde(View::of(texts, report)),
        csp => csp(&style, None),
        style,
        kinds => Serde(kinds),
        meanings => Serde(meanings),
        verdict_chart => Serde(verdicts(texts, report)),
        rate_chart => Serde(rates(texts, report)),
    };
    texts.render("eval_page.html.j2", values)
}

/// Trials of each case by verdict.
fn verdicts(texts: &Texts, report: &EvalReport) -> Figure {
    let bars: Vec<Bar> = report
        .decided
        .cases
        .iter()
        .map(|case| {
            let mut counts: Counts = [0; KINDS];
            let own = report.trials.iter().filter(|trial| trial.case_id == case.case_id);
            own.for_each(|trial| counts[trial.verdict.map_or(NONE.1, kind)] += 1);
            let label = plain_short(&case.case_id, NAME_CHARS);
            let parts: Vec<String> = EvalVerdict::ALL
                .into_iter()
                .filter(|verdict| counts[kind(*verdict)] > 0)
                .map(|verdict| format!("{} {}", eval::verdict(texts, verdict), counts[kind(verdict)]))
                .collect();
            let note = parts.join(" · ");
            Bar { title: format!("{label}: {note}"), label, note, link: String::new(), counts }
        })
        .collect();
    let (title, text) =
        (phrase(texts, "chart_verdicts", context! {}), phrase(texts, "chart_verdicts_text", context! {}));
    let svg = chart::rows(&Caption { id: "verdicts", title: &title, description: &text }, &bars);
    Figure { svg, title, text }
}

/// pass@1 of each case with its interval.
fn rates(texts: &Texts, report: &EvalReport) -> Figure {
    let spans: Vec<Span> = report
        .decided
        .cases
        .iter()
        .map(|case| Span {
            label: plain_short(&case.case_id, NAME_CHARS),
            note: format!("{} ({}/{})", percent(case.figures.pass_at_1), case.figures.passed, case.figures.decided),
            at: case.figures.pass_at_1,
            low: case.figures.low,
            high: case.figures.high,
        })
        .collect();
    let title = phrase(texts, "chart_rates", context! {});
    let text = phrase(texts, "chart_rates_text", context! { threshold => percent(Some(report.experiment.threshold)) });
    let svg =
        chart::spans(&Caption { id: "rates", title: &title, description: &text }, &spans, report.experiment.threshold);
    Figure { svg, title, text }
}
