//! Texts and files through the whole library: read, stored in memory, judged.
//!
//! The way is the one of `diagnose PATHS`, without the command line: no clock, no terminal.

use std::io::Read;
use std::path::Path;

use serde_json::Value;
use taco_trace::diagnose::{DraftMode, JudgedRun, diagnose};
use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::MissingStatus;
use taco_trace::ingest::source::{self, Source};
use taco_trace::ingest::tools::{ToolDefaults, parse_tools};
use taco_trace::ingest::{self, Batch, ChatCalls, Options, Start};
use taco_trace::model::Issue;
use taco_trace::render::Texts;
use taco_trace::render::issues::reason;
use taco_trace::store::{Scope, SourceIdentity, SourceTotals, Store, StoreError, UnjudgedRow};

/// A time that no judgement depends on.
const LOADED_AT: &str = "2026-10-07T09:00:00.000+09:00";

/// What came of all texts.
pub(crate) struct Outcome {
    /// Runs judged, in order.
    pub(crate) runs: Vec<JudgedRun>,
    /// Runs that cannot be judged, in order.
    pub(crate) unjudged: Vec<UnjudgedRow>,
    /// What reading each text came to, in order of reading.
    pub(crate) sources: Vec<ReadSource>,
    /// The store with all rows.
    pub(crate) store: Store,
}

/// One text as it was read.
pub(crate) struct ReadSource {
    /// Sums, settled against the texts read before.
    pub(crate) totals: SourceTotals,
    /// Problems met.
    pub(crate) issues: Vec<Issue>,
}

impl Outcome {
    /// The diagnoses as the JSON output has them.
    pub(crate) fn diagnoses(&self) -> Vec<Value> {
        let as_json = |run: &JudgedRun| serde_json::to_value(&run.diagnosis).expect("a diagnosis is plain data");
        self.runs.iter().map(as_json).collect()
    }

    /// The run of this trace.
    pub(crate) fn run(&self, trace_id: &str) -> &JudgedRun {
        let found = self.runs.iter().find(|run| run.diagnosis.trace_id == trace_id);
        found.unwrap_or_else(|| panic!("no run {trace_id}"))
    }
}

/// Judges several runs of ingest into one store: in each, tools.json is put in force before texts are read.
pub(crate) fn judge_batches<'t>(batches: impl IntoIterator<Item = (&'t str, &'t [&'t str])>) -> Outcome {
    let mut run = Run::new(MissingStatus::Skip);
    for (tools, texts) in batches {
        run.begin(tools);
        for text in texts {
            run.read(&mut text.as_bytes(), Start::default());
        }
    }
    run.judge()
}

/// Judges a file.
pub(crate) fn judge_file(traces: &Path, tools: &str) -> Outcome {
    judge_file_with(traces, tools, MissingStatus::Skip)
}

/// Judges files, one after the other into one store.
pub(crate) fn judge_files(traces: &[&Path], tools: &str) -> Outcome {
    let mut run = Run::new(MissingStatus::Skip);
    run.begin(tools);
    for path in traces {
        run.read_file(path);
    }
    run.judge()
}

/// Judges a file whose spans without `status` are taken so.
pub(crate) fn judge_file_with(traces: &Path, tools: &str, missing_status: MissingStatus) -> Outcome {
    let mut run = Run::new(missing_status);
    run.begin(tools);
    run.read_file(traces);
    run.judge()
}

struct Run {
    store: Store,
    batch_id: i64,
    texts: Texts,
    options: Options,
    sources: Vec<ReadSource>,
}

impl Run {
    fn new(missing_status: MissingStatus) -> Self {
        let store = Store::in_memory().expect("a store in memory opens");
        let options = Options { conventions: Conventions::builtin(), missing_status, chat_calls: ChatCalls::Read };
        Self { store, batch_id: 0, texts: Texts::korean(), options, sources: Vec::new() }
    }

    fn begin(&mut self, tools: &str) {
        let (set, _) = parse_tools(tools, "tools.json", ToolDefaults::default()).expect("the tools are a list");
        self.store.load_tools(&set, LOADED_AT).expect("the tools fit the tables");
        self.batch_id = self.store.begin_batch(LOADED_AT).expect("a batch begins");
    }

    fn read_file(&mut self, traces: &Path) {
        let opened = source::open(&Source::File(traces.to_owned()));
        let mut input = opened.unwrap_or_else(|error| panic!("{}: {error}", traces.display()));
        let start = Start { line: 1, byte_offset: input.bom_bytes() };
        self.read(&mut input, start);
    }

    fn read<R: Read>(&mut self, input: &mut R, start: Start) {
        let path = format!("text-{}", self.sources.len() + 1);
        let identity = SourceIdentity { path, size_bytes: 0, modified_ns: None };
        let in_words = |code, detail: &str| reason(&self.texts, code, detail);
        let mut writer = self.store.begin_source(self.batch_id, identity).expect("a file begins");
        let mut issues = Vec::new();
        let mut sink = |batch: Batch| -> Result<(), StoreError> {
            issues.extend(batch.issues.iter().cloned());
            writer.append(&batch.spans, &batch.links, &batch.issues, &in_words)?;
            writer.append_messages(&batch.chat_calls, &batch.chat_failures)
        };
        let report = ingest::read(input, start, &self.options, &mut sink, &mut |_, _| {}).expect("rows fit the tables");
        let totals = SourceTotals {
            lines: report.lines,
            lines_skipped: report.lines_skipped,
            spans_seen: report.seen,
            spans_kept: report.kept,
            dropped: report.dropped,
            spans_redelivered: report.redelivered,
            spans_skipped: report.skipped,
            ..SourceTotals::default()
        };
        let (totals, found) = writer.finish(totals, &in_words).expect("a file is settled");
        issues.extend(found);
        self.sources.push(ReadSource { totals, issues });
    }

    fn judge(self) -> Outcome {
        let judged = diagnose(&self.store, &self.texts, &Scope::default(), DraftMode::Template);
        let judged = judged.unwrap_or_else(|error| panic!("{error}"));
        Outcome { runs: judged.runs, unjudged: judged.unjudged, sources: self.sources, store: self.store }
    }
}
