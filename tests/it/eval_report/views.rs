//! The views `eval_trials`, `eval_checks` and `eval_events`.

use taco_trace::model::{EvalVerdict, TrialEnd};

use super::{Lab, ended};

#[test]
fn eval_trials_has_a_row_for_each_planned_trial_with_its_last_attempt() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |experiment| experiment.trials = 2);
    let first = lab.begin("x1", "a", 1, 1);
    assert!(lab.store().end_trial(&TrialEnd { trial_id: first, ..ended(EvalVerdict::Error) }).unwrap());
    let second = lab.begin("x1", "a", 1, 2);
    let traces = vec![(2, "bb".to_owned()), (1, "aa".to_owned())];
    assert!(lab.store().end_trial(&TrialEnd { trial_id: second, traces, ..ended(EvalVerdict::Pass) }).unwrap());
    lab.begin("x1", "a", 2, 1);
    let asked =
        "SELECT case_id, trial, attempt, state, verdict, target_name, target_version, duration_ms, input_tokens,
        output_tokens, cost_usd, trace_ids FROM eval_trials ORDER BY case_id, trial";
    assert_eq!(
        lab.place.rows(asked),
        [
            "a|1|2|finished|PASS|agent|1.2|1500|100|20|0.001500000000|[aa, bb]",
            "a|2|1|unfinished|-|-|-|-|-|-|-|[]",
            "b|1|-|not_run|-|-|-|-|-|-|-|[]",
            "b|2|-|not_run|-|-|-|-|-|-|-|[]",
        ]
    );
    // What an earlier attempt left is in no view.
    let asked =
        "SELECT trial_id, check_id, kind, severity, verdict, reason, events, measured FROM eval_checks ORDER BY ALL";
    assert_eq!(lab.place.rows(asked), ["t_x1_a_1_2|c|answer|normal|PASS|holds|[1]|-"]);
    let asked = "SELECT trial_id, verdict, seq, at_ms, turn, kind, event ->> 'text' FROM eval_events ORDER BY ALL";
    assert_eq!(lab.place.rows(asked), ["t_x1_a_1_2|PASS|1|10|1|answer|답"]);
}

#[test]
fn eval_trials_shows_the_newest_review_beside_the_verdict() {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |_| ());
    let trial = lab.trial("x1", "a", 1, ended(EvalVerdict::Fail));
    let asked = "SELECT verdict, review, review_note, reviewer FROM eval_trials";
    assert_eq!(lab.place.rows(asked), ["FAIL|-|-|-"]);
    lab.said(&["review", &trial, "--disagree", "--note", "맞습니다", "--reviewer", "one"], 0);
    lab.said(&["review", &trial, "--agree", "--note", "다시 보니 틀립니다", "--reviewer", "two"], 0);
    assert_eq!(lab.place.rows(asked), ["FAIL|agree|다시 보니 틀립니다|two"]);
    assert_eq!(lab.place.rows("SELECT COUNT(*) FROM eval_reviews"), ["2"]);
}

#[test]
fn examples_of_evaluations_answer() {
    let lab = Lab::new();
    let (frozen, end) = lab.recorded("16-proposal-and-call.fail");
    lab.experiment("x1", &[], |experiment| experiment.cases = vec![(frozen.id.clone(), frozen.sha256.clone())]);
    lab.trial("x1", &frozen.id, 1, end);
    let examples = taco_trace::store::ask::EXAMPLES;
    let answer = |name: &str| {
        let example = examples.iter().find(|example| example.name == name).unwrap();
        lab.place.rows(example.sql.trim_end().trim_end_matches(';'))
    };
    assert_eq!(answer("trials_by_case"), ["16-proposal-and-call|candidate|1|0|1|0|1500|0.001500000000"]);
    let failed = answer("failed_checks");
    assert!(!failed.is_empty() && failed.iter().all(|row| row.starts_with("16-proposal-and-call|")), "{failed:?}");
    assert_eq!(
        answer("calls_of_failures"),
        [
            r#"16-proposal-and-call|1|2|1|proposal|search_petitions|{"keyword":"도로"}"#,
            r#"16-proposal-and-call|1|3|1|call|search_petitions|{"keyword":"도로"}"#,
            r#"16-proposal-and-call|1|7|2|proposal|set_petition_status|{"id":"P-1","status":"완료"}"#,
        ]
    );
}
