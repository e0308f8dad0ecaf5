//! Taking old traces out: whole traces, with every row that belongs to them.
//!
//! What was read stays known: files of which traces were taken out are not read again, so the traces do not come back.

use std::collections::BTreeMap;

use super::{CareError, Table, literal, quoted, tables_of_program};
use crate::model::TableClass;
use crate::store::Store;

/// What was taken out, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PruneReport {
    /// Traces with a kept span.
    pub traces: u64,
    /// Rows by table; tables without any are left out.
    pub rows: BTreeMap<String, u64>,
}

impl Store {
    /// Takes out every trace whose last kept span started before `before_ns` (nanoseconds since 1970 UTC), the Korean
    /// midnight that `date` (`YYYY-MM-DD`) begins with; with `dry_run` it only says what would go.
    ///
    /// Rows that belong to no kept trace (spans that were dropped or skipped, issues of lines) have no start of their
    /// own: they go when they were read before that midnight. Files, runs of ingest and their sums stay.
    ///
    /// # Errors
    /// `Store`, `Unclassified`; nothing is taken out then.
    pub fn prune(&self, before_ns: i64, date: &str, dry_run: bool) -> Result<PruneReport, CareError> {
        let tables = tables_of_program()?;
        let report = self.in_transaction(|| {
            self.step(
                "old traces",
                &format!(
                    "CREATE OR REPLACE TEMP TABLE care_old AS
                    SELECT trace_id FROM spans GROUP BY trace_id HAVING MAX(start_ns) < {before_ns};
                    CREATE OR REPLACE TEMP TABLE care_kept AS
                    SELECT trace_id FROM spans GROUP BY trace_id HAVING MAX(start_ns) >= {before_ns};
                    CREATE OR REPLACE TEMP TABLE care_old_batches AS
                    SELECT batch_id FROM batches WHERE started_at < {};
                    CREATE OR REPLACE TEMP TABLE care_old_sources AS
                    SELECT source_id FROM sources WHERE batch_id IN (SELECT batch_id FROM care_old_batches);",
                    literal(date)
                ),
            )?;
            let traces = self.number("SELECT COUNT(*) FROM care_old")?;
            let mut rows = BTreeMap::new();
            let mut take_out = |table: &Table, which: &str| -> Result<(), CareError> {
                let sql = format!("DELETE FROM main.{} AS r WHERE {which}", quoted(&table.name));
                let count = self.touch(&table.name, &sql)?;
                if count > 0 {
                    rows.insert(table.name.clone(), count);
                }
                Ok(())
            };
            for table in tables.iter().filter(|table| table.class == TableClass::Trace) {
                take_out(table, &old_rows(table))?;
            }
            for table in tables.iter().filter(|table| table.class == TableClass::Shared) {
                take_out(table, &unused_rows(table, &tables))?;
            }
            self.step("old traces", "DROP TABLE care_old; DROP TABLE care_kept;")?;
            self.step("old traces", "DROP TABLE care_old_batches; DROP TABLE care_old_sources;")?;
            let report = PruneReport { traces: u64::try_from(traces).unwrap_or(0), rows };
            Ok((report, !dry_run))
        })?;
        if !dry_run {
            self.step("checkpoint", "CHECKPOINT")?;
        }
        Ok(report)
    }
}

/// Rows of old traces, and old rows of no kept trace.
fn old_rows(table: &Table) -> String {
    let adrift = if table.has("source_id") {
        "r.source_id IN (SELECT source_id FROM care_old_sources)"
    } else if table.has("batch_id") {
        "r.batch_id IN (SELECT batch_id FROM care_old_batches)"
    } else {
        "FALSE"
    };
    format!(
        "EXISTS (SELECT 1 FROM care_old o WHERE o.trace_id = r.trace_id)
        OR ({adrift} AND NOT EXISTS (SELECT 1 FROM care_kept k WHERE k.trace_id = r.trace_id))"
    )
}

/// Rows that no trace uses any more.
fn unused_rows(table: &Table, tables: &[Table]) -> String {
    let users = tables.iter().filter(|user| user.class == TableClass::Trace && user.has("args_shape"));
    let unused = |user: &Table| {
        format!("NOT EXISTS (SELECT 1 FROM main.{} u WHERE u.args_shape = r.args_shape)", quoted(&user.name))
    };
    let conditions: Vec<String> = users.map(unused).collect();
    if table.has("args_shape") && !conditions.is_empty() { conditions.join(" AND ") } else { "FALSE".to_owned() }
}
