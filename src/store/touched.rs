//! What a file that was read changed: the traces it touched, and judging just those.

use duckdb::params;

use super::{SourceTotals, Store, StoreError, views};

/// What one run of ingest came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BatchTotals {
    /// Files read.
    pub files: u64,
    /// Sums over all readings; there is no content hash.
    pub totals: SourceTotals,
    /// Problems that still stand.
    pub issues: u64,
}

impl Store {
    /// The traces that the file committed last touched, sorted. None when this store has committed none since it was
    /// opened.
    ///
    /// # Errors
    /// `Statement`.
    pub fn touched_traces(&self) -> Result<Vec<String>, StoreError> {
        if self.columns("touched").is_err() {
            return Ok(Vec::new());
        }
        self.rows(include_str!("../../sql/queries/touched.sql"), [], |row| row.get(0))
    }

    /// Whether anything was ever kept.
    ///
    /// # Errors
    /// `Statement`.
    pub fn has_traces(&self) -> Result<bool, StoreError> {
        self.has_rows("traces")
    }

    /// What a run of ingest came to, as the store has it now.
    ///
    /// # Errors
    /// `Statement`.
    pub fn batch_totals(&self, batch_id: i64) -> Result<BatchTotals, StoreError> {
        let dropped = self.rows(include_str!("../../sql/queries/batch_dropped.sql"), params![batch_id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let found = self.rows(include_str!("../../sql/queries/batch.sql"), params![batch_id], |row| {
            Ok(BatchTotals {
                files: row.get(0)?,
                totals: SourceTotals {
                    lines: row.get(1)?,
                    lines_skipped: row.get(2)?,
                    spans_seen: row.get(3)?,
                    spans_kept: row.get(4)?,
                    spans_merged: row.get(5)?,
                    spans_redelivered: row.get(6)?,
                    spans_skipped: row.get(7)?,
                    traces: row.get(8)?,
                    ..SourceTotals::default()
                },
                issues: row.get(9)?,
            })
        })?;
        let mut found = found.into_iter().next().unwrap_or_default();
        found.totals.dropped = dropped.into_iter().collect();
        Ok(found)
    }

    /// Limits the views to these traces until [`Store::end_judgement`]; else as [`Store::begin_judgement`].
    ///
    /// # Errors
    /// `Statement`.
    pub fn begin_judgement_of(&self, trace_ids: &[String]) -> Result<(), StoreError> {
        self.begin_views_of(trace_ids, &views::JUDGED)
    }

    /// The same for these views alone, and those that they read.
    pub(super) fn begin_views_of(&self, trace_ids: &[String], wanted: &[&str]) -> Result<(), StoreError> {
        self.begin_of(trace_ids, || {
            let first_ns = self.first_start(None)?;
            views::keep_judged(&self.connection, Some(first_ns), wanted)
        })
    }

    /// Reads with nothing but these traces in `judge_scope`.
    pub(super) fn read_of<T>(
        &self,
        trace_ids: &[impl AsRef<str>],
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let found = self.begin_of(trace_ids, read)?;
        self.end_judgement()?;
        Ok(found)
    }

    /// Begins a transaction with these traces in `judge_scope`, and does what is to be done first in it.
    fn begin_of<T>(
        &self,
        trace_ids: &[impl AsRef<str>],
        first: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.connection.execute_batch("BEGIN").map_err(StoreError::statement("judge_scope"))?;
        let begun = self.fill_scope(trace_ids).and_then(|()| first());
        if begun.is_err() {
            self.connection.execute_batch("ROLLBACK").ok();
        }
        begun
    }

    fn fill_scope(&self, trace_ids: &[impl AsRef<str>]) -> Result<(), StoreError> {
        let step = || StoreError::statement("judge_scope");
        self.settle(true, None)?;
        let mut scope = self.connection.appender("judge_scope").map_err(step())?;
        for trace_id in trace_ids {
            scope.append_row(params![trace_id.as_ref()]).map_err(step())?;
        }
        scope.flush().map_err(step())
    }
}
