//! Files into a store: what `ingest`, `diagnose PATHS` and `explain PATHS` share.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::follow::{Known, Plan};
use super::failure::{Failure, tools_failure};
use super::mask::{MaskArgs, Masking};
use super::terminal;
use crate::ingest::convention::Conventions;
use crate::ingest::document::MissingStatus;
use crate::ingest::mask::MaskCounts;
use crate::ingest::observe::Observed;
use crate::ingest::source::{self, FileKind, Input, Source};
use crate::ingest::tools::{ToolDefaults, parse_tools};
use crate::ingest::{self, Batch, ChatCalls, Options, Report, Start};
use crate::model::{Issue, IssueCode, ToolSet};
use crate::render::Texts;
use crate::render::issues::{self, ToldIssue};
use crate::store::{KnownPosition, Scope, SourceIdentity, SourceTotals, Store, StoreError};

mod follow;

pub(crate) use follow::Kind;

/// The store when `--db` names none.
pub(crate) const DEFAULT_STORE: &str = "taco.duckdb";
/// How many issues are told on standard error unless all are asked for.
const TOLD_ISSUES: usize = 20;

/// What a span without `status` is taken as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MissingStatusArg {
    /// 깨진 입력으로 보고 그 span 을 건너뜁니다
    Skip,
    /// OTLP 기본값(UNSET, ok)으로 읽습니다
    Unset,
}

/// Which issues are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IssuesArg {
    /// 처음 20건과 나머지 건수
    First,
    /// 모두
    All,
}

/// Whether calls count that stand in messages only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChatCallsArg {
    /// 대화 메시지에만 남은 호출도 읽습니다
    On,
    /// 읽지 않습니다
    Off,
}

/// 있는 저장소를 여는 명령이 함께 쓰는 인자
#[derive(Debug, clap::Args)]
pub(crate) struct StoreArg {
    /// 저장소 파일(기본 taco.duckdb)
    #[arg(long, value_name = "파일", default_value = DEFAULT_STORE, hide_default_value = true)]
    pub(crate) db: PathBuf,
}

impl StoreArg {
    /// Opens it; it must be there.
    pub(crate) fn open(&self) -> Result<Store, Failure> {
        Store::open_existing(&self.db).map_err(Failure::from)
    }

    /// Opens it for reading only; it must be there.
    pub(crate) fn open_to_read(&self) -> Result<Store, Failure> {
        Store::open_to_read(&self.db).map_err(Failure::from)
    }
}

/// 파일을 읽는 명령이 함께 쓰는 인자
#[derive(Debug, clap::Args)]
pub(crate) struct LoadArgs {
    /// 도구 정의 파일(tools.json, OpenAI·Anthropic·MCP 형식도 읽습니다)
    #[arg(long, value_name = "파일")]
    pub(crate) tools: Option<PathBuf>,
    /// 도구 정의에 제한 시간이 없을 때 쓸 값(밀리초)
    #[arg(long, value_name = "밀리초", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) default_timeout_ms: Option<i64>,
    /// 도구 정의에 재시도 한도가 없을 때 쓸 값(첫 호출 포함)
    #[arg(long, value_name = "번", value_parser = clap::value_parser!(i64).range(1..))]
    pub(crate) default_max_retries: Option<i64>,
    /// status 가 없는 span: skip(건너뜀, 기본) 또는 unset(ok 로 읽음)
    #[arg(
        long,
        value_name = "방식",
        value_enum,
        default_value_t = MissingStatusArg::Skip,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) missing_status: MissingStatusArg,
    /// 자체 span 이 없고 대화 메시지에만 남은 호출: on(읽음, 기본) 또는 off
    #[arg(
        long,
        value_name = "방식",
        value_enum,
        default_value_t = ChatCallsArg::On,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) chat_calls: ChatCallsArg,
    /// 현장의 기록 형식을 알려 주는 TOML 파일(여러 번 쓸 수 있습니다. conventions/README.md)
    #[arg(long, value_name = "파일")]
    pub(crate) convention: Vec<PathBuf>,
    /// 문제 목록: first(20건, 기본) 또는 all
    #[arg(
        long,
        value_name = "범위",
        value_enum,
        default_value_t = IssuesArg::First,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub(crate) issues: IssuesArg,
    /// 진행 상황과 마지막 요약을 내지 않습니다
    #[arg(short, long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) mask: MaskArgs,
}

