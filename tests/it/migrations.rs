//! Stores on disk: what opening creates, keeps, refuses and leaves alone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use taco_trace::digest::sha256_hex;
use taco_trace::store::{Store, StoreError};
use tempfile::TempDir;

use super::support::{Fixture, answer, answers, call, files_under, repository};

/// Names the store that [`store_holder`] holds when this binary runs itself.
const HELD_STORE: &str = "TACO_TRACE_TEST_HELD_STORE";

/// A folder for one store, removed at the end of the test.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test can be made");
    let path = folder.path().join("taco.duckdb");
    (folder, path)
}

fn history(store: &Store) -> Vec<String> {
    answers(store, "SELECT version, name, sha256 FROM schema_migrations ORDER BY version")
}

fn tables(store: &Store) -> Vec<String> {
    answers(store, "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name")
}

/// Why the store at the path is refused.
fn refusal(path: &Path) -> StoreError {
    match Store::open(path) {
        Ok(_) => panic!("{} opens", path.display()),
        Err(error) => error,
    }
}

#[test]
fn migration_files_are_numbered_without_gaps_and_all_applied() {
    let mut expected = Vec::new();
    for (version, path) in (1..).zip(files_under("migrations")) {
        let name = path.strip_prefix("migrations/").unwrap();
        let words = name.strip_suffix(".sql").and_then(|name| name.strip_prefix(&format!("{version:04}_")));
        let words: Vec<&str> =
            words.unwrap_or_else(|| panic!("{name} is not {version:04}_verb_object.sql")).split('_').collect();
        let plain = |word: &&str| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase());
        assert!(words.len() >= 2 && words.iter().all(plain), "{name} is not {version:04}_verb_object.sql");
        let sha256 = sha256_hex(&fs::read(repository().join(&path)).unwrap());
        expected.push(format!("{version}|{name}|{sha256}"));
    }
    assert_eq!(history(&Store::in_memory().unwrap()), expected);
}

#[test]
fn fresh_store_has_the_tables_of_the_migrations() {
    let mut expected = vec!["schema_migrations".to_owned()];
    for path in files_under("migrations") {
        let sql = fs::read_to_string(repository().join(path)).unwrap();
        let names = sql.lines().filter_map(|line| line.strip_prefix("CREATE TABLE "));
        expected.extend(names.filter_map(|rest| rest.split_whitespace().next()).map(str::to_owned));
    }
    expected.sort_unstable();
    let store = Store::in_memory().unwrap();
    assert_eq!(tables(&store), expected);
    assert_eq!(answers(&store, "SELECT * FROM judge_settings"), ["false|-|-"]);
}

#[test]
fn store_opened_again_keeps_its_rows_and_its_history() {
    let (_folder, path) = folder();
    let first = Store::open(&path).unwrap();
    first.execute(&Fixture::new().span(answer("t1", "root")).span(call("t1", "s1")).statements()).unwrap();
    let asked = ["SELECT * FROM spans ORDER BY span_id", "SELECT * FROM judge_settings", "SELECT * FROM set_run_v1"];
    let before = (tables(&first), history(&first), asked.map(|sql| answers(&first, sql)));
    drop(first);
    for _ in 0..2 {
        let again = Store::open_existing(&path).unwrap();
        assert_eq!((tables(&again), history(&again), asked.map(|sql| answers(&again, sql))), before);
    }
}

#[test]
fn view_dropped_by_hand_is_there_again_after_opening() {
    let (_folder, path) = folder();
    Store::open(&path).unwrap().execute("DROP VIEW rule_timeout_exceeded_v1").unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(answers(&store, "SELECT * FROM set_diagnosis_v1"), [""; 0]);
}

/// A view that was changed by hand would judge under the name of the released one.
#[test]
fn view_replaced_by_hand_is_the_released_one_again_after_opening() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    store.execute("CREATE OR REPLACE VIEW base_trace_v1 AS SELECT 'forged' AS trace_id, 'x' AS tool_set").unwrap();
    assert_eq!(answers(&store, "SELECT trace_id FROM base_trace_v1"), ["forged"]);
    drop(store);
    assert_eq!(answers(&Store::open(&path).unwrap(), "SELECT trace_id FROM base_trace_v1"), [""; 0]);
}

