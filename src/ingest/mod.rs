//! Bytes to rows: finds the files, frames lines, parses each, settles repeats within the file.
//!
//! Owns everything between a path and rows ready for the store; every problem becomes an
//! [`Issue`], never an end. Does not know the store, decides no rule and writes no text for people.
//! Start with [`read`].

mod ahead;
pub mod args;
pub mod body;
pub mod calls;
pub mod convention;
mod definitions;
pub mod document;
pub mod drift;
pub mod frame;
mod jaeger;
pub mod mask;
mod messages;
pub mod observe;
pub mod otlp;
pub mod protobuf;
pub mod source;
pub mod span_table;
pub mod table;
pub mod tools;

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Read;

use twox_hash::XxHash3_64;

pub use ahead::Parallel;
use ahead::{Ahead, Chunk};
use convention::Conventions;
use document::{Context, Counts, DocumentError, MissingStatus, Parsed};
use frame::{Framed, Line, TextReader, raw_excerpt};
use observe::{Look, Observed, Recording};

use crate::model::{ChatCall, ChatFailure, Issue, IssueCode, SpanId, SpanLink, SpanRow, TraceId};

/// How many rows are handed on at once: memory is bounded by this, not by the file.
pub const BATCH_SPANS: usize = 8_192;
/// How many issues are handed on at once.
const BATCH_ISSUES: usize = 4_096;

/// How to read.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which attributes say what.
    pub conventions: Conventions,
    /// What a span without `status` is.
    pub missing_status: MissingStatus,
    /// Whether calls are read that stand in messages only.
    pub chat_calls: ChatCalls,
}

/// Whether calls are read that have no span of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatCalls {
    /// They are read from the messages of spans that are not kept.
    Read,
    /// They are left out.
    LeaveOut,
}

/// Rows ready for the store.
#[derive(Debug, Default)]
pub struct Batch {
    /// Kept spans.
    pub spans: Vec<SpanRow>,
    /// Dropped and skipped spans with readable ids.
    pub links: Vec<SpanLink>,
    /// Calls that stand in the messages of spans that are not kept.
    pub chat_calls: Vec<ChatCall>,
    /// Results in such messages that say that their calls failed.
    pub chat_failures: Vec<ChatFailure>,
    /// Problems met.
    pub issues: Vec<Issue>,
}

impl Batch {
    fn is_full(&self) -> bool {
        let rows = [self.spans.len(), self.links.len(), self.chat_calls.len(), self.chat_failures.len()];
        rows.into_iter().any(|rows| rows >= BATCH_SPANS) || self.issues.len() >= BATCH_ISSUES
    }

    fn is_empty(&self) -> bool {
        self.spans.is_empty()
            && self.links.is_empty()
            && self.chat_calls.is_empty()
            && self.chat_failures.is_empty()
            && self.issues.is_empty()
    }
}

/// What reading one input came to. `lines` counts all, `lines_skipped` those left out;
/// seen = kept + dropped + redelivered + skipped.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Report {
    /// Lines of the input.
    pub lines: u64,
    /// Lines left out.
    pub lines_skipped: u64,
    /// Spans met.
    pub seen: u64,
    /// Spans kept.
    pub kept: u64,
    /// Spans of other operations, by operation.
    pub dropped: BTreeMap<String, u64>,
    /// Spans met before in this input.
    pub redelivered: u64,
    /// Spans left out because of an issue.
    pub skipped: u64,
    /// Spans by instrumentation scope.
    pub scopes: BTreeMap<String, u64>,
    /// Texts of tool definitions that came with span rows, each a JSON array.
    pub tool_definitions: Vec<String>,
    /// Where to go on when the input has grown; none where that cannot be told.
    pub rest: Option<Rest>,
}

/// Where reading goes on when an input has grown: behind its last line; or before what was left out because the input
/// ended there, which may be whole by then. The lines from there on will be counted again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rest {
    /// Line and offset at which to go on. A last line without a newline counts as the line to go on in.
    pub start: Start,
    /// How many of the lines counted stand there.
    pub lines: u64,
    /// How many of the lines left out stand there.
    pub lines_skipped: u64,
}

