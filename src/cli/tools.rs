//! `taco-trace tools`: a tools.json out of traces, and where a tools.json and traces part.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde::Serialize;

use super::apply_draft;
use super::doctor::Format;
use super::exit;
use super::failure::{Failure, tools_failure};
use super::load;
use super::terminal::{self, ColorChoice};
use crate::ingest::document::MissingStatus;
use crate::ingest::drift::{Difference, Drift, drift};
use crate::ingest::observe::Observed;
use crate::ingest::source::{self, FileKind};
use crate::ingest::tools::{ToolDefaults, parse_tools};
use crate::ingest::{ChatCalls, Options};
use crate::model::ToolSet;
use crate::render::Texts;
use crate::render::drift::{DifferenceView, DriftView, Extracted};

/// `taco-trace tools` 의 인자
#[derive(Debug, clap::Args)]
#[command(subcommand_help_heading = "명령", subcommand_value_name = "명령", disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ToolsCommand,
}

#[derive(Debug, Subcommand)]
enum ToolsCommand {
    /// 트레이스에 기록된 도구 정의로 tools.json 을 만듭니다
    #[command(
        help_template = super::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace tools from-trace traces/ > tools.json"
    )]
    FromTrace {
        #[command(flatten)]
        input: InputArgs,
        /// 결과를 쓸 파일(기본은 표준 출력)
        #[arg(long, value_name = "파일")]
        output: Option<PathBuf>,
        /// 모든 도구에 적을 제한 시간(밀리초). 없으면 적지 않습니다
        #[arg(long, value_name = "밀리초", value_parser = clap::value_parser!(i64).range(1..))]
        default_timeout_ms: Option<i64>,
        /// 모든 도구에 적을 재시도 한도(첫 호출 포함). 없으면 적지 않습니다
        #[arg(long, value_name = "번", value_parser = clap::value_parser!(i64).range(1..))]
        default_max_retries: Option<i64>,
        /// 알리는 글을 내지 않습니다
        #[arg(short, long)]
        quiet: bool,
    },
    /// tools.json 과 트레이스의 도구 정의가 어긋난 곳을 보여줍니다
    #[command(
        help_template = super::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace tools check traces/ --tools tools.json --fail-on-drift"
    )]
    Check {
        #[command(flatten)]
        input: InputArgs,
        /// 견줄 도구 정의 파일
        #[arg(long, value_name = "파일")]
        tools: PathBuf,
        /// 형식: table(기본) 또는 json
        #[arg(
            long,
            value_name = "형식",
            value_enum,
            default_value_t = Format::Table,
            hide_possible_values = true,
            hide_default_value = true
        )]
        format: Format,
        /// 어긋난 곳이 있으면 종료 상태를 1 로 합니다
        #[arg(long)]
        fail_on_drift: bool,
    },
    /// 판정이 낸 도구 설명 수정안을 tools.json 의 사본에 씁니다(바뀌는 곳을 먼저 보여줍니다)
    #[command(
        help_template = super::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace tools apply-draft traces/ --tools tools.json -o new-tools.json"
    )]
    ApplyDraft(Box<apply_draft::Args>),
}

/// 트레이스를 읽는 인자
#[derive(Debug, clap::Args)]
struct InputArgs {
    /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력)
    #[arg(help_heading = "인자", value_name = "경로", required = true)]
    paths: Vec<PathBuf>,
    /// 현장의 기록 형식을 알려 주는 TOML 파일(여러 번 쓸 수 있습니다)
    #[arg(long, value_name = "파일")]
    convention: Vec<PathBuf>,
}

/// Writes a tools.json, or compares one.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.command {
        ToolsCommand::FromTrace { input, output, default_timeout_ms, default_max_retries, quiet } => {
            let observed = observe(input)?;
            let limits = ToolDefaults { timeout_ms: *default_timeout_ms, max_retries: *default_max_retries };
            let (rows, extracted) = extract(&observed, limits);
            if rows.is_empty() {
                let names = extracted.names_only.join(", ");
                return Err(Failure::unreadable("no_definitions").with("found", names).into());
            }
            terminal::write_result(&(serde_json::to_string_pretty(&rows)? + "\n"), output.as_deref())?;
            if !quiet {
                terminal::tell(&crate::render::drift::extracted(texts, &extracted));
            }
            Ok(exit::OK)
        }
        ToolsCommand::ApplyDraft(args) => apply_draft::run(texts, args),
        ToolsCommand::Check { input, tools, format, fail_on_drift } => {
            let set = read_set(tools)?;
            let found = drift(&observe(input)?, &set);
            let view = drift_view(&found);
            let text = match format {
                Format::Json => serde_json::to_string_pretty(&view)? + "\n",
                Format::Table => crate::render::drift::drift(texts, &view, terminal::style(ColorChoice::Never, false)),
            };
            terminal::write_result(&text, None)?;
            Ok(if *fail_on_drift && !found.differences.is_empty() { exit::FOUND } else { exit::OK })
        }
    }
}

