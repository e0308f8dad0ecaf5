//! Faults put in against verdicts: the counts against a naive one, what explains a mismatch, what is kept; and runs
//! before and after a description against plain arithmetic.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use proptest::prelude::*;
use serde_json::Value;
use taco_trace::bench::described::changes;
use taco_trace::bench::injected::{About, Made, Said, combinations, expected, report, spread};
use taco_trace::bench::{Given, Judged};
use taco_trace::diagnose::{DraftMode, Outcome, diagnose};
use taco_trace::model::bench::Answer;
use taco_trace::model::demo::{
    AfterFrom, AskedRun, AskedTwice, BenchReport, ChangedDescription, DescriptionReport, InjectedFault, Why,
};
use taco_trace::model::{Rule, Status, Verdict};
use taco_trace::render::layout::{Style, width};
use taco_trace::render::{Texts, demo_bench, demo_compare};
use taco_trace::stats::{Share, mcnemar, wilson};
use taco_trace::store::{RULE_SET, Scope, Store};

use super::support::{Fixture, answer, answers, call, repository, tool};
use super::support_cli::Place;

const ABOUT: About<'static> = About { seed: 7, model: "script", overlap: false, rule_set: RULE_SET };

fn trace(number: usize) -> String {
    format!("{number:032x}")
}

fn made(number: usize, faults: &[InjectedFault]) -> Made {
    Made {
        trace_id: trace(number),
        question: format!("질문 {number}"),
        faults: faults.to_vec(),
        not_reached: Vec::new(),
    }
}

fn given(answer: Answer, also: &[Verdict]) -> Given {
    Given { answer, also: also.to_vec() }
}

fn said(given: Given) -> Said {
    let judged = Judged { trace_id: String::new(), given, notes: vec!["참고입니다.".to_owned()] };
    Said { judged, summary: "요약입니다.".to_owned(), final_status: Some(Status::Ok) }
}

/// Spans of a run of which `holding` says which rules hold: a fake of what an agent with faults leaves.
fn played(fixture: Fixture, trace: &str, holding: &[InjectedFault]) -> Fixture {
    let has = |fault| holding.contains(&fault);
    let mut fixture = fixture.span(answer(trace, "root"));
    if has(InjectedFault::UnknownTool) {
        fixture = fixture.span(call(trace, "u").tool("nowhere"));
    }
    if has(InjectedFault::DropArg) {
        fixture = fixture.span(call(trace, "d").tool("needs"));
    }
    if has(InjectedFault::Slow) {
        // Recovered, so that no error is hidden.
        fixture = fixture.span(call(trace, "t1").duration_ms(1_001).error()).span(call(trace, "t2"));
    }
    if has(InjectedFault::Repeat) {
        let repeated = |fixture: Fixture, n: usize| fixture.span(call(trace, &format!("r{n}")).tool("again"));
        fixture = (0..4).fold(fixture, repeated);
    }
    if has(InjectedFault::SwallowError) {
        fixture = fixture.span(call(trace, "e").tool("b").error());
    }
    fixture
}

fn tools(fixture: Fixture) -> Fixture {
    ["a", "again", "b"]
        .into_iter()
        .fold(fixture, |fixture, name| fixture.tool(tool(name)))
        .tool(tool("needs").required("key", &["string"]))
}

fn judged(store: &Store) -> BTreeMap<String, Said> {
    let outcome: Outcome = diagnose(store, &Texts::korean(), &Scope::default(), DraftMode::Off).unwrap();
    let run = |run: taco_trace::diagnose::JudgedRun| {
        let given = Given { answer: Answer::Judged(run.diagnosis.verdict), also: run.diagnosis.also_found };
        let trace_id = run.diagnosis.trace_id;
        let (summary, final_status) = (run.diagnosis.summary, Some(run.diagnosis.final_status));
        let judged = Judged { trace_id: trace_id.clone(), given, notes: run.diagnosis.notes };
        (trace_id, Said { judged, summary, final_status })
    };
    outcome.runs.into_iter().map(run).collect()
}

