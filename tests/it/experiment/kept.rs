//! Experiments in the store: what is added together, what is never added twice, what is read back.

use taco_trace::eval::decide::{JudgedTrial, Plan, decide};
use taco_trace::eval::judge::Judgement;
use taco_trace::model::{
    EvalDecision, EvalVerdict, Experiment, ExperimentRole, KeptDecision, TrialCheck, TrialEnd, TrialEvent, TrialStart,
};
use taco_trace::store::Store;

use crate::support::answers;

fn experiment(id: &str, started_ns: i64) -> Experiment {
    Experiment {
        experiment_id: id.to_owned(),
        project_id: "p".to_owned(),
        role: ExperimentRole::Candidate,
        target: "mine".to_owned(),
        target_kind: "script".to_owned(),
        config_sha256: "c".repeat(64),
        config: "{}".to_owned(),
        allow_private_target: false,
        trials: 2,
        threshold: 0.9,
        started_at: "2026-10-06T10:00:00+09:00".to_owned(),
        started_ns,
        cases: vec![("a".to_owned(), "1".repeat(64)), ("b".to_owned(), "2".repeat(64))],
    }
}

fn start(trial: &str, case: &str, number: u64) -> TrialStart {
    TrialStart {
        trial_id: trial.to_owned(),
        experiment_id: "x1".to_owned(),
        case_id: case.to_owned(),
        trial: number,
        attempt: 1,
        started_at: "2026-10-06T10:00:01+09:00".to_owned(),
        started_ns: 7,
    }
}

fn end(trial: &str) -> TrialEnd {
    TrialEnd {
        trial_id: trial.to_owned(),
        verdict: EvalVerdict::Unknown,
        ended_at: "2026-10-06T10:00:02+09:00".to_owned(),
        duration_ms: 950,
        target_name: Some("agent".to_owned()),
        target_version: None,
        capabilities: vec!["cancel_signal".to_owned()],
        submits_events: true,
        input_tokens: 11,
        output_tokens: 3,
        cost_usd: Some("0.000000012500".to_owned()),
        world: "{\"collections\":{}}".to_owned(),
        events: (1..=2)
            .map(|seq| TrialEvent {
                seq,
                at_ms: seq * 10,
                turn: 1,
                kind: "answer".to_owned(),
                event: format!("{{\"seq\":{seq}}}"),
            })
            .collect(),
        checks: vec![TrialCheck {
            check_id: "c1".to_owned(),
            kind: "metric".to_owned(),
            severity: "critical".to_owned(),
            verdict: EvalVerdict::Unknown,
            reason: "not_observed".to_owned(),
            events: vec![1, 2],
            measured: Some(4),
        }],
        traces: vec![(1, "a".repeat(32)), (2, "b".repeat(32))],
    }
}

#[test]
fn experiment_and_trials_are_read_back_as_they_were_added() {
    let store = Store::in_memory().unwrap();
    assert!(store.keep_project("p", "first", "2026-10-06T10:00:00+09:00").unwrap());
    assert!(!store.keep_project("p", "second", "2026-10-07T10:00:00+09:00").unwrap(), "the first name stays");
    assert_eq!(answers(&store, "SELECT name FROM eval_projects"), ["first"]);
    let (later, first) = (experiment("x2", 20), experiment("x1", 10));
    for one in [&later, &first] {
        store.begin_experiment(one).unwrap();
    }
    assert_eq!(store.experiments().unwrap(), [first.clone(), later.clone()]);
    assert_eq!(store.experiment("x1").unwrap(), std::slice::from_ref(&first));
    assert_eq!(store.experiment("x").unwrap(), [first, later], "a prefix that several have");
    assert_eq!(store.experiment("y").unwrap(), []);
    for one in [start("t2", "b", 1), start("t1", "a", 1), start("t3", "a", 2)] {
        store.begin_trial(&one).unwrap();
    }
    assert!(store.end_trial(&end("t1")).unwrap());
    let trials = store.trials_of("x1").unwrap();
    let ids: Vec<&str> = trials.iter().map(|trial| trial.start.trial_id.as_str()).collect();
    assert_eq!(ids, ["t1", "t3", "t2"], "by case, then trial");
    let plain = TrialEnd { events: Vec::new(), checks: Vec::new(), traces: Vec::new(), ..end("t1") };
    assert_eq!(trials[0].end, Some(plain));
    assert_eq!((&trials[1].end, &trials[1].start), (&None, &start("t3", "a", 2)));
    let whole = end("t1");
    assert_eq!(store.events_of("t1").unwrap(), whole.events);
    assert_eq!(store.checks_of("t1").unwrap(), whole.checks);
    assert_eq!(store.traces_of("t1").unwrap(), whole.traces);
    assert_eq!(store.trials_of("x2").unwrap(), []);
}

