//! `taco-trace hq-candidates`: what recurs in several agents, for HQ; and what was decided on it.

use std::path::PathBuf;

use chrono::NaiveDate;
use clap::{ArgGroup, Subcommand, ValueEnum};

use super::failure::Failure;
use super::load::StoreArg;
use super::review::{ListFormat, parse_rule, person, required_reason};
use super::store::midnight;
use super::terminal::{self, ColorChoice};
use super::{HELP_TEMPLATE, choice, exit, load};
use crate::hq::{Request, handoff};
use crate::ingest::mask::Numbered;
use crate::model::{Decided, HqDecision};
use crate::render::{Texts, hq as document, review as words};

/// `taco-trace hq-candidates` 의 인자
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "예: taco-trace hq-candidates --since 2026-10-12 --until 2026-10-16 > handoff.md\n    \
        taco-trace hq-candidates decide search_regulation args-mismatch --fix-here --reason \"설명을 고쳤습니다\""
)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<HqCommand>,
    #[command(flatten)]
    store: StoreArg,
    /// 이 날부터. 한국 시간, 예: 2026-10-12. 없으면 끝 날까지 7일
    #[arg(long, value_name = "날짜")]
    since: Option<String>,
    /// 이 날까지(그날 포함). 한국 시간. 없으면 저장소의 마지막 실행이 시작한 날
    #[arg(long, value_name = "날짜")]
    until: Option<String>,
    /// 후보가 되는 에이전트 수 (기본 2)
    #[arg(
        long,
        value_name = "수",
        default_value_t = 2,
        hide_default_value = true,
        value_parser = agents
    )]
    min_agents: u32,
    /// 볼 실행의 인자도 넣습니다. 개인정보로 보이는 값은 가립니다
    #[arg(long)]
    with_args: bool,
    /// 형식: md(기본), json, csv
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
    /// 결과를 이 파일에 씁니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum HqCommand {
    /// 후보를 어떻게 할지 정한 것을 남깁니다. 다음 문서에 나옵니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        override_usage = "taco-trace hq-candidates decide [OPTIONS] --reason <이유>\n        \
            <--hand-over|--fix-here|--hold> <도구> <판정>",
        group = ArgGroup::new("decision").required(true).args(["hand_over", "fix_here", "hold"])
    )]
    Decide {
        /// 도구 이름
        #[arg(help_heading = "인자", value_name = "도구")]
        tool: String,
        /// 판정(한국어 판정 또는 undefined-tool, args-mismatch, timeout-exceeded, retry-over-limit, error-hidden)
        #[arg(help_heading = "인자", value_name = "판정")]
        verdict: String,
        /// HQ 제품팀에 전달합니다
        #[arg(long)]
        hand_over: bool,
        /// 현장에서 고칩니다
        #[arg(long)]
        fix_here: bool,
        /// 보류합니다
        #[arg(long)]
        hold: bool,
        /// 이유(꼭 적습니다)
        #[arg(long, value_name = "이유")]
        reason: String,
        /// 정한 사람(기본은 로그인 이름)
        #[arg(long, value_name = "이름")]
        by: Option<String>,
        #[command(flatten)]
        store: StoreArg,
    },
    /// 지금까지 정한 것을 오래된 것부터 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Decisions {
        #[command(flatten)]
        store: StoreArg,
        /// 형식: table(기본), json, md
        #[arg(
            short,
            long,
            value_name = "형식",
            value_enum,
            default_value_t = ListFormat::Table,
            hide_possible_values = true,
            hide_default_value = true
        )]
        format: ListFormat,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 마크다운 문서
    Md,
    /// JSON 객체 하나
    Json,
    /// 한 줄에 도구·판정 하나
    Csv,
}

/// Writes the document, keeps a decision, or lists them.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.command {
        None => candidates(texts, args),
        Some(HqCommand::Decide { tool, verdict, hand_over, fix_here, reason, by, store, .. }) => {
            let decision = match (hand_over, fix_here) {
                (true, _) => HqDecision::HandOver,
                (_, true) => HqDecision::FixHere,
                // The arguments hold one of the three.
                _ => HqDecision::Hold,
            };
            let (rule, reason) = (parse_rule(verdict)?, required_reason(reason)?);
            let store = store.open().map_err(|failure| failure.while_writing("decision"))?;
            choice::known_tool(&store, Some(tool))?;
            let decided_ns = load::now_ns();
            let decided = Decided {
                tool_name: tool.clone(),
                rule,
                decision,
                reason,
                decided_by: person(by.as_deref())?,
                decided_at: crate::store::korean_time(decided_ns),
                decided_ns,
            };
            store.add_decision(&decided).map_err(|error| Failure::from(error).while_writing("decision"))?;
            terminal::write_done(&words::decision_kept(texts, &decided))?;
            Ok(exit::OK)
        }
        Some(HqCommand::Decisions { store, format }) => {
            let decisions = store.open_to_read()?.decisions().map_err(Failure::from)?;
            let text = match format {
                ListFormat::Table => words::decisions(texts, &decisions, terminal::style(ColorChoice::Never, false)),
                ListFormat::Json => serde_json::to_string_pretty(&decisions)? + "\n",
                ListFormat::Md => words::decisions_markdown(texts, &decisions),
            };
            terminal::write_result(&text, None)?;
            Ok(exit::OK)
        }
    }
}

fn candidates(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let request = Request {
        since: args.since.as_deref().map(day).transpose()?,
        until: args.until.as_deref().map(day).transpose()?,
        min_agents: usize::try_from(args.min_agents).unwrap_or(usize::MAX),
        with_arguments: args.with_args,
    };
    if let (Some(since), Some(until)) = (request.since, request.until)
        && since > until
    {
        return Err(choice::reversed(since, until).into());
    }
    let store = args.store.open_to_read()?;
    let mut masking = Numbered::new(document::mask_labels(texts));
    let handoff = handoff(&store, &request, &mut masking).map_err(Failure::from)?;
    if handoff.runs.judged + handoff.runs.unjudged == 0 {
        choice::tell_empty(texts, &store).map_err(Failure::from)?;
    }
    drop(store);
    let text = match args.format {
        Format::Md => document::markdown(texts, &handoff, args.with_args),
        Format::Json => serde_json::to_string_pretty(&handoff)? + "\n",
        Format::Csv => document::csv(&handoff),
    };
    terminal::write_result(&text, args.output.as_deref())?;
    Ok(exit::OK)
}

/// How many agents; a number of any length that is not one is told with the range.
fn agents(text: &str) -> Result<u32, String> {
    let is_number = text.strip_prefix(['-', '+']).unwrap_or(text).bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(0) => {}
        Ok(number) => return Ok(number),
        Err(_) if is_number && !text.is_empty() => {}
        Err(error) => return Err(error.to_string()),
    }
    Err(format!("{text} is not in 1..={}", u32::MAX))
}

/// A Korean day, written in full.
fn day(text: &str) -> Result<NaiveDate, Failure> {
    midnight(text)?;
    text.parse().map_err(|_| Failure::usage("bad_day").with("value", text))
}
