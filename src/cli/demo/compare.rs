//! `taco-trace demo compare`: the same questions before and after the description of a tool is changed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::play::{Job, Played, Player, Script};
use super::reports::{Format, write_traces};
use super::stage::{self, Folder};
use crate::bench::Judged;
use crate::bench::described::changes;
use crate::cli::bench::judged;
use crate::cli::exit;
use crate::cli::failure::{Failure, tools_failure};
use crate::cli::load;
use crate::cli::model::{ModelChoice, ModelOptions};
use crate::cli::terminal::{self, ColorChoice};
use crate::diagnose::{DraftMode, Outcome, chosen_drafts};
use crate::ingest::tools::{ToolDefaults, parse_tools, with_descriptions};
use crate::model::bench::Answer;
use crate::model::demo::{AfterFrom, AskedRun, AskedTwice, ChangedDescription, DescriptionReport};
use crate::model::{Rule, ToolSet};
use crate::render::{Texts, demo_compare as words};
use crate::store::{RULE_SET, Store};

/// `taco-trace demo compare` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace demo compare\n    \
    taco-trace demo compare --model anthropic:claude-haiku-4-5 --model openai:gpt-5-mini --max-calls 400")]
pub(crate) struct Args {
    /// 모델: script(정해진 대로, 기본), anthropic:이름, openai:이름(여러 번 쓸 수 있습니다)
    #[arg(long, value_name = "모델", default_value = "script", hide_default_value = true)]
    model: Vec<ModelChoice>,
    /// 모델마다 물을 질문 수(기본 20, 24까지)
    #[arg(
        long,
        value_name = "수",
        visible_alias = "runs",
        default_value_t = 20,
        hide_default_value = true,
        // There are no more: the same question asked again is no further pair.
        value_parser = clap::value_parser!(u64).range(1..=24)
    )]
    questions: u64,
    /// 시드(기본 1). 같은 시드는 같은 결과를 냅니다
    #[arg(
        long,
        value_name = "수",
        default_value_t = 1,
        hide_default_value = true,
        value_parser = clap::value_parser!(u64).range(0..=i64::MAX as u64)
    )]
    seed: u64,
    /// 고친 도구 정의. 없으면 고치기 전 실행에서 나온 수정안으로 고칩니다
    #[arg(long, value_name = "파일")]
    tools_after: Option<PathBuf>,
    /// 출력 형식: table(기본), md, json
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = Format::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: Format,
    /// 결과를 이 파일에 씁니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    /// 실행이 남긴 트레이스(OTLP JSON 줄)를 이 파일에도 씁니다
    #[arg(long, value_name = "파일")]
    traces: Option<PathBuf>,
    #[command(flatten)]
    options: ModelOptions,
}

/// Runs of all models with one tools.json.
struct Phase {
    /// By model, in the order given.
    played: Vec<Vec<Played>>,
    outcome: Outcome,
    lines: String,
}

/// Asks, judges, changes the description, asks again, reports.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let read = || args.tools_after.as_deref().into_iter().chain(args.options.replay.as_deref());
    terminal::refuse_over_inputs(args.output.as_deref(), read().chain(args.traces.as_deref()))?;
    terminal::refuse_over_inputs(args.traces.as_deref(), read())?;
    let given = args.tools_after.as_deref().map(read_tools).transpose()?;
    let budget = args.options.budget()?;
    let mut models = args.model.clone();
    let mut seen = std::collections::BTreeSet::new();
    models.retain(|model| seen.insert(model.clone()));
    args.options.refuse_unused(&models)?;
    let how = (args.seed, "compare", Script::ByDescription);
    let opened = models.iter().map(|model| Player::open(model, &args.options, &budget, how));
    let mut players = opened.collect::<Result<Vec<_>, Failure>>()?;
    let before = phase(texts, args, &mut players, 0)?;
    let tools_before = players.first().map(|player| player.tools().to_owned()).unwrap_or_default();
    let (after_from, tools_after) = match given {
        Some(text) => (AfterFrom::File, Some(text)),
        None => match drafted(&tools_before, &before.outcome)? {
            Some(text) => (AfterFrom::Draft, Some(text)),
            None => (AfterFrom::Nothing, None),
        },
    };
    let after = match &tools_after {
        Some(text) => {
            let path = args.tools_after.as_deref().unwrap_or_else(|| Path::new("tools.json"));
            players.iter_mut().try_for_each(|player| player.offer(text, path))?;
            Some(phase(texts, args, &mut players, 1)?)
        }
        None => None,
    };
    if let Some(path) = &args.traces {
        let lines = before.lines.clone() + after.as_ref().map(|after| after.lines.as_str()).unwrap_or_default();
        terminal::write_result(&lines, Some(path))?;
    }
    let report = DescriptionReport {
        seed: args.seed,
        questions: args.questions,
        rule_set: RULE_SET.to_owned(),
        after_from,
        changed: changed(&tools_before, tools_after.as_deref().unwrap_or(&tools_before))?,
        models: changes(asked(&models, before, after)),
    };
    let text = match args.format {
        Format::Table => words::table(texts, &report, terminal::style(ColorChoice::Never, args.output.is_some())),
        Format::Md => words::markdown(texts, &report),
        Format::Json => words::json(texts, &report)?,
    };
    terminal::write_result(&text, args.output.as_deref())?;
    Ok(exit::OK)
}

