//! The shape of a span: its operation, parent, status and attributes without their values, for `taco-trace shape`.
//!
//! Runs only when shapes are wanted. Owns what of a span's name and keys differs from span to span; the sums are those
//! of `crate::shape`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::any_value::AnyValue;
use super::ids::Id;
use super::{Span, row};
use crate::ingest::convention::{Convention, Field, Recognised, SpanData};
use crate::ingest::document::sink::Sink;
use crate::ingest::messages;
use crate::ingest::observe::hash_of;
use crate::model::{Operation, SpanId, Status, TraceId};
use crate::shape::{Need, SeenAttribute, SeenSpan, StatusUse};

/// From so many hexadecimal digits on a word is an id.
const ID_DIGITS: usize = 8;

#[derive(Deserialize)]
struct Entry<'j> {
    #[serde(borrow, default)]
    key: Cow<'j, str>,
    #[serde(borrow, default)]
    value: Option<&'j RawValue>,
}

impl<'j> Entry<'j> {
    fn list(json: &'j RawValue) -> Vec<Self> {
        let entries: Vec<&RawValue> = serde_json::from_str(json.get()).unwrap_or_default();
        // One that is broken says nothing of the others.
        entries.into_iter().filter_map(|entry| serde_json::from_str(entry.get()).ok()).collect()
    }

    fn kind(&self) -> &'static str {
        self.value.map_or("empty", |value| AnyValue::read(value.get()).kind_name())
    }
}

#[derive(Deserialize)]
struct Holder<'j> {
    #[serde(borrow, default)]
    name: Cow<'j, str>,
    #[serde(borrow, default)]
    attributes: Option<&'j RawValue>,
}

/// The keys of a resource with their types.
pub(super) fn attributes_of(resource: &str) -> Vec<(String, &'static str)> {
    let holder: Option<Holder> = serde_json::from_str(resource).ok();
    let entries = holder.and_then(|holder| holder.attributes).map(Entry::list).unwrap_or_default();
    entries.iter().map(|entry| (without_numbers(&entry.key), entry.kind())).collect()
}

impl<'de> Span<'de> {
    /// Notes the shape of the span.
    pub(super) fn note_shape(&self, sink: &mut Sink<'_, 'de>, data: &SpanData<'_, 'de>, recognised: &Recognised<'_>) {
        let conventions = sink.context.conventions;
        let trace_id: Option<TraceId> = Id::read(self.trace_id).known();
        let hash = |span: Option<SpanId>| Some(hash_of(&format!("{}{}", trace_id?, span?)));
        let recorded = conventions.operation_name(data.attributes).filter(|operation| !operation.is_empty());
        let name = data.name.unwrap_or_default();
        let kept = match recognised {
            Recognised::Kept(convention, operation) => Some((*convention, *operation)),
            Recognised::Neither | Recognised::Unknown => None,
        };
        let operation = match (&kept, recorded) {
            (Some((_, operation)), _) => operation.as_str().to_owned(),
            (None, Some(recorded)) => recorded.into_owned(),
            (None, None) => without_ids(name),
        };
        let mut readable = Vec::new();
        if let Some((convention, kept)) = kept {
            readable.extend(Field::ALL.into_iter().filter(|field| is_read(convention, *field, kept, data)).map(need));
            let time = |json, key| row::time(json, key).is_ok();
            if time(self.start, "startTimeUnixNano") && time(self.end, "endTimeUnixNano") {
                readable.push(Need::Times);
            }
        }
        let is_run = kept.is_some_and(|(_, operation)| operation == Operation::InvokeAgent);
        if (is_run || matches!(recognised, Recognised::Unknown)) && messages::are_recorded(conventions, data, is_run) {
            readable.push(Need::Messages);
        }
        let shape = SeenSpan {
            name: name_form(name, &operation, kept.map(|(convention, _)| convention), data),
            operation,
            is_kept: kept.is_some(),
            id: hash(Id::read(self.span_id).known()),
            parent: hash(Id::read(self.parent_span_id).known()),
            status: self.status_use(),
            readable,
            attributes: self.shape_attributes(sink, kept.map(|(convention, _)| convention)),
        };
        if let Some(group) = sink.observed_group() {
            group.spans.push(shape);
        }
    }