#[test]
fn faults_are_spread_evenly_over_the_runs() {
    for (runs, most, least) in [(1, 1, 0), (4, 1, 0), (5, 1, 1), (6, 2, 1), (39, 8, 7), (40, 8, 8), (41, 9, 8)] {
        let spread: Vec<_> = spread(runs, false).collect();
        assert_eq!(spread.len() as u64, runs);
        assert!(spread.iter().all(|faults| faults.len() == 1));
        let each = InjectedFault::ALL.map(|fault| spread.iter().filter(|faults| faults[0] == fault).count());
        assert_eq!((each.iter().max(), each.iter().min()), (Some(&most), Some(&least)), "{runs}");
    }
    assert_eq!(spread(0, false).count(), 0);
}

#[test]
fn pairs_are_different_faults_and_hold_each_as_often() {
    let pairs = combinations(true);
    assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), 10);
    assert!(pairs.iter().all(|pair| pair.len() == 2 && pair[0] < pair[1]), "{pairs:?}");
    for runs in [5, 10, 40] {
        let spread: Vec<_> = spread(runs, true).collect();
        for fault in InjectedFault::ALL {
            let times = spread.iter().filter(|pair| pair.contains(&fault)).count() as u64;
            assert_eq!(times, runs * 2 / 5, "{runs} {fault:?}");
        }
    }
}

#[test]
fn faults_call_for_the_verdicts_in_their_order_of_importance() {
    assert_eq!(expected(&[]), given(Answer::Judged(Verdict::Normal), &[]));
    assert_eq!(InjectedFault::ALL.map(InjectedFault::rule), Rule::ALL);
    for pair in combinations(true) {
        let turned = [pair[1], pair[0]];
        let wanted = given(Answer::Judged(pair[0].rule().verdict()), &[pair[1].rule().verdict()]);
        assert_eq!((expected(&pair), expected(&turned)), (wanted.clone(), wanted));
    }
    for fault in InjectedFault::ALL {
        assert_eq!(InjectedFault::from_slug(fault.slug()), Some(fault));
    }
}

#[test]
fn mismatch_is_explained_by_what_the_data_say() {
    use InjectedFault::{DropArg, Repeat, Slow};
    let verdict = |rule: Rule| rule.verdict();
    let cases = [
        (made(1, &[Slow]), None, Why::NoTrace),
        (made(2, &[Slow]), Some(given(Answer::Unjudged, &[])), Why::Unjudged),
        (
            made(3, &[Slow]),
            Some(given(Answer::Judged(verdict(Rule::ArgsMismatch)), &[verdict(Rule::TimeoutExceeded)])),
            Why::Outranked,
        ),
        (made(4, &[Slow]), Some(given(Answer::Judged(verdict(Rule::ErrorHidden)), &[])), Why::OtherRule),
        (made(5, &[Slow]), Some(given(Answer::Judged(Verdict::Normal), &[])), Why::NothingFound),
        (
            Made { not_reached: vec![Slow], ..made(6, &[Slow]) },
            Some(given(Answer::Judged(Verdict::Normal), &[])),
            Why::NotReached,
        ),
        // That the further fault never came to bear does not explain that the first was not seen.
        (
            Made { not_reached: vec![Repeat], ..made(7, &[DropArg, Repeat]) },
            Some(given(Answer::Judged(Verdict::Normal), &[])),
            Why::NothingFound,
        ),
        (made(8, &[]), Some(given(Answer::Judged(verdict(Rule::ErrorHidden)), &[])), Why::FalseAlarm),
    ];
    let runs: Vec<Made> = cases.iter().map(|(made, ..)| made.clone()).collect();
    let by_trace = cases.iter().filter_map(|(made, given, _)| Some((made.trace_id.clone(), said(given.clone()?))));
    let found = report(&ABOUT, &runs, &by_trace.collect());
    let why: Vec<Option<Why>> = found.mismatches.iter().map(|run| run.why).collect();
    assert_eq!(why, cases.iter().map(|(.., why)| Some(*why)).collect::<Vec<_>>());
    assert_eq!(why.iter().flatten().collect::<BTreeSet<_>>().len(), Why::ALL.len());
    // Each has words of its own, in both reports.
    let texts = Texts::korean();
    let (table, md) = (demo_bench::table(&texts, &found, Style::default()), demo_bench::markdown(&texts, &found));
    let reasons: Vec<&str> = table.lines().filter(|line| line.contains("까닭: ")).collect();
    assert_eq!(reasons.len(), cases.len(), "{table}");
    assert_eq!(reasons.iter().collect::<BTreeSet<_>>().len(), Why::ALL.len(), "{table}");
    for text in [&table, &md] {
        assert!(!text.contains("j2") && text.contains("요약입니다.") && text.contains("참고입니다."), "{text}");
        assert!(cases.iter().all(|(made, ..)| text.contains(&made.trace_id)), "{text}");
    }
}

