//! `taco-trace bench`: how far the verdicts agree with labels.

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};

use super::exit;
use super::failure::Failure;
use super::load::{self, LoadArgs};
use super::terminal::{self, ColorChoice};
use crate::bench::{Given, Judged, Manifest, ManifestError, agreement, is_below, parse_manifest};
use crate::diagnose::{DraftMode, Outcome, diagnose};
use crate::ingest::source::FileKind;
use crate::model::bench::Answer;
use crate::render::{Texts, bench as words};
use crate::store::{RULE_SET, Scope};

const MANIFEST: &str = "manifest.json";
const TOOLS: &str = "tools.json";

/// `taco-trace bench` 의 인자
#[derive(Debug, clap::Args)]
#[command(subcommand_help_heading = "명령", subcommand_value_name = "명령", disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// 판정을 manifest.json 의 기대 판정과 견주어 혼동 행렬로 보여줍니다
    #[command(
        help_template = super::HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace bench labelled traces/ --fail-below 90"
    )]
    Labelled(LabelledArgs),
}

#[derive(Debug, clap::Args)]
struct LabelledArgs {
    /// 트레이스와 manifest.json 이 있는 폴더(tools.json 이 있으면 함께 읽습니다)
    #[arg(help_heading = "인자", value_name = "폴더")]
    folder: PathBuf,
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
    /// 판정이 맞은 비율이 이 퍼센트보다 낮으면 종료 상태를 1 로 합니다
    #[arg(long, value_name = "퍼센트", value_parser = percent)]
    fail_below: Option<f64>,
    #[command(flatten)]
    load: LoadArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// 단말에서 읽는 표
    Table,
    /// 마크다운
    Md,
    /// JSON 객체 하나
    Json,
}

fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| (0.0..=100.0).contains(number)).ok_or_else(|| "0 에서 100 까지의 수를 적으세요".to_owned())
}

/// Judges the folder and compares.
pub(crate) fn run(texts: &Texts, args: Args) -> anyhow::Result<u8> {
    let BenchCommand::Labelled(args) = args.command;
    labelled(texts, args)
}

fn labelled(texts: &Texts, mut args: LabelledArgs) -> anyhow::Result<u8> {
    let path = args.folder.join(MANIFEST);
    let bytes = std::fs::read(&path).map_err(|error| not_readable(&path, &error))?;
    let manifest = String::from_utf8(bytes)
        .map_err(|error| ManifestError::NotJson {
            line: error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|byte| **byte == b'\n').count()
                as u64
                + 1,
            message: "UTF-8 이 아닙니다".to_owned(),
        })
        .and_then(|text| parse_manifest(&text))
        .map_err(|error| manifest_failure(&path, &error))?;
    let beside = args.folder.join(TOOLS);
    if args.load.tools.is_none() && beside.is_file() {
        args.load.tools = Some(beside);
    }
    let inputs = trace_files(&args.folder, &manifest, args.load.tools.as_deref())?;
    let read = inputs.iter().chain(&args.load.tools).chain([&path]).map(PathBuf::as_path);
    terminal::refuse_over_inputs(args.output.as_deref(), read)?;
    let mut scope = Scope::default();
    let opened = load::open_store(texts, &inputs, None, &args.load, &mut scope)?;
    let outcome = diagnose(&opened.store, texts, &scope, DraftMode::Off).map_err(Failure::from)?;
    drop(opened);
    let name = path.display().to_string();
    let is_file = |file: &str| args.folder.join(file).is_file();
    let found = agreement(&manifest, &judged(outcome), (&name, RULE_SET), is_file);
    let text = match args.format {
        Format::Table => words::table(texts, &found, terminal::style(ColorChoice::Never, args.output.is_some())),
        Format::Md => words::markdown(texts, &found),
        Format::Json => serde_json::to_string_pretty(&found)? + "\n",
    };
    terminal::write_result(&text, args.output.as_deref())?;
    let failed = args.fail_below.is_some_and(|percent| is_below(&found.verdict, percent));
    Ok(if failed { exit::FOUND } else { exit::OK })
}

fn not_readable(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        std::io::ErrorKind::NotFound => Failure::unreadable("manifest_missing").with("path", path.display()),
        _ => load::unreadable(path, error),
    }
}

fn manifest_failure(path: &Path, error: &ManifestError) -> Failure {
    let (kind, line, message) = match error {
        ManifestError::NotJson { line, message } => ("manifest_not_json", line, message),
        ManifestError::Shape { line, message } => ("manifest_shape", line, message),
        ManifestError::UnknownVerdict { line, name } => ("manifest_verdict", line, name),
        ManifestError::Contradiction { line, trace_id } => ("manifest_contradiction", line, trace_id),
    };
    Failure::unreadable(kind).with("path", path.display()).with("line", line).with("message", message)
}

/// The files that the manifest names and that are there; where it names none, all of the folder but the manifest and
/// the tools.
fn trace_files(folder: &Path, manifest: &Manifest, tools: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let mut files: Vec<PathBuf> = Vec::new();
    if manifest.labels.iter().any(|label| label.file.is_some()) {
        for file in manifest.labels.iter().filter_map(|label| label.file.as_ref()) {
            let path = folder.join(file);
            if path.is_file() && !files.contains(&path) {
                files.push(path);
            }
        }
    } else {
        let listed = std::fs::read_dir(folder).map_err(|error| load::unreadable(folder, &error))?;
        let is_other = |path: &Path| path.ends_with(MANIFEST) || path.ends_with(TOOLS) || Some(path) == tools;
        files.extend(
            listed
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| path.is_file() && FileKind::Trace.has_name(path) && !is_other(path)),
        );
        files.sort();
    }
    if files.is_empty() {
        return Err(Failure::unreadable("manifest_no_files").with("path", folder.display()));
    }
    Ok(files)
}

/// What was said of each run, those that could not be judged included.
pub(super) fn judged(outcome: Outcome) -> Vec<Judged> {
    let judged = outcome.runs.into_iter().map(|run| Judged {
        trace_id: run.diagnosis.trace_id,
        given: Given { answer: Answer::Judged(run.diagnosis.verdict), also: run.diagnosis.also_found },
        notes: run.diagnosis.notes,
    });
    let unjudged = outcome.unjudged.into_iter().map(|row| Judged {
        trace_id: row.trace_id,
        given: Given { answer: Answer::Unjudged, also: Vec::new() },
        notes: vec![row.reason],
    });
    judged.chain(unjudged).collect()
}
