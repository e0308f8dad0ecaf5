//! `eval case lint|freeze|list`: what is written, exit statuses, and that a version never changes.

use std::fs;
use std::process::Output;

use serde_json::Value;

use super::plain;
use crate::support::repository;
use crate::support_cli::{Place, program, told};

fn run(arguments: &[&str], place: &Place) -> Output {
    program().args(["eval", "case"]).args(arguments).current_dir(place.path("")).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn lint_tells_file_line_pointer_and_words_and_exits_with_one() {
    let place = Place::new();
    place.write("good.json", plain().to_string());
    let output = run(&["lint", "good.json"], &place);
    assert_eq!(
        (output.status.code(), text(&output).as_str()),
        (Some(0), "사례 1개를 살펴보았습니다. 잘못이 없습니다\n")
    );
    let mut bad = plain();
    bad["limits"]["turns"] = 0.into();
    bad["checks"][0]["max"] = "x".into();
    place.write("bad.json", serde_json::to_string_pretty(&bad).unwrap());
    let output = run(&["lint", "good.json", "bad.json"], &place);
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    let lines: Vec<String> = text(&output).lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(
        lines[0].starts_with("bad.json:") && lines[0].contains(": /checks/0/max 값의 type 이 다릅니다"),
        "{}",
        lines[0]
    );
    assert!(lines[1].ends_with(": /limits/turns 1 이상이어야 합니다"), "{}", lines[1]);
    assert_eq!(lines[2], "사례 2개를 살펴보았습니다: 파일 1개에 잘못 2건");
    let output = run(&["lint", "bad.json", "--format", "json"], &place);
    let rows: Value = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!((output.status.code(), rows[1]["code"].as_str()), (Some(1), Some("too_small")));
    assert_eq!((&rows[1]["file"], &rows[1]["pointer"]), (&"bad.json".into(), &"/limits/turns".into()));
}

#[test]
fn lint_of_another_format_says_only_that_and_the_whole_document_has_a_name() {
    let place = Place::new();
    place.write("other.json", r#"{"format": "somebody-else/1", "id": 7}"#);
    let output = run(&["lint", "other.json"], &place);
    let expected = "other.json:1: /format 쓸 수 없는 값입니다: `somebody-else/1`. 쓸 수 있는 값은 irumx-eval-case/1 입니다\n\
        사례 1개를 살펴보았습니다: 파일 1개에 잘못 1건\n";
    assert_eq!((output.status.code(), text(&output).as_str()), (Some(1), expected));
    let mut bad = plain();
    bad.as_object_mut().unwrap().remove("id");
    place.write("bad.json", bad.to_string());
    let said = text(&run(&["lint", "bad.json"], &place));
    assert!(said.starts_with("bad.json:1: (문서) `id` 이 빠졌습니다\n"), "{said}");
    let rows: Value = serde_json::from_str(&text(&run(&["lint", "bad.json", "-f", "json"], &place))).unwrap();
    assert_eq!(rows[0]["pointer"], "");
}

#[test]
fn lint_takes_folders_and_tells_of_what_it_cannot_read() {
    let cases = repository().join("fixtures/eval/cases");
    let output = program().args(["eval", "case", "lint"]).arg(cases).output().unwrap();
    assert_eq!(
        (output.status.code(), text(&output).as_str()),
        (Some(0), "사례 16개를 살펴보았습니다. 잘못이 없습니다\n")
    );
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    for (name, words) in [("empty", ".json 파일이 없습니다"), ("none.json", "파일이 없습니다")] {
        let output = run(&["lint", name], &place);
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert!(told(&output).contains(words), "{}", told(&output));
    }
    place.write("cp949.json", b"{\n \"id\": \"\xb0\xa1\"}");
    let output = run(&["lint", "cp949.json"], &place);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).starts_with("cp949.json:2: JSON 이 아닙니다"), "{}", text(&output));
    assert_eq!(run(&["lint"], &place).status.code(), Some(2));
}

#[test]
fn frozen_versions_are_listed_and_never_change() {
    let place = Place::new();
    place.write("case.json", plain().to_string());
    let first = run(&["freeze", "case.json"], &place);
    assert_eq!(first.status.code(), Some(0), "{}", told(&first));
    let sha256 = text(&first).split_whitespace().next().unwrap().to_owned();
    assert_eq!(text(&first), format!("{sha256}  plain\n새로 고정한 버전 1개\n"));
    let listed = || -> Value { serde_json::from_str(&text(&run(&["list", "--format", "json"], &place))).unwrap() };
    let before = listed();
    assert_eq!((before[0]["sha256"].as_str(), before[0]["id"].as_str()), (Some(sha256.as_str()), Some("plain")));
    // The same in another writing is the same version, with the time at which it was frozen first.
    place.write("case.json", serde_json::to_string_pretty(&plain()).unwrap());
    let again = run(&["freeze", "case.json"], &place);
    assert_eq!(text(&again), format!("{sha256}  plain (이미 있습니다)\n새로 고정한 버전 0개, 이미 있던 버전 1개\n"));
    assert_eq!(listed(), before);
    let mut changed = plain();
    changed["name"] = "다른 이름".into();
    place.write("case.json", changed.to_string());
    let json = text(&run(&["freeze", "case.json", "--format", "json"], &place));
    let rows: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((rows[0]["is_new"].as_bool(), rows[0]["name"].as_str()), (Some(true), Some("다른 이름")));
    assert_eq!(listed().as_array().unwrap().len(), 2, "both versions stay");
    let table = text(&run(&["list"], &place));
    assert!(table.starts_with("사례") && table.contains(&sha256[..12]) && table.contains("다른 이름"), "{table}");
}

#[test]
fn nothing_is_frozen_when_one_case_is_wrong_and_an_empty_store_says_so() {
    let place = Place::new();
    place.write("good.json", plain().to_string());
    place.write("proposal.json", r#"{"format": "irumx-eval-case-proposal-v1"}"#);
    let output = run(&["freeze", "good.json", "proposal.json"], &place);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output).contains("형식이 공개되지 않아"), "{}", text(&output));
    assert!(!place.db().exists());
    let none = run(&["list"], &place);
    assert_eq!(none.status.code(), Some(3), "no store");
    assert!(told(&none).contains("eval init") && !told(&none).contains("ingest"), "{}", told(&none));
    let store = taco_trace::store::Store::open(&place.db()).unwrap();
    drop(store);
    assert_eq!(text(&run(&["list"], &place)), "고정한 사례가 없습니다.\n");
}
