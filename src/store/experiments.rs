//! Experiments of evaluations: projects, experiments, their trials and what was decided. Rows are only added; what a
//! trial left (end, events, checks, traces) is added together or not at all.

use duckdb::{Row, params};

use super::review::known;
use super::{Store, StoreError};
use crate::model::{
    EvalVerdict, Experiment, ExperimentRole, KeptDecision, StoredTrial, TrialCheck, TrialEnd, TrialEvent, TrialStart,
};

impl Store {
    /// Keeps a project; false when it was there already, which then stays as it is. `created_at` is Korean time.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn keep_project(&self, project_id: &str, name: &str, created_at: &str) -> Result<bool, StoreError> {
        self.connection
            .execute(include_str!("../../sql/queries/keep_eval_project.sql"), params![project_id, name, created_at])
            .map(|rows| rows > 0)
            .map_err(StoreError::statement("eval_projects"))
    }

    /// Adds an experiment with its cases, whole or not at all.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn begin_experiment(&self, experiment: &Experiment) -> Result<(), StoreError> {
        self.whole("an experiment", || {
            self.connection
                .execute(
                    include_str!("../../sql/queries/add_experiment.sql"),
                    params![
                        experiment.experiment_id,
                        experiment.project_id,
                        experiment.role.as_str(),
                        experiment.target,
                        experiment.target_kind,
                        experiment.config_sha256,
                        experiment.config,
                        experiment.allow_private_target,
                        signed(experiment.trials),
                        experiment.threshold,
                        experiment.started_at,
                        experiment.started_ns,
                    ],
                )
                .map_err(StoreError::statement("eval_experiments"))?;
            let sql = include_str!("../../sql/queries/add_experiment_case.sql");
            let what = "eval_experiment_cases";
            let mut statement = self.connection.prepare(sql).map_err(StoreError::statement(what))?;
            for (case_id, sha256) in &experiment.cases {
                statement
                    .execute(params![experiment.experiment_id, case_id, sha256])
                    .map_err(StoreError::statement(what))?;
            }
            Ok(())
        })
    }

    /// Adds a trial that begins.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn begin_trial(&self, start: &TrialStart) -> Result<(), StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/add_trial_start.sql"),
                params![
                    start.trial_id,
                    start.experiment_id,
                    start.case_id,
                    signed(start.trial),
                    signed(start.attempt),
                    start.started_at,
                    start.started_ns,
                ],
            )
            .map(drop)
            .map_err(StoreError::statement("eval_trial_starts"))
    }

    /// Adds the end of a trial with its events, checks and traces, whole or not at all; false when it had ended
    /// already, and nothing is added then.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn end_trial(&self, end: &TrialEnd) -> Result<bool, StoreError> {
        self.whole("the end of a trial", || {
            let rows = self
                .connection
                .execute(
                    include_str!("../../sql/queries/add_trial_end.sql"),
                    params![
                        end.trial_id,
                        end.verdict.as_str(),
                        end.ended_at,
                        signed(end.duration_ms),
                        end.target_name,
                        end.target_version,
                        json(&end.capabilities),
                        end.submits_events,
                        signed(end.input_tokens),
                        signed(end.output_tokens),
                        end.cost_usd,
                        end.world,
                    ],
                )
                .map_err(StoreError::statement("eval_trial_ends"))?;
            if rows > 0 {
                self.insert_parts(end)?;
            }
            Ok(rows > 0)
        })
    }

    fn insert_parts(&self, end: &TrialEnd) -> Result<(), StoreError> {
        let (events, checks, traces) = ("eval_trial_events", "eval_trial_checks", "eval_trial_traces");
        let sql = include_str!("../../sql/queries/add_trial_event.sql");
        let mut statement = self.connection.prepare(sql).map_err(StoreError::statement(events))?;
        for event in &end.events {
            let (seq, at_ms, turn) = (signed(event.seq), signed(event.at_ms), signed(event.turn));
            statement
                .execute(params![end.trial_id, seq, at_ms, turn, event.kind, event.event])
                .map_err(StoreError::statement(events))?;
        }
        let sql = include_str!("../../sql/queries/add_trial_check.sql");
        let mut statement = self.connection.prepare(sql).map_err(StoreError::statement(checks))?;
        for (place, check) in (1_i64..).zip(&end.checks) {
            statement
                .execute(params![
                    end.trial_id,
                    place,
                    check.check_id,
                    check.kind,
                    check.severity,
                    check.verdict.as_str(),
                    check.reason,
                    json(&check.events),
                    check.measured.map(signed),
                ])
                .map_err(StoreError::statement(checks))?;
        }
        let sql = include_str!("../../sql/queries/add_trial_trace.sql");
        let mut statement = self.connection.prepare(sql).map_err(StoreError::statement(traces))?;
        for (turn, trace_id) in &end.traces {
            statement.execute(params![end.trial_id, signed(*turn), trace_id]).map_err(StoreError::statement(traces))?;
        }
        Ok(())
    }

    /// Experiments, the oldest first.
    ///
    /// # Errors
    /// `Statement`.
    pub fn experiments(&self) -> Result<Vec<Experiment>, StoreError> {
        let mut found = self.rows(include_str!("../../sql/queries/experiments.sql"), [], experiment)?;
        let sql = include_str!("../../sql/queries/experiment_cases.sql");
        let cases = self.rows(sql, params![None::<String>], |row| {
            Ok((row.get::<_, String>(0)?, (row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
        })?;
        for experiment in &mut found {
            let own = cases.iter().filter(|(id, _)| *id == experiment.experiment_id);
            experiment.cases = own.map(|(_, case)| case.clone()).collect();
        }
        Ok(found)
    }

    /// The experiment of this id, or those whose ids begin so: none, one, or several among which cannot be told.
    ///
    /// # Errors
    /// `Statement`.
    pub fn experiment(&self, id: &str) -> Result<Vec<Experiment>, StoreError> {
        let all = self.experiments()?;
        let exact: Vec<Experiment> = all.iter().filter(|experiment| experiment.experiment_id == id).cloned().collect();
        if !exact.is_empty() {
            return Ok(exact);
        }
        Ok(all.into_iter().filter(|experiment| experiment.experiment_id.starts_with(id)).collect())
    }

    /// Trials of an experiment by case, trial and attempt, each with its end if it ended. The end's events, checks and
    /// traces are left empty: [`Store::events_of`], [`Store::checks_of`] and [`Store::traces_of`] read them.
    ///
    /// # Errors
    /// `Statement`.
    pub fn trials_of(&self, experiment_id: &str) -> Result<Vec<StoredTrial>, StoreError> {
        self.rows(include_str!("../../sql/queries/trials_of.sql"), params![experiment_id], stored_trial)
    }

    /// Events of a trial, in order.
    ///
    /// # Errors
    /// `Statement`.
    pub fn events_of(&self, trial_id: &str) -> Result<Vec<TrialEvent>, StoreError> {
        self.rows(include_str!("../../sql/queries/trial_events.sql"), params![trial_id], |row| {
            Ok(TrialEvent {
                seq: unsigned(row, 0)?,
                at_ms: unsigned(row, 1)?,
                turn: unsigned(row, 2)?,
                kind: row.get(3)?,
                event: row.get(4)?,
            })
        })
    }

    /// Checks of a trial, in the order of the case.
    ///
    /// # Errors
    /// `Statement`.
    pub fn checks_of(&self, trial_id: &str) -> Result<Vec<TrialCheck>, StoreError> {
        self.rows(include_str!("../../sql/queries/trial_checks.sql"), params![trial_id], |row| {
            Ok(TrialCheck {
                check_id: row.get(0)?,
                kind: row.get(1)?,
                severity: row.get(2)?,
                verdict: known(row, 3, EvalVerdict::from_name)?,
                reason: row.get(4)?,
                events: known(row, 5, |text| serde_json::from_str(text).ok())?,
                measured: row.get::<_, Option<i64>>(6)?.and_then(|count| u64::try_from(count).ok()),
            })
        })
    }

    /// Traces that a trial was written as: turn from 1, and trace id.
    ///
    /// # Errors
    /// `Statement`.
    pub fn traces_of(&self, trial_id: &str) -> Result<Vec<(u64, String)>, StoreError> {
        let sql = include_str!("../../sql/queries/trial_traces.sql");
        self.rows(sql, params![trial_id], |row| Ok((unsigned(row, 0)?, row.get(1)?)))
    }

    /// Trials of an experiment that ended and of which a trace is not in the store, by case, trial and attempt.
    ///
    /// # Errors
    /// `Statement`.
    pub fn trials_without_runs(&self, experiment_id: &str) -> Result<Vec<TrialStart>, StoreError> {
        let sql = include_str!("../../sql/queries/trials_without_runs.sql");
        self.rows(sql, params![experiment_id], trial_start)
    }

    /// Adds a decision on an experiment; its time is moved behind the newest one when the clock was set back.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`.
    pub fn add_experiment_decision(&self, kept: &KeptDecision) -> Result<(), StoreError> {
        self.connection
            .execute(
                include_str!("../../sql/queries/add_eval_decision.sql"),
                params![
                    kept.experiment_id,
                    kept.baseline_experiment_id,
                    kept.decided.decision.as_str(),
                    // Plain data can always be written, and its numbers are finite.
                    serde_json::to_string(&kept.decided).unwrap_or_default(),
                    kept.decided_at,
                    kept.decided_ns,
                ],
            )
            .map(drop)
            .map_err(StoreError::statement("eval_decisions"))
    }
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, index: usize) -> duckdb::Result<u64> {
    // Nothing below zero is ever written.
    Ok(u64::try_from(row.get::<_, i64>(index)?).unwrap_or_default())
}

/// A list as JSON: texts and numbers always have a form.
fn json<T: serde::Serialize>(list: &[T]) -> String {
    serde_json::to_string(list).unwrap_or_default()
}

fn experiment(row: &Row<'_>) -> duckdb::Result<Experiment> {
    Ok(Experiment {
        experiment_id: row.get(0)?,
        project_id: row.get(1)?,
        role: known(row, 2, ExperimentRole::from_name)?,
        target: row.get(3)?,
        target_kind: row.get(4)?,
        config_sha256: row.get(5)?,
        config: row.get(6)?,
        allow_private_target: row.get(7)?,
        trials: unsigned(row, 8)?,
        threshold: row.get(9)?,
        started_at: row.get(10)?,
        started_ns: row.get(11)?,
        cases: Vec::new(),
    })
}

fn trial_start(row: &Row<'_>) -> duckdb::Result<TrialStart> {
    Ok(TrialStart {
        trial_id: row.get(0)?,
        experiment_id: row.get(1)?,
        case_id: row.get(2)?,
        trial: unsigned(row, 3)?,
        attempt: unsigned(row, 4)?,
        started_at: row.get(5)?,
        started_ns: row.get(6)?,
    })
}

fn stored_trial(row: &Row<'_>) -> duckdb::Result<StoredTrial> {
    let start = trial_start(row)?;
    if row.get::<_, Option<String>>(7)?.is_none() {
        return Ok(StoredTrial { start, end: None });
    }
    let end = TrialEnd {
        trial_id: start.trial_id.clone(),
        verdict: known(row, 7, EvalVerdict::from_name)?,
        ended_at: row.get(8)?,
        duration_ms: unsigned(row, 9)?,
        target_name: row.get(10)?,
        target_version: row.get(11)?,
        capabilities: known(row, 12, |text| serde_json::from_str(text).ok())?,
        submits_events: row.get(13)?,
        input_tokens: unsigned(row, 14)?,
        output_tokens: unsigned(row, 15)?,
        cost_usd: row.get(16)?,
        world: row.get(17)?,
        events: Vec::new(),
        checks: Vec::new(),
        traces: Vec::new(),
    };
    Ok(StoredTrial { start, end: Some(end) })
}
