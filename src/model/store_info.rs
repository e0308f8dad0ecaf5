//! What is in a store, in numbers: what `taco-trace store info` tells.

use std::collections::BTreeMap;

use serde::Serialize;

/// What a table is to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableClass {
    /// Rows belong to a trace: it has `trace_id`.
    Trace,
    /// Rows tell of a file or of a run of ingest and stay when traces go: `source_id` or `batch_id`.
    History,
    /// Rows belong to a version of tools.json: `tool_set`.
    Tools,
    /// Rows that traces share; those that no trace uses any more go: `arg_shapes`.
    Shared,
    /// What happened, without a trace: `judgements`, `hq_decisions`.
    Log,
    /// One row that says how the store is used: `judge_settings`.
    Settings,
    /// What must not leave the store unasked: `mask_key`.
    Secret,
    /// Made by the program for itself at each opening or judgement.
    Internal,
}

/// A table of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Name.
    pub name: String,
    /// What it is to the others; none for a table that is not of this program.
    pub class: Option<TableClass>,
    /// Rows.
    pub rows: i64,
    /// Bytes of the blocks that hold a part of it. Small tables share a block, so these add up to more than the file.
    pub block_bytes: i64,
}

/// A version of tools.json.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolSetInfo {
    /// sha256 of its content.
    pub tool_set: String,
    /// Where it came from.
    pub source: String,
    /// Number of tools.
    pub tools: i64,
    /// When it came in, Korean time.
    pub loaded_at: String,
    /// Traces that came in while it was in force.
    pub traces: i64,
    /// Whether it is in force for what comes in next.
    pub in_force: bool,
}

/// What is in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreInfo {
    /// Path as given.
    pub path: String,
    /// Size of the file.
    pub size_bytes: u64,
    /// Size of the log beside it that is not yet in the file.
    pub wal_bytes: u64,
    /// Version of the tables: number of the last migration.
    pub schema_version: i64,
    /// Name of the last migration.
    pub migration: String,
    /// Size of a block.
    pub block_size: i64,
    /// Blocks of the file.
    pub total_blocks: i64,
    /// Blocks that hold something.
    pub used_blocks: i64,
    /// Blocks that hold nothing: what `vacuum` gives back.
    pub free_blocks: i64,
    /// Traces with a kept span.
    pub traces: i64,
    /// Runs that can be judged.
    pub runs: i64,
    /// Start of the first kept span, Korean time.
    pub first_start: Option<String>,
    /// Start of the last kept span, Korean time.
    pub last_start: Option<String>,
    /// Files read.
    pub sources: i64,
    /// Runs of ingest.
    pub batches: i64,
    /// Versions of tools.json, in order of loading.
    pub tool_sets: Vec<ToolSetInfo>,
    /// Issues by code.
    pub issues: BTreeMap<String, i64>,
    /// Values masked while reading, by kind.
    pub masked: BTreeMap<String, i64>,
    /// Tables in order of name.
    pub tables: Vec<TableInfo>,
}
