//! `taco-trace calls`: whether recorded calls kept to their specifications, and what changed since the last time.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde::Serializer as _;
use serde::ser::SerializeSeq as _;

use super::failure::{Failure, tools_failure};
use super::load::{self, DEFAULT_STORE, IssuesArg, Loaded, StoreArg};
use super::terminal::{self, ColorChoice, ResultWriter};
use super::{HELP_TEMPLATE, exit};
use crate::calls::{PAGE, Refused, Written, for_each, required_arguments, verify};
use crate::digest::{HashedReader, sha256_hex, sha256_hex_of};
use crate::ingest::calls::{self, CallBatch, SpecTable};
use crate::ingest::source::{self, FileKind, Input, Source};
use crate::ingest::tools::{ToolDefaults, inspect_params, parse_tools};
use crate::model::{
    CallSpec, CallVerdictKind, Issue, IssueCode, RecordedCall, Severity, SpecGap, SpecGapReason, ToolDefinition,
};
use crate::render::calls::{
    CHANGES, ChangeView, ChangedCall, Comparison, InputView, Report, RunView, Totals, UnjudgedView, compare,
    compare_markdown, csv_text, demonstration, list, told_of_run, unjudged_head, unjudged_line, unjudged_more,
};
use crate::render::layout::{plain_json, wrap_lines};
use crate::render::{Texts, errors, issues};
use crate::store::{CallCheck, CallInput, CallRun, KeptCheck, Store, StoreError, korean_time};

/// How many calls that could not be judged are told.
const TOLD_UNJUDGED: i64 = 20;
/// Cells of a line on standard error.
const TOLD_CELLS: usize = 80;
/// How many calls of each change a report for people lists.
const LISTED_CHANGES: i64 = 20;
/// How many calls with one verdict a report for people lists.
const LISTED_CALLS: i64 = 20;
/// What `--fail-on` calls every verdict that deviates.
const ANY: &str = "any";
/// What `--fail-on` calls the calls without a verdict.
const UNJUDGED: &str = "unjudged";
/// What stands for a path where calls come from the store.
const SPANS: &str = "spans";
/// Digits of a check's name.
const RUN_DIGITS: usize = 12;

/// `taco-trace calls` 의 인자
#[derive(Debug, clap::Args)]
#[command(subcommand_help_heading = "명령", subcommand_value_name = "명령", disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: CallsCommand,
}

#[derive(Debug, Subcommand)]
enum CallsCommand {
    /// 기록된 도구 호출의 인자가 명세를 지켰는지 판정합니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace calls check calls.csv --specs tool_specs.json\n    \
            taco-trace calls check --from-spans --specs-from-tools --db taco.duckdb --fail-on any"
    )]
    Check(CheckArgs),
    /// 저장소에 남긴 검사 둘을 견주어 새로 어긋난 호출과 고쳐진 호출을 사유별로 보여줍니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace calls compare --db taco.duckdb --format md"
    )]
    Compare {
        /// 앞 검사와 뒤 검사의 이름(앞부분만 적어도 됩니다). 없으면 마지막 두 검사
        #[arg(help_heading = "인자", value_name = "검사", num_args = 2)]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreArg,
        /// 형식: table(기본), md, json, jsonl, csv
        #[arg(
            short,
            long,
            value_name = "형식",
            value_enum,
            default_value_t = CompareFormat::Table,
            hide_possible_values = true,
            hide_default_value = true
        )]
        format: CompareFormat,
        /// 결과를 이 파일에 씁니다
        #[arg(short, long, value_name = "파일")]
        output: Option<PathBuf>,
    },
    /// 저장소에 남긴 검사를 보여줍니다
    #[command(help_template = HELP_TEMPLATE, next_help_heading = "옵션")]
    List {
        #[command(flatten)]
        store: StoreArg,
        /// 형식: table(기본) 또는 json
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
    /// 저장소에 남긴 검사를 지웁니다
    #[command(
        help_template = HELP_TEMPLATE,
        next_help_heading = "옵션",
        after_help = "예: taco-trace calls delete 9f6de0dfeef1 --db taco.duckdb"
    )]
    Delete {
        /// 지울 검사의 이름(앞부분만 적어도 됩니다)
        #[arg(help_heading = "인자", value_name = "검사", required = true)]
        runs: Vec<String>,
        #[command(flatten)]
        store: StoreArg,
    },
}

