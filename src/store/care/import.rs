//! Parquet files of an export into a store: all of it or nothing.
//!
//! Into an empty store it gives an equal one. Into another, what both have is one row: a span is told by its ids, a
//! file by all that is known of it, and numbers of files and of runs of ingest are given anew.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

use duckdb::params;

use super::export::{FORMAT, FORMAT_VERSION, MANIFEST, Manifest, TableEntry};
use super::{CareError, Table, quoted, sql_path, tables_of_program, tables_of_version};
use crate::digest::sha256_hex_of;
use crate::model::{IssueCode, TableClass};
use crate::store::append::ANY_SOURCE;
use crate::store::{Reason, Store, StoreError, migrate};

/// What an import came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportReport {
    /// Spans that are new.
    pub spans_new: u64,
    /// Spans that the store had with the same content.
    pub spans_same: u64,
    /// Spans that the store had with other content: the store's are kept, each is an issue.
    pub spans_other: u64,
    /// Files that are new to the store.
    pub sources_new: u64,
    /// Files that the store had read itself or had taken over before.
    pub sources_known: u64,
    /// Rows added, all tables together.
    pub rows: u64,
    /// Whether values of the export were masked with another key than those of the store.
    pub mask_key_differs: bool,
}

/// Columns of a span that say where it was read or what was worked out, not what it is.
const NOT_CONTENT: [&str; 7] =
    ["source_id", "batch_id", "line", "parent_span_id", "parent_lost", "args_key", "args_shape"];

impl Store {
    /// Takes over what lies in `folder`. `reason` turns an issue into what people read of it.
    ///
    /// # Errors
    /// `Manifest`, `ExportFileMissing`, `ExportFileChanged`, `RowsDiffer`, `File`, `Store`: nothing is taken over then.
    pub fn import_parquet(&mut self, folder: &Path, reason: Reason<'_>) -> Result<ImportReport, CareError> {
        let manifest = read_manifest(folder)?;
        for entry in &manifest.tables {
            verify_files(folder, entry)?;
        }
        self.stage(folder, &manifest)?;
        let tables = tables_of_program()?;
        let done = self.in_transaction(|| {
            let offset =
                |table: &str, id: &str| self.number(&format!("SELECT COALESCE(MAX({id}), 0) FROM main.{table}"));
            let merge = Merge {
                store: self,
                tables: &tables,
                batch_offset: offset("batches", "batch_id")?,
                source_offset: offset("sources", "source_id")?,
            };
            let report = merge.run(folder, reason)?;
            Ok((report, true))
        });
        self.step("staging", "DETACH care_staged")?;
        done
    }

    /// The rows of the export in tables of the newest version, in a database beside the store that ends with this.
    ///
    /// An earlier version is read into tables of that version, which are then brought up to date as a store is.
    fn stage(&mut self, folder: &Path, manifest: &Manifest) -> Result<(), CareError> {
        let tables = tables_of_version(manifest.schema_version)?;
        let home: String = self
            .connection
            .query_row("SELECT current_database()", [], |row| row.get(0))
            .map_err(StoreError::statement("staging"))?;
        self.step("staging", "ATTACH ':memory:' AS care_staged; USE care_staged")?;
        let filled = self.fill(folder, manifest, &tables);
        self.step("staging", &format!("USE {}", quoted(&home)))?;
        if filled.is_err() {
            self.step("staging", "DETACH care_staged")?;
        }
        filled
    }

    fn fill(&mut self, folder: &Path, manifest: &Manifest, tables: &[Table]) -> Result<(), CareError> {
        migrate::run_to(&self.connection, manifest.schema_version)?;
        for table in tables.iter().filter(|table| table.class != TableClass::Internal) {
            let name = quoted(&table.name);
            // Rows that a migration puts in belong to the export, too.
            self.step(&table.name, &format!("DELETE FROM care_staged.main.{name}"))?;
            let Some(entry) = manifest.tables.iter().find(|entry| entry.name == table.name) else {
                if table.class == TableClass::Secret {
                    continue;
                }
                return Err(wrong(folder, format!("{} is not in it", table.name)));
            };
            if entry.columns != table.columns {
                return Err(wrong(folder, format!("{} has other columns", table.name)));
            }
            if !entry.files.is_empty() {
                let files: Result<Vec<String>, CareError> =
                    entry.files.iter().map(|file| glob_free(&folder.join(&file.path))).collect();
                let columns: Vec<String> = table.column_names().map(quoted).collect();
                let sql = format!(
                    "INSERT INTO care_staged.main.{name} SELECT {} FROM read_parquet([{}], hive_partitioning = false)",
                    columns.join(", "),
                    files?.join(", ")
                );
                self.step(&table.name, &sql)?;
            }
            let found = self.number(&format!("SELECT COUNT(*) FROM care_staged.main.{name}"))?;
            if found != entry.rows {
                return Err(CareError::RowsDiffer { table: table.name.clone(), expected: entry.rows, found });
            }
        }
        migrate::run(&self.connection)?;
        Ok(())
    }
}

