//! Rows for `hq-candidates`: the runs and findings of a period, read within a judgement of it.

use duckdb::types::Value;
use duckdb::{Row, params};

use super::review::{known, rule};
use super::{Store, StoreError, views};
use crate::model::{FixTarget, ReviewKind, Rule};

/// A run in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HqRunRow {
    /// The run.
    pub trace_id: String,
    /// Agent of the final answer span.
    pub agent_name: Option<String>,
    /// Start, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// Tool set it is judged with.
    pub tool_set: Option<String>,
    /// Whether it can be judged.
    pub is_judged: bool,
}

/// A finding in scope: a row of the view `findings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HqFindingRow {
    /// The run.
    pub trace_id: String,
    /// The rule.
    pub rule: Rule,
    /// The tool called.
    pub tool_name: String,
    /// The spans it rests on, in order.
    pub span_ids: Vec<String>,
    /// Required keys that are absent.
    pub missing_keys: Vec<String>,
    /// `key: received type → declared type`.
    pub type_errors: Vec<String>,
    /// What was measured or counted.
    pub measured: Option<i64>,
    /// What it was held against.
    pub allowed: Option<i64>,
    /// Where to fix it.
    pub fix_target: FixTarget,
    /// What a person last said of it.
    pub review: Option<ReviewKind>,
}

/// Arguments of a call that a finding rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HqArgumentsRow {
    /// The run.
    pub trace_id: String,
    /// The rule.
    pub rule: Rule,
    /// The tool called.
    pub tool_name: String,
    /// Arguments as recorded.
    pub tool_args: String,
}

impl Store {
    /// Makes the views for people that the rows below come from, once, over what the judgement keeps. Within a
    /// judgement, with which they go.
    ///
    /// # Errors
    /// `Statement`.
    pub fn keep_views_for_people(&self) -> Result<(), StoreError> {
        views::keep_people(&self.connection)
    }

    /// The runs in scope, by start, then trace id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn hq_runs(&self) -> Result<Vec<HqRunRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/hq_runs.sql"), [], |row| {
            Ok(HqRunRow {
                trace_id: row.get(0)?,
                agent_name: row.get(1)?,
                start_ns: row.get(2)?,
                tool_set: row.get(3)?,
                is_judged: row.get(4)?,
            })
        })
    }

    /// The findings in scope, in order of run and place.
    ///
    /// # Errors
    /// `Statement`.
    pub fn hq_findings(&self) -> Result<Vec<HqFindingRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/hq_findings.sql"), [], |row| {
            Ok(HqFindingRow {
                trace_id: row.get(0)?,
                rule: rule(row, 1)?,
                tool_name: row.get(2)?,
                span_ids: texts(row, 3)?,
                missing_keys: texts(row, 4)?,
                type_errors: texts(row, 5)?,
                measured: row.get(6)?,
                allowed: row.get(7)?,
                fix_target: known(row, 8, FixTarget::from_label)?,
                review: row.get::<_, Option<String>>(9)?.and_then(|name| ReviewKind::from_name(&name)),
            })
        })
    }

    /// How many judged runs that start at or after this time call each tool, by name.
    ///
    /// # Errors
    /// `Statement`.
    pub fn hq_runs_of_tools(&self, since_ns: i64) -> Result<Vec<(String, i64)>, StoreError> {
        self.rows(include_str!("../../sql/queries/hq_tools.sql"), params![since_ns], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
    }

    /// Arguments of the calls that the findings of these runs rest on, in order of run, rule, tool and call. Once
    /// within a judgement.
    ///
    /// # Errors
    /// `Statement`.
    pub fn hq_arguments(&self, trace_ids: &[&str]) -> Result<Vec<HqArgumentsRow>, StoreError> {
        self.step("hq_examples", "CREATE TEMP TABLE hq_examples (trace_id VARCHAR)")?;
        for trace_id in trace_ids {
            self.connection
                .execute("INSERT INTO hq_examples VALUES (?)", params![trace_id])
                .map_err(StoreError::statement("hq_examples"))?;
        }
        self.rows(include_str!("../../sql/queries/hq_arguments.sql"), [], |row| {
            Ok(HqArgumentsRow {
                trace_id: row.get(0)?,
                rule: rule(row, 1)?,
                tool_name: row.get(2)?,
                tool_args: row.get(3)?,
            })
        })
    }
}

/// A list of texts.
fn texts(row: &Row<'_>, index: usize) -> duckdb::Result<Vec<String>> {
    let Value::List(values) = row.get(index)? else { return Ok(Vec::new()) };
    let text = |value| match value {
        Value::Text(text) => Some(text),
        _ => None,
    };
    Ok(values.into_iter().filter_map(text).collect())
}
