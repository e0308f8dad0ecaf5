//! Where the spans of one text go while it is read.
//!
//! Owns the sums and the place of issues, so that what was read of a text can be taken back when its end is
//! broken. It does not decide what is an issue.

use super::{Context, Counts, Parsed};
use crate::ingest::frame::raw_excerpt;
use crate::ingest::observe::ObservedGroup;
use crate::ingest::otlp::any_value::Attributes;
use crate::model::{ChatCall, ChatFailure, Issue, IssueCode, SpanId, SpanLink, SpanRow, TraceId};

/// The ids of a span, as far as they could be read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpanIds {
    pub(crate) trace_id: Option<TraceId>,
    pub(crate) span_id: Option<SpanId>,
    pub(crate) parent_span_id: Option<SpanId>,
}

/// Collects what one text holds.
pub(crate) struct Sink<'a, 'de> {
    pub(crate) context: &'a Context<'a>,
    /// The table of wanted attributes, used by one span after the other.
    pub(crate) attributes: Attributes<'de>,
    text: &'de str,
    parsed: &'a mut Parsed,
    counts: Counts,
    start: Mark,
}

/// How much `parsed` held before the text.
#[derive(Clone, Copy)]
struct Mark {
    spans: usize,
    links: usize,
    chat_calls: usize,
    chat_failures: usize,
    issues: usize,
    tool_definitions: usize,
    observed: usize,
}

impl<'a, 'de> Sink<'a, 'de> {
    pub(crate) fn new(text: &'de str, context: &'a Context<'a>, parsed: &'a mut Parsed) -> Self {
        let start = Mark {
            spans: parsed.spans.len(),
            links: parsed.links.len(),
            chat_calls: parsed.chat_calls.len(),
            chat_failures: parsed.chat_failures.len(),
            issues: parsed.issues.len(),
            tool_definitions: parsed.tool_definitions.len(),
            observed: parsed.observed.as_ref().map_or(0, Vec::len),
        };
        Self { context, attributes: Attributes::default(), text, parsed, counts: Counts::default(), start }
    }

    /// Lets everything stand.
    pub(crate) fn commit(self) {
        let Counts { seen, kept, dropped, skipped, scopes } = self.counts;
        let total = &mut self.parsed.counts;
        total.seen += seen;
        total.kept += kept;
        total.skipped += skipped;
        for (name, count) in dropped {
            *total.dropped.entry(name).or_default() += count;
        }
        for (name, count) in scopes {
            *total.scopes.entry(name).or_default() += count;
        }
    }

    /// Takes everything back.
    pub(crate) fn roll_back(self) {
        self.parsed.spans.truncate(self.start.spans);
        self.parsed.links.truncate(self.start.links);
        self.parsed.chat_calls.truncate(self.start.chat_calls);
        self.parsed.chat_failures.truncate(self.start.chat_failures);
        self.parsed.issues.truncate(self.start.issues);
        self.parsed.tool_definitions.truncate(self.start.tool_definitions);
        if let Some(observed) = &mut self.parsed.observed {
            observed.truncate(self.start.observed);
        }
    }

    /// Whether the reading is observed.
    pub(crate) fn is_observed(&self) -> bool {
        self.parsed.observed.is_some()
    }

    /// Whether the shape of each span is wanted.
    pub(crate) fn wants_shapes(&self) -> bool {
        self.parsed.with_shapes
    }

    /// Begins an entry of `scopeSpans`.
    pub(crate) fn begin_group(&mut self) {
        if let Some(observed) = &mut self.parsed.observed {
            observed.push(ObservedGroup::default());
        }
    }

    /// The entry of `scopeSpans` at hand; none when the reading is not observed.
    pub(crate) fn observed_group(&mut self) -> Option<&mut ObservedGroup> {
        self.parsed.observed.as_mut()?.last_mut()
    }

    /// How many entries were begun, to be handed to [`Sink::groups_since`].
    pub(crate) fn group_count(&self) -> usize {
        self.parsed.observed.as_ref().map_or(0, Vec::len)
    }

    /// The entries begun since: those of a resource that is now complete.
    pub(crate) fn groups_since(&mut self, count: usize) -> &mut [ObservedGroup] {
        self.parsed.observed.as_mut().and_then(|observed| observed.get_mut(count..)).unwrap_or_default()
    }

