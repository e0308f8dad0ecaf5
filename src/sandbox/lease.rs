//! A trial that is open: what the server needs of it, and what its runner does with it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use subtle::ConstantTimeEq as _;

use super::{Clock, Shared, locked};
use crate::digest::sha256_hex;
use crate::eval::case::Case;
use crate::eval::event::{Event, FailureSource};
use crate::eval::trial::Trial;
use crate::eval::world::WorldState;
use crate::model::SandboxAccess;

/// A trial as the server knows it.
pub(super) struct Entry {
    token_sha256: String,
    begun: Duration,
    dies: Duration,
    state: Mutex<State>,
}

/// What changes of a trial.
pub(super) struct State {
    /// None when the trial is over.
    trial: Option<Trial<'static>>,
    requests: u64,
    bytes: u64,
}

/// A trial that a request may go on with, and the milliseconds since it began.
pub(super) struct Alive<'e> {
    state: MutexGuard<'e, State>,
    pub(super) at_ms: u64,
}

impl Entry {
    pub(super) fn new(token: &str, begun: Duration, dies: Duration, case: Arc<Case>) -> Self {
        let state = State { trial: Some(Trial::new(case)), requests: 0, bytes: 0 };
        Self { token_sha256: sha256_hex(token.as_bytes()), begun, dies, state: Mutex::new(state) }
    }

    /// Whether this is the token of the trial, by a comparison that takes as long whatever is alike.
    pub(super) fn is_token(&self, sha256: &str) -> bool {
        self.token_sha256.as_bytes().ct_eq(sha256.as_bytes()).into()
    }

    /// The trial, unless it is over or its token has run out.
    pub(super) fn alive(&self, clock: &Clock) -> Option<Alive<'_>> {
        let state = locked(&self.state);
        // Read under the lock, so that times come in the order of events.
        let elapsed = (clock.elapsed)();
        (elapsed < self.dies && state.trial.is_some()).then(|| Alive { state, at_ms: self.at_ms(elapsed) })
    }

    fn at_ms(&self, elapsed: Duration) -> u64 {
        u64::try_from(elapsed.saturating_sub(self.begun).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Alive<'_> {
    /// The trial; none is left when it ended in this very moment.
    pub(super) fn trial(&mut self) -> Option<&mut Trial<'static>> {
        self.state.trial.as_mut()
    }

    /// Counts a request that is recorded; false when there were too many, or too much in them.
    pub(super) fn count(&mut self, bytes: usize, requests: u64, all_bytes: u64) -> bool {
        let state = &mut *self.state;
        let total = state.bytes.saturating_add(bytes as u64);
        if state.requests >= requests || total > all_bytes {
            return false;
        }
        state.requests += 1;
        state.bytes = total;
        true
    }
}

/// A trial, held by who runs it. Its steps block for no longer than a call of a mock tool takes. Dropped, the trial is
/// over and its token dead.
pub struct Lease {
    shared: Arc<Shared>,
    entry: Arc<Entry>,
    trial_id: String,
    access: SandboxAccess,
}

impl Lease {
    pub(super) fn new(shared: Arc<Shared>, entry: Arc<Entry>, trial_id: String, access: SandboxAccess) -> Self {
        Self { shared, entry, trial_id, access }
    }

    /// The id of the trial.
    #[must_use]
    pub fn trial_id(&self) -> &str {
        &self.trial_id
    }

    /// What the target is told of the sandbox.
    #[must_use]
    pub fn access(&self) -> &SandboxAccess {
        &self.access
    }

    /// The turn, from 1; 0 before the first.
    #[must_use]
    pub fn turn(&self) -> u64 {
        self.with(|trial, _| trial.turn()).unwrap_or_default()
    }

    /// What is left of the time of the case.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        let limit = self.with(|trial, _| trial.case().limits.time_ms).unwrap_or_default();
        let gone = (self.shared.clock.elapsed)().saturating_sub(self.entry.begun);
        Duration::from_millis(limit).saturating_sub(gone)
    }

    /// Begins the next turn; false when there is none, or the limit of turns is reached.
    pub fn next_turn(&self) -> bool {
        self.with(|trial, at_ms| trial.next_turn(at_ms)).unwrap_or_default()
    }

    /// Keeps a proposal that the target submitted.
    pub fn propose(&self, tool: &str, arguments: &Value, blocked: bool) {
        self.with(|trial, at_ms| trial.propose(at_ms, tool, arguments, blocked));
    }

    /// Keeps the answer to the turn.
    pub fn answer(&self, text: &str) {
        self.with(|trial, at_ms| trial.answer(at_ms, text));
    }

    /// Keeps that the runner, a provider or the connection failed.
    pub fn fail(&self, source: FailureSource, message: &str) {
        self.with(|trial, at_ms| trial.fail(at_ms, source, message));
    }

    /// The experiment is stopped: the trial does not count, and the target reads so in its status.
    pub fn cancel(&self) {
        self.with(|trial, at_ms| trial.cancel(at_ms));
    }

    /// Ends the trial: what happened, and the world at the end. A call that waits for its delay gets its answer; any
    /// further request is refused with 401.
    #[must_use]
    pub fn close(self) -> (Vec<Event>, WorldState) {
        // Only here and in `drop` is the trial taken out, and a lease is dropped once.
        self.end().map(Trial::finish).unwrap_or_default()
    }

    fn end(&self) -> Option<Trial<'static>> {
        locked(&self.shared.trials).remove(&self.trial_id);
        locked(&self.entry.state).trial.take()
    }

    /// Does something with the trial and the milliseconds since it began. The runner may go on when the token has run
    /// out: it has to tell how the trial ended.
    fn with<T>(&self, act: impl FnOnce(&mut Trial<'static>, u64) -> T) -> Option<T> {
        let mut state = locked(&self.entry.state);
        let at_ms = self.entry.at_ms((self.shared.clock.elapsed)());
        state.trial.as_mut().map(|trial| act(trial, at_ms))
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if locked(&self.entry.state).trial.take().is_some() {
            locked(&self.shared.trials).remove(&self.trial_id);
        }
    }
}
