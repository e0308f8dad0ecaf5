//! Rows for tests of the views: builders for spans and tools, a store filled with them, answers as text; and the
//! files of the repository for tests that read them.
//!
//! Each builder begins with the most ordinary row there is, so that a test states only what matters
//! to it. Rows go straight into the tables: reading files is not tested with these.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use taco_trace::model::IssueCode;
use taco_trace::store::Store;

/// The tool set that tools and traces have unless a test says otherwise.
pub(crate) const TOOL_SET: &str = "set1";

/// A row of `spans`, with the rows of `arg_shapes` that its arguments need.
pub(crate) struct Span {
    trace: String,
    id: String,
    name: Name,
    args: Option<String>,
    args_key: Option<String>,
    typed: Vec<[String; 3]>,
    error: bool,
    start: Option<i64>,
    end: Option<i64>,
    duration_ms: i64,
    parent: Option<String>,
    parent_lost: bool,
}

enum Name {
    Agent(String),
    Tool(String),
}

fn span(trace: &str, id: &str, name: Name) -> Span {
    Span {
        trace: trace.to_owned(),
        id: id.to_owned(),
        name,
        args: None,
        args_key: None,
        typed: Vec::new(),
        error: false,
        start: None,
        end: None,
        duration_ms: 1,
        parent: None,
        parent_lost: false,
    }
}

/// A call of the tool `a` with the arguments `{}` that took 1 ms and is ok.
pub(crate) fn call(trace: &str, id: &str) -> Span {
    Span { parent: Some("root".to_owned()), ..span(trace, id, Name::Tool("a".to_owned())) }.args("{}")
}

/// An invoke_agent span without a parent that is ok.
pub(crate) fn answer(trace: &str, id: &str) -> Span {
    span(trace, id, Name::Agent("agent".to_owned()))
}

impl Span {
    /// Of this tool.
    pub(crate) fn tool(self, name: &str) -> Self {
        Self { name: Name::Tool(name.to_owned()), ..self }
    }

    /// Of this agent.
    pub(crate) fn agent(self, name: &str) -> Self {
        Self { name: Name::Agent(name.to_owned()), ..self }
    }

    /// With these arguments, written as their canonical form.
    pub(crate) fn args(self, text: &str) -> Self {
        self.written(text, text)
    }

    /// With these arguments as recorded, and their canonical form.
    pub(crate) fn written(self, text: &str, key: &str) -> Self {
        Self { args: Some(text.to_owned()), args_key: Some(key.to_owned()), ..self }
    }

    /// Arguments not recorded.
    pub(crate) fn no_args(self) -> Self {
        Self { args: None, args_key: None, ..self }
    }

    /// Arguments that are not JSON.
    pub(crate) fn args_not_json(self) -> Self {
        Self { args: Some("{".to_owned()), args_key: None, ..self }
    }

    /// A top-level key of the arguments and the type of its value.
    pub(crate) fn arg(self, key: &str, json_type: &str) -> Self {
        self.arg_written(key, json_type, json_type)
    }

    /// A top-level key whose value is written as another type than it has: `3.0` is an integer.
    pub(crate) fn arg_written(mut self, key: &str, json_type: &str, written_type: &str) -> Self {
        self.typed.push([key, json_type, written_type].map(str::to_owned));
        self
    }

    /// Status error.
    pub(crate) fn error(self) -> Self {
        Self { error: true, ..self }
    }

    /// Start in nanoseconds; without it, spans start in the order in which they are added.
    pub(crate) fn start(self, start_ns: i64) -> Self {
        Self { start: Some(start_ns), ..self }
    }

    /// End in nanoseconds; without it, the end follows from the duration.
    pub(crate) fn end(self, end_ns: i64) -> Self {
        Self { end: Some(end_ns), ..self }
    }

    /// Duration in whole milliseconds.
    pub(crate) fn duration_ms(self, duration_ms: i64) -> Self {
        Self { duration_ms, ..self }
    }

    /// Below this span.
    pub(crate) fn parent(self, id: &str) -> Self {
        Self { parent: Some(id.to_owned()), ..self }
    }

    /// Below none.
    pub(crate) fn no_parent(self) -> Self {
        Self { parent: None, ..self }
    }

    /// Names a parent that is not in the store.
    pub(crate) fn parent_lost(self) -> Self {
        Self { parent_lost: true, ..self }
    }

