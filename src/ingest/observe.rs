//! What an input holds and what it lacks, in numbers, and the tool definitions recorded in it.
//!
//! The same reading that fills the store notes these things on its way when it is asked to; otherwise nothing here
//! runs. Owns the sums: spans are counted and let go, so memory grows with the number of scopes, tools and
//! conversations, each bounded. It draws no conclusions. Start with [`Observed`].

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::args;
use super::tools::{RecordedTool, recorded_tools};
use crate::model::{ArgsForm, Operation, SpanRow};
use crate::shape::{Scope, SeenGroup, SeenSpan, Shaping};

/// How many distinct names of one kind are told apart; what comes after is counted nowhere.
const MAX_NAMES: usize = 4_096;
/// How many recordings of one tool are told apart.
const MAX_VERSIONS: usize = 64;
/// How many conversations are followed.
const MAX_CONVERSATIONS: usize = 100_000;

/// What tells one scope from another: who wrote the spans, and for whom.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScopeKey {
    /// Name of the instrumentation scope; empty when it has none.
    pub scope: String,
    /// Its version.
    pub version: String,
    /// `schemaUrl` of its spans.
    pub schema_url: String,
    /// `service.name` of the resource.
    pub service: String,
}

/// Sums over the spans of one scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScopeSeen {
    /// Spans met.
    pub spans: u64,
    /// Kept spans, by the convention that recognised them.
    pub conventions: BTreeMap<String, ConventionSeen>,
    /// Spans that are not kept, by operation; those without one under the empty text.
    pub operations: BTreeMap<String, u64>,
    /// Spans that may hold the messages of a model, and do.
    pub with_messages: u64,
    /// Tool calls asked for in messages, repeats included.
    pub asked_calls: u64,
    /// Spans that carry tool definitions.
    pub with_definitions: u64,
    /// Attribute keys of spans that no convention knows.
    pub unknown_keys: BTreeMap<String, u64>,
}

/// Sums over the spans that one convention recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConventionSeen {
    /// Agent runs, inner ones included.
    pub runs: u64,
    /// Runs that name their agent.
    pub named_runs: u64,
    /// Tool calls.
    pub calls: u64,
    /// Calls with arguments on their span.
    pub with_arguments: u64,
    /// Calls whose span says nothing of arguments, not even in a form that cannot be used.
    pub not_recorded: u64,
    /// Calls with a result.
    pub with_results: u64,
    /// Calls with an id.
    pub with_call_id: u64,
    /// Calls whose status is not unset.
    pub with_status: u64,
    /// Calls that something beside the status calls failed.
    pub failed_beside_status: u64,
    /// Calls by the form of their arguments, where it is not plain JSON.
    pub forms: BTreeMap<ArgsForm, u64>,
}

impl ConventionSeen {
    fn add_row(&mut self, row: &SpanRow, has_status: bool) {
        if row.operation == Operation::InvokeAgent {
            self.runs += 1;
            self.named_runs += u64::from(row.agent_name.is_some());
            return;
        }
        self.calls += 1;
        self.with_arguments += u64::from(row.tool_args.is_some());
        self.not_recorded += u64::from(row.tool_args.is_none() && row.args_form.is_none());
        self.with_results += u64::from(row.tool_result.is_some());
        self.with_call_id += u64::from(row.call_id.is_some());
        self.with_status += u64::from(has_status);
        self.failed_beside_status += u64::from(row.failure.is_some());
        if let Some(form) = row.args_form {
            *self.forms.entry(form).or_default() += 1;
        }
    }

    /// Adds the sums of another group of spans.
    pub fn add(&mut self, other: &Self) {
        self.runs += other.runs;
        self.named_runs += other.named_runs;
        self.calls += other.calls;
        self.with_arguments += other.with_arguments;
        self.not_recorded += other.not_recorded;
        self.with_results += other.with_results;
        self.with_call_id += other.with_call_id;
        self.with_status += other.with_status;
        self.failed_beside_status += other.failed_beside_status;
        for (form, calls) in &other.forms {
            *self.forms.entry(*form).or_default() += calls;
        }
    }
}

impl ScopeSeen {
    fn add(&mut self, other: Self) {
        self.spans += other.spans;
        self.with_messages += other.with_messages;
        self.asked_calls += other.asked_calls;
        self.with_definitions += other.with_definitions;
        for (name, seen) in other.conventions {
            self.conventions.entry(name).or_default().add(&seen);
        }
        for (operation, spans) in other.operations {
            count(&mut self.operations, operation, spans);
        }
        for (key, spans) in other.unknown_keys {
            count(&mut self.unknown_keys, key, spans);
        }
    }
}

