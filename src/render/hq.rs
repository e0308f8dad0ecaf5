//! Candidates for HQ as a Markdown document and as CSV: what leaves the site.
//!
//! The document has plain tables and lists; every foreign text is on one line and escaped.

use minijinja::context;
use minijinja::value::Serde;
use serde::Serialize;

use super::Texts;
use super::layout::{plain, plain_short};
use super::terminal::{ARGUMENT_CHARS, SHORT_SHA};
use crate::model::Rule;
use crate::model::hq::{AgentRuns, DayRuns, Definition, Example, Group, Handoff, Problem, ProblemRuns};

/// Cells of the longest bar.
const BAR: i64 = 20;
/// Periods of more days list only those with a run.
const DAYS_LISTED: i64 = 14;
/// Spans that an example lists.
const SPANS: usize = 12;
/// Keys of a group that are listed.
const PROBLEMS: usize = 10;
/// Longest description shown, in characters; JSON has it in full.
const DESCRIPTION_CHARS: usize = 600;

#[derive(Serialize)]
struct GroupView<'h> {
    tool: &'h str,
    verdict: &'static str,
    rule: &'static str,
    agents: Vec<AgentRow<'h>>,
    runs: i64,
    runs_of_tool: i64,
    share: String,
    day_count: usize,
    days: Vec<DayRow>,
    first: String,
    last: String,
    previous: i64,
    change: &'static str,
    fixes: Vec<FixRow>,
    problems: &'h [ProblemRuns],
    more_problems: usize,
    lacks_keys: bool,
    mixes_types: bool,
    confirmed: i64,
    definitions: Vec<DefinitionView<'h>>,
    examples: Vec<ExampleView<'h>>,
    decision: Option<DecisionView<'h>>,
}

#[derive(Serialize)]
struct AgentRow<'h> {
    name: Option<&'h str>,
    runs: i64,
    bar: String,
}

#[derive(Serialize)]
struct DayRow {
    date: String,
    weekday: u32,
    runs: i64,
    bar: String,
}

#[derive(Serialize)]
struct FixRow {
    label: &'static str,
    runs: i64,
}

#[derive(Serialize)]
struct DefinitionView<'h> {
    sha: &'h str,
    description: String,
    timeout_ms: Option<i64>,
    max_retries: Option<i64>,
    runs: i64,
}

#[derive(Serialize)]
struct ExampleView<'h> {
    trace_id: &'h str,
    agent: Option<&'h str>,
    time: String,
    spans: &'h [String],
    more_spans: usize,
    problems: &'h [Problem],
    measured: Option<i64>,
    allowed: Option<i64>,
    arguments: Vec<String>,
}

#[derive(Serialize)]
struct DecisionView<'h> {
    decision: &'static str,
    at: String,
    by: &'h str,
    reason: String,
    runs_after: i64,
    judged_after: i64,
}

#[derive(Serialize)]
struct SetView<'h> {
    sha: Option<&'h str>,
    tools: i64,
    runs: i64,
}

/// What stands before the number of a masked value: by kind, then of a kind that is not known.
#[must_use]
pub fn mask_labels(texts: &Texts) -> [String; 6] {
    let text = texts.render("review_words.j2", context! { key => "mask_labels" });
    let mut labels = text.split_whitespace().map(str::to_owned);
    std::array::from_fn(|_| labels.next().unwrap_or_default())
}

/// The document that is handed on.
#[must_use]
pub fn markdown(texts: &Texts, handoff: &Handoff, with_arguments: bool) -> String {
    let days = handoff.period.as_ref().map(|period| (period.since.as_str(), period.days)).unwrap_or_default();
    let view = |group| group_view(group, days);
    let groups: Vec<GroupView<'_>> = handoff.candidates.iter().map(view).collect();
    let below: Vec<GroupView<'_>> = handoff.below_min_agents.iter().map(view).collect();
    let sets: Vec<SetView<'_>> = handoff
        .tool_sets
        .iter()
        .map(|set| SetView { sha: set.tool_set.as_deref().map(short), tools: set.tools, runs: set.runs })
        .collect();
    let values = context! {
        h => Serde(handoff), sha => short(&handoff.rule_set_sha256), sets => Serde(sets), groups => Serde(groups),
        below => Serde(below), with_arguments,
    };
    let text = texts.render("hq.j2", values);
    text.trim().to_owned() + "\n"
}

