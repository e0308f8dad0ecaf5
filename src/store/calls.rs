//! Checks of recorded calls: rows in, verdicts out page by page, and the checks that are kept.
//!
//! A check works in temporary tables of the names that the views read, so that nothing reaches the tables of the store
//! before [`CallCheck::keep`], and no other check is looked at. DuckDB moves them to the disk when they outgrow
//! [`CHECKING`]. What is left out at load is decided here, for only the store knows what was loaded; all else is
//! decided by the views (`sql/checks/`). Start with [`Store::begin_call_check`].

use std::collections::BTreeMap;
use std::path::Path;

use duckdb::params;
use twox_hash::XxHash3_128;

use super::append::{AROUND_THE_LOG, LOGGED_ROWS, WRITTEN};
use super::{CALL_SET, Reason, Store, StoreError, batch, call_set_sha256, views};
use crate::model::{CallSpec, CallVerdictKind, Issue, IssueCode, RecordedCall, SpecGap};

/// One thread, and no more memory than this: a check takes the same however many calls there are.
const CHECKING: &str = "SET threads = 1; SET memory_limit = '160MiB'";
/// The tables of a check.
const TABLES: [&str; 7] =
    ["call_inputs", "checked_calls", "left_out_calls", "call_specs", "call_spec_gaps", "call_results", "call_issues"];
/// Further temporary tables.
const STEPS: [&str; 3] = ["call_entries", "call_unjudged", "call_spans"];

/// An input of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallInput {
    /// `calls` or `specs`.
    pub role: &'static str,
    /// Path as given, or what stands for it.
    pub path: String,
    /// sha256 of its bytes, hex.
    pub sha256: String,
}

/// A row of the set view: what is said, and the cells that it may rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallEntry {
    /// What is said.
    pub verdict: CallVerdictKind,
    /// Number of the call.
    pub call_no: String,
    /// The argument.
    pub checked_arg: Option<String>,
    /// Name of the tool as written.
    pub tool_name_raw: String,
    /// Value of the argument.
    pub arg_value: Option<String>,
    /// Allowed values, where they were looked at.
    pub allowed_values: Option<String>,
    /// Upper limit, where it was looked at.
    pub max_number: Option<String>,
    /// Whether the argument is required, where that was looked at.
    pub is_required: Option<bool>,
    /// number_over_limit: `over_limit`, `negative` or `not_a_number`.
    pub problem: Option<String>,
    /// duplicate_call: how many rows have the number.
    pub row_count: Option<i64>,
}

/// A call that no check can judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnjudgedCall {
    /// Number of the call.
    pub call_no: String,
    /// The argument; none when the call names none.
    pub arg_name: Option<String>,
    /// Name of the tool as written.
    pub tool_name_raw: String,
    /// Which input it came from, from 0.
    pub input: i64,
    /// Line of that input; 0 when it has none.
    pub line: i64,
    /// Why: a reason of `set_call_unjudged_v1`.
    pub reason: String,
    /// limit_not_held, tool_limit_not_held: the keywords.
    pub detail: Option<String>,
}

/// A span whose arguments are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanCall {
    /// Place in the order of calls, from 1.
    pub place: i64,
    /// The span, with its trace in front where two traces use one span id.
    pub id: String,
    /// Name of the tool.
    pub tool_name: String,
    /// Canonical arguments.
    pub args_key: Option<String>,
}

/// What a check came to, as it is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallRun {
    /// When, Korean time.
    pub checked_at: String,
    /// When, nanoseconds since 1970 UTC.
    pub checked_ns: i64,
    /// Problems met while reading.
    pub issues: u64,
}

/// A check that was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptCheck {
    /// Names it.
    pub call_run: String,
    /// When, Korean time.
    pub checked_at: String,
    /// Calls, those that could not be judged included.
    pub calls: i64,
    /// Arguments specified.
    pub specs: i64,
    /// Calls left out at load.
    pub left_out: i64,
    /// Calls that could not be judged.
    pub unjudged: i64,
    /// Problems met while reading.
    pub issues: i64,
    /// What it was given: role and path of each input in order.
    pub inputs: Vec<(String, String)>,
    /// How often each verdict stands in it, in the order of the output.
    pub verdicts: [i64; 6],
}