impl LoadArgs {
    /// Everything as it is when nothing is said, without progress.
    pub(crate) fn plain(tools: Option<PathBuf>) -> Self {
        Self {
            tools,
            default_timeout_ms: None,
            default_max_retries: None,
            missing_status: MissingStatusArg::Skip,
            chat_calls: ChatCallsArg::On,
            convention: Vec::new(),
            issues: IssuesArg::First,
            quiet: true,
            mask: MaskArgs::default(),
        }
    }
}

/// What loading came to, over all files.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// Files read now.
    pub(crate) files: u64,
    /// Files that were read before and have not changed.
    pub(crate) unchanged: u64,
    /// Of the files read now, those that were read on from where they ended before.
    pub(crate) grown: u64,
    /// Sums over the files read now.
    pub(crate) totals: SourceTotals,
    /// Spans by instrumentation scope.
    pub(crate) scopes: BTreeMap<String, u64>,
    /// The first issues, or all.
    pub(crate) told: Vec<ToldIssue>,
    /// Number of issues, told or not.
    pub(crate) issues: u64,
    /// The same by code.
    pub(crate) issues_by_code: BTreeMap<IssueCode, u64>,
    /// Whether other tool definitions came into force.
    pub(crate) tools_changed: bool,
    /// Whether nothing was recognised, neither now nor in what the store had.
    pub(crate) is_empty: bool,
    /// Names of the conventions that were asked, in order.
    pub(crate) conventions: Vec<String>,
    /// What the files hold and lack, when that is asked for.
    pub(crate) observed: Option<Observed>,
    /// Wall time in seconds.
    pub(crate) seconds: f64,
    /// Values masked in the files read now.
    pub(crate) masked: MaskCounts,
}

impl Loaded {
    /// Counts issues, and keeps those that are told.
    pub(crate) fn note_issues(&mut self, texts: &Texts, source: &str, found: &[Issue], all: bool) {
        self.issues += found.len() as u64;
        for issue in found {
            *self.issues_by_code.entry(issue.code).or_default() += 1;
        }
        for issue in found {
            if !all && self.told.len() >= TOLD_ISSUES {
                break;
            }
            self.told.push(ToldIssue {
                source: source.to_owned(),
                line: issue.line,
                code: issue.code,
                reason: issues::reason(texts, issue.code, &issue.detail),
            });
        }
    }

    fn add(&mut self, totals: &SourceTotals) {
        self.files += 1;
        self.totals.lines += totals.lines;
        self.totals.lines_skipped += totals.lines_skipped;
        self.totals.spans_seen += totals.spans_seen;
        self.totals.spans_kept += totals.spans_kept;
        self.totals.spans_merged += totals.spans_merged;
        self.totals.spans_redelivered += totals.spans_redelivered;
        self.totals.spans_skipped += totals.spans_skipped;
        self.totals.traces += totals.traces;
        for (operation, spans) in &totals.dropped {
            *self.totals.dropped.entry(operation.clone()).or_default() += spans;
        }
    }
}

/// Time now, nanoseconds since 1970 UTC.
pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Time now, ISO 8601 with +09:00.
pub(crate) fn now() -> String {
    crate::store::korean_time(now_ns())
}

/// Reads tools.json, if one is named. Its issues are counted into `loaded`.
pub(crate) fn read_tools(texts: &Texts, args: &LoadArgs, loaded: &mut Loaded) -> anyhow::Result<Option<ToolSet>> {
    let Some(path) = &args.tools else { return Ok(None) };
    let text = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
    let text = String::from_utf8(text).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::unreadable("tools_not_json")
            .with("path", path.display())
            .with("line", line)
            .with("column", 0)
            .with("message", "UTF-8 이 아닙니다")
    })?;
    let defaults = defaults(args);
    let (set, issues) =
        parse_tools(&text, &path.display().to_string(), defaults).map_err(|error| tools_failure(path, &error))?;
    loaded.note_issues(texts, &path.display().to_string(), &issues, args.issues == IssuesArg::All);
    Ok(Some(set))
}

