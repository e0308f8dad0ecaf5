//! The report as SARIF 2.1.0 (OASIS standard): a rule per verdict, a result per finding, where its span was read.
//!
//! The structs are the part of the format that is used; `fixtures/schemas/` has the whole. A known finding is
//! `unchanged`, one that a person accepted is suppressed with the reason.

use std::collections::BTreeMap;

use minijinja::context;
use serde::Serialize;
use serde_json::{Value, json};

use super::Texts;
use super::layout::plain;
use super::machine::{self, MachineReport, MachineRun, Place, level, phrase, told};
use super::words::word;
use crate::model::{Finding, Standing, Verdict};

/// Where the schema is published.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The version of our fingerprints.
const FINGERPRINT: &str = "tacoTraceFinding/v1";

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    language: &'static str,
    column_kind: &'static str,
    invocations: [Invocation; 1],
    results: Vec<SarifResult>,
    properties: Value,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    version: String,
    language: &'static str,
    rules: Vec<Descriptor>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    id: &'static str,
    name: &'static str,
    short_description: Message,
    full_description: Message,
    default_configuration: Configuration,
}

#[derive(Serialize)]
struct Configuration {
    level: &'static str,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Serialize)]
struct Notification {
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    rule_id: &'static str,
    rule_index: usize,
    kind: &'static str,
    level: &'static str,
    message: Message,
    locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    partial_fingerprints: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressions: Vec<Suppression>,
    properties: Value,
}

#[derive(Serialize)]
struct Suppression {
    kind: &'static str,
    justification: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    physical_location: Option<PhysicalLocation>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<LogicalLocation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: i64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogicalLocation {
    name: String,
    fully_qualified_name: String,
    kind: &'static str,
}

/// The report as one SARIF log.
///
/// # Errors
/// None that can occur: every value is text or a number.
pub fn report(texts: &Texts, report: &MachineReport<'_>) -> serde_json::Result<String> {
    let driver = Driver {
        name: "taco-trace",
        version: report.version.to_owned(),
        language: "ko-KR",
        rules: Verdict::ALL.into_iter().map(|verdict| descriptor(texts, verdict)).collect(),
    };
    let mut results = Vec::new();
    for run in &report.runs {
        if run.view.diagnosis.verdict == Verdict::Normal && report.show_all {
            results.push(passed(texts, run, report.has_baseline));
        }
        results.extend(run.findings().map(|finding| result(texts, run, finding, report.has_baseline)));
    }
    let notifications = report.unjudged.iter().map(|(run, place)| Notification {
        level: "warning",
        message: Message {
            text: phrase(
                texts,
                "unjudged_annotation",
                context! { reason => word(texts, &run.reason), trace => run.trace_id.as_str() },
            ),
        },
        locations: vec![location(place.as_ref(), logical(&[("trace", &run.trace_id)]), None)],
    });
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool { driver },
            language: "ko-KR",
            column_kind: "unicodeCodePoints",
            invocations: [Invocation {
                execution_successful: true,
                tool_execution_notifications: notifications.collect(),
            }],
            results,
            properties: properties(report),
        }],
    };
    Ok(serde_json::to_string_pretty(&log)? + "\n")
}

fn properties(report: &MachineReport<'_>) -> Value {
    let assumptions = &report.assumptions;
    let tool_sets: Vec<&Option<String>> = assumptions.tool_sets.iter().map(|set| &set.sha256).collect();
    json!({
        "runs": report.runs.len(),
        "unjudged": report.unjudged.len(),
        "coverage": report.coverage,
        "rule_set": assumptions.rule_set,
        "rule_set_sha256": assumptions.rule_set_sha256,
        "tool_sets": tool_sets,
    })
}

fn descriptor(texts: &Texts, verdict: Verdict) -> Descriptor {
    Descriptor {
        id: verdict.slug(),
        name: verdict.label(),
        short_description: Message { text: verdict.label().to_owned() },
        full_description: Message { text: phrase(texts, "described", context! { rule => verdict.slug() }) },
        default_configuration: Configuration { level: level(verdict) },
    }
}

