//! One kept span, as the table `spans` holds it, and what stands beside it.

use std::ops::Range;
use std::sync::Arc;

use super::id::{SpanId, TraceId};

/// `gen_ai.operation.name` of the spans that are kept; every other operation is dropped and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// One run of an agent.
    InvokeAgent,
    /// One call of a tool.
    ExecuteTool,
}

impl Operation {
    /// The text in the column `operation`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvokeAgent => "invoke_agent",
            Self::ExecuteTool => "execute_tool",
        }
    }
}

/// `status.code` of a span: ERROR is `error`; OK and UNSET are `ok` (the seed's row schema).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Status {
    /// OK or UNSET.
    Ok,
    /// ERROR.
    Error,
}

impl Status {
    /// The text in the column `status`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
        }
    }

    /// Reads the column `status` back.
    #[must_use]
    pub fn from_column(text: &str) -> Option<Self> {
        match text {
            "ok" => Some(Self::Ok),
            "error" => Some(Self::Error),
            _ => None,
        }
    }
}

/// A JSON Schema type name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JsonType {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number without a fractional part.
    Integer,
    /// Any other number.
    Number,
    /// A text.
    String,
    /// A list.
    Array,
    /// A map of keys to values.
    Object,
}

impl JsonType {
    /// The name that JSON Schema uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The type of that JSON Schema name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Null, Self::Boolean, Self::Integer, Self::Number, Self::String, Self::Array, Self::Object]
            .into_iter()
            .find(|json_type| json_type.as_str() == name)
    }
}

/// One top-level key of a tool call's arguments: a row of the table `call_args`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallArg {
    /// The key, escapes decoded.
    pub key: String,
    /// The most specific JSON Schema type that the value has: `3` and `3.0` are both integers.
    pub json_type: JsonType,
    /// The type as written: `3` is an integer, `3.0` and `3e0` are numbers. Shown to people.
    pub written_type: JsonType,
    /// Where the value stands in the canonical text of the arguments.
    pub value: Range<usize>,
}

/// A kept span before it gets its place in the store.
///
/// `parent_span_id` is the parent as recorded; the store works out the nearest kept ancestor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRow {
    /// The run.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
    /// The recorded parent; none for a root.
    pub parent_span_id: Option<SpanId>,
    /// Kept operation.
    pub operation: Operation,
    /// `gen_ai.agent.name`, of invoke_agent spans only.
    pub agent_name: Option<String>,
    /// `gen_ai.tool.name`, of execute_tool spans only (where it is never empty).
    pub tool_name: Option<String>,
    /// `gen_ai.tool.call.arguments` as recorded, or as compact JSON when it was recorded as a structure; without what
    /// the framework put around it.
    pub tool_args: Option<String>,
    /// The arguments as recorded, where `tool_args` is something else.
    pub tool_args_raw: Option<String>,
    /// How the arguments were recorded, where that is not plainly.
    pub args_form: Option<ArgsForm>,
    /// The arguments in canonical form: keys sorted at every level, compact, number text kept, escapes
    /// decoded. None when nothing was recorded or when it is not JSON.
    pub args_key: Option<String>,
    /// The top-level keys of the arguments, in order of key; empty unless they are an object.
    pub args: Vec<CallArg>,
    /// Status of the span.
    pub status: Status,
    /// Start, in nanoseconds since 1970-01-01T00:00:00Z; above 0.
    pub start_ns: i64,
    /// End, in nanoseconds since 1970-01-01T00:00:00Z; not below `start_ns`.
    pub end_ns: i64,
    /// `gen_ai.tool.call.id`.
    pub call_id: Option<String>,
    /// `gen_ai.tool.call.result`, as recorded or as compact JSON.
    pub tool_result: Option<String>,
    /// `error.type`.
    pub error_type: Option<String>,
    /// The first thing beside the status that says that the call failed: `error.type=timeout`, `result /isError=true`.
    pub failure: Option<String>,
    /// `status.message`.
    pub status_message: Option<String>,
    /// `service.name` of the resource.
    pub service_name: Option<Arc<str>>,
    /// Name of the instrumentation scope.
    pub scope_name: Option<Arc<str>>,
    /// Name of the convention that recognised the span.
    pub convention: Arc<str>,
    /// Line in the (uncompressed) file, counted from 1.
    pub line: u64,
}

impl SpanRow {
    /// Duration in whole milliseconds, rounded down, as the seed defines `duration_ms`.
    #[must_use]
    pub const fn duration_ms(&self) -> i64 {
        (self.end_ns - self.start_ns) / 1_000_000
    }
}

/// How a framework recorded the arguments of a call, where it is not plainly as JSON text or a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ArgsForm {
    /// In an object around them, such as `{"kwargs":{…}}`.
    Wrapped,
    /// As JSON inside a JSON string.
    JsonString,
    /// As a Python literal.
    PythonLiteral,
    /// Without the names of the parameters, which cannot be had back.
    Positional,
    /// One bare value, the name of its parameter lost.
    BareValue,
    /// A text of no length.
    Empty,
    /// Cut off by a limit on the length of attributes.
    Truncated,
}

impl ArgsForm {
    /// The text in the column `args_form`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Wrapped => "wrapped",
            Self::JsonString => "json_string",
            Self::PythonLiteral => "python_literal",
            Self::Positional => "positional",
            Self::BareValue => "bare_value",
            Self::Empty => "empty",
            Self::Truncated => "truncated",
        }
    }
}

/// A tool call that stands in the messages of a model: a row of the table `chat_calls`. Most have a span of their own
/// too; the store finds out which do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCall {
    /// The run.
    pub trace_id: TraceId,
    /// The span in whose messages it stands.
    pub span_id: SpanId,
    /// Which of the calls of that span it is, from 1.
    pub position: u64,
    /// End of that span, nanoseconds since 1970-01-01T00:00:00Z.
    pub time_ns: i64,
    /// Name of the tool, never empty.
    pub tool_name: String,
    /// The arguments, as in [`SpanRow::tool_args`].
    pub tool_args: Option<String>,
    /// As in [`SpanRow::tool_args_raw`].
    pub tool_args_raw: Option<String>,
    /// As in [`SpanRow::args_form`].
    pub args_form: Option<ArgsForm>,
    /// As in [`SpanRow::args_key`].
    pub args_key: Option<String>,
    /// As in [`SpanRow::args`].
    pub args: Vec<CallArg>,
    /// Id that the model gave the call.
    pub call_id: Option<String>,
    /// Convention that says where the messages stand.
    pub convention: Arc<str>,
    /// Line in the (uncompressed) file, counted from 1.
    pub line: u64,
}

/// A result in the messages of a model that says that its call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatFailure {
    /// The run.
    pub trace_id: TraceId,
    /// Id of the call.
    pub call_id: String,
    /// What says so: `result /isError=true`.
    pub failure: String,
}

/// The ids of a span that is not kept but stays transparent when parents are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanLink {
    /// The run.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
    /// The recorded parent; none for a root.
    pub parent_span_id: Option<SpanId>,
}