fn short(sha: &str) -> &str {
    sha.get(..SHORT_SHA).unwrap_or(sha)
}

fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replace('T', " ")
}

/// Text on one line, without its line breaks.
fn line(text: &str, chars: usize) -> String {
    plain_short(&text.split_whitespace().collect::<Vec<_>>().join(" "), chars)
}

fn group_view<'h>(group: &'h Group, days: (&str, i64)) -> GroupView<'h> {
    let most = |runs: &mut dyn Iterator<Item = i64>| runs.max().unwrap_or_default();
    let widest = most(&mut group.agents.iter().map(|agent| agent.runs));
    let fixes = group.fix_targets.iter().map(|fix| FixRow { label: fix.fix_target.label(), runs: fix.runs });
    GroupView {
        tool: &group.tool_name,
        verdict: group.rule.verdict().label(),
        rule: group.rule.as_str(),
        agents: group.agents.iter().map(|agent| agent_row(agent, widest)).collect(),
        runs: group.runs,
        runs_of_tool: group.runs_of_tool,
        share: share(group),
        day_count: group.days.len(),
        days: day_rows(&group.days, days),
        first: minute(&group.first_seen),
        last: minute(&group.last_seen),
        previous: group.previous_runs,
        change: group.change.as_str(),
        fixes: fixes.collect(),
        problems: &group.problems[..group.problems.len().min(PROBLEMS)],
        more_problems: group.problems.len().saturating_sub(PROBLEMS),
        lacks_keys: group.problems.iter().any(|of| of.problem.missing_key.is_some()),
        mixes_types: group.problems.iter().any(|of| of.problem.type_error.is_some()),
        confirmed: group.confirmed_runs,
        definitions: group.definitions.iter().map(definition_view).collect(),
        examples: group.examples.iter().map(|example| example_view(example, group.rule)).collect(),
        decision: group.decision.as_ref().map(|earlier| DecisionView {
            decision: earlier.decided.decision.as_str(),
            at: minute(&earlier.decided.decided_at),
            by: &earlier.decided.decided_by,
            reason: line(&earlier.decided.reason, ARGUMENT_CHARS),
            runs_after: earlier.runs_after,
            judged_after: earlier.judged_after,
        }),
    }
}

/// In percent with one decimal.
fn share(group: &Group) -> String {
    format!("{}.{}", group.share_permille / 10, group.share_permille % 10)
}

fn agent_row(agent: &AgentRuns, most: i64) -> AgentRow<'_> {
    AgentRow { name: agent.agent_name.as_deref(), runs: agent.runs, bar: bar(agent.runs, most) }
}

/// A block for each run, or on a scale when the longest would be too long.
fn bar(runs: i64, most: i64) -> String {
    let blocks = if most > BAR { (runs * BAR / most).max(i64::from(runs > 0)) } else { runs };
    "█".repeat(usize::try_from(blocks).unwrap_or_default())
}

/// The days of a short period, or of a long one those with runs.
fn day_rows(runs: &[DayRuns], (since, length): (&str, i64)) -> Vec<DayRow> {
    use chrono::{Datelike, NaiveDate};
    let most = runs.iter().map(|day| day.runs).max().unwrap_or_default();
    let row = |date: NaiveDate, runs: i64| DayRow {
        date: date.to_string(),
        weekday: date.weekday().num_days_from_monday(),
        runs,
        bar: bar(runs, most),
    };
    let read = |text: &str| text.parse::<NaiveDate>().unwrap_or_default();
    if length > DAYS_LISTED {
        return runs.iter().map(|day| row(read(&day.date), day.runs)).collect();
    }
    let of = |date: NaiveDate| runs.iter().find(|day| read(&day.date) == date).map_or(0, |day| day.runs);
    read(since).iter_days().take(usize::try_from(length).unwrap_or_default()).map(|date| row(date, of(date))).collect()
}

