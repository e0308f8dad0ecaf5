//! Diagnoses and views for tests of the reports: built by hand, and read from the seed's answers.

use std::collections::BTreeMap;

use serde_json::Value;
use taco_trace::model::{
    Coverage, Diagnosis, Evidence, EvidenceValue, Finding, FixTarget, Review, ReviewKind, Rule, Status, Verdict,
};
use taco_trace::render::layout::Style;
use taco_trace::render::terminal::{Assumptions, Report, RunView, ToolSetView, UnjudgedView};
use taco_trace::render::tree::{Derivation, Explanation, Node};

/// Duration and status of calls by span id.
pub(super) type Calls = BTreeMap<String, (Option<i64>, Option<Status>)>;

const SEED: &str = include_str!("../../../fixtures/seed/expected.json");
/// A description as it stands.
pub(super) const TODAY: &str = "기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다.";

pub(super) fn style(width: usize) -> Style {
    Style { width, color: false }
}

/// A dismissal whose words are `text`.
pub(super) fn review(text: &str) -> Review {
    Review {
        trace_id: "7f21c0a4e93b4d1f8a6c2e5b90d417aa".to_owned(),
        rule: Rule::ErrorHidden,
        tool_name: Some(text.to_owned()),
        decision: ReviewKind::Dismissed,
        reason: text.to_owned(),
        reviewer: text.to_owned(),
        reviewed_at: "2026-10-08T09:00:00.000+09:00".to_owned(),
        reviewed_ns: 1,
    }
}

/// A run in which `rule` holds once, with its names and texts taken from `text`.
pub(super) fn diagnosis(rule: Rule, text: &str) -> Diagnosis {
    let value = || EvidenceValue::Text(text.to_owned());
    let span = "16eaf0f648963898";
    let evidence = vec![
        Evidence::span(span, "tool_args", value()),
        Evidence::tool(text, "timeout_ms", EvidenceValue::Integer(8000)),
        Evidence::tool(text, "max_retries", EvidenceValue::Integer(3)),
        Evidence::count("spans", "span_id", 0),
    ];
    let finding = Finding {
        rule,
        tool_name: text.to_owned(),
        span_ids: vec![span.to_owned(), "01bc655993a9926d".to_owned()],
        missing_keys: vec![text.to_owned()],
        type_errors: vec![format!("{text}: string → integer")],
        timeout_gap_ms: Some(4400),
        run_length: Some(4),
        evidence,
        review: Some(review(text)),
    };
    Diagnosis {
        trace_id: "7f21c0a4e93b4d1f8a6c2e5b90d417aa".to_owned(),
        agent_name: Some(text.to_owned()),
        final_status: Status::Ok,
        tool_calls: 2,
        verdict: rule.verdict(),
        also_found: vec![Rule::ErrorHidden.verdict()],
        findings: vec![finding],
        notes: vec![text.to_owned()],
        fix_target: Some(FixTarget::ToolDescription),
        // A line break in a draft is a line of its diff; a test of its own is for that.
        description_draft: Some(format!("{TODAY} {}", text.replace('\n', " "))),
        summary: text.to_owned(),
    }
}

pub(super) fn normal() -> Diagnosis {
    Diagnosis {
        verdict: Verdict::Normal,
        also_found: Vec::new(),
        findings: Vec::new(),
        fix_target: None,
        description_draft: None,
        ..diagnosis(Rule::ErrorHidden, "평범한 실행")
    }
}

pub(super) fn calls() -> Calls {
    [("16eaf0f648963898".to_owned(), (Some(12_400), Some(Status::Error)))].into()
}

pub(super) fn assumptions(source: &str) -> Assumptions {
    let known =
        ToolSetView { sha256: Some("ab".repeat(32)), source: Some(source.to_owned()), tools: Some(7), traces: 1 };
    let none = ToolSetView { sha256: None, source: None, tools: None, traces: 2 };
    Assumptions {
        rule_set: "set_diagnosis_v1".to_owned(),
        rule_set_sha256: "0123456789abcdef".repeat(4),
        tool_sets: vec![known, none],
    }
}

pub(super) fn report<'a>(diagnoses: &'a [Diagnosis], calls: &'a Calls, source: &str) -> Report<'a> {
    let view = |diagnosis: &'a Diagnosis| RunView {
        diagnosis,
        start_time: "2026-10-07T09:31:40.120+09:00".to_owned(),
        calls,
        described: Some((diagnosis.findings.first().map_or("a", |finding| &finding.tool_name), TODAY)),
        drafted_by: None,
        folded: false,
    };
    let unjudged = |reason: &str| UnjudgedView {
        trace_id: "c0ffee00c0ffee00c0ffee00c0ffee00".to_owned(),
        start_time: "2026-10-07T10:00:00.000+09:00".to_owned(),
        tool_calls: 3,
        reason: reason.to_owned(),
    };
    Report {
        runs: diagnoses.iter().map(view).collect(),
        unjudged: vec![unjudged("no_invoke_agent"), unjudged("no_root_invoke_agent")],
        coverage: Coverage {
            tool_calls: 16,
            with_arguments: 15,
            with_readable_arguments: 15,
            with_known_tool: 15,
            with_timeout: 15,
            with_max_retries: 15,
            without_span: 0,
            failed_beside_status: 0,
        },
        captures: vec![(
            "otel-genai".to_owned(),
            Some("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true".to_owned()),
        )],
        assumptions: assumptions(source),
        show_all: true,
    }
}

