//! `taco-trace eval run`: tries the cases of a project on a target, judges, decides, and keeps all of it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::json;

use super::control::Control;
use super::project::{Opened, ProjectArg, ProjectCase};
use super::{Format, FormatArg, case, report, traces};
use crate::chat::budget::{Budget, Usd};
use crate::cli::failure::Failure;
use crate::cli::load::{self, DEFAULT_STORE};
use crate::cli::terminal;
use crate::cli::watch::Stop;
use crate::digest::sha256_hex;
use crate::eval::again;
use crate::eval::case::Case;
use crate::experiment::config::{Config, Contents, config};
use crate::experiment::plan::{self, Task};
use crate::experiment::project::{CONCURRENCY, TRIALS, TargetSetup};
use crate::experiment::run::{self as engine, Journal, Summary};
use crate::model::eval_report::PlannedTrial;
use crate::model::{Experiment, ExperimentRole, FrozenCase, KeptDecision, TrialEnd, TrialStart};
use crate::render::eval_run::{self as words, ToldRun};
use crate::render::{Texts, errors};
use crate::store::{Store, StoreError, korean_time};

/// Hex digits of the id of an experiment.
const ID_DIGITS: usize = 12;

/// `taco-trace eval run` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace eval run --target agent --trials 5 --concurrency 4\n    \
    taco-trace eval run --resume\n\n\
    종료 상태: 0 통과 후보 · 1 차단 권고 · 4 판정 보류나 검토 필요\n\n\
    Ctrl-C 나 `taco-trace eval cancel` 로 멈추면 남은 시험은 취소로 남습니다. 도중에 죽으면 `--resume` 으로 잇습니다:\n\
    마친 시험은 그대로이고, 하던 시험은 실행 오류가 되며, 시작하지 않은 시험만 합니다. 실험이 도는 동안 저장소를\n\
    잡고 있으므로, 그동안 다른 명령은 이 저장소를 열지 못합니다.")]
pub(crate) struct Args {
    /// 대상(프로젝트에 하나뿐이면 적지 않아도 됩니다)
    #[arg(short, long, value_name = "이름", conflicts_with = "resume")]
    target: Option<String>,
    /// 견줄 기존 버전으로 남깁니다(없으면 후보). 후보는 사례가 같은 가장 새로운 기존 버전과 견줍니다
    #[arg(long, conflicts_with = "resume")]
    baseline: bool,
    /// 사례마다 시험할 횟수(없으면 프로젝트 파일의 것)
    #[arg(
        long,
        value_name = "수",
        conflicts_with = "resume",
        value_parser = clap::value_parser!(u64).range(1..=TRIALS)
    )]
    trials: Option<u64>,
    /// 한꺼번에 돌릴 시험의 수(없으면 프로젝트 파일의 것)
    #[arg(long, value_name = "수", value_parser = clap::value_parser!(u64).range(1..=CONCURRENCY))]
    concurrency: Option<u64>,
    /// 끝나지 않은 실험을 잇습니다(앞부분만 적어도 됩니다). 없으면 이 프로젝트의 가장 새로운 실험
    #[arg(long, value_name = "실험", num_args = 0..=1, default_missing_value = "")]
    resume: Option<String>,
    /// 이으면서 실행 오류로 끝난 시험을 한 번 더 합니다
    #[arg(long, requires = "resume")]
    retry_errors: bool,
    /// 모델에 쓰는 돈을 이만큼(달러)까지만. 프로젝트 파일에 모델의 값이 있어야 합니다
    #[arg(long, value_name = "달러")]
    max_cost: Option<Usd>,
    /// 모델에 보내는 요청을 이 수까지만(다시 보낸 것도 셉니다)
    #[arg(long, value_name = "수")]
    max_calls: Option<u64>,
    /// 시험이 남긴 트레이스(OTLP JSON 줄)를 이 파일 끝에도 덧붙입니다. 끝난 실험을 --resume 하면 모두 다시 씁니다
    #[arg(long, value_name = "파일")]
    traces: Option<PathBuf>,
    /// 저장소 파일(기본 taco.duckdb). 없으면 만듭니다
    #[arg(long, value_name = "파일", default_value = DEFAULT_STORE, hide_default_value = true)]
    db: PathBuf,
    /// 진행 상황을 내지 않습니다
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    project: ProjectArg,
    #[command(flatten)]
    output: FormatArg,
}

