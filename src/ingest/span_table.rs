//! The flattened form: span rows as the table `spans` has them, one object each.
//!
//! Owns the column names of the row schema and what makes a row usable. It recognises no convention: a row says
//! itself what it is.

use std::borrow::Cow;

use chrono::DateTime;
use serde::de::{MapAccess, SeqAccess};

use crate::ingest::args::text;
use crate::ingest::document::{Context, MissingStatus};
use crate::ingest::document::json::{self, Key, Met, Reader, Tolerant};
use crate::ingest::document::sink::{Problem, Sink, SpanIds};
use crate::ingest::otlp::ids::{Id, SPAN_ID_BYTES, TRACE_ID_BYTES};
use crate::ingest::otlp::{check_id, read_args};
use crate::model::{IssueCode, JsonType, Operation, SpanRow, Status};

/// The name in the column `convention` of rows that came in this form.
const CONVENTION: &str = "span-row";
const NS_PER_MS: i64 = 1_000_000;

/// The columns of one row, as JSON text.
#[derive(Debug, Default)]
pub(crate) struct Columns<'de> {
    trace_id: Option<&'de str>,
    span_id: Option<&'de str>,
    parent_span_id: Option<&'de str>,
    start_time: Option<&'de str>,
    operation: Option<&'de str>,
    agent_name: Option<&'de str>,
    tool_name: Option<&'de str>,
    tool_args: Option<&'de str>,
    status: Option<&'de str>,
    duration_ms: Option<&'de str>,
    start_ns: Option<&'de str>,
    end_ns: Option<&'de str>,
}

impl<'de> Columns<'de> {
    /// Whether [`Columns::member`] reads the member of this name.
    pub(crate) fn takes(name: &[u8]) -> bool {
        Self::default().place(name).is_some()
    }

