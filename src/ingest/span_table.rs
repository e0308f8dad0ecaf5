//! Span rows: the flattened span table itself as input (schemas/span_row.schema.json).
//!
//! Owns the columns of that schema and what breaks it. A column that may be null may also be absent, as writers that
//! leave nulls out make it. It knows nothing of OTLP or conventions.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::DateTime;
use serde::de::{MapAccess, SeqAccess};

use super::args::{compact, text};
use super::document::MissingStatus;
use super::document::json::{self, Key, Met, Reader, Tolerant};
use super::document::sink::{Problem, Sink, SpanIds};
use super::otlp::ids::Id;
use super::otlp::{RecordedArgs, check_id};
use crate::ingest::frame::raw_excerpt;
use crate::model::{IssueCode, JsonType, Operation, SpanId, SpanRow, Status, TraceId};

/// The convention that rows of the span table are recognised by.
pub const CONVENTION: &str = "span-row";

const NS_PER_MS: i64 = 1_000_000;

/// The columns of a row, as JSON text.
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

    /// Reads a member when it is a column, and passes over it when it is not.
    pub(crate) fn member<A: MapAccess<'de>>(&mut self, name: &[u8], map: &mut A) -> Result<(), A::Error> {
        match self.place(name) {
            Some(place) => {
                *place = Some(json::raw(map)?);
                Ok(())
            }
            None => json::skip(map),
        }
    }

    /// Whether the object is meant as a row: the operation and an id, or without the operation what no other shape has.
    pub(crate) fn is_row(&self) -> bool {
        match self.operation {
            Some(_) => self.trace_id.is_some() || self.span_id.is_some(),
            None => self.trace_id.is_some() && self.span_id.is_some() && self.start_time.is_some(),
        }
    }

    /// Keeps, drops or skips the row.
    pub(crate) fn settle(&self, sink: &mut Sink<'_, 'de>) {
        sink.see();
        let (trace_id, span_id) = (Id::read(self.trace_id), Id::read(self.span_id));
        let parent = Id::read(self.parent_span_id);
        let ids = SpanIds { trace_id: trace_id.known(), span_id: span_id.known(), parent_span_id: parent.known() };
        let mut warnings = Vec::new();
        if parent == Id::Invalid {
            warnings.push(Problem::of_value(IssueCode::ParentIdInvalid, self.parent_span_id.unwrap_or_default()));
        }
        let operation = match self.operation.and_then(text::decode).as_deref() {
            Some("invoke_agent") => Ok(Operation::InvokeAgent),
            Some("execute_tool") => Ok(Operation::ExecuteTool),
            Some(other) => return sink.drop_span(other, ids),
            None => Err(breach("operation", self.operation)),
        };
        let row = || {
            let trace_id = check_id(trace_id, self.trace_id, IssueCode::TraceIdMissing, IssueCode::TraceIdInvalid)?;
            let span_id = check_id(span_id, self.span_id, IssueCode::SpanIdMissing, IssueCode::SpanIdInvalid)?;
            self.row(trace_id, span_id, operation?, sink.context.missing_status)
        };
        let mut row = match row() {
            Ok(row) => row,
            Err(problem) => return sink.skip_span(problem, ids, self.first_column()),
        };
        let recorded = RecordedArgs::plain(row.tool_args.take());
        row.tool_args = recorded.tool_args;
        row.tool_args_raw = recorded.tool_args_raw;
        row.args_form = recorded.args_form;
        row.args_key = recorded.args_key;
        row.args = recorded.args;
        warnings.extend(recorded.problem);
        for warning in warnings {
            sink.span_issue(warning, ids, self.first_column());
        }
        row.parent_span_id = ids.parent_span_id;
        row.line = sink.context.line;
        sink.keep(row);
    }

    fn first_column(&self) -> Option<&'de str> {
        let columns = [self.trace_id, self.span_id, self.parent_span_id, self.start_time, self.operation];
        columns.into_iter().flatten().min_by_key(|column| column.as_ptr().addr())
    }

    /// The row without its parent and what the sink knows.
    fn row(
        &self,
        trace_id: TraceId,
        span_id: SpanId,
        operation: Operation,
        missing_status: MissingStatus,
    ) -> Result<SpanRow, Problem> {
        let (start_ns, end_ns) = self.times()?;
        let status = self.status(missing_status)?;
        let agent_name = text_or_null("agent_name", self.agent_name)?;
        let tool_name = text_or_null("tool_name", self.tool_name)?;
        let tool_args = self.tool_args()?;
        let (agent_name, tool_name, tool_args) = match operation {
            Operation::InvokeAgent => (agent_name, None, None),
            Operation::ExecuteTool if tool_name.is_none() => return Err(Problem::new(IssueCode::ToolNameMissing, "")),
            Operation::ExecuteTool => (None, tool_name, tool_args),
        };
        Ok(SpanRow {
            trace_id,
            span_id,
            parent_span_id: None,
            operation,
            agent_name,
            tool_name,
            tool_args,
            tool_args_raw: None,
            args_form: None,
            args_key: None,
            args: Vec::new(),
            status,
            start_ns,
            end_ns,
            call_id: None,
            tool_result: None,
            error_type: None,
            failure: None,
            status_message: None,
            service_name: None,
            scope_name: None,
            convention: Arc::from(CONVENTION),
            line: 0,
        })
    }

    /// Start and end in nanoseconds. The columns of the schema have milliseconds; `start_ns` and `end_ns` may say more,
    /// but nothing else.
    fn times(&self) -> Result<(i64, i64), Problem> {
        let start_time = self.start_time.filter(|json| *json != "null");
        let json = start_time.ok_or_else(|| Problem::new(IssueCode::TimeMissing, "start_time"))?;
        let invalid = || Problem::new(IssueCode::TimeInvalid, format!("start_time {}", raw_excerpt(json.as_bytes())));
        let mut start_ns = text::decode(json)
            .and_then(|iso| DateTime::parse_from_rfc3339(&iso).ok())
            .and_then(|start| start.timestamp_nanos_opt())
            .filter(|start_ns| *start_ns > 0)
            .ok_or_else(invalid)?;
        let duration_ms = self
            .duration_ms
            .and_then(integer)
            .filter(|duration_ms| *duration_ms >= 0)
            .ok_or_else(|| breach("duration_ms", self.duration_ms))?;
        if let Some(json) = self.start_ns.filter(|json| *json != "null") {
            let finer = integer(json).filter(|finer| *finer / NS_PER_MS == start_ns / NS_PER_MS);
            start_ns = finer.ok_or_else(|| breach("start_ns", self.start_ns))?;
        }
        let mut end_ns = duration_ms
            .checked_mul(NS_PER_MS)
            .and_then(|duration_ns| start_ns.checked_add(duration_ns))
            .ok_or_else(|| breach("duration_ms", self.duration_ms))?;
        if let Some(json) = self.end_ns.filter(|json| *json != "null") {
            let same_length = |finer: &i64| *finer >= end_ns && *finer - end_ns < NS_PER_MS;
            end_ns = integer(json).filter(same_length).ok_or_else(|| breach("end_ns", self.end_ns))?;
        }
        Ok((start_ns, end_ns))
    }

    fn status(&self, missing: MissingStatus) -> Result<Status, Problem> {
        match (self.status.filter(|json| *json != "null"), missing) {
            (None, MissingStatus::Skip) => Err(Problem::new(IssueCode::StatusMissing, "")),
            (None, MissingStatus::Unset) => Ok(Status::Ok),
            (Some(json), _) => text::decode(json)
                .and_then(|status| Status::from_column(&status))
                .ok_or_else(|| Problem::of_value(IssueCode::StatusInvalid, json)),
        }
    }

    fn tool_args(&self) -> Result<Option<String>, Problem> {
        let Some(json) = self.tool_args.filter(|json| *json != "null") else { return Ok(None) };
        match text::written_type(json) {
            JsonType::String => Ok(text::decode(json).map(Cow::into_owned)),
            // Too deep for a compact form: kept as it stands, and the canonical form says why.
            JsonType::Object => Ok(Some(compact(json).unwrap_or_else(|| json.to_owned()))),
            _ => Err(breach("tool_args", self.tool_args)),
        }
    }
}

