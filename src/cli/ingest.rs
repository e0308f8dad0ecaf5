//! `taco-trace ingest`: files into a store that stays.

use std::path::PathBuf;

use super::failure::Failure;
use super::load::{self, LoadArgs};
use super::{exit, terminal};
use crate::ingest::mask::MaskKind;
use crate::render::Texts;
use crate::render::issues::{self, IngestSummary};
use crate::store::Store;

/// `taco-trace ingest` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace ingest traces/ --tools tools.json --db taco.duckdb")]
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
    #[command(flatten)]
    load: LoadArgs,
}

/// Reads the files into the store.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    if args.paths.is_empty() && args.load.tools.is_none() {
        return Err(Failure::usage("usage").with("problem", "missing").with("argument", "<경로>").into());
    }
    let store = Store::open(&args.db).map_err(Failure::from)?;
    let loaded = load::load(texts, &store, &args.paths, &args.load)?;
    if !args.load.quiet {
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
                coverage: store.coverage().map_err(Failure::from)?,
                captures: load::captures(&store.conventions_without_arguments().map_err(Failure::from)?),
                spans_merged: loaded.totals.spans_merged,
            },
        ));
        if args.load.mask.is_on() {
            terminal::tell(&issues::masked(texts, &loaded.masked.iter().map(by_name).collect()));
        }
    }
    load::require_recognised(&loaded)?;
    Ok(if args.strict && loaded.issues > 0 { exit::FOUND } else { exit::OK })
}

fn by_name((kind, count): (MaskKind, u64)) -> (&'static str, u64) {
    (kind.as_str(), count)
}
