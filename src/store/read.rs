//! What the views say, as plain rows: one statement file under `sql/queries/` each.

use duckdb::{Row, params};

use super::{Store, StoreError, views};
use crate::model::{Coverage, Status, ToolDefinition};

/// Which runs are judged, and with which tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Only traces whose id begins so (lower-case hex).
    pub trace_prefix: Option<String>,
    /// Only runs that start at or after this time, nanoseconds since 1970 UTC.
    pub since_ns: Option<i64>,
    /// Only runs that start before this time, nanoseconds since 1970 UTC.
    pub before_ns: Option<i64>,
    /// Only runs that call this tool.
    pub tool_name: Option<String>,
    /// Judge every run with this tool set instead of its own.
    pub tool_set: Option<String>,
}

impl Scope {
    fn limits_traces(&self) -> bool {
        self.trace_prefix.is_some() || self.since_ns.is_some() || self.before_ns.is_some() || self.tool_name.is_some()
    }
}

/// A run that can be judged, and what it let the rules check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// The run.
    pub trace_id: String,
    /// Start of its earliest kept span, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// Agent of the final answer span.
    pub agent_name: Option<String>,
    /// Status of the final answer span.
    pub final_status: Status,
    /// The final answer span.
    pub final_span_id: String,
    /// Number of tool calls.
    pub tool_calls: i64,
    /// Number of tool calls with status error.
    pub error_calls: i64,
    /// Tool set it is judged with.
    pub tool_set: Option<String>,
    /// Calls whose arguments were recorded.
    pub with_arguments: i64,
    /// Calls whose arguments are JSON.
    pub with_readable_arguments: i64,
    /// Calls whose tool is defined.
    pub with_known_tool: i64,
    /// Calls whose tool has a time limit.
    pub with_timeout: i64,
    /// Calls whose tool has a retry limit.
    pub with_max_retries: i64,
    /// Calls whose arguments were held against a schema.
    pub with_checked_arguments: i64,
    /// Further calls, which stand in messages only.
    pub without_span: i64,
    /// Calls with status ok of which something else says that they failed.
    pub failed_beside_status: i64,
}

/// A row of the rule set beside the cells it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingRow {
    /// The run.
    pub trace_id: String,
    /// Name of the rule.
    pub rule: String,
    /// Names the finding within its run and rule.
    pub finding: String,
    /// The tool called.
    pub tool_name: String,
    /// A call it rests on.
    pub span_id: String,
    /// Arguments of that call as recorded.
    pub tool_args: Option<String>,
    /// Status of that call; none when it stands in messages that do not say.
    pub status: Option<Status>,
    /// Duration of that call in whole milliseconds.
    pub duration_ms: i64,
    /// args_mismatch: the key.
    pub arg_key: Option<String>,
    /// args_mismatch: `missing`, or the type of the value as written.
    pub problem: Option<String>,
    /// Canonical arguments of that call.
    pub args_key: Option<String>,
    /// args_mismatch: the declared types, joined with `|`.
    pub declared_type: Option<String>,
    /// timeout_exceeded: duration_ms; retry_over_limit: run length.
    pub measured: Option<i64>,
    /// timeout_exceeded: timeout_ms; retry_over_limit: max_retries.
    pub allowed: Option<i64>,
    /// JSON Schema of the tool.
    pub json_schema: Option<String>,
    /// Time limit of the tool in milliseconds.
    pub timeout_ms: Option<i64>,
    /// Whether the call has a span of its own; `span_id` is else the span in whose messages it stands.
    pub has_span: bool,
    /// Start of that call, nanoseconds since 1970 UTC.
    pub start_ns: i64,
}

/// A fact that is no verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteRow {
    /// The run.
    pub trace_id: String,
    /// Name of the note.
    pub note: String,
    /// The tool, when it is about one.
    pub tool_name: Option<String>,
    /// The span, when it is about one.
    pub span_id: Option<String>,
    /// What was measured or counted.
    pub measured: Option<i64>,
    /// What it was held against.
    pub allowed: Option<i64>,
    /// Text to compare.
    pub detail: Option<String>,
}

