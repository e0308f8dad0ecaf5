//! The canonical form of a call's arguments: what makes two calls "the same call".
//!
//! Owns key order, spacing, escapes and number text, and the top-level keys with their types. It does not know tool
//! definitions and judges nothing. Start with [`canonical`].

pub(crate) mod python;
pub(crate) mod text;
pub(crate) mod unwrap;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;
use thiserror::Error;

use crate::model::CallArg;

/// How deep arrays and objects of arguments may stand in one another. Deeper ones are not read, so that no input can
/// exhaust the stack.
pub const MAX_ARGS_DEPTH: usize = 128;

/// Arguments in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canonical {
    /// Keys sorted by code point at every level, no white space, numbers as written, strings escaped in one way; of a
    /// repeated key the last value.
    pub text: String,
    /// The top-level keys in order; empty unless the arguments are an object.
    pub args: Vec<CallArg>,
}

impl Canonical {
    /// The value of one of its keys, as canonical JSON text.
    #[must_use]
    pub fn value(&self, arg: &CallArg) -> &str {
        self.text.get(arg.value.clone()).unwrap_or_default()
    }
}

/// Why arguments have no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ArgsError {
    /// The text is not one JSON value. Holds the parser's words, with the position.
    #[error("{0}")]
    NotJson(String),
    /// Nested deeper than [`MAX_ARGS_DEPTH`].
    #[error("nested deeper than {MAX_ARGS_DEPTH} levels")]
    TooDeep,
}

/// The canonical form of `text`, which must be exactly one JSON value with any white space around it.
///
/// # Errors
/// When it is not, or when it is nested deeper than [`MAX_ARGS_DEPTH`].
pub fn canonical(text: &str) -> Result<Canonical, ArgsError> {
    write_canonical(Writer::new(text, true)?)
}

/// The same of a text that is known to be one JSON value.
pub(crate) fn canonical_of_json(text: &str) -> Result<Canonical, ArgsError> {
    write_canonical(Writer::of_json(text, true))
}

fn write_canonical(mut writer: Writer) -> Result<Canonical, ArgsError> {
    let members = if writer.peek() == Some(b'{') { writer.object(1)? } else { writer.value(0).map(|()| Vec::new())? };
    let Writer { out, .. } = writer;
    let args = members
        .into_iter()
        .map(|member| {
            let value = &out[member.value.clone()];
            CallArg {
                key: member.key.into_owned(),
                json_type: text::json_type(value),
                written_type: text::written_type(value),
                value: member.value,
            }
        })
        .collect();
    Ok(Canonical { text: out, args })
}

/// The same with keys in the order written: tells apart calls that differ in key order only from calls that differ in
/// spacing only. None when `text` has no canonical form.
#[must_use]
pub fn compact(text: &str) -> Option<String> {
    let mut writer = Writer::new(text, false).ok()?;
    writer.value(0).ok()?;
    Some(writer.out)
}

/// A member of the object being written: where its key and its value stand in the output.
struct Member<'a> {
    key: Cow<'a, str>,
    start: usize,
    value: Range<usize>,
}

/// Walks text that is known to be valid JSON and writes it anew. serde_json has no way to read both a number's text
/// and the structure around it in one pass, so it checks the text and this walks it.
struct Writer<'a> {
    text: &'a str,
    at: usize,
    out: String,
    sort_keys: bool,
}

impl<'a> Writer<'a> {
    fn new(text: &'a str, sort_keys: bool) -> Result<Self, ArgsError> {
        let value: &RawValue = serde_json::from_str(text).map_err(|error| ArgsError::NotJson(error.to_string()))?;
        Ok(Self::of_json(value.get(), sort_keys))
    }

    fn of_json(text: &'a str, sort_keys: bool) -> Self {
        let text = text.trim_matches(text::SPACES);
        Self { text, at: 0, out: String::with_capacity(text.len()), sort_keys }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let taken = self.text.get(self.at..self.at + length).unwrap_or_default();
        self.at += length;
        taken
    }

    fn string(&mut self) -> Cow<'a, str> {
        let length = text::literal_end(self.text.get(self.at..).unwrap_or_default());
        text::decode(self.take(length)).unwrap_or_default()
    }

    fn value(&mut self, depth: usize) -> Result<(), ArgsError> {
        match self.peek() {
            Some(b'{') => self.object(depth + 1).map(drop),
            Some(b'[') => self.array(depth + 1),
            Some(b'"') => {
                let decoded = self.string();
                text::write_string(&decoded, &mut self.out);
                Ok(())
            }
            _ => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let length = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
                let scalar = self.take(length);
                self.out.push_str(scalar);
                Ok(())
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<(), ArgsError> {
        if depth > MAX_ARGS_DEPTH {
            return Err(ArgsError::TooDeep);
        }
        self.at += 1;
        self.out.push('[');
        loop {
            self.skip_space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.out.push(',');
                }
                Some(b']') | None => break,
                Some(_) => self.value(depth)?,
            }
        }
        self.at += 1;
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member<'a>>, ArgsError> {
        if depth > MAX_ARGS_DEPTH {
            return Err(ArgsError::TooDeep);
        }
        self.at += 1;
        self.out.push('{');
        let body = self.out.len();
        let mut members = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.out.push(',');
                }
                Some(b'"') => members.push(self.member(depth)?),
                _ => break,
            }
        }
        self.at += 1;
        let members = self.arrange(body, members);
        self.out.push('}');
        Ok(members)
    }

    fn member(&mut self, depth: usize) -> Result<Member<'a>, ArgsError> {
        let start = self.out.len();
        let key = self.string();
        text::write_string(&key, &mut self.out);
        self.out.push(':');
        self.skip_space();
        self.at += 1;
        self.skip_space();
        let value_start = self.out.len();
        self.value(depth)?;
        Ok(Member { key, start, value: value_start..self.out.len() })
    }

    /// Sorts the members written since `body` when keys are to be sorted, and drops all but the last of a repeated key.
    fn arrange(&mut self, body: usize, mut members: Vec<Member<'a>>) -> Vec<Member<'a>> {
        if members.windows(2).all(|pair| pair[0].key < pair[1].key) {
            return members;
        }
        // Latest first within a key, so that dedup keeps the last one written.
        members.sort_by(|a, b| a.key.cmp(&b.key).then(b.start.cmp(&a.start)));
        members.dedup_by(|later, kept| later.key == kept.key);
        if !self.sort_keys {
            members.sort_by_key(|member| member.start);
        }
        let written = self.out.split_off(body);
        for member in &mut members {
            if self.out.len() > body {
                self.out.push(',');
            }
            let Range { start, end } = member.value;
            let key_length = start - member.start;
            member.start = self.out.len();
            self.out.push_str(&written[start - key_length - body..end - body]);
            member.value = member.start + key_length..self.out.len();
        }
        members
    }
}
