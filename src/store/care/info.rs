//! What is in a store, in numbers.

use std::collections::BTreeMap;
use std::path::Path;

use super::{CareError, literal, quoted, tables_of_program};
use crate::model::{StoreInfo, TableInfo, ToolSetInfo};
use crate::store::{Store, korean_time, migrate};

impl Store {
    /// What is in the store, which lies at `path`.
    ///
    /// # Errors
    /// `Store`, `File`, `Unclassified`.
    pub fn info(&self, path: &Path) -> Result<StoreInfo, CareError> {
        let size = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.len());
        let mut wal = path.as_os_str().to_owned();
        wal.push(".wal");
        let count = |sql: &str| self.number(sql);
        let sums = |sql: &str| -> Result<BTreeMap<String, i64>, CareError> {
            Ok(self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
        };
        let blocks = self.rows(
            "SELECT block_size, total_blocks, used_blocks, free_blocks FROM pragma_database_size()
            WHERE database_name = current_database()",
            [],
            |row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?]),
        )?;
        let [block_size, total_blocks, used_blocks, free_blocks] = blocks.first().copied().unwrap_or_default();
        let starts = self.rows("SELECT MIN(start_ns), MAX(start_ns) FROM spans", [], |row| {
            Ok([row.get::<_, Option<i64>>(0)?, row.get(1)?])
        })?;
        let [first, last] = starts.first().copied().unwrap_or_default();
        Ok(StoreInfo {
            path: path.display().to_string(),
            size_bytes: size(path).map_err(CareError::file(path))?,
            wal_bytes: size(Path::new(&wal)).unwrap_or(0),
            schema_version: migrate::known_version(),
            migration: migrate::history().pop().map(|(name, _)| name).unwrap_or_default(),
            block_size,
            total_blocks,
            used_blocks,
            free_blocks,
            traces: count("SELECT COUNT(DISTINCT trace_id) FROM spans")?,
            runs: count("SELECT COUNT(*) FROM set_run_v1")?,
            first_start: first.map(korean_time),
            last_start: last.map(korean_time),
            sources: count("SELECT COUNT(*) FROM sources")?,
            batches: count("SELECT COUNT(*) FROM batches")?,
            tool_sets: self.tool_set_infos()?,
            issues: sums("SELECT code, COUNT(*) FROM ingest_issues GROUP BY code")?,
            masked: sums("SELECT kind, CAST(SUM(count) AS BIGINT) FROM masked_counts GROUP BY kind")?,
            tables: self.table_infos(block_size)?,
        })
    }

    fn tool_set_infos(&self) -> Result<Vec<ToolSetInfo>, CareError> {
        let found = self.rows(
            "SELECT s.tool_set, s.source, s.tools, s.loaded_at,
                (SELECT COUNT(*) FROM traces t WHERE t.tool_set = s.tool_set),
                s.tool_set IN (SELECT tool_set_default FROM judge_settings WHERE tool_set_default IS NOT NULL)
            FROM tool_sets s
            ORDER BY s.loaded_at, s.tool_set",
            [],
            |row| {
                Ok(ToolSetInfo {
                    tool_set: row.get(0)?,
                    source: row.get(1)?,
                    tools: row.get(2)?,
                    loaded_at: row.get(3)?,
                    traces: row.get(4)?,
                    in_force: row.get(5)?,
                })
            },
        )?;
        Ok(found)
    }

    fn table_infos(&self, block_size: i64) -> Result<Vec<TableInfo>, CareError> {
        let ours = tables_of_program()?;
        let names: Vec<String> = self.rows(
            "SELECT table_name FROM duckdb_tables()
            WHERE database_name = current_database() AND schema_name = 'main' AND NOT internal AND NOT temporary
            ORDER BY table_name",
            [],
            |row| row.get(0),
        )?;
        let info = |name: String| {
            let blocks = self.number(&format!(
                "SELECT COUNT(DISTINCT block_id) FROM (
                    SELECT block_id FROM pragma_storage_info({table}) WHERE persistent
                    UNION ALL
                    SELECT unnest(additional_block_ids) FROM pragma_storage_info({table}) WHERE persistent)
                WHERE block_id >= 0",
                table = literal(&quoted(&name)),
            ))?;
            Ok(TableInfo {
                class: ours.iter().find(|table| table.name == name).map(|table| table.class),
                rows: self.number(&format!("SELECT COUNT(*) FROM main.{}", quoted(&name)))?,
                block_bytes: blocks * block_size,
                name,
            })
        };
        names.into_iter().map(info).collect()
    }
}
