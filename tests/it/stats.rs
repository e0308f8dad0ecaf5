//! Intervals and exact tests against published figures, at their edges, and against the plainest way to count.

use std::time::Instant;

use proptest::prelude::*;
use taco_trace::stats::{ALPHA, Interval, Pairs, Share, difference, fisher, holm, mcnemar, paired_difference, wilson};

fn share(hits: u64, of: u64) -> Share {
    Share { hits, of }
}

fn close(found: f64, expected: f64, by: f64) -> bool {
    (found - expected).abs() <= by
}

fn assert_interval(found: Interval, low: f64, high: f64) {
    assert!(close(found.low, low, 5e-5) && close(found.high, high, 5e-5), "{found:?} is not {low} to {high}");
}

/// Newcombe 1998 (857–872), table I, method 3.
#[test]
fn wilson_intervals_are_those_of_newcombe() {
    for (hits, of, low, high) in
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
    {
        assert_interval(wilson(share(hits, of)), low, high);
    }
}

#[test]
fn wilson_interval_at_the_edges() {
    assert_eq!(wilson(share(0, 0)), Interval { low: 0.0, high: 1.0 });
    assert_eq!(wilson(share(0, 7)).low, 0.0);
    assert_eq!(wilson(share(7, 7)).high, 1.0);
    assert!(wilson(share(1, 7)).low > 0.0 && wilson(share(6, 7)).high < 1.0);
    let large = wilson(share(500_000, 1_000_000));
    assert_interval(large, 0.49902, 0.50098);
}

/// Newcombe 1998 (873–890), table II, method 10.
#[test]
fn differences_are_those_of_newcombe() {
    for ((a, m), (b, n), low, high) in [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ] {
        assert_interval(difference(share(a, m), share(b, n)), low, high);
    }
}

/// Newcombe 1998 (2635–2650), method 10; the second is the airway example of Fagerland, Lydersen and Laake (2014).
#[test]
fn paired_differences_are_those_of_newcombe() {
    for ((both, first_only, second_only, neither), low, high) in
        [((36, 12, 2, 0), 0.0569, 0.3404), ((1, 1, 7, 12), -0.5069, -0.0256), ((53, 0, 0, 1), -0.0729, 0.0729)]
    {
        let pairs = Pairs { both, first_only, second_only, neither };
        assert_interval(paired_difference(pairs), low, high);
    }
}

#[test]
fn fisher_is_that_of_the_books() {
    for ((a, m), (b, n), p) in [
        // The lady tasting tea (Fisher 1935): 34/70.
        ((3, 4), (1, 4), 34.0 / 70.0),
        // Convictions of like-sex twins (Fisher 1958; ?fisher.test of R).
        ((2, 12), (15, 18), 0.000_536_7),
        // Men and women on a diet (Wikipedia).
        ((1, 10), (11, 14), 0.002_759_456),
        // scipy.stats.fisher_exact.
        ((8, 10), (1, 6), 0.034_965_035),
        ((17, 100), (1, 100), 7.475_014_36e-5),
        ((0, 100), (3, 100), 0.246_231_156),
        ((0, 10), (10, 10), 1.082_508_8e-5),
    ] {
        let found = fisher(share(a, m), share(b, n));
        assert!(close(found / p, 1.0, 2e-4), "{a}/{m} {b}/{n}: {found} is not {p}");
    }
}

#[test]
fn fisher_of_what_cannot_differ_is_one() {
    for (first, second) in [
        (share(0, 0), share(0, 0)),
        (share(0, 0), share(3, 5)),
        (share(0, 10), share(0, 20)),
        (share(10, 10), share(20, 20)),
        (share(5, 10), share(10, 20)),
    ] {
        assert!(close(fisher(first, second), 1.0, 1e-12), "{first:?} {second:?}");
    }
}

#[test]
fn mcnemar_is_that_of_the_books() {
    for (first_only, second_only, p) in [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 0, 2.0 / 32.0),
        (6, 0, 2.0 / 64.0),
        (1, 8, 20.0 / 512.0),
        // mcnemar.exact of R's exact2x2 (Fay 2010).
        (9, 2, 134.0 / 2048.0),
        // Approval of a prime minister (Agresti), binom.test.
        (86, 150, 3.715_936_14e-5),
        (50, 50, 1.0),
    ] {
        let found = mcnemar(first_only, second_only);
        assert!(close(found / p, 1.0, 1e-7), "{first_only} {second_only}: {found} is not {p}");
    }
}

/// Five pairs one way are within chance, six are beyond it.
#[test]
fn alpha_lies_between_five_and_six_pairs() {
    assert!(mcnemar(5, 0) > ALPHA);
    assert!(mcnemar(6, 0) < ALPHA);
}