pub(super) fn node(depth: usize, name: &str, offset_ms: i64, duration_ms: i64) -> Node {
    Node {
        depth,
        operation: if depth == 0 { "invoke_agent" } else { "execute_tool" }.to_owned(),
        name: name.to_owned(),
        span_id: "16eaf0f648963898".to_owned(),
        status: Status::Ok,
        start_time: "2026-10-07T09:31:40.120+09:00".to_owned(),
        offset_ms,
        duration_ms,
        tool_args: None,
        place: "traces/2026-10-07.jsonl:12".to_owned(),
        findings: Vec::new(),
    }
}

pub(super) fn explanation<'a>(diagnosis: &'a Diagnosis, text: &str) -> Explanation<'a> {
    let call = Node {
        status: Status::Error,
        tool_args: Some(text.to_owned()),
        place: text.to_owned(),
        findings: vec![0],
        ..node(1, text, 200, 12_400)
    };
    Explanation {
        diagnosis: Some(diagnosis),
        unjudged: None,
        nodes: vec![node(0, text, 0, 13_000), call, node(9, text, 1, i64::MAX)],
        derivations: vec![Derivation { sql: "SELECT 1;".to_owned() }],
    }
}

// --- the seed's answers as diagnoses ---

fn texts_of(value: &Value) -> Vec<String> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// One of the words that the model's types hold as `&'static str`.
fn fixed(value: &Value) -> &'static str {
    let words = [
        "spans",
        "tool_definitions",
        "tool_args",
        "json_schema",
        "duration_ms",
        "timeout_ms",
        "status",
        "span_id",
        "max_retries",
        "tool_name",
        "count",
    ];
    let word = value.as_str().unwrap();
    words.into_iter().find(|known| *known == word).unwrap_or_else(|| panic!("{word} is new in the fixture"))
}

fn evidence(value: &Value) -> Evidence {
    Evidence {
        table: fixed(&value["table"]),
        row: value["row"].as_str().map(str::to_owned),
        field: fixed(&value["field"]),
        agg: value.get("agg").map(fixed),
        value: match &value["value"] {
            Value::String(text) => EvidenceValue::Text(text.clone()),
            Value::Number(number) => EvidenceValue::Integer(number.as_i64().unwrap()),
            _ => EvidenceValue::Null,
        },
    }
}

fn verdict(value: &Value) -> Verdict {
    Verdict::parse(value.as_str().unwrap()).unwrap()
}

fn finding(value: &Value) -> Finding {
    let Verdict::Found(rule) = verdict(&value["verdict"]) else { panic!("a finding is never normal") };
    Finding {
        rule,
        tool_name: value["tool_name"].as_str().unwrap().to_owned(),
        span_ids: texts_of(&value["span_ids"]),
        missing_keys: texts_of(&value["missing_keys"]),
        type_errors: texts_of(&value["type_errors"]),
        timeout_gap_ms: value["timeout_gap_ms"].as_i64(),
        run_length: value["run_length"].as_i64(),
        evidence: value["evidence"].as_array().unwrap().iter().map(evidence).collect(),
        review: None,
    }
}

pub(super) fn seed() -> Vec<Diagnosis> {
    let targets = [
        FixTarget::ToolDescription,
        FixTarget::ArgumentSchema,
        FixTarget::TimeLimit,
        FixTarget::RetryLimit,
        FixTarget::ErrorHandling,
    ];
    let runs: Vec<Value> = serde_json::from_str(SEED).unwrap();
    let run = |run: &Value| Diagnosis {
        trace_id: run["trace_id"].as_str().unwrap().to_owned(),
        agent_name: run["agent_name"].as_str().map(str::to_owned),
        final_status: if run["final_status"] == "ok" { Status::Ok } else { Status::Error },
        tool_calls: run["tool_calls"].as_i64().unwrap(),
        verdict: verdict(&run["verdict"]),
        also_found: run["also_found"].as_array().unwrap().iter().map(verdict).collect(),
        findings: run["findings"].as_array().unwrap().iter().map(finding).collect(),
        notes: texts_of(&run["notes"]),
        fix_target: targets.into_iter().find(|target| run["fix_target"] == target.label()),
        description_draft: run["description_draft"].as_str().map(str::to_owned),
        summary: run["summary"].as_str().unwrap().to_owned(),
    };
    runs.iter().map(run).collect()
}

pub(super) fn seed_calls() -> Calls {
    let call = |id: &str, duration_ms, status| (id.to_owned(), (Some(duration_ms), Some(status)));
    [
        call("16eaf0f648963898", 310, Status::Error),
        call("14435ebfb8edaaca", 12_400, Status::Error),
        call("4f97e404096b9bb0", 2_100, Status::Error),
        call("2245cf68a42f3d0f", 2_100, Status::Error),
        call("ead273920e3b58ff", 2_100, Status::Error),
        call("086fb743579fd9f8", 1_950, Status::Ok),
        call("fe41a71a6e6ce5fc", 0, Status::Error),
        call("2bf035edfa25067f", 640, Status::Ok),
        call("b025a8d69896d987", 5_000, Status::Error),
    ]
    .into()
}
