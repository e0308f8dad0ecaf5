//! What makes a kept span usable, and the row that it becomes.
//!
//! Owns times, status and the columns that a convention fills. The first thing wrong with a span is its issue.

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::MapAccess;

use super::Span;
use super::any_value::Attributes;
use super::ids::Id;
use crate::ingest::args::unwrap::{Unwrapped, Wrapper, unwrap};
use crate::ingest::args::{ArgsError, Canonical, canonical, canonical_of_json, text};
use crate::ingest::convention::{BareValue, Convention, Field, SpanData};
use crate::ingest::document::MissingStatus;
use crate::ingest::document::json::{self, Key, Met, Reader, read_raw};
use crate::ingest::document::sink::Problem;
use crate::model::{ArgsForm, CallArg, IssueCode, Operation, SpanId, SpanRow, Status, TraceId};

/// A span whose ids, times and status can be used.
pub(super) struct Checked {
    trace_id: TraceId,
    span_id: SpanId,
    start_ns: i64,
    end_ns: i64,
    status: Status,
    status_message: Option<String>,
}

impl Span<'_> {
    /// End, nanoseconds since 1970 UTC.
    pub(super) fn end_ns(&self) -> Result<i64, Problem> {
        time(self.end, "endTimeUnixNano")
    }

    /// The member that stands first in the text, to show where the span begins.
    pub(super) fn first(&self) -> Option<&str> {
        [self.trace_id, self.span_id, self.name, self.parent_span_id, self.start, self.end, self.status]
            .into_iter()
            .flatten()
            .min_by_key(|member| member.as_ptr().addr())
    }

    /// Looks at ids, times, status and the shape of the attributes in this order; the first problem is the one told.
    pub(super) fn check(
        &self,
        missing_status: MissingStatus,
        trace_id: Id<TraceId>,
        span_id: Id<SpanId>,
        attributes: &Attributes,
    ) -> Result<Checked, Problem> {
        let trace_id = check_id(trace_id, self.trace_id, IssueCode::TraceIdMissing, IssueCode::TraceIdInvalid)?;
        let span_id = check_id(span_id, self.span_id, IssueCode::SpanIdMissing, IssueCode::SpanIdInvalid)?;
        let start_ns = time(self.start, "startTimeUnixNano")?;
        let end_ns = self.end_ns()?;
        if end_ns < start_ns {
            return Err(Problem::new(IssueCode::EndBeforeStart, format!("{start_ns} > {end_ns}")));
        }
        let (status, status_message) = status(self.status, missing_status)?;
        // Before the tool name, which may stand in what could not be read.
        if let Some(kind) = attributes.wrong() {
            return Err(Problem::new(IssueCode::AttributesInvalid, kind));
        }
        Ok(Checked { trace_id, span_id, start_ns, end_ns, status, status_message })
    }
}

/// An id that a kept span must have.
pub(crate) fn check_id<T>(id: Id<T>, json: Option<&str>, missing: IssueCode, invalid: IssueCode) -> Result<T, Problem> {
    match id {
        Id::Known(id) => Ok(id),
        Id::Missing => Err(Problem::new(missing, "")),
        Id::Invalid => Err(Problem::of_value(invalid, json.unwrap_or_default())),
    }
}

/// Nanoseconds since 1970 UTC, from a decimal string or a number that is integral, also with an exponent.
pub(super) fn time(json: Option<&str>, key: &str) -> Result<i64, Problem> {
    let json = json.filter(|json| *json != "null").ok_or_else(|| Problem::new(IssueCode::TimeMissing, key))?;
    let decoded = text::decode(json);
    let number = decoded.as_deref().unwrap_or(json);
    let nanoseconds = if text::is_number(number) { text::to_i64(number) } else { None };
    nanoseconds.filter(|nanoseconds| *nanoseconds > 0).ok_or_else(|| {
        let Problem { code, detail } = Problem::of_value(IssueCode::TimeInvalid, json);
        Problem::new(code, format!("{key} {detail}"))
    })
}

