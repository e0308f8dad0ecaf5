//! Two selections of runs side by side: which verdicts occur more or less often, and whether that is more than chance.
//! Pure: rows in, [`Comparison`] out; the selectors that name the runs are read here too.
//!
//! A run counts once for each verdict that holds in it, whichever comes first. Different runs are compared by Fisher's
//! exact test; pairs of runs (the same question, or the same run under two rule sets) by McNemar's. The rows of a table
//! are looked at together, so their p values are corrected by Holm; rows that occur on neither side are none.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::comparison::{
    self, AgentChange, Change, Comparison, FindingChange, PairSummary, Regression, Selected, SharePart, Test, Trend,
    VerdictChange,
};
use crate::model::{Rule, Verdict};
use crate::stats::{ALPHA, Interval, Pairs, Share, difference, fisher, holm, mcnemar, paired_difference, wilson};

/// A rule that holds in a run, at one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The rule.
    pub rule: Rule,
    /// The tool called.
    pub tool_name: String,
    /// Calls that it rests on.
    pub calls: u64,
}

/// A run that was judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The run.
    pub trace_id: String,
    /// Agent of the final answer span.
    pub agent_name: Option<String>,
    /// Tool set it was judged with.
    pub tool_set: Option<String>,
    /// Number of tool calls.
    pub tool_calls: u64,
    /// What holds in it, without what a person dismissed.
    pub hits: Vec<Hit>,
    /// How many more a person dismissed.
    pub dismissed: u64,
}

/// The runs of one side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The selector as it was given.
    pub selection: String,
    /// The set of rules that judged.
    pub rule_set: String,
    /// The runs, in order; each once.
    pub runs: Vec<Judged>,
    /// Runs that could not be judged.
    pub unjudged: u64,
}

/// Compares different runs.
#[must_use]
pub fn compare(base: &Side, head: &Side) -> Comparison {
    let of = |side: &Side| side.runs.iter().cloned().map(|run| (run.agent_name.clone(), run)).collect();
    let table = Table { base: of(base), head: of(head), test: Test::FisherExact };
    table.comparison([base, head], None, [0, 0])
}

/// Compares runs that belong together: `pairs` names them by trace id, each at most once on its side. Pairs with a run
/// that is not there are left out and counted. None when no pair is left.
#[must_use]
pub fn compare_pairs(base: &Side, head: &Side, pairs: &[(String, String)]) -> Option<Comparison> {
    let by_id = |side: &Side| -> BTreeMap<String, Judged> {
        side.runs.iter().map(|run| (run.trace_id.clone(), run.clone())).collect()
    };
    let (of_base, of_head) = (by_id(base), by_id(head));
    let mut table = Table { base: Vec::new(), head: Vec::new(), test: Test::McNemarExact };
    for (first, second) in pairs {
        if let (Some(first), Some(second)) = (of_base.get(first), of_head.get(second)) {
            // A pair is one question: it belongs to the agent of base, also where head has another.
            table.base.push((first.agent_name.clone(), first.clone()));
            table.head.push((first.agent_name.clone(), second.clone()));
        }
    }
    let found = table.base.len();
    if found == 0 {
        return None;
    }
    let changed = |was_wrong: bool| {
        let both = table.base.iter().zip(&table.head);
        let changed = both.filter(|((_, first), (_, second))| {
            first.hits.is_empty() != was_wrong && second.hits.is_empty() == was_wrong
        });
        changed.map(|((_, first), (_, second))| [first.trace_id.clone(), second.trace_id.clone()]).collect()
    };
    let summary = PairSummary {
        pairs: found as u64,
        left_out: (pairs.len() - found) as u64,
        newly_wrong: changed(false),
        repaired: changed(true),
    };
    let unpaired = [base, head].map(|side| (side.runs.len() - found) as u64);
    Some(table.comparison([base, head], Some(summary), unpaired))
}

/// The runs that count, each with the agent that it counts for; in pairs the n-th of both sides belong together.
struct Table {
    base: Vec<(Option<String>, Judged)>,
    head: Vec<(Option<String>, Judged)>,
    test: Test,
}