    /// Counts a span, whatever becomes of it.
    pub(crate) fn see(&mut self) {
        self.counts.seen += 1;
    }

    /// How many spans were counted so far.
    pub(crate) fn seen(&self) -> u64 {
        self.counts.seen
    }

    /// Notes that `spans` spans came from a scope.
    pub(crate) fn count_scope(&mut self, name: &str, spans: u64) {
        if spans > 0 {
            *self.counts.scopes.entry(name.to_owned()).or_default() += spans;
        }
    }

    pub(crate) fn keep(&mut self, row: SpanRow) {
        self.counts.kept += 1;
        self.parsed.spans.push(row);
    }

    /// Leaves a span out that is of no interest.
    pub(crate) fn drop_span(&mut self, operation: &str, ids: SpanIds) {
        match self.counts.dropped.get_mut(operation) {
            Some(count) => *count += 1,
            None => {
                self.counts.dropped.insert(operation.to_owned(), 1);
            }
        }
        self.link(ids);
    }

    /// Keeps a call that stands in the messages of a model.
    pub(crate) fn keep_chat_call(&mut self, call: ChatCall) {
        self.parsed.chat_calls.push(call);
    }

    /// Keeps a result that says that its call failed.
    pub(crate) fn keep_chat_failure(&mut self, failure: ChatFailure) {
        self.parsed.chat_failures.push(failure);
    }

    /// Leaves a span out that cannot be used.
    pub(crate) fn skip_span(&mut self, problem: Problem, ids: SpanIds, first: Option<&str>) {
        self.counts.skipped += 1;
        self.span_issue(problem, ids, first);
        self.link(ids);
    }

    fn link(&mut self, ids: SpanIds) {
        if let SpanIds { trace_id: Some(trace_id), span_id: Some(span_id), parent_span_id } = ids {
            self.parsed.links.push(SpanLink { trace_id, span_id, parent_span_id });
        }
    }

    /// An issue of a span; `first` is the text of any of its members, best the first.
    pub(crate) fn span_issue(&mut self, problem: Problem, ids: SpanIds, first: Option<&str>) {
        let raw = self.object_around(first);
        self.push_issue(problem, ids, raw);
    }

    /// An issue of the text as a whole.
    pub(crate) fn issue(&mut self, problem: Problem) {
        let raw = raw_excerpt(self.text.as_bytes());
        self.push_issue(problem, SpanIds::default(), raw);
    }

    fn push_issue(&mut self, problem: Problem, ids: SpanIds, raw: String) {
        let trace_id = ids.trace_id.map(|id| id.to_string());
        let span_id = ids.span_id.map(|id| id.to_string());
        let Context { line, byte_offset, .. } = *self.context;
        let Problem { code, detail } = problem;
        self.parsed.issues.push(Issue { code, line, byte_offset, trace_id, span_id, detail, raw });
    }

    /// The beginning of the object that `member` is a value of. The member was borrowed from the text, so its address
    /// says where it stood.
    fn object_around(&self, member: Option<&str>) -> String {
        let offset = member.map(|member| member.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr()));
        let before = offset.and_then(|offset| self.text.get(..offset)).unwrap_or_default();
        let start = memchr::memrchr(b'{', before.as_bytes()).unwrap_or(0);
        raw_excerpt(&self.text.as_bytes()[start..])
    }

    /// Keeps the text of an array of tool definitions.
    pub(crate) fn keep_tool_definitions(&mut self, json: &str) {
        self.parsed.tool_definitions.push(json.to_owned());
    }

    /// How many rows are kept, to be handed to [`Sink::rows_since`].
    pub(crate) fn row_count(&self) -> usize {
        self.parsed.spans.len()
    }

    /// The rows kept since: those of a group that is now complete.
    pub(crate) fn rows_since(&mut self, count: usize) -> &mut [SpanRow] {
        self.parsed.spans.get_mut(count..).unwrap_or_default()
    }
}

/// A code, and what it leaves open.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) code: IssueCode,
    pub(crate) detail: String,
}

impl Problem {
    pub(crate) fn new(code: IssueCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    /// With the recorded value as detail, cut to the length of an excerpt.
    pub(crate) fn of_value(code: IssueCode, value: &str) -> Self {
        Self { code, detail: raw_excerpt(value.as_bytes()) }
    }
}
