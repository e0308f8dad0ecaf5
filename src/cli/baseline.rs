//! The baseline of `diagnose`: reading it, holding an outcome against it, writing it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::failure::Failure;
use super::load;
use super::report::{Held, coverage};
use super::terminal;
use crate::baseline::{Baseline, BaselineError, Checked, FORMAT, Fingerprint};
use crate::diagnose::{JudgedRun, Outcome};
use crate::model::{Standing, Verdict};
use crate::render::Texts;
use crate::render::baseline::{self as words, BaselineView, FallView};
use crate::store::{RULE_SET, rule_set_sha256};

/// Which runs were looked at.
#[derive(Debug)]
pub(crate) struct LookedAt<'a> {
    /// The agent, when only its runs were.
    pub(crate) agent: Option<&'a str>,
    /// Whether runs were left out otherwise, so that what does not occur may only not have been looked at.
    pub(crate) is_part: bool,
}

/// Reads a baseline that must be there.
pub(crate) fn read(path: &Path) -> Result<Baseline, Failure> {
    let bytes = std::fs::read(path).map_err(|error| load::unreadable(path, &error))?;
    let text = String::from_utf8_lossy(&bytes);
    Baseline::parse(&text).map_err(|error| failure(path, error))
}

/// Reads the file that is going to be written anew; none when there is none yet.
pub(crate) fn read_earlier(path: &Path) -> Result<Option<Baseline>, Failure> {
    if path.is_file() { read(path).map(Some) } else { Ok(None) }
}

fn failure(path: &Path, error: BaselineError) -> Failure {
    let of = |kind| Failure::unreadable(kind).with("path", path.display());
    match error {
        BaselineError::NotJson(message) => of("baseline_not_json").with("message", message),
        BaselineError::Format(found) => of("baseline_format").with("found", found).with("known", FORMAT),
        BaselineError::Invalid(message) => of("baseline_invalid").with("message", message),
        BaselineError::NoReason(entry) => of("baseline_no_reason").with("name", entry),
    }
}

/// The fingerprints of each run, in the order of its findings.
fn fingerprints(outcome: &Outcome) -> Vec<Vec<Fingerprint>> {
    let of_run = |run: &JudgedRun| {
        let agent = run.diagnosis.agent_name.as_deref();
        run.diagnosis.findings.iter().map(|finding| Fingerprint::of(agent, finding)).collect()
    };
    outcome.runs.iter().map(of_run).collect()
}

/// What could be checked of all runs that were judged, shown or not.
pub(crate) fn checked(outcome: &Outcome) -> Checked {
    let with_tools = outcome.runs.iter().filter(|run| run.tool_set.is_some());
    Checked {
        runs: outcome.runs.len() as u64,
        unjudged: outcome.unjudged.len() as u64,
        with_definitions: with_tools.map(|run| run.coverage.tool_calls.unsigned_abs()).sum(),
        coverage: coverage(outcome),
    }
}

/// Holds an outcome, and what could be checked of it, against a baseline.
pub(crate) fn hold(
    known: &Baseline,
    (outcome, checked): (&Outcome, &Checked),
    looked_at: &LookedAt<'_>,
    allowed_points: u32,
) -> Held {
    let fingerprints = fingerprints(outcome);
    let of_run = |(run, of_run): (&JudgedRun, &Vec<Fingerprint>)| {
        let findings = run.diagnosis.findings.iter().zip(of_run);
        findings.map(|(finding, one)| known.standing(one).reviewed(finding)).collect()
    };
    let standings: Vec<Vec<Standing>> = outcome.runs.iter().zip(&fingerprints).map(of_run).collect();
    let mut view = BaselineView {
        absent: (!looked_at.is_part).then(|| absent(known, outcome, &fingerprints, looked_at.agent)),
        other_rule_set: (known.rule_set_sha256 != rule_set_sha256()).then(|| known.rule_set.clone()),
        falls: known
            .falls(checked, allowed_points)
            .into_iter()
            .map(|fall| FallView { name: fall.name, before: fall.before, now: fall.now })
            .collect(),
        ..BaselineView::default()
    };
    for standing in standings.iter().flatten() {
        *match standing {
            Standing::Known => &mut view.known,
            Standing::Accepted(_) => &mut view.accepted,
            Standing::Dismissed(_) => &mut view.dismissed,
            Standing::New | Standing::Unasked => &mut view.new,
        } += 1;
    }
    Held { standings, view }
}

/// Entries that do not occur though their agent ran. Nobody waits for what is ignored.
fn absent(known: &Baseline, outcome: &Outcome, found: &[Vec<Fingerprint>], agent: Option<&str>) -> Vec<String> {
    let occurring: BTreeSet<&Fingerprint> = found.iter().flatten().collect();
    let ran: BTreeSet<Option<&str>> = outcome.runs.iter().map(|run| run.diagnosis.agent_name.as_deref()).collect();
    let of_agent = |one: &Fingerprint| agent.is_none_or(|agent| one.agent.as_deref() == Some(agent));
    let entries = known.entries.iter().filter(|(_, entry)| entry.reason.is_none()).map(|(one, _)| one);
    entries
        .filter(|one| of_agent(one) && ran.contains(&one.agent.as_deref()) && !occurring.contains(one))
        .map(ToString::to_string)
        .collect()
}

/// Whether the outcome fails: something new (of these verdicts, where any are named), or less was checked.
pub(crate) fn fails(held: &Held, outcome: &Outcome, fail_on: &[Verdict]) -> bool {
    let findings = outcome
        .runs
        .iter()
        .zip(&held.standings)
        .flat_map(|(run, of_run)| run.diagnosis.findings.iter().map(|finding| finding.rule.verdict()).zip(of_run));
    let is_new = |(verdict, standing): (Verdict, &Standing)| {
        standing.counts() && (fail_on.is_empty() || fail_on.contains(&verdict))
    };
    !held.view.falls.is_empty() || findings.into_iter().any(is_new)
}

/// Writes what occurs and is not dismissed, with what people said of it in earlier files, the last of which counts.
pub(crate) fn write<'a>(
    texts: &Texts,
    path: &Path,
    (outcome, checked): (&Outcome, &Checked),
    earlier: impl Iterator<Item = &'a Baseline>,
) -> anyhow::Result<()> {
    let mut baseline = Baseline {
        rule_set: RULE_SET.to_owned(),
        rule_set_sha256: rule_set_sha256(),
        tool_sets: outcome.tool_sets.iter().filter_map(|set| set.tool_set.clone()).collect(),
        checked: *checked,
        entries: BTreeMap::new(),
    };
    // A review can be undone: what it dismissed has to be new then.
    let findings = outcome.runs.iter().flat_map(|run| &run.diagnosis.findings);
    let mut dismissed = 0;
    for (finding, fingerprint) in findings.zip(fingerprints(outcome).into_iter().flatten()) {
        if finding.dismissed_for().is_some() {
            dismissed += 1;
        } else {
            baseline.add(fingerprint);
        }
    }
    for earlier in earlier {
        baseline.keep_ignored(earlier);
    }
    terminal::write_result(&baseline.to_text(), Some(path))?;
    let accepted = baseline.entries.values().filter(|entry| entry.reason.is_some()).count();
    terminal::tell(&words::written(texts, &path.display().to_string(), baseline.entries.len(), accepted, dismissed));
    Ok(())
}
