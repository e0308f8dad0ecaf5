//! Rows as Arrow record batches, columns in the order of the tables of `migrations/`.

use std::sync::Arc;

use chrono::{DateTime, FixedOffset, NaiveDate, SecondsFormat};
use duckdb::arrow::array::{ArrayRef, BooleanBuilder, Int64Builder, StringBuilder};
use duckdb::arrow::datatypes::{DataType, Field, Schema};
use duckdb::arrow::error::ArrowError;
use duckdb::arrow::record_batch::RecordBatch;

use super::kin::Moved;
use crate::model::{
    ArgsForm, CallArg, CallSpec, ChatCall, ChatFailure, Issue, OtelId, RecordedCall, SpanLink, SpanRow, SpecGap,
    TraceId,
};

/// Korean time: +09:00, without daylight saving since 1988.
const KOREAN_OFFSET_SECONDS: i32 = 9 * 3600;

/// ISO 8601 with milliseconds and +09:00, as the column `start_time` has it.
#[must_use]
pub(crate) fn korean_time(start_ns: i64) -> String {
    in_korea(start_ns).to_rfc3339_opts(SecondsFormat::Millis, false)
}

/// The date in Korea of an instant, nanoseconds since 1970 UTC.
#[must_use]
pub(crate) fn korean_date(start_ns: i64) -> NaiveDate {
    in_korea(start_ns).date_naive()
}

fn in_korea(start_ns: i64) -> DateTime<FixedOffset> {
    let offset = FixedOffset::east_opt(KOREAN_OFFSET_SECONDS).expect("nine hours are a valid offset");
    DateTime::from_timestamp_nanos(start_ns).with_timezone(&offset)
}

/// Builds a batch column by column, of the names that they have in the table. Columns of the table that are not in it
/// are NULL, or what the table says.
struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
}

impl Columns {
    const fn new() -> Self {
        Self { fields: Vec::new(), arrays: Vec::new() }
    }

    fn push(&mut self, name: &str, data_type: DataType, array: ArrayRef) {
        self.fields.push(Field::new(name, data_type, true));
        self.arrays.push(array);
    }

    /// Without any value the column is left out: for each NULL of one that is not, a text of no length is written.
    fn text<'a>(&mut self, name: &str, values: impl Iterator<Item = Option<&'a str>> + Clone) {
        if values.clone().all(|value| value.is_none()) {
            return;
        }
        let bytes = values.clone().map(|value| value.map_or(0, str::len)).sum();
        let mut builder = StringBuilder::with_capacity(values.size_hint().0, bytes);
        values.for_each(|value| builder.append_option(value));
        self.push(name, DataType::Utf8, Arc::new(builder.finish()));
    }

    fn ids<I: OtelId>(&mut self, name: &str, ids: impl Iterator<Item = Option<I>>) {
        let rows = ids.size_hint().0;
        let mut builder = StringBuilder::with_capacity(rows, rows * 2 * I::BYTES);
        let mut buffer = [0; 32];
        for id in ids {
            match id {
                Some(id) => builder.append_value(id.hex(&mut buffer)),
                None => builder.append_null(),
            }
        }
        self.push(name, DataType::Utf8, Arc::new(builder.finish()));
    }

    fn integer(&mut self, name: &str, values: impl Iterator<Item = i64>) {
        let mut builder = Int64Builder::new();
        values.for_each(|value| builder.append_value(value));
        self.push(name, DataType::Int64, Arc::new(builder.finish()));
    }

    fn boolean(&mut self, name: &str, values: impl Iterator<Item = bool>) {
        let mut builder = BooleanBuilder::new();
        values.for_each(|value| builder.append_value(value));
        self.push(name, DataType::Boolean, Arc::new(builder.finish()));
    }

    fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays)
    }
}

