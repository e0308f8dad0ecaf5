//! `taco-trace eval cancel`: ends the experiment that is running on a store.

use super::control;
use crate::cli::load::StoreArg;
use crate::cli::{exit, terminal};
use crate::render::{Texts, eval_run as words};

/// `taco-trace eval cancel` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "돌고 있는 시험은 취소로 끝나고, 남은 시험도 모두 취소로 남습니다. 마친 시험은 그대로입니다.\n\
    실험이 저장소를 잡고 있으므로, 저장소 곁의 파일(taco.duckdb.eval-cancel)로 알립니다.")]
pub(crate) struct Args {
    /// 실험(앞부분만 적어도 됩니다). 없으면 이 저장소에서 돌고 있는 실험
    #[arg(help_heading = "인자", value_name = "실험")]
    experiment: Option<String>,
    #[command(flatten)]
    store: StoreArg,
}

/// Asks for the end.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let id = control::cancel(&args.store.db, args.experiment.as_deref())?;
    terminal::write_result(&words::cancel_asked(texts, &id), None)?;
    Ok(exit::OK)
}
