//! Where a tools.json and the tool definitions in traces part.
//!
//! Owns the comparison: names, descriptions, and schemas key by key, without what only annotates them. It reads no
//! file and writes no text. Start with [`drift`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::observe::Observed;
use super::tools::inspect_schema;
use crate::model::{DeclaredParam, ToolSet};

/// Members of a schema that say nothing of which arguments fit.
const ANNOTATIONS: [&str; 9] =
    ["title", "description", "default", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly"];
/// Members of a schema that hold schemas under names of their own.
const NAMED_SCHEMAS: [&str; 4] = ["properties", "patternProperties", "$defs", "definitions"];

/// One difference. Keys are those of the arguments; types are joined with `|`, empty for any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Difference {
    /// The traces define the tool, tools.json does not.
    NotInTools,
    /// Neither defines the tool, and it was called so often.
    Undefined {
        /// Calls.
        calls: u64,
        /// The defined name that is most like it, when one is near.
        nearest: Option<String>,
    },
    /// tools.json defines the tool; the traces define tools, but not this one.
    NotInTraces,
    /// The descriptions differ.
    Description,
    /// The schema in the traces has the key, that of tools.json does not.
    KeyAdded {
        /// The key.
        key: String,
    },
    /// The schema of tools.json has the key, that in the traces does not.
    KeyRemoved {
        /// The key.
        key: String,
    },
    /// The key has other types.
    KeyType {
        /// The key.
        key: String,
        /// In tools.json.
        tools: String,
        /// In the traces.
        traces: String,
    },
    /// The key must be there in one of the two only.
    KeyRequired {
        /// The key.
        key: String,
        /// Whether it must in the traces.
        in_traces: bool,
    },
    /// What the key accepts differs inside its type.
    KeyInside {
        /// The key.
        key: String,
    },
    /// The schemas differ beside their keys.
    SchemaOther,
}

impl Difference {
    /// A stable name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotInTools => "not_in_tools",
            Self::Undefined { .. } => "undefined",
            Self::NotInTraces => "not_in_traces",
            Self::Description => "description",
            Self::KeyAdded { .. } => "key_added",
            Self::KeyRemoved { .. } => "key_removed",
            Self::KeyType { .. } => "key_type",
            Self::KeyRequired { .. } => "key_required",
            Self::KeyInside { .. } => "key_inside",
            Self::SchemaOther => "schema_other",
        }
    }
}

/// What the comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// Tools of tools.json.
    pub tools: u64,
    /// Tools that the traces define, with or without a schema.
    pub recorded: u64,
    /// Tools whose schemas were compared.
    pub compared: u64,
    /// Differences by the name of the tool, in order.
    pub differences: BTreeMap<String, Vec<Difference>>,
    /// Tools that tools.json defines and nobody called. No difference: a tool may just not have been needed.
    pub never_called: Vec<String>,
}

/// Compares a tools.json with what traces carry.
#[must_use]
pub fn drift(observed: &Observed, set: &ToolSet) -> Drift {
    let recorded = observed.tools.chosen();
    let defined: BTreeSet<&str> = set.tools.iter().map(|tool| tool.tool_name.as_str()).collect();
    let in_traces: BTreeSet<&str> = recorded.iter().map(|chosen| chosen.tool.tool_name.as_str()).collect();
    let mut found = Drift { tools: set.tools.len() as u64, recorded: recorded.len() as u64, ..Drift::default() };
    for chosen in &recorded {
        let name = &chosen.tool.tool_name;
        let Some(tool) = set.tools.iter().find(|tool| tool.tool_name == *name) else {
            found.add(name, Difference::NotInTools);
            continue;
        };
        if !chosen.tool.description.is_empty() && chosen.tool.description.trim() != tool.description.trim() {
            found.add(name, Difference::Description);
        }
        if let Some(schema) = &chosen.tool.json_schema
            && let Some(differences) = schema_differences(&tool.json_schema, schema)
        {
            found.compared += 1;
            differences.into_iter().for_each(|difference| found.add(name, difference));
        }
    }
    for tool in &set.tools {
        let name = &tool.tool_name;
        let is_called = observed.called.contains_key(name);
        if !in_traces.is_empty() && !in_traces.contains(name.as_str()) && !is_called {
            found.add(name, Difference::NotInTraces);
        }
        if !is_called {
            found.never_called.push(name.clone());
        }
    }
    for (name, calls) in &observed.called {
        if !defined.contains(name.as_str()) && !in_traces.contains(name.as_str()) {
            let nearest = nearest(name, defined.iter().chain(&in_traces).copied());
            found.add(name, Difference::Undefined { calls: *calls, nearest: nearest.map(str::to_owned) });
        }
    }
    found.never_called.sort();
    found
}

