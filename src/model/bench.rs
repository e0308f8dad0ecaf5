//! How far verdicts agree with labels that someone else gave (`taco-trace bench labelled`).

use serde::Serialize;

use super::diagnosis::{Rule, Verdict};

/// What is said of a run: a verdict, or none when it could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// One of the six.
    Judged(Verdict),
    /// No final answer was found.
    Unjudged,
}

impl Answer {
    /// The verdicts in their order, then the one without.
    pub const ALL: [Self; 7] = [
        Self::Judged(Verdict::Found(Rule::UndefinedTool)),
        Self::Judged(Verdict::Found(Rule::ArgsMismatch)),
        Self::Judged(Verdict::Found(Rule::TimeoutExceeded)),
        Self::Judged(Verdict::Found(Rule::RetryOverLimit)),
        Self::Judged(Verdict::Found(Rule::ErrorHidden)),
        Self::Judged(Verdict::Normal),
        Self::Unjudged,
    ];

    /// The Korean text.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Judged(verdict) => verdict.label(),
            Self::Unjudged => "판정 불가",
        }
    }

    /// The short English name.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Judged(verdict) => verdict.slug(),
            Self::Unjudged => "unjudged",
        }
    }

    /// Its place in [`Self::ALL`], from 0.
    #[must_use]
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|known| *known == self).unwrap_or_default()
    }
}

impl Serialize for Answer {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// So many of so many that agree, with Wilson's 95 % interval; shares are from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Agreeing {
    /// Runs that agree.
    pub matched: u64,
    /// Runs that were compared.
    pub compared: u64,
    /// `matched / compared`; null when nothing was compared.
    pub share: Option<f64>,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
}

/// A row of the confusion table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConfusionRow {
    /// What the labels say.
    pub expected: Answer,
    /// Runs by what was given, in the order of [`Answer::ALL`].
    pub given: [u64; 7],
    /// Their sum.
    pub runs: u64,
}

/// A run whose label and verdict, or the other rules, differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The run.
    pub trace_id: String,
    /// The manifest's name for what was played, where it has one.
    pub scenario: Option<String>,
    /// The file that the manifest names.
    pub file: Option<String>,
    /// Line of the manifest where its entry begins, from 1.
    pub line: u64,
    /// What the label says.
    pub expected: Answer,
    /// What was given.
    pub given: Answer,
    /// Further rules that the label names.
    pub expected_also: Vec<Verdict>,
    /// Further rules that were found.
    pub also_found: Vec<Verdict>,
    /// What the diagnosis notes besides; of a run that could not be judged the reason.
    pub notes: Vec<String>,
}

/// A labelled trace that no run of the files has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// The trace.
    pub trace_id: String,
    /// The file that the manifest names.
    pub file: Option<String>,
    /// Whether that file is in the folder; none when no file is named.
    pub file_found: Option<bool>,
    /// Line of the manifest where its entry begins, from 1.
    pub line: u64,
}

/// A run that the manifest has no label for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unlabelled {
    /// The run.
    pub trace_id: String,
    /// What was given.
    pub given: Answer,
}

/// What the comparison came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// Path of the manifest.
    pub manifest: String,
    /// What the manifest says of itself: its top-level texts, key and text, in the order written.
    pub labels_from: Vec<(String, String)>,
    /// Rule set that judged.
    pub rule_set: String,
    /// Same verdict.
    pub verdict: Agreeing,
    /// Same verdict and the same further rules.
    pub all_rules: Agreeing,
    /// One row per verdict, all seven.
    pub confusion: Vec<ConfusionRow>,
    /// Runs with another verdict, in the order of the manifest.
    pub mismatches: Vec<Mismatch>,
    /// Runs with the same verdict and other further rules.
    pub also_differs: Vec<Mismatch>,
    /// Labelled traces that are in no file.
    pub only_in_manifest: Vec<Absent>,
    /// Runs without a label.
    pub only_in_files: Vec<Unlabelled>,
    /// Traces of which the manifest says that they are no run of their own.
    pub no_run: u64,
}