/// Where the first byte of an input stands in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Line, from 1.
    pub line: u64,
    /// Offset in the uncompressed file.
    pub byte_offset: u64,
}

impl Default for Start {
    fn default() -> Self {
        Self { line: 1, byte_offset: 0 }
    }
}

/// Reads an input to its end and hands rows on in batches.
///
/// `sink` gets each batch; `progress` is called after every line with the input and the number of spans met.
///
/// # Errors
/// Only what `sink` returns: nothing in the input ends the reading.
pub fn read<R: Read, E>(
    input: &mut R,
    start: Start,
    options: &Options,
    sink: &mut dyn FnMut(Batch) -> Result<(), E>,
    progress: &mut dyn FnMut(&R, u64),
) -> Result<Report, E> {
    read_observed(input, start, options, None, sink, progress)
}

/// [`read`], which also adds to `observed` what the input holds and lacks. Without it nothing is looked at for that.
///
/// # Errors
/// As [`read`].
pub fn read_observed<R: Read, E>(
    input: &mut R,
    start: Start,
    options: &Options,
    observed: Option<&mut Observed>,
    sink: &mut dyn FnMut(Batch) -> Result<(), E>,
    progress: &mut dyn FnMut(&R, u64),
) -> Result<Report, E> {
    read_in_parallel(input, start, options, Parallel::of_machine(), observed, sink, progress)
}

/// [`read_observed`] with so many threads: what comes of it is the same.
///
/// # Errors
/// As [`read`].
pub fn read_in_parallel<R: Read, E>(
    input: &mut R,
    start: Start,
    options: &Options,
    parallel: Parallel,
    observed: Option<&mut Observed>,
    sink: &mut dyn FnMut(Batch) -> Result<(), E>,
    progress: &mut dyn FnMut(&R, u64),
) -> Result<Report, E> {
    let mut lines = TextReader::new(EndSeen::new(input)).starting_at(start.line, start.byte_offset);
    let mut state = Reading { observed, ..Reading::new(options) };
    std::thread::scope(|scope| {
        let mut ahead = Ahead::new(scope, parallel, options, state.look());
        loop {
            let more = state.next(&mut lines, &mut ahead);
            progress(lines.get_ref().input, state.report.seen);
            if state.batch.is_full() {
                let next = Batch { spans: Vec::with_capacity(state.batch.spans.len()), ..Batch::default() };
                sink(std::mem::replace(&mut state.batch, next))?;
            }
            if !more {
                return Ok(());
            }
        }
    })?;
    state.report.lines += lines.blank_lines();
    state.report.rest = lines.position().map(|position| state.rest(start, position));
    let rest = state.take_rows();
    if !rest.is_empty() {
        sink(rest)?;
    }
    Ok(state.report)
}

struct Reading<'a> {
    options: &'a Options,
    report: Report,
    seen: Repeats,
    told: ToldFailures,
    waiting: WaitingCalls,
    batch: Batch,
    /// The first text that was left out because the input ended, with the lines counted and left out before it.
    cut: Option<Rest>,
    observed: Option<&'a mut Observed>,
}

/// Knows whether its reader came to the end.
struct EndSeen<'a, R> {
    input: &'a mut R,
    ended: bool,
}

impl<'a, R> EndSeen<'a, R> {
    const fn new(input: &'a mut R) -> Self {
        Self { input, ended: false }
    }
}

impl<R: Read> Read for EndSeen<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.input.read(buffer)?;
        self.ended |= length == 0 && !buffer.is_empty();
        Ok(length)
    }
}

impl<'a> Reading<'a> {
    fn new(options: &'a Options) -> Self {
        Self {
            options,
            report: Report::default(),
            seen: Repeats::default(),
            told: ToldFailures::default(),
            waiting: WaitingCalls::default(),
            batch: Batch::default(),
            cut: None,
            observed: None,
        }
    }

    fn look(&self) -> Look {
        self.observed.as_ref().map_or(Look::Away, |observed| observed.look())
    }

    /// All rows that are there, calls that wait for their spans included.
    fn take_rows(&mut self) -> Batch {
        let waiting = std::mem::take(&mut self.waiting);
        self.leave_waiting(waiting.rest());
        std::mem::take(&mut self.batch)
    }

