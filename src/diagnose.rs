//! The join of the line: what the rule views found, trace by trace, becomes a [`Diagnosis`].
//!
//! Reads rows from the store in one order (start of the run, then trace id) and walks them side by
//! side. Decides no rule (SQL does), no priority ([`crate::verdict`] does) and no wording
//! ([`crate::render`] does).

use std::collections::BTreeMap;

use crate::ingest::args;
use crate::model::{
    ChosenDraft, Coverage, Diagnosis, Evidence, EvidenceValue, Finding, Rule, Status, ToolDefinition, Verdict,
};
use crate::render::Texts;
use crate::render::draft::{DraftFacts, MissingKey, Provider, draft, find_provider};
use crate::render::notes::{NoteFacts, NoteKind, note};
use crate::render::summary::{CallFacts, FindingFacts, RunFacts, TypeError, summary, summary_without_values};
use crate::store::{
    CallRow, FindingRow, NoteRow, ReviewedRow, RunRow, Scope, Store, StoreError, ToolSetRow, UnjudgedRow,
};
use crate::verdict::judge;

/// A diagnosis and what a report shows beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedRun {
    /// What is said of the run.
    pub diagnosis: Diagnosis,
    /// Start of its earliest kept span, nanoseconds since 1970 UTC.
    pub start_ns: i64,
    /// The final answer span.
    pub final_span_id: String,
    /// Tool set it was judged with.
    pub tool_set: Option<String>,
    /// What the run let the rules check.
    pub coverage: Coverage,
    /// The calls that the findings rest on, by span id: duration in milliseconds and status. A call that stands in
    /// messages only has no duration, and a status where they say so.
    pub calls: BTreeMap<String, (Option<i64>, Option<Status>)>,
    /// Today's description of the tool that a draft is for.
    pub described_tool: Option<DescribedTool>,
    /// Its summary and notes without values, where those of the diagnosis hold any.
    pub without_values: Option<Told>,
}

/// Summary and notes without any value of an argument or of a result, for what leaves the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// One or two Korean sentences.
    pub summary: String,
    /// Facts that are no verdict.
    pub notes: Vec<String>,
}

/// The tool whose description has a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedTool {
    /// Its name.
    pub tool_name: String,
    /// Its description as it stands.
    pub description: String,
    /// JSON Schema of its arguments, as text.
    pub json_schema: String,
    /// Required keys that the run left out and that the schema describes, in the order in which they were found.
    pub missing_keys: Vec<String>,
    /// The model that wrote the draft; none for one that was made by rule.
    pub drafted_by: Option<String>,
}

/// One draft per tool, by name of the tool.
#[must_use]
pub fn chosen_drafts(runs: &[JudgedRun]) -> Vec<ChosenDraft> {
    /// How many runs, and the newest with its trace.
    type Counted<'a> = (u64, (i64, &'a str));
    // By tool, then by today's description and the draft.
    let mut by_tool: BTreeMap<&str, BTreeMap<(&str, &str), Counted<'_>>> = BTreeMap::new();
    for run in runs {
        let (Some(tool), Some(draft)) = (&run.described_tool, &run.diagnosis.description_draft) else { continue };
        let newest = (run.start_ns, run.diagnosis.trace_id.as_str());
        let drafts = by_tool.entry(&tool.tool_name).or_default();
        let counted = drafts.entry((&tool.description, draft)).or_insert((0, newest));
        *counted = (counted.0 + 1, counted.1.max(newest));
    }
    let chosen = by_tool.into_iter().filter_map(|(tool_name, drafts)| {
        let ((today, draft), (runs, _)) = drafts.iter().max_by_key(|(_, counted)| **counted)?;
        Some(ChosenDraft {
            tool_name: tool_name.to_owned(),
            today: (*today).to_owned(),
            draft: (*draft).to_owned(),
            runs: *runs,
            of_runs: drafts.values().map(|(runs, _)| runs).sum(),
            drafts: drafts.len() as u64,
            tied: drafts.values().filter(|(others, _)| others == runs).count() > 1,
        })
    });
    chosen.collect()
}

/// All runs in scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Runs that were judged, by start, then trace id.
    pub runs: Vec<JudgedRun>,
    /// Runs that could not be judged.
    pub unjudged: Vec<UnjudgedRow>,
    /// Tool sets that were in force.
    pub tool_sets: Vec<ToolSetRow>,
    /// Names of the conventions of calls whose arguments were not recorded.
    pub conventions_without_arguments: Vec<String>,
}

