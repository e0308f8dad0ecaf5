//! Conventions: which attributes say "agent run" and "tool call", and which hold the name, the arguments, the result.
//!
//! A convention is data, a TOML file; `conventions/otel-genai.toml` explains the form. Owns the reading of such files
//! and the choice of the convention that recognises a span. It does not read spans. Start with
//! [`Conventions::builtin`].

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use thiserror::Error;

use crate::ingest::otlp::any_value::{AnyValue, Attributes};
use crate::model::Operation;

/// The files shipped, newest convention first.
const BUILTIN: &[(&str, &str)] = &[("otel-genai.toml", include_str!("../../conventions/otel-genai.toml"))];

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

/// Conventions in order: the first that recognises a span counts.
#[derive(Debug, Clone)]
pub struct Conventions {
    list: Vec<Convention>,
    wanted: WantedKeys,
    resource: WantedKeys,
    uses_scope: bool,
}

impl Conventions {
    /// The conventions shipped with the program, newest first.
    ///
    /// # Panics
    /// Never: the embedded files are read by a test.
    #[must_use]
    pub fn builtin() -> Self {
        Self::from_toml(BUILTIN).expect("the embedded convention files are read by a test")
    }

    /// Reads convention files, each a name for messages and its text, newest convention first.
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
        let wanted = WantedKeys::new(parsed.iter().flat_map(File::keys));
        let list: Vec<Convention> = parsed.into_iter().map(|file| file.compile(&wanted)).collect();
        let uses_scope = list.iter().any(Convention::uses_scope);
        Ok(Self { list, wanted, resource: WantedKeys::new(["service.name"].into_iter()), uses_scope })
    }

    /// Names of the conventions, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|convention| convention.name.as_str())
    }

    /// Name and description of each convention, in order.
    pub fn descriptions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.list.iter().map(|convention| (convention.name.as_str(), convention.description.as_str()))
    }

    /// The keys that any convention asks for; all other attributes of a span are passed over.
    pub(crate) fn wanted(&self) -> &WantedKeys {
        &self.wanted
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
    pub(crate) fn recognise(&self, span: &Seen) -> Option<(&Convention, Operation)> {
        self.list.iter().find_map(|convention| {
            let matcher =
                convention.matchers.iter().find(|matcher| matcher.when.iter().all(|when| when.holds(span)))?;
            Some(matcher.operation.map(|operation| (convention, operation)))
        })?
    }

    /// The operation of a span that no convention recognises.
    pub(crate) fn operation_name<'de>(&self, attributes: &Attributes<'de>) -> Option<Cow<'de, str>> {
        let slots = self.list.iter().flat_map(|convention| &convention.operation);
        slots.filter_map(|slot| attributes.get(*slot)).find_map(AnyValue::scalar)
    }
}

/// What a convention looks at.
pub(crate) struct Seen<'s, 'de> {
    /// The wanted attributes.
    pub(crate) attributes: &'s Attributes<'de>,
    /// The span's name.
    pub(crate) span_name: Option<&'s str>,
    /// The name of its instrumentation scope.
    pub(crate) scope_name: Option<&'s str>,
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

/// One convention, with attribute keys as slots of [`WantedKeys`].
#[derive(Debug, Clone)]
pub(crate) struct Convention {
    pub(crate) name: String,
    description: String,
    operation: Vec<usize>,
    matchers: Vec<Matcher>,
    fields: [Vec<usize>; 6],
    not_recorded: Vec<String>,
}

impl Convention {
    /// The value of a field: of the first key that has one.
    pub(crate) fn value<'de>(&self, field: Field, attributes: &Attributes<'de>) -> Option<AnyValue<'de>> {
        self.fields[field as usize].iter().find_map(|slot| attributes.get(*slot))
    }

    /// Whether this text stands for arguments or a result that was not recorded.
    pub(crate) fn is_not_recorded(&self, text: &str) -> bool {
        self.not_recorded.iter().any(|marker| marker == text)
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
    ScopeName(String),
    ScopeNamePrefix(String),
}