/// Rows of `spans`. The recorded parent stands in for the kept one until the file is settled.
///
/// `shapes` has [`args_shape`] of each row.
pub(super) fn spans(
    rows: &[SpanRow],
    shapes: &[Option<String>],
    source_id: i64,
    batch_id: i64,
) -> Result<RecordBatch, ArrowError> {
    let start_times: Vec<String> = rows.iter().map(|row| korean_time(row.start_ns)).collect();
    let mut columns = Columns::new();
    columns.ids("trace_id", rows.iter().map(|row| Some(row.trace_id)));
    columns.ids("span_id", rows.iter().map(|row| Some(row.span_id)));
    columns.ids("parent_span_id", rows.iter().map(|row| row.parent_span_id));
    columns.text("start_time", start_times.iter().map(|time| Some(time.as_str())));
    columns.text("operation", rows.iter().map(|row| Some(row.operation.as_str())));
    columns.text("agent_name", rows.iter().map(|row| row.agent_name.as_deref()));
    columns.text("tool_name", rows.iter().map(|row| row.tool_name.as_deref()));
    columns.text("tool_args", rows.iter().map(|row| row.tool_args.as_deref()));
    columns.text("status", rows.iter().map(|row| Some(row.status.as_str())));
    columns.integer("duration_ms", rows.iter().map(SpanRow::duration_ms));
    columns.integer("start_ns", rows.iter().map(|row| row.start_ns));
    columns.integer("end_ns", rows.iter().map(|row| row.end_ns));
    columns.integer("duration_ns", rows.iter().map(|row| row.end_ns - row.start_ns));
    columns.text("args_key", rows.iter().map(|row| row.args_key.as_deref()));
    columns.text("args_shape", shapes.iter().map(Option::as_deref));
    columns.text("tool_args_raw", rows.iter().map(|row| row.tool_args_raw.as_deref()));
    columns.ids("recorded_parent_span_id", rows.iter().map(|row| row.parent_span_id));
    columns.boolean("parent_lost", rows.iter().map(|_| false));
    columns.text("call_id", rows.iter().map(|row| row.call_id.as_deref()));
    columns.text("tool_result", rows.iter().map(|row| row.tool_result.as_deref()));
    columns.text("error_type", rows.iter().map(|row| row.error_type.as_deref()));
    columns.text("status_message", rows.iter().map(|row| row.status_message.as_deref()));
    columns.text("service_name", rows.iter().map(|row| row.service_name.as_deref()));
    columns.text("scope_name", rows.iter().map(|row| row.scope_name.as_deref()));
    columns.text("convention", rows.iter().map(|row| Some(&*row.convention)));
    columns.integer("source_id", rows.iter().map(|_| source_id));
    columns.integer("line", rows.iter().map(|row| line(row.line)));
    columns.integer("batch_id", rows.iter().map(|_| batch_id));
    columns.text("args_form", rows.iter().map(|row| row.args_form.map(ArgsForm::as_str)));
    columns.text("failure", rows.iter().map(|row| row.failure.as_deref()));
    columns.finish()
}

/// Rows of `chat_calls`, none of them settled. `shapes` has [`args_shape`] of each.
pub(super) fn chat_calls(
    calls: &[ChatCall],
    shapes: &[Option<String>],
    source_id: i64,
    batch_id: i64,
) -> Result<RecordBatch, ArrowError> {
    let keys: Vec<String> = calls.iter().map(|call| format!("{}#{}", call.span_id, call.position)).collect();
    let mut columns = Columns::new();
    columns.ids("trace_id", calls.iter().map(|call| Some(call.trace_id)));
    columns.text("call_key", keys.iter().map(|key| Some(key.as_str())));
    columns.ids("span_id", calls.iter().map(|call| Some(call.span_id)));
    columns.integer("start_ns", calls.iter().map(|call| call.time_ns));
    columns.text("tool_name", calls.iter().map(|call| Some(call.tool_name.as_str())));
    columns.text("tool_args", calls.iter().map(|call| call.tool_args.as_deref()));
    columns.text("tool_args_raw", calls.iter().map(|call| call.tool_args_raw.as_deref()));
    columns.text("args_form", calls.iter().map(|call| call.args_form.map(ArgsForm::as_str)));
    columns.text("args_key", calls.iter().map(|call| call.args_key.as_deref()));
    columns.text("args_shape", shapes.iter().map(Option::as_deref));
    columns.text("call_id", calls.iter().map(|call| call.call_id.as_deref()));
    columns.boolean("alone", calls.iter().map(|_| false));
    columns.text("convention", calls.iter().map(|call| Some(&*call.convention)));
    columns.integer("source_id", calls.iter().map(|_| source_id));
    columns.integer("line", calls.iter().map(|call| line(call.line)));
    columns.integer("batch_id", calls.iter().map(|_| batch_id));
    columns.finish()
}

