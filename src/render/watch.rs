//! What following files says, line by line.

use serde::Serialize;

use super::Texts;
use crate::model::Diagnosis;

/// What one reading of a file changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Time, ISO 8601.
    pub time: String,
    /// The file as it is called.
    pub path: String,
    /// `new`, `grown`, `grown_anew` or `rewritten`.
    pub kind: &'static str,
    /// Lines read.
    pub lines: u64,
    /// Spans kept.
    pub kept: u64,
    /// Spans met before.
    pub redelivered: u64,
    /// Problems met, but for what may only be half written.
    pub issues: u64,
}

#[derive(Default, Serialize)]
struct Values<'a> {
    key: &'a str,
    value: &'a str,
    detail: &'a str,
    change: Change,
    run: Run<'a>,
}

#[derive(Default, Serialize)]
struct Run<'a> {
    time: String,
    trace: &'a str,
    agent: &'a str,
    verdict: &'a str,
    also: Vec<&'a str>,
}

/// How many digits of a trace id are told: enough to find it again.
const TRACE_DIGITS: usize = 12;

fn line(texts: &Texts, values: Values<'_>) -> String {
    texts.render("watch.j2", values).trim_end().to_owned() + "\n"
}

/// That following begins: what, and every how many seconds it is looked at.
#[must_use]
pub fn begun(texts: &Texts, paths: &str, seconds: &str) -> String {
    line(texts, Values { key: "begun", value: paths, detail: seconds, ..Values::default() })
}

/// That there is nothing at a path yet.
#[must_use]
pub fn awaited(texts: &Texts, path: &str) -> String {
    line(texts, Values { key: "awaited", value: path, ..Values::default() })
}

/// That something is no regular file and is not followed.
#[must_use]
pub fn not_followed(texts: &Texts, path: &str) -> String {
    line(texts, Values { key: "not_followed", value: path, ..Values::default() })
}

/// That another process has the store, and that the files wait for it.
#[must_use]
pub fn store_busy(texts: &Texts, store: &str, holder: &str) -> String {
    line(texts, Values { key: "store_busy", value: store, detail: holder, ..Values::default() })
}

/// That following ends, and the file at hand was left for the next time.
#[must_use]
pub fn stopped(texts: &Texts, path: &str) -> String {
    line(texts, Values { key: "stopped", value: path, ..Values::default() })
}

/// What one reading changed.
#[must_use]
pub fn changed(texts: &Texts, change: Change) -> String {
    let time = clock(&change.time);
    line(texts, Values { key: "changed", change: Change { time, ..change }, ..Values::default() })
}

/// One run with its verdict; `start_time` is ISO 8601.
#[must_use]
pub fn verdict(texts: &Texts, diagnosis: &Diagnosis, start_time: &str) -> String {
    let run = Run {
        time: format!("{} {}", start_time.get(..10).unwrap_or_default(), clock(start_time)),
        trace: diagnosis.trace_id.get(..TRACE_DIGITS).unwrap_or(&diagnosis.trace_id),
        agent: diagnosis.agent_name.as_deref().unwrap_or_default(),
        verdict: diagnosis.verdict.label(),
        also: diagnosis.also_found.iter().map(|verdict| verdict.label()).collect(),
    };
    line(texts, Values { key: "verdict", run, ..Values::default() })
}

/// Hours, minutes and seconds of a time in ISO 8601.
fn clock(time: &str) -> String {
    time.get(11..19).unwrap_or_default().to_owned()
}
