//! A decision worked out anew from what was kept: the verdicts as they were judged, and what people said since. Nothing
//! is judged again.

use serde_json::Value;

use super::case::CheckSeverity;
use super::decide::{Decided, JudgedTrial, Plan, decide};
use super::judge::{CheckJudgement, Judgement, Reason};
use crate::model::{Experiment, Opinion, PlannedTrial, TrialCheck, TrialEvent};

/// What an experiment was to be.
#[must_use]
pub fn plan(experiment: &Experiment) -> Plan {
    Plan {
        cases: experiment.cases.iter().map(|(id, _)| id.clone()).collect(),
        trials: experiment.trials,
        threshold: experiment.threshold,
    }
}

/// A trial as it was judged; none for one that has no end.
#[must_use]
pub fn judged(trial: &PlannedTrial) -> Option<JudgedTrial> {
    Some(JudgedTrial {
        case_id: trial.case_id.clone(),
        trial: trial.trial,
        judgement: Judgement {
            verdict: trial.verdict?,
            checks: trial.checks.iter().map(check).collect(),
            blocked_proposals: blocked_proposals(&trial.events),
        },
        has_doubt: trial.review.as_ref().is_some_and(|review| review.opinion == Opinion::Doubt),
    })
}

/// The decision over trials that were kept.
#[must_use]
pub fn decided(experiment: &Experiment, trials: &[PlannedTrial], baseline: Option<&[PlannedTrial]>) -> Decided {
    let all = |trials: &[PlannedTrial]| trials.iter().filter_map(judged).collect::<Vec<_>>();
    let baseline = baseline.map(all);
    decide(&plan(experiment), &all(trials), baseline.as_deref())
}

/// Numbers of the events in which the runner blocked a proposal.
#[must_use]
pub fn blocked_proposals(events: &[TrialEvent]) -> Vec<u64> {
    let is_blocked = |event: &&TrialEvent| {
        event.kind == "proposal"
            && serde_json::from_str::<Value>(&event.event)
                .is_ok_and(|event| event.get("blocked").and_then(Value::as_bool) == Some(true))
    };
    events.iter().filter(is_blocked).map(|event| event.seq).collect()
}

fn check(kept: &TrialCheck) -> CheckJudgement {
    CheckJudgement {
        id: kept.check_id.clone(),
        kind: kept.kind.clone(),
        severity: if kept.severity == "critical" { CheckSeverity::Critical } else { CheckSeverity::Normal },
        verdict: kept.verdict,
        // A code of another version is told as it stands; no decision rests on it.
        reason: serde_json::from_value(Value::from(kept.reason.as_str())).unwrap_or(Reason::CheckUnusable),
        events: kept.events.clone(),
        measured: kept.measured,
    }
}
