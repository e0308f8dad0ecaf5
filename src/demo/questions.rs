//! Questions that need the tools.

use serde::Deserialize;

const SHIPPED: &str = include_str!("data/questions.json");

/// A question to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// Its name: `q01`, empty for one that is not shipped.
    pub id: String,
    /// What is asked.
    pub text: String,
    /// The tools that a careful agent calls for it, in order; empty when that is not known. Tells which calls a fault
    /// can hit; the model never sees it.
    pub tools: Vec<String>,
}

impl Question {
    /// A question of which only the text is known.
    #[must_use]
    pub fn free(text: &str) -> Self {
        Self { id: String::new(), text: text.to_owned(), tools: Vec::new() }
    }
}

/// The questions that are shipped, each id once, in order.
#[must_use]
pub fn shipped() -> Vec<Question> {
    serde_json::from_str(SHIPPED).expect("a test reads the questions that are shipped")
}