fn result(
    texts: &Texts,
    run: &MachineRun<'_>,
    (finding, standing, digest): (&Finding, &Standing, &str),
    has_baseline: bool,
) -> SarifResult {
    let diagnosis = run.view.diagnosis;
    let verdict = finding.rule.verdict();
    let slug = verdict.slug();
    let nobody = word(texts, "nobody");
    let agent = diagnosis.agent_name.as_deref().unwrap_or(&nobody);
    let first = finding.span_ids.first().map_or("", String::as_str);
    let of_span = |span_id: &str| {
        let names =
            [("agent", agent), ("function", &finding.tool_name), ("trace", &diagnosis.trace_id), ("span", span_id)];
        logical(&names)
    };
    let related = finding.span_ids.iter().skip(1).filter_map(|span_id| {
        let place = run.places.get(span_id)?;
        Some(location(Some(place), of_span(span_id), Some(format!("span {}", plain(span_id)))))
    });
    // The summary tells of the whole run, and stands with its first finding.
    let is_first = diagnosis.findings.first().is_some_and(|one| std::ptr::eq(one, finding));
    let text = if is_first { plain(&diagnosis.summary).into_owned() } else { told(texts, finding) };
    SarifResult {
        rule_id: slug,
        rule_index: index(verdict),
        kind: "fail",
        level: level(verdict),
        message: Message { text },
        locations: vec![location(run.place(Some(finding)), of_span(first), None)],
        related_locations: related.collect(),
        partial_fingerprints: BTreeMap::from([(FINGERPRINT, digest.to_owned())]),
        baseline_state: has_baseline.then_some(state(standing)),
        suppressions: match standing {
            Standing::Accepted(_) | Standing::Dismissed(_) => {
                vec![Suppression { kind: "external", justification: machine::standing(texts, standing) }]
            }
            Standing::Unasked | Standing::New | Standing::Known => Vec::new(),
        },
        properties: json!({
            "trace_id": diagnosis.trace_id,
            "agent_name": diagnosis.agent_name,
            "start_time": run.view.start_time,
            "tool_name": finding.tool_name,
            "span_ids": finding.span_ids,
            "missing_keys": finding.missing_keys,
            "type_errors": finding.type_errors,
            "fix_target": diagnosis.fix_target,
        }),
    }
}

/// A normal run, for those who ask for all.
fn passed(texts: &Texts, run: &MachineRun<'_>, has_baseline: bool) -> SarifResult {
    let diagnosis = run.view.diagnosis;
    let nobody = word(texts, "nobody");
    let agent = diagnosis.agent_name.as_deref().unwrap_or(&nobody);
    SarifResult {
        rule_id: Verdict::Normal.slug(),
        rule_index: index(Verdict::Normal),
        kind: "pass",
        level: level(Verdict::Normal),
        message: Message { text: plain(&diagnosis.summary).into_owned() },
        locations: vec![location(run.place(None), logical(&[("agent", agent), ("trace", &diagnosis.trace_id)]), None)],
        related_locations: Vec::new(),
        partial_fingerprints: BTreeMap::new(),
        // Either every result says how it stands, or none does.
        baseline_state: has_baseline.then_some("unchanged"),
        suppressions: Vec::new(),
        properties: json!({ "trace_id": diagnosis.trace_id, "agent_name": diagnosis.agent_name }),
    }
}

/// How a finding stands to a baseline. One that a person dismissed is never in it; the suppression says so.
const fn state(standing: &Standing) -> &'static str {
    match standing {
        Standing::Known | Standing::Accepted(_) => "unchanged",
        Standing::Unasked | Standing::New | Standing::Dismissed(_) => "new",
    }
}

/// Where the rule of a verdict stands among the rules.
fn index(verdict: Verdict) -> usize {
    Verdict::ALL.iter().position(|one| *one == verdict).unwrap_or_default()
}

fn location(place: Option<&Place>, logical_locations: Vec<LogicalLocation>, message: Option<String>) -> Location {
    Location {
        physical_location: place.map(|place| PhysicalLocation {
            artifact_location: ArtifactLocation { uri: uri(&place.path) },
            region: (place.line > 0).then_some(Region { start_line: place.line }),
        }),
        logical_locations,
        message: message.map(|text| Message { text }),
    }
}

/// Each name below those before it.
fn logical(names: &[(&'static str, &str)]) -> Vec<LogicalLocation> {
    let mut above = String::new();
    let mut locations = Vec::new();
    for (kind, name) in names {
        if !above.is_empty() {
            above.push('/');
        }
        // A slash inside a name must not look like the next level.
        above.push_str(&plain(name).replace('/', "%2F"));
        locations.push(LogicalLocation { name: plain(name).into_owned(), fully_qualified_name: above.clone(), kind });
    }
    locations
}

/// A path as a URI reference: absolute ones with the scheme, every other character than letters, digits and `-._~/`
/// percent-encoded.
#[must_use]
pub fn uri(path: &str) -> String {
    let mut uri = String::from(if path.starts_with('/') { "file://" } else { "" });
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