/// What a source came to, before it is settled in the store.
pub(crate) fn totals(report: &Report, content_hash: String) -> SourceTotals {
    SourceTotals {
        lines: report.lines,
        lines_skipped: report.lines_skipped,
        spans_seen: report.seen,
        spans_kept: report.kept,
        spans_merged: 0,
        dropped: report.dropped.clone(),
        spans_redelivered: report.redelivered,
        spans_skipped: report.skipped,
        traces: 0,
        content_hash,
    }
}

/// Adds what the sources show to `observed` and keeps no row; the number of lines that were skipped.
pub(crate) fn observe(sources: Vec<Source>, options: &Options, observed: &mut Observed) -> anyhow::Result<u64> {
    let mut skipped = 0;
    for source in sources {
        let mut input = source::open(&source).map_err(Failure::from)?;
        let start = Start { line: 1, byte_offset: input.bom_bytes() };
        let read: Result<_, Infallible> =
            ingest::read_observed(&mut input, start, options, Some(observed), &mut |_| Ok(()), &mut |_, _| {});
        skipped += read?.lines_skipped;
    }
    Ok(skipped)
}

/// How to read, as the arguments say.
pub(crate) fn read_options(args: &LoadArgs) -> anyhow::Result<Options> {
    Ok(Options {
        conventions: read_conventions(args)?,
        missing_status: match args.missing_status {
            MissingStatusArg::Skip => MissingStatus::Skip,
            MissingStatusArg::Unset => MissingStatus::Unset,
        },
        chat_calls: match args.chat_calls {
            ChatCallsArg::On => ChatCalls::Read,
            ChatCallsArg::Off => ChatCalls::LeaveOut,
        },
    })
}

/// The conventions shipped, behind the site's own.
pub(crate) fn read_conventions(args: &LoadArgs) -> anyhow::Result<Conventions> {
    conventions_with(&args.convention)
}

/// The conventions shipped, behind those in these files.
pub(crate) fn conventions_with(files: &[PathBuf]) -> anyhow::Result<Conventions> {
    let mut own = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|error| unreadable(path, &error))?;
        own.push((path.display().to_string(), text));
    }
    let own: Vec<(&str, &str)> = own.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    Conventions::with_own(&own).map_err(|error| Failure::from(error).into())
}

/// Each convention with the setting that makes it record arguments, when one is known.
pub(crate) fn captures(names: &[String]) -> Vec<(String, Option<String>)> {
    if names.is_empty() {
        return Vec::new();
    }
    let known = Conventions::builtin();
    names.iter().map(|name| (name.clone(), known.capture(name).map(str::to_owned))).collect()
}

fn defaults(args: &LoadArgs) -> ToolDefaults {
    ToolDefaults { timeout_ms: args.default_timeout_ms, max_retries: args.default_max_retries }
}

/// A file that was named alone, no folder and no glob, and cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    if error.kind() == std::io::ErrorKind::NotFound {
        Failure::unreadable("file_not_found").with("path", path.display()).with("place", "file")
    } else {
        Failure::unreadable("file_not_readable").with("path", path.display()).with("message", error)
    }
}

/// A store to judge.
pub(crate) struct ToJudge {
    /// One in memory, or a file open for reading only.
    pub(crate) store: Store,
    /// Of a file, the tool set that overrides that of every run.
    pub(crate) tools: Option<ToolSet>,
}

