//! From what a store keeps of an experiment to its report, and to a decision worked out again.
//!
//! Reads rows, judges nothing: verdicts are those of the trials, the decision that of [`crate::eval::decide`]. No words
//! for people. Start with [`report`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::eval::again;
use crate::eval::case::Case;
use crate::model::eval::Decided;
use crate::model::eval_report::{
    EvalReport, REPORT_FORMAT, ReportBaseline, ReportEvent, ReportExperiment, ReportTarget, ReportTrace, ReportTrial,
    TraceDiagnosis,
};
use crate::model::{
    EvalDecision, EvalVerdict, Experiment, ExperimentRole, GateAnswer, KeptDecision, Observes, PlannedTrial,
    TargetKind, TrialCheck, TrialEvent, TrialState,
};
use crate::store::{Store, StoreError};

/// Why no experiment was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotChosen {
    /// There is none at all.
    None,
    /// None has an id that begins so.
    Unknown,
    /// Several have: their ids.
    Ambiguous(Vec<String>),
}

/// The experiment with this id or this beginning of one, else the newest candidate, else the newest. The oldest stands
/// first.
///
/// # Errors
/// When there is none, or more than one.
pub fn choose<'e>(experiments: &'e [Experiment], asked: Option<&str>) -> Result<&'e Experiment, NotChosen> {
    let Some(asked) = asked else {
        let candidate = experiments.iter().rfind(|experiment| experiment.role == ExperimentRole::Candidate);
        return candidate.or_else(|| experiments.last()).ok_or(NotChosen::None);
    };
    if let Some(exact) = experiments.iter().find(|experiment| experiment.experiment_id == asked) {
        return Ok(exact);
    }
    let fitting: Vec<&Experiment> =
        experiments.iter().filter(|experiment| experiment.experiment_id.starts_with(asked)).collect();
    match fitting.as_slice() {
        [] => Err(NotChosen::Unknown),
        [one] => Ok(one),
        several => Err(NotChosen::Ambiguous(several.iter().map(|one| one.experiment_id.clone()).collect())),
    }
}

/// The report of an experiment. `diagnoses` are those of traces, by id; one that is absent there is told so.
///
/// # Errors
/// Those of the store.
pub fn report(
    store: &Store,
    experiments: &[Experiment],
    experiment: &Experiment,
    diagnoses: &BTreeMap<String, TraceDiagnosis>,
    version: &str,
) -> Result<EvalReport, StoreError> {
    let trials = store.planned_trials(&experiment.experiment_id)?;
    let standing = store.standing_decision(&experiment.experiment_id)?;
    let (decided, decided_at, baseline) = match standing {
        Some(kept) => (kept.decided, Some(kept.decided_at), kept.baseline_experiment_id),
        None => (again::decided(experiment, &trials, None), None, None),
    };
    let mut cases: BTreeMap<&str, Option<Case>> = BTreeMap::new();
    for (id, sha256) in &experiment.cases {
        let document = store.frozen_case(sha256)?;
        cases.insert(id, document.and_then(|document| serde_json::from_str(&document).ok()));
    }
    let of_trial = |trial: &PlannedTrial| {
        report_trial(trial, cases.get(trial.case_id.as_str()).and_then(Option::as_ref), diagnoses)
    };
    Ok(EvalReport {
        format: REPORT_FORMAT,
        version: version.to_owned(),
        experiment: ReportExperiment {
            experiment_id: experiment.experiment_id.clone(),
            project_id: experiment.project_id.clone(),
            role: experiment.role.as_str().to_owned(),
            config_sha256: experiment.config_sha256.clone(),
            trials: experiment.trials,
            threshold: experiment.threshold,
            started_at: experiment.started_at.clone(),
        },
        target: target(experiment, &trials),
        decided,
        decided_at,
        baseline: baseline.and_then(|id| experiments.iter().find(|one| one.experiment_id == id)).map(|one| {
            ReportBaseline {
                experiment_id: one.experiment_id.clone(),
                target: one.target.clone(),
                target_kind: one.target_kind.clone(),
                config_sha256: one.config_sha256.clone(),
                started_at: one.started_at.clone(),
            }
        }),
        spent: store.eval_spent(&experiment.experiment_id)?,
        trials: trials.iter().map(of_trial).collect(),
    })
}

/// What stands of exactly this configuration, see [`Store::gate`]. Where no decision stands yet because trials go on or
/// were interrupted, a critical violation among those that ended does all the same: nothing later takes it back.
///
/// # Errors
/// Those of the store.
pub fn gate_answer(store: &Store, config_sha256: &str, project_id: Option<&str>) -> Result<GateAnswer, StoreError> {
    let answer = store.gate(config_sha256, project_id)?;
    let GateAnswer::Undecided { experiment_id } = &answer else { return Ok(answer) };
    let experiments = store.experiments()?;
    let Some(experiment) = experiments.iter().find(|one| one.experiment_id == *experiment_id) else {
        return Ok(answer);
    };
    let decided = again::decided(experiment, &store.planned_trials(experiment_id)?, None);
    if decided.decision != EvalDecision::Blocked {
        return Ok(answer);
    }
    Ok(GateAnswer::Decided(Box::new(KeptDecision {
        experiment_id: experiment_id.clone(),
        baseline_experiment_id: None,
        decided,
        decided_at: String::new(),
        decided_ns: 0,
    })))
}

