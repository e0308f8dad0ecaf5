//! Runs of experiments in words: what a target can do, what a run may cost, how it goes and what it came to.

use minijinja::context;
use minijinja::value::Value;

use super::Texts;
use super::eval::{decision, verdict};
use super::eval_report::{chance, decision_reason, dollars, has_pairs, kind, not_compared};
use super::layout::{Style, plain, plain_short, table_within, wrap_lines};
use super::terminal::minute;
use crate::model::eval::Decided;
use crate::model::{EvalDecision, EvalVerdict, Experiment, PlannedTrial, Spent, TrialStart};

/// Digits of a configuration hash in a list: enough to tell whether two are the same.
const HASH_DIGITS: usize = 8;
/// Characters of a name or text of others.
const TEXT_CHARS: usize = 200;

fn phrase(texts: &Texts, key: &str, values: Value) -> String {
    texts.render("eval_run.j2", context! { key, ..values }).trim().to_owned()
}

fn line(texts: &Texts, key: &str, values: Value) -> String {
    phrase(texts, key, values) + "\n"
}

fn head(texts: &Texts, key: &str) -> Vec<String> {
    phrase(texts, key, context! {}).split('|').map(str::to_owned).collect()
}

/// Files that were made.
#[must_use]
pub fn made(texts: &Texts, files: &[String]) -> String {
    let mut out: String = files.iter().map(|file| line(texts, "made", context! { file => plain(file) })).collect();
    out += &line(texts, "made_next", context! {});
    out
}

/// What was found of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedTarget {
    /// Its name in the project.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// The hash of its configuration.
    pub config_sha256: String,
    /// Where it is: an address, a model, a folder.
    pub place: String,
    /// The addresses that its name has.
    pub addresses: Vec<String>,
    /// Whether the rules on addresses are lifted for it.
    pub is_lifted: bool,
    /// The name and version that it gave of itself.
    pub said: Option<(String, String)>,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// What can be observed of it, as codes.
    pub observes: Vec<String>,
    /// Cases for which it has no script.
    pub missing: Vec<String>,
    /// Why it cannot be tried.
    pub problem: Option<String>,
}

impl CheckedTarget {
    /// Whether it can be tried.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        self.problem.is_none() && self.missing.is_empty()
    }
}

/// Targets, a block each.
#[must_use]
pub fn checked(texts: &Texts, targets: &[CheckedTarget], style: Style) -> String {
    let mut blocks = Vec::new();
    for target in targets {
        let kind = kind(texts, &target.kind);
        let name = plain_short(&target.name, TEXT_CHARS);
        let mut block = line(texts, "target", context! { name, kind, is_usable => target.is_usable() });
        let mut add = |key: &str, value: &str| {
            block += &line(texts, key, context! { value => plain_short(value, TEXT_CHARS) });
        };
        add("target_place", &target.place);
        if !target.addresses.is_empty() {
            add("target_addresses", &target.addresses.join(", "));
        }
        if target.is_lifted {
            add("target_lifted", "");
        }
        if let Some((name, version)) = &target.said {
            add("target_said", &format!("{name} {version}"));
        }
        if !target.capabilities.is_empty() {
            add("target_can", &target.capabilities.join(", "));
        }
        let seen: Vec<String> =
            target.observes.iter().map(|code| phrase(texts, "observed", context! { code })).collect();
        add("target_observes", &seen.join(", "));
        add("target_config", &target.config_sha256);
        if !target.missing.is_empty() {
            add("target_missing", &target.missing.join(", "));
        }
        for problem in target.problem.iter().flat_map(|problem| problem.lines()).filter(|line| !line.is_empty()) {
            add("target_problem", problem);
        }
        blocks.push(block);
    }
    wrap_lines(&blocks.join("\n"), style.cells())
}

/// What trials of a case may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostRow {
    /// The case; empty for the sum.
    pub case_id: String,
    /// Requests to the model.
    pub requests: u64,
    /// Tokens that go in.
    pub input_tokens: u64,
    /// Tokens that come out.
    pub output_tokens: u64,
    /// US dollars; none when no price is known.
    pub cost_usd: Option<String>,
}

/// What a run may cost, by case.
#[must_use]
pub fn cost(texts: &Texts, (target, trials): (&str, u64), rows: &[CostRow], total: &CostRow, style: Style) -> String {
    let cells = style.cells();
    let mut out =
        wrap_lines(&line(texts, "cost_of", context! { target => plain_short(target, TEXT_CHARS), trials }), cells);
    let mut lines = vec![head(texts, "cost_head")];
    let number = |count: u64| phrase(texts, "number", context! { count });
    for row in rows.iter().chain([total]) {
        let case = if row.case_id.is_empty() { phrase(texts, "sum", context! {}) } else { row.case_id.clone() };
        let price = row.cost_usd.clone().unwrap_or_else(|| phrase(texts, "no_price", context! {}));
        let tokens = [row.requests, row.input_tokens, row.output_tokens].map(number);
        lines.push([plain_short(&case, TEXT_CHARS)].into_iter().chain(tokens).chain([price]).collect());
    }
    out += &table_within(&lines, &[0], cells);
    if total.cost_usd.is_none() {
        out += &wrap_lines(&line(texts, "cost_no_price", context! {}), cells);
    }
    out
}