#[test]
fn trial_ends_once_and_whole() {
    let store = Store::in_memory().unwrap();
    store.begin_trial(&start("t1", "a", 1)).unwrap();
    assert!(store.end_trial(&end("t1")).unwrap());
    let other = TrialEnd { verdict: EvalVerdict::Pass, ..end("t1") };
    assert!(!store.end_trial(&other).unwrap(), "the first end stays");
    let counts = "SELECT (SELECT string_agg(verdict) FROM eval_trial_ends), (SELECT COUNT(*) FROM eval_trial_events),
        (SELECT COUNT(*) FROM eval_trial_checks), (SELECT COUNT(*) FROM eval_trial_traces)";
    assert_eq!(answers(&store, counts), ["UNKNOWN|2|1|2"]);
    // A cost that is no number keeps everything else out too.
    store.begin_trial(&start("t2", "a", 2)).unwrap();
    assert!(store.end_trial(&TrialEnd { cost_usd: Some("much".to_owned()), ..end("t2") }).is_err());
    assert_eq!(answers(&store, counts), ["UNKNOWN|2|1|2"]);
    let free = TrialEnd { cost_usd: None, target_name: None, ..end("t2") };
    assert!(store.end_trial(&free).unwrap(), "and it can be ended afterwards");
    assert_eq!(store.trials_of("x1").unwrap()[1].end.as_ref().unwrap().cost_usd, None);
}

#[test]
fn newest_decision_counts_also_when_the_clock_was_set_back() {
    let store = Store::in_memory().unwrap();
    assert_eq!(store.standing_decision("x1").unwrap(), None);
    let decided = |trials: &[JudgedTrial], decided_ns: i64| KeptDecision {
        experiment_id: "x1".to_owned(),
        baseline_experiment_id: trials.is_empty().then(|| "x0".to_owned()),
        decided: decide(&Plan { cases: vec!["a".to_owned()], trials: 1, threshold: 0.0 }, trials, None),
        decided_at: "2026-10-06T10:00:00+09:00".to_owned(),
        decided_ns,
    };
    let passed = Judgement { verdict: EvalVerdict::Pass, checks: Vec::new(), blocked_proposals: Vec::new() };
    let passed = [JudgedTrial { case_id: "a".to_owned(), trial: 1, judgement: passed, has_doubt: false }];
    let first = decided(&passed, 100);
    assert_eq!(first.decided.decision, EvalDecision::Candidate);
    store.add_experiment_decision(&first).unwrap();
    assert_eq!(store.standing_decision("x1").unwrap(), Some(first));
    store.add_experiment_decision(&decided(&[], 50)).unwrap();
    let newest = KeptDecision { decided_ns: 101, ..decided(&[], 50) };
    assert_eq!(newest.decided.decision, EvalDecision::Held);
    assert_eq!(store.standing_decision("x1").unwrap(), Some(newest));
}

#[test]
fn experiments_survive_an_export_and_an_import() {
    use taco_trace::store::care::ExportOptions;
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("one.duckdb")).unwrap();
    store.keep_project("p", "name", "2026-10-06T10:00:00+09:00").unwrap();
    store.begin_experiment(&experiment("x1", 10)).unwrap();
    store.begin_trial(&start("t1", "a", 1)).unwrap();
    store.end_trial(&end("t1")).unwrap();
    let out = folder.path().join("out");
    store.export_parquet(&out, &ExportOptions::default()).unwrap();
    let mut other = Store::open(&folder.path().join("two.duckdb")).unwrap();
    // Twice: what is there already is not added again.
    for _ in 0..2 {
        other.import_parquet(&out, &|code, _| code.as_str().to_owned()).unwrap();
        assert_eq!(other.experiments().unwrap(), store.experiments().unwrap());
        assert_eq!(other.trials_of("x1").unwrap(), store.trials_of("x1").unwrap());
        assert_eq!(other.events_of("t1").unwrap(), end("t1").events);
        assert_eq!(other.checks_of("t1").unwrap(), end("t1").checks);
        assert_eq!(other.traces_of("t1").unwrap(), end("t1").traces);
    }
}
