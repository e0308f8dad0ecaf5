//! Conventions: which attributes say "agent run" and "tool call", and which hold the name, the arguments, the result.
//!
//! A convention is data, a TOML file; `conventions/README.md` explains the form. Owns the choice of the convention that
//! recognises a span, and where the values of a span stand. [`file`](self::file) reads the files; what the values mean
//! is for `otlp` and `args` to say. Start with [`Conventions::builtin`].

mod file;
mod place;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use memchr::memmem;
use thiserror::Error;

use self::file::File;
pub(crate) use self::place::{Place, SpanData};
use crate::ingest::args::unwrap::Wrapper;
use crate::ingest::otlp::any_value::{AnyValue, Attributes, Words};
use crate::model::Operation;

macro_rules! shipped {
    ($($file:literal)*) => { &[$(($file, include_str!(concat!("../../conventions/", $file)))),*] };
}

/// The files shipped. The first that recognises a span counts: those of one instrumentation stand before the standard
/// that they extend, and newer before older.
const BUILTIN: &[(&str, &str)] = shipped! {
    "vercel-ai-sdk.toml"
    "spring-ai.toml"
    "google-adk.toml"
    "mastra.toml"
    "strands.toml"
    "agent-framework.toml"
    "langsmith.toml"
    "traceloop.toml"
    "otel-genai.toml"
    "otel-mcp.toml"
    "pydantic-ai.toml"
    "openinference-langchain.toml"
    "openinference.toml"
    "claude-code.toml"
};

/// Why a convention file cannot be used.
#[derive(Debug, Error)]
pub enum ConventionError {
    /// Not TOML, an unknown key, or a value of a wrong type.
    #[error("convention file {file} cannot be read")]
    Syntax {
        /// The file's name.
        file: String,
        /// The parser's words, with the line.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// Readable, but it cannot mean anything.
    #[error("convention file {file}: {what}")]
    Invalid {
        /// The file's name.
        file: String,
        /// What is wrong.
        what: String,
    },
    /// No file was given.
    #[error("no convention file was given")]
    None,
}

/// Attributes that say which conversation a span belongs to.
pub(crate) const CONVERSATION_KEYS: [&str; 2] = ["gen_ai.conversation.id", "session.id"];

/// Conventions in order: the first that recognises a span counts.
#[derive(Debug, Clone)]
pub struct Conventions {
    list: Vec<Convention>,
    wanted: WantedKeys,
    observed: WantedKeys,
    resource: WantedKeys,
    uses_scope: bool,
}

impl Conventions {
    /// The conventions shipped with the program.
    ///
    /// # Panics
    /// Never: the embedded files are read by a test.
    #[must_use]
    pub fn builtin() -> Self {
        Self::from_toml(BUILTIN).expect("the embedded convention files are read by a test")
    }

    /// A site's own convention files, each a name for messages and its text, before those shipped: what they recognise
    /// is read as they say, all else as before.
    ///
    /// # Errors
    /// When one cannot be used; see [`ConventionError`].
    pub fn with_own(own: &[(&str, &str)]) -> Result<Self, ConventionError> {
        let files: Vec<(&str, &str)> = own.iter().chain(BUILTIN).copied().collect();
        Self::from_toml(&files)
    }

