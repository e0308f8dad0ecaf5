//! Candidates for HQ: findings of a period, grouped by tool and verdict over agents.
//!
//! Reads rows of a period and the one before it, and counts. Decides no rule (SQL does) and no wording
//! ([`crate::render`] does). What comes out depends on the runs alone: no path, no time of reading, no clock.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{Days, NaiveDate};

use crate::ingest::mask::Numbered;
use crate::model::hq::{
    AgentRuns, Change, DayRuns, Definition, EarlierDecision, Example, FixRuns, Group, Handoff, Period, Problem,
    ProblemRuns, RunCounts, SetInForce,
};
use crate::model::{Decided, FixTarget, ReviewKind, Rule, ToolDefinition};
use crate::store::{
    HqArgumentsRow, HqFindingRow, HqRunRow, RULE_SET, Scope, Store, StoreError, korean_date, korean_time,
    rule_set_sha256,
};

/// Days of a period that no one names.
const DEFAULT_DAYS: u64 = 7;
/// Runs shown of a group.
const EXAMPLES: usize = 3;
/// Different arguments shown of such a run.
const ARGUMENTS: usize = 3;
/// Korea is so far ahead of UTC, without summer time.
const KOREAN_OFFSET_NS: i64 = 9 * 3_600_000_000_000;
const DAY_NS: i64 = 86_400_000_000_000;

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Request {
    /// First Korean day; without it, as many days as make seven.
    pub since: Option<NaiveDate>,
    /// Last Korean day; without it, the last on which a run of the store began.
    pub until: Option<NaiveDate>,
    /// How many agents make a candidate.
    pub min_agents: usize,
    /// Whether the examples have their masked arguments.
    pub with_arguments: bool,
}

