//! Questions in SQL that a person asks of a store.
//!
//! Owns opening for reading only, what may run then, how a question is cancelled, and cells. Answers come in batches,
//! so that memory does not grow with them. Knows no format and no wording. Start with [`Asking::open`].

mod cells;
pub mod complete;
mod safety;
pub mod split;
mod times;

use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use duckdb::{Connection, InterruptHandle};

use super::{Store, StoreError};
use crate::model::{Column, Example, Relation, RelationColumn, Row};

/// What people start with, in this order; the other relations come after it by name.
pub const DOCUMENTED: [&str; 11] = [
    "spans",
    "tool_definitions",
    "runs",
    "findings",
    "verdicts",
    "ingest_issues",
    "reviews",
    "hq_decisions",
    "eval_trials",
    "eval_checks",
    "eval_events",
];

macro_rules! example {
    ($number:literal, $name:literal) => {
        Example { name: $name, sql: include_str!(concat!("../../sql/examples/", $number, "_", $name, ".sql")) }
    };
}

/// The worked questions, the first is number 1.
pub const EXAMPLES: [Example; 9] = [
    example!("01", "failing_tools"),
    example!("02", "runs_of_a_day"),
    example!("03", "verdicts_by_week"),
    example!("04", "slowest_calls"),
    example!("05", "missing_arguments"),
    example!("06", "ingest_problems"),
    example!("07", "trials_by_case"),
    example!("08", "failed_checks"),
    example!("09", "calls_of_failures"),
];

/// Whether the store may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing is written, to the store or to a file.
    ReadOnly,
    /// Everything that DuckDB does.
    Write,
}

/// Why a question got no answer. `Display` is for logs; people read a template of `render`.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// The store itself.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// DuckDB refuses the statement or fails at it.
    #[error("{message}")]
    Sql {
        /// DuckDB's words: several lines, with the place in the statement.
        message: String,
    },
    /// The statement would write, and nothing is to be written.
    #[error("this statement writes")]
    Writes,
    /// It was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// What takes the answer failed.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Takes an answer: its columns once, then its rows in batches until it wants no more.
pub trait Taker {
    /// The columns; there may be no rows.
    ///
    /// # Errors
    /// What writing them came to.
    fn columns(&mut self, columns: &[Column]) -> io::Result<()>;

    /// Some rows, at least one. `Break` ends the answer.
    ///
    /// # Errors
    /// What writing them came to.
    fn rows(&mut self, rows: Vec<Row>) -> io::Result<ControlFlow<()>>;
}

/// Cancels what runs, from another thread.
#[derive(Clone)]
pub struct Canceller {
    interrupt: Arc<InterruptHandle>,
    state: Arc<State>,
}

/// What the asking thread and a cancelling one tell each other.
#[derive(Default)]
struct State {
    is_cancelled: AtomicBool,
    is_running: AtomicBool,
}

impl Canceller {
    /// Cancels the statement that runs, and those after it up to the next [`Asking::begin`]. Whether that had been
    /// asked for already.
    pub fn cancel(&self) -> bool {
        let again = self.state.is_cancelled.swap(true, Ordering::SeqCst);
        self.repeat();
        again
    }

    /// Interrupts once more what was cancelled and still runs: DuckDB forgets an interrupt that comes just before a
    /// statement begins.
    pub fn repeat(&self) {
        if self.state.is_cancelled.load(Ordering::SeqCst) && self.state.is_running.load(Ordering::SeqCst) {
            self.interrupt.interrupt();
        }
    }
}

/// Says that a statement runs, as long as it is there.
struct Running<'a>(&'a State);

impl<'a> Running<'a> {
    fn new(state: &'a State) -> Self {
        state.is_running.store(true, Ordering::SeqCst);
        Self(state)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.is_running.store(false, Ordering::SeqCst);
    }
}

/// A store that is open for questions.
pub struct Asking {
    connection: Connection,
    access: Access,
    state: Arc<State>,
}

