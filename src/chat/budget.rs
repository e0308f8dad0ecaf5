//! What may be spent on requests: asked before each one, told after it what it came to.
//!
//! A request is let through when even its worst case stays within the cap: all of `max_tokens` as output, and a third
//! of the bytes of its body as input (a token is three bytes or more in nearly all texts, and a Hangul syllable has
//! three). What a reply says of its tokens then takes the place of the guess.

use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Cap, ChatError, Usage};

/// Bytes of a body for which one token of input is reckoned.
const BYTES_PER_TOKEN: u64 = 3;
/// Parts of a dollar in which amounts are kept: a price per million tokens is then a whole number per token.
const PARTS: u64 = 1_000_000_000_000;

/// An amount of US dollars, exact to 10⁻¹² of one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Usd(u64);

impl Usd {
    /// The sum; the largest amount when it is more than that.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Dollars with the decimals that are not zero, at least two.
impl fmt::Display for Usd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:012}", self.0 % PARTS);
        let shown = decimals.trim_end_matches('0').len().max(2);
        write!(formatter, "{}.{}", self.0 / PARTS, &decimals[..shown])
    }
}

/// Why a text is no amount.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an amount in dollars, such as 0.25")]
pub struct NotAnAmount;

impl FromStr for Usd {
    type Err = NotAnAmount;

    /// Digits, with up to six decimals behind a point: `3`, `0.15`.
    fn from_str(text: &str) -> Result<Self, NotAnAmount> {
        let (whole, decimals) = text.trim().split_once('.').unwrap_or((text.trim(), "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > 6 {
            return Err(NotAnAmount);
        }
        let whole: u64 = whole.parse().map_err(|_| NotAnAmount)?;
        let decimals: u64 = format!("{decimals:0<12}").parse().map_err(|_| NotAnAmount)?;
        whole.checked_mul(PARTS).and_then(|whole| whole.checked_add(decimals)).map(Self).ok_or(NotAnAmount)
    }
}

/// What a model costs, in dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Of input.
    pub input: Usd,
    /// Of output.
    pub output: Usd,
}

impl Price {
    /// The cost of so many tokens.
    #[must_use]
    pub fn of(&self, usage: Usage) -> Usd {
        let part = |price: Usd, tokens: u64| u128::from(price.0) * u128::from(tokens);
        // Rounded up: a cap errs on the safe side.
        let sum = part(self.input, usage.input_tokens) + part(self.output, usage.output_tokens);
        Usd(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// The tokens of a request at its worst: its body has so many bytes.
#[must_use]
pub fn worst_case(body_bytes: usize, max_tokens: u32) -> Usage {
    Usage { input_tokens: (body_bytes as u64).div_ceil(BYTES_PER_TOKEN), output_tokens: u64::from(max_tokens) }
}

/// What was spent so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Requests sent, those sent again included.
    pub calls: u64,
    /// Tokens of the replies.
    pub usage: Usage,
    /// What they cost where a price is known, with the worst case of requests of which no reply tells.
    pub cost: Usd,
}

/// A cap on requests and costs, and what was spent of it. Clones share both.
#[derive(Debug, Clone, Default)]
pub struct Budget {
    max_calls: Option<u64>,
    max_cost: Option<Usd>,
    spent: Arc<Mutex<Spent>>,
}

/// A request that was let through, with the cost reckoned for it.
#[derive(Debug)]
#[must_use = "what the request came to has to be told"]
pub struct Admitted {
    price: Option<Price>,
    reserved: Usd,
}

impl Budget {
    /// A cap; none is no limit.
    #[must_use]
    pub fn new(max_calls: Option<u64>, max_cost: Option<Usd>) -> Self {
        Self { max_calls, max_cost, spent: Arc::default() }
    }

    /// What was spent so far.
    #[must_use]
    pub fn spent(&self) -> Spent {
        *self.locked()
    }

    /// Lets a request through whose worst case is `worst`, and counts it.
    ///
    /// # Errors
    /// `Cap` when it might go over the cap, `NoPrice` when nobody can tell. It is not counted then.
    pub fn admit(&self, model: &str, price: Option<Price>, worst: Usage) -> Result<Admitted, ChatError> {
        let mut spent = self.locked();
        if let Some(allowed) = self.max_calls.filter(|allowed| spent.calls >= *allowed) {
            return Err(ChatError::Cap(Cap::Calls { allowed }));
        }
        let next = price.map(|price| price.of(worst));
        if let Some(allowed) = self.max_cost {
            let Some(next) = next else { return Err(ChatError::NoPrice { model: model.to_owned() }) };
            if spent.cost.plus(next) > allowed {
                return Err(ChatError::Cap(Cap::Cost { allowed, spent: spent.cost, next }));
            }
        }
        let reserved = next.unwrap_or_default();
        spent.calls += 1;
        spent.cost = spent.cost.plus(reserved);
        Ok(Admitted { price, reserved })
    }

    /// The request was answered, for so many tokens; none when the reply does not say, and the worst case stands.
    pub fn settle(&self, admitted: &Admitted, usage: Option<Usage>) {
        let Some(usage) = usage else { return };
        let mut spent = self.locked();
        spent.usage.input_tokens = spent.usage.input_tokens.saturating_add(usage.input_tokens);
        spent.usage.output_tokens = spent.usage.output_tokens.saturating_add(usage.output_tokens);
        let cost = admitted.price.map(|price| price.of(usage)).unwrap_or_default();
        spent.cost = spent.cost.minus(admitted.reserved).plus(cost);
    }

    /// The request was refused, or never got there: it costs nothing.
    pub fn refused(&self, admitted: &Admitted) {
        let mut spent = self.locked();
        spent.cost = spent.cost.minus(admitted.reserved);
    }

    fn locked(&self) -> MutexGuard<'_, Spent> {
        // Sums stay sums, whatever a thread that panicked was about to do.
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
