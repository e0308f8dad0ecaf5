//! `taco-trace review`: what a person says of a finding.

use clap::{Subcommand, ValueEnum};

use super::diagnose::parse_verdict;
use super::failure::Failure;
use super::load::StoreArg;
use super::terminal::{self, ColorChoice};
use super::{HELP_TEMPLATE, choice, exit, load};
use crate::diagnose::{DraftMode, diagnose};
use crate::model::{Finding, Review, ReviewKind, Rule, Verdict, is_blank};
use crate::render::{Texts, review as words};
use crate::store::{Scope, Store};

/// `taco-trace review` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace review dismiss a5f03c8e --verdict error-hidden \\\n    \
    --reason \"다른 도구로 같은 일을 해냈습니다\"")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ReviewCommand,
}

#[derive(Debug, Subcommand)]
enum ReviewCommand {
    /// 오탐으로 넘깁니다. HQ 전달 후보와 --fail-on 에서 빠지고 diagnose 에 표시됩니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        override_usage = "taco-trace review dismiss [OPTIONS] --verdict <판정>\n        --reason <이유> <trace_id>"
    )]
    Dismiss {
        #[command(flatten)]
        about: About,
        /// 이유(꼭 적습니다)
        #[arg(long, value_name = "이유")]
        reason: String,
    },
    /// 맞는 판정이라고 확인합니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Confirm {
        #[command(flatten)]
        about: About,
        /// 이유
        #[arg(long, value_name = "이유")]
        reason: Option<String>,
    },
    /// 남아 있는 검토를 되돌립니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    Undo {
        #[command(flatten)]
        about: About,
        /// 이유
        #[arg(long, value_name = "이유")]
        reason: Option<String>,
    },
    /// 남아 있는 검토를 오래된 것부터 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    List {
        #[command(flatten)]
        store: StoreArg,
        /// 되돌렸거나 새 검토로 바뀐 것까지 모두 보여줍니다
        #[arg(long)]
        all: bool,
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

#[derive(Debug, clap::Args)]
struct About {
    /// 실행의 trace_id(앞부분만 적어도 됩니다)
    #[arg(help_heading = "인자", value_name = "trace_id")]
    trace: String,
    /// 검토하는 판정(한국어 판정 또는 undefined-tool, args-mismatch, timeout-exceeded, retry-over-limit, error-hidden)
    #[arg(long, value_name = "판정")]
    verdict: String,
    /// 이 도구의 판정만. 없으면 그 실행에서 이 판정이 걸린 모든 도구
    #[arg(long, value_name = "이름")]
    tool: Option<String>,
    /// 검토한 사람(기본은 로그인 이름)
    #[arg(long, value_name = "이름")]
    by: Option<String>,
    #[command(flatten)]
    store: StoreArg,
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ListFormat {
    /// 단말에서 읽는 목록
    Table,
    /// JSON 배열
    Json,
    /// 마크다운 표
    Md,
}

/// Keeps a review, or lists them.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let kept = match &args.command {
        ReviewCommand::Dismiss { about, reason } => {
            review(texts, about, ReviewKind::Dismissed, &required_reason(reason)?)?
        }
        ReviewCommand::Confirm { about, reason } => review(texts, about, ReviewKind::Confirmed, &optional(reason))?,
        ReviewCommand::Undo { about, reason } => review(texts, about, ReviewKind::Undone, &optional(reason))?,
        ReviewCommand::List { store, all, format } => {
            let reviews = store.open_to_read()?.reviews(*all).map_err(Failure::from)?;
            let text = match format {
                ListFormat::Table => words::reviews(texts, &reviews, terminal::style(ColorChoice::Never, false)),
                ListFormat::Json => serde_json::to_string_pretty(&reviews)? + "\n",
                ListFormat::Md => words::reviews_markdown(texts, &reviews),
            };
            terminal::write_result(&text, None)?;
            return Ok(exit::OK);
        }
    };
    terminal::write_done(&kept)?;
    Ok(exit::OK)
}

/// The reason without the blanks around it, which must leave something.
pub(super) fn required_reason(reason: &str) -> Result<String, Failure> {
    let reason = reason.trim();
    if is_blank(reason) { Err(Failure::usage("review_reason_blank")) } else { Ok(reason.to_owned()) }
}

fn optional(reason: &Option<String>) -> String {
    reason.as_deref().unwrap_or_default().trim().to_owned()
}

/// Who says it: as named, else who is logged in, else whom the system runs the process for. Without any of them it is
/// refused: nobody could be asked later.
pub(super) fn person(by: Option<&str>) -> Result<String, Failure> {
    let named = by.map(str::to_owned).into_iter();
    let logged_in = ["USER", "LOGNAME"].iter().filter_map(|name| std::env::var(name).ok());
    let of_process = std::iter::once_with(user_of_process).flatten();
    let mut known = named.chain(logged_in).chain(of_process).map(|name| name.trim().to_owned());
    known.find(|name| !is_blank(name)).ok_or_else(|| Failure::usage("person_unknown"))
}

