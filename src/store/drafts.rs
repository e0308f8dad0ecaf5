//! Drafts of descriptions that a model wrote: asked for once, kept here.

use duckdb::params;

use super::{Store, StoreError};
use crate::model::{DraftQuestion, ModelDraft};

impl Store {
    /// The draft that was kept for a question, if one was.
    ///
    /// # Errors
    /// `Statement`.
    pub fn model_draft(&self, question: &DraftQuestion) -> Result<Option<String>, StoreError> {
        let sql = include_str!("../../sql/queries/model_draft.sql");
        let DraftQuestion { provider, model, tool_sha256, missing_keys, prompt_version } = question;
        let found =
            self.rows(sql, params![provider, model, tool_sha256, missing_keys, prompt_version], |row| row.get(0))?;
        Ok(found.into_iter().next())
    }

    /// Keeps a draft, unless one was kept for the same question meanwhile. `now` is a Korean time, ISO 8601.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn keep_model_draft(&self, draft: &ModelDraft, now: &str) -> Result<(), StoreError> {
        let DraftQuestion { provider, model, tool_sha256, missing_keys, prompt_version } = &draft.question;
        self.connection
            .execute(
                include_str!("../../sql/queries/add_model_draft.sql"),
                params![provider, model, tool_sha256, missing_keys, prompt_version, draft.tool_name, draft.draft, now],
            )
            .map(drop)
            .map_err(StoreError::statement("model_drafts"))
    }
}
