//! The commands as a user calls them: wiring, streams and exit statuses of the real binary.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use assert_cmd::Command;
use serde_json::Value;
use taco_trace::store::Store;

const SEED: [&str; 3] = ["fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json"];

fn taco_trace() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env_remove("NO_COLOR").env_remove("COLUMNS").env("TERM", "xterm");
    command
}

fn run(arguments: &[&str]) -> Output {
    taco_trace().args(arguments).output().unwrap()
}

fn run_with(first: &[&str], more: &[&str]) -> Output {
    taco_trace().args(first).args(more).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn status(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn store_path(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("taco.duckdb")
}

fn ingest_seed(db: &Path) -> Output {
    run_with(&["ingest"], &[SEED[0], SEED[1], SEED[2], "--db", text(db)])
}

fn row_counts(db: &Path) -> Vec<Vec<Option<String>>> {
    let sql = "SELECT (SELECT COUNT(*) FROM spans), (SELECT COUNT(*) FROM span_links), (SELECT COUNT(*) FROM traces), \
               (SELECT COUNT(*) FROM ingest_issues), (SELECT COUNT(*) FROM sources), (SELECT COUNT(*) FROM tool_sets), \
               (SELECT COUNT(*) FROM arg_shapes), (SELECT COUNT(*) FROM tool_definitions)";
    Store::open(db).unwrap().query_text(sql).unwrap()
}

#[test]
fn diagnose_seed_as_json_equals_expected_but_for_the_draft() {
    let output = run_with(&["diagnose", "--format", "json"], &SEED);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let mut found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut expected: Value = serde_json::from_slice(&fs::read("fixtures/seed/expected.json").unwrap()).unwrap();
    for runs in [&mut found, &mut expected] {
        for run in runs.as_array_mut().unwrap() {
            run.as_object_mut().unwrap().remove("description_draft");
            // "예산 집행 현황 없이" stands in no column; the summary says what is known.
            if run["trace_id"] == "83e0b2c94f1a4d7e9c6b5a3f0e8d1c42" {
                run.as_object_mut().unwrap().remove("summary");
            }
        }
    }
    assert_eq!(found, expected);
}

#[test]
fn diagnose_jsonl_has_one_run_a_line() {
    let output = run_with(&["diagnose", "--format", "jsonl"], &SEED);
    let lines: Vec<Value> = stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[0]["trace_id"], "7f21c0a4e93b4d1f8a6c2e5b90d417aa");
}

#[test]
fn diagnose_through_a_store_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let db = store_path(&folder);
    let ingested = ingest_seed(&db);
    assert_eq!(status(&ingested), 0, "{}", stderr(&ingested));
    for format in ["json", "jsonl", "md", "table"] {
        let direct = run_with(&["diagnose", "--format", format], &SEED);
        let stored = run(&["diagnose", "--format", format, "--db", text(&db)]);
        assert_eq!(stdout(&direct), stdout(&stored), "{format}");
        assert!(!direct.stdout.is_empty());
    }
}

#[test]
fn ingest_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = store_path(&folder);
    ingest_seed(&db);
    let counts = row_counts(&db);
    let report = stdout(&run(&["diagnose", "--db", text(&db)]));
    let again = ingest_seed(&db);
    assert_eq!(status(&again), 0);
    // The same bytes under another name and time are known by their content.
    let copy = folder.path().join("copy.jsonl");
    fs::copy("fixtures/seed/traces.jsonl", &copy).unwrap();
    assert_eq!(status(&run(&["ingest", text(&copy), "--db", text(&db)])), 0);
    assert_eq!(row_counts(&db), counts);
    assert_eq!(stdout(&run(&["diagnose", "--db", text(&db)])), report);
}

#[test]
fn ingest_records_the_rule_set_that_judged() {
    let folder = tempfile::tempdir().unwrap();
    let db = store_path(&folder);
    ingest_seed(&db);
    run(&["diagnose", "--db", text(&db)]);
    let rows = Store::open(&db)
        .unwrap()
        .query_text("SELECT rule_set, LENGTH(rule_set_sha256), runs, runs_with_findings, unjudged FROM judgements")
        .unwrap();
    let cells: Vec<&str> = rows[0].iter().map(|cell| cell.as_deref().unwrap()).collect();
    assert_eq!(cells, ["set_diagnosis_v2", "64", "8", "6", "0"]);
}

#[test]
fn diagnose_reads_standard_input_and_compressed_files() {
    let plain = fs::read("fixtures/seed/traces.jsonl").unwrap();
    let expected = stdout(&run_with(&["diagnose", "--format", "json"], &SEED));
    let piped = taco_trace()
        .args(["diagnose", "-", "--tools", SEED[2], "--format", "json"])
        .write_stdin(plain.clone())
        .output()
        .unwrap();
    assert_eq!(stdout(&piped), expected);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traces.log");
    fs::write(&path, zstd::encode_all(plain.as_slice(), 3).unwrap()).unwrap();
    assert_eq!(stdout(&run(&["diagnose", text(&path), "--tools", SEED[2], "--format", "json"])), expected);
}