    /// Reads convention files, each a name for messages and its text, in the order in which they are asked.
    ///
    /// # Errors
    /// When there is none, or one cannot be used; see [`ConventionError`].
    pub fn from_toml(files: &[(&str, &str)]) -> Result<Self, ConventionError> {
        if files.is_empty() {
            return Err(ConventionError::None);
        }
        let mut parsed: Vec<File> = Vec::new();
        for (file, text) in files {
            let convention: File = toml::from_str(text)
                .map_err(|error| ConventionError::Syntax { file: (*file).to_owned(), source: Box::new(error) })?;
            let names: Vec<&str> = parsed.iter().map(|earlier| earlier.name.as_str()).collect();
            convention.check(&names).map_err(|what| ConventionError::Invalid { file: (*file).to_owned(), what })?;
            parsed.push(convention);
        }
        let keys = parsed.iter().flat_map(File::keys);
        let prefixes = parsed.iter().flat_map(File::indexed_prefixes);
        let wanted = WantedKeys::new(keys, prefixes);
        let keys = parsed.iter().flat_map(File::definition_keys).chain(CONVERSATION_KEYS.iter().copied());
        let prefixes = parsed.iter().flat_map(File::definition_prefixes);
        let observed = WantedKeys::new(keys, prefixes);
        let list: Vec<Convention> = parsed.into_iter().map(|file| file.compile(&wanted, &observed)).collect();
        let uses_scope = list.iter().any(Convention::uses_scope);
        let resource = WantedKeys::new(["service.name"].into_iter(), std::iter::empty());
        Ok(Self { list, wanted, observed, resource, uses_scope })
    }

    /// Names of the conventions, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|convention| &*convention.name)
    }

    /// Name and description of each convention, in order.
    pub fn descriptions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|convention| (&*convention.name, convention.description.as_str()))
    }

    /// The setting that makes an instrumentation of this convention record arguments; none when it is not known.
    #[must_use]
    pub fn capture(&self, name: &str) -> Option<&str> {
        self.list.iter().find(|convention| &*convention.name == name)?.capture.as_deref()
    }

    /// The keys that any convention asks for; all other attributes of a span are passed over.
    pub(crate) fn wanted(&self) -> &WantedKeys {
        &self.wanted
    }

    /// The keys asked for only when the reading is observed: those of tool definitions and [`CONVERSATION_KEYS`].
    pub(crate) fn observed_keys(&self) -> &WantedKeys {
        &self.observed
    }

    /// Where tool definitions may stand. Their slots are those of [`Conventions::observed_keys`].
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &DefinitionForm> {
        self.list.iter().flat_map(|convention| &convention.definitions)
    }

    /// The keys wanted of a resource: `service.name`, in slot 0.
    pub(crate) fn resource_keys(&self) -> &WantedKeys {
        &self.resource
    }

    /// Whether a span cannot be judged before the name of its scope is known.
    pub(crate) fn uses_scope(&self) -> bool {
        self.uses_scope
    }

    /// The first convention that recognises the span, and as what.
    pub(crate) fn recognise(&self, span: &SpanData) -> Recognised<'_> {
        for convention in &self.list {
            let matcher = convention.matchers.iter().find(|matcher| matcher.when.iter().all(|when| when.holds(span)));
            match matcher.map(|matcher| matcher.operation) {
                Some(Some(Operation::ExecuteTool)) if convention.calls_no_tool(span) => return Recognised::Neither,
                Some(Some(operation)) => return Recognised::Kept(convention, operation),
                Some(None) => return Recognised::Neither,
                None => {}
            }
        }
        Recognised::Unknown
    }

    /// Whether a name in messages is that of no tool: a hand-off or a final answer that looks like a call.
    pub(crate) fn is_no_tool(&self, name: &str) -> bool {
        self.list.iter().any(|convention| convention.is_no_tool(name))
    }

    /// Where messages may hold tool calls, with the convention that says so.
    pub(crate) fn messages(
        &self,
        role: MessageRole,
        in_runs: bool,
    ) -> impl Iterator<Item = (&Convention, &MessagePlace)> {
        let all =
            self.list.iter().flat_map(|convention| convention.messages.iter().map(move |place| (convention, place)));
        all.filter(move |(_, place)| place.role == role && place.in_runs == in_runs)
    }

    /// The operation of a span that no convention recognises.
    pub(crate) fn operation_name<'de>(&self, attributes: &Attributes<'de>) -> Option<Cow<'de, str>> {
        let slots = self.list.iter().flat_map(|convention| &convention.operation);
        slots.filter_map(|slot| attributes.get(*slot)).find_map(AnyValue::scalar)
    }
}