fn count(counts: &mut BTreeMap<String, u64>, name: String, more: u64) {
    if let Some(known) = counts.get_mut(&name) {
        *known += more;
    } else if counts.len() < MAX_NAMES {
        counts.insert(name, more);
    }
}

/// What one entry of `scopeSpans` held.
#[derive(Debug, Clone, Default)]
pub(crate) struct ObservedGroup {
    pub(crate) key: ScopeKey,
    pub(crate) seen: ScopeSeen,
    pub(crate) definitions: Vec<Recording>,
    /// Conversation id and trace id of each span that names a conversation.
    pub(crate) conversations: Vec<(String, String)>,
    /// The shape of each span, and the keys of the resource with their types, when shapes are wanted.
    pub(crate) spans: Vec<SeenSpan>,
    pub(crate) resource: Vec<(String, &'static str)>,
}

/// What a reading is looked at for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// Nothing.
    Away,
    /// Sums.
    Sums,
    /// Sums and shapes.
    Shapes,
}

impl ObservedGroup {
    pub(crate) fn add_row(&mut self, row: &SpanRow, has_status: bool) {
        match self.seen.conventions.get_mut(&*row.convention) {
            Some(seen) => seen.add_row(row, has_status),
            None => self.seen.conventions.entry(row.convention.to_string()).or_default().add_row(row, has_status),
        }
    }

    pub(crate) fn count_operation(&mut self, operation: &str) {
        count(&mut self.seen.operations, operation.to_owned(), 1);
    }

    pub(crate) fn count_unknown_key(&mut self, key: String) {
        count(&mut self.seen.unknown_keys, key, 1);
    }
}

/// Tool definitions as one span carries them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recording {
    /// JSON: one definition or an array of them.
    pub(crate) text: String,
    /// Whether the model was offered them, instead of the call naming its own.
    pub(crate) offered: bool,
    /// Start of the span, nanoseconds since 1970 UTC; 0 when it cannot be read.
    pub(crate) start_ns: i64,
}

/// What was seen of one or several inputs.
#[derive(Debug, Default)]
pub struct Observed {
    /// Sums by scope.
    pub scopes: BTreeMap<ScopeKey, ScopeSeen>,
    /// Tool definitions recorded.
    pub tools: RecordedTools,
    /// Calls by the name of the tool, those in messages included where no span with their id followed soon.
    pub called: BTreeMap<String, u64>,
    conversations: BTreeMap<u64, Conversation>,
    /// The shape of all spans, when it is wanted.
    pub shaping: Option<Shaping>,
}

#[derive(Debug)]
struct Conversation {
    trace: String,
    has_others: bool,
}

impl Observed {
    /// Notes the shape of the spans too.
    #[must_use]
    pub fn with_shape() -> Self {
        Self { shaping: Some(Shaping::default()), ..Self::default() }
    }

    pub(crate) fn look(&self) -> Look {
        if self.shaping.is_some() { Look::Shapes } else { Look::Sums }
    }

    pub(crate) fn absorb(&mut self, groups: Vec<ObservedGroup>) {
        for ObservedGroup { key, seen, definitions, conversations, spans, resource } in groups {
            if let Some(shaping) = &mut self.shaping {
                let ScopeKey { scope: name, version, schema_url, .. } = key.clone();
                shaping.add(SeenGroup { scope: Scope { name, version, schema_url }, resource, spans });
            }
            if seen.spans > 0 && (self.scopes.len() < MAX_NAMES || self.scopes.contains_key(&key)) {
                self.scopes.entry(key).or_default().add(seen);
            }
            for recording in &definitions {
                self.tools.add(recording);
            }
            for (conversation, trace) in conversations {
                self.note_conversation(&conversation, trace);
            }
        }
    }

    fn note_conversation(&mut self, conversation: &str, trace: String) {
        let key = hash_of(conversation);
        if let Some(known) = self.conversations.get_mut(&key) {
            known.has_others |= known.trace != trace;
        } else if self.conversations.len() < MAX_CONVERSATIONS {
            self.conversations.insert(key, Conversation { trace, has_others: false });
        }
    }

    pub(crate) fn note_call(&mut self, tool_name: &str) {
        match self.called.get_mut(tool_name) {
            Some(calls) => *calls += 1,
            None => count(&mut self.called, tool_name.to_owned(), 1),
        }
    }

