//! The naive judge: the numbered rules of seed 002 (자동 검증 3 to 10 and 13) over plain structs, by loops.
//!
//! Uses nothing of `taco_trace`. Where the library joins, windows and caches, this looks at every pair again.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::generate::{Args, Kind, Schema, Span, Tool, Trace, Types, World};
use super::json::{Json, Spelling, is_written_as_integer};

/// What the rules say of worlds.
pub(super) struct Judged {
    /// In the form of the JSON output, without notes, summary and draft.
    pub(super) diagnoses: Vec<Value>,
    /// Trace, number of tool calls, reason.
    pub(super) unjudged: Vec<(String, i64, &'static str)>,
    /// Notes of judged runs by trace and name; those on how arguments were written are not counted.
    pub(super) notes: BTreeMap<(String, &'static str), usize>,
    /// Spans by fate.
    pub(super) counts: Counts,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) seen: u64,
    pub(super) kept: u64,
    pub(super) dropped: u64,
    pub(super) skipped: u64,
}

const UNDEFINED_TOOL: &str = "정의에 없는 도구를 부름";
const ARGS_MISMATCH: &str = "도구 정의와 맞지 않는 인자로 부름";
const TIMEOUT_EXCEEDED: &str = "제한 시간을 넘겨 끊김";
const RETRY_OVER_LIMIT: &str = "같은 호출을 재시도 한도보다 많이 되풀이함";
const ERROR_HIDDEN: &str = "도구 오류 뒤에도 성공처럼 답함";
const PRIORITY: [&str; 5] = [UNDEFINED_TOOL, ARGS_MISMATCH, TIMEOUT_EXCEEDED, RETRY_OVER_LIMIT, ERROR_HIDDEN];

/// Runs of all worlds together, in order of start, then of trace id.
pub(super) fn judge(worlds: &[World]) -> Judged {
    let mut judged =
        Judged { diagnoses: Vec::new(), unjudged: Vec::new(), notes: BTreeMap::new(), counts: Counts::default() };
    let mut runs = Vec::new();
    for (world, trace) in worlds.iter().flat_map(|world| world.traces.iter().map(move |trace| (world, trace))) {
        for span in &trace.spans {
            judged.counts.seen += 1;
            match span.kind {
                Kind::Agent(_) | Kind::Call(..) => judged.counts.kept += 1,
                Kind::Other(_) => judged.counts.dropped += 1,
                Kind::Nameless => judged.counts.skipped += 1,
            }
        }
        // A trace of which nothing is kept is no run at all.
        if let Some(start_ns) = trace.spans.iter().filter(|span| is_kept(span)).map(|span| span.start_ns).min() {
            runs.push((start_ns, &trace.id, world, trace));
        }
    }
    runs.sort_by_key(|(start_ns, id, ..)| (*start_ns, (*id).clone()));
    for (_, id, world, trace) in runs {
        let calls = calls(trace);
        match final_answer(trace) {
            Some(answer) => {
                let run = Run { trace, tools: &world.tools, calls, answer };
                judged.diagnoses.push(run.diagnosis());
                for (note, count) in run.notes() {
                    if count > 0 {
                        judged.notes.insert((id.clone(), note), count);
                    }
                }
            }
            None => {
                let has_agent = trace.spans.iter().any(|span| matches!(span.kind, Kind::Agent(_)));
                let reason = if has_agent { "no_root_invoke_agent" } else { "no_invoke_agent" };
                judged.unjudged.push((id.clone(), calls.len() as i64, reason));
            }
        }
    }
    judged
}

fn is_kept(span: &Span) -> bool {
    matches!(span.kind, Kind::Agent(_) | Kind::Call(..))
}

/// A tool call with what the rules look at.
struct Call<'w> {
    span: &'w Span,
    tool: &'static str,
    /// The cell `tool_args`.
    recorded: Option<String>,
    /// The value, when the arguments can be read.
    args: Option<&'w Json>,
}

impl Call<'_> {
    fn duration_ms(&self) -> i64 {
        (self.span.end_ns - self.span.start_ns) / 1_000_000
    }

    /// The same tool with arguments that can be read and are the same.
    fn equals(&self, other: &Self) -> bool {
        match (self.args, other.args) {
            (Some(one), Some(two)) => self.tool == other.tool && canonical(one) == canonical(two),
            _ => false,
        }
    }
}