/// Rows of `chat_failures`.
pub(super) fn chat_failures(failures: &[ChatFailure], source_id: i64) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.ids("trace_id", failures.iter().map(|failure| Some(failure.trace_id)));
    columns.text("call_id", failures.iter().map(|failure| Some(failure.call_id.as_str())));
    columns.text("failure", failures.iter().map(|failure| Some(failure.failure.as_str())));
    columns.integer("source_id", failures.iter().map(|_| source_id));
    columns.finish()
}

/// Keys and types of a call's arguments in one text, equal for calls of one shape; none when there are
/// no readable arguments. Arguments that are no object have no keys, as `{}`.
pub(super) fn args_shape(args_key: Option<&str>, args: &[CallArg]) -> Option<String> {
    args_key?;
    let mut shape = String::from("{");
    for arg in args {
        if shape.len() > 1 {
            shape.push(',');
        }
        // A text becomes JSON without fail.
        shape.push_str(&serde_json::to_string(&arg.key).unwrap_or_default());
        shape.push(':');
        shape.push_str(arg.json_type.as_str());
        if arg.written_type != arg.json_type {
            shape.push_str(" as ");
            shape.push_str(arg.written_type.as_str());
        }
    }
    shape.push('}');
    Some(shape)
}

/// Rows of `arg_shapes`: every key of each shape.
pub(super) fn arg_shapes(shapes: &[(String, &[CallArg])], source_id: i64) -> Result<RecordBatch, ArrowError> {
    let args = || shapes.iter().flat_map(|(shape, args)| args.iter().map(move |arg| (shape, arg)));
    let mut columns = Columns::new();
    columns.text("args_shape", args().map(|(shape, _)| Some(shape.as_str())));
    columns.text("key", args().map(|(_, arg)| Some(arg.key.as_str())));
    columns.text("json_type", args().map(|(_, arg)| Some(arg.json_type.as_str())));
    columns.text("written_type", args().map(|(_, arg)| Some(arg.written_type.as_str())));
    columns.integer("source_id", args().map(|_| source_id));
    columns.finish()
}

/// Rows of `span_links`.
pub(super) fn span_links(links: &[SpanLink], source_id: i64) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.ids("trace_id", links.iter().map(|link| Some(link.trace_id)));
    columns.ids("span_id", links.iter().map(|link| Some(link.span_id)));
    columns.ids("parent_span_id", links.iter().map(|link| link.parent_span_id));
    columns.integer("source_id", links.iter().map(|_| source_id));
    columns.finish()
}

/// Rows of `arrived` (traces, and whether they are `kept`: have a kept span) and of `unsettled` (traces, and whether
/// their `parents` are settled).
pub(super) fn traces(traces: &[(TraceId, bool)], said: &str) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.ids("trace_id", traces.iter().map(|(trace_id, _)| Some(*trace_id)));
    columns.boolean(said, traces.iter().map(|(_, said)| *said));
    columns.finish()
}

/// Rows of `moved`.
pub(super) fn moved(spans: &[Moved]) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.ids("trace_id", spans.iter().map(|span| Some(span.trace_id)));
    columns.ids("span_id", spans.iter().map(|span| Some(span.span_id)));
    columns.ids("parent_span_id", spans.iter().map(|span| span.parent_span_id));
    columns.boolean("parent_lost", spans.iter().map(|span| span.parent_lost));
    columns.finish()
}

/// Rows of `ingest_issues`, each with its reason in the words for people.
pub(super) fn issues(
    issues: &[(Issue, String)],
    source: &str,
    source_id: i64,
    batch_id: i64,
) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.integer("batch_id", issues.iter().map(|_| batch_id));
    columns.integer("source_id", issues.iter().map(|_| source_id));
    columns.text("source", issues.iter().map(|_| Some(source)));
    columns.text("severity", issues.iter().map(|(issue, _)| Some(issue.code.severity().as_str())));
    columns.integer("line", issues.iter().map(|(issue, _)| line(issue.line)));
    columns.integer("byte_offset", issues.iter().map(|(issue, _)| line(issue.byte_offset)));
    columns.text("trace_id", issues.iter().map(|(issue, _)| issue.trace_id.as_deref()));
    columns.text("span_id", issues.iter().map(|(issue, _)| issue.span_id.as_deref()));
    columns.text("code", issues.iter().map(|(issue, _)| Some(issue.code.as_str())));
    columns.text("reason", issues.iter().map(|(_, reason)| Some(reason.as_str())));
    columns.text("raw", issues.iter().map(|(issue, _)| Some(issue.raw.as_str())));
    columns.finish()
}