/// How many calls changed in one way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallChangeCount {
    /// `newly_deviating`, `repaired`, `still_deviating`, `newly_unjudged`, `judged_again`, `gone` or `new`.
    pub change: String,
    /// A verdict or `unjudged`; empty for the number of calls in all.
    pub reason: String,
    /// Calls.
    pub calls: i64,
}

/// A call that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallChange {
    /// In which way.
    pub change: String,
    /// Number of the call.
    pub call_no: String,
    /// What was said of it; none when it was not there.
    pub before: Vec<String>,
    /// What is said of it; none when it is not there.
    pub after: Vec<String>,
}

/// A check at hand. Dropped, it leaves nothing in the store but what was kept.
pub struct CallCheck<'store> {
    store: &'store Store,
    call_run: String,
    /// The database of the store, as SQL writes it.
    database: String,
    /// Inputs so far.
    inputs: i64,
    /// Calls loaded, those left out included.
    place: i64,
    left_out: i64,
    specs: i64,
    entries: i64,
    unjudged: i64,
    // Looked up and never walked, so its order cannot reach the output; it is asked for every call. A hash of 128 bits
    // stands for each number: for two to be alike by chance in a billion calls is less likely than a faulty disk.
    #[allow(clippy::disallowed_types)]
    seen: std::collections::HashSet<u128>,
}