#[test]
fn a_million_runs_neither_overflow_nor_take_long() {
    let started = Instant::now();
    let p = fisher(share(500_000, 1_000_000), share(501_000, 1_000_000));
    assert!(close(p, 0.157_714_5, 1e-6), "{p}");
    assert!(fisher(share(0, 1_000_000), share(1_000_000, 1_000_000)) < 1e-300);
    assert!(close(fisher(share(1, 1_000_000), share(1, 1_000_000)), 1.0, 1e-9));
    assert!(mcnemar(1_000_000, 0) < 1e-300);
    assert!(close(mcnemar(500_000, 500_000), 1.0, 1e-9));
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}

/// 0.01 counts three times, 0.03 twice, and 0.04 once, but not less than 0.03 came to.
#[test]
fn holm_multiplies_by_what_is_left_and_never_falls() {
    let found = holm(&[0.04, 0.01, 0.03]);
    assert!(close(found[1], 0.03, 1e-12) && close(found[2], 0.06, 1e-12) && close(found[0], 0.06, 1e-12), "{found:?}");
    assert_eq!(holm(&[0.05]), [0.05]);
    assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

/// Ways to choose `k` of `n`, exact.
fn choose(n: u64, k: u64) -> u128 {
    (0..k).fold(1, |ways, place| ways * u128::from(n - place) / u128::from(place + 1))
}

/// Every table counted, in whole numbers.
fn fisher_by_counting(first: Share, second: Share) -> f64 {
    let hits = first.hits + second.hits;
    let ways = |k: u64| choose(first.of, k) * choose(second.of, hits - k);
    let seen = ways(first.hits);
    let possible = (0..=first.of.min(hits)).filter(|k| hits - k <= second.of);
    let (mut rare, mut all) = (0, 0);
    for k in possible {
        all += ways(k);
        rare += if ways(k) <= seen { ways(k) } else { 0 };
    }
    rare as f64 / all as f64
}

fn mcnemar_by_counting(first_only: u64, second_only: u64) -> f64 {
    let n = first_only + second_only;
    let tail: u128 = (0..=first_only.min(second_only)).map(|k| choose(n, k)).sum();
    (2.0 * tail as f64 / 2.0_f64.powi(n as i32)).min(1.0)
}

fn any_share(most: u64) -> impl Strategy<Value = Share> {
    (0..=most).prop_flat_map(|of| (0..=of).prop_map(move |hits| share(hits, of)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wilson_interval_lies_in_0_to_1_and_holds_the_share(one in any_share(2_000_000)) {
        let found = wilson(one);
        prop_assert!(0.0 <= found.low && found.high <= 1.0 && found.low < found.high, "{:?}", found);
        if one.of > 0 {
            prop_assert!(found.low <= one.rate() && one.rate() <= found.high, "{:?}", found);
        }
    }

    #[test]
    fn difference_is_antisymmetric_and_holds_the_difference(first in any_share(500), second in any_share(500)) {
        let (there, back) = (difference(first, second), difference(second, first));
        prop_assert!(close(there.low, -back.high, 1e-12) && close(there.high, -back.low, 1e-12));
        let seen = first.rate() - second.rate();
        if first.of > 0 && second.of > 0 {
            prop_assert!(-1.0 <= there.low && there.low <= seen + 1e-12);
            prop_assert!(seen - 1e-12 <= there.high && there.high <= 1.0);
        }
    }

    #[test]
    fn fisher_is_symmetric_and_equals_counting(first in any_share(45), second in any_share(45)) {
        let p = fisher(first, second);
        prop_assert!(close(p, fisher(second, first), 1e-9));
        let turned = |one: Share| share(one.of - one.hits, one.of);
        prop_assert!(close(p, fisher(turned(first), turned(second)), 1e-9));
        prop_assert!(close(p, fisher_by_counting(first, second), 1e-9), "{} {:?} {:?}", p, first, second);
    }

    #[test]
    fn mcnemar_is_symmetric_and_equals_counting(first_only in 0_u64..60, second_only in 0_u64..60) {
        let p = mcnemar(first_only, second_only);
        prop_assert!(close(p, mcnemar(second_only, first_only), 1e-12));
        prop_assert!(close(p, mcnemar_by_counting(first_only, second_only), 1e-9), "{}", p);
    }

    #[test]
    fn paired_interval_holds_the_difference(
        both in 0_u64..200, first_only in 0_u64..200, second_only in 0_u64..200, neither in 1_u64..200,
    ) {
        let pairs = Pairs { both, first_only, second_only, neither };
        let n = pairs.total() as f64;
        let seen = (first_only as f64 - second_only as f64) / n;
        let found = paired_difference(pairs);
        prop_assert!(-1.0 <= found.low && found.low <= seen + 1e-12, "{:?}", found);
        prop_assert!(seen - 1e-12 <= found.high && found.high <= 1.0, "{:?}", found);
    }

    #[test]
    fn holm_keeps_the_order_and_never_lowers(values in proptest::collection::vec(0.0_f64..=1.0, 0..12)) {
        let found = holm(&values);
        for (one, corrected) in values.iter().zip(&found) {
            prop_assert!(one <= corrected && *corrected <= 1.0);
            for (other, other_corrected) in values.iter().zip(&found) {
                prop_assert!(one > other || corrected <= other_corrected);
            }
        }
    }
}