/// `taco-trace calls check` 의 인자
#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// 호출 기록(JSON lines, JSON 배열, CSV; UTF-8 또는 CP949; gz·zst 도 됩니다) 또는 - (표준 입력)
    #[arg(
        help_heading = "인자",
        value_name = "호출",
        required_unless_present = "from_spans",
        conflicts_with = "from_spans"
    )]
    calls: Vec<PathBuf>,
    /// 도구 인자 명세(같은 형식)
    #[arg(
        long,
        value_name = "파일",
        required_unless_present = "specs_from_tools",
        conflicts_with = "specs_from_tools"
    )]
    specs: Option<PathBuf>,
    /// 저장소의 도구 호출 span 을 인자마다 한 행으로 풀어 판정합니다
    #[arg(long)]
    from_spans: bool,
    /// 도구 정의의 enum·maximum·required 를 명세로 씁니다. --tools 가 없으면 저장소의 것을 씁니다
    #[arg(long)]
    specs_from_tools: bool,
    /// --specs-from-tools 가 읽을 도구 정의 파일
    #[arg(long, value_name = "파일", conflicts_with = "specs")]
    tools: Option<PathBuf>,
    /// 검사를 남길 저장소 파일. 없으면 남기지 않으며, 저장소에서 읽을 때는 taco.duckdb 를
    /// 읽기만 합니다
    #[arg(long, value_name = "파일")]
    db: Option<PathBuf>,
    /// 출력 형식: table(기본), json, jsonl, csv, md
    #[arg(
        short,
        long,
        value_name = "형식",
        value_enum,
        default_value_t = CheckFormat::Table,
        hide_possible_values = true,
        hide_default_value = true
    )]
    format: CheckFormat,
    /// 결과를 이 파일에 씁니다
    #[arg(short, long, value_name = "파일")]
    output: Option<PathBuf>,
    /// 명세를 지킨 호출도 보여줍니다(table, md)
    #[arg(long)]
    all: bool,
    /// 판정마다 20건까지 보이는 호출(table, md)과 20건까지 보이는 판정하지 않은 호출을
    /// 모두 보여줍니다
    #[arg(long)]
    all_rows: bool,
    /// 이 판정이 있으면 종료 상태를 1 로 합니다: any(어긋난 판정 모두), unjudged, 또는 판정(쉼표로 여럿)
    #[arg(long, value_name = "판정", value_delimiter = ',')]
    fail_on: Vec<String>,
    /// 입력에 문제가 하나라도 있으면 종료 상태를 1 로 합니다
    #[arg(long)]
    strict: bool,
    /// 문제 목록: first(20건, 기본) 또는 all
    #[arg(
        long,
        value_name = "범위",
        value_enum,
        default_value_t = IssuesArg::First,
        hide_possible_values = true,
        hide_default_value = true
    )]
    issues: IssuesArg,
    /// 남긴 검사의 이름을 알리지 않습니다
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// 단말에서 읽는 보고서
    Table,
    /// JSON 배열
    Json,
    /// 한 줄에 판정 하나
    Jsonl,
    /// CSV
    Csv,
    /// 마크다운
    Md,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CompareFormat {
    /// 단말에서 읽는 표
    Table,
    /// 마크다운
    Md,
    /// JSON 객체 하나
    Json,
    /// 한 줄에 달라진 호출 하나
    Jsonl,
    /// CSV
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ListFormat {
    /// 단말에서 읽는 표
    Table,
    /// JSON 배열
    Json,
}

/// Runs the command.
pub(crate) fn run(texts: &Texts, args: &Args) -> anyhow::Result<u8> {
    match &args.command {
        CallsCommand::Check(args) => check(texts, args),
        CallsCommand::Compare { runs, store, format, output } => {
            let store = kept(store.open_to_read())?;
            let (before, after) = two_checks(&store.call_checks().map_err(Failure::from)?, runs)?;
            let for_people = matches!(format, CompareFormat::Table | CompareFormat::Md);
            let limit = if for_people { LISTED_CHANGES } else { i64::MAX };
            let comparison = comparison(texts, &store, &before, &after, limit).map_err(Failure::from)?;
            drop(store);
            let text = match format {
                CompareFormat::Table => {
                    compare(texts, &comparison, terminal::style(ColorChoice::Never, output.is_some()))
                }
                CompareFormat::Md => compare_markdown(texts, &comparison),
                CompareFormat::Json => serde_json::to_string_pretty(&comparison)? + "\n",
                CompareFormat::Jsonl => changed_lines(&comparison)?,
                CompareFormat::Csv => changed_csv(&comparison)?,
            };
            terminal::write_result(&text, output.as_deref())?;
            Ok(exit::OK)
        }
        CallsCommand::List { store, format } => {
            let checks = kept(store.open_to_read())?.call_checks().map_err(Failure::from)?;
            let runs: Vec<RunView> = checks.iter().map(run_view).collect();
            let text = match format {
                ListFormat::Table => list(texts, &runs, terminal::style(ColorChoice::Never, false)),
                ListFormat::Json => serde_json::to_string_pretty(&runs)? + "\n",
            };
            terminal::write_result(&text, None)?;
            Ok(exit::OK)
        }
        CallsCommand::Delete { runs, store } => {
            let store = kept(store.open())?;
            let checks = store.call_checks().map_err(Failure::from)?;
            let found: Vec<KeptCheck> =
                runs.iter().map(|name| find_check(&checks, name)).collect::<Result<_, Failure>>()?;
            for check in &found {
                store.delete_call_check(&check.call_run).map_err(Failure::from)?;
                tell(&told_of_run(texts, "deleted", &check.call_run));
            }
            Ok(exit::OK)
        }
    }
}

/// A store opened for the checks in it.
fn kept(opened: Result<Store, Failure>) -> Result<Store, Failure> {
    opened.map_err(|failure| match failure.kind {
        "store_missing" => Failure { kind: "call_store_missing", ..failure },
        _ => failure,
    })
}

/// The calls that changed, a JSON object a line.
fn changed_lines(comparison: &Comparison) -> anyhow::Result<String> {
    #[derive(serde::Serialize)]
    struct Line<'c> {
        change: &'c str,
        #[serde(flatten)]
        call: &'c ChangedCall,
    }
    let mut text = String::new();
    for change in &comparison.changes {
        for call in &change.list {
            text += &serde_json::to_string(&Line { change: &change.change, call })?;
            text.push('\n');
        }
    }
    Ok(text)
}