struct Merge<'a> {
    store: &'a Store,
    tables: &'a [Table],
    /// Greatest numbers of the store: greater ones are free.
    batch_offset: i64,
    source_offset: i64,
}

impl Merge<'_> {
    fn run(&self, folder: &Path, reason: Reason<'_>) -> Result<ImportReport, CareError> {
        let store = self.store;
        let is_fresh = store.number(
            "SELECT (SELECT COUNT(*) FROM batches) + (SELECT COUNT(*) FROM spans) + (SELECT COUNT(*) FROM tool_sets)",
        )? == 0;
        self.map_ids()?;
        // Traces that both know of: what lay between their spans may have been known to the other only.
        store.step(
            "touched traces",
            "CREATE OR REPLACE TEMP TABLE unsettled AS
            SELECT trace_id, FALSE AS parents FROM (
            (SELECT trace_id FROM main.spans UNION SELECT trace_id FROM main.span_links)
            INTERSECT
            (SELECT trace_id FROM care_staged.main.spans UNION SELECT trace_id FROM care_staged.main.span_links))",
        )?;
        let mut report = ImportReport { mask_key_differs: self.mask_key_differs()?, ..ImportReport::default() };
        report.spans_other = self.note_conflicts(folder, &reason(IssueCode::SpanConflict, ""))?;
        let staged = store.number("SELECT COUNT(*) FROM care_staged.main.spans")?;
        let known = store.number("SELECT COUNT(*) FROM care_sources WHERE known")?;
        report.sources_known = u64::try_from(known).unwrap_or(0);
        for table in self.tables {
            let added = self.add(table, is_fresh)?;
            match table.name.as_str() {
                "spans" => report.spans_new = added,
                "sources" => report.sources_new = added,
                _ => {}
            }
            report.rows += added;
        }
        report.spans_same = u64::try_from(staged).unwrap_or(0) - report.spans_new - report.spans_other;
        if store.number("SELECT COUNT(*) FROM unsettled")? > 0 {
            store.take_back()?;
            store.settle_unsettled(ANY_SOURCE)?;
            store.count_merged()?;
            self.note_cycles(folder, &reason(IssueCode::ParentCycle, ""))?;
        }
        store.step("ids", "DROP TABLE care_batches; DROP TABLE care_sources;")?;
        Ok(report)
    }

    /// Which number each batch and each file of the export has in the store: that of the very same row when there is
    /// one, else one that is free.
    fn map_ids(&self) -> Result<(), CareError> {
        let equal = |table: &str, but: &[&str]| {
            let columns = self.tables.iter().filter(|found| found.name == table).flat_map(Table::column_names);
            let columns = columns.filter(|column| !but.contains(column)).map(quoted);
            let pairs: Vec<String> =
                columns.map(|column| format!("o.{column} IS NOT DISTINCT FROM i.{column}")).collect();
            pairs.join(" AND ")
        };
        let sql = format!(
            "CREATE OR REPLACE TEMP TABLE care_batches AS
            SELECT i.batch_id AS old_id,
                COALESCE(MIN(o.batch_id), i.batch_id + {}) AS new_id,
                COUNT(o.batch_id) > 0 AS known
            FROM care_staged.main.batches i LEFT JOIN main.batches o ON {}
            GROUP BY i.batch_id;
            CREATE OR REPLACE TEMP TABLE care_sources AS
            SELECT i.source_id AS old_id,
                COALESCE(MIN(o.source_id), i.source_id + {}) AS new_id,
                COUNT(o.source_id) > 0 AS known
            FROM care_staged.main.sources i
            JOIN care_batches b ON b.old_id = i.batch_id
            LEFT JOIN main.sources o ON b.known AND o.batch_id = b.new_id AND {}
            GROUP BY i.source_id;",
            self.batch_offset,
            equal("batches", &["batch_id"]),
            self.source_offset,
            equal("sources", &["batch_id", "source_id"]),
        );
        self.store.step("ids", &sql)?;
        Ok(())
    }

    /// The rows of a table with the numbers of this store, under the name `i`.
    fn renumbered(&self, table: &Table) -> String {
        let column = |name: &str| match name {
            "batch_id" => format!("COALESCE(b.new_id, r.batch_id + {}) AS batch_id", self.batch_offset),
            "source_id" => format!("COALESCE(s.new_id, r.source_id + {}) AS source_id", self.source_offset),
            other => format!("r.{}", quoted(other)),
        };
        let columns: Vec<String> = table.column_names().map(column).collect();
        let join = |column: &str, map: &str, alias: &str| {
            let is_there = table.has(column);
            let join = format!(" LEFT JOIN {map} {alias} ON {alias}.old_id = r.{column}");
            if is_there { join } else { String::new() }
        };
        let known = match table.name.as_str() {
            "batches" => " WHERE NOT b.known",
            "sources" => " WHERE NOT s.known",
            _ => "",
        };
        format!(
            "(SELECT {} FROM care_staged.main.{} r{}{}{known}) i",
            columns.join(", "),
            quoted(&table.name),
            join("batch_id", "care_batches", "b"),
            join("source_id", "care_sources", "s"),
        )
    }

    /// Adds the rows that the store does not have. Returns how many.
    fn add(&self, table: &Table, is_fresh: bool) -> Result<u64, CareError> {
        let name = quoted(&table.name);
        let store = self.store;
        match table.class {
            TableClass::Internal => return Ok(0),
            // What a store is set to is its own affair, unless it is new.
            TableClass::Settings if !is_fresh => return Ok(0),
            TableClass::Settings => {
                store.step(&table.name, &format!("DELETE FROM main.{name}"))?;
            }
            TableClass::Secret if store.number(&format!("SELECT COUNT(*) FROM main.{name}"))? > 0 => return Ok(0),
            _ => {}
        }
        let same = |column: &&str| format!("o.{0} IS NOT DISTINCT FROM i.{0}", quoted(column));
        let condition = match table.name.as_str() {
            // Told by their numbers already.
            "batches" | "sources" => "TRUE".to_owned(),
            _ => {
                let same: Vec<String> = table.identity().iter().map(same).collect();
                format!("NOT EXISTS (SELECT 1 FROM main.{name} o WHERE {})", same.join(" AND "))
            }
        };
        let columns: Vec<String> = table.column_names().map(|column| format!("i.{}", quoted(column))).collect();
        let sql = format!(
            "INSERT INTO main.{name} SELECT {} FROM {} WHERE {condition}",
            columns.join(", "),
            self.renumbered(table)
        );
        Ok(store.touch(&table.name, &sql)?)
    }

    /// Notes the spans that both have with other content, each once. Returns how many there are.
    fn note_conflicts(&self, folder: &Path, conflict: &str) -> Result<u64, CareError> {
        let spans = self.tables.iter().find(|table| table.name == "spans");
        let content = spans.into_iter().flat_map(Table::column_names).filter(|column| !NOT_CONTENT.contains(column));
        let other: Vec<String> =
            content.map(|column| format!("o.{0} IS DISTINCT FROM i.{0}", quoted(column))).collect();
        let step = "conflicts";
        self.store.step(
            step,
            &format!(
                "CREATE OR REPLACE TEMP TABLE care_conflicts AS
                SELECT i.trace_id, i.span_id, i.line, s.new_id AS source_id, b.new_id AS batch_id
                FROM care_staged.main.spans i
                JOIN main.spans o ON o.trace_id = i.trace_id AND o.span_id = i.span_id
                LEFT JOIN care_sources s ON s.old_id = i.source_id
                LEFT JOIN care_batches b ON b.old_id = i.batch_id
                WHERE {}",
                other.join(" OR ")
            ),
        )?;
        let found = self.store.number("SELECT COUNT(*) FROM care_conflicts")?;
        let code = IssueCode::SpanConflict;
        self.store
            .connection
            .execute(
                "INSERT INTO ingest_issues (batch_id, source_id, source, severity, line, byte_offset, trace_id,
                    span_id, code, reason, raw)
                SELECT c.batch_id, c.source_id, ?, ?, c.line, 0, c.trace_id, c.span_id, ?, ?, ''
                FROM care_conflicts c
                WHERE NOT EXISTS (SELECT 1 FROM ingest_issues o
                    WHERE o.code = ? AND o.trace_id = c.trace_id AND o.span_id = c.span_id
                        AND o.source_id IS NOT DISTINCT FROM c.source_id)",
                params![folder.display().to_string(), code.severity().as_str(), code.as_str(), conflict, code.as_str()],
            )
            .map_err(StoreError::statement(step))?;
        self.store.step(step, "DROP TABLE care_conflicts")?;
        Ok(u64::try_from(found).unwrap_or(0))
    }

    /// Notes traces whose parents lead back to themselves only now that their spans are together.
    fn note_cycles(&self, folder: &Path, reason: &str) -> Result<(), CareError> {
        let code = IssueCode::ParentCycle;
        self.store
            .connection
            .execute(
                "INSERT INTO ingest_issues (batch_id, source, severity, line, byte_offset, trace_id, code, reason, raw)
                SELECT t.batch_id, ?, ?, 0, 0, c.trace_id, ?, ?, ''
                FROM parent_cycles c JOIN traces t ON t.trace_id = c.trace_id",
                params![folder.display().to_string(), code.severity().as_str(), code.as_str(), reason],
            )
            .map_err(StoreError::statement("cycles"))?;
        Ok(())
    }

    fn mask_key_differs(&self) -> Result<bool, CareError> {
        let differing = self.store.number(
            "SELECT COUNT(*) FROM care_staged.main.mask_key i, main.mask_key o WHERE i.fingerprint <> o.fingerprint",
        )?;
        Ok(differing > 0)
    }
}

