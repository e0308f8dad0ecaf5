//! A trial by hand: what is asked of who sends its turns, and what it came to.

use minijinja::context;

use super::view::check;
use super::{VALUE_CHARS, event, phrase};
use crate::model::eval_report::ReportEvent;
use crate::model::{EvalVerdict, TrialCheck};
use crate::render::Texts;
use crate::render::eval;
use crate::render::layout::{plain_short, wrap_lines};

/// Columns of a line on standard error.
const CELLS: usize = 80;

/// That the turn behind this is to be sent, and its answer to be told.
#[must_use]
pub fn hand_turn(texts: &Texts) -> String {
    phrase(texts, "hand_turn", context! {}) + "\n"
}

/// What happened in a trial by hand, and what was judged of it.
#[must_use]
pub fn tried(
    texts: &Texts,
    case_id: &str,
    verdict: EvalVerdict,
    checks: &[TrialCheck],
    events: &[ReportEvent],
) -> String {
    let word = |key: &str| phrase(texts, key, context! {});
    let mut lines = vec![format!("{} — {}", plain_short(case_id, VALUE_CHARS), eval::verdict(texts, verdict))];
    lines.extend(checks.iter().map(|one| format!("  {}", check(texts, one).line())));
    if !events.is_empty() {
        lines.push(format!("  {}", word("hand_events")));
        lines.extend(events.iter().map(|one| format!("    {}. {}", one.seq, event(texts, one))));
    }
    wrap_lines(&lines.join("\n"), CELLS)
}
