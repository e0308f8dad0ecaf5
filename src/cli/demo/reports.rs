//! The commands of `taco-trace demo` that make runs and report on them.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};

use super::stage::Folder;
use super::{bench, compare};
use crate::cli::terminal;
use crate::render::Texts;

/// Which report.
#[derive(Debug, Subcommand)]
pub(crate) enum ReportCommand {
    /// 고장을 넣어 에이전트를 돌리고, 넣은 고장과 내린 판정을 견줍니다
    #[command(help_template = crate::cli::HELP_TEMPLATE, next_help_heading = "옵션")]
    Bench(Box<bench::Args>),
    /// 도구 설명을 고치기 전과 뒤에 같은 질문을 물어 인자 판정이 줄었는지 셉니다
    #[command(help_template = crate::cli::HELP_TEMPLATE, next_help_heading = "옵션")]
    Compare(Box<compare::Args>),
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// 단말에서 읽는 표
    Table,
    /// 마크다운
    Md,
    /// JSON 객체 하나
    Json,
}

/// Makes the runs and the report.
pub(crate) fn run(texts: &Texts, command: &ReportCommand) -> anyhow::Result<u8> {
    match command {
        ReportCommand::Bench(args) => bench::run(texts, args),
        ReportCommand::Compare(args) => compare::run(texts, args),
    }
}

/// Writes what the runs left where it is to stay, or into the folder of the command.
pub(super) fn write_traces(folder: &Folder, lines: &str, stays: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(path) = stays else { return folder.write("traces.jsonl", lines) };
    terminal::write_result(lines, Some(path))?;
    Ok(path.to_owned())
}
