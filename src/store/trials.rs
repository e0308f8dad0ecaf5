//! What experiments of evaluations came to: their trials, decisions, reviews, and the tokens of the gate. Rows are only
//! added.

use std::collections::BTreeMap;

use duckdb::{OptionalExt, Row, params};

use super::{Store, StoreError};
use crate::model::{
    EvalDecision, EvalVerdict, Experiment, ExperimentRole, GateAnswer, GateToken, KeptDecision, Opinion, PlannedTrial, Spent,
    TrialCheck, TrialEvent, TrialReview, TrialState,
};

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

fn signed(value: Option<i64>) -> Option<u64> {
    value.map(unsigned)
}

/// What the code stands for; none for one that this program does not know.
fn coded<T: Copy>(all: &[T], as_str: impl Fn(T) -> &'static str, code: &str) -> Option<T> {
    all.iter().copied().find(|one| as_str(*one) == code)
}

fn verdict(code: &str) -> Option<EvalVerdict> {
    coded(&EvalVerdict::ALL, EvalVerdict::as_str, code)
}

impl Store {
    /// Every experiment with its cases, the newest first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn experiments(&self) -> Result<Vec<Experiment>, StoreError> {
        let mut all = self.rows(include_str!("../../sql/queries/eval_experiments.sql"), [], |row| {
            let role: String = row.get(2)?;
            Ok(Experiment {
                experiment_id: row.get(0)?,
                project_id: row.get(1)?,
                role: if role == "baseline" { ExperimentRole::Baseline } else { ExperimentRole::Candidate },
                target: row.get(3)?,
                target_kind: row.get(4)?,
                config_sha256: row.get(5)?,
                config: row.get(6)?,
                allow_private_target: row.get(7)?,
                trials: unsigned(row.get(8)?),
                threshold: row.get(9)?,
                started_at: row.get(10)?,
                started_ns: row.get(11)?,
                cases: Vec::new(),
            })
        })?;
        let sql = include_str!("../../sql/queries/eval_cases_of.sql");
        for experiment in &mut all {
            experiment.cases =
                self.rows(sql, params![experiment.experiment_id], |row| Ok((row.get(0)?, row.get(1)?)))?;
        }
        Ok(all)
    }

    /// Planned trials of an experiment with their last attempts, by case and number.
    ///
    /// # Errors
    /// `Statement`.
    pub fn planned_trials(&self, experiment_id: &str) -> Result<Vec<PlannedTrial>, StoreError> {
        self.need_views()?;
        let sql = include_str!("../../sql/queries/eval_planned_trials.sql");
        let mut trials = self.rows(sql, params![experiment_id], planned)?;
        let mut checks: BTreeMap<String, Vec<TrialCheck>> = BTreeMap::new();
        let sql = include_str!("../../sql/queries/eval_checks_of.sql");
        for (trial_id, check) in self.rows(sql, params![experiment_id], |row| Ok((row.get(0)?, check(row)?)))? {
            checks.entry(trial_id).or_default().push(check);
        }
        let mut events: BTreeMap<String, Vec<TrialEvent>> = BTreeMap::new();
        let sql = include_str!("../../sql/queries/eval_events_of.sql");
        for (trial_id, event) in self.rows(sql, params![experiment_id], |row| Ok((row.get(0)?, event(row)?)))? {
            events.entry(trial_id).or_default().push(event);
        }
        let mut traces: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
        let sql = include_str!("../../sql/queries/eval_traces_of.sql");
        let trace = |row: &Row<'_>| Ok((row.get(0)?, (unsigned(row.get(1)?), row.get(2)?)));
        for (trial_id, trace) in self.rows(sql, params![experiment_id], trace)? {
            traces.entry(trial_id).or_default().push(trace);
        }
        for trial in &mut trials {
            let Some(id) = &trial.trial_id else { continue };
            trial.checks = checks.remove(id).unwrap_or_default();
            trial.events = events.remove(id).unwrap_or_default();
            trial.traces = traces.remove(id).unwrap_or_default();
        }
        Ok(trials)
    }

    /// What all attempts of an experiment used.
    ///
    /// # Errors
    /// `Statement`.
    pub fn eval_spent(&self, experiment_id: &str) -> Result<Spent, StoreError> {
        let sql = include_str!("../../sql/queries/eval_spent.sql");
        let read = |row: &Row<'_>| {
            Ok(Spent {
                attempts: unsigned(row.get(0)?),
                input_tokens: unsigned(row.get(1)?),
                output_tokens: unsigned(row.get(2)?),
                cost_usd: row.get(3)?,
                unpriced: unsigned(row.get(4)?),
                duration_ms: unsigned(row.get(5)?),
            })
        };
        self.connection.query_row(sql, params![experiment_id], read).map_err(StoreError::statement("eval_spent"))
    }

    /// First and last start of the runs that trials of an experiment were written as, nanoseconds since 1970 UTC; none
    /// when none of them is in the store.
    ///
    /// # Errors
    /// `Statement`.
    pub fn eval_trace_times(&self, experiment_id: &str) -> Result<Option<(i64, i64)>, StoreError> {
        let sql = include_str!("../../sql/queries/eval_trace_times.sql");
        let both = |row: &Row<'_>| Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?));
        self.connection.query_row(sql, params![experiment_id], both).map_err(StoreError::statement("eval_trace_times"))
    }

    /// The document of a frozen case; none when this version is not in the store.
    ///
    /// # Errors
    /// `Statement`.
    pub fn frozen_case(&self, sha256: &str) -> Result<Option<String>, StoreError> {
        let sql = include_str!("../../sql/queries/frozen_case.sql");
        self.connection
            .query_row(sql, params![sha256], |row| row.get(0))
            .optional()
            .map_err(StoreError::statement("eval_cases"))
    }

    /// Trials whose id begins so, with their experiments, by id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn trials_with_prefix(&self, prefix: &str) -> Result<Vec<(String, String)>, StoreError> {
        let sql = include_str!("../../sql/queries/eval_trials_with_prefix.sql");
        self.rows(sql, params![prefix], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// The newest decision on an experiment; none when there is none, when an attempt began after it, or when it cannot
    /// be read.
    ///
    /// # Errors
    /// `Statement`.
    pub fn standing_decision(&self, experiment_id: &str) -> Result<Option<KeptDecision>, StoreError> {
        Ok(self.newest_decision(experiment_id)?.and_then(|(kept, is_over)| (!is_over).then_some(kept)))
    }

    /// The newest decision on an experiment, and whether an attempt began after it.
    fn newest_decision(&self, experiment_id: &str) -> Result<Option<(KeptDecision, bool)>, StoreError> {
        let sql = include_str!("../../sql/queries/eval_decision_of.sql");
        let read = |row: &Row<'_>| {
            let decided: String = row.get(2)?;
            let is_over: bool = row.get(5)?;
            let kept = (row.get(0)?, row.get(1)?, row.get(3)?, row.get(4)?);
            Ok((decided, is_over, kept))
        };
        let found = self
            .connection
            .query_row(sql, params![experiment_id], read)
            .optional()
            .map_err(StoreError::statement("eval_decisions"))?;
        Ok(found.and_then(|(decided, is_over, (experiment_id, baseline_experiment_id, decided_at, decided_ns))| {
            let decided = serde_json::from_str(&decided).ok()?;
            Some((KeptDecision { experiment_id, baseline_experiment_id, decided, decided_at, decided_ns }, is_over))
        }))
    }

    /// Adds a decision. Its time is moved behind the newest one of the experiment when the clock was set back.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_eval_decision(&self, kept: &KeptDecision) -> Result<(), StoreError> {
        // Plain data can always be written.
        let decided = serde_json::to_string(&kept.decided).unwrap_or_default();
        self.connection
            .execute(
                include_str!("../../sql/queries/add_eval_decision.sql"),
                params![
                    kept.experiment_id,
                    kept.baseline_experiment_id,
                    kept.decided.decision.as_str(),
                    decided,
                    kept.decided_at,
                    kept.decided_ns,
                ],
            )
            .map(|_| ())
            .map_err(StoreError::statement("eval_decisions"))
    }

    /// Adds what a person said of a trial, at `reviewed_ns` nanoseconds since 1970 UTC, and the decision that `decide`
    /// comes to with it, both or none.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`; nothing is kept then.
    pub fn add_trial_review(
        &self,
        trial_id: &str,
        review: &TrialReview,
        reviewed_ns: i64,
        decide: impl FnOnce(&Self) -> Result<Option<KeptDecision>, StoreError>,
    ) -> Result<Option<KeptDecision>, StoreError> {
        self.step("beginning a review", "BEGIN")?;
        let kept = self.insert_trial_review(trial_id, review, reviewed_ns, decide);
        match kept {
            Ok(decision) => self.step("ending a review", "COMMIT").map(|()| decision),
            Err(error) => {
                self.step("ending a review", "ROLLBACK").ok();
                Err(error)
            }
        }
    }

    fn insert_trial_review(
        &self,
        trial_id: &str,
        review: &TrialReview,
        reviewed_ns: i64,
        decide: impl FnOnce(&Self) -> Result<Option<KeptDecision>, StoreError>,
    ) -> Result<Option<KeptDecision>, StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/add_eval_review.sql"),
                params![
                    trial_id,
                    review.opinion.as_str(),
                    review.note,
                    review.reviewer,
                    review.reviewed_at,
                    reviewed_ns,
                ],
            )
            .map_err(StoreError::statement("eval_reviews"))?;
        let decision = decide(self)?;
        if let Some(kept) = &decision {
            self.add_eval_decision(kept)?;
        }
        Ok(decision)
    }

    /// What stands of exactly this configuration: the newest decision on the newest candidate tried with it, of this
    /// project or of any. An older candidate never answers for a newer one.
    ///
    /// # Errors
    /// `Statement`.
    pub fn gate(&self, config_sha256: &str, project_id: Option<&str>) -> Result<GateAnswer, StoreError> {
        let sql = include_str!("../../sql/queries/eval_gate.sql");
        let newest: Option<String> = self
            .connection
            .query_row(sql, params![config_sha256, project_id], |row| row.get(0))
            .optional()
            .map_err(StoreError::statement("eval_gate"))?;
        let Some(experiment_id) = newest else { return Ok(GateAnswer::NotFound) };
        // No later attempt takes a critical violation back.
        let stands =
            |(kept, is_over): &(KeptDecision, bool)| !is_over || kept.decided.decision == EvalDecision::Blocked;
        let standing = self.newest_decision(&experiment_id)?.filter(stands);
        Ok(standing.map_or(GateAnswer::Undecided { experiment_id }, |(kept, _)| GateAnswer::Decided(kept)))
    }

    /// Ids of the projects, in order.
    ///
    /// # Errors
    /// `Statement`.
    pub fn eval_projects(&self) -> Result<Vec<String>, StoreError> {
        self.rows(include_str!("../../sql/queries/eval_projects.sql"), [], |row| row.get(0))
    }

    /// Tokens of the gate in the order in which they were issued.
    ///
    /// # Errors
    /// `Statement`.
    pub fn gate_tokens(&self) -> Result<Vec<GateToken>, StoreError> {
        self.rows(include_str!("../../sql/queries/eval_tokens.sql"), [], |row| {
            Ok(GateToken {
                token_id: row.get(0)?,
                project_id: row.get(1)?,
                token_sha256: row.get(2)?,
                label: row.get(3)?,
                issued_at: row.get(4)?,
                expires_ns: row.get(5)?,
                revoked_at: row.get(6)?,
            })
        })
    }

    /// Keeps a token.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_gate_token(&self, token: &GateToken) -> Result<(), StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/add_eval_token.sql"),
                params![
                    token.token_id,
                    token.project_id,
                    token.token_sha256,
                    token.label,
                    token.issued_at,
                    token.expires_ns,
                ],
            )
            .map(|_| ())
            .map_err(StoreError::statement("eval_tokens"))
    }

    /// Takes a token back, at a Korean time.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn revoke_gate_token(&self, token_id: &str, revoked_at: &str) -> Result<(), StoreError> {
        self.connection
            .execute(include_str!("../../sql/queries/add_eval_token_revocation.sql"), params![token_id, revoked_at])
            .map(|_| ())
            .map_err(StoreError::statement("eval_token_revocations"))
    }
}