/// What is run.
struct Job<'o> {
    experiment: Experiment,
    setup: &'o TargetSetup,
    cases: Vec<Arc<Case>>,
    /// What the configuration was made of: it is what runs, whatever its files hold later.
    contents: Contents,
    /// Whether the experiment is in the store.
    is_kept: bool,
}

/// Runs or goes on.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let opened = args.project.open()?;
    terminal::refuse_over_inputs(args.traces.as_deref(), [args.db.as_path()])?;
    if let Some(path) = &args.traces {
        terminal::refuse_store(path)?;
    }
    let budget = Budget::new(args.max_calls, args.max_cost);
    match &args.resume {
        Some(asked) => {
            let store = Store::open_existing(&args.db).map_err(Failure::from)?;
            let job = resumed(&opened, &store, asked)?;
            require_price(args, &opened, &job)?;
            go(texts, args, &opened, &store, job, &budget)
        }
        None => {
            // A target that is not there is told before what is wrong with cases.
            opened.target(args.target.as_deref())?;
            let cases = match opened.cases()? {
                Ok(cases) => cases,
                Err(problems) => return case::tell_problems(texts, &problems, args.output.format),
            };
            let (job, frozen) = begun(args, &opened, cases)?;
            require_price(args, &opened, &job)?;
            let store = Store::open(&args.db).map_err(Failure::from)?;
            freeze(&store, frozen).map_err(Failure::from)?;
            go(texts, args, &opened, &store, job, &budget)
        }
    }
}

/// A cap on costs needs to know what the model costs.
fn require_price(args: &Args, opened: &Opened, job: &Job<'_>) -> Result<(), Failure> {
    let needs = args.max_cost.is_some() && matches!(job.setup, TargetSetup::Reference(_));
    if needs && opened.price(job.setup).is_none() {
        return Err(Failure::usage("eval_no_price").with("name", &job.experiment.target));
    }
    Ok(())
}

fn freeze(store: &Store, cases: Vec<FrozenCase>) -> Result<(), StoreError> {
    let frozen_at = load::now();
    cases
        .into_iter()
        .try_for_each(|case| store.freeze_case(&FrozenCase { frozen_at: frozen_at.clone(), ..case }).map(drop))
}

/// A new experiment, and its cases as they are frozen.
fn begun<'o>(args: &Args, opened: &'o Opened, cases: Vec<ProjectCase>) -> Result<(Job<'o>, Vec<FrozenCase>), Failure> {
    let (name, setup) = opened.target(args.target.as_deref())?;
    let (frozen, cases): (Vec<FrozenCase>, Vec<Arc<Case>>) = cases.into_iter().unzip();
    let (config, contents) = checked_config(opened, name, setup, &cases)?;
    let started_ns = load::now_ns();
    let project = &opened.project;
    let words = format!("{}\n{name}\n{}\n{started_ns}\n{}", project.id, config.sha256, std::process::id());
    let mut experiment_id = sha256_hex(words.as_bytes());
    experiment_id.truncate(ID_DIGITS);
    let experiment = Experiment {
        experiment_id,
        project_id: project.id.clone(),
        role: if args.baseline { ExperimentRole::Baseline } else { ExperimentRole::Candidate },
        target: name.to_owned(),
        target_kind: setup.kind().as_str().to_owned(),
        config_sha256: config.sha256,
        config: config.document,
        allow_private_target: setup.allows_private(),
        trials: args.trials.unwrap_or(project.trials),
        threshold: project.threshold,
        started_at: korean_time(started_ns),
        started_ns,
        cases: frozen.iter().map(|case| (case.id.clone(), case.sha256.clone())).collect(),
    };
    Ok((Job { experiment, setup, cases, contents, is_kept: false }, frozen))
}

/// An experiment that was begun before, with its cases as they were frozen.
fn resumed<'o>(opened: &'o Opened, store: &Store, asked: &str) -> anyhow::Result<Job<'o>> {
    let experiments = store.experiments().map_err(Failure::from)?;
    let experiment = if asked.is_empty() {
        let own = experiments.iter().rfind(|experiment| experiment.project_id == opened.project.id);
        own.ok_or_else(|| Failure::usage("eval_no_experiment"))?
    } else {
        report::chosen(&experiments, Some(asked))?
    };
    let mut cases = Vec::new();
    for (id, sha256) in &experiment.cases {
        let document = store.frozen_case(sha256).map_err(Failure::from)?;
        let case = document.and_then(|document| serde_json::from_str(&document).ok());
        cases.push(Arc::new(case.ok_or_else(|| Failure::unreadable("eval_case_lost").with("name", id))?));
    }
    let (name, setup) = opened.target(Some(&experiment.target))?;
    let (config, contents) = checked_config(opened, name, setup, &cases)?;
    if config.sha256 != experiment.config_sha256 || opened.project.id != experiment.project_id {
        let failure = Failure::usage("eval_config_changed").with("value", &experiment.experiment_id);
        return Err(failure.with("name", name).into());
    }
    Ok(Job { experiment: experiment.clone(), setup, cases, contents, is_kept: true })
}

