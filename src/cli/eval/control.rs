//! How one process tells another that its experiment is to end, while that one holds the store.
//!
//! Beside the store `taco.duckdb` a run keeps `taco.duckdb.eval-run`, which holds the id of its experiment and is
//! locked as long as the process lives. `eval cancel` makes `taco.duckdb.eval-cancel`, which the run looks for. The run
//! takes both away at its end. After a kill the first file stays, but is locked no more.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::terminal;

/// The files of a run.
pub(super) struct Control {
    _locked: File,
    run: PathBuf,
    cancel: PathBuf,
}

/// A path with more at the end of its name.
fn beside(db: &Path, end: &str) -> PathBuf {
    let mut name = db.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

impl Control {
    /// To be called by who holds the store: nobody else then has these files.
    pub(super) fn begin(db: &Path, experiment_id: &str) -> anyhow::Result<Self> {
        let (run, cancel) = (beside(db, ".eval-run"), beside(db, ".eval-cancel"));
        let not_made = |error| terminal::not_written(Some(&run), error);
        let mut file = File::create(&run).map_err(not_made)?;
        // Where files cannot be locked, experiments can be run all the same.
        file.try_lock().ok();
        file.write_all(experiment_id.as_bytes()).and_then(|()| file.flush()).map_err(not_made)?;
        // Of a run that was killed.
        fs::remove_file(&cancel).ok();
        Ok(Self { _locked: file, run, cancel })
    }

    /// Whether somebody asked for an end.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancel.exists()
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        fs::remove_file(&self.run).ok();
        fs::remove_file(&self.cancel).ok();
    }
}

/// The experiment that runs on this store.
pub(super) fn running(db: &Path) -> Option<String> {
    let run = beside(db, ".eval-run");
    let file = File::open(&run).ok()?;
    // Who gets the lock is alone: the file stayed behind.
    if file.try_lock_shared().is_ok() {
        return None;
    }
    fs::read_to_string(&run).ok()
}

/// Asks the experiment that runs on this store to end, and returns its id. With `asked` only one whose id begins so.
pub(super) fn cancel(db: &Path, asked: Option<&str>) -> anyhow::Result<String> {
    let none = || Failure::usage("eval_not_running").with("path", db.display());
    let id = running(db).ok_or_else(none)?;
    if asked.is_some_and(|asked| !id.starts_with(asked)) {
        return Err(none().with("value", asked.unwrap_or_default()).with("known", &id).into());
    }
    let path = beside(db, ".eval-cancel");
    File::create(&path).map_err(|error| terminal::not_written(Some(&path), error))?;
    Ok(id)
}
