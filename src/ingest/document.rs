//! One text, usually a line, to rows: finds out what kind of trace data it holds.
//!
//! Owns the recognition of OTLP requests, their wrappers, span rows and other signals, several values in one text, and
//! the rule that a text counts as a whole or not at all. It does not frame lines, read files or settle repeats. Start
//! with [`parse`].

pub(crate) mod json;
pub(crate) mod sink;

use std::borrow::Cow;
use std::collections::BTreeMap;

use memchr::memmem;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess};
use thiserror::Error;

use self::json::{Key, Met, Reader, Tolerant};
use self::sink::{Problem, Sink};
use crate::ingest::args::text::is_deeper_than;
use crate::ingest::convention::Conventions;
use crate::ingest::frame::raw_excerpt;
use crate::ingest::jaeger;
use crate::ingest::observe::ObservedGroup;
use crate::ingest::otlp::{ResourceGroup, ResourceList};
use crate::ingest::span_table::{Columns, RowList};
use crate::model::{ChatCall, ChatFailure, Issue, IssueCode, SpanLink, SpanRow};

/// How deep arrays and objects may stand in one another where they are read. serde_json stops there too.
pub const MAX_DEPTH: usize = 128;
/// How many member names tell people what an unknown object is.
const KEYS_SHOWN: usize = 5;

/// What a span without the key `status` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingStatus {
    /// Broken input: the span is skipped with an issue (the seed's reading).
    Skip,
    /// UNSET, as proto3 JSON means it.
    Unset,
}

/// How to read a text, and where it stood.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Which attributes say what.
    pub conventions: &'a Conventions,
    /// What a span without `status` is.
    pub missing_status: MissingStatus,
    /// The line on which the text starts, from 1.
    pub line: u64,
    /// Offset of its first byte in the uncompressed file.
    pub byte_offset: u64,
}

/// What texts held. [`parse`] adds to it.
#[derive(Debug, Default)]
pub struct Parsed {
    /// Kept spans, in the order met.
    pub spans: Vec<SpanRow>,
    /// Dropped and skipped spans with readable ids.
    pub links: Vec<SpanLink>,
    /// Calls that stand in the messages of spans that are not kept.
    pub chat_calls: Vec<ChatCall>,
    /// Results in such messages that say that their calls failed.
    pub chat_failures: Vec<ChatFailure>,
    /// Problems met.
    pub issues: Vec<Issue>,
    /// Sums.
    pub counts: Counts,
    /// The JSON text of each array `tool_definitions` that stood beside span rows.
    pub tool_definitions: Vec<String>,
    /// What each entry of `scopeSpans` showed, when the reading is observed.
    pub(crate) observed: Option<Vec<ObservedGroup>>,
    /// Whether that holds the shape of each span.
    pub(crate) with_shapes: bool,
}

/// Sums over spans: seen = kept + all dropped + skipped.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Spans met.
    pub seen: u64,
    /// Spans that became rows.
    pub kept: u64,
    /// Spans of other operations, by operation; those without one under the empty text.
    pub dropped: BTreeMap<String, u64>,
    /// Spans left out because of an issue.
    pub skipped: u64,
    /// OTLP spans met, by the name of their scope; those without one under the empty text.
    pub scopes: BTreeMap<String, u64>,
}

/// Why a text was left out as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}: {detail}", .code.as_str())]
pub struct DocumentError {
    /// What kind of problem.
    pub code: IssueCode,
    /// What the code leaves open.
    pub detail: String,
    /// The text ended before its JSON value did: with the lines that follow it may be whole.
    pub incomplete: bool,
}

impl From<Problem> for DocumentError {
    fn from(Problem { code, detail }: Problem) -> Self {
        Self { code, detail, incomplete: false }
    }
}

/// Reads a text and adds what it holds to `parsed`.
///
/// The text may hold several JSON objects or arrays one after another. A span, a group or a value that cannot be used
/// becomes an issue and the rest is read.
///
/// # Errors
/// When the text is not JSON throughout, or holds nothing that can be used. `parsed` is then as before.
pub fn parse(text: &str, context: &Context, parsed: &mut Parsed) -> Result<(), DocumentError> {
    let mut sink = Sink::new(text, context, parsed);
    let rows = sink.row_count();
    match read_values(text, &mut sink) {
        Ok(()) => {
            if sink.row_count() > rows {
                let replaced = lone_surrogates(text);
                if replaced > 0 {
                    sink.issue(Problem::new(IssueCode::TextReplaced, replaced.to_string()));
                }
            }
            sink.commit();
            Ok(())
        }
        Err(error) => {
            sink.roll_back();
            if error.code == IssueCode::NotTraceData && jaeger::read(text, context, parsed)? {
                return Ok(());
            }
            Err(error)
        }
    }
}