impl Outcome {
    /// The runs that are wanted, at most so many, and those that could not be judged only where that is said: without
    /// a verdict and an agent they fit no filter on these. The tool sets are counted over what is left.
    #[must_use]
    pub fn filtered(self, keeps_unjudged: bool, limit: usize, is_wanted: impl Fn(&JudgedRun) -> bool) -> Self {
        let by_set = |runs: &[JudgedRun]| {
            let mut counted: BTreeMap<Option<String>, i64> = BTreeMap::new();
            for run in runs {
                *counted.entry(run.tool_set.clone()).or_default() += 1;
            }
            counted
        };
        let of = |counted: &BTreeMap<Option<String>, i64>, set: &ToolSetRow| {
            counted.get(&set.tool_set).copied().unwrap_or_default()
        };
        let before = by_set(&self.runs);
        let runs: Vec<JudgedRun> = self.runs.into_iter().filter(is_wanted).take(limit).collect();
        let after = by_set(&runs);
        let mut tool_sets = self.tool_sets;
        for set in &mut tool_sets {
            let unjudged = if keeps_unjudged { set.traces - of(&before, set) } else { 0 };
            set.traces = of(&after, set) + unjudged;
        }
        tool_sets.retain(|set| set.traces > 0);
        let unjudged = if keeps_unjudged { self.unjudged } else { Vec::new() };
        Self { runs, unjudged, tool_sets, conventions_without_arguments: self.conventions_without_arguments }
    }
}

/// Whether runs with missing keys get a draft of a better description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DraftMode {
    /// Made by rule, offline.
    Template,
    /// None.
    Off,
}

/// Judges every run in scope with the rule set [`crate::store::RULE_SET`].
///
/// # Errors
/// What the store says when a statement fails; its tables are as before then.
pub fn diagnose(store: &Store, texts: &Texts, scope: &Scope, drafts: DraftMode) -> Result<Outcome, StoreError> {
    store.begin_judgement(scope)?;
    let outcome = collect(store, texts, drafts);
    store.end_judgement()?;
    outcome
}

/// The same for these traces alone, whatever else the store holds.
///
/// # Errors
/// As [`diagnose`].
pub fn diagnose_traces(
    store: &Store,
    texts: &Texts,
    trace_ids: &[String],
    drafts: DraftMode,
) -> Result<Outcome, StoreError> {
    store.begin_judgement_of(trace_ids)?;
    let outcome = collect(store, texts, drafts);
    store.end_judgement()?;
    outcome
}

fn collect(store: &Store, texts: &Texts, drafts: DraftMode) -> Result<Outcome, StoreError> {
    let rows = store.runs()?;
    let tool_sets = store.tool_sets_in_scope()?;
    let mut tools = BTreeMap::new();
    if drafts == DraftMode::Template {
        for set in tool_sets.iter().filter_map(|row| row.tool_set.as_ref()) {
            tools.insert(set.clone(), store.tools(set)?);
        }
    }
    let mut findings = store.findings()?.into_iter().peekable();
    let mut notes = store.notes()?.into_iter().peekable();
    let mut calls = store.calls()?.into_iter().peekable();
    let mut reviewed: BTreeMap<String, Vec<ReviewedRow>> = BTreeMap::new();
    for row in store.reviewed_findings()? {
        reviewed.entry(row.trace_id.clone()).or_default().push(row);
    }
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows {
        let reviews = reviewed.remove(&row.trace_id).unwrap_or_default();
        let found = take_while_eq(&mut findings, |finding| finding.trace_id == row.trace_id);
        let noted = take_while_eq(&mut notes, |note| note.trace_id == row.trace_id);
        let called = take_while_eq(&mut calls, |call| call.trace_id == row.trace_id);
        let definitions = row.tool_set.as_ref().and_then(|set| tools.get(set)).map_or(&[][..], Vec::as_slice);
        runs.push(judged_run(texts, row, &found, &noted, &called, definitions, &reviews));
    }
    let conventions_without_arguments = store.conventions_without_arguments()?;
    Ok(Outcome { runs, unjudged: store.unjudged()?, tool_sets, conventions_without_arguments })
}

fn take_while_eq<T>(rows: &mut std::iter::Peekable<impl Iterator<Item = T>>, same: impl Fn(&T) -> bool) -> Vec<T> {
    std::iter::from_fn(|| rows.next_if(|row| same(row))).collect()
}

