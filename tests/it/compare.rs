//! `compare`: what changed between two selections, on made rows, on the three weeks of `fixtures/days`, and between two
//! rule sets on real traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::Value;
use taco_trace::compare::{Hit, Judged, Selector, SelectorError, Side, compare, compare_pairs};
use taco_trace::model::comparison::{Comparison, Test, Trend};
use taco_trace::model::{Rule, Verdict};
use taco_trace::store::{RULE_SET, Store, rule_sets, view_files};

use super::support::repository;
use super::support_cli::{Place, program, told};

const FIRST_WEEK: &str = "date:2026-09-28..2026-10-02";
const THIRD_WEEK: &str = "date:2026-10-12..2026-10-16";

// --- on made rows ---

fn run(id: usize, agent: &str, hits: &[(Rule, &str)]) -> Judged {
    Judged {
        trace_id: format!("{id:032x}"),
        agent_name: Some(agent.to_owned()),
        tool_set: None,
        tool_calls: 2,
        hits: hits.iter().map(|(rule, tool)| Hit { rule: *rule, tool_name: (*tool).to_owned(), calls: 1 }).collect(),
        dismissed: 0,
    }
}

/// A side with so many runs in which the rule holds, and so many normal ones; ids from `first` on.
fn side(first: usize, wrong: usize, normal: usize) -> Side {
    let runs = (0..wrong + normal).map(|place| {
        let hits: &[(Rule, &str)] = if place < wrong { &[(Rule::ErrorHidden, "t")] } else { &[] };
        run(first + place, "a", hits)
    });
    Side { selection: String::new(), rule_set: String::new(), runs: runs.collect(), unjudged: 0 }
}

fn change_of(comparison: &Comparison, verdict: Verdict) -> taco_trace::model::comparison::Change {
    comparison.verdicts.iter().find(|row| row.verdict == verdict).unwrap().change
}

/// The rows that got worse, each in a word: the verdict, the tool and the verdict, or the agent.
fn worse(comparison: &Comparison) -> Vec<String> {
    let told = comparison.regressions.iter().map(|row| {
        let parts = [row.tool_name.as_deref(), row.name, row.agent_name.as_deref()];
        format!("{:?} {}", row.table, parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    });
    told.collect()
}

const HIDDEN: Verdict = Verdict::Found(Rule::ErrorHidden);

#[test]
fn trend_is_that_of_the_shares() {
    for (base, head, trend) in [
        ((0, 5), (1, 4), Trend::New),
        ((1, 4), (0, 5), Trend::Gone),
        ((1, 4), (2, 3), Trend::More),
        ((2, 3), (1, 4), Trend::Fewer),
        ((1, 1), (2, 2), Trend::Same),
        // 1/3 against 33/100: the difference is smaller than what is shown of it.
        ((1, 2), (33, 67), Trend::Fewer),
    ] {
        let comparison = compare(&side(0, base.0, base.1), &side(1000, head.0, head.1));
        let change = change_of(&comparison, HIDDEN);
        assert_eq!(change.trend, trend, "{base:?} {head:?}");
        assert_eq!(comparison.test, Test::FisherExact);
    }
}

/// Fisher's p of 0/n against k/m at both sides of 0.05, corrected for two rows (the verdict and the normal runs).
#[test]
fn regression_begins_where_the_corrected_p_is_below_alpha() {
    // 0/20 against 7/20: p 0.0083, corrected 0.0166; against 5/20: p 0.047, corrected 0.094.
    for (wrong, beyond) in [(5, false), (6, true), (7, true)] {
        let comparison = compare(&side(0, 0, 20), &side(1000, wrong, 20 - wrong));
        let change = change_of(&comparison, HIDDEN);
        assert_eq!(change.beyond_chance, beyond, "{wrong}: {change:?}");
        assert!(change.p_corrected >= change.p);
        // The rows of one tool and of one agent stand alone in their tables: nothing is corrected there.
        let of_both = ["Verdicts error-hidden", "Verdicts normal", "Findings t error-hidden", "Agents a"];
        assert_eq!(worse(&comparison), if beyond { &of_both[..] } else { &of_both[2..] });
        assert_eq!(worse(&compare(&side(0, 0, 20), &side(1000, 4, 16))), [""; 0]);
        // The same the other way round is no regression.
        assert!(compare(&side(1000, wrong, 20 - wrong), &side(0, 0, 20)).regressions.is_empty());
    }
}

/// What is wrong moves from one tool to another, or from one agent to another: the verdicts stay as they were.
#[test]
fn tool_or_agent_alone_is_a_regression() {
    let made = |first: usize, hits: &dyn Fn(usize) -> Vec<(Rule, &'static str)>| {
        let runs = (0..32).map(|place| run(first + place, ["a", "b"][place % 2], &hits(place)));
        Side { runs: runs.collect(), ..side(0, 0, 0) }
    };
    let of_tool = |tool: &'static str| {
        made(if tool == "t" { 0 } else { 1000 }, &move |place| {
            if place < 16 { vec![(Rule::ErrorHidden, tool)] } else { Vec::new() }
        })
    };
    assert_eq!(worse(&compare(&of_tool("t"), &of_tool("u"))), ["Findings u error-hidden"]);
    let of_agent = |odd: usize| {
        made(odd * 1000, &move |place| if place % 2 == odd { vec![(Rule::ErrorHidden, "t")] } else { Vec::new() })
    };
    assert_eq!(worse(&compare(&of_agent(0), &of_agent(1))), ["Agents b"]);
}