/// The same as CSV.
fn changed_csv(comparison: &Comparison) -> anyhow::Result<String> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    rows.write_record(["change", "call_no", "before", "after"])?;
    for change in &comparison.changes {
        for call in &change.list {
            let (number, before, after) = (csv_text(&call.call_no), call.before.join(","), call.after.join(","));
            rows.write_record([&change.change, &number, &before, &after])?;
        }
    }
    Ok(String::from_utf8(rows.into_inner()?)?)
}

/// Why a check ends early.
enum Halt {
    Failure(Failure),
    Other(anyhow::Error),
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Failure(error.into())
    }
}

impl From<Halt> for anyhow::Error {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Failure(failure) => failure.into(),
            Halt::Other(error) => error,
        }
    }
}

fn check(texts: &Texts, args: &CheckArgs) -> anyhow::Result<u8> {
    let fail_on = parse_fail_on(&args.fail_on)?;
    let sources = source::expand(&args.calls, FileKind::Table).map_err(Failure::from)?;
    if sources.contains(&Source::Stdin) && args.specs.as_ref().is_some_and(|path| path.as_os_str() == "-") {
        return Err(Failure::usage("stdin_twice").into());
    }
    refuse_output(args, &sources)?;
    let (store, refused) = open_store(args)?;
    let now_ns = load::now_ns();
    let call_run = run_name(now_ns, args);
    let spill = std::env::temp_dir().join(format!("taco-trace-{}", std::process::id()));
    let mut check = store.begin_call_check(&call_run, &spill).map_err(Failure::from)?;
    let mut loading = Loading {
        texts,
        all: args.issues == IssuesArg::All,
        loaded: Loaded::default(),
        names: Vec::new(),
        unreadable: 0,
        unreadable_specs: 0,
    };
    let (specs, gaps) = loading.specs(&mut check, &store, args)?;
    if args.from_spans {
        loading.spans(&mut check, &specs, &gaps)?;
    }
    for source in &sources {
        loading.calls(&mut check, source)?;
    }
    tell_issues(texts, &loading.loaded);
    if check.calls() == 0 && loading.unreadable > 0 {
        return Err(Failure::unreadable("no_call_rows").into());
    }
    check.judge().map_err(Failure::from)?;
    let totals = Totals {
        unreadable: loading.unreadable,
        unreadable_specs: loading.unreadable_specs,
        ..verified(texts, &check, specs.len())?
    };
    tell_unjudged(texts, &check, &loading.names, if args.all_rows { i64::MAX } else { TOLD_UNJUDGED })?;
    let failed =
        totals.verdicts.iter().zip(CallVerdictKind::ALL).any(|(count, kind)| *count > 0 && fail_on.holds(kind))
            || (totals.unjudged > 0 && fail_on.unjudged)
            || (args.strict && loading.loaded.issues > 0);
    let written = write(texts, &check, totals, args);
    let is_written = written.as_ref().map_or_else(is_broken_pipe, |()| true);
    let mut status = if failed { exit::FOUND } else { exit::OK };
    if args.db.is_none() {
        return written.map(|()| status);
    }
    if check.calls() == 0 || !is_written {
        tell(&told_of_run(texts, if check.calls() == 0 { "nothing_kept" } else { "not_kept" }, ""));
    }
    let run = CallRun { checked_at: korean_time(now_ns), checked_ns: now_ns, issues: loading.loaded.issues };
    let kept = match refused {
        Some(failure) => Err(failure),
        None if check.calls() == 0 || !is_written => return written.map(|()| status),
        None => check.keep(&run).map_err(Failure::from),
    };
    match kept {
        Ok(()) if args.quiet => {}
        Ok(()) => tell(&told_of_run(texts, "kept", &call_run)),
        // The verdicts are there all the same: a full disk or a store that is held must not keep them from being read.
        Err(failure) => {
            tell(&told_of_run(texts, "store_refused", ""));
            terminal::tell(&errors::error(texts, failure.kind, &failure.values));
            status = exit::UNREADABLE;
        }
    }
    written.map(|()| status)
}