/// What the conventions say of a span.
pub(crate) enum Recognised<'c> {
    /// A run or a call, in the words of this convention.
    Kept(&'c Convention, Operation),
    /// Known to be neither: a wrapper around calls that would be counted twice. It holds no calls of its own.
    Neither,
    /// No convention knows it.
    Unknown,
}

/// A column that a convention fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    AgentName,
    ToolName,
    Arguments,
    Result,
    CallId,
    ErrorType,
}

impl Field {
    pub(crate) const ALL: [Self; 6] =
        [Self::AgentName, Self::ToolName, Self::Arguments, Self::Result, Self::CallId, Self::ErrorType];
}

/// What becomes of arguments that are a bare value instead of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BareValue {
    /// They are the arguments.
    #[default]
    Kept,
    /// The name of the argument was lost, so the arguments count as not recorded.
    Lost,
}

/// One convention, with attribute keys as slots of [`WantedKeys`].
#[derive(Debug, Clone)]
pub(crate) struct Convention {
    pub(crate) name: Arc<str>,
    description: String,
    capture: Option<String>,
    operation: Vec<usize>,
    matchers: Vec<Matcher>,
    fields: [Vec<Place>; 6],
    not_recorded: Vec<String>,
    not_tools: Vec<String>,
    /// Wrappers around the arguments, tried in order.
    pub(crate) wrappers: Vec<Wrapper>,
    /// What a bare value is.
    pub(crate) bare_value: BareValue,
    failures: Vec<Failure>,
    messages: Vec<MessagePlace>,
    definitions: Vec<DefinitionForm>,
}

