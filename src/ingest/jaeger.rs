//! Jaeger's JSON to OTLP JSON text, trace by trace, so that one reader of spans serves both.
//!
//! Owns the shapes that Jaeger writes (the answer of its query service and the download of its UI, one trace, the span
//! documents of its Elasticsearch store) and the way from tags to status, scope and attributes; and the refusal of
//! search results, which look like traces. Looked at only when a text is nothing else. Start with [`read`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{MapAccess, SeqAccess};
use serde_json::value::RawValue;

use super::args::text::{decode, is_number, to_i64, write_string, written_type};
use super::document::json::{self, Key, Met, Reader, read_raw};
use super::document::sink::Problem;
use super::document::{Context, DocumentError, Parsed, parse};
use super::frame::raw_excerpt;
use crate::model::{Issue, IssueCode, JsonType};

/// Hex digits of the ids of OTLP.
const TRACE_ID_DIGITS: usize = 32;
const SPAN_ID_DIGITS: usize = 16;
/// How many wrappers may stand around a trace: `hits.hits[]._source` and the array of a file are four.
const MAX_WRAPPERS: u32 = 8;

/// Reads a text that was found to be JSON and no trace data of another kind. False when it is not Jaeger's either;
/// `parsed` is then as before.
///
/// # Errors
/// When the text holds search results.
pub(super) fn read(text: &str, context: &Context, parsed: &mut Parsed) -> Result<bool, DocumentError> {
    let mut finder = Finder { context, parsed, found: false, refused: None };
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>().map_while(Result::ok) {
        finder.value(value.get(), MAX_WRAPPERS);
    }
    match (finder.found, finder.refused) {
        (false, Some(problem)) => Err(problem.into()),
        (found, _) => Ok(found),
    }
}

/// Looks for traces in a value and reads each.
struct Finder<'a, 'p> {
    context: &'a Context<'a>,
    parsed: &'p mut Parsed,
    found: bool,
    refused: Option<Problem>,
}

/// The members by which Jaeger's objects are known, as JSON text.
#[derive(Default)]
struct Known<'de> {
    data: Option<&'de str>,
    hits: Option<&'de str>,
    source: Option<&'de str>,
    traces: Option<&'de str>,
    trace_id: Option<&'de str>,
    span_id: Option<&'de str>,
    spans: Option<&'de str>,
    processes: Option<&'de str>,
    start_time: Option<&'de str>,
}

impl<'de> Reader<'de> for Known<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let place = match &*key {
                b"data" => &mut self.data,
                b"hits" => &mut self.hits,
                b"_source" => &mut self.source,
                b"traces" => &mut self.traces,
                b"traceID" => &mut self.trace_id,
                b"spanID" => &mut self.span_id,
                b"spans" => &mut self.spans,
                b"processes" => &mut self.processes,
                b"startTime" => &mut self.start_time,
                _ => {
                    json::skip(&mut map)?;
                    continue;
                }
            };
            *place = Some(json::raw(&mut map)?);
        }
        Ok(Met::Wanted)
    }
}

/// Hands the text of each member of an array on.
struct Each<'f>(&'f mut dyn FnMut(&str));

impl<'de> Reader<'de> for Each<'_> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while let Some(member) = seq.next_element::<&'de RawValue>()? {
            (self.0)(member.get());
        }
        Ok(Met::Wanted)
    }
}

impl Finder<'_, '_> {
    fn value(&mut self, value: &str, wrappers: u32) {
        let Some(wrappers) = wrappers.checked_sub(1) else { return };
        if value.starts_with('[') {
            read_raw(value, &mut Each(&mut |member| self.value(member, wrappers)));
            return;
        }
        let mut known = Known::default();
        read_raw(value, &mut known);
        match known {
            Known { trace_id: Some(_), spans: Some(spans), processes, .. } => self.trace(spans, processes),
            // A document of the store holds one span, its process inside.
            Known { trace_id: Some(_), span_id: Some(_), start_time: Some(_), .. } => self.trace(value, None),
            Known { traces: Some(traces), .. } => self.search_results(traces),
            Known { data, hits, source, .. } => {
                [data, hits, source].into_iter().flatten().for_each(|inner| self.value(inner, wrappers));
            }
        }
    }

    /// Reads the spans of a trace: an array, or one span.
    fn trace(&mut self, spans: &str, processes: Option<&str>) {
        let mut groups = Groups::default();
        if spans.starts_with('[') {
            read_raw(spans, &mut Each(&mut |span| groups.add(span)));
        } else {
            groups.add(spans);
        }
        let request = groups.into_request(processes.unwrap_or_default());
        self.found = true;
        // The text is sound JSON, so that this should not happen; if it does, nothing is lost without a word.
        if let Err(DocumentError { code, detail, .. }) = parse(&request, self.context, self.parsed) {
            let Context { line, byte_offset, .. } = *self.context;
            let raw = raw_excerpt(spans.as_bytes());
            self.parsed.issues.push(Issue { code, line, byte_offset, trace_id: None, span_id: None, detail, raw });
        }
    }