fn wrong(folder: &Path, message: String) -> CareError {
    CareError::Manifest { path: folder.join(MANIFEST), message }
}

fn read_manifest(folder: &Path) -> Result<Manifest, CareError> {
    let path = folder.join(MANIFEST);
    let file = File::open(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => CareError::ExportFileMissing { path: path.clone() },
        _ => CareError::file(&path)(error),
    })?;
    let manifest: Manifest =
        serde_json::from_reader(BufReader::new(file)).map_err(|error| wrong(folder, error.to_string()))?;
    if manifest.format != FORMAT || manifest.format_version != FORMAT_VERSION {
        return Err(wrong(folder, format!("{} {}", manifest.format, manifest.format_version)));
    }
    let known = migrate::known_version();
    if !(1..=known).contains(&manifest.schema_version) {
        return Err(StoreError::Newer { found: manifest.schema_version, known }.into());
    }
    let history = migrate::history();
    let given = manifest.migrations.iter().map(Some).chain(std::iter::repeat(None));
    for (ours, given) in history.iter().zip(given).take(usize::try_from(manifest.schema_version).unwrap_or(0)) {
        if given != Some(ours) {
            return Err(StoreError::MigrationChanged { name: ours.0.clone() }.into());
        }
    }
    Ok(manifest)
}

/// Every file that the manifest names is there and is the one that was written.
fn verify_files(folder: &Path, entry: &TableEntry) -> Result<(), CareError> {
    for file in &entry.files {
        let relative = Path::new(&file.path);
        // A manifest from elsewhere must not reach out of its folder.
        if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(wrong(folder, file.path.clone()));
        }
        let path: PathBuf = folder.join(relative);
        let length = match fs::metadata(&path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(CareError::ExportFileMissing { path });
            }
            Err(error) => return Err(CareError::file(&path)(error)),
        };
        let hash = || File::open(&path).and_then(|file| sha256_hex_of(BufReader::new(file)));
        if length != file.bytes || hash().map_err(CareError::file(&path))? != file.sha256 {
            return Err(CareError::ExportFileChanged { path });
        }
    }
    Ok(())
}

/// The path as a pattern that fits nothing else.
fn glob_free(path: &Path) -> Result<String, CareError> {
    let text = sql_path(path)?;
    let inner: String = text[1..text.len() - 1]
        .chars()
        .map(|letter| if matches!(letter, '[' | '*' | '?') { format!("[{letter}]") } else { letter.to_string() })
        .collect();
    Ok(format!("'{inner}'"))
}
