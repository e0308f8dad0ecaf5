//! `AnyValue`, the value of an OTLP attribute, and the attributes of a span or a resource.
//!
//! Owns the kinds of value and their compact JSON text. Nothing is decoded before it is asked for: most values that are
//! read belong to spans that are dropped.

use std::borrow::Cow;
use std::collections::BTreeSet;

use memchr::memmem;
use serde::de::{MapAccess, SeqAccess};
use serde_json::value::RawValue;

use super::ids::decode_base64;
use crate::ingest::args::{MAX_ARGS_DEPTH, text};
use crate::ingest::convention::WantedKeys;
use crate::ingest::document::json::{self, Key, Met, Reader, Tolerant, read_raw};
use crate::model::JsonType;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Empty,
    String,
    Integer,
    Double,
    Boolean,
    Bytes,
    Array,
    Map,
}

/// The kind of a value and its JSON text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnyValue<'de> {
    kind: Kind,
    json: &'de str,
}

impl<'de> AnyValue<'de> {
    const EMPTY: Self = Self { kind: Kind::Empty, json: "null" };

    /// Reads the JSON text of an AnyValue. A bare scalar in place of the object counts as the value it is.
    pub(crate) fn read(value: &'de str) -> Self {
        if let Some(json) = lone_string(value) {
            return Self { kind: Kind::String, json };
        }
        let mut read = Self::EMPTY;
        match text::written_type(value) {
            JsonType::Object => {
                read_raw(value, &mut read);
            }
            JsonType::String => read = Self { kind: Kind::String, json: value },
            JsonType::Integer => read = Self { kind: Kind::Integer, json: value },
            JsonType::Number => read = Self { kind: Kind::Double, json: value },
            JsonType::Boolean => read = Self { kind: Kind::Boolean, json: value },
            JsonType::Array | JsonType::Null => {}
        }
        read
    }

    /// Whether there is no value at all: `{}`, null, or a kind that is not known.
    pub(crate) fn is_empty(self) -> bool {
        self.kind == Kind::Empty
    }

    /// The name of its kind.
    pub(crate) const fn kind_name(self) -> &'static str {
        match self.kind {
            Kind::Empty => "empty",
            Kind::String => "string",
            Kind::Integer => "integer",
            Kind::Double => "double",
            Kind::Boolean => "boolean",
            Kind::Bytes => "bytes",
            Kind::Array => "array",
            Kind::Map => "kvlist",
        }
    }

    /// The text of a string, a number or a boolean; none of a structure.
    pub(crate) fn scalar(self) -> Option<Cow<'de, str>> {
        match self.kind {
            Kind::String => Some(text::decode(self.json).unwrap_or(Cow::Borrowed(self.json))),
            Kind::Integer | Kind::Double | Kind::Boolean => {
                let mut out = String::new();
                self.write_json(&mut out);
                Some(Cow::Owned(out))
            }
            Kind::Empty | Kind::Bytes | Kind::Array | Kind::Map => None,
        }
    }

    /// The text that a row keeps: a string as recorded, anything else as compact JSON; none without a value.
    pub(crate) fn recorded(self) -> Option<Cow<'de, str>> {
        match self.kind {
            Kind::Empty => None,
            Kind::String => self.scalar(),
            // Taken as it stands: its depth then shows as the reason why it has no canonical form.
            Kind::Array | Kind::Map if text::is_deeper_than(self.json, MAX_ARGS_DEPTH) => {
                Some(Cow::Borrowed(self.json))
            }
            Kind::Integer | Kind::Double | Kind::Boolean | Kind::Bytes | Kind::Array | Kind::Map => {
                let mut out = String::with_capacity(self.json.len());
                self.write_json(&mut out);
                Some(Cow::Owned(out))
            }
        }
    }

    /// Recursion is bounded because `recorded` refuses text of more than 128 levels, and each level here takes three.
    fn write_json(self, out: &mut String) {
        match self.kind {
            Kind::Empty => out.push_str("null"),
            Kind::String => write_literal(self.json, out),
            Kind::Integer => write_integer(self.json, out),
            Kind::Double => write_double(self.json, out),
            Kind::Boolean => match text::decode(self.json).as_deref().unwrap_or(self.json) {
                boolean @ ("true" | "false") => out.push_str(boolean),
                _ => write_literal(self.json, out),
            },
            Kind::Bytes => write_bytes(self.json, out),
            Kind::Array => {
                out.push('[');
                read_raw(self.json, &mut Values { out, keyed: false, first: true });
                out.push(']');
            }
            Kind::Map => {
                out.push('{');
                read_raw(self.json, &mut Values { out, keyed: true, first: true });
                out.push('}');
            }
        }
    }
}

