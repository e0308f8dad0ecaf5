//! What makes a kept span usable, and the row that it becomes.
//!
//! Owns times, status and the columns that a convention fills. The first thing wrong with a span is its issue.

use std::borrow::Cow;

use serde::de::MapAccess;

use super::Span;
use super::any_value::{AnyValue, Attributes};
use super::ids::Id;
use crate::ingest::args::{ArgsError, canonical, text};
use crate::ingest::convention::{Convention, Field};
use crate::ingest::document::MissingStatus;
use crate::ingest::document::json::{self, Key, Met, Reader, read_raw};
use crate::ingest::document::sink::{Problem, SpanIds};
use crate::model::{CallArg, IssueCode, Operation, SpanRow, Status};

/// A span whose ids, times and status can be used.
pub(super) struct Checked {
    start_ns: i64,
    end_ns: i64,
    status: Status,
    status_message: Option<String>,
}

impl Span<'_> {
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
        trace_id: &Id,
        span_id: &Id,
        attributes: &Attributes,
    ) -> Result<Checked, Problem> {
        check_id(trace_id, self.trace_id, IssueCode::TraceIdMissing, IssueCode::TraceIdInvalid)?;
        check_id(span_id, self.span_id, IssueCode::SpanIdMissing, IssueCode::SpanIdInvalid)?;
        let start_ns = time(self.start, "startTimeUnixNano")?;
        let end_ns = time(self.end, "endTimeUnixNano")?;
        if end_ns < start_ns {
            return Err(Problem::new(IssueCode::EndBeforeStart, format!("{start_ns} > {end_ns}")));
        }
        let (status, status_message) = status(self.status, missing_status)?;
        // Before the tool name, which may stand in what could not be read.
        if let Some(kind) = attributes.wrong() {
            return Err(Problem::new(IssueCode::AttributesInvalid, kind));
        }
        Ok(Checked { start_ns, end_ns, status, status_message })
    }
}

/// An id that a kept span must have.
pub(crate) fn check_id(id: &Id, json: Option<&str>, missing: IssueCode, invalid: IssueCode) -> Result<(), Problem> {
    match id {
        Id::Hex(_) => Ok(()),
        Id::Missing => Err(Problem::new(missing, "")),
        Id::Invalid => Err(Problem::of_value(invalid, json.unwrap_or_default())),
    }
}

/// Nanoseconds since 1970 UTC, from a decimal string or a number that is integral, also with an exponent.
fn time(json: Option<&str>, key: &str) -> Result<i64, Problem> {
    let json = json.filter(|json| *json != "null").ok_or_else(|| Problem::new(IssueCode::TimeMissing, key))?;
    let decoded = text::decode(json);
    let number = decoded.as_deref().unwrap_or(json);
    let nanoseconds = if text::is_number(number) { text::to_i64(number) } else { None };
    nanoseconds.filter(|nanoseconds| *nanoseconds > 0).ok_or_else(|| {
        let Problem { code, detail } = Problem::of_value(IssueCode::TimeInvalid, json);
        Problem::new(code, format!("{key} {detail}"))
    })
}

fn status(json: Option<&str>, missing: MissingStatus) -> Result<(Status, Option<String>), Problem> {
    let Some(json) = json else {
        return match missing {
            MissingStatus::Skip => Err(Problem::new(IssueCode::StatusMissing, "")),
            MissingStatus::Unset => Ok((Status::Ok, None)),
        };
    };
    // The key is there, so it is no broken input; null is the default in proto3 JSON.
    if json == "null" {
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
    convention: String,
    operation: Operation,
    agent_name: Option<String>,
    tool_name: Option<String>,
    tool_args: Option<String>,
    tool_result: Option<String>,
    call_id: Option<String>,
    error_type: Option<String>,
}

impl Names {
    /// Reads the columns; a tool call without a tool name is a problem.
    pub(super) fn of(
        convention: &Convention,
        operation: Operation,
        attributes: &Attributes<'_>,
    ) -> Result<Self, Problem> {
        let is_call = operation == Operation::ExecuteTool;
        let scalar =
            |field| convention.value(field, attributes).and_then(AnyValue::scalar).filter(|text| !text.is_empty());
        let recorded = |field| {
            let text = convention.value(field, attributes).and_then(AnyValue::recorded);
            text.filter(|text| !convention.is_not_recorded(text)).map(Cow::into_owned)
        };
        let of_call = |field| if is_call { recorded(field) } else { None };
        let tool_name = if is_call { scalar(Field::ToolName).map(Cow::into_owned) } else { None };
        if is_call && tool_name.is_none() {
            return Err(Problem::new(IssueCode::ToolNameMissing, ""));
        }
        Ok(Self {
            convention: convention.name.clone(),
            operation,
            agent_name: if is_call { None } else { scalar(Field::AgentName).map(Cow::into_owned) },
            tool_name,
            tool_args: of_call(Field::Arguments),
            tool_result: of_call(Field::Result),
            call_id: if is_call { scalar(Field::CallId).map(Cow::into_owned) } else { None },
            error_type: scalar(Field::ErrorType).map(Cow::into_owned),
        })
    }
}

impl Checked {
    /// The row, and what is wrong with its arguments. The ids were found readable by `check`.
    pub(super) fn into_row(self, ids: SpanIds, names: Names, line: u64) -> (SpanRow, Option<Problem>) {
        let (args_key, args, problem) = read_args(names.tool_args.as_deref());
        let row = SpanRow {
            trace_id: ids.trace_id.unwrap_or_default(),
            span_id: ids.span_id.unwrap_or_default(),
            parent_span_id: ids.parent_span_id,
            operation: names.operation,
            agent_name: names.agent_name,
            tool_name: names.tool_name,
            tool_args: names.tool_args,
            args_key,
            args,
            status: self.status,
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            call_id: names.call_id,
            tool_result: names.tool_result,
            error_type: names.error_type,
            status_message: self.status_message,
            service_name: None,
            scope_name: None,
            convention: names.convention,
            line,
        };
        (row, problem)
    }
}

/// Canonical arguments, their keys, and the problem when they are not JSON.
pub(crate) fn read_args(tool_args: Option<&str>) -> (Option<String>, Vec<CallArg>, Option<Problem>) {
    match tool_args.map(canonical) {
        None => (None, Vec::new(), None),
        Some(Ok(read)) => (Some(read.text), read.args, None),
        Some(Err(error)) => {
            let detail = match &error {
                ArgsError::NotJson(words) => words.clone(),
                ArgsError::TooDeep => error.to_string(),
            };
            (None, Vec::new(), Some(Problem::new(IssueCode::ArgsNotJson, detail)))
        }
    }
}
