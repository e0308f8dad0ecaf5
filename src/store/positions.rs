//! How far files were read: what a file that has grown, or was renamed, is known by.

use duckdb::params;

use super::{SourceIdentity, SourceWriter, Store, StoreError};

/// A state that a file was in when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// Path, size in bytes as read, and time of change.
    pub identity: SourceIdentity,
    /// Device and inode.
    pub file_id: Option<(i64, i64)>,
    /// Hash of the beginning of those bytes.
    pub head_hash: String,
    /// Hash of the end of those bytes.
    pub tail_hash: String,
    /// Offset at which hashing the content goes on.
    pub hashed_bytes: i64,
    /// What the content before it came to, hex.
    pub hash_chain: String,
    /// Offset at which reading goes on; none when the file has to be read anew.
    pub next_byte: Option<i64>,
    /// Line at which reading goes on, from 1.
    pub next_line: i64,
    /// How many of the lines counted stand there, and will be counted again.
    pub lines_again: i64,
    /// How many of the lines left out stand there.
    pub lines_skipped_again: i64,
}

/// A position as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownPosition {
    /// The reading that came to it.
    pub source_id: i64,
    /// Hash of the content up to it.
    pub content_hash: String,
    /// The position.
    pub position: SourcePosition,
}

impl Store {
    /// All positions, those of the latest readings first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn positions(&self) -> Result<Vec<KnownPosition>, StoreError> {
        self.rows(include_str!("../../sql/queries/positions.sql"), [], |row| {
            let identity = SourceIdentity { path: row.get(2)?, size_bytes: row.get(3)?, modified_ns: row.get(4)? };
            Ok(KnownPosition {
                source_id: row.get(0)?,
                content_hash: row.get(1)?,
                position: SourcePosition {
                    identity,
                    file_id: row.get::<_, Option<i64>>(5)?.zip(row.get::<_, Option<i64>>(6)?),
                    head_hash: row.get(7)?,
                    tail_hash: row.get(8)?,
                    hashed_bytes: row.get(9)?,
                    hash_chain: row.get(10)?,
                    next_byte: row.get(11)?,
                    next_line: row.get(12)?,
                    lines_again: row.get(13)?,
                    lines_skipped_again: row.get(14)?,
                },
            })
        })
    }

    /// Remembers a state under another path or time of change as well.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn remember(&self, known: &KnownPosition) -> Result<(), StoreError> {
        let step = || StoreError::statement("source_positions");
        let transaction = self.connection.unchecked_transaction().map_err(step())?;
        self.forget_position(known)?;
        self.insert_position(known.source_id, &known.position)?;
        transaction.commit().map_err(step())
    }

    fn forget_position(&self, known: &KnownPosition) -> Result<(), StoreError> {
        self.connection
            .execute(
                "DELETE FROM source_positions WHERE source_id = ? AND path = ?",
                params![known.source_id, known.position.identity.path],
            )
            .map(|_| ())
            .map_err(StoreError::statement("source_positions"))
    }

    fn insert_position(&self, source_id: i64, position: &SourcePosition) -> Result<(), StoreError> {
        let SourceIdentity { path, size_bytes, modified_ns } = &position.identity;
        self.connection
            .execute(
                "INSERT INTO source_positions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    source_id,
                    path,
                    size_bytes,
                    modified_ns,
                    position.file_id.map(|(device, _)| device),
                    position.file_id.map(|(_, inode)| inode),
                    position.head_hash,
                    position.tail_hash,
                    position.hashed_bytes,
                    position.hash_chain,
                    position.next_byte,
                    position.next_line,
                    position.lines_again,
                    position.lines_skipped_again,
                ],
            )
            .map(|_| ())
            .map_err(StoreError::statement("source_positions"))
    }
}

impl SourceWriter<'_> {
    /// Says that this file goes on from a state read before. What that reading told of the lines that are read again
    /// is taken back, issues and counts: they come with this file.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn go_on_from(&self, known: &KnownPosition) -> Result<(), StoreError> {
        let step = || StoreError::statement("going on with a file");
        let connection = &self.store.connection;
        let KnownPosition { source_id, position, .. } = known;
        // Where nothing was left out, only a newline may be missing: what was told of that line stays.
        if position.next_byte.is_none() || position.lines_skipped_again > 0 {
            // Issues of the file as a whole stand on line 0; those found by comparing have no offset.
            connection
                .execute(
                    "DELETE FROM ingest_issues WHERE source_id = ? AND line >= ? AND line > 0
                        AND (byte_offset >= ? OR byte_offset = 0)",
                    params![source_id, position.next_line, position.next_byte.unwrap_or(0)],
                )
                .map_err(step())?;
        }
        connection
            .execute(
                "UPDATE sources SET lines = lines - ?, lines_skipped = lines_skipped - ? WHERE source_id = ?",
                params![position.lines_again, position.lines_skipped_again, source_id],
            )
            .map_err(step())?;
        self.store.forget_position(known)
    }

    /// The number under which this file is written.
    #[must_use]
    pub const fn source_id(&self) -> i64 {
        self.source_id
    }

    /// Records the state that reading this file came to. It is committed with the file.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn record_position(&self, position: &SourcePosition) -> Result<(), StoreError> {
        self.store.insert_position(self.source_id, position)
    }
}
