//! The report with every word put in, for the templates; texts are plain and not yet escaped.

use minijinja::context;
use serde::Serialize;

use super::{chance, check_reason, check_text, claim, coded, decision_reason, decision_text, event, kind, kind_text};
use super::{dollars, has_pairs, not_compared, percent, phrase};
use crate::model::eval::{CaseFigures, Figures};
use crate::model::eval_report::{EvalReport, ReportTrace, ReportTrial};
use crate::model::{EvalVerdict, TrialCheck, TrialReview};
use crate::render::Texts;
use crate::render::eval;
use crate::render::layout::{plain_short, thousands};
use crate::render::terminal::{NAME_CHARS, short_time};

/// Longest pass^k list that a row shows.
const POWERS: usize = 5;

/// The report in words.
#[derive(Debug, Serialize)]
pub(super) struct View {
    pub(super) experiment_id: String,
    pub(super) project: String,
    pub(super) role: String,
    pub(super) started: String,
    pub(super) config_sha256: String,
    pub(super) threshold: String,
    pub(super) target: String,
    pub(super) kind: String,
    pub(super) kind_text: String,
    pub(super) claim: String,
    pub(super) seen: Vec<String>,
    pub(super) unseen: Vec<String>,
    pub(super) proposals_unseen: Option<String>,
    pub(super) lifted: Option<String>,
    pub(super) said: Vec<String>,
    pub(super) code: &'static str,
    pub(super) decision: String,
    pub(super) decision_text: String,
    pub(super) decided_at: Option<String>,
    pub(super) reasons: Vec<String>,
    pub(super) cases: Vec<CaseView>,
    pub(super) total: FiguresView,
    pub(super) comparison: Option<ComparisonView>,
    pub(super) trials: Vec<TrialView>,
    pub(super) spent: String,
    pub(super) cost: String,
    pub(super) version: String,
}

/// Figures in words.
#[derive(Debug, Serialize)]
pub(super) struct FiguresView {
    pub(super) passed: String,
    pub(super) decided: String,
    pub(super) rate: String,
    pub(super) interval: String,
}

/// A case with its figures.
#[derive(Debug, Serialize)]
pub(super) struct CaseView {
    pub(super) case_id: String,
    #[serde(flatten)]
    pub(super) figures: FiguresView,
    pub(super) power: String,
}

/// The comparison with a baseline.
#[derive(Debug, Serialize)]
pub(super) struct ComparisonView {
    pub(super) experiment_id: String,
    pub(super) target: String,
    pub(super) both: String,
    pub(super) baseline_only: String,
    pub(super) candidate_only: String,
    pub(super) neither: String,
    pub(super) text: String,
    /// Whether any case stands in the counts.
    pub(super) is_compared: bool,
    pub(super) left_out: Option<String>,
}

/// A trial.
#[derive(Debug, Serialize)]
pub(super) struct TrialView {
    pub(super) name: String,
    pub(super) trial_id: String,
    pub(super) case_name: String,
    pub(super) state: String,
    pub(super) code: &'static str,
    pub(super) verdict: String,
    pub(super) wants_review: bool,
    pub(super) checks: Vec<CheckView>,
    pub(super) deciding: Vec<EventView>,
    pub(super) rubric: Vec<String>,
    pub(super) traces: Vec<TraceView>,
    pub(super) review: Option<String>,
    pub(super) duration: String,
}

/// A check.
#[derive(Debug, Serialize)]
pub(super) struct CheckView {
    pub(super) id: String,
    pub(super) kind: String,
    pub(super) kind_text: String,
    pub(super) severity: String,
    pub(super) is_critical: bool,
    pub(super) code: &'static str,
    pub(super) verdict: String,
    pub(super) reason: String,
    pub(super) events: String,
}

impl CheckView {
    /// Verdict, name and reason, with the numbers of the events that decided it.
    pub(super) fn line(&self) -> String {
        let severity = if self.is_critical { format!(" ({})", self.severity) } else { String::new() };
        let events = if self.events.is_empty() { String::new() } else { format!(" [{}]", self.events) };
        format!("{} {}{severity}: {}{events}", self.verdict, self.id, self.reason)
    }
}

/// An event.
#[derive(Debug, Serialize)]
pub(super) struct EventView {
    pub(super) seq: u64,
    pub(super) turn: u64,
    pub(super) at: String,
    pub(super) is_blocked: bool,
    pub(super) text: String,
}

