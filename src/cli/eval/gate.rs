//! `taco-trace eval gate`: the decision on exactly one configuration, as an exit status.

use super::super::failure::Failure;
use super::super::load::StoreArg;
use super::super::{exit, terminal};
use super::project::project_id;
use super::{Format, FormatArg};
use crate::eval_report::gate_answer;
use crate::gate::config_hash;
use crate::render::layout::wrap_lines;
use crate::render::{Texts, eval_report as words};

/// `taco-trace eval gate` 의 인자
#[derive(Debug, clap::Args)]
#[command(
    after_help = "종료 상태: 0 통과 후보 · 1 차단 권고 · 4 판정 보류, 검토 필요, 또는 이 설정을 시험한 적 없음\n\n\
    정확히 같은 설정 해시의 가장 새로운 후보 실험만 봅니다. 그 실험이 끝나지 않았으면 판정 보류입니다."
)]
pub(crate) struct Args {
    /// 대상 설정의 SHA-256(16진수 64자리)
    #[arg(long, value_name = "해시")]
    config_hash: String,
    /// 이 프로젝트의 실험만: 저장소에 남은 이름이나 프로젝트 파일
    #[arg(short, long, value_name = "이름|파일")]
    project: Option<String>,
    #[command(flatten)]
    output: FormatArg,
    #[command(flatten)]
    store: StoreArg,
}

/// Answers what is decided on a configuration.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let hash = config_hash(&args.config_hash)
        .ok_or_else(|| Failure::usage("eval_config_hash").with("value", &args.config_hash))?;
    let project = args.project.as_deref().map(project_id).transpose()?;
    let store = args.store.open_to_read()?;
    let answer = gate_answer(&store, &hash, project.as_deref()).map_err(Failure::from)?;
    drop(store);
    let text = match args.output.format {
        Format::Table => wrap_lines(&words::gate_words(texts, &answer), terminal::plain_style().cells()),
        Format::Json => words::gate_json(texts, &answer),
    };
    terminal::write_result(&text, None)?;
    Ok(answer.decision().map_or(exit::OPEN, super::status))
}
