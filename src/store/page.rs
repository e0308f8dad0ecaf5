//! What a page for people shows beside the judgement: spans of many runs.

use std::collections::BTreeMap;

use duckdb::params;

use super::read::span_record;
use super::{SpanRecord, Store, StoreError};

impl Store {
    /// Kept spans of these runs, by trace id, each in order of start. Without `with_args` arguments are left out, and
    /// so is the file in any case.
    ///
    /// # Errors
    /// `Statement`; the store is as before then.
    pub fn spans_of_runs(
        &self,
        trace_ids: &[String],
        with_args: bool,
    ) -> Result<BTreeMap<String, Vec<SpanRecord>>, StoreError> {
        let sql = include_str!("../../sql/queries/spans_of_runs.sql");
        let read = self.read_of(trace_ids, || self.rows(sql, params![with_args], span_record))?;
        let mut spans: BTreeMap<String, Vec<SpanRecord>> = BTreeMap::new();
        for span in read {
            spans.entry(span.trace_id.clone()).or_default().push(span);
        }
        Ok(spans)
    }

    /// Hashes of the content of every file read, in order. Whoever lacks the files cannot tell them.
    ///
    /// # Errors
    /// `Statement`.
    pub fn content_hashes(&self) -> Result<Vec<String>, StoreError> {
        self.rows("SELECT content_hash FROM sources ORDER BY content_hash", [], |row| row.get(0))
    }
}
