//! The edge: arguments, standard streams, exit statuses. The only room that uses clap and anyhow,
//! reads the environment and asks the clock.
//!
//! One command, one file: its `Args` (whose comments are the Korean help) and one function.

mod apply_draft;
mod baseline;
mod bench;
mod calls;
mod choice;
mod compare;
mod demo;
mod diagnose;
mod doctor;
mod draft;
mod eval;
mod exit;
mod explain;
mod failure;
mod hq;
mod ingest;
mod load;
mod mask;
mod model;
mod page;
mod receive;
mod report;
mod review;
mod rules;
mod shape;
mod sql;
mod store;
mod terminal;
mod tools;
mod usage;
mod watch;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::render::{Texts, errors};
use failure::Failure;

const HELP_TEMPLATE: &str = "\
{about-with-newline}
사용법: {usage}

{all-args}{after-help}";

/// 에이전트 실행의 OpenTelemetry 트레이스를 읽어 도구 호출이 왜 실패했는지, 무엇을 고칠지 알려줍니다
#[derive(Debug, Parser)]
#[command(
    name = "taco-trace",
    version,
    help_template = HELP_TEMPLATE,
    subcommand_help_heading = "명령",
    subcommand_value_name = "명령",
    disable_help_subcommand = true,
    disable_help_flag = true,
    disable_version_flag = true,
    arg_required_else_help = true,
    after_help = "종료 상태: 0 마침 · 1 --fail-on, --baseline, --strict 따위에 걸림 · 2 잘못된 사용 · 3 파일·저장소를 열지 못함"
)]
struct Cli {
    /// 도움말을 보여줍니다
    #[arg(short, long, action = clap::ArgAction::Help, global = true, help_heading = "공통 옵션")]
    help: Option<bool>,
    /// 버전을 보여줍니다
    #[arg(short = 'V', long, action = clap::ArgAction::Version, help_heading = "공통 옵션")]
    version: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// 트레이스와 도구 정의를 저장소(DuckDB 파일)에 넣습니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Ingest(ingest::Args),
    /// OTLP/HTTP 로 오는 트레이스를 받아 저장소에 넣습니다(Collector 의 otlphttp 가 보냅니다)
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Receive(receive::Args),
    /// 실행마다 판정 하나와 근거 span, 고칠 곳을 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Diagnose(Box<diagnose::Args>),
    /// 두 무리의 실행을 견주어 무엇이 나아지고 나빠졌는지, 우연의 범위인지 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Compare(compare::Args),
    /// 실행 하나를 나무 모양과 시간으로 펼치고, 판정을 다시 끌어내는 SQL 을 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Explain(explain::Args),
    /// 판정을 사람이 검토한 결과를 남깁니다: 오탐으로 넘기기, 맞다고 확인하기, 되돌리기, 목록
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Review(review::Args),
    /// 여러 에이전트에서 되풀이된 도구·판정을 모아 HQ 전달 후보 문서를 냅니다
    #[command(
        name = "hq-candidates",
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    HqCandidates(hq::Args),
    /// 판정 결과를 HTML 페이지 하나로 만듭니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Report(page::Args),
    /// 판정 규칙의 목록과 SQL 을 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Rules(rules::Args),
    /// 저장소에 SQL 로 묻습니다(읽기만 합니다). 물음이 없으면 단말에서 프롬프트를 엽니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Sql(sql::Args),
    /// 저장소를 돌봅니다: 살펴보기, 줄이기, 오래된 실행 지우기, Parquet 으로 내보내고 들이기
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Store(store::Args),
    /// 트레이스에 무엇이 있고 무엇이 빠졌는지, 무엇을 켜면 좋을지 알려줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Doctor(doctor::Args),
    /// 트레이스의 모양(operation, 부모, 속성, status)을 보여주거나, 두 모양을 견줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Shape(shape::Args),
    /// 트레이스의 도구 정의로 tools.json 을 만들거나, tools.json 과 견줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Tools(tools::Args),
    /// 기록된 도구 호출의 인자를 명세와 맞추어 보고, 지난 검사와 견줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Calls(calls::Args),
    /// 판정이 사람이 매긴 기대 판정과 얼마나 같은지 잽니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Bench(Box<bench::Args>),
    /// 데모 에이전트를 돌려 트레이스를 만들고, 넣은 고장과 판정을 견줍니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Demo(Box<demo::Args>),
    /// 에이전트를 모의 도구로 시험하고 배포 판단을 냅니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        subcommand_help_heading = "명령",
        subcommand_value_name = "명령"
    )]
    Eval(eval::Args),
    /// 셸 자동 완성 스크립트를 냅니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Completions {
        /// 셸 이름: bash, zsh, fish
        #[arg(
            help_heading = "인자",
            value_name = "셸",
            hide_possible_values = true,
            value_parser = ["bash", "zsh", "fish"]
        )]
        shell: String,
    },
    /// 매뉴얼 페이지(roff)를 냅니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Man,
}

