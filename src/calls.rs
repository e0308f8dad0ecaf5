//! What `taco-trace calls` says of recorded calls: rows of the set view become verdicts with evidence and words, and
//! the seven automatic checks of the seed look at each before anyone sees it.
//!
//! Decides no rule (the views do) and no wording ([`crate::render::calls`] does). Start with [`Verdicts`].

use std::collections::BTreeMap;

use crate::model::call::{CALL_COLUMNS, SPEC_COLUMNS};
use crate::model::{CallEvidence, CallSpec, CallValue, CallVerdict, CallVerdictKind, SpecGap, SpecGapReason};
use crate::render::Texts;
use crate::render::calls::{ActionFacts, Checked, next_action};
use crate::store::{CallCheck, CallEntry, StoreError};

/// How many entries are read at once.
pub const PAGE: i64 = 8_192;
/// How many sentences are kept: most calls of a run need one of a few.
const KEPT_ACTIONS: usize = 4_096;
/// How much of a value they may depend on, in characters.
const ACTION_CHARS: usize = 200;

/// Makes verdicts of entries; remembers sentences, which cost more than all else.
pub struct Verdicts<'t> {
    texts: &'t Texts,
    actions: BTreeMap<ActionFacts, String>,
}

impl<'t> Verdicts<'t> {
    /// In the words of `texts`.
    #[must_use]
    pub const fn new(texts: &'t Texts) -> Self {
        Self { texts, actions: BTreeMap::new() }
    }

    /// The verdict that an entry is.
    pub fn verdict(&mut self, entry: &CallEntry) -> CallVerdict {
        CallVerdict {
            call_no: entry.call_no.clone(),
            verdict: entry.verdict,
            checked_arg: entry.checked_arg.clone(),
            evidence: evidence(entry),
            next_action: self.action(facts(entry)),
        }
    }

    fn action(&mut self, facts: ActionFacts) -> String {
        if let Some(known) = self.actions.get(&facts) {
            return known.clone();
        }
        let action = next_action(self.texts, &facts);
        if self.actions.len() >= KEPT_ACTIONS {
            self.actions.clear();
        }
        self.actions.insert(facts, action.clone());
        action
    }
}

/// Hands every verdict of a judged check to `take`, in the order of the output and page by page.
///
/// # Errors
/// What the store says, as `E`; and those of `take`.
pub fn for_each<E: From<StoreError>>(
    check: &CallCheck<'_>,
    texts: &Texts,
    mut take: impl FnMut(&CallVerdict, &CallEntry) -> Result<(), E>,
) -> Result<(), E> {
    let mut verdicts = Verdicts::new(texts);
    let mut after = 0;
    while after < check.entries() {
        let last = after + PAGE;
        for entry in check.page(after, last)? {
            take(&verdicts.verdict(&entry), &entry)?;
        }
        after = last;
    }
    Ok(())
}

fn cell(field: &'static str, value: CallValue) -> CallEvidence {
    CallEvidence { field, agg: None, value, quote: None }
}

/// The cells that a verdict rests on, as the seed has them.
fn evidence(entry: &CallEntry) -> Vec<CallEvidence> {
    let value = || cell("arg_value", CallValue::of_text(entry.arg_value.as_deref()));
    let allowed = || cell("allowed_values", CallValue::of_text(entry.allowed_values.as_deref()));
    let limit = || cell("max_number", entry.max_number.clone().map_or(CallValue::Null, CallValue::Number));
    let required = || cell("is_required", entry.is_required.map_or(CallValue::Null, CallValue::Boolean));
    match entry.verdict {
        CallVerdictKind::Compliant => {
            let mut cells = vec![value()];
            // An absent value was held against nothing but whether it may be absent.
            let is_there = entry.arg_value.is_some();
            if is_there && entry.allowed_values.is_some() {
                cells.push(allowed());
            }
            if is_there && entry.max_number.is_some() {
                cells.push(limit());
            }
            if cells.len() == 1 {
                cells.push(required());
            }
            cells
        }
        CallVerdictKind::ValueNotAllowed => vec![value(), allowed()],
        CallVerdictKind::NumberOverLimit => vec![value(), limit()],
        CallVerdictKind::RequiredArgMissing => vec![value(), required()],
        CallVerdictKind::ToolUnmapped => {
            let name = entry.tool_name_raw.clone();
            let quote = Some(name.clone());
            vec![CallEvidence { field: "tool_name_raw", agg: None, value: CallValue::Text(name), quote }]
        }
        CallVerdictKind::DuplicateCall => {
            let value = CallValue::Count(entry.row_count.unwrap_or_default());
            vec![CallEvidence { field: "call_no", agg: Some("count"), value, quote: None }]
        }
    }
}

