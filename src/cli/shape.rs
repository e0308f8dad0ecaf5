//! `taco-trace shape`: the shape of traces, and whether two shapes are the same for the rules.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};

use super::exit;
use super::failure::Failure;
use super::load;
use super::terminal::{self, ColorChoice};
use crate::ingest::document::MissingStatus;
use crate::ingest::observe::Observed;
use crate::ingest::source::{self, FileKind, Source};
use crate::ingest::{ChatCalls, Options};
use crate::model::{Rule, Verdict};
use crate::render::Texts;
use crate::render::shape::{
    self as words, AttributeView, CountView, DiffView, DifferenceView, NodeView, RuleView, ShapeView, SideView,
};
use crate::shape::{Above, Attribute, Difference, Node, NodeKey, Shape, Side, differences, need_name, scope_name};

/// `taco-trace shape` 의 인자
#[derive(Debug, clap::Args)]
#[command(subcommand_help_heading = "명령", subcommand_value_name = "명령", disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ShapeCommand,
}

#[derive(Debug, Subcommand)]
enum ShapeCommand {
    /// 트레이스의 모양을 보여줍니다: operation, 부모, 속성의 형식과 빈도, status
    #[command(
        help_template = super::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace shape show traces/"
    )]
    Show {
        /// 트레이스 파일, 폴더, 글롭, 또는 - (표준 입력)
        #[arg(help_heading = "인자", value_name = "경로", required = true)]
        paths: Vec<PathBuf>,
        #[command(flatten)]
        how: HowArgs,
    },
    /// 두 트레이스의 모양을 견줍니다(id, 시각, 값은 보지 않습니다)
    #[command(
        help_template = super::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace shape diff 옛-환경/ 새-환경/\n\
                      종료 상태: 0 같거나 규칙에 필요 없는 것만 다름 · 1 규칙에 필요한 것이 다름"
    )]
    Diff {
        /// 기준이 되는 파일, 폴더, 글롭, 또는 -
        #[arg(help_heading = "인자", value_name = "A")]
        a: PathBuf,
        /// 견줄 파일, 폴더, 글롭, 또는 -
        #[arg(help_heading = "인자", value_name = "B")]
        b: PathBuf,
        #[command(flatten)]
        how: HowArgs,
    },
}

/// 읽고 쓰는 방법
#[derive(Debug, clap::Args)]
struct HowArgs {
    /// 형식: table(기본), json, md
    #[arg(
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
    /// 현장의 기록 형식을 알려 주는 TOML 파일(여러 번 쓸 수 있습니다)
    #[arg(long, value_name = "파일")]
    convention: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 단말에서 읽는 보고서
    Table,
    /// JSON
    Json,
    /// Markdown
    Md,
}

/// Shows one shape, or where two part.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    let (text, how, code) = match &args.command {
        ShapeCommand::Show { paths, how } => {
            let read = read(paths, how)?;
            let view = shape_view(&read);
            let text = match how.format {
                Format::Json => serde_json::to_string_pretty(&view)? + "\n",
                Format::Table => words::shape(texts, &view, terminal::style(ColorChoice::Never, false)),
                Format::Md => words::shape_markdown(texts, &view),
            };
            (text, how, exit::OK)
        }
        ShapeCommand::Diff { a, b, how } => {
            let stdin = Path::new("-");
            if a == stdin && b == stdin {
                return Err(Failure::usage("shape_stdin_twice").into());
            }
            let (first, second) = (read(std::slice::from_ref(a), how)?, read(std::slice::from_ref(b), how)?);
            let view = diff_view((a, &first), (b, &second));
            let text = match how.format {
                Format::Json => serde_json::to_string_pretty(&view)? + "\n",
                Format::Table => words::diff(texts, &view, terminal::style(ColorChoice::Never, false)),
                Format::Md => words::diff_markdown(texts, &view),
            };
            (text, how, if view.affected.is_empty() { exit::OK } else { exit::FOUND })
        }
    };
    terminal::write_result(&text, how.output.as_deref())?;
    Ok(code)
}

/// A shape, and how many lines could not be read.
struct Read {
    shape: Shape,
    lines_skipped: u64,
}

