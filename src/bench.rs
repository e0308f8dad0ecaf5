//! Verdicts against labels that someone else gave: reads a manifest, counts where they agree. Pure.
//!
//! A manifest is a JSON object whose `traces` is a list of `{"trace_id", "verdicts", "file"?, "scenario"?}`. `verdicts`
//! lists the rules that hold, in any order: the most important one is the verdict expected, the others are the further
//! rules. `["normal"]`, and `[]` (a failure that fits no rule), expect the normal verdict; `["unjudged"]` a run that
//! cannot be judged; `null` says that the trace is no run of its own.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::model::bench::{Absent, Agreeing, Agreement, Answer, ConfusionRow, Mismatch, Unlabelled};
use crate::model::{Rule, Verdict};
use crate::stats::{Share, wilson};

pub mod described;
pub mod injected;

/// Names of verdicts that manifests use beside our own.
const OTHER_NAMES: [(&str, Rule); 4] = [
    ("arg_mismatch", Rule::ArgsMismatch),
    ("timeout", Rule::TimeoutExceeded),
    ("retry_limit", Rule::RetryOverLimit),
    ("hidden_error", Rule::ErrorHidden),
];

const BOM: char = '\u{feff}';

/// Why a manifest cannot be used. Lines are from 1.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ManifestError {
    /// The text is not JSON.
    #[error("not JSON at line {line}: {message}")]
    NotJson {
        /// Where.
        line: u64,
        /// The parser's words.
        message: String,
    },
    /// JSON of another shape.
    #[error("no list of labelled traces at line {line}: {message}")]
    Shape {
        /// Where the value begins that has the wrong shape.
        line: u64,
        /// The parser's words.
        message: String,
    },
    /// A verdict that has no such name.
    #[error("unknown verdict at line {line}: {name}")]
    UnknownVerdict {
        /// Where it stands.
        line: u64,
        /// As written.
        name: String,
    },
    /// Labels that contradict themselves: two for one trace, or the normal verdict beside a rule.
    #[error("contradicting labels at line {line}: {trace_id}")]
    Contradiction {
        /// Where the entry begins.
        line: u64,
        /// Its trace.
        trace_id: String,
    },
}

/// Labels of traces, as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its top-level texts, key and text, in the order of keys.
    pub words: Vec<(String, String)>,
    /// Its traces, in the order written.
    pub labels: Vec<Label>,
}

/// The label of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// In small letters.
    pub trace_id: String,
    /// The file that holds it.
    pub file: Option<String>,
    /// What was played.
    pub scenario: Option<String>,
    /// None when the trace is no run of its own.
    pub expected: Option<Given>,
    /// Where the entry begins, from 1.
    pub line: u64,
}

/// A verdict and the further rules, in order of priority.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The verdict.
    pub answer: Answer,
    /// Further rules.
    pub also: Vec<Verdict>,
}

/// What the program said of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The run.
    pub trace_id: String,
    /// The verdict and the further rules.
    pub given: Given,
    /// Notes, or the reason why it could not be judged.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    trace_id: String,
    file: Option<String>,
    scenario: Option<String>,
    // A label must be written: an entry without one is a slip, and null says something else.
    #[serde(borrow)]
    verdicts: &'a RawValue,
}

