//! A trial as OTLP JSON lines, so that `ingest` and `diagnose` read it as any other: one trace a turn, an
//! `invoke_agent` root with an `execute_tool` below it for each call. Pure: ids follow from the trial, times from its
//! events, so that the same trial is written the same every time.
//!
//! The conversation of all turns of a trial is its id. A call that did not come out ok is an error, with its outcome as
//! `error.type`. A root is ok when the turn has an answer and nothing failed in it.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde_json::{Value, json};

use crate::digest::sha256_hex;
use crate::eval::case::Case;
use crate::eval::event::{CancelScope, Event, EventKind, FailureSource, Outcome};
use crate::spans::line::line_of;
use crate::spans::names as key;

/// `service.name` of trials.
pub const SERVICE: &str = "taco-trace-eval";
const SCOPE: &str = "taco_trace::eval";
/// SPAN_KIND_INTERNAL, STATUS_CODE_OK and STATUS_CODE_ERROR.
const INTERNAL: i32 = 1;
const OK: i32 = 1;
const ERROR: i32 = 2;
const NS_PER_MS: u64 = 1_000_000;

/// One turn of a trial as a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnTrace {
    /// The turn, from 1.
    pub turn: u64,
    /// Its trace, 32 hex digits.
    pub trace_id: String,
    /// The spans of the trace as one line, without its end.
    pub line: String,
}

/// A trial to be written.
#[derive(Debug, Clone, Copy)]
pub struct About<'t> {
    /// Its id.
    pub trial_id: &'t str,
    /// Name of the target.
    pub target: &'t str,
    /// When it began, nanoseconds since 1970 UTC.
    pub started_ns: i64,
}

/// The turns of a trial, in order.
#[must_use]
pub fn traces(about: About<'_>, events: &[Event]) -> Vec<TurnTrace> {
    let turns = events.iter().map(|event| event.turn).filter(|turn| *turn > 0).max().unwrap_or_default();
    (1..=turns).filter_map(|turn| trace(about, turn, events)).collect()
}

/// The contracts of a case as a tools.json: what its calls are judged by.
#[must_use]
pub fn tools_json(case: &Case) -> String {
    let tools = case
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters }));
    json!({ "tools": tools.collect::<Vec<_>>() }).to_string()
}

/// The trace id of a turn.
#[must_use]
pub fn trace_id(trial_id: &str, turn: u64) -> String {
    id(&["trace", trial_id, &turn.to_string()], 32)
}

fn id(words: &[&str], digits: usize) -> String {
    let mut hash = sha256_hex(words.join("\n").as_bytes());
    hash.truncate(digits);
    hash
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(hex.get(at..at + 2).unwrap_or_default(), 16).unwrap_or_default();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn text(key: &str, value: impl Into<String>) -> KeyValue {
    let value = AnyValue { value: Some(Any::StringValue(value.into())) };
    KeyValue { key: key.to_owned(), value: Some(value), ..KeyValue::default() }
}

fn trace(about: About<'_>, turn: u64, events: &[Event]) -> Option<TurnTrace> {
    let own: Vec<&Event> = events.iter().filter(|event| event.turn == turn).collect();
    let (first, last) = (own.first()?, own.last()?);
    let trace_id = trace_id(about.trial_id, turn);
    let root_id = id(&["root", about.trial_id, &turn.to_string()], 16);
    let started = u64::try_from(about.started_ns).unwrap_or_default();
    let at = |event: &Event| started.saturating_add(event.at_ms.saturating_mul(NS_PER_MS));
    let mut spans = Vec::new();
    for event in &own {
        let EventKind::Call { call, tool, arguments, .. } = &event.kind else { continue };
        let result = own.iter().find_map(|event| match &event.kind {
            EventKind::Result { call: of, outcome, value } if of == call => Some((at(event), *outcome, value)),
            _ => None,
        });
        let mut attributes = vec![
            text(key::OPERATION_NAME, "execute_tool"),
            text(key::TOOL_NAME, tool.as_str()),
            text(key::TOOL_TYPE, "function"),
            text(key::TOOL_CALL_ID, format!("call_{call}")),
            text(key::TOOL_CALL_ARGUMENTS, arguments.to_string()),
        ];
        let (end, status) = match result {
            Some((end, Outcome::Ok, value)) => {
                attributes.push(text(key::TOOL_CALL_RESULT, value.to_string()));
                (end, Status::default())
            }
            Some((end, outcome, value)) => {
                let code = outcome_code(outcome);
                attributes.push(text(key::ERROR_TYPE, code));
                let said = match value {
                    Value::String(said) => said.clone(),
                    _ => code.to_owned(),
                };
                (end, Status { message: said, code: ERROR })
            }
            None => {
                attributes.push(text(key::ERROR_TYPE, "no_result"));
                (at(event), Status { message: "no_result".to_owned(), code: ERROR })
            }
        };
        spans.push(Span {
            trace_id: bytes(&trace_id),
            span_id: bytes(&id(&["call", about.trial_id, &call.to_string()], 16)),
            parent_span_id: bytes(&root_id),
            name: format!("execute_tool {tool}"),
            kind: INTERNAL,
            start_time_unix_nano: at(event),
            end_time_unix_nano: end,
            attributes,
            status: Some(status),
            ..Span::default()
        });
    }
    let error = turn_error(&own);
    let mut attributes = vec![
        text(key::OPERATION_NAME, "invoke_agent"),
        text(key::AGENT_NAME, about.target),
        text(key::CONVERSATION_ID, about.trial_id),
    ];
    if let Some(error) = error {
        attributes.push(text(key::ERROR_TYPE, error));
    }
    spans.push(Span {
        trace_id: bytes(&trace_id),
        span_id: bytes(&root_id),
        name: format!("invoke_agent {}", about.target),
        kind: INTERNAL,
        start_time_unix_nano: at(first),
        end_time_unix_nano: at(last),
        attributes,
        status: Some(match error {
            None => Status { message: String::new(), code: OK },
            Some(error) => Status { message: error.to_owned(), code: ERROR },
        }),
        ..Span::default()
    });
    let group = ResourceSpans {
        resource: Some(Resource { attributes: vec![text("service.name", SERVICE)], ..Resource::default() }),
        scope_spans: vec![ScopeSpans {
            scope: Some(InstrumentationScope { name: SCOPE.to_owned(), ..InstrumentationScope::default() }),
            spans,
            schema_url: String::new(),
        }],
        schema_url: String::new(),
    };
    Some(TurnTrace { turn, line: line_of(&[group]), trace_id })
}

/// `error.type` of a turn; none when it was answered and nothing failed.
fn turn_error(events: &[&Event]) -> Option<&'static str> {
    let failed = events.iter().find_map(|event| match event.kind {
        EventKind::Failed { source: FailureSource::Runner, .. } => Some("runner_failed"),
        EventKind::Failed { source: FailureSource::Provider, .. } => Some("provider_failed"),
        EventKind::Failed { source: FailureSource::Connection, .. } => Some("connection_failed"),
        EventKind::Cancelled { scope: CancelScope::Experiment } => Some("cancelled"),
        _ => None,
    });
    let has_answer = events.iter().any(|event| matches!(event.kind, EventKind::Answer { .. }));
    failed.or((!has_answer).then_some("no_answer"))
}

/// The code of an outcome, as records have it.
fn outcome_code(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::ToolError => "tool_error",
        Outcome::ResponseLost => "response_lost",
        Outcome::Limit => "limit",
        Outcome::UnknownTool => "unknown_tool",
    }
}
