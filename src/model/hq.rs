//! What `hq-candidates` hands on: tools and verdicts that recur in several agents over a period.
//!
//! Plain data in the order in which it is shown; nothing in it depends on when or in which order files were read.

use serde::{Serialize, Serializer};

use super::diagnosis::{FixTarget, Rule};
use super::review::{Decided, label};

/// Korean days, both included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Period {
    /// The first, `2026-10-10`.
    pub since: String,
    /// The last.
    pub until: String,
    /// How many.
    pub days: i64,
}

/// The runs of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RunCounts {
    /// Those that were judged; all figures below are of these.
    pub judged: i64,
    /// Those that cannot be judged.
    pub unjudged: i64,
    /// Agents of the judged ones; those without a name are one.
    pub agents: i64,
    /// Days on which a judged run began.
    pub days: i64,
    /// Judged runs of the previous period.
    pub previous_judged: i64,
    /// Findings that a person dismissed; they are in no group.
    pub dismissed_findings: i64,
}

/// A tool set that runs of the period were judged with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SetInForce {
    /// sha256 of its content; none for runs without definitions.
    pub tool_set: Option<String>,
    /// Number of definitions.
    pub tools: i64,
    /// Judged runs of the period.
    pub runs: i64,
}

/// Everything that is handed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Handoff {
    /// What it is about; none when the store has no run and no day was named.
    pub period: Option<Period>,
    /// As many days directly before.
    pub previous_period: Option<Period>,
    /// Name of the rule set.
    pub rule_set: String,
    /// sha256 of its files.
    pub rule_set_sha256: String,
    /// Tool sets in force, by first run.
    pub tool_sets: Vec<SetInForce>,
    /// How many agents make a candidate.
    pub min_agents: i64,
    /// The runs.
    pub runs: RunCounts,
    /// Groups in `min_agents` agents or more: most agents first, then most runs, then verdict and tool.
    pub candidates: Vec<Group>,
    /// Groups in fewer agents, in the same order.
    pub below_min_agents: Vec<Group>,
}

/// Against the previous period, by number of runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// None before.
    New,
    /// More than before.
    More,
    /// Fewer than before.
    Fewer,
    /// As many as before.
    Same,
}

impl Change {
    /// Of so many runs after so many.
    #[must_use]
    pub const fn of(runs: i64, previous: i64) -> Self {
        match (runs, previous) {
            (_, 0) => Self::New,
            _ if runs > previous => Self::More,
            _ if runs < previous => Self::Fewer,
            _ => Self::Same,
        }
    }

    /// The name in JSON and CSV.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::More => "more",
            Self::Fewer => "fewer",
            Self::Same => "same",
        }
    }
}

impl Serialize for Change {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A tool and a verdict, and the runs of the period in which a finding says so. A run counts once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group {
    /// The tool called.
    pub tool_name: String,
    /// Which rule; in JSON its Korean label.
    #[serde(rename = "verdict", serialize_with = "label")]
    pub rule: Rule,
    /// Runs of each agent: most runs first, then by name.
    pub agents: Vec<AgentRuns>,
    /// Runs.
    pub runs: i64,
    /// Judged runs of the period that call the tool.
    pub runs_of_tool: i64,
    /// The former of the latter, in tenths of a percent; in JSON, as in CSV, in percent with one decimal.
    #[serde(rename = "share_percent", serialize_with = "percent")]
    pub share_permille: i64,
    /// Runs of each day that has any, in order.
    pub days: Vec<DayRuns>,
    /// Start of its first run, ISO 8601 with +09:00.
    pub first_seen: String,
    /// Start of its last run.
    pub last_seen: String,
    /// Runs of the previous period.
    pub previous_runs: i64,
    /// `runs` against `previous_runs`.
    pub change: Change,
    /// Where to fix it: most runs first.
    pub fix_targets: Vec<FixRuns>,
    /// args_mismatch: what does not fit, most runs first.
    pub problems: Vec<ProblemRuns>,
    /// Runs in which a person confirmed it.
    pub confirmed_runs: i64,
    /// Up to three runs, by start.
    pub examples: Vec<Example>,
    /// What the definitions in force say of the tool, last in force first; empty when they do not know it.
    pub definitions: Vec<Definition>,
    /// What was decided last.
    pub decision: Option<EarlierDecision>,
}

/// Tenths of a percent as percent.
fn percent<S: Serializer>(permille: &i64, serializer: S) -> Result<S::Ok, S::Error> {
    let [whole, tenths] = [permille / 10, permille % 10].map(|part| i32::try_from(part).unwrap_or(i32::MAX));
    serializer.serialize_f64(f64::from(whole) + f64::from(tenths) / 10.0)
}

/// Runs of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentRuns {
    /// The agent; none for all runs that do not name theirs.
    pub agent_name: Option<String>,
    /// Runs.
    pub runs: i64,
}

/// Runs of a Korean day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DayRuns {
    /// `2026-10-12`.
    pub date: String,
    /// Runs that began on it.
    pub runs: i64,
}

/// Runs with a finding to be fixed there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixRuns {
    /// Where.
    pub fix_target: FixTarget,
    /// Runs.
    pub runs: i64,
}

/// A key that does not fit: `key` alone is missing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The missing key.
    pub missing_key: Option<String>,
    /// `key: received type → declared type`.
    pub type_error: Option<String>,
}

/// Runs in which a key does not fit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProblemRuns {
    /// What does not fit.
    #[serde(flatten)]
    pub problem: Problem,
    /// Runs.
    pub runs: i64,
}

/// A run to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Example {
    /// The run.
    pub trace_id: String,
    /// Its agent.
    pub agent_name: Option<String>,
    /// Start of the run, ISO 8601 with +09:00.
    pub start_time: String,
    /// Spans of its findings of the group, in order; of a hidden error the final answer comes last.
    pub span_ids: Vec<String>,
    /// What does not fit, in order of the schema.
    pub problems: Vec<Problem>,
    /// timeout_exceeded: longest duration_ms; retry_over_limit: longest run of equal calls.
    pub measured: Option<i64>,
    /// What that was held against.
    pub allowed: Option<i64>,
    /// Masked arguments of its calls, only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Vec<String>>,
}

/// A tool as it was defined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// sha256 of the tool set; of several that say the same, the one last in force.
    pub tool_set: String,
    /// Description that the model reads; personal values are masked.
    pub description: String,
    /// Time limit in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Equal calls in a row that are allowed, the first included.
    pub max_retries: Option<i64>,
    /// Runs of the group judged with it.
    pub runs: i64,
}

/// The last decision on a group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EarlierDecision {
    /// What was decided; personal values in the reason and in who decided are masked.
    #[serde(flatten)]
    pub decided: Decided,
    /// Runs of the group in the period that began after it.
    pub runs_after: i64,
    /// Judged runs of the period that began after it, whatever is found in them: without any, nothing could come back.
    pub judged_after: i64,
}