/// The store to judge: one in memory filled from `paths`, or the file that `ingest` filled, for which
/// `--tools` overrides the tool set of every run.
pub(crate) fn open_store(
    texts: &Texts,
    paths: &[PathBuf],
    db: Option<&Path>,
    args: &LoadArgs,
    scope: &mut Scope,
) -> anyhow::Result<ToJudge> {
    if !paths.is_empty() {
        let store = Store::in_memory().map_err(Failure::from)?;
        let loaded = load(texts, &store, paths, args)?;
        require_recognised(&loaded)?;
        return Ok(ToJudge { store, tools: None });
    }
    let opened = Store::open_to_read(db.unwrap_or_else(|| Path::new(DEFAULT_STORE)));
    // These commands would read files as well.
    let store = opened.map_err(|error| Failure::from(error).with("paths", "yes"))?;
    let mut loaded = Loaded::default();
    let tools = read_tools(texts, args, &mut loaded)?;
    if let Some(set) = &tools {
        store.lend_tools(set, &now()).map_err(Failure::from)?;
        scope.tool_set = Some(set.sha256.clone());
        tell_issues(texts, &loaded);
    }
    Ok(ToJudge { store, tools })
}

/// Loads tools and files into the store, file by file, and tells what was left out.
pub(crate) fn load(texts: &Texts, store: &Store, paths: &[PathBuf], args: &LoadArgs) -> anyhow::Result<Loaded> {
    let mut loaded = Loaded::default();
    load_into(texts, store, paths, args, &mut loaded)?;
    tell_issues(texts, &loaded);
    Ok(loaded)
}

/// [`load`] without telling: what was left out is in `loaded`.
pub(crate) fn load_into(
    texts: &Texts,
    store: &Store,
    paths: &[PathBuf],
    args: &LoadArgs,
    loaded: &mut Loaded,
) -> anyhow::Result<()> {
    let started = std::time::Instant::now();
    if let Some(set) = read_tools(texts, args, loaded)? {
        loaded.tools_changed = store.load_tools(&set, &now()).map_err(Failure::from)?;
    }
    let sources = source::expand(paths, FileKind::Trace).map_err(Failure::from)?;
    if !sources.is_empty() {
        let bar = progress_bar(&sources, args.quiet);
        let mut run = Run::begin(store, args, bar.clone())?;
        loaded.conventions = run.options.conventions.names().map(str::to_owned).collect();
        for source in &sources {
            load_source(texts, store, &mut run, source, args, loaded)?;
        }
        bar.finish_and_clear();
    }
    let recognised = loaded.totals.spans_kept + loaded.totals.spans_redelivered;
    // What was read before may have been recognised: then nothing new in a file that has grown is no failure. A copy of
    // a file of which nothing was recognised is no success either.
    let known = loaded.unchanged + loaded.grown;
    loaded.is_empty = recognised == 0 && (known == 0 || !store.has_traces().map_err(Failure::from)?);
    loaded.seconds = started.elapsed().as_secs_f64();
    Ok(())
}

/// Tells on standard error what was left out or looks wrong.
pub(crate) fn tell_issues(texts: &Texts, loaded: &Loaded) {
    if !loaded.told.is_empty() {
        terminal::tell(&issues::skipped_lines(texts, &loaded.told, loaded.issues));
    }
}

/// What the files of one run of ingest share.
pub(crate) struct Run {
    batch_id: i64,
    options: Options,
    /// How values are masked on their way in, if they are.
    masking: Masking,
    known: Known,
    bar: ProgressBar,
    /// Files are followed: an end that is only half written is not told of.
    follows: bool,
    /// Set when reading has to end: the file at hand is then rolled back.
    stop: Arc<AtomicBool>,
}

impl Run {
    /// Begins a run of ingest.
    pub(crate) fn begin(store: &Store, args: &LoadArgs, bar: ProgressBar) -> anyhow::Result<Self> {
        let options = read_options(args)?;
        let masking = Masking::begin(store, &args.mask)?;
        let batch_id = store.begin_batch(&now()).map_err(Failure::from)?;
        let known = Known::load(store)?;
        Ok(Self { batch_id, options, masking, known, bar, follows: false, stop: Arc::default() })
    }

    /// The same for files that are followed until `stop` is set.
    pub(crate) fn following(store: &Store, args: &LoadArgs, stop: Arc<AtomicBool>) -> anyhow::Result<Self> {
        Ok(Self { follows: true, stop, ..Self::begin(store, args, ProgressBar::hidden())? })
    }