/// Whether the reader of the output has what it wanted (`| head`).
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(is_closed))
}

/// Refuses a result over the store or anything that is read.
fn refuse_output(args: &CheckArgs, sources: &[Source]) -> Result<(), Failure> {
    let output = args.output.as_deref();
    terminal::refuse_over_inputs(output, store_of(args))
        .map_err(|failure| Failure { kind: "output_is_store", ..failure })?;
    let calls = sources.iter().map(|source| match source {
        Source::File(path) => path.as_path(),
        // Standard input may come from a file.
        Source::Stdin => Path::new("/dev/stdin"),
    });
    terminal::refuse_over_inputs(output, calls.chain(args.specs.as_deref()).chain(args.tools.as_deref()))
}

/// Whether calls or specifications come from a store.
fn reads_store(args: &CheckArgs) -> bool {
    args.from_spans || (args.specs_from_tools && args.tools.is_none())
}

/// The store that is read, or that the check is kept in.
fn store_of(args: &CheckArgs) -> Option<&Path> {
    args.db.as_deref().or_else(|| reads_store(args).then(|| Path::new(DEFAULT_STORE)))
}

/// The store to work in, and why the check cannot be kept in the one that was named.
fn open_store(args: &CheckArgs) -> Result<(Store, Option<Failure>), Failure> {
    let Some(path) = store_of(args) else { return Ok((Store::in_memory()?, None)) };
    let reads = reads_store(args);
    if args.db.is_none() {
        return Ok((Store::open_to_read(path)?, None));
    }
    let opened = if reads { Store::open_existing(path) } else { Store::open(path) };
    match opened {
        Ok(store) => Ok((store, None)),
        Err(missing @ StoreError::Missing { .. }) => Err(missing.into()),
        // The calls can be judged all the same.
        Err(error) => {
            let store = if reads { Store::open_to_read(path)? } else { Store::in_memory()? };
            Ok((store, Some(error.into())))
        }
    }
}

