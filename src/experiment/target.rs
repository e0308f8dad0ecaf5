//! Targets as an experiment runs them: a trial begins, takes its turns, ends. What fails of ours is an event of the
//! trial, never a panic or an error: one trial takes no other with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::plan::Task;
use crate::chat::budget::{Price, Usd};
use crate::chat::stoppable::Stoppable;
use crate::chat::{ChatError, ChatModel, Usage};
use crate::eval::event::{Event, FailureSource};
use crate::eval::judge::TargetKind;
use crate::eval::script::{self, Script};
use crate::eval::trial::Trial;
use crate::eval::world::WorldState;
use crate::reference::{self, Policies};
use crate::sandbox::Sandbox;
use crate::target::{HttpTarget, Preflight, TurnRequest};

/// The capability of a target that stops when it is told to.
const CANCEL_SIGNAL: &str = "cancel_signal";
/// How often a waiting trial looks whether the experiment was stopped.
const LOOK: Duration = Duration::from_millis(100);

/// What a trial left.
#[derive(Debug)]
pub struct Ran {
    /// What happened, in order.
    pub events: Vec<Event>,
    /// The world at the end.
    pub world: WorldState,
    /// What the target says of itself: its name and version.
    pub said: Option<(String, String)>,
    /// What it can do.
    pub capabilities: Vec<String>,
    /// Whether it tells of its proposals.
    pub submits_events: bool,
    /// Tokens that models took.
    pub usage: Usage,
    /// What they cost; none when no price is known.
    pub cost: Option<Usd>,
    /// Why no further trial can be made: a spending cap.
    pub cap: Option<ChatError>,
}

impl Ran {
    /// A trial in which something of ours failed before the first turn.
    #[must_use]
    pub fn failed(task: &Task, source: FailureSource, message: &str) -> Self {
        let mut trial = Trial::new(&*task.case);
        trial.fail(0, source, message);
        let (events, world) = trial.finish();
        Self::of(events, world)
    }

    /// A trial that was cancelled before the first turn.
    #[must_use]
    pub fn cancelled(task: &Task) -> Self {
        let mut trial = Trial::new(&*task.case);
        trial.cancel(0);
        let (events, world) = trial.finish();
        Self::of(events, world)
    }

    fn of(events: Vec<Event>, world: WorldState) -> Self {
        Self {
            events,
            world,
            said: None,
            capabilities: Vec::new(),
            submits_events: false,
            usage: Usage::default(),
            cost: None,
            cap: None,
        }
    }
}

/// Something that trials are run on, by several threads at a time.
pub trait Target: Sync {
    /// What runs.
    fn kind(&self) -> TargetKind;

    /// Runs one trial. Blocks. When `stop` becomes true it ends soon, as cancelled.
    fn run(&self, task: &Task, stop: &AtomicBool) -> Ran;
}

/// Fixed sequences.
#[derive(Debug)]
pub struct ScriptTarget {
    /// Scripts by case: the first trial takes the first, and behind the last comes the first again.
    pub scripts: BTreeMap<String, Vec<Script>>,
}

impl Target for ScriptTarget {
    fn kind(&self) -> TargetKind {
        TargetKind::Script
    }

    fn run(&self, task: &Task, _: &AtomicBool) -> Ran {
        let scripts = self.scripts.get(&task.case.id).map(Vec::as_slice).unwrap_or_default();
        let count = scripts.len().max(1) as u64;
        let place = usize::try_from((task.trial - 1) % count).unwrap_or_default();
        let Some(script) = scripts.get(place) else {
            return Ran::failed(task, FailureSource::Runner, "there is no script for this case");
        };
        let (events, world) = script::run(&task.case, script);
        let capabilities = task.case.requires.clone();
        let cost = Some(Usd::default());
        Ran { capabilities, submits_events: true, cost, ..Ran::of(events, world) }
    }
}

/// Makes a model; called once a trial.
pub type OpenModel = Box<dyn Fn() -> Result<Box<dyn ChatModel>, ChatError> + Send + Sync>;
/// Time since any moment, by a clock that does not go back.
pub type Elapsed = Box<dyn Fn() -> Duration + Send + Sync>;

