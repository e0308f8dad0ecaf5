//! One file into the store: one transaction, so that a kill leaves the store as before or after it.
//!
//! Rows go in through Arrow batches as they are read; at the end duplicates against earlier files
//! are taken out, parents are worked out and the traces get their tool set (`sql/settle/`).

use std::collections::{BTreeMap, BTreeSet};

use duckdb::{OptionalExt, params};

use super::kin::{Kin, Moved, Settled};
use super::{Store, StoreError, batch};
use crate::model::{CallArg, ChatCall, ChatFailure, Issue, IssueCode, OtelId, SpanLink, SpanRow, ToolSet, TraceId};

/// What a file is known by when it comes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceIdentity {
    /// Path as given, or `-`.
    pub path: String,
    /// Size in bytes as it lies on the disk; 0 for standard input.
    pub size_bytes: i64,
    /// Time of the last change, nanoseconds since 1970 UTC; none for standard input.
    pub modified_ns: Option<i64>,
}

/// What reading a file came to. Lines: `lines` = read + `lines_skipped`. Spans: `spans_seen` = kept +
/// merged + dropped + redelivered + skipped, where redelivered includes those that earlier files had.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceTotals {
    /// Lines of the file.
    pub lines: u64,
    /// Lines left out.
    pub lines_skipped: u64,
    /// Spans met.
    pub spans_seen: u64,
    /// Spans kept as rows.
    pub spans_kept: u64,
    /// Spans that are the same call as a span around them.
    pub spans_merged: u64,
    /// Spans of other operations, by operation.
    pub dropped: BTreeMap<String, u64>,
    /// Spans met before, with the same or other content.
    pub spans_redelivered: u64,
    /// Spans left out because of an issue.
    pub spans_skipped: u64,
    /// Traces that have a span of this file.
    pub traces: u64,
    /// Hash of the file's bytes as they lie on the disk.
    pub content_hash: String,
}

/// One thread: appending with more costs a quarter of the CPU time again. A store in a file keeps no more in memory
/// than this: a transaction fills whatever it may, so the file read would decide.
const WRITING_FILE: &str = "SET threads = 1; SET memory_limit = '120MiB'";
const WRITING_MEMORY: &str = "SET threads = 1";
/// Two threads once everything is appended: nothing else is done then. More would each need their share of the memory.
const SETTLING: &str = "SET threads = 2";
/// Before the number of every file.
pub(super) const ANY_SOURCE: i64 = 0;
/// About how many spans, kept or not, are settled at once.
const SETTLED_ROWS: u64 = 100_000;
/// From how many spans on, kept or not, a file goes into the store's file at once and not through the log, into which
/// DuckDB would write them all over again. With fewer, and with one request of a receiver, the log is cheaper.
pub(super) const LOGGED_ROWS: usize = 50_000;
/// The update is of a row that was committed before: without one DuckDB does not ask whether a checkpoint is due.
pub(super) const AROUND_THE_LOG: &str = "SET checkpoint_threshold = '0B'; SET auto_checkpoint_skip_wal_threshold = 0;
    UPDATE judge_settings SET scoped = scoped";
/// Back to what DuckDB chooses.
pub(super) const WRITTEN: &str = "RESET threads; RESET memory_limit; RESET checkpoint_threshold;
    RESET auto_checkpoint_skip_wal_threshold";

/// Turns an issue into the reason that people read.
pub type Reason<'a> = &'a dyn Fn(IssueCode, &str) -> String;

/// A file being written. Dropped before [`SourceWriter::finish`], it leaves no trace.
pub struct SourceWriter<'store> {
    pub(super) store: &'store Store,
    identity: SourceIdentity,
    pub(super) source_id: i64,
    batch_id: i64,
    /// Shapes of arguments of this file that are in `arg_shapes` already.
    shapes: BTreeSet<String>,
    kin: Kin,
    has_messages: bool,
    finished: bool,
}

impl Store {
    /// Appends rows to a table.
    pub(super) fn append_batch(
        &self,
        table: &str,
        built: Result<duckdb::arrow::record_batch::RecordBatch, duckdb::arrow::error::ArrowError>,
    ) -> Result<(), StoreError> {
        let rows = built.map_err(|error| {
            StoreError::statement(table)(duckdb::Error::ArrowTypeToDuckdbType(
                error.to_string(),
                duckdb::arrow::datatypes::DataType::Null,
            ))
        })?;
        let schema = rows.schema();
        let columns: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let appender = self.connection.appender_with_columns(table, &columns);
        let mut appender = appender.map_err(StoreError::statement(table))?;
        appender.append_record_batch(rows).map_err(StoreError::statement(table))?;
        appender.flush().map_err(StoreError::statement(table))
    }