impl<'de> Reader<'de> for AnyValue<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let kind = match &*key {
                b"stringValue" | b"string_value" => Kind::String,
                b"intValue" | b"int_value" => Kind::Integer,
                b"doubleValue" | b"double_value" => Kind::Double,
                b"boolValue" | b"bool_value" => Kind::Boolean,
                b"bytesValue" | b"bytes_value" => Kind::Bytes,
                b"arrayValue" | b"array_value" => Kind::Array,
                b"kvlistValue" | b"kvlist_value" => Kind::Map,
                _ => {
                    json::skip(&mut map)?;
                    continue;
                }
            };
            let json = json::raw(&mut map)?;
            if self.kind == Kind::Empty && json != "null" {
                *self = Self { kind, json };
            }
        }
        Ok(Met::Wanted)
    }
}

/// The literal in `{"stringValue":"…"}` written without spaces: nearly every value, found without a parser.
fn lone_string(value: &str) -> Option<&str> {
    let literal = value.strip_prefix("{\"stringValue\":")?.strip_suffix('}')?;
    (literal.starts_with('"') && text::literal_end(literal) == literal.len()).then_some(literal)
}

/// A string anew, in the canonical escapes; anything else (a wrong type for its kind) as it stands.
fn write_literal(json: &str, out: &mut String) {
    match text::decode(json) {
        Some(decoded) => text::write_string(&decoded, out),
        None => out.push_str(json),
    }
}

/// 64-bit integers come as decimal strings or as numbers, and may be beyond what a float holds.
fn write_integer(json: &str, out: &mut String) {
    let decoded = text::decode(json);
    let number = decoded.as_deref().unwrap_or(json);
    if !text::is_number(number) {
        write_literal(json, out);
    } else if let Some(integer) = text::to_i64(number) {
        out.push_str(&integer.to_string());
    } else {
        out.push_str(number);
    }
}

/// A double keeps its decimal point, so that `5` recorded as a double is not taken for an integer as written. NaN and
/// the infinities, which JSON does not have, stay the strings they come as.
fn write_double(json: &str, out: &mut String) {
    let decoded = text::decode(json);
    let number = decoded.as_deref().unwrap_or(json);
    if text::is_number(number) {
        out.push_str(number);
        if text::written_type(number) == JsonType::Integer {
            out.push_str(".0");
        }
    } else {
        write_literal(json, out);
    }
}

/// Bytes that hold JSON text are that JSON; others stay the base64 they come as.
fn write_bytes(json: &str, out: &mut String) {
    let held = text::decode(json)
        .and_then(|base64| decode_base64(&base64))
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .filter(|held| serde_json::from_str::<&RawValue>(held).is_ok());
    match held {
        Some(held) => out.push_str(&held),
        None => write_literal(json, out),
    }
}

/// Writes the members of an ArrayValue, or of a KeyValueList when they are keyed.
struct Values<'o> {
    out: &'o mut String,
    keyed: bool,
    first: bool,
}

impl Values<'_> {
    fn write(&mut self, member: &str) {
        let mut entry = KeyValue::default();
        if self.keyed && read_raw(member, &mut entry) != Met::Wanted {
            return;
        }
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        if self.keyed {
            let key = entry.key.and_then(text::decode).unwrap_or_default();
            text::write_string(&key, self.out);
            self.out.push(':');
        }
        let value = if self.keyed { entry.value } else { Some(member) };
        value.map_or(AnyValue::EMPTY, AnyValue::read).write_json(self.out);
    }
}