/// What the sentence depends on: no more, so that it is found again.
fn facts(entry: &CallEntry) -> ActionFacts {
    let checked = match (&entry.arg_value, &entry.allowed_values, &entry.max_number) {
        (None, ..) => Checked::Absent,
        (_, Some(_), Some(_)) => Checked::ListAndLimit,
        (_, Some(_), None) => Checked::List,
        (_, None, Some(_)) => Checked::Limit,
        _ if entry.is_required == Some(true) => Checked::Presence,
        _ => Checked::Nothing,
    };
    let mut facts = ActionFacts {
        verdict: Some(entry.verdict),
        tool: beginning(&entry.tool_name_raw),
        argument: beginning(entry.checked_arg.as_deref().unwrap_or_default()),
        ..ActionFacts::default()
    };
    let first_allowed = || {
        let listed = entry.allowed_values.as_deref().unwrap_or_default();
        listed.split('|').find(|value| !value.is_empty()).unwrap_or_default().to_owned()
    };
    let limit = || entry.max_number.clone().unwrap_or_default();
    let value = || beginning(entry.arg_value.as_deref().unwrap_or_default());
    match entry.verdict {
        CallVerdictKind::Compliant => {
            facts.checked = Some(checked);
            // What was held against nothing is not told: each call would have a sentence of its own.
            if matches!(checked, Checked::List | Checked::Limit | Checked::ListAndLimit) {
                (facts.allowed, facts.limit, facts.value) = (first_allowed(), limit(), value());
            }
        }
        CallVerdictKind::ValueNotAllowed => (facts.allowed, facts.value) = (first_allowed(), value()),
        CallVerdictKind::NumberOverLimit => {
            (facts.limit, facts.value) = (limit(), value());
            facts.problem = entry.problem.clone().unwrap_or_default();
        }
        CallVerdictKind::DuplicateCall => facts.count = entry.row_count.unwrap_or_default(),
        CallVerdictKind::RequiredArgMissing | CallVerdictKind::ToolUnmapped => {}
    }
    facts
}

/// More than a sentence shows, and no more.
fn beginning(text: &str) -> String {
    text.chars().take(ACTION_CHARS).collect()
}

/// Which arguments each tool requires, by the name that tells tools apart. A tool without arguments requires none; one
/// of which no argument could be read is not there.
#[must_use]
pub fn required_arguments(specs: &[CallSpec], gaps: &[SpecGap]) -> BTreeMap<String, Vec<String>> {
    let without = gaps.iter().filter(|gap| gap.reason == SpecGapReason::NoArguments);
    let mut required: BTreeMap<String, Vec<String>> = without.map(|gap| (gap.tool_key.clone(), Vec::new())).collect();
    for spec in specs {
        let arguments = required.entry(spec.tool_key.clone()).or_default();
        if spec.is_required {
            arguments.push(spec.arg_name.clone());
        }
    }
    required
}

/// What the automatic checks look at: a verdict as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written<'v> {
    /// Number of the call.
    pub call_no: &'v str,
    /// What is said.
    pub verdict: &'v str,
    /// The argument.
    pub checked_arg: Option<&'v str>,
    /// What it rests on.
    pub evidence: &'v [CallEvidence],
    /// What to do about it.
    pub next_action: &'v str,
}

