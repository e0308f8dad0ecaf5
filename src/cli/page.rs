//! `taco-trace report`: the judgement as one HTML page.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::NaiveDate;

use super::diagnose::korean_period;
use super::failure::Failure;
use super::load::StoreArg;
use super::{choice, exit, report, terminal};
use crate::diagnose::{DraftMode, JudgedRun, Outcome, diagnose};
use crate::ingest::mask::Masker;
use crate::model::{Rule, Verdict};
use crate::render::Texts;
use crate::render::page::{self, Counted, Page, PageRun, Recurring};
use crate::render::terminal::{RunView, UnjudgedView};
use crate::render::tree::Node;
use crate::store::{RULE_SET, Scope, SpanRecord, Store, UnjudgedRow, korean_date, korean_time, rule_set_sha256};
use crate::verdict::fix_target;

/// `taco-trace report` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace report --html report.html --db taco.duckdb --since 2026-10-01\n\n\
    페이지는 파일 하나이고 아무것도 불러오지 않습니다. 인자와 결과의 값은 --with-args 가 없으면 들어가지 않습니다.")]
pub(crate) struct Args {
    /// 페이지를 쓸 HTML 파일(- 는 표준 출력)
    #[arg(long, value_name = "파일")]
    html: PathBuf,
    #[command(flatten)]
    store: StoreArg,
    /// 이 날(또는 시각)부터 시작한 실행만. 한국 시간, 예: 2026-10-07
    #[arg(long, value_name = "날짜")]
    since: Option<String>,
    /// 이 날까지(그날 포함) 시작한 실행만. 한국 시간
    #[arg(long, value_name = "날짜")]
    until: Option<String>,
    /// 이 에이전트의 실행만
    #[arg(long, value_name = "이름")]
    agent: Option<String>,
    /// 이 수까지만 자세히 싣습니다(기본 5000). 문제 있는 실행이 먼저이고, 수와 그림은 모든 실행을 셉니다
    #[arg(long, value_name = "수", default_value_t = 5000, hide_default_value = true)]
    max_runs: usize,
    /// 인자의 값도 싣습니다. 주민등록번호, 전화번호, 카드 번호, 전자우편 주소, 사번은 가명으로 바꿉니다
    #[arg(long)]
    with_args: bool,
}

/// Judges the store and writes the page.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let period = korean_period(args.since.as_deref(), args.until.as_deref())?;
    let scope = Scope { since_ns: period.since_ns, before_ns: period.before_ns, ..Scope::default() };
    let store = args.store.open_to_read()?;
    choice::known_agent(&store, args.agent.as_deref())?;
    period.tell_if_empty(texts, &store).map_err(Failure::from)?;
    let masker = masker(&store)?;
    let masked = |text: &str| masker.mask_text(text).0.into_owned();
    let mut outcome = diagnose(&store, texts, &scope, DraftMode::Template).map_err(Failure::from)?;
    for run in &mut outcome.runs {
        mask_run(run, &masked);
    }
    // Equal names stay equal.
    let agent = args.agent.as_deref().map(masked);
    let (recurring, alone) = recurring(&outcome, agent.as_deref());
    let outcome = match agent.as_deref() {
        None => outcome,
        Some(agent) => outcome.filtered(false, usize::MAX, |run| run.diagnosis.agent_name.as_deref() == Some(agent)),
    };
    let chosen = choose(&outcome, args.max_runs);
    let trace_ids = chosen.trace_ids();
    let mut spans = store.spans_of_runs(&trace_ids, args.with_args).map_err(Failure::from)?;
    for span in spans.values_mut().flatten() {
        span.agent_name = span.agent_name.as_deref().map(masked);
    }
    let parts = Parts { texts, spans: &spans, masker: &masker, with_values: args.with_args };
    let shown = Page {
        asked: (args.since.clone().filter(|text| is_date(text)), args.until.clone().filter(|text| is_date(text))),
        agent: agent.clone(),
        counted: counted(&outcome),
        runs: chosen.places.iter().map(|place| parts.run(&outcome, *place)).collect(),
        recurring,
        alone,
        coverage: report::coverage(&outcome),
        rule_set: (RULE_SET.to_owned(), rule_set_sha256()),
        tool_sets: tool_sets(&outcome),
        version: env!("CARGO_PKG_VERSION"),
        with_args: args.with_args,
    };
    drop(store);
    let html = page::page(texts, &shown);
    let output = (args.html.as_os_str() != "-").then_some(args.html.as_path());
    terminal::write_result(&html, output)?;
    Ok(exit::OK)
}