impl<'de> Reader<'de> for Values<'_> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            if &*key == b"values" {
                map.next_value_seed(Tolerant(self))?;
            } else {
                json::skip(&mut map)?;
            }
        }
        Ok(Met::Wanted)
    }

    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while let Some(member) = seq.next_element::<&'de RawValue>()? {
            self.write(member.get());
        }
        Ok(Met::Wanted)
    }
}

#[derive(Default)]
struct KeyValue<'de> {
    key: Option<&'de str>,
    value: Option<&'de str>,
}

impl<'de> Reader<'de> for KeyValue<'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            match &*key {
                b"key" => self.key = Some(json::raw(&mut map)?),
                b"value" => self.value = Some(json::raw(&mut map)?),
                _ => json::skip(&mut map)?,
            }
        }
        Ok(Met::Wanted)
    }
}

/// The wanted attributes of one span or resource. Kept from span to span, so that the table is made once.
#[derive(Debug, Default)]
pub(crate) struct Attributes<'de> {
    /// For each slot the place of its value among `filled`, from 1; 0 of an empty one.
    slots: Vec<u16>,
    /// Slots that are filled, few of many, with their values.
    filled: Vec<(usize, Recorded<'de>)>,
    /// Those whose keys have numbers in them.
    indexed: Vec<(Cow<'de, str>, AnyValue<'de>)>,
    /// Slots of keys that stood more than once.
    repeated: Vec<usize>,
    /// What stood where an attribute or the array of them was wanted.
    wrong: Option<&'static str>,
}

/// A value that nobody has looked at yet: most are never asked for.
#[derive(Debug, Clone, Copy)]
struct Recorded<'de> {
    /// JSON text of the value, or what looks like it in an attribute that was not taken apart.
    value: &'de str,
    /// JSON text of that attribute.
    attribute: Option<&'de str>,
}

impl<'de> Recorded<'de> {
    fn read(self) -> AnyValue<'de> {
        let Some(attribute) = self.attribute else { return AnyValue::read(self.value) };
        lone_string(self.value).map_or_else(
            || {
                let mut members = KeyValue::default();
                read_raw(attribute, &mut members);
                members.value.map_or(AnyValue::EMPTY, AnyValue::read)
            },
            |json| AnyValue { kind: Kind::String, json },
        )
    }
}

impl<'de> Attributes<'de> {
    /// Forgets the attributes of the span before.
    pub(crate) fn clear(&mut self, keys: &WantedKeys) {
        for (slot, _) in self.filled.drain(..) {
            self.slots[slot] = 0;
        }
        self.slots.resize(keys.len(), 0);
        self.indexed.clear();
        self.repeated.clear();
        self.wrong = None;
    }

    /// The value in the slot of a wanted key; none when it is absent or has no value.
    pub(crate) fn get(&self, slot: usize) -> Option<AnyValue<'de>> {
        self.recorded(slot).map(Recorded::read).filter(|value| !value.is_empty())
    }

    fn recorded(&self, slot: usize) -> Option<Recorded<'de>> {
        let place = usize::from(*self.slots.get(slot)?).checked_sub(1)?;
        self.filled.get(place).map(|(_, recorded)| *recorded)
    }

    /// Whether one of these words of ASCII letters may stand in the value in a slot, told without reading it. Hardly
    /// anybody escapes such letters; where an escape of that range is there, they may. Bytes may hold anything.
    pub(crate) fn may_mention(&self, slot: usize, words: &Words) -> bool {
        let Some(Recorded { value, .. }) = self.recorded(slot) else { return false };
        !value.starts_with("{\"stringValue\":") || words.may_be_in(value)
    }

    /// Keys with numbers in them, as they came, with their values.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (&str, AnyValue<'de>)> {
        self.indexed.iter().map(|(key, value)| (&**key, *value))
    }

    /// Slots of keys that stood more than once, each once.
    pub(crate) fn repeated(&self) -> &[usize] {
        &self.repeated
    }

    /// The type of what stood where an attribute or the array of them was wanted.
    pub(crate) fn wrong(&self) -> Option<&'static str> {
        self.wrong
    }

    /// Notes what stood where the array was wanted. Null is as good as absent.
    pub(crate) fn note(&mut self, met: Met) {
        if let Met::Other(kind) = met {
            self.wrong = Some(kind);
        }
    }

    /// Of a repeated key the first value stays.
    fn put(&mut self, slot: usize, recorded: Recorded<'de>) {
        if let Some(place) = self.slots.get_mut(slot) {
            if *place == 0 {
                self.filled.push((slot, recorded));
                *place = u16::try_from(self.filled.len()).unwrap_or(0);
            } else if !self.repeated.contains(&slot) {
                self.repeated.push(slot);
            }
        }
    }
}