/// Tool calls in order: start, then span id.
fn calls(trace: &Trace) -> Vec<Call<'_>> {
    let mut calls = Vec::new();
    for span in &trace.spans {
        if let Kind::Call(tool, args) = &span.kind {
            let (recorded, args) = match args {
                Args::Absent | Args::Empty | Args::Redacted => (None, None),
                Args::NotJson(text) => (Some((*text).to_owned()), None),
                Args::Text(json, spelling) => (Some(json.write(*spelling)), Some(json)),
                Args::Structure(json) => (Some(json.write(Spelling::default())), Some(json)),
            };
            calls.push(Call { span, tool, recorded, args });
        }
    }
    calls.sort_by(|one, two| (one.span.start_ns, &one.span.id).cmp(&(two.span.start_ns, &two.span.id)));
    calls
}

/// The value with keys sorted at every level, of a repeated key the last one, number text as it is.
fn canonical(json: &Json) -> String {
    match json {
        Json::List(members) => members.iter().fold("[".to_owned(), |text, member| text + &canonical(member) + ","),
        Json::Object(members) => {
            let mut sorted = BTreeMap::new();
            for (key, value) in members {
                sorted.insert(*key, canonical(value));
            }
            format!("{sorted:?}")
        }
        scalar => scalar.write(Spelling::default()),
    }
}

/// How the way up from a span ends.
enum Above {
    Kept,
    Root,
    Lost,
}

fn above(trace: &Trace, span: &Span) -> Above {
    let mut parent = &span.parent;
    // A way longer than the trace has spans goes in a circle and leads to no kept span.
    for _ in 0..=trace.spans.len() {
        let Some(id) = parent else { return Above::Root };
        match trace.spans.iter().find(|other| other.id == *id) {
            None => return Above::Lost,
            Some(found) if is_kept(found) => return Above::Kept,
            Some(found) => parent = &found.parent,
        }
    }
    Above::Lost
}

/// The agent span without a kept ancestor; of several the one that names no lost parent, ends last, starts last, has
/// the smallest id.
fn final_answer(trace: &Trace) -> Option<&Span> {
    let candidates = candidates(trace);
    let rank = |span: &Span| (!matches!(above(trace, span), Above::Lost), span.end_ns, span.start_ns);
    let mut best: Option<&Span> = None;
    for span in candidates {
        best = match best {
            Some(other) if rank(other) > rank(span) => best,
            Some(other) if rank(other) == rank(span) && other.id < span.id => best,
            _ => Some(span),
        };
    }
    best
}

fn candidates(trace: &Trace) -> Vec<&Span> {
    let agents = trace.spans.iter().filter(|span| matches!(span.kind, Kind::Agent(_)));
    agents.filter(|span| !matches!(above(trace, span), Above::Kept)).collect()
}

struct Run<'w> {
    trace: &'w Trace,
    tools: &'w [Tool],
    calls: Vec<Call<'w>>,
    answer: &'w Span,
}

impl<'w> Run<'w> {
    fn diagnosis(&self) -> Value {
        let mut findings = self.undefined_tools();
        findings.extend(self.calls.iter().filter_map(|call| self.args_mismatch(call)));
        findings.extend(self.calls.iter().filter_map(|call| self.timeout_exceeded(call)));
        findings.extend(self.retries_over_limit());
        findings.extend(self.errors_hidden());
        let holds = |verdict: &&&str| findings.iter().any(|finding| finding["verdict"] == ***verdict);
        let found: Vec<&str> = PRIORITY.iter().filter(holds).copied().collect();
        let lacks_keys = findings.iter().any(|finding| finding["missing_keys"] != json!([]));
        let fix_target = match found.first().copied() {
            None => Value::Null,
            Some(UNDEFINED_TOOL) => json!("도구 설명"),
            Some(ARGS_MISMATCH) if lacks_keys => json!("도구 설명"),
            Some(ARGS_MISMATCH) => json!("인자 스키마"),
            Some(TIMEOUT_EXCEEDED) => json!("제한 시간 설정"),
            Some(RETRY_OVER_LIMIT) => json!("재시도 설정"),
            Some(_) => json!("오류 처리 흐름"),
        };
        let Kind::Agent(agent_name) = self.answer.kind else { panic!("the final answer span is an agent span") };
        json!({
            "trace_id": self.trace.id,
            "agent_name": agent_name,
            "final_status": status(self.answer),
            "tool_calls": self.calls.len(),
            "verdict": found.first().copied().unwrap_or("정상 완료"),
            "also_found": found.get(1..).unwrap_or_default(),
            "findings": findings,
            "fix_target": fix_target,
        })
    }

    fn tool(&self, name: &str) -> Option<&'w Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// Rule 4.
    fn undefined_tools(&self) -> Vec<Value> {
        let mut findings = Vec::new();
        for name in self.names(|call| self.tool(call.tool).is_none()) {
            let of_name: Vec<&str> =
                self.calls.iter().filter(|call| call.tool == name).map(|call| call.span.id.as_str()).collect();
            let mut evidence: Vec<Value> = of_name.iter().map(|id| cell("spans", id, "tool_name", name)).collect();
            evidence.push(count("tool_definitions", "tool_name", 0));
            findings.push(finding(UNDEFINED_TOOL, name, &of_name, &evidence));
        }
        findings
    }

