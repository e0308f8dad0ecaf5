//! `taco-trace eval`: trials of an agent in a mock world. One file a command.

mod cancel;
mod case;
mod control;
mod cost;
mod gate;
mod init;
mod list;
mod project;
mod report;
mod review;
mod run;
mod serve;
mod target;
mod token;
mod traces;

use std::path::Path;

use clap::{Subcommand, ValueEnum};

use super::failure::Failure;
use super::{HELP_TEMPLATE, exit};
use crate::model::EvalDecision;
use crate::render::Texts;

/// `taco-trace eval` 의 인자
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: EvalCommand,
}

#[derive(Debug, Subcommand)]
enum EvalCommand {
    /// 평가 프로젝트를 만듭니다: 설명을 단 taco-eval.toml 과 바로 돌려 볼 수 있는 사례
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Init(init::Args),
    /// 대상을 살펴봅니다: 닿는지, 무엇을 볼 수 있는지, 설정 해시
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Target {
        #[command(subcommand)]
        command: target::TargetCommand,
    },
    /// 실행하기 전에 드는 토큰과 값을 어림합니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Cost(cost::Args),
    /// 사례를 대상에 시험하고, 판정하고, 배포 판단을 정해 저장소에 남깁니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Run(Box<run::Args>),
    /// 돌고 있는 실험을 취소합니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Cancel(cancel::Args),
    /// 실험의 목록을 봅니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    List(list::Args),
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
    /// 실패, 판정 불가, 실행 오류, 막힌 제안이나 시험 하나를 보여주고, 시험에 대한 검토를 남깁니다
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
    /// 배포 판단을 HTTP 로 답하고(GET /api/ci/gate), 모의 도구로 손 시험을 엽니다
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

/// The exit status of a decision.
const fn status(decision: EvalDecision) -> u8 {
    match decision {
        EvalDecision::Candidate => exit::OK,
        EvalDecision::Blocked => exit::FOUND,
        EvalDecision::Held | EvalDecision::Review => exit::OPEN,
    }
}

/// Does what is asked of evaluations.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    dispatch(texts, args).map_err(of_evaluations)
}

/// A store that is held or not there: what is to be done then is another thing here than for traces.
fn of_evaluations(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(failure) => match failure.kind {
            "store_locked" => {
                let running = failure.values.get("path").and_then(|path| control::running(Path::new(path)));
                Failure { kind: "eval_store_locked", ..failure }.with("name", running.unwrap_or_default()).into()
            }
            "store_missing" => Failure { kind: "eval_store_missing", ..failure }.into(),
            _ => failure.into(),
        },
        Err(error) => error,
    }
}

fn dispatch(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.command {
        EvalCommand::Init(args) => init::run(texts, args),
        EvalCommand::Target { command } => target::run(texts, command),
        EvalCommand::Cost(args) => cost::run(texts, args),
        EvalCommand::Run(args) => run::run(texts, args),
        EvalCommand::Cancel(args) => cancel::run(texts, args),
        EvalCommand::List(args) => list::run(texts, args),
        EvalCommand::Case { command } => case::run(texts, command),
        EvalCommand::Report(args) => report::run(texts, args),
        EvalCommand::Review(args) => review::run(texts, args),
        EvalCommand::Gate(args) => gate::run(texts, args),
        EvalCommand::Token { command } => token::run(texts, command),
        EvalCommand::Serve(args) => serve::run(texts, args),
    }
}
