//! Reading JSON by visitors that take any shape.
//!
//! Owns the one visitor that all readers of trace data go through: a value of a wrong type is passed over and
//! remembered, so that only broken syntax ends the reading of a text. It knows no field names.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// What stood at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    /// What the reader reads.
    Wanted,
    /// `null`, which proto3 JSON takes for absent.
    Null,
    /// A value of this other JSON type.
    Other(&'static str),
}

/// Reads an object, an array, or both; what it does not take is passed over.
pub(crate) trait Reader<'de> {
    /// Reads an object.
    fn object<A: MapAccess<'de>>(&mut self, mut map: A) -> Result<Met, A::Error> {
        while map.next_key_seed(Key)?.is_some() {
            skip(&mut map)?;
        }
        Ok(Met::Other("object"))
    }

    /// Reads an array.
    fn array<A: SeqAccess<'de>>(&mut self, mut seq: A) -> Result<Met, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Met::Other("array"))
    }
}

/// The seed for any value: hands objects and arrays to the reader and passes over scalars.
pub(crate) struct Tolerant<'r, R>(pub(crate) &'r mut R);

impl<'de, R: Reader<'de>> DeserializeSeed<'de> for Tolerant<'_, R> {
    type Value = Met;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Met, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Reader<'de>> Visitor<'de> for Tolerant<'_, R> {
    type Value = Met;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Met, E> {
        Ok(Met::Other("boolean"))
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Met, E> {
        Ok(Met::Other("number"))
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Met, E> {
        Ok(Met::Other("number"))
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Met, E> {
        Ok(Met::Other("number"))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Met, E> {
        Ok(Met::Other("string"))
    }

    fn visit_unit<E: Error>(self) -> Result<Met, E> {
        Ok(Met::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Met, A::Error> {
        self.0.object(map)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Met, A::Error> {
        self.0.array(seq)
    }
}

/// The seed for a member's name. Names are compared as bytes, and one with a lone surrogate is no error.
pub(crate) struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, [u8]>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_bytes(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, [u8]>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a member's name")
    }

    fn visit_borrowed_bytes<E: Error>(self, name: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_bytes<E: Error>(self, name: &[u8]) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_vec()))
    }
}

/// The text of the member's value, whatever it is.
pub(crate) fn raw<'de, A: MapAccess<'de>>(map: &mut A) -> Result<&'de str, A::Error> {
    map.next_value::<&'de RawValue>().map(RawValue::get)
}

/// Passes over the member's value.
pub(crate) fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value_seed(PhantomData::<IgnoredAny>).map(drop)
}

/// Reads the text of a value that was set aside.
pub(crate) fn read_raw<'de, R: Reader<'de>>(text: &'de str, reader: &mut R) -> Met {
    let read = Tolerant(reader).deserialize(&mut serde_json::Deserializer::from_str(text));
    // The text was accepted before, so what fails here is a scalar that the stricter reading of values refuses.
    read.unwrap_or(Met::Other("unreadable value"))
}