/// The line with which a run begins.
#[must_use]
pub fn begun(texts: &Texts, experiment: &Experiment, trials: usize, is_resumed: bool) -> String {
    let values = context! {
        id => experiment.experiment_id.as_str(), target => plain_short(&experiment.target, TEXT_CHARS),
        kind => kind(texts, &experiment.target_kind), cases => experiment.cases.len(), trials, is_resumed,
    };
    line(texts, "begun", values)
}

/// The line of a trial that ended.
#[must_use]
pub fn progress(texts: &Texts, done: usize, total: usize, start: &TrialStart, of: EvalVerdict) -> String {
    let case = plain_short(&start.case_id, TEXT_CHARS);
    let word = verdict(texts, of);
    line(texts, "progress", context! { done, total, case, trial => start.trial, attempt => start.attempt, word })
}

/// What a run came to.
#[derive(Debug, Clone, Copy)]
pub struct ToldRun<'r> {
    /// The experiment.
    pub experiment: &'r Experiment,
    /// Its decision.
    pub decided: &'r Decided,
    /// The experiment that it was compared with.
    pub baseline: Option<&'r str>,
    /// Its trials that count.
    pub trials: &'r [PlannedTrial],
    /// What all attempts used.
    pub spent: &'r Spent,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
    /// Whether a spending cap ended it.
    pub is_capped: bool,
    /// Trials that were not begun.
    pub not_run: u64,
}

/// What a run came to: figures by case, the decision with its reasons, what it cost.
#[must_use]
pub fn ran(texts: &Texts, told: &ToldRun<'_>, style: Style) -> String {
    let experiment = told.experiment;
    let mut rows = vec![head(texts, "ran_head")];
    let word = |of: EvalVerdict| verdict(texts, of);
    for case in &told.decided.cases {
        let own: Vec<&PlannedTrial> = told.trials.iter().filter(|trial| trial.case_id == case.case_id).collect();
        let counts: Vec<String> = EvalVerdict::ALL
            .into_iter()
            .filter_map(|of| {
                let count = own.iter().filter(|trial| trial.verdict == Some(of)).count();
                (count > 0).then(|| format!("{} {count}", word(of)))
            })
            .collect();
        let counts = if counts.is_empty() { phrase(texts, "none_ran", context! {}) } else { counts.join(", ") };
        let figures = &case.figures;
        let share = figures.pass_at_1.map_or_else(
            || "-".to_owned(),
            |share| {
                let values = context! { share, low => figures.low, high => figures.high };
                phrase(texts, "share", values)
            },
        );
        rows.push(vec![plain_short(&case.case_id, TEXT_CHARS), own.len().to_string(), counts, share]);
    }
    let table = table_within(&rows, &[0, 2], style.cells());
    let mut out = String::new();
    if told.is_cancelled {
        out += &line(texts, "was_cancelled", context! {});
    }
    if told.not_run > 0 {
        out += &line(texts, "not_run", context! { count => told.not_run, is_capped => told.is_capped });
    }
    out += &line(texts, "decided", context! { word => decision(texts, told.decided.decision) });
    for reason in &told.decided.reasons {
        out += &line(texts, "why", context! { reason => decision_reason(texts, reason) });
    }
    if let (Some(id), Some(found)) = (told.baseline, &told.decided.comparison) {
        let values = context! {
            id, why => not_compared(texts, found),
            baseline_only => found.baseline_only, candidate_only => found.candidate_only,
            left_out => found.left_out, within_chance => found.within_chance, p => chance(found.p),
        };
        out += &line(texts, if has_pairs(found) { "compared" } else { "not_compared" }, values);
    }
    let spent = told.spent;
    let cost = spent.cost_usd.as_deref().map(dollars);
    let values = context! {
        input => spent.input_tokens, output => spent.output_tokens, cost,
        unpriced => spent.unpriced,
    };
    out += &line(texts, "spent", values);
    out += &line(texts, "ran_config", context! { hash => experiment.config_sha256.as_str() });
    out += &line(texts, "ran_next", context! { id => experiment.experiment_id.as_str() });
    table + "\n" + &wrap_lines(&out, style.cells())
}

/// That an experiment was asked to end.
#[must_use]
pub fn cancel_asked(texts: &Texts, experiment_id: &str) -> String {
    line(texts, "cancel_asked", context! { id => plain_short(experiment_id, TEXT_CHARS) })
}

/// An experiment in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedExperiment {
    /// The experiment.
    pub experiment: Experiment,
    /// Trials that began, further attempts included.
    pub attempts: u64,
    /// Those of them without an end.
    pub open: u64,
    /// What is decided; none when an attempt began after it.
    pub decision: Option<EvalDecision>,
}

/// Experiments, a line each.
#[must_use]
pub fn list(texts: &Texts, experiments: &[ListedExperiment], style: Style) -> String {
    if experiments.is_empty() {
        return line(texts, "no_experiments", context! {});
    }
    let mut rows = vec![head(texts, "list_head")];
    for one in experiments {
        let experiment = &one.experiment;
        let word = one.decision.map_or_else(|| phrase(texts, "unfinished", context! {}), |of| decision(texts, of));
        rows.push(vec![
            experiment.experiment_id.clone(),
            phrase(texts, "role", context! { code => experiment.role.as_str() }),
            plain_short(&experiment.target, TEXT_CHARS),
            format!("{}×{}", experiment.cases.len(), experiment.trials),
            word,
            experiment.config_sha256.chars().take(HASH_DIGITS).collect(),
            minute(&experiment.started_at),
        ]);
    }
    table_within(&rows, &[0, 2], style.cells())
}