    fn search_results(&mut self, traces: &str) {
        let mut are_results = false;
        let mut look = |member: &str| {
            let mut known = Known::default();
            read_raw(member, &mut known);
            are_results |= known.trace_id.is_some() && known.spans.is_none();
        };
        read_raw(traces, &mut Each(&mut look));
        if are_results {
            self.refused = Some(Problem::new(IssueCode::SearchResults, "traces"));
        }
    }
}

/// The spans of a trace as OTLP JSON text, by process and scope.
#[derive(Default)]
struct Groups {
    spans: BTreeMap<(Process, String), String>,
    /// How many members of the array are no objects.
    others: u64,
}

/// Which process a span is of.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Process {
    /// By its key in `processes`.
    Named(String),
    /// As JSON text.
    Inline(String),
}

impl Groups {
    fn add(&mut self, span: &str) {
        let mut members = Span::default();
        if read_raw(span, &mut members) != Met::Wanted {
            self.others += 1;
            return;
        }
        let process = match (members.process_id.and_then(decode), members.process) {
            (Some(id), _) => Process::Named(id.into_owned()),
            (None, inline) => Process::Inline(inline.unwrap_or_default().to_owned()),
        };
        let tags = members.tags();
        let scope = ["otel.scope.name", "otel.library.name"].iter().find_map(|key| tags.text(key));
        let group = self.spans.entry((process, scope.map(Cow::into_owned).unwrap_or_default())).or_default();
        if !group.is_empty() {
            group.push(',');
        }
        members.write(&tags, group);
    }

    fn into_request(self, processes: &str) -> String {
        let mut named = Processes::default();
        read_raw(processes, &mut named);
        let mut out = String::from("{\"resourceSpans\":[");
        let mut first = true;
        for ((process, scope), spans) in self.spans {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            let process = match &process {
                Process::Named(id) => named.0.get(id.as_bytes()).copied().unwrap_or_default(),
                Process::Inline(text) => text,
            };
            out.push_str("{\"resource\":{\"attributes\":[");
            write_process(process, &mut out);
            out.push_str("]},\"scopeSpans\":[{\"scope\":{\"name\":");
            write_string(&scope, &mut out);
            out.push_str("},\"spans\":[");
            out.push_str(&spans);
            out.push_str("]}]}");
        }
        // What is no span is told once, as in OTLP.
        if self.others > 0 {
            out.push_str(if first { "" } else { "," });
            out.push_str("{\"scopeSpans\":[{\"spans\":[null]}]}");
        }
        out.push_str("]}");
        out
    }
}

#[derive(Default)]
struct Processes<'de>(BTreeMap<Vec<u8>, &'de str>);

impl<'de> Reader<'de> for Processes<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let process = json::raw(&mut map)?;
            self.0.insert(key.into_owned(), process);
        }
        Ok(Met::Wanted)
    }
}

fn write_process(process: &str, out: &mut String) {
    let mut members = Span::default();
    read_raw(process, &mut members);
    let tags = members.tags();
    let mut first = true;
    if let Some(name) = members.service_name {
        out.push_str("{\"key\":\"service.name\",\"value\":{\"stringValue\":");
        out.push_str(name);
        out.push_str("}}");
        first = false;
    }
    tags.write(first, out);
}

/// The members of a span, a reference, a log or a process, as JSON text.
#[derive(Default)]
struct Span<'de> {
    trace_id: Option<&'de str>,
    span_id: Option<&'de str>,
    parent_span_id: Option<&'de str>,
    ref_type: Option<&'de str>,
    operation_name: Option<&'de str>,
    references: Option<&'de str>,
    start_time: Option<&'de str>,
    timestamp: Option<&'de str>,
    duration: Option<&'de str>,
    tags: Option<&'de str>,
    tag: Option<&'de str>,
    fields: Option<&'de str>,
    logs: Option<&'de str>,
    process_id: Option<&'de str>,
    process: Option<&'de str>,
    service_name: Option<&'de str>,
}

