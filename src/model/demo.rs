//! What the demo agent was made to do wrong and what the verdicts said of it: the JSON of `demo bench` and
//! `demo compare`.

use serde::{Serialize, Serializer};

use super::bench::{Agreeing, Answer};
use super::diagnosis::{Rule, Verdict};
use super::span::Status;

/// A fault that can be put into a run of the demo agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InjectedFault {
    /// A tool name that does not exist is called.
    UnknownTool,
    /// A required argument is left out.
    DropArg,
    /// A tool answers after its time limit.
    Slow,
    /// The same call is repeated beyond the limit.
    Repeat,
    /// A tool error is swallowed and the run ends as if done.
    SwallowError,
}

impl InjectedFault {
    /// All of them, in the order of importance of the verdicts that they call for.
    pub const ALL: [Self; 5] = [Self::UnknownTool, Self::DropArg, Self::Slow, Self::Repeat, Self::SwallowError];

    /// The name of its switch.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown-tool",
            Self::DropArg => "drop-arg",
            Self::Slow => "slow",
            Self::Repeat => "repeat",
            Self::SwallowError => "swallow-error",
        }
    }

    /// What it is in Korean.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnknownTool => "없는 도구 이름",
            Self::DropArg => "인자 빼먹기",
            Self::Slow => "느린 응답",
            Self::Repeat => "같은 호출 되풀이",
            Self::SwallowError => "오류 삼키기",
        }
    }

    /// The rule that it breaks.
    #[must_use]
    pub const fn rule(self) -> Rule {
        match self {
            Self::UnknownTool => Rule::UndefinedTool,
            Self::DropArg => Rule::ArgsMismatch,
            Self::Slow => Rule::TimeoutExceeded,
            Self::Repeat => Rule::RetryOverLimit,
            Self::SwallowError => Rule::ErrorHidden,
        }
    }

    /// The fault with that switch.
    #[must_use]
    pub fn from_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.slug() == slug)
    }
}

impl Serialize for InjectedFault {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.slug())
    }
}

/// Why verdict and fault part, as far as the data can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The run has no trace in the store.
    NoTrace,
    /// The run could not be judged.
    Unjudged,
    /// The agent says that a fault never came to bear: no call that it could hit was made.
    NotReached,
    /// The expected rule holds, and a more important one with it.
    Outranked,
    /// The expected rule does not hold, another does.
    OtherRule,
    /// No rule holds.
    NothingFound,
    /// A rule holds in a run without a fault.
    FalseAlarm,
}

impl Why {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NoTrace,
        Self::Unjudged,
        Self::NotReached,
        Self::Outranked,
        Self::OtherRule,
        Self::NothingFound,
        Self::FalseAlarm,
    ];

    /// The name in JSON and in the store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoTrace => "no_trace",
            Self::Unjudged => "unjudged",
            Self::NotReached => "not_reached",
            Self::Outranked => "outranked",
            Self::OtherRule => "other_rule",
            Self::NothingFound => "nothing_found",
            Self::FalseAlarm => "false_alarm",
        }
    }
}

/// One run of the bench: what was put in and what was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BenchRun {
    /// Its number, from 1; control runs come last.
    pub number: u64,
    /// Its trace.
    pub trace_id: String,
    /// What the agent was asked.
    pub question: String,
    /// What was put in, the most important first; nothing into a control run.
    pub faults: Vec<InjectedFault>,
    /// Faults that never came to bear.
    pub not_reached: Vec<InjectedFault>,
    /// The verdict that the most important fault calls for.
    pub expected: Answer,
    /// The verdicts that the other faults call for.
    pub expected_also: Vec<Verdict>,
    /// The verdict given.
    pub given: Answer,
    /// The other rules that hold.
    pub also_found: Vec<Verdict>,
    /// `ok` or `error`: how the run ended; none when it could not be judged.
    pub final_status: Option<Status>,
    /// Why expected and given part; none when they do not.
    pub why: Option<Why>,
    /// What the diagnosis says of the run; empty when it could not be judged.
    pub summary: String,
    /// What it notes besides, or why the run could not be judged.
    pub notes: Vec<String>,
}

/// A row of the table: the runs with the same faults.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FaultRow {
    /// What was put in; nothing into control runs.
    pub faults: Vec<InjectedFault>,
    /// The verdict that is expected.
    pub expected: Answer,
    /// Runs by the verdict given, in the order of [`Answer::ALL`].
    pub given: [u64; 7],
    /// Their sum.
    pub runs: u64,
    /// The same verdict.
    pub verdict: Agreeing,
}

