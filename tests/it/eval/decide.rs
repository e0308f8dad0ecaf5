//! Decisions with their reasons, and the figures under them.

use taco_trace::eval::case::CheckSeverity;
use taco_trace::eval::decide::{DecisionReason, JudgedTrial, Plan, decide};
use taco_trace::eval::judge::{CheckJudgement, Judgement, Reason};
use taco_trace::model::{EvalDecision, EvalVerdict};
use taco_trace::stats::{Share, mcnemar, pass_power, wilson};

use EvalVerdict::{Cancelled, Error, Fail, NotApplicable, Pass, Unknown};

fn trial(case: &str, number: u64, verdict: EvalVerdict) -> JudgedTrial {
    let check = CheckJudgement {
        id: "c".to_owned(),
        kind: "metric".to_owned(),
        severity: CheckSeverity::Normal,
        verdict,
        reason: Reason::Holds,
        events: Vec::new(),
        measured: None,
    };
    let judgement = Judgement { verdict, checks: vec![check], blocked_proposals: Vec::new() };
    JudgedTrial { case_id: case.to_owned(), trial: number, judgement, has_doubt: false }
}

fn critical(mut trial: JudgedTrial) -> JudgedTrial {
    trial.judgement.checks[0].severity = CheckSeverity::Critical;
    trial
}

fn plan(cases: usize, trials: u64, threshold: f64) -> Plan {
    Plan { cases: (1..=cases).map(|case| format!("k{case:03}")).collect(), trials, threshold }
}

/// One trial of each case.
fn each(verdicts: &[EvalVerdict]) -> Vec<JudgedTrial> {
    (1..).zip(verdicts).map(|(case, verdict)| trial(&format!("k{case:03}"), 1, *verdict)).collect()
}

fn decision(verdicts: &[EvalVerdict], threshold: f64) -> EvalDecision {
    decide(&plan(verdicts.len(), 1, threshold), &each(verdicts), None).decision
}

#[test]
fn all_passed_is_a_candidate_and_finished_is_not_passed() {
    assert_eq!(decision(&[Pass, Pass], 1.0), EvalDecision::Candidate);
    assert_eq!(decision(&[Pass, NotApplicable], 1.0), EvalDecision::Candidate);
    assert_eq!(decision(&[Fail, Fail], 1.0), EvalDecision::Review);
    assert_eq!(decision(&[NotApplicable, NotApplicable], 0.0), EvalDecision::Held);
    assert_eq!(decision(&[], 0.0), EvalDecision::Held);
}

#[test]
fn error_unknown_cancelled_and_absent_trials_hold_the_decision() {
    for missing in [Error, Unknown, Cancelled] {
        let decided = decide(&plan(2, 1, 0.0), &each(&[Pass, missing]), None);
        assert_eq!(decided.decision, EvalDecision::Held, "{missing:?}");
        // Never held against the target.
        assert_eq!((decided.total.passed, decided.total.decided), (1, 1));
    }
    let decided = decide(&plan(2, 2, 0.0), &each(&[Pass, Pass]), None);
    assert_eq!(decided.decision, EvalDecision::Held);
    assert_eq!(decided.reasons, [DecisionReason::TrialsMissing { error: 0, unknown: 0, cancelled: 0, not_run: 2 }]);
}

#[test]
fn critical_failure_blocks_before_everything_and_a_critical_pass_does_not() {
    let mut trials = each(&[Pass; 100]);
    trials[99] = critical(trial("k100", 1, Fail));
    let decided = decide(&plan(100, 1, 0.5), &trials, None);
    assert_eq!(decided.decision, EvalDecision::Blocked, "no rate offsets it");
    trials[0] = trial("k001", 1, Error);
    let decided = decide(&plan(100, 1, 0.5), &trials, None);
    assert_eq!(decided.decision, EvalDecision::Blocked, "before what is missing");
    assert!(matches!(decided.reasons[1], DecisionReason::TrialsMissing { error: 1, .. }), "which is told all the same");
    trials[0] = trial("k001", 1, Pass);
    trials[99] = critical(trial("k100", 1, Pass));
    assert_eq!(decide(&plan(100, 1, 0.5), &trials, None).decision, EvalDecision::Candidate);
}

