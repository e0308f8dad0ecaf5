//! One OTLP span: kept, dropped or skipped.
//!
//! Owns what makes a span usable. Whether it is kept is the conventions' word and is asked first: a span that is not
//! kept is never found fault with.

use serde::de::MapAccess;

use super::any_value::{AnyValue, Attributes};
use super::ids::{Id, SPAN_ID_BYTES, TRACE_ID_BYTES};
use crate::ingest::args::{canonical, text};
use crate::ingest::convention::{Convention, Field, Seen};
use crate::ingest::document::json::{self, Key, Met, Reader, read_raw};
use crate::ingest::document::sink::{Problem, Sink, SpanIds};
use crate::ingest::document::{Context, MissingStatus};
use crate::model::{CallArg, IssueCode, Operation, SpanRow, Status};

/// The members of a span, as JSON text. Its attributes are in the sink's table.
#[derive(Debug, Default)]
pub(crate) struct Span<'de> {
    pub(crate) trace_id: Option<&'de str>,
    pub(crate) span_id: Option<&'de str>,
    pub(crate) parent_span_id: Option<&'de str>,
    pub(crate) name: Option<&'de str>,
    pub(crate) start: Option<&'de str>,
    pub(crate) end: Option<&'de str>,
    pub(crate) status: Option<&'de str>,
}

impl<'de> Span<'de> {
    /// Keeps, drops or skips the span.
    pub(crate) fn settle(&self, sink: &mut Sink<'_, 'de>, scope_name: Option<&str>) {
        sink.see();
        // Lent by the sink, which is needed for more meanwhile.
        let attributes = std::mem::take(&mut sink.attributes);
        let name = self.name.and_then(text::decode);
        let seen = Seen { attributes: &attributes, span_name: name.as_deref(), scope_name };
        match sink.context.conventions.recognise(&seen) {
            Some((convention, operation)) => self.keep(sink, convention, operation, &attributes),
            None => self.leave(sink, &attributes),
        }
        sink.attributes = attributes;
    }

    /// A span that no convention recognises.
    fn leave(&self, sink: &mut Sink<'_, 'de>, attributes: &Attributes<'de>) {
        let ids = SpanIds {
            trace_id: Id::read(self.trace_id, TRACE_ID_BYTES).hex(),
            span_id: Id::read(self.span_id, SPAN_ID_BYTES).hex(),
            parent_span_id: Id::read(self.parent_span_id, SPAN_ID_BYTES).hex(),
        };
        match (sink.context.conventions.operation_name(attributes), attributes.wrong()) {
            // What the span is may stand in what could not be read.
            (None, Some(kind)) => {
                sink.skip_span(Problem::new(IssueCode::AttributesInvalid, kind), ids, self.first_member());
            }
            (operation, _) => sink.drop_span(operation.as_deref().unwrap_or_default(), ids),
        }
    }

    fn keep(
        &self,
        sink: &mut Sink<'_, 'de>,
        convention: &Convention,
        operation: Operation,
        attributes: &Attributes<'de>,
    ) {
        let trace_id = Id::read(self.trace_id, TRACE_ID_BYTES);
        let span_id = Id::read(self.span_id, SPAN_ID_BYTES);
        let parent = Id::read(self.parent_span_id, SPAN_ID_BYTES);
        let parent_is_invalid = parent == Id::Invalid;
        let checked = self.check((&trace_id, &span_id), sink.context, attributes);
        let ids = SpanIds { trace_id: trace_id.hex(), span_id: span_id.hex(), parent_span_id: parent.hex() };
        let recorded = checked.and_then(|checked| {
            let recorded = Recorded::of(convention, operation, attributes)?;
            Ok((checked, recorded))
        });
        let (checked, recorded) = match recorded {
            Ok(both) => both,
            Err(problem) => return sink.skip_span(problem, ids, self.first_member()),
        };
        let mut warnings = Vec::new();
        if parent_is_invalid {
            warnings.push(Problem::of_value(IssueCode::ParentIdInvalid, self.parent_span_id.unwrap_or_default()));
        }
        let keys = sink.context.conventions.wanted();
        let repeated = attributes.repeated().iter().map(|slot| keys.key(*slot));
        warnings.extend(repeated.map(|key| Problem::new(IssueCode::AttributeRepeated, key)));
        let (args_key, args) = read_args(recorded.tool_args.as_deref(), &mut warnings);
        for warning in warnings {
            sink.span_issue(warning, (ids.trace_id.clone(), ids.span_id.clone()), self.first_member());
        }
        sink.keep(SpanRow {
            trace_id: ids.trace_id.unwrap_or_default(),
            span_id: ids.span_id.unwrap_or_default(),
            parent_span_id: ids.parent_span_id,
            operation,
            agent_name: recorded.agent_name,
            tool_name: recorded.tool_name,
            tool_args: recorded.tool_args,
            args_key,
            args,
            status: checked.status,
            start_ns: checked.start_ns,
            end_ns: checked.end_ns,
            call_id: recorded.call_id,
            tool_result: recorded.tool_result,
            error_type: recorded.error_type,
            status_message: checked.status_message,
            service_name: None,
            scope_name: None,
            convention: convention.name.clone(),
            line: sink.context.line,
        });
    }