    /// Rule 5.
    fn args_mismatch(&self, call: &Call<'_>) -> Option<Value> {
        let tool = self.tool(call.tool)?;
        let Schema::Readable { properties, required } = &tool.schema else { return None };
        let args = call.args?;
        let value = |key: &str| match args {
            Json::Object(members) => members.iter().rev().find(|(name, _)| *name == key).map(|(_, value)| value),
            _ => None,
        };
        let missing: Vec<&str> = required.iter().filter(|key| value(key).is_none()).copied().collect();
        let mut type_errors = Vec::new();
        for (key, types) in properties {
            let Some(found) = value(key) else { continue };
            let declared = match types {
                Types::Any => continue,
                Types::One(name) => vec![*name],
                Types::List(names) => names.clone(),
            };
            if !declared.iter().any(|name| is_of_type(found, name)) {
                type_errors.push(format!("{key}: {} → {}", type_as_written(found), declared.join("|")));
            }
        }
        if missing.is_empty() && type_errors.is_empty() {
            return None;
        }
        let evidence = [
            cell("spans", &call.span.id, "tool_args", &call.recorded),
            cell("tool_definitions", tool.name, "json_schema", tool.schema.text()),
        ];
        let mut finding = finding(ARGS_MISMATCH, call.tool, &[&call.span.id], &evidence);
        finding["missing_keys"] = json!(missing);
        finding["type_errors"] = json!(type_errors);
        Some(finding)
    }

    /// Rule 6.
    fn timeout_exceeded(&self, call: &Call<'_>) -> Option<Value> {
        let tool = self.tool(call.tool)?;
        if !call.span.error || call.duration_ms() <= tool.timeout_ms {
            return None;
        }
        let id = &call.span.id;
        let evidence = [
            cell("spans", id, "duration_ms", call.duration_ms()),
            cell("tool_definitions", tool.name, "timeout_ms", tool.timeout_ms),
            cell("spans", id, "status", "error"),
        ];
        let mut finding = finding(TIMEOUT_EXCEEDED, call.tool, &[id], &evidence);
        finding["timeout_gap_ms"] = json!(call.duration_ms() - tool.timeout_ms);
        Some(finding)
    }

    /// Every maximal stretch of equal calls, also of one call.
    fn stretches(&self) -> Vec<&[Call<'w>]> {
        let mut stretches = Vec::new();
        let mut first = 0;
        for next in 1..=self.calls.len() {
            if next == self.calls.len() || !self.calls[next].equals(&self.calls[next - 1]) {
                stretches.push(&self.calls[first..next]);
                first = next;
            }
        }
        stretches
    }

    /// Rule 7.
    fn retries_over_limit(&self) -> Vec<Value> {
        let mut findings = Vec::new();
        for stretch in self.stretches() {
            let Some(tool) = self.tool(stretch[0].tool) else { continue };
            if stretch[0].args.is_none() || stretch.len() as i64 <= tool.max_retries {
                continue;
            }
            let ids: Vec<&str> = stretch.iter().map(|call| call.span.id.as_str()).collect();
            let evidence = [
                count("spans", "span_id", ids.len()),
                cell("spans", ids[0], "tool_args", &stretch[0].recorded),
                cell("tool_definitions", tool.name, "max_retries", tool.max_retries),
            ];
            let mut finding = finding(RETRY_OVER_LIMIT, tool.name, &ids, &evidence);
            finding["run_length"] = json!(ids.len());
            findings.push(finding);
        }
        findings
    }

