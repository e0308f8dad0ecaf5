//! `taco-trace eval list`: the experiments that a store has.

use serde_json::json;

use super::{Format, FormatArg};
use crate::cli::failure::Failure;
use crate::cli::load::StoreArg;
use crate::cli::{exit, terminal};
use crate::render::Texts;
use crate::render::eval_run::{self as words, ListedExperiment};

/// `taco-trace eval list` 의 인자
#[derive(Debug, clap::Args)]
#[command(
    after_help = "시험 열의 16×3 은 사례 16개를 3번씩 시험한다는 뜻이고, 설정 열은 설정 해시의 앞 8자리입니다.\n\
    이름이 길면 다음 줄로 이어집니다. 해시 전체와 초까지의 시각은 -f json 에 있습니다."
)]
pub(crate) struct Args {
    #[command(flatten)]
    store: StoreArg,
    #[command(flatten)]
    output: FormatArg,
}

/// Lists experiments, the newest first.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let store = args.store.open_to_read()?;
    let mut listed = Vec::new();
    for experiment in store.experiments().map_err(Failure::from)?.into_iter().rev() {
        let made = store.trials_of(&experiment.experiment_id).map_err(Failure::from)?;
        let decision = store.standing_decision(&experiment.experiment_id).map_err(Failure::from)?;
        listed.push(ListedExperiment {
            attempts: made.len() as u64,
            open: made.iter().filter(|trial| trial.end.is_none()).count() as u64,
            decision: decision.map(|kept| kept.decided.decision),
            experiment,
        });
    }
    drop(store);
    let text = match args.output.format {
        Format::Table => words::list(texts, &listed, terminal::plain_style()),
        Format::Json => {
            let rows = listed.iter().map(|one| {
                json!({
                    "experiment_id": one.experiment.experiment_id, "project_id": one.experiment.project_id,
                    "role": one.experiment.role.as_str(), "target": one.experiment.target,
                    "target_kind": one.experiment.target_kind, "config_sha256": one.experiment.config_sha256,
                    "cases": one.experiment.cases.len(), "trials": one.experiment.trials,
                    "attempts": one.attempts, "without_end": one.open,
                    "decision": one.decision.map(crate::model::EvalDecision::as_str),
                    "started_at": one.experiment.started_at,
                })
            });
            serde_json::to_string_pretty(&rows.collect::<Vec<_>>())? + "\n"
        }
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}
