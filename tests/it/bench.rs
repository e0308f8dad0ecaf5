//! `bench labelled`: the counts against a naive one, what is told of traces without a partner, refused manifests.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::bench::{Given, Judged, ManifestError, agreement, is_below, parse_manifest};
use taco_trace::model::bench::Answer;
use taco_trace::model::{Rule, Verdict};
use taco_trace::stats::{Share, wilson};

use super::support::repository;
use super::support_cli::{Place, program, requests, told};

const ADK: &str = "fixtures/real/google-adk-2.13.0";

/// What manifests write for each answer.
const NAMES: [&str; 7] =
    ["undefined_tool", "arg_mismatch", "timeout", "retry_limit", "hidden_error", "normal", "unjudged"];

fn bench(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = program().args(["bench", "labelled"]).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap(), told(&output))
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no count: {value}"))
}

/// Counts anew from two lists: the manifest as it stands and what `diagnose` prints.
#[test]
fn counts_of_a_real_folder_are_those_of_a_naive_count() {
    let (code, out, _) = bench(&[ADK, "--format", "json"]);
    assert_eq!(code, Some(0));
    let found: Value = serde_json::from_str(&out).unwrap();
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(repository().join(ADK).join("manifest.json")).unwrap()).unwrap();
    let diagnosed = program()
        .args(["diagnose", "--format", "json", "--tools"])
        .args([format!("{ADK}/tools.json"), format!("{ADK}/traces.jsonl")])
        .output()
        .unwrap();
    let diagnoses: Vec<Value> = serde_json::from_slice(&diagnosed.stdout).unwrap();
    let (mut compared, mut matched, mut all, mut absent) = (0, 0, 0, 0);
    let mut cells: BTreeMap<(String, String), u64> = BTreeMap::new();
    for entry in manifest["traces"].as_array().unwrap() {
        let Some(run) = diagnoses.iter().find(|run| run["trace_id"] == entry["trace_id"]) else {
            absent += 1;
            continue;
        };
        let mut places: Vec<usize> = entry["verdicts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| NAMES.iter().position(|known| name == known).unwrap())
            .collect();
        places.sort_unstable();
        let label = |place: usize| Answer::ALL[place].label().to_owned();
        let expected = label(places.first().copied().unwrap_or(5));
        let also: Vec<String> = places.iter().skip(1).map(|place| label(*place)).collect();
        compared += 1;
        matched += u64::from(run["verdict"] == expected.as_str());
        all += u64::from(run["verdict"] == expected.as_str() && run["also_found"] == json!(also));
        *cells.entry((expected, run["verdict"].as_str().unwrap().to_owned())).or_default() += 1;
    }
    assert!(matched < compared && absent > 0, "the folder shows both: {matched} of {compared}, {absent}");
    assert_eq!([&found["verdict"]["compared"], &found["verdict"]["matched"]].map(count), [compared, matched]);
    assert_eq!(count(&found["all_rules"]["matched"]), all);
    assert_eq!(found["mismatches"].as_array().unwrap().len() as u64, compared - matched);
    assert_eq!(found["also_differs"].as_array().unwrap().len() as u64, matched - all);
    assert_eq!(found["only_in_manifest"].as_array().unwrap().len(), absent);
    let interval = wilson(Share { hits: matched, of: compared });
    assert_eq!(found["verdict"]["low"], json!(interval.low));
    assert_eq!(found["verdict"]["high"], json!(interval.high));
    for row in found["confusion"].as_array().unwrap() {
        for (place, given) in row["given"].as_array().unwrap().iter().enumerate() {
            let key = (row["expected"].as_str().unwrap().to_owned(), Answer::ALL[place].label().to_owned());
            assert_eq!(count(given), cells.get(&key).copied().unwrap_or_default(), "{key:?}");
        }
    }
}

#[test]
fn reports_for_people_say_whose_labels_they_are_and_what_has_no_partner() {
    for format in ["table", "md"] {
        let (code, out, _) = bench(&[ADK, "--format", format]);
        assert_eq!(code, Some(0));
        assert!(!out.contains("j2"), "{out}");
        let head: Vec<&str> = out.lines().take(12).collect();
        let head = head.join("\n");
        assert!(head.contains("manifest.json") && head.contains("google-adk"), "{head}");
        assert!(head.contains("이 기대 판정과 얼마나 같은지만"), "{head}");
        for answer in Answer::ALL {
            assert!(out.contains(answer.label()), "{format}: {}", answer.label());
        }
        assert!(out.contains("traces-nocontent.jsonl(파일이 없습니다)"), "{out}");
        assert!(out.contains("95% 구간"), "{out}");
    }
}