    fn status_use(&self) -> StatusUse {
        match (self.status, row::read_status(self.status)) {
            (None, _) => StatusUse::Absent,
            (_, None) => StatusUse::Invalid,
            (_, Some(Status::Error)) => StatusUse::Error,
            (json, Some(Status::Ok)) if row::has_status(json) => StatusUse::Ok,
            (_, Some(Status::Ok)) => StatusUse::Unset,
        }
    }

    fn shape_attributes(&self, sink: &Sink<'_, 'de>, convention: Option<&Convention>) -> Vec<SeenAttribute> {
        let keys = sink.context.conventions.wanted();
        let raw = |json: Option<&'de str>| json.and_then(|json| serde_json::from_str::<&RawValue>(json).ok());
        let own = raw(self.attributes).map(Entry::list).unwrap_or_default().into_iter().map(|entry| SeenAttribute {
            need: keys.slot(&entry.key).and_then(|slot| convention?.field_of(Some(slot), None)).map(need),
            kind: entry.kind(),
            key: without_numbers(&entry.key),
        });
        let mut found: Vec<SeenAttribute> = own.collect();
        let events: Vec<Holder> = self.events.and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        for event in &events {
            for entry in event.attributes.map(Entry::list).unwrap_or_default() {
                let place = Some((&*event.name, &*entry.key));
                found.push(SeenAttribute {
                    need: convention.and_then(|one| one.field_of(None, place)).map(need),
                    kind: entry.kind(),
                    key: format!("event {}: {}", without_ids(&event.name), without_numbers(&entry.key)),
                });
            }
        }
        found
    }
}

const fn need(field: Field) -> Need {
    match field {
        Field::AgentName => Need::AgentName,
        Field::ToolName => Need::ToolName,
        Field::Arguments => Need::Arguments,
        Field::Result => Need::Result,
        Field::CallId => Need::CallId,
        Field::ErrorType => Need::ErrorType,
    }
}

fn is_read(convention: &Convention, field: Field, kept: Operation, data: &SpanData) -> bool {
    match (field, kept) {
        (Field::AgentName, Operation::InvokeAgent)
        | (Field::ToolName | Field::CallId | Field::ErrorType, Operation::ExecuteTool) => {
            convention.scalar(field, data).is_some()
        }
        (Field::Arguments | Field::Result, Operation::ExecuteTool) => convention.recorded(field, data).is_some(),
        _ => false,
    }
}

/// A span's name with marks in place of what it is about: `execute_tool {tool}`, `chat *`.
fn name_form(name: &str, operation: &str, convention: Option<&Convention>, data: &SpanData) -> String {
    let mut form = Cow::Borrowed(name);
    for (field, mark) in [(Field::ToolName, "{tool}"), (Field::AgentName, "{agent}")] {
        if let Some(value) = convention.and_then(|convention| convention.scalar(field, data)) {
            form = Cow::Owned(form.replace(&*value, mark));
        }
    }
    match form.strip_prefix(operation) {
        Some(rest) if rest.starts_with(' ') && !rest.starts_with(" {") => format!("{operation} *"),
        _ => without_ids(&form),
    }
}

/// A text with `#` in place of its numbers and ids.
fn without_ids(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        if end == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        let is_number = word.bytes().all(|letter| letter.is_ascii_digit());
        let has_digit = word.bytes().any(|letter| letter.is_ascii_digit());
        let is_hex = word.len() >= ID_DIGITS && has_digit && word.bytes().all(|letter| letter.is_ascii_hexdigit());
        out.push_str(if is_number || is_hex { "#" } else { word });
        rest = after;
    }
    out
}

/// A key with `N` in place of the numbers between its dots.
fn without_numbers(key: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|letter| letter.is_ascii_digit());
    let parts: Vec<&str> = key.split('.').map(|part| if is_number(part) { "N" } else { part }).collect();
    parts.join(".")
}
