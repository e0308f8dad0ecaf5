//! Decoded OTLP messages as OTLP JSON text.
//!
//! Owns the JSON mapping of OTLP: ids in hex, 64-bit integers as strings, bytes as base64, enums as numbers.

use std::fmt::{Display, Write as _};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};

use crate::ingest::args::text::write_string;

/// Writes one member of `resourceSpans`.
pub(super) fn write_resource_spans(group: &ResourceSpans, out: &mut String) {
    let mut object = Object::open(out);
    if let Some(resource) = &group.resource {
        let mut resource_object = Object::open(object.key("resource"));
        resource_object.attributes(&resource.attributes);
        resource_object.close();
    }
    object.list("scopeSpans", &group.scope_spans, write_scope_spans);
    object.text("schemaUrl", &group.schema_url);
    object.close();
}

fn write_scope_spans(group: &ScopeSpans, out: &mut String) {
    let mut object = Object::open(out);
    // In front of the spans: a convention may have to know it to judge them.
    if let Some(scope) = &group.scope {
        write_scope(scope, object.key("scope"));
    }
    object.list("spans", &group.spans, write_span);
    object.text("schemaUrl", &group.schema_url);
    object.close();
}

fn write_scope(scope: &InstrumentationScope, out: &mut String) {
    let mut object = Object::open(out);
    object.text("name", &scope.name);
    object.text("version", &scope.version);
    object.attributes(&scope.attributes);
    object.close();
}

fn write_span(span: &Span, out: &mut String) {
    let mut object = Object::open(out);
    object.id("traceId", &span.trace_id);
    object.id("spanId", &span.span_id);
    object.text("traceState", &span.trace_state);
    object.id("parentSpanId", &span.parent_span_id);
    object.text("name", &span.name);
    object.number("kind", span.kind);
    // Written even when zero, which protobuf cannot tell from absent.
    object.quoted("startTimeUnixNano", span.start_time_unix_nano);
    object.quoted("endTimeUnixNano", span.end_time_unix_nano);
    object.attributes(&span.attributes);
    object.list("events", &span.events, write_event);
    object.list("links", &span.links, write_link);
    write_status(span.status.as_ref(), object.key("status"));
    object.close();
}

/// A status that is absent is UNSET in protobuf, as an empty one is.
fn write_status(status: Option<&Status>, out: &mut String) {
    let mut object = Object::open(out);
    if let Some(status) = status {
        object.text("message", &status.message);
        object.number("code", status.code);
    }
    object.close();
}

fn write_event(event: &Event, out: &mut String) {
    let mut object = Object::open(out);
    object.quoted("timeUnixNano", event.time_unix_nano);
    object.text("name", &event.name);
    object.attributes(&event.attributes);
    object.close();
}

fn write_link(link: &Link, out: &mut String) {
    let mut object = Object::open(out);
    object.id("traceId", &link.trace_id);
    object.id("spanId", &link.span_id);
    object.attributes(&link.attributes);
    object.close();
}

fn write_key_value(entry: &KeyValue, out: &mut String) {
    let mut object = Object::open(out);
    write_string(&entry.key, object.key("key"));
    if let Some(value) = &entry.value {
        write_value(value, object.key("value"));
    }
    object.close();
}

/// Recursion is bounded because prost refuses messages more than 100 deep.
fn write_value(value: &AnyValue, out: &mut String) {
    let mut object = Object::open(out);
    match &value.value {
        // The place of a text in the dictionary of a profile, which traces do not have.
        None | Some(Value::StringValueStrindex(_)) => {}
        Some(Value::StringValue(text)) => write_string(text, object.key("stringValue")),
        Some(Value::BoolValue(value)) => object.plain("boolValue", value),
        Some(Value::IntValue(value)) => object.quoted("intValue", value),
        Some(Value::DoubleValue(value)) => write_double(*value, object.key("doubleValue")),
        Some(Value::BytesValue(bytes)) => write_base64(bytes, object.key("bytesValue")),
        Some(Value::ArrayValue(array)) => {
            let mut inner = Object::open(object.key("arrayValue"));
            inner.list("values", &array.values, write_value);
            inner.close();
        }
        Some(Value::KvlistValue(list)) => {
            let mut inner = Object::open(object.key("kvlistValue"));
            inner.list("values", &list.values, write_key_value);
            inner.close();
        }
    }
    object.close();
}

fn write_double(value: f64, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = match value {
        value if value.is_nan() => write!(out, "\"NaN\""),
        f64::INFINITY => write!(out, "\"Infinity\""),
        f64::NEG_INFINITY => write!(out, "\"-Infinity\""),
        // The shortest text that reads back as the same double, with an exponent where that is shorter.
        value => write!(out, "{value:?}"),
    };
}

fn write_base64(bytes: &[u8], out: &mut String) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    out.push('"');
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_usize, |bits, place| bits << 8 | usize::from(group.get(place).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = DIGITS[bits >> (18 - 6 * place) & 0x3f];
            out.push(if place <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out.push('"');
}

/// Writes the members of an object; those that are empty, the default of protobuf, are left out.
struct Object<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> Object<'o> {
    fn open(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    fn close(self) {
        self.out.push('}');
    }

    /// Writes a member's name; its value is to be written next.
    fn key(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    fn plain(&mut self, name: &str, value: impl Display) {
        let _ = write!(self.key(name), "{value}");
    }

    fn quoted(&mut self, name: &str, value: impl Display) {
        let _ = write!(self.key(name), "\"{value}\"");
    }

    fn number(&mut self, name: &str, value: i32) {
        if value != 0 {
            self.plain(name, value);
        }
    }

    fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            write_string(text, self.key(name));
        }
    }

    /// Lower-case hex, whatever the length: a wrong one is for the reader of spans to find.
    fn id(&mut self, name: &str, bytes: &[u8]) {
        if !bytes.is_empty() {
            let out = self.key(name);
            out.push('"');
            for byte in bytes {
                let _ = write!(out, "{byte:02x}");
            }
            out.push('"');
        }
    }

    fn list<T>(&mut self, name: &str, members: &[T], write: fn(&T, &mut String)) {
        if members.is_empty() {
            return;
        }
        let out = self.key(name);
        for (place, member) in members.iter().enumerate() {
            out.push(if place == 0 { '[' } else { ',' });
            write(member, out);
        }
        out.push(']');
    }

    fn attributes(&mut self, attributes: &[KeyValue]) {
        self.list("attributes", attributes, write_key_value);
    }
}