/// A name that no other check has: of the time and what it was asked.
fn run_name(now_ns: i64, args: &CheckArgs) -> String {
    let asked = format!("{now_ns} {} {:?} {:?}", std::process::id(), args.calls, args.specs);
    sha256_hex(asked.as_bytes()).chars().take(RUN_DIGITS).collect()
}

/// Reads inputs into a check.
struct Loading<'t> {
    texts: &'t Texts,
    /// Whether all issues are told.
    all: bool,
    loaded: Loaded,
    /// Names of the inputs by number.
    names: Vec<String>,
    /// Rows of calls, and of specifications, that could not be read; a file that could not counts as one.
    unreadable: i64,
    unreadable_specs: i64,
}

impl Loading<'_> {
    fn begin(
        &mut self,
        check: &mut CallCheck<'_>,
        role: &'static str,
        path: &str,
        sha256: &str,
    ) -> Result<i64, Failure> {
        self.names.push(path.to_owned());
        Ok(check.add_input(&CallInput { role, path: path.to_owned(), sha256: sha256.to_owned() })?)
    }

    fn note(&mut self, check: &CallCheck<'_>, path: &str, found: &[Issue]) -> Result<(), StoreError> {
        self.loaded.note_issues(self.texts, path, found, self.all);
        let lost =
            |issue: &&Issue| issue.code.severity() == Severity::DataLoss && issue.code != IssueCode::CallRepeated;
        self.unreadable += found.iter().filter(lost).count() as i64;
        let texts = self.texts;
        check.add_issues(found, path, &|code, detail| issues::reason(texts, code, detail))
    }

    /// The specifications that calls are held against.
    fn specs(
        &mut self,
        check: &mut CallCheck<'_>,
        store: &Store,
        args: &CheckArgs,
    ) -> anyhow::Result<(Vec<CallSpec>, Vec<SpecGap>)> {
        let (name, sha256, table) = match &args.specs {
            Some(path) => {
                let source = Source::File(path.clone());
                let source = if path.as_os_str() == "-" { Source::Stdin } else { source };
                let (input, hash) = open(&source)?;
                let start = input.bom_bytes();
                let read = calls::read_specs(input, start);
                (source.name(), hash.hex(), read)
            }
            None => tools_as_specs(store, args.tools.as_deref())?,
        };
        let input = self.begin(check, "specs", &name, &sha256)?;
        let SpecTable { specs, gaps, issues } = calls::settle_specs(table);
        self.note(check, &name, &issues).map_err(Failure::from)?;
        self.unreadable_specs = std::mem::take(&mut self.unreadable);
        if specs.is_empty() && gaps.iter().all(|gap| gap.reason != SpecGapReason::NoArguments) {
            tell_issues(self.texts, &self.loaded);
            return Err(Failure::unreadable("no_call_specs").with("path", name).into());
        }
        check.add_specs(&specs, input).map_err(Failure::from)?;
        check.add_spec_gaps(&gaps, input).map_err(Failure::from)?;
        Ok((specs, gaps))
    }

    /// The calls of a file.
    fn calls(&mut self, check: &mut CallCheck<'_>, source: &Source) -> anyhow::Result<()> {
        let name = source.name();
        let (opened, hash) = open(source)?;
        let start = opened.bom_bytes();
        let input = self.begin(check, "calls", &name, "")?;
        let issues = self.loaded.issues;
        let rows = calls::read_calls(opened, start, &mut |batch| self.add(check, &name, input, batch));
        if rows.map_err(Failure::from)? == 0 && self.loaded.issues == issues {
            tell(&told_of_run(self.texts, "empty_input", &name));
        }
        check.set_sha256(input, &hash.hex()).map_err(Failure::from)?;
        Ok(())
    }

    fn add(&mut self, check: &mut CallCheck<'_>, name: &str, input: i64, batch: CallBatch) -> Result<(), StoreError> {
        let mut found = batch.issues;
        found.extend(check.add_calls(&batch.calls, input)?);
        // Where they stand in the file: those that only the store knows came after the others.
        found.sort_by_key(|issue| issue.line);
        self.note(check, name, &found)
    }

    /// The calls of the spans in the store, an argument each.
    fn spans(&mut self, check: &mut CallCheck<'_>, specs: &[CallSpec], gaps: &[SpecGap]) -> anyhow::Result<()> {
        let required = required_arguments(specs, gaps);
        let input = self.begin(check, "calls", SPANS, "")?;
        let total = check.order_spans().map_err(Failure::from)?;
        let mut after = 0;
        let mut digest = crate::digest::TextsHash::default();
        while after < total {
            let last = after + PAGE;
            let mut rows: Vec<RecordedCall> = Vec::new();
            for span in check.spans(after, last).map_err(Failure::from)? {
                let row = span.place.unsigned_abs();
                for text in [Some(span.id.as_str()), Some(&span.tool_name), span.args_key.as_deref()] {
                    digest.add(text);
                }
                let args_key = span.args_key.as_deref();
                rows.extend(calls::calls_of_span(&span.id, &span.tool_name, args_key, &required, row));
            }
            let batch = CallBatch { calls: rows, issues: Vec::new() };
            self.add(check, SPANS, input, batch).map_err(Failure::from)?;
            after = last;
        }
        check.set_sha256(input, &digest.hex()).map_err(Failure::from)?;
        Ok(())
    }
}

