//! A store file needs nothing of ours: the stock `duckdb` package of Python opens it and every view answers.
//!
//! Skipped where Python or the package is missing, unless `TACO_TRACE_REQUIRE_STOCK_DUCKDB=1` demands it.

use std::path::Path;
use std::process::Command;

use taco_trace::store::{RULE_SET, Store, view_files};

use super::support::{answers, repository};

/// Prints the version of the package, then each view named on the command line with its number of rows.
const COUNT_ROWS: &str = "
import duckdb, sys
store = duckdb.connect(sys.argv[1], read_only=True)
print(duckdb.__version__)
for view in sys.argv[2:]:
    print(view, len(store.execute('SELECT * FROM ' + view).fetchall()))
";

/// Fills a store with the runs of the seed, as its users do.
fn ingest_seed(store: &Path) {
    let seed = repository().join("fixtures/seed");
    let output = Command::new(env!("CARGO_BIN_EXE_taco-trace"))
        .args(["ingest", "--quiet", "--tools"])
        .arg(seed.join("tools.json"))
        .arg(seed.join("traces.jsonl"))
        .arg("--db")
        .arg(store)
        .output()
        .expect("the program can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What `python3 -c` printed; none when there is no Python with the package.
fn stock_duckdb(script: &str, arguments: &[String]) -> Option<String> {
    let required = std::env::var_os("TACO_TRACE_REQUIRE_STOCK_DUCKDB").is_some_and(|value| value == "1");
    let found = Command::new("python3").args(["-c", "import duckdb"]).output();
    if !found.as_ref().is_ok_and(|output| output.status.success()) {
        assert!(!required, "no python3 with the package duckdb: {found:?}");
        eprintln!("skipped: no python3 with the package duckdb");
        return None;
    }
    let output = Command::new("python3").args(["-c", script]).args(arguments).output().expect("python3 ran just now");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("names and numbers are UTF-8"))
}

#[test]
fn stock_duckdb_answers_every_view_as_the_library_does() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("taco.duckdb");
    ingest_seed(&path);
    let views: Vec<String> = view_files().iter().map(|file| file.view()).collect();
    let library = Store::open_existing(&path).unwrap();
    let expected: Vec<String> = views
        .iter()
        .map(|view| format!("{view} {}", answers(&library, &format!("SELECT * FROM {view}")).len()))
        .collect();
    assert!(!expected.contains(&format!("{RULE_SET} 0")), "the seed has findings");
    // One process writes or several read: the library lets go first.
    drop(library);
    let arguments = [&[path.display().to_string()], views.as_slice()].concat();
    let Some(printed) = stock_duckdb(COUNT_ROWS, &arguments) else { return };
    let mut lines = printed.lines();
    let version = lines.next().unwrap_or_default();
    assert!(version.starts_with("2."), "the package is at {version}; the store needs 2.x");
    assert_eq!(lines.collect::<Vec<_>>(), expected);
}