#[test]
fn further_rules_that_differ_are_explained() {
    use InjectedFault::{DropArg, Slow, SwallowError, UnknownTool};
    let judged = |rule: Rule, also: &[Rule]| {
        given(Answer::Judged(rule.verdict()), &also.iter().map(|rule| rule.verdict()).collect::<Vec<_>>())
    };
    let hidden = Rule::ErrorHidden;
    let ended = |status: Status, said: Said| Said { final_status: Some(status), ..said };
    let cases = [
        (made(1, &[UnknownTool]), Status::Ok, judged(Rule::UndefinedTool, &[hidden]), "없는 이름의 도구는"),
        (made(2, &[DropArg, SwallowError]), Status::Ok, judged(Rule::ArgsMismatch, &[]), "뒤에 다시 불러 성공한"),
        (made(3, &[DropArg, SwallowError]), Status::Error, judged(Rule::ArgsMismatch, &[]), "함께 넣은 고장의 규칙이"),
        (
            Made { not_reached: vec![Slow], ..made(4, &[DropArg, Slow]) },
            Status::Ok,
            judged(Rule::ArgsMismatch, &[]),
            "slow(느린 응답) 고장이 들어가지 않았습니다",
        ),
        (made(5, &[DropArg]), Status::Ok, judged(Rule::ArgsMismatch, &[hidden]), "넣지 않은 고장의 규칙도"),
    ];
    for (made, status, judged, words) in cases {
        let by_trace = BTreeMap::from([(made.trace_id.clone(), ended(status, said(judged)))]);
        let found = report(&ABOUT, std::slice::from_ref(&made), &by_trace);
        assert_eq!((found.also_differs.len(), found.mismatches.len()), (1, 0));
        let md = demo_bench::markdown(&Texts::korean(), &found);
        assert!(md.contains(words), "{words}: {md}");
        assert_eq!(md.contains("뒤에 다시 불러 성공한"), words.starts_with("뒤에"), "{md}");
    }
}

#[test]
fn false_alarms_of_control_runs_count_apart() {
    let normal = || said(given(Answer::Judged(Verdict::Normal), &[]));
    let runs = [made(1, &[InjectedFault::Slow]), made(2, &[]), made(3, &[])];
    let alarm = said(given(Answer::Judged(Rule::ErrorHidden.verdict()), &[]));
    let by_trace = BTreeMap::from([(trace(1), normal()), (trace(2), normal()), (trace(3), alarm)]);
    let found = report(&ABOUT, &runs, &by_trace);
    assert_eq!((found.verdict.matched, found.verdict.compared), (0, 1));
    let quiet = found.quiet_controls.unwrap();
    assert_eq!((quiet.matched, quiet.compared), (1, 2));
    assert_eq!(found.confusion.len(), 6);
    let none = report(&ABOUT, &runs[..1], &by_trace);
    assert_eq!((none.quiet_controls, none.confusion.len()), (None, 5));
    let shown = demo_bench::table(&Texts::korean(), &found, Style::default());
    assert!(shown.replace('\n', " ").contains("고장 없는 실행 2건") && shown.contains("2건 가운데 1건"), "{shown}");
    assert!(!demo_bench::table(&Texts::korean(), &none, Style::default()).contains("고장 없는 실행"));
}

