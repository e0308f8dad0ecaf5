//! `taco-trace diagnose`: one verdict per run.

use std::path::{Path, PathBuf};

use super::choice::{self, Period};
use super::draft::{self, DraftArgs};
use super::failure::Failure;
use super::load::{self, DEFAULT_STORE, LoadArgs, ToJudge};
use super::report::{Format, render};
use super::terminal::{self, ColorChoice};
use super::{baseline, exit, report};
use crate::diagnose::{JudgedRun, Outcome, diagnose};
use crate::model::{ToolSet, Verdict};
use crate::render::{Texts, baseline as sentences, errors};
use crate::store::{JudgementRow, RULE_SET, Scope, Store, rule_set_sha256};

/// Nanoseconds of a day.
pub(super) const DAY_NS: i64 = 86_400_000_000_000;

/// `taco-trace diagnose` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace diagnose traces/2026-10-07.jsonl --tools tools.json\n    \
    taco-trace diagnose --db taco.duckdb --since 2026-10-01 --verdict args-mismatch --format md")]
pub(crate) struct Args {
    /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력). 없으면 저장소를 판정합니다
    #[arg(help_heading = "인자", value_name = "경로", conflicts_with = "db")]
    paths: Vec<PathBuf>,
    /// 판정할 저장소 파일 (기본 taco.duckdb)
    #[arg(long, value_name = "파일")]
    db: Option<PathBuf>,
    /// 출력 형식: table(기본), json, jsonl, md, junit, sarif, github(Actions 의 주석)
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
    /// 정상 완료한 실행도 한 줄씩 보여줍니다
    #[arg(long)]
    all: bool,
    /// 이 trace_id 로 시작하는 실행만(앞부분만 적어도 됩니다)
    #[arg(long, value_name = "trace_id")]
    trace: Option<String>,
    /// 이 에이전트의 실행만
    #[arg(long, value_name = "이름")]
    agent: Option<String>,
    /// 이 도구를 부른 실행만
    #[arg(long, value_name = "이름")]
    tool: Option<String>,
    /// 이 판정이 걸린 실행만(한국어 판정 또는 undefined-tool, args-mismatch, timeout-exceeded,
    /// retry-over-limit, error-hidden, normal; 쉼표로 여럿)
    #[arg(long, value_name = "판정", value_delimiter = ',')]
    verdict: Vec<String>,
    /// 이 날(또는 시각)부터 시작한 실행만. 한국 시간, 예: 2026-10-07
    #[arg(long, value_name = "날짜")]
    since: Option<String>,
    /// 이 날까지(그날 포함) 시작한 실행만. 한국 시간
    #[arg(long, value_name = "날짜")]
    until: Option<String>,
    /// 앞에서부터 이 수만큼만
    #[arg(long, value_name = "수")]
    limit: Option<usize>,
    /// 이 판정의 실행이 있으면 종료 상태를 1 로 합니다: any 또는 판정(쉼표로 여럿). 오탐으로 넘긴 판정은 뺍니다
    #[arg(long, value_name = "판정", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// 이 기준선에 없는 근거만 새것으로 봅니다. 새것이 있거나 기준선보다 덜 검사했으면 종료 상태가 1 입니다
    #[arg(long, value_name = "파일")]
    baseline: Option<PathBuf>,
    /// 검사한 비율이 기준선보다 이만큼(퍼센트포인트)까지 줄어도 넘어갑니다 (기본 1)
    #[arg(long, value_name = "수", requires = "baseline", default_value_t = 1, hide_default_value = true)]
    allow_coverage_drop: u32,
    /// 나타난 근거를 기준선 파일로 씁니다(오탐으로 넘긴 것은 뺍니다). 있던 파일의 ignore 는 이어받습니다
    #[arg(long, value_name = "파일", conflicts_with_all = ["trace", "agent", "tool", "verdict", "limit"])]
    write_baseline: Option<PathBuf>,
    #[command(flatten)]
    draft: DraftArgs,
    /// 색: auto(기본), always, never
    #[arg(
        long,
        value_name = "방식",
        value_enum,
        default_value_t = ColorChoice::Auto,
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: ColorChoice,
    #[command(flatten)]
    load: LoadArgs,
}