impl Table {
    fn comparison(&self, sides: [&Side; 2], pairs: Option<PairSummary>, unpaired: [u64; 2]) -> Comparison {
        let (verdicts, findings, agents) = (self.verdicts(), self.findings(), self.agents());
        Comparison {
            regressions: regressions(&verdicts, &findings, &agents),
            base: selected(sides[0], &self.base, unpaired[0]),
            head: selected(sides[1], &self.head, unpaired[1]),
            test: self.test,
            alpha: ALPHA,
            pairs,
            verdicts,
            findings,
            agents,
        }
    }

    fn verdicts(&self) -> Vec<VerdictChange> {
        let holds = |verdict: Verdict| {
            move |run: &Judged| match verdict {
                Verdict::Found(rule) => calls_of(run, |hit| hit.rule == rule),
                Verdict::Normal => run.hits.is_empty().then_some(0),
            }
        };
        let rows = Verdict::ALL.into_iter().map(|verdict| (verdict, self.change(|_| true, holds(verdict))));
        let rows: Vec<_> = rows.filter(|(_, change)| occurs(change)).collect();
        let corrected = corrected(rows);
        corrected.into_iter().map(|(verdict, change)| VerdictChange { verdict, name: verdict.slug(), change }).collect()
    }

    fn findings(&self) -> Vec<FindingChange> {
        let hits = self.base.iter().chain(&self.head).flat_map(|(_, run)| &run.hits);
        let keys: BTreeSet<(Rule, &str)> = hits.map(|hit| (hit.rule, hit.tool_name.as_str())).collect();
        let rows = keys.into_iter().map(|(rule, tool)| {
            let holds = |run: &Judged| calls_of(run, |hit| hit.rule == rule && hit.tool_name == tool);
            ((rule, tool), self.change(|_| true, holds))
        });
        let rows = corrected(rows.collect()).into_iter().map(|((rule, tool), change)| FindingChange {
            tool_name: tool.to_owned(),
            verdict: rule.verdict(),
            name: rule.verdict().slug(),
            change,
        });
        rows.collect()
    }

    fn agents(&self) -> Vec<AgentChange> {
        let names: BTreeSet<&Option<String>> = self.base.iter().chain(&self.head).map(|(agent, _)| agent).collect();
        let rows = names.into_iter().map(|name| {
            let holds = |run: &Judged| calls_of(run, |_| true);
            (name.clone(), self.change(|agent| agent == name, holds))
        });
        corrected(rows.collect()).into_iter().map(|(agent_name, change)| AgentChange { agent_name, change }).collect()
    }

    /// Of the runs that count for such an agent, those in which it holds; `holds` says on how many calls it rests.
    fn change(&self, counts: impl Fn(&Option<String>) -> bool, holds: impl Fn(&Judged) -> Option<u64>) -> Change {
        let held = |side: &[(Option<String>, Judged)]| -> Vec<Option<u64>> {
            side.iter().filter(|(agent, _)| counts(agent)).map(|(_, run)| holds(run)).collect()
        };
        let (base, head) = (held(&self.base), held(&self.head));
        let pairs = (self.test == Test::McNemarExact).then(|| {
            let mut pairs = Pairs::default();
            for (first, second) in base.iter().zip(&head) {
                *match (first.is_some(), second.is_some()) {
                    (true, true) => &mut pairs.both,
                    (true, false) => &mut pairs.first_only,
                    (false, true) => &mut pairs.second_only,
                    (false, false) => &mut pairs.neither,
                } += 1;
            }
            pairs
        });
        change(part(&base), part(&head), pairs)
    }
}