fn full_report(overlap: bool) -> BenchReport {
    let runs: Vec<Made> = spread(41, overlap).enumerate().map(|(number, faults)| made(number, &faults)).collect();
    let by_trace = runs.iter().enumerate().map(|(number, made)| {
        let wanted = expected(&made.faults);
        let other = given(Answer::Judged(Verdict::Normal), &[]);
        (made.trace_id.clone(), said(if number % 7 == 6 { other } else { wanted }))
    });
    report(&About { overlap, ..ABOUT }, &runs, &by_trace.collect())
}

#[test]
fn report_begins_with_where_its_labels_come_from_and_fits_the_terminal() {
    let texts = Texts::korean();
    for overlap in [false, true] {
        let found = full_report(overlap);
        let table = demo_bench::table(&texts, &found, Style::default());
        let wide: Vec<&str> = table.lines().filter(|line| width(line) > 80).collect();
        assert_eq!(wide, [""; 0]);
        let first: String = table.lines().take(3).collect::<Vec<_>>().join(" ");
        assert!(first.contains("프로그램을 만든 사람이 정했습니다") && first.contains("정확도를 잰 값이 아닙니다"));
        // The columns of the table stand below one another.
        let rows: Vec<&str> = table.lines().filter(|line| line.contains(" → ")).collect();
        assert_eq!(rows.len(), 1 + found.confusion.len(), "{table}");
        assert_eq!(rows.iter().map(|row| width(row)).collect::<BTreeSet<_>>().len(), 1, "{table}");
        let md = demo_bench::markdown(&texts, &found);
        assert!(md.lines().nth(2).unwrap().contains("정확도를 잰 값이 아닙니다"), "{md}");
        let json = demo_bench::json(&texts, &found).unwrap();
        assert!(json.lines().nth(1).unwrap().contains("\"provenance\": \"고장과 기대 판정은"), "{json}");
        for text in [&table, &md] {
            assert!(text.contains("이 규칙이 보지 못하는 것") && text.contains("한도 안의 되풀이"), "{text}");
            let uneven =
                if overlap { "4건씩에 앞의 1가지는 1건 더" } else { "8건씩에 앞의 1가지는 1건 더" };
            assert!(text.replace("\n", " ").contains(uneven), "{text}");
        }
    }
}

