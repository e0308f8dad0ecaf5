//! The summary of a run: which of the sentences fits the facts. The sentences are in `summary.j2`.

use serde::Serialize;

use super::Texts;
use crate::model::{Rule, Status, Verdict};

/// What the summary of a run is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// The verdict.
    pub verdict: Verdict,
    /// The other verdicts that hold.
    pub also_found: Vec<Verdict>,
    /// What holds, most important first.
    pub findings: Vec<FindingFacts>,
    /// Status of the final answer span.
    pub final_status: Status,
    /// Number of tool calls of the run.
    pub tool_calls: i64,
    /// Whether the arguments of every call were held against a schema.
    pub all_checked: bool,
    /// The calls in order of start; may be empty in a run without findings and without error calls.
    pub calls: Vec<CallFacts>,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingFacts {
    /// Which rule.
    pub rule: Rule,
    /// The tool called.
    pub tool_name: String,
    /// How many calls it rests on.
    pub calls: usize,
    /// Required keys that are absent.
    pub missing_keys: Vec<String>,
    /// Values of another type.
    pub type_errors: Vec<TypeError>,
    /// Status of its first call; none when messages do not say.
    pub span_status: Option<Status>,
    /// Whether its first call has no span of its own.
    pub in_messages: bool,
    /// Duration of its first call in milliseconds.
    pub duration_ms: i64,
    /// Time limit of the tool in milliseconds.
    pub timeout_ms: Option<i64>,
    /// How far over the time limit, in milliseconds.
    pub timeout_gap_ms: Option<i64>,
    /// How many equal calls followed one another.
    pub run_length: Option<i64>,
    /// How many are allowed.
    pub max_retries: Option<i64>,
    /// Place in [`RunFacts::calls`] of the first call after its first.
    pub later_from: usize,
}

/// A value of another type than declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// The key.
    pub key: String,
    /// JSON type as written.
    pub received: String,
    /// Declared JSON types, joined with `|`.
    pub declared: String,
    /// The value as JSON text.
    pub value: String,
}

/// One tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFacts {
    /// The call.
    pub span_id: String,
    /// The tool called.
    pub tool_name: String,
    /// Its status.
    pub status: Status,
    /// Its duration in milliseconds.
    pub duration_ms: i64,
    /// Canonical arguments.
    pub args_key: Option<String>,
    /// Top-level keys of the arguments.
    pub keys: Vec<String>,
}

/// What `summary.j2` chooses its sentence by.
#[derive(Debug, Default, Serialize)]
struct Values {
    verdict: &'static str,
    also: Vec<&'static str>,
    final_status: &'static str,
    tool_calls: i64,
    all_checked: bool,
    with_values: bool,
    /// Findings of the main rule beyond the first.
    more: usize,
    /// Tools of the main rule, each once.
    tools: Vec<String>,
    tool: String,
    status: &'static str,
    in_messages: bool,
    duration_ms: i64,
    timeout_ms: i64,
    gap_ms: i64,
    run_length: i64,
    max_retries: i64,
    /// Undefined tools: how often they were called, how often that ended in error, and whether nothing else was.
    times: usize,
    failed: usize,
    alone: bool,
    missing: Vec<String>,
    types: Vec<ShownType>,
    /// A later call of the tool had the missing keys and ended ok: `next` or `later`.
    repaired: &'static str,
    /// Error calls that the finding rests on.
    errors: usize,
    /// Whether the tool was called again after the last of these errors.
    called_again: bool,
    /// Normal run: how its errors were recovered.
    recovery: Option<Recovery>,
    unrecovered: bool,
}

/// A value of another type, as the sentence tells it.
#[derive(Debug, Serialize)]
struct ShownType {
    key: String,
    received: String,
    declared: String,
    /// None where the sentence must not hold it.
    value: Option<String>,
}

impl ShownType {
    fn of(error: &TypeError, with_value: bool) -> Self {
        Self {
            key: error.key.clone(),
            received: error.received.clone(),
            declared: error.declared.clone(),
            value: with_value.then(|| error.value.clone()),
        }
    }
}

/// How the only error of a tool was recovered.
#[derive(Debug, Serialize)]
struct Recovery {
    tool: String,
    errors: usize,
    /// Place of the error and of the recovering call among the calls of that tool, from 1.
    error_place: usize,
    ok_place: usize,
    /// Whether both had the same arguments; none when one of them was not recorded.
    same_args: Option<bool>,
}

/// One or two sentences on the run.
#[must_use]
pub fn summary(texts: &Texts, run: &RunFacts) -> String {
    sentences(texts, run, true)
}

/// The same without any value of an argument, for what leaves the site.
#[must_use]
pub fn summary_without_values(texts: &Texts, run: &RunFacts) -> String {
    sentences(texts, run, false)
}

