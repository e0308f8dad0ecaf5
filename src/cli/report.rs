//! An outcome in the format asked for, and a run as a tree.

use std::collections::BTreeMap;
use std::path::Path;

use clap::ValueEnum;

use super::failure::Failure;
use super::load;
use crate::baseline::Fingerprint;
use crate::diagnose::{JudgedRun, Outcome};
use crate::model::{Coverage, Diagnosis, Finding, Rule, Standing};
use crate::render::baseline::{BaselineView, lines, section};
use crate::render::layout::Style;
use crate::render::machine::{MachineReport, MachineRun, Place};
use crate::render::terminal::{Assumptions, Report, RunView, ToolSetView, UnjudgedView};
use crate::render::tree::Node;
use crate::render::{Texts, github, junit, markdown, sarif, terminal};
use crate::store::{RULE_SET, SpanRecord, Store, korean_time, rule_set_sha256, view_files};

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
    /// JUnit XML: 실행 하나가 시험 하나
    Junit,
    /// SARIF 2.1.0
    Sarif,
    /// GitHub Actions 의 주석
    Github,
}

impl Format {
    /// Whether it shows where spans were read.
    pub(crate) fn has_places(self) -> bool {
        matches!(self, Self::Junit | Self::Sarif | Self::Github)
    }

    /// Whether it only counts runs in which nothing is new.
    pub(crate) fn folds(self) -> bool {
        matches!(self, Self::Table | Self::Md | Self::Github)
    }

    /// Whether it has a place of its own for sentences on the baseline.
    pub(crate) fn has_sentences(self) -> bool {
        matches!(self, Self::Table | Self::Md)
    }
}

/// How a report for people looks.
#[derive(Debug, Clone)]
pub(crate) struct Options<'a> {
    /// Width and colour.
    pub(crate) style: Style,
    /// Whether normal runs are listed.
    pub(crate) show_all: bool,
    /// How the findings stand to a baseline, if there is one.
    pub(crate) held: Option<&'a Held>,
}

/// How findings stand to a baseline.
#[derive(Debug)]
pub(crate) struct Held {
    /// For each run, how each of its findings stands.
    pub(crate) standings: Vec<Vec<Standing>>,
    /// The sums, and what of the baseline did not occur.
    pub(crate) view: BaselineView,
}

impl Held {
    /// Runs that are folded, and their findings.
    pub(crate) fn folded(&self) -> (u64, u64) {
        let folded = (0..self.standings.len()).filter(|run| self.folds(*run));
        folded.fold((0, 0), |(runs, findings), run| (runs + 1, findings + self.standings[run].len() as u64))
    }

    /// Whether all findings of a run are known.
    fn folds(&self, run: usize) -> bool {
        self.standings.get(run).is_some_and(|run| !run.is_empty() && run.iter().all(|standing| !standing.counts()))
    }
}

/// The outcome in that format. The store says where spans were read, for formats that [`Format::has_places`].
pub(crate) fn render(
    texts: &Texts,
    store: Option<&Store>,
    outcome: &Outcome,
    format: Format,
    options: &Options<'_>,
) -> anyhow::Result<String> {
    if format.has_places() {
        let report = machine(store, outcome, options)?;
        return Ok(match format {
            Format::Junit => junit::report(texts, &report),
            Format::Sarif => sarif::report(texts, &report)?,
            _ => github::report(texts, &report),
        });
    }
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
        Format::Md => {
            let held = options.held.map_or_else(String::new, |held| section(texts, &held.view));
            Ok(markdown::report(texts, &view(outcome, options)) + &held)
        }
        _ => {
            let held = options.held.map_or_else(String::new, |held| lines(texts, &held.view, options.style));
            Ok(terminal::report(texts, &view(outcome, options), options.style) + &held)
        }
    }
}

