//! The store: an embedded DuckDB, in memory or in one file.
//!
//! Owns opening, migrations, the views, appending and reading rows. The only room that uses
//! `duckdb`. Decides no verdict and writes no text for people: statements live under `sql/` and
//! `migrations/`, and what they return is plain data. Start with [`Store::open`].

mod append;
pub mod ask;
mod batch;
mod bench;
mod calls;
pub mod care;
mod compare;
mod drafts;
mod eval;
mod experiments;
mod hq;
mod kin;
mod mask;
mod migrate;
mod page;
mod positions;
mod read;
mod review;
mod tools;
mod touched;
mod trials;
mod views;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use duckdb::{AccessMode, Config, Connection};

pub use append::{Reason, SourceIdentity, SourceTotals, SourceWriter};
pub(crate) use batch::{korean_date, korean_time};
pub use calls::{
    CallChange, CallChangeCount, CallCheck, CallEntry, CallInput, CallRun, KeptCheck, SpanCall, UnjudgedCall,
};
pub use compare::{ComparableRow, HitRow, PlaceRow, rule_sets};
pub use hq::{HqArgumentsRow, HqFindingRow, HqRunRow};
pub use mask::MaskKey;
pub use positions::{KnownPosition, SourcePosition};
pub use read::{
    CallRow, FindingRow, JudgementRow, NoteRow, RunRow, Scope, SpanRecord, Structure, ToolSetRow, UnjudgedRow,
};
pub use review::ReviewedRow;
pub use touched::BatchTotals;
pub use views::{CALL_SET, RULE_SET, ViewFile, call_set_sha256, rule_set_sha256, view_files};

/// Why a store could not be used. `Display` is for logs; people read a template of `render`.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has the file open for writing.
    #[error("store {path} is held by another process ({holder})")]
    Locked {
        /// The store.
        path: PathBuf,
        /// What DuckDB says of the holder (program and process id), empty when it says nothing.
        holder: String,
    },
    /// The file is not there.
    #[error("store {path} does not exist")]
    Missing {
        /// The store.
        path: PathBuf,
    },
    /// The file is no DuckDB file, or may not be read or written.
    #[error("cannot open store {path}: {message}")]
    NotOpenable {
        /// The store.
        path: PathBuf,
        /// What DuckDB says.
        message: String,
    },
    /// The file is older than this program, or its views are not this program's, and it cannot be written to.
    #[error("store {path} needs to be brought up to date, and cannot be: {reason}")]
    Outdated {
        /// The store.
        path: PathBuf,
        /// Why not.
        #[source]
        reason: Box<StoreError>,
    },
    /// The file was written by a newer taco-trace.
    #[error("store is at version {found}, this program knows {known}")]
    Newer {
        /// Version of the store.
        found: i64,
        /// Newest version this program knows.
        known: i64,
    },
    /// A migration that was applied differs from the one in this program.
    #[error("migration {name} was applied and has been changed since")]
    MigrationChanged {
        /// The migration's file name.
        name: String,
    },
    /// A statement failed.
    #[error("{what}: {source}")]
    Statement {
        /// The file or step that failed.
        what: String,
        /// DuckDB's error.
        #[source]
        source: duckdb::Error,
    },
    /// There is no room left on the disk.
    #[error("no space left on the disk: {message}")]
    DiskFull {
        /// What DuckDB says.
        message: String,
    },
}

impl StoreError {
    /// Wraps DuckDB's error with what was being done; a full disk becomes its own kind.
    fn statement(what: impl Into<String>) -> impl FnOnce(duckdb::Error) -> Self {
        let what = what.into();
        move |source| {
            let message = source.to_string();
            if message.contains("No space left on device") {
                Self::DiskFull { message }
            } else {
                Self::Statement { what, source }
            }
        }
    }
}

/// How often, and how long each time, a store that another process holds is waited for: half a second by who reads.
const LOCK_WAITS: u32 = 10;
/// Three seconds by who writes: what a person has said, or a check has come to, would be lost else.
const WRITE_WAITS: u32 = 60;
const LOCK_WAIT: Duration = Duration::from_millis(50);

/// An open store with current tables and views.
pub struct Store {
    connection: Connection,
    /// Whether it stays when the process ends.
    is_file: bool,
    /// Whether its views are made. Those of a store in memory are made when something asks for them, which a judgement
    /// does not.
    has_views: Cell<bool>,
}

