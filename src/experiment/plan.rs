//! What an experiment has to do: every trial of every case, and of one that was begun before, what is left. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::digest::sha256_hex;
use crate::eval::case::Case;
use crate::model::{EvalVerdict, StoredTrial};

/// Hex digits of an id.
const ID_DIGITS: usize = 16;

/// One trial to be made.
#[derive(Debug, Clone)]
pub struct Task {
    /// Names it: follows from experiment, case, trial and attempt.
    pub trial_id: String,
    /// The case.
    pub case: Arc<Case>,
    /// Which trial of the case, from 1.
    pub trial: u64,
    /// Which attempt at that trial, from 1.
    pub attempt: u64,
}

/// The id of a trial.
#[must_use]
pub fn trial_id(experiment_id: &str, case_id: &str, trial: u64, attempt: u64) -> String {
    let words = format!("{experiment_id}\n{case_id}\n{trial}\n{attempt}");
    let mut id = sha256_hex(words.as_bytes());
    id.truncate(ID_DIGITS);
    id
}

/// The trials of an experiment that are still to be made, and those that an interruption left without an end.
#[derive(Debug, Default)]
pub struct Left {
    /// To be made: by number of the trial, then in the order of the cases, so that every case is tried early.
    pub tasks: Vec<Task>,
    /// Begun and never ended.
    pub interrupted: Vec<StoredTrial>,
}

/// What is left of `trials` trials of each case when `made` is what the store has.
///
/// A trial counts by its last attempt. One that ended is made again only when it is ERROR and `retry_errors` says so;
/// one that was interrupted is not, unless `retry_errors` says so, since its end will be ERROR.
#[must_use]
pub fn left(experiment_id: &str, cases: &[Arc<Case>], trials: u64, made: &[StoredTrial], retry_errors: bool) -> Left {
    let mut last: BTreeMap<(&str, u64), &StoredTrial> = BTreeMap::new();
    for one in made {
        let place = last.entry((&one.start.case_id, one.start.trial)).or_insert(one);
        if one.start.attempt > place.start.attempt {
            *place = one;
        }
    }
    let mut left =
        Left { tasks: Vec::new(), interrupted: made.iter().filter(|one| one.end.is_none()).cloned().collect() };
    for trial in 1..=trials {
        for case in cases {
            let attempt = match last.get(&(case.id.as_str(), trial)) {
                None => 1,
                Some(before) => {
                    let is_error = before.end.as_ref().is_none_or(|end| end.verdict == EvalVerdict::Error);
                    if !(is_error && retry_errors) {
                        continue;
                    }
                    before.start.attempt + 1
                }
            };
            let trial_id = trial_id(experiment_id, &case.id, trial, attempt);
            left.tasks.push(Task { trial_id, case: Arc::clone(case), trial, attempt });
        }
    }
    left
}
