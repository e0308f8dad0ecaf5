//! OTLP JSON: resources, scopes and spans to rows.
//!
//! Owns the field names of an `ExportTraceServiceRequest` in all spellings, and what makes a span usable. Whether a
//! span is kept is the conventions' word, and is asked first: a span that is not kept is never found fault with.

pub(crate) mod any_value;
pub(crate) mod ids;
mod observe;
mod row;
mod shape;

use std::borrow::Cow;
use std::sync::Arc;

use serde::de::{MapAccess, SeqAccess};

use self::any_value::{AnyValue, AttributeList, Attributes};
use self::ids::Id;
use self::row::Names;
pub(crate) use self::row::{RecordedArgs, check_id};
use crate::ingest::args::text;
use crate::ingest::convention::{Convention, Recognised, SpanData};
use crate::ingest::document::json::{self, Key, Met, Reader, Tolerant, read_raw};
use crate::ingest::document::sink::{Problem, Sink, SpanIds};
use crate::ingest::messages::{self, AskedCall, FailedCall};
use crate::model::{ChatCall, ChatFailure, IssueCode, Operation};

/// Reads the array `resourceSpans`.
pub(crate) struct ResourceList<'r, 'a, 'de>(pub(crate) &'r mut Sink<'a, 'de>);

impl<'de> Reader<'de> for ResourceList<'_, '_, 'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        let mut wrong = false;
        while let Some(met) = seq.next_element_seed(Tolerant(&mut Resource(self.0)))? {
            wrong |= met != Met::Wanted;
        }
        // One issue an array, however many of its members are wrong: they cost nothing to write and much to keep.
        if wrong {
            self.0.issue(Problem::new(IssueCode::GroupInvalid, "resourceSpans"));
        }
        Ok(Met::Wanted)
    }
}

struct Resource<'r, 'a, 'de>(&'r mut Sink<'a, 'de>);

impl<'de> Reader<'de> for Resource<'_, '_, 'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        let mut group = ResourceGroup::new(self.0);
        while let Some(key) = map.next_key_seed(Key)? {
            if ResourceGroup::takes(&key) {
                group.member(&key, &mut map, self.0)?;
            } else {
                json::skip(&mut map)?;
            }
        }
        group.finish(self.0);
        Ok(Met::Wanted)
    }
}

/// One entry of `resourceSpans`: what its members say of all rows in it, which is filled in when it is complete because
/// members come in any order.
pub(crate) struct ResourceGroup {
    first_row: usize,
    first_group: usize,
    service_name: Option<Arc<str>>,
    /// Keys of the resource with their types, when shapes are wanted.
    attributes: Vec<(String, &'static str)>,
}

impl ResourceGroup {
    pub(crate) fn new(sink: &Sink) -> Self {
        Self {
            first_row: sink.row_count(),
            first_group: sink.group_count(),
            service_name: None,
            attributes: Vec::new(),
        }
    }

    /// Whether [`ResourceGroup::member`] reads the member of this name.
    pub(crate) fn takes(name: &[u8]) -> bool {
        name == b"resource" || Self::is_scopes(name)
    }

    fn is_scopes(name: &[u8]) -> bool {
        matches!(
            name,
            b"scopeSpans" | b"scope_spans" | b"instrumentationLibrarySpans" | b"instrumentation_library_spans"
        )
    }

    /// Reads a member; true when it was one that holds spans.
    pub(crate) fn member<'de, A: MapAccess<'de>>(
        &mut self,
        name: &[u8],
        map: &mut A,
        sink: &mut Sink<'_, 'de>,
    ) -> Result<bool, A::Error> {
        if Self::is_scopes(name) {
            let met = map.next_value_seed(Tolerant(&mut ScopeList(sink)))?;
            sink.wrong_group(met, name);
            return Ok(true);
        }
        sink.attributes.clear(sink.context.conventions.resource_keys());
        if sink.wants_shapes() {
            let resource = json::raw(map)?;
            self.attributes = shape::attributes_of(resource);
            read_raw(resource, &mut ResourceAttributes(sink));
        } else {
            map.next_value_seed(Tolerant(&mut ResourceAttributes(sink)))?;
        }
        let service_name = sink.attributes.get(0).and_then(AnyValue::scalar);
        self.service_name = service_name.filter(|name| !name.is_empty()).map(Arc::from);
        Ok(false)
    }