    /// Takes notice of what others wrote while the store was closed.
    pub(crate) fn reload(&mut self, store: &Store) -> anyhow::Result<()> {
        self.known = Known::load(store)?;
        Ok(())
    }

    /// Its number in the store.
    pub(crate) const fn batch_id(&self) -> i64 {
        self.batch_id
    }

    /// Whether reading has to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes bytes that need not be read out of the progress.
    fn pass_over(&self, bytes: u64) {
        self.bar.set_length(self.bar.length().unwrap_or_default().saturating_sub(bytes));
    }
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It was read before.
    Unchanged,
    /// It was read and committed.
    Read(Kind),
    /// Reading it was stopped; nothing of it is in the store.
    Stopped,
}

/// Why reading a file ended early.
enum Halt {
    Store(StoreError),
    Stopped,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Loads one file, or what of it is new, in one transaction.
pub(crate) fn load_source(
    texts: &Texts,
    store: &Store,
    run: &mut Run,
    source: &Source,
    args: &LoadArgs,
    loaded: &mut Loaded,
) -> anyhow::Result<Fate> {
    let mut reading = match follow::plan(store, &mut run.known, source)? {
        Plan::Read(reading) => reading,
        Plan::Unchanged => {
            loaded.unchanged += 1;
            run.pass_over(identity(source).size_bytes.unsigned_abs());
            return Ok(Fate::Unchanged);
        }
    };
    let (start, offset) = (reading.start, reading.offset);
    run.pass_over(offset);
    let bar = run.bar.clone();
    let begun = bar.position();
    let reason = |code, detail: &str| issues::reason(texts, code, detail);
    let mut writer = store.begin_source(run.batch_id, reading.identity.clone()).map_err(Failure::from)?;
    if let Some(from) = &reading.from {
        writer.go_on_from(from).map_err(Failure::from)?;
    }
    let name = source.name();
    let all = args.issues == IssuesArg::All;
    let mut noted = Loaded::default();
    let mut masked = MaskCounts::default();
    let mut places = Vec::new();
    let mut write = |batch: Batch| -> Result<(), StoreError> {
        let batch = run.masking.apply(batch, &mut masked);
        noted.note_issues(texts, &name, &batch.issues, all);
        places.extend(batch.issues.iter().filter(|_| run.follows).map(|issue| issue.line));
        writer.append(&batch.spans, &batch.links, &batch.issues, &reason)?;
        writer.append_messages(&batch.chat_calls, &batch.chat_failures)
    };
    let progress = |input: &Input, spans: u64| {
        bar.set_position(begun + input.bytes_read().saturating_sub(offset));
        bar.set_message(spans.to_string());
    };
    let observed = loaded.observed.as_mut();
    let report = match read_beside(&mut reading.input, start, run, observed, progress, &mut write) {
        Ok(report) => report,
        Err(Halt::Stopped) => return Ok(Fate::Stopped),
        Err(Halt::Store(error)) => return Err(Failure::from(error).into()),
    };
    if let Some(rest) = report.rest.filter(|rest| run.follows && rest.lines_skipped > 0) {
        let half_written = rest.start.line;
        noted.issues -= places.iter().filter(|line| **line >= half_written).count() as u64;
        noted.told.retain(|issue| issue.line < half_written);
    }
    let position = reading.position(&report);
    if let Some(position) = &position {
        writer.record_position(position).map_err(Failure::from)?;
    }
    let content_hash = reading.input.content_hash();
    if args.tools.is_none() {
        for text in &report.tool_definitions {
            // A member that is no definition becomes an issue; the array itself was parsed as JSON before.
            if let Ok((set, issues)) = parse_tools(text, &name, defaults(args)) {
                noted.note_issues(texts, &name, &issues, all);
                writer.append(&[], &[], &issues, &reason).map_err(Failure::from)?;
                writer.use_tools(&set, &now()).map_err(Failure::from)?;
            }
        }
    }
    let totals = totals(&report, content_hash.clone());
    writer.record_masked(masked.iter().map(|(kind, count)| (kind.as_str(), count))).map_err(Failure::from)?;
    loaded.masked.add(&masked);
    let source_id = writer.source_id();
    let (totals, found) = writer.finish(totals, &reason).map_err(Failure::from)?;
    noted.note_issues(texts, &name, &found, all);
    for (scope, spans) in report.scopes {
        *loaded.scopes.entry(scope).or_default() += spans;
    }
    loaded.issues += noted.issues;
    for (code, issues) in noted.issues_by_code {
        *loaded.issues_by_code.entry(code).or_default() += issues;
    }
    let room = if all { usize::MAX } else { TOLD_ISSUES.saturating_sub(loaded.told.len()) };
    loaded.told.extend(noted.told.into_iter().take(room));
    loaded.add(&totals);
    loaded.grown += u64::from(reading.kind == Kind::Grown);
    bar.set_position(begun + reading.input.bytes_read().saturating_sub(offset));
    if let Some(from) = &reading.from {
        run.known.remove(from);
    }
    if let Some(position) = position {
        run.known.add(KnownPosition { source_id, content_hash, position });
    }
    Ok(Fate::Read(reading.kind))
}

/// How many batches may wait to be written: they bound the memory, not the file.
const WAITING_BATCHES: usize = 2;

/// Reads on a thread of its own and writes on this one, so that neither waits for the other. Batches are written in the
/// order in which they are read.
fn read_beside(
    input: &mut Input,
    start: Start,
    run: &Run,
    observed: Option<&mut Observed>,
    mut progress: impl FnMut(&Input, u64) + Send,
    write: &mut dyn FnMut(Batch) -> Result<(), StoreError>,
) -> Result<Report, Halt> {
    let (sender, batches) = sync_channel(WAITING_BATCHES);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            // A writer that has failed takes nothing more; so does a run that is to end.
            let mut hand_on = |batch: Batch| {
                if run.is_stopped() { Err(Halt::Stopped) } else { sender.send(batch).map_err(|_| Halt::Stopped) }
            };
            ingest::read_observed(input, start, &run.options, observed, &mut hand_on, &mut progress)
        });
        let written = batches.iter().try_for_each(&mut *write);
        drop(batches);
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        written.map_err(Halt::Store)?;
        read
    })
}

