//! Where in a span a value stands: an attribute, an attribute of an event, the span's name, or inside their JSON.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ingest::otlp::any_value::{AnyValue, Attributes, Words};
use crate::ingest::otlp::ids::Id;
use crate::model::SpanId;

/// What a convention looks at.
#[derive(Clone, Copy)]
pub(crate) struct SpanData<'s, 'de> {
    /// The wanted attributes.
    pub(crate) attributes: &'s Attributes<'de>,
    /// The span's name.
    pub(crate) name: Option<&'s str>,
    /// The name of its instrumentation scope.
    pub(crate) scope_name: Option<&'s str>,
    /// The JSON text of its parent's id.
    pub(crate) parent_span_id: Option<&'de str>,
    /// The JSON text of its events.
    pub(crate) events: Option<&'de str>,
}

impl<'de> SpanData<'_, 'de> {
    /// Whether it names no parent.
    pub(crate) fn is_root(&self) -> bool {
        Id::<SpanId>::read(self.parent_span_id) == Id::Missing
    }

    /// Whether an event of this name is there.
    pub(crate) fn has_event(&self, name: &str) -> bool {
        self.events_named(name).next().is_some()
    }

    /// The attribute of the first event of this name that has it.
    fn of_event(&self, name: &str, key: &str) -> Option<AnyValue<'de>> {
        self.events_named(name).find_map(|event| {
            let found = event.attributes.iter().find(|attribute| attribute.key == key)?;
            let value = AnyValue::read(found.value?.get());
            (!value.is_empty()).then_some(value)
        })
    }

    fn events_named<'n>(&self, name: &'n str) -> impl Iterator<Item = Event<'de>> + use<'n, 'de> {
        // Most spans have none, and few conventions ask.
        let quoted = self.events.filter(|events| memchr::memmem::find(events.as_bytes(), name.as_bytes()).is_some());
        let events: Vec<Event<'de>> = quoted.and_then(|events| serde_json::from_str(events).ok()).unwrap_or_default();
        events.into_iter().filter(move |event| event.name == name)
    }
}

#[derive(Deserialize)]
struct Event<'j> {
    #[serde(borrow, default)]
    name: Cow<'j, str>,
    #[serde(borrow, default)]
    attributes: Vec<EventAttribute<'j>>,
}

#[derive(Deserialize)]
struct EventAttribute<'j> {
    #[serde(borrow, default)]
    key: Cow<'j, str>,
    #[serde(borrow, default)]
    value: Option<&'j RawValue>,
}

/// One place where a value may stand.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(super) holder: Holder,
    /// JSON pointer into the value, which is then JSON text or a structure.
    pub(super) pointer: Option<String>,
    pub(super) strip_prefix: Option<String>,
    pub(super) strip_suffix: Option<String>,
}

/// What holds the value.
#[derive(Debug, Clone)]
pub(super) enum Holder {
    Attribute(usize),
    Event { name: String, key: String },
    SpanName,
}

impl Place {
    /// The value as a name or an id: none of a structure.
    pub(crate) fn scalar<'s, 'de>(&self, span: &'s SpanData<'s, 'de>) -> Option<Cow<'s, str>> {
        let text = match (&self.pointer, self.value(span)) {
            (None, Held::Value(value)) => value.scalar()?,
            (None, Held::Text(text)) => Cow::Borrowed(text),
            (Some(pointer), held) => match held.structure()?.pointer(pointer)? {
                Value::String(text) => Cow::Owned(text.clone()),
                scalar @ (Value::Number(_) | Value::Bool(_)) => Cow::Owned(scalar.to_string()),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            },
            (None, Held::None) => return None,
        };
        Some(self.stripped(text))
    }

    /// The value as a row keeps it: a string as it is, anything else as compact JSON.
    pub(crate) fn recorded<'s, 'de>(&self, span: &'s SpanData<'s, 'de>) -> Option<Cow<'s, str>> {
        let text = match (&self.pointer, self.value(span)) {
            (None, Held::Value(value)) => value.recorded()?,
            (None, Held::Text(text)) => Cow::Borrowed(text),
            (None, Held::None) => return None,
            (Some(pointer), held) => match held.structure()?.pointer(pointer)? {
                Value::Null => return None,
                Value::String(text) => Cow::Owned(text.clone()),
                other => Cow::Owned(other.to_string()),
            },
        };
        Some(self.stripped(text))
    }

    /// Whether it is in this attribute, or in that of an event: its name and the key.
    pub(crate) fn stands_in(&self, slot: Option<usize>, event: Option<(&str, &str)>) -> bool {
        match &self.holder {
            Holder::Attribute(own) => slot == Some(*own),
            Holder::Event { name, key } => event == Some((name, key)),
            Holder::SpanName => false,
        }
    }

    /// Whether the value may have one of these words in it, told without decoding it.
    pub(crate) fn may_mention(&self, span: &SpanData, words: &Words) -> bool {
        match &self.holder {
            Holder::Attribute(slot) => span.attributes.may_mention(*slot, words),
            Holder::Event { .. } => span.events.is_some(),
            Holder::SpanName => true,
        }
    }

    fn value<'s, 'de>(&self, span: &SpanData<'s, 'de>) -> Held<'s, 'de> {
        match &self.holder {
            Holder::Attribute(slot) => span.attributes.get(*slot).map_or(Held::None, Held::Value),
            Holder::Event { name, key } => span.of_event(name, key).map_or(Held::None, Held::Value),
            Holder::SpanName => span.name.map_or(Held::None, Held::Text),
        }
    }

    fn stripped<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        let mut rest: &str = &text;
        if let Some(prefix) = &self.strip_prefix {
            let after = match prefix.split_once('*') {
                None => rest.strip_prefix(prefix.as_str()),
                Some((head, tail)) => {
                    rest.strip_prefix(head).and_then(|rest| rest.split_once(tail)).map(|(_, after)| after)
                }
            };
            rest = after.unwrap_or(rest);
        }
        if let Some(suffix) = &self.strip_suffix {
            rest = rest.strip_suffix(suffix.as_str()).unwrap_or(rest);
        }
        if rest.len() == text.len() { text } else { Cow::Owned(rest.to_owned()) }
    }
}

enum Held<'s, 'de> {
    Value(AnyValue<'de>),
    Text(&'s str),
    None,
}

impl Held<'_, '_> {
    fn structure(self) -> Option<Value> {
        match self {
            Self::Value(value) => structure(&value.recorded()?),
            Self::Text(text) => structure(text),
            Self::None => None,
        }
    }
}

/// The object or array that a text is, also when it stands in a JSON string once more.
pub(super) fn structure(text: &str) -> Option<Value> {
    let parse = |text: &str| -> Option<Value> {
        if !text.trim_start().starts_with(['{', '[', '"']) {
            return None;
        }
        serde_json::from_str(text).ok()
    };
    match parse(text)? {
        Value::String(inner) => parse(&inner).filter(|value| value.is_object() || value.is_array()),
        value => Some(value),
    }
}