/// Runs the program with these arguments; the first is its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let texts = Texts::korean();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(error) = sql::unknown_option(command, &arguments) {
        return usage::report(&texts, &error);
    }
    let cli =
        match command().try_get_matches_from(arguments).and_then(|mut matches| Cli::from_arg_matches_mut(&mut matches))
        {
            Ok(cli) => cli,
            Err(error) => return usage::report(&texts, &error),
        };
    match dispatch(&texts, cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => report(&texts, &error),
    }
}

/// The clap command with Korean headings for what the derive cannot reach.
fn command() -> clap::Command {
    Cli::command().mut_subcommands(|subcommand| subcommand.disable_version_flag(true))
}

fn dispatch(texts: &Texts, command: Command) -> anyhow::Result<u8> {
    match command {
        Command::Ingest(args) => ingest::run(texts, &args),
        Command::Receive(args) => receive::run(texts, &args),
        Command::Diagnose(args) => diagnose::run(texts, &args),
        Command::Compare(args) => compare::run(texts, &args),
        Command::Explain(args) => explain::run(texts, &args),
        Command::Review(args) => review::run(texts, &args),
        Command::HqCandidates(args) => hq::run(texts, &args),
        Command::Report(args) => page::run(texts, &args),
        Command::Rules(args) => rules::run(texts, &args),
        Command::Sql(args) => sql::run(texts, &args),
        Command::Store(args) => store::run(texts, &args),
        Command::Doctor(args) => doctor::run(texts, &args),
        Command::Shape(args) => shape::run(texts, &args),
        Command::Tools(args) => tools::run(texts, &args),
        Command::Calls(args) => calls::run(texts, &args),
        Command::Bench(args) => bench::run(texts, *args),
        Command::Demo(args) => demo::run(texts, &args),
        Command::Eval(args) => eval::run(texts, &args),
        Command::Completions { shell } => completions(&shell),
        Command::Man => man(),
    }
}

fn completions(shell: &str) -> anyhow::Result<u8> {
    let shell: clap_complete::Shell = shell.parse().map_err(anyhow::Error::msg)?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command(), "taco-trace", &mut script);
    terminal::write_result(&String::from_utf8_lossy(&script), None)?;
    Ok(exit::OK)
}

fn man() -> anyhow::Result<u8> {
    let mut pages = Vec::new();
    let mut built = command();
    built.build();
    clap_mangen::Man::new(built.clone()).render(&mut pages)?;
    for subcommand in built.get_subcommands() {
        let name = format!("taco-trace-{}", subcommand.get_name());
        clap_mangen::Man::new(subcommand.clone().name(name)).render(&mut pages)?;
    }
    terminal::write_result(&String::from_utf8_lossy(&pages), None)?;
    Ok(exit::OK)
}

/// Tells what went wrong, in Korean where the failure is an expected one.
fn report(texts: &Texts, error: &anyhow::Error) -> ExitCode {
    if error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe))
    {
        // The reader has what it wanted (`| head`).
        return ExitCode::from(exit::OK);
    }
    let fallback = Failure::unreadable("other").with("message", format!("{error:#}"));
    let failure = error.downcast_ref::<Failure>().unwrap_or(&fallback);
    terminal::tell(&errors::error(texts, failure.kind, &failure.values));
    ExitCode::from(failure.exit)
}