/// A date as people write it, and no instant.
fn is_date(text: &str) -> bool {
    NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

/// A run that is put on the page: its place among those judged, or among those that could not be.
#[derive(Debug, Clone, Copy)]
enum Place {
    Judged(usize),
    Unjudged(usize),
}

/// The runs that are put on the page, newest first.
struct Chosen<'a> {
    outcome: &'a Outcome,
    places: Vec<Place>,
}

impl Chosen<'_> {
    fn trace_ids(&self) -> Vec<String> {
        let id = |place: &Place| match place {
            Place::Judged(index) => self.outcome.runs[*index].diagnosis.trace_id.clone(),
            Place::Unjudged(index) => self.outcome.unjudged[*index].trace_id.clone(),
        };
        self.places.iter().map(id).collect()
    }
}

/// Runs with findings, then those that cannot be judged, then normal ones; of each the newest.
fn choose(outcome: &Outcome, most: usize) -> Chosen<'_> {
    let judged = |is_normal: bool| {
        let runs = outcome.runs.iter().enumerate().rev();
        runs.filter(move |(_, run)| (run.diagnosis.verdict == Verdict::Normal) == is_normal)
            .map(|(index, _)| Place::Judged(index))
    };
    let unjudged = (0..outcome.unjudged.len()).rev().map(Place::Unjudged);
    let mut places: Vec<Place> = judged(false).chain(unjudged).chain(judged(true)).take(most).collect();
    let start = |place: &Place| match place {
        Place::Judged(index) => (outcome.runs[*index].start_ns, outcome.runs[*index].diagnosis.trace_id.as_str()),
        Place::Unjudged(index) => (outcome.unjudged[*index].start_ns, outcome.unjudged[*index].trace_id.as_str()),
    };
    places.sort_by(|one, other| start(other).cmp(&start(one)));
    Chosen { outcome, places }
}

/// Personal values in what is free text of a run: the name of its agent, what its tool is described with.
fn mask_run(run: &mut JudgedRun, masked: &impl Fn(&str) -> String) {
    let diagnosis = &mut run.diagnosis;
    diagnosis.agent_name = diagnosis.agent_name.as_deref().map(masked);
    diagnosis.description_draft = diagnosis.description_draft.as_deref().map(masked);
    if let Some(tool) = &mut run.described_tool {
        tool.description = masked(&tool.description);
    }
}

/// Pseudonyms for personal values, whose key nobody can tell who does not have the files that were read.
fn masker(store: &Store) -> Result<Masker, Failure> {
    let hashes = store.content_hashes().map_err(Failure::from)?;
    Ok(Masker::new(hashes.join("\n").as_bytes()))
}

/// What the parts of a run are taken from.
struct Parts<'a> {
    texts: &'a Texts,
    spans: &'a BTreeMap<String, Vec<SpanRecord>>,
    masker: &'a Masker,
    /// Whether values of arguments are shown, masked.
    with_values: bool,
}

