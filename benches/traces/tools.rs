//! The tools that agents call, and arguments that fit their schemas or, now and then, do not.

use std::io;

use serde_json::Value;

use super::random::Random;
use super::text::{Place, Sentences, escape};

/// The tools.json of the benchmark.
const TOOLS_JSON: &str = include_str!("tools.json");

/// What the generator must know of a tool.
pub(crate) struct Tool {
    pub(crate) name: String,
    /// Escaped for an attribute.
    pub(crate) description: String,
    pub(crate) timeout_ms: u64,
    pub(crate) max_retries: u64,
    /// Names and JSON types of its keys, required ones first.
    keys: Vec<(String, String)>,
    required: usize,
}

/// How a call's arguments are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) korean: bool,
    /// With `\u` escapes.
    pub(crate) ascii: bool,
    /// A space behind commas and colons, as Python writes it.
    pub(crate) spaced: bool,
    /// Last key first.
    pub(crate) reversed: bool,
}

/// What is wrong with a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The first required key is left out.
    Missing,
    /// Numbers and booleans come as strings.
    Types,
}

impl Tool {
    /// Reads [`TOOLS_JSON`].
    pub(crate) fn all() -> io::Result<Vec<Self>> {
        let list: Vec<Value> = serde_json::from_str(TOOLS_JSON)?;
        list.iter().map(Self::read).collect()
    }

    fn read(tool: &Value) -> io::Result<Self> {
        let schema: Value = serde_json::from_str(tool["json_schema"].as_str().unwrap_or_default())?;
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let required = texts(&schema["required"]);
        let mut keys: Vec<(String, String)> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(key, property)| (key.clone(), property["type"].as_str().unwrap_or_default().to_owned()))
            .collect();
        keys.sort_by_key(|(key, _)| required.iter().position(|name| name == key).unwrap_or(usize::MAX));
        let mut description = String::new();
        escape(tool["description"].as_str().unwrap_or_default(), false, &mut description);
        Ok(Self {
            name: tool["tool_name"].as_str().unwrap_or_default().to_owned(),
            description,
            timeout_ms: tool["timeout_ms"].as_u64().unwrap_or_default(),
            max_retries: tool["max_retries"].as_u64().unwrap_or_default(),
            required: required.len(),
            keys,
        })
    }

    /// Values for its keys as JSON texts: all required ones and some of the others.
    pub(crate) fn values(&self, sentences: &Sentences, random: &mut Random, style: Style) -> Vec<Option<String>> {
        let mut values = Vec::with_capacity(self.keys.len());
        for (index, (_, json_type)) in self.keys.iter().enumerate() {
            let given = index < self.required || random.in_10_000(5_000);
            values.push(given.then(|| value(json_type, sentences, random, style)));
        }
        values
    }

    /// The arguments as a JSON text.
    pub(crate) fn arguments(&self, values: &[Option<String>], style: Style, fault: Fault) -> String {
        let skipped = usize::from(fault == Fault::Missing);
        let mut members: Vec<String> = self
            .keys
            .iter()
            .zip(values)
            .skip(skipped)
            .filter_map(|((key, _), value)| Some((key, value.as_ref()?)))
            .map(|(key, value)| {
                let space = if style.spaced { " " } else { "" };
                let quote = if fault == Fault::Types && !value.starts_with(['"', '[', '{']) { "\"" } else { "" };
                format!("\"{key}\":{space}{quote}{value}{quote}")
            })
            .collect();
        if style.reversed {
            members.reverse();
        }
        format!("{{{}}}", members.join(if style.spaced { ", " } else { "," }))
    }
}

fn value(json_type: &str, sentences: &Sentences, random: &mut Random, style: Style) -> String {
    let code = |random: &mut Random| format!("{}-{}", ["D", "F", "R", "EMP"][random.index(4)], random.below(10_000));
    match json_type {
        "integer" => random.between(1, 2026).to_string(),
        "number" => format!("{}.{}", random.below(100), random.between(1, 9)),
        "boolean" => (random.below(2) == 0).to_string(),
        "array" => format!("[\"{}\",\"{}\"]", code(random), code(random)),
        "object" => {
            let (month, day) = (random.between(1, 9), random.between(10, 28));
            format!("{{\"from\":\"2026-0{month}-{day}\",\"to\":\"2026-12-31\"}}")
        }
        _ if random.in_10_000(4_000) => format!("\"{}\"", code(random)),
        _ => {
            let mut out = String::from('"');
            let length = random.between(1, 3);
            let text = sentences.text(random, style.korean, length);
            sentences.write(&text, Place::once(style.ascii), &mut out);
            out.push('"');
            out
        }
    }
}