/// Opening a store that is current writes nothing: it can be asked on a full disk.
#[test]
fn views_that_are_current_are_left_alone() {
    let (_folder, path) = folder();
    drop(Store::open(&path).unwrap());
    let before = std::fs::read(&path).unwrap();
    drop(Store::open(&path).unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn newer_store_is_refused_with_both_versions() {
    let (_folder, path) = folder();
    Store::open(&path).unwrap().execute("INSERT INTO schema_migrations VALUES (999, 'later.sql', '')").unwrap();
    let migrations = i64::try_from(files_under("migrations").len()).unwrap();
    let error = refusal(&path);
    assert!(matches!(error, StoreError::Newer { found: 999, known } if known == migrations), "{error:?}");
}

#[test]
fn changed_migration_is_refused_by_name() {
    let (_folder, path) = folder();
    Store::open(&path).unwrap().execute("UPDATE schema_migrations SET sha256 = 'other' WHERE version = 1").unwrap();
    let error = refusal(&path);
    assert!(matches!(&error, StoreError::MigrationChanged { name } if name == "0001_create_store.sql"), "{error:?}");
}

#[test]
fn file_that_is_no_store_is_refused_and_left_alone() {
    let (folder, path) = folder();
    for content in ["not a store\n".repeat(2_000), "{}".to_owned()] {
        fs::write(&path, &content).unwrap();
        let error = refusal(&path);
        assert!(matches!(&error, StoreError::NotOpenable { path: told, .. } if *told == path), "{error:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    let error = refusal(folder.path());
    assert!(matches!(error, StoreError::NotOpenable { .. }), "{error:?}");
}

#[test]
fn place_that_would_keep_nothing_is_refused() {
    let (folder, _) = folder();
    // DuckDB takes these for tables in files, and opens a database in memory beside them.
    for name in ["calls.jsonl", "calls.json", "calls.csv"] {
        let path = folder.path().join(name);
        fs::write(&path, "{\"a\": 1}\n").unwrap();
        assert!(matches!(refusal(&path), StoreError::NotOpenable { .. }), "{name}");
    }
    assert!(matches!(refusal(std::path::Path::new(":memory:")), StoreError::NotOpenable { .. }));
}

#[test]
fn missing_store_is_told_and_not_created() {
    let (_folder, path) = folder();
    let error = Store::open_existing(&path).err().expect("there is no store");
    assert!(matches!(&error, StoreError::Missing { path: told } if *told == path), "{error:?}");
    assert!(!path.exists());
}

#[test]
fn folder_that_is_missing_is_told() {
    let (folder, _) = folder();
    let error = refusal(&folder.path().join("missing/taco.duckdb"));
    assert!(matches!(error, StoreError::NotOpenable { .. }), "{error:?}");
}

/// Does nothing by itself: [`store_held_by_another_process_is_refused`] runs it in a second process.
#[test]
fn store_holder() {
    let Some(path) = std::env::var_os(HELD_STORE) else { return };
    let _store = Store::open(Path::new(&path)).unwrap();
    println!("held");
    // Until the other process closes its end.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn store_held_by_another_process_is_refused() {
    let (_folder, path) = folder();
    drop(Store::open(&path).unwrap());
    let mut holder = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "migrations::store_holder"])
        .env(HELD_STORE, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Kept to the end: the other process goes on printing.
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.ends_with("held")), "the other process opens the store");
    let error = refusal(&path);
    drop(holder.stdin.take());
    lines.for_each(drop);
    assert!(holder.wait().unwrap().success());
    assert!(matches!(&error, StoreError::Locked { path: told, .. } if *told == path), "{error:?}");
    assert!(Store::open(&path).is_ok(), "opens once the other process is gone");
}
