//! `taco-trace ingest --watch`: follows files and folders until it is told to end.
//!
//! Looks at sizes and times every few seconds; no service of the system is needed, so that network drives work too.
//! The store is open only while something is written: `diagnose` can ask it in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use super::failure::Failure;
use super::load::{self, Fate, Kind, LoadArgs, Loaded, Run};
use super::{exit, ingest, terminal};
use crate::diagnose::{DraftMode, diagnose_traces};
use crate::ingest::source::{self, FileKind, Source, SourceError};
use crate::render::watch::{self as words, Change};
use crate::render::{Texts, errors, issues};
use crate::store::{SourceTotals, Store, StoreError, korean_time};

/// The exit status of a program that SIGINT ended.
const INTERRUPTED: i32 = 130;

/// What is followed, into which store.
pub(crate) struct Watch<'a> {
    /// Files, folders and globs; they need not be there yet.
    pub(crate) paths: &'a [PathBuf],
    /// The store.
    pub(crate) db: &'a Path,
    /// How to read.
    pub(crate) load: &'a LoadArgs,
    /// How long to wait between two looks.
    pub(crate) interval: Duration,
}

/// Follows the files until SIGINT or SIGTERM.
pub(crate) fn run(texts: &Texts, watch: &Watch<'_>) -> anyhow::Result<u8> {
    if watch.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::usage("usage")
            .with("problem", "conflict")
            .with("argument", "--watch")
            .with("prior", "-")
            .into());
    }
    let started = Instant::now();
    let stop = Stop::on_signals()?;
    let store = Store::open(watch.db).map_err(Failure::from)?;
    let mut loaded = Loaded::default();
    if let Some(set) = load::read_tools(texts, watch.load, &mut loaded)? {
        loaded.tools_changed = store.load_tools(&set, &load::now()).map_err(Failure::from)?;
    }
    load::tell_issues(texts, &loaded);
    loaded.told.clear();
    let run = Run::following(&store, watch.load, stop.flag.clone())?;
    drop(store);
    let mut follower = Follower { texts, watch, run, loaded, seen: BTreeMap::new(), told: BTreeSet::new() };
    follower.say(&words::begun(texts, &follower.names(), &watch.interval.as_secs_f64().to_string()));
    loop {
        follower.look()?;
        if stop.within(watch.interval) {
            break;
        }
    }
    if !watch.load.quiet {
        match Store::open(watch.db).map_err(Failure::from) {
            Ok(store) => follower.tell_summary(&store, started)?,
            // What was read is committed; only the sums over the store cannot be told.
            Err(failure) => terminal::tell(&errors::error(texts, failure.kind, &failure.values)),
        }
    }
    Ok(exit::OK)
}

/// The end, as signals ask for it: the first sets `flag`, so that what is at hand can be ended in order; the second
/// ends at once.
pub(super) struct Stop {
    pub(super) flag: Arc<AtomicBool>,
    signal: Receiver<()>,
}

impl Stop {
    pub(super) fn on_signals() -> anyhow::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        let (sender, signal) = channel();
        let (ready, begun) = channel();
        let set = flag.clone();
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let waiting = runtime.map(|runtime| {
                runtime.block_on(async {
                    let mut signals = Signals::new()?;
                    ready.send(Ok(())).ok();
                    signals.next().await;
                    set.store(true, Ordering::Relaxed);
                    sender.send(()).ok();
                    signals.next().await;
                    std::process::exit(INTERRUPTED);
                })
            });
            if let Err(error) = waiting.and_then(|waited: std::io::Result<()>| waited) {
                ready.send(Err(error)).ok();
            }
        })?;
        // Signals are caught from here on: none is lost between now and the first look.
        begun.recv()??;
        Ok(Self { flag, signal })
    }

    /// Waits so long; whether the end was asked for.
    fn within(&self, interval: Duration) -> bool {
        self.flag.load(Ordering::Relaxed) || self.signal.recv_timeout(interval) != Err(RecvTimeoutError::Timeout)
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        tokio::signal::ctrl_c().await.ok();
    }
}

/// Size and time of change of a file when it was looked at.
type State = (u64, Option<SystemTime>);

struct Follower<'a> {
    texts: &'a Texts,
    watch: &'a Watch<'a>,
    run: Run,
    loaded: Loaded,
    /// The states in which files were read, or known to be read.
    seen: BTreeMap<PathBuf, State>,
    /// What was told and would be told again at every look.
    told: BTreeSet<String>,
}