fn definition_view(tool: &Definition) -> DefinitionView<'_> {
    DefinitionView {
        sha: short(&tool.tool_set),
        description: line(&tool.description, DESCRIPTION_CHARS),
        timeout_ms: tool.timeout_ms,
        max_retries: tool.max_retries,
        runs: tool.runs,
    }
}

fn example_view(example: &Example, rule: Rule) -> ExampleView<'_> {
    // Of a hidden error the final answer stands at the end and must be seen.
    let from = if rule == Rule::ErrorHidden { example.span_ids.len().saturating_sub(SPANS) } else { 0 };
    let spans = &example.span_ids[from..example.span_ids.len().min(from + SPANS)];
    ExampleView {
        trace_id: &example.trace_id,
        agent: example.agent_name.as_deref(),
        time: minute(&example.start_time),
        spans,
        more_spans: example.span_ids.len() - spans.len(),
        problems: &example.problems,
        measured: example.measured,
        allowed: example.allowed,
        arguments: example.arguments.iter().flatten().map(|text| plain_short(text, ARGUMENT_CHARS)).collect(),
    }
}

/// Columns of the CSV.
const COLUMNS: [&str; 23] = [
    "tool_name",
    "rule",
    "verdict",
    "candidate",
    "agents",
    "runs",
    "runs_of_tool",
    "share_percent",
    "days",
    "first_seen",
    "last_seen",
    "previous_runs",
    "change",
    "fix_target",
    "confirmed_runs",
    "period_since",
    "period_until",
    "decision",
    "decision_reason",
    "decided_by",
    "decided_at",
    "runs_after_decision",
    "judged_after_decision",
];

/// A line for each group, candidates first. A text that a spreadsheet would take for a formula begins with `'`.
#[must_use]
pub fn csv(handoff: &Handoff) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let candidates = handoff.candidates.iter().map(|group| (group, true));
    let rows = candidates.chain(handoff.below_min_agents.iter().map(|group| (group, false)));
    let written = writer.write_record(COLUMNS).and_then(|()| {
        rows.into_iter().try_for_each(|(group, is_candidate)| writer.write_record(record(handoff, group, is_candidate)))
    });
    debug_assert!(written.is_ok(), "every record has the columns");
    String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// A text as a cell of CSV: a model can be talked into any tool name, and the file is opened elsewhere.
pub(crate) fn csv_cell(text: &str) -> String {
    let begins_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = plain(text);
    if begins_formula { format!("'{text}") } else { text.into_owned() }
}

fn record(handoff: &Handoff, group: &Group, is_candidate: bool) -> [String; COLUMNS.len()] {
    let day = |pick: fn(&crate::model::hq::Period) -> &String| handoff.period.as_ref().map(pick).cloned();
    let decided = group.decision.as_ref();
    [
        csv_cell(&group.tool_name),
        group.rule.as_str().to_owned(),
        group.rule.verdict().label().to_owned(),
        is_candidate.to_string(),
        group.agents.len().to_string(),
        group.runs.to_string(),
        group.runs_of_tool.to_string(),
        share(group),
        group.days.len().to_string(),
        group.first_seen.clone(),
        group.last_seen.clone(),
        group.previous_runs.to_string(),
        group.change.as_str().to_owned(),
        group.fix_targets.first().map(|fix| fix.fix_target.label().to_owned()).unwrap_or_default(),
        group.confirmed_runs.to_string(),
        day(|period| &period.since).unwrap_or_default(),
        day(|period| &period.until).unwrap_or_default(),
        decided.map(|earlier| earlier.decided.decision.as_str().to_owned()).unwrap_or_default(),
        decided.map(|earlier| csv_cell(&earlier.decided.reason)).unwrap_or_default(),
        decided.map(|earlier| csv_cell(&earlier.decided.decided_by)).unwrap_or_default(),
        decided.map(|earlier| earlier.decided.decided_at.clone()).unwrap_or_default(),
        decided.map(|earlier| earlier.runs_after.to_string()).unwrap_or_default(),
        decided.map(|earlier| earlier.judged_after.to_string()).unwrap_or_default(),
    ]
}