/// A trace with its diagnosis.
#[derive(Debug, Serialize)]
pub(super) struct TraceView {
    pub(super) turn: u64,
    pub(super) trace_id: String,
    pub(super) text: String,
}

fn count(number: u64) -> String {
    thousands(i64::try_from(number).unwrap_or(i64::MAX))
}

fn name(text: &str) -> String {
    plain_short(text, NAME_CHARS)
}

/// Milliseconds as seconds.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", count(ms / 1000), ms % 1000)
}

impl View {
    pub(super) fn of(texts: &Texts, report: &EvalReport) -> Self {
        let (experiment, target, decided) = (&report.experiment, &report.target, &report.decided);
        let observes = target.observes;
        let all = observes.parts();
        let parts = |wanted: bool| {
            let those = all.iter().filter(|(_, is_seen)| *is_seen == wanted);
            those.map(|(code, _)| coded(texts, "observed", code)).collect::<Vec<_>>()
        };
        let spent = &report.spent;
        Self {
            experiment_id: name(&experiment.experiment_id),
            project: name(&experiment.project_id),
            role: coded(texts, "role", &experiment.role),
            started: short_time(&experiment.started_at),
            config_sha256: name(&experiment.config_sha256),
            threshold: percent(Some(experiment.threshold)),
            target: name(&target.name),
            kind: kind(texts, &target.kind),
            kind_text: kind_text(texts, &target.kind),
            claim: claim(texts, &target.kind),
            seen: parts(true),
            unseen: parts(false),
            proposals_unseen: (target.kind == "http" && !observes.proposals)
                .then(|| phrase(texts, "proposals_unseen", context! {})),
            lifted: target.allow_private_target.then(|| phrase(texts, "lifted", context! {})),
            said: target.said.iter().map(|said| name(said)).collect(),
            code: decided.decision.as_str(),
            decision: eval::decision(texts, decided.decision),
            decision_text: decision_text(texts, decided.decision.as_str()),
            decided_at: report.decided_at.as_deref().map(short_time),
            reasons: decided.reasons.iter().map(|reason| decision_reason(texts, reason)).collect(),
            cases: decided.cases.iter().map(case).collect(),
            total: figures(&decided.total),
            comparison: comparison(texts, report),
            trials: report.trials.iter().map(|one| trial(texts, one)).collect(),
            spent: phrase(
                texts,
                "spent",
                context! {
                    attempts => spent.attempts, input => spent.input_tokens, output => spent.output_tokens,
                    seconds => seconds(spent.duration_ms),
                },
            ),
            cost: phrase(
                texts,
                "cost",
                context! {
                    cost => spent.cost_usd.as_deref().map(dollars), unpriced => spent.unpriced,
                    attempts => spent.attempts,
                },
            ),
            version: report.version.clone(),
        }
    }
}

fn figures(figures: &Figures) -> FiguresView {
    let interval = match figures.decided {
        0 => "–".to_owned(),
        _ => format!("{} – {}", percent(Some(figures.low)), percent(Some(figures.high))),
    };
    FiguresView {
        passed: count(figures.passed),
        decided: count(figures.decided),
        rate: percent(figures.pass_at_1),
        interval,
    }
}

fn case(one: &CaseFigures) -> CaseView {
    let powers: Vec<(usize, f64)> = (1..).zip(one.pass_power.iter().copied()).collect();
    // The first few, and the last, which all others lead to.
    let shown = |(k, _): &&(usize, f64)| *k <= POWERS || *k == powers.len();
    let power = powers.iter().filter(shown).map(|(k, power)| format!("k={k} {}", percent(Some(*power))));
    let power = power.collect::<Vec<_>>().join(" · ");
    CaseView {
        case_id: name(&one.case_id),
        figures: figures(&one.figures),
        power: if power.is_empty() { "–".to_owned() } else { power },
    }
}