impl Convention {
    /// A field that is a name or an id: the first place that has a scalar which is not empty.
    pub(crate) fn scalar<'s, 'de>(&self, field: Field, span: &'s SpanData<'s, 'de>) -> Option<Cow<'s, str>> {
        self.fields[field as usize].iter().find_map(|place| place.scalar(span).filter(|text| !text.is_empty()))
    }

    /// A field that is kept as recorded, a structure as compact JSON: the first place that has a value. A text that
    /// says that nothing was recorded is none.
    pub(crate) fn recorded<'s, 'de>(&self, field: Field, span: &'s SpanData<'s, 'de>) -> Option<Cow<'s, str>> {
        let text = self.fields[field as usize].iter().find_map(|place| place.recorded(span))?;
        (!self.is_not_recorded(&text)).then_some(text)
    }

    /// What is read from an attribute, or from one of an event.
    pub(crate) fn field_of(&self, slot: Option<usize>, event: Option<(&str, &str)>) -> Option<Field> {
        let holds = |field: &Field| self.fields[*field as usize].iter().any(|place| place.stands_in(slot, event));
        Field::ALL.into_iter().find(holds)
    }

    /// Whether this text stands for arguments or a result that was not recorded.
    pub(crate) fn is_not_recorded(&self, text: &str) -> bool {
        self.not_recorded.iter().any(|marker| marker == text)
    }

    /// Whether a name is that of a hand-off or a final answer that looks like a call.
    pub(crate) fn is_no_tool(&self, name: &str) -> bool {
        self.not_tools.iter().any(|listed| match listed.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => listed == name,
        })
    }

    /// The first thing beside the status that says that a call failed, in words: `error.type=timeout`.
    pub(crate) fn failure(&self, span: &SpanData, result: Option<&str>) -> Option<String> {
        let mut parsed = None;
        self.failures.iter().find_map(|failure| failure.told(Some(span), result, &mut parsed))
    }

    /// The first thing in a result that says that a call failed: `result /isError=true`.
    pub(crate) fn failure_in_result(&self, result: &str) -> Option<String> {
        let mut parsed = None;
        self.failures.iter().find_map(|failure| failure.told(None, Some(result), &mut parsed))
    }

    fn calls_no_tool(&self, span: &SpanData) -> bool {
        !self.not_tools.is_empty() && self.scalar(Field::ToolName, span).is_some_and(|name| self.is_no_tool(&name))
    }

    fn uses_scope(&self) -> bool {
        let mut conditions = self.matchers.iter().flat_map(|matcher| &matcher.when);
        conditions.any(|when| matches!(when, Condition::ScopeName(_) | Condition::ScopeNamePrefix(_)))
    }
}

#[derive(Debug, Clone)]
struct Matcher {
    /// None when the span is known to be neither a run nor a call.
    operation: Option<Operation>,
    when: Vec<Condition>,
}

#[derive(Debug, Clone)]
enum Condition {
    Present(usize),
    Values(usize, Vec<String>),
    Prefixes(usize, Vec<String>),
    Absent(usize),
    SpanName(String),
    SpanNamePrefix(String),
    SpanNameSuffix(String),
    ScopeName(String),
    ScopeNamePrefix(String),
    Root(bool),
}

impl Condition {
    fn holds(&self, span: &SpanData) -> bool {
        let value = |slot: &usize| span.attributes.get(*slot);
        let text = |slot: &usize| value(slot).and_then(AnyValue::scalar);
        match self {
            Self::Present(slot) => value(slot).is_some(),
            Self::Values(slot, accepted) => text(slot).is_some_and(|text| accepted.iter().any(|one| *one == *text)),
            Self::Prefixes(slot, accepted) => {
                text(slot).is_some_and(|text| accepted.iter().any(|one| text.starts_with(one.as_str())))
            }
            Self::Absent(slot) => value(slot).is_none(),
            Self::SpanName(name) => span.name == Some(name),
            Self::SpanNamePrefix(prefix) => span.name.is_some_and(|name| name.starts_with(prefix.as_str())),
            Self::SpanNameSuffix(suffix) => span.name.is_some_and(|name| name.ends_with(suffix.as_str())),
            Self::ScopeName(name) => span.scope_name == Some(name),
            Self::ScopeNamePrefix(prefix) => span.scope_name.is_some_and(|name| name.starts_with(prefix.as_str())),
            Self::Root(root) => span.is_root() == *root,
        }
    }
}

/// One thing beside the status that says that a call failed. Values are compared in any case of letters; without
/// values everything says so but null, false, 0 and what is empty.
#[derive(Debug, Clone)]
enum Failure {
    /// An attribute has a value, or one of these.
    Attribute { slot: usize, key: String, values: Vec<String> },
    /// An attribute holds JSON with something at this place.
    Inside { slot: usize, key: String, place: Pointer, values: Vec<String> },
    /// The span has an event of this name.
    Event(String),
    /// The result is JSON with something at this place.
    Result { place: Pointer, values: Vec<String> },
    /// The result is a text like one of these, in which `*` stands for anything.
    ResultLike(Vec<String>),
}

/// A JSON pointer, and its last step, which a text must have to be worth parsing.
#[derive(Debug, Clone)]
struct Pointer {
    pointer: String,
    last: memmem::Finder<'static>,
}

impl Pointer {
    fn new(pointer: &str) -> Self {
        let last = pointer.rsplit('/').next().unwrap_or_default();
        Self { pointer: pointer.to_owned(), last: memmem::Finder::new(last).into_owned() }
    }

    /// Whether the text may have something at this place.
    fn may_be_in(&self, text: &str) -> bool {
        self.last.find(text.as_bytes()).is_some()
    }

