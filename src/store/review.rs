//! What people said of findings, and what they decided on what recurs. Rows are only added.

use duckdb::{Row, params};

use super::{Store, StoreError};
use crate::model::{Decided, HqDecision, Review, ReviewKind, Rule};

/// What was last said of a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedRow {
    /// The run.
    pub trace_id: String,
    /// Name of the rule.
    pub rule: String,
    /// Names the finding within its run and rule.
    pub finding: String,
    /// What was said.
    pub review: Review,
}

impl Store {
    /// Ids of the traces that begin so (lower-case hex), in order.
    ///
    /// # Errors
    /// `Statement`.
    pub fn traces_with_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        // One beyond every id with that prefix: `g` follows the last hex digit.
        let sql = include_str!("../../sql/queries/traces.sql");
        self.rows(sql, params![prefix, format!("{prefix}g")], |row| row.get(0))
    }

    /// Names of the agents that a run can have, in order.
    ///
    /// # Errors
    /// `Statement`.
    pub fn agents(&self) -> Result<Vec<String>, StoreError> {
        self.rows(include_str!("../../sql/queries/agents.sql"), [], |row| row.get(0))
    }

    /// Starts of the first and of the last run, nanoseconds since 1970 UTC; none when there is no run.
    ///
    /// # Errors
    /// `Statement`.
    pub fn first_and_last_start(&self) -> Result<Option<(i64, i64)>, StoreError> {
        let both = |row: &Row<'_>| Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?));
        self.connection
            .query_row(include_str!("../../sql/queries/first_and_last_start.sql"), [], both)
            .map_err(StoreError::statement("queries/first_and_last_start.sql"))
    }

    /// Whether any run began at or after the one instant and before the other; an end that is none is open.
    ///
    /// # Errors
    /// `Statement`.
    pub fn has_runs_between(&self, since_ns: Option<i64>, before_ns: Option<i64>) -> Result<bool, StoreError> {
        let sql = include_str!("../../sql/queries/runs_between.sql");
        self.connection
            .query_row(sql, params![since_ns, before_ns], |row| row.get(0))
            .map_err(StoreError::statement("queries/runs_between.sql"))
    }

    /// Adds a review. Its time is moved behind the newest one when the clock was set back: the newest counts.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_review(&self, review: &Review) -> Result<(), StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/add_review.sql"),
                params![
                    review.trace_id,
                    review.rule.as_str(),
                    review.tool_name,
                    review.decision.as_str(),
                    review.reason,
                    review.reviewer,
                    review.reviewed_at,
                    review.reviewed_ns,
                ],
            )
            .map(drop)
            .map_err(StoreError::statement("reviews"))
    }

    /// Reviews, oldest first: all, or those that neither a later one nor an undoing replaces.
    ///
    /// # Errors
    /// `Statement`.
    pub fn reviews(&self, with_replaced: bool) -> Result<Vec<Review>, StoreError> {
        let sql = include_str!("../../sql/queries/reviews.sql");
        self.rows(sql, params![with_replaced], |row| review(row, 0))
    }

    /// What was last said of each finding in scope, unless it was undone. Within a judgement.
    ///
    /// # Errors
    /// `Statement`.
    pub fn reviewed_findings(&self) -> Result<Vec<ReviewedRow>, StoreError> {
        if !self.has_rows("reviews")? {
            return Ok(Vec::new());
        }
        self.rows(include_str!("../../sql/queries/reviewed.sql"), [], |row| {
            let finding =
                ReviewedRow { trace_id: row.get(0)?, rule: row.get(1)?, finding: row.get(8)?, review: review(row, 0)? };
            Ok(finding)
        })
    }

    /// Adds a decision, as [`Store::add_review`] does.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_decision(&self, decided: &Decided) -> Result<(), StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/add_decision.sql"),
                params![
                    decided.tool_name,
                    decided.rule.as_str(),
                    decided.decision.as_str(),
                    decided.reason,
                    decided.decided_by,
                    decided.decided_at,
                    decided.decided_ns,
                ],
            )
            .map(drop)
            .map_err(StoreError::statement("hq_decisions"))
    }

    /// Decisions, oldest first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn decisions(&self) -> Result<Vec<Decided>, StoreError> {
        self.rows(include_str!("../../sql/queries/decisions.sql"), [], |row| {
            Ok(Decided {
                tool_name: row.get(0)?,
                rule: rule(row, 1)?,
                decision: known(row, 2, HqDecision::from_name)?,
                reason: row.get(3)?,
                decided_by: row.get(4)?,
                decided_at: row.get(5)?,
                decided_ns: row.get(6)?,
            })
        })
    }

    /// Whether a trace calls the tool or a tool set defines it.
    ///
    /// # Errors
    /// `Statement`.
    pub fn knows_tool(&self, tool_name: &str) -> Result<bool, StoreError> {
        self.connection
            .query_row(include_str!("../../sql/queries/knows_tool.sql"), params![tool_name], |row| row.get(0))
            .map_err(StoreError::statement("queries/knows_tool.sql"))
    }
}

fn review(row: &Row<'_>, first: usize) -> duckdb::Result<Review> {
    Ok(Review {
        trace_id: row.get(first)?,
        rule: rule(row, first + 1)?,
        tool_name: row.get(first + 2)?,
        decision: known(row, first + 3, ReviewKind::from_name)?,
        reason: row.get(first + 4)?,
        reviewer: row.get(first + 5)?,
        reviewed_at: row.get(first + 6)?,
        reviewed_ns: row.get(first + 7)?,
    })
}

pub(super) fn rule(row: &Row<'_>, index: usize) -> duckdb::Result<Rule> {
    known(row, index, Rule::from_name)
}

/// A cell that holds one of a few names.
pub(super) fn known<T>(row: &Row<'_>, index: usize, read: impl Fn(&str) -> Option<T>) -> duckdb::Result<T> {
    let text: String = row.get(index)?;
    read(&text).ok_or_else(|| duckdb::Error::InvalidColumnName(text))
}