/// How many `\u` escapes in a JSON text stand for half of a surrogate pair and have no other half.
fn lone_surrogates(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let unit_at = |at: usize| {
        let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
        u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut lone = 0;
    let mut read_to = 0;
    for at in memmem::find_iter(bytes, b"\\u") {
        // Behind an odd number of backslashes, this one is itself escaped.
        let backslashes = bytes[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        let Some(unit) = unit_at(at).filter(|_| at >= read_to && backslashes.is_multiple_of(2)) else { continue };
        match unit {
            0xd800..0xdc00 if unit_at(at + 6).is_some_and(|low| (0xdc00..0xe000).contains(&low)) => read_to = at + 12,
            0xd800..0xe000 => lone += 1,
            _ => {}
        }
    }
    lone
}

fn read_values<'de>(text: &'de str, sink: &mut Sink<'_, 'de>) -> Result<(), DocumentError> {
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut used = false;
    let mut unused = Vec::new();
    while !rest.trim_ascii_start().is_empty() {
        let mut values = serde_json::Deserializer::from_str(rest);
        let mut document = Document::new(sink);
        let met = Tolerant(&mut document).deserialize(&mut values).map_err(|error| syntax_error(&error, rest, text))?;
        let found = document.finish(met);
        used |= found.used;
        unused.extend(found.unused);
        let Err(more) = values.end() else { break };
        rest = rest.get(offset_of(rest, &more)..).unwrap_or_default();
        // A scalar in front means a log line, whose first word happens to be JSON.
        if met != Met::Wanted {
            let detail = format!("{more}");
            return Err(DocumentError { code: IssueCode::NotJson, detail, incomplete: false });
        }
        if !rest.starts_with(['{', '[']) {
            let detail = raw_excerpt(rest.as_bytes());
            return Err(DocumentError { code: IssueCode::TrailingCharacters, detail, incomplete: false });
        }
    }
    if used || unused.is_empty() {
        unused.into_iter().for_each(|problem| sink.issue(problem));
        return Ok(());
    }
    if is_deeper_than(text, MAX_DEPTH) {
        return Err(Problem::new(IssueCode::NestingTooDeep, MAX_DEPTH.to_string()).into());
    }
    Err(unused.swap_remove(0).into())
}

/// What a failed value means for the text. `rest` is where the value starts.
fn syntax_error(error: &serde_json::Error, rest: &str, text: &str) -> DocumentError {
    if error.is_eof() {
        let incomplete = rest.trim_ascii_start().starts_with(['{', '[']);
        return DocumentError { code: IssueCode::TruncatedJson, detail: text.len().to_string(), incomplete };
    }
    let words = error.to_string();
    // serde_json tells this apart only in words.
    if words.starts_with("recursion limit exceeded") {
        return Problem::new(IssueCode::NestingTooDeep, MAX_DEPTH.to_string()).into();
    }
    let skipped = text.len() - rest.len();
    let detail = if skipped == 0 { words } else { format!("{words} of the value at byte {skipped}") };
    Problem::new(IssueCode::NotJson, detail).into()
}

/// The offset that an error's line and column name. Columns count bytes, from 1.
fn offset_of(text: &str, error: &serde_json::Error) -> usize {
    let lines_before = error.line().saturating_sub(1);
    let line_start = lines_before.checked_sub(1).and_then(|nth| memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth));
    line_start.map_or(0, |newline| newline + 1) + error.column().saturating_sub(1)
}

/// What a value turned out to be.
#[derive(Debug, Default)]
struct Found {
    /// Something in it is trace data, or known for something else.
    used: bool,
    /// The first thing in it that is neither.
    unused: Option<Problem>,
}

/// Reads one value of any kind.
struct Document<'s, 'a, 'de> {
    sink: &'s mut Sink<'a, 'de>,
    found: Found,
}

