//! Runs what a plan holds: several trials at a time on threads, all of what is kept by one ([`Journal`]).
//!
//! A trial begins when the journal has kept that it does; it ends when the journal has kept how. What is killed in
//! between therefore shows as a trial without an end, and nothing that ended is lost.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::plan::Task;
use super::record::{About, traces};
use super::target::{Ran, Target};
use crate::chat::ChatError;
use crate::eval::event::{Event, FailureSource};
use crate::eval::judge::{Judgement, Observed, judge};
use crate::model::{TrialCheck, TrialEnd, TrialEvent, TrialStart};

/// How often is looked whether somebody wants an end, while trials go on.
const LOOK: Duration = Duration::from_millis(100);

/// Keeps what begins and ends, in the order in which it is told.
pub trait Journal {
    /// Why something could not be kept.
    type Error;

    /// The time: Korean, ISO 8601, and nanoseconds since 1970 UTC.
    fn now(&mut self) -> (String, i64);

    /// Whether somebody wants an end.
    fn is_cancelled(&mut self) -> bool;

    /// A trial begins: it is kept when this returns.
    ///
    /// # Errors
    /// When it could not be kept; the trial is not made then.
    fn begin(&mut self, start: &TrialStart) -> Result<(), Self::Error>;

    /// A trial ended: it is kept when this returns.
    ///
    /// # Errors
    /// When it could not be kept; no further trial is made then.
    fn end(&mut self, start: &TrialStart, end: &TrialEnd) -> Result<(), Self::Error>;
}

/// What is run.
#[derive(Clone, Copy)]
pub struct Setup<'s> {
    /// The experiment.
    pub experiment_id: &'s str,
    /// Name of the target in the project.
    pub target_name: &'s str,
    /// The target.
    pub target: &'s dyn Target,
    /// Trials at a time.
    pub concurrency: u64,
}

/// How a run ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Trials that ended, cancelled ones among them.
    pub ended: u64,
    /// Whether somebody wanted an end: what was left became CANCELLED.
    pub is_cancelled: bool,
    /// The spending cap that was reached: what was left was not begun.
    pub cap: Option<ChatError>,
    /// Trials that were not begun.
    pub not_run: u64,
}

/// A trial that came back.
struct Done {
    task: Task,
    start: TrialStart,
    ran: Ran,
}

/// Runs tasks in their order.
///
/// # Errors
/// That of the journal; trials that were going on then end without being kept.
pub fn run<J: Journal>(setup: Setup<'_>, tasks: Vec<Task>, journal: &mut J) -> Result<Summary, J::Error> {
    let stop = AtomicBool::new(false);
    let (to_do, orders) = channel::<(Task, TrialStart)>();
    let (back, results) = channel::<Done>();
    let orders = Mutex::new(orders);
    let workers = setup.concurrency.clamp(1, tasks.len().max(1) as u64);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            let (back, orders, stop) = (back.clone(), &orders, &stop);
            scope.spawn(move || work(setup.target, orders, &back, stop));
        }
        drop(back);
        let lead = Lead { setup, workers, stop: &stop, to_do, results };
        let led = lead.run(tasks.into(), journal);
        // Those that still go on after an error need not go on.
        stop.store(true, Ordering::Relaxed);
        led
    })
}

/// Takes orders until there are no more.
fn work(target: &dyn Target, orders: &Mutex<Receiver<(Task, TrialStart)>>, back: &Sender<Done>, stop: &AtomicBool) {
    loop {
        let order = orders.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((task, start)) = order else { return };
        let ran = catch_unwind(AssertUnwindSafe(|| target.run(&task, stop)))
            .unwrap_or_else(|_| Ran::failed(&task, FailureSource::Runner, "the runner broke off"));
        if back.send(Done { task, start, ran }).is_err() {
            return;
        }
    }
}

/// The thread that hands out and keeps.
struct Lead<'s> {
    setup: Setup<'s>,
    workers: u64,
    stop: &'s AtomicBool,
    to_do: Sender<(Task, TrialStart)>,
    results: Receiver<Done>,
}

