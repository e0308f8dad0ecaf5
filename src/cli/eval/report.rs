//! `taco-trace eval report`: what an experiment came to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::ValueEnum;

use super::super::failure::Failure;
use super::super::load::StoreArg;
use super::super::{exit, terminal};
use crate::diagnose::{DraftMode, diagnose};
use crate::eval_report::{NotChosen, choose, report};
use crate::model::eval_report::{EvalReport, TraceDiagnosis};
use crate::model::{Experiment, FixTarget};
use crate::render::{Texts, eval_report as words, page};
use crate::store::{Scope, Store, StoreError};

/// `taco-trace eval report` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace eval report --format html -o eval.html")]
pub(crate) struct Args {
    /// 실험(앞부분만 적어도 됩니다). 없으면 가장 새로운 후보 실험
    #[arg(help_heading = "인자", value_name = "실험")]
    experiment: Option<String>,
    /// 형식: md(기본), html, json, junit
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Md,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    /// 결과를 쓸 파일(없으면 표준 출력)
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 마크다운
    Md,
    /// 파일 하나로 된 HTML 페이지
    Html,
    /// JSON
    Json,
    /// JUnit XML: 시험 하나가 시험 하나
    Junit,
}

/// Writes the report.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    terminal::refuse_over_inputs(args.output.as_deref(), [args.store.db.as_path()])?;
    let store = args.store.open_to_read()?;
    let experiments = store.experiments().map_err(Failure::from)?;
    let experiment = chosen(&experiments, args.experiment.as_deref())?;
    let made = made(texts, &store, &experiments, experiment)?;
    drop(store);
    let text = match args.format {
        Format::Md => words::markdown(texts, &made),
        Format::Html => words::html(texts, &made),
        Format::Json => words::json(texts, &made),
        Format::Junit => words::junit(texts, &made),
    };
    terminal::write_result(&text, args.output.as_deref())?;
    Ok(exit::OK)
}

/// The experiment that is meant.
pub(super) fn chosen<'e>(experiments: &'e [Experiment], asked: Option<&str>) -> Result<&'e Experiment, Failure> {
    choose(experiments, asked).map_err(|why| match why {
        NotChosen::None => Failure::usage("eval_no_experiment"),
        NotChosen::Unknown => Failure::usage("eval_experiment_unknown").with("value", asked.unwrap_or_default()),
        NotChosen::Ambiguous(ids) => {
            let failure = Failure::usage("eval_experiment_ambiguous").with("value", asked.unwrap_or_default());
            failure.with("known", ids.join(", "))
        }
    })
}

/// The report with what is diagnosed of the traces that are in the store.
pub(super) fn made(
    texts: &Texts,
    store: &Store,
    experiments: &[Experiment],
    experiment: &Experiment,
) -> Result<EvalReport, Failure> {
    let diagnoses = diagnoses(texts, store, &experiment.experiment_id)?;
    Ok(report(store, experiments, experiment, &diagnoses, env!("CARGO_PKG_VERSION"))?)
}

/// What `diagnose` says of the runs in the time in which the trials' traces began, by trace id.
fn diagnoses(
    texts: &Texts,
    store: &Store,
    experiment_id: &str,
) -> Result<BTreeMap<String, TraceDiagnosis>, StoreError> {
    let Some((first_ns, last_ns)) = store.eval_trace_times(experiment_id)? else { return Ok(BTreeMap::new()) };
    let scope = Scope { since_ns: Some(first_ns), before_ns: last_ns.checked_add(1), ..Scope::default() };
    let outcome = diagnose(store, texts, &scope, DraftMode::Off)?;
    let judged = outcome.runs.into_iter().map(|run| {
        let diagnosis = run.diagnosis;
        let told = TraceDiagnosis {
            verdict: Some(diagnosis.verdict.label().to_owned()),
            also_found: diagnosis.also_found.iter().map(|verdict| verdict.label().to_owned()).collect(),
            fix_target: diagnosis.fix_target.map(|target| FixTarget::label(target).to_owned()),
            summary: diagnosis.summary,
        };
        (diagnosis.trace_id, told)
    });
    let unjudged = outcome.unjudged.iter().map(|run| {
        let summary = page::reason(texts, &run.reason);
        let told = TraceDiagnosis { verdict: None, also_found: Vec::new(), fix_target: None, summary };
        (run.trace_id.clone(), told)
    });
    Ok(judged.chain(unjudged).collect())
}
