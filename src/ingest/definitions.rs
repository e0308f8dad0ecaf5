//! Tool definitions that spans carry: the tools a model was offered, or the tool that a call is of.
//!
//! Owns the three forms in which they stand on a span. What a definition says is for `tools` to read, and which of
//! several counts for `observe`. Start with [`of_span`].

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::convention::{Conventions, DefinitionForm, Place, SpanData};
use super::observe::Recording;
use super::otlp::any_value::AnyValue;

/// What a span says of tools. Its attributes are those of [`Conventions::observed_keys`].
pub(crate) fn of_span(conventions: &Conventions, span: &SpanData, start_ns: i64) -> Vec<Recording> {
    let mut found: Vec<Recording> = Vec::new();
    for form in conventions.definitions() {
        let (texts, offered) = match form {
            DefinitionForm::List(place) => (place.recorded(span).map(|text| vec![text.into_owned()]), true),
            DefinitionForm::Indexed { prefix, whole, name, description, schema } => {
                (Some(indexed(span, prefix, whole, [name, description, schema])), true)
            }
            DefinitionForm::Fields { name, description, schema } => {
                let text = fields(conventions, span, [name, description, schema]);
                (text.map(|text| vec![text]), false)
            }
        };
        for text in texts.into_iter().flatten() {
            // Several conventions may name the same place.
            if !found.iter().any(|earlier| earlier.text == text && earlier.offered == offered) {
                found.push(Recording { text, offered, start_ns });
            }
        }
    }
    found
}

/// The definitions under keys with numbers in them: whole ones, or put together from one attribute a member.
fn indexed(span: &SpanData, prefix: &str, whole: &[String], members: [&Vec<String>; 3]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut parts: BTreeMap<u64, [Option<String>; 3]> = BTreeMap::new();
    for (key, value) in span.attributes.indexed() {
        let Some((number, end)) = key.strip_prefix(prefix).and_then(numbered) else { continue };
        if whole.iter().any(|wanted| wanted == end) {
            texts.extend(value.recorded().map(std::borrow::Cow::into_owned));
        } else if let Some(member) = members.iter().position(|ends| ends.iter().any(|wanted| wanted == end)) {
            parts.entry(number).or_default()[member] = AnyValue::recorded(value).map(std::borrow::Cow::into_owned);
        }
    }
    texts.extend(parts.into_values().filter_map(|[name, description, schema]| composed(name?, description, schema)));
    texts
}

fn numbered(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

/// The definition of the tool that the span is a call of. A name alone defines nothing, and neither does that of a
/// hand-off.
fn fields(conventions: &Conventions, span: &SpanData, places: [&Vec<Place>; 3]) -> Option<String> {
    let [name, description, schema] = places;
    let name = name.iter().find_map(|place| place.scalar(span)).filter(|name| !name.is_empty())?;
    if conventions.is_no_tool(&name) {
        return None;
    }
    let first =
        |places: &[Place]| places.iter().find_map(|place| place.recorded(span)).map(std::borrow::Cow::into_owned);
    // Some frameworks write the arguments of the call where others write the schema.
    let schema = first(schema).filter(|text| is_schema_of_object(text));
    composed(name.into_owned(), first(description), schema)
}

fn composed(name: String, description: Option<String>, schema: Option<String>) -> Option<String> {
    if description.is_none() && schema.is_none() {
        return None;
    }
    let mut members = Map::new();
    members.insert("tool_name".to_owned(), Value::from(name));
    members.extend(description.map(|text| ("description".to_owned(), Value::from(text))));
    members.extend(schema.map(|text| ("json_schema".to_owned(), Value::from(text))));
    Some(Value::from(members).to_string())
}

/// Whether a text is the JSON Schema of an object, as the schema of arguments is.
fn is_schema_of_object(text: &str) -> bool {
    let Ok(Value::Object(schema)) = serde_json::from_str(text) else { return false };
    let is_object = schema.get("type").is_some_and(|name| name == "object");
    is_object || schema.get("properties").is_some_and(Value::is_object)
}