/// A tool call of a run whose summary tells of single calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRow {
    /// The run.
    pub trace_id: String,
    /// The call.
    pub span_id: String,
    /// The tool called.
    pub tool_name: String,
    /// Status of the call.
    pub status: Status,
    /// Duration in whole milliseconds.
    pub duration_ms: i64,
    /// Canonical arguments.
    pub args_key: Option<String>,
    /// Start, nanoseconds since 1970 UTC.
    pub start_ns: i64,
}

/// A run that cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnjudgedRow {
    /// The run.
    pub trace_id: String,
    /// Start of its earliest kept span, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// Number of tool calls.
    pub tool_calls: i64,
    /// `no_invoke_agent` or `no_root_invoke_agent`.
    pub reason: String,
}

/// A tool set and how many traces in scope are judged with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSetRow {
    /// sha256 of its content; none for traces without one.
    pub tool_set: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// Number of definitions.
    pub tools: Option<i64>,
    /// Number of traces.
    pub traces: i64,
}

/// What judged, and what it came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgementRow {
    /// The set of rule versions.
    pub rule_set: String,
    /// sha256 of its views.
    pub rule_set_sha256: String,
    /// The tool set that every run was judged with; none when each had its own.
    pub tool_set: Option<String>,
    /// Runs judged.
    pub runs: u64,
    /// Runs with a finding.
    pub with_findings: u64,
    /// Runs that could not be judged.
    pub unjudged: u64,
}

/// A row of `spans` with where it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpanRecord {
    /// The run.
    pub trace_id: String,
    /// The span.
    pub span_id: String,
    /// Nearest kept ancestor.
    pub parent_span_id: Option<String>,
    /// Start, ISO 8601 with +09:00.
    pub start_time: String,
    /// `invoke_agent` or `execute_tool`.
    pub operation: String,
    /// Agent, of invoke_agent.
    pub agent_name: Option<String>,
    /// Tool, of execute_tool.
    pub tool_name: Option<String>,
    /// Arguments as recorded.
    pub tool_args: Option<String>,
    /// Status.
    pub status: Status,
    /// Duration in whole milliseconds.
    pub duration_ms: i64,
    /// Start, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// End, nanoseconds since 1970 UTC.
    pub end_ns: i64,
    /// Whether it names a parent that is not in the store.
    pub parent_lost: bool,
    /// The convention that recognised it.
    pub convention: String,
    /// File it came from.
    pub path: Option<String>,
    /// Line in that file.
    pub line: i64,
}

/// How traces hang together, in numbers of kept spans.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Structure {
    /// Traces with a kept span.
    pub traces: u64,
    /// Agent runs, inner ones included.
    pub runs: u64,
    /// Tool calls with a span.
    pub calls: u64,
    /// Traces without any agent run.
    pub traces_without_run: u64,
    /// Spans that name a parent which is not there.
    pub orphans: u64,
    /// Spans that start before the kept span around them.
    pub early_children: u64,
    /// By how much the worst of them does, in milliseconds.
    pub earliest_ms: u64,
    /// Traces whose calls have the times of their export instead of their own.
    pub stamped_traces: u64,
    /// Services.
    pub services: u64,
    /// Traces with spans of several services.
    pub traces_of_several_services: u64,
    /// Runs that do not name their agent.
    pub unnamed_runs: u64,
}

impl Store {
    /// Limits the views to `scope` until [`Store::end_judgement`], inside a transaction, so that a kill
    /// leaves no limit behind; and runs the rules once.
    ///
    /// # Errors
    /// `Statement`.
    pub fn begin_judgement(&self, scope: &Scope) -> Result<(), StoreError> {
        self.begin(scope, &views::JUDGED)
    }

    /// The same for runs and findings alone: no notes, no coverage.
    ///
    /// # Errors
    /// `Statement`.
    pub fn begin_finding(&self, scope: &Scope) -> Result<(), StoreError> {
        self.begin(scope, &views::FOUND)
    }

