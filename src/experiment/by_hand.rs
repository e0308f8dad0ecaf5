//! A trial that somebody else takes through its turns: who builds a target sends each turn to it as it is told here,
//! and says what it answered. Nothing of it is kept.

use std::sync::Arc;

use crate::digest::random_hex;
use crate::eval::case::Case;
use crate::eval::event::Event;
use crate::eval::judge::{Observed, TargetKind, judge};
use crate::model::eval_report::ReportEvent;
use crate::model::{EvalVerdict, TrialCheck};
use crate::sandbox::{Lease, OpenError, Sandbox};
use crate::target::{TurnRequest, read_answer};

use super::record::{About, TurnTrace, traces};
use super::run::{as_json, checks};

/// Random bytes of the id of a trial.
const ID_BYTES: usize = 6;
/// What stands for the name of the target in traces.
const TARGET: &str = "by_hand";
/// The least time of a trial, milliseconds: an hour. A person needs longer than the time of a case.
const TIME_MS: u64 = 3_600_000;

/// A trial under way.
pub struct HandTrial {
    lease: Lease,
    case: Arc<Case>,
    started_ns: i64,
}

/// A trial that ended.
#[derive(Debug)]
pub struct Tried {
    /// Its id.
    pub trial_id: String,
    /// Its verdict.
    pub verdict: EvalVerdict,
    /// What was judged, in the order of the case.
    pub checks: Vec<TrialCheck>,
    /// What happened, in order.
    pub events: Vec<ReportEvent>,
    /// The turns as OTLP JSON lines, in order.
    pub traces: Vec<TurnTrace>,
}

impl HandTrial {
    /// Opens a trial in its first turn, with at least an hour of time. It begins at a moment in nanoseconds since 1970
    /// UTC.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn begin(sandbox: &Sandbox, mut case: Case, started_ns: i64) -> Result<Self, OpenError> {
        case.limits.time_ms = case.limits.time_ms.max(TIME_MS);
        let case = Arc::new(case);
        let trial_id = random_hex::<ID_BYTES>().map_err(OpenError::NoRandom)?;
        let lease = sandbox.open(&trial_id, Arc::clone(&case))?;
        lease.next_turn();
        Ok(Self { lease, case, started_ns })
    }

    /// The turn under way as a target is told of it: one line of JSON. None when no turn is left.
    #[must_use]
    pub fn turn(&self) -> Option<String> {
        let request =
            TurnRequest::new(&self.case, self.lease.trial_id(), self.lease.turn(), Some(self.lease.access()))?;
        serde_json::to_string(&request).ok()
    }

    /// Keeps what the target answered to the turn, and goes on to the next; false when there is none. The whole body of
    /// the answer is understood as well as its text alone.
    pub fn answer(&self, line: &str) -> bool {
        match serde_json::from_str(line).ok().and_then(|body| read_answer(body).ok()) {
            Some(answer) => {
                for proposal in &answer.proposals {
                    self.lease.propose(&proposal.tool, &proposal.arguments, proposal.blocked);
                }
                self.lease.answer(&answer.text);
            }
            None => self.lease.answer(line),
        }
        self.lease.next_turn()
    }

    /// Keeps that the trial was broken off.
    pub fn cancel(&self) {
        self.lease.cancel();
    }

    /// Ends the trial and judges it, as one of an `http` target that submits no proposals and has all capabilities that
    /// the case requires.
    #[must_use]
    pub fn end(self) -> Tried {
        let trial_id = self.lease.trial_id().to_owned();
        let (events, world) = self.lease.close();
        let judgement = judge(Observed {
            case: &self.case,
            observes: TargetKind::Http.observes(false),
            capabilities: &self.case.requires,
            events: &events,
            world: &world,
        });
        Tried {
            verdict: judgement.verdict,
            checks: checks(&judgement),
            traces: traces(About { trial_id: &trial_id, target: TARGET, started_ns: self.started_ns }, &events),
            events: events.iter().map(told).collect(),
            trial_id,
        }
    }
}

fn told(event: &Event) -> ReportEvent {
    let (kind, value) = as_json(event);
    ReportEvent { seq: event.seq, at_ms: event.at_ms, turn: event.turn, kind, event: value }
}
