//! Drafts of better tool descriptions by a model, in place of those made by rule.
//!
//! Each tool is asked for once with the keys that were left out, however many runs left them out. What is sent is the
//! tool's name, description and schema and those keys: no argument, no run. A draft that fails a check
//! ([`objection`]) is asked for once more with the reason; the caller keeps the draft made by rule when that fails too.
//! Opens no store and prints nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::chat::{ChatError, ChatModel, ChatRequest, Finish, Message};
use crate::diagnose::JudgedRun;
use crate::digest::sha256_hex;
use crate::model::DraftQuestion;
use crate::render::Texts;
use crate::render::calls::is_polite;
use crate::render::drafts::{Words, prompt, words};

/// Version of the words in which a draft is asked for; a new one makes drafts that were kept out of date.
pub const PROMPT_VERSION: i64 = 1;
/// Tokens of a reply: a description takes some hundred, and some models think first.
const MAX_TOKENS: u32 = 4_096;
/// A longer draft is no description, in characters.
const DRAFT_CHARS: usize = 4_000;

/// A tool whose description is to be drafted, and what for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DraftTask {
    /// The tool.
    pub tool_name: String,
    /// Its description as it stands.
    pub description: String,
    /// JSON Schema of its arguments, as text.
    pub json_schema: String,
    /// Required keys that were left out; `properties` has each.
    pub missing_keys: Vec<String>,
}

impl DraftTask {
    /// What the draft is kept under.
    #[must_use]
    pub fn question(&self, provider: &str, model: &str) -> DraftQuestion {
        let tool = json!([self.tool_name, self.description, self.json_schema]).to_string();
        DraftQuestion {
            provider: provider.to_owned(),
            model: model.to_owned(),
            tool_sha256: sha256_hex(tool.as_bytes()),
            missing_keys: json!(self.missing_keys).to_string(),
            prompt_version: PROMPT_VERSION,
        }
    }
}

/// Why a draft cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objection {
    /// It says nothing.
    Empty,
    /// It is too long for a description.
    TooLong,
    /// It ran out of tokens.
    CutOff,
    /// The model declined.
    Declined,
    /// It names fields that the schema's `properties` do not have.
    UnknownFields(Vec<String>),
    /// It does not end as a sentence for people has to.
    NotPolite,
}

/// Why a tool has no draft of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoDraft {
    /// The second draft could not be used either.
    Refused(Objection),
    /// The model gave no reply.
    NotAnswered(ChatError),
}

/// What is to be drafted for these runs, each once.
#[must_use]
pub fn tasks(runs: &[JudgedRun]) -> BTreeSet<DraftTask> {
    runs.iter().filter_map(task_of).collect()
}

/// Puts drafts into the runs that they are for, in place of those made by rule; `writer` is the model.
pub fn put(runs: &mut [JudgedRun], drafts: &BTreeMap<DraftTask, String>, writer: &str) {
    for run in runs {
        let Some(draft) = task_of(run).and_then(|task| drafts.get(&task)) else { continue };
        run.diagnosis.description_draft = Some(draft.clone());
        if let Some(tool) = &mut run.described_tool {
            tool.drafted_by = Some(writer.to_owned());
        }
    }
}

fn task_of(run: &JudgedRun) -> Option<DraftTask> {
    run.diagnosis.description_draft.as_ref()?;
    let tool = run.described_tool.as_ref()?;
    Some(DraftTask {
        tool_name: tool.tool_name.clone(),
        description: tool.description.clone(),
        json_schema: tool.json_schema.clone(),
        missing_keys: tool.missing_keys.clone(),
    })
}

/// Asks a model for a draft, and once more when the first cannot be used.
///
/// # Errors
/// Why there is none.
pub fn ask(texts: &Texts, model: &mut dyn ChatModel, task: &DraftTask) -> Result<String, NoDraft> {
    let schema: Value =
        serde_json::from_str(&task.json_schema).unwrap_or_else(|_| Value::from(task.json_schema.as_str()));
    let tool = json!({
        "name": task.tool_name,
        "description": task.description,
        "json_schema": schema,
        "missing_keys": task.missing_keys,
    });
    let mut request = ChatRequest {
        system: prompt(texts, "system", "", ""),
        messages: vec![Message::User(prompt(texts, "ask", &format!("{tool:#}"), ""))],
        tools: Vec::new(),
        max_tokens: MAX_TOKENS,
    };
    let (draft, why) = match one(model, &request, task)? {
        (draft, None) => return Ok(draft),
        (draft, Some(why)) => (draft, why),
    };
    request.messages.push(Message::Assistant { text: draft, calls: Vec::new() });
    request.messages.push(Message::User(prompt(texts, "again", "", &reason(texts, &why))));
    match one(model, &request, task)? {
        (draft, None) => Ok(draft),
        (_, Some(why)) => Err(NoDraft::Refused(why)),
    }
}