fn judged_run(
    texts: &Texts,
    run: RunRow,
    found: &[FindingRow],
    noted: &[NoteRow],
    called: &[CallRow],
    definitions: &[ToolDefinition],
    reviews: &[ReviewedRow],
) -> JudgedRun {
    let groups = group_findings(found);
    let said = |rule: Rule, name: &str| {
        let row = reviews.iter().find(|row| row.rule == rule.as_str() && row.finding == name);
        row.map(|row| row.review.clone())
    };
    let findings: Vec<Finding> = groups
        .iter()
        .map(|(rule, rows)| Finding { review: said(*rule, &rows[0].finding), ..finding(*rule, rows, &run) })
        .collect();
    let judgement = judge(&findings);
    let facts = run_facts(&run, &groups, &findings, called, judgement.verdict, &judgement.also_found);
    let (described_tool, description_draft) = description_draft(texts, &findings, definitions);
    let holds_values = facts.findings.iter().any(|finding| !finding.type_errors.is_empty())
        || noted.iter().any(|row| NoteKind::from_name(&row.note).is_some_and(NoteKind::shows_value));
    let without_values = holds_values
        .then(|| Told { summary: summary_without_values(texts, &facts), notes: notes_of(texts, noted, false) });
    let diagnosis = Diagnosis {
        trace_id: run.trace_id,
        agent_name: run.agent_name,
        final_status: run.final_status,
        tool_calls: run.tool_calls,
        verdict: judgement.verdict,
        also_found: judgement.also_found,
        findings,
        notes: notes_of(texts, noted, true),
        fix_target: judgement.fix_target,
        description_draft,
        summary: summary(texts, &facts),
    };
    JudgedRun {
        diagnosis,
        start_ns: run.start_ns,
        final_span_id: run.final_span_id,
        tool_set: run.tool_set,
        coverage: Coverage {
            tool_calls: run.tool_calls,
            with_arguments: run.with_arguments,
            with_readable_arguments: run.with_readable_arguments,
            with_known_tool: run.with_known_tool,
            with_timeout: run.with_timeout,
            with_max_retries: run.with_max_retries,
            without_span: run.without_span,
            failed_beside_status: run.failed_beside_status,
        },
        calls: found
            .iter()
            .map(|row| (row.span_id.clone(), (row.has_span.then_some(row.duration_ms), row.status)))
            .collect(),
        described_tool,
        without_values,
    }
}

/// Rows of one finding together, findings in the order of their first row.
fn group_findings(found: &[FindingRow]) -> Vec<(Rule, Vec<&FindingRow>)> {
    let mut groups: Vec<(Rule, Vec<&FindingRow>)> = Vec::new();
    for row in found {
        // A rule that this program does not know cannot come out of the set that it pins.
        let Some(rule) = Rule::from_name(&row.rule) else { continue };
        let place = groups.iter().position(|(known, rows)| *known == rule && rows[0].finding == row.finding);
        match place {
            Some(place) => groups[place].1.push(row),
            None => groups.push((rule, vec![row])),
        }
    }
    groups
}

fn finding(rule: Rule, rows: &[&FindingRow], run: &RunRow) -> Finding {
    let first = rows[0];
    let mut finding = Finding {
        rule,
        tool_name: first.tool_name.clone(),
        span_ids: Vec::new(),
        missing_keys: Vec::new(),
        type_errors: Vec::new(),
        timeout_gap_ms: None,
        run_length: None,
        evidence: Vec::new(),
        review: None,
    };
    for row in rows {
        if finding.span_ids.last() != Some(&row.span_id) {
            finding.span_ids.push(row.span_id.clone());
        }
    }
    match rule {
        Rule::UndefinedTool => undefined_tool(&mut finding),
        Rule::ArgsMismatch => args_mismatch(&mut finding, rows),
        Rule::TimeoutExceeded => timeout_exceeded(&mut finding, first),
        Rule::RetryOverLimit => retry_over_limit(&mut finding, first),
        Rule::ErrorHidden => error_hidden(&mut finding, rows, run),
    }
    finding
}

fn undefined_tool(finding: &mut Finding) {
    for span_id in &finding.span_ids {
        finding.evidence.push(Evidence::span(span_id, "tool_name", EvidenceValue::Text(finding.tool_name.clone())));
    }
    finding.evidence.push(Evidence::count("tool_definitions", "tool_name", 0));
}

