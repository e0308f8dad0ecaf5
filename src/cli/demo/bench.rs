//! `taco-trace demo bench`: faults put into runs of the demo agent, and what the verdicts make of them.

use std::path::{Path, PathBuf};

use super::play::{Job, Player, Script};
use super::reports::{Format, write_traces};
use super::stage::{self, Folder};
use crate::bench::injected::{About, Made, report, spread};
use crate::cli::exit;
use crate::cli::failure::Failure;
use crate::cli::load;
use crate::cli::model::ModelArgs;
use crate::cli::terminal::{self, ColorChoice};
use crate::diagnose::DraftMode;
use crate::digest::sha256_hex;
use crate::model::demo::BenchReport;
use crate::render::{Texts, demo_bench as words};
use crate::store::{RULE_SET, Store};

/// Hex digits of the name of a bench.
const NAME_DIGITS: usize = 12;

/// `taco-trace demo bench` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace demo bench --runs 40 --seed 1 --format md -o bench.md\n    \
    taco-trace demo bench --overlap --controls 10 --db taco.duckdb")]
pub(crate) struct Args {
    /// 고장을 넣어 돌릴 실행 수(기본 40). 다섯 고장에 고르게 나눕니다
    #[arg(
        long,
        value_name = "수",
        default_value_t = 40,
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(1..=10_000)
    )]
    runs: u64,
    /// 고장 없이 더 돌릴 실행 수(기본 0). 없는 고장을 있다고 하는지 봅니다
    #[arg(
        long,
        value_name = "수",
        default_value_t = 0,
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(0..=10_000)
    )]
    controls: u64,
    /// 시드(기본 1). 같은 시드는 같은 결과를 냅니다
    #[arg(
        long,
        value_name = "수",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64)
    )]
    seed: u64,
    /// 실행 하나에 서로 다른 고장 둘을 넣습니다
    #[arg(long)]
    overlap: bool,
    /// 출력 형식: table(기본), md, json
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    /// 결과를 이 파일에 씁니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    /// 실행이 남긴 트레이스(OTLP JSON 줄)를 이 파일에도 씁니다
    #[arg(long, value_name = "파일")]
    traces: Option<PathBuf>,
    /// 트레이스와 결과를 이 저장소에 남깁니다. 없으면 남기지 않습니다
    #[arg(long, value_name = "파일")]
    db: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArgs,
}

/// Runs the agent, judges what it left, reports.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let read = args.model.options.replay.as_deref();
    let kept = args.db.as_deref();
    terminal::refuse_over_inputs(args.output.as_deref(), read.into_iter().chain(args.traces.as_deref()).chain(kept))?;
    terminal::refuse_over_inputs(args.traces.as_deref(), read.into_iter().chain(kept))?;
    // Before anything is run: a store that cannot be opened should not cost forty calls of a model.
    let store = match &args.db {
        Some(path) => Store::open(path),
        None => Store::in_memory(),
    };
    let store = store.map_err(Failure::from)?;
    let budget = args.model.options.budget()?;
    let how = (args.seed, "bench", Script::Careful);
    let mut player = Player::open(&args.model.model, &args.model.options, &budget, how)?;
    let faults = spread(args.runs, args.overlap).chain((0..args.controls).map(|_| Vec::new()));
    let mut made = Vec::new();
    let mut lines = String::new();
    for (number, faults) in (0..).zip(faults) {
        let job = Job { number, question: number, faults: &faults };
        let played = player.play(&job)?;
        lines.push_str(&played.lines);
        made.push(Made {
            trace_id: played.trace_id,
            question: played.question,
            not_reached: played.not_reached,
            faults,
        });
    }
    let folder = Folder::make()?;
    let traces = write_traces(&folder, &lines, args.traces.as_deref())?;
    let tools = folder.write("tools.json", player.tools())?;
    let trace_ids: Vec<String> = made.iter().map(|made| made.trace_id.clone()).collect();
    let outcome = stage::judge(texts, &store, (&traces, &tools), &trace_ids, DraftMode::Off)?;
    let about = About { seed: args.seed, model: player.model(), overlap: args.overlap, rule_set: RULE_SET };
    let report = report(&about, &made, &stage::by_trace(outcome));
    let text = match args.format {
        Format::Table => words::table(texts, &report, terminal::style(ColorChoice::Never, args.output.is_some())),
        Format::Md => words::markdown(texts, &report),
        Format::Json => words::json(texts, &report)?,
    };
    let Some(db) = &args.db else {
        drop(store);
        terminal::write_result(&text, args.output.as_deref())?;
        return Ok(exit::OK);
    };
    let name = keep(&store, &report)?;
    drop(store);
    terminal::tell(&words::kept(texts, &name, &shown(db)));
    terminal::write_result(&text, args.output.as_deref())
        .map_err(|error| terminal::not_told(error, "done_not_told"))?;
    Ok(exit::OK)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Keeps the bench under a name that no other has.
fn keep(store: &Store, report: &BenchReport) -> Result<String, Failure> {
    let (ran_at, ran_ns) = (load::now(), load::now_ns());
    let asked = format!("{ran_ns} {} {}", std::process::id(), report.seed);
    let name: String = sha256_hex(asked.as_bytes()).chars().take(NAME_DIGITS).collect();
    store.keep_bench(&name, (&ran_at, ran_ns), report).map_err(|error| Failure::from(error).while_writing("bench"))?;
    Ok(name)
}
