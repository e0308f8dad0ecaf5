//! The mock world: records in collections, and tools whose results are declared. A state machine without any input but
//! its calls: the same calls give the same world, with the same ids.

use std::collections::BTreeMap;

use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::case::{Case, CaseRef, FaultKind, NEW, Tool, ToolResult};
use super::event::{Change, ChangeOp};
use super::place::unescaped;
use super::template::{Known, fill, fill_members};

/// A record: fields, `id` among them.
pub type Record = Map<String, Value>;

/// All records, and which of them the trial made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct WorldState {
    /// Records by collection, in the order in which they came.
    pub collections: BTreeMap<String, Vec<Record>>,
    /// Ids of records made in the trial and still there, by collection, in order.
    pub created: BTreeMap<String, Vec<String>>,
}

/// The id of a record; empty for one without.
#[must_use]
pub fn id_of(record: &Record) -> &str {
    record.get("id").and_then(Value::as_str).unwrap_or_default()
}

impl WorldState {
    /// As a trial of the case begins.
    #[must_use]
    pub fn initial(case: &Case) -> Self {
        Self { collections: case.world.clone(), created: BTreeMap::new() }
    }

    /// A record.
    #[must_use]
    pub fn record(&self, collection: &str, id: &str) -> Option<&Record> {
        self.collections.get(collection)?.iter().find(|record| id_of(record) == id)
    }

    /// Records that the trial made and that are still there, in the order in which they were made.
    #[must_use]
    pub fn new_records(&self, collection: &str) -> Vec<&Record> {
        let ids = self.created.get(collection).into_iter().flatten();
        ids.filter_map(|id| self.record(collection, id)).collect()
    }

    /// What a pointer names: `/collection/id/...` or `/collection/new/0/...`.
    #[must_use]
    pub fn value(&self, pointer: &str) -> Option<Value> {
        let mut parts = pointer.strip_prefix('/')?.splitn(3, '/');
        let collection = unescaped(parts.next()?);
        let id = unescaped(parts.next()?);
        let rest = parts.next();
        let (record, rest) = if id == NEW {
            let (place, rest) = match rest?.split_once('/') {
                Some((place, rest)) => (place, Some(rest)),
                None => (rest?, None),
            };
            (*self.new_records(&collection).get(place.parse::<usize>().ok()?)?, rest)
        } else {
            (self.record(&collection, &id)?, rest)
        };
        let whole = Value::Object(record.clone());
        match rest {
            None => Some(whole),
            Some(rest) => whole.pointer(&format!("/{rest}")).cloned(),
        }
    }

    /// What can be counted at a pointer: records of `/collection` or `/collection/new`, else items of an array.
    #[must_use]
    pub fn items(&self, pointer: &str) -> Option<Vec<Value>> {
        let parts: Vec<&str> = pointer.strip_prefix('/')?.split('/').collect();
        match parts[..] {
            [collection] => {
                let records = self.collections.get(&unescaped(collection))?;
                Some(records.iter().cloned().map(Value::Object).collect())
            }
            [collection, NEW] => {
                let collection = unescaped(collection);
                self.collections.get(&collection)?;
                Some(self.new_records(&collection).into_iter().cloned().map(Value::Object).collect())
            }
            _ => match self.value(pointer)? {
                Value::Array(items) => Some(items),
                _ => None,
            },
        }
    }

    /// Makes a change that was told by an event.
    pub fn apply(&mut self, change: &Change) {
        let Change { op, collection, id, after, .. } = change;
        let records = self.collections.entry(collection.clone()).or_default();
        let after = after.as_object().cloned();
        match (op, after) {
            (ChangeOp::Insert, Some(record)) => {
                records.push(record);
                self.created.entry(collection.clone()).or_default().push(id.clone());
            }
            (ChangeOp::Update, Some(record)) => {
                if let Some(old) = records.iter_mut().find(|old| id_of(old) == id) {
                    *old = record;
                }
            }
            (ChangeOp::Delete, _) => {
                records.retain(|record| id_of(record) != id);
                if let Some(created) = self.created.get_mut(collection) {
                    created.retain(|made| made != id);
                }
            }
            (ChangeOp::Insert | ChangeOp::Update, None) => {}
        }
    }
}

/// What the target is told.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// Done, with the result.
    Done(Value),
    /// Refused, with a message.
    ToolError(String),
    /// Nobody is told whether it was done.
    Lost,
    /// No more calls.
    Limit,
    /// No such tool.
    UnknownTool,
}

/// A world with the tools that work on it.
#[derive(Debug)]
pub struct World<'c> {
    case: CaseRef<'c>,
    state: WorldState,
    /// Records ever made by collection: an id is never given twice.
    made: BTreeMap<String, u64>,
    /// Of each tool; none where the schema cannot be used, which lint tells.
    parameters: BTreeMap<String, Option<Validator>>,
}

impl<'c> World<'c> {
    /// The world of a case as a trial begins.
    #[must_use]
    pub fn new(case: impl Into<CaseRef<'c>>) -> Self {
        let case = case.into();
        let validator = |tool: &Tool| (tool.name.clone(), jsonschema::validator_for(&tool.parameters).ok());
        let parameters = case.tools.iter().map(validator).collect();
        Self { state: WorldState::initial(&case), case, made: BTreeMap::new(), parameters }
    }

    /// What is in it.
    #[must_use]
    pub fn state(&self) -> &WorldState {
        &self.state
    }

    /// Whether arguments are what the contract of a tool asks for; one whose schema cannot be used takes any.
    #[must_use]
    pub fn fits(&self, tool: &str, arguments: &Value) -> bool {
        let validator = self.parameters.get(tool).and_then(Option::as_ref);
        validator.is_none_or(|validator| validator.is_valid(arguments))
    }