    fn begin(&self, scope: &Scope, wanted: &[&str]) -> Result<(), StoreError> {
        let step = || StoreError::statement("queries/scope.sql");
        self.connection.execute_batch("BEGIN").map_err(step())?;
        let begun = self.limit(scope, wanted);
        if begun.is_err() {
            self.connection.execute_batch("ROLLBACK").ok();
        }
        begun
    }

    fn limit(&self, scope: &Scope, wanted: &[&str]) -> Result<(), StoreError> {
        let step = || StoreError::statement("queries/scope.sql");
        self.settle(scope.limits_traces(), scope.tool_set.as_deref())?;
        if scope.limits_traces() {
            // One beyond every id with that prefix: `g` follows the last hex digit.
            let beyond = scope.trace_prefix.as_ref().map(|prefix| format!("{prefix}g"));
            self.connection
                .execute(
                    include_str!("../../sql/queries/scope.sql"),
                    params![scope.trace_prefix, beyond, scope.since_ns, scope.before_ns, scope.tool_name],
                )
                .map_err(step())?;
        }
        let first_ns = if scope.limits_traces() { Some(self.first_start(scope.since_ns)?) } else { None };
        views::keep_judged(&self.connection, first_ns, wanted)
    }

    /// A time before which no run in `judge_scope` starts: `since_ns`, or else the start of the first.
    pub(super) fn first_start(&self, since_ns: Option<i64>) -> Result<i64, StoreError> {
        if let Some(since_ns) = since_ns {
            return Ok(since_ns);
        }
        let sql = include_str!("../../sql/queries/first_start.sql");
        let first: Option<i64> = self
            .connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(StoreError::statement("queries/first_start.sql"))?;
        Ok(first.unwrap_or(i64::MAX))
    }

    /// Lifts the limit again. Leaves the store as it was.
    ///
    /// # Errors
    /// `Statement`.
    pub fn end_judgement(&self) -> Result<(), StoreError> {
        // Views that were asked for meanwhile go too.
        self.has_views.set(self.is_file);
        let ended = format!("ROLLBACK; {}", views::NOT_PLAIN);
        self.connection.execute_batch(&ended).map_err(StoreError::statement("ending a judgement"))
    }

    /// Makes the settings and the scope of one judgement, in tables that hide those of the store: it may be open for
    /// reading only.
    pub(super) fn settle(&self, is_scoped: bool, tool_set: Option<&str>) -> Result<(), StoreError> {
        let step = || StoreError::statement("judge_settings");
        self.connection
            .execute(
                "CREATE TEMP TABLE judge_settings AS
                SELECT ?::BOOLEAN AS scoped, tool_set_default, ?::VARCHAR AS tool_set_override
                FROM judge_settings",
                params![is_scoped, tool_set],
            )
            .map_err(step())?;
        self.step("judge_scope", "CREATE TEMP TABLE judge_scope (trace_id VARCHAR)")
    }

    /// What was recorded last, if anything was.
    ///
    /// # Errors
    /// `Statement`.
    pub fn last_judgement(&self) -> Result<Option<JudgementRow>, StoreError> {
        let rows = self.rows(include_str!("../../sql/queries/last_judgement.sql"), [], |row| {
            Ok(JudgementRow {
                rule_set: row.get(0)?,
                rule_set_sha256: row.get(1)?,
                tool_set: row.get(2)?,
                runs: row.get(3)?,
                with_findings: row.get(4)?,
                unjudged: row.get(5)?,
            })
        })?;
        Ok(rows.into_iter().next())
    }