    const fn writing(&self) -> &'static str {
        if self.is_file { WRITING_FILE } else { WRITING_MEMORY }
    }

    /// Begins a run of ingest; files read in it are judged with the tool set in force now.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn begin_batch(&self, started_at: &str) -> Result<i64, StoreError> {
        let step = || StoreError::statement("batches");
        let batch_id: i64 = self
            .connection
            .query_row("SELECT COALESCE(MAX(batch_id), 0) + 1 FROM batches", [], |row| row.get(0))
            .map_err(step())?;
        self.connection
            .execute(
                "INSERT INTO batches SELECT ?, ?, tool_set_default FROM judge_settings",
                params![batch_id, started_at],
            )
            .map_err(step())?;
        Ok(batch_id)
    }

    /// Whether this very file was read before: same path, size and time of change.
    ///
    /// # Errors
    /// `Statement`.
    pub fn has_read(&self, identity: &SourceIdentity) -> Result<bool, StoreError> {
        let Some(modified_ns) = identity.modified_ns else { return Ok(false) };
        let found: Option<i64> = self
            .connection
            .query_row(
                "SELECT source_id FROM sources WHERE path = ? AND size_bytes = ? AND modified_ns = ? LIMIT 1",
                params![identity.path, identity.size_bytes, modified_ns],
                |row| row.get(0),
            )
            .optional()
            .map_err(StoreError::statement("sources"))?;
        Ok(found.is_some())
    }

    /// Content hashes of the files of this size that were read before: what a file of that size is compared with.
    ///
    /// # Errors
    /// `Statement`.
    pub fn hashes_of_size(&self, size_bytes: i64) -> Result<Vec<String>, StoreError> {
        self.rows("SELECT DISTINCT content_hash FROM sources WHERE size_bytes = ?", params![size_bytes], |row| {
            row.get(0)
        })
    }

    /// Begins a file.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn begin_source(&self, batch_id: i64, identity: SourceIdentity) -> Result<SourceWriter<'_>, StoreError> {
        let source_id: i64 = self
            .connection
            .query_row("SELECT COALESCE(MAX(source_id), 0) + 1 FROM sources", [], |row| row.get(0))
            .map_err(StoreError::statement("sources"))?;
        self.connection.execute_batch(self.writing()).map_err(StoreError::statement("configuration"))?;
        if let Err(error) = self.connection.execute_batch("BEGIN") {
            self.connection.execute_batch(WRITTEN).ok();
            return Err(StoreError::statement("beginning a file")(error));
        }
        Ok(SourceWriter {
            store: self,
            identity,
            source_id,
            batch_id,
            shapes: BTreeSet::new(),
            kin: Kin::default(),
            has_messages: false,
            finished: false,
        })
    }
}

impl Store {
    /// Takes back what the traces in `unsettled` took from messages and from spans of the same call, so that it is
    /// worked out anew.
    pub(super) fn take_back(&self) -> Result<(), StoreError> {
        if self.has_rows("chat_calls")? {
            self.step("settle/take_back.sql", include_str!("../../sql/settle/take_back.sql"))?;
        }
        if self.has_rows("merged_spans")? {
            self.step("settle/restore.sql", include_str!("../../sql/settle/restore.sql"))?;
        }
        Ok(())
    }

    /// Works out parents, spans of one call and calls without spans of the traces in `unsettled`.
    ///
    /// In parts: a recursion cannot leave memory, which therefore is bounded by the part and not by the file. What goes
    /// round in circles is in `parent_cycles` then. No row of these traces came with a file before `first_source`: what
    /// came earlier need not be looked through.
    pub(super) fn settle_unsettled(&self, first_source: i64) -> Result<(), StoreError> {
        self.step_from(first_source, "settle/parts.sql", include_str!("../../sql/settle/parts.sql"))?;
        let counted = self.connection.query_row("SELECT settled_rows FROM settle_size", [], |row| row.get::<_, u64>(0));
        let without_parents = counted.map_err(StoreError::statement("settle_size"))?;
        let parts = without_parents.div_ceil(SETTLED_ROWS).max(1);
        for part in 0..parts {
            let sql = include_str!("../../sql/settle/part.sql");
            let sql = sql.replace("$parts", &parts.to_string()).replace("$part", &part.to_string());
            self.step("settle/part.sql", &sql)?;
            if without_parents > 0 {
                self.settle_parents(first_source)?;
            }
            if self.has_rows("chat_calls")? {
                self.step_from(first_source, "settle/chat_calls.sql", include_str!("../../sql/settle/chat_calls.sql"))?;
            }
        }
        Ok(())
    }