impl Asking {
    /// Opens a store that must be there.
    ///
    /// # Errors
    /// Those of [`Store::open_existing`] and of [`Store::open_to_read`].
    pub fn open(path: &Path, access: Access) -> Result<Self, AskError> {
        let store = match access {
            Access::Write => Store::open_existing(path)?,
            Access::ReadOnly => Store::open_to_read(path)?,
        };
        let connection = store.connection;
        // People expect rows in the order in which they stand.
        let settings = match access {
            Access::Write => "SET preserve_insertion_order = true",
            Access::ReadOnly => "SET preserve_insertion_order = true; SET lock_configuration = true",
        };
        connection.execute_batch(settings).map_err(StoreError::statement("configuration"))?;
        Ok(Self { connection, access, state: Arc::default() })
    }

    /// What cancels statements of this connection.
    #[must_use]
    pub fn canceller(&self) -> Canceller {
        Canceller { interrupt: self.connection.interrupt_handle(), state: self.state.clone() }
    }

    /// Forgets an earlier cancelling: what runs from here on may run.
    pub fn begin(&self) {
        self.state.is_cancelled.store(false, Ordering::SeqCst);
    }

    /// Runs one statement and hands its rows on as they come.
    ///
    /// # Errors
    /// `Writes`, `Sql`, `Cancelled`, `Output`.
    pub fn ask(&self, sql: &str, taker: &mut dyn Taker) -> Result<(), AskError> {
        let _running = Running::new(&self.state);
        self.admit(sql)?;
        let failed = |error| self.failed(&error);
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        if statement.parameter_count() > 0 {
            let message = "Invalid Input Error: parameters ($1, ?) have no value here".to_owned();
            return Err(AskError::Sql { message });
        }
        self.check()?;
        // The columns are known once it runs; the stream then borrows the statement.
        statement.stream_arrow([]).map(|_| ()).map_err(failed)?;
        let (columns, natures) = cells::columns(&statement);
        let lossy = columns.iter().zip(&natures).find(|(_, nature)| **nature == cells::Nature::Lossy);
        if let Some((column, _)) = lossy {
            let name = &column.name;
            let message = format!("Not implemented Error: the type of \"{name}\" has no form here, cast it to VARCHAR");
            return Err(AskError::Sql { message });
        }
        taker.columns(&columns)?;
        loop {
            // An interrupt between two fetches is not seen by DuckDB.
            self.check()?;
            let Some(batch) = statement.step().map_err(failed)? else { break };
            let rows = cells::rows(&batch, &natures);
            if !rows.is_empty() && taker.rows(rows)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Writes the rows of a question as Parquet into a file that is not there yet. Parquet has no whole numbers of 128
    /// bits: HUGEINT and UHUGEINT become DECIMAL(38, 0), and DOUBLE when a value has more digits than that. The names
    /// of such columns come back.
    ///
    /// # Errors
    /// Those of [`Asking::ask`]; `Writes` also when it is no question.
    pub fn copy_to_parquet(&self, question: &str, path: &Path) -> Result<Vec<String>, AskError> {
        let _running = Running::new(&self.state);
        self.check()?;
        let is_question = |text| safety::is_question(&self.connection, text);
        if !is_question(question) && !safety::fails_to_parse(&self.connection, question) {
            return Err(AskError::Writes);
        }
        // Wrong SQL is told as it was written, not within the statement around it.
        drop(self.connection.prepare(question).map_err(|error| self.failed(&error))?);
        self.check()?;
        let path = path.display().to_string().replace('\'', "''");
        let copy = |asked: &str| {
            let sql = format!("COPY ({asked}) TO '{path}' (FORMAT parquet, COMPRESSION zstd)");
            self.connection.execute_batch(&sql).map_err(|error| match self.failed(&error) {
                // It is the file that finds no room, not what the question sets aside in files of this name.
                AskError::Store(StoreError::DiskFull { message }) if !message.contains("duckdb_temp_") => {
                    io::Error::new(io::ErrorKind::StorageFull, message).into()
                }
                other => other,
            })
        };
        // The line break ends a comment on the last line.
        let question = format!("{question}\n");
        let columns = self.columns_of(&question);
        let of = |which: &[Wide]| -> Vec<String> {
            columns.iter().filter(|(_, wide)| which.contains(wide)).map(|(name, _)| name.clone()).collect()
        };
        if columns.iter().any(|(_, wide)| *wide == Wide::Itself) {
            // By place: names may repeat.
            let names = (0..columns.len()).map(|at| format!("c{at}")).collect::<Vec<_>>().join(", ");
            let column = |(at, (name, wide)): (usize, &(String, Wide))| {
                let value =
                    if *wide == Wide::Itself { format!("CAST(c{at} AS DECIMAL(38, 0))") } else { format!("c{at}") };
                format!("{value} AS \"{}\"", name.replace('"', "\"\""))
            };
            let cast = columns.iter().enumerate().map(column).collect::<Vec<_>>().join(", ");
            match copy(&format!("SELECT {cast} FROM ({question}) AS answer({names})")) {
                // A value is too large, or the question fails, as it then does once more.
                Err(AskError::Sql { .. }) => {}
                Err(error) => return Err(error),
                Ok(()) => return self.check().map(|()| of(&[Wide::Within])),
            }
        }
        copy(&question)?;
        self.check().map(|()| of(&[Wide::Itself, Wide::Within]))
    }

    /// Names of the columns of a question, and where each has whole numbers of 128 bits. None for what cannot be
    /// described.
    fn columns_of(&self, question: &str) -> Vec<(String, Wide)> {
        let sql = format!("SELECT column_name, column_type FROM (DESCRIBE {question})");
        let read = || -> duckdb::Result<Vec<(String, Wide)>> {
            let mut statement = self.connection.prepare(&sql)?;
            let columns = statement.query_map([], |row| Ok((row.get(0)?, Wide::of(&row.get::<_, String>(1)?))))?;
            columns.collect()
        };
        read().unwrap_or_default()
    }

    /// Tables and views with their columns: the documented ones first.
    ///
    /// # Errors
    /// `Store`.
    pub fn relations(&self) -> Result<Vec<Relation>, AskError> {
        let step = || StoreError::statement("queries/relations.sql");
        let mut statement = self.connection.prepare(include_str!("../../sql/queries/relations.sql")).map_err(step())?;
        let relation = |row: &duckdb::Row<'_>| {
            Ok(Relation { name: row.get(0)?, is_view: row.get(1)?, comment: row.get(2)?, columns: Vec::new() })
        };
        let found = statement.query_map([], relation).map_err(step())?;
        let mut relations = found.collect::<Result<Vec<_>, _>>().map_err(step())?;
        let step = || StoreError::statement("queries/relation_columns.sql");
        let mut statement =
            self.connection.prepare(include_str!("../../sql/queries/relation_columns.sql")).map_err(step())?;
        let column = |row: &duckdb::Row<'_>| {
            let column = RelationColumn { name: row.get(1)?, type_name: row.get(2)?, comment: row.get(3)? };
            Ok((row.get::<_, String>(0)?, column))
        };
        for found in statement.query_map([], column).map_err(step())? {
            let (name, column) = found.map_err(step())?;
            if let Some(relation) = relations.iter_mut().find(|relation| relation.name == name) {
                relation.columns.push(column);
            }
        }
        let place = |relation: &Relation| DOCUMENTED.iter().position(|name| *name == relation.name);
        relations.sort_by_key(|relation| place(relation).unwrap_or(DOCUMENTED.len()));
        Ok(relations)
    }