/// Reads a manifest.
///
/// # Errors
/// [`ManifestError`] at the first thing that is wrong: labels that are half read would measure something else.
pub fn parse_manifest(text: &str) -> Result<Manifest, ManifestError> {
    let body = text.strip_prefix(BOM).unwrap_or(text);
    let whole: &RawValue = serde_json::from_str(body)
        .map_err(|error| ManifestError::NotJson { line: error.line() as u64, message: error.to_string() })?;
    let members: BTreeMap<String, &RawValue> = shaped(text, whole)?;
    let missing = || ManifestError::Shape { line: line_of(text, whole.get()), message: "no `traces`".to_owned() };
    let traces: Vec<&RawValue> = shaped(text, members.get("traces").ok_or_else(missing)?)?;
    let words = members.iter().filter_map(|(key, value)| {
        let words: String = serde_json::from_str(value.get()).ok()?;
        (!words.trim().is_empty()).then(|| (key.clone(), words))
    });
    let mut labels: Vec<Label> = Vec::with_capacity(traces.len());
    let mut seen = BTreeSet::new();
    for raw in traces {
        let entry: Entry<'_> = shaped(text, raw)?;
        let line = line_of(text, raw.get());
        let trace_id = entry.trace_id.to_lowercase();
        let contradiction = || ManifestError::Contradiction { line, trace_id: trace_id.clone() };
        let expected =
            expected(text, entry.verdicts)?.map(|list| given(&list).ok_or_else(contradiction)).transpose()?;
        if !seen.insert(trace_id.clone()) {
            return Err(contradiction());
        }
        labels.push(Label { trace_id, file: entry.file, scenario: entry.scenario, expected, line });
    }
    Ok(Manifest { words: words.collect(), labels })
}

/// Reads a part of the text; a failure names the line in the whole.
fn shaped<'a, T: Deserialize<'a>>(text: &str, part: &'a RawValue) -> Result<T, ManifestError> {
    serde_json::from_str(part.get()).map_err(|error| ManifestError::Shape {
        line: line_of(text, part.get()) + (error.line() as u64).saturating_sub(1),
        message: error.to_string(),
    })
}

/// The line on which a part of the text begins. Its address tells where it stands.
fn line_of(text: &str, part: &str) -> u64 {
    let offset = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    let before = text.as_bytes().get(..offset).unwrap_or_default();
    before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

fn expected(text: &str, verdicts: &RawValue) -> Result<Option<Vec<Answer>>, ManifestError> {
    let Some(names): Option<Vec<&RawValue>> = shaped(text, verdicts)? else { return Ok(None) };
    let answers = names.into_iter().map(|raw| {
        let name: String = shaped(text, raw)?;
        answer(&name).ok_or_else(|| ManifestError::UnknownVerdict { line: line_of(text, raw.get()), name })
    });
    answers.collect::<Result<_, _>>().map(Some)
}

/// The verdict of that name: a label, a slug, the name of a rule, or one of those that manifests use.
fn answer(name: &str) -> Option<Answer> {
    let known = Answer::ALL.into_iter().find(|answer| answer.label() == name || answer.slug() == name);
    let of_rule = |rule: Rule| Answer::Judged(rule.verdict());
    let other = || OTHER_NAMES.iter().find(|(other, _)| *other == name).map(|(_, rule)| of_rule(*rule));
    known.or_else(|| Rule::from_name(name).map(of_rule)).or_else(other)
}

/// The most important one and the others; none when they contradict one another.
fn given(answers: &[Answer]) -> Option<Given> {
    let answers: BTreeSet<Answer> = answers.iter().copied().collect();
    let rules: Vec<Verdict> = answers
        .iter()
        .filter_map(|answer| match answer {
            Answer::Judged(verdict @ Verdict::Found(_)) => Some(*verdict),
            _ => None,
        })
        .collect();
    match rules.split_first() {
        Some((first, also)) if rules.len() == answers.len() => {
            Some(Given { answer: Answer::Judged(*first), also: also.to_vec() })
        }
        None if answers.len() <= 1 => {
            let answer = answers.into_iter().next().unwrap_or(Answer::Judged(Verdict::Normal));
            Some(Given { answer, also: Vec::new() })
        }
        _ => None,
    }
}

/// Where labels and verdicts agree. `is_file` says whether the folder has a file of that name; `about` is the path of
/// the manifest and the name of the rule set.
#[must_use]
pub fn agreement(
    manifest: &Manifest,
    judged: &[Judged],
    about: (&str, &str),
    is_file: impl Fn(&str) -> bool,
) -> Agreement {
    let by_trace: BTreeMap<&str, &Judged> = judged.iter().map(|run| (run.trace_id.as_str(), run)).collect();
    let mut tallies = [Tally::default(); 7];
    let mut no_run = 0;
    let (mut mismatches, mut also_differs, mut only_in_manifest) = (Vec::new(), Vec::new(), Vec::new());
    for label in &manifest.labels {
        let Some(expected) = &label.expected else {
            no_run += 1;
            continue;
        };
        let Some(run) = by_trace.get(label.trace_id.as_str()) else {
            only_in_manifest.push(Absent {
                trace_id: label.trace_id.clone(),
                file: label.file.clone(),
                file_found: label.file.as_deref().map(&is_file),
                line: label.line,
            });
            continue;
        };
        let sameness = tallies[expected.answer.place()].add(expected, &run.given);
        if sameness == Sameness::All {
            continue;
        }
        let mismatch = Mismatch {
            trace_id: label.trace_id.clone(),
            scenario: label.scenario.clone(),
            file: label.file.clone(),
            line: label.line,
            expected: expected.answer,
            given: run.given.answer,
            expected_also: expected.also.clone(),
            also_found: run.given.also.clone(),
            notes: run.notes.clone(),
        };
        if sameness == Sameness::Verdict { also_differs.push(mismatch) } else { mismatches.push(mismatch) }
    }
    let sum = Tally::sum(&tallies);
    let confusion = Answer::ALL.into_iter().zip(tallies);
    let labelled: BTreeSet<&str> = manifest.labels.iter().map(|label| label.trace_id.as_str()).collect();
    let unlabelled = judged.iter().filter(|run| !labelled.contains(run.trace_id.as_str()));
    Agreement {
        manifest: about.0.to_owned(),
        labels_from: manifest.words.clone(),
        rule_set: about.1.to_owned(),
        verdict: sum.verdict(),
        all_rules: sum.all_rules(),
        confusion: confusion
            .map(|(expected, tally)| ConfusionRow { expected, given: tally.given, runs: tally.runs() })
            .collect(),
        mismatches,
        also_differs,
        only_in_manifest,
        only_in_files: unlabelled
            .map(|run| Unlabelled { trace_id: run.trace_id.clone(), given: run.given.answer })
            .collect(),
        no_run,
    }
}

/// How far what was given is what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sameness {
    /// The verdict and the further rules.
    All,
    /// The verdict alone.
    Verdict,
    /// Another verdict.
    None,
}

