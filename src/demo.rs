//! A real, instrumented agent on the user's own machine: its tools, its models' script, its faults, its traces.
//!
//! [`Agent`] asks a [`ChatModel`](crate::chat::ChatModel), calls tools through a [`Toolbox`] and leaves one trace a run
//! through a [`Telemetry`]. A run that could not do its work closes its root span as error, one that answers closes it
//! ok: the promise on which the rule of hidden errors rests. Time is a [`Clock`], given from outside.

mod agent;
mod clock;
mod fault;
pub mod questions;
pub mod sandbox;
mod search;
mod seed;

pub mod script;
pub mod serve;

pub mod telemetry;
pub mod tools;

pub use agent::{Agent, AgentConfig, Called, Conversation, Ending, RunOutcome};
pub use clock::{Clock, SimulatedClock};
pub use fault::{Fault, Injected};
pub use questions::Question;
pub use script::{ScriptConfig, ScriptModel};
pub use telemetry::{Sink, Telemetry, TelemetrySetup, TraceError, TraceFile, TraceText};
pub use tools::{FailureKind, LocalTools, Reply, TOOLS_JSON, ToolFailure, ToolUse, Toolbox};
