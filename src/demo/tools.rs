//! The three tools of the agent, and what a tool is to it.
//!
//! `search_regulation` ranks a small set of articles with BM25; its description leaves `dept_code` out on purpose, and
//! it fails without it. The data are of an agency that does not exist.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::search::Index;
use super::seed::below;

/// The definitions of the three tools, as `ingest --tools` reads them.
pub const TOOLS_JSON: &str = include_str!("data/tools.json");

const DEPARTMENTS: &str = include_str!("data/departments.json");
const BUDGETS: &str = include_str!("data/budgets.json");
const WORDS: &str = include_str!("data/tool_words.json");

/// How many articles a search gives at most.
const TOP: usize = 3;

/// What calls tools. Called from several threads at once.
pub trait Toolbox: Send + Sync {
    /// Calls a tool; `arguments` is what the model wrote. Blocks.
    fn call(&self, call: &ToolUse<'_>) -> Reply;

    /// Whether the work is to stop, asked before each call of a tool and of the model.
    fn is_cancelled(&self) -> bool {
        false
    }
}

/// One call of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolUse<'a> {
    /// Name of the tool.
    pub name: &'a str,
    /// The arguments as JSON text, not always valid.
    pub arguments: &'a str,
}

/// What a tool replied.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Its result, or why there is none.
    pub result: Result<Value, ToolFailure>,
    /// How long it takes: a simulated tool says so, the agent lets the time pass. Zero when the time did pass.
    pub takes: Duration,
}

/// Why a tool gave no result. The message is what the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolFailure {
    /// `error.type`.
    pub kind: FailureKind,
    /// For the model.
    pub message: String,
}

/// Kinds of failures, each an `error.type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The arguments are not what the tool needs.
    InvalidArguments,
    /// There is no tool of this name.
    ToolNotFound,
    /// It did not answer within its time limit.
    Timeout,
    /// It failed.
    ToolError,
    /// Whether it was done is not known.
    OutcomeUnknown,
    /// It needs an approval that is not there yet.
    ApprovalRequired,
    /// It was not called, since an earlier call of it may have been done.
    NotRepeated,
    /// No more calls are allowed.
    CallLimit,
    /// It cannot be reached, or answered something else than the protocol says.
    Unreachable,
}

impl FailureKind {
    /// As `error.type` says it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArguments => "invalid_arguments",
            Self::ToolNotFound => "tool_not_found",
            Self::Timeout => "timeout",
            Self::ToolError => "tool_error",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::ApprovalRequired => "approval_required",
            Self::NotRepeated => "not_repeated",
            Self::CallLimit => "call_limit",
            Self::Unreachable => "unreachable",
        }
    }
}

/// Words for the model, by key; `{value}` stands for what they are about.
pub(super) struct Words(BTreeMap<String, String>);

impl Words {
    pub(super) fn shipped() -> Self {
        Self(serde_json::from_str(WORDS).expect("a test reads the words that are shipped"))
    }

    pub(super) fn say(&self, key: &str, value: &str) -> String {
        self.0.get(key).map_or_else(|| key.to_owned(), |text| text.replace("{value}", value))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Department {
    pub(super) dept_name: String,
    pub(super) dept_code: String,
}

pub(super) fn departments() -> Vec<Department> {
    serde_json::from_str(DEPARTMENTS).expect("a test reads the departments that are shipped")
}

#[derive(Debug, Clone, Deserialize)]
struct Budget {
    dept_code: String,
    year: i64,
    quarter: i64,
    budget_krw: i64,
    spent_krw: i64,
}

/// The three tools over the data that are shipped.
pub struct LocalTools {
    index: Index,
    departments: Vec<Department>,
    budgets: Vec<Budget>,
    words: Words,
    seed: u64,
}

impl LocalTools {
    /// The tools; how long a call takes follows from the seed and its arguments.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            index: Index::shipped(),
            departments: departments(),
            budgets: serde_json::from_str(BUDGETS).expect("a test reads the budgets that are shipped"),
            words: Words::shipped(),
            seed,
        }
    }

    fn answer(&self, call: &ToolUse<'_>) -> Result<Value, ToolFailure> {
        let run = match call.name {
            "search_regulation" => Self::search,
            "org_chart_lookup" => Self::look_up,
            "budget_api" => Self::budget,
            _ => return Err(self.failure(FailureKind::ToolNotFound, "no_tool", call.name)),
        };
        let Ok(Value::Object(arguments)) = serde_json::from_str(call.arguments) else {
            return Err(self.failure(FailureKind::InvalidArguments, "not_json", ""));
        };
        run(self, &arguments)
    }

    fn failure(&self, kind: FailureKind, words: &str, value: &str) -> ToolFailure {
        ToolFailure { kind, message: self.words.say(words, value) }
    }

    fn invalid(&self, words: &str, value: &str) -> ToolFailure {
        self.failure(FailureKind::InvalidArguments, words, value)
    }

    fn text<'a>(&self, arguments: &'a Map<String, Value>, key: &str) -> Result<&'a str, ToolFailure> {
        let value = arguments.get(key).ok_or_else(|| self.invalid("missing", key))?;
        value.as_str().ok_or_else(|| self.invalid("wrong_type", &format!("{key}: string")))
    }

    fn integer(&self, arguments: &Map<String, Value>, key: &str) -> Result<i64, ToolFailure> {
        let value = arguments.get(key).ok_or_else(|| self.invalid("missing", key))?;
        value.as_i64().ok_or_else(|| self.invalid("wrong_type", &format!("{key}: integer")))
    }

    fn department(&self, arguments: &Map<String, Value>) -> Result<&Department, ToolFailure> {
        let code = self.text(arguments, "dept_code")?;
        let found = self.departments.iter().find(|department| department.dept_code == code);
        found.ok_or_else(|| self.invalid("no_dept", code))
    }

    fn search(&self, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let query = self.text(arguments, "query")?;
        let department = self.department(arguments)?;
        Ok(json!({ "articles": self.index.search(query, &department.dept_code, TOP) }))
    }

    fn look_up(&self, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let name = self.text(arguments, "dept_name")?.trim();
        let found = self.departments.iter().find(|department| department.dept_name == name);
        let found = found.ok_or_else(|| self.invalid("no_dept_name", name))?;
        Ok(json!({ "dept_name": found.dept_name, "dept_code": found.dept_code }))
    }

    fn budget(&self, arguments: &Map<String, Value>) -> Result<Value, ToolFailure> {
        let department = self.department(arguments)?;
        let year = self.integer(arguments, "year")?;
        let quarter = self.integer(arguments, "quarter")?;
        if !(1..=4).contains(&quarter) {
            return Err(self.invalid("no_quarter", &quarter.to_string()));
        }
        let mut budgets = self.budgets.iter();
        let found = budgets
            .find(|budget| (&budget.dept_code, budget.year, budget.quarter) == (&department.dept_code, year, quarter));
        let found =
            found.ok_or_else(|| self.failure(FailureKind::ToolError, "no_budget", &format!("{year} {quarter}")))?;
        Ok(json!({
            "dept_code": found.dept_code, "dept_name": department.dept_name, "year": year, "quarter": quarter,
            "budget_krw": found.budget_krw, "spent_krw": found.spent_krw,
        }))
    }
}

impl Toolbox for LocalTools {
    fn call(&self, call: &ToolUse<'_>) -> Reply {
        let takes = Duration::from_millis(20 + below(180, self.seed, &["takes", call.name, call.arguments]));
        Reply { result: self.answer(call), takes }
    }
}
