//! Experiments that were kept: views, reports, reviews, the gate and its tokens, and every word of the guide's tables.

mod by_hand;
mod gate;
mod report;
mod review;
mod serve;
mod views;
mod width;
mod words;

use std::fs;
use std::process::Output;

use taco_trace::eval::again;
use taco_trace::eval::case::Case;
use taco_trace::eval::event::{Event, EventKind};
use taco_trace::eval::freeze::freeze;
use taco_trace::eval::judge::{Observed, TargetKind, judge};
use taco_trace::eval::world::WorldState;
use taco_trace::model::{
    EvalDecision, EvalVerdict, Experiment, ExperimentRole, FrozenCase, KeptDecision, TrialCheck, TrialEnd, TrialEvent,
    TrialStart,
};
use taco_trace::store::Store;

use super::support::repository;
use super::support_cli::{Place, program, told};

/// 2026-10-06T10:00:00+09:00.
const START_NS: i64 = 1_791_248_400_000_000_000;
const AT: &str = "2026-10-06T10:00:00.000+09:00";

/// A configuration hash that is one digit over and over.
fn hash(digit: char) -> String {
    digit.to_string().repeat(64)
}

/// A store with experiments in it.
struct Lab {
    place: Place,
}

impl Lab {
    fn new() -> Self {
        let lab = Self { place: Place::new() };
        lab.store().keep_project("p", "프로젝트", AT).unwrap();
        lab
    }

    fn store(&self) -> Store {
        Store::open(&self.place.db()).unwrap()
    }

    /// Adds an experiment of these cases; what begins later has a higher `started_ns`.
    fn experiment(&self, id: &str, cases: &[&str], change: impl FnOnce(&mut Experiment)) {
        let mut experiment = Experiment {
            experiment_id: id.to_owned(),
            project_id: "p".to_owned(),
            role: ExperimentRole::Candidate,
            target: "mine".to_owned(),
            target_kind: "script".to_owned(),
            config_sha256: hash('c'),
            config: "{}".to_owned(),
            allow_private_target: false,
            trials: 1,
            threshold: 1.0,
            started_at: AT.to_owned(),
            started_ns: START_NS,
            cases: cases.iter().map(|case| ((*case).to_owned(), hash('0'))).collect(),
        };
        change(&mut experiment);
        self.store().begin_experiment(&experiment).unwrap();
    }

    /// Begins an attempt at a trial and says its id.
    fn begin(&self, experiment: &str, case: &str, trial: u64, attempt: u64) -> String {
        let trial_id = format!("t_{experiment}_{case}_{trial}_{attempt}");
        let start = TrialStart {
            trial_id: trial_id.clone(),
            experiment_id: experiment.to_owned(),
            case_id: case.to_owned(),
            trial,
            attempt,
            started_at: AT.to_owned(),
            started_ns: START_NS + i64::try_from(attempt).unwrap(),
        };
        self.store().begin_trial(&start).unwrap();
        trial_id
    }

    /// The first attempt at a trial, from its beginning to its end.
    fn trial(&self, experiment: &str, case: &str, trial: u64, end: TrialEnd) -> String {
        let trial_id = self.begin(experiment, case, trial, 1);
        assert!(self.store().end_trial(&TrialEnd { trial_id: trial_id.clone(), ..end }).unwrap());
        trial_id
    }

    /// Decides on an experiment as `eval run` does at its end.
    fn decide(&self, id: &str, baseline: Option<&str>, decided_ns: i64) -> EvalDecision {
        let store = self.store();
        let experiments = store.experiments().unwrap();
        let experiment = experiments.iter().find(|one| one.experiment_id == id).unwrap();
        let trials = store.planned_trials(id).unwrap();
        let before = baseline.map(|id| store.planned_trials(id).unwrap());
        let decided = again::decided(experiment, &trials, before.as_deref());
        let decision = decided.decision;
        let kept = KeptDecision {
            experiment_id: id.to_owned(),
            baseline_experiment_id: baseline.map(str::to_owned),
            decided,
            decided_at: AT.to_owned(),
            decided_ns,
        };
        store.add_experiment_decision(&kept).unwrap();
        decision
    }

