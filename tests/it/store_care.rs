//! Care of a store: classes of tables, numbers, shrinking, taking old traces out, Parquet out and in.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::model::{IssueCode, TableClass};
use taco_trace::store::care::{self, CareError, ExportOptions, PruneReport, class_of, tables_of_program, vacuum};
use taco_trace::store::{Store, StoreError};
use tempfile::TempDir;

use super::support::{Fixture, answer, answers, call, repository};

/// 2026-12-01T00:00:00+09:00.
const MIDNIGHT: i64 = 1_796_050_800_000_000_000;
const DATE: &str = "2026-12-01";
const DAY: i64 = 86_400_000_000_000;

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn db(folder: &TempDir) -> PathBuf {
    folder.path().join("taco.duckdb")
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.current_dir(folder.path()).env_remove("COLUMNS").env_remove("TACO_TRACE_MASK_KEY").args(arguments);
    command.output().unwrap()
}

fn succeed(folder: &TempDir, arguments: &[&str]) -> String {
    let output = run(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Exit status and what standard error says.
fn refused(folder: &TempDir, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(folder, arguments);
    assert_eq!(output.stdout, b"", "{arguments:?}");
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn fixture(name: &str) -> String {
    repository().join("fixtures").join(name).display().to_string()
}

fn ingest(folder: &TempDir, files: &[&str], more: &[&str]) {
    let files: Vec<String> = files.iter().map(|name| fixture(name)).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    succeed(folder, &[&["ingest", "-q"], files.as_slice(), more].concat());
}

fn open(folder: &TempDir) -> Store {
    Store::open_existing(&db(folder)).unwrap()
}

/// Every row of every table that an export has, in order; the key of masked values only when asked for.
fn content(store: &Store, with_key: bool) -> BTreeMap<String, Vec<String>> {
    let tables = tables_of_program().unwrap().into_iter().filter(|table| match table.class {
        TableClass::Internal => false,
        TableClass::Secret => with_key,
        _ => true,
    });
    tables
        .map(|table| (table.name.clone(), answers(store, &format!("SELECT * FROM {} ORDER BY ALL", table.name))))
        .collect()
}

/// How many spans there are, and a number that changes with any of them: many rows are not listed in order.
fn spans_in_short(store: &Store) -> Vec<String> {
    answers(store, "SELECT COUNT(*), bit_xor(hash(s)) FROM spans s")
}

fn counts(store: &Store, tables: &[&str]) -> Vec<String> {
    tables
        .iter()
        .map(|table| format!("{table} {}", answers(store, &format!("SELECT COUNT(*) FROM {table}"))[0]))
        .collect()
}

// classes

#[test]
fn every_table_of_the_program_is_in_the_class_that_its_columns_say() {
    let found: BTreeMap<String, TableClass> =
        tables_of_program().unwrap().into_iter().map(|table| (table.name, table.class)).collect();
    for (table, class) in [
        ("spans", TableClass::Trace),
        ("span_links", TableClass::Trace),
        ("traces", TableClass::Trace),
        ("ingest_issues", TableClass::Trace),
        ("sources", TableClass::History),
        ("batches", TableClass::History),
        ("dropped_operations", TableClass::History),
        ("masked_counts", TableClass::History),
        ("tool_sets", TableClass::Tools),
        ("tool_definitions", TableClass::Tools),
        ("tool_params", TableClass::Tools),
        ("tool_param_types", TableClass::Tools),
        ("arg_shapes", TableClass::Shared),
        ("judgements", TableClass::Log),
        ("call_runs", TableClass::Log),
        ("checked_calls", TableClass::Log),
        ("call_results", TableClass::Log),
        ("judge_settings", TableClass::Settings),
        ("mask_key", TableClass::Secret),
        ("judge_scope", TableClass::Internal),
        ("schema_migrations", TableClass::Internal),
        ("view_state", TableClass::Internal),
    ] {
        assert_eq!(found.get(table), Some(&class), "{table}");
    }
    // Nothing that a store has is missing, whatever migrations add.
    let store = Store::in_memory().unwrap();
    let there = answers(&store, "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name");
    assert_eq!(found.keys().cloned().collect::<Vec<_>>(), there);
}

#[test]
fn table_whose_columns_do_not_say_what_it_is_has_no_class() {
    assert_eq!(class_of("odd", &["name", "value"]), None);
    assert_eq!(class_of("odd", &[]), None);
    for (columns, class) in [
        (&["trace_id", "source_id", "tool_set"][..], TableClass::Trace),
        (&["source_id", "tool_set"], TableClass::History),
        (&["batch_id"], TableClass::History),
        (&["tool_set", "key"], TableClass::Tools),
    ] {
        assert_eq!(class_of("odd", columns), Some(class));
    }
}

/// The folders of an export are named by it.
#[test]
fn no_table_has_a_column_named_date() {
    for table in tables_of_program().unwrap() {
        assert!(table.columns.iter().all(|(name, _)| name != "date"), "{}", table.name);
    }
}

// info

#[test]
fn info_tells_what_is_in_the_store() {
    let folder = folder();
    ingest(
        &folder,
        &["seed/traces.jsonl", "malformed/logs_line.jsonl"],
        &["--tools", &fixture("seed/tools.json"), "--mask"],
    );
    open(&folder).execute("CREATE TABLE \"손으로 만든\" AS SELECT 1 AS a").unwrap();
    let told: Value = serde_json::from_str(&succeed(&folder, &["store", "info", "--format", "json"])).unwrap();
    let store = open(&folder);
    let number = |sql: &str| json!(answers(&store, sql)[0].parse::<i64>().unwrap());
    assert_eq!(told["path"], "taco.duckdb");
    assert_eq!(told["size_bytes"], json!(fs::metadata(db(&folder)).unwrap().len()));
    assert_eq!(told["schema_version"], number("SELECT MAX(version) FROM schema_migrations"));
    assert_eq!(told["traces"], number("SELECT COUNT(DISTINCT trace_id) FROM spans"));
    assert_eq!(told["runs"], number("SELECT COUNT(*) FROM set_run_v1"));
    assert_eq!(told["first_start"], answers(&store, "SELECT MIN(start_time) FROM spans")[0]);
    assert_eq!(told["last_start"], answers(&store, "SELECT MAX(start_time) FROM spans")[0]);
    assert_eq!((&told["sources"], &told["batches"]), (&json!(2), &json!(1)));
    assert_eq!(told["issues"], json!({"other_signal": 1}));
    assert_eq!(told["masked"], json!({"employee": 1}));
    let set = &told["tool_sets"][0];
    assert_eq!((&set["tools"], &set["traces"], &set["in_force"]), (&json!(7), &told["traces"], &json!(true)));
    let table =
        |name: &str| told["tables"].as_array().unwrap().iter().find(|table| table["name"] == name).unwrap().clone();
    assert_eq!(table("spans")["rows"], number("SELECT COUNT(*) FROM spans"));
    assert_eq!(table("spans")["class"], "trace");
    assert_eq!(table("손으로 만든")["class"], Value::Null);
    assert_eq!(
        told["total_blocks"],
        json!(told["used_blocks"].as_i64().unwrap() + told["free_blocks"].as_i64().unwrap())
    );
}

#[test]
fn info_is_aligned_within_80_columns() {
    use unicode_width::UnicodeWidthStr;
    let folder = folder();
    ingest(&folder, &["seed/traces.jsonl", "malformed"], &["--tools", &fixture("seed/tools.json"), "--mask"]);
    open(&folder)
        .execute("CREATE TABLE \"손으로 만든 아주 긴 이름의 표이므로 끝까지 보이지 않습니다\" AS SELECT 1 AS a")
        .unwrap();
    let text = succeed(&folder, &["store", "info"]);
    for line in text.lines() {
        assert!(line.width() <= 80, "{line}");
    }
    for words in
        ["저장소     taco.duckdb\n", "(한국 시간)\n", "가린 값    사번 1", "문제       args_not_json 2", "지금 씀"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (_, table) = text.split_once("\n\n").unwrap();
    let rows: Vec<&str> = table.lines().collect();
    let classes = [
        "성격",
        "함께 씀",
        "읽은 기록",
        "실행에 딸림",
        "내부용",
        "설정",
        "판정 기록",
        "열쇠",
        "도구 정의",
        "직접 만든 표",
    ];
    let column = |row: &str| classes.iter().find_map(|class| Some(row.strip_suffix(class)?.width()));
    for row in &rows[..rows.len() - 1] {
        assert_eq!(column(row), column(rows[0]), "{row}");
    }
}

#[test]
fn info_of_an_empty_store_and_of_none() {
    let folder = folder();
    drop(Store::open(&db(&folder)).unwrap());
    let text = succeed(&folder, &["store", "info"]);
    for words in ["기간       없음\n", "도구 정의  없음\n", "문제       없음\n", "가린 값    없음\n"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    for command in [&["info"][..], &["vacuum"], &["prune", "--before", DATE], &["export", "--parquet", "x"]] {
        let (status, told) = refused(&folder, &[&["store"], command, &["--db", "missing.duckdb"]].concat());
        assert_eq!(status, Some(3));
        assert!(told.contains("저장소가 없습니다: `missing.duckdb`"), "{told}");
        assert!(!folder.path().join("missing.duckdb").exists());
    }
}

// vacuum

/// Rows that compress badly: some MiB.
const FILLER: &str =
    "INSERT INTO spans (trace_id, span_id, start_time, operation, status, duration_ms, start_ns, end_ns,
        duration_ns, tool_args, parent_lost, convention, source_id, line, batch_id)
    SELECT md5(CAST(n AS VARCHAR)), md5(CAST(n AS VARCHAR))[:16], '', 'execute_tool', 'ok', 1, n, n, 0,
        md5(CAST(n + 1 AS VARCHAR)) || md5(CAST(n + 2 AS VARCHAR)), FALSE, '', 1, 1, 1
    FROM range(200000) t(n);";

fn filled(folder: &TempDir) -> Store {
    let store = Store::open(&db(folder)).unwrap();
    store.execute(FILLER).unwrap();
    store.execute("CHECKPOINT").unwrap();
    store
}

fn plenty(_: &Path) -> Option<u64> {
    Some(u64::MAX)
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn vacuum_gives_back_what_deleted_rows_took_and_keeps_the_rest() {
    let folder = folder();
    let store = filled(&folder);
    store.execute("CREATE TABLE own AS SELECT 1 AS a; CREATE VIEW own_view AS SELECT a FROM own").unwrap();
    store.execute("DELETE FROM spans WHERE start_ns >= 1000; CHECKPOINT").unwrap();
    let before = content(&store, true);
    let comments = "SELECT COUNT(*) FROM duckdb_columns() WHERE comment IS NOT NULL";
    let commented = answers(&store, comments);
    drop(store);
    let size = fs::metadata(db(&folder)).unwrap().len();
    let done = vacuum(&db(&folder), &plenty).unwrap();
    assert_eq!(done.before, size);
    assert_eq!(done.after, fs::metadata(db(&folder)).unwrap().len());
    assert!(done.after * 2 < done.before, "{done:?}");
    let store = open(&folder);
    assert_eq!(content(&store, true), before);
    assert_eq!(answers(&store, "SELECT a FROM own_view"), ["1"]);
    assert_eq!(answers(&store, comments), commented);
    assert_eq!(answers(&store, "SELECT COUNT(*) FROM set_run_v1"), ["0"]);
    drop(store);
    assert_eq!(names(&folder), ["taco.duckdb"]);
    assert!(succeed(&folder, &["store", "vacuum"]).contains(" MiB → "));
}

#[test]
fn vacuum_keeps_permissions_and_follows_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = folder();
    drop(Store::open(&db(&folder)).unwrap());
    fs::set_permissions(db(&folder), fs::Permissions::from_mode(0o600)).unwrap();
    let link = folder.path().join("link.duckdb");
    symlink(db(&folder), &link).unwrap();
    vacuum(&link, &plenty).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(db(&folder)).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(names(&folder), ["link.duckdb", "taco.duckdb"]);
}

#[test]
fn vacuum_needs_as_much_room_as_the_used_blocks() {
    let folder = folder();
    let store = filled(&folder);
    let needed: u64 =
        answers(&store, "SELECT used_blocks * block_size FROM pragma_database_size()")[0].parse().unwrap();
    drop(store);
    let before = fs::read(db(&folder)).unwrap();
    let error = vacuum(&db(&folder), &|_| Some(needed - 1)).unwrap_err();
    assert!(
        matches!(error, CareError::NoRoom { needed: told, free } if (told, free) == (needed, needed - 1)),
        "{error}"
    );
    assert_eq!(fs::read(db(&folder)).unwrap(), before);
    assert_eq!(names(&folder), ["taco.duckdb"]);
    for free in [Some(needed), Some(needed + 1), None] {
        vacuum(&db(&folder), &|_| free).unwrap();
    }
}

#[test]
fn vacuum_removes_what_an_earlier_one_left_and_leaves_nothing_when_it_fails() {
    let folder = folder();
    drop(Store::open(&db(&folder)).unwrap());
    let (copy, log) = (folder.path().join("taco.duckdb.vacuum"), folder.path().join("taco.duckdb.vacuum.wal"));
    for left in [&copy, &log] {
        fs::write(left, "half").unwrap();
    }
    vacuum(&db(&folder), &plenty).unwrap();
    assert_eq!(names(&folder), ["taco.duckdb"]);
    // A folder in the way cannot be removed as a file.
    fs::create_dir(&copy).unwrap();
    let error = vacuum(&db(&folder), &plenty).unwrap_err();
    assert!(matches!(&error, CareError::File { path, .. } if path.ends_with("taco.duckdb.vacuum")), "{error}");
    assert!(Store::open_existing(&db(&folder)).is_ok());
}

#[test]
fn vacuum_of_a_store_in_use_is_refused() {
    let folder = folder();
    let _store = Store::open(&db(&folder)).unwrap();
    // This process holds the lock; another is refused.
    let (status, told) = refused(&folder, &["store", "vacuum"]);
    assert_eq!(status, Some(3));
    assert!(told.contains("다른 프로세스가 저장소를 잡고 있습니다"), "{told}");
    assert!(!names(&folder).contains(&"taco.duckdb.vacuum".to_owned()));
}

#[test]
fn killed_vacuum_leaves_one_good_store() {
    let folder = folder();
    let before = spans_in_short(&filled(&folder));
    let copy = folder.path().join("taco.duckdb.vacuum");
    for share in [0, 1, 2] {
        let size = fs::metadata(db(&folder)).unwrap().len();
        let mut child = Command::new(env!("CARGO_BIN_EXE_taco-trace"))
            .current_dir(folder.path())
            .args(["store", "vacuum"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // As soon as the copy has a third of the size more each time, or the process is through.
        while child.try_wait().unwrap().is_none()
            && fs::metadata(&copy).map_or(true, |copy| copy.len() < size * share / 3)
        {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(spans_in_short(&open(&folder)), before, "killed at {share} thirds");
    }
    succeed(&folder, &["store", "vacuum"]);
    assert_eq!(names(&folder), ["taco.duckdb"]);
    assert_eq!(spans_in_short(&open(&folder)), before);
}

// prune

/// Files 1 (read before the midnight) and 2 (read at it).
const READ: &str = "INSERT INTO batches (batch_id, started_at, tool_set) VALUES (1, '2026-11-30T23:59:59.999+09:00', NULL),
        (2, '2026-12-01T00:00:00.000+09:00', NULL);
    INSERT INTO sources (source_id, batch_id, path, size_bytes, modified_ns, content_hash, lines, lines_skipped,
        spans_seen, spans_kept, spans_dropped, spans_redelivered, spans_skipped) VALUES (1, 1, 'a', 1, NULL, 'h', 1, 0, 1, 1, 0, 0, 0), (2, 2, 'b', 2, NULL, 'i', 1, 0, 1, 1, 0, 0, 0);";

/// A store on disk with traces whose last span starts below, at and above the midnight.
fn around_midnight(folder: &TempDir) -> Store {
    let store = Store::open(&db(folder)).unwrap();
    let spans = [("below", MIDNIGHT - 1), ("at", MIDNIGHT), ("above", MIDNIGHT + 1)];
    let fixture = spans.iter().fold(Fixture::new().sql(READ), |fixture, (trace, last)| {
        fixture
            .span(answer(trace, "root").start(last - 2 * DAY))
            .span(call(trace, "s1").start(*last).args("{\"k\":1}").arg("k", "integer"))
            .issue(trace, Some("s1"), IssueCode::SpanConflict)
    });
    let only_below = call("below", "s2").start(MIDNIGHT - DAY).args("{\"only\":1}").arg("only", "integer");
    store.execute(&fixture.span(only_below).statements()).unwrap();
    store
        .execute(
            "INSERT INTO span_links (trace_id, span_id, parent_span_id, source_id) VALUES ('below', 'l', NULL, 2), ('at', 'l', NULL, 1), ('adrift1', 'l', NULL, 1),
                ('adrift2', 'l', NULL, 2);
            INSERT INTO ingest_issues (batch_id, source_id, source, severity, line, byte_offset, trace_id, span_id,
                code, reason, raw) VALUES (1, 1, 'a', 'data_loss', 1, 0, NULL, NULL, 'not_json', '', 'x'),
                (2, 2, 'b', 'data_loss', 1, 0, NULL, NULL, 'not_json', '', 'x')",
        )
        .unwrap();
    store
}

#[test]
fn prune_takes_traces_out_whose_last_span_started_before_midnight() {
    let folder = folder();
    let store = around_midnight(&folder);
    let history = ["sources", "batches", "tool_sets"];
    let kept = counts(&store, &history);
    let expected = PruneReport {
        traces: 1,
        rows: BTreeMap::from(
            [("spans", 3), ("span_links", 2), ("traces", 1), ("ingest_issues", 2), ("arg_shapes", 1)]
                .map(|(table, rows)| (table.to_owned(), rows)),
        ),
    };
    let before = content(&store, true);
    assert_eq!(store.prune(MIDNIGHT, DATE, true).unwrap(), expected);
    assert_eq!(content(&store, true), before, "a dry run changes nothing");
    assert_eq!(store.prune(MIDNIGHT, DATE, false).unwrap(), expected);
    assert_eq!(answers(&store, "SELECT DISTINCT trace_id FROM spans ORDER BY 1"), ["above", "at"]);
    assert_eq!(answers(&store, "SELECT trace_id FROM span_links ORDER BY 1"), ["adrift2", "at"]);
    assert_eq!(
        answers(&store, "SELECT trace_id, batch_id FROM ingest_issues ORDER BY ALL"),
        ["above|1", "at|1", "-|2"]
    );
    assert_eq!(answers(&store, "SELECT key FROM arg_shapes"), ["k"]);
    assert_eq!(counts(&store, &history), kept);
    assert_eq!(store.prune(MIDNIGHT, DATE, false).unwrap(), PruneReport { traces: 0, rows: BTreeMap::new() });
    let names = answers(&store, "SELECT table_name FROM duckdb_tables() WHERE temporary");
    assert_eq!(names, [""; 0], "nothing is left over");
}

#[test]
fn prune_command_tells_what_goes() {
    let folder = folder();
    drop(around_midnight(&folder));
    let told = succeed(&folder, &["store", "prune", "--before", DATE, "--dry-run"]);
    assert!(told.starts_with("마지막 span 이 2026-12-01 전에 시작한 트레이스 1개를 지우게 됩니다."), "{told}");
    let told = succeed(&folder, &["store", "prune", "--before", DATE]);
    assert!(told.starts_with("마지막 span 이 2026-12-01 전에 시작한 트레이스 1개를 지웠습니다.\n"), "{told}");
    assert!(told.contains("\n  spans 3행\n") && told.contains("store vacuum"), "{told}");
    let told = succeed(&folder, &["store", "prune", "--before", DATE]);
    assert_eq!(told, "마지막 span 이 2026-12-01 전에 시작한 트레이스 0개를 지웠습니다.\n");
}

#[test]
fn pruned_traces_do_not_come_back_with_the_same_file() {
    let folder = folder();
    ingest(&folder, &["seed/traces.jsonl"], &[]);
    // Read today, and all of it began on 2026-10-07.
    succeed(&folder, &["store", "prune", "--before", "2026-10-08"]);
    let store = open(&folder);
    assert_eq!(counts(&store, &["spans", "traces", "sources"]), ["spans 0", "traces 0", "sources 1"]);
    drop(store);
    ingest(&folder, &["seed/traces.jsonl"], &[]);
    assert_eq!(counts(&open(&folder), &["spans", "traces", "sources"]), ["spans 0", "traces 0", "sources 1"]);
}

#[test]
fn dates_are_days_written_in_full() {
    let folder = folder();
    drop(Store::open(&db(&folder)).unwrap());
    let unread = ["", "2026-1-1", "2026-02-30", "2026-12-01 00:00", "26-12-0001", "２０２６-12"];
    let unread = unread.map(|date| (date, "날짜로 읽을 수 없습니다"));
    let outside = ["1677-01-01", "2300-01-01"].map(|date| (date, "다룰 수 있는 기간 밖의 날짜입니다"));
    for (date, words) in unread.into_iter().chain(outside) {
        for command in [&["prune", "--before", date][..], &["export", "--parquet", "x", "--from", date]] {
            let (status, told) = refused(&folder, &[&["store"], command].concat());
            assert_eq!(status, Some(2), "{date}");
            assert!(told.contains(words), "{told}");
        }
    }
    let (status, told) =
        refused(&folder, &["store", "export", "--parquet", "x", "--from", "2026-12-02", "--to", "2026-12-01"]);
    assert_eq!(status, Some(2));
    assert!(told.contains("처음 날짜가 끝 날짜보다 뒤입니다"), "{told}");
    assert_eq!(names(&folder), ["taco.duckdb"]);
    succeed(&folder, &["store", "export", "--parquet", "x", "--from", "2026-12-01", "--to", "2026-12-01"]);
}

// export

fn export(store: &Store, path: &Path) {
    store.export_parquet(path, &ExportOptions::default()).unwrap();
}

fn import(store: &mut Store, path: &Path) -> care::ImportReport {
    store.import_parquet(path, &|code, _| code.as_str().to_owned()).unwrap()
}

fn manifest(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn export_puts_traces_under_the_korean_date_of_their_first_span() {
    let folder = folder();
    let store = Store::open(&db(&folder)).unwrap();
    let late = call("late", "s1").start(MIDNIGHT + DAY);
    let fixture = Fixture::new().sql(READ).span(answer("below", "root").start(MIDNIGHT - 1)).span(late);
    let fixture =
        fixture.span(answer("late", "root").start(MIDNIGHT)).span(call("below", "s1").start(MIDNIGHT + 5 * DAY));
    store.execute(&fixture.issue("late", None, IssueCode::ParentCycle).statements()).unwrap();
    store
        .execute(
            "INSERT INTO span_links (trace_id, span_id, parent_span_id, source_id) VALUES ('adrift', 'l', NULL, 1)",
        )
        .unwrap();
    let out = folder.path().join("out[1]*'?");
    let report =
        store.export_parquet(&out, &ExportOptions { exported_at: "now".to_owned(), ..Default::default() }).unwrap();
    let manifest = manifest(&out);
    let files: Vec<&str> = manifest["tables"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|table| table["files"].as_array().unwrap())
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    for path in [
        "spans/date=2026-11-30/data_0.parquet",
        "spans/date=2026-12-01/data_0.parquet",
        "traces/date=2026-11-30/data_0.parquet",
        "ingest_issues/date=2026-12-01/data_0.parquet",
        "span_links/date=__HIVE_DEFAULT_PARTITION__/data_0.parquet",
        "sources.parquet",
        "judge_settings.parquet",
    ] {
        assert!(files.contains(&path), "{path}: {files:?}");
        assert!(out.join(path).is_file());
    }
    assert!(files.iter().all(|path| !path.contains("mask_key") && !path.contains("view_state")), "{files:?}");
    assert!(files.iter().all(|path| !path.contains("2026-12-02") && !path.contains("2026-12-06")), "{files:?}");
    assert_eq!((report.files, report.dates), (files.len() as u64, 3));
    assert_eq!((&manifest["exported_at"], &manifest["from"]), (&json!("now"), &Value::Null));
    let path = out.join("spans/date=2026-12-01/data_0.parquet");
    let path = path.to_str().unwrap().replace('[', "[[]").replace('*', "[*]").replace('?', "[?]").replace('\'', "''");
    let rows = format!("SELECT trace_id, span_id FROM read_parquet('{path}', hive_partitioning = false) ORDER BY ALL");
    assert_eq!(answers(&store, &rows), ["late|root", "late|s1"]);
    let mut other = Store::in_memory().unwrap();
    import(&mut other, &out);
    assert_eq!(content(&other, false), content(&store, false));
}

#[test]
fn export_of_a_span_of_dates_has_those_traces_and_the_whole_history() {
    let folder = folder();
    let store = Store::open(&db(&folder)).unwrap();
    let traces = [("a", MIDNIGHT - 1), ("b", MIDNIGHT), ("c", MIDNIGHT + DAY - 1), ("d", MIDNIGHT + DAY)];
    let fixture =
        traces.iter().fold(Fixture::new().sql(READ), |f, (trace, start)| f.span(answer(trace, "r").start(*start)));
    store.execute(&fixture.statements()).unwrap();
    store
        .execute(
            "INSERT INTO span_links (trace_id, span_id, parent_span_id, source_id) VALUES ('adrift', 'l', NULL, 1)",
        )
        .unwrap();
    for (from, to, expected) in [
        (None, None, "abcd"),
        (Some(DATE), None, "bcd"),
        (None, Some(DATE), "abc"),
        (Some(DATE), Some(DATE), "bc"),
        (Some("2026-12-03"), None, ""),
    ] {
        let out = folder.path().join("x");
        let options =
            ExportOptions { from: from.map(str::to_owned), to: to.map(str::to_owned), ..ExportOptions::default() };
        store.export_parquet(&out, &options).unwrap();
        let mut other = Store::in_memory().unwrap();
        import(&mut other, &out);
        assert_eq!(answers(&other, "SELECT trace_id FROM spans ORDER BY 1").concat(), expected);
        assert_eq!(answers(&other, "SELECT trace_id FROM traces ORDER BY 1").concat(), expected);
        assert_eq!(counts(&other, &["sources", "batches"]), ["sources 2", "batches 2"]);
        let adrift = if from.is_none() && to.is_none() { "1" } else { "0" };
        assert_eq!(answers(&other, "SELECT COUNT(*) FROM span_links"), [adrift], "no date, no limit of dates");
        fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn export_goes_only_into_a_new_or_an_empty_folder() {
    let folder = folder();
    let store = Store::open(&db(&folder)).unwrap();
    let out = folder.path().join("x");
    fs::create_dir(&out).unwrap();
    export(&store, &out);
    let written = fs::read(out.join("manifest.json")).unwrap();
    drop(store);
    for path in ["x", "taco.duckdb"] {
        let (status, told) = refused(&folder, &["store", "export", "--parquet", path]);
        assert_eq!(status, Some(2));
        assert!(told.contains(&format!("비어 있는 폴더가 아닙니다: `{path}`")), "{told}");
    }
    assert_eq!(fs::read(out.join("manifest.json")).unwrap(), written);
    // What an earlier export left half done goes; what someone else has there stays.
    fs::create_dir(folder.path().join("y.tmp")).unwrap();
    fs::write(folder.path().join("y.tmp/half"), "").unwrap();
    let (status, told) = refused(&folder, &["store", "export", "--parquet", "y"]);
    assert_eq!(status, Some(2), "{told}");
    assert!(folder.path().join("y.tmp/half").exists());
    fs::write(folder.path().join("y.tmp/.taco-trace-export"), "").unwrap();
    succeed(&folder, &["store", "export", "--parquet", "y/"]);
    assert_eq!(names(&folder), ["taco.duckdb", "x", "y"]);
    assert!(!folder.path().join("y/.taco-trace-export").exists() && !folder.path().join("y/half").exists());
}

#[test]
fn export_into_a_folder_that_cannot_be_made_is_told() {
    let folder = folder();
    drop(Store::open(&db(&folder)).unwrap());
    let (status, told) = refused(&folder, &["store", "export", "--parquet", "taco.duckdb/x"]);
    assert!(matches!(status, Some(2 | 3)), "{told}");
    assert_eq!(names(&folder), ["taco.duckdb"]);
}

// import

/// Files of the repository that together have every kind of row.
const FILES: [&str; 8] = [
    "seed/traces.jsonl",
    "generated/traces.jsonl",
    "quirks/split_shuffled.jsonl",
    "quirks/dup_lines.jsonl",
    "malformed/span_id_empty.jsonl",
    "malformed/args_not_json.jsonl",
    "real/strands-agents-1.62.0-latest/traces.jsonl",
    "real/pydantic-ai-2.68.0-v5/traces.jsonl",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5))]

    /// Whatever files in whatever order and however many runs of ingest.
    #[test]
    fn import_into_an_empty_store_gives_an_equal_one(
        files in Just(FILES.to_vec()).prop_shuffle(),
        runs in prop::collection::vec(0..4_usize, 1..4),
        mask: bool,
        with_tools: bool,
    ) {
        let (one, two) = (folder(), folder());
        let mut files = files.into_iter();
        for count in runs {
            let taken: Vec<&str> = files.by_ref().take(count).collect();
            let tools = fixture("generated/tools.json");
            let mut more = if with_tools || taken.is_empty() { vec!["--tools", tools.as_str()] } else { Vec::new() };
            more.extend(mask.then_some("--mask"));
            ingest(&one, &taken, &more);
        }
        let out = one.path().join("x").display().to_string();
        succeed(&one, &["store", "export", "--parquet", &out, "--with-mask-key"]);
        succeed(&two, &["store", "import", &out]);
        prop_assert_eq!(content(&open(&two), true), content(&open(&one), true));
        let as_json = |folder| succeed(folder, &["diagnose", "--format", "json"]);
        prop_assert_eq!(as_json(&two), as_json(&one));
    }
}

#[test]
fn import_of_a_judged_store_has_its_judgements() {
    let (one, two) = (folder(), folder());
    ingest(&one, &["seed/traces.jsonl"], &["--tools", &fixture("seed/tools.json")]);
    succeed(&one, &["diagnose"]);
    succeed(&one, &["diagnose", "--tool", "search_regulation"]);
    let out = one.path().join("x");
    export(&open(&one), &out);
    succeed(&two, &["store", "import", out.to_str().unwrap()]);
    assert_eq!(counts(&open(&two), &["judgements"]), ["judgements 2"]);
    assert_eq!(content(&open(&two), false), content(&open(&one), false));
}

#[test]
fn import_again_adds_nothing() {
    let folder = folder();
    ingest(&folder, &FILES, &["--tools", &fixture("seed/tools.json")]);
    let store = open(&folder);
    let out = folder.path().join("x");
    export(&store, &out);
    let mut other = Store::in_memory().unwrap();
    let first = import(&mut other, &out);
    assert_eq!((first.spans_same, first.spans_other, first.sources_known), (0, 0, 0));
    let before = content(&other, false);
    let again = import(&mut other, &out);
    assert_eq!((again.rows, again.spans_new, again.sources_new), (0, 0, 0));
    assert_eq!((again.spans_same, again.sources_known), (first.spans_new, first.sources_new));
    assert_eq!(content(&other, false), before);
    // Into the very store that it came from.
    drop(other);
    let mut store = store;
    assert_eq!(import(&mut store, &out).rows, 0);
}

/// Two exports of one store, month by month, make up the whole.
#[test]
fn exports_of_parts_make_up_the_whole() {
    let folder = folder();
    let store = Store::open(&db(&folder)).unwrap();
    let traces = [("a", MIDNIGHT - 1, "{}"), ("b", MIDNIGHT, "{\"k\":1}")];
    let fixture = traces.iter().fold(Fixture::new().sql(READ), |fixture, (trace, start, args)| {
        let args = call(trace, "s").start(*start).args(args).arg("k", "integer");
        fixture.span(answer(trace, "r").start(*start)).span(args).issue(trace, None, IssueCode::SpanConflict)
    });
    store.execute(&fixture.statements()).unwrap();
    let mut other = Store::in_memory().unwrap();
    for (name, from, to) in [("1", None, Some("2026-11-30")), ("2", Some(DATE), None)] {
        let options =
            ExportOptions { from: from.map(str::to_owned), to: to.map(str::to_owned), ..ExportOptions::default() };
        store.export_parquet(&folder.path().join(name), &options).unwrap();
        import(&mut other, &folder.path().join(name));
    }
    assert_eq!(content(&other, false), content(&store, false));
}

#[test]
fn import_into_another_store_gives_new_numbers_and_keeps_what_is_there() {
    let (one, two) = (folder(), folder());
    ingest(&one, &["seed/traces.jsonl", "malformed/args_not_json.jsonl"], &["--tools", &fixture("seed/tools.json")]);
    ingest(&two, &["generated/traces.jsonl"], &["--tools", &fixture("generated/tools.json")]);
    let apart = |folder| content(&open(folder), false);
    let (first, second) = (apart(&one), apart(&two));
    let out = one.path().join("x");
    export(&open(&one), &out);
    let report = import(&mut open(&two), &out);
    assert_eq!(report.spans_new, first["spans"].len() as u64);
    assert_eq!((report.sources_new, report.sources_known), (2, 0));
    let store = open(&two);
    let together = content(&store, false);
    for table in ["spans", "span_links", "traces", "sources", "batches", "ingest_issues", "dropped_operations"] {
        assert_eq!(together[table].len(), first[table].len() + second[table].len(), "{table}");
    }
    assert_eq!(answers(&store, "SELECT source_id, batch_id FROM sources ORDER BY 1"), ["1|1", "2|2", "3|2"]);
    assert_eq!(
        answers(&store, "SELECT COUNT(*) FROM spans s JOIN sources USING (source_id, batch_id)"),
        [together["spans"].len().to_string()]
    );
    assert_eq!(together["judge_settings"], second["judge_settings"], "the tool set in force stays");
    assert_eq!(together["tool_sets"].len(), 2);
    // Each trace is judged as before, with its own tool set.
    drop(store);
    let verdicts = |folder| -> BTreeMap<String, Value> {
        let runs: Vec<Value> = serde_json::from_str(&succeed(folder, &["diagnose", "--format", "json"])).unwrap();
        runs.into_iter().map(|run| (run["trace_id"].as_str().unwrap().to_owned(), run)).collect()
    };
    let merged = verdicts(&two);
    for (trace, run) in verdicts(&one) {
        assert_eq!(merged[&trace], run);
    }
}

#[test]
fn spans_that_both_have_are_settled_as_delivered_again() {
    let folder = folder();
    let make = |spans: Fixture| {
        let store = Store::in_memory().unwrap();
        store.execute(&spans.statements()).unwrap();
        store
    };
    let theirs = make(
        Fixture::new()
            .sql(READ)
            .span(answer("t", "root").start(10))
            .span(call("t", "same").start(20).parent_lost())
            .span(call("t", "other").start(30).error())
            .span(call("t", "new").start(40)),
    );
    let ours = [("root", 10), ("same", 20), ("other", 30)];
    let fixture = ours.iter().fold(Fixture::new().sql(READ), |fixture, (id, start)| {
        fixture.span(if *id == "root" { answer("t", id).start(*start) } else { call("t", id).start(*start) })
    });
    let mut ours = make(fixture.sql(
        "INSERT INTO batches (batch_id, started_at, tool_set) VALUES (3, '2026-12-02T00:00:00.000+09:00', NULL);",
    ));
    let out = folder.path().join("x");
    export(&theirs, &out);
    let report = import(&mut ours, &out);
    assert_eq!((report.spans_new, report.spans_same, report.spans_other), (1, 2, 1));
    assert_eq!(
        answers(&ours, "SELECT span_id, status FROM spans ORDER BY start_ns"),
        ["root|ok", "same|ok", "other|ok", "new|ok"]
    );
    let issues = "SELECT trace_id, span_id, code, reason, severity FROM ingest_issues";
    assert_eq!(answers(&ours, issues), ["t|other|span_conflict|span_conflict|warning"]);
    assert_eq!(import(&mut ours, &out).spans_other, 1);
    assert_eq!(answers(&ours, issues).len(), 1, "told once");
}

/// A call came into one store, the dropped span between it and its agent into the other.
#[test]
fn parents_are_worked_out_anew_where_traces_come_together() {
    let row = |id: u8, parent: &str, operation: &str| {
        format!(
            r#"{{"traceId":"{:032x}","spanId":"{id:016x}","parentSpanId":"{parent}","name":"s",
                "startTimeUnixNano":"1796050800{id:09}","endTimeUnixNano":"1796050900000000000","status":{{}},"attributes":[
                {{"key":"gen_ai.operation.name","value":{{"stringValue":"{operation}"}}}},
                {{"key":"gen_ai.tool.name","value":{{"stringValue":"lookup"}}}}]}}"#,
            7
        )
        .replace('\n', " ")
    };
    let document =
        |spans: &[String]| format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
    let (root, between, below) =
        (row(1, "", "invoke_agent"), row(2, "0000000000000001", "chat"), row(3, "0000000000000002", "execute_tool"));
    let stores: Vec<TempDir> = [document(&[root, below]), document(&[between])]
        .iter()
        .map(|text| {
            let folder = folder();
            fs::write(folder.path().join("a.jsonl"), text).unwrap();
            run(&folder, &["ingest", "-q", "a.jsonl"]);
            folder
        })
        .collect();
    let parents = "SELECT span_id, parent_span_id, parent_lost FROM spans ORDER BY span_id";
    assert_eq!(answers(&open(&stores[0]), parents)[1], "0000000000000003|-|true");
    for (from, into) in [(0, 1), (1, 0)] {
        let out = stores[from].path().join(format!("x{from}"));
        export(&open(&stores[from]), &out);
        let target = folder();
        fs::copy(db(&stores[into]), db(&target)).unwrap();
        import(&mut open(&target), &out);
        assert_eq!(
            answers(&open(&target), parents)[1],
            "0000000000000003|0000000000000001|false",
            "{from} into {into}"
        );
    }
}

#[test]
fn import_names_the_file_that_is_missing_or_changed_and_takes_nothing() {
    let (one, two) = (folder(), folder());
    ingest(&one, &["seed/traces.jsonl"], &[]);
    let whole = one.path().join("x");
    export(&open(&one), &whole);
    let spans = "spans/date=2026-10-07/data_0.parquet";
    let copy = |change: &dyn Fn(&Path)| {
        let out = two.path().join("x");
        fs::remove_dir_all(&out).ok();
        for path in files_of(&whole) {
            let to = out.join(path.strip_prefix(&whole).unwrap());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(&path, to).unwrap();
        }
        change(&out);
    };
    let edit = |change: &dyn Fn(&mut Value)| {
        copy(&|out| {
            let mut text = manifest(out);
            change(&mut text);
            fs::write(out.join("manifest.json"), text.to_string()).unwrap();
        });
    };
    let mut cases: Vec<(&str, String)> = Vec::new();
    let mut attempt = |name: &'static str| {
        let (status, told) = refused(&two, &["store", "import", "x"]);
        assert_eq!(status, Some(3), "{name}: {told}");
        assert_eq!(counts(&open(&two), &["spans", "sources"]), ["spans 0", "sources 0"], "{name}");
        cases.push((name, told));
    };
    copy(&|out| fs::remove_file(out.join("manifest.json")).unwrap());
    attempt("no manifest");
    copy(&|out| fs::remove_file(out.join(spans)).unwrap());
    attempt("no file");
    copy(&|out| {
        let mut bytes = fs::read(out.join(spans)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(out.join(spans), bytes).unwrap();
    });
    attempt("a bit");
    copy(&|out| fs::write(out.join("sources.parquet"), "").unwrap());
    attempt("emptied");
    copy(&|out| fs::write(out.join("manifest.json"), "{").unwrap());
    attempt("no JSON");
    edit(&|text| text["format"] = json!("another"));
    attempt("another format");
    edit(&|text| text["format_version"] = json!(2));
    attempt("another layout");
    edit(&|text| text["schema_version"] = json!(999));
    attempt("newer");
    edit(&|text| text["schema_version"] = json!(0));
    attempt("older than all");
    edit(&|text| text["migrations"][0][1] = json!("another"));
    attempt("other migrations");
    edit(&|text| text["migrations"] = json!([]));
    attempt("no migrations");
    edit(&|text| drop(text["tables"].as_array_mut().unwrap().pop()));
    attempt("no table");
    edit(&|text| text["tables"][0]["columns"][0][0] = json!("another"));
    attempt("other columns");
    edit(&|text| text["tables"][0]["rows"] = json!(77));
    attempt("other rows");
    for path in ["../taco.duckdb", "/etc/hostname", "a/../../b"] {
        edit(&|text| text["tables"][0]["files"][0]["path"] = json!(path));
        attempt("outside");
    }
    let told: BTreeMap<&str, String> = cases.into_iter().collect();
    for (name, words) in [
        ("no manifest", "있어야 할 파일이 없습니다: `x/manifest.json`"),
        ("no file", "있어야 할 파일이 없습니다: `x/spans/date=2026-10-07/data_0.parquet`"),
        ("a bit", "바뀐 파일입니다: `x/spans/date=2026-10-07/data_0.parquet`"),
        ("emptied", "바뀐 파일입니다: `x/sources.parquet`"),
        ("no JSON", "목록을 쓸 수 없습니다: `x/manifest.json`"),
        ("another format", "목록을 쓸 수 없습니다"),
        ("another layout", "목록을 쓸 수 없습니다"),
        ("newer", "저장소 `999`"),
        ("older than all", "저장소 `0`"),
        ("other migrations", "`0001_create_store.sql`"),
        ("no migrations", "`0001_create_store.sql`"),
        ("no table", "목록을 쓸 수 없습니다"),
        ("other columns", "arg_shapes has other columns"),
        ("other rows", "행의 수가 다릅니다: `arg_shapes` 77개가"),
        ("outside", "목록을 쓸 수 없습니다"),
    ] {
        assert!(told[name].contains(words), "{name}: {}", told[name]);
    }
    copy(&|_| {});
    succeed(&two, &["store", "import", "x"]);
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_of(&path) } else { vec![path] }).collect()
}

/// An archive of an earlier program is brought up to date on its way in.
#[test]
fn export_of_the_first_version_is_taken_over() {
    let folder = folder();
    let store = Store::open(&db(&folder)).unwrap();
    store.execute(&Fixture::new().sql(READ).span(answer("t", "root").start(MIDNIGHT)).statements()).unwrap();
    let out = folder.path().join("x");
    export(&store, &out);
    let first = "SELECT column_name FROM duckdb_columns() WHERE table_name = 'spans' AND column_name = 'trace_id'";
    assert_eq!(answers(&store, first), ["trace_id"]);
    let mut text = manifest(&out);
    text["schema_version"] = json!(1);
    // What the first version did not have: tables and columns of later migrations.
    let sql = fs::read_to_string(repository().join("migrations/0001_create_store.sql")).unwrap();
    let old = tables_of(&sql);
    let tables = text["tables"].as_array_mut().unwrap();
    tables.retain(|table| old.contains_key(table["name"].as_str().unwrap()));
    for table in tables {
        let kept = &old[table["name"].as_str().unwrap()];
        let columns = table["columns"].as_array_mut().unwrap();
        columns.retain(|column| kept.contains(&column[0].as_str().unwrap().to_owned()));
    }
    fs::write(out.join("manifest.json"), text.to_string()).unwrap();
    let mut other = Store::in_memory().unwrap();
    let report = import(&mut other, &out);
    assert_eq!((report.spans_new, report.sources_new), (1, 2));
    assert_eq!(answers(&other, "SELECT trace_id, span_id, start_ns FROM spans"), [format!("t|root|{MIDNIGHT}")]);
}

/// Names of the columns of each table that the statements make.
fn tables_of(sql: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut table = String::new();
    for line in sql.lines() {
        if let Some(rest) = line.strip_prefix("CREATE TABLE ") {
            table = rest.split_whitespace().next().unwrap().to_owned();
        } else if let Some(column) = line.strip_prefix("    ").and_then(|rest| rest.split_whitespace().next()) {
            tables.entry(table.clone()).or_default().push(column.to_owned());
        }
    }
    tables
}

#[test]
fn key_of_masked_values_leaves_the_store_only_when_asked_for() {
    let (one, two) = (folder(), folder());
    for folder in [&one, &two] {
        ingest(folder, &["seed/traces.jsonl"], &["--mask"]);
    }
    succeed(&one, &["store", "export", "--parquet", "without"]);
    succeed(&one, &["store", "export", "--parquet", "with", "--with-mask-key"]);
    assert!(!one.path().join("without/mask_key.parquet").exists());
    let [without, with] = ["without", "with"].map(|name| one.path().join(name).display().to_string());
    let key = |folder| answers(&open(folder), "SELECT * FROM mask_key");
    let third = folder();
    succeed(&third, &["store", "import", &without]);
    assert_eq!(key(&third), [""; 0]);
    succeed(&third, &["store", "import", &with]);
    assert_eq!(key(&third), key(&one));
    let own = key(&two);
    let told = succeed(&two, &["store", "import", &with]);
    assert!(told.contains("다른 열쇠로 가렸습니다"), "{told}");
    assert_eq!(key(&two), own);
}

#[test]
fn import_into_a_store_in_use_is_refused() {
    let folder = folder();
    let store = Store::open(&db(&folder)).unwrap();
    export(&store, &folder.path().join("x"));
    let (status, told) = refused(&folder, &["store", "import", "x"]);
    assert_eq!(status, Some(3));
    assert!(told.contains("다른 프로세스가"), "{told}");
    assert!(matches!(Store::open_existing(Path::new("nowhere")), Err(StoreError::Missing { .. })));
}
