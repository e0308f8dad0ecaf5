//! Brings the tables of a store up to date: one transaction per migration, forward only.
//!
//! The statements of the history table are the only SQL that stands in Rust.

use std::collections::BTreeMap;

use duckdb::{Connection, params};

use super::StoreError;
use super::views::plainly;
use crate::digest::sha256_hex;

/// Every migration in order; its number is the four digits its name begins with.
const MIGRATIONS: &[(&str, &str)] = &[
    ("0001_create_store.sql", include_str!("../../migrations/0001_create_store.sql")),
    ("0002_keep_calls_without_spans.sql", include_str!("../../migrations/0002_keep_calls_without_spans.sql")),
    ("0003_follow_files.sql", include_str!("../../migrations/0003_follow_files.sql")),
    ("0004_add_mask_key.sql", include_str!("../../migrations/0004_add_mask_key.sql")),
    ("0005_choose_compression.sql", include_str!("../../migrations/0005_choose_compression.sql")),
    ("0006_keep_reviews.sql", include_str!("../../migrations/0006_keep_reviews.sql")),
    ("0007_keep_call_checks.sql", include_str!("../../migrations/0007_keep_call_checks.sql")),
    ("0008_keep_spec_gaps.sql", include_str!("../../migrations/0008_keep_spec_gaps.sql")),
    ("0009_name_limits_of_tools.sql", include_str!("../../migrations/0009_name_limits_of_tools.sql")),
    ("0010_keep_model_drafts.sql", include_str!("../../migrations/0010_keep_model_drafts.sql")),
    ("0011_keep_bench_runs.sql", include_str!("../../migrations/0011_keep_bench_runs.sql")),
    ("0012_keep_eval_cases.sql", include_str!("../../migrations/0012_keep_eval_cases.sql")),
    ("0013_keep_experiments.sql", include_str!("../../migrations/0013_keep_experiments.sql")),
];

const CREATE_HISTORY: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version BIGINT NOT NULL, name VARCHAR NOT NULL, sha256 VARCHAR NOT NULL)";

/// Version of the tables that this program works with.
pub(super) const fn known_version() -> i64 {
    MIGRATIONS.len() as i64
}

/// Name and sha256 of every migration, in order.
pub(super) fn history() -> Vec<(String, String)> {
    MIGRATIONS.iter().map(|(name, sql)| ((*name).to_owned(), sha256_hex(sql.as_bytes()))).collect()
}

/// Applies what is missing; refuses a store that is newer or whose history differs.
pub(super) fn run(connection: &Connection) -> Result<(), StoreError> {
    apply_missing(connection, known_version(), Comments::Kept)
}

/// The same for a store that no other client can open: without comments, which take most of the time.
pub(super) fn run_uncommented(connection: &Connection) -> Result<(), StoreError> {
    apply_missing(connection, known_version(), Comments::LeftOut)
}

/// The same up to a version: tables as an earlier program had them.
pub(super) fn run_to(connection: &Connection, version: i64) -> Result<(), StoreError> {
    apply_missing(connection, version, Comments::Kept)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comments {
    Kept,
    LeftOut,
}

fn apply_missing(connection: &Connection, version: i64, comments: Comments) -> Result<(), StoreError> {
    connection.execute_batch(CREATE_HISTORY).map_err(StoreError::statement("schema_migrations"))?;
    let applied = applied(connection).map_err(StoreError::statement("schema_migrations"))?;
    let known = known_version();
    if let Some(found) = applied.keys().copied().max().filter(|found| *found > known) {
        return Err(StoreError::Newer { found, known });
    }
    let mut missing = Vec::new();
    for (number, (name, sql)) in (1..=version).zip(MIGRATIONS) {
        let sha256 = sha256_hex(sql.as_bytes());
        match applied.get(&number) {
            Some(earlier) if *earlier == sha256 => {}
            Some(_) => return Err(StoreError::MigrationChanged { name: (*name).to_owned() }),
            None => {
                let statements = match comments {
                    Comments::Kept => (*sql).to_owned(),
                    Comments::LeftOut => sql
                        .lines()
                        .filter(|line| !line.starts_with("COMMENT ON "))
                        .fold(String::new(), |text, line| text + line + "\n"),
                };
                missing.push((number, *name, statements, sha256));
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    plainly(connection, || {
        for (number, name, statements, sha256) in &missing {
            apply(connection, *number, name, statements, sha256).map_err(StoreError::statement(*name))?;
        }
        Ok(())
    })
}

/// Whether every migration was applied and none differs; a file that never was a store is not. Writes nothing.
pub(super) fn is_current(connection: &Connection) -> Result<bool, StoreError> {
    let is_store: bool = connection
        .query_row("SELECT COUNT(*) > 0 FROM duckdb_tables() WHERE table_name = 'schema_migrations'", [], |row| {
            row.get(0)
        })
        .map_err(StoreError::statement("schema_migrations"))?;
    if !is_store {
        return Ok(false);
    }
    let applied = applied(connection).map_err(StoreError::statement("schema_migrations"))?;
    let known = MIGRATIONS.iter().map(|(_, sql)| sha256_hex(sql.as_bytes()));
    Ok(applied.into_iter().eq((1..).zip(known)))
}

/// sha256 of the migrations that were applied, by version.
fn applied(connection: &Connection) -> duckdb::Result<BTreeMap<i64, String>> {
    let mut statement = connection.prepare("SELECT version, sha256 FROM schema_migrations")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn apply(connection: &Connection, version: i64, name: &str, sql: &str, sha256: &str) -> duckdb::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(sql)?;
    transaction.execute("INSERT INTO schema_migrations VALUES (?, ?, ?)", params![version, name, sha256])?;
    transaction.commit()
}