impl Store {
    /// Begins a check named `call_run`. A store in memory, or one open for reading only, moves what does not fit into
    /// memory to the folder `spill`.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn begin_call_check(&self, call_run: &str, spill: &Path) -> Result<CallCheck<'_>, StoreError> {
        let database: String = self
            .connection
            .query_row("SELECT current_database()", [], |row| row.get(0))
            .map_err(StoreError::statement("current_database"))?;
        let check = CallCheck {
            store: self,
            call_run: call_run.to_owned(),
            database: format!("\"{}\"", database.replace('"', "\"\"")),
            inputs: 0,
            place: 0,
            left_out: 0,
            specs: 0,
            entries: 0,
            unjudged: 0,
            seen: Default::default(),
        };
        let mode = "SELECT current_setting('access_mode')";
        let mode: String =
            self.connection.query_row(mode, [], |row| row.get(0)).map_err(StoreError::statement("access_mode"))?;
        if !self.is_file || mode.eq_ignore_ascii_case("read_only") {
            let folder = spill.display().to_string().replace('\'', "''");
            self.step("configuration", &format!("SET temp_directory = '{folder}'"))?;
        }
        self.step("configuration", CHECKING)?;
        for table in TABLES {
            let sql = format!("CREATE TEMP TABLE {table} AS FROM {}.main.{table} LIMIT 0", check.database);
            self.step(table, &sql)?;
        }
        views::create_call_checks(&self.connection)?;
        Ok(check)
    }

    /// The checks that were kept, the first first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn call_checks(&self) -> Result<Vec<KeptCheck>, StoreError> {
        let mut inputs: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        let sql = "SELECT call_run, role, path FROM call_inputs ORDER BY call_run, number";
        for (run, role, path) in self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))? {
            inputs.entry(run).or_default().push((role, path));
        }
        self.rows(include_str!("../../sql/queries/call_runs.sql"), [], |row| {
            let mut verdicts = [0; 6];
            for (place, count) in verdicts.iter_mut().enumerate() {
                *count = row.get(7 + place)?;
            }
            let call_run: String = row.get(0)?;
            Ok(KeptCheck {
                inputs: inputs.get(&call_run).cloned().unwrap_or_default(),
                call_run,
                checked_at: row.get(1)?,
                calls: row.get(2)?,
                specs: row.get(3)?,
                left_out: row.get(4)?,
                unjudged: row.get(5)?,
                issues: row.get(6)?,
                verdicts,
            })
        })
    }

    /// Takes a check that was kept out of the store: all of it or, on an error, nothing.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn delete_call_check(&self, call_run: &str) -> Result<(), StoreError> {
        self.whole("a deletion", || {
            TABLES.iter().chain(&["call_runs"]).try_for_each(|table| {
                let sql = format!("DELETE FROM {table} WHERE call_run = ?");
                self.connection.execute(&sql, params![call_run]).map(|_| ()).map_err(StoreError::statement(*table))
            })
        })
    }

    /// Compares two checks that were kept; [`Store::call_changes`] tells of the calls then. Returns the counts by
    /// change and reason.
    ///
    /// # Errors
    /// `Statement`.
    pub fn compare_call_checks(&self, before: &str, after: &str) -> Result<Vec<CallChangeCount>, StoreError> {
        let text = |name: &str| format!("'{}'", name.replace('\'', "''"));
        let sql = include_str!("../../sql/queries/call_changes.sql");
        let sql = sql.replace("$before", &text(before)).replace("$after", &text(after));
        self.step("call_changes", "DROP TABLE IF EXISTS temp.main.call_changes")?;
        self.step("queries/call_changes.sql", &sql)?;
        self.rows(include_str!("../../sql/queries/call_change_counts.sql"), [], |row| {
            Ok(CallChangeCount { change: row.get(0)?, reason: row.get(1)?, calls: row.get(2)? })
        })
    }

    /// Calls that changed in one way, in order of loading: `limit` of them behind the first `offset`.
    ///
    /// # Errors
    /// `Statement`; without [`Store::compare_call_checks`] before it too.
    pub fn call_changes(&self, change: &str, limit: i64, offset: i64) -> Result<Vec<CallChange>, StoreError> {
        let split = |text: Option<String>| -> Vec<String> {
            text.map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
        };
        let sql = include_str!("../../sql/queries/call_change_page.sql");
        self.rows(sql, params![change, limit, offset], |row| {
            Ok(CallChange {
                change: row.get(0)?,
                call_no: row.get(1)?,
                before: split(row.get(2)?),
                after: split(row.get(3)?),
            })
        })
    }

    /// The tool set that is in force for what comes in next; none when no tools.json was loaded.
    ///
    /// # Errors
    /// `Statement`.
    pub fn tool_set_in_force(&self) -> Result<Option<String>, StoreError> {
        let found: Vec<Option<String>> =
            self.rows("SELECT tool_set_default FROM judge_settings", [], |row| row.get(0))?;
        Ok(found.into_iter().flatten().next())
    }
}