fn sentences(texts: &Texts, run: &RunFacts, with_values: bool) -> String {
    let mut values = Values {
        with_values,
        verdict: run.verdict.slug(),
        also: shown_beside(run),
        final_status: run.final_status.as_str(),
        tool_calls: run.tool_calls,
        all_checked: run.all_checked,
        ..Values::default()
    };
    match run.verdict {
        Verdict::Normal => {
            values.recovery = recovery(run);
            values.unrecovered = unrecovered(run);
        }
        Verdict::Found(rule) => fill_finding(&mut values, run, rule),
    }
    texts.render("summary.j2", values).trim().to_owned()
}

/// The other verdicts, but for a hidden error that the sentence on an undefined tool tells already.
fn shown_beside(run: &RunFacts) -> Vec<&'static str> {
    let told = run.verdict == Rule::UndefinedTool.verdict()
        && run.also_found == [Rule::ErrorHidden.verdict()]
        && run.findings.len() == 2
        && run.findings[0].tool_name == run.findings[1].tool_name
        && run.findings[0].span_status == Some(Status::Error);
    if told { Vec::new() } else { run.also_found.iter().map(|verdict| verdict.label()).collect() }
}

fn fill_finding(values: &mut Values, run: &RunFacts, rule: Rule) {
    let of_rule: Vec<&FindingFacts> = run.findings.iter().filter(|finding| finding.rule == rule).collect();
    let Some(first) = of_rule.first() else { return };
    values.more = of_rule.len() - 1;
    for finding in &of_rule {
        if !values.tools.contains(&finding.tool_name) {
            values.tools.push(finding.tool_name.clone());
        }
    }
    values.tool.clone_from(&first.tool_name);
    values.status = first.span_status.unwrap_or(Status::Ok).as_str();
    values.in_messages = first.in_messages;
    values.duration_ms = first.duration_ms;
    values.timeout_ms = first.timeout_ms.unwrap_or_default();
    values.gap_ms = first.timeout_gap_ms.unwrap_or_default();
    values.run_length = first.run_length.unwrap_or_default();
    values.max_retries = first.max_retries.unwrap_or_default();
    values.missing.clone_from(&first.missing_keys);
    values.types = first.type_errors.iter().map(|error| ShownType::of(error, values.with_values)).collect();
    values.errors = first.calls;
    values.repaired = repaired(run, first);
    let last_error =
        run.calls.iter().rposition(|call| call.tool_name == first.tool_name && call.status == Status::Error);
    let last_call = run.calls.iter().rposition(|call| call.tool_name == first.tool_name);
    let (times, failed) = outcomes(run, &values.tools);
    // Without the calls at hand only the first is known.
    values.times = times.max(1);
    values.failed = if times == 0 { usize::from(first.span_status == Some(Status::Error)) } else { failed };
    values.alone = run.tool_calls == i64::try_from(values.times).unwrap_or(i64::MAX);
    values.called_again = first.calls > 1 || last_call > last_error;
}

/// How often these tools were called, and how often that ended in error.
fn outcomes(run: &RunFacts, tools: &[String]) -> (usize, usize) {
    let calls: Vec<&CallFacts> = run.calls.iter().filter(|call| tools.contains(&call.tool_name)).collect();
    (calls.len(), calls.iter().filter(|call| call.status == Status::Error).count())
}

/// Whether a later call of the same tool had every missing key and ended ok, in a run that ended ok.
fn repaired(run: &RunFacts, finding: &FindingFacts) -> &'static str {
    if run.final_status != Status::Ok || finding.missing_keys.is_empty() {
        return "";
    }
    let mut later = run.calls.iter().skip(finding.later_from).filter(|call| call.tool_name == finding.tool_name);
    let repairs =
        |call: &CallFacts| call.status == Status::Ok && finding.missing_keys.iter().all(|key| call.keys.contains(key));
    match later.next() {
        Some(next) if repairs(next) => "next",
        _ if later.any(repairs) => "later",
        _ => "",
    }
}

fn recovery(run: &RunFacts) -> Option<Recovery> {
    let errors: Vec<usize> =
        run.calls.iter().enumerate().filter(|(_, call)| call.status == Status::Error).map(|(at, _)| at).collect();
    let first = *errors.first()?;
    let tool = &run.calls[first].tool_name;
    let ok = (first + 1..run.calls.len())
        .find(|at| run.calls[*at].tool_name == *tool && run.calls[*at].status == Status::Ok)?;
    let place = |upto: usize| run.calls[..=upto].iter().filter(|call| call.tool_name == *tool).count();
    let (before, after) = (&run.calls[first].args_key, &run.calls[ok].args_key);
    Some(Recovery {
        tool: tool.clone(),
        errors: errors.len(),
        error_place: place(first),
        ok_place: place(ok),
        same_args: before.as_ref().zip(after.as_ref()).map(|(before, after)| before == after),
    })
}

/// Whether some error call has no later ok call of its tool.
fn unrecovered(run: &RunFacts) -> bool {
    run.calls.iter().enumerate().any(|(at, call)| {
        call.status == Status::Error
            && !run.calls[at + 1..].iter().any(|later| later.tool_name == call.tool_name && later.status == Status::Ok)
    })
}
