//! What an experiment may cost before it is run. Pure.
//!
//! An estimate, not a promise: a trial of a `reference` target asks its model once for each step of the case's golden
//! flow and once more for each turn. Each request carries the prompt, the tools and all that was said before, at three
//! bytes a token; a step adds a reply of [`STEP_TOKENS`] tokens and a result of as many. Nothing else costs: scripts
//! ask nobody, and what an agent of the user's own spends is not ours to tell.

use crate::chat::Usage;
use crate::chat::budget::{Price, Usd, worst_case};
use crate::eval::case::Case;

/// Tokens reckoned for a reply of the model, and for the result of a call.
pub const STEP_TOKENS: u64 = 120;

/// What something may come to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Requests to the model.
    pub requests: u64,
    /// Tokens of all requests and replies.
    pub usage: Usage,
}

impl Estimate {
    /// So many times this.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self {
            requests: self.requests.saturating_mul(count),
            usage: Usage {
                input_tokens: self.usage.input_tokens.saturating_mul(count),
                output_tokens: self.usage.output_tokens.saturating_mul(count),
            },
        }
    }

    /// Both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { requests: self.requests.saturating_add(other.requests), usage: self.usage.plus(other.usage) }
    }

    /// Its price; none when none is known.
    #[must_use]
    pub fn cost(&self, price: Option<Price>) -> Option<Usd> {
        price.map(|price| price.of(self.usage))
    }
}

/// One trial of a case under our runner.
#[must_use]
pub fn trial(case: &Case, prompt: &str) -> Estimate {
    let tokens = |bytes: usize| worst_case(bytes, 0).input_tokens;
    let tools =
        case.tools.iter().map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len());
    let rules = case.business_rules.iter().map(String::len);
    let mut carried = tokens(prompt.len() + tools.sum::<usize>() + rules.sum::<usize>());
    let mut estimate = Estimate::default();
    for (number, turn) in (1..).zip(case.turns.iter().take(usize::try_from(case.limits.turns).unwrap_or(usize::MAX))) {
        carried += tokens(turn.content.len());
        let calls = case.golden_flow.iter().filter(|step| step.turn == number && step.tool.is_some()).count() as u64;
        for _ in 0..=calls {
            estimate.requests += 1;
            estimate.usage.input_tokens += carried;
            estimate.usage.output_tokens += STEP_TOKENS;
            // The reply, and the result of its call.
            carried += 2 * STEP_TOKENS;
        }
    }
    estimate
}