impl<'de> Reader<'de> for Span<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let place = match &*key {
                b"traceID" => &mut self.trace_id,
                b"spanID" => &mut self.span_id,
                b"parentSpanID" => &mut self.parent_span_id,
                b"refType" => &mut self.ref_type,
                b"operationName" => &mut self.operation_name,
                b"references" => &mut self.references,
                b"startTime" => &mut self.start_time,
                b"timestamp" => &mut self.timestamp,
                b"duration" => &mut self.duration,
                b"tags" => &mut self.tags,
                b"tag" => &mut self.tag,
                b"fields" => &mut self.fields,
                b"logs" => &mut self.logs,
                b"processID" => &mut self.process_id,
                b"process" => &mut self.process,
                b"serviceName" => &mut self.service_name,
                _ => {
                    json::skip(&mut map)?;
                    continue;
                }
            };
            let value = json::raw(&mut map)?;
            *place = Some(value).filter(|value| *value != "null");
        }
        Ok(Met::Wanted)
    }
}

impl<'de> Span<'de> {
    fn tags(&self) -> Tags<'de> {
        let mut tags = Tags::default();
        for list in [self.tags, self.tag, self.fields].into_iter().flatten() {
            read_raw(list, &mut tags);
        }
        tags
    }

    /// Writes the OTLP span.
    fn write(&self, tags: &Tags, out: &mut String) {
        let trace_id = self.trace_id.map(|id| padded(id, TRACE_ID_DIGITS));
        out.push('{');
        write_member("traceId", trace_id.as_deref(), out);
        write_member("spanId", self.span_id.map(|id| padded(id, SPAN_ID_DIGITS)).as_deref(), out);
        write_member("parentSpanId", self.parent(trace_id.as_deref()).as_deref(), out);
        write_member("name", self.operation_name, out);
        write_member("startTimeUnixNano", self.start_time.map(nanoseconds).as_deref(), out);
        write_member("endTimeUnixNano", self.end_time().as_deref(), out);
        out.push_str("\"attributes\":[");
        tags.write(true, out);
        out.push_str("],\"events\":[");
        self.write_events(out);
        out.push_str("],\"status\":{");
        tags.write_status(out);
        out.push_str("}}");
    }

    /// The id, as JSON text, of the span that this one is a child of, else of the first that it follows.
    fn parent(&self, trace_id: Option<&str>) -> Option<Cow<'de, str>> {
        let mut references = References { trace_id, child_of: None, follows_from: None };
        read_raw(self.references.unwrap_or_default(), &mut references);
        let parent = references.child_of.or(references.follows_from).or(self.parent_span_id)?;
        Some(padded(parent, SPAN_ID_DIGITS))
    }

    /// Jaeger leaves a duration of 0 out in some forms.
    fn end_time(&self) -> Option<Cow<'de, str>> {
        let start = self.start_time?;
        let Some(duration) = self.duration else { return Some(nanoseconds(start)) };
        match (integer(start), integer(duration)) {
            // Beyond 64 bits it stays beyond them.
            (Some(start), Some(duration)) => {
                Some(Cow::Owned(format!("\"{}\"", (i128::from(start) + i128::from(duration)) * 1000)))
            }
            // A start that is wrong is found first; a duration that is wrong shows as it stands.
            _ => Some(Cow::Borrowed(duration)),
        }
    }

    fn write_events(&self, out: &mut String) {
        let mut first = true;
        let mut write = |log: &str| {
            let mut members = Span::default();
            if read_raw(log, &mut members) != Met::Wanted {
                return;
            }
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            let fields = members.tags();
            out.push('{');
            write_member("timeUnixNano", members.timestamp.map(nanoseconds).as_deref(), out);
            out.push_str("\"name\":");
            write_string(&fields.text("event").unwrap_or_default(), out);
            out.push_str(",\"attributes\":[");
            fields.write(true, out);
            out.push_str("]}");
        };
        read_raw(self.logs.unwrap_or_default(), &mut Each(&mut write));
    }
}

fn write_member(name: &str, value: Option<&str>, out: &mut String) {
    if let Some(value) = value {
        out.push('"');
        out.push_str(name);
        out.push_str("\":");
        out.push_str(value);
        out.push(',');
    }
}

/// The references of a span to others of its trace.
struct References<'t, 'de> {
    trace_id: Option<&'t str>,
    child_of: Option<&'de str>,
    follows_from: Option<&'de str>,
}

impl<'de> Reader<'de> for References<'_, 'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while let Some(member) = seq.next_element::<&'de RawValue>()? {
            let mut reference = Span::default();
            read_raw(member.get(), &mut reference);
            let other = reference.trace_id.map(|id| padded(id, TRACE_ID_DIGITS));
            if other.is_some() && other.as_deref() != self.trace_id {
                continue;
            }
            let place = match reference.ref_type.and_then(decode).as_deref() {
                Some("FOLLOWS_FROM") => &mut self.follows_from,
                _ => &mut self.child_of,
            };
            *place = place.or(reference.span_id);
        }
        Ok(Met::Wanted)
    }
}