/// The configuration and what it was made of; refuses a script target that lacks scripts.
fn checked_config(
    opened: &Opened,
    name: &str,
    setup: &TargetSetup,
    cases: &[Arc<Case>],
) -> Result<(Config, Contents), Failure> {
    let contents = opened.contents(setup)?;
    if matches!(setup, TargetSetup::Script(_))
        && let Some(case) = cases.iter().find(|case| !contents.scripts.contains_key(&case.id))
    {
        return Err(Failure::usage("eval_no_script").with("name", name).with("value", &case.id));
    }
    let config = config(setup, &contents, cases.iter().map(|case| &**case));
    Ok((config, contents))
}

fn go(texts: &Texts, args: &Args, opened: &Opened, store: &Store, job: Job<'_>, budget: &Budget) -> anyhow::Result<u8> {
    let Job { experiment, setup, cases, contents, is_kept } = job;
    let made = store.trials_of(&experiment.experiment_id).map_err(Failure::from)?;
    let left = plan::left(&experiment.experiment_id, &cases, experiment.trials, &made, args.retry_errors);
    let is_done = left.tasks.is_empty() && left.interrupted.is_empty();
    // Before anything is kept: a target that cannot be asked begins no experiment. One that is done asks none.
    let target = if is_done { None } else { Some(opened.build(setup, contents, budget)?) };
    let mut file = args.traces.as_deref().map(traces::open).transpose()?;
    let stop = Stop::on_signals()?;
    let control = Control::begin(&args.db, &experiment.experiment_id)?;
    if !is_kept {
        store.keep_project(&opened.project.id, &opened.project.name, &experiment.started_at).map_err(Failure::from)?;
        store.begin_experiment(&experiment).map_err(Failure::from)?;
    }
    let mut keeper = Keeper {
        texts,
        store,
        stop: &stop,
        control: &control,
        total: left.tasks.len() + left.interrupted.len(),
        done: 0,
        quiet: args.quiet,
    };
    keeper.say(&words::begun(texts, &experiment, keeper.total, is_kept));
    let mut summary = Summary::default();
    if let Some(target) = target {
        let engine_setup = engine::Setup {
            experiment_id: &experiment.experiment_id,
            target_name: &experiment.target,
            target: &*target,
            concurrency: args.concurrency.unwrap_or(opened.project.concurrency),
        };
        summary = make(engine_setup, left, &cases, &mut keeper)?;
        // A target of ours gives its sandbox up before anything else is done.
    }
    let lacked = traces::keep(texts, store, &experiment, &cases)?;
    let (kept, trials) = decide(store, &experiment).map_err(Failure::from)?;
    let written = match (&mut file, &args.traces) {
        (Some(file), Some(path)) => {
            // Of an experiment that was done before all are wanted again.
            let lines = if is_kept && is_done { traces::all(store, &experiment)? } else { lacked };
            traces::write(file, path, &experiment, &lines)
        }
        _ => Ok(()),
    };
    tell(texts, args, store, &experiment, (&kept, &trials), &summary, budget)?;
    written?;
    Ok(super::status(kept.decided.decision))
}

/// Ends what an interruption left, and makes the trials that are left.
fn make(
    engine_setup: engine::Setup<'_>,
    left: plan::Left,
    cases: &[Arc<Case>],
    keeper: &mut Keeper<'_>,
) -> Result<Summary, Failure> {
    for trial in &left.interrupted {
        let Some(case) = cases.iter().find(|case| case.id == trial.start.case_id) else { continue };
        let TrialStart { trial_id, trial: number, attempt, .. } = trial.start.clone();
        let task = Task { trial_id, case: Arc::clone(case), trial: number, attempt };
        engine::end_interrupted(engine_setup, &task, &trial.start, keeper)?;
    }
    Ok(engine::run(engine_setup, left.tasks, keeper)?)
}