/// Reads the files for what they show; no row is kept.
fn observe(input: &InputArgs) -> anyhow::Result<Observed> {
    let options = Options {
        conventions: load::conventions_with(&input.convention)?,
        // A call is a call whether its status was written or not.
        missing_status: MissingStatus::Unset,
        chat_calls: ChatCalls::Read,
    };
    let mut observed = Observed::default();
    let sources = source::expand(&input.paths, FileKind::Trace).map_err(Failure::from)?;
    load::observe(sources, &options, &mut observed)?;
    Ok(observed)
}

fn read_set(path: &Path) -> anyhow::Result<ToolSet> {
    let text = std::fs::read_to_string(path).map_err(|error| load::unreadable(path, &error))?;
    let name = path.display().to_string();
    let (set, _) = parse_tools(&text, &name, ToolDefaults::default()).map_err(|error| tools_failure(path, &error))?;
    Ok(set)
}

/// A definition as schemas/tool_definition.schema.json has it.
#[derive(Debug, Serialize)]
struct ToolRow {
    tool_name: String,
    description: String,
    json_schema: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_retries: Option<i64>,
}

fn extract(observed: &Observed, limits: ToolDefaults) -> (Vec<ToolRow>, Extracted) {
    let mut rows = Vec::new();
    let mut found = Extracted { unreadable: observed.tools.unreadable, ..Extracted::default() };
    let chosen = observed.tools.chosen();
    let defined = |name: &String| chosen.iter().any(|chosen| chosen.tool.tool_name == *name);
    found.undefined = observed.called.keys().filter(|name| !defined(name)).cloned().collect();
    for chosen in &chosen {
        let tool = &chosen.tool;
        if chosen.schemas > 1 {
            found.several.push(tool.tool_name.clone());
        }
        match &tool.json_schema {
            None => found.names_only.push(tool.tool_name.clone()),
            Some(json_schema) => rows.push(ToolRow {
                tool_name: tool.tool_name.clone(),
                description: tool.description.clone(),
                json_schema: json_schema.clone(),
                timeout_ms: limits.timeout_ms,
                max_retries: limits.max_retries,
            }),
        }
    }
    found.written = rows.len() as u64;
    (rows, found)
}

fn drift_view(found: &Drift) -> DriftView {
    let of_tool = |(tool, differences): (&String, &Vec<Difference>)| {
        differences.iter().map(|difference| difference_view(tool, difference)).collect::<Vec<_>>()
    };
    DriftView {
        tools: found.tools,
        recorded: found.recorded,
        compared: found.compared,
        differences: found.differences.iter().flat_map(of_tool).collect(),
        never_called: found.never_called.clone(),
    }
}

fn difference_view(tool: &str, difference: &Difference) -> DifferenceView {
    let mut view = DifferenceView { tool: tool.to_owned(), code: difference.code(), ..DifferenceView::default() };
    match difference {
        Difference::NotInTools | Difference::NotInTraces | Difference::Description | Difference::SchemaOther => {}
        Difference::Undefined { calls, nearest } => {
            view.calls = Some(*calls);
            view.nearest.clone_from(nearest);
        }
        Difference::KeyAdded { key } | Difference::KeyRemoved { key } | Difference::KeyInside { key } => {
            view.key = Some(key.clone());
        }
        Difference::KeyType { key, tools, traces } => {
            view.key = Some(key.clone());
            view.in_tools = Some(tools.clone());
            view.in_traces = Some(traces.clone());
        }
        Difference::KeyRequired { key, in_traces } => {
            view.key = Some(key.clone());
            view.required_in_traces = Some(*in_traces);
        }
    }
    view
}