/// The name of the user of this process, by the files that say so on Linux: `cron` and `su` may set no variable.
#[cfg(unix)]
fn user_of_process() -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let id = std::fs::metadata("/proc/self").ok()?.uid().to_string();
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|user| {
        let mut fields = user.split(':');
        let name = fields.next()?;
        // Name, password, id.
        (fields.nth(1) == Some(id.as_str())).then(|| name.to_owned())
    })
}

#[cfg(not(unix))]
fn user_of_process() -> Option<String> {
    None
}

/// The rule of a verdict that is not the normal one.
pub(super) fn parse_rule(text: &str) -> Result<Rule, Failure> {
    match parse_verdict(text) {
        Ok(Verdict::Found(rule)) => Ok(rule),
        Ok(Verdict::Normal) | Err(_) => {
            let known = Rule::ALL.map(|rule| rule.verdict().slug()).join(", ");
            Err(Failure::usage("unknown_verdict").with("value", text).with("known", known))
        }
    }
}

fn review(texts: &Texts, about: &About, decision: ReviewKind, reason: &str) -> anyhow::Result<String> {
    let rule = parse_rule(&about.verdict)?;
    let store = about.store.open().map_err(|failure| failure.while_writing("review"))?;
    let trace_id = choice::one_trace(&store, &about.trace)?;
    let findings = match decision {
        ReviewKind::Undone => {
            must_stand(&store, &trace_id, rule, about.tool.as_deref())?;
            0
        }
        ReviewKind::Dismissed | ReviewKind::Confirmed => found(texts, &store, &trace_id, rule, about.tool.as_deref())?,
    };
    let reviewed_ns = load::now_ns();
    let review = Review {
        trace_id,
        rule,
        tool_name: about.tool.clone(),
        decision,
        reason: reason.to_owned(),
        reviewer: person(about.by.as_deref())?,
        reviewed_at: crate::store::korean_time(reviewed_ns),
        reviewed_ns,
    };
    store.add_review(&review).map_err(|error| Failure::from(error).while_writing("review"))?;
    Ok(words::reviewed(texts, &review, findings))
}

/// How many findings of the run the words are about; none at all is a failure that names what was found.
fn found(texts: &Texts, store: &Store, trace_id: &str, rule: Rule, tool: Option<&str>) -> Result<usize, Failure> {
    let scope = Scope { trace_prefix: Some(trace_id.to_owned()), ..Scope::default() };
    let outcome = diagnose(store, texts, &scope, DraftMode::Off)?;
    let Some(run) = outcome.runs.iter().find(|run| run.diagnosis.trace_id == trace_id) else {
        return Err(Failure::usage("run_not_judged").with("trace", trace_id));
    };
    let is_meant = |finding: &&Finding| finding.rule == rule && tool.is_none_or(|tool| finding.tool_name == tool);
    let meant = run.diagnosis.findings.iter().filter(is_meant).count();
    if meant > 0 {
        return Ok(meant);
    }
    let mut others: Vec<String> = Vec::new();
    for finding in &run.diagnosis.findings {
        let name = format!("{} ({})", finding.rule.verdict().label(), finding.tool_name);
        if !others.contains(&name) {
            others.push(name);
        }
    }
    Err(Failure::usage("verdict_not_in_run")
        .with("value", wanted(rule, tool))
        .with("trace", trace_id)
        .with("found", others.join(", ")))
}

fn wanted(rule: Rule, tool: Option<&str>) -> String {
    let label = rule.verdict().label();
    tool.map_or_else(|| label.to_owned(), |tool| format!("{label} ({tool})"))
}

/// Undoing for one tool also takes back what was said of all; undoing for all takes back what was said of any.
fn must_stand(store: &Store, trace_id: &str, rule: Rule, tool: Option<&str>) -> Result<(), Failure> {
    let is_meant = |review: &&Review| {
        let same_tool = tool.is_none() || review.tool_name.is_none() || review.tool_name.as_deref() == tool;
        review.trace_id == trace_id && review.rule == rule && same_tool
    };
    // Oldest first: of one tool the last one counts.
    let stands = match tool {
        None => store.reviews(false)?.iter().any(|review| is_meant(&review)),
        Some(_) => {
            let all = store.reviews(true)?;
            all.iter().rfind(is_meant).is_some_and(|review| review.decision != ReviewKind::Undone)
        }
    };
    if stands {
        return Ok(());
    }
    Err(Failure::usage("nothing_to_undo").with("value", wanted(rule, tool)).with("trace", trace_id))
}