    pub(crate) fn finish(self, sink: &mut Sink) {
        // The text around the groups is one too, without a resource.
        if !self.attributes.is_empty() {
            for group in sink.groups_since(self.first_group) {
                group.resource.clone_from(&self.attributes);
            }
        }
        if let Some(service_name) = &self.service_name {
            for row in sink.rows_since(self.first_row) {
                row.service_name.clone_from(&self.service_name);
            }
            for group in sink.groups_since(self.first_group) {
                (**service_name).clone_into(&mut group.key.service);
            }
        }
    }
}

struct ResourceAttributes<'r, 'a, 'de>(&'r mut Sink<'a, 'de>);

impl<'de> Reader<'de> for ResourceAttributes<'_, '_, 'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        let keys = self.0.context.conventions.resource_keys();
        while let Some(key) = map.next_key_seed(Key)? {
            if &*key == b"attributes" {
                map.next_value_seed(Tolerant(&mut AttributeList { keys, attributes: &mut self.0.attributes }))?;
            } else {
                json::skip(&mut map)?;
            }
        }
        Ok(Met::Wanted)
    }
}

struct ScopeList<'r, 'a, 'de>(&'r mut Sink<'a, 'de>);

impl<'de> Reader<'de> for ScopeList<'_, '_, 'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        let mut wrong = false;
        while let Some(met) = seq.next_element_seed(Tolerant(&mut ScopeGroup(self.0)))? {
            wrong |= met != Met::Wanted;
        }
        if wrong {
            self.0.issue(Problem::new(IssueCode::GroupInvalid, "scopeSpans"));
        }
        Ok(Met::Wanted)
    }
}

struct ScopeGroup<'r, 'a, 'de>(&'r mut Sink<'a, 'de>);

impl<'de> Reader<'de> for ScopeGroup<'_, '_, 'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        let sink = &mut *self.0;
        let (first_row, seen_before) = (sink.row_count(), sink.seen());
        sink.begin_group();
        let mut schema_url = None;
        let mut scope = ScopeName::default();
        // Spans that stand before the name of their scope, where a convention must know it to judge them.
        let mut waiting = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                b"scope" | b"instrumentationLibrary" | b"instrumentation_library" => {
                    scope.is_known = true;
                    map.next_value_seed(Tolerant(&mut scope))?;
                }
                b"spans" if !scope.is_known && sink.context.conventions.uses_scope() => {
                    waiting.push(json::raw(&mut map)?);
                }
                b"spans" => {
                    let scope_name = scope.name.as_deref();
                    let met = map.next_value_seed(Tolerant(&mut SpanList { sink, scope_name }))?;
                    sink.wrong_group(met, &key);
                }
                b"schemaUrl" | b"schema_url" if sink.is_observed() => schema_url = text::decode(json::raw(&mut map)?),
                _ => json::skip(&mut map)?,
            }
        }
        let scope_name = scope.name.as_deref();
        for spans in waiting {
            let met = read_raw(spans, &mut SpanList { sink, scope_name });
            sink.wrong_group(met, b"spans");
        }
        if let Some(group) = sink.observed_group() {
            group.key.scope = scope_name.unwrap_or_default().to_owned();
            group.key.version = scope.version.as_deref().unwrap_or_default().to_owned();
            group.key.schema_url = schema_url.as_deref().unwrap_or_default().to_owned();
        }
        sink.count_scope(scope_name.unwrap_or_default(), sink.seen() - seen_before);
        if let Some(name) = scope_name {
            let name: Arc<str> = Arc::from(name);
            for row in sink.rows_since(first_row) {
                row.scope_name = Some(Arc::clone(&name));
            }
        }
        Ok(Met::Wanted)
    }
}

#[derive(Default)]
struct ScopeName<'de> {
    name: Option<Cow<'de, str>>,
    version: Option<Cow<'de, str>>,
    is_known: bool,
}

