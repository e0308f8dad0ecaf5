//! Tool calls, and answers to them, in the messages of a model.
//!
//! In most frameworks a call of an undefined tool, or one refused for its arguments, never gets a span of its own: it
//! stands only in the messages of the chat span. Owns the three forms in which messages are written. It does not decide
//! which calls have spans (the store does) and keeps no message text. Start with [`calls_of`].

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::args::{python, text};
use super::convention::{Convention, Conventions, Members, MessageForm, MessagePlace, MessageRole, Place, SpanData};

/// A call as the model asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskedCall {
    pub(crate) name: String,
    /// As recorded: a text as it is, a structure as JSON.
    pub(crate) arguments: Option<String>,
    pub(crate) id: Option<String>,
}

/// A result that says that its call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedCall {
    pub(crate) id: String,
    pub(crate) failure: String,
}

/// The calls that the messages of a span ask for, in order, each with the convention that reads it. Of several places
/// that hold calls the first counts: they repeat one another. `is_run`: the span is the run of an agent.
pub(crate) fn calls_of<'c>(
    conventions: &'c Conventions,
    span: &SpanData,
    is_run: bool,
) -> Option<(&'c Convention, Vec<AskedCall>)> {
    let places = conventions.messages(MessageRole::Calls, is_run);
    places.map(|(convention, place)| (convention, calls_in(place, span))).find(|(_, calls)| !calls.is_empty())
}

fn calls_in(messages: &MessagePlace, span: &SpanData) -> Vec<AskedCall> {
    match &messages.form {
        MessageForm::Parts(place) => parts(messages, place, span, |part| {
            let name = part.name.filter(|name| !name.is_empty())?.into_owned();
            let arguments = part.arguments.or(part.args).and_then(recorded);
            Some(AskedCall { name, arguments, id: part.id.and_then(scalar) })
        }),
        MessageForm::List { place, inside, members } => list(place, inside.as_deref(), span)
            .iter()
            .filter_map(|entry| {
                let name = pointed(entry, &members.name).and_then(scalar_of).filter(|name| !name.is_empty())?;
                let arguments = pointed(entry, &members.arguments).map(recorded_of);
                Some(AskedCall { name, arguments, id: pointed(entry, &members.id).and_then(scalar_of) })
            })
            .collect(),
        MessageForm::Indexed { prefix, middle, members } => indexed(span, prefix, Some(middle), members)
            .into_values()
            .filter_map(|mut values| {
                let name = values.remove(&Member::Name).filter(|name| !name.is_empty())?;
                let arguments = values.remove(&Member::Arguments);
                Some(AskedCall { name, arguments, id: values.remove(&Member::Id) })
            })
            .collect(),
    }
}

/// Whether the span has messages that could hold calls, whether they do or not.
pub(crate) fn are_recorded(conventions: &Conventions, span: &SpanData, is_run: bool) -> bool {
    conventions.messages(MessageRole::Calls, is_run).any(|(convention, place)| match &place.form {
        MessageForm::Parts(place) | MessageForm::List { place, .. } => {
            place.recorded(span).is_some_and(|text| !convention.is_not_recorded(&text))
        }
        MessageForm::Indexed { prefix, .. } => span.attributes.indexed().any(|(key, _)| key.starts_with(&**prefix)),
    })
}

/// The results in the messages of a span that say that their calls failed.
pub(crate) fn failures_of(conventions: &Conventions, span: &SpanData, is_run: bool) -> Vec<FailedCall> {
    let places = conventions.messages(MessageRole::Results, is_run);
    places.flat_map(|(convention, place)| failures_in(convention, place, span)).collect()
}

fn failures_in(convention: &Convention, messages: &MessagePlace, span: &SpanData) -> Vec<FailedCall> {
    let failed = |id: String, result: &str| {
        let failure = convention.failure_in_result(result)?;
        Some(FailedCall { id, failure })
    };
    match &messages.form {
        MessageForm::Parts(place) => parts(messages, place, span, |part| {
            let id = part.id.and_then(scalar)?;
            if part.is_error.or(part.is_error_camel) == Some(true) {
                return Some(FailedCall { id, failure: "tool_call_response is_error=true".to_owned() });
            }
            let result = part.result.or(part.response).or(part.content).and_then(recorded)?;
            failed(id, &result)
        }),
        MessageForm::List { place, inside, members } => list(place, inside.as_deref(), span)
            .iter()
            .filter_map(|entry| {
                let id = pointed(entry, &members.id).and_then(scalar_of)?;
                failed(id, &pointed(entry, &members.result).map(recorded_of)?)
            })
            .collect(),
        MessageForm::Indexed { prefix, members, .. } => indexed(span, prefix, None, members)
            .into_values()
            .filter_map(|mut values| failed(values.remove(&Member::Id)?, &values.remove(&Member::Result)?))
            .collect(),
    }
}

/// A message of the GenAI conventions, as far as it matters here.
#[derive(Deserialize)]
struct Message<'t> {
    #[serde(borrow, default)]
    parts: Vec<Part<'t>>,
}

