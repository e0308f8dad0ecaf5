//! A convention file as it is written, what makes one usable, and its compiled form.

use serde::Deserialize;

use super::place::{Holder, Place};
use super::{
    BareValue, Condition, Convention, DefinitionForm, Failure, Matcher, Members, MessageForm, MessagePlace,
    MessageRole, Pointer, WantedKeys,
};
use crate::ingest::args::unwrap::Wrapper;
use crate::model::Operation;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) name: String,
    description: String,
    capture: Option<String>,
    #[serde(default)]
    operation: Vec<String>,
    #[serde(default)]
    not_recorded: Vec<String>,
    #[serde(default)]
    not_tools: Vec<String>,
    r#match: Vec<FileMatch>,
    #[serde(default)]
    fields: FileFields,
    #[serde(default)]
    arguments: FileArguments,
    #[serde(default)]
    failure: Vec<FileFailure>,
    #[serde(default)]
    calls: Vec<FileMessages>,
    #[serde(default)]
    results: Vec<FileMessages>,
    #[serde(default)]
    definitions: Vec<FileDefinitions>,
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
    agent_name: Vec<FilePlace>,
    tool_name: Vec<FilePlace>,
    arguments: Vec<FilePlace>,
    result: Vec<FilePlace>,
    call_id: Vec<FilePlace>,
    error_type: Vec<FilePlace>,
}

impl FileFields {
    /// In the order of [`super::Field`].
    fn all(&self) -> [(&'static str, &Vec<FilePlace>); 6] {
        [
            ("agent_name", &self.agent_name),
            ("tool_name", &self.tool_name),
            ("arguments", &self.arguments),
            ("result", &self.result),
            ("call_id", &self.call_id),
            ("error_type", &self.error_type),
        ]
    }
}

/// An attribute key, or a table that says more.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum FilePlace {
    Key(String),
    Table(PlaceTable),
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PlaceTable {
    attribute: Option<String>,
    event: Option<String>,
    span_name: bool,
    pointer: Option<String>,
    strip_prefix: Option<String>,
    strip_suffix: Option<String>,
}

impl FilePlace {
    fn table(&self) -> PlaceTable {
        match self {
            Self::Key(key) => PlaceTable { attribute: Some(key.clone()), ..PlaceTable::default() },
            Self::Table(table) => table.clone(),
        }
    }