/// Fails unless the text is JSON of the published shape.
pub(crate) fn assert_of_schema(name: &str, text: &str) {
    let read = |path: &str| fs::read_to_string(repository().join(path)).unwrap();
    let schema: Value = serde_json::from_str(&read(&format!("schemas/{name}.schema.json"))).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let value: Value = serde_json::from_str(text).unwrap();
    let wrong: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn json_is_of_the_published_shape() {
    let texts = Texts::korean();
    for overlap in [false, true] {
        assert_of_schema("demo_bench", &demo_bench::json(&texts, &full_report(overlap)).unwrap());
    }
    let controls = report(&ABOUT, &[made(1, &[])], &BTreeMap::new());
    assert_of_schema("demo_bench", &demo_bench::json(&texts, &controls).unwrap());
    let mut questions = twice(&[(true, false), (false, true)]);
    assert_of_schema("demo_compare", &{
        let report = described(vec![("a".to_owned(), questions.clone())], AfterFrom::Draft);
        demo_compare::json(&texts, &report).unwrap()
    });
    questions.iter_mut().for_each(|question| question.after = None);
    let report = described(vec![("a".to_owned(), questions)], AfterFrom::Nothing);
    assert_of_schema("demo_compare", &demo_compare::json(&texts, &report).unwrap());
}

#[test]
fn bench_that_is_kept_can_be_asked_in_sql() {
    let place = Place::new();
    let found = full_report(true);
    let store = Store::open(&place.db()).unwrap();
    store.keep_bench("first", ("2026-10-07T09:00:00.000+09:00", 1), &found).unwrap();
    store.keep_bench("second", ("2026-10-07T09:00:01.000+09:00", 2), &full_report(false)).unwrap();
    drop(store);
    let sums = "SELECT b.bench_run, b.runs, b.matched, b.matched_all, SUM(c.runs), SUM(c.runs) FILTER (c.is_match)
        FROM bench_runs b JOIN bench_confusion c ON c.bench_run = b.bench_run GROUP BY ALL ORDER BY b.bench_run";
    assert_eq!(place.rows(sums), ["first|41|36|36|41|36", "second|41|36|36|41|36"]);
    let shown = "SELECT faults, expected, given, runs
        FROM bench_confusion WHERE bench_run = 'first' AND faults = 'unknown-tool+drop-arg' ORDER BY runs";
    let row = &found.confusion[0];
    assert_eq!(row.runs, 5);
    let told = place.rows(shown);
    assert!(
        told.iter().any(|line| line.starts_with("unknown-tool+drop-arg|undefined-tool|undefined-tool|")),
        "{told:?}"
    );
    let why = "SELECT DISTINCT why FROM bench_results WHERE given <> expected";
    assert_eq!(place.rows(why), ["nothing_found"]);
    assert_eq!(place.rows("SELECT COUNT(*) FROM bench_results WHERE (why IS NULL) <> (given = expected)"), ["0"]);
    let comments = "SELECT table_name FROM duckdb_columns() WHERE comment IS NULL
        AND table_name IN ('bench_runs', 'bench_results', 'bench_confusion')";
    assert_eq!(place.rows(comments), [""; 0]);
}

#[test]
fn bench_is_kept_whole_or_not_at_all() {
    let store = Store::in_memory().unwrap();
    store.execute("DROP VIEW bench_confusion; DROP TABLE bench_results").unwrap();
    assert!(store.keep_bench("x", ("", 1), &full_report(false)).is_err());
    assert_eq!(answers(&store, "SELECT COUNT(*) FROM bench_runs"), ["0"]);
}

fn asked(number: usize, mismatch: bool) -> AskedRun {
    let verdict = if mismatch { Rule::ArgsMismatch.verdict() } else { Verdict::Normal };
    AskedRun {
        trace_id: trace(number),
        given: Answer::Judged(verdict),
        also_found: Vec::new(),
        has_mismatch: mismatch,
        missing: if mismatch { vec!["search_regulation.dept_code".to_owned()] } else { Vec::new() },
        failed: None,
    }
}

fn twice(pairs: &[(bool, bool)]) -> Vec<AskedTwice> {
    let question = |(number, (before, after)): (usize, &(bool, bool))| AskedTwice {
        number: number as u64 + 1,
        question: format!("질문 {number}"),
        before: asked(number, *before),
        after: Some(asked(1_000 + number, *after)),
    };
    pairs.iter().enumerate().map(question).collect()
}

fn described(models: Vec<(String, Vec<AskedTwice>)>, after_from: AfterFrom) -> DescriptionReport {
    DescriptionReport {
        seed: 1,
        questions: 20,
        rule_set: RULE_SET.to_owned(),
        after_from,
        changed: vec![ChangedDescription {
            tool_name: "search_regulation".to_owned(),
            before: "조문을 찾습니다.".to_owned(),
            after: "조문을 찾습니다. dept_code 를 함께 넘깁니다.".to_owned(),
        }],
        models: changes(models),
    }
}

/// Five pairs that all got better are one of 2^5 ways, twice: 0.0625. Six are 0.03125.
#[test]
fn difference_is_beyond_chance_from_six_repaired_pairs_on() {
    for (repaired, beyond) in [(5, false), (6, true), (7, true)] {
        let pairs: Vec<(bool, bool)> = (0..20).map(|number| (number < repaired, false)).collect();
        let report = described(vec![("script".to_owned(), twice(&pairs))], AfterFrom::Draft);
        let found = report.models[0].pairs.unwrap();
        assert_eq!((found.before_only, found.beyond_chance), (repaired as u64, beyond));
        let texts = Texts::korean();
        for shown in [demo_compare::table(&texts, &report, Style::default()), demo_compare::markdown(&texts, &report)] {
            assert_eq!(shown.contains("줄었지만 차이가 우연의 범위 안입니다"), !beyond, "{shown}");
            assert_eq!(shown.contains("줄었고, 우연으로 보기 어렵습니다"), beyond, "{shown}");
            assert!(shown.contains("정확도를 잰 값이 아닙니다") && shown.contains("+ dept_code"), "{shown}");
            assert!(shown.contains(&trace(0)) && shown.contains(&trace(1_000)) && !shown.contains("j2"), "{shown}");
        }
        let table = demo_compare::table(&texts, &report, Style::default());
        let wide: Vec<&str> = table.lines().filter(|line| width(line) > 80).collect();
        assert_eq!(wide, [""; 0]);
        assert!(demo_compare::json(&texts, &report).unwrap().lines().nth(1).unwrap().contains("provenance"));
    }
}

/// Two models, each 0.03125: together 0.0625.
#[test]
fn several_models_are_corrected_together() {
    let pairs: Vec<(bool, bool)> = (0..20).map(|number| (number < 6, false)).collect();
    let two = vec![("a".to_owned(), twice(&pairs)), ("b".to_owned(), twice(&pairs))];
    let report = described(two, AfterFrom::File);
    for model in &report.models {
        let found = model.pairs.unwrap();
        assert_eq!((found.p, found.p_corrected, found.beyond_chance), (0.03125, 0.0625, false));
    }
    let shown = demo_compare::table(&Texts::korean(), &report, Style::default());
    assert!(shown.contains("Holm") && shown.contains("고친 p=0.062") && shown.contains("--tools-after"), "{shown}");
}

#[test]
fn runs_that_say_nothing_of_the_description_are_left_out_and_told() {
    let mut questions = twice(&[(true, false), (true, false), (true, true), (false, false)]);
    questions[0].after.as_mut().unwrap().failed = Some("HTTP 500".to_owned());
    questions[1].before.given = Answer::Unjudged;
    let report = described(vec![("openai:x".to_owned(), questions)], AfterFrom::Draft);
    let model = &report.models[0];
    assert_eq!((model.left_out, model.before.compared, model.before.matched), (2, 2, 1));
    assert_eq!(model.after.unwrap().matched, 1);
    let shown = demo_compare::table(&Texts::korean(), &report, Style::default());
    assert!(shown.contains("뺀 질문: 2개") && shown.contains("모델이 답하지 않음(HTTP 500)"), "{shown}");
    // All left out: nothing to compare, and no share of nothing.
    let mut questions = twice(&[(true, false)]);
    questions[0].before.failed = Some("x".to_owned());
    let report = described(vec![("x".to_owned(), questions)], AfterFrom::Draft);
    let pairs = report.models[0].pairs.unwrap();
    assert_eq!((pairs.difference, pairs.p, pairs.beyond_chance), (None, 1.0, false));
    let shown = demo_compare::table(&Texts::korean(), &report, Style::default());
    assert!(shown.contains("견줄 짝이 없습니다"), "{shown}");
}

#[test]
fn nothing_is_asked_again_without_a_draft() {
    let mut questions = twice(&[(false, false), (false, false)]);
    questions.iter_mut().for_each(|question| question.after = None);
    let report = described(vec![("script".to_owned(), questions)], AfterFrom::Nothing);
    assert_eq!((report.models[0].after, report.models[0].pairs), (None, None));
    let texts = Texts::korean();
    for shown in [demo_compare::table(&texts, &report, Style::default()), demo_compare::markdown(&texts, &report)] {
        assert!(shown.contains("다시 돌리지 않았습니다") && !shown.contains("j2"), "{shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The report over what the store says is what a plain loop over plan and diagnoses counts; every run stands in
    /// one cell. `lost` says which faults the fake agent failed to put in.
    #[test]
    fn report_of_a_store_is_a_naive_count(
        runs in 0_u64..45, controls in 0_usize..4, overlap in any::<bool>(),
        lost in proptest::collection::vec(0_u8..4, 49),
    ) {
        let faults = spread(runs, overlap).chain(std::iter::repeat_n(Vec::new(), controls));
        let runs_made: Vec<Made> = faults.enumerate().map(|(number, faults)| made(number, &faults)).collect();
        let mut fixture = tools(Fixture::new());
        for (number, run) in runs_made.iter().enumerate() {
            let holding: &[InjectedFault] = match (lost[number], run.faults.is_empty()) {
                (0, true) => &[InjectedFault::SwallowError],
                (0, false) => &run.faults[1..],
                _ => &run.faults,
            };
            // Some never get to the store.
            if lost[number] != 1 || number % 2 == 0 {
                fixture = played(fixture, &run.trace_id, holding);
            }
        }
        let said = judged(&fixture.store());
        let found = report(&About { overlap, ..ABOUT }, &runs_made, &said);
        let of = |run: &Made| said.get(&run.trace_id).map_or(given(Answer::Unjudged, &[]), |one| one.judged.given.clone());
        let mut in_cells = 0;
        for row in &found.confusion {
            for (place, count) in row.given.iter().enumerate() {
                let same = |run: &&Made| run.faults == row.faults && of(run).answer == Answer::ALL[place];
                prop_assert_eq!(*count, runs_made.iter().filter(same).count() as u64);
            }
            prop_assert_eq!(row.runs, row.given.iter().sum::<u64>());
            in_cells += row.runs;
        }
        prop_assert_eq!(in_cells, runs_made.len() as u64);
        prop_assert_eq!((found.runs, found.controls), (runs, controls as u64));
        let with_fault: Vec<&Made> = runs_made.iter().filter(|run| !run.faults.is_empty()).collect();
        let matched = with_fault.iter().filter(|run| of(run).answer == expected(&run.faults).answer).count() as u64;
        let all = with_fault.iter().filter(|run| of(run) == expected(&run.faults)).count() as u64;
        prop_assert_eq!((found.verdict.matched, found.verdict.compared), (matched, runs));
        prop_assert_eq!(found.all_rules.matched, all);
        let interval = wilson(Share { hits: matched, of: runs });
        prop_assert_eq!((found.verdict.low, found.verdict.high), (interval.low, interval.high));
        let told: u64 = found.mismatches.iter().filter(|run| !run.faults.is_empty()).count() as u64;
        prop_assert_eq!(told + matched, runs);
        prop_assert!(found.mismatches.iter().all(|run| run.why.is_some()));
        prop_assert_eq!(found.all_runs.iter().filter(|run| run.why.is_some()).count(), found.mismatches.len());
        let also: u64 = found.also_found.iter().map(|row| row.runs).sum();
        prop_assert_eq!(also as usize, runs_made.iter().map(|run| of(run).also.len()).sum::<usize>());
        prop_assert_eq!(found.remainder, runs % if overlap { 10 } else { 5 });
    }

    /// Shares, pairs and p are those of a plain loop.
    #[test]
    fn change_of_a_model_is_a_naive_count(pairs in proptest::collection::vec(any::<(bool, bool)>(), 1..40)) {
        let model = &changes(vec![("m".to_owned(), twice(&pairs))])[0];
        let of = |wanted: (bool, bool)| pairs.iter().filter(|pair| **pair == wanted).count() as u64;
        let found = model.pairs.unwrap();
        prop_assert_eq!(
            [found.both, found.before_only, found.after_only, found.neither],
            [of((true, true)), of((true, false)), of((false, true)), of((false, false))]
        );
        prop_assert_eq!(model.before.matched, of((true, true)) + of((true, false)));
        prop_assert_eq!(model.after.unwrap().matched, of((true, true)) + of((false, true)));
        prop_assert_eq!(found.p, mcnemar(found.before_only, found.after_only));
        let [low, high] = found.difference_interval.unwrap();
        let difference = found.difference.unwrap();
        prop_assert!(low <= difference && difference <= high);
        prop_assert_eq!(difference < 0.0, found.before_only > found.after_only);
    }
}
