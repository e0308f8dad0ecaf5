//! Drafts of tool descriptions that a model writes.

/// What a draft is asked for with: two equal questions have one draft.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DraftQuestion {
    /// Who serves the model.
    pub provider: String,
    /// The model that is asked.
    pub model: String,
    /// sha256 of name, description and schema of the tool.
    pub tool_sha256: String,
    /// Required keys that were left out, as a JSON array.
    pub missing_keys: String,
    /// Version of the question's words.
    pub prompt_version: i64,
}

/// A draft that a model wrote, and that passed the checks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelDraft {
    /// What was asked.
    pub question: DraftQuestion,
    /// Name of the tool.
    pub tool_name: String,
    /// The draft.
    pub draft: String,
}
