//! Findings that are known already: a file that `diagnose` writes, people read and annotate, and later runs are held
//! against, so that only what is new fails. Pure: text in, text out.
//!
//! A finding is known by agent, verdict, tool and the keys that do not fit. Traces and argument values are not in it:
//! the same mistake in another run is the same finding. How often it occurs is kept for people, and makes nothing new.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::digest::sha256_hex;
use crate::model::{Coverage, Finding, Rule, Standing, Verdict, is_blank};

/// The format of the file; the number grows when an older program could not read it any more.
pub const FORMAT: &str = "taco-trace-baseline/1";

/// What makes two findings the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint {
    /// Agent of the run.
    pub agent: Option<String>,
    /// The rule.
    pub rule: Rule,
    /// The tool called.
    pub tool: String,
    /// Required keys that are absent, sorted.
    pub missing_keys: Vec<String>,
    /// `key: received type → declared type`, sorted.
    pub type_errors: Vec<String>,
}

impl Fingerprint {
    /// The fingerprint of a finding in a run of this agent.
    #[must_use]
    pub fn of(agent: Option<&str>, finding: &Finding) -> Self {
        let sorted = |keys: &[String]| {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            keys
        };
        Self {
            agent: agent.map(str::to_owned),
            rule: finding.rule,
            tool: finding.tool_name.clone(),
            missing_keys: sorted(&finding.missing_keys),
            type_errors: sorted(&finding.type_errors),
        }
    }

    /// The same in 64 hex digits.
    #[must_use]
    pub fn digest(&self) -> String {
        // JSON keeps the parts apart, whatever they hold.
        let parts = (&self.agent, self.rule.as_str(), &self.tool, &self.missing_keys, &self.type_errors);
        sha256_hex(serde_json::to_string(&parts).unwrap_or_default().as_bytes())
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let agent = self.agent.as_deref().unwrap_or("-");
        write!(formatter, "{agent} / {} / {}", self.rule.verdict().slug(), self.tool)?;
        self.missing_keys.iter().chain(&self.type_errors).try_for_each(|key| write!(formatter, " / {key}"))
    }
}

/// Why a baseline cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaselineError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(String),
    /// It has another format, or none: the one it names, empty when it names none.
    #[error("format {0}")]
    Format(String),
    /// A member is not what it should be.
    #[error("{0}")]
    Invalid(String),
    /// An entry is to be ignored, and nobody said why.
    #[error("ignored without a reason: {0}")]
    NoReason(String),
}

/// How much was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checked {
    /// Runs that were judged.
    pub runs: u64,
    /// Runs that could not be judged.
    pub unjudged: u64,
    /// Calls that were held against tool definitions. One of an undefined tool is among them: that is a finding.
    pub with_definitions: u64,
    /// What the runs let the rules check.
    pub coverage: Coverage,
}

/// A share that must not fall.
struct Part {
    name: &'static str,
    checked: u64,
    of: u64,
    /// Whether nothing to check is a fall as well.
    is_needed: bool,
}

impl Checked {
    /// Each share that must not fall. Limits are those of the tools that are known.
    fn shares(&self) -> [Part; 6] {
        let [calls, known] = [self.coverage.tool_calls, self.coverage.with_known_tool].map(i64::unsigned_abs);
        let of_calls = |name, checked: u64| Part { name, checked, of: calls, is_needed: true };
        let of_known = |name, checked: i64| Part { name, checked: checked.unsigned_abs(), of: known, is_needed: false };
        [
            Part { name: "judged", checked: self.runs, of: self.runs + self.unjudged, is_needed: true },
            of_calls("with_arguments", self.coverage.with_arguments.unsigned_abs()),
            of_calls("with_readable_arguments", self.coverage.with_readable_arguments.unsigned_abs()),
            of_calls("with_definitions", self.with_definitions),
            of_known("with_timeout", self.coverage.with_timeout),
            of_known("with_max_retries", self.coverage.with_max_retries),
        ]
    }
}