/// A run in the files without a label, and one that the manifest says is no run.
#[test]
fn traces_without_a_partner_are_told_and_not_counted() {
    let place = Place::new();
    place.write("traces.jsonl", requests(0..3));
    let trace = |number: u32| format!("{:08x}{:024x}", number + 1, 7);
    place.write(
        "manifest.json",
        json!({"traces": [
            {"trace_id": trace(0).to_uppercase(), "verdicts": ["정상 완료"]},
            {"trace_id": trace(1), "verdicts": null},
            {"trace_id": "f".repeat(32), "verdicts": ["unjudged"]},
        ]})
        .to_string(),
    );
    place.write("tools.json", r#"[{"tool_name": "search", "description": "", "json_schema": "{}"}]"#);
    let folder = place.path("");
    let (code, out, _) = bench(&[folder.to_str().unwrap(), "--format", "json", "--fail-below", "100"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, Some(0), "{out}");
    assert_eq!([&found["verdict"]["compared"], &found["verdict"]["matched"]].map(count), [1, 1]);
    assert_eq!(
        found["only_in_manifest"],
        json!([
            {"trace_id": "f".repeat(32), "file": null, "file_found": null, "line": 1}
        ])
    );
    assert_eq!(found["only_in_files"], json!([{"trace_id": trace(2), "given": "정상 완료"}]));
    assert_eq!(found["no_run"], 1);
    assert_eq!(found["labels_from"], json!([]));
    let (_, table, _) = bench(&[folder.to_str().unwrap()]);
    assert!(table.contains("적혀 있지 않습니다") && table.contains(&trace(2)), "{table}");
    let output = place.path("report.md");
    let arguments = [folder.to_str().unwrap(), "-o", output.to_str().unwrap(), "--format", "md"];
    assert_eq!(bench(&arguments).0, Some(0));
    assert!(fs::read_to_string(output).unwrap().starts_with("# "));
    let manifest = place.path("manifest.json");
    assert_eq!(bench(&[folder.to_str().unwrap(), "-o", manifest.to_str().unwrap()]).0, Some(2), "it is read");
}

#[test]
fn manifest_that_cannot_be_used_is_refused_with_its_line() {
    let refused = |manifest: Option<&str>| {
        let place = Place::new();
        place.write("traces.jsonl", requests(0..1));
        if let Some(manifest) = manifest {
            place.write("manifest.json", manifest);
        }
        let (code, out, told) = bench(&[place.path("").to_str().unwrap()]);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{manifest:?}");
        assert!(told.contains("도움말: "), "{told}");
        told
    };
    assert!(refused(None).contains("manifest.json"));
    let cases = [
        ("{\n\"traces\": [\n}", ":3`"),
        ("[]", ":1`"),
        ("{}", ":1`"),
        ("{\"traces\": [\n{\"trace_id\": \"a\"}]}", ":2`"),
        ("{\"traces\": [\n{\"trace_id\": \"a\",\n\"verdicts\": [\n\"wrong\"]}]}", ":4`"),
        ("{\"traces\": [\n{\"trace_id\": \"a\", \"verdicts\": [\"normal\", \"timeout\"]}]}", ":2`"),
        ("{\"traces\": [{\"trace_id\": \"a\", \"verdicts\": []},\n{\"trace_id\": \"A\", \"verdicts\": []}]}", ":2`"),
    ];
    for (manifest, line) in cases {
        let told = refused(Some(manifest));
        assert!(told.contains(&format!("manifest.json{line}")), "{manifest}: {told}");
    }
    assert!(refused(Some(cases[4].0)).contains("wrong"));
    let told = refused(Some(r#"{"traces": [{"trace_id": "a", "file": "gone.jsonl", "verdicts": []}]}"#));
    assert!(told.contains("트레이스 파일이 없습니다"), "{told}");
}

#[test]
fn every_name_of_a_verdict_is_read() {
    let read = |name: &str| {
        let text = json!({"traces": [{"trace_id": "a", "verdicts": [name]}]}).to_string();
        parse_manifest(&text).map(|manifest| manifest.labels[0].expected.clone().unwrap().answer)
    };
    for (answer, name) in Answer::ALL.into_iter().zip(NAMES) {
        for name in [name, answer.label(), answer.slug()] {
            assert_eq!(read(name), Ok(answer), "{name}");
        }
    }
    for rule in Rule::ALL {
        assert_eq!(read(rule.as_str()), Ok(Answer::Judged(rule.verdict())));
    }
    assert_eq!(read("Normal"), Err(ManifestError::UnknownVerdict { line: 1, name: "Normal".to_owned() }));
}

#[test]
fn share_below_at_and_above_the_limit() {
    let of = |matched, compared| {
        let labels: Vec<Value> =
            (0..compared).map(|n: u64| json!({"trace_id": n.to_string(), "verdicts": ["normal"]})).collect();
        let manifest = parse_manifest(&json!({"traces": labels}).to_string()).unwrap();
        let runs: Vec<Judged> =
            (0..compared).map(|n| run(&n.to_string(), if n < matched { 5 } else { 6 }, &[])).collect();
        agreement(&manifest, &runs, ("m", "r"), |_| true).verdict
    };
    assert_eq!([49, 50, 51].map(|matched| is_below(&of(matched, 100), 50.0)), [true, false, false]);
    assert_eq!([1, 2, 3].map(|matched| is_below(&of(matched, 3), 66.7)), [true, true, false]);
    assert!(is_below(&of(0, 0), 0.0), "nothing compared shows nothing");
    assert_eq!(of(0, 0).share, None);
    for percent in ["-1", "100.1", "x", "NaN"] {
        assert_eq!(bench(&[ADK, "--fail-below", percent]).0, Some(2), "{percent}");
    }
    assert_eq!(bench(&[ADK, "--fail-below", "100"]).0, Some(1));
    assert_eq!(bench(&[ADK, "--fail-below", "0"]).0, Some(0));
}

fn run(trace_id: &str, answer: usize, also: &[usize]) -> Judged {
    let also = also.iter().map(|place| Rule::ALL[*place].verdict()).collect();
    Judged { trace_id: trace_id.to_owned(), given: Given { answer: Answer::ALL[answer], also }, notes: Vec::new() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Rows and columns sum to what a plain loop over the pairs counts; every run stands in one place.
    #[test]
    fn table_is_that_of_a_plain_loop(
        pairs in proptest::collection::vec((0_usize..8, 0_usize..8), 0..40),
    ) {
        // 7 of an expected answer is null, 7 of a given one a run that is not in the files.
        let labels: Vec<Value> = pairs.iter().enumerate().map(|(n, (expected, _))| {
            let verdicts = NAMES.get(*expected).map_or(Value::Null, |name| json!([name]));
            json!({"trace_id": n.to_string(), "verdicts": verdicts})
        }).collect();
        let runs: Vec<Judged> = pairs.iter().enumerate().filter(|(_, (_, given))| *given < 7)
            .map(|(n, (_, given))| run(&n.to_string(), *given, &[])).collect();
        let manifest = parse_manifest(&json!({"traces": labels}).to_string()).unwrap();
        let found = agreement(&manifest, &runs, ("m", "r"), |_| true);
        for expected in 0..7 {
            for given in 0..7 {
                let naive = pairs.iter().filter(|pair| **pair == (expected, given)).count() as u64;
                prop_assert_eq!(found.confusion[expected].given[given], naive);
            }
            let row = &found.confusion[expected];
            prop_assert_eq!(row.runs, row.given.iter().sum::<u64>());
        }
        let same = pairs.iter().filter(|(expected, given)| expected == given && *given < 7).count() as u64;
        prop_assert_eq!(found.verdict.matched, same);
        prop_assert_eq!(found.verdict.matched + found.mismatches.len() as u64, found.verdict.compared);
        let nulls = pairs.iter().filter(|(expected, _)| *expected == 7).count();
        prop_assert_eq!(found.no_run as usize, nulls);
        prop_assert_eq!(
            found.verdict.compared as usize + found.only_in_manifest.len() + nulls,
            pairs.len()
        );
        prop_assert!(found.only_in_files.is_empty());
        prop_assert_eq!(Answer::ALL[5], Answer::Judged(Verdict::Normal));
    }
}