/// Counts of runs that have something in common: a row of a table, or all of it.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    given: [u64; 7],
    matched: u64,
    matched_all: u64,
}

impl Tally {
    fn add(&mut self, expected: &Given, given: &Given) -> Sameness {
        self.given[given.answer.place()] += 1;
        let is_same = expected.answer == given.answer;
        self.matched += u64::from(is_same);
        self.matched_all += u64::from(expected == given);
        match (expected == given, is_same) {
            (true, _) => Sameness::All,
            (false, true) => Sameness::Verdict,
            (false, false) => Sameness::None,
        }
    }

    fn sum<'a>(tallies: impl IntoIterator<Item = &'a Self>) -> Self {
        tallies.into_iter().fold(Self::default(), |sum, one| Self {
            given: std::array::from_fn(|place| sum.given[place] + one.given[place]),
            matched: sum.matched + one.matched,
            matched_all: sum.matched_all + one.matched_all,
        })
    }

    fn runs(&self) -> u64 {
        self.given.iter().sum()
    }

    fn verdict(&self) -> Agreeing {
        agreeing(self.matched, self.runs())
    }

    fn all_rules(&self) -> Agreeing {
        agreeing(self.matched_all, self.runs())
    }
}

fn agreeing(matched: u64, compared: u64) -> Agreeing {
    let share = Share { hits: matched, of: compared };
    let interval = wilson(share);
    let rate = (compared > 0).then(|| share.rate());
    Agreeing { matched, compared, share: rate, low: interval.low, high: interval.high }
}

/// Whether fewer than `percent` of the runs agree; also when there are none.
#[must_use]
pub fn is_below(agreeing: &Agreeing, percent: f64) -> bool {
    // As whole numbers where they are, so that 50 of 100 is not below 50.
    let of = |count: u64| Share { hits: count, of: 1 }.rate();
    agreeing.compared == 0 || of(agreeing.matched * 100) < percent * of(agreeing.compared)
}