    /// Rule 8, but for the final status.
    fn is_unrecovered(&self, call: &Call<'_>) -> bool {
        let recovers = |other: &&Call<'_>| {
            other.tool == call.tool && !other.span.error && other.span.start_ns > call.span.start_ns
        };
        call.span.error && !self.calls.iter().any(|other| recovers(&other))
    }

    /// Rule 8.
    fn errors_hidden(&self) -> Vec<Value> {
        let mut findings = Vec::new();
        if self.answer.error {
            return findings;
        }
        for name in self.names(|call| self.is_unrecovered(call)) {
            let mut ids = Vec::new();
            let mut evidence = Vec::new();
            for call in self.calls.iter().filter(|call| call.tool == name && self.is_unrecovered(call)) {
                ids.push(call.span.id.as_str());
                evidence.push(cell("spans", &call.span.id, "tool_name", name));
                evidence.push(cell("spans", &call.span.id, "status", "error"));
                evidence.push(count("spans", "span_id", 0));
            }
            ids.push(&self.answer.id);
            evidence.push(cell("spans", &self.answer.id, "status", "ok"));
            findings.push(finding(ERROR_HIDDEN, name, &ids, &evidence));
        }
        findings
    }

    /// Names of the tools of such calls, each once, in order of the first.
    fn names(&self, chosen: impl Fn(&Call<'_>) -> bool) -> Vec<&'static str> {
        let mut names = Vec::new();
        for call in self.calls.iter().filter(|call| chosen(call)) {
            if !names.contains(&call.tool) {
                names.push(call.tool);
            }
        }
        names
    }

    fn notes(&self) -> Vec<(&'static str, usize)> {
        let defined = |call: &&Call<'_>| self.tool(call.tool).is_some();
        let calls =
            |chosen: &dyn Fn(&Call<'_>) -> bool| self.calls.iter().filter(defined).filter(|call| chosen(call)).count();
        let at_limit = |stretch: &&[Call<'_>]| {
            let limit = self.tool(stretch[0].tool).map(|tool| tool.max_retries);
            stretch.len() > 1 && limit == Some(stretch.len() as i64)
        };
        let unreadable = |tool: &Tool| matches!(tool.schema, Schema::Unreadable(_));
        let over_but_ok = |call: &Call<'_>| {
            !call.span.error && self.tool(call.tool).is_some_and(|tool| call.duration_ms() > tool.timeout_ms)
        };
        // Empty arguments of a tool that asks for none.
        let calls_for_nothing = |call: &Call<'_>| {
            let asks = |tool: &Tool| matches!(&tool.schema, Schema::Readable { required, .. } if !required.is_empty());
            call.recorded.as_deref().is_some_and(|text| text.trim().is_empty())
                && !self.tool(call.tool).is_some_and(asks)
        };
        let candidates = candidates(self.trace).len();
        let skipped = self.trace.spans.iter().filter(|span| matches!(span.kind, Kind::Nameless)).count();
        vec![
            ("args_not_recorded", calls(&|call| call.recorded.is_none())),
            (
                "args_not_json",
                calls(&|call| call.recorded.is_some() && call.args.is_none() && !calls_for_nothing(call)),
            ),
            ("args_undefined_tool", self.names(|call| self.tool(call.tool).is_none()).len()),
            ("args_unreadable_schema", self.names(|call| self.tool(call.tool).is_some_and(unreadable)).len()),
            ("over_limit_but_ok", calls(&over_but_ok)),
            ("run_at_limit", self.stretches().iter().filter(|stretch| at_limit(stretch)).count()),
            (
                "final_error_not_hidden",
                usize::from(self.answer.error && self.calls.iter().any(|call| self.is_unrecovered(call))),
            ),
            ("several_final_answers", usize::from(candidates > 1)),
            ("final_answer_parent_missing", usize::from(matches!(above(self.trace, self.answer), Above::Lost))),
            ("spans_skipped", usize::from(skipped > 0)),
        ]
    }
}

fn status(span: &Span) -> &'static str {
    if span.error { "error" } else { "ok" }
}

fn finding(verdict: &str, tool: &str, span_ids: &[&str], evidence: &[Value]) -> Value {
    json!({
        "verdict": verdict,
        "tool_name": tool,
        "span_ids": span_ids,
        "missing_keys": [],
        "type_errors": [],
        "timeout_gap_ms": null,
        "run_length": null,
        "evidence": evidence,
    })
}

fn cell(table: &str, row: &str, field: &str, value: impl serde::Serialize) -> Value {
    json!({ "table": table, "row": row, "field": field, "value": value })
}

fn count(table: &str, field: &str, value: usize) -> Value {
    json!({ "table": table, "row": null, "field": field, "agg": "count", "value": value })
}

/// JSON Schema: a number without a fractional part is an integer, and every integer is a number.
fn is_of_type(value: &Json, name: &str) -> bool {
    match value {
        Json::Null => name == "null",
        Json::Bool(_) => name == "boolean",
        // The numbers of a world are small: a float holds them exactly.
        Json::Number(text) => {
            let number: f64 = text.parse().expect("a world's numbers are Rust numbers too");
            name == "number" || (name == "integer" && number.fract() == 0.0)
        }
        Json::Text(_) => name == "string",
        Json::List(_) => name == "array",
        Json::Object(_) => name == "object",
    }
}

fn type_as_written(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(text) if is_written_as_integer(text) => "integer",
        Json::Number(_) => "number",
        Json::Text(_) => "string",
        Json::List(_) => "array",
        Json::Object(_) => "object",
    }
}
