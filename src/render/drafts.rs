//! Words around drafts by a model: how one is asked for, and what is told of it.

use serde::Serialize;

use super::Texts;

/// Values that the words name.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Words {
    /// The tool.
    pub tool: String,
    /// The model.
    pub model: String,
    /// Why.
    pub reason: String,
    /// Names that are no fields.
    pub fields: Vec<String>,
    /// Drafts by the model, asked for now.
    pub asked: usize,
    /// Drafts by the model, kept from before.
    pub kept: usize,
    /// Drafts made by rule.
    pub by_rule: usize,
}

/// What is said to a model: `system`, `ask` with the tool as JSON, `again` with the reason.
#[must_use]
pub fn prompt(texts: &Texts, key: &str, tool: &str, reason: &str) -> String {
    #[derive(Serialize)]
    struct Values<'a> {
        key: &'a str,
        tool: &'a str,
        reason: &'a str,
    }
    texts.render("draft_prompt.j2", Values { key, tool, reason }).trim().to_owned()
}

/// A phrase of `draft_words.j2`, without the end of the line.
#[must_use]
pub fn words(texts: &Texts, key: &str, values: &Words) -> String {
    #[derive(Serialize)]
    struct Values<'a> {
        key: &'a str,
        v: &'a Words,
    }
    texts.render("draft_words.j2", Values { key, v: values }).trim().to_owned()
}
