//! Trials as traces: their lines into a file and into the store.

use std::collections::BTreeMap;
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
use crate::model::{Experiment, Issue};
use crate::render::{Texts, issues};
use crate::store::{SourceIdentity, Store, StoreError};

/// Writes the trials of an experiment whose traces the store does not have: to `file`, when there is one, behind what
/// it holds, and into the store, each judged by the contracts of its case. The tools in force stay as they are.
///
/// Lines follow from what was kept of a trial, so that what an interruption left out is made up for by the next run.
pub(super) fn keep(
    texts: &Texts,
    store: &Store,
    experiment: &Experiment,
    cases: &[Arc<Case>],
    file: Option<&Path>,
) -> anyhow::Result<()> {
    let mut by_case: BTreeMap<String, String> = BTreeMap::new();
    for start in store.trials_without_runs(&experiment.experiment_id).map_err(Failure::from)? {
        let kept = store.events_of(&start.trial_id).map_err(Failure::from)?;
        let events: Vec<Event> = kept.iter().filter_map(|event| serde_json::from_str(&event.event).ok()).collect();
        let about = About { trial_id: &start.trial_id, target: &experiment.target, started_ns: start.started_ns };
        let lines = by_case.entry(start.case_id.clone()).or_default();
        for trace in traces(about, &events) {
            lines.push_str(&trace.line);
            lines.push('\n');
        }
    }
    if let Some(path) = file {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let mut opened = opened.map_err(|error| terminal::not_written(Some(path), error))?;
        for lines in by_case.values() {
            opened.write_all(lines.as_bytes()).map_err(|error| terminal::not_appended(path, error))?;
        }
    }
    for case in cases {
        let Some(lines) = by_case.get(&case.id) else { continue };
        ingest_lines(texts, store, experiment, case, lines).map_err(Failure::from)?;
    }
    Ok(())
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
