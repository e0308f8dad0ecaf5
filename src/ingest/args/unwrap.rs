//! Arguments as frameworks write them, back to what the tool was called with.
//!
//! Owns wrappers, JSON inside a JSON string, Python literals and texts that were cut. It does not find arguments (a
//! convention says where they stand) and judges nothing. Start with [`unwrap`].

use std::borrow::Cow;

use serde_json::Value;
use serde_json::value::RawValue;

use super::python;
use super::text;
use crate::model::{ArgsForm, JsonType};

/// An object around the arguments: `{"args":[],"kwargs":{…}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrapper {
    /// The member that has the arguments.
    pub(crate) take: String,
    /// The other members that the wrapper may have; `*` stands for any.
    pub(crate) beside: Vec<String>,
    /// The member that holds arguments without their names: when it is filled, the names are lost.
    pub(crate) positional: Option<String>,
}

/// What became of recorded arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unwrapped<'t> {
    /// The arguments; none when they cannot be told from what was recorded.
    pub(crate) text: Option<Cow<'t, str>>,
    /// How they were recorded; none when as they are.
    pub(crate) form: Option<ArgsForm>,
    /// The text is known to be one JSON value.
    pub(crate) is_json: bool,
}

/// How many wrappers may stand in one another.
const MAX_WRAPPERS: usize = 4;

/// Ends that tell that a text was cut.
const CUT_MARKS: [&str; 6] = ["…", "...", "[truncated]", "(truncated)", "<truncated>", "...}"];

/// Takes off what frameworks put around arguments. The form told is the one taken off first.
pub(crate) fn unwrap<'t>(recorded: &'t str, wrappers: &[Wrapper], bare_value_is_lost: bool) -> Unwrapped<'t> {
    let mut text = Cow::Borrowed(recorded);
    let mut form = None;
    if recorded.trim().is_empty() {
        return Unwrapped { text: Some(text), form: Some(ArgsForm::Empty), is_json: false };
    }
    let mut is_json = is_json_value(text.trim());
    for _ in 0..MAX_WRAPPERS {
        let Some((inner, found)) = unwrap_once(&text, is_json, wrappers) else { break };
        form = form.or(Some(found));
        match inner {
            Some(inner) => text = Cow::Owned(inner),
            None => return Unwrapped { text: None, form: Some(found), is_json: false },
        }
        is_json = is_json_value(text.trim());
    }
    let is_object = text.trim_start().starts_with('{');
    if !is_object && bare_value_is_lost {
        return Unwrapped { text: None, form: Some(ArgsForm::BareValue), is_json: false };
    }
    if form.is_none() && !is_json && is_cut(&text) {
        form = Some(ArgsForm::Truncated);
    }
    // Not with spaces around that JSON does not know.
    let is_json = is_json && text.trim().len() == text.trim_matches(text::SPACES).len();
    Unwrapped { text: Some(text), form, is_json }
}

/// One layer off: the text inside, none when it cannot be told; nothing when there is no layer.
fn unwrap_once(text: &str, is_json: bool, wrappers: &[Wrapper]) -> Option<(Option<String>, ArgsForm)> {
    let trimmed = text.trim();
    match trimmed.as_bytes().first()? {
        b'"' => {
            let inner: String = serde_json::from_str(trimmed).ok()?;
            holds_structure(&inner, MAX_WRAPPERS - 1).then_some((Some(inner), ArgsForm::JsonString))
        }
        b'{' if is_json => wrappers.iter().find_map(|wrapper| wrapper.open(trimmed)),
        b'{' | b'[' if !is_json => python::to_json(trimmed).map(|json| (Some(json), ArgsForm::PythonLiteral)),
        _ => None,
    }
}

impl Wrapper {
    fn open(&self, text: &str) -> Option<(Option<String>, ArgsForm)> {
        // Nearly all arguments have no such member: they are not parsed.
        memchr::memmem::find(text.as_bytes(), self.take.as_bytes())?;
        let members: std::collections::BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        let inner = members.get(&self.take)?.get();
        let mut others = members.keys().filter(|key| **key != self.take && Some(*key) != self.positional.as_ref());
        if !self.beside.iter().any(|key| key == "*") && others.any(|key| !self.beside.contains(key)) {
            return None;
        }
        let positional = self.positional.as_ref().and_then(|key| members.get(key));
        if positional.is_some_and(|value| is_filled(value.get())) {
            return Some((None, ArgsForm::Positional));
        }
        match text::written_type(inner) {
            JsonType::Object => Some((Some(inner.to_owned()), ArgsForm::Wrapped)),
            JsonType::String => {
                let inner = text::decode(inner)?.into_owned();
                if inner.trim_start().starts_with('{') {
                    return Some((Some(inner), ArgsForm::Wrapped));
                }
                // A text is an argument that is called as the wrapper is, unless there is more of the wrapper.
                (members.len() > 1).then_some((None, ArgsForm::BareValue))
            }
            _ => None,
        }
    }
}

fn is_filled(json: &str) -> bool {
    match serde_json::from_str(json) {
        Ok(Value::Array(values)) => !values.is_empty(),
        Ok(Value::Object(members)) => !members.is_empty(),
        Ok(Value::Null) | Err(_) => false,
        Ok(_) => true,
    }
}

/// Whether a text is a JSON object or array, or a JSON string that holds one, so many times.
fn holds_structure(text: &str, strings: usize) -> bool {
    let trimmed = text.trim_start();
    match trimmed.as_bytes().first() {
        Some(b'{' | b'[') => is_json_value(trimmed),
        Some(b'"') if strings > 0 => {
            serde_json::from_str::<String>(trimmed).is_ok_and(|inner| holds_structure(&inner, strings - 1))
        }
        _ => false,
    }
}

fn is_json_value(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether a text that is no JSON ends in a mark of having been cut, or in the middle of a JSON value.
fn is_cut(text: &str) -> bool {
    let trimmed = text.trim_end();
    if CUT_MARKS.iter().any(|mark| trimmed.ends_with(mark)) {
        return true;
    }
    trimmed.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(trimmed).is_err_and(|error| error.is_eof())
}
