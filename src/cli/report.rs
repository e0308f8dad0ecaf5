//! An outcome in the format asked for, and a run as a tree.

use std::collections::BTreeMap;

use clap::ValueEnum;

use super::load;
use crate::diagnose::{JudgedRun, Outcome};
use crate::model::{Coverage, Diagnosis, Rule};
use crate::render::layout::Style;
use crate::render::terminal::{Assumptions, Report, RunView, ToolSetView, UnjudgedView};
use crate::render::tree::Node;
use crate::render::{Texts, markdown, terminal};
use crate::store::{RULE_SET, SpanRecord, korean_time, rule_set_sha256, view_files};

/// How a diagnosis is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// 단말에서 읽는 보고서
    Table,
    /// JSON 배열
    Json,
    /// 한 줄에 실행 하나
    Jsonl,
    /// 마크다운
    Md,
}

/// How a report for people looks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    /// Width and colour.
    pub(crate) style: Style,
    /// Whether normal runs are listed.
    pub(crate) show_all: bool,
}

/// The outcome in that format.
pub(crate) fn render(texts: &Texts, outcome: &Outcome, format: Format, options: &Options) -> anyhow::Result<String> {
    let diagnoses = || outcome.runs.iter().map(|run| &run.diagnosis);
    match format {
        Format::Json => {
            let all: Vec<&Diagnosis> = diagnoses().collect();
            Ok(serde_json::to_string_pretty(&all)? + "\n")
        }
        Format::Jsonl => {
            let mut text = String::new();
            for diagnosis in diagnoses() {
                text.push_str(&serde_json::to_string(diagnosis)?);
                text.push('\n');
            }
            Ok(text)
        }
        Format::Table => Ok(terminal::report(texts, &view(outcome, options.show_all), options.style)),
        Format::Md => Ok(markdown::report(texts, &view(outcome, options.show_all))),
    }
}

fn view(outcome: &Outcome, show_all: bool) -> Report<'_> {
    let mut coverage = Coverage::default();
    for run in &outcome.runs {
        coverage.add(&run.coverage);
    }
    Report {
        runs: outcome.runs.iter().map(run_view).collect(),
        unjudged: outcome
            .unjudged
            .iter()
            .map(|run| UnjudgedView {
                trace_id: run.trace_id.clone(),
                start_time: korean_time(run.start_ns),
                tool_calls: run.tool_calls,
                reason: run.reason.clone(),
            })
            .collect(),
        coverage,
        captures: load::captures(&outcome.conventions_without_arguments),
        assumptions: Assumptions {
            rule_set: RULE_SET.to_owned(),
            rule_set_sha256: rule_set_sha256(),
            tool_sets: outcome
                .tool_sets
                .iter()
                .map(|set| ToolSetView {
                    sha256: set.tool_set.clone(),
                    source: set.source.clone(),
                    tools: set.tools,
                    traces: set.traces,
                })
                .collect(),
        },
        show_all,
    }
}

/// What a report shows of a run.
pub(crate) fn run_view(run: &JudgedRun) -> RunView<'_> {
    RunView {
        diagnosis: &run.diagnosis,
        start_time: korean_time(run.start_ns),
        calls: &run.calls,
        described: run.described_tool.as_ref().map(|tool| (tool.tool_name.as_str(), tool.description.as_str())),
    }
}

/// The view of a rule that the set in force reads.
pub(crate) fn active_view(rule: Rule) -> String {
    let set = view_files().iter().find(|file| file.view() == RULE_SET).map_or("", |file| file.sql);
    let prefix = format!("rule_{}_v", rule.as_str());
    let named = set.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').find(|word| word.starts_with(&prefix));
    named.unwrap_or(&prefix).to_owned()
}

/// The spans of one run in the order of the tree: parents before children, children by start. A span whose
/// parents form a cycle stands at the end, on the first level.
pub(crate) fn tree_nodes(spans: &[SpanRecord], judged: Option<&JudgedRun>) -> Vec<Node> {
    let mut children: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (index, span) in spans.iter().enumerate() {
        children.entry(span.parent_span_id.as_deref()).or_default().push(index);
    }
    let mut placed = vec![false; spans.len()];
    let mut order = Vec::new();
    let roots = children.get(&None).cloned().unwrap_or_default();
    for start in roots.into_iter().chain(0..spans.len()) {
        let mut stack = vec![(start, 0)];
        while let Some((index, depth)) = stack.pop() {
            if std::mem::replace(&mut placed[index], true) {
                continue;
            }
            order.push((index, depth));
            let below = children.get(&Some(spans[index].span_id.as_str()));
            stack.extend(below.into_iter().flatten().rev().map(|child| (*child, depth + 1)));
        }
    }
    let earliest = spans.iter().map(|span| span.start_ns).min().unwrap_or_default();
    order.into_iter().map(|(index, depth)| node(&spans[index], depth, earliest, judged)).collect()
}

fn node(span: &SpanRecord, depth: usize, earliest_ns: i64, judged: Option<&JudgedRun>) -> Node {
    let findings = judged.map(|run| run.diagnosis.findings.as_slice()).unwrap_or_default();
    let name = span.tool_name.as_ref().or(span.agent_name.as_ref());
    Node {
        depth,
        operation: span.operation.clone(),
        name: name.cloned().unwrap_or_default(),
        span_id: span.span_id.clone(),
        status: span.status,
        start_time: span.start_time.clone(),
        offset_ms: span.start_ns.saturating_sub(earliest_ns) / 1_000_000,
        duration_ms: span.duration_ms,
        tool_args: span.tool_args.clone(),
        place: format!("{}:{}", file_name(span.path.as_deref().unwrap_or_default()), span.line),
        findings: (0..findings.len()).filter(|index| findings[*index].span_ids.contains(&span.span_id)).collect(),
    }
}

/// The last part of a path: the store has the whole of it.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