#[test]
fn run_counts_once_for_each_verdict_and_tool() {
    let twice = [(Rule::ArgsMismatch, "t"), (Rule::ArgsMismatch, "u"), (Rule::ErrorHidden, "t")];
    let base = Side { runs: vec![run(1, "a", &twice)], ..side(0, 0, 0) };
    let comparison = compare(&base, &side(1000, 0, 1));
    let of = |verdict| {
        let change = change_of(&comparison, verdict);
        (change.base.runs, change.base.calls)
    };
    assert_eq!(of(Verdict::Found(Rule::ArgsMismatch)), (1, 2));
    assert_eq!(of(HIDDEN), (1, 1));
    assert_eq!(comparison.findings.len(), 3);
    // A verdict that occurs nowhere is no row.
    assert_eq!(comparison.verdicts.len(), 3);
}

#[test]
fn agent_of_one_side_only_is_not_compared() {
    let base = Side { runs: vec![run(1, "a", &[])], ..side(0, 0, 0) };
    let head = Side { runs: vec![run(2, "b", &[(Rule::ErrorHidden, "t")])], ..side(0, 0, 0) };
    let comparison = compare(&base, &head);
    for row in &comparison.agents {
        assert_eq!(row.change.trend, Trend::NotComparable);
        assert!(row.change.difference.is_none() && row.change.p.is_none() && !row.change.beyond_chance);
    }
}

fn pairs(of: impl IntoIterator<Item = (usize, usize)>) -> Vec<(String, String)> {
    of.into_iter().map(|(base, head)| (format!("{base:032x}"), format!("{head:032x}"))).collect()
}

#[test]
fn pairs_are_tested_by_what_changed_within_them() {
    // Six questions went wrong and none was mended: beyond chance even though both rows are looked at together is not.
    let (base, head) = (side(0, 0, 10), side(1000, 7, 3));
    let comparison = compare_pairs(&base, &head, &pairs((0..10).map(|place| (place, 1000 + place)))).unwrap();
    let change = change_of(&comparison, HIDDEN);
    assert_eq!((change.base_only, change.head_only), (Some(0), Some(7)));
    assert_eq!(change.p, Some(0.015625));
    assert_eq!(change.p_corrected, Some(0.03125));
    assert_eq!(worse(&comparison)[..2], ["Verdicts error-hidden", "Verdicts normal"]);
    assert_eq!(comparison.test, Test::McNemarExact);
    let summary = comparison.pairs.as_ref().unwrap();
    assert_eq!((summary.pairs, summary.newly_wrong.len(), summary.repaired.len()), (10, 7, 0));
    // Six of ten: p 0.03125, corrected 0.0625 among the verdicts. Five of ten: p 0.0625.
    let comparison =
        compare_pairs(&base, &side(1000, 6, 4), &pairs((0..10).map(|place| (place, 1000 + place)))).unwrap();
    assert_eq!(worse(&comparison), ["Findings t error-hidden", "Agents a"]);
    let comparison =
        compare_pairs(&base, &side(1000, 5, 5), &pairs((0..10).map(|place| (place, 1000 + place)))).unwrap();
    assert_eq!(worse(&comparison), [""; 0]);
}

