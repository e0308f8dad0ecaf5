//! Verdicts against faults that were put into runs on purpose: which go into which run, what they call for, and the
//! table. Pure.

use std::collections::BTreeMap;

use super::{Given, Judged, Sameness, Tally};
use crate::model::bench::{Agreeing, Answer};
use crate::model::demo::{AlsoRow, BenchReport, BenchRun, FaultRow, InjectedFault, Why};
use crate::model::{Rule, Status, Verdict};

/// The faults of each run with a fault, the most important first within a run.
///
/// One a run, or two different ones: the ten pairs in an order in which every five of them hold each fault twice. A
/// number that does not divide evenly gives the first ones a run more.
pub fn spread(runs: u64, overlap: bool) -> impl Iterator<Item = Vec<InjectedFault>> {
    let combinations = combinations(overlap);
    (0..runs).zip(combinations.into_iter().cycle()).map(|(_, faults)| faults)
}

/// What can go into a run.
#[must_use]
pub fn combinations(overlap: bool) -> Vec<Vec<InjectedFault>> {
    let all = InjectedFault::ALL;
    if !overlap {
        return all.map(|fault| vec![fault]).to_vec();
    }
    let pairs = [1, 2].into_iter().flat_map(|apart| (0..all.len()).map(move |first| (first, first + apart)));
    pairs
        .map(|(first, second)| {
            let mut pair = vec![all[first], all[second % all.len()]];
            pair.sort_unstable();
            pair
        })
        .collect()
}

/// The verdict and the further rules that these faults call for.
#[must_use]
pub fn expected(faults: &[InjectedFault]) -> Given {
    let mut rules: Vec<Rule> = faults.iter().map(|fault| fault.rule()).collect();
    rules.sort_unstable();
    rules.dedup();
    let mut verdicts = rules.into_iter().map(Rule::verdict);
    let answer = Answer::Judged(verdicts.next().unwrap_or(Verdict::Normal));
    Given { answer, also: verdicts.collect() }
}

/// A run that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its trace.
    pub trace_id: String,
    /// What the agent was asked.
    pub question: String,
    /// What was put in.
    pub faults: Vec<InjectedFault>,
    /// Faults that never came to bear.
    pub not_reached: Vec<InjectedFault>,
}

/// What a bench was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About<'a> {
    /// The seed.
    pub seed: u64,
    /// The model.
    pub model: &'a str,
    /// Whether two faults went into each run.
    pub overlap: bool,
    /// The rule set.
    pub rule_set: &'a str,
}

/// What was said of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// The verdicts and notes.
    pub judged: Judged,
    /// Its summary.
    pub summary: String,
    /// How it ended; none when it could not be judged.
    pub final_status: Option<Status>,
}

/// Counts what was said of the runs. `judged` has it by trace; further traces in it count nowhere.
#[must_use]
pub fn report(about: &About<'_>, made: &[Made], judged: &BTreeMap<String, Said>) -> BenchReport {
    let mut rows: BTreeMap<&[InjectedFault], Tally> = BTreeMap::new();
    let mut also: BTreeMap<(&[InjectedFault], Verdict), (bool, u64)> = BTreeMap::new();
    let (mut mismatches, mut also_differs, mut all_runs) = (Vec::new(), Vec::new(), Vec::new());
    for (number, made) in (1..).zip(made) {
        let wanted = expected(&made.faults);
        let said = judged.get(&made.trace_id);
        let none = || Given { answer: Answer::Unjudged, also: Vec::new() };
        let given = said.map_or_else(none, |said| said.judged.given.clone());
        let sameness = rows.entry(&made.faults).or_default().add(&wanted, &given);
        for verdict in &given.also {
            let is_expected = wanted.also.contains(verdict);
            also.entry((&made.faults, *verdict)).or_insert((is_expected, 0)).1 += 1;
        }
        let run = BenchRun {
            number,
            trace_id: made.trace_id.clone(),
            question: made.question.clone(),
            faults: made.faults.clone(),
            not_reached: made.not_reached.clone(),
            expected: wanted.answer,
            expected_also: wanted.also.clone(),
            given: given.answer,
            also_found: given.also.clone(),
            why: (sameness == Sameness::None).then(|| why(made, said.is_some(), &wanted, &given)),
            final_status: said.and_then(|said| said.final_status),
            summary: said.map(|said| said.summary.clone()).unwrap_or_default(),
            notes: said.map(|said| said.judged.notes.clone()).unwrap_or_default(),
        };
        match sameness {
            Sameness::All => {}
            Sameness::Verdict => also_differs.push(run.clone()),
            Sameness::None => mismatches.push(run.clone()),
        }
        all_runs.push(run);
    }
    let with_fault = Tally::sum(rows.iter().filter(|(faults, _)| !faults.is_empty()).map(|(_, tally)| tally));
    let controls = rows.get(&[][..]).copied().unwrap_or_default();
    let combinations = combinations(about.overlap);
    BenchReport {
        seed: about.seed,
        model: about.model.to_owned(),
        overlap: about.overlap,
        runs: with_fault.runs(),
        controls: controls.runs(),
        remainder: with_fault.runs() % combinations.len() as u64,
        rule_set: about.rule_set.to_owned(),
        verdict: with_fault.verdict(),
        all_rules: with_fault.all_rules(),
        quiet_controls: (controls.runs() > 0).then(|| controls.all_rules()),
        confusion: table(combinations, &rows),
        mismatches,
        also_differs,
        also_found: also
            .into_iter()
            .map(|((faults, also_found), (is_expected, runs))| AlsoRow {
                faults: faults.to_vec(),
                also_found,
                is_expected,
                runs,
            })
            .collect(),
        all_runs,
    }
}

/// A row for each combination, runs or not, the most important verdict first; control runs last, when there are any.
fn table(mut combinations: Vec<Vec<InjectedFault>>, rows: &BTreeMap<&[InjectedFault], Tally>) -> Vec<FaultRow> {
    combinations.sort();
    combinations.extend(rows.contains_key(&[][..]).then(Vec::new));
    let row = |faults: Vec<InjectedFault>| {
        let tally = rows.get(faults.as_slice()).copied().unwrap_or_default();
        let verdict: Agreeing = tally.verdict();
        FaultRow { expected: expected(&faults).answer, given: tally.given, runs: tally.runs(), verdict, faults }
    };
    combinations.into_iter().map(row).collect()
}

fn why(made: &Made, has_trace: bool, wanted: &Given, given: &Given) -> Why {
    let Answer::Judged(wanted) = wanted.answer else { return Why::Unjudged };
    match given.answer {
        Answer::Unjudged if !has_trace => Why::NoTrace,
        Answer::Unjudged => Why::Unjudged,
        Answer::Judged(_) if made.faults.is_empty() => Why::FalseAlarm,
        Answer::Judged(_) if given.also.contains(&wanted) => Why::Outranked,
        Answer::Judged(_) if made.not_reached.iter().any(|fault| fault.rule().verdict() == wanted) => Why::NotReached,
        Answer::Judged(Verdict::Found(_)) => Why::OtherRule,
        Answer::Judged(Verdict::Normal) => Why::NothingFound,
    }
}
