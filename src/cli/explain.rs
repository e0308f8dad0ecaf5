//! `taco-trace explain`: one run as a tree with times, its findings, and the SQL that re-derives each.

use std::path::PathBuf;

use super::failure::Failure;
use super::load::{self, LoadArgs, ToJudge};
use super::terminal::{self, ColorChoice};
use super::{choice, exit, report};
use crate::diagnose::{DraftMode, JudgedRun, diagnose};
use crate::model::{Finding, Rule};
use crate::render::Texts;
use crate::render::tree::{self, Derivation, Explanation};
use crate::store::Scope;

/// `taco-trace explain` 의 인자
#[derive(Debug, clap::Args)]
#[command(after_help = "예: taco-trace explain 81c95e0b traces/2026-10-07.jsonl --tools tools.json")]
pub(crate) struct Args {
    /// 펼칠 실행의 trace_id(앞부분만 적어도 됩니다)
    #[arg(help_heading = "인자", value_name = "trace_id")]
    trace: String,
    /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력). 없으면 저장소에서 찾습니다
    #[arg(help_heading = "인자", value_name = "경로", conflicts_with = "db")]
    paths: Vec<PathBuf>,
    /// 저장소 파일 (기본 taco.duckdb)
    #[arg(long, value_name = "파일")]
    db: Option<PathBuf>,
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

/// Shows the run that the prefix names; more than one is refused with the list.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let mut scope = Scope::default();
    let ToJudge { store, .. } = load::open_store(texts, &args.paths, args.db.as_deref(), &args.load, &mut scope)?;
    let trace_id = choice::one_trace(&store, &args.trace)?;
    scope.trace_prefix = Some(trace_id.clone());
    let outcome = diagnose(&store, texts, &scope, DraftMode::Template).map_err(Failure::from)?;
    let spans = store.spans_of(&trace_id).map_err(Failure::from)?;
    // The whole id may be the beginning of a longer one.
    let judged = outcome.runs.iter().find(|run| run.diagnosis.trace_id == trace_id);
    let unjudged = outcome.unjudged.iter().find(|run| run.trace_id == trace_id);
    let explanation = Explanation {
        diagnosis: judged.map(|run| &run.diagnosis),
        unjudged: unjudged.map(|run| run.reason.as_str()),
        nodes: report::tree_nodes(&spans, judged),
        derivations: judged.map(derivations).unwrap_or_default(),
    };
    drop(store);
    let style = terminal::style(args.color, false);
    terminal::write_result(&tree::explain(texts, &explanation, style), None)?;
    Ok(exit::OK)
}

/// One statement per finding; any DuckDB client answers it on the same store.
fn derivations(run: &JudgedRun) -> Vec<Derivation> {
    run.diagnosis.findings.iter().map(|finding| Derivation { sql: sql(&run.diagnosis.trace_id, finding) }).collect()
}

fn sql(trace_id: &str, finding: &Finding) -> String {
    let view = report::active_view(finding.rule);
    // What names a finding differs by rule: see the comment on the view's column `finding`.
    let name = match finding.rule {
        Rule::UndefinedTool | Rule::ErrorHidden => finding.tool_name.as_str(),
        _ => finding.span_ids.first().map_or("", String::as_str),
    };
    format!(
        "SELECT *\nFROM {view}\n\
         WHERE trace_id = '{trace_id}'\n    AND finding = '{}'\nORDER BY start_ns, span_id;",
        name.replace('\'', "''"),
    )
}