#[test]
fn pairs_without_a_run_are_left_out_and_runs_without_a_pair_too() {
    let (base, head) = (side(0, 1, 3), side(1000, 0, 5));
    let comparison = compare_pairs(&base, &head, &pairs([(0, 1000), (1, 1001), (9, 1002), (2, 9)])).unwrap();
    let summary = comparison.pairs.as_ref().unwrap();
    assert_eq!((summary.pairs, summary.left_out), (2, 2));
    assert_eq!((comparison.base.unpaired, comparison.head.unpaired), (2, 3));
    assert_eq!(summary.repaired, [[format!("{:032x}", 0), format!("{:032x}", 1000)]]);
    assert!(compare_pairs(&base, &head, &pairs([(9, 9)])).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn counts_are_those_of_counting(
        base in proptest::collection::vec((0_usize..3, 0_usize..32), 1..20),
        head in proptest::collection::vec((0_usize..3, 0_usize..32), 1..20),
    ) {
        let made = |first: usize, rows: &[(usize, usize)]| {
            let runs = rows.iter().enumerate().map(|(place, (agent, rules))| {
                let held = Rule::ALL.into_iter().enumerate().filter(|(bit, _)| rules >> bit & 1 == 1);
                let hits: Vec<(Rule, &str)> = held.map(|(_, rule)| (rule, "t")).collect();
                run(first + place, ["a", "b", "c"][*agent], &hits)
            });
            Side { runs: runs.collect(), ..side(0, 0, 0) }
        };
        let (first, second) = (made(0, &base), made(1000, &head));
        let comparison = compare(&first, &second);
        for (bit, rule) in Rule::ALL.into_iter().enumerate() {
            let count = |rows: &[(usize, usize)]| rows.iter().filter(|(_, rules)| rules >> bit & 1 == 1).count() as u64;
            let row = comparison.verdicts.iter().find(|row| row.verdict == rule.verdict());
            let found = row.map_or((0, 0), |row| (row.change.base.runs, row.change.head.runs));
            prop_assert_eq!(found, (count(&base), count(&head)));
        }
        for (place, agent) in ["a", "b", "c"].into_iter().enumerate() {
            let of = |rows: &[(usize, usize)]| {
                let own: Vec<usize> = rows.iter().filter(|(whose, _)| *whose == place).map(|(_, rules)| *rules).collect();
                (own.iter().filter(|rules| **rules > 0).count() as u64, own.len() as u64)
            };
            let row = comparison.agents.iter().find(|row| row.agent_name.as_deref() == Some(agent));
            let found = row.map(|row| [row.change.base, row.change.head].map(|part| (part.runs, part.of)));
            prop_assert_eq!(found.unwrap_or_default(), [of(&base), of(&head)]);
        }
        // Turned round, everything is turned round.
        let back = compare(&second, &first);
        for (there, back) in comparison.verdicts.iter().zip(&back.verdicts) {
            prop_assert_eq!(there.change.base, back.change.head);
            prop_assert_eq!(there.change.beyond_chance, back.change.beyond_chance);
        }
    }
}

// --- selectors ---

#[test]
fn selector_is_read_in_parts() {
    let all = Selector::parse("batch:3, date:2026-09-28..2026-10-02,tools:ab12,agent:a,b 팀,rules:v1").unwrap();
    assert_eq!(
        all,
        Selector {
            batch: Some(3),
            dates: Some((Some("2026-09-28".to_owned()), Some("2026-10-02".to_owned()))),
            tools: Some("ab12".to_owned()),
            agent: Some("a,b 팀".to_owned()),
            rules: Some("v1".to_owned()),
        }
    );
    let dates = |text: &str| Selector::parse(text).unwrap().dates.unwrap();
    assert_eq!(dates("date:2026-10-01.."), (Some("2026-10-01".to_owned()), None));
    assert_eq!(dates("date:..2026-10-01"), (None, Some("2026-10-01".to_owned())));
    assert_eq!(dates("date:2026-10-01"), (Some("2026-10-01".to_owned()), Some("2026-10-01".to_owned())));
    assert!(Selector::parse("rules:v1").unwrap().takes_every_run());
    assert!(!all.takes_every_run());
}

#[test]
fn selector_that_cannot_be_read_is_refused() {
    let wrong = |text: &str| Selector::parse(text).unwrap_err();
    assert_eq!(wrong(""), SelectorError::Unknown(String::new()));
    assert_eq!(wrong("2026-10-01"), SelectorError::Unknown("2026-10-01".to_owned()));
    assert_eq!(wrong("week:3"), SelectorError::Unknown("week:3".to_owned()));
    assert_eq!(wrong("batch:3,batch:4"), SelectorError::Repeated("batch".to_owned()));
    for part in ["batch:", "batch:x", "batch:0", "batch:-1", "date:", "date:..", "agent:", "tools: ", "rules:"] {
        assert_eq!(wrong(part), SelectorError::Value(part.trim().to_owned()), "{part}");
    }
}

#[test]
fn every_released_rule_set_can_be_asked_for() {
    let released: Vec<String> = view_files()
        .iter()
        .filter(|file| file.kind() == "sets" && file.name() == "diagnosis")
        .map(|file| file.view())
        .collect();
    let known: Vec<&str> = rule_sets().map(|(_, view)| view).collect();
    assert_eq!(known, released);
    assert!(known.contains(&RULE_SET));
}

// --- the command on fixtures/days ---

/// A store with the three weeks, made once and copied for each test: a store has one user at a time.
fn days(place: &Place) -> PathBuf {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("taco.duckdb");
        for part in ["1", "2"] {
            let tools = format!("fixtures/days/tools-{part}.json");
            let traces = format!("fixtures/days/tools-{part}");
            let output = program().args(["ingest", &traces, "--tools", &tools, "--db"]).arg(&db).output().unwrap();
            assert!(output.status.success(), "{}", told(&output));
        }
        folder
    });
    let db = place.db();
    fs::copy(made.path().join("taco.duckdb"), &db).unwrap();
    db
}

