//! JSON values as plain data, and the ways to write the same value.
//!
//! Number text is kept, keys keep their order and may repeat: what serde_json's values lose.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(&'static str),
    Text(&'static str),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

/// Ways of writing that do not change the value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spelling {
    pub(super) spaced: bool,
    pub(super) escaped: bool,
    pub(super) reversed: bool,
}

impl Json {
    /// JSON text in this spelling. The keys of an object in which one repeats are never reversed: the last one counts.
    pub(super) fn write(&self, spelling: Spelling) -> String {
        let [open, colon, comma] = if spelling.spaced { [" ", " : ", " ,\n\t"] } else { ["", ":", ","] };
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Number(text) => (*text).to_owned(),
            Self::Text(text) => literal(text, spelling.escaped),
            Self::List(members) => {
                let written: Vec<String> = members.iter().map(|member| member.write(spelling)).collect();
                format!("[{open}{}{open}]", written.join(comma))
            }
            Self::Object(members) => {
                let write = |(key, value): &(&str, Self)| {
                    format!("{}{colon}{}", literal(key, spelling.escaped), value.write(spelling))
                };
                let mut written: Vec<String> = members.iter().map(write).collect();
                if spelling.reversed && !self.has_repeated_key() {
                    written.reverse();
                }
                format!("{{{open}{}{open}}}", written.join(comma))
            }
        }
    }

    /// An OTLP AnyValue.
    pub(super) fn any_value(&self) -> String {
        match self {
            Self::Null => "{}".to_owned(),
            Self::Bool(value) => format!(r#"{{"boolValue":{value}}}"#),
            Self::Number(text) if is_written_as_integer(text) => format!(r#"{{"intValue":"{text}"}}"#),
            Self::Number(text) => format!(r#"{{"doubleValue":{text}}}"#),
            Self::Text(text) => format!(r#"{{"stringValue":{}}}"#, literal(text, false)),
            Self::List(members) => {
                let values: Vec<String> = members.iter().map(Self::any_value).collect();
                format!(r#"{{"arrayValue":{{"values":[{}]}}}}"#, values.join(","))
            }
            Self::Object(members) => {
                let write = |(key, value): &(&str, Self)| {
                    format!(r#"{{"key":{},"value":{}}}"#, literal(key, false), value.any_value())
                };
                let values: Vec<String> = members.iter().map(write).collect();
                format!(r#"{{"kvlistValue":{{"values":[{}]}}}}"#, values.join(","))
            }
        }
    }

    /// The same numbers written in another way: other arguments, by the seed's text comparison.
    pub(super) fn with_other_number_texts(&self) -> Self {
        match self {
            Self::Number("1") => Self::Number("1.0"),
            Self::Number("1.0") => Self::Number("1e0"),
            Self::Number("3") => Self::Number("3.0"),
            Self::Number("2.5") => Self::Number("25E-1"),
            Self::List(members) => Self::List(members.iter().map(Self::with_other_number_texts).collect()),
            Self::Object(members) => {
                Self::Object(members.iter().map(|(key, value)| (*key, value.with_other_number_texts())).collect())
            }
            other => other.clone(),
        }
    }

    fn has_repeated_key(&self) -> bool {
        let Self::Object(members) = self else { return false };
        members.iter().enumerate().any(|(place, (key, _))| members[..place].iter().any(|(earlier, _)| earlier == key))
    }
}

/// Whether a number has neither a point nor an exponent.
pub(super) fn is_written_as_integer(number: &str) -> bool {
    !number.contains(['.', 'e', 'E'])
}

fn literal(text: &str, escaped: bool) -> String {
    if !escaped {
        return serde_json::Value::from(text).to_string();
    }
    let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
    format!("\"{}\"", units.concat())
}

/// Arguments: mostly an object of these keys, now and then a repeated key or no object at all.
pub(super) fn args(keys: &[&'static str]) -> impl Strategy<Value = Json> + use<> {
    let members =
        (subsequence(keys.to_vec(), 0..=keys.len()).prop_shuffle(), prop::collection::vec(value(), keys.len()));
    let object = members.prop_map(|(keys, values)| Json::Object(keys.into_iter().zip(values).collect()));
    let repeated = (object.clone(), value()).prop_map(|(object, value)| match object {
        Json::Object(mut members) => {
            if let Some((key, _)) = members.last().cloned() {
                members.insert(0, (key, value));
            }
            Json::Object(members)
        }
        other => other,
    });
    prop_oneof![16 => object, 1 => repeated, 2 => value()]
}

fn value() -> impl Strategy<Value = Json> + Clone {
    let scalar = || {
        prop_oneof![
            2 => select(&["D-1203", "2026", "", "2\"\\/\n", "부서 😀"][..]).prop_map(Json::Text),
            3 => select(&["1", "1.0", "3", "3.0", "2.5", "1e0", "25E-1", "-7"][..]).prop_map(Json::Number),
            1 => any::<bool>().prop_map(Json::Bool),
            1 => Just(Json::Null),
        ]
    };
    let nested = (scalar(), scalar()).prop_map(|(one, two)| Json::Object(vec![("z", one), ("a", two)]));
    prop_oneof![
        8 => scalar(),
        1 => prop::collection::vec(scalar(), 0..=2).prop_map(Json::List),
        1 => nested,
        1 => Just(Json::Object(Vec::new())),
    ]
}
