//! A target in another language, with nothing but its standard library, plays cases through real sockets.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use taco_trace::chat::key::Key;
use taco_trace::eval::case::Case;
use taco_trace::eval::event::{Event, EventKind, Outcome};
use taco_trace::eval::freeze::freeze;
use taco_trace::eval::judge::{Judgement, Observed, TargetKind, judge};
use taco_trace::eval::trial::Trial;
use taco_trace::eval::world::WorldState;
use taco_trace::model::EvalVerdict;
use taco_trace::sandbox::{Clock, Lease, Limits, Sandbox, Setup};
use taco_trace::target::address::system;
use taco_trace::target::{self, AuthHeader, HttpTarget, Preflight, TurnRequest};

use crate::support::repository;

pub(crate) const SECRET: &str = "key-of-the-python-target";

/// `tests/eval_target.py` while it runs.
pub(crate) struct Python {
    child: Child,
    pub(crate) address: String,
}

impl Python {
    /// None where there is no Python, which the output of the test says.
    pub(crate) fn start() -> Option<Self> {
        let script = repository().join("tests/eval_target.py");
        let mut command = Command::new("python3");
        command.arg(script).env("TARGET_KEY", SECRET).stdin(Stdio::null()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else {
            eprintln!("skipped: python3 is not here");
            return None;
        };
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Some(Self { child, address: address.trim().to_owned() })
    }

    fn target(&self, secret: &str) -> HttpTarget {
        let header = AuthHeader::new("X-Agent-Key", &Key::new(secret).unwrap()).unwrap();
        HttpTarget::new(&self.address, true, &system, Some(header), target::Limits::default()).unwrap()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn sandbox() -> Sandbox {
    let begun = Instant::now();
    let clock = Clock { elapsed: Box::new(move || begun.elapsed()), now: Box::new(SystemTime::now) };
    let setup = Setup { limits: Limits::default(), clock, public_url: None };
    Sandbox::start(TcpListener::bind("127.0.0.1:0").unwrap(), setup).unwrap()
}

fn case(id: &str) -> Arc<Case> {
    let text = fs::read_to_string(repository().join(format!("fixtures/eval/cases/{id}.json"))).unwrap();
    Arc::new(freeze(&text).unwrap().1)
}

/// Plays all turns of a trial, as a runner does.
fn play(target: &HttpTarget, case: &Case, lease: Lease) -> (Vec<Event>, WorldState) {
    while lease.next_turn() {
        let turn = TurnRequest::new(case, lease.trial_id(), lease.turn(), Some(lease.access())).unwrap();
        match target.turn(&turn, lease.time_left()) {
            Ok(answer) => {
                for proposal in &answer.proposals {
                    lease.propose(&proposal.tool, &proposal.arguments, proposal.blocked);
                }
                lease.answer(&answer.text);
            }
            Err(error) => {
                lease.fail(error.source(), &error.to_string());
                break;
            }
        }
    }
    lease.close()
}

fn judged(case: &Case, ready: &Preflight, events: &[Event], world: &WorldState) -> Judgement {
    let observes = TargetKind::Http.observes(ready.submits_proposals());
    judge(Observed { case, observes, capabilities: &ready.capabilities, events, world })
}

fn outcomes(events: &[Event]) -> Vec<Outcome> {
    let outcome = |event: &Event| match event.kind {
        EventKind::Result { outcome, .. } => Some(outcome),
        _ => None,
    };
    events.iter().filter_map(outcome).collect()
}

#[test]
fn a_target_in_python_passes_cases_of_each_kind() {
    let Some(python) = Python::start() else { return };
    let (target, sandbox) = (python.target(SECRET), sandbox());
    let ready = target.preflight().unwrap();
    assert_eq!((ready.name.as_str(), ready.version.as_str()), ("office", "1"));
    assert_eq!(ready.capabilities, ["cancel_signal", "proposals"]);
    use Outcome::{Limit, Ok, ResponseLost, ToolError};
    for (id, shows, expected) in [
        ("02-approved-mail", "an approval that is there", vec![Ok]),
        ("04-expired-approval", "an approval asked for anew, and two turns", vec![Ok]),
        ("05-used-approval", "no approval", vec![]),
        ("08-lost-after-effect", "a lost response: looks, and does not write again", vec![ResponseLost, Ok]),
        ("09-lost-before-effect", "a lost response: looks, and writes again", vec![ResponseLost, Ok, Ok]),
        ("10-tool-error", "a tool that says no", vec![ToolError]),
        ("11-call-limit", "a limit", vec![Ok, Limit]),
        ("13-duplicate-event", "an event that comes again", vec![Ok, Ok]),
        ("15-cancel-signal", "a signal to stop", vec![Ok, Ok]),
    ] {
        let case = case(id);
        let lease = sandbox.open(id, Arc::clone(&case)).unwrap();
        let (events, world) = play(&target, &case, lease);
        let judgement = judged(&case, &ready, &events, &world);
        assert_eq!(judgement.verdict, EvalVerdict::Pass, "{id}, {shows}: {judgement:#?} {events:#?}");
        assert_eq!(outcomes(&events), expected, "{id}, {shows}");
        assert!(!format!("{events:?}").contains(SECRET));
    }
}

/// Trials beside one another on one sandbox and one target stay apart.
#[test]
fn trials_of_a_target_in_python_run_beside_one_another() {
    let Some(python) = Python::start() else { return };
    let (target, sandbox) = (python.target(SECRET), sandbox());
    let ready = target.preflight().unwrap();
    let ids = ["08-lost-after-effect", "11-call-limit", "13-duplicate-event", "02-approved-mail"];
    std::thread::scope(|scope| {
        for number in 0..12 {
            let (target, sandbox, ready) = (&target, &sandbox, &ready);
            scope.spawn(move || {
                let case = case(ids[number % ids.len()]);
                let lease = sandbox.open(&format!("{number}"), Arc::clone(&case)).unwrap();
                let (events, world) = play(target, &case, lease);
                let judgement = judged(&case, ready, &events, &world);
                assert_eq!(judgement.verdict, EvalVerdict::Pass, "{}: {judgement:#?}", case.id);
            });
        }
    });
}

#[test]
fn a_wrong_key_is_a_failure_of_the_connection_and_the_trial_an_error() {
    let Some(python) = Python::start() else { return };
    let (target, sandbox) = (python.target("another-key-than-that"), sandbox());
    let error = target.preflight().unwrap_err();
    assert_eq!(error.to_string(), "the target refuses with status 401: not ***");
    let case = case("02-approved-mail");
    let lease = sandbox.open("t1", Arc::clone(&case)).unwrap();
    let (events, world) = play(&target, &case, lease);
    let ready = Preflight { name: "n".to_owned(), version: "1".to_owned(), capabilities: Vec::new() };
    assert_eq!(judged(&case, &ready, &events, &world).verdict, EvalVerdict::Error);
    assert!(!format!("{events:?}").contains("another-key"), "{events:?}");
}

/// Asked without tools, it can only answer: what it did cannot be observed, and is not held against it.
#[test]
fn answer_only_is_judged_by_its_answer_alone() {
    let Some(python) = Python::start() else { return };
    let target = python.target(SECRET);
    let case = case("11-call-limit");
    let mut trial = Trial::new(Arc::clone(&case));
    assert!(trial.next_turn(0));
    let turn = TurnRequest::new(&case, "t1", trial.turn(), None).unwrap();
    let answer = target.turn(&turn, Duration::from_secs(60)).unwrap();
    trial.answer(1, &answer.text);
    let (events, world) = trial.finish();
    let observes = TargetKind::AnswerOnly.observes(false);
    let judgement = judge(Observed { case: &case, observes, capabilities: &[], events: &events, world: &world });
    let verdicts: Vec<(&str, EvalVerdict)> =
        judgement.checks.iter().map(|check| (check.id.as_str(), check.verdict)).collect();
    let unknown = EvalVerdict::Unknown;
    assert_eq!(verdicts, [("stops", unknown), ("few-calls", unknown), ("tells", EvalVerdict::Fail)]);
}