impl Condition {
    fn holds(&self, span: &Seen) -> bool {
        let value = |slot: &usize| span.attributes.get(*slot);
        let text = |slot: &usize| value(slot).and_then(AnyValue::scalar);
        match self {
            Self::Present(slot) => value(slot).is_some(),
            Self::Values(slot, accepted) => text(slot).is_some_and(|text| accepted.iter().any(|one| *one == *text)),
            Self::Prefixes(slot, accepted) => {
                text(slot).is_some_and(|text| accepted.iter().any(|one| text.starts_with(one.as_str())))
            }
            Self::Absent(slot) => value(slot).is_none(),
            Self::SpanName(name) => span.span_name == Some(name),
            Self::SpanNamePrefix(prefix) => span.span_name.is_some_and(|name| name.starts_with(prefix.as_str())),
            Self::ScopeName(name) => span.scope_name == Some(name),
            Self::ScopeNamePrefix(prefix) => span.scope_name.is_some_and(|name| name.starts_with(prefix.as_str())),
        }
    }
}

/// A set of attribute keys, each with a slot.
#[derive(Debug, Clone)]
pub(crate) struct WantedKeys(Vec<Box<str>>);

impl WantedKeys {
    fn new<'k>(keys: impl Iterator<Item = &'k str>) -> Self {
        let unique: BTreeSet<&str> = keys.collect();
        let mut keys: Vec<Box<str>> = unique.into_iter().map(Box::from).collect();
        // By length first: most unwanted keys are told apart without comparing a byte.
        keys.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        Self(keys)
    }

    /// The slot of a key; none when nobody wants it.
    pub(crate) fn slot(&self, key: &str) -> Option<usize> {
        self.0.binary_search_by(|wanted| (wanted.len(), &**wanted).cmp(&(key.len(), key))).ok()
    }

    /// The key in a slot.
    pub(crate) fn key(&self, slot: usize) -> &str {
        self.0.get(slot).map_or("", |key| key)
    }

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A convention file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    description: String,
    #[serde(default)]
    operation: Vec<String>,
    #[serde(default)]
    not_recorded: Vec<String>,
    r#match: Vec<FileMatch>,
    fields: FileFields,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileMatch {
    operation: FileOperation,
    when: Vec<FileCondition>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileOperation {
    InvokeAgent,
    ExecuteTool,
    /// Neither: a wrapper around calls that would be counted twice.
    None,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileFields {
    agent_name: Vec<String>,
    tool_name: Vec<String>,
    arguments: Vec<String>,
    result: Vec<String>,
    call_id: Vec<String>,
    error_type: Vec<String>,
}

impl FileFields {
    /// In the order of [`Field`].
    fn all(&self) -> [&Vec<String>; 6] {
        [&self.agent_name, &self.tool_name, &self.arguments, &self.result, &self.call_id, &self.error_type]
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileCondition {
    attribute: Option<String>,
    values: Option<Vec<String>>,
    prefixes: Option<Vec<String>>,
    absent: Option<String>,
    span_name: Option<String>,
    span_name_prefix: Option<String>,
    scope_name: Option<String>,
    scope_name_prefix: Option<String>,
}

impl File {
    fn check(&self, earlier: &[&str]) -> Result<(), String> {
        if self.name.is_empty() {
            return Err("`name` is empty".to_owned());
        }
        if earlier.contains(&self.name.as_str()) {
            return Err(format!("the name `{}` stands in an earlier file", self.name));
        }
        if self.r#match.is_empty() {
            return Err("there is no `[[match]]`".to_owned());
        }
        let mut tells_tools = false;
        for (position, matcher) in self.r#match.iter().enumerate() {
            let place = format!("`[[match]]` number {}", position + 1);
            if matcher.when.is_empty() {
                return Err(format!("{place} has no condition in `when` and would match every span"));
            }
            for condition in &matcher.when {
                condition.check().map_err(|what| format!("{place}: {what}"))?;
            }
            tells_tools |= matches!(matcher.operation, FileOperation::ExecuteTool);
        }
        if tells_tools && self.fields.tool_name.is_empty() {
            return Err("`fields.tool_name` is empty though a match tells execute_tool".to_owned());
        }
        if self.keys().any(str::is_empty) {
            return Err("an attribute key is empty".to_owned());
        }
        Ok(())
    }

    /// Every attribute key in the file.
    fn keys(&self) -> impl Iterator<Item = &str> {
        let conditions = self.r#match.iter().flat_map(|matcher| &matcher.when);
        let in_conditions = conditions.flat_map(|when| when.attribute.iter().chain(&when.absent));
        self.operation.iter().chain(self.fields.all().into_iter().flatten()).chain(in_conditions).map(String::as_str)
    }

    fn compile(self, wanted: &WantedKeys) -> Convention {
        let slots: BTreeMap<String, usize> =
            self.keys().filter_map(|key| Some((key.to_owned(), wanted.slot(key)?))).collect();
        let of = |keys: &Vec<String>| keys.iter().filter_map(|key| slots.get(key).copied()).collect::<Vec<usize>>();
        let matchers = self.r#match.iter().map(|matcher| Matcher {
            operation: match matcher.operation {
                FileOperation::InvokeAgent => Some(Operation::InvokeAgent),
                FileOperation::ExecuteTool => Some(Operation::ExecuteTool),
                FileOperation::None => None,
            },
            when: matcher.when.iter().filter_map(|condition| condition.compile(&slots)).collect(),
        });
        Convention {
            matchers: matchers.collect(),
            operation: of(&self.operation),
            fields: self.fields.all().map(of),
            name: self.name,
            description: self.description,
            not_recorded: self.not_recorded,
        }
    }
}