/// One reply, and what speaks against it.
fn one(
    model: &mut dyn ChatModel,
    request: &ChatRequest,
    task: &DraftTask,
) -> Result<(String, Option<Objection>), NoDraft> {
    let reply = model.chat(request).map_err(NoDraft::NotAnswered)?;
    let draft = reply.text.trim().to_owned();
    let objection = match reply.finish {
        Finish::Refused => Some(Objection::Declined),
        Finish::Length => Some(Objection::CutOff),
        Finish::Stop | Finish::ToolCalls => objection(&draft, task),
    };
    Ok((draft, objection))
}

/// The objection in words.
#[must_use]
pub fn reason(texts: &Texts, objection: &Objection) -> String {
    let (key, fields) = match objection {
        Objection::Empty => ("empty", &[][..]),
        Objection::TooLong => ("too_long", &[][..]),
        Objection::CutOff => ("cut_off", &[][..]),
        Objection::Declined => ("declined", &[][..]),
        Objection::NotPolite => ("not_polite", &[][..]),
        Objection::UnknownFields(fields) => ("unknown_fields", fields.as_slice()),
    };
    words(texts, key, &Words { fields: fields.to_vec(), ..Words::default() })
}

/// What speaks against a draft, if anything does.
///
/// A word counts as the name of a field when it stands in backquotes, or looks like an identifier: an underscore
/// inside, or a capital behind a small letter in a word that begins small. The keys of `properties` may be named, the
/// tool itself, and what is no field: words of today's description, and values that the schema lists.
#[must_use]
pub fn objection(draft: &str, task: &DraftTask) -> Option<Objection> {
    if draft.trim().is_empty() {
        return Some(Objection::Empty);
    }
    if draft.chars().count() > DRAFT_CHARS {
        return Some(Objection::TooLong);
    }
    let schema: Value = serde_json::from_str(&task.json_schema).unwrap_or(Value::Null);
    let mut known = BTreeSet::from([task.tool_name.clone()]);
    known.extend(schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|keys| keys.keys().cloned()));
    listed_values(&schema, &mut known);
    known.extend(words_of(&task.description).map(str::to_owned));
    known.extend(quoted(&task.description).map(str::to_owned));
    let mut unknown: Vec<String> = Vec::new();
    let identifiers = words_of(draft).filter(|word| is_identifier(word));
    for name in quoted(draft).chain(identifiers) {
        if !known.contains(name) && !unknown.iter().any(|before| before == name) {
            unknown.push(name.to_owned());
        }
    }
    if !unknown.is_empty() {
        return Some(Objection::UnknownFields(unknown));
    }
    (!is_polite(draft)).then_some(Objection::NotPolite)
}

/// Values that a schema lists, at any depth, as text.
fn listed_values(schema: &Value, known: &mut BTreeSet<String>) {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match schema {
        Value::Object(members) => {
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("enum" | "examples", Value::Array(values)) => known.extend(values.iter().map(text)),
                    ("const" | "default", value) if !value.is_object() => known.extend([text(value)]),
                    (_, value) => listed_values(value, known),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| listed_values(value, known)),
        _ => {}
    }
}

/// Words of Latin letters, digits and underscores.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// What stands between two backquotes of a line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|line| {
            let pieces: Vec<&str> = line.split('`').collect();
            // The piece behind a last quote that nothing closes is not quoted.
            let closed = pieces.len().saturating_sub(1);
            pieces.into_iter().enumerate().filter(move |(at, _)| at % 2 == 1 && *at < closed).map(|(_, piece)| piece)
        })
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
}

fn is_identifier(word: &str) -> bool {
    let has_letter = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_snake = word.trim_matches('_').contains('_');
    let begins_small = word.starts_with(|c: char| c.is_ascii_lowercase());
    let is_camel = word.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    has_letter && (is_snake || (begins_small && is_camel))
}
