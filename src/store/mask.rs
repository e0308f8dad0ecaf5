//! The key of a store's pseudonyms, and how many values of each file were replaced.

use duckdb::{OptionalExt, params};

use super::{SourceWriter, Store, StoreError};

/// What a store knows of the key that its values are masked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskKey {
    /// The key; none when it lies outside of the store.
    pub key: Option<String>,
    /// Tells whether another key is the same.
    pub fingerprint: String,
}

impl Store {
    /// The key of this store; none before the first masked ingest.
    ///
    /// # Errors
    /// `Statement`.
    pub fn mask_key(&self) -> Result<Option<MaskKey>, StoreError> {
        self.connection
            .query_row("SELECT key, fingerprint FROM mask_key", [], |row| {
                Ok(MaskKey { key: row.get(0)?, fingerprint: row.get(1)? })
            })
            .optional()
            .map_err(StoreError::statement("mask_key"))
    }

    /// Puts the key of this store in place, once.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn set_mask_key(&self, key: &MaskKey) -> Result<(), StoreError> {
        self.connection
            .execute("INSERT INTO mask_key VALUES (?, ?)", params![key.key, key.fingerprint])
            .map(drop)
            .map_err(StoreError::statement("mask_key"))
    }
}

impl SourceWriter<'_> {
    /// Records how many values of each kind were replaced in the file.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn record_masked<'k>(&self, counts: impl IntoIterator<Item = (&'k str, u64)>) -> Result<(), StoreError> {
        for (kind, count) in counts {
            self.store
                .connection
                .execute("INSERT INTO masked_counts VALUES (?, ?, ?)", params![self.source_id, kind, count])
                .map_err(StoreError::statement("masked_counts"))?;
        }
        Ok(())
    }
}
