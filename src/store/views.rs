//! The SQL views: embedded in the order of `sql/_order`, and kept equal to their files at each open.

use std::collections::BTreeSet;

use duckdb::{Connection, OptionalExt, params};

use super::StoreError;
use crate::digest::sha256_hex;

/// The set of rule versions that judges.
pub const RULE_SET: &str = "set_diagnosis_v2";
/// The set of versions of the checks that judges calls.
pub const CALL_SET: &str = "set_call_check_v1";

/// What a judgement reads, beside the views that these read.
pub(super) const JUDGED: [&str; 5] = [RULE_SET, "set_note_v2", "set_run_v1", "set_coverage_v2", "set_unjudged_v1"];
/// What the views `runs` and `findings` read: no notes and no coverage.
pub(super) const FOUND: [&str; 3] = [RULE_SET, "set_run_v1", "set_unjudged_v1"];
/// Views with a row per call and its arguments.
const WIDE: [&str; 3] = ["base_call_v1", "base_requested_call_v1", "base_defined_call_v1"];
/// Up to so many runs, wide rows are cheaper kept than found again for each rule and note.
const KEPT_RUNS: i64 = 10_000;

/// One thread, and plans as the statements are written.
pub(super) const PLAIN: &str = "SET threads = 1; PRAGMA disable_optimizer";
/// Back to what DuckDB chooses.
pub(super) const NOT_PLAIN: &str = "RESET threads; PRAGMA enable_optimizer";
/// Up to so many kept spans are judged plainly.
const PLAIN_SPANS: i64 = 5_000;

/// One file under `sql/` that creates one view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewFile {
    /// Path under `sql/`: `<kind>/<name>/v<N>.sql`, or `people/<name>.sql`.
    pub path: &'static str,
    /// The statements.
    pub sql: &'static str,
}

impl ViewFile {
    /// Folder of the first level: `base`, `rules`, `notes`, `checks`, `sets` or `people`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.path.split('/').next().unwrap_or_default()
    }

    /// Name without kind and version.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.path.split('/').nth(1).unwrap_or_default().trim_end_matches(".sql")
    }

    /// `v1`, `v2`, …; empty of a view for people, which has one version.
    #[must_use]
    pub fn version(&self) -> &'static str {
        self.path.split('/').nth(2).and_then(|file| file.strip_suffix(".sql")).unwrap_or_default()
    }

    /// The statement that creates the view, without the comments behind it.
    fn uncommented(&self) -> &'static str {
        self.sql.split_once("\nCOMMENT ON ").map_or(self.sql, |(statement, _)| statement)
    }

    /// The query of the view.
    fn query(&self) -> &'static str {
        let statement = self.uncommented();
        statement.split_once(" AS\n").map_or(statement, |(_, query)| query).trim_end_matches([';', '\n'])
    }

    /// Whether it reads the view of this name.
    fn reads(&self, view: &str) -> bool {
        let query = self.query();
        query.match_indices(view).any(|(at, _)| {
            let next = query.as_bytes().get(at + view.len());
            !next.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        })
    }

    /// Whether it is for people who ask in SQL, and judges nothing.
    #[must_use]
    pub fn is_for_people(&self) -> bool {
        self.kind() == "people"
    }

    /// Whether it judges recorded calls (`taco-trace calls`), and no run.
    #[must_use]
    pub fn is_for_calls(&self) -> bool {
        self.kind() == "checks" || (self.kind() == "sets" && self.name().starts_with("call_"))
    }

    /// Name of the view: the kind in the singular, the name, the version; of a view for people the name alone.
    #[must_use]
    pub fn view(&self) -> String {
        let kind = match self.kind() {
            "people" => return self.name().to_owned(),
            "base" => "base",
            kind => kind.trim_end_matches('s'),
        };
        format!("{kind}_{}_{}", self.name(), self.version())
    }
}

macro_rules! view {
    ($path:literal) => {
        ViewFile { path: $path, sql: include_str!(concat!("../../sql/", $path)) }
    };
}

