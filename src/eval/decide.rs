//! From the verdicts of an experiment to a decision with its reasons, and figures: pass@1, pass^k, and the comparison
//! with a baseline. Pure, and codes only.
//!
//! Blocking comes before holding, review and candidate in that order; every reason is given, also those that a
//! graver one leaves without weight.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::case::CheckSeverity;
use super::judge::Judgement;
pub use crate::model::eval::{CaseFigures, Comparison, Decided, DecisionReason, Figures};
use crate::model::{EvalDecision, EvalVerdict};
use crate::stats::{ALPHA, Share, mcnemar, pass_power, wilson};

/// One judged trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedTrial {
    /// Id of the case.
    pub case_id: String,
    /// Which of its trials, from 1.
    pub trial: u64,
    /// What was judged.
    pub judgement: Judgement,
    /// Whether the semantic review has a doubt.
    pub has_doubt: bool,
}

/// What an experiment was to be.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Ids of its cases.
    pub cases: Vec<String>,
    /// Trials of each.
    pub trials: u64,
    /// The share of trials that must pass: at it is enough.
    pub threshold: f64,
}

/// Decides on a candidate.
#[must_use]
pub fn decide(plan: &Plan, candidate: &[JudgedTrial], baseline: Option<&[JudgedTrial]>) -> Decided {
    let mut trials: Vec<&JudgedTrial> = candidate.iter().filter(|trial| plan.cases.contains(&trial.case_id)).collect();
    trials.sort_by(|one, other| (&one.case_id, one.trial).cmp(&(&other.case_id, other.trial)));
    let total = figures(&trials);
    let comparison = baseline.map(|baseline| compare(plan, &trials, baseline));
    let mut reasons = Vec::new();
    for trial in &trials {
        let is_critical = |severity: CheckSeverity| severity == CheckSeverity::Critical;
        let failed = trial.judgement.checks.iter().filter(|check| check.verdict == EvalVerdict::Fail);
        reasons.extend(failed.filter(|check| is_critical(check.severity)).map(|check| {
            DecisionReason::CriticalViolation {
                case_id: trial.case_id.clone(),
                trial: trial.trial,
                check: check.id.clone(),
            }
        }));
    }
    reasons.extend(missing(plan, &trials));
    for trial in &trials {
        let (case_id, number) = (&trial.case_id, trial.trial);
        if !trial.judgement.blocked_proposals.is_empty() {
            reasons.push(DecisionReason::BlockedProposal { case_id: case_id.clone(), trial: number });
        }
        if trial.has_doubt {
            reasons.push(DecisionReason::SemanticDoubt { case_id: case_id.clone(), trial: number });
        }
    }
    if total.pass_at_1.is_some_and(|rate| rate < plan.threshold) {
        reasons.push(DecisionReason::BelowThreshold { passed: total.passed, decided: total.decided });
    }
    if let Some(found) = &comparison
        && found.baseline_only > found.candidate_only
        && !found.within_chance
    {
        reasons.push(DecisionReason::Regression {
            baseline_only: found.baseline_only,
            candidate_only: found.candidate_only,
            p: found.p,
        });
    }
    let decision = reasons.iter().map(DecisionReason::decision).min().unwrap_or(EvalDecision::Candidate);
    let cases: BTreeSet<&String> = plan.cases.iter().collect();
    let of_case = |id: &&String| {
        let own: Vec<&JudgedTrial> = trials.iter().copied().filter(|trial| trial.case_id == **id).collect();
        let figures = figures(&own);
        let share = Share { hits: figures.passed, of: figures.decided };
        let pass_power = (1..=share.of).filter_map(|k| pass_power(share, k)).collect();
        CaseFigures { case_id: (*id).clone(), figures, pass_power }
    };
    Decided { decision, reasons, cases: cases.iter().map(of_case).collect(), total, comparison }
}

fn missing(plan: &Plan, trials: &[&JudgedTrial]) -> Option<DecisionReason> {
    let count = |verdict: EvalVerdict| trials.iter().filter(|trial| trial.judgement.verdict == verdict).count() as u64;
    let made: BTreeSet<(&str, u64)> = trials.iter().map(|trial| (trial.case_id.as_str(), trial.trial)).collect();
    let cases: BTreeSet<&String> = plan.cases.iter().collect();
    let planned = cases.iter().flat_map(|case| (1..=plan.trials).map(move |trial| (case.as_str(), trial)));
    let not_run = planned.filter(|trial| !made.contains(trial)).count() as u64;
    let [error, unknown, cancelled] = [EvalVerdict::Error, EvalVerdict::Unknown, EvalVerdict::Cancelled].map(count);
    if error + unknown + cancelled + not_run > 0 {
        return Some(DecisionReason::TrialsMissing { error, unknown, cancelled, not_run });
    }
    (count(EvalVerdict::NotApplicable) == trials.len() as u64).then_some(DecisionReason::NothingTried)
}

fn figures(trials: &[&JudgedTrial]) -> Figures {
    let count = |verdict: EvalVerdict| trials.iter().filter(|trial| trial.judgement.verdict == verdict).count() as u64;
    let passed = count(EvalVerdict::Pass);
    let decided = passed + count(EvalVerdict::Fail);
    let share = Share { hits: passed, of: decided };
    let interval = wilson(share);
    let pass_at_1 = (decided > 0).then(|| share.rate());
    Figures { passed, decided, pass_at_1, low: interval.low, high: interval.high }
}

/// Whether each case passes; none for one whose trials lack a verdict.
fn by_case<'t>(
    plan: &Plan,
    planned: u64,
    trials: impl Iterator<Item = &'t JudgedTrial>,
) -> BTreeMap<&'t str, Option<bool>> {
    let mut found: BTreeMap<&str, (Option<bool>, u64)> = BTreeMap::new();
    for trial in trials.filter(|trial| plan.cases.contains(&trial.case_id)) {
        let (passes, made) = found.entry(&trial.case_id).or_insert((Some(true), 0));
        *made += 1;
        *passes = match trial.judgement.verdict {
            EvalVerdict::Pass => *passes,
            EvalVerdict::Fail => passes.map(|_| false),
            _ => None,
        };
    }
    found.into_iter().map(|(case, (passes, made))| (case, passes.filter(|_| made >= planned))).collect()
}

fn compare(plan: &Plan, candidate: &[&JudgedTrial], baseline: &[JudgedTrial]) -> Comparison {
    let candidate = by_case(plan, plan.trials, candidate.iter().copied());
    // A baseline may have had another number of trials; its highest says which.
    let planned = baseline.iter().map(|trial| trial.trial).max().unwrap_or_default();
    let baseline = by_case(plan, planned, baseline.iter());
    let mut counts = [[0_u64; 2]; 2];
    let mut left_out = 0;
    for case in plan.cases.iter().collect::<BTreeSet<_>>() {
        let of = |side: &BTreeMap<&str, Option<bool>>| side.get(case.as_str()).copied().flatten();
        match (of(&baseline), of(&candidate)) {
            (Some(before), Some(now)) => counts[usize::from(before)][usize::from(now)] += 1,
            _ => left_out += 1,
        }
    }
    let [[neither, candidate_only], [baseline_only, both]] = counts;
    let p = mcnemar(baseline_only, candidate_only);
    Comparison { both, baseline_only, candidate_only, neither, left_out, p, within_chance: p >= ALPHA }
}
