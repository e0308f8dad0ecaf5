//! Care of a store: what is in it, shrinking it, taking old traces out, and Parquet out and in.
//!
//! Owns what each table is to the others, told from its columns ([`TableClass`]): a table that a later migration adds
//! is cared for without a line here, unless its columns do not say enough. The statements are made from the catalogue,
//! so they stand in Rust. Judges nothing. Start with [`tables_of_program`].

mod export;
mod import;
mod info;
mod prune;
mod vacuum;

use std::cell::Cell;
use std::path::{Path, PathBuf};

use duckdb::Connection;

use super::{Store, StoreError, config, migrate};
use crate::model::TableClass;

pub use export::{ExportOptions, ExportReport};
pub use import::ImportReport;
pub use prune::PruneReport;
pub use vacuum::{VacuumReport, vacuum};

/// Tables whose columns do not say what they are.
const SPECIAL: &[(&str, TableClass)] = &[
    ("arg_shapes", TableClass::Shared),
    ("judgements", TableClass::Log),
    ("hq_decisions", TableClass::Log),
    ("model_drafts", TableClass::Log),
    ("call_runs", TableClass::Log),
    ("call_inputs", TableClass::Log),
    ("checked_calls", TableClass::Log),
    ("left_out_calls", TableClass::Log),
    ("call_specs", TableClass::Log),
    ("call_spec_gaps", TableClass::Log),
    ("call_results", TableClass::Log),
    ("call_issues", TableClass::Log),
    ("bench_runs", TableClass::Log),
    ("bench_results", TableClass::Log),
    ("eval_cases", TableClass::Log),
    ("eval_projects", TableClass::Log),
    ("eval_experiments", TableClass::Log),
    ("eval_experiment_cases", TableClass::Log),
    ("eval_trial_starts", TableClass::Log),
    ("eval_trial_ends", TableClass::Log),
    ("eval_trial_traces", TableClass::Log),
    ("eval_trial_events", TableClass::Log),
    ("eval_trial_checks", TableClass::Log),
    ("eval_decisions", TableClass::Log),
    ("eval_reviews", TableClass::Log),
    ("eval_tokens", TableClass::Log),
    ("eval_token_revocations", TableClass::Log),
    ("judge_settings", TableClass::Settings),
    ("mask_key", TableClass::Secret),
    // Filled within a judgement and rolled back.
    ("judge_scope", TableClass::Internal),
    ("schema_migrations", TableClass::Internal),
    ("view_state", TableClass::Internal),
];

/// Columns that tell rows apart where not all of them do: what two stores both have is one row.
const IDENTITY: &[(&str, &[&str])] = &[
    ("spans", &["trace_id", "span_id"]),
    ("span_links", &["trace_id", "span_id"]),
    ("merged_spans", &["trace_id", "span_id"]),
    ("chat_calls", &["trace_id", "call_key"]),
    ("traces", &["trace_id"]),
    ("tool_sets", &["tool_set"]),
    ("arg_shapes", &["args_shape", "key"]),
    ("model_drafts", &["provider", "model", "tool_sha256", "missing_keys", "prompt_version"]),
    ("eval_cases", &["sha256"]),
    ("eval_projects", &["project_id"]),
    ("eval_experiments", &["experiment_id"]),
    ("eval_trial_starts", &["trial_id"]),
    ("eval_trial_ends", &["trial_id"]),
    ("eval_tokens", &["token_id"]),
];

/// A table of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name, in the schema `main`.
    pub name: String,
    /// Columns in order: name and type.
    pub columns: Vec<(String, String)>,
    /// What it is to the others.
    pub class: TableClass,
}

impl Table {
    fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| name == column)
    }

    fn column_names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(name, _)| name.as_str())
    }

    /// The columns that tell its rows apart.
    fn identity(&self) -> Vec<&str> {
        let listed = IDENTITY.iter().find(|(name, _)| *name == self.name);
        listed.map_or_else(|| self.column_names().collect(), |(_, columns)| columns.to_vec())
    }
}