/// Words of ASCII letters that are looked for in values.
#[derive(Debug, Clone)]
pub(crate) struct Words(Vec<memmem::Finder<'static>>);

impl Words {
    pub(crate) fn new<'w>(words: impl IntoIterator<Item = &'w str>) -> Self {
        let unique: BTreeSet<&str> = words.into_iter().chain([ESCAPED_ASCII]).collect();
        Self(unique.into_iter().map(|word| memmem::Finder::new(word).into_owned()).collect())
    }

    fn may_be_in(&self, json: &str) -> bool {
        self.0.iter().any(|word| word.find(json.as_bytes()).is_some())
    }
}

/// How escapes of ASCII letters begin.
const ESCAPED_ASCII: &str = "u00";

/// Fills a table of attributes. Values of keys that nobody wants are passed over without being looked at.
pub(crate) struct AttributeList<'s, 'de> {
    /// The keys wanted.
    pub(crate) keys: &'s WantedKeys,
    /// The table.
    pub(crate) attributes: &'s mut Attributes<'de>,
}

impl<'de> Reader<'de> for AttributeList<'_, 'de> {
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while let Some(attribute) = seq.next_element::<&'de RawValue>()? {
            let attribute = attribute.get();
            let met = match plain_attribute(attribute) {
                Some((key, value)) if self.take(key, value, attribute) => Met::Wanted,
                _ => read_raw(attribute, &mut Attribute(self)),
            };
            if met != Met::Wanted {
                self.attributes.wrong = Some(if let Met::Other(kind) = met { kind } else { "null" });
            }
        }
        Ok(Met::Wanted)
    }
}

impl<'de> AttributeList<'_, 'de> {
    /// Takes an attribute with a plain key, or passes over it; false when it has to be taken apart.
    fn take(&mut self, key: &str, value: &'de str, attribute: &'de str) -> bool {
        match self.keys.slot(key) {
            Some(slot) => self.attributes.put(slot, Recorded { value, attribute: Some(attribute) }),
            None => return !self.keys.is_indexed(key),
        }
        true
    }
}

/// Key and value of `{"key":"…","value":…}` written without spaces and escapes, as nearly every attribute is: found
/// without a parser. What looks like the value may have more members behind it.
fn plain_attribute(attribute: &str) -> Option<(&str, &str)> {
    let rest = attribute.strip_prefix("{\"key\":\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest.as_bytes())?;
    let value = rest.get(end..)?.strip_prefix("\",\"value\":")?.strip_suffix('}')?;
    Some((&rest[..end], value))
}

struct Attribute<'r, 's, 'de>(&'r mut AttributeList<'s, 'de>);

impl<'de> Reader<'de> for Attribute<'_, '_, 'de> {
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        let list = &mut *self.0;
        let mut keyed = false;
        let mut slot = None;
        let mut indexed = None;
        let mut value = None;
        while let Some(name) = map.next_key_seed(Key)? {
            match &*name {
                b"key" => {
                    let key = text::decode(json::raw(&mut map)?);
                    keyed = key.is_some();
                    slot = key.as_ref().and_then(|key| list.keys.slot(key));
                    indexed = if slot.is_none() { key.filter(|key| list.keys.is_indexed(key)) } else { None };
                }
                b"value" if !keyed || slot.is_some() || indexed.is_some() => value = Some(json::raw(&mut map)?),
                _ => json::skip(&mut map)?,
            }
        }
        if let Some(slot) = slot {
            list.attributes.put(slot, Recorded { value: value.unwrap_or("null"), attribute: None });
        }
        if let (Some(key), Some(value)) = (indexed, value) {
            list.attributes.indexed.push((key, AnyValue::read(value)));
        }
        Ok(if keyed { Met::Wanted } else { Met::Other("object without a key") })
    }

    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(Met::Other("array in the array"))
    }
}
