//! Trials as traces: their lines into a file and into the store.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use crate::cli::failure::Failure;
use crate::cli::{load, terminal};
use crate::digest::sha256_hex;
use crate::eval::case::Case;
use crate::eval::event::Event;
use crate::experiment::record::{About, tools_json, traces};
use crate::ingest::convention::Conventions;
use crate::ingest::document::MissingStatus;
use crate::ingest::tools::{ToolDefaults, parse_tools};
use crate::ingest::{self, Batch, ChatCalls, Options, Start};
use crate::model::{Experiment, Issue, TrialStart};
use crate::render::{Texts, issues};
use crate::store::{SourceIdentity, Store, StoreError};

/// Lines of traces, by case.
pub(super) type Lines = BTreeMap<String, String>;

/// Puts the trials of an experiment whose traces the store does not have into it, each judged by the contracts of its
/// case, and returns their lines. The tools in force stay as they are.
///
/// Lines follow from what was kept of a trial, so that what an interruption left out is made up for by the next run.
pub(super) fn keep(
    texts: &Texts,
    store: &Store,
    experiment: &Experiment,
    cases: &[Arc<Case>],
) -> Result<Lines, Failure> {
    let lines = lines(store, experiment, &store.trials_without_runs(&experiment.experiment_id)?)?;
    for case in cases {
        let Some(lines) = lines.get(&case.id) else { continue };
        ingest_lines(texts, store, experiment, case, lines)?;
    }
    Ok(lines)
}

/// The lines of all trials of an experiment that ended.
pub(super) fn all(store: &Store, experiment: &Experiment) -> Result<Lines, Failure> {
    let made = store.trials_of(&experiment.experiment_id)?;
    let ended: Vec<TrialStart> = made.into_iter().filter(|one| one.end.is_some()).map(|one| one.start).collect();
    lines(store, experiment, &ended)
}

fn lines(store: &Store, experiment: &Experiment, trials: &[TrialStart]) -> Result<Lines, Failure> {
    let mut by_case = Lines::new();
    for start in trials {
        let kept = store.events_of(&start.trial_id)?;
        let events: Vec<Event> = kept.iter().filter_map(|event| serde_json::from_str(&event.event).ok()).collect();
        let about = About { trial_id: &start.trial_id, target: &experiment.target, started_ns: start.started_ns };
        let lines = by_case.entry(start.case_id.clone()).or_default();
        for trace in traces(about, &events) {
            lines.push_str(&trace.line);
            lines.push('\n');
        }
    }
    Ok(by_case)
}

/// Opens the file behind whose end lines are to be written. Before trials are made, so that a place that cannot be
/// written to costs nothing.
pub(super) fn open(path: &Path) -> anyhow::Result<File> {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    opened.map_err(|error| terminal::not_written(Some(path), error))
}

/// Writes lines behind the end of a file. Should it fail, nothing is lost, and nothing is to be tried again.
pub(super) fn write(file: &mut File, path: &Path, experiment: &Experiment, lines: &Lines) -> Result<(), Failure> {
    let mut lines = lines.values();
    lines.try_for_each(|lines| file.write_all(lines.as_bytes())).map_err(|error| {
        Failure::unreadable("eval_traces_not_written")
            .with("path", path.display())
            .with("name", &experiment.experiment_id)
            .with("message", error)
    })
}

fn ingest_lines(
    texts: &Texts,
    store: &Store,
    experiment: &Experiment,
    case: &Case,
    lines: &str,
) -> Result<(), StoreError> {
    let path = format!("eval:{}/{}", experiment.experiment_id, case.id);
    let now = load::now();
    let batch = store.begin_batch(&now)?;
    let identity = SourceIdentity {
        path: path.clone(),
        size_bytes: i64::try_from(lines.len()).unwrap_or(i64::MAX),
        modified_ns: None,
    };
    let mut writer = store.begin_source(batch, identity)?;
    let reason = |code, detail: &str| issues::reason(texts, code, detail);
    let defaults = ToolDefaults { timeout_ms: None, max_retries: None };
    // What lint takes is a list of tools; a contract without a form that is read becomes an issue.
    let (set, found): (_, Vec<Issue>) = match parse_tools(&tools_json(case), &path, defaults) {
        Ok((set, found)) => (Some(set), found),
        Err(_) => (None, Vec::new()),
    };
    if let Some(set) = set {
        writer.judge_by(&set, &now)?;
    }
    writer.append(&[], &[], &found, &reason)?;
    let options = Options {
        conventions: Conventions::builtin(),
        missing_status: MissingStatus::Unset,
        chat_calls: ChatCalls::LeaveOut,
    };
    let mut write = |batch: Batch| writer.append(&batch.spans, &batch.links, &batch.issues, &reason);
    let report = ingest::read(&mut lines.as_bytes(), Start::default(), &options, &mut write, &mut |_, _| {})?;
    writer.finish(load::totals(&report, sha256_hex(lines.as_bytes())), &reason).map(drop)
}