impl Parts<'_> {
    fn run<'o>(&self, outcome: &'o Outcome, place: Place) -> PageRun<'o> {
        match place {
            Place::Judged(index) => self.judged(&outcome.runs[index]),
            Place::Unjudged(index) => self.unjudged(&outcome.unjudged[index]),
        }
    }

    fn judged<'o>(&self, run: &'o JudgedRun) -> PageRun<'o> {
        let view = report::run_view(run, false);
        let trace_id = &run.diagnosis.trace_id;
        let (summary, notes) = match &run.without_values {
            Some(told) if !self.with_values => (&told.summary, &told.notes),
            _ => (&run.diagnosis.summary, &run.diagnosis.notes),
        };
        PageRun {
            arguments: page::arguments_of(&view).into_iter().map(|text| self.value(text)).collect(),
            summary: self.text(summary),
            notes: notes.iter().map(|note| self.text(note)).collect(),
            nodes: self.nodes(trace_id, Some(run)),
            judged: Ok(view),
        }
    }

    fn unjudged<'o>(&self, run: &UnjudgedRow) -> PageRun<'o> {
        PageRun {
            judged: Err::<RunView<'o>, _>(UnjudgedView {
                trace_id: run.trace_id.clone(),
                start_time: korean_time(run.start_ns),
                tool_calls: run.tool_calls,
                reason: run.reason.clone(),
            }),
            summary: page::reason(self.texts, &run.reason),
            notes: Vec::new(),
            arguments: Vec::new(),
            nodes: self.nodes(&run.trace_id, None),
        }
    }

    fn nodes(&self, trace_id: &str, judged: Option<&JudgedRun>) -> Vec<Node> {
        let spans = self.spans.get(trace_id).map_or(&[][..], Vec::as_slice);
        let mut nodes = report::tree_nodes(spans, judged);
        for node in &mut nodes {
            node.tool_args = self.value(node.tool_args.as_deref());
        }
        nodes
    }

    fn value(&self, text: Option<&str>) -> Option<String> {
        text.filter(|_| self.with_values).map(|text| self.masker.mask_value(text).0.into_owned())
    }

    /// A sentence that may hold a value.
    fn text(&self, text: &str) -> String {
        self.masker.mask_text(text).0.into_owned()
    }
}

fn counted(outcome: &Outcome) -> Vec<Counted<'_>> {
    let judged = outcome.runs.iter().map(|run| Counted {
        date: korean_date(run.start_ns),
        agent: run.diagnosis.agent_name.as_deref(),
        verdict: Some(run.diagnosis.verdict),
        also: &run.diagnosis.also_found,
    });
    let unjudged = outcome.unjudged.iter().map(|run| Counted {
        date: korean_date(run.start_ns),
        agent: None,
        verdict: None,
        also: &[],
    });
    judged.chain(unjudged).collect()
}

fn tool_sets(outcome: &Outcome) -> Vec<(Option<String>, i64, i64)> {
    let sets = outcome.tool_sets.iter();
    sets.map(|set| (set.tool_set.clone(), set.tools.unwrap_or_default(), set.traces)).collect()
}

/// What several agents have, as `hq-candidates` groups it, and the number of tools and rules that one agent alone has.
/// With `agent` only what it has part in.
fn recurring(outcome: &Outcome, agent: Option<&str>) -> (Vec<Recurring>, usize) {
    let mut groups: BTreeMap<(Rule, &str), Recurring> = BTreeMap::new();
    for run in &outcome.runs {
        let mut seen = BTreeSet::new();
        let date = korean_date(run.start_ns);
        for finding in run.diagnosis.findings.iter().filter(|finding| finding.dismissed_for().is_none()) {
            let group = groups.entry((finding.rule, &finding.tool_name)).or_insert_with(|| Recurring {
                tool_name: finding.tool_name.clone(),
                rule: finding.rule,
                agents: BTreeMap::new(),
                first_date: date,
                last_date: date,
                fix_targets: BTreeSet::new(),
            });
            group.fix_targets.insert(fix_target(finding.rule, std::slice::from_ref(finding)));
            group.last_date = date;
            if seen.insert((finding.rule, &finding.tool_name)) {
                let name = run.diagnosis.agent_name.clone().filter(|name| !name.trim().is_empty());
                *group.agents.entry(name).or_default() += 1;
            }
        }
    }
    let has_part =
        |group: &Recurring| agent.is_none_or(|agent| group.agents.keys().any(|name| name.as_deref() == Some(agent)));
    let (mut several, alone): (Vec<Recurring>, Vec<Recurring>) =
        groups.into_values().filter(has_part).partition(|group| group.agents.len() > 1);
    let runs = |group: &Recurring| group.agents.values().sum::<i64>();
    // Groups of a size stay in order of rule and tool.
    several.sort_by_key(|group| std::cmp::Reverse((group.agents.len(), runs(group))));
    (several, alone.len())
}