    /// Keeps an example case, and what the judge says of a recorded trial of it, such as `16-proposal-and-call.fail`.
    fn recorded(&self, name: &str) -> (FrozenCase, TrialEnd) {
        let (case_name, _) = name.rsplit_once('.').unwrap();
        let read = |path: String| fs::read_to_string(repository().join("fixtures/eval").join(path)).unwrap();
        let (frozen, case) = freeze(&read(format!("cases/{case_name}.json"))).unwrap();
        let frozen = FrozenCase { frozen_at: AT.to_owned(), ..frozen };
        self.store().freeze_case(&frozen).unwrap();
        let lines = read(format!("events/{name}.jsonl"));
        let events: Vec<Event> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (frozen, judged(&case, &events))
    }

    /// `taco-trace eval …` on the store.
    fn eval(&self, args: &[&str]) -> Output {
        program().arg("eval").args(args).arg("--db").arg(self.place.db()).output().unwrap()
    }

    /// The same, which must end so; standard output.
    fn said(&self, args: &[&str], status: i32) -> String {
        let output = self.eval(args);
        assert_eq!(output.status.code(), Some(status), "{args:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// The end of a trial of which nothing is kept but its verdict, as the check `c`.
fn ended(verdict: EvalVerdict) -> TrialEnd {
    TrialEnd {
        trial_id: String::new(),
        verdict,
        ended_at: AT.to_owned(),
        duration_ms: 1_500,
        target_name: Some("agent".to_owned()),
        target_version: Some("1.2".to_owned()),
        capabilities: Vec::new(),
        submits_events: true,
        input_tokens: 100,
        output_tokens: 20,
        cost_usd: Some("0.001500000000".to_owned()),
        world: "{}".to_owned(),
        events: vec![event(1, r#"{"kind":"answer","text":"답"}"#)],
        checks: vec![check("c", verdict)],
        traces: Vec::new(),
    }
}

fn check(id: &str, verdict: EvalVerdict) -> TrialCheck {
    let reason = match verdict {
        EvalVerdict::Pass => "holds",
        EvalVerdict::Fail => "answer_lacks",
        EvalVerdict::Error => "connection_failed",
        EvalVerdict::Unknown => "not_observed",
        EvalVerdict::Cancelled => "experiment_cancelled",
        EvalVerdict::NotApplicable => "capability_missing",
    };
    TrialCheck {
        check_id: id.to_owned(),
        kind: "answer".to_owned(),
        severity: "normal".to_owned(),
        verdict,
        reason: reason.to_owned(),
        events: vec![1],
        measured: None,
    }
}

/// An event of the first turn; its text has everything but number, time and turn.
fn event(seq: u64, text: &str) -> TrialEvent {
    let mut value: serde_json::Value = serde_json::from_str(text).unwrap();
    value["seq"] = seq.into();
    value["at_ms"] = (seq * 10).into();
    value["turn"] = 1.into();
    let kind = value["kind"].as_str().unwrap().to_owned();
    TrialEvent { seq, at_ms: seq * 10, turn: 1, kind, event: value.to_string() }
}

/// What the judge says of recorded events.
fn judged(case: &Case, events: &[Event]) -> TrialEnd {
    let mut world = WorldState::initial(case);
    for event in events {
        if let EventKind::StateChange { change, .. } = &event.kind {
            world.apply(change);
        }
    }
    let capabilities = vec!["cancel_signal".to_owned()];
    let observes = TargetKind::Script.observes(true);
    let judgement = judge(Observed { case, observes, capabilities: &capabilities, events, world: &world });
    let kept = events.iter().map(|event| {
        let value = serde_json::to_value(event).unwrap();
        TrialEvent {
            seq: event.seq,
            at_ms: event.at_ms,
            turn: event.turn,
            kind: value["kind"].as_str().unwrap().to_owned(),
            event: value.to_string(),
        }
    });
    let word = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    let checks = judgement.checks.iter().map(|check| TrialCheck {
        check_id: check.id.clone(),
        kind: check.kind.clone(),
        severity: word(serde_json::to_value(check.severity).unwrap()),
        verdict: check.verdict,
        reason: word(serde_json::to_value(check.reason).unwrap()),
        events: check.events.clone(),
        measured: check.measured,
    });
    TrialEnd { events: kept.collect(), checks: checks.collect(), capabilities, ..ended(judgement.verdict) }
}