    /// The key of an attribute of the span.
    fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Table(table) if table.event.is_none() => table.attribute.as_deref(),
            Self::Table(_) => None,
        }
    }

    fn check(&self) -> Result<(), String> {
        let table = self.table();
        if table.attribute.as_deref() == Some("") {
            return Err("an attribute key is empty".to_owned());
        }
        match (table.span_name, &table.event, &table.attribute) {
            (true, None, None) | (false, _, Some(_)) => {}
            (true, ..) => return Err("`span_name` stands alone, without `attribute` or `event`".to_owned()),
            (false, Some(_), None) => return Err("an `event` needs the `attribute` to take of it".to_owned()),
            (false, None, None) => return Err("a place names no `attribute`, `event` or `span_name`".to_owned()),
        }
        check_pointers(table.pointer.iter())
    }

    fn compile(&self, wanted: &WantedKeys) -> Option<Place> {
        let table = self.table();
        let holder = match (table.event, table.attribute) {
            (Some(name), Some(key)) => Holder::Event { name, key },
            (None, Some(key)) => Holder::Attribute(wanted.slot(&key)?),
            (_, None) => Holder::SpanName,
        };
        let PlaceTable { pointer, strip_prefix, strip_suffix, .. } = table;
        Some(Place { holder, pointer, strip_prefix, strip_suffix })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileArguments {
    unwrap: Vec<FileWrapper>,
    bare_value: FileBareValue,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FileBareValue {
    #[default]
    Kept,
    Lost,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWrapper {
    take: String,
    #[serde(default)]
    beside: Vec<String>,
    positional: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileFailure {
    attribute: Option<String>,
    event: Option<String>,
    result: Option<String>,
    result_like: Vec<String>,
    pointer: Option<String>,
    values: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileMessages {
    parts: Option<FilePlace>,
    list: Option<FilePlace>,
    inside: Option<String>,
    in_runs: bool,
    indexed: Option<String>,
    name: Vec<String>,
    arguments: Vec<String>,
    id: Vec<String>,
    result: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileDefinitions {
    list: Option<FilePlace>,
    indexed: Option<String>,
    whole: Vec<String>,
    name: Vec<FilePlace>,
    description: Vec<FilePlace>,
    schema: Vec<FilePlace>,
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
    span_name_suffix: Option<String>,
    scope_name: Option<String>,
    scope_name_prefix: Option<String>,
    root: Option<bool>,
}

impl File {
    pub(super) fn check(&self, earlier: &[&str]) -> Result<(), String> {
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
        for (field, places) in self.fields.all() {
            places.iter().try_for_each(FilePlace::check).map_err(|what| format!("`fields.{field}`: {what}"))?;
        }
        for (position, failure) in self.failure.iter().enumerate() {
            failure.check().map_err(|what| format!("`[[failure]]` number {}: {what}", position + 1))?;
        }
        for (section, messages) in [("calls", &self.calls), ("results", &self.results)] {
            for (position, messages) in messages.iter().enumerate() {
                let place = format!("`[[{section}]]` number {}", position + 1);
                messages.check(section == "calls").map_err(|what| format!("{place}: {what}"))?;
            }
        }
        for (position, definitions) in self.definitions.iter().enumerate() {
            definitions.check().map_err(|what| format!("`[[definitions]]` number {}: {what}", position + 1))?;
        }
        if self.keys().any(str::is_empty) {
            return Err("an attribute key is empty".to_owned());
        }
        Ok(())
    }

    /// Every attribute key in the file.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let conditions = self.r#match.iter().flat_map(|matcher| &matcher.when);
        let in_conditions = conditions.flat_map(|when| when.attribute.iter().chain(&when.absent)).map(String::as_str);
        let in_fields = self.fields.all().into_iter().flat_map(|(_, places)| places).filter_map(FilePlace::key);
        let in_failures = self.failure.iter().filter_map(|failure| failure.attribute.as_deref());
        let messages = self.calls.iter().chain(&self.results);
        let in_messages = messages.flat_map(|one| [&one.parts, &one.list]).flatten().filter_map(FilePlace::key);
        let operation = self.operation.iter().map(String::as_str);
        operation.chain(in_conditions).chain(in_fields).chain(in_failures).chain(in_messages)
    }

    /// The beginnings of attribute keys that have numbers in them.
    pub(super) fn indexed_prefixes(&self) -> impl Iterator<Item = &str> {
        let messages = self.calls.iter().chain(&self.results);
        messages.filter_map(|one| one.indexed.as_deref()?.split('*').next())
    }

    /// The attribute keys of tool definitions.
    pub(super) fn definition_keys(&self) -> impl Iterator<Item = &str> {
        let places = self.definitions.iter().filter(|one| one.indexed.is_none()).flat_map(|one| {
            let members = [&one.name, &one.description, &one.schema].into_iter().flatten();
            one.list.iter().chain(members)
        });
        places.filter_map(FilePlace::key)
    }

    /// The beginnings of such keys that have numbers in them.
    pub(super) fn definition_prefixes(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().filter_map(|one| one.indexed.as_deref()?.split('*').next())
    }

    pub(super) fn compile(self, wanted: &WantedKeys, observed: &WantedKeys) -> Convention {
        let matchers = self.r#match.iter().map(|matcher| Matcher {
            operation: match matcher.operation {
                FileOperation::InvokeAgent => Some(Operation::InvokeAgent),
                FileOperation::ExecuteTool => Some(Operation::ExecuteTool),
                FileOperation::None => None,
            },
            when: matcher.when.iter().filter_map(|condition| condition.compile(wanted)).collect(),
        });
        let failures: Vec<Failure> = self.failure.iter().filter_map(|failure| failure.compile(wanted)).collect();
        let of_role = |role: MessageRole, messages: &[FileMessages]| -> Vec<MessagePlace> {
            let place = |one: &FileMessages| {
                let words = role.words(&failures);
                Some(MessagePlace { role, in_runs: one.in_runs, form: one.compile(wanted)?, words })
            };
            messages.iter().filter_map(place).collect()
        };
        let mut messages = of_role(MessageRole::Calls, &self.calls);
        messages.extend(of_role(MessageRole::Results, &self.results));
        Convention {
            matchers: matchers.collect(),
            operation: self.operation.iter().filter_map(|key| wanted.slot(key)).collect(),
            fields: self
                .fields
                .all()
                .map(|(_, places)| places.iter().filter_map(|place| place.compile(wanted)).collect()),
            wrappers: self.arguments.unwrap.into_iter().map(FileWrapper::compile).collect(),
            bare_value: match self.arguments.bare_value {
                FileBareValue::Kept => BareValue::Kept,
                FileBareValue::Lost => BareValue::Lost,
            },
            failures,
            messages,
            definitions: self.definitions.iter().filter_map(|one| one.compile(observed)).collect(),
            name: self.name.into(),
            description: self.description,
            capture: self.capture,
            not_recorded: self.not_recorded,
            not_tools: self.not_tools,
        }
    }
}

impl FileWrapper {
    fn compile(self) -> Wrapper {
        Wrapper { take: self.take, beside: self.beside, positional: self.positional }
    }
}

impl FileFailure {
    fn check(&self) -> Result<(), String> {
        let named = [&self.attribute, &self.event, &self.result].into_iter().flatten().count();
        let subjects = named + usize::from(!self.result_like.is_empty());
        if subjects != 1 {
            let choice = "`attribute`, `event`, `result`, `result_like`";
            return Err(format!("it must name one of {choice}, this one names {subjects}"));
        }
        if self.attribute.is_none() && self.result.is_none() && !self.values.is_empty() {
            return Err("`values` need an `attribute` or a `result`".to_owned());
        }
        if self.pointer.is_some() && self.attribute.is_none() {
            return Err("`pointer` needs an `attribute`".to_owned());
        }
        check_pointers(self.result.iter().chain(&self.pointer))
    }

    fn compile(&self, wanted: &WantedKeys) -> Option<Failure> {
        let values = self.values.clone();
        if let Some(key) = &self.attribute {
            let slot = wanted.slot(key)?;
            return Some(match &self.pointer {
                Some(pointer) => Failure::Inside { slot, key: key.clone(), place: Pointer::new(pointer), values },
                None => Failure::Attribute { slot, key: key.clone(), values },
            });
        }
        if let Some(pointer) = &self.result {
            return Some(Failure::Result { place: Pointer::new(pointer), values });
        }
        if !self.result_like.is_empty() {
            return Some(Failure::ResultLike(self.result_like.clone()));
        }
        self.event.clone().map(Failure::Event)
    }
}

impl FileMessages {
    fn check(&self, are_calls: bool) -> Result<(), String> {
        let forms = [self.parts.is_some(), self.list.is_some(), self.indexed.is_some()];
        if forms.into_iter().filter(|given| *given).count() != 1 {
            return Err("it must have one of `parts`, `list`, `indexed`".to_owned());
        }
        for place in [&self.parts, &self.list].into_iter().flatten() {
            place.check()?;
        }
        if self.inside.is_some() && self.list.is_none() {
            return Err("`inside` needs a `list`".to_owned());
        }
        check_pointers(self.inside.iter())?;
        let members = [&self.name, &self.arguments, &self.id, &self.result];
        if self.parts.is_some() {
            let given = members.into_iter().any(|member| !member.is_empty());
            return if given { Err("`parts` have members of their own".to_owned()) } else { Ok(()) };
        }
        if are_calls && self.name.is_empty() {
            return Err("`name` says nowhere which tool is called".to_owned());
        }
        if !are_calls && (self.id.is_empty() || self.result.is_empty()) {
            return Err("`id` and `result` say which call has which result".to_owned());
        }
        match &self.indexed {
            Some(pattern) => {
                let numbers = pattern.matches('*').count();
                let wanted = if are_calls { 2 } else { 1 };
                if numbers != wanted || pattern.starts_with('*') || !pattern.ends_with('*') {
                    return Err(format!("`indexed` must have {wanted} `*` for the numbers, the last at its end"));
                }
                Ok(())
            }
            None => check_pointers(members.into_iter().flatten()),
        }
    }

    fn compile(&self, wanted: &WantedKeys) -> Option<MessageForm> {
        if let Some(place) = &self.parts {
            return place.compile(wanted).map(MessageForm::Parts);
        }
        let members = Members {
            name: self.name.clone(),
            arguments: self.arguments.clone(),
            id: self.id.clone(),
            result: self.result.clone(),
        };
        if let Some(place) = &self.list {
            return Some(MessageForm::List { place: place.compile(wanted)?, inside: self.inside.clone(), members });
        }
        let mut pieces = self.indexed.as_deref()?.split('*');
        let prefix = pieces.next().unwrap_or_default().to_owned();
        let middle = pieces.next().unwrap_or_default().to_owned();
        Some(MessageForm::Indexed { prefix, middle, members })
    }
}

impl FileDefinitions {
    fn check(&self) -> Result<(), String> {
        let members = || [&self.name, &self.description, &self.schema].into_iter().flatten();
        if self.list.is_some() && (self.indexed.is_some() || members().next().is_some()) {
            return Err("`list` stands alone".to_owned());
        }
        if !self.whole.is_empty() && (self.indexed.is_none() || members().next().is_some()) {
            return Err("`whole` needs `indexed`, and no other member beside it".to_owned());
        }
        if self.list.is_none() && self.whole.is_empty() && self.name.is_empty() {
            return Err("it must have `list`, `whole` or `name`".to_owned());
        }
        match &self.indexed {
            Some(pattern)
                if pattern.matches('*').count() != 1 || pattern.starts_with('*') || !pattern.ends_with('*') =>
            {
                Err("`indexed` must have one `*`, at its end".to_owned())
            }
            Some(_) if members().any(|end| !matches!(end, FilePlace::Key(_))) => {
                Err("members of `indexed` are ends of keys".to_owned())
            }
            Some(_) => Ok(()),
            None => self.list.iter().chain(members()).try_for_each(FilePlace::check),
        }
    }

    fn compile(&self, observed: &WantedKeys) -> Option<DefinitionForm> {
        if let Some(place) = &self.list {
            return place.compile(observed).map(DefinitionForm::List);
        }
        if let Some(pattern) = &self.indexed {
            let ends = |places: &[FilePlace]| places.iter().filter_map(FilePlace::key).map(str::to_owned).collect();
            return Some(DefinitionForm::Indexed {
                prefix: pattern.trim_end_matches('*').to_owned(),
                whole: self.whole.clone(),
                name: ends(&self.name),
                description: ends(&self.description),
                schema: ends(&self.schema),
            });
        }
        let places =
            |places: &[FilePlace]| places.iter().filter_map(|place| place.compile(observed)).collect::<Vec<Place>>();
        let (name, description) = (places(&self.name), places(&self.description));
        Some(DefinitionForm::Fields { name, description, schema: places(&self.schema) })
    }
}

impl FileCondition {
    fn check(&self) -> Result<(), String> {
        let texts = [
            &self.attribute,
            &self.absent,
            &self.span_name,
            &self.span_name_prefix,
            &self.span_name_suffix,
            &self.scope_name,
            &self.scope_name_prefix,
        ];
        let subjects = texts.into_iter().flatten().count() + usize::from(self.root.is_some());
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

    fn compile(&self, wanted: &WantedKeys) -> Option<Condition> {
        if let Some(key) = &self.attribute {
            let slot = wanted.slot(key)?;
            return Some(match (&self.values, &self.prefixes) {
                (Some(values), _) => Condition::Values(slot, values.clone()),
                (None, Some(prefixes)) => Condition::Prefixes(slot, prefixes.clone()),
                (None, None) => Condition::Present(slot),
            });
        }
        if let Some(key) = &self.absent {
            return Some(Condition::Absent(wanted.slot(key)?));
        }
        if let Some(root) = self.root {
            return Some(Condition::Root(root));
        }
        let by_name = |name: &Option<String>, make: fn(String) -> Condition| name.clone().map(make);
        by_name(&self.span_name, Condition::SpanName)
            .or_else(|| by_name(&self.span_name_prefix, Condition::SpanNamePrefix))
            .or_else(|| by_name(&self.span_name_suffix, Condition::SpanNameSuffix))
            .or_else(|| by_name(&self.scope_name, Condition::ScopeName))
            .or_else(|| by_name(&self.scope_name_prefix, Condition::ScopeNamePrefix))
    }
}

/// JSON pointers (RFC 6901) begin with a slash.
fn check_pointers<'p>(mut pointers: impl Iterator<Item = &'p String>) -> Result<(), String> {
    match pointers.find(|pointer| !pointer.starts_with('/') || pointer.len() < 2) {
        Some(pointer) => Err(format!("`{pointer}` is no JSON pointer such as `/data/status`")),
        None => Ok(()),
    }
}