impl Lead<'_> {
    fn run<J: Journal>(self, mut tasks: VecDeque<Task>, journal: &mut J) -> Result<Summary, J::Error> {
        let mut summary = Summary::default();
        let mut going = 0;
        loop {
            self.look(journal, &mut summary);
            while going < self.workers && !summary.is_cancelled && summary.cap.is_none() {
                let Some(task) = tasks.pop_front() else { break };
                let start = self.start(&task, journal);
                journal.begin(&start)?;
                // Workers end after this thread only.
                if self.to_do.send((task, start)).is_ok() {
                    going += 1;
                }
                self.look(journal, &mut summary);
            }
            if going == 0 {
                break;
            }
            let done = match self.results.recv_timeout(LOOK) {
                Ok(done) => done,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            going -= 1;
            summary.cap = summary.cap.or_else(|| done.ran.cap.clone());
            let end = end_of(self.setup, &done.task, &done.start, &done.ran, journal);
            journal.end(&done.start, &end)?;
            summary.ended += 1;
        }
        if summary.is_cancelled {
            for task in tasks.drain(..) {
                let start = self.start(&task, journal);
                journal.begin(&start)?;
                let end = end_of(self.setup, &task, &start, &Ran::cancelled(&task), journal);
                journal.end(&start, &end)?;
                summary.ended += 1;
            }
        }
        summary.not_run = tasks.len() as u64;
        Ok(summary)
    }

    fn look<J: Journal>(&self, journal: &mut J, summary: &mut Summary) {
        if !summary.is_cancelled && journal.is_cancelled() {
            summary.is_cancelled = true;
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn start<J: Journal>(&self, task: &Task, journal: &mut J) -> TrialStart {
        let (started_at, started_ns) = journal.now();
        TrialStart {
            trial_id: task.trial_id.clone(),
            experiment_id: self.setup.experiment_id.to_owned(),
            case_id: task.case.id.clone(),
            trial: task.trial,
            attempt: task.attempt,
            started_at,
            started_ns,
        }
    }
}

/// Ends a trial that an interruption left without an end: ERROR, a failure of the runner.
///
/// # Errors
/// That of the journal.
pub fn end_interrupted<J: Journal>(
    setup: Setup<'_>,
    task: &Task,
    start: &TrialStart,
    journal: &mut J,
) -> Result<(), J::Error> {
    let ran = Ran::failed(task, FailureSource::Runner, "interrupted");
    let end = end_of(setup, task, start, &ran, journal);
    journal.end(start, &end)
}

/// Judges a trial, and puts together what is kept of it.
fn end_of<J: Journal>(setup: Setup<'_>, task: &Task, start: &TrialStart, ran: &Ran, journal: &mut J) -> TrialEnd {
    let judgement = judge(Observed {
        case: &task.case,
        observes: setup.target.kind().observes(ran.submits_events),
        capabilities: &capabilities(ran, task),
        events: &ran.events,
        world: &ran.world,
    });
    let about = About { trial_id: &task.trial_id, target: setup.target_name, started_ns: start.started_ns };
    let turns = traces(about, &ran.events).into_iter().map(|trace| (trace.turn, trace.trace_id));
    let (ended_at, _) = journal.now();
    let (target_name, target_version) = ran.said.clone().unzip();
    TrialEnd {
        trial_id: task.trial_id.clone(),
        verdict: judgement.verdict,
        ended_at,
        duration_ms: ran.events.last().map_or(0, |event| event.at_ms),
        target_name,
        target_version: target_version.filter(|version| !version.is_empty()),
        capabilities: ran.capabilities.clone(),
        submits_events: ran.submits_events,
        input_tokens: ran.usage.input_tokens,
        output_tokens: ran.usage.output_tokens,
        cost_usd: ran.cost.map(|cost| cost.to_string()),
        // Records and events come from JSON and become JSON.
        world: serde_json::to_string(&ran.world).unwrap_or_default(),
        events: ran.events.iter().map(kept_event).collect(),
        checks: checks(&judgement),
        traces: turns.collect(),
    }
}

/// A trial that never reached its target has no capabilities; that it lacks one must not hide why.
fn capabilities(ran: &Ran, task: &Task) -> Vec<String> {
    let is_ours = ran.said.is_none() && ran.capabilities.is_empty();
    if is_ours { task.case.requires.clone() } else { ran.capabilities.clone() }
}

/// An event as JSON, and its kind.
pub(super) fn as_json(event: &Event) -> (String, serde_json::Value) {
    let value = serde_json::to_value(event).unwrap_or_default();
    let kind = value.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned();
    (kind, value)
}

fn kept_event(event: &Event) -> TrialEvent {
    let (kind, value) = as_json(event);
    TrialEvent { seq: event.seq, at_ms: event.at_ms, turn: event.turn, kind, event: value.to_string() }
}

pub(super) fn checks(judgement: &Judgement) -> Vec<TrialCheck> {
    // Codes are unit variants, which serde writes as texts.
    let code = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let checks = judgement.checks.iter().map(|check| TrialCheck {
        check_id: check.id.clone(),
        kind: check.kind.clone(),
        severity: code(serde_json::to_value(check.severity)),
        verdict: check.verdict,
        reason: code(serde_json::to_value(check.reason)),
        events: check.events.clone(),
        measured: check.measured,
    });
    checks.collect()
}
