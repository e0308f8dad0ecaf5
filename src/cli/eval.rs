//! `taco-trace eval`: trials of an agent in a mock world. One file a command.

mod case;
mod gate;
mod report;
mod review;
mod serve;
mod token;

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
    /// 실험의 보고서를 냅니다: 무엇이 돌았는지, 배포 판단과 까닭, 사례마다의 수, 실패와 그 사건
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Report(report::Args),
    /// 실패, 판정 불가, 실행 오류, 막힌 제안을 보여주거나, 시험에 대한 검토를 남깁니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Review(review::Args),
    /// 설정 해시 하나의 배포 판단을 종료 상태로 답합니다(CI 용)
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Gate(gate::Args),
    /// 배포 판단을 HTTP 로 물을 토큰을 다룹니다: 발급, 취소, 목록
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Token {
        #[command(subcommand)]
        command: token::TokenCommand,
    },
    /// 배포 판단을 HTTP 로 답합니다(GET /api/ci/gate)
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Serve(serve::Args),
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
        EvalCommand::Report(args) => report::run(texts, args),
        EvalCommand::Review(args) => review::run(texts, args),
        EvalCommand::Gate(args) => gate::run(texts, args),
        EvalCommand::Token { command } => token::run(texts, command),
        EvalCommand::Serve(args) => serve::run(texts, args),
    }
}