/// Judges the files, or the store, and writes the report.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let verdicts = parse_verdicts(&args.verdict)?;
    let fail_on = parse_fail_on(&args.fail_on)?;
    let period = korean_period(args.since.as_deref(), args.until.as_deref())?;
    let drafter = args.draft.drafter()?;
    let mut scope = Scope {
        trace_prefix: args.trace.as_ref().map(|prefix| prefix.to_lowercase()),
        since_ns: period.since_ns,
        before_ns: period.before_ns,
        tool_name: args.tool.clone(),
        tool_set: None,
    };
    let known = args.baseline.as_deref().map(baseline::read).transpose()?;
    let earlier =
        args.write_baseline.as_deref().and_then(|path| baseline::read_earlier(path).transpose()).transpose()?;
    let ToJudge { store, tools } = load::open_store(texts, &args.paths, args.db.as_deref(), &args.load, &mut scope)?;
    choice::known_agent(&store, args.agent.as_deref())?;
    choice::known_tool(&store, args.tool.as_deref())?;
    if let Some(prefix) = &args.trace {
        choice::traces(&store, prefix)?;
    }
    period.tell_if_empty(texts, &store).map_err(Failure::from)?;
    let outcome = diagnose(&store, texts, &scope, args.draft.mode()).map_err(Failure::from)?;
    let unrecorded = if args.paths.is_empty() { unrecorded(&store, &scope, &outcome)? } else { None };
    // What is shown of the runs says nothing of what could be checked.
    let checked = baseline::checked(&outcome);
    let mut selected = select(outcome, args, &verdicts);
    let mut store = Some(store);
    let mut drafted = Vec::new();
    if let (Some(drafter), Some(open)) = (drafter, &store) {
        let wanted = drafter.wanted(open, &selected.runs)?;
        // A model takes its time: others may have the store meanwhile, unless the report goes on reading it.
        if wanted.asks() && !args.format.has_places() {
            store = None;
        }
        drafted = drafter.draft(texts, wanted, &mut selected.runs, args.load.quiet);
    }
    let looked_at = baseline::LookedAt {
        agent: args.agent.as_deref(),
        is_part: args.trace.is_some() || args.tool.is_some() || !verdicts.is_empty() || args.limit.is_some(),
    };
    let mut held =
        known.as_ref().map(|known| baseline::hold(known, (&selected, &checked), &looked_at, args.allow_coverage_drop));
    if let Some(held) = held.as_mut().filter(|_| args.format.folds()) {
        held.view.folded = Some(held.folded());
    }
    let style = terminal::style(args.color, args.output.is_some());
    let options = report::Options { style, show_all: args.all, held: held.as_ref() };
    let text = render(texts, store.as_ref(), &selected, args.format, &options)?;
    // Others may have the store while this is read.
    drop(store);
    if args.paths.is_empty() {
        draft::keep(texts, args.db.as_deref().unwrap_or_else(|| Path::new(DEFAULT_STORE)), &drafted);
    }
    if let Some(judgement) = unrecorded
        && let Err(failure) = record(args.db.as_deref(), tools.as_ref(), &judgement)
    {
        // The verdicts are there all the same: a full disk must not keep them from being read.
        terminal::tell(&errors::error(texts, failure.kind, &failure.values));
    }
    terminal::write_result(&text, args.output.as_deref())?;
    if let Some(held) = held.as_ref().filter(|_| !args.format.has_sentences()) {
        terminal::tell(&sentences::lines(texts, &held.view, terminal::style(ColorChoice::Never, false)));
    }
    if let Some(path) = &args.write_baseline {
        baseline::write(texts, path, (&selected, &checked), known.iter().chain(&earlier))?;
    }
    let failed = match &held {
        Some(held) => baseline::fails(held, &selected, &fail_on),
        None => selected.runs.iter().any(|run| fails(run, &fail_on)),
    };
    Ok(if failed { exit::FOUND } else { exit::OK })
}

/// What judged, and what it came to; none when the last record of the store says the same.
fn unrecorded(store: &Store, scope: &Scope, outcome: &Outcome) -> Result<Option<JudgementRow>, Failure> {
    let with_findings = outcome.runs.iter().filter(|run| run.diagnosis.verdict != Verdict::Normal).count();
    let judgement = JudgementRow {
        rule_set: RULE_SET.to_owned(),
        rule_set_sha256: rule_set_sha256(),
        tool_set: scope.tool_set.clone(),
        runs: outcome.runs.len() as u64,
        with_findings: with_findings as u64,
        unjudged: outcome.unjudged.len() as u64,
    };
    let is_new = store.last_judgement()?.as_ref() != Some(&judgement);
    Ok(is_new.then_some(judgement))
}

