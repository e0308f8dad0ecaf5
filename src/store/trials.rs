//! What experiments of evaluations came to: their trials, decisions, reviews, and the tokens of the gate. Rows are only
//! added.

use std::collections::BTreeMap;

use duckdb::{OptionalExt, Row, params};

use super::review::known;
use super::{Store, StoreError};
use crate::model::{
    EvalDecision, EvalVerdict, GateAnswer, GateToken, KeptDecision, Opinion, PlannedTrial, Spent, TrialCheck,
    TrialEvent, TrialReview, TrialState,
};

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or_default()
}

fn signed(value: Option<i64>) -> Option<u64> {
    value.map(unsigned)
}

impl Store {
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
        self.whole("a review", || self.insert_trial_review(trial_id, review, reviewed_ns, decide))
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
            self.add_experiment_decision(kept)?;
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
        Ok(standing.map_or(GateAnswer::Undecided { experiment_id }, |(kept, _)| GateAnswer::Decided(Box::new(kept))))
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

    /// What people said of a trial, the oldest first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn trial_reviews(&self, trial_id: &str) -> Result<Vec<TrialReview>, StoreError> {
        self.rows(include_str!("../../sql/queries/eval_reviews_of.sql"), params![trial_id], |row| {
            Ok(TrialReview {
                opinion: known(row, 0, Opinion::from_name)?,
                note: row.get(1)?,
                reviewer: row.get(2)?,
                reviewed_at: row.get(3)?,
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
    let is_judged = row.get::<_, Option<String>>(5)?.is_some();
    let review = match row.get::<_, Option<String>>(15)? {
        Some(_) => Some(TrialReview {
            opinion: known(row, 15, Opinion::from_name)?,
            note: row.get(16)?,
            reviewer: row.get(17)?,
            reviewed_at: row.get(18)?,
        }),
        None => None,
    };
    Ok(PlannedTrial {
        case_id: row.get(0)?,
        trial: unsigned(row.get(1)?),
        trial_id: row.get(2)?,
        attempt: signed(row.get(3)?),
        state: known(row, 4, TrialState::from_name)?,
        verdict: if is_judged { Some(known(row, 5, EvalVerdict::from_name)?) } else { None },
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
    Ok(TrialCheck {
        check_id: row.get(1)?,
        kind: row.get(2)?,
        severity: row.get(3)?,
        verdict: known(row, 4, EvalVerdict::from_name)?,
        reason: row.get(5)?,
        events: known(row, 6, |text| serde_json::from_str(text).ok())?,
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