fn args_mismatch(finding: &mut Finding, rows: &[&FindingRow]) {
    for row in rows {
        let Some(key) = &row.arg_key else { continue };
        match type_error(row) {
            None => finding.missing_keys.push(key.clone()),
            Some(error) => finding.type_errors.push(format!("{key}: {} → {}", error.received, error.declared)),
        }
    }
    let first = rows[0];
    finding.evidence.push(Evidence::span(&first.span_id, "tool_args", text(first.tool_args.as_deref())));
    finding.evidence.push(Evidence::tool(&first.tool_name, "json_schema", text(first.json_schema.as_deref())));
}

fn timeout_exceeded(finding: &mut Finding, row: &FindingRow) {
    let (duration_ms, timeout_ms) = (row.measured.unwrap_or_default(), row.allowed.unwrap_or_default());
    finding.timeout_gap_ms = Some(duration_ms - timeout_ms);
    finding.evidence.push(Evidence::span(&row.span_id, "duration_ms", EvidenceValue::Integer(duration_ms)));
    finding.evidence.push(Evidence::tool(&row.tool_name, "timeout_ms", EvidenceValue::Integer(timeout_ms)));
    finding.evidence.push(Evidence::span(&row.span_id, "status", text(row.status.map(Status::as_str))));
}

fn retry_over_limit(finding: &mut Finding, first: &FindingRow) {
    let run_length = first.measured.unwrap_or_default();
    finding.run_length = Some(run_length);
    finding.evidence.push(Evidence::count("spans", "span_id", run_length));
    finding.evidence.push(Evidence::span(&first.span_id, "tool_args", text(first.tool_args.as_deref())));
    let max_retries = EvidenceValue::Integer(first.allowed.unwrap_or_default());
    finding.evidence.push(Evidence::tool(&first.tool_name, "max_retries", max_retries));
}

fn error_hidden(finding: &mut Finding, rows: &[&FindingRow], run: &RunRow) {
    for row in rows {
        finding.evidence.push(Evidence::span(&row.span_id, "tool_name", text(Some(&row.tool_name))));
        finding.evidence.push(Evidence::span(&row.span_id, "status", text(row.status.map(Status::as_str))));
        finding.evidence.push(Evidence::count("spans", "span_id", 0));
    }
    finding.span_ids.push(run.final_span_id.clone());
    finding.evidence.push(Evidence::span(&run.final_span_id, "status", text(Some(run.final_status.as_str()))));
}

fn text(value: Option<&str>) -> EvidenceValue {
    value.map_or(EvidenceValue::Null, |value| EvidenceValue::Text(value.to_owned()))
}

fn type_error(row: &FindingRow) -> Option<TypeError> {
    Some(TypeError {
        key: row.arg_key.clone()?,
        received: row.problem.clone().filter(|problem| problem != "missing")?,
        declared: row.declared_type.clone().unwrap_or_default(),
        value: value_of(row.args_key.as_deref(), row.arg_key.as_deref()),
    })
}

/// The value of a top-level key in canonical arguments, as JSON text.
fn value_of(args_key: Option<&str>, key: Option<&str>) -> String {
    let Some(canonical) = args_key.and_then(|text| args::canonical(text).ok()) else { return String::new() };
    let arg = canonical.args.iter().find(|arg| Some(arg.key.as_str()) == key);
    arg.map(|arg| canonical.value(arg).to_owned()).unwrap_or_default()
}

fn run_facts(
    run: &RunRow,
    groups: &[(Rule, Vec<&FindingRow>)],
    findings: &[Finding],
    called: &[CallRow],
    verdict: Verdict,
    also_found: &[Verdict],
) -> RunFacts {
    let calls: Vec<CallFacts> = called
        .iter()
        .map(|call| CallFacts {
            span_id: call.span_id.clone(),
            tool_name: call.tool_name.clone(),
            status: call.status,
            duration_ms: call.duration_ms,
            args_key: call.args_key.clone(),
            keys: top_level_keys(call.args_key.as_deref()),
        })
        .collect();
    let facts = groups.iter().zip(findings).map(|((rule, rows), finding)| {
        let first = rows[0];
        FindingFacts {
            rule: *rule,
            tool_name: finding.tool_name.clone(),
            calls: finding.span_ids.len() - usize::from(*rule == Rule::ErrorHidden),
            missing_keys: finding.missing_keys.clone(),
            type_errors: rows.iter().filter_map(|row| type_error(row)).collect(),
            span_status: first.status,
            in_messages: !first.has_span,
            duration_ms: first.duration_ms,
            timeout_ms: first.timeout_ms,
            timeout_gap_ms: finding.timeout_gap_ms,
            run_length: finding.run_length,
            max_retries: if *rule == Rule::RetryOverLimit { first.allowed } else { None },
            later_from: match calls.iter().position(|call| first.has_span && call.span_id == first.span_id) {
                Some(place) => place + 1,
                None => called.iter().filter(|call| call.start_ns < first.start_ns).count(),
            },
        }
    });
    RunFacts {
        verdict,
        also_found: also_found.to_vec(),
        findings: facts.collect(),
        final_status: run.final_status,
        tool_calls: run.tool_calls,
        all_checked: run.with_checked_arguments == run.tool_calls,
        calls,
    }
}