#[test]
fn filters_select_runs() {
    let count = |more: &[&str]| {
        let mut arguments = vec!["diagnose", "--format", "json"];
        arguments.extend(SEED);
        arguments.extend(more);
        let output = run(&arguments);
        let runs: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        runs.as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 8);
    assert_eq!(count(&["--trace", "7F21"]), 1);
    assert_eq!(count(&["--agent", "예산 집행 질의 에이전트"]), 3);
    assert_eq!(count(&["--tool", "petition_search"]), 1);
    assert_eq!(count(&["--verdict", "args-mismatch"]), 2);
    assert_eq!(count(&["--verdict", "도구 오류 뒤에도 성공처럼 답함"]), 2);
    assert_eq!(count(&["--verdict", "normal,timeout-exceeded"]), 3);
    assert_eq!(count(&["--limit", "3"]), 3);
    assert_eq!(count(&["--since", "2026-10-07"]), 8);
    assert_eq!(count(&["--since", "2026-10-08"]), 0);
    assert_eq!(count(&["--until", "2026-10-07"]), 8);
    assert_eq!(count(&["--until", "2026-10-06"]), 0);
    // The first run starts at 09:12:03.120: its own millisecond is in, the next is not.
    assert_eq!(count(&["--until", "2026-10-07 09:12:03.120"]), 0);
    assert_eq!(count(&["--since", "2026-10-07T09:12:03.122"]), 7);
}

#[test]
fn fail_on_sets_the_exit_status() {
    let with = |value: &str| status(&run_with(&["diagnose", "--fail-on", value], &SEED));
    assert_eq!(with("any"), 1);
    assert_eq!(with("error-hidden"), 1);
    assert_eq!(with("도구 오류 뒤에도 성공처럼 답함"), 1);
    let clean = run_with(&["diagnose", "--fail-on", "any", "--trace", "8d47"], &SEED);
    assert_eq!(status(&clean), 0);
    assert_eq!(with("nonsense"), 2);
}

#[test]
fn piped_output_has_no_colour_and_colour_changes_no_letter() {
    let plain = stdout(&run_with(&["diagnose"], &SEED));
    assert!(!plain.contains('\u{1b}'));
    let coloured = stdout(&run_with(&["diagnose", "--color", "always"], &SEED));
    assert!(coloured.contains('\u{1b}'));
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_taco-trace"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["diagnose", "--format", "json", "--quiet", "fixtures/generated/traces.jsonl", "--tools"])
        .arg("fixtures/generated/tools.json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), 0);
    assert!(!stderr(&output).contains("panic"), "{}", stderr(&output));
}

#[test]
fn output_file_is_written_whole_and_bad_places_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let output = run_with(&["diagnose", "--format", "json", "--output", text(&path)], &SEED);
    assert_eq!(status(&output), 0);
    assert!(output.stdout.is_empty());
    assert_eq!(fs::read_to_string(&path).unwrap(), stdout(&run_with(&["diagnose", "--format", "json"], &SEED)));
    let missing = folder.path().join("no/such/report.json");
    let output = run_with(&["diagnose", "--output", text(&missing)], &SEED);
    assert_eq!(status(&output), 3);
    assert!(stderr(&output).contains("report.json"));
}

#[test]
fn wrong_use_is_told_in_korean_with_status_2() {
    for arguments in [
        &["diagnose", "--foo"][..],
        &["diagnos"],
        &["diagnose", "x.jsonl", "--db", "y.duckdb"],
        &["diagnose", "--format", "xml"],
        &["diagnose", "--limit", "many"],
        &["diagnose", "--since", "yesterday", "fixtures/seed/traces.jsonl"],
        &["diagnose", "--verdict", "nothing", "fixtures/seed/traces.jsonl"],
        &["rules", "show", "no_such_rule"],
        &["completions", "tcsh"],
        &["ingest"],
        &["explain"],
    ] {
        let output = run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let told = stderr(&output);
        assert!(told.contains("니다") || told.contains("세요"), "{arguments:?}: {told}");
        assert!(!told.contains("error:"), "{arguments:?}: {told}");
    }
}

#[test]
fn files_that_cannot_be_read_are_told_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let not_a_store = folder.path().join("notes.duckdb");
    fs::write(&not_a_store, "not a database, just a text that is long enough to be read as one page").unwrap();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (arguments, named) in [
        (vec!["diagnose", "no-such-file.jsonl"], "no-such-file.jsonl"),
        (vec!["diagnose", "no-such-*.jsonl"], "no-such-*.jsonl"),
        (vec!["diagnose", text(&empty)], "empty"),
        (vec!["diagnose", SEED[0], "--tools", "no-tools.json"], "no-tools.json"),
        (vec!["diagnose", SEED[0], "--tools", SEED[0]], "traces.jsonl"),
        (vec!["diagnose", "--db", "no-store.duckdb"], "no-store.duckdb"),
        (vec!["diagnose", "--db", text(&not_a_store)], "notes.duckdb"),
        (vec!["diagnose", "fixtures/seed/tools.json"], "tools.json"),
    ] {
        let output = run(&arguments);
        assert_eq!(status(&output), 3, "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(named), "{arguments:?}: {}", stderr(&output));
    }
    assert!(!Path::new("no-store.duckdb").exists());
}