impl CallCheck<'_> {
    /// Adds an input; its number is what rows name it by.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_input(&mut self, input: &CallInput) -> Result<i64, StoreError> {
        let number = self.inputs;
        self.inputs += 1;
        self.store
            .connection
            .execute(
                "INSERT INTO call_inputs VALUES (?, ?, ?, ?, ?)",
                params![self.call_run, number, input.role, input.path, input.sha256],
            )
            .map_err(StoreError::statement("call_inputs"))?;
        Ok(number)
    }

    /// Says what the bytes of an input were, once it was read.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn set_sha256(&self, input: i64, sha256: &str) -> Result<(), StoreError> {
        self.store
            .connection
            .execute("UPDATE call_inputs SET sha256 = ? WHERE number = ?", params![sha256, input])
            .map(|_| ())
            .map_err(StoreError::statement("call_inputs"))
    }

    /// Adds specifications, of which no two are of one argument.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_specs(&mut self, specs: &[CallSpec], input: i64) -> Result<(), StoreError> {
        self.specs += specs.len() as i64;
        self.store.append_batch("call_specs", batch::call_specs(&self.call_run, specs, input))
    }

    /// Adds what the specifications leave open.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_spec_gaps(&mut self, gaps: &[SpecGap], input: i64) -> Result<(), StoreError> {
        if gaps.is_empty() {
            return Ok(());
        }
        self.store.append_batch("call_spec_gaps", batch::call_spec_gaps(&self.call_run, gaps, input))
    }

    /// Adds calls. Those whose number was loaded before are left out, and are returned as issues.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_calls(&mut self, calls: &[RecordedCall], input: i64) -> Result<Vec<Issue>, StoreError> {
        let (mut kept, mut left_out) = (Vec::with_capacity(calls.len()), Vec::new());
        for call in calls {
            self.place += 1;
            let is_new = self.seen.insert(XxHash3_128::oneshot(call.call_no.as_bytes()));
            if is_new { kept.push((self.place, call)) } else { left_out.push((self.place, call)) }
        }
        let code = IssueCode::CallRepeated;
        if !kept.is_empty() {
            self.store.append_batch("checked_calls", batch::calls(&self.call_run, &kept, input, None))?;
        }
        if !left_out.is_empty() {
            self.left_out += left_out.len() as i64;
            let rows = batch::calls(&self.call_run, &left_out, input, Some(code.as_str()));
            self.store.append_batch("left_out_calls", rows)?;
        }
        let issue = |call: &RecordedCall| Issue {
            code,
            line: call.line,
            byte_offset: 0,
            trace_id: None,
            span_id: None,
            detail: format!("{}: {}", call.row, call.call_no),
            raw: String::new(),
        };
        Ok(left_out.into_iter().map(|(_, call)| issue(call)).collect())
    }

    /// Adds problems met in an input.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_issues(&self, issues: &[Issue], path: &str, reason: Reason<'_>) -> Result<(), StoreError> {
        if issues.is_empty() {
            return Ok(());
        }
        let told: Vec<(Issue, String)> =
            issues.iter().map(|issue| (issue.clone(), reason(issue.code, &issue.detail))).collect();
        self.store.append_batch("call_issues", batch::call_issues(&self.call_run, &told, path))
    }

    /// Puts the tool calls of the store in order, for [`CallCheck::spans`]. Returns how many there are.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn order_spans(&self) -> Result<i64, StoreError> {
        self.store.step("queries/call_spans.sql", include_str!("../../sql/queries/call_spans.sql"))?;
        self.count("call_spans")
    }

    /// The tool calls behind `after`, up to `last`.
    ///
    /// # Errors
    /// `Statement`.
    pub fn spans(&self, after: i64, last: i64) -> Result<Vec<SpanCall>, StoreError> {
        self.store.rows(include_str!("../../sql/queries/call_span_page.sql"), params![after, last], |row| {
            Ok(SpanCall { place: row.get(0)?, id: row.get(1)?, tool_name: row.get(2)?, args_key: row.get(3)? })
        })
    }

    /// Judges all that was added. Returns how many things are said.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn judge(&mut self) -> Result<i64, StoreError> {
        self.store.step("queries/call_entries.sql", include_str!("../../sql/queries/call_entries.sql"))?;
        self.entries = self.count("call_entries")?;
        self.unjudged = self.count("call_unjudged")?;
        Ok(self.entries)
    }

    fn count(&self, table: &str) -> Result<i64, StoreError> {
        let sql = format!("SELECT COUNT(*) FROM {table}");
        self.store.connection.query_row(&sql, [], |row| row.get(0)).map_err(StoreError::statement(table))
    }

    /// How many things are said.
    #[must_use]
    pub const fn entries(&self) -> i64 {
        self.entries
    }

    /// How many calls are judged or could not be judged.
    #[must_use]
    pub const fn calls(&self) -> i64 {
        self.place - self.left_out
    }

    /// How many calls were left out at load.
    #[must_use]
    pub const fn left_out(&self) -> i64 {
        self.left_out
    }

    /// How many calls could not be judged.
    #[must_use]
    pub const fn unjudged(&self) -> i64 {
        self.unjudged
    }

    /// What is said behind entry `after`, up to entry `last`, in the order of the output.
    ///
    /// # Errors
    /// `Statement`.
    pub fn page(&self, after: i64, last: i64) -> Result<Vec<CallEntry>, StoreError> {
        self.store.rows(include_str!("../../sql/queries/call_page.sql"), params![after, last], |row| {
            let verdict: String = row.get(0)?;
            let verdict = CallVerdictKind::from_name(&verdict)
                .ok_or_else(|| duckdb::Error::InvalidColumnType(0, verdict, duckdb::types::Type::Text))?;
            Ok(CallEntry {
                verdict,
                call_no: row.get(1)?,
                checked_arg: row.get(2)?,
                tool_name_raw: row.get(3)?,
                arg_value: row.get(4)?,
                allowed_values: row.get(5)?,
                max_number: row.get(6)?,
                is_required: row.get(7)?,
                problem: row.get(8)?,
                row_count: row.get(9)?,
            })
        })
    }

    /// Up to `limit` of the calls that could not be judged, after the first `after` of them.
    ///
    /// # Errors
    /// `Statement`.
    pub fn unjudged_calls(&self, after: i64, limit: i64) -> Result<Vec<UnjudgedCall>, StoreError> {
        let sql = "SELECT call_no, checked_arg, tool_name_raw, input, line, reason, detail FROM call_unjudged
            WHERE nth > ? AND nth <= ? ORDER BY nth";
        self.store.rows(sql, params![after, after.saturating_add(limit)], |row| {
            Ok(UnjudgedCall {
                call_no: row.get(0)?,
                arg_name: row.get(1)?,
                tool_name_raw: row.get(2)?,
                input: row.get(3)?,
                line: row.get(4)?,
                reason: row.get(5)?,
                detail: row.get(6)?,
            })
        })
    }

    /// How many calls could not be judged for each reason, the most frequent first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn unjudged_reasons(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let sql = "SELECT reason, COUNT(*) FROM call_unjudged GROUP BY reason ORDER BY 2 DESC, 1";
        self.store.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Keeps the check in the store: all of it or, on an error, nothing.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn keep(&self, run: &CallRun) -> Result<(), StoreError> {
        let store = self.store;
        store.step("beginning a check", "BEGIN")?;
        let kept = self.insert(run);
        if kept.is_err() {
            store.step("ending a check", "ROLLBACK").ok();
        }
        kept
    }

    fn insert(&self, run: &CallRun) -> Result<(), StoreError> {
        let store = self.store;
        let database = &self.database;
        store
            .connection
            .execute(
                &format!("INSERT INTO {database}.main.call_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"),
                params![
                    self.call_run,
                    run.checked_at,
                    run.checked_ns,
                    CALL_SET,
                    call_set_sha256(),
                    self.calls(),
                    self.specs,
                    self.left_out,
                    self.unjudged,
                    run.issues as i64,
                ],
            )
            .map_err(StoreError::statement("call_runs"))?;
        let results = format!(
            "INSERT INTO temp.main.call_results
            SELECT '{run}', entry, rank, verdict, place, call_no, checked_arg FROM call_entries
            UNION ALL
            SELECT '{run}', {} + nth, 7, 'unjudged', place, call_no, checked_arg FROM call_unjudged",
            self.entries,
            run = self.call_run.replace('\'', "''"),
        );
        store.step("call_results", &results)?;
        for table in TABLES {
            store.step(table, &format!("INSERT INTO {database}.main.{table} FROM temp.main.{table}"))?;
        }
        if store.is_file && self.place >= LOGGED_ROWS as i64 {
            store.step("configuration", AROUND_THE_LOG)?;
        }
        store.step("committing a check", "COMMIT")
    }
}

impl Drop for CallCheck<'_> {
    fn drop(&mut self) {
        // Nothing can be told of a failure here; the tables go with the connection.
        views::drop_call_checks(&self.store.connection).ok();
        for table in TABLES.iter().chain(&STEPS) {
            self.store.step(table, &format!("DROP TABLE IF EXISTS temp.main.{table}")).ok();
        }
        self.store.step("configuration", WRITTEN).ok();
    }
}
