//! Spans as OTLP JSON, for tests that go the whole way from a text to a judgement.
//!
//! Each builder begins with the most ordinary span there is, so that a test states only what matters to it.

use serde_json::{Value, json};
use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::{Context, MissingStatus, Parsed, parse};
use taco_trace::model::SpanRow;

/// The trace of all spans unless a test says otherwise.
pub(crate) const TRACE: &str = "7f21c0a4e93b4d1f8a6c2e5b90d417aa";
/// Nanoseconds of the start of a span that starts at 0 ms.
const EPOCH_NS: u64 = 1_790_000_000_000_000_000;

/// A span id with a number that shows.
pub(crate) fn id(number: u64) -> String {
    format!("{number:016x}")
}

/// A span to be written as OTLP JSON.
#[derive(Debug, Clone)]
pub(crate) struct Otlp {
    trace: String,
    number: u64,
    parent: Option<u64>,
    name: String,
    scope: String,
    start_ms: u64,
    end_ms: u64,
    error: bool,
    attributes: Vec<Value>,
    events: Vec<Value>,
}

/// A span of no kind that starts at as many milliseconds as its number says, and takes one.
pub(crate) fn other(number: u64, name: &str) -> Otlp {
    Otlp {
        trace: TRACE.to_owned(),
        number,
        parent: None,
        name: name.to_owned(),
        scope: "test".to_owned(),
        start_ms: number,
        end_ms: number + 1,
        error: false,
        attributes: Vec::new(),
        events: Vec::new(),
    }
}

/// A run of an agent; it lasts a day.
pub(crate) fn agent(number: u64) -> Otlp {
    let span = other(number, "invoke_agent a").text("gen_ai.operation.name", "invoke_agent");
    span.text("gen_ai.agent.name", "a").ends(86_400_000)
}

/// A call of this tool without arguments, below span 1.
pub(crate) fn tool(number: u64, name: &str) -> Otlp {
    let span = other(number, "execute_tool").text("gen_ai.operation.name", "execute_tool");
    span.text("gen_ai.tool.name", name).below(1)
}

/// A call of a model, below span 1.
pub(crate) fn chat(number: u64) -> Otlp {
    other(number, "chat").text("gen_ai.operation.name", "chat").below(1)
}

/// A `tool_call` part.
pub(crate) fn asks(id: Option<&str>, name: &str, arguments: &Value) -> Value {
    match id {
        Some(id) => json!({"type": "tool_call", "id": id, "name": name, "arguments": arguments}),
        None => json!({"type": "tool_call", "name": name, "arguments": arguments}),
    }
}

impl Otlp {
    pub(crate) fn trace(mut self, trace: &str) -> Self {
        trace.clone_into(&mut self.trace);
        self
    }

    pub(crate) fn below(mut self, parent: u64) -> Self {
        self.parent = Some(parent);
        self
    }

    pub(crate) fn root(mut self) -> Self {
        self.parent = None;
        self
    }

    pub(crate) fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.name);
        self
    }

    pub(crate) fn scope(mut self, scope: &str) -> Self {
        scope.clone_into(&mut self.scope);
        self
    }

    pub(crate) fn starts(mut self, start_ms: u64) -> Self {
        self.start_ms = start_ms;
        self.end_ms = self.end_ms.max(start_ms);
        self
    }

    pub(crate) fn ends(mut self, end_ms: u64) -> Self {
        self.end_ms = end_ms;
        self
    }

    pub(crate) fn error(mut self) -> Self {
        self.error = true;
        self
    }

    pub(crate) fn text(self, key: &str, value: &str) -> Self {
        self.value(key, &json!({ "stringValue": value }))
    }

    /// An attribute with any AnyValue.
    pub(crate) fn value(mut self, key: &str, value: &Value) -> Self {
        self.attributes.push(json!({ "key": key, "value": value }));
        self
    }

    pub(crate) fn event(mut self, name: &str, attributes: &[(&str, &str)]) -> Self {
        let listed = attributes.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } }));
        self.events.push(json!({ "name": name, "attributes": listed.collect::<Vec<_>>() }));
        self
    }

    /// Arguments as JSON text.
    pub(crate) fn args(self, arguments: &str) -> Self {
        self.text("gen_ai.tool.call.arguments", arguments)
    }

    pub(crate) fn call_id(self, id: &str) -> Self {
        self.text("gen_ai.tool.call.id", id)
    }

    /// Output messages of one message with these parts.
    pub(crate) fn says(self, parts: &[Value]) -> Self {
        let messages = json!([{ "role": "assistant", "parts": parts }]);
        self.text("gen_ai.output.messages", &messages.to_string())
    }

    /// Input messages of one message with these parts.
    pub(crate) fn hears(self, parts: &[Value]) -> Self {
        let messages = json!([{ "role": "tool", "parts": parts }]);
        self.text("gen_ai.input.messages", &messages.to_string())
    }

    fn span(&self) -> Value {
        json!({
            "traceId": self.trace,
            "spanId": id(self.number),
            "parentSpanId": self.parent.map(id).unwrap_or_default(),
            "name": self.name,
            "startTimeUnixNano": (EPOCH_NS + self.start_ms * 1_000_000).to_string(),
            "endTimeUnixNano": (EPOCH_NS + self.end_ms * 1_000_000).to_string(),
            "attributes": self.attributes,
            "events": self.events,
            "status": if self.error { json!({ "code": 2 }) } else { json!({}) },
        })
    }

    /// One line with this span.
    pub(crate) fn line(&self) -> String {
        let scope = json!({ "scope": { "name": self.scope }, "spans": [self.span()] });
        json!({ "resourceSpans": [{ "scopeSpans": [scope] }] }).to_string()
    }
}

/// A line for each span.
pub(crate) fn lines<'s>(spans: impl IntoIterator<Item = &'s Otlp>) -> String {
    spans.into_iter().map(|span| span.line() + "\n").collect()
}

/// Definitions of tools, each a name and its JSON Schema.
pub(crate) fn tools(defined: &[(&str, Value)]) -> String {
    let tools = defined.iter().map(|(name, schema)| {
        json!({ "tool_name": name, "description": name, "json_schema": schema.to_string(),
                "timeout_ms": 600_000, "max_retries": 9 })
    });
    Value::Array(tools.collect()).to_string()
}

/// A schema of required texts.
pub(crate) fn needs(keys: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        keys.iter().map(|key| ((*key).to_owned(), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "properties": properties, "required": keys })
}

/// What reading a span with the conventions shipped comes to.
pub(crate) fn read(span: &Otlp) -> Parsed {
    let conventions = Conventions::builtin();
    let context = Context { conventions: &conventions, missing_status: MissingStatus::Skip, line: 1, byte_offset: 0 };
    let mut parsed = Parsed::default();
    parse(&span.line(), &context, &mut parsed).unwrap_or_else(|error| panic!("{error:?}: {span:?}"));
    parsed
}

/// The row that a span becomes; it must be kept.
pub(crate) fn row(span: &Otlp) -> SpanRow {
    let parsed = read(span);
    parsed.spans.into_iter().next().unwrap_or_else(|| panic!("not kept: {span:?}, {:?}", parsed.counts))
}