fn comparison(texts: &Texts, report: &EvalReport) -> Option<ComparisonView> {
    let found = report.decided.comparison.as_ref()?;
    let is_compared = has_pairs(found);
    let values = context! {
        within => found.within_chance, worse => found.baseline_only > found.candidate_only, p => chance(found.p),
    };
    Some(ComparisonView {
        experiment_id: report.baseline.as_ref().map_or_else(|| "–".to_owned(), |one| name(&one.experiment_id)),
        target: report.baseline.as_ref().map(|one| name(&one.target)).unwrap_or_default(),
        both: count(found.both),
        baseline_only: count(found.baseline_only),
        candidate_only: count(found.candidate_only),
        neither: count(found.neither),
        text: if is_compared { phrase(texts, "regress_line", values) } else { not_compared(texts, found) },
        is_compared,
        left_out: (found.left_out > 0 && is_compared)
            .then(|| phrase(texts, "left_out", context! { count => found.left_out })),
    })
}

/// The name of a trial for people.
pub(super) fn trial_name(texts: &Texts, trial: &ReportTrial) -> String {
    let values = context! {
        case_id => name(&trial.case_id), trial => trial.trial, attempt => trial.attempt.unwrap_or(1),
    };
    phrase(texts, "trial", values)
}

/// What a person said of a trial.
pub(super) fn reviewed(texts: &Texts, trial: &ReportTrial) -> Option<String> {
    trial.review.as_ref().map(|review| said(texts, review))
}

/// A review in one line.
pub(super) fn said(texts: &Texts, review: &TrialReview) -> String {
    let values = context! {
        opinion => coded(texts, "opinion", review.opinion.as_str()), reviewer => name(&review.reviewer),
        at => short_time(&review.reviewed_at), note => plain_short(&review.note, super::VALUE_CHARS),
    };
    phrase(texts, "reviewed", values)
}

/// The verdict of a trial, or how far it came.
pub(super) fn verdict_or_state(texts: &Texts, trial: &ReportTrial) -> String {
    match trial.verdict {
        Some(verdict) => eval::verdict(texts, verdict),
        None => coded(texts, "state", trial.state.as_str()),
    }
}

/// A check in words.
pub(super) fn check(texts: &Texts, check: &TrialCheck) -> CheckView {
    let mut reason = check_reason(texts, &check.reason);
    if let Some(measured) = check.measured {
        reason += &format!(" ({})", phrase(texts, "measured", context! { count => measured }));
    }
    CheckView {
        id: name(&check.check_id),
        kind: name(&check.kind),
        kind_text: check_text(texts, &check.kind),
        severity: coded(texts, "severity", &check.severity),
        is_critical: check.severity == "critical",
        code: check.verdict.as_str(),
        verdict: eval::verdict(texts, check.verdict),
        reason,
        events: check.events.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    }
}

pub(super) fn trial(texts: &Texts, trial: &ReportTrial) -> TrialView {
    let checks = trial.checks.iter().map(|one| check(texts, one));
    let deciding = trial.deciding.iter().map(|one| EventView {
        seq: one.seq,
        turn: one.turn,
        at: format!("{} ms", count(one.at_ms)),
        is_blocked: trial.blocked_proposals.contains(&one.seq),
        text: event(texts, one),
    });
    TrialView {
        name: trial_name(texts, trial),
        trial_id: trial.trial_id.as_deref().map(name).unwrap_or_default(),
        case_name: name(&trial.case_name),
        state: coded(texts, "state", trial.state.as_str()),
        code: trial.verdict.map_or("NONE", EvalVerdict::as_str),
        verdict: verdict_or_state(texts, trial),
        wants_review: trial.wants_review() || trial.review.is_some(),
        checks: checks.collect(),
        deciding: deciding.collect(),
        rubric: trial.rubric.iter().map(|question| plain_short(question, super::VALUE_CHARS)).collect(),
        traces: trial.traces.iter().map(|one| trace(texts, one)).collect(),
        review: reviewed(texts, trial),
        duration: trial.duration_ms.map(|ms| format!("{} ms", count(ms))).unwrap_or_default(),
    }
}

fn trace(texts: &Texts, trace: &ReportTrace) -> TraceView {
    let text = match &trace.diagnosis {
        None => phrase(texts, "trace_absent", context! {}),
        Some(diagnosis) => {
            let unjudged = || phrase(texts, "trace_unjudged", context! {});
            let verdict = diagnosis.verdict.clone().unwrap_or_else(unjudged);
            format!("{verdict} — {}", plain_short(&diagnosis.summary, super::VALUE_CHARS))
        }
    };
    TraceView { turn: trace.turn, trace_id: name(&trace.trace_id), text }
}