/// The rows that got worse beyond chance. More of what holds is worse, more normal runs are better.
fn regressions(verdicts: &[VerdictChange], findings: &[FindingChange], agents: &[AgentChange]) -> Vec<Regression> {
    let is_worse = |change: &Change, is_bad: bool| {
        let more = change.difference.is_some_and(|difference| difference > 0.0);
        change.beyond_chance && more == is_bad
    };
    let row = |table, tool_name, verdict: Option<Verdict>, agent_name| Regression {
        table,
        tool_name,
        verdict,
        name: verdict.map(Verdict::slug),
        agent_name,
    };
    let of_verdicts = verdicts.iter().filter(|one| is_worse(&one.change, one.verdict != Verdict::Normal));
    let of_findings = findings.iter().filter(|one| is_worse(&one.change, true));
    let of_agents = agents.iter().filter(|one| is_worse(&one.change, true));
    of_verdicts
        .map(|one| row(comparison::Table::Verdicts, None, Some(one.verdict), None))
        .chain(
            of_findings
                .map(|one| row(comparison::Table::Findings, Some(one.tool_name.clone()), Some(one.verdict), None)),
        )
        .chain(of_agents.map(|one| row(comparison::Table::Agents, None, None, one.agent_name.clone())))
        .collect()
}

/// Calls of what holds; none when nothing does.
fn calls_of(run: &Judged, wanted: impl Fn(&Hit) -> bool) -> Option<u64> {
    let mut hits = run.hits.iter().filter(|hit| wanted(hit)).peekable();
    hits.peek()?;
    Some(hits.map(|hit| hit.calls).sum())
}

fn selected(side: &Side, runs: &[(Option<String>, Judged)], unpaired: u64) -> Selected {
    let tool_sets: BTreeSet<Option<String>> = runs.iter().map(|(_, run)| run.tool_set.clone()).collect();
    Selected {
        selection: side.selection.clone(),
        rule_set: side.rule_set.clone(),
        tool_sets: tool_sets.into_iter().collect(),
        runs: runs.len() as u64,
        tool_calls: runs.iter().map(|(_, run)| run.tool_calls).sum(),
        unjudged: side.unjudged,
        unpaired,
        dismissed: runs.iter().map(|(_, run)| run.dismissed).sum(),
    }
}

fn part(held: &[Option<u64>]) -> SharePart {
    let share = Share { hits: held.iter().flatten().count() as u64, of: held.len() as u64 };
    SharePart {
        runs: share.hits,
        of: share.of,
        rate: (share.of > 0).then(|| rounded(share.rate())),
        interval: (share.of > 0).then(|| bounds(wilson(share))),
        calls: held.iter().flatten().sum(),
    }
}

fn change(base: SharePart, head: SharePart, pairs: Option<Pairs>) -> Change {
    let (of_base, of_head) = (Share { hits: base.runs, of: base.of }, Share { hits: head.runs, of: head.of });
    let is_comparable = base.of > 0 && head.of > 0;
    // Whole numbers decide, so that rounding makes no difference of none.
    let (first, second) = (u128::from(base.runs) * u128::from(head.of), u128::from(head.runs) * u128::from(base.of));
    let trend = match (is_comparable, base.runs, head.runs) {
        (false, ..) => Trend::NotComparable,
        (true, 0, 1..) => Trend::New,
        (true, 1.., 0) => Trend::Gone,
        _ if first < second => Trend::More,
        _ if first > second => Trend::Fewer,
        _ => Trend::Same,
    };
    let interval = match pairs {
        Some(pairs) => {
            paired_difference(Pairs { first_only: pairs.second_only, second_only: pairs.first_only, ..pairs })
        }
        None => difference(of_head, of_base),
    };
    let p = match pairs {
        Some(pairs) => mcnemar(pairs.first_only, pairs.second_only),
        None => fisher(of_base, of_head),
    };
    Change {
        base,
        head,
        trend,
        difference: is_comparable.then(|| rounded(of_head.rate() - of_base.rate())),
        difference_interval: is_comparable.then(|| bounds(interval)),
        base_only: pairs.map(|pairs| pairs.first_only),
        head_only: pairs.map(|pairs| pairs.second_only),
        p: is_comparable.then_some(p),
        p_corrected: None,
        beyond_chance: false,
    }
}

fn occurs(change: &Change) -> bool {
    change.base.runs + change.head.runs > 0
}

