//! Shares and whether two of them differ: intervals and exact tests for counts. Pure.
//!
//! Everything is written as a ratio or as a sum of weights relative to the largest, so no factorial, no logarithm and
//! no special function is needed, nothing overflows at a million runs, and a sum ends once its terms vanish (some tens
//! of standard deviations from the middle).
//!
//! - Wilson's score interval: E. B. Wilson, J. Am. Stat. Assoc. 22 (1927) 209–212; method 3 of R. G. Newcombe,
//!   Stat. Med. 17 (1998) 857–872.
//! - Difference of two shares: method 10 of R. G. Newcombe, Stat. Med. 17 (1998) 873–890, from two Wilson intervals.
//! - The same of paired observations: method 10 of R. G. Newcombe, Stat. Med. 17 (1998) 2635–2650.
//! - Fisher's exact test, two-sided by the sum of all tables that are no likelier than the one seen.
//! - McNemar's test, exact: the discordant pairs are a fair coin.
//! - pass^k, how likely k trials all pass, from c of n: C(c,k)/C(n,k), unbiased: S. Yao et al., τ-bench,
//!   arXiv:2406.12045 (2024), after pass@k of M. Chen et al., arXiv:2107.03374 (2021).
//! - Several tests together: S. Holm, Scand. J. Stat. 6 (1979) 65–70.

/// Below this, and not at it, a difference is said to be beyond chance.
pub const ALPHA: f64 = 0.05;
/// The 0.975 quantile of the normal distribution: intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;
/// Tables whose probabilities differ by less are equally likely: rounding must not decide which of them counts.
const TIE: f64 = 1e-7;

/// A lower and an upper bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

/// So many of so many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Those that count; not more than `of`.
    pub hits: u64,
    /// All of them.
    pub of: u64,
}

impl Share {
    /// The share as a number from 0 to 1; 0 of nothing.
    #[must_use]
    pub fn rate(self) -> f64 {
        if self.of == 0 { 0.0 } else { float(self.hits) / float(self.of) }
    }
}

/// Counts of runs are far below 2^53, beyond which a float skips whole numbers.
#[allow(clippy::cast_precision_loss, reason = "see above")]
fn float(count: u64) -> f64 {
    count as f64
}

/// Wilson's 95 % interval of a share: `(p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)`. Of nothing it is all of 0
/// to 1.
#[must_use]
pub fn wilson(share: Share) -> Interval {
    if share.of == 0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let (n, p) = (float(share.of), share.rate());
    let middle = p + Z * Z / (2.0 * n);
    let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + Z * Z / n;
    // Both ends are exact where rounding would leave a trace of the square root.
    let low = if share.hits == 0 { 0.0 } else { ((middle - half) / scale).max(0.0) };
    let high = if share.hits == share.of { 1.0 } else { ((middle + half) / scale).min(1.0) };
    Interval { low, high }
}

/// pass^k: the unbiased estimate of how likely `k` trials all pass, `C(hits,k) / C(of,k)`, which is the share of all
/// choices of `k` of the trials made in which each passed. None when there are fewer trials than `k`.
#[must_use]
pub fn pass_power(share: Share, k: u64) -> Option<f64> {
    if k > share.of {
        return None;
    }
    if k > share.hits {
        return Some(0.0);
    }
    Some((0..k).map(|i| float(share.hits - i) / float(share.of - i)).product())
}

/// The 95 % interval of `first − second` of two shares of different runs.
#[must_use]
pub fn difference(first: Share, second: Share) -> Interval {
    between(first, second, 0.0)
}

/// Pairs of runs by what holds in each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pairs {
    /// It holds in both.
    pub both: u64,
    /// It holds in the first only.
    pub first_only: u64,
    /// It holds in the second only.
    pub second_only: u64,
    /// It holds in neither.
    pub neither: u64,
}

impl Pairs {
    /// All pairs.
    #[must_use]
    pub fn total(self) -> u64 {
        self.both + self.first_only + self.second_only + self.neither
    }
}

/// The 95 % interval of `first − second` of two shares of the same pairs.
#[must_use]
pub fn paired_difference(pairs: Pairs) -> Interval {
    let n = pairs.total();
    let first = Share { hits: pairs.both + pairs.first_only, of: n };
    let second = Share { hits: pairs.both + pairs.second_only, of: n };
    between(first, second, correlation(pairs))
}

