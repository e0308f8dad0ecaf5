//! `taco-trace eval cost`: what a run may cost, before anything is spent.

use serde_json::json;

use super::project::ProjectArg;
use super::{Format, FormatArg, case};
use crate::cli::{exit, terminal};
use crate::experiment::cost::{Estimate, trial};
use crate::experiment::project::{TRIALS, TargetSetup};
use crate::render::Texts;
use crate::render::eval_run::{self as words, CostRow};

/// `taco-trace eval cost` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace eval cost --target model --trials 5\n\n\
    어림한 값입니다. 정답 흐름의 걸음마다, 그리고 차례마다 한 번 더 모델에 묻는다고 보고, 보내는 글 3바이트를 토큰\n\
    하나로, 모델의 답과 도구의 결과를 각각 120 토큰으로 셉니다. 토큰의 값은 프로젝트 파일의 [prices] 에서 읽습니다.")]
pub(crate) struct Args {
    /// 대상(프로젝트에 하나뿐이면 적지 않아도 됩니다)
    #[arg(short, long, value_name = "이름")]
    target: Option<String>,
    /// 사례마다 시험할 횟수(없으면 프로젝트 파일의 것)
    #[arg(long, value_name = "수", value_parser = clap::value_parser!(u64).range(1..=TRIALS))]
    trials: Option<u64>,
    #[command(flatten)]
    project: ProjectArg,
    #[command(flatten)]
    output: FormatArg,
}

/// Tells what a run may cost.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let opened = args.project.open()?;
    let (name, setup) = opened.target(args.target.as_deref())?;
    let cases = match opened.cases()? {
        Ok(cases) => cases,
        Err(problems) => return case::tell_problems(texts, &problems, args.output.format),
    };
    let trials = args.trials.unwrap_or(opened.project.trials);
    let contents = opened.contents(setup)?;
    let price = opened.price(setup);
    let costs = matches!(setup, TargetSetup::Reference(_));
    let estimates: Vec<(String, Estimate)> = cases
        .iter()
        .map(|(_, case)| {
            let one = if costs { trial(case, &contents.prompt) } else { Estimate::default() };
            (case.id.clone(), one.times(trials))
        })
        .collect();
    let total = estimates.iter().fold(Estimate::default(), |sum, (_, one)| sum.plus(*one));
    let row = |case: &str, estimate: &Estimate| CostRow {
        case_id: case.to_owned(),
        requests: estimate.requests,
        input_tokens: estimate.usage.input_tokens,
        output_tokens: estimate.usage.output_tokens,
        cost_usd: if costs { estimate.cost(price).map(|cost| cost.to_string()) } else { Some("0.00".to_owned()) },
    };
    let rows: Vec<CostRow> = estimates.iter().map(|(case, estimate)| row(case, estimate)).collect();
    let total = row("", &total);
    let text = match args.output.format {
        Format::Table => words::cost(texts, (name, trials), &rows, &total, terminal::plain_style()),
        Format::Json => {
            let cell = |row: &CostRow| {
                json!({
                    "requests": row.requests, "input_tokens": row.input_tokens,
                    "output_tokens": row.output_tokens, "cost_usd": row.cost_usd,
                })
            };
            let cases = rows.iter().map(|row| {
                let mut cells = cell(row);
                cells["case_id"] = row.case_id.as_str().into();
                cells
            });
            let whole = json!({
                "target": name, "trials": trials, "cases": cases.collect::<Vec<_>>(), "total": cell(&total),
            });
            serde_json::to_string_pretty(&whole)? + "\n"
        }
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}