/// Works the decision out and keeps it; with the trials that it rests on.
fn decide(store: &Store, experiment: &Experiment) -> Result<(KeptDecision, Vec<PlannedTrial>), StoreError> {
    let trials = store.planned_trials(&experiment.experiment_id)?;
    let mut own: Vec<&(String, String)> = experiment.cases.iter().collect();
    own.sort();
    let is_comparable = |other: &&Experiment| {
        let mut cases: Vec<&(String, String)> = other.cases.iter().collect();
        cases.sort();
        other.role == ExperimentRole::Baseline && other.project_id == experiment.project_id && cases == own
    };
    let experiments = store.experiments()?;
    let baseline = match experiment.role {
        ExperimentRole::Baseline => None,
        ExperimentRole::Candidate => experiments.iter().rfind(is_comparable),
    };
    let before = baseline.map(|baseline| store.planned_trials(&baseline.experiment_id)).transpose()?;
    let decided_ns = load::now_ns();
    let kept = KeptDecision {
        experiment_id: experiment.experiment_id.clone(),
        baseline_experiment_id: baseline.map(|baseline| baseline.experiment_id.clone()),
        decided: again::decided(experiment, &trials, before.as_deref()),
        decided_at: korean_time(decided_ns),
        decided_ns,
    };
    store.add_experiment_decision(&kept)?;
    Ok((kept, trials))
}

fn tell(
    texts: &Texts,
    args: &Args,
    store: &Store,
    experiment: &Experiment,
    (kept, trials): (&KeptDecision, &[PlannedTrial]),
    summary: &Summary,
    budget: &Budget,
) -> anyhow::Result<()> {
    let (decided, baseline) = (&kept.decided, kept.baseline_experiment_id.as_deref());
    let spent = store.eval_spent(&experiment.experiment_id).map_err(Failure::from)?;
    if let Some(cap) = &summary.cap {
        let failure = Failure::from(cap.clone());
        terminal::tell(&errors::error(texts, failure.kind, &failure.values));
    }
    let text = match args.output.format {
        Format::Table => words::ran(
            texts,
            &ToldRun {
                experiment,
                decided,
                baseline,
                trials,
                spent: &spent,
                is_cancelled: summary.is_cancelled,
                is_capped: summary.cap.is_some(),
                not_run: summary.not_run,
            },
            terminal::plain_style(),
        ),
        Format::Json => {
            let whole = json!({
                "experiment_id": experiment.experiment_id,
                "project_id": experiment.project_id,
                "role": experiment.role.as_str(),
                "target": experiment.target,
                "target_kind": experiment.target_kind,
                "config_sha256": experiment.config_sha256,
                "baseline_experiment_id": baseline,
                "decision": decided.decision.as_str(),
                "decided": decided,
                "trials": trials.iter().map(|trial| json!({
                    "case_id": trial.case_id, "trial": trial.trial, "trial_id": trial.trial_id,
                    "verdict": trial.verdict.map(crate::model::EvalVerdict::as_str),
                })).collect::<Vec<_>>(),
                "is_cancelled": summary.is_cancelled,
                "is_capped": summary.cap.is_some(),
                "not_run": summary.not_run,
                "spent": {
                    "input_tokens": spent.input_tokens, "output_tokens": spent.output_tokens,
                    "cost_usd": spent.cost_usd, "requests": budget.spent().calls,
                },
            });
            serde_json::to_string_pretty(&whole)? + "\n"
        }
    };
    terminal::write_done(&text)
}

/// Keeps trials in the store, and tells of each.
struct Keeper<'k> {
    texts: &'k Texts,
    store: &'k Store,
    stop: &'k Stop,
    control: &'k Control,
    total: usize,
    done: usize,
    quiet: bool,
}

impl Keeper<'_> {
    fn say(&self, text: &str) {
        if !self.quiet {
            terminal::tell(text);
        }
    }
}

impl Journal for Keeper<'_> {
    type Error = StoreError;

    fn now(&mut self) -> (String, i64) {
        let now = load::now_ns();
        (korean_time(now), now)
    }

    fn is_cancelled(&mut self) -> bool {
        self.stop.flag.load(Ordering::Relaxed) || self.control.is_cancelled()
    }

    fn begin(&mut self, start: &TrialStart) -> Result<(), StoreError> {
        self.store.begin_trial(start)
    }

    fn end(&mut self, start: &TrialStart, end: &TrialEnd) -> Result<(), StoreError> {
        self.store.end_trial(end)?;
        self.done += 1;
        self.say(&words::progress(self.texts, self.done, self.total, start, end.verdict));
        Ok(())
    }
}