/// The outcome with what formats for machines show besides: places, durations, fingerprints.
fn machine<'a>(
    store: Option<&Store>,
    outcome: &'a Outcome,
    options: &Options<'_>,
) -> Result<MachineReport<'a>, Failure> {
    let judged = outcome.runs.iter().map(|run| run.diagnosis.trace_id.as_str());
    let trace_ids: Vec<&str> = judged.chain(outcome.unjudged.iter().map(|run| run.trace_id.as_str())).collect();
    let mut read = store.map(|store| Whereabouts::read(store, &trace_ids)).transpose()?.unwrap_or_default();
    let whole = view(outcome, options);
    let mut runs = Vec::with_capacity(outcome.runs.len());
    for (index, (run, view)) in outcome.runs.iter().zip(whole.runs).enumerate() {
        let agent = run.diagnosis.agent_name.as_deref();
        let standings = options.held.and_then(|held| held.standings.get(index));
        let standing = |place: usize, finding: &Finding| {
            standings.and_then(|run| run.get(place)).cloned().unwrap_or_default().reviewed(finding)
        };
        let findings = run.diagnosis.findings.iter().enumerate();
        let of_trace = read.traces.remove(&run.diagnosis.trace_id).unwrap_or_default();
        runs.push(MachineRun {
            view,
            start_ns: run.start_ns,
            duration_ns: of_trace.end_ns.saturating_sub(run.start_ns).max(0).unsigned_abs(),
            standings: findings
                .map(|(place, finding)| (standing(place, finding), Fingerprint::of(agent, finding).digest()))
                .collect(),
            places: of_trace.places,
            final_span_id: &run.final_span_id,
        });
    }
    let place_of = |run: &UnjudgedView| read.traces.get(&run.trace_id).and_then(|trace| trace.first.clone());
    Ok(MachineReport {
        version: env!("CARGO_PKG_VERSION"),
        runs,
        unjudged: whole.unjudged.iter().map(|run| (run.clone(), place_of(run))).collect(),
        coverage: whole.coverage,
        assumptions: whole.assumptions,
        has_baseline: options.held.is_some(),
        show_all: options.show_all,
    })
}

/// Where the spans of traces were read, and when they ended.
#[derive(Default)]
struct Whereabouts {
    traces: BTreeMap<String, OfTrace>,
}

#[derive(Default)]
struct OfTrace {
    end_ns: i64,
    first: Option<Place>,
    places: BTreeMap<String, Place>,
}

impl Whereabouts {
    fn read(store: &Store, trace_ids: &[&str]) -> Result<Self, Failure> {
        let folder = std::env::current_dir().ok();
        let mut traces: BTreeMap<String, OfTrace> = BTreeMap::new();
        for row in store.places(trace_ids).map_err(Failure::from)? {
            let of_trace = traces.entry(row.trace_id).or_default();
            of_trace.end_ns = of_trace.end_ns.max(row.end_ns);
            // Standard input has no file that could be opened.
            let Some(path) = row.path.filter(|path| path != "-") else { continue };
            let place = Place { path: below(folder.as_deref(), &path), line: row.line };
            of_trace.first.get_or_insert_with(|| place.clone());
            of_trace.places.insert(row.span_id, place);
        }
        Ok(Self { traces })
    }
}

/// The path as seen from the folder, when it lies below.
fn below(folder: Option<&Path>, path: &str) -> String {
    let relative = folder.and_then(|folder| Path::new(path).strip_prefix(folder).ok());
    relative.map_or_else(|| path.to_owned(), |relative| relative.display().to_string())
}

/// What the runs let the rules check, in sum.
pub(crate) fn coverage(outcome: &Outcome) -> Coverage {
    let mut coverage = Coverage::default();
    for run in &outcome.runs {
        coverage.add(&run.coverage);
    }
    coverage
}

fn view<'a>(outcome: &'a Outcome, options: &Options<'_>) -> Report<'a> {
    let folds = |run: usize| options.held.is_some_and(|held| held.folds(run));
    Report {
        runs: outcome.runs.iter().enumerate().map(|(index, run)| run_view(run, folds(index))).collect(),
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
        coverage: coverage(outcome),
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
        show_all: options.show_all,
    }
}

/// What a report shows of a run; `folded` when the baseline has all of it.
pub(crate) fn run_view(run: &JudgedRun, folded: bool) -> RunView<'_> {
    RunView {
        diagnosis: &run.diagnosis,
        start_time: korean_time(run.start_ns),
        calls: &run.calls,
        described: run.described_tool.as_ref().map(|tool| (tool.tool_name.as_str(), tool.description.as_str())),
        drafted_by: run.described_tool.as_ref().and_then(|tool| tool.drafted_by.as_deref()),
        folded,
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