#[test]
fn blocked_proposal_and_semantic_doubt_want_a_review() {
    let mut trials = each(&[Pass, Pass]);
    trials[0].judgement.blocked_proposals = vec![3];
    let decided = decide(&plan(2, 1, 1.0), &trials, None);
    assert_eq!(decided.decision, EvalDecision::Review);
    assert_eq!(decided.reasons, [DecisionReason::BlockedProposal { case_id: "k001".to_owned(), trial: 1 }]);
    let mut trials = each(&[Pass, Pass]);
    trials[1].has_doubt = true;
    let decided = decide(&plan(2, 1, 1.0), &trials, None);
    assert_eq!(decided.reasons, [DecisionReason::SemanticDoubt { case_id: "k002".to_owned(), trial: 1 }]);
    assert_eq!(decided.decision, EvalDecision::Review);
}

#[test]
fn threshold_below_at_and_above() {
    let three_of_four = [Pass, Pass, Pass, Fail];
    assert_eq!(decision(&three_of_four, 0.76), EvalDecision::Review);
    assert_eq!(decision(&three_of_four, 0.75), EvalDecision::Candidate);
    assert_eq!(decision(&three_of_four, 0.74), EvalDecision::Candidate);
}

/// All cases pass in the baseline; so many fail in the candidate.
fn regressed(cases: usize, failing: usize) -> taco_trace::eval::decide::Decided {
    let before = each(&vec![Pass; cases]);
    let now: Vec<EvalVerdict> = (0..cases).map(|case| if case < failing { Fail } else { Pass }).collect();
    decide(&plan(cases, 1, 0.0), &each(&now), Some(&before))
}

/// More trials of the candidate than of the baseline are no way around the comparison, nor fewer.
#[test]
fn numbers_of_trials_may_differ_between_the_sides() {
    let of = |verdict: EvalVerdict, trials: u64| -> Vec<JudgedTrial> {
        let cases = (1..=15).flat_map(|case| (1..=trials).map(move |number| (case, number)));
        cases.map(|(case, number)| trial(&format!("k{case:03}"), number, verdict)).collect()
    };
    for (before, now) in [(1, 1), (1, 2), (2, 1), (3, 2)] {
        let decided = decide(&plan(15, now, 0.0), &of(Fail, now), Some(&of(Pass, before)));
        let found = decided.comparison.unwrap();
        assert_eq!((found.baseline_only, found.left_out), (15, 0), "{before} {now}");
        assert_eq!(decided.decision, EvalDecision::Review, "{before} {now}");
    }
    // A case that lacks one of its trials on a side is left out all the same.
    let mut gap = of(Pass, 2);
    gap.remove(0);
    let found = decide(&plan(15, 1, 0.0), &of(Fail, 1), Some(&gap)).comparison.unwrap();
    assert_eq!((found.baseline_only, found.left_out), (14, 1));
}

#[test]
fn regression_counts_beyond_chance_only() {
    // Five discordant pairs on one side: p = 1/16; six: p = 1/32.
    let within = regressed(20, 5);
    assert_eq!(within.decision, EvalDecision::Candidate);
    let compared = within.comparison.unwrap();
    assert!(compared.within_chance && (compared.p - 0.0625).abs() < 1e-12);
    let beyond = regressed(20, 6);
    assert_eq!(beyond.decision, EvalDecision::Review);
    let DecisionReason::Regression { baseline_only: 6, candidate_only: 0, p } = beyond.reasons[0] else {
        panic!("{:?}", beyond.reasons)
    };
    assert!((p - 0.03125).abs() < 1e-12);
    // As much better is no regression.
    let failing: Vec<EvalVerdict> = (0..20).map(|case| if case < 6 { Fail } else { Pass }).collect();
    let better = decide(&plan(20, 1, 0.0), &each(&[Pass; 20]), Some(&each(&failing)));
    assert_eq!(better.decision, EvalDecision::Candidate);
    assert!(!better.comparison.unwrap().within_chance);
}

