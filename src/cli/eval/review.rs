//! `taco-trace eval review`: what a person is to look at in an experiment, and what is said of it.

use super::super::failure::Failure;
use super::super::load::{self, StoreArg};
use super::super::review::person;
use super::super::{exit, terminal};
use super::{Format, FormatArg, report};
use crate::eval_report::{decide_again, deciding};
use crate::model::{Opinion, TrialReview, is_blank};
use crate::render::{Texts, eval_report as words};
use crate::store::{Store, korean_time};

/// `taco-trace eval review` 의 인자
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("opinion").args(["agree", "disagree", "doubt"]).requires_all(["trial", "note"]),
    after_help = "예: taco-trace eval review t_4f2a --doubt --note \"수신자를 잘못 알려 주었습니다\"\n\n\
        시험만 적으면 그 시험의 판정, 모든 검사와 판정한 사건, 지금까지의 검토를 보여줍니다.\n\
        시험을 적지 않으면 실패, 판정 불가, 실행 오류, 막힌 제안을 판정한 사건과 함께 보여줍니다.\n\
        검토는 판정 곁에 남고 판정을 바꾸지 않습니다. --doubt 는 배포 판단을 다시 정할 때 검토 필요로 이어집니다."
)]
pub(crate) struct Args {
    /// 볼 시험, 또는 검토할 시험(앞부분만 적어도 됩니다)
    #[arg(help_heading = "인자", value_name = "시험")]
    trial: Option<String>,
    /// 판정에 동의합니다
    #[arg(long)]
    agree: bool,
    /// 판정에 동의하지 않습니다(판정은 그대로 남습니다)
    #[arg(long)]
    disagree: bool,
    /// 검사와 별개로 답의 의미를 의심합니다
    #[arg(long)]
    doubt: bool,
    /// 까닭
    #[arg(long, value_name = "글", requires = "opinion")]
    note: Option<String>,
    /// 검토한 사람(없으면 로그인 이름)
    #[arg(long, value_name = "이름", requires = "opinion")]
    reviewer: Option<String>,
    /// 목록을 볼 실험(앞부분만 적어도 됩니다). 없으면 가장 새로운 후보 실험
    #[arg(long, value_name = "실험", conflicts_with = "trial")]
    experiment: Option<String>,
    /// 마친 시험을 모두 보여줍니다(통과한 시험의 의미도 의심할 수 있습니다)
    #[arg(long, conflicts_with = "trial")]
    all: bool,
    #[command(flatten)]
    output: FormatArg,
    #[command(flatten)]
    store: StoreArg,
}

/// Shows what is to be reviewed, or keeps a review.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.trial {
        Some(trial) if args.agree || args.disagree || args.doubt => keep(texts, args, trial),
        Some(trial) => show(texts, args, trial),
        None => list(texts, args),
    }
}

fn list(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let store = args.store.open_to_read()?;
    let experiments = store.experiments().map_err(Failure::from)?;
    let experiment = report::chosen(&experiments, args.experiment.as_deref())?;
    let made = report::made(texts, &store, &experiments, experiment)?;
    drop(store);
    let text = match args.output.format {
        Format::Table => words::review(texts, &made, args.all, terminal::plain_style()),
        Format::Json => words::review_json(texts, &made, args.all),
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}

/// Shows one trial, whatever its verdict.
fn show(texts: &Texts, args: &Args, trial: &str) -> anyhow::Result<u8> {
    let store = args.store.open_to_read()?;
    let (trial_id, experiment_id) = one_trial(&store, trial)?;
    let experiments = store.experiments().map_err(Failure::from)?;
    let experiment = report::chosen(&experiments, Some(&experiment_id))?;
    let made = report::made(texts, &store, &experiments, experiment)?;
    let told = made.trials.into_iter().find(|one| one.trial_id.as_ref() == Some(&trial_id));
    let mut told = told.ok_or_else(|| Failure::usage("eval_trial_superseded").with("value", &trial_id))?;
    let events = store.events_of(&trial_id).map_err(Failure::from)?;
    told.deciding = deciding(&told.checks, &told.blocked_proposals, &events, true);
    let reviews = store.trial_reviews(&trial_id).map_err(Failure::from)?;
    drop(store);
    let text = match args.output.format {
        Format::Table => words::reviewed_trial(texts, &told, &reviews, terminal::plain_style()),
        Format::Json => words::trial_json(texts, &experiment_id, &told, &reviews),
    };
    terminal::write_result(&text, None)?;
    Ok(exit::OK)
}

fn keep(texts: &Texts, args: &Args, trial: &str) -> anyhow::Result<u8> {
    let note = args.note.as_deref().unwrap_or_default().trim().to_owned();
    if is_blank(&note) {
        return Err(Failure::usage("review_reason_blank").into());
    }
    let opinion = match (args.agree, args.disagree) {
        (true, _) => Opinion::Agree,
        (_, true) => Opinion::Disagree,
        _ => Opinion::Doubt,
    };
    let reviewer = person(args.reviewer.as_deref())?;
    let store = args.store.open().map_err(|failure| failure.while_writing("review"))?;
    let (trial_id, experiment_id) = one_trial(&store, trial)?;
    let trials = store.planned_trials(&experiment_id).map_err(Failure::from)?;
    // A review of an attempt that does not count would be seen nowhere.
    let Some(planned) = trials.iter().find(|planned| planned.trial_id.as_deref() == Some(trial_id.as_str())) else {
        return Err(Failure::usage("eval_trial_superseded").with("value", trial_id).into());
    };
    let Some(verdict) = planned.verdict else {
        return Err(Failure::usage("eval_trial_unfinished").with("value", trial_id).into());
    };
    let reviewed_ns = load::now_ns();
    let reviewed_at = korean_time(reviewed_ns);
    let experiments = store.experiments().map_err(Failure::from)?;
    let before = store.standing_decision(&experiment_id).map_err(Failure::from)?;
    let review = TrialReview { opinion, note, reviewer, reviewed_at: reviewed_at.clone() };
    let after = store
        .add_trial_review(&trial_id, &review, reviewed_ns, |store| {
            decide_again(store, &experiments, &experiment_id, (&reviewed_at, reviewed_ns))
        })
        .map_err(|error| Failure::from(error).while_writing("review"))?;
    let kept = words::ReviewKept {
        trial_id: &trial_id,
        opinion,
        verdict: Some(verdict),
        before: before.map(|kept| kept.decided.decision),
        after: after.map(|kept| kept.decided.decision),
    };
    let text = match args.output.format {
        Format::Table => words::kept(texts, kept),
        Format::Json => words::kept_json(kept),
    };
    terminal::write_done(&text)?;
    Ok(exit::OK)
}

/// The trial with this id or this beginning of one, and its experiment.
fn one_trial(store: &Store, asked: &str) -> Result<(String, String), Failure> {
    let found = if is_blank(asked) { Vec::new() } else { store.trials_with_prefix(asked)? };
    if let Some(exact) = found.iter().find(|(trial_id, _)| trial_id == asked) {
        return Ok(exact.clone());
    }
    match found.as_slice() {
        [] => Err(Failure::usage("eval_trial_unknown").with("value", asked)),
        [one] => Ok(one.clone()),
        several => {
            let known = several.iter().map(|(trial_id, _)| trial_id.as_str()).collect::<Vec<_>>().join(", ");
            Err(Failure::usage("eval_trial_ambiguous").with("value", asked).with("known", known))
        }
    }
}