    /// Takes the next text, or hands it to be parsed beside the reading; false at the end.
    fn next<R: Read>(&mut self, lines: &mut TextReader<EndSeen<'_, R>>, ahead: &mut Ahead<'_, '_>) -> bool {
        match lines.next() {
            None => {
                self.take_rest(ahead);
                return false;
            }
            Some(Framed::Line(line)) => {
                if ahead.takes(&line) && lines.is_surely_whole() {
                    if let Some(parsed) = ahead.push(&lines.current()) {
                        self.take_chunk(parsed, ahead);
                    }
                } else {
                    self.take_rest(ahead);
                    self.line(lines);
                }
            }
            Some(Framed::TooLong { number, byte_offset, raw_prefix }) => {
                self.take_rest(ahead);
                let limit = frame::MAX_LINE_BYTES.to_string();
                self.note_cut(lines.get_ref().ended, number, byte_offset, lines.blank_lines());
                self.report.lines += 1;
                self.report.lines_skipped += 1;
                self.issue(IssueCode::LineTooLong, number, byte_offset, limit, &raw_prefix);
            }
            Some(Framed::Damaged { number, byte_offset, message }) => {
                self.take_rest(ahead);
                self.issue(IssueCode::StreamDamaged, number, byte_offset, message, &[]);
            }
            Some(Framed::Problem { code, number, byte_offset, detail, lines }) => {
                self.take_rest(ahead);
                self.report.lines += lines;
                self.report.lines_skipped += lines;
                self.issue(code, number, byte_offset, detail, &[]);
            }
        }
        true
    }

    /// Takes the lines of a chunk. They are whole: what is wrong with one is no matter of where the input ends.
    fn take_chunk(&mut self, mut chunk: Chunk, ahead: &mut Ahead<'_, '_>) {
        for (line, parsed) in chunk.take() {
            match parsed {
                Ok(parsed) => self.take(&line, parsed),
                Err(error) => self.skip(error, &line),
            }
        }
        ahead.give_back(chunk);
    }

    /// Takes all lines that are parsed beside the reading: what comes now has its place behind them.
    fn take_rest(&mut self, ahead: &mut Ahead<'_, '_>) {
        while let Some(chunk) = ahead.rest() {
            self.take_chunk(chunk, ahead);
        }
    }

    /// Parses the line returned last, with those after it when its value goes on over them.
    fn line<R: Read>(&mut self, lines: &mut TextReader<EndSeen<'_, R>>) {
        let Err(error) = self.text(&lines.current()) else { return };
        // The value may go on over the following lines: a pretty-printed document.
        let extended = if error.incomplete { lines.extend().map(|line| self.text(&line)) } else { None };
        let error = match extended {
            Some(Ok(())) => return,
            Some(Err(error)) => error,
            None => error,
        };
        let line = lines.current();
        // What more bytes cannot mend was cut by no end: a line that is whole, or a document that breaks off before it.
        let may_go_on = !line.complete || error.incomplete;
        self.note_cut(lines.get_ref().ended && may_go_on, line.number, line.byte_offset, lines.blank_lines());
        self.skip(error, &line);
    }

    /// Remembers the first text that is left out because the input ended. To be called before it is counted.
    fn note_cut(&mut self, cut: bool, line: u64, byte_offset: u64, blank_lines: u64) {
        if cut && self.cut.is_none() {
            let start = Start { line, byte_offset };
            let lines = self.report.lines + blank_lines;
            self.cut = Some(Rest { start, lines, lines_skipped: self.report.lines_skipped });
        }
    }

    /// Where to go on, once all lines are counted.
    fn rest(&self, begun: Start, (line, byte_offset): (u64, u64)) -> Rest {
        let Report { lines, lines_skipped, .. } = self.report;
        if let Some(cut) = self.cut {
            return Rest { lines: lines - cut.lines, lines_skipped: lines_skipped - cut.lines_skipped, ..cut };
        }
        // The line number moves on with each newline only.
        let unended = (begun.line + lines).saturating_sub(line);
        Rest { start: Start { line, byte_offset }, lines: unended, lines_skipped: 0 }
    }

    /// Parses one text, or says why it is none; nothing of it is taken then.
    fn text(&mut self, line: &Line<'_>) -> Result<(), DocumentError> {
        let parsed = parse_line(line, self.options, self.look())?;
        self.take(line, parsed);
        Ok(())
    }