#[test]
fn a_store_held_by_another_process_is_told_with_status_3() {
    let folder = tempfile::tempdir().unwrap();
    let db = store_path(&folder);
    let held = Store::open(&db).unwrap();
    let output = ingest_seed(&db);
    assert_eq!(status(&output), 3);
    assert!(stderr(&output).contains("taco.duckdb"), "{}", stderr(&output));
    drop(held);
    assert_eq!(status(&ingest_seed(&db)), 0);
}

#[test]
fn broken_lines_are_told_and_strict_makes_them_status_1() {
    let path = "fixtures/malformed/truncated_json_half.jsonl";
    let output = run(&["diagnose", path, "--tools", "fixtures/malformed/tools.json"]);
    assert_eq!(status(&output), 0);
    assert!(stderr(&output).contains("truncated_json_half.jsonl:2"), "{}", stderr(&output));
    let folder = tempfile::tempdir().unwrap();
    let db = store_path(&folder);
    assert_eq!(status(&run(&["ingest", path, "--db", text(&db), "--strict"])), 1);
}

#[test]
fn explain_shows_the_run_and_the_sql_that_finds_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let db = store_path(&folder);
    ingest_seed(&db);
    let output = run(&["explain", "81c9", "--db", text(&db)]);
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let shown = stdout(&output);
    assert!(shown.contains("086fb743579fd9f8") && shown.contains("ocr_attachment"), "{shown}");
    let from = shown.find("SELECT").unwrap();
    let sql = &shown[from..from + shown[from..].find(';').unwrap()];
    assert_eq!(Store::open(&db).unwrap().query_text(sql).unwrap().len(), 4, "{sql}");
    assert_eq!(status(&run(&["explain", "", "--db", text(&db)])), 2);
}

#[test]
fn rules_list_and_show() {
    let listed = stdout(&run(&["rules"]));
    let in_force = [
        ("undefined_tool", 2),
        ("args_mismatch", 2),
        ("timeout_exceeded", 1),
        ("retry_over_limit", 1),
        ("error_hidden", 2),
    ];
    for (rule, version) in in_force {
        assert!(listed.contains(rule));
        let shown = stdout(&run(&["rules", "show", rule]));
        assert_eq!(shown, fs::read_to_string(format!("sql/rules/{rule}/v{version}.sql")).unwrap());
    }
    assert!(stdout(&run(&["rules", "show", "error-hidden"])).contains("rule_error_hidden_v2"));
}

#[test]
fn completions_man_and_help_are_there() {
    for shell in ["bash", "zsh", "fish"] {
        let output = run(&["completions", shell]);
        assert_eq!(status(&output), 0);
        assert!(stdout(&output).contains("diagnose"));
    }
    assert!(stdout(&run(&["man"])).contains(".TH"));
    let help = run(&["--help"]);
    assert_eq!(status(&help), 0);
    assert!(stdout(&help).contains("사용법") && !stdout(&help).contains("Usage"));
    for command in ["ingest", "diagnose", "explain", "report", "rules", "calls", "completions", "man"] {
        let help = run(&[command, "--help"]);
        assert_eq!(status(&help), 0, "{command}");
        let shown = stdout(&help);
        assert!(!shown.contains("Options") && !shown.contains("Print") && !shown.contains("possible"), "{shown}");
    }
    assert!(stdout(&run(&["--version"])).starts_with("taco-trace "));
}

/// The commands of this one, as its help lists them, and theirs.
fn commands_below(path: &[String]) -> Vec<Vec<String>> {
    let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = stdout(&run(&arguments));
    let listed = help.lines().skip_while(|line| *line != "명령:").skip(1).take_while(|line| !line.is_empty());
    // A name stands two blanks in; what goes on from the line before, further in.
    let names = listed.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let mut found = vec![path.to_vec()];
    for name in names.filter_map(|line| line.split_whitespace().next()) {
        found.extend(commands_below(&[path, &[name.to_owned()]].concat()));
    }
    found
}

#[test]
fn usage_of_every_command_fits_80_columns() {
    let all = commands_below(&[]);
    assert!(all.len() > 30, "{all:?}");
    for path in all {
        let arguments: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
        let help = stdout(&run(&arguments));
        for line in help.lines().skip_while(|line| !line.starts_with("사용법:")).take_while(|line| !line.is_empty())
        {
            let width = unicode_width::UnicodeWidthStr::width(line);
            assert!(width <= 80, "{width} columns: {line}");
        }
    }
}
