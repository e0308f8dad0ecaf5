//! What `diagnose` says of one run (schemas/diagnosis.schema.json), and the words for it.

use serde::{Serialize, Serializer};

use super::review::{Review, ReviewKind};
use super::span::Status;

/// The five rules, in order of priority (seed 002, 자동 검증 9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// A tool was called that the definitions do not have.
    UndefinedTool,
    /// The arguments lack a required key, or a value has another type.
    ArgsMismatch,
    /// A call went over its time limit and ended in error.
    TimeoutExceeded,
    /// Equal calls followed one another more often than allowed.
    RetryOverLimit,
    /// A tool error was never recovered and the run ended ok.
    ErrorHidden,
}

impl Rule {
    /// All rules, most important first.
    pub const ALL: [Self; 5] =
        [Self::UndefinedTool, Self::ArgsMismatch, Self::TimeoutExceeded, Self::RetryOverLimit, Self::ErrorHidden];

    /// The name of the rule's folder under `sql/rules/` and of its rows in the set view.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UndefinedTool => "undefined_tool",
            Self::ArgsMismatch => "args_mismatch",
            Self::TimeoutExceeded => "timeout_exceeded",
            Self::RetryOverLimit => "retry_over_limit",
            Self::ErrorHidden => "error_hidden",
        }
    }

    /// Reads the column `rule` back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }

    /// The verdict of a run in which this rule is the first to hold.
    #[must_use]
    pub const fn verdict(self) -> Verdict {
        Verdict::Found(self)
    }
}

/// One of the six verdicts on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// This rule holds.
    Found(Rule),
    /// No rule holds.
    Normal,
}

impl Verdict {
    /// All verdicts: the rules in order of priority, then the normal one.
    pub const ALL: [Self; 6] = [
        Self::Found(Rule::UndefinedTool),
        Self::Found(Rule::ArgsMismatch),
        Self::Found(Rule::TimeoutExceeded),
        Self::Found(Rule::RetryOverLimit),
        Self::Found(Rule::ErrorHidden),
        Self::Normal,
    ];

    /// The Korean text, exactly as in the JSON Schema.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Found(Rule::UndefinedTool) => "정의에 없는 도구를 부름",
            Self::Found(Rule::ArgsMismatch) => "도구 정의와 맞지 않는 인자로 부름",
            Self::Found(Rule::TimeoutExceeded) => "제한 시간을 넘겨 끊김",
            Self::Found(Rule::RetryOverLimit) => "같은 호출을 재시도 한도보다 많이 되풀이함",
            Self::Found(Rule::ErrorHidden) => "도구 오류 뒤에도 성공처럼 답함",
            Self::Normal => "정상 완료",
        }
    }

    /// The short English name that flags accept beside the label.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Found(Rule::UndefinedTool) => "undefined-tool",
            Self::Found(Rule::ArgsMismatch) => "args-mismatch",
            Self::Found(Rule::TimeoutExceeded) => "timeout-exceeded",
            Self::Found(Rule::RetryOverLimit) => "retry-over-limit",
            Self::Found(Rule::ErrorHidden) => "error-hidden",
            Self::Normal => "normal",
        }
    }

    /// The verdict of that label or slug.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.label() == text || verdict.slug() == text)
    }
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// Where to fix it (seed 002, 자동 검증 10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FixTarget {
    /// The tool's description.
    ToolDescription,
    /// The JSON Schema of the arguments.
    ArgumentSchema,
    /// The time limit.
    TimeLimit,
    /// The retry limit.
    RetryLimit,
    /// How the orchestrator handles a tool error.
    ErrorHandling,
}

impl FixTarget {
    /// All of them, in the order of the rules.
    pub const ALL: [Self; 5] =
        [Self::ToolDescription, Self::ArgumentSchema, Self::TimeLimit, Self::RetryLimit, Self::ErrorHandling];

    /// Reads the Korean text back.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|target| target.label() == label)
    }

    /// The Korean text, exactly as in the JSON Schema.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::ToolDescription => "도구 설명",
            Self::ArgumentSchema => "인자 스키마",
            Self::TimeLimit => "제한 시간 설정",
            Self::RetryLimit => "재시도 설정",
            Self::ErrorHandling => "오류 처리 흐름",
        }
    }
}

impl Serialize for FixTarget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The value of an evidence entry: the stored cell as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum EvidenceValue {
    /// A text cell.
    Text(String),
    /// An integer cell, or a count.
    Integer(i64),
    /// An empty cell.
    Null,
}

/// One cell, or one count, that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// `spans` or `tool_definitions`.
    pub table: &'static str,
    /// span_id or tool_name; none for a count.
    pub row: Option<String>,
    /// The column.
    pub field: &'static str,
    /// `count` when the value counts rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agg: Option<&'static str>,
    /// The cell's value, or the count.
    pub value: EvidenceValue,
}