fn planned(row: &Row<'_>) -> duckdb::Result<PlannedTrial> {
    let state: String = row.get(4)?;
    let code: Option<String> = row.get(5)?;
    let opinion: Option<String> = row.get(15)?;
    let review = match opinion.and_then(|code| coded(&Opinion::ALL, Opinion::as_str, &code)) {
        Some(opinion) => {
            Some(TrialReview { opinion, note: row.get(16)?, reviewer: row.get(17)?, reviewed_at: row.get(18)? })
        }
        None => None,
    };
    Ok(PlannedTrial {
        case_id: row.get(0)?,
        trial: unsigned(row.get(1)?),
        trial_id: row.get(2)?,
        attempt: signed(row.get(3)?),
        state: coded(&TrialState::ALL, TrialState::as_str, &state).unwrap_or(TrialState::NotRun),
        verdict: code.as_deref().and_then(verdict),
        target_name: row.get(6)?,
        target_version: row.get(7)?,
        submits_events: row.get(8)?,
        started_at: row.get(9)?,
        started_ns: row.get(10)?,
        duration_ms: signed(row.get(11)?),
        input_tokens: unsigned(row.get(12)?),
        output_tokens: unsigned(row.get(13)?),
        cost_usd: row.get(14)?,
        traces: Vec::new(),
        review,
        checks: Vec::new(),
        events: Vec::new(),
    })
}

fn check(row: &Row<'_>) -> duckdb::Result<TrialCheck> {
    let code: String = row.get(4)?;
    let events: String = row.get(6)?;
    Ok(TrialCheck {
        check_id: row.get(1)?,
        kind: row.get(2)?,
        severity: row.get(3)?,
        // What no version of this program wrote says nothing of the target.
        verdict: verdict(&code).unwrap_or(EvalVerdict::Error),
        reason: row.get(5)?,
        events: serde_json::from_str(&events).unwrap_or_default(),
        measured: signed(row.get(7)?),
    })
}

fn event(row: &Row<'_>) -> duckdb::Result<TrialEvent> {
    Ok(TrialEvent {
        seq: unsigned(row.get(1)?),
        at_ms: unsigned(row.get(2)?),
        turn: unsigned(row.get(3)?),
        kind: row.get(4)?,
        event: row.get(5)?,
    })
}