/// A text that is not empty; null, absent and empty are none.
fn text_or_null(column: &str, recorded: Option<&str>) -> Result<Option<String>, Problem> {
    let Some(json) = recorded.filter(|json| *json != "null") else { return Ok(None) };
    let decoded = text::decode(json).ok_or_else(|| breach(column, recorded))?;
    Ok(Some(decoded.into_owned()).filter(|text| !text.is_empty()))
}

fn integer(json: &str) -> Option<i64> {
    if text::is_number(json) { text::to_i64(json) } else { None }
}

fn breach(column: &str, recorded: Option<&str>) -> Problem {
    let detail = match recorded {
        None => format!("{column} is absent"),
        Some(json) => format!("{column} {}", raw_excerpt(json.as_bytes())),
    };
    Problem::new(IssueCode::RowInvalid, detail)
}

/// Reads the array `spans` of a file that holds the span table.
pub(crate) struct RowList<'r, 'a, 'de> {
    sink: &'r mut Sink<'a, 'de>,
    rows: u64,
    others: u64,
    wrong: bool,
}

impl<'r, 'a, 'de> RowList<'r, 'a, 'de> {
    pub(crate) fn new(sink: &'r mut Sink<'a, 'de>) -> Self {
        Self { sink, rows: 0, others: 0, wrong: false }
    }

    /// Whether it is the span table, and what in it is no row.
    pub(crate) fn finish(self) -> (bool, Option<Problem>) {
        if self.wrong {
            self.sink.issue(Problem::new(IssueCode::GroupInvalid, "spans"));
        }
        let others = (self.others > 0).then(|| Problem::new(IssueCode::NotTraceData, "spans"));
        (self.rows > 0 || self.others == 0, others)
    }
}

impl<'de> Reader<'de> for RowList<'_, '_, 'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        loop {
            let mut columns = Columns::default();
            let Some(met) = seq.next_element_seed(Tolerant(&mut columns))? else { break };
            if met != Met::Wanted {
                self.wrong = true;
            } else if columns.is_row() {
                self.rows += 1;
                columns.settle(self.sink);
            } else {
                self.others += 1;
            }
        }
        Ok(Met::Wanted)
    }
}

impl<'de> Reader<'de> for Columns<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(name) = map.next_key_seed(Key)? {
            self.member(&name, &mut map)?;
        }
        Ok(Met::Wanted)
    }
}
