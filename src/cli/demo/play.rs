//! Runs of the demo agent on a simulated clock, for `demo bench` and `demo compare`.

use std::path::Path;
use std::sync::Arc;

use crate::chat::ChatModel;
use crate::chat::budget::Budget;
use crate::cli::failure::{Failure, tools_failure};
use crate::cli::model::{ModelChoice, ModelOptions};
use crate::demo::telemetry::{TelemetrySetup, TraceText};
use crate::demo::{
    Agent, AgentConfig, Ending, Fault, LocalTools, Question, RunOutcome, ScriptConfig, ScriptModel, SimulatedClock,
    TOOLS_JSON, Telemetry, TraceError, questions,
};
use crate::digest::sha256_hex;
use crate::ingest::tools::{ToolDefaults, parse_tools};
use crate::model::ToolDefinition;
use crate::model::demo::InjectedFault;

/// A run to make.
pub(super) struct Job<'a> {
    /// Which run it is, from 0. Runs that share a number and everything else would share a trace.
    pub(super) number: u64,
    /// Which question is asked, from 0; they begin anew at their end.
    pub(super) question: u64,
    /// What is put in.
    pub(super) faults: &'a [InjectedFault],
}

/// A run that was made.
pub(super) struct Played {
    /// Its trace.
    pub(super) trace_id: String,
    /// What was asked.
    pub(super) question: String,
    /// Faults that never came to bear.
    pub(super) not_reached: Vec<InjectedFault>,
    /// Why the model gave no reply that says anything.
    pub(super) failed: Option<String>,
    /// What the run left, as the Collector writes it.
    pub(super) lines: String,
}

/// What a script leaves out of its own accord.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Script {
    /// Nothing: only what is put in goes wrong.
    Careful,
    /// What the description of a tool does not name.
    ByDescription,
}

/// Makes runs with one model.
pub(super) struct Player {
    seed: u64,
    /// What tells these runs from those of another command with the same seed.
    kind: &'static str,
    name: String,
    model: Box<dyn ChatModel>,
    questions: Vec<Question>,
    tools_json: String,
    tools: Vec<ToolDefinition>,
    toolbox: Arc<LocalTools>,
    clock: Arc<SimulatedClock>,
    has_replied: bool,
}

impl Player {
    /// A player with the tools as they are shipped.
    pub(super) fn open(
        choice: &ModelChoice,
        options: &ModelOptions,
        budget: &Budget,
        (seed, kind, script): (u64, &'static str, Script),
    ) -> Result<Self, Failure> {
        let config = ScriptConfig { seed, ..ScriptConfig::default() };
        let config = match script {
            Script::Careful => ScriptConfig { omits_percent: 0, ..config },
            Script::ByDescription => config,
        };
        let model = options.open(choice, budget, || Box::new(ScriptModel::new(config)))?;
        let mut player = Self {
            seed,
            kind,
            name: choice.to_string(),
            model,
            questions: questions::shipped(),
            tools_json: String::new(),
            tools: Vec::new(),
            toolbox: Arc::new(LocalTools::new(seed)),
            clock: Arc::new(SimulatedClock::new()),
            has_replied: false,
        };
        player.offer(TOOLS_JSON, Path::new("tools.json"))?;
        Ok(player)
    }

    /// The name of the model as it was given.
    pub(super) fn model(&self) -> &str {
        &self.name
    }

    /// The tools that are offered now, as a tools.json.
    pub(super) fn tools(&self) -> &str {
        &self.tools_json
    }

    /// Offers other tools from now on; `path` is where they come from.
    pub(super) fn offer(&mut self, tools_json: &str, path: &Path) -> Result<(), Failure> {
        let defaults = ToolDefaults { timeout_ms: None, max_retries: None };
        let (set, _) = parse_tools(tools_json, "tools.json", defaults).map_err(|error| tools_failure(path, &error))?;
        self.tools = set.tools;
        tools_json.clone_into(&mut self.tools_json);
        Ok(())
    }

    /// Makes a run. What goes wrong within it is in what it left; that the model never replied at all is an error.
    pub(super) fn play(&mut self, job: &Job<'_>) -> anyhow::Result<Played> {
        let count = self.questions.len().max(1) as u64;
        let question = usize::try_from(job.question % count).ok().and_then(|place| self.questions.get(place));
        let question = question.cloned().unwrap_or_else(|| Question::free(""));
        let slugs: Vec<&str> = job.faults.iter().map(|fault| fault.slug()).collect();
        let words = format!("{} {} {} {} {}", self.seed, self.kind, self.name, job.number, slugs.join("+"));
        let seed = u64::from_str_radix(&sha256_hex(words.as_bytes())[..16], 16)?;
        let lines = TraceText::default();
        let setup = TelemetrySetup { lines: Some(Box::new(lines.clone())), seed: Some(seed), ..Default::default() };
        let telemetry = Arc::new(Telemetry::new(setup).map_err(untold)?);
        let config = AgentConfig { faults: job.faults.iter().map(|fault| of(*fault)).collect(), seed, ..self.config() };
        let agent = Agent::new(config, self.toolbox.clone(), self.clock.clone(), telemetry);
        let outcome = agent.run(self.model.as_mut(), &question).map_err(untold)?;
        if let (Ending::ModelFailed(error), false) = (&outcome.ending, self.has_replied) {
            // Every further run would only fail in the same way.
            return Err(Failure::from(error.clone()).into());
        }
        self.has_replied = true;
        let reached = |fault: &InjectedFault| outcome.injected.iter().any(|injected| injected.fault == of(*fault));
        Ok(Played {
            not_reached: job.faults.iter().copied().filter(|fault| !reached(fault)).collect(),
            failed: said_nothing(&outcome),
            trace_id: outcome.trace_id,
            question: outcome.question,
            lines: lines.text(),
        })
    }

    fn config(&self) -> AgentConfig {
        AgentConfig::new(self.tools.clone())
    }
}

/// Why nothing can be said of the model in this run; none when it answered, called or said that it cannot.
fn said_nothing(outcome: &RunOutcome) -> Option<String> {
    match &outcome.ending {
        Ending::ModelFailed(error) => Some(error.to_string()),
        Ending::Refused | Ending::Empty | Ending::Cut if outcome.calls.is_empty() => {
            outcome.ending.error_type().map(str::to_owned)
        }
        _ => None,
    }
}

/// The same fault, as the agent knows it.
const fn of(fault: InjectedFault) -> Fault {
    match fault {
        InjectedFault::UnknownTool => Fault::UnknownTool,
        InjectedFault::DropArg => Fault::DropArg,
        InjectedFault::Slow => Fault::Slow,
        InjectedFault::Repeat => Fault::Repeat,
        InjectedFault::SwallowError => Fault::SwallowError,
    }
}

/// Lines in memory that cannot be kept.
fn untold(error: TraceError) -> Failure {
    Failure::unreadable("other").with("message", error)
}