fn compared(db: &Path, more: &[&str]) -> Output {
    program().arg("compare").arg("--db").arg(db).args(more).output().unwrap()
}

fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", told(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(db: &Path, base: &str, head: &str) -> Value {
    serde_json::from_str(&stdout(&compared(db, &["--base", base, "--head", head, "--format", "json"]))).unwrap()
}

/// `TACO_TRACE_MAKE_COMPARE=1` writes the files anew.
#[test]
fn three_weeks_compare_as_they_did() {
    let place = Place::new();
    let db = days(&place);
    for format in ["md", "json"] {
        let found = stdout(&compared(&db, &["--base", FIRST_WEEK, "--head", THIRD_WEEK, "--format", format]));
        let path = repository().join(format!("fixtures/compare/days.{format}"));
        if std::env::var_os("TACO_TRACE_MAKE_COMPARE").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &found).unwrap();
        }
        assert_eq!(found, fs::read_to_string(&path).unwrap_or_default(), "{format}");
    }
}

#[test]
fn missing_department_is_repaired_and_budget_status_is_newly_wrong() {
    let place = Place::new();
    let found = json(&days(&place), FIRST_WEEK, THIRD_WEEK);
    let row = |tool: &str, name: &str| {
        let rows = found["findings"].as_array().unwrap();
        rows.iter().find(|row| row["tool_name"] == tool && row["name"] == name).unwrap().clone()
    };
    let repaired = row("search_regulation", "args-mismatch");
    assert_eq!((&repaired["base"]["runs"], &repaired["head"]["runs"]), (&17.into(), &1.into()));
    assert_eq!((repaired["trend"].as_str(), repaired["beyond_chance"].as_bool()), (Some("fewer"), Some(true)));
    // scipy.stats.fisher_exact([[17, 83], [1, 99]])
    assert_eq!(repaired["p"], 7.47501e-5);
    let wrong = row("get_budget_status", "undefined-tool");
    assert_eq!((&wrong["base"]["runs"], &wrong["head"]["runs"]), (&0.into(), &3.into()));
    assert_eq!(wrong["trend"], "new");
    let table = stdout(&compared(&days(&place), &["--base", FIRST_WEEK, "--head", THIRD_WEEK]));
    let worse = table.find("새로 나타났거나 늘어난 것").unwrap();
    let better = table.find("사라졌거나 줄어든 것(고쳐진 것)").unwrap();
    assert!(table[worse..better].contains("get_budget_status · 정의에 없는 도구를 부름"), "{table}");
    assert!(table[better..].contains("search_regulation · 도구 정의와 맞지 않는 인자로 부름"), "{table}");
    assert!(table.lines().all(|line| taco_trace::render::layout::width(line) <= 80), "{table}");
}