/// How often a further rule holds in runs with these faults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AlsoRow {
    /// What was put in.
    pub faults: Vec<InjectedFault>,
    /// The further verdict.
    pub also_found: Verdict,
    /// Whether another fault of the run calls for it.
    pub is_expected: bool,
    /// In so many runs.
    pub runs: u64,
}

/// What a bench came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BenchReport {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// The model that the agent asked.
    pub model: String,
    /// Whether two faults went into each run.
    pub overlap: bool,
    /// Runs with a fault.
    pub runs: u64,
    /// Runs without one.
    pub controls: u64,
    /// Rows of the table that have one run more than the others, as the runs do not divide evenly.
    pub remainder: u64,
    /// Rule set that judged.
    pub rule_set: String,
    /// Runs with a fault and the verdict that it calls for.
    pub verdict: Agreeing,
    /// Runs with a fault in which exactly the rules hold that the faults call for.
    pub all_rules: Agreeing,
    /// Runs without a fault and without a finding; none without control runs.
    pub quiet_controls: Option<Agreeing>,
    /// The table: every run stands in one cell.
    pub confusion: Vec<FaultRow>,
    /// Runs with another verdict than expected.
    pub mismatches: Vec<BenchRun>,
    /// Runs with the verdict expected and other further rules.
    pub also_differs: Vec<BenchRun>,
    /// Further rules that hold, whether expected or not.
    pub also_found: Vec<AlsoRow>,
    /// All runs, in order.
    pub all_runs: Vec<BenchRun>,
}

/// How the description of a tool was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedDescription {
    /// The tool.
    pub tool_name: String,
    /// Its description in the runs before.
    pub before: String,
    /// Its description in the runs after.
    pub after: String,
}

/// Where the tools of the runs after came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterFrom {
    /// The draft that the diagnosis of the runs before gives.
    Draft,
    /// A tools.json that was given.
    File,
    /// Nowhere: the runs before give no draft, so nothing was run again.
    Nothing,
}

/// One run of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedRun {
    /// Its trace.
    pub trace_id: String,
    /// The verdict given.
    pub given: Answer,
    /// The other rules that hold.
    pub also_found: Vec<Verdict>,
    /// Whether the argument rule holds, as the verdict or beside it.
    pub has_mismatch: bool,
    /// Required keys that were left out, as `tool.key`.
    pub missing: Vec<String>,
    /// Why the model gave no reply; such a run counts nowhere.
    pub failed: Option<String>,
}

impl AskedRun {
    /// Whether it says anything of the description: it was judged and the model replied.
    #[must_use]
    pub fn counts(&self) -> bool {
        self.failed.is_none() && self.given != Answer::Unjudged
    }
}

/// A question, before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedTwice {
    /// Its number, from 1.
    pub number: u64,
    /// The question.
    pub question: String,
    /// With the description as it was.
    pub before: AskedRun,
    /// With the changed one; none when nothing was run again.
    pub after: Option<AskedRun>,
}

/// How a model did before and after.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelChange {
    /// The model.
    pub model: String,
    /// Runs with an argument verdict before.
    pub before: Agreeing,
    /// Runs with an argument verdict after, over the pairs.
    pub after: Option<Agreeing>,
    /// What both runs of each question say; none when nothing was run again.
    pub pairs: Option<PairedChange>,
    /// Questions that count nowhere: a run of theirs could not be judged, or the model gave no reply.
    pub left_out: u64,
    /// The questions.
    pub questions: Vec<AskedTwice>,
}

/// What pairs of runs say.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairedChange {
    /// An argument verdict in both runs.
    pub both: u64,
    /// Before only: repaired.
    pub before_only: u64,
    /// After only: newly wrong.
    pub after_only: u64,
    /// In neither.
    pub neither: u64,
    /// Share after less share before; none without a pair.
    pub difference: Option<f64>,
    /// Its 95 % interval.
    pub difference_interval: Option<[f64; 2]>,
    /// McNemar's exact test, two-sided.
    pub p: f64,
    /// The same corrected by Holm over the models.
    pub p_corrected: f64,
    /// Whether `p_corrected` is below 0.05.
    pub beyond_chance: bool,
}

/// What a comparison of descriptions came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DescriptionReport {
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// Questions asked of each model.
    pub questions: u64,
    /// Rule set that judged.
    pub rule_set: String,
    /// Where the changed descriptions came from.
    pub after_from: AfterFrom,
    /// What was changed.
    pub changed: Vec<ChangedDescription>,
    /// A model each.
    pub models: Vec<ModelChange>,
}