/// A share that fell: less was checked than when the baseline was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fall {
    /// `judged`, or the name of a figure of the coverage.
    pub name: &'static str,
    /// So many of so many when the baseline was written.
    pub before: (u64, u64),
    /// So many of so many now.
    pub now: (u64, u64),
}

/// A known finding.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// How often it occurred when the baseline was written.
    pub count: u64,
    /// Why it does not count, when a person said so.
    pub reason: Option<String>,
}

/// Known findings, and how much was checked when they were written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Baseline {
    /// Name of the set of rules that judged.
    pub rule_set: String,
    /// sha256 of its files.
    pub rule_set_sha256: String,
    /// Tool sets that were in force.
    pub tool_sets: Vec<String>,
    /// How much was checked.
    pub checked: Checked,
    /// The findings, sorted.
    pub entries: BTreeMap<Fingerprint, Entry>,
}

/// What the file looks like.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    rule_set: String,
    rule_set_sha256: String,
    tool_sets: Vec<String>,
    coverage: FileCoverage,
    findings: Vec<FileEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileCoverage {
    runs: u64,
    unjudged: u64,
    tool_calls: u32,
    with_arguments: u32,
    with_readable_arguments: u32,
    with_definitions: u64,
    with_known_tool: u32,
    with_timeout: u32,
    with_max_retries: u32,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileEntry {
    agent: Option<String>,
    verdict: String,
    tool: String,
    #[serde(default)]
    missing_keys: Vec<String>,
    #[serde(default)]
    type_errors: Vec<String>,
    count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ignore: Option<Ignore>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ignore {
    #[serde(default)]
    reason: String,
}

impl Baseline {
    /// Adds a finding that occurred.
    pub fn add(&mut self, fingerprint: Fingerprint) {
        self.entries.entry(fingerprint).or_default().count += 1;
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`BaselineError`]: what of it cannot be used.
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value: serde_json::Value =
            serde_json::from_str(text).map_err(|error| BaselineError::NotJson(error.to_string()))?;
        // The format is looked at first: of another one, everything else may be different.
        let format = value.get("format").and_then(serde_json::Value::as_str).unwrap_or_default();
        if format != FORMAT {
            return Err(BaselineError::Format(format.to_owned()));
        }
        let file: File = serde_json::from_str(text).map_err(|error| BaselineError::Invalid(error.to_string()))?;
        let mut entries: BTreeMap<Fingerprint, Entry> = BTreeMap::new();
        for entry in file.findings {
            let (fingerprint, read) = entry.read()?;
            // Two branches may have brought the same entry.
            let known = entries.entry(fingerprint).or_default();
            known.count = known.count.max(read.count);
            known.reason = known.reason.take().or(read.reason);
        }
        let coverage = file.coverage;
        Ok(Self {
            rule_set: file.rule_set,
            rule_set_sha256: file.rule_set_sha256,
            tool_sets: file.tool_sets,
            checked: Checked {
                runs: coverage.runs,
                unjudged: coverage.unjudged,
                with_definitions: coverage.with_definitions,
                coverage: Coverage {
                    tool_calls: coverage.tool_calls.into(),
                    with_arguments: coverage.with_arguments.into(),
                    with_readable_arguments: coverage.with_readable_arguments.into(),
                    with_known_tool: coverage.with_known_tool.into(),
                    with_timeout: coverage.with_timeout.into(),
                    with_max_retries: coverage.with_max_retries.into(),
                    ..Coverage::default()
                },
            },
            entries,
        })
    }

    /// The file: sorted, so that it changes only where the findings do.
    #[must_use]
    pub fn to_text(&self) -> String {
        let count = |figure: i64| u32::try_from(figure).unwrap_or(u32::MAX);
        let coverage = &self.checked.coverage;
        let file = File {
            format: FORMAT.to_owned(),
            rule_set: self.rule_set.clone(),
            rule_set_sha256: self.rule_set_sha256.clone(),
            tool_sets: self.tool_sets.clone(),
            coverage: FileCoverage {
                runs: self.checked.runs,
                unjudged: self.checked.unjudged,
                tool_calls: count(coverage.tool_calls),
                with_arguments: count(coverage.with_arguments),
                with_readable_arguments: count(coverage.with_readable_arguments),
                with_definitions: self.checked.with_definitions,
                with_known_tool: count(coverage.with_known_tool),
                with_timeout: count(coverage.with_timeout),
                with_max_retries: count(coverage.with_max_retries),
            },
            findings: self.entries.iter().map(FileEntry::written).collect(),
        };
        serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
    }

    /// Takes over what people said of entries of an earlier file. What is ignored stays, also where it does not occur
    /// any more: it may come back.
    pub fn keep_ignored(&mut self, earlier: &Self) {
        for (fingerprint, entry) in earlier.entries.iter().filter(|(_, entry)| entry.reason.is_some()) {
            self.entries.entry(fingerprint.clone()).or_default().reason.clone_from(&entry.reason);
        }
    }

    /// How a finding stands to it.
    #[must_use]
    pub fn standing(&self, fingerprint: &Fingerprint) -> Standing {
        match self.entries.get(fingerprint) {
            None => Standing::New,
            Some(Entry { reason: None, .. }) => Standing::Known,
            Some(Entry { reason: Some(reason), .. }) => Standing::Accepted(reason.clone()),
        }
    }

    /// Shares that fell by more than so many percentage points. Where nothing at all could be checked, all of them
    /// fell.
    #[must_use]
    pub fn falls(&self, now: &Checked, allowed_points: u32) -> Vec<Fall> {
        let both = self.checked.shares().into_iter().zip(now.shares());
        let fallen = both.filter(|(before, now)| {
            // before − now > points/100, in whole numbers.
            let [part, all, part_now, all_now] = [before.checked, before.of, now.checked, now.of].map(u128::from);
            if all_now == 0 {
                return now.is_needed && part > 0;
            }
            part * all_now * 100 > part_now * all * 100 + u128::from(allowed_points) * all * all_now
        });
        let fall = |(before, now): (Part, Part)| Fall {
            name: before.name,
            before: (before.checked, before.of),
            now: (now.checked, now.of),
        };
        fallen.map(fall).collect()
    }
}

impl FileEntry {
    fn read(self) -> Result<(Fingerprint, Entry), BaselineError> {
        let Some(Verdict::Found(rule)) = Verdict::parse(&self.verdict) else {
            return Err(BaselineError::Invalid(format!("verdict {}", self.verdict)));
        };
        let sorted = |mut keys: Vec<String>| {
            keys.sort_unstable();
            keys
        };
        let fingerprint = Fingerprint {
            agent: self.agent,
            rule,
            tool: self.tool,
            missing_keys: sorted(self.missing_keys),
            type_errors: sorted(self.type_errors),
        };
        let reason = self.ignore.map(|ignore| ignore.reason);
        if reason.as_ref().is_some_and(|reason| is_blank(reason)) {
            return Err(BaselineError::NoReason(fingerprint.to_string()));
        }
        Ok((fingerprint, Entry { count: self.count, reason }))
    }

    fn written((fingerprint, entry): (&Fingerprint, &Entry)) -> Self {
        Self {
            agent: fingerprint.agent.clone(),
            verdict: fingerprint.rule.verdict().slug().to_owned(),
            tool: fingerprint.tool.clone(),
            missing_keys: fingerprint.missing_keys.clone(),
            type_errors: fingerprint.type_errors.clone(),
            count: entry.count,
            ignore: entry.reason.as_ref().map(|reason| Ignore { reason: reason.clone() }),
        }
    }
}