/// A decision worked out again, at a Korean time; none when the experiment has no decision that stands, or when
/// nothing changes.
///
/// # Errors
/// Those of the store.
pub fn decide_again(
    store: &Store,
    experiments: &[Experiment],
    experiment_id: &str,
    (decided_at, decided_ns): (&str, i64),
) -> Result<Option<KeptDecision>, StoreError> {
    let found = experiments.iter().find(|one| one.experiment_id == experiment_id);
    let (Some(experiment), Some(before)) = (found, store.standing_decision(experiment_id)?) else { return Ok(None) };
    let trials = store.planned_trials(experiment_id)?;
    let baseline = match &before.baseline_experiment_id {
        Some(id) => Some(store.planned_trials(id)?),
        None => None,
    };
    let decided: Decided = again::decided(experiment, &trials, baseline.as_deref());
    if decided == before.decided {
        return Ok(None);
    }
    Ok(Some(KeptDecision { decided, decided_at: decided_at.to_owned(), decided_ns, ..before }))
}

fn target(experiment: &Experiment, trials: &[PlannedTrial]) -> ReportTarget {
    let ended: Vec<&PlannedTrial> = trials.iter().filter(|trial| trial.state == TrialState::Finished).collect();
    // Of several trials the least counts: nothing is said to be seen that one of them did not show.
    let submits_events = !ended.is_empty() && ended.iter().all(|trial| trial.submits_events);
    let kind = TargetKind::ALL.into_iter().find(|kind| kind.as_str() == experiment.target_kind);
    let said: BTreeSet<String> = ended
        .iter()
        .filter_map(|trial| {
            let name = trial.target_name.as_deref()?;
            Some(format!("{name} {}", trial.target_version.as_deref().unwrap_or_default()).trim_end().to_owned())
        })
        .collect();
    ReportTarget {
        name: experiment.target.clone(),
        kind: experiment.target_kind.clone(),
        said: said.into_iter().collect(),
        agent_ran: matches!(kind, Some(TargetKind::Http | TargetKind::AnswerOnly)),
        allow_private_target: experiment.allow_private_target,
        observes: kind.map_or_else(Observes::default, |kind| kind.observes(submits_events)),
    }
}

/// The events on which checks rest that did not pass, and blocked proposals; with `all` those of every check.
#[must_use]
pub fn deciding(checks: &[TrialCheck], blocked: &[u64], events: &[TrialEvent], all: bool) -> Vec<ReportEvent> {
    let checks = checks.iter().filter(|check| all || check.verdict != EvalVerdict::Pass);
    let wanted: BTreeSet<u64> = checks.flat_map(|check| &check.events).chain(blocked).copied().collect();
    let told = events.iter().filter(|event| wanted.contains(&event.seq)).map(|event| ReportEvent {
        seq: event.seq,
        at_ms: event.at_ms,
        turn: event.turn,
        kind: event.kind.clone(),
        event: serde_json::from_str(&event.event).unwrap_or(Value::Null),
    });
    told.collect()
}

fn report_trial(
    trial: &PlannedTrial,
    case: Option<&Case>,
    diagnoses: &BTreeMap<String, TraceDiagnosis>,
) -> ReportTrial {
    let blocked_proposals = again::blocked_proposals(&trial.events);
    let traces = trial.traces.iter().map(|(turn, trace_id)| ReportTrace {
        turn: *turn,
        trace_id: trace_id.clone(),
        diagnosis: diagnoses.get(trace_id).cloned(),
    });
    ReportTrial {
        case_id: trial.case_id.clone(),
        case_name: case.map(|case| case.name.clone()).unwrap_or_default(),
        trial: trial.trial,
        trial_id: trial.trial_id.clone(),
        attempt: trial.attempt,
        state: trial.state,
        verdict: trial.verdict,
        started_at: trial.started_at.clone(),
        duration_ms: trial.duration_ms,
        input_tokens: trial.input_tokens,
        output_tokens: trial.output_tokens,
        cost_usd: trial.cost_usd.clone(),
        checks: trial.checks.clone(),
        deciding: deciding(&trial.checks, &blocked_proposals, &trial.events, false),
        blocked_proposals,
        rubric: case.map(|case| case.rubric.iter().map(|item| item.question.clone()).collect()).unwrap_or_default(),
        traces: traces.collect(),
        review: trial.review.clone(),
    }
}