impl<'de> Reader<'de> for ScopeName<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                b"name" => self.name = text::decode(json::raw(&mut map)?).filter(|name| !name.is_empty()),
                b"version" => self.version = text::decode(json::raw(&mut map)?),
                _ => json::skip(&mut map)?,
            }
        }
        Ok(Met::Wanted)
    }
}

struct SpanList<'r, 'a, 'de, 'n> {
    sink: &'r mut Sink<'a, 'de>,
    scope_name: Option<&'n str>,
}

impl<'de> Reader<'de> for SpanList<'_, '_, 'de, '_> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        let mut wrong = false;
        loop {
            let mut span = SpanReader { sink: self.sink, span: Span::default() };
            let Some(met) = seq.next_element_seed(Tolerant(&mut span))? else { break };
            let SpanReader { span, .. } = span;
            if met == Met::Wanted {
                span.settle(self.sink, self.scope_name);
            } else {
                wrong = true;
            }
        }
        if wrong {
            self.sink.issue(Problem::new(IssueCode::GroupInvalid, "spans"));
        }
        Ok(Met::Wanted)
    }
}

struct SpanReader<'r, 'a, 'de> {
    sink: &'r mut Sink<'a, 'de>,
    span: Span<'de>,
}

impl<'de> Reader<'de> for SpanReader<'_, '_, 'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        let keys = self.sink.context.conventions.wanted();
        let is_observed = self.sink.is_observed();
        let attributes = &mut self.sink.attributes;
        attributes.clear(keys);
        while let Some(key) = map.next_key_seed(Key)? {
            let place = match &*key {
                b"traceId" | b"trace_id" => &mut self.span.trace_id,
                b"spanId" | b"span_id" => &mut self.span.span_id,
                b"parentSpanId" | b"parent_span_id" => &mut self.span.parent_span_id,
                b"name" => &mut self.span.name,
                b"startTimeUnixNano" | b"start_time_unix_nano" => &mut self.span.start,
                b"endTimeUnixNano" | b"end_time_unix_nano" => &mut self.span.end,
                b"status" => &mut self.span.status,
                b"events" => &mut self.span.events,
                b"attributes" if is_observed => {
                    let list = json::raw(&mut map)?;
                    self.span.attributes = Some(list);
                    let met = read_raw(list, &mut AttributeList { keys, attributes });
                    attributes.note(met);
                    continue;
                }
                b"attributes" => {
                    let met = map.next_value_seed(Tolerant(&mut AttributeList { keys, attributes }))?;
                    attributes.note(met);
                    continue;
                }
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

/// The members of a span, as JSON text. Its attributes are in the sink's table.
#[derive(Debug, Default)]
struct Span<'de> {
    trace_id: Option<&'de str>,
    span_id: Option<&'de str>,
    parent_span_id: Option<&'de str>,
    name: Option<&'de str>,
    start: Option<&'de str>,
    end: Option<&'de str>,
    status: Option<&'de str>,
    events: Option<&'de str>,
    /// Kept aside only when the reading is observed.
    attributes: Option<&'de str>,
}

impl<'de> Span<'de> {
    /// Keeps, drops or skips the span.
    fn settle(&self, sink: &mut Sink<'_, 'de>, scope_name: Option<&str>) {
        sink.see();
        // Lent by the sink, which is needed for more meanwhile.
        let attributes = std::mem::take(&mut sink.attributes);
        let name = self.name.and_then(text::decode);
        let data = SpanData {
            attributes: &attributes,
            name: name.as_deref(),
            scope_name,
            parent_span_id: self.parent_span_id,
            events: self.events,
        };
        let recognised = sink.context.conventions.recognise(&data);
        if sink.is_observed() {
            self.observe(sink, &data, &recognised);
            if sink.wants_shapes() {
                self.note_shape(sink, &data, &recognised);
            }
        }
        match recognised {
            Recognised::Kept(convention, operation) => {
                if operation == Operation::InvokeAgent {
                    self.read_messages(sink, &data, true);
                }
                self.keep(sink, convention, operation, &data);
            }
            Recognised::Neither => self.leave(sink, &attributes),
            Recognised::Unknown => {
                self.read_messages(sink, &data, false);
                self.leave(sink, &attributes);
            }
        }
        sink.attributes = attributes;
    }

    /// Tool calls in the messages of a span: of a run where conventions say so, else of one that is not kept. A span
    /// without readable ids or times says nothing that could be placed.
    fn read_messages(&self, sink: &mut Sink<'_, 'de>, data: &SpanData<'_, 'de>, is_run: bool) {
        let conventions = sink.context.conventions;
        let asked = messages::calls_of(conventions, data, is_run);
        let failed = messages::failures_of(conventions, data, is_run);
        if asked.is_none() && failed.is_empty() {
            return;
        }
        let (trace_id, span_id) = (Id::read(self.trace_id).known(), Id::read(self.span_id).known());
        let (Some(trace_id), Some(span_id), Ok(time_ns)) = (trace_id, span_id, self.end_ns()) else { return };
        for FailedCall { id, failure } in failed {
            sink.keep_chat_failure(ChatFailure { trace_id, call_id: id, failure });
        }
        let Some((convention, asked)) = asked else { return };
        let asked = asked.into_iter().filter(|call| !conventions.is_no_tool(&call.name));
        for (position, AskedCall { name, arguments, id }) in (1_u64..).zip(asked) {
            let recorded = RecordedArgs::read(convention, arguments);
            if let Some(group) = sink.observed_group() {
                group.seen.asked_calls += 1;
            }
            sink.keep_chat_call(ChatCall {
                trace_id,
                span_id,
                position,
                time_ns,
                tool_name: name,
                tool_args: recorded.tool_args,
                tool_args_raw: recorded.tool_args_raw,
                args_form: recorded.args_form,
                args_key: recorded.args_key,
                args: recorded.args,
                call_id: id,
                convention: Arc::clone(&convention.name),
                line: sink.context.line,
            });
        }
    }

    /// A span that no convention recognises.
    fn leave(&self, sink: &mut Sink<'_, 'de>, attributes: &Attributes<'de>) {
        let ids = SpanIds {
            trace_id: Id::read(self.trace_id).known(),
            span_id: Id::read(self.span_id).known(),
            parent_span_id: Id::read(self.parent_span_id).known(),
        };
        match (sink.context.conventions.operation_name(attributes), attributes.wrong()) {
            // What the span is may stand in what could not be read.
            (None, Some(kind)) => {
                sink.skip_span(Problem::new(IssueCode::AttributesInvalid, kind), ids, self.first());
            }
            (operation, _) => sink.drop_span(operation.as_deref().unwrap_or_default(), ids),
        }
    }

    fn keep(&self, sink: &mut Sink<'_, 'de>, convention: &Convention, operation: Operation, data: &SpanData<'_, 'de>) {
        let attributes = data.attributes;
        let (trace_id, span_id) = (Id::read(self.trace_id), Id::read(self.span_id));
        let parent = Id::read(self.parent_span_id);
        let checked = self.check(sink.context.missing_status, trace_id, span_id, attributes);
        let checked = checked.and_then(|checked| {
            let names = Names::of(convention, operation, data)?;
            Ok((checked, names))
        });
        let ids = SpanIds { trace_id: trace_id.known(), span_id: span_id.known(), parent_span_id: parent.known() };
        let (checked, names) = match checked {
            Ok(both) => both,
            Err(problem) => return sink.skip_span(problem, ids, self.first()),
        };
        if parent == Id::Invalid {
            let value = self.parent_span_id.unwrap_or_default();
            sink.span_issue(Problem::of_value(IssueCode::ParentIdInvalid, value), ids, self.first());
        }
        let keys = sink.context.conventions.wanted();
        for slot in attributes.repeated() {
            let problem = Problem::new(IssueCode::AttributeRepeated, keys.key(*slot));
            sink.span_issue(problem, ids, self.first());
        }
        let (row, args_problem) = checked.into_row(ids.parent_span_id, names, sink.context.line);
        if let Some(problem) = args_problem {
            sink.span_issue(problem, ids, self.first());
        }
        if let Some(group) = sink.observed_group() {
            group.add_row(&row, row::has_status(self.status));
        }
        sink.keep(row);
    }
}