/// Asks every model all questions and judges the runs together. `phase` is 0 before and 1 after.
fn phase(texts: &Texts, args: &Args, players: &mut [Player], phase: u64) -> anyhow::Result<Phase> {
    let models = players.len() as u64;
    let mut lines = String::new();
    let mut played = Vec::new();
    for (model, player) in (0..).zip(players.iter_mut()) {
        let mut of_model = Vec::new();
        for question in 0..args.questions {
            // No two runs share a number: their traces would be one.
            let number = (phase * models + model) * args.questions + question;
            let one = player.play(&Job { number, question, faults: &[] })?;
            lines.push_str(&one.lines);
            of_model.push(one);
        }
        played.push(of_model);
    }
    let folder = Folder::make()?;
    let traces = write_traces(&folder, &lines, None)?;
    let tools = folder.write("tools.json", players.first().map(Player::tools).unwrap_or_default())?;
    let store = Store::in_memory().map_err(Failure::from)?;
    let trace_ids: Vec<String> = played.iter().flatten().map(|one| one.trace_id.clone()).collect();
    let outcome = stage::judge(texts, &store, (&traces, &tools), &trace_ids, DraftMode::Template)?;
    Ok(Phase { played, outcome, lines })
}

/// The tools with the descriptions that the diagnosis drafts; none when it drafts none.
fn drafted(tools: &str, outcome: &Outcome) -> anyhow::Result<Option<String>> {
    let chosen = chosen_drafts(&outcome.runs);
    if chosen.is_empty() {
        return Ok(None);
    }
    let wanted: BTreeMap<&str, &str> =
        chosen.iter().map(|draft| (draft.tool_name.as_str(), draft.draft.as_str())).collect();
    let text = with_descriptions(tools, &wanted).map_err(|error| tools_failure(Path::new("tools.json"), &error))?;
    Ok(Some(text))
}

fn read_tools(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).map_err(|error| load::unreadable(path, &error))?;
    // Told before any model is asked.
    definitions(&text).map_err(|error| tools_failure(path, &error))?;
    Ok(text)
}

fn definitions(text: &str) -> Result<ToolSet, crate::ingest::tools::ToolsError> {
    let defaults = ToolDefaults { timeout_ms: None, max_retries: None };
    parse_tools(text, "tools.json", defaults).map(|(set, _)| set)
}

/// The tools whose description differs, in the order of the tools before.
fn changed(before: &str, after: &str) -> anyhow::Result<Vec<ChangedDescription>> {
    let read = |text: &str| definitions(text).map_err(|error| tools_failure(Path::new("tools.json"), &error));
    let (before, after) = (read(before)?, read(after)?);
    let pairs = before.tools.iter().filter_map(|old| {
        let new = after.tools.iter().find(|new| new.tool_name == old.tool_name)?;
        (new.description != old.description).then(|| ChangedDescription {
            tool_name: old.tool_name.clone(),
            before: old.description.clone(),
            after: new.description.clone(),
        })
    });
    Ok(pairs.collect())
}

/// The questions of each model with what was said of both runs.
fn asked(models: &[ModelChoice], before: Phase, after: Option<Phase>) -> Vec<(String, Vec<AskedTwice>)> {
    let said_before = said(&before);
    let said_after = after.as_ref().map(said).unwrap_or_default();
    let of_model = |(place, (model, played)): (usize, (&ModelChoice, &Vec<Played>))| {
        let again = after.as_ref().and_then(|after| after.played.get(place));
        let questions = (1..).zip(played).enumerate().map(|(at, (number, one))| AskedTwice {
            number,
            question: one.question.clone(),
            before: asked_run(one, &said_before),
            after: again.and_then(|again| again.get(at)).map(|one| asked_run(one, &said_after)),
        });
        (model.to_string(), questions.collect())
    };
    models.iter().zip(&before.played).enumerate().map(of_model).collect()
}

/// What was said of a trace, and the required keys that it lacks.
type Found = (Option<Judged>, Vec<String>);

fn said(phase: &Phase) -> BTreeMap<String, Found> {
    let mut said: BTreeMap<String, Found> = BTreeMap::new();
    for run in &phase.outcome.runs {
        let findings = run.diagnosis.findings.iter().filter(|finding| finding.rule == Rule::ArgsMismatch);
        let mut missing: Vec<String> = findings
            .flat_map(|finding| finding.missing_keys.iter().map(|key| format!("{}.{key}", finding.tool_name)))
            .collect();
        missing.sort();
        missing.dedup();
        said.insert(run.diagnosis.trace_id.clone(), (None, missing));
    }
    for one in judged(phase.outcome.clone()) {
        let found = said.entry(one.trace_id.clone()).or_default();
        found.0 = Some(one);
    }
    said
}

fn asked_run(played: &Played, said: &BTreeMap<String, Found>) -> AskedRun {
    let found = said.get(&played.trace_id);
    let given = found.and_then(|(judged, _)| judged.as_ref()).map(|judged| &judged.given);
    let answer = given.map_or(Answer::Unjudged, |given| given.answer);
    let also_found = given.map(|given| given.also.clone()).unwrap_or_default();
    let wanted = Rule::ArgsMismatch.verdict();
    AskedRun {
        trace_id: played.trace_id.clone(),
        given: answer,
        has_mismatch: answer == Answer::Judged(wanted) || also_found.contains(&wanted),
        also_found,
        missing: found.map(|(_, missing)| missing.clone()).unwrap_or_default(),
        failed: played.failed.clone(),
    }
}