    /// Lets only statements run that may.
    fn admit(&self, sql: &str) -> Result<(), AskError> {
        self.check()?;
        match self.access {
            Access::ReadOnly if !safety::writes_nothing(&self.connection, sql) => Err(AskError::Writes),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<(), AskError> {
        if self.state.is_cancelled.load(Ordering::SeqCst) { Err(AskError::Cancelled) } else { Ok(()) }
    }

    fn failed(&self, error: &duckdb::Error) -> AskError {
        let message = error.to_string();
        if message.starts_with("INTERRUPT") || self.state.is_cancelled.load(Ordering::SeqCst) {
            AskError::Cancelled
        } else if message.contains("No space left on device") {
            StoreError::DiskFull { message }.into()
        } else if self.access == Access::ReadOnly
            && (message.contains("read-only mode") || message.contains("configuration has been locked"))
        {
            AskError::Writes
        } else {
            AskError::Sql { message }
        }
    }
}

/// Where a column has whole numbers of 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wide {
    Nowhere,
    Itself,
    /// Within a list, a struct or a map.
    Within,
}

impl Wide {
    fn of(type_name: &str) -> Self {
        match type_name {
            "HUGEINT" | "UHUGEINT" => Self::Itself,
            nested if nested.contains("HUGEINT") && !nested.starts_with("ENUM") => Self::Within,
            _ => Self::Nowhere,
        }
    }
}
