//! `hq-candidates`: what is counted, against a naive grouping; periods, masking, decisions; and the documents.
//!
//! `fixtures/days/expected/` holds the documents of the last week of `fixtures/days`, made with those by
//! `TACO_TRACE_MAKE_DAYS=1`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use chrono::NaiveDate;
use proptest::prelude::*;
use serde_json::Value;
use taco_trace::diagnose::{DraftMode, Outcome, diagnose};
use taco_trace::hq::{Request, handoff};
use taco_trace::ingest::mask::Numbered;
use taco_trace::model::hq::{Change, Group, Handoff};
use taco_trace::model::{Decided, HqDecision, Rule};
use taco_trace::render::{Texts, hq as document};
use taco_trace::store::{Scope, Store};

use super::oracle;
use super::support::{Fixture, answer, call, repository, tool};
use super::support_cli::{Place, program, told};
use super::support_run::judge_batches;

const DAY_NS: i64 = 86_400_000_000_000;
/// The cases asked for are small ones: here each makes a store and asks it four times.
const STORES_A_CASE: u32 = 32;
/// Midnight in Korea of Monday, 2026-10-12.
const MONDAY_NS: i64 = 1_791_730_800_000_000_000;

fn date(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn request(since: Option<&str>, until: Option<&str>, min_agents: usize) -> Request {
    Request { since: since.map(date), until: until.map(date), min_agents, with_arguments: false }
}

fn made(store: &Store, request: &Request) -> Handoff {
    let mut masking = Numbered::new(document::mask_labels(&Texts::korean()));
    handoff(store, request, &mut masking).unwrap_or_else(|error| panic!("{error}"))
}

/// The three documents, one behind the other.
fn everything(store: &Store, with_arguments: bool) -> String {
    let request = Request { with_arguments, ..request(None, None, 2) };
    in_all_forms(&made(store, &request), with_arguments)
}

fn in_all_forms(made: &Handoff, with_arguments: bool) -> String {
    let json = serde_json::to_string_pretty(made).unwrap();
    document::markdown(&Texts::korean(), made, with_arguments) + &json + &document::csv(made)
}

/// A run of that agent which calls a tool that is not defined.
fn ghost(fixture: Fixture, trace: &str, agent: &str, tool: &str, start_ns: i64) -> Fixture {
    fixture
        .span(answer(trace, &format!("root {trace}")).agent(agent).start(start_ns))
        .span(call(trace, &format!("call {trace}")).tool(tool).start(start_ns + 1))
}

fn ghosts(runs: &[(&str, &str, i64)]) -> Store {
    let fixture = Fixture::new().tool(tool("a"));
    let add = |fixture, (trace, agent, start_ns): &(&str, &str, i64)| ghost(fixture, trace, agent, "ghost", *start_ns);
    runs.iter().fold(fixture, add).store()
}

fn groups(made: &Handoff) -> Vec<&Group> {
    made.candidates.iter().chain(&made.below_min_agents).collect()
}

fn one(made: &Handoff) -> &Group {
    let groups = groups(made);
    assert_eq!(groups.len(), 1);
    groups[0]
}

// periods

#[test]
fn period_has_its_first_and_last_day_and_nothing_beside() {
    let store = ghosts(&[
        ("two days before", "x", MONDAY_NS - DAY_NS - 1),
        ("day before, first", "x", MONDAY_NS - DAY_NS),
        ("day before, last", "x", MONDAY_NS - 1),
        ("first", "x", MONDAY_NS),
        ("last", "y", MONDAY_NS + DAY_NS - 1),
        ("after", "z", MONDAY_NS + DAY_NS),
    ]);
    let made = made(&store, &request(Some("2026-10-12"), Some("2026-10-12"), 2));
    let group = one(&made);
    assert_eq!((group.runs, group.previous_runs, group.agents.len()), (2, 2, 2));
    assert_eq!(group.change, Change::Same);
    assert_eq!((made.runs.judged, made.runs.previous_judged, made.runs.days), (2, 2, 1));
    assert_eq!(group.first_seen, "2026-10-12T00:00:00.000+09:00");
    assert_eq!(group.last_seen, "2026-10-12T23:59:59.999+09:00");
    let previous = made.previous_period.unwrap();
    assert_eq!((previous.since.as_str(), previous.until.as_str(), previous.days), ("2026-10-11", "2026-10-11", 1));
}

#[test]
fn period_is_the_last_seven_days_unless_named() {
    let runs = [
        ("before", "x", MONDAY_NS - 6 * DAY_NS - 1),
        ("first", "x", MONDAY_NS - 6 * DAY_NS),
        ("last", "x", MONDAY_NS + DAY_NS - 1),
    ];
    let store = ghosts(&runs);
    let period = |since, until| {
        let made = made(&store, &request(since, until, 1));
        let period = made.period.clone().unwrap();
        (period.since, period.until, made.runs.judged, made.runs.previous_judged)
    };
    let days = |since: &str, until: &str, runs, previous| (since.to_owned(), until.to_owned(), runs, previous);
    assert_eq!(period(None, None), days("2026-10-06", "2026-10-12", 2, 1));
    assert_eq!(period(Some("2026-10-12"), None), days("2026-10-12", "2026-10-12", 1, 0));
    assert_eq!(period(None, Some("2026-10-06")), days("2026-09-30", "2026-10-06", 2, 0));
    assert_eq!(period(Some("2026-10-20"), None), days("2026-10-20", "2026-10-20", 0, 0));
    // As far as times reach.
    assert_eq!(period(Some("1678-01-01"), Some("2262-01-01")), days("1678-01-01", "2262-01-01", 3, 0));
}

#[test]
fn store_without_runs_has_no_period_unless_named() {
    let store = Store::in_memory().unwrap();
    assert_eq!(made(&store, &request(None, None, 2)).period, None);
    let named = made(&store, &request(Some("2026-10-12"), None, 2)).period.unwrap();
    assert_eq!((named.since.as_str(), named.until.as_str()), ("2026-10-12", "2026-10-12"));
    assert!(everything(&store, true).starts_with("# HQ 전달 후보\n\n저장소에 실행이 없습니다.\n"));
}

#[test]
fn change_is_told_by_number_of_runs() {
    assert_eq!(
        [(1, 0), (3, 2), (2, 2), (1, 2)].map(|(now, before)| Change::of(now, before)),
        [Change::New, Change::More, Change::Same, Change::Fewer]
    );
}

// agents

#[test]
fn candidate_has_so_many_agents_or_more() {
    let store = ghosts(&[("1", "x", MONDAY_NS), ("2", "x", MONDAY_NS + 10), ("3", "y", MONDAY_NS + 20)]);
    let candidates = |min_agents| {
        let made = made(&store, &request(None, None, min_agents));
        (made.candidates.len(), made.below_min_agents.len())
    };
    assert_eq!([1, 2, 3].map(candidates), [(1, 0), (1, 0), (0, 1)]);
}

#[test]
fn runs_without_a_named_agent_are_one_agent() {
    let names = |runs: &[(&str, &str, i64)]| {
        let store = ghosts(runs);
        store.execute("UPDATE spans SET agent_name = NULL WHERE agent_name = 'nobody'").unwrap();
        let made = made(&store, &request(None, None, 2));
        let agents = one(&made).agents.iter().map(|agent| (agent.agent_name.clone(), agent.runs)).collect::<Vec<_>>();
        assert_eq!(made.runs.agents, agents.len() as i64);
        (made.candidates.len(), agents)
    };
    let two = [("1", "nobody", MONDAY_NS), ("2", "nobody", MONDAY_NS + 10), ("3", " ", MONDAY_NS + 20)];
    assert_eq!(names(&two), (0, vec![(None, 3)]));
    let beside = [("1", "nobody", MONDAY_NS), ("2", "(이름 없음)", MONDAY_NS + 10)];
    assert_eq!(names(&beside), (1, vec![(None, 1), (Some("(이름 없음)".to_owned()), 1)]));
}

#[test]
fn run_counts_once_however_often_it_is_found() {
    let fixture = Fixture::new().tool(tool("a").required("k", &["string"]));
    let store = fixture
        .span(answer("t", "root").start(MONDAY_NS))
        .span(call("t", "s1").start(MONDAY_NS + 1))
        .span(call("t", "s2").start(MONDAY_NS + 2))
        .span(call("t", "s3").tool("b").start(MONDAY_NS + 3))
        .store();
    let made = made(&store, &request(None, None, 1));
    let told: Vec<_> = made.candidates.iter().map(|group| (group.rule, group.tool_name.as_str(), group.runs)).collect();
    // What else was found counts too.
    assert_eq!(told, [(Rule::UndefinedTool, "b", 1), (Rule::ArgsMismatch, "a", 1)]);
    assert_eq!(made.candidates[1].examples[0].span_ids, ["s1", "s2"]);
}

#[test]
fn share_is_of_the_judged_runs_that_call_the_tool() {
    let fixture = Fixture::new().tool(tool("a").required("k", &["string"]));
    let fixture = (0..3).fold(fixture, |fixture, number| {
        let trace = format!("t{number}");
        let args =
            if number == 0 { call(&trace, "s") } else { call(&trace, "s").args("{\"k\":\"v\"}").arg("k", "string") };
        let start_ns = MONDAY_NS + number;
        fixture.span(answer(&trace, "root").start(start_ns)).span(args.start(start_ns + 100))
    });
    // A run that cannot be judged calls it as well.
    let store = fixture.span(call("lost", "s").no_parent().start(MONDAY_NS + 50)).store();
    let made = made(&store, &request(None, None, 1));
    let group = one(&made);
    assert_eq!((group.runs, group.runs_of_tool, group.share_permille), (1, 3, 333));
    assert_eq!((made.runs.judged, made.runs.unjudged), (3, 1));
}

#[test]
fn examples_are_the_last_runs_of_different_agents() {
    let store = ghosts(&[
        ("x1", "x", MONDAY_NS),
        ("x2", "x", MONDAY_NS + 10),
        ("y1", "y", MONDAY_NS + 20),
        ("x3", "x", MONDAY_NS + 30),
        ("x4", "x", MONDAY_NS + 40),
    ]);
    let made = made(&store, &request(None, None, 2));
    let shown: Vec<&str> = one(&made).examples.iter().map(|example| example.trace_id.as_str()).collect();
    assert_eq!(shown, ["y1", "x3", "x4"]);
}

#[test]
fn definitions_are_those_of_the_runs_and_equal_ones_are_one() {
    let fixture = Fixture::new()
        .tool(tool("a").required("k", &["string"]).set("old").timeout_ms(10))
        .tool(tool("a").required("k", &["string"]).set("new").timeout_ms(20))
        .tool(tool("a").required("k", &["string"]).set("newest").timeout_ms(20));
    let sets = ["old", "old", "new", "newest"];
    let store = sets.iter().zip(0..).fold(fixture, |fixture, (set, number)| {
        let (trace, start_ns) = (format!("t{number}"), MONDAY_NS + number * 10);
        let root = answer(&trace, "root").start(start_ns);
        fixture.span(root).span(call(&trace, "s").start(start_ns + 1)).tool_set_of(&trace, Some(set))
    });
    let made = made(&store.store(), &request(None, None, 1));
    let told: Vec<_> =
        one(&made).definitions.iter().map(|tool| (tool.tool_set.as_str(), tool.timeout_ms, tool.runs)).collect();
    assert_eq!(told, [("newest", Some(20), 2), ("old", Some(10), 2)]);
    let sets: Vec<_> = made.tool_sets.iter().map(|set| (set.tool_set.as_deref(), set.runs)).collect();
    assert_eq!(sets, [(Some("old"), 2), (Some("new"), 1), (Some("newest"), 1)]);
}

// reviews and decisions

fn dismiss(store: &Store, trace: &str, rule: &str) {
    let sql = format!("INSERT INTO reviews VALUES ('{trace}', '{rule}', NULL, 'dismissed', 'why', 'me', 'now', 1)");
    store.execute(&sql).unwrap();
}

#[test]
fn dismissed_finding_is_left_out_of_both_periods() {
    let store = ghosts(&[
        ("before 1", "x", MONDAY_NS - 1),
        ("before 2", "x", MONDAY_NS - 2),
        ("1", "x", MONDAY_NS),
        ("2", "y", MONDAY_NS + 10),
    ]);
    let day = request(Some("2026-10-12"), Some("2026-10-12"), 2);
    assert_eq!(made(&store, &day).candidates.len(), 1);
    dismiss(&store, "2", "undefined_tool");
    dismiss(&store, "before 1", "undefined_tool");
    // Of another rule: says nothing here.
    dismiss(&store, "1", "error_hidden");
    let made = made(&store, &day);
    assert_eq!((made.candidates.len(), made.runs.dismissed_findings), (0, 1));
    assert_eq!((one(&made).runs, one(&made).previous_runs), (1, 1));
}

fn decided(decision: HqDecision, decided_ns: i64) -> Decided {
    Decided {
        tool_name: "ghost".to_owned(),
        rule: Rule::UndefinedTool,
        decision,
        reason: "because".to_owned(),
        decided_by: "me".to_owned(),
        decided_at: "2026-10-12T09:00:00.000+09:00".to_owned(),
        decided_ns,
    }
}

#[test]
fn decision_is_shown_with_the_runs_after_it() {
    let store = ghosts(&[("1", "x", MONDAY_NS), ("2", "y", MONDAY_NS + 10), ("3", "y", MONDAY_NS + 20)]);
    let shown = || {
        let made = made(&store, &request(None, None, 2));
        let decision = one(&made).decision.clone();
        decision.map(|earlier| (earlier.decided.decision, earlier.runs_after, earlier.judged_after))
    };
    assert_eq!(shown(), None);
    store.add_decision(&Decided { tool_name: "other".to_owned(), ..decided(HqDecision::Hold, 0) }).unwrap();
    store.add_decision(&Decided { rule: Rule::ErrorHidden, ..decided(HqDecision::Hold, 0) }).unwrap();
    assert_eq!(shown(), None);
    store.add_decision(&decided(HqDecision::Hold, MONDAY_NS + 9)).unwrap();
    assert_eq!(shown(), Some((HqDecision::Hold, 2, 2)));
    // A run that starts with the decision did not come after it.
    store.add_decision(&decided(HqDecision::FixHere, MONDAY_NS + 10)).unwrap();
    assert_eq!(shown(), Some((HqDecision::FixHere, 1, 1)));
    // The newest counts although the clock was set back.
    store.add_decision(&decided(HqDecision::HandOver, MONDAY_NS)).unwrap();
    assert_eq!(shown(), Some((HqDecision::HandOver, 1, 1)));
    let text = everything(&store, false);
    assert!(text.contains("이전 결정: HQ 전달 · 2026-10-12 09:00 · me · 이유: because"), "{text}");
    assert!(text.contains("그 뒤에 시작한 실행 1건에서 다시 나타났습니다."), "{text}");
    store.add_decision(&decided(HqDecision::HandOver, MONDAY_NS + 20)).unwrap();
    // No run began after it: nobody can say whether it comes back.
    assert_eq!(shown(), Some((HqDecision::HandOver, 0, 0)));
    let text = everything(&store, false);
    assert!(text.contains("그 뒤에 시작한 실행이 없어 다시 나타나는지 아직 모릅니다."), "{text}");
    assert!(!text.contains("다시 나타나지 않았습니다") && text.contains(",0,0\n"), "{text}");
}

#[test]
fn decision_after_which_other_runs_began_did_not_come_back() {
    let mut fixture = Fixture::new().tool(tool("a"));
    for (trace, agent, tool, start_ns) in
        [("1", "x", "ghost", MONDAY_NS), ("2", "y", "ghost", MONDAY_NS + 10), ("3", "y", "other", MONDAY_NS + 20)]
    {
        fixture = ghost(fixture, trace, agent, tool, start_ns);
    }
    let store = fixture.store();
    store.add_decision(&decided(HqDecision::HandOver, MONDAY_NS + 10)).unwrap();
    let text = everything(&store, false);
    assert!(text.contains("이 기간에 그 뒤에 시작한 실행 1건에서는 다시 나타나지 않았습니다."), "{text}");
}

#[test]
fn share_has_one_name_and_unit() {
    let store = ghosts(&[("1", "x", MONDAY_NS), ("2", "y", MONDAY_NS + 10)]);
    let mut made = made(&store, &request(None, None, 2));
    for (permille, percent) in [(0, "0.0"), (1, "0.1"), (286, "28.6"), (333, "33.3"), (1000, "100.0")] {
        made.candidates[0].share_permille = permille;
        let json = serde_json::to_string(&made).unwrap();
        assert!(json.contains(&format!("\"share_percent\":{percent},")) && !json.contains("permille"), "{json}");
        assert!(document::csv(&made).contains(&format!(",{percent},")), "{percent}");
    }
}

// against a naive grouping

/// Agents and runs of each rule and tool.
type Naive = BTreeMap<(Rule, String), (BTreeSet<Option<String>>, BTreeSet<String>)>;

fn diagnosed(store: &Store) -> Outcome {
    diagnose(store, &Texts::korean(), &Scope::default(), DraftMode::Off).unwrap()
}

/// The same from what `diagnose` says of the runs that start in the period, dismissed ones apart.
fn naive(outcome: &Outcome, from_ns: i64, before_ns: i64, dismissed: &BTreeSet<(String, Rule)>) -> Naive {
    let mut naive = Naive::new();
    for run in outcome.runs.iter().filter(|run| (from_ns..before_ns).contains(&run.start_ns)) {
        for finding in &run.diagnosis.findings {
            if dismissed.contains(&(run.diagnosis.trace_id.clone(), finding.rule)) {
                continue;
            }
            let (agents, runs) = naive.entry((finding.rule, finding.tool_name.clone())).or_default();
            agents.insert(run.diagnosis.agent_name.clone().filter(|name| !name.trim().is_empty()));
            runs.insert(run.diagnosis.trace_id.clone());
        }
    }
    naive
}

/// Every group with two agents is a candidate, no other is, and the figures are those of the naive grouping.
fn assert_groups_are(made: &Handoff, current: &Naive, previous: &Naive) {
    let mut told = BTreeSet::new();
    for (groups, is_candidate) in [(&made.candidates, true), (&made.below_min_agents, false)] {
        for group in groups {
            let key = (group.rule, group.tool_name.clone());
            let (agents, runs) = &current[&key];
            let named: BTreeSet<Option<String>> = group.agents.iter().map(|agent| agent.agent_name.clone()).collect();
            assert_eq!((&named, group.runs), (agents, runs.len() as i64), "{key:?}");
            assert_eq!(named.len(), group.agents.len());
            assert_eq!(agents.len() >= 2, is_candidate, "{key:?}");
            assert_eq!(group.agents.iter().map(|agent| agent.runs).sum::<i64>(), group.runs);
            assert_eq!(group.days.iter().map(|day| day.runs).sum::<i64>(), group.runs);
            assert_eq!(group.previous_runs, previous.get(&key).map_or(0, |(_, runs)| runs.len() as i64), "{key:?}");
            assert!(group.runs <= group.runs_of_tool);
            assert!(group.examples.iter().all(|example| runs.contains(&example.trace_id)));
            assert_eq!(group.examples.len(), if is_candidate { runs.len().min(3) } else { 0 });
            assert!(told.insert(key));
        }
    }
    assert_eq!(told.len(), current.len());
}

#[test]
fn groups_are_those_of_a_naive_grouping_on_random_worlds() {
    oracle::for_each_store(|store| {
        let made = made(store, &request(Some("1970-01-02"), Some("2200-01-01"), 2));
        let all = naive(&diagnosed(store), 0, i64::MAX, &BTreeSet::new());
        assert_groups_are(&made, &all, &Naive::new());
    });
}

/// A run: agent (0 has no name), half days after the first day, tools called with how, and whether it is dismissed.
type RandomRun = (u8, i64, Vec<(u8, u8)>, bool);

fn random_store(runs: &[RandomRun]) -> (Store, BTreeSet<(String, Rule)>) {
    let mut fixture = Fixture::new().tool(tool("t0").required("k", &["string"])).tool(tool("t1"));
    let mut dismissed = BTreeSet::new();
    for (number, (agent, half_days, calls, is_dismissed)) in runs.iter().enumerate() {
        let trace = format!("trace{number}");
        let start_ns = MONDAY_NS + half_days * DAY_NS / 2;
        fixture = fixture.span(answer(&trace, "root").agent(&format!("agent{agent}")).start(start_ns));
        for (place, (tool, how)) in calls.iter().enumerate() {
            let marker = format!("{{\"n\":\"MARKER{number}\",\"010-1234-5678\":1}}");
            let made = call(&trace, &format!("s{place}")).tool(&format!("t{tool}")).args(&marker);
            let made = if *how == 0 { made.error() } else { made };
            fixture = fixture.span(made.start(start_ns + 1 + place as i64));
        }
        if *is_dismissed {
            let sql = format!(
                "INSERT INTO reviews VALUES ('{trace}', 'undefined_tool', NULL, 'dismissed', 'why', 'me', 'now', 1);"
            );
            fixture = fixture.then(&sql);
            dismissed.insert((trace, Rule::UndefinedTool));
        }
    }
    (fixture.then("UPDATE spans SET agent_name = NULL WHERE agent_name = 'agent0';").store(), dismissed)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / STORES_A_CASE,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn groups_of_a_period_are_those_of_a_naive_grouping(
        runs in prop::collection::vec(
            (0_u8..4, 0_i64..10, prop::collection::vec((0_u8..4, 0_u8..3), 0..4), prop::bool::weighted(0.2)),
            0..24,
        ),
        first in 0_i64..4,
        length in 1_i64..3,
    ) {
        let (store, dismissed) = random_store(&runs);
        let day = |number: i64| (date("2026-10-12") + chrono::Days::new(number as u64)).to_string();
        let (since, until) = (day(first), day(first + length - 1));
        let from_ns = MONDAY_NS + first * DAY_NS;
        let span_ns = length * DAY_NS;
        let made = made(&store, &Request {
            with_arguments: false, ..request(Some(&since), Some(&until), 2)
        });
        let outcome = diagnosed(&store);
        let current = naive(&outcome, from_ns, from_ns + span_ns, &dismissed);
        let previous = naive(&outcome, from_ns - span_ns, from_ns, &dismissed);
        assert_groups_are(&made, &current, &previous);
        let without = everything(&store, false);
        prop_assert!(!without.contains("MARKER") && !without.contains("1234"), "{}", without);
        let shown = self::made(&store, &Request { with_arguments: true, ..request(None, None, 2) });
        let with = in_all_forms(&shown, true);
        prop_assert!(!with.contains("1234"), "{}", with);
        // A store that has candidates shows arguments of theirs when that is asked for.
        prop_assert_eq!(with.contains("MARKER"), !shown.candidates.is_empty());
    }
}

// bytes

/// The three weeks, a run of ingest for each file; `lines` changes the order of lines.
fn days(order: impl Fn(&mut Vec<PathBuf>), lines: impl Fn(String) -> String) -> Store {
    let folder = repository().join("fixtures/days");
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let mut batches: Vec<(String, Vec<String>)> = Vec::new();
    for number in ["1", "2"] {
        let tools = read(folder.join(format!("tools-{number}.json")));
        let entries = fs::read_dir(folder.join(format!("tools-{number}"))).unwrap();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        order(&mut files);
        batches.extend(files.into_iter().map(|file| (tools.clone(), vec![lines(read(file))])));
    }
    let texts: Vec<Vec<&str>> = batches.iter().map(|(_, files)| files.iter().map(String::as_str).collect()).collect();
    judge_batches(batches.iter().map(|(tools, _)| tools.as_str()).zip(texts.iter().map(Vec::as_slice))).store
}

#[test]
fn order_of_ingest_changes_no_byte() {
    let store = days(|_| {}, |text| text);
    let backwards = |text: String| text.lines().rev().map(|line| line.to_owned() + "\n").collect();
    let expected = [false, true].map(|with_arguments| everything(&store, with_arguments));
    assert_eq!(expected.clone(), [false, true].map(|with_arguments| everything(&store, with_arguments)));
    for store in [days(|files| files.reverse(), |text| text), days(|files| files.rotate_left(2), backwards)] {
        assert_eq!([false, true].map(|with_arguments| everything(&store, with_arguments)), expected);
    }
}

/// A store of `fixtures/days`, made by the program.
fn days_in(place: &Place) {
    for number in ["1", "2"] {
        let output = program()
            .args(["ingest", &format!("fixtures/days/tools-{number}"), "--quiet", "--tools"])
            .arg(format!("fixtures/days/tools-{number}.json"))
            .arg("--db")
            .arg(place.db())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }
}

fn hq(place: &Place, arguments: &[&str]) -> Output {
    program().arg("hq-candidates").args(arguments).arg("--db").arg(place.db()).output().unwrap()
}

/// What the command writes; it must succeed.
fn hq_text(place: &Place, arguments: &[&str]) -> String {
    let output = hq(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    assert_eq!(told(&output), "", "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Without the hash of the rule set, which changes with any view.
fn steady(text: &str) -> String {
    let sha = taco_trace::store::rule_set_sha256();
    text.replace(&sha, "sha256").replace(&sha[..12], "sha256")
}

#[test]
fn documents_of_three_weeks_are_as_expected() {
    let place = Place::new();
    days_in(&place);
    let folder = repository().join("fixtures/days/expected");
    for (name, arguments) in [
        ("hq-candidates.md", &[][..]),
        ("hq-candidates.json", &["--format", "json"]),
        ("hq-candidates.csv", &["--format", "csv"]),
        ("hq-candidates-with-args.md", &["--with-args", "--min-agents", "1", "--until", "2026-10-08"]),
    ] {
        let found = steady(&hq_text(&place, arguments));
        let path = folder.join(name);
        if std::env::var_os("TACO_TRACE_MAKE_DAYS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &found).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert!(found == expected, "{name} is not as expected:\n{found}");
    }
}

#[test]
fn document_in_a_file_is_the_same() {
    let place = Place::new();
    days_in(&place);
    let path = place.path("handoff.md");
    assert_eq!(hq_text(&place, &["--output", path.to_str().unwrap()]), "");
    assert_eq!(fs::read_to_string(path).unwrap(), hq_text(&place, &[]));
    let output = hq(&place, &["--output", place.path("no/such/folder.md").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3));
    assert!(told(&output).contains("folder.md"));
}

// what must not leave

#[test]
fn personal_values_are_masked_where_arguments_are_asked_for() {
    let place = Place::new();
    days_in(&place);
    let period = ["--since", "2026-09-28", "--until", "2026-10-16", "--min-agents", "1"];
    for format in ["md", "json", "csv"] {
        let ask = |more: &[&str]| hq_text(&place, &[&period, &["--format", format][..], more].concat());
        let (without, with) = (ask(&[]), ask(&["--with-args"]));
        for value in ["A-10231", "A-10872", "B-20417", "C-30988", "010-2345-6789", "02-2100-1234", "@agency.go.kr"] {
            assert!(!without.contains(value) && !with.contains(value), "{format}: {value}");
        }
        for value in ["수의계약 금액 기준", "D-1203", "F-2"] {
            assert!(!without.contains(value), "{format}: {value}");
        }
        if format != "csv" {
            assert!(with.contains("[전화번호 1]") || with.contains("\\[전화번호 1\\]"), "{with}");
            assert!(with.contains("dept_code") && with.contains("D-1"), "{with}");
        }
        assert_eq!(with, ask(&["--with-args"]));
    }
}

fn numbered() -> Numbered {
    Numbered::new(["RRN", "PHONE", "CARD", "MAIL", "EMP", "NUMBER"].map(str::to_owned))
}

#[test]
fn values_are_numbered_in_the_order_of_the_document() {
    let mut masking = numbered();
    assert_eq!(masking.mask("010-2345-6789, a@b.kr, 010 8765 4321"), "[PHONE 1], [MAIL 1], [PHONE 2]");
    assert_eq!(masking.mask("+82 10-2345-6789"), "[PHONE 1]", "however it is written");
    assert_eq!(masking.mask("900101-1234568"), "[RRN 1]");
    assert_eq!(masking.mask("4111 1111 1111 1111"), "[CARD 1]");
    assert_eq!(masking.mask(r#"{"employee_no":"A-10231","n":3}"#), r#"{"employee_no":"[EMP 1]","n":3}"#);
    assert_eq!(masking.mask("nothing, 42"), "nothing, 42");
}

#[test]
fn values_in_keys_numbers_and_of_a_masked_store_are_numbered_too() {
    let mut masking = numbered();
    assert_eq!(masking.mask(r#"{"010-2345-6789":1}"#), r#"{"[PHONE 1]":1}"#);
    assert_eq!(masking.mask("PHONE_c0ffee123456 EMP_abcdef012345"), "[PHONE 2] [EMP 1]");
    assert_eq!(
        masking.mask(r#"{"n":9000000000000001,"m":19000000000000001}"#),
        r#"{"n":[NUMBER 1],"m":19000000000000001}"#
    );
    assert_eq!(masking.mask(r#"{"card":4111111111111111}"#), r#"{"card":[CARD 1]}"#);
}

/// The text with each number of a label left out.
fn kinds(text: &str) -> String {
    let masked = numbered().mask(text);
    ["RRN", "PHONE", "CARD", "MAIL", "EMP"].iter().fold(masked, |masked, label| {
        (1..4).fold(masked, |masked, number| masked.replace(&format!("[{label} {number}]"), &format!("<{label}>")))
    })
}

#[rustfmt::skip]
const LEAVE_MASKED: [(&str, &str); 62] = [
    // registration numbers whatever the check digit, as given out since October 2020
    ("9001011234567", "<RRN>"),
    ("900101-1234567", "<RRN>"),
    ("900101 1234567", "<RRN>"),
    ("900101 - 1234567", "<RRN>"),
    ("2010053123456 님", "<RRN> 님"),
    ("201005-3123456", "<RRN>"),
    ("900101-*******", "<RRN>"),
    ("900101-1******", "<RRN>"),
    ("9001011******", "<RRN>"),
    ("900101-1XXXXXX.", "<RRN>."),
    ("９００１０１－１２３４５６７", "<RRN>"),
    ("주민번호 9001011234567", "주민번호 <RRN>"),
    ("주민번호는 1234567890123", "주민번호는 <RRN>"),
    (r#"{"주민등록번호":"9001011234567"}"#, r#"{"주민등록번호":"<RRN>"}"#),
    (r#"{"주민등록번호":9001011234567}"#, r#"{"주민등록번호":<RRN>}"#),
    (r#"{"n":9001011234567}"#, r#"{"n":<RRN>}"#),
    (r#"{"rrn":"1234567890123"}"#, r#"{"rrn":"<RRN>"}"#),
    (r#"{"jumin_no": 900101}"#, r#"{"jumin_no": <RRN>}"#),
    (r#"{"residentNo":"900101"}"#, r#"{"residentNo":"<RRN>"}"#),
    (r#"{"외국인등록번호":"850315 5123456"}"#, r#"{"외국인등록번호":"<RRN>"}"#),
    (r#"{"a":"{\"rrn\":9901321234567}"}"#, r#"{"a":"{\"rrn\":<RRN>}"}"#),
    // phones
    ("０１０-１２３４-５６７８", "<PHONE>"),
    ("010\u{200b}-1234-5678", "<PHONE>"),
    ("821012345678", "<PHONE>"),
    ("82-10-1234-5678", "<PHONE>"),
    ("00821012345678", "<PHONE>"),
    ("82 2 123 4567", "<PHONE>"),
    ("휴대폰: 1012345678", "휴대폰: <PHONE>"),
    ("{'phone': 1012345678, 'x': 1}", "{'phone': <PHONE>, 'x': 1}"),
    ("tel=(02) 123-4567", "tel=<PHONE>"),
    (r#"{"phone": 1012345678}"#, r#"{"phone": <PHONE>}"#),
    (r#"{"phone": 1012345678.0}"#, r#"{"phone": <PHONE>}"#),
    (r#"{"n": 821012345678}"#, r#"{"n": <PHONE>}"#),
    (r#"{"휴대폰": "1012345678"}"#, r#"{"휴대폰": "<PHONE>"}"#),
    (r#"{"user_mobile": "1012345678"}"#, r#"{"user_mobile": "<PHONE>"}"#),
    (r#"{"telNo":"2345-6789"}"#, r#"{"telNo":"<PHONE>"}"#),
    (r#"{"hp":"1012345678"}"#, r#"{"hp":"<PHONE>"}"#),
    (r#"{"전화번호":"5678"}"#, r#"{"전화번호":"<PHONE>"}"#),
    (r#"{"phones":["1012345678",212345678]}"#, r#"{"phones":["<PHONE>",<PHONE>]}"#),
    (r#"{"phone":{"number":1012345678}}"#, r#"{"phone":{"number":<PHONE>}}"#),
    // addresses
    ("홍길동@한국.kr", "<MAIL>"),
    ("홍길동@한국.한국", "<MAIL>"),
    ("홍길동@corp.kr", "<MAIL>"),
    ("kim@한국.kr", "<MAIL>"),
    ("kim＠corp.kr", "<MAIL>"),
    ("메일은 홍길동@한국.kr로 주세요", "메일은 <MAIL>로 주세요"),
    ("메일은kim@corp.kr로", "메일은<MAIL>로"),
    (r#"{"이메일":"kim.hana"}"#, r#"{"이메일":"<MAIL>"}"#),
    // employee numbers
    (r#"{"직번":"12345"}"#, r#"{"직번":"<EMP>"}"#),
    (r#"{"sabun":"A1234"}"#, r#"{"sabun":"<EMP>"}"#),
    (r#"{"교번":20190123}"#, r#"{"교번":<EMP>}"#),
    (r#"{"staff_id":"S 77"}"#, r#"{"staff_id":"<EMP>"}"#),
    (r#"{"target_staff_ids":["S77"]}"#, r#"{"target_staff_ids":["<EMP>"]}"#),
    (r#"{"employee":{"id":"A10231"}}"#, r#"{"employee":{"id":"<EMP>"}}"#),
    (r#"{"employees":[{"no":10231}]}"#, r#"{"employees":[{"no":<EMP>}]}"#),
    (r#"{"employee.id":"A10231"}"#, r#"{"employee.id":"<EMP>"}"#),
    (r#"{"emp.no":"A10231"}"#, r#"{"emp.no":"<EMP>"}"#),
    (r#"{"emp":{"no":"A10231"}}"#, r#"{"emp":{"no":"<EMP>"}}"#),
    (r#"{"사번":{"값":"A10231"}}"#, r#"{"사번":{"값":"<EMP>"}}"#),
    ("직번 123", "직번 <EMP>"),
    ("sabun=A12345", "sabun=<EMP>"),
    ("staff_id: AB-1234", "staff_id: <EMP>"),
];

#[rustfmt::skip]
const LEAVE_AS_THEY_ARE: [&str; 40] = [
    "", "가나다", "주민센터", "휴대폰", "전화", "phone", "@", "사번 없음", "직번 12",
    // days, times and amounts
    "2026-10-07", "20261007091203", "2026-10-07T09:12:03.123456789+09:00", "260107", "260107-1", "1791372645123",
    "1791372645", "1,234,567,890원", "820000000000", "8212345678901234", "12.5%", "900132-1234567", "901301-1234567",
    "900101-0234567", "900101-12345678",
    // ids, versions, addresses of machines
    "7f21c0a4e93b4d1f8a6c2e5b90d417aa", "550e8400-e29b-41d4-a716-446655440000", "call_010123456789012345", "F-2210",
    "D-1203", "v1.2.3", "192.168.10.12:8080", "pkg@1.2.3", "hong@localhost", "search_docs",
    // values that only stand under such a key
    r#"{"phone":null,"hotel":1234567,"amount":50000}"#, r#"{"mobile_os":"iOS 17","email":"none"}"#,
    r#"{"주민센터":"역삼1동","resident_count":1234}"#, r#"{"전화요금":50000,"phone_count":3}"#,
    r#"{"id":"A10231","no":20190123}"#, r#"{"employee":{"name":"x","dept":"D-1203"}}"#,
];

#[test]
fn what_may_be_personal_does_not_leave() {
    for (written, expected) in LEAVE_MASKED {
        assert_eq!(kinds(written), expected, "{written}");
    }
    for written in LEAVE_AS_THEY_ARE {
        assert_eq!(numbered().mask(written), written);
    }
}

#[test]
fn equal_values_have_one_number_however_they_are_written() {
    let mut masking = numbered();
    let written =
        r#"["010-1234-5678",{"phone":1012345678},"０１０１２３４５６７８","821012345678",{"hp":"10-1234-5678"}]"#;
    let one = r#"["[PHONE 1]",{"phone":[PHONE 1]},"[PHONE 1]","[PHONE 1]",{"hp":"[PHONE 1]"}]"#;
    assert_eq!(masking.mask(written), one);
    assert_eq!(masking.mask("900101-1234567, 9001011234567, 900101 1234567"), "[RRN 1], [RRN 1], [RRN 1]");
}

#[test]
fn description_reason_and_agent_are_masked_always() {
    let fixture = Fixture::new().tool(tool("a").required("k", &["string"]));
    let store = ["x 010-2345-6789", "y"].iter().zip(0..).fold(fixture, |fixture, (agent, number)| {
        let (trace, start_ns) = (format!("t{number}"), MONDAY_NS + number * 10);
        let root = answer(&trace, "root").agent(agent).start(start_ns);
        fixture.span(root).span(call(&trace, "s").start(start_ns + 1))
    });
    let store = store.then("UPDATE tool_definitions SET description = 'ask help@agency.go.kr';").store();
    let reason = "told by 010-2345-6789".to_owned();
    let decided_by = "fde@agency.go.kr".to_owned();
    let held = decided(HqDecision::Hold, 1);
    let decided = Decided { rule: Rule::ArgsMismatch, tool_name: "a".to_owned(), reason, decided_by, ..held };
    store.add_decision(&decided).unwrap();
    let text = everything(&store, false);
    assert!(!text.contains("2345") && !text.contains("agency.go.kr"), "{text}");
    assert!(text.contains("x \\[전화번호 1\\]") && text.contains("told by \\[전화번호 1\\]"), "{text}");
}

// Markdown

const HOSTILE: [&str; 10] = [
    "a|b",
    "`x` ``y",
    "<script>alert(1)</script>",
    "line\nbreak\r\n# head",
    "[x](javascript:alert(1))",
    "![x](http://evil.example/y.png)",
    "**bold** _it_ ~~s~~",
    "- [ ] HQ 전달",
    "&lt;b&gt; \\| \u{202e}x",
    "=1+1",
];

/// The cells of a row: parts between bars that are not escaped.
fn cells(line: &str) -> usize {
    let mut escaped = false;
    let is_bar = |c: char| {
        let bar = c == '|' && !escaped;
        escaped = c == '\\' && !escaped;
        bar
    };
    line.chars().map(is_bar).filter(|bar| *bar).count() - 1
}

#[test]
fn names_make_no_markup() {
    let fixture = Fixture::new().tool(tool("a"));
    let mut number = 0;
    let store = HOSTILE.iter().fold(fixture, |fixture, name| {
        HOSTILE[..2].iter().fold(fixture, |fixture, agent| {
            number += 1;
            ghost(fixture, &format!("t{number}"), &format!("{agent} {name}"), name, MONDAY_NS + number)
        })
    });
    let store = ghost(store, "alone", HOSTILE[2], "only here <b>", MONDAY_NS + 100).store();
    let sql = "INSERT INTO hq_decisions
        SELECT DISTINCT tool_name, 'undefined_tool', 'hold', tool_name || '|', tool_name, '2026-10-12T09:00', 1
        FROM spans WHERE tool_name IS NOT NULL";
    store.execute(sql).unwrap();
    let made = made(&store, &request(None, None, 2));
    assert_eq!(made.candidates.len(), HOSTILE.len());
    let text = document::markdown(&Texts::korean(), &made, false);
    // What is escaped is no sign of Markdown.
    let mut signs = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            letters.next();
        } else {
            signs.push(letter);
        }
    }
    for wrong in ["<", "&", "\n# head", "](", "*", "`x`", "http:", "- [ ] HQ 전달 ", "\u{202e}"] {
        assert!(!signs.contains(wrong), "{wrong}:\n{text}");
    }
    // A row has the cells of its head, whatever is in it.
    let mut width = None;
    for line in text.lines() {
        if !line.starts_with('|') {
            width = None;
            continue;
        }
        let found = cells(line);
        assert_eq!(found, *width.get_or_insert(found), "{line}");
    }
    // A spreadsheet makes no formula of a name.
    let rows = document::csv(&made);
    assert!(rows.contains("\n'- [ ] HQ 전달,") && rows.contains("\n'=1+1,"), "{rows}");
    assert!(!rows.contains(['\u{202e}', '\u{1b}']) && rows.contains("\\u{202e}x"), "{rows}");
    // Only the boxes of the document itself.
    let boxes = text.lines().filter(|line| line.starts_with("- [ ] ")).count();
    assert_eq!(boxes, 3 * HOSTILE.len());
}

// the command

#[test]
fn no_candidate_is_said_and_is_no_failure() {
    let place = Place::new();
    days_in(&place);
    let text = hq_text(&place, &["--min-agents", "5"]);
    assert!(text.contains("이 기간에 에이전트 5개 이상에서 되풀이된 도구·판정이 없습니다."), "{text}");
    assert!(text.contains("## 에이전트 5개 미만에서만 나온 것\n\n- budget_api"), "{text}");
    let empty = |more: &[&str]| {
        let output = hq(&place, &[&["--since", "2026-12-01"], more].concat());
        assert_eq!(output.status.code(), Some(0));
        assert!(
            told(&output).starts_with("그 기간에 시작한 실행이 없습니다. 있는 실행은 2026-09-28 ~ "),
            "{}",
            told(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    let nothing = empty(&[]);
    assert!(nothing.contains("되풀이된 도구·판정이 없습니다.") && !nothing.contains("에서만 나온 것"), "{nothing}");
    let rows = empty(&["--format", "csv"]);
    assert_eq!(rows.lines().count(), 1);
}

#[test]
fn decisions_are_kept_listed_and_shown() {
    let place = Place::new();
    days_in(&place);
    assert_eq!(hq_text(&place, &["decisions"]), "남은 결정이 없습니다.\n");
    let decide = |flag: &str, reason: &str| {
        hq_text(&place, &["decide", "budget_api", "args-mismatch", flag, "--reason", reason, "--by", "김하나"])
    };
    let kept = decide("--hold", "더 봅니다");
    assert_eq!(kept, "보류 결정을 남겼습니다: budget_api · 도구 정의와 맞지 않는 인자로 부름\n");
    decide("--fix-here", "설명을 고칩니다");
    decide("--hand-over", "스키마 | 형식");
    let listed = hq_text(&place, &["decisions"]);
    let places = ["보류 · 김하나", "현장 수정 · 김하나", "HQ 전달 · 김하나"].map(|text| listed.find(text).unwrap());
    assert!(places.is_sorted(), "{listed}");
    let json: Value = serde_json::from_str(&hq_text(&place, &["decisions", "--format", "json"])).unwrap();
    assert_eq!(json[2]["decision"], "hand_over");
    assert_eq!(json[2]["verdict"], "도구 정의와 맞지 않는 인자로 부름");
    let table = hq_text(&place, &["decisions", "--format", "md"]);
    assert!(table.starts_with("| 판정 | 도구 |") && table.contains("스키마 \\| 형식"), "{table}");
    let document = hq_text(&place, &[]);
    assert!(document.contains("이전 결정: HQ 전달 · ") && document.contains("스키마 \\| 형식"), "{document}");
    let rows = hq_text(&place, &["--format", "csv"]);
    assert!(rows.lines().nth(1).unwrap().contains(",hand_over,스키마 | 형식,김하나,"), "{rows}");
}

#[test]
fn wrong_use_is_told() {
    let place = Place::new();
    days_in(&place);
    let decide = ["decide", "budget_api", "args-mismatch"];
    for (arguments, named) in [
        (&["--since", "yesterday"][..], "yesterday"),
        (&["--until", "2026-02-30"], "2026-02-30"),
        (&["--since", "2026-10-07 09:00"], "2026-10-07 09:00"),
        (&["--since", "2026-10-07", "--until", "2026-10-06"], "2026-10-07 2026-10-06"),
        (&["--min-agents", "0"], "1 부터 4294967295 까지"),
        (&["--min-agents", "99999999999999999999"], "1 부터 4294967295 까지"),
        (&["--since", "0001-01-01"], "1677-09-22 부터 2262-04-11 까지"),
        (&["--until", "2300-01-01"], "1677-09-22 부터 2262-04-11 까지"),
        (&["--format", "xlsx"], "xlsx"),
        (&["--min-agents", "3", "decisions"], "명령 앞에 쓸 수 없는 인자입니다: `--min-agents <수>`"),
        (&decide, "--reason"),
        (&[&decide[..], &["--reason", "x"]].concat(), "--hand-over"),
        (&[&decide[..], &["--hold", "--fix-here", "--reason", "x"]].concat(), "--fix-here"),
        (&[&decide[..], &["--hold", "--reason", "  "]].concat(), "이유가 비어"),
        (&[&decide[..], &["--hold", "--reason", "\u{200b}"]].concat(), "이유가 비어"),
        (&["decide", "budget_api", "normal", "--hold", "--reason", "x"], "normal"),
        (&["decide", "budget_api", "nothing", "--hold", "--reason", "x"], "args-mismatch"),
        (&["decide", "budget", "args-mismatch", "--hold", "--reason", "x"], "`budget`"),
    ] {
        let output = hq(&place, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(told(&output).contains(named), "{arguments:?}: {}", told(&output));
    }
    let missing = Place::new();
    for arguments in [&[][..], &["decisions"], &[&decide[..], &["--hold", "--reason", "x"]].concat()] {
        let output = hq(&missing, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(told(&output).contains("저장소가 없습니다"), "{}", told(&output));
        assert!(!told(&output).contains("경로를 직접"), "no path is taken: {}", told(&output));
    }
}
