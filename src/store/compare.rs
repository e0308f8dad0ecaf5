//! What comparing runs and writing for machines need beside a diagnosis: runs to select from, what a rule set of any
//! version finds, and where spans were read.

use duckdb::Row;

use super::{Store, StoreError};

/// A version of the rule set: `v1`, its view, and what reads it.
const RULE_SETS: [(&str, &str, &str); 2] = [
    ("v1", "set_diagnosis_v1", include_str!("../../sql/queries/hits_v1.sql")),
    ("v2", "set_diagnosis_v2", include_str!("../../sql/queries/hits_v2.sql")),
];

/// The versions of the rule set that can judge, oldest first: `v1` and its view.
pub fn rule_sets() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULE_SETS.into_iter().map(|(version, view, _)| (version, view))
}

/// A run of the store and what selects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparableRow {
    /// The run.
    pub trace_id: String,
    /// Start of its earliest kept span, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// Agent of the final answer span.
    pub agent_name: Option<String>,
    /// The ingest that first brought it.
    pub batch_id: i64,
    /// Tool set it is judged with.
    pub tool_set: Option<String>,
    /// Number of tool calls.
    pub tool_calls: u64,
    /// Whether it can be judged.
    pub is_judged: bool,
}

/// A rule that holds in a run at one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitRow {
    /// The run.
    pub trace_id: String,
    /// Name of the rule.
    pub rule: String,
    /// The tool called.
    pub tool_name: String,
    /// Calls that it rests on.
    pub calls: u64,
}

/// A span: where it was read and when it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceRow {
    /// The run.
    pub trace_id: String,
    /// The span.
    pub span_id: String,
    /// File it came from.
    pub path: Option<String>,
    /// Line in that file.
    pub line: i64,
    /// Start, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// End, nanoseconds since 1970 UTC.
    pub end_ns: i64,
}

impl Store {
    /// Every run of the store, by start, then trace id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn comparable_runs(&self) -> Result<Vec<ComparableRow>, StoreError> {
        self.need_views()?;
        self.rows(include_str!("../../sql/queries/comparable.sql"), [], |row| {
            Ok(ComparableRow {
                trace_id: row.get(0)?,
                start_ns: row.get(1)?,
                agent_name: row.get(2)?,
                batch_id: row.get(3)?,
                tool_set: row.get(4)?,
                tool_calls: row.get(5)?,
                is_judged: row.get(6)?,
            })
        })
    }

    /// What this version of the rule set finds in these runs, by trace id, priority and tool; nothing for a version
    /// that is not in [`rule_sets`].
    ///
    /// # Errors
    /// `Statement`; the store is as before then.
    pub fn hits(&self, trace_ids: &[String], version: &str) -> Result<Vec<HitRow>, StoreError> {
        let Some((_, set, sql)) = RULE_SETS.iter().find(|(known, ..)| *known == version) else { return Ok(Vec::new()) };
        self.begin_views_of(trace_ids, &[set, "set_run_v1"])?;
        let rows = self.rows(sql, [], |row| {
            Ok(HitRow { trace_id: row.get(0)?, rule: row.get(1)?, tool_name: row.get(2)?, calls: row.get(3)? })
        });
        self.end_judgement()?;
        rows
    }

    /// All kept spans of these traces, by trace id, start and span id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn places(&self, trace_ids: &[&str]) -> Result<Vec<PlaceRow>, StoreError> {
        let place = |row: &Row<'_>| {
            Ok(PlaceRow {
                trace_id: row.get(0)?,
                span_id: row.get(1)?,
                path: row.get(2)?,
                line: row.get(3)?,
                start_ns: row.get(4)?,
                end_ns: row.get(5)?,
            })
        };
        self.read_of(trace_ids, || self.rows(include_str!("../../sql/queries/places.sql"), [], place))
    }
}
