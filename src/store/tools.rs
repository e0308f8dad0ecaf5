//! Tool sets: written once per content.

use duckdb::{Appender, OptionalExt, params};

use super::{Store, StoreError};
use crate::model::{JsonType, ToolDefinition, ToolSet};

impl Store {
    /// Stores the set unless it is there already, and puts it in force for what is read from now on.
    /// Returns whether another one was in force.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`; nothing of the set is in the store then.
    pub fn load_tools(&self, set: &ToolSet, loaded_at: &str) -> Result<bool, StoreError> {
        self.store_tools(set, loaded_at)?;
        let sql = "UPDATE judge_settings SET tool_set_default = $1 WHERE tool_set_default IS DISTINCT FROM $1";
        let changed = self.connection.execute(sql, params![set.sha256]);
        Ok(changed.map_err(StoreError::statement("judge_settings"))? > 0)
    }

    /// Stores the set unless it is there already, without putting it in force.
    ///
    /// # Errors
    /// As [`Store::load_tools`].
    pub fn store_tools(&self, set: &ToolSet, loaded_at: &str) -> Result<bool, StoreError> {
        let step = || StoreError::statement("tool_sets");
        let transaction = self.connection.unchecked_transaction().map_err(step())?;
        let new = self.insert_set(set, loaded_at)?;
        transaction.commit().map_err(step())?;
        Ok(new)
    }

    /// Adds the set for this process alone, in tables that hide those of the store. For a store that is open for
    /// reading only.
    ///
    /// # Errors
    /// `Statement`.
    pub fn lend_tools(&self, set: &ToolSet, loaded_at: &str) -> Result<(), StoreError> {
        for table in ["tool_sets", "tool_definitions", "tool_params", "tool_param_types"] {
            self.step(table, &format!("CREATE TEMP TABLE {table} AS FROM {table}"))?;
        }
        self.insert_set(set, loaded_at).map(drop)
    }

    /// The same as [`Store::store_tools`] inside a transaction that is open already.
    pub(super) fn insert_set(&self, set: &ToolSet, loaded_at: &str) -> Result<bool, StoreError> {
        let step = || StoreError::statement("tool_sets");
        let known: Option<String> = self
            .connection
            .query_row("SELECT tool_set FROM tool_sets WHERE tool_set = ?", params![set.sha256], |row| row.get(0))
            .optional()
            .map_err(step())?;
        if known.is_some() {
            return Ok(false);
        }
        let tools = set.tools.len() as i64;
        self.connection
            .execute("INSERT INTO tool_sets VALUES (?, ?, ?, ?)", params![set.sha256, set.source, tools, loaded_at])
            .map_err(step())?;
        append_tools(&self.connection, set).map_err(StoreError::statement("tool_definitions"))?;
        Ok(true)
    }
}

/// Appenders instead of statements: a statement a row costs more than reading the file.
fn append_tools(connection: &duckdb::Connection, set: &ToolSet) -> duckdb::Result<()> {
    let mut rows = ToolAppenders {
        definitions: connection.appender("tool_definitions")?,
        params: connection.appender("tool_params")?,
        types: connection.appender("tool_param_types")?,
    };
    for (position, tool) in (0_i64..).zip(&set.tools) {
        rows.append(&set.sha256, position, tool)?;
    }
    rows.definitions.flush()?;
    rows.params.flush()?;
    rows.types.flush()
}

struct ToolAppenders<'c> {
    definitions: Appender<'c>,
    params: Appender<'c>,
    types: Appender<'c>,
}

impl ToolAppenders<'_> {
    fn append(&mut self, set: &str, position: i64, tool: &ToolDefinition) -> duckdb::Result<()> {
        self.definitions.append_row(params![
            tool.tool_name,
            tool.description,
            tool.json_schema,
            tool.timeout_ms,
            tool.max_retries,
            tool.schema_readable,
            set,
            position,
        ])?;
        for param in &tool.params {
            let declared_type = (!param.types.is_empty()).then(|| param.declared_type());
            self.params.append_row(params![
                set,
                tool.tool_name,
                param.key,
                param.required_position.is_some(),
                param.position,
                param.required_position,
                declared_type,
            ])?;
            for json_type in accepted_types(&param.types) {
                self.types.append_row(params![set, tool.tool_name, param.key, json_type.as_str()])?;
            }
        }
        Ok(())
    }
}

/// `number` takes integers too (JSON Schema), so it stands for both.
fn accepted_types(declared: &[JsonType]) -> Vec<JsonType> {
    let mut accepted = declared.to_vec();
    if declared.contains(&JsonType::Number) {
        accepted.push(JsonType::Integer);
    }
    accepted.sort_unstable();
    accepted.dedup();
    accepted
}
