//! Spans as the Collector's file exporter writes them: one `ExportTraceServiceRequest` a line, members in its order,
//! those with the value of nothing left out.
//!
//! The serde of `opentelemetry-proto` writes every empty member and a zero status, which a Collector does not; so its
//! messages are written from here.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use serde_json::{Value, json};

/// An object that keeps the order in which its members were added. `serde_json` sorts them.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn raw(mut self, name: &str, json: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&Value::from(name).to_string());
        self.0.push(':');
        self.0.push_str(json);
        self
    }

    fn text(self, name: &str, text: &str) -> Self {
        self.raw(name, &Value::from(text).to_string())
    }

    fn raw_unless(self, empty: bool, name: &str, json: &str) -> Self {
        if empty { self } else { self.raw(name, json) }
    }

    fn text_unless_empty(self, name: &str, text: &str) -> Self {
        if text.is_empty() { self } else { self.text(name, text) }
    }

    fn count(self, name: &str, count: u32) -> Self {
        self.raw_unless(count == 0, name, &count.to_string())
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One line without its end, of spans that ended, in the order in which they ended.
#[must_use]
pub fn line(spans: Vec<SpanData>, resource: &Resource) -> String {
    let resource = ResourceAttributesWithSchema::from(resource);
    line_of(&group_spans_by_resource_and_scope(spans, &resource))
}

/// One line without its end, of spans as OTLP groups them.
#[must_use]
pub fn line_of(groups: &[ResourceSpans]) -> String {
    Object::new().raw("resourceSpans", &list(groups.iter().map(resource_spans))).end()
}

fn resource_spans(group: &ResourceSpans) -> String {
    let attributes = group.resource.as_ref().map(|resource| resource.attributes.as_slice()).unwrap_or_default();
    let mut attributes = attributes.to_vec();
    // Read from a hash map.
    attributes.sort_by(|a, b| a.key.cmp(&b.key));
    Object::new()
        .raw("resource", &Object::new().raw("attributes", &list(attributes.iter().map(attribute))).end())
        .raw("scopeSpans", &list(group.scope_spans.iter().map(scope_spans)))
        .text_unless_empty("schemaUrl", &group.schema_url)
        .end()
}

fn scope_spans(group: &ScopeSpans) -> String {
    let scope = group.scope.clone().unwrap_or_default();
    let scope = Object::new().text_unless_empty("name", &scope.name).text_unless_empty("version", &scope.version).end();
    Object::new()
        .raw("scope", &scope)
        .raw("spans", &list(group.spans.iter().map(span)))
        .text_unless_empty("schemaUrl", &group.schema_url)
        .end()
}

fn span(span: &Span) -> String {
    let events = span.events.iter().map(|event| {
        Object::new()
            .text("timeUnixNano", &event.time_unix_nano.to_string())
            .text_unless_empty("name", &event.name)
            .raw_unless(event.attributes.is_empty(), "attributes", &list(event.attributes.iter().map(attribute)))
            .count("droppedAttributesCount", event.dropped_attributes_count)
            .end()
    });
    Object::new()
        .text("traceId", &hex(&span.trace_id))
        .text("spanId", &hex(&span.span_id))
        .text_unless_empty("traceState", &span.trace_state)
        .text("parentSpanId", &hex(&span.parent_span_id))
        .count("flags", span.flags)
        .text("name", &span.name)
        .raw("kind", &span.kind.to_string())
        .text("startTimeUnixNano", &span.start_time_unix_nano.to_string())
        .text("endTimeUnixNano", &span.end_time_unix_nano.to_string())
        .raw_unless(span.attributes.is_empty(), "attributes", &list(span.attributes.iter().map(attribute)))
        .count("droppedAttributesCount", span.dropped_attributes_count)
        .raw_unless(span.events.is_empty(), "events", &list(events))
        .count("droppedEventsCount", span.dropped_events_count)
        .raw("status", &status(span.status.as_ref()))
        .end()
}

fn status(status: Option<&Status>) -> String {
    let Some(status) = status else { return "{}".to_owned() };
    Object::new()
        .text_unless_empty("message", &status.message)
        .raw_unless(status.code == 0, "code", &status.code.to_string())
        .end()
}

fn attribute(attribute: &KeyValue) -> String {
    let value = attribute.value.as_ref().map_or_else(|| "{}".to_owned(), any);
    Object::new().text("key", &attribute.key).raw("value", &value).end()
}

fn any(value: &AnyValue) -> String {
    match &value.value {
        Some(Any::StringValue(text)) => Object::new().text("stringValue", text).end(),
        Some(Any::BoolValue(truth)) => Object::new().raw("boolValue", &truth.to_string()).end(),
        Some(Any::IntValue(number)) => Object::new().text("intValue", &number.to_string()).end(),
        Some(Any::DoubleValue(number)) => Object::new().raw("doubleValue", &json!(number).to_string()).end(),
        Some(Any::ArrayValue(array)) => {
            let values = Object::new().raw("values", &list(array.values.iter().map(any))).end();
            Object::new().raw("arrayValue", &values).end()
        }
        // Nothing that the agent records.
        _ => "{}".to_owned(),
    }
}