impl Drift {
    fn add(&mut self, name: &str, difference: Difference) {
        self.differences.entry(name.to_owned()).or_default().push(difference);
    }
}

/// The differences between two schemas; none when one of them is no JSON Schema.
fn schema_differences(tools: &str, traces: &str) -> Option<Vec<Difference>> {
    let params = |text: &str| -> Option<BTreeMap<String, DeclaredParam>> {
        Some(inspect_schema(text).ok()?.into_iter().map(|param| (param.key.clone(), param)).collect())
    };
    let (ours, theirs) = (params(tools)?, params(traces)?);
    let bare = |text: &str| serde_json::from_str(text).ok().map(without_annotations);
    let (our_schema, their_schema) = (bare(tools)?, bare(traces)?);
    let mut found = Vec::new();
    for (key, our) in &ours {
        let Some(their) = theirs.get(key) else {
            found.push(Difference::KeyRemoved { key: key.clone() });
            continue;
        };
        if our.types.iter().collect::<BTreeSet<_>>() != their.types.iter().collect() {
            let (tools, traces) = (our.declared_type(), their.declared_type());
            found.push(Difference::KeyType { key: key.clone(), tools, traces });
        } else if property(&our_schema, key) != property(&their_schema, key) {
            found.push(Difference::KeyInside { key: key.clone() });
        }
        if our.required_position.is_some() != their.required_position.is_some() {
            found.push(Difference::KeyRequired { key: key.clone(), in_traces: their.required_position.is_some() });
        }
    }
    let added = theirs.keys().filter(|key| !ours.contains_key(*key));
    found.extend(added.map(|key| Difference::KeyAdded { key: key.clone() }));
    if beside_keys(our_schema) != beside_keys(their_schema) {
        found.push(Difference::SchemaOther);
    }
    Some(found)
}

fn property<'v>(schema: &'v Value, key: &str) -> Option<&'v Value> {
    schema.get("properties")?.get(key)
}

/// What a schema says beside `properties` and `required`, which are compared key by key.
fn beside_keys(schema: Value) -> Value {
    let Value::Object(mut members) = schema else { return schema };
    members.remove("properties");
    members.remove("required");
    // A schema of arguments is that of an object, said or not.
    members.entry("type").or_insert_with(|| Value::from("object"));
    Value::Object(members)
}

fn without_annotations(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(key, _)| !ANNOTATIONS.contains(&key.as_str()));
            let kept = kept.map(|(key, value)| match value {
                // The names in here are not members of a schema: a key may be called `title`.
                Value::Object(named) if NAMED_SCHEMAS.contains(&key.as_str()) => {
                    let named = named.into_iter().map(|(name, schema)| (name, without_annotations(schema)));
                    (key, Value::Object(named.collect::<Map<String, Value>>()))
                }
                // Values, not schemas; the order in which an enum is written says nothing either way.
                value if matches!(key.as_str(), "enum" | "const" | "required") => (key, value),
                value => (key, without_annotations(value)),
            });
            Value::Object(kept.collect())
        }
        Value::Array(members) => Value::Array(members.into_iter().map(without_annotations).collect()),
        scalar => scalar,
    }
}

/// The name most like `name`, when at most a third of its letters (and at least two) must change.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).max(2);
    let near = known.map(|known| (distance(name, known), known)).filter(|(distance, _)| *distance <= limit);
    near.min().map(|(_, known)| known)
}

/// How many letters must be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