/// An id as JSON text, hex digits padded to the length that OTLP wants: Jaeger leaves leading zeros out.
fn padded(id: &str, digits: usize) -> Cow<'_, str> {
    let Some(hex) = decode(id) else { return Cow::Borrowed(id) };
    let short = !hex.is_empty() && hex.len() < digits && hex.bytes().all(|digit| digit.is_ascii_hexdigit());
    if short { Cow::Owned(format!("\"{hex:0>digits$}\"")) } else { Cow::Borrowed(id) }
}

fn integer(json: &str) -> Option<i64> {
    let decoded = decode(json);
    let number = decoded.as_deref().unwrap_or(json);
    if is_number(number) { to_i64(number) } else { None }
}

/// Microseconds as nanoseconds, as JSON text; what is no whole number stays as it is, for the reader to refuse.
fn nanoseconds(microseconds: &str) -> Cow<'_, str> {
    match integer(microseconds) {
        // Beyond 64 bits it stays beyond them.
        Some(value) => Cow::Owned(format!("\"{}\"", i128::from(value) * 1000)),
        None => Cow::Borrowed(microseconds),
    }
}

/// Tags in the order met: an array of `{key, type, value}`, or an object of values.
#[derive(Default)]
struct Tags<'de>(Vec<Tag<'de>>);

#[derive(Default)]
struct Tag<'de> {
    key: Cow<'de, str>,
    kind: Option<&'de str>,
    value: Option<&'de str>,
}

impl<'de> Reader<'de> for Tags<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            // The store writes other characters in place of the dots that its query language knows.
            let key = String::from_utf8_lossy(&key).replace('@', ".");
            self.0.push(Tag { key: Cow::Owned(key), kind: None, value: Some(json::raw(&mut map)?) });
        }
        Ok(Met::Wanted)
    }

    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while let Some(member) = seq.next_element::<&'de RawValue>()? {
            let mut tag = Tag::default();
            if read_raw(member.get(), &mut tag) == Met::Wanted {
                self.0.push(tag);
            }
        }
        Ok(Met::Wanted)
    }
}

impl<'de> Reader<'de> for Tag<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                b"key" => self.key = decode(json::raw(&mut map)?).unwrap_or_default(),
                b"type" => self.kind = Some(json::raw(&mut map)?),
                b"value" => self.value = Some(json::raw(&mut map)?),
                _ => json::skip(&mut map)?,
            }
        }
        Ok(Met::Wanted)
    }
}

impl Tag<'_> {
    /// The name of the AnyValue's kind.
    fn kind(&self) -> &'static str {
        let value = self.value.unwrap_or("null");
        match self.kind.and_then(decode).as_deref() {
            Some("bool") => "boolValue",
            Some("int64") => "intValue",
            Some("float64") => "doubleValue",
            Some("binary") => "bytesValue",
            Some("string") => "stringValue",
            _ => match written_type(value) {
                JsonType::Boolean => "boolValue",
                JsonType::Integer => "intValue",
                JsonType::Number => "doubleValue",
                _ => "stringValue",
            },
        }
    }
}

impl<'de> Tags<'de> {
    /// The first value of this key that is a text.
    fn text(&self, key: &str) -> Option<Cow<'de, str>> {
        self.0.iter().find(|tag| tag.key == key).and_then(|tag| tag.value.and_then(decode))
    }

    fn is_true(&self, key: &str) -> bool {
        self.0.iter().any(|tag| tag.key == key && matches!(tag.value, Some("true" | "\"true\"")))
    }

    /// Writes the members of a status. A span with neither tag is UNSET: Jaeger has no place for that.
    fn write_status(&self, out: &mut String) {
        let code = self.text("otel.status_code");
        let code = match code.as_deref() {
            _ if self.is_true("error") => 2,
            Some(code) if code.eq_ignore_ascii_case("error") => 2,
            Some(code) if code.eq_ignore_ascii_case("ok") => 1,
            _ => return,
        };
        out.push_str("\"code\":");
        out.push_str(if code == 2 { "2" } else { "1" });
        if let Some(message) = self.text("otel.status_description") {
            out.push_str(",\"message\":");
            write_string(&message, out);
        }
    }

    /// Writes the members of an array of attributes.
    fn write(&self, mut first: bool, out: &mut String) {
        for tag in &self.0 {
            if !std::mem::take(&mut first) {
                out.push(',');
            }
            out.push_str("{\"key\":");
            write_string(&tag.key, out);
            out.push_str(",\"value\":{\"");
            out.push_str(tag.kind());
            out.push_str("\":");
            out.push_str(tag.value.unwrap_or("null"));
            out.push_str("}}");
        }
    }
}