const VIEW_FILES: &[ViewFile] = &[
    view!("base/trace/v1.sql"),
    view!("base/call/v1.sql"),
    view!("base/requested_call/v1.sql"),
    view!("base/call_arg/v1.sql"),
    view!("base/defined_call/v1.sql"),
    view!("base/final_answer/v1.sql"),
    view!("base/stretch/v1.sql"),
    view!("rules/undefined_tool/v1.sql"),
    view!("rules/args_mismatch/v1.sql"),
    view!("rules/timeout_exceeded/v1.sql"),
    view!("rules/retry_over_limit/v1.sql"),
    view!("rules/error_hidden/v1.sql"),
    view!("rules/undefined_tool/v2.sql"),
    view!("rules/args_mismatch/v2.sql"),
    view!("rules/error_hidden/v2.sql"),
    view!("notes/args_not_recorded/v1.sql"),
    view!("notes/args_not_json/v1.sql"),
    view!("notes/args_undefined_tool/v1.sql"),
    view!("notes/args_unreadable_schema/v1.sql"),
    view!("notes/over_limit_but_ok/v1.sql"),
    view!("notes/run_at_limit/v1.sql"),
    view!("notes/args_written_differently/v1.sql"),
    view!("notes/final_error_not_hidden/v1.sql"),
    view!("notes/several_final_answers/v1.sql"),
    view!("notes/final_answer_parent_missing/v1.sql"),
    view!("notes/timeout_unknown/v1.sql"),
    view!("notes/max_retries_unknown/v1.sql"),
    view!("notes/no_tool_definitions/v1.sql"),
    view!("notes/span_redelivered/v1.sql"),
    view!("notes/span_conflict/v1.sql"),
    view!("notes/spans_skipped/v1.sql"),
    view!("notes/parent_cycle/v1.sql"),
    view!("notes/args_not_json/v2.sql"),
    view!("notes/args_undefined_tool/v2.sql"),
    view!("notes/call_without_span/v1.sql"),
    view!("notes/args_rewritten/v1.sql"),
    view!("notes/failure_beside_status/v1.sql"),
    view!("notes/inner_agent_failed/v1.sql"),
    view!("notes/spans_merged/v1.sql"),
    view!("notes/args_changed/v1.sql"),
    view!("sets/diagnosis/v1.sql"),
    view!("sets/note/v1.sql"),
    view!("sets/run/v1.sql"),
    view!("sets/coverage/v1.sql"),
    view!("sets/unjudged/v1.sql"),
    view!("sets/diagnosis/v2.sql"),
    view!("sets/note/v2.sql"),
    view!("sets/coverage/v2.sql"),
    view!("checks/specified_arg/v1.sql"),
    view!("checks/tool_unmapped/v1.sql"),
    view!("checks/required_arg_missing/v1.sql"),
    view!("checks/number_over_limit/v1.sql"),
    view!("checks/value_not_allowed/v1.sql"),
    view!("checks/compliant/v1.sql"),
    view!("checks/duplicate_call/v1.sql"),
    view!("sets/call_check/v1.sql"),
    view!("sets/call_unjudged/v1.sql"),
    view!("people/runs.sql"),
    view!("people/findings.sql"),
    view!("people/verdicts.sql"),
    view!("people/bench_confusion.sql"),
    view!("people/eval_trials.sql"),
    view!("people/eval_checks.sql"),
    view!("people/eval_events.sql"),
];

/// Every view file, in creation order.
#[must_use]
pub const fn view_files() -> &'static [ViewFile] {
    VIEW_FILES
}

/// sha256 over the view files that judge runs: what exactly judged, beside the name of the set.
#[must_use]
pub fn rule_set_sha256() -> String {
    files_sha256(|file| !file.is_for_people() && !file.is_for_calls())
}

/// The same over those that judge calls.
#[must_use]
pub fn call_set_sha256() -> String {
    files_sha256(ViewFile::is_for_calls)
}

/// sha256 over the view files that are wanted.
fn files_sha256(is_wanted: impl Fn(&ViewFile) -> bool) -> String {
    let mut text = String::new();
    for file in VIEW_FILES.iter().filter(|file| is_wanted(file)) {
        text.push_str(file.path);
        text.push('\n');
        text.push_str(file.sql);
    }
    sha256_hex(text.as_bytes())
}

/// Makes sure that the views are those of this program. They are made anew, in one transaction, when the
/// files changed, or when what the store has differs from what was made: dropped or replaced by hand.
pub(super) fn create(connection: &Connection) -> Result<(), StoreError> {
    if are_current(connection)? {
        return Ok(());
    }
    plainly(connection, || create_anew(connection))
}

fn create_anew(connection: &Connection) -> Result<(), StoreError> {
    let files = files_sha256(|_| true);
    let transaction = connection.unchecked_transaction().map_err(StoreError::statement("views"))?;
    for file in VIEW_FILES {
        transaction.execute_batch(file.sql).map_err(StoreError::statement(file.path))?;
    }
    let stored = stored_sha256(&transaction)?;
    transaction.execute_batch("DELETE FROM view_state").map_err(StoreError::statement("view_state"))?;
    transaction
        .execute("INSERT INTO view_state VALUES (?, ?)", params![files, stored])
        .map_err(StoreError::statement("view_state"))?;
    transaction.commit().map_err(StoreError::statement("views"))
}

/// Does many small statements, for each of which starting threads and looking for a better plan would cost more than
/// they do.
pub(super) fn plainly<T>(
    connection: &Connection,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let step = || StoreError::statement("configuration");
    connection.execute_batch(PLAIN).map_err(step())?;
    let done = work();
    let ended = connection.execute_batch(NOT_PLAIN).map_err(step());
    done.and_then(|done| ended.map(|()| done))
}

/// Whether the views are those of this program. Writes nothing.
pub(super) fn are_current(connection: &Connection) -> Result<bool, StoreError> {
    let recorded = recorded_state(connection)?;
    Ok(recorded.as_ref().is_some_and(|(made_from, _)| *made_from == files_sha256(|_| true))
        && recorded.map(|(_, stored)| stored) == Some(stored_sha256(connection)?))
}

