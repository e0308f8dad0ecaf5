//! Runs of the demo agent and its server, in words.

use serde::Serialize;

use super::Texts;
use super::layout::plain;

/// A call of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToldCall {
    /// The tool.
    pub tool: String,
    /// The arguments as sent.
    pub arguments: String,
    /// `error.type`; none when it went well.
    pub error: Option<String>,
    /// In milliseconds.
    pub duration_ms: u64,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToldRun {
    /// Its trace.
    pub trace_id: String,
    /// What was asked.
    pub question: String,
    /// What was answered, or why there is no answer.
    pub answer: String,
    /// How it ended: `error.type`; none for an answer.
    pub ended: Option<&'static str>,
    /// The calls, in order.
    pub calls: Vec<ToldCall>,
    /// Faults and the tools that they hit.
    pub injected: Vec<(&'static str, String)>,
    /// Faults that never came to bear.
    pub not_injected: Vec<&'static str>,
}

#[derive(Default, Serialize)]
struct Values<'a> {
    kind: &'a str,
    value: &'a str,
    path: &'a str,
    turns: u64,
    duplicates: u64,
    refused: u64,
    run: Option<ToldRun>,
}

fn text(texts: &Texts, values: &Values<'_>) -> String {
    texts.render("agent.j2", values).trim_end().to_owned()
}

fn safe(text: &str) -> String {
    text.lines().map(|line| plain(line).into_owned()).collect::<Vec<_>>().join("\n   ")
}

/// A run, for people. Lines.
#[must_use]
pub fn run(texts: &Texts, run: &ToldRun) -> String {
    let calls = run.calls.iter().map(|call| ToldCall {
        tool: safe(&call.tool),
        arguments: safe(&call.arguments),
        ..call.clone()
    });
    let told = ToldRun {
        question: safe(&run.question),
        answer: safe(&run.answer),
        calls: calls.collect(),
        injected: run.injected.iter().map(|(fault, tool)| (*fault, safe(tool))).collect(),
        ..run.clone()
    };
    text(texts, &Values { kind: "run", run: Some(told), ..Values::default() }) + "\n"
}

/// Why a request was not taken, for its sender. `kind` is a key of the template, `value` what its text names.
#[must_use]
pub fn refusal(texts: &Texts, kind: &str, value: &str) -> String {
    text(texts, &Values { kind, value, ..Values::default() })
}

/// That turns can be taken now at this address, and where traces go. A line.
#[must_use]
pub fn listening(texts: &Texts, address: &str, traces: &str) -> String {
    text(texts, &Values { kind: "listening", value: address, path: traces, ..Values::default() }) + "\n"
}

/// That anyone who reaches this address can use the agent. A line.
#[must_use]
pub fn open_to_all(texts: &Texts, address: &str) -> String {
    text(texts, &Values { kind: "open_to_all", value: address, ..Values::default() }) + "\n"
}

/// That the trace of a turn is lost. A line.
#[must_use]
pub fn trace_lost(texts: &Texts, message: &str) -> String {
    text(texts, &Values { kind: "trace_lost", value: message, ..Values::default() }) + "\n"
}

/// That turns were cut off when serving ended. A line.
#[must_use]
pub fn turns_cut(texts: &Texts, turns: u64) -> String {
    text(texts, &Values { kind: "turns_cut", turns, ..Values::default() }) + "\n"
}

/// The sums of a server at its end. A line.
#[must_use]
pub fn served(texts: &Texts, turns: u64, duplicates: u64, refused: u64) -> String {
    text(texts, &Values { kind: "served", turns, duplicates, refused, ..Values::default() }) + "\n"
}
