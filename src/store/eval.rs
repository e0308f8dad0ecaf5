//! Frozen cases of evaluations. Rows are only added: a version is never changed.

use duckdb::params;

use super::{Store, StoreError};
use crate::model::FrozenCase;

impl Store {
    /// Keeps a version of a case; false when it was there already, which then stays as it is.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn freeze_case(&self, case: &FrozenCase) -> Result<bool, StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/freeze_case.sql"),
                params![case.sha256, case.id, case.name, case.document, case.frozen_at],
            )
            .map(|rows| rows > 0)
            .map_err(StoreError::statement("eval_cases"))
    }

    /// Frozen cases by id, then in the order in which they were frozen.
    ///
    /// # Errors
    /// `Statement`.
    pub fn frozen_cases(&self) -> Result<Vec<FrozenCase>, StoreError> {
        self.rows(include_str!("../../sql/queries/frozen_cases.sql"), [], |row| {
            Ok(FrozenCase {
                sha256: row.get(0)?,
                id: row.get(1)?,
                name: row.get(2)?,
                document: row.get(3)?,
                frozen_at: row.get(4)?,
            })
        })
    }
}
