//! A store as Parquet files: whole tables, and rows of traces by the Korean date on which their trace began.
//!
//! Owns the layout of the folder and its `manifest.json`.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{CareError, Table, literal, quoted, sql_path, tables_of_program};
use crate::digest::sha256_hex_of;
use crate::model::TableClass;
use crate::store::{Store, migrate};

/// What the manifest says it is.
pub(super) const FORMAT: &str = "taco-trace store as parquet";
/// Version of the layout.
pub(super) const FORMAT_VERSION: i64 = 1;
/// Name of the manifest.
pub(super) const MANIFEST: &str = "manifest.json";
/// Marks a folder that is being written, so that nothing else is ever taken for one and removed.
const MARK: &str = ".taco-trace-export";
/// Rows of a row group: the smallest part that a reader can skip.
const ROW_GROUP: u64 = 122_880;

/// The text of `manifest.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) format: String,
    pub(super) format_version: i64,
    pub(super) schema_version: i64,
    pub(super) migrations: Vec<(String, String)>,
    pub(super) exported_at: String,
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) tables: Vec<TableEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct TableEntry {
    pub(super) name: String,
    pub(super) partitioned_by: Option<String>,
    pub(super) rows: i64,
    pub(super) columns: Vec<(String, String)>,
    pub(super) files: Vec<FileEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileEntry {
    /// Path from the folder of the manifest on, with `/`.
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// What to export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportOptions {
    /// Only traces that began on this Korean date (`YYYY-MM-DD`) or later.
    pub from: Option<String>,
    /// Only traces that began on this Korean date or earlier.
    pub to: Option<String>,
    /// Whether the key of masked values leaves the store too.
    pub with_mask_key: bool,
    /// Time of the export, for the manifest.
    pub exported_at: String,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportReport {
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Parquet files.
    pub files: u64,
    /// Bytes of those files.
    pub bytes: u64,
    /// Dates that rows of traces are under.
    pub dates: u64,
}

impl Store {
    /// Writes the store into `folder`, which must not be there or be empty; it is there whole or not at all.
    ///
    /// # Errors
    /// `Store`, `File`, `NotEmpty`, `Unclassified`.
    pub fn export_parquet(&self, folder: &Path, options: &ExportOptions) -> Result<ExportReport, CareError> {
        require_empty(folder)?;
        let mut name = folder.components().as_path().as_os_str().to_owned();
        name.push(".tmp");
        let partial = PathBuf::from(name);
        begin(&partial)?;
        let written = self.in_transaction(|| Ok((self.write_tables(&partial, options)?, false)));
        let finished = written.and_then(|report| finish(&partial, folder).map(|()| report));
        if finished.is_err() {
            fs::remove_dir_all(&partial).ok();
        }
        finished
    }

    fn write_tables(&self, folder: &Path, options: &ExportOptions) -> Result<ExportReport, CareError> {
        // Microseconds, so that no nanosecond of the last years of 64 bits runs over.
        self.step(
            "dates of traces",
            "CREATE OR REPLACE TEMP TABLE care_dates AS
            SELECT trace_id, strftime(make_timestamp(MIN(start_ns) // 1000 + 32400000000), '%Y-%m-%d') AS date
            FROM spans GROUP BY trace_id",
        )?;
        let mut report = ExportReport::default();
        let mut entries = Vec::new();
        for table in tables_of_program()? {
            let is_out = match table.class {
                TableClass::Internal => false,
                TableClass::Secret => options.with_mask_key,
                _ => true,
            };
            if is_out {
                let entry = self.write_table(&table, folder, options)?;
                report.tables += 1;
                report.rows += u64::try_from(entry.rows).unwrap_or(0);
                report.files += entry.files.len() as u64;
                report.bytes += entry.files.iter().map(|file| file.bytes).sum::<u64>();
                entries.push(entry);
            }
        }
        let dates = entries.iter().flat_map(|entry| &entry.files).filter_map(|file| file.path.split('/').nth(1));
        report.dates = dates.collect::<std::collections::BTreeSet<_>>().len() as u64;
        let manifest = Manifest {
            format: FORMAT.to_owned(),
            format_version: FORMAT_VERSION,
            schema_version: migrate::known_version(),
            migrations: migrate::history(),
            exported_at: options.exported_at.clone(),
            from: options.from.clone(),
            to: options.to.clone(),
            tables: entries,
        };
        write_manifest(&folder.join(MANIFEST), &manifest)?;
        Ok(report)
    }

    fn write_table(&self, table: &Table, folder: &Path, options: &ExportOptions) -> Result<TableEntry, CareError> {
        let columns: Vec<String> = table.column_names().map(|column| format!("r.{}", quoted(column))).collect();
        let columns = columns.join(", ");
        let by_date = table.class == TableClass::Trace;
        let from = format!("FROM main.{} r", quoted(&table.name));
        let (select, count, path, more) = if by_date {
            let limit = |sign: &str, date: &Option<String>| {
                date.as_ref().map(|date| format!("d.date {sign} {}", literal(date)))
            };
            let limits: Vec<String> =
                [limit(">=", &options.from), limit("<=", &options.to)].into_iter().flatten().collect();
            let limits = if limits.is_empty() { String::new() } else { format!(" WHERE {}", limits.join(" AND ")) };
            let from = format!("{from} LEFT JOIN care_dates d ON d.trace_id = r.trace_id{limits}");
            let select = format!("SELECT {columns}, d.date AS date {from}");
            (select, format!("SELECT COUNT(*) {from}"), folder.join(&table.name), ", PARTITION_BY (date)")
        } else {
            let path = folder.join(format!("{}.parquet", table.name));
            (format!("SELECT {columns} {from}"), format!("SELECT COUNT(*) {from}"), path, "")
        };
        let rows = self.number(&count)?;
        // No row, no date, no file.
        if !by_date || rows > 0 {
            let sql = format!(
                "COPY ({select}) TO {} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP}{more})",
                sql_path(&path)?
            );
            self.step(&table.name, &sql)?;
        }
        let mut files = Vec::new();
        collect_files(folder, &path, &mut files)?;
        Ok(TableEntry {
            name: table.name.clone(),
            partitioned_by: by_date.then(|| "date".to_owned()),
            rows,
            columns: table.columns.clone(),
            files,
        })
    }
}

fn require_empty(folder: &Path) -> Result<(), CareError> {
    let not_empty = || CareError::NotEmpty { path: folder.to_owned() };
    match fs::read_dir(folder) {
        Ok(mut entries) => {
            if entries.next().is_none() {
                Ok(())
            } else {
                Err(not_empty())
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Err(not_empty()),
        Err(error) => Err(CareError::file(folder)(error)),
    }
}

/// Makes the folder to write into. One that an earlier export left half done is removed, anything else is not.
fn begin(partial: &Path) -> Result<(), CareError> {
    if partial.join(MARK).is_file() {
        fs::remove_dir_all(partial).map_err(CareError::file(partial))?;
    }
    require_empty(partial)?;
    fs::create_dir_all(partial).map_err(CareError::file(partial))?;
    let mark = partial.join(MARK);
    fs::write(&mark, "").map_err(|error| {
        // Without its mark nobody would take it for what it is.
        fs::remove_dir_all(partial).ok();
        CareError::file(&mark)(error)
    })
}

fn finish(partial: &Path, folder: &Path) -> Result<(), CareError> {
    let mark = partial.join(MARK);
    fs::remove_file(&mark).map_err(CareError::file(&mark))?;
    if folder.exists() {
        // Empty, as was seen at the beginning; else this fails.
        fs::remove_dir(folder).map_err(CareError::file(folder))?;
    }
    fs::rename(partial, folder).map_err(CareError::file(folder))
}

/// The files at or under `path`, in order, each written to the disk.
fn collect_files(root: &Path, path: &Path, files: &mut Vec<FileEntry>) -> Result<(), CareError> {
    if path.is_dir() {
        let entries = fs::read_dir(path).and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
        let mut paths: Vec<PathBuf> =
            entries.map_err(CareError::file(path))?.into_iter().map(|entry| entry.path()).collect();
        paths.sort_unstable();
        return paths.iter().try_for_each(|path| collect_files(root, path, files));
    }
    if !path.exists() {
        return Ok(());
    }
    let hash = || -> std::io::Result<(u64, String)> {
        let file = File::open(path)?;
        file.sync_all()?;
        Ok((file.metadata()?.len(), sha256_hex_of(BufReader::new(file))?))
    };
    let (bytes, sha256) = hash().map_err(CareError::file(path))?;
    let parts = path.strip_prefix(root).unwrap_or(path).components();
    let parts: Vec<String> = parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    files.push(FileEntry { path: parts.join("/"), bytes, sha256 });
    Ok(())
}

fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), CareError> {
    let write = || -> std::io::Result<()> {
        let mut file = BufWriter::new(File::create(path)?);
        serde_json::to_writer_pretty(&mut file, manifest)?;
        file.write_all(b"\n")?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
    };
    write().map_err(CareError::file(path))
}
