//! A rule-made draft of a better tool description, for a tool whose required keys were left out.
//!
//! It says today's description, then that each key must not be left out, and where another defined tool
//! yields the key, to call that one first. A person decides whether to use it.

use serde::Serialize;

use super::Texts;
use super::layout::plain_short;
use crate::model::ToolDefinition;

/// Longest description that is repeated in a draft, in characters: long enough for any that a model reads,
/// because a draft is pasted as a whole and must not lose its end.
const DESCRIPTION_CHARS: usize = 20_000;
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

/// What the parts of keys mean, and how a description says that a tool yields something.
pub(super) struct Glossary {
    words: Vec<(&'static str, &'static str)>,
    /// Particles that mark an object.
    object: Vec<&'static str>,
    /// Beginnings of the verbs that follow an object which the tool yields.
    yields: Vec<&'static str>,
    /// Latin verbs that stand before what the tool yields.
    returns: Vec<&'static str>,
    /// Latin words between such a verb and its object.
    between: Vec<&'static str>,
}

impl Glossary {
    /// Reads the data file: a key part and its word on each line; behind `@object`, `@yields`, `@returns` and
    /// `@between` the words of that kind.
    pub(super) fn parse(text: &'static str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(' '));
        let (marks, words): (Vec<_>, Vec<_>) = lines.partition(|(part, _)| part.starts_with('@'));
        let list = |wanted: &str| {
            marks.iter().filter(|(mark, _)| *mark == wanted).flat_map(|(_, list)| list.split(' ')).collect()
        };
        Self {
            object: list("@object"),
            yields: list("@yields"),
            returns: list("@returns"),
            between: list("@between"),
            words,
        }
    }

    fn word(&self, part: &str) -> Option<&'static str> {
        self.words.iter().find(|(known, _)| *known == part).map(|(_, word)| *word)
    }

    /// The meaning of a key such as `dept_code` or `deptCode`, when every part of it is known.
    fn gloss(&self, key: &str) -> Option<String> {
        let parts: Option<Vec<&str>> = key_parts(key).iter().map(|part| self.word(part)).collect();
        parts.filter(|parts| !parts.is_empty()).map(|parts| parts.join(" "))
    }

    /// Whether a description says outright that its tool yields `key`.
    ///
    /// Conservative, because a draft tells a model to call that tool first: the key needs two parts or more
    /// (`order` and `time` stand in too many descriptions), and it must be what a finding verb finds.
    fn says_it_yields(&self, description: &str, key: &str) -> bool {
        let parts = key_parts(key);
        if parts.len() < 2 {
            return false;
        }
        let names: Vec<String> = std::iter::once(key.to_owned()).chain(self.gloss(key)).collect();
        description.split(['.', '\n']).any(|sentence| {
            names.iter().any(|name| self.yields_object(sentence, name)) || self.returns_object(sentence, key, &parts)
        })
    }

    /// The object with its particle, then a finding verb that ends the sentence.
    fn yields_object(&self, sentence: &str, name: &str) -> bool {
        sentence.match_indices(name).any(|(at, _)| {
            // The name must not be the end of a longer word.
            let starts = !sentence[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let rest = sentence[at + name.len()..].trim_start();
            let verb = self.object.iter().find_map(|particle| rest.strip_prefix(particle)?.strip_prefix(' '));
            starts
                && verb.is_some_and(|verb| {
                    let words = verb.split_whitespace().count();
                    words <= 2 && self.yields.iter().any(|stem| verb.trim_start().starts_with(stem))
                })
        })
    }

    /// A returning verb, articles at most, then the key or words of the same meaning.
    fn returns_object(&self, sentence: &str, key: &str, parts: &[String]) -> bool {
        // A hyphen binds: "up-to-date" is one word and names no `to_date`.
        let words: Vec<String> = sentence
            .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        let same = |word: &String, part: &String| {
            word == part || self.word(word).is_some_and(|meaning| self.word(part) == Some(meaning))
        };
        words.iter().enumerate().filter(|(_, word)| self.returns.contains(&word.as_str())).any(|(at, _)| {
            let object: Vec<&String> =
                words[at + 1..].iter().skip_while(|word| self.between.contains(&word.as_str())).collect();
            let spelled = object.first().is_some_and(|word| **word == key.to_lowercase());
            let meant = object.len() >= parts.len() && object.iter().zip(parts).all(|(word, part)| same(word, part));
            spelled || meant
        })
    }
}

/// The words of a key in small letters: `dept_code`, `dept-code` and `deptCode` have the same two.
fn key_parts(key: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut small_before = false;
    for c in key.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && small_before) {
            parts.push(String::new());
        }
        if c.is_alphanumeric() {
            parts.last_mut().expect("it starts with one part and only grows").extend(c.to_lowercase());
        }
        small_before = c.is_lowercase();
    }
    parts.retain(|part| !part.is_empty());
    parts
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
    let values = Values { description: opening(&facts.description), keys: keys.collect(), calls: calls.collect() };
    texts.render("draft.j2", values).trim().to_owned()
}

/// Today's description, ready for a sentence to follow it. Its lines stay lines: the text is to be pasted.
fn opening(description: &str) -> String {
    let lines = description.trim().lines().map(|line| plain_short(&line.replace('\t', " "), DESCRIPTION_CHARS));
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        return text;
    }
    if !text.ends_with(['.', '!', '?', ':', '…', '。', ')', '`']) {
        text.push('.');
    }
    // Behind the last line of a list the new sentence would read as a part of that line.
    text.push(if text.contains('\n') { '\n' } else { ' ' });
    text
}

fn short_description(missing: &MissingKey) -> Option<String> {
    let text = missing.description.as_deref()?.trim().lines().next()?.trim_end().trim_end_matches('.');
    (!text.is_empty() && text.chars().count() <= GLOSS_CHARS).then(|| plain_short(text, GLOSS_CHARS))
}

/// The first other tool whose description says that it yields `key` and which does not itself take it.
#[must_use]
pub fn find_provider(texts: &Texts, tools: &[ToolDefinition], tool_name: &str, key: &str) -> Option<Provider> {
    let others = tools.iter().filter(|tool| tool.tool_name != tool_name);
    others.filter(|tool| texts.glossary.says_it_yields(&tool.description, key)).find_map(|tool| {
        let schema: serde_json::Value = serde_json::from_str(&tool.json_schema).ok()?;
        let required = schema.get("required").and_then(serde_json::Value::as_array);
        let takes = schema.get("properties").and_then(|properties| properties.get(key)).is_some()
            || required.is_some_and(|keys| keys.iter().any(|taken| taken.as_str() == Some(key)));
        if takes {
            return None;
        }
        let input_key = required.filter(|keys| keys.len() == 1).and_then(|keys| keys[0].as_str()).map(str::to_owned);
        Some(Provider { key: key.to_owned(), tool_name: tool.tool_name.clone(), input_key })
    })
}
