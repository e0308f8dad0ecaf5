//! What a receiver says, in words: to senders in its answers, to people on standard error.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Texts;
use crate::model::IssueCode;

/// Sums of a receiver, for people.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ReceiveSummary {
    /// Requests acknowledged.
    pub requests: u64,
    /// Requests refused for good.
    pub refused: u64,
    /// Requests whose sender was asked to come again.
    pub deferred: u64,
    /// Transactions.
    pub commits: u64,
    /// Spans kept.
    pub kept: u64,
    /// Spans of other operations.
    pub dropped: u64,
    /// Spans met before.
    pub redelivered: u64,
    /// Spans left out because of an issue.
    pub skipped: u64,
    /// Issues met.
    pub issues: u64,
}

#[derive(Default, Serialize)]
struct Values<'a> {
    kind: &'a str,
    value: &'a str,
    store: &'a str,
    is_full: bool,
    rejected: u64,
    lost: Vec<(&'static str, u64)>,
    #[serde(flatten)]
    summary: ReceiveSummary,
}

fn text(texts: &Texts, values: &Values<'_>) -> String {
    texts.render("receive.j2", values).trim_end().to_owned()
}

/// Why a request was not taken, for its sender. `kind` is a key of the template, `value` what its text names.
#[must_use]
pub fn refusal(texts: &Texts, kind: &str, value: &str) -> String {
    text(texts, &Values { kind, value, ..Values::default() })
}

/// What was left out of a request that was taken, for its sender: spans, and issues by code.
#[must_use]
pub fn partial(texts: &Texts, rejected: u64, lost: &BTreeMap<IssueCode, u64>) -> String {
    let lost = lost.iter().map(|(code, count)| (code.as_str(), *count)).collect();
    text(texts, &Values { kind: "partial", rejected, lost, ..Values::default() })
}

/// That requests can be taken now, at this address, into this store. A line.
#[must_use]
pub fn listening(texts: &Texts, address: &str, store: &str) -> String {
    text(texts, &Values { kind: "listening", value: address, store, ..Values::default() }) + "\n"
}

/// That anyone who reaches this address can write into the store. A line.
#[must_use]
pub fn open_to_all(texts: &Texts, address: &str) -> String {
    text(texts, &Values { kind: "open_to_all", value: address, ..Values::default() }) + "\n"
}

/// That the store can be written to again. A line.
#[must_use]
pub fn store_back(texts: &Texts) -> String {
    text(texts, &Values { kind: "store_back", ..Values::default() }) + "\n"
}

/// That senders are asked to come again while the store cannot be written to, and why. A line.
#[must_use]
pub fn store_failed(texts: &Texts, message: &str, is_full: bool) -> String {
    text(texts, &Values { kind: "store_failed", value: message, is_full, ..Values::default() }) + "\n"
}

/// The sums so far, without a newline.
#[must_use]
pub fn status(texts: &Texts, summary: ReceiveSummary) -> String {
    text(texts, &Values { kind: "status", summary, ..Values::default() })
}

/// The sums at the end. Lines.
#[must_use]
pub fn summary(texts: &Texts, summary: ReceiveSummary) -> String {
    text(texts, &Values { kind: "summary", summary, ..Values::default() }) + "\n"
}