/// Reads the files for their shape; no row is kept.
fn read(paths: &[PathBuf], how: &HowArgs) -> anyhow::Result<Read> {
    let options = Options {
        conventions: load::conventions_with(&how.convention)?,
        missing_status: MissingStatus::Unset,
        chat_calls: ChatCalls::LeaveOut,
    };
    let sources = source::expand(paths, FileKind::Trace).map_err(Failure::from)?;
    let files = sources.iter().filter_map(|source| match source {
        Source::File(path) => Some(path.as_path()),
        Source::Stdin => None,
    });
    terminal::refuse_over_inputs(how.output.as_deref(), files)?;
    let mut observed = Observed::with_shape();
    let lines_skipped = load::observe(sources, &options, &mut observed)?;
    let shape = observed.shaping.take().unwrap_or_default().finish();
    if shape.spans == 0 {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::unreadable("shape_no_spans").with("path", names.join(", ")).into());
    }
    Ok(Read { shape, lines_skipped })
}

fn shape_view(read: &Read) -> ShapeView {
    let Shape { spans, scopes, resource, nodes } = &read.shape;
    ShapeView {
        spans: *spans,
        lines_skipped: read.lines_skipped,
        scopes: scopes.iter().map(|(scope, spans)| count_view(&scope_name(scope), *spans)).collect(),
        resource: attribute_views(resource, *spans),
        operations: nodes.iter().map(|(key, node)| node_view(key, node)).collect(),
    }
}

fn node_view(key: &NodeKey, node: &Node) -> NodeView {
    let spans = node.spans.all();
    let read = node.readable.iter().map(|(need, spans)| count_view(need_name(*need), spans.all()));
    let status = node.status.iter().map(|(status, spans)| count_view(status.as_str(), *spans));
    let parents = |counts: &std::collections::BTreeMap<Above, u64>| {
        counts.iter().map(|(above, spans)| count_view(above.shown(), *spans)).collect()
    };
    NodeView {
        operation: key.operation.clone(),
        is_kept: key.is_kept,
        spans,
        names: node.names.iter().map(|(name, spans)| count_view(name, *spans)).collect(),
        parents: parents(&node.parents),
        kept_above: parents(&node.kept_above),
        status: status.collect(),
        read: read.collect(),
        attributes: attribute_views(&node.attributes, spans),
    }
}

fn count_view(name: &str, count: u64) -> CountView {
    CountView { name: name.to_owned(), count }
}

fn attribute_views(attributes: &std::collections::BTreeMap<String, Attribute>, of: u64) -> Vec<AttributeView> {
    let view = |(key, attribute): (&String, &Attribute)| AttributeView {
        key: key.clone(),
        types: attribute.types.iter().map(|(kind, spans)| count_view(kind, *spans)).collect(),
        present: attribute.present.all(),
        of,
        read_as: attribute.need.map(need_name),
        rules: attribute.need.map_or(&[][..], |need| need.rules()).iter().map(|rule| rule.as_str()).collect(),
    };
    attributes.iter().map(view).collect()
}

fn diff_view((a, first): (&Path, &Read), (b, second): (&Path, &Read)) -> DiffView {
    let found = differences(&first.shape, &second.shape);
    let is_affected = |rule: &Rule| found.iter().any(|one| one.rules.contains(&rule.as_str()));
    let affected = Rule::ALL
        .into_iter()
        .filter(is_affected)
        .map(|rule| RuleView { rule: rule.as_str(), label: Verdict::Found(rule).label() });
    DiffView {
        a: a.display().to_string(),
        b: b.display().to_string(),
        same: found.is_empty(),
        affected: affected.collect(),
        spans_a: first.shape.spans,
        spans_b: second.shape.spans,
        lines_skipped: first.lines_skipped + second.lines_skipped,
        differences: found.iter().map(difference_view).collect(),
    }
}

fn difference_view(one: &Difference) -> DifferenceView {
    let side = |side: &Side| SideView {
        found: side.found.iter().map(|(name, spans)| count_view(name, *spans)).collect(),
        of: side.of,
    };
    DifferenceView {
        kind: one.kind.as_str(),
        operation: one.operation.clone(),
        subject: one.subject.clone(),
        a: side(&one.a),
        b: side(&one.b),
        rules: one.rules.clone(),
    }
}