impl FileCondition {
    fn check(&self) -> Result<(), String> {
        let others = [&self.absent, &self.span_name, &self.span_name_prefix, &self.scope_name, &self.scope_name_prefix];
        let subjects = others.into_iter().chain([&self.attribute]).flatten().count();
        if subjects != 1 {
            return Err(format!("a condition must name one thing to look at, this one names {subjects}"));
        }
        if self.attribute.is_none() && (self.values.is_some() || self.prefixes.is_some()) {
            return Err("`values` and `prefixes` need an `attribute`".to_owned());
        }
        if self.values.is_some() && self.prefixes.is_some() {
            return Err("a condition has either `values` or `prefixes`".to_owned());
        }
        if [&self.values, &self.prefixes].into_iter().flatten().any(Vec::is_empty) {
            return Err("an empty list in a condition can never hold".to_owned());
        }
        Ok(())
    }

    fn compile(&self, slots: &BTreeMap<String, usize>) -> Option<Condition> {
        if let Some(key) = &self.attribute {
            let slot = *slots.get(key)?;
            return Some(match (&self.values, &self.prefixes) {
                (Some(values), _) => Condition::Values(slot, values.clone()),
                (None, Some(prefixes)) => Condition::Prefixes(slot, prefixes.clone()),
                (None, None) => Condition::Present(slot),
            });
        }
        if let Some(key) = &self.absent {
            return Some(Condition::Absent(*slots.get(key)?));
        }
        let by_name = |name: &Option<String>, make: fn(String) -> Condition| name.clone().map(make);
        by_name(&self.span_name, Condition::SpanName)
            .or_else(|| by_name(&self.span_name_prefix, Condition::SpanNamePrefix))
            .or_else(|| by_name(&self.scope_name, Condition::ScopeName))
            .or_else(|| by_name(&self.scope_name_prefix, Condition::ScopeNamePrefix))
    }
}