impl<'v> From<&'v CallVerdict> for Written<'v> {
    fn from(verdict: &'v CallVerdict) -> Self {
        Self {
            call_no: &verdict.call_no,
            verdict: verdict.verdict.as_str(),
            checked_arg: verdict.checked_arg.as_deref(),
            evidence: &verdict.evidence,
            next_action: &verdict.next_action,
        }
    }
}

/// Which automatic check a verdict fails (seed, 자동 검증).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{call_no}: automatic check {check}: {what}")]
pub struct Refused {
    /// Number of the check, from 1 to 7.
    pub check: u8,
    /// The call.
    pub call_no: String,
    /// What was met.
    pub what: String,
}

/// The seven automatic checks of the seed on one verdict and the row it is about. It reads numbers in its own way, so
/// that a mistake in the views does not pass.
///
/// # Errors
/// The first check that refuses it.
pub fn verify(written: &Written<'_>, row: &CallEntry) -> Result<(), Refused> {
    let refuse = |check: u8, what: &str| Refused { check, call_no: written.call_no.to_owned(), what: what.to_owned() };
    let Some(kind) = CallVerdictKind::from_name(written.verdict) else { return Err(refuse(1, written.verdict)) };
    // A call without any argument can be of an unknown tool, and come twice.
    let may_be_bare = matches!(kind, CallVerdictKind::ToolUnmapped | CallVerdictKind::DuplicateCall);
    let missing = [
        ("call_no", written.call_no.is_empty()),
        ("evidence", written.evidence.is_empty()),
        ("next_action", written.next_action.is_empty()),
        ("checked_arg", written.checked_arg.is_none() && !may_be_bare),
    ];
    if let Some((field, _)) = missing.iter().find(|(_, is_missing)| *is_missing) {
        return Err(refuse(2, field));
    }
    if let (Some(limit), Some(value)) = (&row.max_number, &row.arg_value) {
        let within = is_within(value, limit);
        if (kind == CallVerdictKind::Compliant && !within) || (kind == CallVerdictKind::NumberOverLimit && within) {
            return Err(refuse(3, value));
        }
    }
    let is_absent = row.arg_value.is_none() && row.is_required == Some(true);
    let of_value = matches!(kind, CallVerdictKind::ValueNotAllowed | CallVerdictKind::NumberOverLimit);
    if is_absent != (kind == CallVerdictKind::RequiredArgMissing) || (of_value && row.arg_value.is_none()) {
        return Err(refuse(4, written.verdict));
    }
    for cell in written.evidence {
        if !CALL_COLUMNS.contains(&cell.field) && !SPEC_COLUMNS.contains(&cell.field) {
            return Err(refuse(5, cell.field));
        }
        if let Some(quote) = cell.quote.as_ref().filter(|quote| !row.tool_name_raw.contains(quote.as_str())) {
            return Err(refuse(6, quote));
        }
    }
    if !crate::render::calls::is_polite(written.next_action) {
        return Err(refuse(7, written.next_action));
    }
    Ok(())
}

/// Whether a text is a plain decimal number from 0 to the limit, digit by digit.
fn is_within(value: &str, limit: &str) -> bool {
    let parts = |text: &str| -> Option<(String, String)> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (text, ""),
        };
        let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        (!whole.is_empty() && is_plain(whole) && is_plain(fraction)).then(|| (whole.to_owned(), fraction.to_owned()))
    };
    let negative = value.strip_prefix('-');
    let Some((whole, fraction)) = parts(negative.unwrap_or(value)) else { return false };
    if negative.is_some() {
        return whole.bytes().chain(fraction.bytes()).all(|digit| digit == b'0');
    }
    let Some((most, most_fraction)) = parts(limit) else { return false };
    let (wholes, fractions) = (whole.len().max(most.len()), fraction.len().max(most_fraction.len()));
    let written = |whole: &str, fraction: &str| format!("{whole:0>wholes$}{fraction:0<fractions$}");
    written(&whole, &fraction) <= written(&most, &most_fraction)
}
