//! `taco-trace tools apply-draft`: drafts of descriptions into a copy of a tools.json.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use super::choice;
use super::draft::{self, DraftArgs};
use super::exit;
use super::failure::{Failure, tools_failure};
use super::load::{self, DEFAULT_STORE, LoadArgs};
use super::terminal;
use crate::diagnose::{chosen_drafts, diagnose};
use crate::ingest::tools::with_descriptions;
use crate::render::Texts;
use crate::render::apply_draft::{Asked, asked, drafts};
use crate::store::Scope;

/// `taco-trace tools apply-draft` 의 인자
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력). 없으면 저장소를 판정합니다
    #[arg(help_heading = "인자", value_name = "경로", conflicts_with = "db")]
    paths: Vec<PathBuf>,
    /// 판정할 저장소 파일 (기본 taco.duckdb)
    #[arg(long, value_name = "파일")]
    db: Option<PathBuf>,
    /// 이 도구의 수정안만
    #[arg(long, value_name = "이름")]
    tool: Option<String>,
    /// 이 trace_id 로 시작하는 실행의 수정안만(앞부분만 적어도 됩니다)
    #[arg(long, value_name = "trace_id")]
    trace: Option<String>,
    /// 고친 사본을 쓸 파일. 없으면 보여주기만 합니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    /// 묻지 않고 씁니다
    #[arg(short, long, requires = "output")]
    yes: bool,
    #[command(flatten)]
    draft: DraftArgs,
    #[command(flatten)]
    load: LoadArgs,
}

/// Shows what changes, asks, writes the copy.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let Some(tools) = args.load.tools.as_deref() else { return Err(Failure::usage("tools_required").into()) };
    let store_read = args.paths.is_empty().then(|| args.db.as_deref().unwrap_or_else(|| Path::new(DEFAULT_STORE)));
    let inputs = args.paths.iter().map(PathBuf::as_path).chain([tools]).chain(store_read);
    terminal::refuse_over_inputs(args.output.as_deref(), inputs)?;
    let drafter = args.draft.drafter()?;
    let mut scope = Scope {
        trace_prefix: args.trace.as_ref().map(|prefix| prefix.to_lowercase()),
        tool_name: args.tool.clone(),
        ..Scope::default()
    };
    let opened = load::open_store(texts, &args.paths, args.db.as_deref(), &args.load, &mut scope)?;
    choice::known_tool(&opened.store, args.tool.as_deref())?;
    if let Some(prefix) = &args.trace {
        choice::traces(&opened.store, prefix)?;
    }
    let mut outcome = diagnose(&opened.store, texts, &scope, args.draft.mode()).map_err(Failure::from)?;
    if let Some(drafter) = drafter {
        let wanted = drafter.wanted(&opened.store, &outcome.runs)?;
        // A model takes its time: others may have the store meanwhile.
        drop(opened);
        let drafted = drafter.draft(texts, wanted, &mut outcome.runs, args.load.quiet);
        if let Some(db) = store_read {
            draft::keep(texts, db, &drafted);
        }
    } else {
        drop(opened);
    }
    let mut chosen = chosen_drafts(&outcome.runs);
    chosen.retain(|draft| args.tool.as_ref().is_none_or(|tool| draft.tool_name == *tool));
    terminal::write_result(&drafts(texts, &chosen), None)?;
    if chosen.is_empty() {
        return Ok(exit::OK);
    }
    let Some(output) = args.output.as_deref().filter(|_| args.yes || is_asked()) else {
        terminal::tell(&asked(texts, Asked::HowTo, args.output.as_deref().map(shown).as_deref()));
        return Ok(exit::OK);
    };
    if !args.yes && !agrees(texts, output)? {
        terminal::tell(&asked(texts, Asked::Declined, None));
        return Ok(exit::OK);
    }
    let text = std::fs::read_to_string(tools).map_err(|error| load::unreadable(tools, &error))?;
    let wanted: BTreeMap<&str, &str> =
        chosen.iter().map(|draft| (draft.tool_name.as_str(), draft.draft.as_str())).collect();
    let copy = with_descriptions(&text, &wanted).map_err(|error| tools_failure(tools, &error))?;
    terminal::write_result(&copy, Some(output))?;
    terminal::tell(&asked(texts, Asked::Written, Some(&shown(output))));
    Ok(exit::OK)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Whether a person sees the question and can answer it.
fn is_asked() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal()
}

fn agrees(texts: &Texts, output: &Path) -> anyhow::Result<bool> {
    terminal::tell(&asked(texts, Asked::Question, Some(&shown(output))));
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(["y", "yes", "예", "네"].contains(&line.trim().to_lowercase().as_str()))
}