    fn skip(&mut self, error: DocumentError, line: &Line<'_>) {
        self.report.lines += line.lines;
        self.report.lines_skipped += line.lines;
        self.issue(error.code, line.number, line.byte_offset, error.detail, line.bytes);
    }

    fn take(&mut self, line: &Line<'_>, mut parsed: Parsed) {
        self.report.lines += line.lines;
        let Counts { seen, dropped, skipped, scopes, .. } = std::mem::take(&mut parsed.counts);
        self.report.seen += seen;
        self.report.skipped += skipped;
        add_counts(&mut self.report.dropped, dropped);
        add_counts(&mut self.report.scopes, scopes);
        self.observe(parsed.observed.take(), &parsed);
        self.report.tool_definitions.extend(parsed.tool_definitions);
        self.batch.links.extend(parsed.links);
        if self.options.chat_calls == ChatCalls::Read {
            for call in parsed.chat_calls {
                let alone = self.waiting.put(call);
                self.leave_waiting(alone);
            }
            self.batch.chat_failures.extend(parsed.chat_failures.into_iter().filter(|found| self.told.insert(found)));
        }
        let mut repeated = Vec::new();
        for span in parsed.spans {
            match self.seen.check(&span) {
                Seen::First => {
                    self.report.kept += 1;
                    self.batch.chat_calls.extend(self.waiting.meet(&span));
                    self.batch.spans.push(span);
                }
                again => {
                    self.report.redelivered += 1;
                    repeated.push(again.issue(&span));
                }
            }
        }
        self.batch.issues.extend(parsed.issues);
        self.batch.issues.extend(repeated);
    }

    fn observe(&mut self, groups: Option<Vec<observe::ObservedGroup>>, parsed: &Parsed) {
        let (Some(observed), Some(groups)) = (&mut self.observed, groups) else { return };
        observed.absorb(groups);
        for text in &parsed.tool_definitions {
            observed.tools.add(&Recording { text: text.clone(), offered: true, start_ns: 0 });
        }
        parsed.spans.iter().filter_map(|span| span.tool_name.as_deref()).for_each(|name| observed.note_call(name));
    }

    /// Hands on calls that no span with their id followed.
    fn leave_waiting(&mut self, calls: impl IntoIterator<Item = ChatCall>) {
        for call in calls {
            if let Some(observed) = &mut self.observed {
                observed.note_call(&call.tool_name);
            }
            self.batch.chat_calls.push(call);
        }
    }

    fn issue(&mut self, code: IssueCode, line: u64, byte_offset: u64, detail: String, raw: &[u8]) {
        let raw = raw_excerpt(raw);
        self.batch.issues.push(Issue { code, line, byte_offset, trace_id: None, span_id: None, detail, raw });
    }
}

/// Parses one text, or says why it is none.
fn parse_line(line: &Line<'_>, options: &Options, look: Look) -> Result<Parsed, DocumentError> {
    // The fast check says no more than that something is wrong; the slow one then says where.
    let checked = simdutf8::basic::from_utf8(line.bytes).or_else(|_| std::str::from_utf8(line.bytes));
    let text = checked.map_err(|error| match error.error_len() {
        Some(_) => {
            DocumentError { code: IssueCode::InvalidUtf8, detail: error.valid_up_to().to_string(), incomplete: false }
        }
        // The line ends inside a character: it was cut.
        None => {
            DocumentError { code: IssueCode::TruncatedJson, detail: line.bytes.len().to_string(), incomplete: false }
        }
    })?;
    let context = Context {
        conventions: &options.conventions,
        missing_status: options.missing_status,
        line: line.number,
        byte_offset: line.byte_offset,
    };
    let observed = (look != Look::Away).then(Vec::new);
    let mut parsed = Parsed { observed, with_shapes: look == Look::Shapes, ..Parsed::default() };
    document::parse(text, &context, &mut parsed)?;
    Ok(parsed)
}

fn add_counts(total: &mut BTreeMap<String, u64>, more: BTreeMap<String, u64>) {
    for (name, count) in more {
        *total.entry(name).or_default() += count;
    }
}