    /// Keys and types in one text; none when the arguments cannot be read.
    fn shape(&self) -> Option<String> {
        self.args_key.as_ref().map(|_| self.typed.iter().map(|typed| typed.join(" ")).collect::<Vec<_>>().join(","))
    }

    fn insert(&self, place: usize) -> String {
        let start = self.start.unwrap_or(1_000 + 10 * i64::try_from(place).expect("few rows"));
        let end = self.end.unwrap_or(start + self.duration_ms * 1_000_000);
        let (operation, agent, tool) = match &self.name {
            Name::Agent(name) => ("invoke_agent", Some(name), None),
            Name::Tool(name) => ("execute_tool", None, Some(name)),
        };
        format!(
            "INSERT INTO spans (trace_id, span_id, parent_span_id, start_time, operation, agent_name, tool_name,
                tool_args, status, duration_ms, start_ns, end_ns, duration_ns, args_key, args_shape, parent_lost,
                convention, source_id, line, batch_id)
            VALUES ({}, {}, {}, '', '{operation}', {}, {}, {}, '{}', {}, {start}, {end}, {}, {}, {}, {}, '', 1, 1, 1);",
            text(&self.trace),
            text(&self.id),
            nullable(self.parent.as_ref()),
            nullable(agent),
            nullable(tool),
            nullable(self.args.as_ref()),
            if self.error { "error" } else { "ok" },
            self.duration_ms,
            end - start,
            nullable(self.args_key.as_ref()),
            nullable(self.shape().as_ref()),
            self.parent_lost,
        )
    }
}

/// A row of `tool_definitions`, with its rows of `tool_params` and `tool_param_types`.
pub(crate) struct Tool {
    name: String,
    set: String,
    timeout_ms: Option<i64>,
    max_retries: Option<i64>,
    readable: bool,
    params: Vec<(String, bool, Vec<String>)>,
}

/// A tool with a limit of 1,000 ms and of 3 equal calls, and no parameter.
pub(crate) fn tool(name: &str) -> Tool {
    Tool {
        name: name.to_owned(),
        set: TOOL_SET.to_owned(),
        timeout_ms: Some(1_000),
        max_retries: Some(3),
        readable: true,
        params: Vec::new(),
    }
}

impl Tool {
    /// In this tool set.
    pub(crate) fn set(self, set: &str) -> Self {
        Self { set: set.to_owned(), ..self }
    }

    /// Time limit in milliseconds.
    pub(crate) fn timeout_ms(self, limit: impl Into<Option<i64>>) -> Self {
        Self { timeout_ms: limit.into(), ..self }
    }

    /// Retry limit, the first call included.
    pub(crate) fn max_retries(self, limit: impl Into<Option<i64>>) -> Self {
        Self { max_retries: limit.into(), ..self }
    }

    /// Its schema cannot be read.
    pub(crate) fn unreadable(self) -> Self {
        Self { readable: false, ..self }
    }

    /// A required key and the types it accepts: none stands for any.
    pub(crate) fn required(mut self, key: &str, types: &[&str]) -> Self {
        self.params.push((key.to_owned(), true, types.iter().map(|name| (*name).to_owned()).collect()));
        self
    }

    /// A key that may be left out.
    pub(crate) fn optional(mut self, key: &str, types: &[&str]) -> Self {
        self.params.push((key.to_owned(), false, types.iter().map(|name| (*name).to_owned()).collect()));
        self
    }

    fn insert(&self) -> String {
        let (set, name) = (text(&self.set), text(&self.name));
        let (timeout_ms, max_retries) = (number(self.timeout_ms), number(self.max_retries));
        let readable = self.readable;
        let mut sql = format!(
            "INSERT INTO tool_definitions VALUES ({name}, '', '', {timeout_ms}, {max_retries}, {readable}, {set}, 0);"
        );
        for (position, (key, required, types)) in self.params.iter().enumerate() {
            let declared = nullable((!types.is_empty()).then(|| types.join("|")).as_ref());
            sql += &format!(
                "INSERT INTO tool_params VALUES ({set}, {name}, '{key}', {required}, {position}, NULL, {declared});"
            );
            for json_type in types {
                sql += &format!("INSERT INTO tool_param_types VALUES ({set}, {name}, '{key}', '{json_type}');");
            }
        }
        sql
    }
}

/// What a store is filled with.
#[derive(Default)]
pub(crate) struct Fixture {
    spans: Vec<Span>,
    tool_sets: BTreeMap<String, Option<String>>,
    statements: String,
    then: String,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a span, and its trace when it is the first of it.
    pub(crate) fn span(mut self, span: Span) -> Self {
        self.tool_sets.entry(span.trace.clone()).or_insert_with(|| Some(TOOL_SET.to_owned()));
        self.spans.push(span);
        self
    }

