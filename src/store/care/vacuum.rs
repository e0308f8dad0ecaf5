//! Shrinking a store: DuckDB keeps freed blocks in the file, so the rows are copied into a new one.
//!
//! The new file lies beside the store and takes its name in one step at the end. Until then the store is only read,
//! under a lock that keeps writers out; whatever fails, or ends the process, leaves it as it was.

use std::cell::Cell;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use duckdb::Connection;

use super::{CareError, quoted, sql_path};
use crate::store::{Store, StoreError, config, open_error};

/// What shrinking came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VacuumReport {
    /// Bytes of the file before.
    pub before: u64,
    /// Bytes of the file after.
    pub after: u64,
    /// Rows copied, all tables together.
    pub rows: u64,
}

/// Shrinks the store at `path`. `free_bytes` says how much room is left in a folder, if it knows.
///
/// # Errors
/// `Store`, `File`, `NoRoom`, `RowsDiffer`; the store is as before then.
pub fn vacuum(path: &Path, free_bytes: &dyn Fn(&Path) -> Option<u64>) -> Result<VacuumReport, CareError> {
    // Tables and views are brought up to date, and the log goes into the file.
    let store = Store::open_existing(path)?;
    store.step("checkpoint", "CHECKPOINT")?;
    drop(store);
    // Behind a symbolic link lies the file that is to be replaced.
    let path = fs::canonicalize(path).map_err(CareError::file(path))?;
    let copy = beside(&path, ".vacuum");
    let copied = copy_and_replace(&path, &copy, free_bytes);
    if copied.is_err() {
        remove(&copy).ok();
    }
    let (before, rows) = copied?;
    // Shows that the new file opens as a store.
    drop(Store::open_existing(&path)?);
    Ok(VacuumReport { before, after: length(&path)?, rows })
}

fn copy_and_replace(
    path: &Path,
    copy: &Path,
    free_bytes: &dyn Fn(&Path) -> Option<u64>,
) -> Result<(u64, u64), CareError> {
    let configured = config().map_err(StoreError::statement("configuration"))?;
    let connection =
        Connection::open_in_memory_with_flags(configured).map_err(StoreError::statement("opening in memory"))?;
    let store = Store { connection, is_file: true, has_views: Cell::new(true) };
    store
        .connection
        .execute_batch(&format!("ATTACH {} AS old (READ_ONLY)", sql_path(path)?))
        .map_err(|error| open_error(path, &error))?;
    // From here to the end no one else writes. What someone wrote since the checkpoint would be lost.
    let log = beside(path, ".wal");
    if log.exists() {
        return Err(StoreError::Locked { path: path.to_owned(), holder: String::new() }.into());
    }
    remove(copy)?;
    let before = length(path)?;
    let needed = store.number(
        "SELECT CAST(used_blocks * block_size AS BIGINT) FROM pragma_database_size() WHERE database_name = 'old'",
    )?;
    let needed = u64::try_from(needed).unwrap_or(0);
    let folder = path.parent().unwrap_or(Path::new("."));
    if let Some(free) = free_bytes(folder).filter(|free| *free < needed) {
        return Err(CareError::NoRoom { needed, free });
    }
    store.step("new store", &format!("ATTACH {} AS new", sql_path(copy)?))?;
    // Before any row is in it: what few may read stays so.
    let permissions = fs::metadata(path).map_err(CareError::file(path))?.permissions();
    fs::set_permissions(copy, permissions).map_err(CareError::file(copy))?;
    store.step("copying", "SET force_compression = 'zstd'; COPY FROM DATABASE old TO new")?;
    let rows = compare(&store)?;
    store.step("new store", "CHECKPOINT new; DETACH new")?;
    File::open(copy).and_then(|file| file.sync_all()).map_err(CareError::file(copy))?;
    fs::rename(copy, path).map_err(CareError::file(path))?;
    // The name is on the disk too; a file system that cannot say so has still renamed.
    File::open(folder).and_then(|folder| folder.sync_all()).ok();
    Ok((before, rows))
}

/// Every table has its rows, and every view is there. Returns the sum of rows.
fn compare(store: &Store) -> Result<u64, CareError> {
    let tables = store.rows(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'old' AND NOT internal ORDER BY ALL",
        [],
        |row| Ok(format!("{}.{}", quoted(&row.get::<_, String>(0)?), quoted(&row.get::<_, String>(1)?))),
    )?;
    let same = |table: &str, expected: i64, found: i64| {
        if expected == found {
            Ok(u64::try_from(found).unwrap_or(0))
        } else {
            Err(CareError::RowsDiffer { table: table.to_owned(), expected, found })
        }
    };
    let mut rows = 0;
    for table in tables {
        let count = |database: &str| store.number(&format!("SELECT COUNT(*) FROM {database}.{table}"));
        rows += same(&table, count("old")?, count("new")?)?;
    }
    let views = |database: &str| {
        store
            .number(&format!("SELECT COUNT(*) FROM duckdb_views() WHERE database_name = '{database}' AND NOT internal"))
    };
    same("views", views("old")?, views("new")?)?;
    Ok(rows)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Removes a copy that was left half done, with its log.
fn remove(copy: &Path) -> Result<(), CareError> {
    for path in [copy.to_owned(), beside(copy, ".wal")] {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(CareError::file(&path)(error)),
            _ => {}
        }
    }
    Ok(())
}

fn length(path: &Path) -> Result<u64, CareError> {
    fs::metadata(path).map(|metadata| metadata.len()).map_err(CareError::file(path))
}