impl Store {
    /// Opens the file, creating it when it is not there, and brings tables and views up to date. Waits some three
    /// seconds while another process holds it.
    ///
    /// # Errors
    /// `Locked`, `NotOpenable`, `Newer`, `MigrationChanged`, `Statement`, `DiskFull`.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::current(connect(path, AccessMode::ReadWrite, WRITE_WAITS)?)
    }

    /// Opens it as [`Store::open`] does, unless another process holds it or it may not be written to: none then, at
    /// once.
    ///
    /// # Errors
    /// Those of [`Store::open`] but `Locked` and `NotOpenable`.
    pub fn open_if_free(path: &Path) -> Result<Option<Self>, StoreError> {
        match connect(path, AccessMode::ReadWrite, 0) {
            Err(StoreError::Locked { .. } | StoreError::NotOpenable { .. }) => Ok(None),
            connection => Self::current(connection?).map(Some),
        }
    }

    fn current(connection: Connection) -> Result<Self, StoreError> {
        let store = Self::prepared(connection, migrate::run)?;
        views::create(&store.connection)?;
        Ok(store)
    }

    /// Opens a file that must be there for reading only, so that others can read it meanwhile and a copy that may not
    /// be written to can be read. A store that is not current is opened for writing once, brought up to date and
    /// closed first.
    ///
    /// # Errors
    /// `Outdated`, and those of [`Store::open_existing`].
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        let mut connection = connect(path, AccessMode::ReadOnly, LOCK_WAITS)?;
        if !(migrate::is_current(&connection)? && views::are_current(&connection)?) {
            drop(connection);
            match Self::open(path) {
                Ok(store) => drop(store),
                Err(error @ (StoreError::Newer { .. } | StoreError::MigrationChanged { .. })) => return Err(error),
                Err(reason) => {
                    return Err(StoreError::Outdated { path: path.to_owned(), reason: Box::new(reason) });
                }
            }
            connection = connect(path, AccessMode::ReadOnly, LOCK_WAITS)?;
        }
        Self::prepared(connection, |_| Ok(()))
    }

    /// Opens a file that must be there already.
    ///
    /// # Errors
    /// `Missing`, and those of [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        if path.exists() { Self::open(path) } else { Err(StoreError::Missing { path: path.to_owned() }) }
    }

    /// A store that lives as long as the process.
    ///
    /// # Errors
    /// `Statement` when DuckDB cannot start.
    pub fn in_memory() -> Result<Self, StoreError> {
        let configured = config().map_err(StoreError::statement("configuration"))?;
        let connection =
            Connection::open_in_memory_with_flags(configured).map_err(StoreError::statement("opening in memory"))?;
        let mut store = Self::prepared(connection, migrate::run_uncommented)?;
        store.is_file = false;
        store.has_views.set(false);
        Ok(store)
    }

    fn prepared(
        connection: Connection,
        migrate: impl Fn(&Connection) -> Result<(), StoreError>,
    ) -> Result<Self, StoreError> {
        // Rows are read back in a stated order only, so DuckDB need not keep the order of insertion.
        connection
            .execute_batch("SET preserve_insertion_order = false; SET force_compression = 'zstd'")
            .map_err(StoreError::statement("configuration"))?;
        migrate(&connection)?;
        Ok(Self { connection, is_file: true, has_views: Cell::new(true) })
    }

    /// Names of the columns of a table or view, in order. For tests and documentation.
    ///
    /// # Errors
    /// `Statement` when there is no such relation.
    pub fn columns(&self, relation: &str) -> Result<Vec<(String, String)>, StoreError> {
        self.need_views()?;
        let sql = format!("SELECT column_name, column_type FROM (DESCRIBE {relation})");
        self.rows(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Runs a query and returns each row as text cells; None for NULL. For tests and `explain`.
    ///
    /// # Errors
    /// `Statement` when DuckDB refuses the query.
    pub fn query_text(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, StoreError> {
        self.need_views()?;
        let wrapped = format!("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM ({sql})");
        let mut statement = self.connection.prepare(&wrapped).map_err(StoreError::statement(sql))?;
        let mut rows = statement.query([]).map_err(StoreError::statement(sql))?;
        let mut cells = Vec::new();
        while let Some(row) = rows.next().map_err(StoreError::statement(sql))? {
            let width = row.as_ref().column_count();
            let line = (0..width).map(|index| row.get(index)).collect::<Result<Vec<Option<String>>, _>>();
            cells.push(line.map_err(StoreError::statement(sql))?);
        }
        Ok(cells)
    }

    /// Runs statements as they are. For tests that fill tables by hand.
    ///
    /// # Errors
    /// `Statement` when DuckDB refuses them.
    pub fn execute(&self, sql: &str) -> Result<(), StoreError> {
        self.need_views()?;
        self.connection.execute_batch(sql).map_err(StoreError::statement(sql))
    }

    /// Makes the views of a store in memory, unless they are there.
    fn need_views(&self) -> Result<(), StoreError> {
        if !self.has_views.replace(true) {
            views::create_uncommented(&self.connection)?;
        }
        Ok(())
    }

    /// Does the steps of `what` in one transaction: all of them or, on an error, none.
    fn whole<T>(&self, what: &str, work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.step(&format!("beginning {what}"), "BEGIN")?;
        match work() {
            Ok(value) => self.step(&format!("ending {what}"), "COMMIT").map(|()| value),
            Err(error) => {
                self.step(&format!("ending {what}"), "ROLLBACK").ok();
                Err(error)
            }
        }
    }

    /// Runs statements; `what` names the step.
    fn step(&self, what: &str, sql: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(sql).map_err(StoreError::statement(what))
    }

    fn has_rows(&self, table: &str) -> Result<bool, StoreError> {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
        self.connection.query_row(&sql, [], |row| row.get(0)).map_err(StoreError::statement(table))
    }

    fn rows<T, P: duckdb::Params>(
        &self,
        sql: &str,
        parameters: P,
        read: impl FnMut(&duckdb::Row<'_>) -> duckdb::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare(sql).map_err(StoreError::statement(sql))?;
        let mapped = statement.query_map(parameters, read).map_err(StoreError::statement(sql))?;
        mapped.collect::<Result<Vec<T>, _>>().map_err(StoreError::statement(sql))
    }
}

/// Offline first: DuckDB never looks for an extension by itself.
fn config() -> duckdb::Result<Config> {
    Config::default().enable_autoload_extension(false)?.with("autoinstall_known_extensions", "false")
}

/// Whether the file is a DuckDB database, by the bytes that it begins with.
///
/// # Errors
/// What reading them came to.
pub fn is_database(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(12).read_to_end(&mut start)?;
    Ok(start.get(8..) == Some(b"DUCK"))
}

/// Whether DuckDB would open something else than a store at this path, and keep nothing in it: a file of data, of which
/// it makes a view in memory, or memory itself.
fn is_no_store(path: &Path) -> bool {
    let has_content = path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
    // What cannot be read DuckDB tells in its own words.
    (has_content && is_database(path).is_ok_and(|is_one| !is_one)) || path.to_string_lossy().starts_with(":memory:")
}

/// Opens a file, and waits a little while another process holds it: most of them do not hold it for long.
fn connect(path: &Path, mode: AccessMode, mut waits: u32) -> Result<Connection, StoreError> {
    if is_no_store(path) {
        return Err(StoreError::NotOpenable { path: path.to_owned(), message: "not a DuckDB file".to_owned() });
    }
    loop {
        let configured = config()
            .and_then(|config| match mode {
                AccessMode::ReadOnly => config.access_mode(AccessMode::ReadOnly),
                _ => Ok(config),
            })
            .map_err(StoreError::statement("configuration"))?;
        match Connection::open_with_flags(path, configured).map_err(|error| open_error(path, &error)) {
            Err(StoreError::Locked { .. }) if waits > 0 => {
                waits -= 1;
                sleep(LOCK_WAIT);
            }
            opened => return opened,
        }
    }
}

fn open_error(path: &Path, error: &duckdb::Error) -> StoreError {
    let message = error.to_string();
    if message.contains("Could not set lock") || message.contains("Conflicting lock") {
        let holder = message
            .split("held in ")
            .nth(1)
            .and_then(|rest| rest.split(". ").next())
            .unwrap_or_default()
            .trim_end_matches('.')
            .to_owned();
        StoreError::Locked { path: path.to_owned(), holder }
    } else if message.contains("No space left on device") {
        StoreError::DiskFull { message }
    } else {
        StoreError::NotOpenable { path: path.to_owned(), message }
    }
}