/// Groups the findings of the period. `masking` replaces personal values in every free text.
///
/// # Errors
/// What the store says when a statement fails; its tables are as before then.
pub fn handoff(store: &Store, request: &Request, masking: &mut Numbered) -> Result<Handoff, StoreError> {
    let last_day = store.first_and_last_start()?.map(|(_, last_ns)| korean_date(last_ns));
    let empty = Handoff {
        period: None,
        previous_period: None,
        rule_set: RULE_SET.to_owned(),
        rule_set_sha256: rule_set_sha256(),
        tool_sets: Vec::new(),
        min_agents: count(request.min_agents),
        runs: RunCounts::default(),
        candidates: Vec::new(),
        below_min_agents: Vec::new(),
    };
    let Some(days) = days(request.since, request.until, last_day) else { return Ok(empty) };
    let scope =
        Scope { since_ns: Some(days.previous_ns), before_ns: Some(days.end_ns), tool_set: None, ..Scope::default() };
    store.begin_finding(&scope)?;
    let rows = rows(store, &days);
    let grouped = rows.and_then(|rows| {
        let mut grouping = Grouping::of(&rows, &days, request.min_agents);
        let mut groups = grouping.groups();
        if request.with_arguments {
            add_arguments(store, &mut groups)?;
        }
        mask(&mut groups, masking);
        let (candidates, below_min_agents) =
            groups.into_iter().partition(|group| group.agents.len() >= request.min_agents);
        let (period, previous_period) = days.periods();
        Ok(Handoff {
            period: Some(period),
            previous_period: Some(previous_period),
            tool_sets: grouping.tool_sets(),
            runs: grouping.counts(),
            candidates,
            below_min_agents,
            ..empty
        })
    });
    store.end_judgement()?;
    grouped
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The instant at which a Korean day begins, or the nearest there is.
fn midnight_ns(day: NaiveDate) -> i64 {
    let ns = i128::from(day.to_epoch_days()) * i128::from(DAY_NS) - i128::from(KOREAN_OFFSET_NS);
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

/// A period and the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PeriodDays {
    first: NaiveDate,
    last: NaiveDate,
    /// First day of the previous period.
    previous: NaiveDate,
    previous_ns: i64,
    start_ns: i64,
    /// The instant after the last day.
    end_ns: i64,
}

/// The days meant; none when no day is named and the store has no run.
fn days(since: Option<NaiveDate>, until: Option<NaiveDate>, last_day: Option<NaiveDate>) -> Option<PeriodDays> {
    let last = match (until, since, last_day) {
        (Some(until), _, _) => until,
        // A period that begins after the last run is one day on which there is none.
        (None, since, Some(last_day)) => since.map_or(last_day, |since| since.max(last_day)),
        (None, Some(since), None) => since,
        (None, None, None) => return None,
    };
    let back = |day: NaiveDate, days: u64| day.checked_sub_days(Days::new(days)).unwrap_or(NaiveDate::MIN);
    let first = since.unwrap_or_else(|| back(last, DEFAULT_DAYS - 1));
    let length = u64::try_from((last - first).num_days() + 1).unwrap_or(1);
    let previous = back(first, length);
    let beyond = last.succ_opt().unwrap_or(NaiveDate::MAX);
    Some(PeriodDays {
        first,
        last,
        previous,
        previous_ns: midnight_ns(previous),
        start_ns: midnight_ns(first),
        end_ns: midnight_ns(beyond),
    })
}

impl PeriodDays {
    fn periods(&self) -> (Period, Period) {
        let days = (self.last - self.first).num_days() + 1;
        let day_before = self.first.pred_opt().unwrap_or(NaiveDate::MIN);
        let period =
            |since: NaiveDate, until: NaiveDate| Period { since: since.to_string(), until: until.to_string(), days };
        (period(self.first, self.last), period(self.previous, day_before))
    }
}

/// What the store says of both periods.
struct Rows {
    runs: Vec<HqRunRow>,
    findings: Vec<HqFindingRow>,
    runs_of_tools: BTreeMap<String, i64>,
    definitions: BTreeMap<String, Vec<ToolDefinition>>,
    /// The newest of each group.
    decisions: BTreeMap<(Rule, String), Decided>,
}

fn rows(store: &Store, days: &PeriodDays) -> Result<Rows, StoreError> {
    store.keep_views_for_people()?;
    let runs = store.hq_runs()?;
    let mut definitions = BTreeMap::new();
    let sets: BTreeSet<&String> = runs.iter().filter_map(|run| run.tool_set.as_ref()).collect();
    for set in sets {
        definitions.insert(set.clone(), store.tools(set)?);
    }
    let decisions = store.decisions()?.into_iter();
    Ok(Rows {
        findings: store.hq_findings()?,
        runs_of_tools: store.hq_runs_of_tools(days.start_ns)?.into_iter().collect(),
        decisions: decisions.map(|decided| ((decided.rule, decided.tool_name.clone()), decided)).collect(),
        definitions,
        runs,
    })
}

/// A run of a group, and its findings there.
struct GroupRun<'r> {
    run: &'r HqRunRow,
    findings: Vec<&'r HqFindingRow>,
}

/// A group while it is counted: runs of the period in order, and how many before it.
#[derive(Default)]
struct Counted<'r> {
    runs: Vec<GroupRun<'r>>,
    previous: BTreeSet<&'r str>,
}

struct Grouping<'r> {
    rows: &'r Rows,
    days: &'r PeriodDays,
    groups: BTreeMap<(Rule, &'r str), Counted<'r>>,
    dismissed: i64,
    min_agents: usize,
}

/// Who ran; none when nobody is named.
fn agent(run: &HqRunRow) -> Option<&str> {
    run.agent_name.as_deref().filter(|name| !name.trim().is_empty())
}

impl<'r> Grouping<'r> {
    fn of(rows: &'r Rows, days: &'r PeriodDays, min_agents: usize) -> Self {
        let mut grouping = Self { rows, days, groups: BTreeMap::new(), dismissed: 0, min_agents };
        let runs: BTreeMap<&str, &HqRunRow> = rows.runs.iter().map(|run| (run.trace_id.as_str(), run)).collect();
        for finding in &rows.findings {
            if let Some(run) = runs.get(finding.trace_id.as_str()) {
                grouping.add(run, finding);
            }
        }
        grouping
    }

