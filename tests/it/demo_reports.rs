//! `demo bench` and `demo compare` as commands: golden reports of seed 1, edges of numbers, what is refused, and the
//! loop from a finding to a better description and back.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::Value;

use super::demo_bench::assert_of_schema;
use super::support::repository;
use super::support_cli::{Place, SmallDisk, program, told};

/// The tools of the agent.
const TOOLS: &str = "src/demo/data/tools.json";

fn demo(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program().arg("demo").args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), told(&output))
}

fn done(arguments: &[&str]) -> String {
    let (code, out, told) = demo(arguments);
    assert_eq!(code, Some(0), "{arguments:?}: {told}");
    out
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&done(&[arguments, &["--format", "json"]].concat())).unwrap()
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// Made anew with TACO_TRACE_MAKE_DEMO=1.
fn assert_golden(name: &str, found: &str) {
    let path = repository().join("fixtures/demo").join(name);
    if std::env::var_os("TACO_TRACE_MAKE_DEMO").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(found == expected, "{name} differs: TACO_TRACE_MAKE_DEMO=1 makes it anew\n{found}");
}

#[test]
fn reports_of_seed_1_are_the_golden_ones() {
    let bench = ["bench", "--runs", "40", "--seed", "1"];
    let overlap = ["bench", "--runs", "40", "--seed", "1", "--overlap"];
    let compare = ["compare", "--model", "script", "--seed", "1"];
    let commands: [(&str, &[&str]); 3] = [("bench", &bench), ("bench-overlap", &overlap), ("compare", &compare)];
    for (name, arguments) in commands {
        for (format, ending) in [("table", "txt"), ("md", "md"), ("json", "json")] {
            let found = done(&[arguments, &["--format", format]].concat());
            assert_golden(&format!("{name}.{ending}"), &found);
        }
    }
}

/// Rows sum to the runs, and every run stands in one cell.
fn assert_whole(report: &Value) {
    let mut cells: BTreeMap<(String, usize), u64> = BTreeMap::new();
    let labels: Vec<&str> = taco_trace::model::bench::Answer::ALL.iter().map(|answer| answer.label()).collect();
    for run in list(&report["all_runs"]) {
        let place = labels.iter().position(|label| run["given"] == *label).unwrap();
        *cells.entry((run["faults"].to_string(), place)).or_default() += 1;
    }
    let mut sum = 0;
    for row in list(&report["confusion"]) {
        for (place, given) in list(&row["given"]).iter().enumerate() {
            let naive = cells.remove(&(row["faults"].to_string(), place)).unwrap_or_default();
            assert_eq!(count(given), naive, "{row}");
        }
        assert_eq!(count(&row["runs"]), list(&row["given"]).iter().map(count).sum::<u64>());
        sum += count(&row["runs"]);
    }
    assert_eq!(cells, BTreeMap::new(), "runs outside of the table");
    assert_eq!(sum, count(&report["runs"]) + count(&report["controls"]));
    assert_eq!(list(&report["all_runs"]).len() as u64, sum);
    let traces: std::collections::BTreeSet<String> =
        list(&report["all_runs"]).iter().map(|run| run["trace_id"].to_string()).collect();
    assert_eq!(traces.len() as u64, sum, "a trace a run");
}

#[test]
fn number_of_runs_at_its_edges() {
    for wrong in ["0", "-1", "10001", "x"] {
        assert_eq!(demo(&["bench", "--runs", wrong]).0, Some(2), "{wrong}");
        assert_eq!(demo(&["compare", "--questions", wrong]).0, Some(2), "{wrong}");
    }
    for (runs, remainder) in [("1", 1), ("4", 4), ("5", 0), ("6", 1), ("39", 4), ("40", 0), ("41", 1)] {
        let report = json(&["bench", "--runs", runs]);
        assert_eq!(report["runs"].to_string(), runs);
        assert_eq!(count(&report["remainder"]), remainder);
        assert_whole(&report);
    }
    assert_eq!(list(&json(&["bench"])["all_runs"]).len(), 40, "the default");
}

#[test]
fn two_faults_in_a_run_call_for_two_verdicts() {
    let report = json(&["bench", "--overlap", "--runs", "20"]);
    assert_whole(&report);
    assert_of_schema("demo_bench", &report.to_string());
    for run in list(&report["all_runs"]) {
        assert_eq!((list(&run["faults"]).len(), list(&run["expected_also"]).len()), (2, 1), "{run}");
    }
}

#[test]
fn runs_without_a_fault_raise_no_alarm() {
    let report = json(&["bench", "--runs", "5", "--controls", "20"]);
    assert_whole(&report);
    assert_of_schema("demo_bench", &report.to_string());
    let quiet = &report["quiet_controls"];
    assert_eq!((count(&quiet["matched"]), count(&quiet["compared"])), (20, 20), "{quiet}");
    // The runs with a fault are those of a bench without control runs.
    let alone = json(&["bench", "--runs", "5"]);
    assert_eq!(list(&report["all_runs"])[..5], list(&alone["all_runs"])[..]);
    assert_eq!(alone["quiet_controls"], Value::Null);
}