    /// The member that most likely stands first, to find the span in the text.
    fn first_member(&self) -> Option<&'de str> {
        let members = [self.trace_id, self.span_id, self.parent_span_id, self.name, self.start, self.end, self.status];
        members.into_iter().flatten().min_by_key(|member| member.as_ptr().addr())
    }

    /// Everything but what conventions name. The first fault counts, in this order.
    fn check(
        &self,
        (trace_id, span_id): (&Id, &Id),
        context: &Context,
        attributes: &Attributes,
    ) -> Result<Checked, Problem> {
        check_id(trace_id, self.trace_id, (IssueCode::TraceIdMissing, IssueCode::TraceIdInvalid))?;
        check_id(span_id, self.span_id, (IssueCode::SpanIdMissing, IssueCode::SpanIdInvalid))?;
        let start_ns = read_time(self.start, "startTimeUnixNano")?;
        let end_ns = read_time(self.end, "endTimeUnixNano")?;
        if end_ns < start_ns {
            return Err(Problem::new(IssueCode::EndBeforeStart, format!("{start_ns} > {end_ns}")));
        }
        let (status, status_message) = read_status(self.status, context.missing_status)?;
        if let Some(kind) = attributes.wrong() {
            return Err(Problem::new(IssueCode::AttributesInvalid, kind));
        }
        Ok(Checked { start_ns, end_ns, status, status_message })
    }
}

struct Checked {
    start_ns: i64,
    end_ns: i64,
    status: Status,
    status_message: Option<String>,
}

/// What the convention's attributes say.
struct Recorded {
    agent_name: Option<String>,
    tool_name: Option<String>,
    tool_args: Option<String>,
    tool_result: Option<String>,
    call_id: Option<String>,
    error_type: Option<String>,
}

impl Recorded {
    fn of(convention: &Convention, operation: Operation, attributes: &Attributes) -> Result<Self, Problem> {
        let value = |field| convention.value(field, attributes);
        let name = |field| value(field).and_then(AnyValue::scalar).filter(|name| !name.is_empty());
        let content = |field| value(field).and_then(AnyValue::recorded).filter(|text| !convention.is_not_recorded(text));
        let error_type = name(Field::ErrorType).map(Into::into);
        match operation {
            Operation::InvokeAgent => Ok(Self {
                agent_name: name(Field::AgentName).map(Into::into),
                tool_name: None,
                tool_args: None,
                tool_result: None,
                call_id: None,
                error_type,
            }),
            Operation::ExecuteTool => {
                let tool_name = name(Field::ToolName).ok_or_else(|| Problem::new(IssueCode::ToolNameMissing, ""))?;
                Ok(Self {
                    agent_name: None,
                    tool_name: Some(tool_name.into()),
                    tool_args: content(Field::Arguments).map(Into::into),
                    tool_result: content(Field::Result).map(Into::into),
                    call_id: name(Field::CallId).map(Into::into),
                    error_type,
                })
            }
        }
    }
}

/// The canonical arguments and their keys; a warning when the arguments have none.
pub(crate) fn read_args(tool_args: Option<&str>, warnings: &mut Vec<Problem>) -> (Option<String>, Vec<CallArg>) {
    match tool_args.map(canonical) {
        None => (None, Vec::new()),
        Some(Ok(canonical)) => (Some(canonical.text), canonical.args),
        Some(Err(error)) => {
            warnings.push(Problem::new(IssueCode::ArgsNotJson, error.to_string()));
            (None, Vec::new())
        }
    }
}

/// A problem unless the id is one; `codes` are those for a missing and for an invalid one.
pub(crate) fn check_id(id: &Id, recorded: Option<&str>, codes: (IssueCode, IssueCode)) -> Result<(), Problem> {
    match id {
        Id::Hex(_) => Ok(()),
        Id::Missing => Err(Problem::new(codes.0, "")),
        Id::Invalid => Err(Problem::of_value(codes.1, recorded.unwrap_or_default())),
    }
}

/// Nanoseconds since 1970, above 0. Strings and numbers alike, also in exponent form when the value is whole.
pub(crate) fn read_time(recorded: Option<&str>, key: &str) -> Result<i64, Problem> {
    let json = recorded.filter(|json| *json != "null").ok_or_else(|| Problem::new(IssueCode::TimeMissing, key))?;
    let decoded = text::decode(json);
    let number = decoded.as_deref().unwrap_or(json);
    if text::is_number(number)
        && let Some(time_ns) = text::to_i64(number).filter(|time_ns| *time_ns > 0)
    {
        return Ok(time_ns);
    }
    let Problem { code, detail } = Problem::of_value(IssueCode::TimeInvalid, json);
    Err(Problem::new(code, format!("{key} {detail}")))
}

fn read_status(recorded: Option<&str>, missing: MissingStatus) -> Result<(Status, Option<String>), Problem> {
    let Some(json) = recorded.filter(|json| *json != "null") else {
        return match missing {
            MissingStatus::Skip => Err(Problem::new(IssueCode::StatusMissing, "")),
            MissingStatus::Unset => Ok((Status::Ok, None)),
        };
    };
    let mut members = StatusMembers::default();
    if read_raw(json, &mut members) != Met::Wanted {
        return Err(Problem::of_value(IssueCode::StatusInvalid, json));
    }
    let code = members.code.unwrap_or("null");
    let status = status_of_code(code).ok_or_else(|| Problem::of_value(IssueCode::StatusInvalid, code))?;
    let message = members.message.and_then(text::decode).filter(|message| !message.is_empty());
    Ok((status, message.map(Into::into)))
}

/// Integers as proto3 JSON writes enums, their names, and the names that SDKs print.
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
    if json == "null" || name.eq_ignore_ascii_case("unset") || name.eq_ignore_ascii_case("ok") {
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