#[test]
fn counts_are_those_of_the_views_for_people() {
    let place = Place::new();
    let db = days(&place);
    let found = json(&db, FIRST_WEEK, THIRD_WEEK);
    let store = Store::open_existing(&db).unwrap();
    for (side, dates) in [("base", ["2026-09-28", "2026-10-02"]), ("head", ["2026-10-12", "2026-10-16"])] {
        let sql = format!(
            "SELECT tool_name, rule, COUNT(DISTINCT trace_id) FROM findings \
             WHERE korean_date BETWEEN '{}' AND '{}' GROUP BY ALL ORDER BY ALL",
            dates[0], dates[1]
        );
        let mut counted: Vec<String> = store
            .query_text(&sql)
            .unwrap()
            .into_iter()
            .map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(" "))
            .collect();
        counted.sort();
        let rows = found["findings"].as_array().unwrap();
        let mut told: Vec<String> = rows
            .iter()
            .filter(|row| row[side]["runs"] != 0)
            .map(|row| {
                let rule = row["name"].as_str().unwrap().replace('-', "_");
                format!("{} {rule} {}", row["tool_name"].as_str().unwrap(), row[side]["runs"])
            })
            .collect();
        told.sort();
        assert_eq!(told, counted, "{side}");
    }
}

#[test]
fn selectors_select_what_they_say() {
    let place = Place::new();
    let db = days(&place);
    let runs = |base: &str, head: &str| {
        let found = json(&db, base, head);
        let of = |side: &str| (found[side]["runs"].as_u64().unwrap(), found[side]["unjudged"].as_u64().unwrap());
        (of("base"), of("head"))
    };
    let by_batch = runs("batch:1", "batch:2");
    assert_eq!(by_batch, runs("tools:fixtures/days/tools-1.json", "tools:fixtures/days/tools-2.json"));
    assert_eq!(by_batch, runs("tools:390f539f", "tools:4FA4"));
    assert_eq!(by_batch, runs("date:..2026-10-11", "date:2026-10-12.."));
    let ((first, lost), (second, _)) = by_batch;
    assert_eq!((first + lost, second), (180, 100));
    let agent = "date:..2026-10-11,agent:인사 문의 에이전트";
    assert_eq!(runs(agent, "batch:2,agent:인사 문의 에이전트"), ((36, 0), (20, 0)));
    // A day has its whole Korean day.
    assert_eq!(runs("date:2026-09-28", "date:2026-09-29"), ((20, 0), (20, 0)));
}