/// An input to read, and the hash of what is read of it.
fn open(source: &Source) -> Result<(Input, crate::digest::ReadHash), Failure> {
    let (reader, size): (Box<dyn Read + Send>, Option<u64>) = match source {
        Source::Stdin => (Box::new(io::stdin()), None),
        Source::File(path) => {
            let file = File::open(path).map_err(|error| load::unreadable(path, &error))?;
            let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len());
            (Box::new(file), size)
        }
    };
    let (reader, hash) = HashedReader::new(reader);
    let input = Input::new(Box::new(reader), size)
        .map_err(|error| Failure::unreadable("file_not_readable").with("path", source.name()).with("message", error))?;
    Ok((input, hash))
}

/// Specifications out of a tools.json, or out of the tool set in force in the store: name, version and rows.
fn tools_as_specs(store: &Store, tools: Option<&Path>) -> anyhow::Result<(String, String, SpecTable)> {
    if let Some(path) = tools {
        let text = std::fs::read_to_string(path).map_err(|error| load::unreadable(path, &error))?;
        let name = path.display().to_string();
        let (set, found) =
            parse_tools(&text, &name, ToolDefaults::default()).map_err(|error| tools_failure(path, &error))?;
        let mut table = calls::specs_of_tools(&set.tools);
        table.issues.splice(0..0, found);
        let sha256 = sha256_hex_of(text.as_bytes()).map_err(|error| load::unreadable(path, &error))?;
        return Ok((name, sha256, table));
    }
    let Some(set) = store.tool_set_in_force().map_err(Failure::from)? else {
        return Err(Failure::unreadable("no_tools_in_store").into());
    };
    let tools: Vec<ToolDefinition> = store
        .tools(&set)
        .map_err(Failure::from)?
        .into_iter()
        .map(|tool| ToolDefinition { params: inspect_params(&tool.json_schema), ..tool })
        .collect();
    Ok(("tools".to_owned(), set, calls::specs_of_tools(&tools)))
}

/// Writes to standard error, no wider than is read well.
fn tell(text: &str) {
    terminal::tell(&wrap_lines(text, TOLD_CELLS));
}

/// Tells what was left out of the inputs, or looks wrong in them.
fn tell_issues(texts: &Texts, loaded: &Loaded) {
    if !loaded.told.is_empty() {
        tell(&issues::skipped_lines(texts, &loaded.told, loaded.issues));
    }
}

/// Looks at all that is said before any of it is shown, and counts it.
fn verified(texts: &Texts, check: &CallCheck<'_>, specs: usize) -> anyhow::Result<Totals> {
    let mut totals = Totals {
        calls: check.calls(),
        specs: specs as i64,
        left_out: check.left_out(),
        unjudged: check.unjudged(),
        ..Totals::default()
    };
    for_each(check, texts, |verdict, entry| {
        verify(&Written::from(verdict), entry).map_err(|refused| Halt::Failure(refused_failure(&refused)))?;
        for (count, _) in
            totals.verdicts.iter_mut().zip(CallVerdictKind::ALL).filter(|(_, kind)| *kind == verdict.verdict)
        {
            *count += 1;
        }
        Ok::<(), Halt>(())
    })?;
    Ok(totals)
}