/// Whether the status was set: neither absent nor UNSET.
pub(super) fn has_status(json: Option<&str>) -> bool {
    let mut members = StatusMembers::default();
    json.is_some_and(|json| read_raw(json, &mut members) == Met::Wanted)
        && members.code.is_some_and(|code| {
            let code = text::decode(code).unwrap_or(Cow::Borrowed(code));
            !matches!(&*code, "0" | "null" | "") && !code.to_ascii_lowercase().ends_with("unset")
        })
}

/// What a status says; none where it is no status.
pub(super) fn read_status(json: Option<&str>) -> Option<Status> {
    status(json, MissingStatus::Unset).ok().map(|(status, _)| status)
}

fn status(json: Option<&str>, missing: MissingStatus) -> Result<(Status, Option<String>), Problem> {
    let Some(json) = json else {
        return match missing {
            MissingStatus::Skip => Err(Problem::new(IssueCode::StatusMissing, "")),
            MissingStatus::Unset => Ok((Status::Ok, None)),
        };
    };
    // The key is there, so it is no broken input; null is the default in proto3 JSON.
    if matches!(json, "null" | "{}") {
        return Ok((Status::Ok, None));
    }
    let mut members = StatusMembers::default();
    if read_raw(json, &mut members) != Met::Wanted {
        return Err(Problem::of_value(IssueCode::StatusInvalid, json));
    }
    let code = members.code.filter(|code| *code != "null").unwrap_or("0");
    let status = status_of_code(code).ok_or_else(|| Problem::of_value(IssueCode::StatusInvalid, code))?;
    let message = members.message.and_then(text::decode).filter(|message| !message.is_empty());
    Ok((status, message.map(Cow::into_owned)))
}

/// Enum values as integers, in strings too, the names of the protocol, and those that SDKs print.
fn status_of_code(json: &str) -> Option<Status> {
    let decoded = text::decode(json);
    let code = decoded.as_deref().unwrap_or(json);
    if text::is_number(code) {
        return match text::to_i64(code)? {
            0 | 1 => Some(Status::Ok),
            2 => Some(Status::Error),
            _ => None,
        };
    }
    let name = code.strip_prefix("STATUS_CODE_").unwrap_or(code);
    if name.eq_ignore_ascii_case("unset") || name.eq_ignore_ascii_case("ok") {
        Some(Status::Ok)
    } else if name.eq_ignore_ascii_case("error") {
        Some(Status::Error)
    } else {
        None
    }
}

#[derive(Default)]
struct StatusMembers<'de> {
    code: Option<&'de str>,
    message: Option<&'de str>,
}

impl<'de> Reader<'de> for StatusMembers<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                b"code" => self.code = Some(json::raw(&mut map)?),
                b"message" => self.message = Some(json::raw(&mut map)?),
                _ => json::skip(&mut map)?,
            }
        }
        Ok(Met::Wanted)
    }
}

/// The columns that a convention fills.
pub(super) struct Names {
    convention: Arc<str>,
    operation: Operation,
    agent_name: Option<String>,
    tool_name: Option<String>,
    args: RecordedArgs,
    tool_result: Option<String>,
    call_id: Option<String>,
    error_type: Option<String>,
    failure: Option<String>,
}

