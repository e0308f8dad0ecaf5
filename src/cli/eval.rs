//! `taco-trace eval`: trials of an agent in a mock world. One file a command.

mod case;

use clap::{Subcommand, ValueEnum};

use super::HELP_TEMPLATE;
use crate::render::Texts;

/// `taco-trace eval` 의 인자
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: EvalCommand,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// 평가 사례를 다룹니다: 살펴보기, 고정하기, 목록
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Case {
        #[command(subcommand)]
        command: case::CaseCommand,
    },
}

/// How a result is written.
#[derive(Debug, clap::Args)]
pub(super) struct FormatArg {
    /// 출력 형식: table(기본), json
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(super) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// 단말에서 읽는 글
    Table,
    /// JSON 배열
    Json,
}

/// Does what is asked of evaluations.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.command {
        EvalCommand::Case { command } => case::run(texts, command),
    }
}