#[test]
fn seed_decides_every_byte() {
    for arguments in [["bench", "--runs", "10"], ["compare", "--questions", "4"]] {
        for format in ["table", "md", "json"] {
            let of = |seed: &str| done(&[&arguments[..], &["--seed", seed, "--format", format]].concat());
            let first = of("5");
            assert_eq!(first, of("5"), "{arguments:?} {format}");
            assert_ne!(first, of("6"), "{arguments:?} {format}");
        }
    }
    let place = Place::new();
    let (one, two) = (place.path("one"), place.path("two"));
    for path in [&one, &two] {
        done(&["bench", "--runs", "5", "--traces", path.to_str().unwrap()]);
    }
    assert_eq!(fs::read(one).unwrap(), fs::read(two).unwrap());
}

/// The traces that stay can be judged anew, with the same result; so can those in a store.
#[test]
fn what_a_bench_leaves_is_what_it_judged() {
    let place = Place::new();
    let (traces, db) = (place.path("t.jsonl"), place.db());
    let report = place.path("r.json");
    let paths = [&traces, &db, &report].map(|path| path.to_str().unwrap().to_owned());
    let arguments = ["bench", "--runs", "11", "--overlap", "--controls", "2", "--traces", &paths[0], "--db", &paths[1]];
    let (code, out, said) = demo(&[&arguments[..], &["--format", "json", "-o", &paths[2]]].concat());
    assert_eq!((code, out.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("bench_run"), "{said}");
    let report: Value = serde_json::from_str(&fs::read_to_string(report).unwrap()).unwrap();
    assert_whole(&report);
    let judged = |arguments: &[&str]| -> Vec<Value> {
        let output = program().arg("diagnose").args(arguments).args(["--format", "json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(&output)))
    };
    for diagnoses in [judged(&[&paths[0], "--tools", TOOLS]), judged(&["--db", &paths[1]])] {
        assert_eq!(diagnoses.len(), 13);
        for run in list(&report["all_runs"]) {
            let found = diagnoses.iter().find(|found| found["trace_id"] == run["trace_id"]).unwrap();
            assert_eq!((&run["given"], &run["also_found"]), (&found["verdict"], &found["also_found"]));
            assert_eq!((&run["notes"], &run["summary"]), (&found["notes"], &found["summary"]));
        }
    }
    let kept = place.rows("SELECT runs, controls, matched, matched_all, seed, overlap FROM bench_runs");
    let figure = |key: &str| count(&report[key]["matched"]);
    assert_eq!(kept, [format!("11|2|{}|{}|1|true", figure("verdict"), figure("all_rules"))]);
    let mismatches = place.rows("SELECT COUNT(*) FROM bench_results WHERE why IS NOT NULL");
    assert_eq!(mismatches, [list(&report["mismatches"]).len().to_string()]);
    // Once more into the same store: the same report, and a second bench of it.
    let again = demo(&[&arguments[..], &["--format", "json"]].concat()).1;
    assert_eq!(serde_json::from_str::<Value>(&again).unwrap(), report);
    assert_eq!(place.rows("SELECT COUNT(*), COUNT(DISTINCT bench_run) FROM bench_runs"), ["2|2"]);
    assert_eq!(place.rows("SELECT COUNT(*) FROM traces"), ["13"]);
}

#[test]
fn nothing_is_left_without_being_asked_for() {
    let place = Place::new();
    let folder = place.path("");
    let output =
        program().args(["demo", "bench", "--runs", "5"]).current_dir(&folder).env("TMPDIR", &folder).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let left: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

#[test]
fn result_that_cannot_be_written_is_told() {
    let place = Place::seeded();
    let (db, gone, same) = (place.db(), place.path("gone/x"), place.path("same"));
    let [db, gone, same] = [&db, &gone, &same].map(|path| path.to_str().unwrap().to_owned());
    for command in ["bench", "compare"] {
        let (code, out, said) = demo(&[command, "-o", &gone]);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{said}");
        assert!(said.contains("도움말"), "{said}");
        assert_eq!(demo(&[command, "--traces", &gone]).0, Some(3), "{command}");
        assert_eq!(demo(&[command, "-o", &db]).0, Some(2), "{command}: a store is no place for a report");
        assert_eq!(demo(&[command, "-o", &same, "--traces", &same]).0, Some(2), "{command}");
    }
    assert_eq!(demo(&["bench", "-o", &same, "--db", &same]).0, Some(2));
    let no_store = place.write("text", "no store");
    assert_eq!(demo(&["bench", "--db", no_store.to_str().unwrap()]).0, Some(3));
    assert_eq!(demo(&["compare", "--tools-after", &gone]).0, Some(3));
    let no_tools = place.write("tools.json", "{");
    assert_eq!(demo(&["compare", "--tools-after", no_tools.to_str().unwrap()]).0, Some(3));
}

#[test]
fn full_disk_keeps_no_half_of_a_bench() {
    let Some(disk) = SmallDisk::mounted(24) else { return };
    let db = disk.path("taco.duckdb");
    let bench =
        |arguments: &[&str]| demo(&[&["bench", "--runs", "5", "--db", db.to_str().unwrap()], arguments].concat());
    assert_eq!(bench(&[]).0, Some(0));
    let fill = disk.fill();
    let (code, _, said) = bench(&["--seed", "2"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("디스크가 가득 차") && said.contains("도움말"), "{said}");
    fs::remove_file(fill).unwrap();
    let count = "SELECT (SELECT COUNT(*) FROM bench_runs), (SELECT COUNT(*) FROM bench_results)";
    assert_eq!(super::support_cli::rows(&db, count), ["1|5"]);
    assert_eq!(bench(&["--seed", "2"]).0, Some(0));
    assert_eq!(super::support_cli::rows(&db, count), ["2|10"]);
}

/// From findings to a draft to fewer findings: the description is the one that `tools apply-draft` writes.
#[test]
fn description_drafted_from_the_runs_before_mends_the_runs_after() {
    let place = Place::new();
    let (traces, tools) = (place.path("t.jsonl"), place.path("after.json"));
    let [traces, tools] = [&traces, &tools].map(|path| path.to_str().unwrap().to_owned());
    let report = json(&["compare", "--seed", "1", "--traces", &traces]);
    assert_of_schema("demo_compare", &report.to_string());
    let model = &report["models"][0];
    assert!(count(&model["after"]["matched"]) < count(&model["before"]["matched"]), "{model}");
    assert_eq!(model["pairs"]["beyond_chance"], true, "{}", model["pairs"]);
    let args = ["tools", "apply-draft", &traces, "--tools", TOOLS, "-o", &tools, "--yes"];
    let output = program().args(args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let written = fs::read_to_string(&tools).unwrap();
    let changed = list(&report["changed"]);
    assert!(!changed.is_empty());
    for one in changed {
        assert!(written.contains(&one["after"].to_string()), "{one}\n{written}");
    }
    // The same file given gives the same figures.
    let given = json(&["compare", "--seed", "1", "--tools-after", &tools]);
    assert_eq!((&given["after_from"], &report["after_from"]), (&"file".into(), &"draft".into()));
    assert_eq!((&given["models"], &given["changed"]), (&report["models"], &report["changed"]));
    // Unchanged tools mend nothing.
    let same = json(&["compare", "--questions", "5", "--tools-after", TOOLS]);
    assert_eq!(same["changed"], Value::Array(Vec::new()));
    assert_eq!(same["models"][0]["before"]["matched"], same["models"][0]["after"]["matched"]);
}

#[test]
fn model_named_twice_is_asked_once() {
    let report = json(&["compare", "--questions", "2", "--model", "script", "--model", "script"]);
    assert_eq!(list(&report["models"]).len(), 1);
    assert_eq!(demo(&["compare", "--model", "other"]).0, Some(2));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn every_run_is_in_one_cell(
        seed in 0..=i64::MAX as u64, runs in 1_u64..30, controls in 0_u64..5, overlap in any::<bool>(),
    ) {
        let [seed, runs, controls] = [seed, runs, controls].map(|number| number.to_string());
        let mut arguments = vec!["bench", "--seed", &seed, "--runs", &runs, "--controls", &controls];
        arguments.extend(overlap.then_some("--overlap"));
        let report = json(&arguments);
        prop_assert_eq!(report["seed"].to_string(), seed.as_str());
        assert_whole(&report);
    }
}

/// What the pages show of both commands stands in the golden reports; a line `…` stands for any lines.
#[test]
fn pages_show_the_golden_reports() {
    for page in ["README.md", "README.ko.md"] {
        let text = fs::read_to_string(repository().join(page)).unwrap();
        for (command, name) in [("bench", "bench.txt"), ("compare", "compare.txt")] {
            let start = format!("```\n$ taco-trace demo {command} --seed 1\n");
            let (_, rest) = text.split_once(&start).unwrap_or_else(|| panic!("{page}: {command}"));
            let (shown, _) = rest.split_once("\n```").unwrap();
            let report = fs::read_to_string(repository().join("fixtures/demo").join(name)).unwrap();
            for part in shown.split("…") {
                assert!(report.contains(part.trim()), "{page}: {command}: {part}");
            }
        }
    }
}

/// A model that cannot be asked at all ends the command; forty runs of nothing would say nothing.
#[test]
fn model_that_never_replies_is_no_report() {
    for command in ["bench", "compare"] {
        let run = |arguments: &[&str]| {
            let mut program = program();
            program.env_remove("ANTHROPIC_API_KEY").env_remove("OPENAI_API_KEY");
            let output = program.args(["demo", command]).args(arguments).output().unwrap();
            assert_eq!(output.stdout, b"", "{arguments:?}");
            output.status.code()
        };
        assert_eq!(run(&["--model", "anthropic:x"]), Some(2), "no key");
        assert_eq!(run(&["--model", "openai:x"]), Some(2), "no key");
        // Nobody listens at a port that was just given back.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let address = format!("http://127.0.0.1:{port}/v1");
        assert_eq!(run(&["--model", "openai:x", "--base-url", &address, "--model-retries", "0"]), Some(3));
        assert_eq!(run(&["--model", "openai:x", "--replay", "gone.jsonl"]), Some(3));
    }
}