/// The keys of a canonical object; none of anything else.
fn top_level_keys(args_key: Option<&str>) -> Vec<String> {
    let parsed = args_key.and_then(|text| args::canonical(text).ok());
    parsed.map(|canonical| canonical.args.into_iter().map(|arg| arg.key).collect()).unwrap_or_default()
}

/// Notes in words. The ways in which the arguments of one stretch were written come as a row each and
/// become one note: whether keys stand in another order, or only spacing and escapes differ.
fn notes_of(texts: &Texts, rows: &[NoteRow], with_values: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let mut rest = rows;
    while let Some(row) = rest.first() {
        let same = rest.iter().take_while(|other| other.note == row.note && other.span_id == row.span_id).count();
        let together = if row.note == "args_written_differently" { same } else { 1 };
        let kind = if row.note == "args_written_differently" {
            Some(written_differently(&rest[..together]))
        } else {
            NoteKind::from_name(&row.note)
        };
        if let Some(kind) = kind {
            notes.push(note(
                texts,
                &NoteFacts {
                    note: kind,
                    tool_name: row.tool_name.clone().unwrap_or_default(),
                    span_id: row.span_id.clone(),
                    measured: row.measured,
                    limit: row.allowed,
                    detail: if with_values || !kind.shows_value() { row.detail.clone() } else { None },
                },
            ));
        }
        rest = &rest[together..];
    }
    notes
}

fn written_differently(rows: &[NoteRow]) -> NoteKind {
    let mut compact: Vec<Option<String>> =
        rows.iter().map(|row| row.detail.as_deref().and_then(args::compact)).collect();
    compact.dedup();
    if compact.len() > 1 { NoteKind::KeyOrderDiffers } else { NoteKind::WritingDiffers }
}

/// A draft for the first tool whose required keys were left out, with all keys left out anywhere in the run.
fn description_draft(
    texts: &Texts,
    findings: &[Finding],
    definitions: &[ToolDefinition],
) -> (Option<DescribedTool>, Option<String>) {
    let Some(first) = findings.iter().find(|finding| !finding.missing_keys.is_empty()) else { return (None, None) };
    let Some(tool) = definitions.iter().find(|tool| tool.tool_name == first.tool_name) else { return (None, None) };
    let mut keys: Vec<&String> = Vec::new();
    for key in
        findings.iter().filter(|finding| finding.tool_name == tool.tool_name).flat_map(|finding| &finding.missing_keys)
    {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    // A draft names only what the schema describes (seed 002, rule 11): a key that stands in `required` alone is left
    // out of it.
    let described: Vec<String> = property_names(&tool.json_schema);
    keys.retain(|key| described.contains(key));
    if keys.is_empty() {
        return (None, None);
    }
    let missing = keys
        .iter()
        .map(|key| MissingKey { key: (*key).clone(), description: property_description(&tool.json_schema, key) })
        .collect();
    let providers: Vec<Provider> =
        keys.iter().filter_map(|key| find_provider(texts, definitions, &tool.tool_name, key)).collect();
    let facts =
        DraftFacts { tool_name: tool.tool_name.clone(), description: tool.description.clone(), missing, providers };
    let described = DescribedTool {
        tool_name: tool.tool_name.clone(),
        description: tool.description.clone(),
        json_schema: tool.json_schema.clone(),
        missing_keys: keys.into_iter().cloned().collect(),
        drafted_by: None,
    };
    (Some(described), Some(draft(texts, &facts)))
}

fn property_description(json_schema: &str, key: &str) -> Option<String> {
    let schema: serde_json::Value = serde_json::from_str(json_schema).ok()?;
    Some(schema.get("properties")?.get(key)?.get("description")?.as_str()?.to_owned())
}

fn property_names(json_schema: &str) -> Vec<String> {
    let schema: Option<serde_json::Value> = serde_json::from_str(json_schema).ok();
    let properties = schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
    properties.map(|properties| properties.keys().cloned().collect()).unwrap_or_default()
}
