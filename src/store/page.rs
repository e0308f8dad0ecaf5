//! What a page for people shows beside the judgement: spans of many runs, what recurs, what was said of findings.

use std::collections::BTreeMap;

use duckdb::params;

use super::read::span_record;
use super::{Scope, SpanRecord, Store, StoreError};

/// How often a rule holds for a tool in the runs of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecurringRow {
    /// The tool called.
    pub tool_name: String,
    /// Name of the rule.
    pub rule: String,
    /// The agent.
    pub agent_name: String,
    /// Runs of that agent; each counts once.
    pub runs: i64,
    /// Korean date of the first such run.
    pub first_date: String,
    /// Korean date of the last such run.
    pub last_date: String,
}

/// What a person last said of findings: by run, the place of the finding among its findings, counted from 1.
pub type Reviews = BTreeMap<String, BTreeMap<i64, String>>;

impl Store {
    /// Reads while the views are limited, and lifts the limit again.
    fn limited<T>(
        &self,
        limit: impl FnOnce() -> Result<(), StoreError>,
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.need_views()?;
        self.step("judge_scope", "BEGIN")?;
        let found = limit().and_then(|()| read());
        self.step("judge_scope", "ROLLBACK")?;
        found
    }

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
        let read = self.limited(|| self.fill_scope(trace_ids), || self.rows(sql, params![with_args], span_record))?;
        let mut spans: BTreeMap<String, Vec<SpanRecord>> = BTreeMap::new();
        for span in read {
            spans.entry(span.trace_id.clone()).or_default().push(span);
        }
        Ok(spans)
    }

    /// What the rules found in the runs in `scope`, by tool and rule, a row an agent: groups of most agents first,
    /// the rows of a group together. Dismissed findings do not count.
    ///
    /// # Errors
    /// `Statement`.
    pub fn recurring(&self, scope: &Scope) -> Result<Vec<RecurringRow>, StoreError> {
        let row = |row: &duckdb::Row<'_>| {
            Ok(RecurringRow {
                tool_name: row.get(0)?,
                rule: row.get(1)?,
                agent_name: row.get(2)?,
                runs: row.get(3)?,
                first_date: row.get(4)?,
                last_date: row.get(5)?,
            })
        };
        let sql = include_str!("../../sql/queries/recurring.sql");
        self.limited(|| self.set_scope(scope), || self.rows(sql, [], row))
    }

    /// What people said of the findings of these runs.
    ///
    /// # Errors
    /// `Statement`.
    pub fn reviewed(&self, trace_ids: &[String]) -> Result<Reviews, StoreError> {
        let mut reviews = Reviews::new();
        // Nobody said anything in most stores: then the rules need not be asked.
        if !self.has_rows("reviews")? {
            return Ok(reviews);
        }
        let row =
            |row: &duckdb::Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, String>(2)?));
        let sql = include_str!("../../sql/queries/reviewed.sql");
        let rows = self.limited(|| self.fill_scope(trace_ids), || self.rows(sql, [], row))?;
        for (trace_id, place, review) in rows {
            reviews.entry(trace_id).or_default().insert(place, review);
        }
        Ok(reviews)
    }

    /// Hashes of the content of every file read, in order. Whoever lacks the files cannot tell them.
    ///
    /// # Errors
    /// `Statement`.
    pub fn content_hashes(&self) -> Result<Vec<String>, StoreError> {
        self.rows("SELECT content_hash FROM sources ORDER BY content_hash", [], |row| row.get(0))
    }
}