impl Follower<'_> {
    fn names(&self) -> String {
        let names: Vec<String> = self.watch.paths.iter().map(|path| path.display().to_string()).collect();
        names.join(" ")
    }

    /// Tells a line on standard error unless `--quiet` is given.
    fn say(&self, text: &str) {
        if !self.watch.load.quiet {
            terminal::tell(text);
        }
    }

    /// Tells what holds from now on, once.
    fn say_once(&mut self, text: String) {
        if !self.told.contains(&text) {
            self.say(&text);
            self.told.insert(text);
        }
    }

    /// Looks at everything that is followed, and reads what changed.
    fn look(&mut self) -> anyhow::Result<()> {
        let changed = self.changed();
        if changed.is_empty() {
            return Ok(());
        }
        let store = match Store::open(self.watch.db) {
            Ok(store) => store,
            Err(StoreError::Locked { path, holder }) => {
                self.say_once(words::store_busy(self.texts, &path.display().to_string(), &holder));
                return Ok(());
            }
            Err(error) => return Err(Failure::from(error).into()),
        };
        // Another process may have read files meanwhile.
        self.run.reload(&store)?;
        for (path, state) in changed {
            if !self.read(&store, path, state)? {
                break;
            }
        }
        Ok(())
    }

    /// The files whose size or time is not as it was when they were read.
    fn changed(&mut self) -> Vec<(PathBuf, State)> {
        let (mut changed, mut met) = (Vec::new(), BTreeSet::new());
        for path in self.watch.paths {
            let files = match source::expand(std::slice::from_ref(path), FileKind::Trace) {
                Ok(files) => files,
                Err(error) => {
                    self.absent(path, error);
                    continue;
                }
            };
            for file in files {
                let Source::File(file) = file else { continue };
                // It may be gone again.
                let Ok(metadata) = std::fs::metadata(&file) else { continue };
                if !metadata.is_file() {
                    self.say_once(words::not_followed(self.texts, &file.display().to_string()));
                    continue;
                }
                // Made just now, or emptied by a rotation.
                if metadata.len() == 0 {
                    continue;
                }
                let state = state(&metadata);
                if self.seen.get(&file) != Some(&state) && met.insert(file.clone()) {
                    changed.push((file, state));
                }
            }
        }
        changed
    }

    /// Nothing to read at a path is no error here: it may come.
    fn absent(&mut self, path: &Path, error: SourceError) {
        match error {
            SourceError::NotReadable { .. } => {
                let failure = Failure::from(error);
                self.say_once(errors::error(self.texts, failure.kind, &failure.values));
            }
            SourceError::NotFound { .. } | SourceError::NoMatch { .. } | SourceError::EmptyFolder { .. } => {
                self.say_once(words::awaited(self.texts, &path.display().to_string()));
            }
        }
    }

    /// Reads a file, tells what changed and judges the runs it touched. False when the end was asked for.
    fn read(&mut self, store: &Store, path: PathBuf, state: State) -> anyhow::Result<bool> {
        let source = Source::File(path.clone());
        let before = (self.loaded.totals.clone(), self.loaded.issues);
        let fate = load::load_source(self.texts, store, &mut self.run, &source, self.watch.load, &mut self.loaded);
        let kind = match fate {
            Ok(Fate::Read(kind)) => kind,
            Ok(Fate::Unchanged) => {
                // One that was only touched is no further file.
                self.loaded.unchanged -= u64::from(self.seen.insert(path, state).is_some());
                return Ok(true);
            }
            Ok(Fate::Stopped) => {
                self.say(&words::stopped(self.texts, &source.name()));
                return Ok(false);
            }
            Err(error) => return self.unreadable(error).map(|()| true),
        };
        self.seen.insert(path, state);
        self.tell_change(&source, kind, before);
        let touched = store.touched_traces().map_err(Failure::from)?;
        if !touched.is_empty() {
            self.judge(store, &touched)?;
        }
        Ok(!self.run.is_stopped())
    }

    /// A file that cannot be read now is looked at again; it may have been renamed just now.
    fn unreadable(&mut self, error: anyhow::Error) -> anyhow::Result<()> {
        let failure = error.downcast::<Failure>()?;
        match failure.kind {
            "file_not_found" => Ok(()),
            "file_not_readable" => {
                self.say_once(errors::error(self.texts, failure.kind, &failure.values));
                Ok(())
            }
            _ => Err(failure.into()),
        }
    }

    fn tell_change(&mut self, source: &Source, kind: Kind, before: (SourceTotals, u64)) {
        let (totals, issues) = before;
        let found = self.loaded.issues - issues;
        let now = &self.loaded.totals;
        let change = Change {
            time: load::now(),
            path: source.name(),
            kind: kind.as_str(),
            lines: now.lines - totals.lines,
            kept: now.spans_kept - totals.spans_kept,
            redelivered: now.spans_redelivered - totals.spans_redelivered,
            issues: found,
        };
        self.say(&words::changed(self.texts, change));
        if !self.loaded.told.is_empty() {
            terminal::tell(&issues::skipped_lines(self.texts, &self.loaded.told, found));
        }
        self.loaded.told.clear();
    }

    /// The last lines, from the store: what was half written once and is whole now is counted there once.
    fn tell_summary(mut self, store: &Store, started: Instant) -> anyhow::Result<()> {
        let batch = store.batch_totals(self.run.batch_id()).map_err(Failure::from)?;
        self.loaded.files = batch.files;
        self.loaded.totals = batch.totals;
        self.loaded.issues = batch.issues;
        self.loaded.seconds = started.elapsed().as_secs_f64();
        ingest::tell_summary(self.texts, store, &self.loaded, self.watch.load.mask.is_on())
    }

    /// One line on standard output for each of these runs that has a final answer.
    fn judge(&self, store: &Store, touched: &[String]) -> anyhow::Result<()> {
        let outcome = diagnose_traces(store, self.texts, touched, DraftMode::Off).map_err(Failure::from)?;
        let mut lines = String::new();
        for run in &outcome.runs {
            lines.push_str(&words::verdict(self.texts, &run.diagnosis, &korean_time(run.start_ns)));
        }
        terminal::write_result(&lines, None)
    }
}

fn state(metadata: &Metadata) -> State {
    (metadata.len(), metadata.modified().ok())
}
