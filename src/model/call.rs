//! Recorded calls, what their tools' specifications allow, and what `calls check` says of one
//! (schemas/call_verdict.schema.json), with the words for it.

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

/// Columns of the input table of calls, in order.
pub const CALL_COLUMNS: [&str; 4] = ["call_no", "tool_name_raw", "arg_name", "arg_value"];
/// Columns of the input table of specifications, in order.
pub const SPEC_COLUMNS: [&str; 5] = ["tool_id", "arg_name", "allowed_values", "max_number", "is_required"];

/// How a table without JSON types writes yes, in lower case.
pub const YES_WORDS: [&str; 5] = ["true", "1", "y", "yes", "예"];
/// How it writes no.
pub const NO_WORDS: [&str; 6] = ["false", "0", "n", "no", "아니오", "아니요"];

/// What is said of a call, in the order of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallVerdictKind {
    /// It keeps to its specification.
    Compliant,
    /// The value is not one of those allowed.
    ValueNotAllowed,
    /// The value is no number from 0 to the limit.
    NumberOverLimit,
    /// A required argument is absent.
    RequiredArgMissing,
    /// No specification has the tool.
    ToolUnmapped,
    /// Its number was loaded more than once.
    DuplicateCall,
}

impl CallVerdictKind {
    /// All of them, in the order of the output.
    pub const ALL: [Self; 6] = [
        Self::Compliant,
        Self::ValueNotAllowed,
        Self::NumberOverLimit,
        Self::RequiredArgMissing,
        Self::ToolUnmapped,
        Self::DuplicateCall,
    ];

    /// The text in JSON, in the set view and in the table `call_results`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compliant => "compliant",
            Self::ValueNotAllowed => "value_not_allowed",
            Self::NumberOverLimit => "number_over_limit",
            Self::RequiredArgMissing => "required_arg_missing",
            Self::ToolUnmapped => "tool_unmapped",
            Self::DuplicateCall => "duplicate_call",
        }
    }

    /// Reads [`CallVerdictKind::as_str`] back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// As people write it on the command line: with `-` for `_`, or the Korean words.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let name = text.replace('-', "_");
        Self::ALL.into_iter().find(|kind| kind.as_str() == name || kind.label() == text)
    }

    /// The same in Korean, for tables.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Compliant => "명세를 지킴",
            Self::ValueNotAllowed => "허용 값을 벗어남",
            Self::NumberOverLimit => "상한을 벗어남",
            Self::RequiredArgMissing => "필수 인자가 빠짐",
            Self::ToolUnmapped => "명세에 없는 도구",
            Self::DuplicateCall => "호출 번호가 겹침",
        }
    }

    /// Whether the call does not do as it should.
    #[must_use]
    pub fn deviates(self) -> bool {
        self != Self::Compliant
    }
}

impl Serialize for CallVerdictKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A cell that a verdict rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallEvidence {
    /// A column of [`CALL_COLUMNS`] or [`SPEC_COLUMNS`].
    pub field: &'static str,
    /// What was made of the column, when it is not a cell as it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agg: Option<&'static str>,
    /// The cell.
    pub value: CallValue,
    /// A part of `tool_name_raw`, word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// The value of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallValue {
    /// Nothing there.
    Null,
    /// Yes or no.
    Boolean(bool),
    /// A count.
    Count(i64),
    /// A plain decimal number of any length, as JSON writes it.
    Number(String),
    /// Text.
    Text(String),
}

impl CallValue {
    /// The text, or nothing.
    #[must_use]
    pub fn of_text(text: Option<&str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(text.to_owned()))
    }
}

impl Serialize for CallValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Count(count) => serializer.serialize_i64(*count),
            Self::Text(text) => serializer.serialize_str(text),
            // Digit by digit: no float decides what a long number becomes.
            Self::Number(text) => {
                let raw: Result<&RawValue, _> = serde_json::from_str(text);
                raw.map_err(serde::ser::Error::custom)?.serialize(serializer)
            }
        }
    }
}

/// One thing said of one call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallVerdict {
    /// Number of the call.
    pub call_no: String,
    /// What is said.
    pub verdict: CallVerdictKind,
    /// The argument that was checked; none when none was.
    pub checked_arg: Option<String>,
    /// What it rests on.
    pub evidence: Vec<CallEvidence>,
    /// What to do about it.
    pub next_action: String,
}

/// A call as it was recorded: a row of the table `checked_calls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    /// Number of the call; a call has one argument.
    pub call_no: String,
    /// Name of the tool as written.
    pub tool_name_raw: String,
    /// Name of the argument; none when the call has none.
    pub arg_name: Option<String>,
    /// Value of the argument as text; none when it is absent, which empty text is not.
    pub arg_value: Option<String>,
    /// The name by which tools are told apart (`ingest::calls::tool_key`).
    pub tool_key: String,
    /// Row of the input, from 1; a header is not counted.
    pub row: u64,
    /// Line of the input on which the row begins, from 1.
    pub line: u64,
}

/// What a specification says of one argument: a row of the table `call_specs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSpec {
    /// Name of the tool as written.
    pub tool_id: String,
    /// Name of the argument.
    pub arg_name: String,
    /// Allowed values with bars between them; none when any value is allowed.
    pub allowed_values: Option<String>,
    /// Upper limit, as a plain decimal number that is also a JSON number; none when there is none.
    pub max_number: Option<String>,
    /// Whether the argument has to be there.
    pub is_required: bool,
    /// The name by which tools are told apart.
    pub tool_key: String,
    /// Row of the input, from 1.
    pub row: u64,
    /// Line of the input, from 1.
    pub line: u64,
}

/// Why a specification leaves something open about a tool that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpecGapReason {
    /// The tool has no arguments, so no row lists one.
    NoArguments,
    /// The row could not be read.
    SpecRefused,
    /// The JSON Schema of the tool could not be read.
    SchemaUnreadable,
    /// The definition limits the argument in a way that no column can hold.
    LimitNotHeld,
    /// The definition limits the arguments together in a way that no column can hold: also one that is absent may
    /// break it.
    ToolLimitNotHeld,
}

impl SpecGapReason {
    /// The text in the table `call_spec_gaps`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoArguments => "no_arguments",
            Self::SpecRefused => "spec_refused",
            Self::SchemaUnreadable => "schema_unreadable",
            Self::LimitNotHeld => "limit_not_held",
            Self::ToolLimitNotHeld => "tool_limit_not_held",
        }
    }
}

/// What the specifications leave open about a tool that they know: a row of the table `call_spec_gaps`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpecGap {
    /// The name by which tools are told apart.
    pub tool_key: String,
    /// Name of the argument; none when it is about the tool.
    pub arg_name: Option<String>,
    /// Why.
    pub reason: SpecGapReason,
    /// limit_not_held, tool_limit_not_held: the keywords of JSON Schema with commas between them.
    pub detail: Option<String>,
    /// Name of the tool as written.
    pub tool_id: String,
    /// The definition of the tool in its tools.json, from 1; 0 of a row that could not be read.
    pub row: u64,
}