    fn is_current(&self, run: &HqRunRow) -> bool {
        run.start_ns >= self.days.start_ns
    }

    /// Findings come in order of their runs.
    fn add(&mut self, run: &'r HqRunRow, finding: &'r HqFindingRow) {
        let is_current = self.is_current(run);
        if finding.review == Some(ReviewKind::Dismissed) {
            self.dismissed += i64::from(is_current);
            return;
        }
        let counted = self.groups.entry((finding.rule, finding.tool_name.as_str())).or_default();
        if !is_current {
            counted.previous.insert(&run.trace_id);
            return;
        }
        match counted.runs.last_mut().filter(|last| last.run.trace_id == run.trace_id) {
            Some(last) => last.findings.push(finding),
            None => counted.runs.push(GroupRun { run, findings: vec![finding] }),
        }
    }

    /// Every group of the period, in the order in which it is told.
    fn groups(&mut self) -> Vec<Group> {
        let current = self.groups.iter().filter(|(_, counted)| !counted.runs.is_empty());
        let mut groups: Vec<Group> =
            current.map(|((rule, tool_name), counted)| self.group(*rule, tool_name, counted)).collect();
        groups.sort_by(|a, b| {
            let key = |group: &Group| (std::cmp::Reverse((group.agents.len(), group.runs)), group.rule);
            key(a).cmp(&key(b)).then_with(|| a.tool_name.cmp(&b.tool_name))
        });
        groups
    }

    fn group(&self, rule: Rule, tool_name: &str, counted: &Counted<'r>) -> Group {
        let runs = count(counted.runs.len());
        let previous_runs = count(counted.previous.len());
        let runs_of_tool = self.rows.runs_of_tools.get(tool_name).copied().unwrap_or(runs);
        let starts = || counted.runs.iter().map(|of| of.run.start_ns);
        let agents = agents(&counted.runs);
        let is_candidate = agents.len() >= self.min_agents;
        Group {
            rule,
            tool_name: tool_name.to_owned(),
            runs,
            runs_of_tool,
            share_permille: if runs_of_tool > 0 { (runs * 2000 / runs_of_tool + 1) / 2 } else { 0 },
            days: day_runs(starts()),
            first_seen: starts().min().map(korean_time).unwrap_or_default(),
            last_seen: starts().max().map(korean_time).unwrap_or_default(),
            previous_runs,
            change: Change::of(runs, previous_runs),
            fix_targets: fix_targets(&counted.runs),
            problems: problem_runs(&counted.runs),
            confirmed_runs: count(counted.runs.iter().filter(|of| is_confirmed(of)).count()),
            examples: if is_candidate { examples(&counted.runs, &agents) } else { Vec::new() },
            definitions: if is_candidate { self.definitions(tool_name, &counted.runs) } else { Vec::new() },
            decision: self.rows.decisions.get(&(rule, tool_name.to_owned())).map(|decided| EarlierDecision {
                decided: decided.clone(),
                runs_after: count(starts().filter(|start_ns| *start_ns > decided.decided_ns).count()),
                judged_after: count(self.judged().filter(|run| run.start_ns > decided.decided_ns).count()),
            }),
            agents,
        }
    }

