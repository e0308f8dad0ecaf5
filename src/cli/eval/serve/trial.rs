//! A trial by hand: turns to standard output, answers from standard input.

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::json;

use crate::cli::terminal;
use crate::experiment::by_hand::HandTrial;
use crate::render::{Texts, eval_report as words};

/// The trial, until it ends.
pub(super) struct Hand {
    case_id: String,
    trial: Mutex<Option<HandTrial>>,
    /// Where its traces go, and the file that is open there.
    traces: Option<(PathBuf, File)>,
    /// Why the traces could not be written.
    failed: Mutex<Option<anyhow::Error>>,
    quiet: bool,
    texts: Texts,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes the first turn, and reads answers on a thread of its own as long as turns are left. An end of the input ends
/// nothing: who sends it may be a program that only wanted the first turn.
pub(super) fn follow(hand: Arc<Hand>) -> io::Result<()> {
    hand.turn();
    std::thread::Builder::new().name("answers".to_owned()).spawn(move || {
        for line in io::stdin().lock().lines() {
            if !line.is_ok_and(|text| hand.answer(&text)) {
                return;
            }
        }
    })?;
    Ok(())
}

impl Hand {
    pub(super) fn new(case_id: String, trial: HandTrial, traces: Option<(PathBuf, File)>, quiet: bool) -> Self {
        let (trial, texts) = (Mutex::new(Some(trial)), Texts::korean());
        Self { case_id, trial, traces, failed: Mutex::default(), quiet, texts }
    }

    fn turn(&self) {
        let trial = locked(&self.trial);
        if let Some(turn) = trial.as_ref().and_then(HandTrial::turn) {
            self.tell(&words::hand_turn(&self.texts));
            terminal::write_result(&format!("{turn}\n"), None).ok();
        }
    }

    /// Takes an answer; false when the trial is over.
    fn answer(&self, text: &str) -> bool {
        let mut trial = locked(&self.trial);
        let has_more = trial.as_ref().is_some_and(|trial| trial.answer(text));
        let ended = if has_more { None } else { trial.take() };
        drop(trial);
        if has_more {
            self.turn();
        }
        if let Some(ended) = ended {
            self.end(ended);
        }
        has_more
    }

    /// Ends what has not ended, as cancelled.
    ///
    /// # Errors
    /// When the traces could not be written.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        let trial = locked(&self.trial).take();
        if let Some(trial) = trial {
            trial.cancel();
            self.end(trial);
        }
        locked(&self.failed).take().map_or(Ok(()), Err)
    }

    fn end(&self, trial: HandTrial) {
        let tried = trial.end();
        self.tell(&words::tried(&self.texts, &self.case_id, tried.verdict, &tried.checks, &tried.events));
        let whole = json!({
            "trial_id": tried.trial_id,
            "case_id": self.case_id,
            "verdict": tried.verdict.as_str(),
            "checks": tried.checks,
            "events": tried.events,
        });
        terminal::write_result(&format!("{whole}\n"), None).ok();
        if let Some((path, file)) = &self.traces {
            let lines: String = tried.traces.iter().map(|trace| format!("{}\n", trace.line)).collect();
            let mut file = file;
            if let Err(error) = file.write_all(lines.as_bytes()) {
                *locked(&self.failed) = Some(terminal::not_appended(path, error));
            }
        }
    }

    fn tell(&self, text: &str) {
        if !self.quiet {
            terminal::tell(text);
        }
    }
}