/// Corrects the p values of the rows of one table for being looked at together.
fn corrected<K>(mut rows: Vec<(K, Change)>) -> Vec<(K, Change)> {
    let tested = |change: &Change| change.p.filter(|_| occurs(change));
    let values: Vec<f64> = rows.iter().filter_map(|(_, change)| tested(change)).collect();
    let mut corrected = holm(&values).into_iter();
    for (_, change) in &mut rows {
        let value = tested(change).and_then(|_| corrected.next());
        change.beyond_chance = value.is_some_and(|value| value < ALPHA);
        change.p = change.p.map(rounded);
        change.p_corrected = value.or(change.p).map(rounded);
    }
    rows
}

fn bounds(interval: Interval) -> [f64; 2] {
    [rounded(interval.low), rounded(interval.high)]
}

/// Six digits: more would be noise, and differ from machine to machine.
fn rounded(value: f64) -> f64 {
    let short: f64 = format!("{value:.5e}").parse().unwrap_or(value);
    // No negative zero.
    short + 0.0
}

/// Which runs a side consists of: filters that all have to fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// Number of the ingest that first brought the run.
    pub batch: Option<i64>,
    /// First and last Korean date, each as it was given.
    pub dates: Option<(Option<String>, Option<String>)>,
    /// A tools.json, or the beginning of its sha256.
    pub tools: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// Version of the rule set: `v1`.
    pub rules: Option<String>,
}

/// Why a selector cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectorError {
    /// A part has no name that is known.
    #[error("unknown part {0}")]
    Unknown(String),
    /// A part stands twice.
    #[error("repeated part {0}")]
    Repeated(String),
    /// A part has no value, or one that cannot be read.
    #[error("value of {0}")]
    Value(String),
}

/// The names of the parts.
const PARTS: [&str; 5] = ["batch", "date", "tools", "agent", "rules"];

impl Selector {
    /// Reads `name:value[,name:value…]`. A comma ends a value only where a name follows it: agents may have commas.
    ///
    /// # Errors
    /// What of the text cannot be read.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut selector = Self::default();
        let mut rest = text;
        loop {
            let next = rest.match_indices(',').map(|(at, _)| at).find(|at| begins_part(&rest[at + 1..]));
            let part = &rest[..next.unwrap_or(rest.len())];
            selector.take(part)?;
            let Some(next) = next else { return Ok(selector) };
            rest = &rest[next + 1..];
        }
    }

    fn take(&mut self, part: &str) -> Result<(), SelectorError> {
        let Some((name, value)) = part.split_once(':') else { return Err(SelectorError::Unknown(part.to_owned())) };
        let (name, value) = (name.trim(), value.trim());
        let wrong = || SelectorError::Value(part.trim().to_owned());
        let text = || if value.is_empty() { Err(wrong()) } else { Ok(value.to_owned()) };
        let is_again = match name {
            "batch" => {
                let number = value.parse().ok().filter(|number| *number > 0).ok_or_else(wrong)?;
                self.batch.replace(number).is_some()
            }
            "date" => {
                let (first, last) = value.split_once("..").unwrap_or((value, value));
                let given = |date: &str| (!date.trim().is_empty()).then(|| date.trim().to_owned());
                if given(first).is_none() && given(last).is_none() {
                    return Err(wrong());
                }
                self.dates.replace((given(first), given(last))).is_some()
            }
            "tools" => self.tools.replace(text()?).is_some(),
            "agent" => self.agent.replace(text()?).is_some(),
            "rules" => self.rules.replace(text()?).is_some(),
            _ => return Err(SelectorError::Unknown(part.trim().to_owned())),
        };
        if is_again { Err(SelectorError::Repeated(name.to_owned())) } else { Ok(()) }
    }

    /// Whether it names nothing but a rule set.
    #[must_use]
    pub fn takes_every_run(&self) -> bool {
        Self { rules: None, ..self.clone() } == Self::default()
    }
}

fn begins_part(text: &str) -> bool {
    let text = text.trim_start();
    PARTS.iter().any(|name| text.strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
}