/// Rows of `checked_calls`, or with `reason` of `left_out_calls`, each with its place.
pub(super) fn calls(
    run: &str,
    calls: &[(i64, &RecordedCall)],
    input: i64,
    reason: Option<&str>,
) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.text("call_run", calls.iter().map(|_| Some(run)));
    columns.integer("place", calls.iter().map(|(place, _)| *place));
    columns.text("call_no", calls.iter().map(|(_, call)| Some(call.call_no.as_str())));
    columns.text("tool_name_raw", calls.iter().map(|(_, call)| Some(call.tool_name_raw.as_str())));
    columns.text("arg_name", calls.iter().map(|(_, call)| call.arg_name.as_deref()));
    columns.text("arg_value", calls.iter().map(|(_, call)| call.arg_value.as_deref()));
    columns.text("tool_key", calls.iter().map(|(_, call)| Some(call.tool_key.as_str())));
    columns.integer("input", calls.iter().map(|_| input));
    columns.integer("row_number", calls.iter().map(|(_, call)| line(call.row)));
    columns.integer("line", calls.iter().map(|(_, call)| line(call.line)));
    if reason.is_some() {
        columns.text("reason", calls.iter().map(|_| reason));
    }
    columns.finish()
}

/// Rows of `call_specs`.
pub(super) fn call_specs(run: &str, specs: &[CallSpec], input: i64) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.text("call_run", specs.iter().map(|_| Some(run)));
    columns.integer("place", (1..).zip(specs).map(|(place, _)| place));
    columns.text("tool_id", specs.iter().map(|spec| Some(spec.tool_id.as_str())));
    columns.text("arg_name", specs.iter().map(|spec| Some(spec.arg_name.as_str())));
    columns.text("allowed_values", specs.iter().map(|spec| spec.allowed_values.as_deref()));
    columns.text("max_number", specs.iter().map(|spec| spec.max_number.as_deref()));
    columns.boolean("is_required", specs.iter().map(|spec| spec.is_required));
    columns.text("tool_key", specs.iter().map(|spec| Some(spec.tool_key.as_str())));
    columns.integer("input", specs.iter().map(|_| input));
    columns.integer("row_number", specs.iter().map(|spec| line(spec.row)));
    columns.integer("line", specs.iter().map(|spec| line(spec.line)));
    columns.finish()
}

/// Rows of `call_spec_gaps`.
pub(super) fn call_spec_gaps(run: &str, gaps: &[SpecGap], input: i64) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.text("call_run", gaps.iter().map(|_| Some(run)));
    columns.text("tool_id", gaps.iter().map(|gap| Some(gap.tool_id.as_str())));
    columns.text("arg_name", gaps.iter().map(|gap| gap.arg_name.as_deref()));
    columns.text("reason", gaps.iter().map(|gap| Some(gap.reason.as_str())));
    columns.text("detail", gaps.iter().map(|gap| gap.detail.as_deref()));
    columns.text("tool_key", gaps.iter().map(|gap| Some(gap.tool_key.as_str())));
    columns.integer("input", gaps.iter().map(|_| input));
    columns.finish()
}

/// Rows of `call_issues`, each with its reason in the words for people.
pub(super) fn call_issues(run: &str, issues: &[(Issue, String)], path: &str) -> Result<RecordBatch, ArrowError> {
    let mut columns = Columns::new();
    columns.text("call_run", issues.iter().map(|_| Some(run)));
    columns.text("path", issues.iter().map(|_| Some(path)));
    columns.integer("line", issues.iter().map(|(issue, _)| line(issue.line)));
    columns.integer("byte_offset", issues.iter().map(|(issue, _)| line(issue.byte_offset)));
    columns.text("severity", issues.iter().map(|(issue, _)| Some(issue.code.severity().as_str())));
    columns.text("code", issues.iter().map(|(issue, _)| Some(issue.code.as_str())));
    columns.text("reason", issues.iter().map(|(_, reason)| Some(reason.as_str())));
    columns.text("raw", issues.iter().map(|(issue, _)| Some(issue.raw.as_str())));
    columns.finish()
}

/// A line number or an offset as the store holds it; a file of 2^63 bytes cannot be.
fn line(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