/// Calls in messages that wait for the span with their id, which nearly always follows soon: those of which it says
/// everything need not be kept. The store settles the others, by the same rule in whatever order they came.
#[derive(Default)]
struct WaitingCalls(BTreeMap<(TraceId, u64), ChatCall>);

impl WaitingCalls {
    fn key(trace_id: TraceId, call_id: &str) -> (TraceId, u64) {
        let mut hasher = DefaultHasher::new();
        call_id.hash(&mut hasher);
        (trace_id, hasher.finish())
    }

    /// Lets a call wait; gives back what cannot, because it has no id or too many wait.
    fn put(&mut self, call: ChatCall) -> Option<ChatCall> {
        let Some(call_id) = &call.call_id else { return Some(call) };
        let key = Self::key(call.trace_id, call_id);
        if let Some(other) = self.0.get_mut(&key) {
            // Repeated by a span around or after it. The earliest counts, whichever was read first.
            if place_of(&call) < place_of(other) {
                *other = call;
            }
            return None;
        }
        self.0.insert(key, call);
        if self.0.len() > BATCH_SPANS { self.0.pop_first().map(|(_, call)| call) } else { None }
    }

    /// Lets the call of this span go; gives it back when it says something of the arguments that the span does not.
    fn meet(&mut self, span: &SpanRow) -> Option<ChatCall> {
        let call = self.0.remove(&Self::key(span.trace_id, span.call_id.as_ref()?))?;
        let adds = call.tool_args.is_some() && (span.tool_args.is_none() || call.args_key != span.args_key);
        adds.then_some(call)
    }

    fn rest(self) -> impl Iterator<Item = ChatCall> {
        self.0.into_values()
    }
}

/// Where a call stands among the calls of its trace.
const fn place_of(call: &ChatCall) -> (i64, SpanId, u64) {
    (call.time_ns, call.span_id, call.position)
}

/// The failures of calls told so far: every later message repeats the earlier ones.
#[derive(Default)]
struct ToldFailures(BTreeSet<(TraceId, u64)>);

impl ToldFailures {
    /// Whether the failure is told for the first time.
    fn insert(&mut self, failure: &ChatFailure) -> bool {
        let mut hasher = DefaultHasher::new();
        (&failure.call_id, &failure.failure).hash(&mut hasher);
        self.0.insert((failure.trace_id, hasher.finish()))
    }
}

/// The kept spans of one input so far: ids and a hash of the content.
#[derive(Default)]
struct Repeats {
    // Looked up and never walked, so its order cannot reach the output; a tree would cost five times as much.
    #[allow(clippy::disallowed_types)]
    contents: std::collections::HashMap<(TraceId, SpanId), u64>,
}

enum Seen {
    First,
    Same,
    Other,
}

impl Seen {
    fn issue(self, span: &SpanRow) -> Issue {
        Issue {
            code: if matches!(self, Self::Other) { IssueCode::SpanConflict } else { IssueCode::SpanRedelivered },
            line: span.line,
            byte_offset: 0,
            trace_id: Some(span.trace_id.to_string()),
            span_id: Some(span.span_id.to_string()),
            detail: String::new(),
            raw: String::new(),
        }
    }
}

impl Repeats {
    fn check(&mut self, span: &SpanRow) -> Seen {
        let content = content_hash(span);
        let id = (span.trace_id, span.span_id);
        match self.contents.insert(id, content) {
            None => Seen::First,
            Some(first) => {
                // The first stays the one to compare with.
                self.contents.insert(id, first);
                if first == content { Seen::Same } else { Seen::Other }
            }
        }
    }
}

/// The columns that `sql/settle/repeated_spans.sql` compares, in one number.
fn content_hash(span: &SpanRow) -> u64 {
    let mut hasher = XxHash3_64::new();
    (span.operation, span.status, span.start_ns, span.end_ns).hash(&mut hasher);
    (&span.agent_name, &span.tool_name, &span.tool_args, &span.parent_span_id).hash(&mut hasher);
    (&span.call_id, &span.tool_result, &span.error_type, &span.failure, &span.status_message).hash(&mut hasher);
    (&span.service_name, &span.scope_name).hash(&mut hasher);
    hasher.finish()
}