fn refused_failure(refused: &Refused) -> Failure {
    Failure::unreadable("call_check_refused")
        .with("rule", refused.check)
        .with("name", &refused.call_no)
        .with("value", refused.what.chars().take(200).collect::<String>())
}

/// Lists up to `limit` of the calls that could not be judged on standard error, a page at a time.
fn tell_unjudged(texts: &Texts, check: &CallCheck<'_>, names: &[String], limit: i64) -> anyhow::Result<()> {
    if check.unjudged() == 0 {
        return Ok(());
    }
    let name_of =
        |input: i64| usize::try_from(input).ok().and_then(|input| names.get(input)).map_or("", String::as_str);
    let reasons = check.unjudged_reasons().map_err(Failure::from)?;
    tell(&unjudged_head(texts, &reasons, check.unjudged()));
    let mut told = 0;
    loop {
        let found = check.unjudged_calls(told, (limit - told).min(PAGE)).map_err(Failure::from)?;
        if found.is_empty() {
            break;
        }
        told += found.len() as i64;
        let views = found.into_iter().map(|call| {
            let name = name_of(call.input);
            UnjudgedView {
                place: if call.line > 0 { format!("{name}:{}", call.line) } else { name.to_owned() },
                call_no: call.call_no,
                tool: call.tool_name_raw,
                argument: call.arg_name,
                reason: call.reason,
                detail: call.detail,
            }
        });
        tell(&views.map(|view| unjudged_line(texts, &view)).collect::<String>());
    }
    if told < check.unjudged() {
        tell(&unjudged_more(texts, check.unjudged() - told));
    }
    Ok(())
}

/// Writes what is said as it is read: no more than a page is held.
fn write(texts: &Texts, check: &CallCheck<'_>, totals: Totals, args: &CheckArgs) -> anyhow::Result<()> {
    let mut output = ResultWriter::open(args.output.as_deref())?;
    let failed = |error: io::Error| Halt::Other(terminal::not_written(args.output.as_deref(), error));
    match args.format {
        CheckFormat::Json => {
            let mut serializer = serde_json::Serializer::pretty(&mut output);
            let mut list = serializer.serialize_seq(None)?;
            for_each(check, texts, |verdict, _| list.serialize_element(verdict).map_err(|error| failed(error.into())))?;
            list.end()?;
            output.write_all(b"\n").map_err(failed)?;
        }
        CheckFormat::Jsonl => {
            for_each(check, texts, |verdict, _| {
                serde_json::to_writer(&mut output, verdict).map_err(|error| failed(error.into()))?;
                output.write_all(b"\n").map_err(failed)
            })?;
        }
        CheckFormat::Csv => {
            let mut rows = csv::Writer::from_writer(&mut output);
            let wrong = |error: csv::Error| failed(io::Error::from(error));
            rows.write_record(["call_no", "verdict", "checked_arg", "evidence", "next_action"]).map_err(wrong)?;
            for_each(check, texts, |verdict, _| {
                let evidence = serde_json::to_string(&verdict.evidence).map_err(|error| failed(error.into()))?;
                let argument = verdict.checked_arg.as_deref().unwrap_or_default();
                let (number, argument) = (csv_text(&verdict.call_no), csv_text(argument));
                let (evidence, action) = (plain_json(&evidence), csv_text(&verdict.next_action));
                let cells = [&number, verdict.verdict.as_str(), &argument, &*evidence, &action];
                rows.write_record(cells).map_err(wrong)
            })?;
            rows.flush().map_err(failed)?;
        }
        CheckFormat::Table | CheckFormat::Md => {
            let style = terminal::style(ColorChoice::Never, args.output.is_some());
            let limit = if args.all_rows { i64::MAX } else { LISTED_CALLS };
            let mut report = Report::new(texts, totals, style, args.format == CheckFormat::Md, args.all, limit);
            output.write_all(report.head().as_bytes()).map_err(failed)?;
            for_each(check, texts, |verdict, entry| {
                output.write_all(report.entry(verdict, &entry.tool_name_raw).as_bytes()).map_err(failed)
            })?;
            output.write_all(report.foot().as_bytes()).map_err(failed)?;
        }
    }
    output.finish()
}