    /// Adds calls `s1`, `s2`, … of a trace, written `tool/arguments` with a blank between: `-` stands for
    /// arguments not recorded, `!` for such that are not JSON.
    pub(crate) fn calls(self, trace: &str, calls: &str) -> Self {
        calls.split(' ').zip(1..).fold(self, |fixture, (written, number)| {
            let (tool, args) = written.split_once('/').expect("a call is written tool/arguments");
            let made = call(trace, &format!("s{number}")).tool(tool);
            fixture.span(match args {
                "-" => made.no_args(),
                "!" => made.args_not_json(),
                args => made.args(args),
            })
        })
    }

    /// Adds a tool.
    pub(crate) fn tool(self, tool: Tool) -> Self {
        self.sql(&tool.insert())
    }

    /// The trace came in with this tool set, or before any.
    pub(crate) fn tool_set_of(mut self, trace: &str, set: Option<&str>) -> Self {
        self.tool_sets.insert(trace.to_owned(), set.map(str::to_owned));
        self
    }

    /// Judges only these traces.
    pub(crate) fn scope(self, traces: &[&str]) -> Self {
        traces.iter().fold(self.sql("UPDATE judge_settings SET scoped = TRUE;"), |fixture, trace| {
            fixture.sql(&format!("INSERT INTO judge_scope VALUES ({});", text(trace)))
        })
    }

    /// Adds an issue that reading came upon.
    pub(crate) fn issue(self, trace: &str, span: Option<&str>, code: IssueCode) -> Self {
        self.sql(&format!(
            "INSERT INTO ingest_issues VALUES (1, 1, '', '{}', 1, 0, {}, {}, '{}', '', '');",
            code.severity().as_str(),
            text(trace),
            nullable(span.map(str::to_owned).as_ref()),
            code.as_str(),
        ))
    }

    /// Runs statements of its own, before the spans come in.
    pub(crate) fn sql(mut self, statements: &str) -> Self {
        self.statements += statements;
        self
    }

    /// Runs statements of its own, after the spans came in.
    pub(crate) fn then(mut self, statements: &str) -> Self {
        self.then += statements;
        self
    }

    /// Everything as statements. Spans go in last first: the order of insertion must not matter.
    pub(crate) fn statements(self) -> String {
        let mut sql = self.statements;
        for (trace, set) in &self.tool_sets {
            sql += &format!("INSERT INTO traces VALUES ({}, {}, 1);", text(trace), nullable(set.as_ref()));
        }
        let mut shapes = BTreeSet::new();
        for (place, span) in self.spans.iter().enumerate().rev() {
            sql += &span.insert(place);
            if let Some(shape) = span.shape().filter(|shape| shapes.insert(shape.clone())) {
                for [key, json_type, written_type] in &span.typed {
                    let shape = text(&shape);
                    sql += &format!(
                        "INSERT INTO arg_shapes VALUES ({shape}, '{key}', '{json_type}', '{written_type}', 1);"
                    );
                }
            }
        }
        sql + &self.then
    }

    /// A store in memory with these rows.
    pub(crate) fn store(self) -> Store {
        let store = Store::in_memory().expect("a store in memory opens");
        store.execute(&self.statements()).expect("the rows of the fixture fit the tables");
        store
    }
}

/// The rows of a query, cells joined with `|`, NULL as `-`.
pub(crate) fn answers(store: &Store, sql: &str) -> Vec<String> {
    let rows = store.query_text(sql).unwrap_or_else(|error| panic!("{error}"));
    rows.into_iter()
        .map(|row| row.into_iter().map(|cell| cell.unwrap_or("-".to_owned())).collect::<Vec<_>>().join("|"))
        .collect()
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn nullable(value: Option<&String>) -> String {
    value.map_or("NULL".to_owned(), |value| text(value))
}

fn number(value: Option<i64>) -> String {
    value.map_or("NULL".to_owned(), |value| value.to_string())
}

/// Where Cargo.toml lies.
pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Paths of all files under a folder of the repository, from its root and with `/`, in order.
pub(crate) fn files_under(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    let entries = fs::read_dir(repository().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    for entry in entries {
        let entry = entry.expect("the folder can be listed");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() { files.extend(files_under(&path)) } else { files.push(path) }
    }
    files.sort_unstable();
    files
}
