//! Values of a tool's contract: plain JSON in which `{"$arg": "/pointer"}`, `{"$now": true}` and `{"$actor": "id"}`
//! stand for what is known at the call. There is nothing else in it that could be run.

use serde_json::{Map, Value};

use super::case::Actor;

/// What a template may name.
#[derive(Debug, Clone, Copy)]
pub struct Known<'k> {
    /// Arguments of the call.
    pub arguments: &'k Value,
    /// The time in the mock world, RFC 3339.
    pub now: &'k str,
    /// Who speaks.
    pub actor: &'k Actor,
}

/// The value with everything put in; none for an argument that was not given.
#[must_use]
pub fn fill(template: &Value, known: Known<'_>) -> Option<Value> {
    match template {
        Value::Object(members) => match sole(members) {
            Some(("$arg", Value::String(pointer))) => known.arguments.pointer(pointer).cloned(),
            Some(("$now", _)) => Some(Value::from(known.now)),
            Some(("$actor", Value::String(field))) => actor_field(known.actor, field),
            _ => Some(Value::Object(fill_members(members, known))),
        },
        // In an array, what was not given leaves a null, so that places stay.
        Value::Array(items) => {
            Some(items.iter().map(|item| fill(item, known).unwrap_or_default()).collect::<Vec<_>>().into())
        }
        plain => Some(plain.clone()),
    }
}

/// The same of members; those that name an argument which was not given are left out.
#[must_use]
pub fn fill_members(members: &Map<String, Value>, known: Known<'_>) -> Map<String, Value> {
    members.iter().filter_map(|(key, value)| Some((key.clone(), fill(value, known)?))).collect()
}

fn sole(members: &Map<String, Value>) -> Option<(&str, &Value)> {
    let (key, value) = members.iter().next().filter(|_| members.len() == 1)?;
    Some((key.as_str(), value))
}

/// A field of the actor; none for one that an actor does not have.
fn actor_field(actor: &Actor, field: &str) -> Option<Value> {
    match field {
        "id" => Some(Value::from(actor.id.as_str())),
        "name" => Some(Value::from(actor.name.as_str())),
        "role" => Some(Value::from(actor.role.as_str())),
        "org" => actor.org.as_deref().map(Value::from),
        _ => None,
    }
}

/// What is wrong in a template, in order: pointers into it and the word at fault.
#[must_use]
pub fn mistakes(template: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    look(template, &mut String::new(), &mut found);
    found
}

fn look(template: &Value, pointer: &mut String, found: &mut Vec<(String, String)>) {
    let length = pointer.len();
    match template {
        Value::Object(members) => {
            for (key, value) in members {
                pointer.push('/');
                pointer.push_str(&super::place::escaped(key));
                if key.starts_with('$') {
                    let is_right = members.len() == 1
                        && match (key.as_str(), value) {
                            ("$arg", Value::String(to)) => is_pointer(to),
                            ("$now", Value::Bool(true)) => true,
                            ("$actor", Value::String(field)) => ["id", "name", "role", "org"].contains(&field.as_str()),
                            _ => false,
                        };
                    if !is_right {
                        found.push((pointer.clone(), key.clone()));
                    }
                } else {
                    look(value, pointer, found);
                }
                pointer.truncate(length);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push_str(&format!("/{index}"));
                look(item, pointer, found);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

/// Whether a text is a JSON Pointer (RFC 6901).
#[must_use]
pub fn is_pointer(text: &str) -> bool {
    let escapes_end = |part: &str| part.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    text.is_empty() || (text.starts_with('/') && escapes_end(text))
}