impl Names {
    /// Reads the columns; a tool call without a tool name is a problem.
    pub(super) fn of(convention: &Convention, operation: Operation, span: &SpanData<'_, '_>) -> Result<Self, Problem> {
        let scalar = |field| convention.scalar(field, span).map(Cow::into_owned);
        let mut names = Self {
            convention: Arc::clone(&convention.name),
            operation,
            agent_name: None,
            tool_name: None,
            args: RecordedArgs::default(),
            tool_result: None,
            call_id: None,
            error_type: scalar(Field::ErrorType),
            failure: None,
        };
        match operation {
            Operation::InvokeAgent => names.agent_name = scalar(Field::AgentName),
            Operation::ExecuteTool => {
                let tool_name = scalar(Field::ToolName);
                names.tool_name = Some(tool_name.ok_or_else(|| Problem::new(IssueCode::ToolNameMissing, ""))?);
                let recorded = |field| convention.recorded(field, span).map(Cow::into_owned);
                names.args = RecordedArgs::read(convention, recorded(Field::Arguments));
                names.tool_result = recorded(Field::Result);
                names.call_id = scalar(Field::CallId);
            }
        }
        names.failure = convention.failure(span, names.tool_result.as_deref());
        Ok(names)
    }
}

impl Checked {
    /// The row, and what is wrong with its arguments.
    pub(super) fn into_row(
        self,
        parent_span_id: Option<SpanId>,
        names: Names,
        line: u64,
    ) -> (SpanRow, Option<Problem>) {
        let args = names.args;
        let row = SpanRow {
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent_span_id,
            operation: names.operation,
            agent_name: names.agent_name,
            tool_name: names.tool_name,
            tool_args: args.tool_args,
            tool_args_raw: args.tool_args_raw,
            args_form: args.args_form,
            args_key: args.args_key,
            args: args.args,
            status: self.status,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            call_id: names.call_id,
            tool_result: names.tool_result,
            error_type: names.error_type,
            failure: names.failure,
            status_message: self.status_message,
            service_name: None,
            scope_name: None,
            convention: names.convention,
            line,
        };
        (row, args.problem)
    }
}

/// The arguments of a call in all the columns that hold them.
#[derive(Debug, Default)]
pub(crate) struct RecordedArgs {
    pub(crate) tool_args: Option<String>,
    pub(crate) tool_args_raw: Option<String>,
    pub(crate) args_form: Option<ArgsForm>,
    pub(crate) args_key: Option<String>,
    pub(crate) args: Vec<CallArg>,
    pub(crate) problem: Option<Problem>,
}

impl RecordedArgs {
    /// Takes off what the convention's framework puts around arguments.
    pub(crate) fn read(convention: &Convention, recorded: Option<String>) -> Self {
        let recorded = recorded.filter(|text| !convention.is_not_recorded(text));
        Self::unwrapped(recorded, &convention.wrappers, convention.bare_value == BareValue::Lost)
    }

    /// Arguments that no convention says anything of.
    pub(crate) fn plain(recorded: Option<String>) -> Self {
        Self::unwrapped(recorded, &[], false)
    }

    fn unwrapped(recorded: Option<String>, wrappers: &[Wrapper], bare_value_is_lost: bool) -> Self {
        let Some(recorded) = recorded else { return Self::default() };
        let Unwrapped { text, form, is_json } = unwrap(&recorded, wrappers, bare_value_is_lost);
        let unwrapped = match text {
            // Nothing was taken off.
            Some(Cow::Borrowed(_)) => None,
            Some(Cow::Owned(text)) => Some(Some(text)),
            None => Some(None),
        };
        let (tool_args, tool_args_raw) = match unwrapped {
            None => (Some(recorded), None),
            Some(text) => (text, Some(recorded)),
        };
        let mut read = Self { tool_args_raw, args_form: form, ..Self::default() };
        match tool_args.as_deref().map(if is_json { canonical_of_json } else { canonical }) {
            None => {}
            Some(Ok(Canonical { text, args })) => {
                read.args_key = Some(text);
                read.args = args;
            }
            Some(Err(error)) => {
                let detail = match &error {
                    ArgsError::NotJson(words) => words.clone(),
                    ArgsError::TooDeep => error.to_string(),
                };
                read.problem = Some(Problem::new(IssueCode::ArgsNotJson, detail));
            }
        }
        read.tool_args = tool_args;
        read
    }
}