/// What makes the exit status 1.
#[derive(Debug, Default)]
struct FailOn {
    verdicts: Vec<CallVerdictKind>,
    unjudged: bool,
}

impl FailOn {
    fn holds(&self, kind: CallVerdictKind) -> bool {
        self.verdicts.contains(&kind)
    }
}

/// `any` is every verdict but the compliant one.
fn parse_fail_on(texts: &[String]) -> Result<FailOn, Failure> {
    let mut fail_on = FailOn::default();
    for text in texts.iter().map(|text| text.trim()) {
        match (text, CallVerdictKind::parse(text)) {
            (ANY, _) => fail_on.verdicts.extend(CallVerdictKind::ALL.into_iter().filter(|kind| kind.deviates())),
            (UNJUDGED, _) => fail_on.unjudged = true,
            (_, Some(kind)) => fail_on.verdicts.push(kind),
            (_, None) => {
                let known =
                    [&[ANY, UNJUDGED][..], &CallVerdictKind::ALL.map(CallVerdictKind::as_str)].concat().join(", ");
                return Err(Failure::usage("unknown_verdict").with("value", text).with("known", known));
            }
        }
    }
    Ok(fail_on)
}

/// The checks named, or the last two.
fn two_checks(checks: &[KeptCheck], names: &[String]) -> Result<(KeptCheck, KeptCheck), Failure> {
    if let [before, after] = names {
        return Ok((find_check(checks, before)?, find_check(checks, after)?));
    }
    match checks {
        [.., before, after] => Ok((before.clone(), after.clone())),
        _ => Err(Failure::unreadable("call_runs_too_few").with("count", checks.len())),
    }
}

fn find_check(checks: &[KeptCheck], name: &str) -> Result<KeptCheck, Failure> {
    // Names are written in lower case.
    let wanted = name.to_lowercase();
    let found: Vec<&KeptCheck> = checks.iter().filter(|check| check.call_run.starts_with(&wanted)).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        [] => Err(Failure::unreadable("call_run_not_found").with("name", name)),
        several => {
            let known: Vec<&str> = several.iter().take(10).map(|check| check.call_run.as_str()).collect();
            Err(Failure::usage("call_run_ambiguous").with("name", name).with("known", known.join(", ")))
        }
    }
}

fn run_view(check: &KeptCheck) -> RunView {
    RunView {
        call_run: check.call_run.clone(),
        checked_at: check.checked_at.clone(),
        calls: check.calls,
        specs: check.specs,
        left_out: check.left_out,
        unjudged: check.unjudged,
        issues: check.issues,
        inputs: check.inputs.iter().map(|(role, path)| InputView { role: role.clone(), path: path.clone() }).collect(),
        verdicts: CallVerdictKind::ALL.iter().map(|kind| kind.as_str()).zip(check.verdicts).collect(),
    }
}

fn comparison(
    texts: &Texts,
    store: &Store,
    before: &KeptCheck,
    after: &KeptCheck,
    limit: i64,
) -> Result<Comparison, StoreError> {
    let counts = store.compare_call_checks(&before.call_run, &after.call_run)?;
    let mut changes = Vec::new();
    for change in CHANGES {
        let counted = counts.iter().filter(|count| count.change == change);
        let (all, reasons): (Vec<_>, Vec<_>) = counted.partition(|count| count.reason.is_empty());
        let found = store.call_changes(change, limit, 0)?;
        changes.push(ChangeView {
            change: change.to_owned(),
            calls: all.iter().map(|count| count.calls).sum(),
            reasons: reasons.iter().map(|count| (count.reason.clone(), count.calls)).collect::<BTreeMap<_, _>>(),
            list: found
                .into_iter()
                .map(|call| ChangedCall { call_no: call.call_no, before: call.before, after: call.after })
                .collect(),
        });
    }
    Ok(Comparison { before: run_view(before), after: run_view(after), note: demonstration(texts), changes })
}