    /// Makes a call at a time of the mock world (RFC 3339), with what goes wrong in it: the message is that of a tool
    /// error. What changed is told also when the reply is lost.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        now: &str,
        fault: Option<(FaultKind, &str)>,
    ) -> (Reply, Vec<Change>) {
        let case = self.case.clone();
        let Some(tool) = case.tool(tool) else { return (Reply::UnknownTool, Vec::new()) };
        match fault {
            Some((FaultKind::ToolError, message)) => return (Reply::ToolError(message.to_owned()), Vec::new()),
            Some((FaultKind::LostBefore, _)) => return (Reply::Lost, Vec::new()),
            Some((FaultKind::Limit, _)) => return (Reply::Limit, Vec::new()),
            Some((FaultKind::LostAfter | FaultKind::Delay, _)) | None => {}
        }
        let validator = self.parameters.get(tool.name.as_str()).and_then(Option::as_ref);
        if let Some(error) = validator.and_then(|validator| validator.iter_errors(arguments).next()) {
            let pointer = error.instance_path().as_str().to_owned();
            return (Reply::ToolError(format!("invalid_arguments: {pointer} {}", error.masked())), Vec::new());
        }
        let (reply, changes) = self.run(tool, Known { arguments, now, actor: &case.actor });
        for change in &changes {
            self.state.apply(change);
        }
        // Only what was done can be lost after it was done.
        let is_lost = matches!((&reply, fault), (Reply::Done(_), Some((FaultKind::LostAfter, _))));
        (if is_lost { Reply::Lost } else { reply }, changes)
    }

    fn run(&mut self, tool: &Tool, known: Known<'_>) -> (Reply, Vec<Change>) {
        let missing = || (Reply::ToolError("not_found".to_owned()), Vec::new());
        match &tool.result {
            ToolResult::Constant { value } => (Reply::Done(fill(value, known).unwrap_or_default()), Vec::new()),
            ToolResult::Lookup { collection, conditions, fields, many } => {
                let wanted: Vec<(&str, Value)> = conditions
                    .iter()
                    .filter_map(|(field, template)| Some((field.as_str(), fill(template, known)?)))
                    .collect();
                let fits = |record: &&Record| {
                    wanted.iter().all(|(field, value)| record.get(*field).is_some_and(|have| same(have, value)))
                };
                let records = self.state.collections.get(collection).into_iter().flatten();
                let mut found = records.filter(fits).map(|record| shown(record, fields));
                if *many {
                    let found: Vec<Value> = found.collect();
                    return (Reply::Done(json!({ "count": found.len(), "records": found })), Vec::new());
                }
                found.next().map_or_else(missing, |record| (Reply::Done(record), Vec::new()))
            }
            ToolResult::Insert { collection, record, id_prefix } => {
                let id = self.next_id(collection, id_prefix);
                let mut made = fill_members(record, known);
                made.insert("id".to_owned(), Value::from(id.as_str()));
                let change = Change {
                    op: ChangeOp::Insert,
                    collection: collection.clone(),
                    id,
                    before: Value::Null,
                    after: Value::Object(made.clone()),
                };
                (Reply::Done(Value::Object(made)), vec![change])
            }
            ToolResult::Update { collection, id, set } => {
                let Some(old) = self.named(collection, id, known) else { return missing() };
                let mut record = old.clone();
                record.extend(fill_members(set, known).into_iter().filter(|(field, _)| field != "id"));
                let change = Change {
                    op: ChangeOp::Update,
                    collection: collection.clone(),
                    id: id_of(&old).to_owned(),
                    before: Value::Object(old),
                    after: Value::Object(record.clone()),
                };
                (Reply::Done(Value::Object(record)), vec![change])
            }
            ToolResult::Delete { collection, id } => {
                let Some(old) = self.named(collection, id, known) else { return missing() };
                let id = id_of(&old).to_owned();
                let change = Change {
                    op: ChangeOp::Delete,
                    collection: collection.clone(),
                    id: id.clone(),
                    before: Value::Object(old),
                    after: Value::Null,
                };
                (Reply::Done(json!({ "deleted": id })), vec![change])
            }
        }
    }

    fn named(&self, collection: &str, id: &Value, known: Known<'_>) -> Option<Record> {
        let id = fill(id, known)?;
        self.state.record(collection, id.as_str()?).cloned()
    }

    /// The prefix and a running number of the collection, past ids that are there or were when the trial began.
    fn next_id(&mut self, collection: &str, prefix: &str) -> String {
        let first: Vec<&str> = self.case.world.get(collection).into_iter().flatten().map(id_of).collect();
        let made = self.made.entry(collection.to_owned()).or_default();
        loop {
            *made += 1;
            let id = format!("{prefix}{made:04}");
            if !first.contains(&id.as_str()) && self.state.record(collection, &id).is_none() {
                return id;
            }
        }
    }
}

fn shown(record: &Record, fields: &[String]) -> Value {
    if fields.is_empty() {
        return Value::Object(record.clone());
    }
    let kept = record.iter().filter(|(field, _)| fields.contains(field));
    Value::Object(kept.map(|(field, value)| (field.clone(), value.clone())).collect())
}

/// Whether two JSON values are the same: numbers by value, objects whatever the order of keys.
#[must_use]
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let is_in = |(key, value): (&String, &Value)| other.get(key).is_some_and(|found| same(value, found));
            one.len() == other.len() && one.iter().all(is_in)
        }
        _ => one == other,
    }
}