    /// Conversations met, and how many of them go over several traces.
    #[must_use]
    pub fn conversations(&self) -> (u64, u64) {
        let several = self.conversations.values().filter(|conversation| conversation.has_others).count();
        (self.conversations.len() as u64, several as u64)
    }
}

pub(crate) fn hash_of(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Every tool definition recorded, by name, each distinct recording with the time of its last span.
#[derive(Debug, Default)]
pub struct RecordedTools {
    by_name: BTreeMap<String, BTreeMap<Version, i64>>,
    /// Recordings parsed before: nearly every span of a model repeats those of the one before it.
    parsed: BTreeMap<(u64, bool), Vec<(String, Version)>>,
    /// Recordings that could not be read, repeats included: most are cut off.
    pub unreadable: u64,
}

/// One recording of a tool, told apart from others by what it says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    offered: bool,
    /// The schema with its keys sorted, for comparing.
    canonical: Option<String>,
    description: String,
    /// The schema as recorded.
    schema: Option<String>,
}

/// A tool as the traces define it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenTool {
    /// Name, description and schema. Of several recordings, those that a model was offered count before those on the
    /// span of a call, and the newest of them counts.
    pub tool: RecordedTool,
    /// How many different schemas were recorded under the name in such places; 0 when there was none.
    pub schemas: usize,
}

impl RecordedTools {
    /// Adds a recording.
    pub(crate) fn add(&mut self, recording: &Recording) {
        let key = (hash_of(&recording.text), recording.offered);
        if !self.parsed.contains_key(&key) {
            let Some(tools) = recorded_tools(&recording.text) else {
                self.unreadable += 1;
                return;
            };
            if self.parsed.len() >= MAX_NAMES {
                self.parsed.clear();
            }
            let versions = tools.into_iter().map(|tool| {
                let RecordedTool { tool_name, description, json_schema: schema } = tool;
                let canonical = schema
                    .as_ref()
                    .map(|text| args::canonical(text).map_or_else(|_| text.clone(), |canonical| canonical.text));
                (tool_name, Version { offered: recording.offered, canonical, description, schema })
            });
            self.parsed.insert(key, versions.collect());
        }
        for (name, version) in self.parsed.get(&key).into_iter().flatten() {
            note(&mut self.by_name, name, version, recording.start_ns);
        }
    }

    /// Each tool that was defined, in order of name; a description on the span of a call alone defines nothing. Of the
    /// same recordings comes the same answer, in whatever order they were met.
    #[must_use]
    pub fn chosen(&self) -> Vec<ChosenTool> {
        let defines = |version: &Version| version.offered || version.schema.is_some();
        let defined = self.by_name.iter().filter(|(_, versions)| versions.keys().any(defines));
        defined.map(|(name, versions)| chosen(name, versions)).collect()
    }
}

fn note(by_name: &mut BTreeMap<String, BTreeMap<Version, i64>>, name: &str, version: &Version, start_ns: i64) {
    if !by_name.contains_key(name) && by_name.len() >= MAX_NAMES {
        return;
    }
    let versions = by_name.entry(name.to_owned()).or_default();
    let last = versions.entry(version.clone()).or_insert(start_ns);
    *last = (*last).max(start_ns);
    if versions.len() > MAX_VERSIONS
        && let Some(oldest) = versions.iter().min_by_key(|(_, last)| **last).map(|(version, _)| version.clone())
    {
        versions.remove(&oldest);
    }
}

fn chosen(name: &str, versions: &BTreeMap<Version, i64>) -> ChosenTool {
    let newest = |wanted: &dyn Fn(&Version) -> bool| {
        let candidates = versions.iter().filter(|(version, _)| wanted(version));
        candidates.max_by_key(|(version, last)| (version.offered, **last, *version)).map(|(version, _)| version)
    };
    let defined = newest(&|version| version.schema.is_some());
    let described = defined.filter(|version| !version.description.is_empty());
    let described = described.or_else(|| newest(&|version| !version.description.is_empty()));
    let schemas: BTreeSet<&String> = versions
        .keys()
        .filter(|version| Some(version.offered) == defined.map(|defined| defined.offered))
        .filter_map(|version| version.canonical.as_ref())
        .collect();
    ChosenTool {
        tool: RecordedTool {
            tool_name: name.to_owned(),
            description: described.map(|version| version.description.clone()).unwrap_or_default(),
            json_schema: defined.and_then(|version| version.schema.clone()),
        },
        schemas: schemas.len(),
    }
}