/// Records it in the store, with the tool set that it needs to be repeated. A store that others read, or that may not
/// be written to, is left as it is.
fn record(db: Option<&Path>, tools: Option<&ToolSet>, judgement: &JudgementRow) -> Result<(), Failure> {
    let path = db.unwrap_or_else(|| Path::new(DEFAULT_STORE));
    let Some(store) = Store::open_if_free(path).map_err(Failure::from)? else { return Ok(()) };
    let now = load::now();
    if let Some(set) = tools {
        store.store_tools(set, &now).map_err(Failure::from)?;
    }
    store.record_judgement(&now, judgement).map_err(Failure::from)
}

/// Agent, verdict and number are filters on what was judged; the others limit what is judged.
fn select(outcome: Outcome, args: &Args, verdicts: &[Verdict]) -> Outcome {
    let by_agent =
        |run: &JudgedRun| args.agent.is_none() || run.diagnosis.agent_name.as_deref() == args.agent.as_deref();
    let by_verdict = |run: &JudgedRun| verdicts.is_empty() || has_any(run, verdicts);
    let keeps_unjudged = args.agent.is_none() && verdicts.is_empty();
    let limit = args.limit.unwrap_or(usize::MAX);
    outcome.filtered(keeps_unjudged, limit, |run| by_agent(run) && by_verdict(run))
}

fn has_any(run: &JudgedRun, verdicts: &[Verdict]) -> bool {
    verdicts.contains(&run.diagnosis.verdict)
        || run.diagnosis.also_found.iter().any(|verdict| verdicts.contains(verdict))
}

/// Whether a finding says so that no person dismissed; of a normal run, whether that was asked for.
fn fails(run: &JudgedRun, fail_on: &[Verdict]) -> bool {
    let mut counting = run.diagnosis.findings.iter().filter(|finding| finding.dismissed_for().is_none());
    counting.any(|finding| fail_on.contains(&finding.rule.verdict()))
        || (run.diagnosis.verdict == Verdict::Normal && fail_on.contains(&Verdict::Normal))
}

fn parse_verdicts(texts: &[String]) -> Result<Vec<Verdict>, Failure> {
    texts.iter().map(|text| parse_verdict(text)).collect()
}

pub(super) fn parse_verdict(text: &str) -> Result<Verdict, Failure> {
    Verdict::parse(text.trim()).ok_or_else(|| {
        let known = Verdict::ALL.map(Verdict::slug).join(", ");
        Failure::usage("unknown_verdict").with("value", text).with("known", known)
    })
}

/// `any` is every verdict but the normal one.
fn parse_fail_on(texts: &[String]) -> Result<Vec<Verdict>, Failure> {
    let mut verdicts = Vec::new();
    for text in texts {
        if text.trim() == "any" {
            verdicts.extend(Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Normal));
        } else {
            verdicts.push(parse_verdict(text)?);
        }
    }
    Ok(verdicts)
}

/// The period from one Korean date or instant to another, which is not before the first.
pub(super) fn korean_period(since: Option<&str>, until: Option<&str>) -> Result<Period, Failure> {
    let period = Period {
        since_ns: since.map(|text| korean_instant(text, 0)).transpose()?,
        before_ns: until.map(|text| korean_instant(text, DAY_NS)).transpose()?,
    };
    period.in_order(since, until)
}

/// The first and the last Korean day whose nanoseconds since 1970 fit into 64 bits.
const DAYS: (&str, &str) = ("1677-09-22", "2262-04-11");

/// A Korean date (to which `date_offset_ns` is added) or an instant, as nanoseconds since 1970 UTC.
pub(super) fn korean_instant(text: &str, date_offset_ns: i64) -> Result<i64, Failure> {
    let wrong = || Failure::usage("bad_date").with("value", text);
    let beyond = || {
        let (first, last) = DAYS;
        Failure::usage("date_range").with("value", text).with("first", first).with("last", last)
    };
    let korean = chrono::FixedOffset::east_opt(9 * 3600).expect("nine hours are a valid offset");
    if let Ok(date) = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d") {
        let midnight = date.and_hms_opt(0, 0, 0).and_then(|time| time.and_local_timezone(korean).single());
        let start = midnight.and_then(|time| time.timestamp_nanos_opt()).ok_or_else(beyond)?;
        return start.checked_add(date_offset_ns).ok_or_else(beyond);
    }
    let instant = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"]
        .iter()
        .find_map(|form| chrono::NaiveDateTime::parse_from_str(text, form).ok())
        .and_then(|time| time.and_local_timezone(korean).single())
        .or_else(|| chrono::DateTime::parse_from_rfc3339(text).ok());
    instant.ok_or_else(wrong)?.timestamp_nanos_opt().ok_or_else(beyond)
}
