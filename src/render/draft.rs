//! A rule-made draft of a better tool description, for a tool whose required keys were left out.
//!
//! It says today's description, then that each key must not be left out, and where another defined tool
//! yields the key, to call that one first. A person decides whether to use it.

use serde::Serialize;

use super::Texts;
use super::layout::plain_short;
use crate::model::ToolDefinition;

/// Longest description that is repeated in a draft, in characters.
const DESCRIPTION_CHARS: usize = 2000;
/// A property description that is longer is no gloss for a sentence.
const GLOSS_CHARS: usize = 30;

/// What a draft is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftFacts {
    /// The tool.
    pub tool_name: String,
    /// Its description as it stands.
    pub description: String,
    /// Required keys that were left out, in the order of `required`.
    pub missing: Vec<MissingKey>,
    /// Tools that yield one of them.
    pub providers: Vec<Provider>,
}

/// A required key that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey {
    /// The key.
    pub key: String,
    /// `properties.<key>.description` of the schema.
    pub description: Option<String>,
}

/// Another tool that yields a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The key.
    pub key: String,
    /// The tool that yields it.
    pub tool_name: String,
    /// The only key that this tool requires.
    pub input_key: Option<String>,
}

/// What the parts of keys mean.
pub(super) struct Glossary {
    words: Vec<(&'static str, &'static str)>,
    /// Particles that mark an object.
    object: Vec<&'static str>,
}

impl Glossary {
    /// Reads the data file: a key part and its word on each line; behind `@object` the particles of an object.
    pub(super) fn parse(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
        let (marks, words): (Vec<_>, Vec<_>) = lines.partition(|(part, _)| *part == "@object");
        Self { words, object: marks.into_iter().flat_map(|(_, particles)| particles.split(' ')).collect() }
    }

    /// The meaning of a key such as `dept_code`, when every part of it is known.
    fn gloss(&self, key: &str) -> Option<String> {
        let word = |part: &str| self.words.iter().find(|(known, _)| *known == part).map(|(_, word)| *word);
        let parts: Option<Vec<&str>> = key.split('_').map(|part| word(&part.to_lowercase())).collect();
        parts.map(|parts| parts.join(" "))
    }
}

/// The draft, in one paragraph.
#[must_use]
pub fn draft(texts: &Texts, facts: &DraftFacts) -> String {
    #[derive(Serialize)]
    struct Key {
        key: String,
        gloss: String,
    }
    #[derive(Serialize)]
    struct Call {
        tool_name: String,
        gloss: String,
        input: String,
    }
    #[derive(Serialize)]
    struct Values {
        description: String,
        keys: Vec<Key>,
        calls: Vec<Call>,
    }
    let gloss = |key: &str| texts.glossary.gloss(key).unwrap_or_default();
    let keys = facts.missing.iter().map(|missing| Key {
        key: missing.key.clone(),
        gloss: short_description(missing).unwrap_or_else(|| gloss(&missing.key)),
    });
    let calls = facts.providers.iter().map(|provider| Call {
        tool_name: provider.tool_name.clone(),
        gloss: gloss(&provider.key),
        input: provider.input_key.as_deref().map(gloss).unwrap_or_default(),
    });
    let values = Values {
        description: plain_short(facts.description.trim(), DESCRIPTION_CHARS),
        keys: keys.collect(),
        calls: calls.collect(),
    };
    texts.render("draft.j2", values).trim().to_owned()
}

fn short_description(missing: &MissingKey) -> Option<String> {
    let text = missing.description.as_deref()?.trim().trim_end_matches('.');
    (!text.is_empty() && text.chars().count() <= GLOSS_CHARS).then(|| plain_short(text, GLOSS_CHARS))
}

/// The first other tool whose description says that it yields `key` and which does not itself take it.
///
/// Conservative: the description must name the key itself, or its full meaning as the object of a verb.
#[must_use]
pub fn find_provider(texts: &Texts, tools: &[ToolDefinition], tool_name: &str, key: &str) -> Option<Provider> {
    let gloss = texts.glossary.gloss(key);
    tools.iter().filter(|tool| tool.tool_name != tool_name).find_map(|tool| {
        let schema: serde_json::Value = serde_json::from_str(&tool.json_schema).ok()?;
        if schema.get("properties").and_then(|properties| properties.get(key)).is_some() {
            return None;
        }
        let named = tool.description.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == key);
        let meant = gloss.as_ref().is_some_and(|gloss| {
            let mut particles = texts.glossary.object.iter();
            particles.any(|particle| tool.description.contains(&format!("{gloss}{particle} ")))
        });
        if !named && !meant {
            return None;
        }
        let required = schema.get("required").and_then(serde_json::Value::as_array);
        let input_key = required.filter(|keys| keys.len() == 1).and_then(|keys| keys[0].as_str()).map(str::to_owned);
        Some(Provider { key: key.to_owned(), tool_name: tool.tool_name.clone(), input_key })
    })
}