impl<'s, 'a, 'de> Document<'s, 'a, 'de> {
    fn new(sink: &'s mut Sink<'a, 'de>) -> Self {
        Self { sink, found: Found::default() }
    }

    fn finish(self, met: Met) -> Found {
        match met {
            Met::Wanted => self.found,
            Met::Null => Found { used: false, unused: Some(Problem::new(IssueCode::NotAnObject, "null")) },
            Met::Other(kind) => Found { used: false, unused: Some(Problem::new(IssueCode::NotAnObject, kind)) },
        }
    }

    /// Reads the value of a wrapper such as `{"trace":…}`. A wrapper around nothing known is itself not known, so only
    /// what is used counts.
    fn wrapped<A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<bool, A::Error> {
        let mut inner = Document::new(self.sink);
        let met = map.next_value_seed(Tolerant(&mut inner))?;
        let Found { used, unused } = inner.finish(met);
        if used {
            self.found.used = true;
            self.found.unused = self.found.unused.take().or(unused);
        }
        Ok(used)
    }
}

impl<'de> Reader<'de> for Document<'_, '_, 'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        let mut group = ResourceGroup::new(self.sink);
        let mut columns = Columns::default();
        let mut keys: Vec<Cow<'de, [u8]>> = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                b"resourceSpans" | b"resource_spans" | b"batches" => {
                    self.found.used = true;
                    let met = map.next_value_seed(Tolerant(&mut ResourceList(self.sink)))?;
                    self.sink.wrong_group(met, &key);
                }
                name if ResourceGroup::takes(name) => {
                    self.found.used |= group.member(name, &mut map, self.sink)?;
                }
                b"resourceLogs" | b"resource_logs" | b"resourceMetrics" | b"resource_metrics" | b"resourceProfiles"
                | b"resource_profiles" => {
                    json::skip(&mut map)?;
                    self.found.used = true;
                    self.sink.issue(Problem::new(IssueCode::OtherSignal, String::from_utf8_lossy(&key)));
                }
                b"spans" => {
                    let mut rows = RowList::new(self.sink);
                    let met = map.next_value_seed(Tolerant(&mut rows))?;
                    let (used, unused) = rows.finish();
                    self.found.used |= used || matches!(met, Met::Other(_));
                    self.found.unused = self.found.unused.take().or(unused);
                    self.sink.wrong_group(met, &key);
                }
                b"tool_definitions" => {
                    let definitions = json::raw(&mut map)?;
                    if definitions.starts_with('[') {
                        self.found.used = true;
                        self.sink.keep_tool_definitions(definitions);
                    }
                }
                b"trace" | b"result" | b"data" => {
                    self.wrapped(&mut map)?;
                }
                name => columns.member(name, &mut map)?,
            }
            if keys.len() < KEYS_SHOWN {
                keys.push(key);
            }
        }
        group.finish(self.sink);
        if columns.is_row() {
            self.found.used = true;
            columns.settle(self.sink);
        }
        // An object without members is the empty request of proto3 JSON.
        self.found.used |= keys.is_empty();
        if !self.found.used && self.found.unused.is_none() {
            self.found.unused = Some(Problem::new(IssueCode::NotTraceData, join_keys(&keys)));
        }
        Ok(Met::Wanted)
    }

    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        let mut is_empty = true;
        loop {
            let mut member = Document::new(self.sink);
            let Some(met) = seq.next_element_seed(Tolerant(&mut member))? else { break };
            let Found { used, unused } = member.finish(met);
            is_empty = false;
            self.found.used |= used;
            // One issue tells of all: an array of a million numbers is one mistake.
            if self.found.unused.is_none() {
                self.found.unused = unused;
            }
        }
        self.found.used |= is_empty;
        Ok(Met::Wanted)
    }
}

fn join_keys(keys: &[Cow<'_, [u8]>]) -> String {
    let shown: Vec<String> = keys.iter().map(|key| raw_excerpt(key)).collect();
    shown.join(", ")
}

impl Sink<'_, '_> {
    /// An issue when what stood under `key` is neither a group nor absent.
    pub(crate) fn wrong_group(&mut self, met: Met, key: &[u8]) {
        if matches!(met, Met::Other(_)) {
            self.issue(Problem::new(IssueCode::GroupInvalid, String::from_utf8_lossy(key)));
        }
    }
}