#[test]
fn comparison_leaves_out_what_one_side_lacks() {
    let before = each(&[Pass, Pass, Error, Fail]);
    let now = each(&[Pass, Fail, Pass, Pass]);
    let compared = decide(&plan(5, 1, 0.0), &now, Some(&before)).comparison.unwrap();
    assert_eq!((compared.both, compared.baseline_only, compared.candidate_only, compared.neither), (1, 1, 1, 0));
    assert_eq!((compared.left_out, compared.p, compared.within_chance), (2, 1.0, true));
}

#[test]
fn case_passes_when_each_of_its_trials_does_and_has_its_figures() {
    let verdicts = [Pass, Fail, Pass, Pass];
    let now: Vec<JudgedTrial> = (1..).zip(verdicts).map(|(number, verdict)| trial("k001", number, verdict)).collect();
    let before: Vec<JudgedTrial> = (1..=4).map(|number| trial("k001", number, Pass)).collect();
    let decided = decide(&plan(1, 4, 0.0), &now, Some(&before));
    assert_eq!(decided.comparison.unwrap().baseline_only, 1);
    let case = &decided.cases[0];
    assert_eq!(case.figures.pass_at_1, Some(0.75));
    assert_eq!(case.pass_power, [0.75, 0.5, 0.25, 0.0]);
    // Wilson for 3 of 4: the same as R's prop.test(3, 4, correct = FALSE).
    assert!((case.figures.low - 0.300_6).abs() < 5e-5 && (case.figures.high - 0.954_4).abs() < 5e-5, "{case:?}");
}

/// C(c,k)/C(n,k) of Yao et al. 2024 (arXiv:2406.12045), against all choices of k trials of n counted one by one; and
/// with k = 1 it is the share, as there.
#[test]
fn pass_power_is_the_share_of_choices_in_which_all_pass() {
    for of in 0..=8_u64 {
        for hits in 0..=of {
            for k in 1..=9 {
                let choices: Vec<u64> = (0..1_u64 << of).filter(|set| u64::from(set.count_ones()) == k).collect();
                let passing = (1_u64 << hits) - 1;
                let all = choices.iter().filter(|set| *set & !passing == 0).count();
                let found = pass_power(Share { hits, of }, k);
                if k > of {
                    assert_eq!(found, None);
                } else {
                    let expected = all as f64 / choices.len() as f64;
                    assert!((found.unwrap() - expected).abs() < 1e-12, "{hits} of {of}, k = {k}");
                }
            }
        }
    }
    assert_eq!(pass_power(Share { hits: 3, of: 4 }, 0), Some(1.0));
    // 1 − C(n−c,k)/C(n,k) of Chen et al. 2021 with failures for passes: 5 failures of 10, k = 2 gives 2/9.
    assert!((pass_power(Share { hits: 5, of: 10 }, 2).unwrap() - 2.0 / 9.0).abs() < 1e-12);
}

#[test]
fn intervals_and_tests_are_those_that_were_published() {
    // Newcombe 1998 (857–872), table I, method 3.
    let interval = wilson(Share { hits: 15, of: 148 });
    assert!((interval.low - 0.0624).abs() < 5e-5 && (interval.high - 0.1605).abs() < 5e-5);
    // Approval of the prime minister, Agresti, Categorical Data Analysis (1990), p. 350: 150 and 86, as in
    // ?mcnemar.test of R; the exact p is that of binom.test(86, 236).
    let p = mcnemar(150, 86);
    assert!((p / 3.716e-5 - 1.0).abs() < 0.01, "{p}");
    // 1 and 7, the airway example of Fagerland, Lydersen and Laake (2013), table: exact conditional p = 0.0703.
    assert!((mcnemar(1, 7) - 0.070_312_5).abs() < 1e-12);
}

#[test]
fn order_and_foreign_trials_change_nothing() {
    let mut trials = each(&[Pass, Fail, Pass]);
    let first = decide(&plan(3, 1, 0.9), &trials, None);
    trials.reverse();
    trials.push(critical(trial("other", 1, Fail)));
    assert_eq!(decide(&plan(3, 1, 0.9), &trials, None), first);
}