/// Makes the views of a store that no other client can open: without comments, which take most of the time.
pub(super) fn create_uncommented(connection: &Connection) -> Result<(), StoreError> {
    for file in VIEW_FILES {
        connection.execute_batch(file.uncommented()).map_err(StoreError::statement(file.path))?;
    }
    Ok(())
}

/// Makes `wanted` views and what they read: each as a temporary table of the same name, which hides the view
/// and is planned and filled once, however many others read it. With `first_ns` the judgement is limited to the runs in
/// `judge_scope`, none of which has a span that starts before. Leaves a small judgement [`PLAIN`] until it ends.
pub(super) fn keep_judged(connection: &Connection, first_ns: Option<i64>, wanted: &[&str]) -> Result<(), StoreError> {
    let judged = if first_ns.is_some() { "judge_scope" } else { "traces" };
    let is_small: bool = connection
        .query_row(&format!("SELECT COUNT(*) <= {KEPT_RUNS} FROM {judged}"), [], |row| row.get(0))
        .map_err(StoreError::statement(judged))?;
    let form = |is_kept: bool| if is_kept { "TABLE" } else { "VIEW" };
    if let Some(first_ns) = first_ns {
        let database: String = connection
            .query_row("SELECT current_database()", [], |row| row.get(0))
            .map_err(StoreError::statement("spans"))?;
        // The time is a constant, because nothing else lets blocks of rows be left out unread.
        let sql = format!(
            "CREATE TEMP {} spans AS SELECT s.* FROM \"{}\".main.spans s
            WHERE s.start_ns >= {first_ns} AND s.trace_id IN (SELECT c.trace_id FROM judge_scope c)",
            form(is_small),
            database.replace('"', "\"\""),
        );
        connection.execute_batch(&sql).map_err(StoreError::statement("spans"))?;
    }
    let spans = connection.query_row("SELECT COUNT(*) FROM spans", [], |row| row.get::<_, i64>(0));
    if spans.map_err(StoreError::statement("spans"))? <= PLAIN_SPANS {
        connection.execute_batch(PLAIN).map_err(StoreError::statement("configuration"))?;
    }
    for file in judged_files(wanted) {
        let view = file.view();
        let form = form(is_small || !WIDE.contains(&view.as_str()));
        let sql = format!("CREATE TEMP {form} {view} AS {}", file.query());
        connection.execute_batch(&sql).map_err(StoreError::statement(file.path))?;
    }
    Ok(())
}

/// Makes the views `runs` and `findings` as temporary tables over what [`keep_judged`] made: the views of the store
/// read its own tables, not those that hide them.
pub(super) fn keep_people(connection: &Connection) -> Result<(), StoreError> {
    for file in VIEW_FILES.iter().filter(|file| file.is_for_people() && ["runs", "findings"].contains(&file.name())) {
        let sql = format!("CREATE TEMP TABLE {} AS {}", file.view(), file.query());
        connection.execute_batch(&sql).map_err(StoreError::statement(file.path))?;
    }
    Ok(())
}

/// Makes the views that judge calls as temporary ones, over the temporary tables of a check.
pub(super) fn create_call_checks(connection: &Connection) -> Result<(), StoreError> {
    for file in VIEW_FILES.iter().filter(|file| file.is_for_calls()) {
        let sql = format!("CREATE TEMP VIEW {} AS {}", file.view(), file.query());
        connection.execute_batch(&sql).map_err(StoreError::statement(file.path))?;
    }
    Ok(())
}

/// Takes them away again.
pub(super) fn drop_call_checks(connection: &Connection) -> Result<(), StoreError> {
    for file in VIEW_FILES.iter().rev().filter(|file| file.is_for_calls()) {
        let sql = format!("DROP VIEW IF EXISTS temp.main.{}", file.view());
        connection.execute_batch(&sql).map_err(StoreError::statement(file.path))?;
    }
    Ok(())
}

/// The files of these views and of those that they read, in creation order.
fn judged_files(wanted: &[&str]) -> Vec<&'static ViewFile> {
    let mut files: Vec<&ViewFile> = Vec::new();
    for file in VIEW_FILES.iter().rev() {
        let view = file.view();
        if wanted.contains(&view.as_str()) || files.iter().any(|reader| reader.reads(&view)) {
            files.push(file);
        }
    }
    files.reverse();
    files
}

fn recorded_state(connection: &Connection) -> Result<Option<(String, String)>, StoreError> {
    connection
        .query_row("SELECT files_sha256, stored_sha256 FROM view_state", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(StoreError::statement("view_state"))
}

/// sha256 over what DuckDB keeps of our views; views of the user's own do not count.
fn stored_sha256(connection: &Connection) -> Result<String, StoreError> {
    let step = || StoreError::statement("queries/views.sql");
    let mut statement = connection.prepare(include_str!("../../sql/queries/views.sql")).map_err(step())?;
    let rows =
        statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).map_err(step())?;
    let ours: BTreeSet<String> = VIEW_FILES.iter().map(ViewFile::view).collect();
    let mut text = String::new();
    for row in rows {
        let (name, sql) = row.map_err(step())?;
        if ours.contains(&name) {
            text.push_str(&sql);
            text.push('\n');
        }
    }
    Ok(sha256_hex(text.as_bytes()))
}