    /// What the tool sets of the runs say of the tool, last in force first.
    fn definitions(&self, tool_name: &str, runs: &[GroupRun<'r>]) -> Vec<Definition> {
        let mut found: Vec<Definition> = Vec::new();
        for of in runs.iter().rev() {
            let Some(tool_set) = &of.run.tool_set else { continue };
            let defined = self.rows.definitions.get(tool_set).into_iter().flatten();
            let Some(tool) = defined.into_iter().find(|tool| tool.tool_name == tool_name) else { continue };
            let same = found.iter_mut().find(|known| {
                known.description == tool.description
                    && known.timeout_ms == tool.timeout_ms
                    && known.max_retries == tool.max_retries
            });
            match same {
                Some(known) => known.runs += 1,
                None => found.push(Definition {
                    tool_set: tool_set.clone(),
                    description: tool.description.clone(),
                    timeout_ms: tool.timeout_ms,
                    max_retries: tool.max_retries,
                    runs: 1,
                }),
            }
        }
        found
    }

    fn judged(&self) -> impl Iterator<Item = &'r HqRunRow> + '_ {
        self.rows.runs.iter().filter(|run| run.is_judged && self.is_current(run))
    }

    fn counts(&self) -> RunCounts {
        let agents: BTreeSet<Option<&str>> = self.judged().map(agent).collect();
        let days: BTreeSet<NaiveDate> = self.judged().map(|run| korean_date(run.start_ns)).collect();
        let of = |is_current: bool, is_judged: bool| {
            let wanted = |run: &&HqRunRow| self.is_current(run) == is_current && run.is_judged == is_judged;
            count(self.rows.runs.iter().filter(wanted).count())
        };
        RunCounts {
            judged: of(true, true),
            unjudged: of(true, false),
            agents: count(agents.len()),
            days: count(days.len()),
            previous_judged: of(false, true),
            dismissed_findings: self.dismissed,
        }
    }

    fn tool_sets(&self) -> Vec<SetInForce> {
        let mut sets: Vec<SetInForce> = Vec::new();
        for run in self.judged() {
            match sets.iter_mut().find(|set| set.tool_set == run.tool_set) {
                Some(set) => set.runs += 1,
                None => {
                    let tools = run.tool_set.as_ref().and_then(|set| self.rows.definitions.get(set));
                    let tools = count(tools.map_or(0, Vec::len));
                    sets.push(SetInForce { tool_set: run.tool_set.clone(), tools, runs: 1 });
                }
            }
        }
        sets
    }
}

fn agents(runs: &[GroupRun<'_>]) -> Vec<AgentRuns> {
    let mut counted: BTreeMap<Option<&str>, i64> = BTreeMap::new();
    for of in runs {
        *counted.entry(agent(of.run)).or_default() += 1;
    }
    let mut agents: Vec<AgentRuns> =
        counted.into_iter().map(|(name, runs)| AgentRuns { agent_name: name.map(str::to_owned), runs }).collect();
    // Those of a number stay in order of their names.
    agents.sort_by_key(|agent| std::cmp::Reverse(agent.runs));
    agents
}

fn day_runs(starts: impl Iterator<Item = i64>) -> Vec<DayRuns> {
    let mut counted: BTreeMap<NaiveDate, i64> = BTreeMap::new();
    for start_ns in starts {
        *counted.entry(korean_date(start_ns)).or_default() += 1;
    }
    counted.into_iter().map(|(date, runs)| DayRuns { date: date.to_string(), runs }).collect()
}

fn fix_targets(runs: &[GroupRun<'_>]) -> Vec<FixRuns> {
    let mut counted: BTreeMap<FixTarget, i64> = BTreeMap::new();
    for of in runs {
        let targets: BTreeSet<FixTarget> = of.findings.iter().map(|finding| finding.fix_target).collect();
        targets.into_iter().for_each(|target| *counted.entry(target).or_default() += 1);
    }
    let mut targets: Vec<FixRuns> =
        counted.into_iter().map(|(fix_target, runs)| FixRuns { fix_target, runs }).collect();
    targets.sort_by_key(|target| std::cmp::Reverse(target.runs));
    targets
}

/// What does not fit in a run, once each, in order.
fn problems(of: &GroupRun<'_>) -> Vec<Problem> {
    let mut problems: Vec<Problem> = Vec::new();
    for finding in &of.findings {
        let missing =
            finding.missing_keys.iter().map(|key| Problem { missing_key: Some(key.clone()), type_error: None });
        let types =
            finding.type_errors.iter().map(|error| Problem { missing_key: None, type_error: Some(error.clone()) });
        for problem in missing.chain(types) {
            if !problems.contains(&problem) {
                problems.push(problem);
            }
        }
    }
    problems
}

fn problem_runs(runs: &[GroupRun<'_>]) -> Vec<ProblemRuns> {
    let mut counted: BTreeMap<Problem, i64> = BTreeMap::new();
    for problem in runs.iter().flat_map(problems) {
        *counted.entry(problem).or_default() += 1;
    }
    let mut problems: Vec<ProblemRuns> =
        counted.into_iter().map(|(problem, runs)| ProblemRuns { problem, runs }).collect();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.runs));
    problems
}

fn is_confirmed(of: &GroupRun<'_>) -> bool {
    of.findings.iter().any(|finding| finding.review == Some(ReviewKind::Confirmed))
}

/// The last run of each agent, those with most runs first; then further last runs. In order of start.
fn examples(runs: &[GroupRun<'_>], agents: &[AgentRuns]) -> Vec<Example> {
    let of_agent = |name: &Option<String>| runs.iter().rposition(|of| agent(of.run) == name.as_deref());
    let mut chosen: BTreeSet<usize> = BTreeSet::new();
    for place in agents.iter().filter_map(|agent| of_agent(&agent.agent_name)).chain((0..runs.len()).rev()) {
        if chosen.len() == EXAMPLES {
            break;
        }
        chosen.insert(place);
    }
    chosen.into_iter().map(|place| example(&runs[place])).collect()
}

fn example(of: &GroupRun<'_>) -> Example {
    let mut span_ids: Vec<String> = Vec::new();
    for span_id in of.findings.iter().flat_map(|finding| &finding.span_ids) {
        if !span_ids.contains(span_id) {
            span_ids.push(span_id.clone());
        }
    }
    let worst = of.findings.iter().filter(|finding| finding.measured.is_some()).max_by_key(|finding| finding.measured);
    Example {
        trace_id: of.run.trace_id.clone(),
        agent_name: agent(of.run).map(str::to_owned),
        start_time: korean_time(of.run.start_ns),
        span_ids,
        problems: problems(of),
        measured: worst.and_then(|finding| finding.measured),
        allowed: worst.and_then(|finding| finding.allowed),
        arguments: None,
    }
}

/// Gives the examples the different arguments of their calls, as recorded.
fn add_arguments(store: &Store, groups: &mut [Group]) -> Result<(), StoreError> {
    let shown = groups.iter().flat_map(|group| &group.examples).map(|example| example.trace_id.as_str());
    let traces: Vec<&str> = shown.collect::<BTreeSet<&str>>().into_iter().collect();
    let rows = if traces.is_empty() { Vec::new() } else { store.hq_arguments(&traces)? };
    for group in groups {
        let (rule, tool_name) = (group.rule, group.tool_name.clone());
        for example in &mut group.examples {
            let is_own = |row: &&HqArgumentsRow| {
                row.trace_id == example.trace_id && row.rule == rule && row.tool_name == tool_name
            };
            let mut arguments: Vec<String> = Vec::new();
            for row in rows.iter().filter(is_own) {
                if arguments.len() < ARGUMENTS && !arguments.contains(&row.tool_args) {
                    arguments.push(row.tool_args.clone());
                }
            }
            example.arguments = Some(arguments);
        }
    }
    Ok(())
}

/// Masks every free text, in the order in which it is shown.
fn mask(groups: &mut [Group], masking: &mut Numbered) {
    let name = |name: &mut Option<String>, masking: &mut Numbered| {
        if let Some(name) = name {
            *name = masking.mask(name);
        }
    };
    for group in groups {
        group.agents.iter_mut().for_each(|agent| name(&mut agent.agent_name, masking));
        for example in &mut group.examples {
            name(&mut example.agent_name, masking);
            for arguments in example.arguments.iter_mut().flatten() {
                *arguments = masking.mask(arguments);
            }
        }
        group.definitions.iter_mut().for_each(|tool| tool.description = masking.mask(&tool.description));
        if let Some(decision) = &mut group.decision {
            decision.decided.reason = masking.mask(&decision.decided.reason);
            decision.decided.decided_by = masking.mask(&decision.decided.decided_by);
        }
    }
}