/// Why care of a store failed. `Display` is for logs; people read a template of `render`.
#[derive(Debug, thiserror::Error)]
pub enum CareError {
    /// The store itself.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file beside the store, or of an export.
    #[error("{path}: {source}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: std::io::Error,
    },
    /// A folder to write into holds something, or is no folder.
    #[error("{path} is not empty")]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The disk has no room for a second store.
    #[error("needs {needed} bytes, {free} are free")]
    NoRoom {
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A copy differs from what it was made of.
    #[error("{table}: {expected} rows became {found}")]
    RowsDiffer {
        /// The table, or `views`.
        table: String,
        /// Rows there were.
        expected: i64,
        /// Rows of the copy.
        found: i64,
    },
    /// A table of this program whose columns do not say what it is: a mistake of ours that a test shows.
    #[error("table {table} is in no class")]
    Unclassified {
        /// The table.
        table: String,
    },
    /// The folder's manifest.json cannot be used.
    #[error("{path}: {message}")]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// A file that the manifest names is not there.
    #[error("{path} is missing")]
    ExportFileMissing {
        /// The file.
        path: PathBuf,
    },
    /// A file is not the one that the manifest names.
    #[error("{path} has been changed")]
    ExportFileChanged {
        /// The file.
        path: PathBuf,
    },
}

impl CareError {
    fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// The tables of this program's newest store version, in order of name.
///
/// # Errors
/// `Unclassified` when the columns of a table do not say what it is.
pub fn tables_of_program() -> Result<Vec<Table>, CareError> {
    tables_of_version(migrate::known_version())
}

/// The same for an earlier version.
fn tables_of_version(version: i64) -> Result<Vec<Table>, CareError> {
    let configured = config().map_err(StoreError::statement("configuration"))?;
    let connection =
        Connection::open_in_memory_with_flags(configured).map_err(StoreError::statement("opening in memory"))?;
    migrate::run_to(&connection, version)?;
    let store = Store { connection, is_file: false, has_views: Cell::new(true) };
    let columns = store.rows(
        "SELECT t.table_name, c.column_name, c.data_type
        FROM duckdb_tables() t
        JOIN duckdb_columns() c ON c.table_oid = t.table_oid AND c.database_oid = t.database_oid
        WHERE NOT t.internal AND NOT t.temporary
        ORDER BY t.table_name, c.column_index",
        [],
        |row| Ok((row.get::<_, String>(0)?, (row.get::<_, String>(1)?, row.get::<_, String>(2)?))),
    )?;
    let mut tables: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for (table, column) in columns {
        match tables.last_mut() {
            Some((name, columns)) if *name == table => columns.push(column),
            _ => tables.push((table, vec![column])),
        }
    }
    tables.into_iter().map(|(name, columns)| classified(name, columns)).collect()
}

fn classified(name: String, columns: Vec<(String, String)>) -> Result<Table, CareError> {
    let names: Vec<&str> = columns.iter().map(|(column, _)| column.as_str()).collect();
    match class_of(&name, &names) {
        Some(class) => Ok(Table { name, columns, class }),
        None => Err(CareError::Unclassified { table: name }),
    }
}

/// What a table of this name with these columns is; none when they do not say.
#[must_use]
pub fn class_of(table: &str, columns: &[&str]) -> Option<TableClass> {
    let has = |column: &str| columns.contains(&column);
    if let Some((_, class)) = SPECIAL.iter().find(|(name, _)| *name == table) {
        return Some(*class);
    }
    if has("trace_id") {
        Some(TableClass::Trace)
    } else if has("source_id") || has("batch_id") {
        Some(TableClass::History)
    } else if has("tool_set") {
        Some(TableClass::Tools)
    } else {
        None
    }
}

/// A name as SQL writes it whatever signs it has.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL writes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A path as DuckDB takes it.
fn sql_path(path: &Path) -> Result<String, CareError> {
    let text = path.to_str().ok_or_else(|| CareError::File {
        path: path.to_owned(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, "not UTF-8"),
    })?;
    Ok(literal(text))
}

impl Store {
    /// Runs one statement and returns how many rows it touched.
    fn touch(&self, what: &str, sql: &str) -> Result<u64, StoreError> {
        let rows = self.connection.execute(sql, []).map_err(StoreError::statement(what))?;
        Ok(rows as u64)
    }

    /// The number that a query gives.
    fn number(&self, sql: &str) -> Result<i64, StoreError> {
        self.connection.query_row(sql, [], |row| row.get(0)).map_err(StoreError::statement(sql))
    }

    /// Runs `work` in a transaction that is rolled back when it fails, or when it says so.
    fn in_transaction<T>(&self, work: impl FnOnce() -> Result<(T, bool), CareError>) -> Result<T, CareError> {
        self.step("beginning", "BEGIN")?;
        let done = work();
        let keeps = matches!(done, Ok((_, true)));
        let ended = self.step("ending", if keeps { "COMMIT" } else { "ROLLBACK" });
        let (value, _) = done?;
        ended?;
        Ok(value)
    }
}