    /// What stands there, as text.
    fn text_in(&self, json: &serde_json::Value) -> Option<String> {
        let found = json.pointer(&self.pointer)?;
        Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
    }
}

fn says_failure(text: &str, values: &[String]) -> bool {
    if values.is_empty() {
        return !matches!(text, "null" | "false" | "0" | "" | "{}" | "[]");
    }
    values.iter().any(|value| value.eq_ignore_ascii_case(text))
}

impl Failure {
    /// The failure in words. `parsed` keeps the result's JSON from one question to the next.
    fn told(
        &self,
        span: Option<&SpanData>,
        result: Option<&str>,
        parsed: &mut Option<Option<serde_json::Value>>,
    ) -> Option<String> {
        match self {
            Self::Attribute { slot, key, values } => {
                let text = span?.attributes.get(*slot).and_then(AnyValue::scalar)?;
                says_failure(&text, values).then(|| format!("{key}={}", excerpt(&text)))
            }
            Self::Inside { slot, key, place, values } => {
                let held = span?.attributes.get(*slot)?.recorded()?;
                if !place.may_be_in(&held) {
                    return None;
                }
                let text = place.text_in(&place::structure(&held)?)?;
                says_failure(&text, values).then(|| format!("{key} {}={}", place.pointer, excerpt(&text)))
            }
            Self::Event(name) => span?.has_event(name).then(|| format!("event {name}")),
            Self::Result { place, values } => {
                let result = result.filter(|result| place.may_be_in(result))?;
                let json = parsed.get_or_insert_with(|| place::structure(result)).as_ref()?;
                let text = place.text_in(json)?;
                says_failure(&text, values).then(|| format!("result {}={}", place.pointer, excerpt(&text)))
            }
            Self::ResultLike(patterns) => {
                let result = result?.trim();
                let says = patterns.iter().any(|pattern| is_like(result, pattern));
                says.then(|| format!("result {}", excerpt(result)))
            }
        }
    }
}

/// Whether a text is like a pattern, in which `*` stands for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut last = None;
    for piece in pieces {
        match rest.find(piece) {
            Some(found) => rest = &rest[found + piece.len()..],
            None => return false,
        }
        last = Some(piece);
    }
    rest.is_empty() || last == Some("") || last.is_some_and(|last| rest.ends_with(last))
}

/// How many characters of a value tell what failed.
const FAILURE_CHARS: usize = 120;

fn excerpt(text: &str) -> String {
    let mut shown: String = text.chars().take(FAILURE_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.replace(['\n', '\r'], " ")
}

/// Where messages stand that hold tool calls, or the answers to them.
#[derive(Debug, Clone)]
pub(crate) struct MessagePlace {
    /// Whether the messages ask for calls, or answer them.
    pub(crate) role: MessageRole,
    /// Whether they stand on the spans of runs, instead of on spans that are not kept.
    pub(crate) in_runs: bool,
    /// In which form.
    pub(crate) form: MessageForm,
    /// Messages in parts have one of each of these words when they hold what is looked for.
    pub(crate) words: [Words; 2],
}

/// What messages hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessageRole {
    /// Tool calls that the model asked for.
    Calls,
    /// Results that it was given.
    Results,
}

impl MessageRole {
    /// The type of the parts that are meant.
    pub(crate) const fn part_type(self) -> &'static str {
        match self {
            Self::Calls => "tool_call",
            Self::Results => "tool_call_response",
        }
    }

    /// The type of part that is meant, and for results the words of which one says that a call failed. Most messages
    /// have none and are not parsed.
    fn words(self, failures: &[Failure]) -> [Words; 2] {
        let part_type = Words::new([self.part_type()]);
        if self == Self::Calls {
            return [part_type.clone(), part_type];
        }
        let of_results = failures.iter().flat_map(|failure| match failure {
            Failure::Result { place, .. } => place.pointer.rsplit('/').take(1).collect(),
            Failure::ResultLike(patterns) => {
                patterns.iter().filter_map(|pattern| pattern.split('*').max_by_key(|piece| piece.len())).collect()
            }
            Failure::Attribute { .. } | Failure::Inside { .. } | Failure::Event(_) => Vec::new(),
        });
        [part_type, Words::new(of_results.chain(["is_error", "isError"]))]
    }
}

