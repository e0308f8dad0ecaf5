//! Where runs of the demo agent are put and judged: what `demo bench` and `demo compare` share.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::path::{Path, PathBuf};

use crate::bench::Judged;
use crate::bench::injected::Said;
use crate::cli::bench::judged;
use crate::cli::failure::Failure;
use crate::cli::load::{self, LoadArgs};
use crate::cli::terminal;
use crate::diagnose::{DraftMode, JudgedRun, Outcome, diagnose_traces};
use crate::model::Status;
use crate::render::Texts;
use crate::store::Store;

/// A folder of this process, removed at the end.
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes it among the temporary files; nobody else can read it.
    pub(super) fn make() -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("taco-trace-demo-{}-{}", std::process::id(), load::now_ns()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|error| terminal::not_written(Some(&path), error))?;
        Ok(Self(path))
    }

    /// Writes a file in it, and returns its path.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, text).map_err(|error| terminal::not_written(Some(&path), error))?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Reads traces and the tools that were offered in them as `ingest` does, and judges these traces alone.
pub(super) fn judge(
    texts: &Texts,
    store: &Store,
    (traces, tools): (&Path, &Path),
    trace_ids: &[String],
    drafts: DraftMode,
) -> anyhow::Result<Outcome> {
    let args = LoadArgs::plain(Some(tools.to_owned()));
    let loaded = load::load(texts, store, &[traces.to_owned()], &args)?;
    load::require_recognised(&loaded)?;
    Ok(diagnose_traces(store, texts, trace_ids, drafts).map_err(Failure::from)?)
}

/// What was said of each trace.
pub(super) fn by_trace(outcome: Outcome) -> BTreeMap<String, Said> {
    let more = |run: &JudgedRun| {
        (run.diagnosis.trace_id.clone(), (run.diagnosis.summary.clone(), Some(run.diagnosis.final_status)))
    };
    let mut more: BTreeMap<String, (String, Option<Status>)> = outcome.runs.iter().map(more).collect();
    let said = |judged: Judged| {
        let (summary, final_status) = more.remove(&judged.trace_id).unwrap_or_default();
        (judged.trace_id.clone(), Said { judged, summary, final_status })
    };
    judged(outcome).into_iter().map(said).collect()
}