/// The phi coefficient of the four counts, drawn towards 0 by n/2 where it is positive (method 10); 0 without a spread.
fn correlation(pairs: Pairs) -> f64 {
    let [a, b, c, d] = [pairs.both, pairs.first_only, pairs.second_only, pairs.neither].map(float);
    let spread = ((a + b).sqrt() * (c + d).sqrt()) * ((a + c).sqrt() * (b + d).sqrt());
    if spread == 0.0 {
        return 0.0;
    }
    let raw = a * d - b * c;
    let drawn = if raw > 0.0 { (raw - float(pairs.total()) / 2.0).max(0.0) } else { raw };
    drawn / spread
}

/// Squares the distances of both Wilson intervals and adds them, less twice what they have in common.
fn between(first: Share, second: Share, correlation: f64) -> Interval {
    let (p, q) = (first.rate(), second.rate());
    let (of_p, of_q) = (wilson(first), wilson(second));
    let distance = |x: f64, y: f64| (x * x - 2.0 * correlation * x * y + y * y).max(0.0).sqrt();
    let low = p - q - distance(p - of_p.low, of_q.high - q);
    let high = p - q + distance(of_p.high - p, q - of_q.low);
    Interval { low: low.max(-1.0), high: high.min(1.0) }
}

/// Fisher's exact test, two-sided: how likely two shares at least as unlikely as these are when nothing differs.
///
/// Given the sums, the number of hits in the first sample is hypergeometric; neighbouring probabilities have the ratio
/// `(K−k)(n−k) / ((k+1)(N−K−n+k+1))` with K hits among N runs, n of them in the first sample.
#[must_use]
pub fn fisher(first: Share, second: Share) -> f64 {
    let (n, all) = (first.of, first.of + second.of);
    let hits = first.hits + second.hits;
    let least = (hits + n).saturating_sub(all);
    let most = hits.min(n);
    if least == most {
        return 1.0;
    }
    let ratio = |k: u64| float(hits - k) * float(n - k) / (float(k + 1) * float(all + k + 1 - hits - n));
    two_sided(least, most, first.hits, ratio)
}

/// McNemar's exact test, two-sided: how likely so uneven a split of the discordant pairs is when nothing differs.
#[must_use]
pub fn mcnemar(first_only: u64, second_only: u64) -> f64 {
    let n = first_only + second_only;
    if n == 0 {
        return 1.0;
    }
    two_sided(0, n, first_only, |k| float(n - k) / float(k + 1))
}

/// The probability of all values from `least` to `most` that are no likelier than `seen`; `ratio(k)` is that of `k + 1`
/// over that of `k`, which falls as k grows. Where `seen` is so unlikely that its weight vanishes beside the largest,
/// the result is 0.
fn two_sided(least: u64, most: u64, seen: u64, ratio: impl Fn(u64) -> f64) -> f64 {
    let mode = mode(least, most, &ratio);
    let mut weights = Vec::new();
    let mut weight = 1.0;
    for k in (least..mode).rev() {
        weight /= ratio(k);
        if weight == 0.0 {
            break;
        }
        weights.push((k, weight));
    }
    weights.reverse();
    let middle = weights.len();
    weights.push((mode, 1.0));
    weight = 1.0;
    for k in mode..most {
        weight *= ratio(k);
        if weight == 0.0 {
            break;
        }
        weights.push((k + 1, weight));
    }
    let Ok(place) = weights.binary_search_by_key(&seen, |(k, _)| *k) else { return 0.0 };
    let limit = weights[place].1 * (1.0 + TIE);
    // From the ends inwards, so that small terms are added before large ones.
    let (left, right) = weights.split_at(middle);
    let inwards = || left.iter().chain(right.iter().rev()).map(|(_, weight)| *weight);
    (inwards().filter(|weight| *weight <= limit).sum::<f64>() / inwards().sum::<f64>()).min(1.0)
}

/// The likeliest value: the first after which the probability does not grow.
fn mode(least: u64, most: u64, ratio: &impl Fn(u64) -> f64) -> u64 {
    let (mut low, mut high) = (least, most);
    while low < high {
        let middle = low + (high - low) / 2;
        if ratio(middle) > 1.0 { low = middle + 1 } else { high = middle }
    }
    low
}

/// Holm's correction: each p value as it counts when all of them are looked at together, in the order given.
#[must_use]
pub fn holm(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut corrected = vec![0.0; values.len()];
    let mut least = 0.0_f64;
    for (place, index) in order.iter().enumerate() {
        least = least.max(values[*index] * float((values.len() - place) as u64)).min(1.0);
        corrected[*index] = least;
    }
    corrected
}