    fn place(&mut self, name: &[u8]) -> Option<&mut Option<&'de str>> {
        Some(match name {
            b"trace_id" => &mut self.trace_id,
            b"span_id" => &mut self.span_id,
            b"parent_span_id" => &mut self.parent_span_id,
            b"start_time" => &mut self.start_time,
            b"operation" => &mut self.operation,
            b"agent_name" => &mut self.agent_name,
            b"tool_name" => &mut self.tool_name,
            b"tool_args" => &mut self.tool_args,
            b"status" => &mut self.status,
            b"duration_ms" => &mut self.duration_ms,
            b"start_ns" => &mut self.start_ns,
            b"end_ns" => &mut self.end_ns,
            _ => return None,
        })
    }

    /// Reads a member.
    pub(crate) fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        let value = json::raw(map)?;
        if let Some(place) = self.place(name) {
            *place = Some(value);
        }
        Ok(())
    }

    /// Whether the object is a row at all: it has a trace id and an operation.
    pub(crate) fn is_row(&self) -> bool {
        self.trace_id.is_some() && self.operation.is_some()
    }

    /// Keeps, drops or skips the row.
    pub(crate) fn settle(&self, sink: &mut Sink<'_, 'de>) {
        sink.see();
        let trace_id = Id::read(self.trace_id, TRACE_ID_BYTES);
        let span_id = Id::read(self.span_id, SPAN_ID_BYTES);
        let parent = Id::read(self.parent_span_id, SPAN_ID_BYTES);
        let usable = check_id(&trace_id, self.trace_id, IssueCode::TraceIdMissing, IssueCode::TraceIdInvalid)
            .and_then(|()| check_id(&span_id, self.span_id, IssueCode::SpanIdMissing, IssueCode::SpanIdInvalid));
        let parent_invalid = parent == Id::Invalid;
        let ids = SpanIds { trace_id: trace_id.hex(), span_id: span_id.hex(), parent_span_id: parent.hex() };
        let operation = match self.operation.and_then(text::decode).as_deref() {
            Some("invoke_agent") => Operation::InvokeAgent,
            Some("execute_tool") => Operation::ExecuteTool,
            Some(other) => return sink.drop_span(other, ids),
            None => return sink.skip_span(self.broken("operation", self.operation), ids, self.trace_id),
        };
        let told = (ids.trace_id.clone(), ids.span_id.clone());
        match usable.and_then(|()| self.row(operation, &ids, sink.context)) {
            Ok((row, args_problem)) => {
                if parent_invalid {
                    let value = self.parent_span_id.unwrap_or_default();
                    let problem = Problem::of_value(IssueCode::ParentIdInvalid, value);
                    sink.span_issue(problem, told.clone(), self.trace_id);
                }
                if let Some(problem) = args_problem {
                    sink.span_issue(problem, told, self.trace_id);
                }
                sink.keep(row);
            }
            Err(problem) => sink.skip_span(problem, ids, self.trace_id),
        }
    }

    fn row(
        &self,
        operation: Operation,
        ids: &SpanIds,
        context: &Context<'_>,
    ) -> Result<(SpanRow, Option<Problem>), Problem> {
        let (start_ns, end_ns) = self.times()?;
        let status = self.read_status(context.missing_status)?;
        let is_call = operation == Operation::ExecuteTool;
        let tool_name = if is_call { self.optional_text("tool_name", self.tool_name)? } else { None };
        if is_call && tool_name.is_none() {
            return Err(Problem::new(IssueCode::ToolNameMissing, ""));
        }
        let tool_args = if is_call { self.arguments() } else { None };
        let (args_key, args, problem) = read_args(tool_args.as_deref());
        let row = SpanRow {
            trace_id: ids.trace_id.clone().unwrap_or_default(),
            span_id: ids.span_id.clone().unwrap_or_default(),
            parent_span_id: ids.parent_span_id.clone(),
            operation,
            agent_name: if is_call { None } else { self.optional_text("agent_name", self.agent_name)? },
            tool_name,
            tool_args,
            args_key,
            args,
            status,
            start_ns,
            end_ns,
            call_id: None,
            tool_result: None,
            error_type: None,
            status_message: None,
            service_name: None,
            scope_name: None,
            convention: CONVENTION.to_owned(),
            line: context.line,
        };
        Ok((row, problem))
    }

    /// Start and end in nanoseconds. The optional columns `start_ns` and `end_ns` are exact where `start_time` and
    /// `duration_ms` are rounded.
    fn times(&self) -> Result<(i64, i64), Problem> {
        let exact = |json: Option<&str>| json.filter(|json| *json != "null").and_then(text::to_i64);
        let start_ns = match exact(self.start_ns) {
            Some(start_ns) => start_ns,
            None => {
                let recorded = self.start_time.filter(|json| *json != "null");
                let recorded = recorded.ok_or_else(|| Problem::new(IssueCode::TimeMissing, "start_time"))?;
                let decoded = text::decode(recorded).unwrap_or(Cow::Borrowed(recorded));
                let parsed = DateTime::parse_from_rfc3339(&decoded).ok().and_then(|time| time.timestamp_nanos_opt());
                parsed.ok_or_else(|| self.time_invalid("start_time", self.start_time))?
            }
        };
        if start_ns <= 0 {
            return Err(self.time_invalid("start_time", self.start_time.or(self.start_ns)));
        }
        let end_ns = match exact(self.end_ns) {
            Some(end_ns) => end_ns,
            None => {
                let recorded = self.duration_ms.filter(|json| *json != "null");
                let recorded = recorded.ok_or_else(|| Problem::new(IssueCode::TimeMissing, "duration_ms"))?;
                let duration = if text::is_number(recorded) { text::to_i64(recorded) } else { None };
                let end_ns = duration
                    .filter(|duration| *duration >= 0)
                    .and_then(|duration| duration.checked_mul(NS_PER_MS))
                    .and_then(|duration| start_ns.checked_add(duration));
                end_ns.ok_or_else(|| self.time_invalid("duration_ms", self.duration_ms))?
            }
        };
        if end_ns < start_ns {
            return Err(Problem::new(IssueCode::EndBeforeStart, format!("{start_ns} > {end_ns}")));
        }
        Ok((start_ns, end_ns))
    }

    fn time_invalid(&self, column: &str, json: Option<&str>) -> Problem {
        let Problem { code, detail } = Problem::of_value(IssueCode::TimeInvalid, json.unwrap_or_default());
        Problem::new(code, format!("{column} {detail}"))
    }

    fn read_status(&self, missing: MissingStatus) -> Result<Status, Problem> {
        let Some(json) = self.status.filter(|json| *json != "null") else {
            return match missing {
                MissingStatus::Skip => Err(Problem::new(IssueCode::StatusMissing, "")),
                MissingStatus::Unset => Ok(Status::Ok),
            };
        };
        let decoded = text::decode(json);
        decoded.as_deref().and_then(Status::from_column).ok_or_else(|| Problem::of_value(IssueCode::StatusInvalid, json))
    }

    /// Arguments as a text column; a structure in its place is its compact JSON.
    fn arguments(&self) -> Option<String> {
        let json = self.tool_args.filter(|json| *json != "null")?;
        match text::decode(json) {
            Some(recorded) => Some(recorded.into_owned()),
            None => crate::ingest::args::compact(json).or_else(|| Some(json.to_owned())),
        }
    }

    /// A text column; null and empty are none, another type breaks the row.
    fn optional_text(&self, column: &str, json: Option<&str>) -> Result<Option<String>, Problem> {
        let Some(json) = json.filter(|json| *json != "null") else { return Ok(None) };
        let decoded = text::decode(json).ok_or_else(|| self.broken(column, Some(json)))?;
        Ok(Some(decoded.into_owned()).filter(|decoded| !decoded.is_empty()))
    }

    fn broken(&self, column: &str, json: Option<&str>) -> Problem {
        let kind = json.map_or("absent", |json| text::written_type(json).as_str());
        Problem::new(IssueCode::RowInvalid, format!("{column}: {kind}, not {}", JsonType::String.as_str()))
    }
}

/// Reads an array of rows.
pub(crate) struct RowList<'r, 'a, 'de> {
    sink: &'r mut Sink<'a, 'de>,
    used: bool,
    unused: Option<Problem>,
}

impl<'r, 'a, 'de> RowList<'r, 'a, 'de> {
    pub(crate) fn new(sink: &'r mut Sink<'a, 'de>) -> Self {
        Self { sink, used: false, unused: None }
    }

    /// Whether any member was a row, and the first that was none.
    pub(crate) fn finish(self) -> (bool, Option<Problem>) {
        (self.used, self.unused)
    }
}

impl<'de> Reader<'de> for RowList<'_, '_, 'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        let mut is_empty = true;
        loop {
            let mut row = RowReader::default();
            let Some(met) = seq.next_element_seed(Tolerant(&mut row))? else { break };
            is_empty = false;
            if met == Met::Wanted && row.0.is_row() {
                self.used = true;
                row.0.settle(self.sink);
            } else if self.unused.is_none() {
                self.unused = Some(Problem::new(IssueCode::RowInvalid, "trace_id, operation"));
            }
        }
        self.used |= is_empty;
        Ok(Met::Wanted)
    }
}

#[derive(Default)]
struct RowReader<'de>(Columns<'de>);

impl<'de> Reader<'de> for RowReader<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            if Columns::takes(&key) { self.0.member(&key, &mut map)? } else { json::skip(&mut map)? }
        }
        Ok(Met::Wanted)
    }
}