    /// Records that a rule set judged.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn record_judgement(&self, judged_at: &str, row: &JudgementRow) -> Result<(), StoreError> {
        self.connection
            .execute(
                "INSERT INTO judgements VALUES (?, ?, ?, ?, ?, ?, ?)",
                params![
                    judged_at,
                    row.rule_set,
                    row.rule_set_sha256,
                    row.tool_set,
                    row.runs,
                    row.with_findings,
                    row.unjudged
                ],
            )
            .map(|_| ())
            .map_err(StoreError::statement("judgements"))
    }

    /// The runs in scope that can be judged, by start, then trace id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn runs(&self) -> Result<Vec<RunRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/runs.sql"), [], |row| {
            Ok(RunRow {
                trace_id: row.get(0)?,
                start_ns: row.get(1)?,
                agent_name: row.get(2)?,
                final_status: status(row, 3)?,
                final_span_id: row.get(4)?,
                tool_calls: row.get(5)?,
                error_calls: row.get(6)?,
                tool_set: row.get(7)?,
                with_arguments: row.get(8)?,
                with_readable_arguments: row.get(9)?,
                with_known_tool: row.get(10)?,
                with_timeout: row.get(11)?,
                with_max_retries: row.get(12)?,
                with_checked_arguments: row.get(13)?,
                without_span: row.get(14)?,
                failed_beside_status: row.get(15)?,
            })
        })
    }

    /// What the rules found, in order of run, priority and place.
    ///
    /// # Errors
    /// `Statement`.
    pub fn findings(&self) -> Result<Vec<FindingRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/findings.sql"), [], |row| {
            Ok(FindingRow {
                trace_id: row.get(0)?,
                rule: row.get(1)?,
                finding: row.get(2)?,
                tool_name: row.get(3)?,
                span_id: row.get(4)?,
                tool_args: row.get(5)?,
                status: status_or_none(row, 6)?,
                duration_ms: row.get(7)?,
                arg_key: row.get(8)?,
                problem: row.get(9)?,
                args_key: row.get(10)?,
                declared_type: row.get(11)?,
                measured: row.get(12)?,
                allowed: row.get(13)?,
                json_schema: row.get(14)?,
                timeout_ms: row.get(15)?,
                has_span: row.get::<_, String>(16)? == "span",
                start_ns: row.get(17)?,
            })
        })
    }

    /// Notes, in order of run and of telling.
    ///
    /// # Errors
    /// `Statement`.
    pub fn notes(&self) -> Result<Vec<NoteRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/notes.sql"), [], |row| {
            Ok(NoteRow {
                trace_id: row.get(0)?,
                note: row.get(1)?,
                tool_name: row.get(2)?,
                span_id: row.get(3)?,
                measured: row.get(4)?,
                allowed: row.get(5)?,
                detail: row.get(6)?,
            })
        })
    }

    /// Calls of the runs that have a finding or an error call, in order of run and call.
    ///
    /// # Errors
    /// `Statement`.
    pub fn calls(&self) -> Result<Vec<CallRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/calls.sql"), [], |row| {
            Ok(CallRow {
                trace_id: row.get(0)?,
                span_id: row.get(1)?,
                tool_name: row.get(2)?,
                status: status(row, 3)?,
                duration_ms: row.get(4)?,
                args_key: row.get(5)?,
                start_ns: row.get(6)?,
            })
        })
    }

    /// The runs in scope that cannot be judged, by start, then trace id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn unjudged(&self) -> Result<Vec<UnjudgedRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/unjudged.sql"), [], |row| {
            Ok(UnjudgedRow {
                trace_id: row.get(0)?,
                start_ns: row.get(1)?,
                tool_calls: row.get(2)?,
                reason: row.get(3)?,
            })
        })
    }

    /// What the traces in scope let the rules check, in sum.
    ///
    /// # Errors
    /// `Statement`.
    pub fn coverage(&self) -> Result<Coverage, StoreError> {
        self.need_views()?;
        let rows = self.rows(include_str!("../../sql/queries/coverage.sql"), [], |row| {
            Ok(Coverage {
                tool_calls: row.get(0)?,
                with_arguments: row.get(1)?,
                with_readable_arguments: row.get(2)?,
                with_known_tool: row.get(3)?,
                with_timeout: row.get(4)?,
                with_max_retries: row.get(5)?,
                without_span: row.get(6)?,
                failed_beside_status: row.get(7)?,
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// How the traces of the store hang together.
    ///
    /// # Errors
    /// `Statement`.
    pub fn structure(&self) -> Result<Structure, StoreError> {
        let rows = self.rows(include_str!("../../sql/queries/structure.sql"), [], |row| {
            Ok(Structure {
                traces: row.get(0)?,
                runs: row.get(1)?,
                calls: row.get(2)?,
                traces_without_run: row.get(3)?,
                orphans: row.get(4)?,
                early_children: row.get(5)?,
                earliest_ms: row.get(6)?,
                stamped_traces: row.get(7)?,
                services: row.get(8)?,
                traces_of_several_services: row.get(9)?,
                unnamed_runs: row.get(10)?,
            })
        })?;
        Ok(rows.into_iter().next().unwrap_or_default())
    }

    /// Names of the conventions of calls in scope whose arguments were not recorded.
    ///
    /// # Errors
    /// `Statement`.
    pub fn conventions_without_arguments(&self) -> Result<Vec<String>, StoreError> {
        self.rows(include_str!("../../sql/queries/captures.sql"), [], |row| row.get(0))
    }

    /// The tool sets that the traces in scope are judged with.
    ///
    /// # Errors
    /// `Statement`.
    pub fn tool_sets_in_scope(&self) -> Result<Vec<ToolSetRow>, StoreError> {
        self.rows(include_str!("../../sql/queries/tool_sets.sql"), [], |row| {
            Ok(ToolSetRow { tool_set: row.get(0)?, source: row.get(1)?, tools: row.get(2)?, traces: row.get(3)? })
        })
    }

    /// Definitions of a tool set, in order; their `params` stay in the store.
    ///
    /// # Errors
    /// `Statement`.
    pub fn tools(&self, tool_set: &str) -> Result<Vec<ToolDefinition>, StoreError> {
        self.rows(include_str!("../../sql/queries/tools.sql"), params![tool_set], |row| {
            Ok(ToolDefinition {
                tool_name: row.get(0)?,
                description: row.get(1)?,
                json_schema: row.get(2)?,
                timeout_ms: row.get(3)?,
                max_retries: row.get(4)?,
                schema_readable: row.get(5)?,
                params: Vec::new(),
            })
        })
    }

    /// All kept spans of one trace, in order of start.
    ///
    /// # Errors
    /// `Statement`.
    pub fn spans_of(&self, trace_id: &str) -> Result<Vec<SpanRecord>, StoreError> {
        self.rows(include_str!("../../sql/queries/spans.sql"), params![trace_id], span_record)
    }
}

/// A row of `queries/spans.sql` and of `queries/spans_of_runs.sql`.
pub(super) fn span_record(row: &Row<'_>) -> duckdb::Result<SpanRecord> {
    Ok(SpanRecord {
        trace_id: row.get(0)?,
        span_id: row.get(1)?,
        parent_span_id: row.get(2)?,
        start_time: row.get(3)?,
        operation: row.get(4)?,
        agent_name: row.get(5)?,
        tool_name: row.get(6)?,
        tool_args: row.get(7)?,
        status: status(row, 8)?,
        duration_ms: row.get(9)?,
        start_ns: row.get(10)?,
        end_ns: row.get(11)?,
        parent_lost: row.get(12)?,
        convention: row.get(13)?,
        path: row.get(14)?,
        line: row.get(15)?,
    })
}

fn status(row: &Row<'_>, index: usize) -> duckdb::Result<Status> {
    let text: String = row.get(index)?;
    Status::from_column(&text).ok_or_else(|| duckdb::Error::InvalidColumnName(text))
}

fn status_or_none(row: &Row<'_>, index: usize) -> duckdb::Result<Option<Status>> {
    let text: Option<String> = row.get(index)?;
    text.map(|text| Status::from_column(&text).ok_or_else(|| duckdb::Error::InvalidColumnName(text))).transpose()
}
