//! What two selections of runs have in common and where they part: the JSON of `compare`.

use serde::{Serialize, Serializer};

use super::diagnosis::Verdict;

/// Which test says whether a difference is beyond chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// Two selections of different runs.
    FisherExact,
    /// The same questions, or the same runs, on both sides.
    McNemarExact,
}

impl Test {
    /// The name in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FisherExact => "fisher_exact",
            Self::McNemarExact => "mcnemar_exact",
        }
    }
}

impl Serialize for Test {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How the share of runs changed from base to head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trend {
    /// None in base, some in head.
    New,
    /// Some in base, none in head.
    Gone,
    /// A larger share in head.
    More,
    /// A smaller share in head.
    Fewer,
    /// The same share.
    Same,
    /// One side has no runs to take a share of.
    NotComparable,
}

/// Two selections and what changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The runs to compare with.
    pub base: Selected,
    /// The runs compared.
    pub head: Selected,
    /// The test behind `p`.
    pub test: Test,
    /// A difference is beyond chance when `p_corrected` is below this.
    pub alpha: f64,
    /// What the pairs say; none when the runs of both sides have nothing to do with each other.
    pub pairs: Option<PairSummary>,
    /// By verdict: runs in which it holds, whichever comes first; each verdict that occurs.
    pub verdicts: Vec<VerdictChange>,
    /// By tool and verdict: runs in which it holds.
    pub findings: Vec<FindingChange>,
    /// By agent: runs in which any rule holds.
    pub agents: Vec<AgentChange>,
    /// The rows of all three tables that got worse beyond chance, in the order of the tables.
    pub regressions: Vec<Regression>,
}

/// A row that got worse beyond chance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Regression {
    /// The table it stands in.
    pub table: Table,
    /// The tool, in the table of findings.
    pub tool_name: Option<String>,
    /// The verdict, in the tables of verdicts and findings; in JSON its Korean label.
    pub verdict: Option<Verdict>,
    /// Its short name.
    pub name: Option<&'static str>,
    /// The agent, in the table of agents; none there when it is unnamed.
    pub agent_name: Option<String>,
}

/// A table of a comparison; the p values are corrected within each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// By verdict.
    Verdicts,
    /// By tool and verdict.
    Findings,
    /// By agent.
    Agents,
}

/// One side of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Selected {
    /// The selector as it was given.
    pub selection: String,
    /// The set of rules that judged.
    pub rule_set: String,
    /// Tool sets they were judged with; none for runs without one.
    pub tool_sets: Vec<Option<String>>,
    /// Runs that count.
    pub runs: u64,
    /// Their tool calls.
    pub tool_calls: u64,
    /// Runs that could not be judged, and do not count.
    pub unjudged: u64,
    /// Runs that are in no pair, and do not count.
    pub unpaired: u64,
    /// Rules at a tool in a run of those that count that a person dismissed; they count nowhere.
    pub dismissed: u64,
}

/// What a pair of runs came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairSummary {
    /// Pairs that count.
    pub pairs: u64,
    /// Pairs with a run that is not selected, or that could not be judged.
    pub left_out: u64,
    /// Pairs of a normal run and one in which a rule holds.
    pub newly_wrong: Vec<[String; 2]>,
    /// Pairs of a run in which a rule holds and a normal one.
    pub repaired: Vec<[String; 2]>,
}

/// A share of the runs of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SharePart {
    /// Runs in which it holds.
    pub runs: u64,
    /// Runs that count.
    pub of: u64,
    /// The share, from 0 to 1; none of nothing.
    pub rate: Option<f64>,
    /// Its 95 % interval (Wilson).
    pub interval: Option<[f64; 2]>,
    /// Tool calls that the findings rest on. Calls of one run are not independent: they have no interval.
    pub calls: u64,
}

/// A share on both sides, and whether it changed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The share in base.
    pub base: SharePart,
    /// The share in head.
    pub head: SharePart,
    /// How it changed.
    pub trend: Trend,
    /// Head less base.
    pub difference: Option<f64>,
    /// Its 95 % interval (Newcombe).
    pub difference_interval: Option<[f64; 2]>,
    /// Pairs in which it holds in base only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_only: Option<u64>,
    /// Pairs in which it holds in head only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head_only: Option<u64>,
    /// Exact two-sided p value.
    pub p: Option<f64>,
    /// The same with Holm's correction for all rows of its table.
    pub p_corrected: Option<f64>,
    /// Whether the difference is beyond chance.
    pub beyond_chance: bool,
}

/// What changed for a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct VerdictChange {
    /// The verdict; in JSON its Korean label.
    pub verdict: Verdict,
    /// Its short name.
    pub name: &'static str,
    /// The shares.
    #[serde(flatten)]
    pub change: Change,
}

/// What changed for a tool and a verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FindingChange {
    /// The tool.
    pub tool_name: String,
    /// The verdict; in JSON its Korean label.
    pub verdict: Verdict,
    /// Its short name.
    pub name: &'static str,
    /// The shares.
    #[serde(flatten)]
    pub change: Change,
}

/// What changed for an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentChange {
    /// The agent; none when it is unnamed.
    pub agent_name: Option<String>,
    /// The shares of its own runs.
    #[serde(flatten)]
    pub change: Change,
}