#[test]
fn wrong_selections_are_told() {
    let place = Place::new();
    let db = days(&place);
    let pairs = |name: &str, text: &str| place.write(name, text).to_str().unwrap().to_owned();
    let wrong = pairs("wrong.csv", "base,head\n1,2\n");
    let twice = pairs("twice.csv", "base_trace_id,head_trace_id\naa,bb\naa,cc\n");
    let none = pairs("none.csv", "base_trace_id,head_trace_id\naa,bb\n");
    let short = pairs("short.jsonl", "{\"base_trace_id\": \"aa\"}\n");
    let broken = pairs("broken.jsonl", "{\"base_trace_id\": \"aa\", \"head_trace_id\": \"bb\"}\n{\n");
    let missing = place.path("missing.csv").to_str().unwrap().to_owned();
    for (base, head, pairs, status, part) in [
        ("week:1", "batch:2", None, 2, "week:1"),
        ("batch:1,batch:2", "batch:2", None, 2, "batch"),
        ("batch:one", "batch:2", None, 2, "batch:one"),
        ("date:2026-13-01", "batch:2", None, 2, "2026-13-01"),
        ("date:2026-10-02..2026-10-01", "batch:2", None, 2, "2026-10-02..2026-10-01"),
        ("rules:v9", "rules:v2", None, 2, "v1, v2"),
        ("batch:9", "batch:2", None, 2, "고른 실행이 없습니다: `batch:9`"),
        ("batch:1", "agent:아무도", None, 2, "그런 에이전트의 실행이 없습니다: `아무도`"),
        ("date:2026-12-01", "batch:1", None, 2, "(있는 실행은 2026-09-28 ~ 2026-10-16 에 시작했습니다)"),
        ("tools:ffff", "batch:2", None, 2, "ffff"),
        ("batch:1", "batch:1", None, 2, "양쪽에"),
        ("rules:v2", "rules:v2", None, 2, "280건"),
        ("batch:1,rules:v1", "rules:v2", None, 2, "일부(180건)"),
        ("batch:1", "batch:2", Some(&wrong), 3, "base_trace_id"),
        ("batch:1", "batch:2", Some(&twice), 3, "twice.csv:3"),
        ("batch:1", "batch:2", Some(&none), 2, "none.csv"),
        ("batch:1", "batch:2", Some(&short), 3, "short.jsonl:1"),
        ("batch:1", "batch:2", Some(&broken), 3, "broken.jsonl:2"),
        ("batch:1", "batch:2", Some(&missing), 3, "missing.csv"),
        ("rules:v1", "rules:v2", Some(&none), 2, "도움말: `--pairs` 를 빼세요"),
        ("rules:v2", "rules:v2", Some(&none), 2, "양쪽에"),
    ] {
        let mut arguments = vec!["--base", base, "--head", head];
        arguments.extend(pairs.iter().flat_map(|path| ["--pairs", path.as_str()]));
        let output = compared(&db, &arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", told(&output));
        assert!(told(&output).contains(part), "{arguments:?}: {}", told(&output));
        assert!(output.stdout.is_empty());
    }
    let output = compared(&place.path("no.duckdb"), &["--base", "batch:1", "--head", "batch:2"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(compared(&db, &["--base", "batch:1"]).status.code(), Some(2));
}

#[test]
fn pairs_come_from_csv_or_json_lines() {
    let place = Place::new();
    let db = days(&place);
    let store = Store::open_existing(&db).unwrap();
    // The same place in the day of the same agent, two weeks later.
    let sql = |from: &str, to: &str| {
        format!(
            "SELECT trace_id FROM runs WHERE korean_date BETWEEN '{from}' AND '{to}' AND unjudged_reason IS NULL \
             ORDER BY agent_name, start_ns"
        )
    };
    let ids = |from: &str, to: &str| -> Vec<String> {
        store.query_text(&sql(from, to)).unwrap().into_iter().flatten().flatten().collect()
    };
    let (base, head) = (ids("2026-09-28", "2026-10-02"), ids("2026-10-12", "2026-10-16"));
    drop(store);
    let csv: String = std::iter::once("question,head_trace_id,base_trace_id\n".to_owned())
        .chain(base.iter().zip(&head).map(|(base, head)| format!("q, {head} ,{}\n", base.to_uppercase())))
        .collect();
    let lines: String = base
        .iter()
        .zip(&head)
        .map(|(base, head)| format!("{{\"base_trace_id\":\"{base}\",\"head_trace_id\":\"{head}\"}}\n\n"))
        .collect();
    let with = |name: &str, text: &str| {
        let path = place.write(name, text);
        let flags = ["--base", FIRST_WEEK, "--head", THIRD_WEEK, "--format", "json", "--pairs", path.to_str().unwrap()];
        stdout(&compared(&db, &flags))
    };
    let found: Value = serde_json::from_str(&with("p.csv", &format!("\u{feff}{csv}"))).unwrap();
    assert_eq!(with("p.jsonl", &lines), with("p.csv", &csv));
    assert_eq!((&found["test"], &found["pairs"]["pairs"]), (&"mcnemar_exact".into(), &100.into()));
    let normal = found["verdicts"].as_array().unwrap().iter().find(|row| row["name"] == "normal").unwrap();
    assert_eq!(normal["base_only"].as_u64().unwrap(), found["pairs"]["newly_wrong"].as_array().unwrap().len() as u64);
    assert_eq!(normal["head_only"].as_u64().unwrap(), found["pairs"]["repaired"].as_array().unwrap().len() as u64);
}

// --- rule sets on real traces ---

#[test]
fn rule_sets_are_compared_run_by_run() {
    let place = Place::new();
    let folder = "fixtures/real/agent-framework-1.23.0";
    let (traces, tools) = (format!("{folder}/traces.jsonl"), format!("{folder}/tools.json"));
    let output = program().args(["ingest", &traces, "--tools", &tools, "--db"]).arg(place.db()).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
    let found = json(&place.db(), "rules:v1", "rules:v2");
    assert_eq!(
        (&found["base"]["rule_set"], &found["head"]["rule_set"]),
        (&"set_diagnosis_v1".into(), &"set_diagnosis_v2".into())
    );
    assert_eq!(found["test"], "mcnemar_exact");
    let row = |name: &str| {
        let rows = found["verdicts"].as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == name).unwrap();
        (row["base_only"].as_u64().unwrap(), row["head_only"].as_u64().unwrap())
    };
    // Calls that stand in messages only are judged by the second set alone.
    assert_eq!((row("args-mismatch"), row("undefined-tool"), row("normal")), ((0, 3), (0, 1), (4, 0)));
    let wrong = found["pairs"]["newly_wrong"].as_array().unwrap();
    assert!(wrong.len() == 4 && wrong.iter().all(|pair| pair[0] == pair[1]), "{wrong:?}");
    // What the sets find is what the views say.
    let store = Store::open_existing(&place.db()).unwrap();
    for (set, column) in [("set_diagnosis_v1", "base"), ("set_diagnosis_v2", "head")] {
        let sql = format!(
            "SELECT COUNT(DISTINCT d.trace_id) FROM {set} d JOIN set_run_v1 r ON r.trace_id = d.trace_id \
             WHERE rule = 'error_hidden'"
        );
        let counted = store.query_text(&sql).unwrap()[0][0].clone().unwrap();
        let rows = found["verdicts"].as_array().unwrap();
        let told = &rows.iter().find(|row| row["name"] == "error-hidden").unwrap()[column]["runs"];
        assert_eq!(told.to_string(), counted, "{set}");
    }
}

#[test]
fn fail_on_regression_sets_the_status() {
    let place = Place::new();
    let tools = place.write("tools.json", fs::read(repository().join("fixtures/seed/tools.json")).unwrap());
    let seed = fs::read_to_string(repository().join("fixtures/seed/traces.jsonl")).unwrap();
    let normal = seed.lines().find(|line| line.contains("8d47a1e0c3b2")).unwrap();
    let wrong = seed.lines().find(|line| line.contains("b2e6d9a0f47c4e1385b0a2d6c9e17f63")).unwrap();
    let id = |line: &str| line.split("\"traceId\"").nth(1).unwrap().split('"').nth(1).unwrap().to_owned();
    // Twelve runs each, of which so many are wrong.
    let week = |name: &str, first: usize, wrongs: usize| {
        let text: String = (0..12)
            .map(|place| {
                let line = if place < wrongs { wrong } else { normal };
                line.replace(&id(line), &format!("{:032x}", first + place)) + "\n"
            })
            .collect();
        let path = place.write(name, text);
        let mut ingest = program();
        ingest.arg("ingest").arg(path).arg("--tools").arg(&tools).arg("--db").arg(place.db());
        assert!(ingest.output().unwrap().status.success());
    };
    week("1.jsonl", 1, 0);
    week("2.jsonl", 101, 8);
    week("3.jsonl", 201, 3);
    let status = |base: &str, head: &str, more: &[&str]| {
        let flags = [&["--base", base, "--head", head][..], more].concat();
        compared(&place.db(), &flags).status.code().unwrap()
    };
    assert_eq!(status("batch:1", "batch:2", &[]), 0);
    assert_eq!(status("batch:1", "batch:2", &["--fail-on-regression"]), 1);
    assert_eq!(status("batch:2", "batch:1", &["--fail-on-regression"]), 0);
    // What failed is named, where the output itself may not be looked at on standard error too.
    let failing = ["--base", "batch:1", "--head", "batch:2", "--fail-on-regression"];
    let table = compared(&place.db(), &failing);
    let shown = String::from_utf8(table.stdout.clone()).unwrap();
    let names = [
        "나빠진 판정이 있습니다: 도구 정의와 맞지 않는 인자로 부름, 정상 완료",
        "나빠진 도구·판정이 있습니다: budget_api · 도구 정의와 맞지 않는 인자로 부름",
    ];
    let flat = shown.replace("\n  ", " ");
    assert!(names.iter().all(|name| flat.contains(name)), "{shown}");
    assert!(table.stderr.is_empty());
    let json = compared(&place.db(), &[&failing[..], &["--format", "json"]].concat());
    assert!(names.iter().all(|name| told(&json).contains(name)), "{}", told(&json));
    let rows: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        rows["regressions"][0],
        serde_json::json!({
            "table": "verdicts", "tool_name": null, "verdict": "도구 정의와 맞지 않는 인자로 부름", "name": "args-mismatch",
            "agent_name": null,
        })
    );
    let tables: Vec<&str> =
        rows["regressions"].as_array().unwrap().iter().map(|row| row["table"].as_str().unwrap()).collect();
    assert_eq!(tables, ["verdicts", "verdicts", "findings"]);
    // Three of twelve may be chance.
    assert_eq!(status("batch:1", "batch:3", &["--fail-on-regression"]), 0);
}

#[test]
fn dismissed_findings_count_on_neither_side() {
    let place = Place::new();
    let db = days(&place);
    let rules = ["--base", "rules:v1", "--head", "rules:v2", "--format", "json"];
    let counted = || -> Value { serde_json::from_str(&stdout(&compared(&db, &rules))).unwrap() };
    let row = |found: &Value| {
        let rows = found["findings"].as_array().unwrap();
        let row = rows.iter().find(|row| row["tool_name"] == "get_budget_status" && row["name"] == "undefined-tool");
        row.map(|row| [row["base"]["runs"].as_u64().unwrap(), row["head"]["runs"].as_u64().unwrap()])
    };
    let before = counted();
    assert_eq!((row(&before), &before["base"]["dismissed"]), (Some([3, 3]), &0.into()));
    let store = Store::open_existing(&db).unwrap();
    let sql = "SELECT trace_id FROM findings WHERE tool_name = 'get_budget_status' AND rule = 'undefined_tool' \
               ORDER BY trace_id";
    let traces: Vec<String> = store.query_text(sql).unwrap().into_iter().flatten().flatten().collect();
    drop(store);
    let review = |command: &str, trace: &str, more: &[&str]| {
        let mut review = program();
        review.args(["review", command, trace, "--verdict", "undefined-tool", "--by", "김하나", "--db"]).arg(&db);
        let output = review.args(more).output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
    };
    review("dismiss", &traces[0], &["--reason", "시험"]);
    review("dismiss", &traces[1], &["--reason", "시험", "--tool", "get_budget_status"]);
    review("confirm", &traces[2], &[]);
    let after = counted();
    assert_eq!(row(&after), Some([1, 1]));
    assert_eq!((&after["base"]["dismissed"], &after["head"]["dismissed"]), (&2.into(), &2.into()));
    let table = stdout(&compared(&db, &rules[..4])).replace("\n      ", " ");
    assert_eq!(table.matches("오탐으로 넘긴 판정 2건은 뺌").count(), 2, "{table}");
    // The newest word counts, also where the one was of a tool and the other of all.
    review("undo", &traces[1], &[]);
    review("confirm", &traces[0], &["--tool", "get_budget_status"]);
    assert_eq!(counted(), before);
}

#[test]
fn output_goes_to_the_file() {
    let place = Place::new();
    let db = days(&place);
    let path = place.path("compared.md");
    let flags = ["--base", FIRST_WEEK, "--head", THIRD_WEEK, "--format", "md"];
    let output = compared(&db, &[&flags[..], &["--output", path.to_str().unwrap()]].concat());
    assert!(stdout(&output).is_empty());
    assert_eq!(fs::read_to_string(&path).unwrap(), stdout(&compared(&db, &flags)));
}