fn identity(source: &Source) -> SourceIdentity {
    let metadata = match source {
        Source::File(path) => std::fs::metadata(path).ok(),
        Source::Stdin => None,
    };
    let regular = metadata.filter(std::fs::Metadata::is_file);
    let path = match source {
        Source::File(path) => canonical(path),
        Source::Stdin => source.name(),
    };
    let modified_ns = regular.as_ref().and_then(follow::modified_ns);
    let size_bytes = regular.map_or(0, |metadata| i64::try_from(metadata.len()).unwrap_or(i64::MAX));
    SourceIdentity { path, size_bytes, modified_ns }
}

/// The path that a file is known by.
fn canonical(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// Silent when standard error is no terminal or `--quiet` is given.
fn progress_bar(sources: &[Source], quiet: bool) -> ProgressBar {
    let total = sources.iter().map(|source| identity(source).size_bytes.unsigned_abs()).sum();
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
    }
    let bar = ProgressBar::new(total);
    let template = "{wide_bar} {bytes}/{total_bytes} · span {msg} · {bytes_per_sec} · {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

/// An input in which nothing was recognised is an error, never an empty success.
pub(crate) fn require_recognised(loaded: &Loaded) -> Result<(), Failure> {
    if loaded.files == 0 || !loaded.is_empty {
        return Ok(());
    }
    let list = |counts: &BTreeMap<String, u64>| {
        let named = counts.iter().map(|(name, count)| {
            let name = if name.is_empty() { "(이름 없음)" } else { name };
            format!("{name} {count}")
        });
        named.collect::<Vec<_>>().join(", ")
    };
    Err(Failure::unreadable("nothing_recognised")
        .with("known", loaded.conventions.join(", "))
        .with("lines", loaded.totals.lines)
        .with("spans", loaded.totals.spans_seen)
        .with("skipped", loaded.totals.spans_skipped)
        .with("scopes", list(&loaded.scopes))
        .with("operations", list(&loaded.totals.dropped)))
}