    fn settle_parents(&self, first_source: i64) -> Result<(), StoreError> {
        self.step_from(first_source, "settle/parents.sql", include_str!("../../sql/settle/parents.sql"))?;
        self.step("settle/same_call.sql", include_str!("../../sql/settle/same_call.sql"))?;
        if self.has_rows("same_call")? {
            self.step_from(first_source, "settle/merge.sql", include_str!("../../sql/settle/merge.sql"))?;
        }
        self.step("parent_cycles", "INSERT INTO parent_cycles SELECT c.trace_id FROM cycles c")
    }

    /// A settling step that looks through no row of an earlier file than `first_source`.
    fn step_from(&self, first_source: i64, name: &str, sql: &str) -> Result<(), StoreError> {
        self.step(name, &sql.replace("$first_source_id", &first_source.to_string()))
    }

    /// Brings the counts of every file in line with what is merged.
    pub(super) fn count_merged(&self) -> Result<(), StoreError> {
        self.step("settle/merged_counts.sql", include_str!("../../sql/settle/merged_counts.sql"))
    }
}

impl SourceWriter<'_> {
    /// Appends kept spans and the ids of others. Duplicates within the file must be settled already.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn append(
        &mut self,
        spans: &[SpanRow],
        links: &[SpanLink],
        issues: &[Issue],
        reason: Reason<'_>,
    ) -> Result<(), StoreError> {
        if !spans.is_empty() {
            self.kin.add_spans(spans);
            let shape = |span: &SpanRow| batch::args_shape(span.args_key.as_deref(), &span.args);
            let shapes: Vec<Option<String>> = spans.iter().map(shape).collect();
            self.append_batch("spans", batch::spans(spans, &shapes, self.source_id, self.batch_id))?;
            self.append_shapes(shapes, spans.iter().map(|span| span.args.as_slice()))?;
        }
        if !links.is_empty() {
            self.kin.add_links(links);
            self.append_batch("span_links", batch::span_links(links, self.source_id))?;
        }
        self.append_issues(issues, reason)
    }

    /// Appends calls that stand in messages, and what messages say of failures.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn append_messages(&mut self, calls: &[ChatCall], failures: &[ChatFailure]) -> Result<(), StoreError> {
        if !calls.is_empty() {
            self.has_messages = true;
            calls.iter().for_each(|call| self.kin.add_call(call));
            let shape = |call: &ChatCall| batch::args_shape(call.args_key.as_deref(), &call.args);
            let shapes: Vec<Option<String>> = calls.iter().map(shape).collect();
            self.append_batch("chat_calls", batch::chat_calls(calls, &shapes, self.source_id, self.batch_id))?;
            self.append_shapes(shapes, calls.iter().map(|call| call.args.as_slice()))?;
        }
        if !failures.is_empty() {
            self.has_messages = true;
            self.append_batch("chat_failures", batch::chat_failures(failures, self.source_id))?;
        }
        Ok(())
    }

    /// Appends the shapes that this file has not brought yet.
    fn append_shapes<'a>(
        &mut self,
        shapes: Vec<Option<String>>,
        args: impl Iterator<Item = &'a [CallArg]>,
    ) -> Result<(), StoreError> {
        let new: Vec<(String, &[CallArg])> = shapes
            .into_iter()
            .zip(args)
            .filter_map(|(shape, args)| Some((shape?, args)))
            .filter(|(shape, _)| !self.shapes.contains(shape) && self.shapes.insert(shape.clone()))
            .collect();
        if new.is_empty() {
            return Ok(());
        }
        self.append_batch("arg_shapes", batch::arg_shapes(&new, self.source_id))
    }

    /// Puts the tool definitions that came with the file in force for this run of ingest and later ones.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn use_tools(&mut self, set: &ToolSet, loaded_at: &str) -> Result<(), StoreError> {
        self.store.insert_set(set, loaded_at)?;
        let step = || StoreError::statement("tool set of a file");
        let connection = &self.store.connection;
        connection.execute("UPDATE judge_settings SET tool_set_default = ?", params![set.sha256]).map_err(step())?;
        connection
            .execute("UPDATE batches SET tool_set = ? WHERE batch_id = ?", params![set.sha256, self.batch_id])
            .map_err(step())?;
        Ok(())
    }

    /// Judges what is read in this run of ingest by these definitions, and leaves those in force as they are.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn judge_by(&mut self, set: &ToolSet, loaded_at: &str) -> Result<(), StoreError> {
        self.store.insert_set(set, loaded_at)?;
        self.store
            .connection
            .execute("UPDATE batches SET tool_set = ? WHERE batch_id = ?", params![set.sha256, self.batch_id])
            .map(drop)
            .map_err(StoreError::statement("tool set of a file"))
    }

    /// Settles the file against the store and commits it. Returns the totals as they then stand, and
    /// the issues that only the comparison with earlier files brought up.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`; nothing of the file is in the store then.
    pub fn finish(
        mut self,
        mut totals: SourceTotals,
        reason: Reason<'_>,
    ) -> Result<(SourceTotals, Vec<Issue>), StoreError> {
        self.run("configuration", SETTLING)?;
        let known = self.find_known()?;
        let is_large = self.kin.len() >= LOGGED_ROWS;
        let Settled { moved, open, new } = std::mem::take(&mut self.kin).settle(&known);
        if !open.is_empty() {
            self.append_batch("unsettled", batch::traces(&open, "parents"))?;
        }
        let has_unsettled = self.store.has_rows("unsettled")?;
        if !known.is_empty() {
            self.store.take_back()?;
        }
        let mut found = if known.is_empty() { Vec::new() } else { self.settle_repeated(&mut totals)? };
        self.run("settle/repeated_shapes.sql", include_str!("../../sql/settle/repeated_shapes.sql"))?;
        if self.has_messages {
            self.run("settle/repeated_calls.sql", include_str!("../../sql/settle/repeated_calls.sql"))?;
        }
        self.run("settle/traces.sql", include_str!("../../sql/settle/traces.sql"))?;
        if !moved.is_empty() {
            self.move_spans(moved)?;
        }
        if has_unsettled {
            let first_source = if known.is_empty() { self.source_id } else { ANY_SOURCE };
            self.store.settle_unsettled(first_source)?;
            found.extend(self.store.rows("SELECT trace_id FROM parent_cycles ORDER BY trace_id", [], |row| {
                Ok(file_issue(IssueCode::ParentCycle, 0, row.get(0)?, None))
            })?);
        }
        self.append_issues(&found, reason)?;
        totals.traces = new;
        if !known.is_empty() {
            totals.traces += self.count(include_str!("../../sql/settle/traces_again.sql"))?;
        }
        self.record(&totals)?;
        self.store.count_merged()?;
        totals.spans_merged = self.count("SELECT spans_merged FROM sources WHERE source_id = ?")?;
        totals.spans_kept -= totals.spans_merged;
        if is_large && self.store.is_file {
            self.run("configuration", AROUND_THE_LOG)?;
        }
        self.store.connection.execute_batch("COMMIT").map_err(StoreError::statement("committing a file"))?;
        self.finished = true;
        self.store.connection.execute_batch(WRITTEN).map_err(StoreError::statement("configuration"))?;
        Ok((totals, found))
    }

    /// The traces of the file of which something came with an earlier one. What is to be settled is in `touched` and
    /// `unsettled` then.
    fn find_known(&self) -> Result<Vec<TraceId>, StoreError> {
        let arrived: Vec<(TraceId, bool)> = self.kin.traces().collect();
        self.run("arrived", "CREATE OR REPLACE TEMP TABLE arrived (trace_id VARCHAR, kept BOOLEAN)")?;
        self.append_batch("arrived", batch::traces(&arrived, "kept"))?;
        self.run("settle/touched.sql", include_str!("../../sql/settle/touched.sql"))?;
        let known = self.store.rows("SELECT trace_id FROM known", [], |row| row.get::<_, String>(0))?;
        Ok(known.iter().filter_map(|trace_id| TraceId::of_hex(trace_id)).collect())
    }

    /// Gives spans the parents that were worked out for them.
    fn move_spans(&self, moved: Vec<Moved>) -> Result<(), StoreError> {
        let columns = "trace_id VARCHAR, span_id VARCHAR, parent_span_id VARCHAR, parent_lost BOOLEAN";
        self.run("moved", &format!("CREATE OR REPLACE TEMP TABLE moved ({columns})"))?;
        self.append_batch("moved", batch::moved(&moved))?;
        drop(moved);
        self.run("settle/moved.sql", include_str!("../../sql/settle/moved.sql"))
    }

    fn settle_repeated(&self, totals: &mut SourceTotals) -> Result<Vec<Issue>, StoreError> {
        self.run("settle/repeated_ids.sql", include_str!("../../sql/settle/repeated_ids.sql"))?;
        if !self.store.has_rows("repeated_ids")? {
            return Ok(Vec::new());
        }
        self.run("settle/repeated_spans.sql", include_str!("../../sql/settle/repeated_spans.sql"))?;
        let sql = "SELECT trace_id, span_id, line, same_content FROM repeated_spans ORDER BY line, trace_id, span_id";
        let repeated = self.store.rows(sql, [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, bool>(3)?))
        })?;
        totals.spans_kept -= repeated.len() as u64;
        totals.spans_redelivered += repeated.len() as u64;
        let conflicts = repeated.into_iter().filter(|(.., same_content)| !same_content);
        Ok(conflicts
            .map(|(trace_id, span_id, line, _)| {
                file_issue(IssueCode::SpanConflict, u64::try_from(line).unwrap_or(0), trace_id, Some(span_id))
            })
            .collect())
    }

    fn record(&self, totals: &SourceTotals) -> Result<(), StoreError> {
        let step = || StoreError::statement("sources");
        let connection = &self.store.connection;
        let dropped: u64 = totals.dropped.values().sum();
        connection
            .execute(
                "INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                params![
                    self.source_id,
                    self.batch_id,
                    self.identity.path,
                    self.identity.size_bytes,
                    self.identity.modified_ns,
                    totals.content_hash,
                    totals.lines,
                    totals.lines_skipped,
                    totals.spans_seen,
                    totals.spans_kept,
                    dropped,
                    totals.spans_redelivered,
                    totals.spans_skipped,
                ],
            )
            .map_err(step())?;
        for (operation, spans) in &totals.dropped {
            connection
                .execute("INSERT INTO dropped_operations VALUES (?, ?, ?)", params![self.source_id, operation, spans])
                .map_err(step())?;
        }
        Ok(())
    }

    fn append_issues(&self, issues: &[Issue], reason: Reason<'_>) -> Result<(), StoreError> {
        if issues.is_empty() {
            return Ok(());
        }
        let told: Vec<(Issue, String)> =
            issues.iter().map(|issue| (issue.clone(), reason(issue.code, &issue.detail))).collect();
        self.append_batch("ingest_issues", batch::issues(&told, &self.identity.path, self.source_id, self.batch_id))
    }

    fn append_batch(
        &self,
        table: &str,
        built: Result<duckdb::arrow::record_batch::RecordBatch, duckdb::arrow::error::ArrowError>,
    ) -> Result<(), StoreError> {
        self.store.append_batch(table, built)
    }

    /// Runs a settling step; its parameters are this writer's own numbers.
    fn run(&self, name: &str, sql: &str) -> Result<(), StoreError> {
        let sql =
            sql.replace("$source_id", &self.source_id.to_string()).replace("$batch_id", &self.batch_id.to_string());
        self.store.connection.execute_batch(&sql).map_err(StoreError::statement(name))
    }

    fn count(&self, sql: &str) -> Result<u64, StoreError> {
        self.store
            .connection
            .query_row(sql, params![self.source_id], |row| row.get(0))
            .map_err(StoreError::statement(sql))
    }
}

impl Drop for SourceWriter<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // After a failed statement the transaction may be gone already; then there is nothing to undo.
            self.store.connection.execute_batch("ROLLBACK").ok();
            self.store.connection.execute_batch(WRITTEN).ok();
        }
    }
}

fn file_issue(code: IssueCode, line: u64, trace_id: String, span_id: Option<String>) -> Issue {
    Issue { code, line, byte_offset: 0, trace_id: Some(trace_id), span_id, detail: String::new(), raw: String::new() }
}