/// How messages are written.
#[derive(Debug, Clone)]
pub(crate) enum MessageForm {
    /// Messages with `parts` of the type `tool_call` and `tool_call_response`, as the GenAI conventions have them.
    Parts(Place),
    /// A JSON array with an object for each call.
    List {
        /// Where the array stands.
        place: Place,
        /// The member of each entry that holds an array of its own, whose entries are meant.
        inside: Option<String>,
        /// The members that have the value; the first that does counts.
        members: Members,
    },
    /// An attribute for each value: `prefix`, a number, `middle`, a number, and one of the members. Answers have one
    /// number only.
    Indexed {
        /// What the keys begin with.
        prefix: String,
        /// What stands between the two numbers; empty when there is one.
        middle: String,
        /// The ends of the keys.
        members: Members,
    },
}

/// How tool definitions are written.
#[derive(Debug, Clone)]
pub(crate) enum DefinitionForm {
    /// A JSON array of definitions, of JSON texts with one each, or of names.
    List(Place),
    /// An attribute a definition, or one a member: `prefix`, a number, and one of these ends.
    Indexed {
        /// What the keys begin with.
        prefix: String,
        /// Ends of keys that hold a definition as a whole.
        whole: Vec<String>,
        name: Vec<String>,
        description: Vec<String>,
        schema: Vec<String>,
    },
    /// Members of the tool that the span is a call of; the first place with a value counts.
    Fields { name: Vec<Place>, description: Vec<Place>, schema: Vec<Place> },
}

/// JSON pointers, or ends of attribute keys, of a call's values.
#[derive(Debug, Clone, Default)]
pub(crate) struct Members {
    pub(crate) name: Vec<String>,
    pub(crate) arguments: Vec<String>,
    pub(crate) id: Vec<String>,
    pub(crate) result: Vec<String>,
}

/// A set of attribute keys, each with a slot, and beginnings of keys that have numbers in them.
#[derive(Debug, Clone)]
pub(crate) struct WantedKeys {
    keys: Vec<Box<str>>,
    /// Where the keys of each length begin, and behind the last where they end.
    lengths: Vec<usize>,
    prefixes: Vec<Box<str>>,
}

impl WantedKeys {
    fn new<'k>(keys: impl Iterator<Item = &'k str>, prefixes: impl Iterator<Item = &'k str>) -> Self {
        let unique: BTreeSet<&str> = keys.collect();
        let mut keys: Vec<Box<str>> = unique.into_iter().map(Box::from).collect();
        // By length first: most unwanted keys are told apart without comparing a byte.
        keys.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        let longest = keys.last().map_or(0, |key| key.len());
        let lengths = (0..longest + 2).map(|length| keys.partition_point(|key| key.len() < length)).collect();
        let prefixes: BTreeSet<&str> = prefixes.collect();
        Self { keys, lengths, prefixes: prefixes.into_iter().map(Box::from).collect() }
    }

    /// The slot of a key; none when nobody wants it.
    pub(crate) fn slot(&self, key: &str) -> Option<usize> {
        let (start, end) = (*self.lengths.get(key.len())?, *self.lengths.get(key.len() + 1)?);
        // Keys of one length mostly begin alike and end in their own way.
        let same = |wanted: &str| wanted.as_bytes().last() == key.as_bytes().last() && wanted == key;
        self.keys[start..end].iter().position(|wanted| same(wanted)).map(|place| start + place)
    }

    /// Whether the key is one of those with numbers.
    pub(crate) fn is_indexed(&self, key: &str) -> bool {
        // Nearly no key has a number in it.
        let has_number = key.bytes().any(|letter| letter.is_ascii_digit());
        has_number && self.prefixes.iter().any(|prefix| key.starts_with(&**prefix))
    }

    /// The key in a slot.
    pub(crate) fn key(&self, slot: usize) -> &str {
        self.keys.get(slot).map_or("", |key| key)
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}
