//! `taco-trace ingest`: files into a store that stays.

use std::path::PathBuf;
use std::time::Duration;

use super::failure::Failure;
use super::load::{self, LoadArgs, Loaded};
use super::watch::{self, Watch};
use super::{exit, terminal};
use crate::ingest::mask::MaskKind;
use crate::render::Texts;
use crate::render::issues::{self, IngestSummary};
use crate::store::Store;

/// `taco-trace ingest` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace ingest traces/ --tools tools.json --db taco.duckdb\n    \
    taco-trace ingest --watch /var/log/otel --tools tools.json --db taco.duckdb")]
pub(crate) struct Args {
    /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력). gzip 과 zstd 는 내용으로 알아봅니다
    #[arg(help_heading = "인자", value_name = "경로")]
    paths: Vec<PathBuf>,
    /// 저장소 파일(기본 taco.duckdb)
    #[arg(long, value_name = "파일", default_value = load::DEFAULT_STORE, hide_default_value = true)]
    db: PathBuf,
    /// 문제가 하나라도 있으면 종료 상태를 1 로 합니다
    #[arg(long)]
    strict: bool,
    /// 경로를 지켜보며 새 파일과 늘어난 곳을 넣고 판정합니다. Ctrl-C 로 마칩니다
    #[arg(long, requires = "paths", conflicts_with = "strict")]
    watch: bool,
    /// 지켜볼 때 다시 보는 간격(초, 기본 2)
    #[arg(
        long,
        value_name = "초",
        value_parser = seconds,
        default_value = "2",
        hide_default_value = true,
        requires = "watch"
    )]
    watch_interval: Duration,
    #[command(flatten)]
    load: LoadArgs,
}

/// Reads the files into the store.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    ingest(texts, args).map_err(|error| match error.downcast::<Failure>() {
        Ok(failure) => failure.while_writing("files").into(),
        Err(error) => error,
    })
}

fn ingest(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    if args.paths.is_empty() && args.load.tools.is_none() {
        return Err(Failure::usage("usage").with("problem", "missing").with("argument", "<경로>").into());
    }
    if args.watch {
        let Args { paths, db, load, watch_interval, .. } = args;
        return watch::run(texts, &Watch { paths, db, load, interval: *watch_interval });
    }
    let store = Store::open(&args.db).map_err(Failure::from)?;
    let loaded = load::load(texts, &store, &args.paths, &args.load)?;
    if !args.load.quiet {
        tell_summary(texts, &store, &loaded, args.load.mask.is_on())?;
    }
    load::require_recognised(&loaded)?;
    Ok(if args.strict && loaded.issues > 0 { exit::FOUND } else { exit::OK })
}

fn by_name((kind, count): (MaskKind, u64)) -> (&'static str, u64) {
    (kind.as_str(), count)
}

/// Seconds, at least a hundredth and at most a day.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "0.01..86400".to_owned())?;
    if (0.01..=86_400.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err("0.01..86400".into()) }
}

/// The last lines: what was read, and what all runs of the store let the rules check, unless that is as it was.
pub(crate) fn tell_summary(texts: &Texts, store: &Store, loaded: &Loaded, masks: bool) -> anyhow::Result<()> {
    let coverage =
        if loaded.files > 0 || loaded.tools_changed { Some(store.coverage().map_err(Failure::from)?) } else { None };
    let conventions = if coverage.is_some_and(|coverage| coverage.with_arguments < coverage.tool_calls) {
        store.conventions_without_arguments().map_err(Failure::from)?
    } else {
        Vec::new()
    };
    terminal::tell(&issues::ingest_summary(
        texts,
        &IngestSummary {
            files: loaded.files,
            unchanged: loaded.unchanged,
            lines: loaded.totals.lines,
            lines_skipped: loaded.totals.lines_skipped,
            spans_kept: loaded.totals.spans_kept,
            spans_skipped: loaded.totals.spans_skipped,
            spans_redelivered: loaded.totals.spans_redelivered,
            dropped: loaded.totals.dropped.clone(),
            issues: loaded.issues,
            traces: loaded.totals.traces,
            seconds: loaded.seconds,
            coverage,
            captures: load::captures(&conventions),
            spans_merged: loaded.totals.spans_merged,
        },
    ));
    if masks {
        terminal::tell(&issues::masked(texts, &loaded.masked.iter().map(by_name).collect()));
    }
    Ok(())
}