impl Evidence {
    /// A cell of the table `spans`.
    #[must_use]
    pub fn span(span_id: &str, field: &'static str, value: EvidenceValue) -> Self {
        Self { table: "spans", row: Some(span_id.to_owned()), field, agg: None, value }
    }

    /// A cell of the table `tool_definitions`.
    #[must_use]
    pub fn tool(tool_name: &str, field: &'static str, value: EvidenceValue) -> Self {
        Self { table: "tool_definitions", row: Some(tool_name.to_owned()), field, agg: None, value }
    }

    /// How many rows of `table` there are; `field` is the column counted.
    #[must_use]
    pub fn count(table: &'static str, field: &'static str, value: i64) -> Self {
        Self { table, row: None, field, agg: Some("count"), value: EvidenceValue::Integer(value) }
    }
}

/// One rule that holds, at one place of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which rule; in JSON its Korean label.
    #[serde(rename = "verdict", serialize_with = "rule_label")]
    pub rule: Rule,
    /// The tool called.
    pub tool_name: String,
    /// The spans it rests on, in order of start; of a hidden error the final answer span comes last.
    pub span_ids: Vec<String>,
    /// Required keys that are absent, in the order of `required`.
    pub missing_keys: Vec<String>,
    /// `key: received type → declared type`, in the order of `properties`.
    pub type_errors: Vec<String>,
    /// How far over the time limit, in milliseconds.
    pub timeout_gap_ms: Option<i64>,
    /// How many equal calls followed one another.
    pub run_length: Option<i64>,
    /// The cells it rests on.
    pub evidence: Vec<Evidence>,
    /// What a person last said of it; in no JSON, whose schema is published.
    #[serde(skip)]
    pub review: Option<Review>,
}

impl Finding {
    /// The reason for which a person dismissed it, if one did.
    #[must_use]
    pub fn dismissed_for(&self) -> Option<&str> {
        let review = self.review.as_ref().filter(|review| review.decision == ReviewKind::Dismissed);
        review.map(|review| review.reason.as_str())
    }
}

fn rule_label<S: Serializer>(rule: &Rule, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.verdict().label())
}

/// The diagnosis of one run: an element of the JSON output, fields in the order of the schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The run.
    pub trace_id: String,
    /// Name of the agent of the final answer span.
    pub agent_name: Option<String>,
    /// Status of the final answer span.
    pub final_status: Status,
    /// Number of execute_tool spans of the trace.
    pub tool_calls: i64,
    /// The most important rule that holds, or the normal verdict.
    pub verdict: Verdict,
    /// The other rules that hold, in order of priority.
    pub also_found: Vec<Verdict>,
    /// What holds, in order of priority, then of place.
    pub findings: Vec<Finding>,
    /// Facts that are no verdict, in Korean.
    pub notes: Vec<String>,
    /// Where to fix it.
    pub fix_target: Option<FixTarget>,
    /// A better description for the tool whose required keys were left out.
    pub description_draft: Option<String>,
    /// One or two Korean sentences.
    pub summary: String,
}

/// The draft for a tool, chosen among those of several runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenDraft {
    /// The tool.
    pub tool_name: String,
    /// Its description as it stands.
    pub today: String,
    /// The draft that most runs give; of several, that of the newest run.
    pub draft: String,
    /// Runs that give it.
    pub runs: u64,
    /// Runs that give any draft for the tool.
    pub of_runs: u64,
    /// Different drafts that they give.
    pub drafts: u64,
    /// Whether another draft has as many runs.
    pub tied: bool,
}

/// What the traces let the rules check: a row of the view `set_coverage_v2`, summed over runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// All execute_tool spans.
    pub tool_calls: i64,
    /// Those whose arguments were recorded.
    pub with_arguments: i64,
    /// Those whose arguments were recorded and are JSON.
    pub with_readable_arguments: i64,
    /// Those whose tool is defined.
    pub with_known_tool: i64,
    /// Those whose tool has a time limit.
    pub with_timeout: i64,
    /// Those whose tool has a retry limit.
    pub with_max_retries: i64,
    /// Further calls, which stand in messages only.
    pub without_span: i64,
    /// Calls with status ok of which something else says that they failed.
    pub failed_beside_status: i64,
}

impl Coverage {
    /// Adds the figures of another run.
    pub fn add(&mut self, other: &Self) {
        self.tool_calls += other.tool_calls;
        self.with_arguments += other.with_arguments;
        self.with_readable_arguments += other.with_readable_arguments;
        self.with_known_tool += other.with_known_tool;
        self.with_timeout += other.with_timeout;
        self.with_max_retries += other.with_max_retries;
        self.without_span += other.without_span;
        self.failed_beside_status += other.failed_beside_status;
    }
}