#[derive(Deserialize)]
struct Part<'t> {
    #[serde(borrow, default, rename = "type")]
    kind: Cow<'t, str>,
    #[serde(borrow, default)]
    name: Option<Cow<'t, str>>,
    #[serde(borrow, default)]
    id: Option<&'t RawValue>,
    #[serde(borrow, default)]
    arguments: Option<&'t RawValue>,
    #[serde(borrow, default)]
    args: Option<&'t RawValue>,
    #[serde(borrow, default)]
    result: Option<&'t RawValue>,
    #[serde(borrow, default)]
    response: Option<&'t RawValue>,
    #[serde(borrow, default)]
    content: Option<&'t RawValue>,
    #[serde(default)]
    is_error: Option<bool>,
    #[serde(default, rename = "isError")]
    is_error_camel: Option<bool>,
}

/// What `read` makes of the parts that are meant. Their words are looked for first: most messages hold none and are
/// not parsed.
fn parts<T>(messages: &MessagePlace, place: &Place, span: &SpanData, read: impl Fn(Part) -> Option<T>) -> Vec<T> {
    if !messages.words.iter().all(|words| place.may_mention(span, words)) {
        return Vec::new();
    }
    let Some(text) = place.recorded(span) else { return Vec::new() };
    let json = unquoted(&text);
    let wanted = messages.role.part_type();
    let read_all = |messages: Vec<Message>| {
        let parts = messages.into_iter().flat_map(|message| message.parts);
        parts.filter(|part| part.kind == wanted).filter_map(&read).collect()
    };
    if let Ok(messages) = serde_json::from_str(&json) {
        return read_all(messages);
    }
    // Some print a Python literal in place of JSON.
    let literal = if json_text(&json) { None } else { python::to_json(&json) };
    let json = literal.as_deref().unwrap_or(&json);
    // One message without the array around it.
    let one = |_| serde_json::from_str(json).map(|message| vec![message]);
    read_all(serde_json::from_str(json).or_else(one).unwrap_or_default())
}

/// The entries of a JSON array, or of the arrays inside its entries. An array of texts that are JSON objects is read as
/// the same array.
fn list(place: &Place, inside: Option<&str>, span: &SpanData) -> Vec<Value> {
    let Some(text) = place.recorded(span) else { return Vec::new() };
    let entries: Vec<Value> = serde_json::from_str(&unquoted(&text)).unwrap_or_default();
    let unquote = |entry: Value| match entry {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        other => other,
    };
    let entries = entries.into_iter().map(unquote);
    let Some(inside) = inside else { return entries.collect() };
    let held = entries.filter_map(|mut entry| entry.pointer_mut(inside).map(Value::take));
    held.filter_map(|held| if let Value::Array(entries) = held { Some(entries) } else { None }).flatten().collect()
}

fn json_text(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// JSON that stands in a JSON string, once.
fn unquoted(text: &str) -> Cow<'_, str> {
    let inner = text.trim_start().starts_with('"').then(|| serde_json::from_str::<String>(text).ok()).flatten();
    inner.map_or(Cow::Borrowed(text), Cow::Owned)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Member {
    Name,
    Arguments,
    Id,
    Result,
}

/// The values of attributes with numbers in their keys, by those numbers.
fn indexed(
    span: &SpanData,
    prefix: &str,
    middle: Option<&str>,
    members: &Members,
) -> BTreeMap<(u64, u64), BTreeMap<Member, String>> {
    let ends = [
        (Member::Name, &members.name),
        (Member::Arguments, &members.arguments),
        (Member::Id, &members.id),
        (Member::Result, &members.result),
    ];
    let mut found: BTreeMap<(u64, u64), BTreeMap<Member, String>> = BTreeMap::new();
    for (key, value) in span.attributes.indexed() {
        let Some((first, rest)) = key.strip_prefix(prefix).and_then(number) else { continue };
        let Some((second, end)) = (match middle {
            None => Some((0, rest)),
            Some(middle) => rest.strip_prefix(middle).and_then(number),
        }) else {
            continue;
        };
        let member = ends.iter().find(|(_, ends)| ends.iter().any(|wanted| wanted == end));
        if let (Some((member, _)), Some(text)) = (member, value.recorded()) {
            found.entry((first, second)).or_default().entry(*member).or_insert_with(|| text.into_owned());
        }
    }
    found
}

/// The number at the beginning of a text, and what stands behind it.
fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

fn pointed<'v>(entry: &'v Value, pointers: &[String]) -> Option<&'v Value> {
    pointers.iter().find_map(|pointer| entry.pointer(pointer)).filter(|value| !value.is_null())
}

fn scalar_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn recorded_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn scalar(value: &RawValue) -> Option<String> {
    if value.get().starts_with(['{', '[']) { None } else { recorded(value) }
}

fn recorded(value: &RawValue) -> Option<String> {
    match value.get() {
        "null" => None,
        json => Some(text::decode(json).map_or_else(|| json.to_owned(), Cow::into_owned)),
    }
}
