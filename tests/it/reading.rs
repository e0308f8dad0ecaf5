//! Commands that only read a store do not need it alone, and write nothing to it.

use std::fs;
use std::process::Output;

use taco_trace::store::{Store, StoreError};

use super::support_cli::{Place, program, told};

/// Every command that only reads, without the store.
const READING: [&[&str]; 13] = [
    &["diagnose"],
    &["diagnose", "--tools", "fixtures/seed/tools.json", "--format", "json"],
    &["diagnose", "--since", "2026-10-01", "--format", "sarif"],
    &["explain", "81c95e0b"],
    &["hq-candidates"],
    &["hq-candidates", "decisions"],
    &["compare", "--base", "rules:v1", "--head", "rules:v2"],
    &["report", "--html", "-"],
    &["review", "list"],
    &["store", "info"],
    &["calls", "list"],
    &["sql", "SELECT * FROM verdicts"],
    &["sql", "--tables"],
];

fn read(place: &Place, arguments: &[&str]) -> Output {
    let output = program().args(arguments).arg("--db").arg(place.db()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    output
}

/// How often a judgement was recorded.
fn recorded(place: &Place) -> Vec<String> {
    place.rows("SELECT COUNT(*) FROM judgements")
}

#[test]
fn commands_that_read_do_so_while_another_process_reads() {
    let place = Place::seeded();
    let alone: Vec<Vec<u8>> = READING.iter().map(|arguments| read(&place, arguments).stdout).collect();
    let before = fs::read(place.db()).unwrap();
    let held = Store::open_to_read(&place.db()).unwrap();
    for (arguments, expected) in READING.iter().zip(&alone) {
        assert_eq!(read(&place, arguments).stdout, *expected, "{arguments:?}");
    }
    drop(held);
    assert_eq!(fs::read(place.db()).unwrap(), before, "no byte of the store changed");
}

#[test]
fn command_that_writes_is_refused_while_another_process_reads() {
    let place = Place::seeded();
    let _held = Store::open_to_read(&place.db()).unwrap();
    let output = place.ingest(&["no.jsonl"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(told(&output).contains("다른 프로세스가 저장소를 잡고 있습니다"), "{}", told(&output));
}

#[test]
fn judgement_is_recorded_when_the_store_is_free_and_it_differs_from_the_last() {
    let place = Place::seeded();
    let held = Store::open_to_read(&place.db()).unwrap();
    read(&place, &["diagnose"]);
    drop(held);
    assert_eq!(recorded(&place), ["0"]);
    read(&place, &["diagnose"]);
    read(&place, &["diagnose", "--format", "json"]);
    assert_eq!(recorded(&place), ["1"]);
    read(&place, &["diagnose", "--tool", "search_regulation"]);
    assert_eq!(recorded(&place), ["2"]);
    read(&place, &["diagnose"]);
    assert_eq!(recorded(&place), ["3"]);
}

#[test]
fn tools_of_one_question_are_kept_with_its_record_and_change_no_other_judgement() {
    let place = Place::seeded();
    let plain = read(&place, &["diagnose", "--format", "json"]).stdout;
    place.write("other.json", "[]");
    let other = place.path("other.json").display().to_string();
    let with_other = read(&place, &["diagnose", "--format", "json", "--tools", &other]).stdout;
    assert_ne!(with_other, plain);
    let known = "SELECT COUNT(*) FROM judgements j JOIN tool_sets t ON t.tool_set = j.tool_set_override";
    assert_eq!(place.rows(known), ["1"], "a judgement can be repeated with the tool set that it names");
    assert_eq!(read(&place, &["diagnose", "--format", "json"]).stdout, plain);
    assert_eq!(read(&place, &["diagnose", "--format", "json", "--tools", &other]).stdout, with_other);
}

#[test]
fn store_opened_to_read_cannot_be_changed() {
    let place = Place::seeded();
    let store = Store::open_to_read(&place.db()).unwrap();
    assert!(store.execute("DELETE FROM spans").is_err());
    let missing = Store::open_to_read(&place.path("none.duckdb"));
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
    assert!(Store::open_if_free(&place.db()).is_ok());
}
