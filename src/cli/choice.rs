//! What people choose runs by: an agent, the beginning of a trace id, a period. What the store does not have is told
//! in the same words by every command.

use std::fmt::Display;

use super::failure::Failure;
use super::terminal;
use crate::near::near;
use crate::render::{Texts, choice as words};
use crate::store::{Store, StoreError, korean_date};

/// Names that are told when none is near.
const NAMES: usize = 5;

/// Refuses an agent that no run of the store has, with the names that are near, or else some of those there are.
pub(super) fn known_agent(store: &Store, agent: Option<&str>) -> Result<(), Failure> {
    let Some(agent) = agent else { return Ok(()) };
    let known = store.agents()?;
    if known.iter().any(|name| name == agent) {
        return Ok(());
    }
    let found = near(agent, known.iter().map(String::as_str));
    let kind = if found.is_empty() { "known" } else { "near" };
    let names: Vec<&str> =
        if found.is_empty() { known.iter().take(NAMES).map(String::as_str).collect() } else { found };
    Err(Failure::usage("agent_unknown")
        .with("value", agent)
        .with(kind, names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
        .with("more", known.len().saturating_sub(names.len())))
}

/// Refuses a tool that neither a run nor a definition of the store has.
pub(super) fn known_tool(store: &Store, tool: Option<&str>) -> Result<(), Failure> {
    match tool {
        Some(tool) if !store.knows_tool(tool)? => Err(Failure::usage("tool_not_in_store").with("value", tool)),
        _ => Ok(()),
    }
}

/// The traces whose id begins so, in order; one that is the prefix itself stands alone. None at all, and a prefix that
/// is blank and would name all of them, are refused.
pub(super) fn traces(store: &Store, prefix: &str) -> Result<Vec<String>, Failure> {
    if prefix.trim().is_empty() {
        return Err(Failure::usage("trace_blank"));
    }
    let wanted = prefix.to_lowercase();
    let found = store.traces_with_prefix(&wanted)?;
    if found.contains(&wanted) {
        return Ok(vec![wanted]);
    }
    if found.is_empty() { Err(Failure::usage("trace_not_found").with("trace", prefix)) } else { Ok(found) }
}

/// The one trace whose id begins so; more than one is refused with the list.
pub(super) fn one_trace(store: &Store, prefix: &str) -> Result<String, Failure> {
    let mut found = traces(store, prefix)?;
    match found.len() {
        1 => Ok(found.remove(0)),
        count => {
            found.truncate(10);
            let ambiguous = Failure::usage("trace_ambiguous").with("trace", prefix).with("count", count);
            Err(ambiguous.with("traces", found.join("\n")))
        }
    }
}

/// A period: its first instant and the one behind it, nanoseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Period {
    /// None without a first day.
    pub(super) since_ns: Option<i64>,
    /// None without a last day.
    pub(super) before_ns: Option<i64>,
}

impl Period {
    /// Refuses a period that ends before it begins; `since` and `until` are what was written.
    pub(super) fn in_order(self, since: Option<&str>, until: Option<&str>) -> Result<Self, Failure> {
        if let (Some(since_ns), Some(before_ns)) = (self.since_ns, self.before_ns)
            && since_ns >= before_ns
        {
            return Err(reversed(since.unwrap_or_default(), until.unwrap_or_default()));
        }
        Ok(self)
    }

    /// Says so when no run of the store began in it.
    pub(super) fn tell_if_empty(self, texts: &Texts, store: &Store) -> Result<(), StoreError> {
        let is_whole = self.since_ns.is_none() && self.before_ns.is_none();
        if is_whole || store.has_runs_between(self.since_ns, self.before_ns)? {
            return Ok(());
        }
        tell_empty(texts, store)
    }
}

/// The failure of a period that ends before it begins.
pub(super) fn reversed(since: impl Display, until: impl Display) -> Failure {
    Failure::usage("period_reversed").with("value", format!("{since} {until}"))
}

/// Says on standard error that no run began in the period asked for, and when those that there are did.
pub(super) fn tell_empty(texts: &Texts, store: &Store) -> Result<(), StoreError> {
    terminal::tell(&(words::empty_period(texts, held(store)?) + "\n"));
    Ok(())
}

/// The Korean dates on which the first and the last run of the store began, `2026-10-07`.
pub(super) fn held(store: &Store) -> Result<Option<(String, String)>, StoreError> {
    let held = store.first_and_last_start()?;
    Ok(held.map(|(first, last)| (korean_date(first).to_string(), korean_date(last).to_string())))
}
