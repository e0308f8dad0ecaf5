//! Benches of the demo agent that are kept. Rows are only added.

use duckdb::params;

use super::{Store, StoreError, rule_set_sha256};
use crate::model::Verdict;
use crate::model::bench::Answer;
use crate::model::demo::{BenchReport, BenchRun, InjectedFault, Why};

impl Store {
    /// Keeps a bench, whole or not at all. `bench_run` names it; `ran_at` is when, Korean time, and `ran_ns`
    /// nanoseconds since 1970 UTC.
    ///
    /// # Errors
    /// `Statement`, `DiskFull`; nothing of it is kept then.
    pub fn keep_bench(
        &self,
        bench_run: &str,
        (ran_at, ran_ns): (&str, i64),
        report: &BenchReport,
    ) -> Result<(), StoreError> {
        self.whole("a bench", || self.insert_bench(bench_run, (ran_at, ran_ns), report))
    }

    fn insert_bench(
        &self,
        bench_run: &str,
        (ran_at, ran_ns): (&str, i64),
        report: &BenchReport,
    ) -> Result<(), StoreError> {
        let number = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        self.connection
            .execute(
                include_str!("../../sql/queries/add_bench_run.sql"),
                params![
                    bench_run,
                    ran_at,
                    ran_ns,
                    number(report.seed),
                    report.model,
                    report.overlap,
                    report.rule_set,
                    rule_set_sha256(),
                    number(report.runs),
                    number(report.controls),
                    number(report.verdict.matched),
                    number(report.all_rules.matched),
                ],
            )
            .map_err(StoreError::statement("bench_runs"))?;
        let sql = include_str!("../../sql/queries/add_bench_result.sql");
        let mut statement = self.connection.prepare(sql).map_err(StoreError::statement("bench_results"))?;
        for run in &report.all_runs {
            statement.execute(result(bench_run, run)).map_err(StoreError::statement("bench_results"))?;
        }
        Ok(())
    }
}

/// The cells of a run.
fn result(bench_run: &str, run: &BenchRun) -> [Option<String>; 10] {
    let faults = |faults: &[InjectedFault]| joined(faults.iter().map(|fault| fault.slug()));
    let verdicts = |verdicts: &[Verdict]| joined(verdicts.iter().map(|verdict| verdict.slug()));
    let answer = |answer: Answer| Some(answer.slug().to_owned());
    [
        Some(bench_run.to_owned()),
        Some(run.number.to_string()),
        Some(run.trace_id.clone()),
        faults(&run.faults),
        faults(&run.not_reached),
        answer(run.expected),
        verdicts(&run.expected_also),
        answer(run.given),
        verdicts(&run.also_found),
        run.why.map(|why| Why::as_str(why).to_owned()),
    ]
}

fn joined<'a>(words: impl Iterator<Item = &'a str>) -> Option<String> {
    Some(words.collect::<Vec<_>>().join("+"))
}
