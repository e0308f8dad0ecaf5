//! What evaluations print for people fits into 80 columns, also with long names, and loses none of them.

use proptest::prelude::*;
use taco_trace::eval::again;
use taco_trace::model::{EvalVerdict, Spent};
use taco_trace::render::eval_run::{self, CheckedTarget, CostRow, ToldRun};
use taco_trace::render::layout::{Style, table, table_within, width};
use taco_trace::render::{Texts, eval};

use super::{Lab, START_NS, ended, event, hash};
use crate::support_cli::{program, told};

const LONG: &str = "reference-runner-with-a-name-that-is-longer-than-any-column-of-a-terminal-can-hold-it";
const LONG_KOREAN: &str =
    "이름이 아주 길어서 단말의 한 줄에는 도저히 들어갈 수 없는 한국어로 적은 평가 사례의 이름입니다";

fn assert_fits(text: &str) {
    for line in text.lines() {
        assert!(width(line) <= 80, "{} columns: {line}\n{text}", width(line));
    }
}

/// A store in which every name is long.
fn long() -> Lab {
    let lab = Lab::new();
    lab.store().keep_project(LONG, LONG_KOREAN, super::AT).unwrap();
    let (case, end) = lab.recorded("16-proposal-and-call.fail");
    lab.experiment("0123456789ab", &[LONG], |experiment| {
        experiment.target = LONG.to_owned();
        experiment.project_id = LONG.to_owned();
        experiment.trials = 1_000;
        experiment.cases.push((case.id.clone(), case.sha256.clone()));
    });
    lab.trial("0123456789ab", &case.id, 1, end);
    let mut failed = ended(EvalVerdict::Fail);
    let text = format!(r#"{{"kind":"answer","text":"{LONG_KOREAN} {LONG}"}}"#);
    failed.events = vec![event(1, &text)];
    lab.trial("0123456789ab", LONG, 1, failed);
    lab.experiment("ba9876543210", &["a"], |experiment| experiment.started_ns += 1);
    lab
}

#[test]
fn lists_and_reviews_fit_into_eighty_columns() {
    let lab = long();
    lab.decide("0123456789ab", None, START_NS + 1);
    let label = format!("{LONG_KOREAN} {LONG}");
    lab.said(&["token", "issue", "--label", &label, "--expires", "9", "--project", LONG], 0);
    for args in [
        &["list"][..],
        &["case", "list"],
        &["token", "list"],
        &["review", "--experiment", "0123"],
        &["gate", "--config-hash", &hash('c')],
        &["gate", "--config-hash", &hash('d')],
    ] {
        let output = lab.eval(args);
        assert!(matches!(output.status.code(), Some(0 | 1 | 4)), "{args:?}: {}", told(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{args:?}");
        assert_fits(&text);
    }
    let list = lab.said(&["list"], 0);
    let row = list.lines().find(|line| line.starts_with("ba9876543210")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>().join(" "),
        "ba9876543210 후보 mine 1×1 끝나지 않음 cccccccc 2026-10-06 10:00"
    );
    // A long name goes on below, whole.
    let letters: String = list.split_whitespace().filter(|word| LONG.contains(word)).collect();
    assert!(letters.contains(LONG), "{letters}\n{list}");
}

#[test]
fn runs_costs_and_targets_fit_into_eighty_columns() {
    let texts = Texts::korean();
    let lab = long();
    let store = lab.store();
    let experiments = store.experiments().unwrap();
    let experiment = experiments.iter().find(|one| one.experiment_id == "0123456789ab").unwrap();
    let mut trials = store.planned_trials("0123456789ab").unwrap();
    for (trial, verdict) in trials.iter_mut().filter(|trial| trial.case_id == LONG).zip(EvalVerdict::ALL.iter().cycle())
    {
        trial.verdict = Some(*verdict);
    }
    // Every case lacks a verdict somewhere, so that nothing can be compared.
    let decided = again::decided(experiment, &trials, Some(&[]));
    let spent = Spent::default();
    let told = ToldRun {
        experiment,
        decided: &decided,
        baseline: Some("ba9876543210"),
        trials: &trials,
        spent: &spent,
        is_cancelled: true,
        is_capped: true,
        not_run: 7,
    };
    let ran = eval_run::ran(&texts, &told, Style::default());
    assert_fits(&ran);
    assert!(ran.contains("실패 167,"), "{ran}");
    let words = ran.split_whitespace().collect::<Vec<_>>().join(" ");
    let why = "기존 ba9876543210 과 견주지 못했습니다. 견줄 수 있는 사례가 없어 나아졌는지 나빠졌는지 알 수 없습니다. 사례 2개에 모두";
    assert!(words.contains(why), "{words}");
    assert!(!ran.contains("우연"), "{ran}");
    let row = CostRow {
        case_id: LONG.to_owned(),
        requests: 1_234_567,
        input_tokens: 123_456_789_012,
        output_tokens: 123_456_789_012,
        cost_usd: None,
    };
    let total = CostRow { case_id: String::new(), ..row.clone() };
    assert_fits(&eval_run::cost(&texts, (LONG, 1_000), &[row], &total, Style::default()));
    let target = CheckedTarget {
        name: LONG.to_owned(),
        kind: "reference".to_owned(),
        config_sha256: hash('c'),
        place: format!("https://{LONG}.example.com/{LONG}"),
        addresses: vec!["2001:db8:1234:5678:9abc:def0:1234:5678".to_owned(); 3],
        is_lifted: true,
        said: Some((LONG.to_owned(), "1".to_owned())),
        capabilities: vec!["cancel_signal".to_owned(), "duplicate_events".to_owned(), LONG.to_owned()],
        observes: ["proposals", "calls", "approvals", "state", "answer"].map(str::to_owned).to_vec(),
        missing: vec![LONG.to_owned(), LONG.to_owned()],
        problem: Some(format!("{LONG_KOREAN}\n{LONG_KOREAN}")),
    };
    assert_fits(&eval_run::checked(&texts, &[target.clone(), target], Style::default()));
    assert_fits(&eval::list(&texts, &store.frozen_cases().unwrap(), Style::default()));
}

#[test]
fn wider_terminal_is_used() {
    let lab = long();
    let output = program().args(["eval", "list", "--db"]).arg(lab.place.db()).env("COLUMNS", "200").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| width(line) > 80 && width(line) <= 120), "{text}");
}

proptest! {
    #[test]
    fn table_within_loses_nothing_and_fits_where_it_can(
        rows in (1_usize..5).prop_flat_map(|columns| {
            prop::collection::vec(prop::collection::vec("[a-z가-힣]{1,30}( [a-z가-힣]{1,9}){0,3}", columns), 1..5)
        }),
        cells in 1_usize..130,
    ) {
        let columns = rows[0].len();
        let flexible: Vec<usize> = (0..columns).collect();
        let text = table_within(&rows, &flexible, cells);
        let whole = table(&rows);
        let fits = |text: &str| text.lines().all(|line| width(line) <= cells);
        if fits(&whole) {
            prop_assert_eq!(&text, &whole);
        }
        // Columns are made no narrower than eight cells; two more are between them.
        if cells >= columns * 10 {
            prop_assert!(fits(&text), "{}", text);
        }
        let letters = |text: &str| {
            let mut letters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
            letters.sort_unstable();
            letters
        };
        prop_assert_eq!(letters(&text), letters(&whole));
        prop_assert_eq!(table_within(&rows, &[], cells), whole);
    }
}