/// A model under our runner.
pub struct ReferenceTarget {
    /// What the model is told first.
    pub prompt: String,
    /// Tokens of one reply.
    pub max_tokens: u32,
    /// What the runner looks after.
    pub policies: Policies,
    /// What the model costs.
    pub price: Option<Price>,
    /// Makes the model.
    pub open: OpenModel,
    /// The time.
    pub clock: Elapsed,
}

impl Target for ReferenceTarget {
    fn kind(&self) -> TargetKind {
        TargetKind::Reference
    }

    fn run(&self, task: &Task, stop: &AtomicBool) -> Ran {
        let model = match (self.open)() {
            Ok(model) => model,
            Err(error) => return Ran::failed(task, FailureSource::Runner, &error.to_string()),
        };
        let setup = reference::Setup {
            prompt: &self.prompt,
            max_tokens: self.max_tokens,
            policies: self.policies,
            clock: &*self.clock,
            is_stopped: &|| stop.load(Ordering::Relaxed),
        };
        let mut model = Stoppable::new(model, || stop.load(Ordering::Relaxed));
        let driven = reference::run(&setup, &mut model, &task.case);
        Ran {
            events: driven.events,
            world: driven.world,
            said: Some((model.name().to_owned(), String::new())),
            capabilities: vec![CANCEL_SIGNAL.to_owned()],
            submits_events: true,
            usage: driven.usage,
            cost: self.price.map(|price| price.of(driven.usage)),
            cap: driven.failed.filter(ChatError::is_cap),
        }
    }
}

/// An agent of the user's own, or one that only answers.
pub struct AgentTarget {
    /// How it is asked.
    pub client: HttpTarget,
    /// What it said of itself.
    pub preflight: Preflight,
    /// Where its tools are.
    pub sandbox: Sandbox,
    /// Whether it only answers.
    pub answer_only: bool,
}

impl Target for AgentTarget {
    fn kind(&self) -> TargetKind {
        if self.answer_only { TargetKind::AnswerOnly } else { TargetKind::Http }
    }

    fn run(&self, task: &Task, stop: &AtomicBool) -> Ran {
        let lease = match self.sandbox.open(&task.trial_id, task.case.clone()) {
            Ok(lease) => lease,
            Err(error) => return Ran::failed(task, FailureSource::Runner, &error.to_string()),
        };
        let mut usage = Usage::default();
        let access = lease.access().clone();
        loop {
            if stop.load(Ordering::Relaxed) {
                lease.cancel();
                break;
            }
            if !lease.next_turn() {
                break;
            }
            let offered = (!self.answer_only).then_some(&access);
            let Some(request) = TurnRequest::new(&task.case, &task.trial_id, lease.turn(), offered) else { break };
            let (done, is_done) = channel::<()>();
            let answer = std::thread::scope(|scope| {
                // Who waits for its calls is told to stop by what it reads in its status.
                scope.spawn(|| {
                    let is_done = is_done;
                    while is_done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                        if stop.load(Ordering::Relaxed) {
                            lease.cancel();
                            return;
                        }
                    }
                });
                let answer = self.client.turn(&request, lease.time_left());
                drop(done);
                answer
            });
            match answer {
                Ok(answer) => {
                    for proposal in &answer.proposals {
                        lease.propose(&proposal.tool, &proposal.arguments, proposal.blocked);
                    }
                    lease.answer(&answer.text);
                    usage = usage.plus(answer.usage.unwrap_or_default());
                }
                Err(error) => {
                    lease.fail(error.source(), &format!("{}: {error}", error.code()));
                    break;
                }
            }
            if lease.time_left().is_zero() {
                break;
            }
        }
        let (events, world) = lease.close();
        Ran {
            events,
            world,
            said: Some((self.preflight.name.clone(), self.preflight.version.clone())),
            capabilities: self.preflight.capabilities.clone(),
            submits_events: self.preflight.submits_proposals(),
            usage,
            cost: None,
            cap: None,
        }
    }
}
