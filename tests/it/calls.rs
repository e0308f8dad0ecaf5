//! `taco-trace calls`: tables read, calls judged (against a naive judge too), checks kept and compared.

mod faults;
mod naive;

use std::fs;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Output;

use encoding_rs::EUC_KR;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};
use taco_trace::calls::{Written, for_each, required_arguments, verify};
use taco_trace::ingest::calls::{
    CallBatch, SpecTable, calls_of_span, plain_decimal, read_calls, read_specs, settle_specs, specs_of_tools, tool_key,
};
use taco_trace::ingest::tools::{ToolDefaults, parse_tools};
use taco_trace::model::{
    CallEvidence, CallSpec, CallValue, CallVerdict, CallVerdictKind, Issue, IssueCode, RecordedCall, SpecGap,
    SpecGapReason,
};
use taco_trace::render::Texts;
use taco_trace::render::calls::is_polite;
use taco_trace::store::{
    CALL_SET, CallEntry, CallInput, RULE_SET, Store, StoreError, call_set_sha256, rule_set_sha256, view_files,
};

use super::support::{Fixture, call, repository};
use super::support_cli::{Place, program, told};

const CALLS_HEADER: &str = "call_no,tool_name_raw,arg_name,arg_value\n";
const SPECS_HEADER: &str = "tool_id,arg_name,allowed_values,max_number,is_required\n";

fn fixture(name: &str) -> PathBuf {
    repository().join("fixtures/calls").join(name)
}

/// All calls of a text, and its issues.
fn calls_of(text: impl AsRef<[u8]>) -> (Vec<RecordedCall>, Vec<Issue>) {
    let mut all = CallBatch::default();
    let written: Result<u64, ()> = read_calls(text.as_ref(), 0, &mut |batch| {
        all.calls.extend(batch.calls);
        all.issues.extend(batch.issues);
        Ok(())
    });
    written.unwrap();
    (all.calls, all.issues)
}

fn specs_of(text: impl AsRef<[u8]>) -> (Vec<CallSpec>, Vec<Issue>) {
    let table = settle_specs(read_specs(text.as_ref(), 0));
    (table.specs, table.issues)
}

/// What is said of calls, and the numbers of those that cannot be judged. Every verdict passes the automatic checks.
struct Judged {
    verdicts: Vec<CallVerdict>,
    unjudged: Vec<String>,
}

fn judge_in(store: &Store, calls: &[RecordedCall], specs: &[CallSpec]) -> Judged {
    let mut check = store.begin_call_check("check", &std::env::temp_dir()).unwrap();
    let input = CallInput { role: "calls", path: "calls".to_owned(), sha256: String::new() };
    let number = check.add_input(&input).unwrap();
    check.add_specs(specs, number).unwrap();
    for part in calls.chunks(3) {
        check.add_calls(part, number).unwrap();
    }
    check.judge().unwrap();
    let mut verdicts = Vec::new();
    for_each(&check, &Texts::korean(), |verdict, entry| {
        verify(&Written::from(verdict), entry).unwrap_or_else(|refused| panic!("{refused}"));
        verdicts.push(verdict.clone());
        Ok::<(), StoreError>(())
    })
    .unwrap();
    let unjudged = check.unjudged_calls(0, i64::MAX).unwrap().into_iter().map(|call| call.call_no).collect();
    Judged { verdicts, unjudged }
}

fn judge(calls: impl AsRef<[u8]>, specs: impl AsRef<[u8]>) -> Judged {
    let (calls, issues) = calls_of(calls);
    assert_eq!(issues, [], "calls");
    let (specs, issues) = specs_of(specs);
    assert_eq!(issues, [], "specs");
    judge_in(&Store::in_memory().unwrap(), &calls, &specs)
}

/// `call_no verdict` of each, in order.
fn short(judged: &Judged) -> Vec<String> {
    judged.verdicts.iter().map(|said| format!("{} {}", said.call_no, said.verdict.as_str())).collect()
}

/// The verdict on one value, written as JSON (`null` stands for an absent one), under one specification.
fn verdict_on(value: &str, allowed: &str, limit: &str, required: bool) -> String {
    let call = format!(r#"{{"call_no":"1","tool_name_raw":"t","arg_name":"a","arg_value":{value}}}"#);
    let spec = format!(
        r#"{{"tool_id":"t","arg_name":"a","allowed_values":{allowed},"max_number":{limit},"is_required":{required}}}"#
    );
    let judged = judge(call, spec);
    assert_eq!(judged.unjudged, [""; 0]);
    judged.verdicts.iter().map(|said| said.verdict.as_str()).collect::<Vec<_>>().join(" ")
}

/// Code, line and detail of each issue.
fn told_issues(issues: &[Issue]) -> Vec<String> {
    issues.iter().map(|issue| format!("{} {} {}", issue.code.as_str(), issue.line, issue.detail)).collect()
}

fn numbers(calls: &[RecordedCall]) -> Vec<&str> {
    calls.iter().map(|call| call.call_no.as_str()).collect()
}

// the seed

#[test]
fn seed_comes_out_to_the_letter_in_json() {
    let output = program()
        .args(["calls", "check", "fixtures/calls/calls.jsonl", "--specs", "fixtures/calls/tool_specs.json"])
        .args(["--format", "json"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let expected = fs::read_to_string(fixture("expected.json")).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim_end(), expected.trim_end());
}

#[test]
fn output_fits_its_schema() {
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(fixture("call_verdict.schema.json")).unwrap()).unwrap();
    let shipped = fs::read_to_string(repository().join("schemas/call_verdict.schema.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&shipped).unwrap(), schema);
    let names = schema.pointer("/properties/verdict/enum").unwrap().as_array().unwrap();
    assert_eq!(*names, CallVerdictKind::ALL.map(|kind| json!(kind.as_str())));
    let validator = jsonschema::validator_for(&schema).unwrap();
    for name in ["calls.jsonl", "calls-2.jsonl"] {
        let judged = judge_in(
            &Store::in_memory().unwrap(),
            &calls_of(fs::read(fixture(name)).unwrap()).0,
            &specs_of(fs::read(fixture("tool_specs.json")).unwrap()).0,
        );
        for said in &judged.verdicts {
            let value = serde_json::to_value(said).unwrap();
            assert!(validator.is_valid(&value), "{value}");
        }
    }
}

#[test]
fn views_of_calls_leave_the_name_of_the_rule_set_alone() {
    let diagnosis = view_files().iter().filter(|file| !file.is_for_calls() && !file.is_for_people());
    assert!(diagnosis.clone().any(|file| file.view() == RULE_SET));
    let text: String = diagnosis.map(|file| format!("{}\n{}", file.path, file.sql)).collect();
    assert_eq!(rule_set_sha256(), taco_trace::digest::sha256_hex(text.as_bytes()));
    assert_ne!(call_set_sha256(), rule_set_sha256());
    let set = view_files().iter().find(|file| file.view() == CALL_SET).unwrap();
    for kind in CallVerdictKind::ALL {
        assert_eq!(set.sql.matches(&format!("FROM check_{}_v", kind.as_str())).count(), 1, "{kind:?}");
    }
}

// boundaries

#[test]
fn number_is_held_against_both_ends() {
    let (compliant, over) = ("compliant", "number_over_limit");
    for (value, limit, expected) in [
        ("0", "50", compliant),
        ("50", "50", compliant),
        ("51", "50", over),
        ("-1", "50", over),
        ("49.999", "50", compliant),
        ("50.0", "50", compliant),
        ("50.000000000000000000000000000000000000001", "50", over),
        ("-0", "50", compliant),
        ("-0.00", "50", compliant),
        ("-0.01", "50", over),
        ("0050", "50", compliant),
        ("0051", "50", over),
        ("00", "0", compliant),
        ("0.5", "0.5", compliant),
        ("0.51", "0.5", over),
        ("0.05", "0.5", compliant),
        ("9", "10", compliant),
        ("10", "9", over),
        ("0", "0", compliant),
        ("1", "0", over),
        // No plain decimal numbers.
        ("1e1", "50", over),
        ("+5", "50", over),
        (" 5", "50", over),
        ("5 ", "50", over),
        ("5.", "50", over),
        (".5", "50", over),
        ("5,0", "50", over),
        ("٥", "50", over),
        ("５", "50", over),
        ("0x10", "50", over),
        ("", "50", over),
        ("five", "50", over),
        ("NaN", "50", over),
        ("--5", "50", over),
        ("5\\n", "50", over),
        ("1.2.3", "50", over),
    ] {
        assert_eq!(verdict_on(&format!("\"{value}\""), "null", limit, false), expected, "{value} of {limit}");
    }
    let long = "9".repeat(400);
    assert_eq!(verdict_on(&format!("\"{long}\""), "null", &long, false), compliant);
    assert_eq!(verdict_on(&format!("\"{long}.1\""), "null", &long, false), over);
    assert_eq!(verdict_on(&format!("\"1{}\"", "0".repeat(400)), "null", &long, false), over);
}

#[test]
fn numbers_and_truth_values_of_json_count_as_they_are_written() {
    for (value, expected) in [("50", "compliant"), ("51", "number_over_limit"), ("-1", "number_over_limit")] {
        assert_eq!(verdict_on(value, "null", "50", true), expected, "{value}");
    }
    assert_eq!(verdict_on("5e0", "null", "50", true), "number_over_limit");
    assert_eq!(verdict_on("true", "\"true|false\"", "null", true), "compliant");
    assert_eq!(verdict_on("1", "\"1|2\"", "null", true), "compliant");
}

#[test]
fn allowed_values_are_texts_between_bars() {
    let list = "\"team|department\"";
    for (value, expected) in [
        ("team", "compliant"),
        ("department", "compliant"),
        ("", "value_not_allowed"),
        ("Team", "value_not_allowed"),
        ("team ", "value_not_allowed"),
        ("tea", "value_not_allowed"),
        ("team|department", "value_not_allowed"),
        ("|", "value_not_allowed"),
        ("|team", "value_not_allowed"),
    ] {
        assert_eq!(verdict_on(&format!("\"{value}\""), list, "null", true), expected, "{value}");
    }
    assert_eq!(verdict_on("\"\"", "\"a||b\"", "null", true), "compliant");
    assert_eq!(verdict_on("\"\"", "\"\"", "null", true), "compliant");
    assert_eq!(verdict_on("\"x\"", "\"\"", "null", true), "value_not_allowed");
    assert_eq!(verdict_on("\"%\"", "\"a|b\"", "null", true), "value_not_allowed");
}

#[test]
fn absent_value_is_missing_only_where_it_is_required() {
    assert_eq!(verdict_on("null", "null", "null", true), "required_arg_missing");
    assert_eq!(verdict_on("null", "\"a\"", "5", true), "required_arg_missing");
    assert_eq!(verdict_on("null", "\"a\"", "5", false), "compliant");
    assert_eq!(verdict_on("\"\"", "null", "null", true), "compliant");
    assert_eq!(verdict_on("\"\"", "null", "null", false), "compliant");
}

#[test]
fn value_that_breaks_both_limits_is_told_of_both() {
    assert_eq!(verdict_on("\"7\"", "\"1|2\"", "5", true), "value_not_allowed number_over_limit");
    assert_eq!(verdict_on("\"2\"", "\"1|2\"", "5", true), "compliant");
    assert_eq!(verdict_on("\"3\"", "\"1|2\"", "5", true), "value_not_allowed");
    assert_eq!(verdict_on("\"7\"", "\"7|8\"", "5", true), "number_over_limit");
}

#[test]
fn tool_name_loses_case_spacing_and_separators() {
    for (one, other) in [
        ("search_docs", "Search-Docs"),
        ("search_docs", "SEARCH DOCS"),
        ("search_docs", "search.docs"),
        ("search_docs", "search/docs\u{3000}"),
        ("search_docs", "\u{200b}searchDocs"),
        ("문서_검색", "문서 검색"),
        // NFC and NFD.
        ("\u{ac00}", "\u{1100}\u{1161}"),
        ("caf\u{e9}", "CAFE\u{301}"),
        ("\u{e9}", "e_\u{301}"),
    ] {
        assert_eq!(tool_key(one), tool_key(other), "{one} {other}");
        assert_eq!(tool_key(&tool_key(one)), tool_key(one), "{one}");
    }
    for (one, other) in [("search_docs", "search_docs2"), ("search1", "search①"), ("가", "나"), ("a", "á")] {
        assert_ne!(tool_key(one), tool_key(other), "{one} {other}");
    }
    assert_eq!(tool_key("-_ ./"), "");
}

#[test]
fn tool_that_no_specification_has_takes_no_part_in_other_checks() {
    let calls = format!("{CALLS_HEADER}1,export,a,\n2,Export,,\n3,t,other,x\n4,t,,\n5,___,a,1\n");
    let judged = judge(calls, format!("{SPECS_HEADER}t,a,,,true\n"));
    assert_eq!(short(&judged), ["1 tool_unmapped", "2 tool_unmapped", "5 tool_unmapped"]);
    assert_eq!(judged.unjudged, ["3", "4"]);
    assert!(judged.verdicts.iter().all(|said| said.checked_arg.is_none()));
    assert_eq!(judged.verdicts[1].evidence[0].quote.as_deref(), Some("Export"));
}

#[test]
fn later_rows_of_a_number_are_left_out_and_told_once() {
    let calls = format!("{CALLS_HEADER}1,t,a,9\n2,t,a,1\n1,t,b,1\n1,nothing,c,1\n2,nothing,d,1\n1 ,t,a,1\n");
    let judged = judge(calls, format!("{SPECS_HEADER}t,a,,5,true\n"));
    let expected = ["2 compliant", "1  compliant", "1 number_over_limit", "1 duplicate_call", "2 duplicate_call"];
    assert_eq!(short(&judged), expected);
    let last = &judged.verdicts[3..];
    assert_eq!(last[0].checked_arg.as_deref(), Some("b"));
    assert_eq!(
        last[0].evidence,
        [CallEvidence { field: "call_no", agg: Some("count"), value: CallValue::Count(3), quote: None }]
    );
    assert_eq!(last[1].checked_arg.as_deref(), Some("d"));
    let rest = "적재됐습니다. 앞 건으로만 판정하고 뒤 건을 기록에서 뺍니다.";
    assert_eq!(last[0].next_action, format!("t의 b 를 넣은 호출의 번호가 세 번 {rest}"));
    assert_eq!(last[1].next_action, format!("nothing의 d 를 넣은 호출의 번호가 두 번 {rest}"));
}

#[test]
fn first_of_two_specifications_counts() {
    let specs = format!("{SPECS_HEADER}Get-It,a,,1,true\nget it,b,,1,true\nGet-It,a,,9,false\nget_it,a,,9,true\n");
    let (kept, issues) = specs_of(specs);
    assert_eq!(kept.iter().map(|spec| (spec.arg_name.as_str(), spec.row)).collect::<Vec<_>>(), [("a", 1)]);
    assert_eq!(
        told_issues(&issues),
        ["tool_id_repeated 3 2: Get-It, get it", "spec_repeated 4 3: Get-It.a", "tool_id_repeated 5 4: Get-It, get_it"]
    );
}

#[test]
fn limit_is_a_number_of_any_length() {
    for (text, expected) in [
        ("50", Some("50")),
        ("50.0", Some("50.0")),
        ("050", Some("50")),
        ("0", Some("0")),
        ("-0", Some("0")),
        ("5e1", Some("50")),
        ("1.5E2", Some("150")),
        ("125e-2", Some("1.25")),
        ("5e-3", Some("0.005")),
        ("1e300", Some(&*format!("1{}", "0".repeat(300)))),
        ("1e301", None),
        ("1e99999999999999999999", None),
        ("-1", None),
        ("-0.5", None),
        ("", None),
        (".5", None),
        ("5.", None),
        ("fifty", None),
        ("+5", None),
        ("NaN", None),
    ] {
        assert_eq!(plain_decimal(text).as_deref(), expected, "{text}");
        if let Some(number) = plain_decimal(text) {
            assert!(serde_json::from_str::<Value>(&number).is_ok(), "{number}");
        }
    }
}

// against the naive judge

fn values() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        1 => Just(None),
        4 => (-20_000_i128..800_000).prop_map(|scaled| {
            let sign = if scaled < 0 { "-" } else { "" };
            Some(format!("{sign}{}", naive::written(scaled.abs())))
        }),
        3 => prop::sample::select(vec!["team", "department", "Team", "", "team|department", "1e1", "+1", "٥", "05", "5."])
            .prop_map(|text| Some(text.to_owned())),
    ]
}

fn world() -> impl Strategy<Value = (Vec<naive::Call>, Vec<naive::Spec>)> {
    let arguments = || prop::sample::select(vec!["scope", "top_k", "질문"]);
    let lists = vec![vec!["team", "department"], vec!["5", "05", ""], vec!["team"]];
    let call = (0_u8..40, 0..naive::SPELLINGS.len(), arguments(), values());
    let limit = prop::option::of((0_i128..60).prop_map(|limit| limit * 10_000 + (limit % 3) * 25));
    let spec = (0_u8..4, arguments(), prop::option::of(prop::sample::select(lists)), limit, any::<bool>());
    (prop::collection::vec(call, 0..40), prop::collection::vec(spec, 1..10)).prop_map(|(calls, specs)| {
        let mut kept: Vec<naive::Spec> = Vec::new();
        for spec in specs {
            if kept.iter().all(|known| (known.0, known.1) != (spec.0, spec.1)) {
                kept.push(spec);
            }
        }
        (calls, kept)
    })
}

/// JSON lines of a world, tools spelled as they first stand in the list.
fn as_json(calls: &[naive::Call], specs: &[naive::Spec]) -> (String, String) {
    let line = |value: Value| value.to_string() + "\n";
    let calls = calls.iter().map(|(number, spelling, argument, value)| {
        line(json!({"call_no": format!("C{number}"), "tool_name_raw": naive::SPELLINGS[*spelling].0,
            "arg_name": argument, "arg_value": value}))
    });
    let specs = specs.iter().map(|(tool, argument, allowed, limit, required)| {
        let name = naive::SPELLINGS.iter().find(|(_, known)| known == tool).unwrap().0;
        let limit: Option<serde_json::Number> =
            limit.map(|limit| serde_json::from_str(&naive::written(limit)).unwrap());
        line(json!({"tool_id": name, "arg_name": argument, "max_number": limit, "is_required": required,
            "allowed_values": allowed.as_ref().map(|list| list.join("|"))}))
    });
    (calls.collect(), specs.collect())
}

#[test]
fn checks_agree_with_the_naive_judge() {
    let store = Store::in_memory().unwrap();
    let mut runner = TestRunner::new(Config { cases: 96, failure_persistence: None, ..Config::default() });
    runner
        .run(&world(), |(calls, specs)| {
            let (calls_text, specs_text) = as_json(&calls, &specs);
            let judged = judge_in(&store, &calls_of(&calls_text).0, &specs_of(&specs_text).0);
            let (expected, unjudged) = naive::judge(&calls, &specs);
            let found: Vec<Value> = judged
                .verdicts
                .iter()
                .map(|said| {
                    let mut value = serde_json::to_value(said).unwrap();
                    let action = value.as_object_mut().unwrap().remove("next_action").unwrap();
                    assert!(is_polite(action.as_str().unwrap()), "{action}");
                    value
                })
                .collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(judged.unjudged, unjudged);
            Ok(())
        })
        .unwrap();
}

// the automatic checks

fn entry(verdict: CallVerdictKind) -> CallEntry {
    CallEntry {
        verdict,
        call_no: "CL-1".to_owned(),
        checked_arg: Some("top_k".to_owned()),
        tool_name_raw: "search_docs".to_owned(),
        arg_value: Some("10".to_owned()),
        allowed_values: None,
        max_number: Some("50".to_owned()),
        is_required: Some(false),
        problem: None,
        row_count: None,
    }
}

/// The number of the check that refuses a verdict changed in one way; 0 when none does.
fn refused(row: &CallEntry, change: impl FnOnce(&mut Written<'_>), evidence: &[CallEvidence]) -> u8 {
    let mut written = Written {
        call_no: &row.call_no,
        verdict: row.verdict.as_str(),
        checked_arg: row.checked_arg.as_deref(),
        evidence,
        next_action: "기준선 호출로 남깁니다.",
    };
    change(&mut written);
    verify(&written, row).map_or_else(|refused| refused.check, |()| 0)
}

#[test]
fn each_automatic_check_refuses_what_breaks_it() {
    let cell = |field: &'static str| CallEvidence { field, agg: None, value: CallValue::Null, quote: None };
    let good = [cell("arg_value"), cell("max_number")];
    let row = entry(CallVerdictKind::Compliant);
    assert_eq!(refused(&row, |_| {}, &good), 0);
    assert_eq!(refused(&row, |said| said.verdict = "fine", &good), 1);
    assert_eq!(refused(&row, |said| said.verdict = "unjudged", &good), 1);
    assert_eq!(refused(&row, |said| said.call_no = "", &good), 2);
    assert_eq!(refused(&row, |said| said.next_action = "", &good), 2);
    assert_eq!(refused(&row, |said| said.checked_arg = None, &good), 2);
    assert_eq!(refused(&row, |_| {}, &[]), 2);
    for (value, compliant, over) in [("50", 0, 3), ("51", 3, 0), ("-1", 3, 0), ("0", 0, 3), ("ten", 3, 0), ("-0", 0, 3)]
    {
        let value = Some(value.to_owned());
        let row = CallEntry { arg_value: value.clone(), ..entry(CallVerdictKind::Compliant) };
        assert_eq!(refused(&row, |_| {}, &good), compliant, "{value:?}");
        let row = CallEntry { arg_value: value.clone(), ..entry(CallVerdictKind::NumberOverLimit) };
        assert_eq!(refused(&row, |_| {}, &good), over, "{value:?}");
    }
    let absent = |kind| CallEntry { arg_value: None, is_required: Some(true), ..entry(kind) };
    assert_eq!(refused(&absent(CallVerdictKind::Compliant), |_| {}, &good), 4);
    assert_eq!(refused(&absent(CallVerdictKind::ValueNotAllowed), |_| {}, &good), 4);
    assert_eq!(refused(&absent(CallVerdictKind::RequiredArgMissing), |_| {}, &good), 0);
    assert_eq!(refused(&entry(CallVerdictKind::RequiredArgMissing), |_| {}, &good), 4);
    assert_eq!(refused(&row, |_| {}, &[cell("span_id")]), 5);
    let quoted = |quote: &str| [CallEvidence { quote: Some(quote.to_owned()), ..cell("tool_name_raw") }];
    let row = CallEntry { max_number: None, ..entry(CallVerdictKind::ToolUnmapped) };
    assert_eq!(refused(&row, |_| {}, &quoted("search")), 0);
    assert_eq!(refused(&row, |said| said.checked_arg = None, &quoted("search_docs")), 0);
    assert_eq!(refused(&row, |_| {}, &quoted("Search")), 6);
    assert_eq!(refused(&row, |said| said.next_action = "기준선 호출로 남긴다.", &good), 7);
}

#[test]
fn sentences_name_what_is_wrong_and_end_politely() {
    let action = |call: &str, spec: &str| {
        let judged = judge(format!("{CALLS_HEADER}{call}\n"), format!("{SPECS_HEADER}{spec}\n"));
        let action = judged.verdicts[0].next_action.clone();
        assert!(is_polite(&action) && !action.contains(".j2") && !action.contains('\n'), "{action}");
        action
    };
    for (call, spec, expected) in [
        (
            "1,send_notice,channel,fax",
            "send_notice,channel,mail|messenger,,false",
            "send_notice의 channel에 허용 목록에 없는 값 'fax'를 넣었습니다. 프롬프트에서 channel 기본값을 mail로 못박습니다.",
        ),
        (
            "1,search_docs,scope,\"team \"",
            "search_docs,scope,team|department,,true",
            "search_docs의 scope에 허용 목록에 없는 값 'team '을 넣었습니다. 프롬프트에서 scope 기본값을 team으로 못박습니다.",
        ),
        (
            "1,search_docs,scope,team|department",
            "search_docs,scope,team|department,,true",
            "search_docs의 scope에 허용 목록에 없는 값 'team|department'를 넣었습니다.",
        ),
        (
            "1,search_docs,scope,\"\"",
            "search_docs,scope,team|department,,true",
            "search_docs의 scope에 허용 목록에 없는 빈 값 ''을 넣었습니다.",
        ),
        ("1,t,a,\"\"", "t,a,x|y,,true", "t의 a에 허용 목록에 없는 빈 값 ''을 넣었습니다."),
        (
            "1,search_docs,top_k,201",
            "search_docs,top_k,,50,false",
            "search_docs의 top_k 값 201이 상한 50을 넘었습니다. 도구 쪽에서 상한을 강제하도록 고칩니다.",
        ),
        (
            "1,search_docs,top_k,200",
            "search_docs,top_k,,40,false",
            "search_docs의 top_k 값 200이 상한 40을 넘었습니다. 도구 쪽에서 상한을 강제하도록 고칩니다.",
        ),
        (
            "1,search_docs,top_k,-1",
            "search_docs,top_k,,50,false",
            "search_docs의 top_k 값 -1이 0보다 작습니다. 도구 쪽에서 0 이상 50 이하만 받도록 고칩니다.",
        ),
        (
            "1,search_docs,top_k,\" 5\"",
            "search_docs,top_k,,50,false",
            "search_docs의 top_k에 숫자가 아닌 값 ' 5'를 넣었습니다. 도구 쪽에서 0 이상 50 이하의 숫자만 받도록 고칩니다.",
        ),
        (
            "1,t,recipient,",
            "t,recipient,,,true",
            "t의 필수 인자 recipient 가 비어 있습니다. 통과로 세지 않고 호출 실패로 다루도록 고칩니다.",
        ),
        (
            "1,erase_disk,a,x",
            "t,a,,,true",
            "명세에 없는 도구 erase_disk 를 불렀습니다. 열어 준 적이 없는 도구인지 보안 담당자와 즉시 확인합니다.",
        ),
        ("1,\" x\",a,x", "t,a,,,true", "명세에 없는 도구 ' x' 를 불렀습니다."),
        ("1,t,a,x", "t,a,,,true", "t의 필수 인자 a 가 채워져 있습니다. 기준선 호출로 남깁니다."),
        ("1,t,a,", "t,a,,5,false", "t의 a 는 선택 인자라 비워 두어도 됩니다. 기준선 호출로 남깁니다."),
        ("1,t,a,x", "t,a,x|y,,false", "t의 a 값 'x'는 허용 값 안입니다. 기준선 호출로 남깁니다."),
        ("1,t,a,2", "t,a,,5,false", "t의 a 값 '2'는 상한 5 안입니다. 기준선 호출로 남깁니다."),
        ("1,t,a,2", "t,a,1|2,5,false", "t의 a 값 '2'는 허용 값과 상한 5 안입니다. 기준선 호출로 남깁니다."),
        ("1,t,a,x", "t,a,,,false", "t의 a 는 값에 제한이 없는 선택 인자입니다. 기준선 호출로 남깁니다."),
    ] {
        let found = action(call, spec);
        assert!(found.starts_with(expected), "{call}: {found}");
    }
}

// tables

#[test]
fn forms_of_a_table_say_the_same() {
    let lines = fs::read_to_string(fixture("calls.jsonl")).unwrap();
    let (expected, issues) = calls_of(&lines);
    assert_eq!((expected.len(), issues.len()), (7, 0));
    let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let array = serde_json::to_string(&rows).unwrap();
    let pretty = serde_json::to_string_pretty(&rows).unwrap();
    let several: String = rows.iter().map(|row| serde_json::to_string_pretty(row).unwrap()).collect();
    let csv = rows.iter().fold(CALLS_HEADER.to_owned(), |text, row| {
        let cells = ["call_no", "tool_name_raw", "arg_name", "arg_value"].map(|key| row[key].as_str().unwrap_or(""));
        text + &cells.join(",") + "\n"
    });
    let quoted = csv.lines().map(|line| format!("\"{}\"\r\n", line.replace(',', "\",\"")).replace(",\"\"\r", ",\r"));
    let reordered = "arg_value,extra,tool_name_raw, call_no ,arg_name\nteam,x,search_docs,CL-001,scope\n";
    let without_place = |calls: Vec<RecordedCall>| -> Vec<RecordedCall> {
        calls.into_iter().map(|call| RecordedCall { line: 0, ..call }).collect()
    };
    let wanted = without_place(expected);
    for text in
        [array, pretty, several, csv.clone(), csv.replace('\n', "\r\n"), csv.trim_end().to_owned(), quoted.collect()]
    {
        let (calls, issues) = calls_of(&text);
        assert_eq!((without_place(calls), issues), (wanted.clone(), Vec::new()), "{text}");
    }
    let (calls, issues) = calls_of(reordered);
    assert_eq!(without_place(calls), wanted[..1]);
    assert_eq!(told_issues(&issues), ["column_unknown 1 extra"]);
}

#[test]
fn empty_cell_is_absent_and_quotes_around_nothing_are_empty_text() {
    let (calls, issues) = calls_of(format!("{CALLS_HEADER}1,t,a,\n2,t,a,\"\"\n3,t,,x\n4,t,a,\" \"\n"));
    assert_eq!(issues, []);
    let values: Vec<Option<&str>> = calls.iter().map(|call| call.arg_value.as_deref()).collect();
    assert_eq!(values, [None, Some(""), Some("x"), Some(" ")]);
    assert_eq!(calls[2].arg_name, None);
    let (specs, issues) =
        specs_of(format!("{SPECS_HEADER}t,a,,,TRUE\nt,b,\"\",\"\",\"0\"\nt,c,a|b,\"50\",예\nt,d,,5.5,N\n"));
    assert_eq!(issues, []);
    let read: Vec<_> = specs
        .iter()
        .map(|spec| (spec.allowed_values.as_deref(), spec.max_number.as_deref(), spec.is_required))
        .collect();
    let expected =
        [(None, None, true), (None, None, false), (Some("a|b"), Some("50"), true), (None, Some("5.5"), false)];
    assert_eq!(read, expected);
}

#[test]
fn quoted_cells_may_hold_anything() {
    let text =
        format!("{CALLS_HEADER}1,t,a,\"x,\"\"y\"\"\r\nz\"\n\n2,t,a,it's 5\" wide\n,,,\n3,\"t\",\"a\",\"\"\"\"\n");
    let (calls, issues) = calls_of(text);
    assert_eq!(issues, []);
    let read: Vec<_> = calls.iter().map(|call| (call.row, call.line, call.arg_value.as_deref().unwrap())).collect();
    assert_eq!(read, [(1, 2, "x,\"y\"\r\nz"), (2, 5, "it's 5\" wide"), (3, 7, "\"")]);
}

#[test]
fn wrong_rows_of_csv_are_told_with_their_row_and_the_rest_is_read() {
    let text = format!(
        "{CALLS_HEADER}1,t,a,1\n2,t,a\n3,t,a,1,more\n4,t,a,1,,\n{CALLS_HEADER}5,\"t\"x,a,1\n6,t,a,\"open\n7,t,a,1\n,t,a,1\n8,t,a,1"
    );
    let (calls, issues) = calls_of(text);
    assert_eq!(numbers(&calls), ["1", "4", "7", "8"]);
    assert_eq!(
        told_issues(&issues),
        [
            "table_row_invalid 3 2: 3 / 4",
            "table_row_invalid 4 3: 5 / 4",
            "header_repeated 6 ",
            "table_row_invalid 7 5: \"…\"…",
            "table_row_invalid 8 6: \"…",
            "cell_invalid 10 8: call_no: null",
        ]
    );
    assert!(issues.iter().all(|issue| !issue.raw.is_empty()));
}

#[test]
fn rows_are_numbered_on_behind_a_repeated_header() {
    let (calls, issues) = calls_of(format!("{CALLS_HEADER}1,t,a,1\n2,t,a,1\n{CALLS_HEADER},t,a,1\n4,t,a,1\n"));
    assert_eq!(calls.iter().map(|call| call.row).collect::<Vec<_>>(), [1, 2, 4]);
    assert_eq!(told_issues(&issues), ["header_repeated 4 ", "cell_invalid 5 3: call_no: null"]);
    let texts = Texts::korean();
    let told: Vec<String> =
        issues.iter().map(|issue| taco_trace::render::issues::reason(&texts, issue.code, &issue.detail)).collect();
    assert!(!told[0].contains("행 3") && told[1].contains("행 3"), "{told:?}");
}

#[test]
fn other_separators_and_encodings_are_told_with_what_to_do() {
    let texts = Texts::korean();
    for (written, expected) in [
        (b"call_no;tool_name_raw;arg_name;arg_value\n1;t;a;1\n".to_vec(), "`;` 로 나눈 표"),
        (b"call_no\ttool_name_raw\targ_name\targ_value\n1\tt\ta\t1\n".to_vec(), "탭으로 나눈 표"),
        (b"\xff\xfec\0a\0l\0l\0_\0n\0o\0,\0".to_vec(), "UTF-8 로 다시 저장하세요"),
    ] {
        let mut issues = Vec::new();
        let read = taco_trace::ingest::calls::read_calls(written.as_slice(), 0, &mut |batch| {
            issues.extend(batch.issues);
            assert_eq!(batch.calls, []);
            Ok::<(), ()>(())
        });
        assert!(read.is_ok());
        assert_eq!(issues.len(), 1, "{expected}: {issues:?}");
        let told = taco_trace::render::issues::reason(&texts, issues[0].code, &issues[0].detail);
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn names_of_arguments_match_however_their_letters_are_written() {
    let (composed, parts) = ("\u{ac00}", "\u{1100}\u{1161}");
    for (of_call, of_spec) in [(composed, parts), (parts, composed)] {
        let judged = judge(format!("{CALLS_HEADER}1,t,{of_call},9\n"), format!("{SPECS_HEADER}t,{of_spec},,5,true\n"));
        assert_eq!(short(&judged), ["1 number_over_limit"]);
    }
    // In spans and definitions too.
    let required = std::collections::BTreeMap::from([("t".to_owned(), vec![composed.to_owned()])]);
    let calls = taco_trace::ingest::calls::calls_of_span("s", "t", Some(&format!("{{\"{parts}\":1}}")), &required, 1);
    let found: Vec<_> = calls.iter().map(|call| (call.arg_name.as_deref(), call.arg_value.as_deref())).collect();
    assert_eq!(found, [(Some(composed), Some("1"))]);
}

#[test]
fn header_is_told_of_when_it_cannot_be_used() {
    let (calls, issues) = calls_of("call_no,tool_name,arg_name,arg_value,arg_name\n1,t,a,1,b\n2,t,a,1,b\n");
    assert_eq!(calls, []);
    assert_eq!(
        told_issues(&issues),
        ["column_missing 1 0: tool_name_raw", "column_repeated 1 0: arg_name", "column_unknown 1 tool_name"]
    );
    let (calls, issues) = calls_of("call_no,tool_name_raw,arg_name,arg_value,arg_name\n1,t,a,1,b\n");
    assert_eq!(calls[0].arg_name.as_deref(), Some("a"));
    assert_eq!(told_issues(&issues), ["column_repeated 1 0: arg_name"]);
}

#[test]
fn cells_of_another_type_are_told_with_their_row() {
    let (specs, issues) = specs_of(format!(
        "{SPECS_HEADER}t,a,,fifty,true\nt,b,,-1,true\nt,c,,\"1,000\",true\nt,d,,50,maybe\nt,e,,50,\n,f,,50,true\nt,,,50,true\n--,g,,,true\nt,h,,7,true\n"
    ));
    assert_eq!(specs.iter().map(|spec| spec.arg_name.as_str()).collect::<Vec<_>>(), ["h"]);
    assert_eq!(
        told_issues(&issues),
        [
            "cell_invalid 2 1: max_number: fifty",
            "cell_invalid 3 2: max_number: -1",
            "cell_invalid 4 3: max_number: 1,000",
            "cell_invalid 5 4: is_required: maybe",
            "cell_invalid 6 5: is_required: null",
            "cell_invalid 7 6: tool_id: null",
            "cell_invalid 8 7: arg_name: null",
            "cell_invalid 9 8: tool_id: --",
        ]
    );
    let row = |limit: &str, required: &str| {
        format!(
            r#"{{"tool_id":"t","arg_name":"a","allowed_values":null,"max_number":{limit},"is_required":{required}}}"#
        )
    };
    for (limit, required, wrong) in [
        ("\"50\"", "true", Some("max_number: 50")),
        ("50", "\"true\"", Some("is_required: true")),
        ("50", "1", Some("is_required: 1")),
        ("50", "null", Some("is_required: null")),
        ("[50]", "true", Some("max_number: [50]")),
        ("true", "true", Some("max_number: true")),
        ("50", "false", None),
    ] {
        let (_, issues) = specs_of(row(limit, required));
        let expected: Vec<String> = wrong.iter().map(|wrong| format!("cell_invalid 1 1: {wrong}")).collect();
        assert_eq!(told_issues(&issues), expected);
    }
}

#[test]
fn wrong_rows_of_json_cost_no_other() {
    let row = |number: u32| format!(r#"{{"call_no":"{number}","tool_name_raw":"t","arg_name":"a","arg_value":"1"}}"#);
    let text = [
        row(1),
        // A bracket is missing, then a quote.
        row(2).replace('}', ""),
        row(3),
        row(4).replace("\"1\"}", "\"1}"),
        row(5),
        "noise, 17".to_owned(),
        row(6),
        row(7).replace(r#","arg_value":"1""#, ""),
        row(8).replace("\"t\"", "{\"x\":[1]}"),
        row(9).replace("\"t\"", "null"),
        row(10).replace("{", r#"{"call_no":"x","more":{"y":1},"#),
        row(11).replace("\"11\"", "11"),
        row(12).replace("\"12\"", "1.5"),
        row(13).replace("\"1\"", "1}x"),
        row(14) + &row(15),
        row(16).replace("\"t\"", "\"\\ud800\""),
        row(17).replace("\"1\"}", "\"1\""),
    ]
    .join("\n");
    let (calls, issues) = calls_of(text);
    assert_eq!(numbers(&calls), ["1", "3", "5", "6", "x", "11", "13", "14", "15"]);
    let told: Vec<String> = told_issues(&issues);
    let codes: Vec<String> = told.iter().map(|told| told.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(
        codes,
        [
            "not_json 2",
            "not_json 4",
            "not_json 6",
            "column_missing 8",
            "cell_invalid 9",
            "cell_invalid 10",
            "column_unknown 11",
            "column_repeated 11",
            "cell_invalid 13",
            "not_json 14",
            "not_json 16",
            "truncated_json 17",
        ],
        "{told:?}"
    );
    let (calls, issues) = calls_of(format!("[{},\n{}", row(1), row(2)));
    assert_eq!(numbers(&calls), ["1", "2"]);
    assert_eq!(told_issues(&issues).len(), 1, "an array that is not closed");
}

#[test]
fn cp949_is_told_by_its_bytes() {
    let text = format!("{CALLS_HEADER}1,문서검색,범위,우리 팀\n2,search_docs,scope,뷁\n3,짱,a,b\n");
    let expected = calls_of(&text).0;
    let (bytes, _, replaced) = EUC_KR.encode(&text);
    assert!(!replaced);
    assert_eq!(calls_of(&bytes), (expected.clone(), Vec::new()));
    let json: String = expected
        .iter()
        .map(|call| {
            json!({"call_no": call.call_no, "tool_name_raw": call.tool_name_raw, "arg_name": call.arg_name,
                "arg_value": call.arg_value})
            .to_string()
                + "\n"
        })
        .collect();
    let values = |calls: &[RecordedCall]| calls.iter().map(|call| call.arg_value.clone()).collect::<Vec<_>>();
    assert_eq!(values(&calls_of(EUC_KR.encode(&json).0).0), values(&expected));
    // Lines that could be either say nothing: 짱 is also two letters of UTF-8.
    let only = format!("{CALLS_HEADER}1,t,a,짱\n2,t,a,문서\n");
    assert_eq!(calls_of(EUC_KR.encode(&only).0).0[0].arg_value.as_deref(), Some("짱"));
}

#[test]
fn row_in_no_encoding_is_left_out() {
    let utf8 = [CALLS_HEADER.as_bytes(), "1,문서,a,b\n".as_bytes(), b"2,\xff\xfe,a,b\n3,t,a,b\n"].concat();
    let (calls, issues) = calls_of(utf8);
    assert_eq!(numbers(&calls), ["1", "3"]);
    assert_eq!(told_issues(&issues), ["encoding_invalid 3 2"]);
    let cp949 = [CALLS_HEADER.as_bytes(), &EUC_KR.encode("1,문서,a,b\n").0, b"2,\xff\xff,a,b\n3,t,a,b\n"].concat();
    let (calls, issues) = calls_of(cp949);
    assert_eq!(numbers(&calls), ["1", "3"]);
    assert_eq!(told_issues(&issues), ["encoding_invalid 3 2"]);
    // One line of CP949 does not turn a file of UTF-8.
    let mixed = ["1,문서,a,b\n2,문서,a,b\n".as_bytes(), &EUC_KR.encode("3,문서,a,b\n").0].concat();
    let (calls, issues) = calls_of([CALLS_HEADER.as_bytes(), &mixed].concat());
    assert_eq!(numbers(&calls), ["1", "2"]);
    assert_eq!(told_issues(&issues), ["encoding_invalid 4 3"]);
}

#[test]
fn files_of_other_kinds_are_one_issue() {
    for (bytes, name) in [(&b"PK\x03\x04\x14\0rest"[..], "ZIP (xlsx, docx)"), (b"\xff\xfec\0a\0", "UTF-16")] {
        let (calls, issues) = calls_of(bytes);
        assert_eq!(calls, []);
        assert_eq!(told_issues(&issues), [format!("unknown_format 0 {name}")]);
    }
    for nothing in ["", "\n\n", "[]", CALLS_HEADER] {
        assert_eq!(calls_of(nothing), (Vec::new(), Vec::new()), "{nothing:?}");
    }
}

/// Gives one byte at a time, as a slow pipe may, and fails at the end when told to.
struct Slow<'b> {
    bytes: &'b [u8],
    fails: bool,
}

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                buffer[0] = *first;
                self.bytes = rest;
                Ok(1)
            }
            None if self.fails => Err(io::Error::other("cut off")),
            None => Ok(0),
        }
    }
}

#[test]
fn short_reads_change_nothing_and_a_damaged_stream_keeps_what_came_before() {
    let text = format!("{CALLS_HEADER}1,t,a,\"x,\"\"y\"\"\r\nz\"\r\n2,t,a,\n3,t,a,9");
    let expected = calls_of(&text);
    for (fails, issues) in [(false, 0), (true, 1)] {
        let mut all = CallBatch::default();
        read_calls(Slow { bytes: text.as_bytes(), fails }, 0, &mut |batch| {
            all.calls.extend(batch.calls);
            all.issues.extend(batch.issues);
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(all.calls, expected.0);
        assert_eq!(all.issues.len(), issues);
    }
}

#[test]
fn row_over_the_limit_is_passed_over() {
    let long = "x".repeat(17 * 1024 * 1024);
    for text in [
        format!("{CALLS_HEADER}1,t,a,{long}\n2,t,a,b\n"),
        format!("{CALLS_HEADER}1,t,a,\"{long}\n2,t,a,b\n"),
        format!(
            "{{\"call_no\":\"{long}\n{}\n",
            r#"{"call_no":"2","tool_name_raw":"t","arg_name":"a","arg_value":"b"}"#
        ),
    ] {
        let (calls, issues) = calls_of(text);
        assert_eq!(numbers(&calls), ["2"]);
        assert_eq!(issues.len(), 1, "{:?}", told_issues(&issues));
        assert_eq!(issues[0].code, IssueCode::LineTooLong);
    }
}

// spans and tools.json

#[test]
fn tools_json_becomes_specifications() {
    let tools = json!([
        {"tool_name": "search_docs", "description": "", "timeout_ms": 1, "max_retries": 1, "json_schema": json!({
            "type": "object", "required": ["query", "extra"], "properties": {
                "query": {"type": "string"},
                "scope": {"enum": ["team", "department", null, 1]},
                "odd": {"enum": ["a|b"]},
                "deep": {"enum": [["a"]]},
                "top_k": {"type": "integer", "maximum": 50},
                "share": {"maximum": 0.5},
                "cold": {"maximum": -1}
            }}).to_string()}
    ]);
    let (set, issues) = parse_tools(&tools.to_string(), "tools.json", ToolDefaults::default()).unwrap();
    assert_eq!(issues, []);
    let SpecTable { specs, issues, gaps } = specs_of_tools(&set.tools);
    let mut read: Vec<_> = specs
        .iter()
        .map(|spec| {
            let limits = (spec.allowed_values.as_deref(), spec.max_number.as_deref());
            (spec.arg_name.as_str(), limits.0, limits.1, spec.is_required)
        })
        .collect();
    read.sort_unstable();
    assert_eq!(
        read,
        [
            ("cold", None, None, false),
            ("deep", None, None, false),
            ("extra", None, None, true),
            ("odd", None, None, false),
            ("query", None, None, true),
            ("scope", Some("team|department|1"), None, false),
            ("share", None, Some("0.5"), false),
            ("top_k", None, Some("50"), false),
        ]
    );
    let mut told: Vec<&str> = issues.iter().map(|issue| issue.detail.as_str()).collect();
    told.sort_unstable();
    assert_eq!(told, ["search_docs.cold: maximum", "search_docs.deep: enum", "search_docs.odd: enum"]);
    let mut open: Vec<_> = gaps.iter().map(|gap| (gap.arg_name.as_deref(), gap.reason.as_str())).collect();
    open.sort_unstable();
    let not_held = "limit_not_held";
    assert_eq!(open, [(Some("cold"), not_held), (Some("deep"), not_held), (Some("odd"), not_held)]);
}

#[test]
fn span_is_taken_apart_by_argument() {
    let specs = specs_of(format!("{SPECS_HEADER}t,a,,,true\nt,b,,,true\nt,c,,,false\n")).0;
    let without = SpecGap {
        tool_key: "ping".to_owned(),
        arg_name: None,
        reason: SpecGapReason::NoArguments,
        detail: None,
        tool_id: "ping".to_owned(),
        row: 1,
    };
    let refused = SpecGap { tool_key: "odd".to_owned(), reason: SpecGapReason::SpecRefused, ..without.clone() };
    let required = required_arguments(&specs, &[without, refused]);
    let rows = |tool: &str, args: Option<&str>| {
        let calls = calls_of_span("s1", tool, args, &required, 1);
        let row = |call: RecordedCall| format!("{} {:?} {:?}", call.call_no, call.arg_name, call.arg_value);
        calls.into_iter().map(row).collect::<Vec<_>>()
    };
    let args = r#"{"a":"x\n","n":1.50,"o":{"p":[1]},"z":null}"#;
    assert_eq!(
        rows("T", Some(args)),
        [
            r#"s1#a Some("a") Some("x\n")"#,
            r#"s1#n Some("n") Some("1.50")"#,
            r#"s1#o Some("o") Some("{\"p\":[1]}")"#,
            r#"s1#z Some("z") None"#,
            r#"s1#b Some("b") None"#,
        ]
    );
    assert_eq!(rows("t", Some("{}")), [r#"s1#a Some("a") None"#, r#"s1#b Some("b") None"#]);
    assert_eq!(rows("t", None), ["s1 None None"]);
    assert_eq!(rows("t", Some("[1]")), ["s1 None None"]);
    // Of a tool without arguments there is nothing to judge; whether it was given any has to be known for that.
    assert_eq!(rows("Ping", Some("{}")), [""; 0]);
    assert_eq!(rows("ping", None), ["s1 None None"]);
    assert_eq!(rows("ping", Some(r#"{"a":1}"#)), [r#"s1#a Some("a") Some("1")"#]);
    for (tool, args) in
        ["unknown", "odd"].into_iter().flat_map(|tool| [None, Some("{}"), Some("[1]")].map(|args| (tool, args)))
    {
        assert_eq!(rows(tool, args), ["s1 None None"], "{tool} {args:?}");
    }
    assert_eq!(rows("unknown", Some(r#"{"a":1}"#)), [r#"s1#a Some("a") Some("1")"#]);
}

// the command

fn run(place: &Place, arguments: &[&str]) -> Output {
    program().current_dir(place.path("")).args(["calls"]).args(arguments).output().unwrap()
}

fn succeeded(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", told(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn seed_in(place: &Place) {
    for name in ["calls.jsonl", "calls-2.jsonl", "tool_specs.json"] {
        place.write(name, fs::read(fixture(name)).unwrap());
    }
}

#[test]
fn formats_say_the_same() {
    let place = Place::new();
    seed_in(&place);
    let check = ["check", "calls.jsonl", "--specs", "tool_specs.json", "--format"];
    let of = |format: &str, more: &[&str]| succeeded(&run(&place, &[&check[..], &[format], more].concat()));
    let expected: Vec<Value> = serde_json::from_str(&of("json", &[])).unwrap();
    let lines: Vec<Value> = of("jsonl", &[]).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines, expected);
    let text = of("csv", &[]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
    assert_eq!(rows.len(), expected.len());
    for (row, said) in rows.iter().zip(&expected) {
        assert_eq!(&row[0], said["call_no"].as_str().unwrap());
        assert_eq!(&row[2], said["checked_arg"].as_str().unwrap_or(""));
        assert_eq!(serde_json::from_str::<Value>(&row[3]).unwrap(), said["evidence"]);
    }
    for format in ["table", "md"] {
        let (folded, all) = (of(format, &[]), of(format, &["--all"]));
        assert!(folded.contains("명세에 없는 도구를 불렀습니다") && folded.contains("--all"), "{folded}");
        assert!(!folded.contains("CL-008") && all.contains("CL-008") && !all.contains("--all"), "{all}");
        assert!(folded.lines().all(|line| format == "md" || unicode_width::UnicodeWidthStr::width(line) <= 80));
    }
    let written = place.path("out.json");
    let output = run(&place, &[&check[..], &["json", "-o", "out.json"]].concat());
    assert_eq!(output.stdout, b"");
    assert_eq!(fs::read_to_string(written).unwrap(), of("json", &[]));
    // Nothing is left beside it.
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 4);
}

#[test]
fn fail_on_sets_the_exit_status() {
    let place = Place::new();
    seed_in(&place);
    let status = |calls: &str, fail_on: &str| {
        let check = ["check", calls, "--specs", "tool_specs.json", "--fail-on", fail_on];
        let output = run(&place, &check);
        (output.status.code().unwrap(), output.stdout.is_empty())
    };
    assert_eq!(status("calls.jsonl", "any"), (1, false));
    assert_eq!(status("calls.jsonl", "tool-unmapped"), (1, false));
    assert_eq!(status("calls.jsonl", "compliant"), (1, false));
    assert_eq!(status("calls.jsonl", "unjudged"), (0, false));
    assert_eq!(status("calls-2.jsonl", "unjudged"), (1, false));
    assert_eq!(status("calls-2.jsonl", "tool_unmapped,duplicate_call"), (0, false));
    assert_eq!(status("calls-2.jsonl", "tool_unmapped,허용 값을 벗어남"), (1, false));
    assert_eq!(status("calls.jsonl", "often"), (2, true));
}

#[test]
fn wrong_use_and_missing_files_have_their_status() {
    let place = Place::new();
    seed_in(&place);
    place.write("wrong.csv", "a,b\n1,2\n");
    let specs = ["--specs", "tool_specs.json"];
    for (arguments, status) in [
        (vec!["check"], 2),
        (vec!["check", "calls.jsonl"], 2),
        (vec!["check", "calls.jsonl", "--specs", "tool_specs.json", "--specs-from-tools"], 2),
        (vec!["check", "calls.jsonl", "--from-spans", "--specs", "tool_specs.json"], 2),
        (vec!["check", "calls.jsonl", "--specs", "tool_specs.json", "--format", "xml"], 2),
        (vec!["check", "calls.jsonl", "--specs", "tool_specs.json", "--tools", "tools.json"], 2),
        (vec!["check", "-", "--specs", "-"], 2),
        (vec!["check", "nothing.jsonl", specs[0], specs[1]], 3),
        (vec!["check", "calls.jsonl", "--specs", "nothing.json"], 3),
        (vec!["check", "wrong.csv", specs[0], specs[1]], 3),
        (vec!["check", "calls.jsonl", "--specs", "wrong.csv"], 3),
        (vec!["check", "--from-spans", specs[0], specs[1]], 3),
        (vec!["check", "calls.jsonl", "--specs-from-tools", "--db", "none.duckdb"], 3),
        (vec!["check", "calls.jsonl", specs[0], specs[1], "-o", "no/such/folder.json"], 3),
        (vec!["compare"], 3),
        (vec!["compare", "one"], 2),
        (vec!["list"], 3),
    ] {
        let output = run(&place, &arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", told(&output));
        assert_eq!(output.stdout, b"", "{arguments:?}");
        assert!(told(&output).contains("도움말: "), "{arguments:?}: {}", told(&output));
    }
    assert!(told(&run(&place, &["check", "wrong.csv", specs[0], specs[1]])).contains("wrong.csv:1"));
    // A glob is no use where one file is named.
    assert!(!told(&run(&place, &["check", "calls.jsonl", "--specs", "nothing.json"])).contains("글롭"));
    assert!(told(&run(&place, &["check", "nothing.jsonl", specs[0], specs[1]])).contains("글롭"));
}

#[test]
fn standard_input_compressed_files_and_several_files_are_read() {
    let place = Place::new();
    seed_in(&place);
    let expected = succeeded(&run(&place, &["check", "calls.jsonl", "--specs", "tool_specs.json", "-f", "json"]));
    let mut piped = program();
    piped.current_dir(place.path("")).args(["calls", "check", "-", "--specs", "tool_specs.json", "-f", "json"]);
    piped.stdin(fs::File::open(place.path("calls.jsonl")).unwrap());
    assert_eq!(succeeded(&piped.output().unwrap()), expected);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&fs::read(fixture("calls.jsonl")).unwrap()).unwrap();
    place.write("calls.gz", gzip.finish().unwrap());
    assert_eq!(succeeded(&run(&place, &["check", "calls.gz", "--specs", "tool_specs.json", "-f", "json"])), expected);
    // The second file has numbers of the first: they are left out, wherever they come from.
    let both = run(&place, &["check", "calls.jsonl", "calls-2.jsonl", "--specs", "tool_specs.json", "-f", "json"]);
    let both: Vec<Value> = serde_json::from_str(&succeeded(&both)).unwrap();
    let repeated = both.iter().filter(|said| said["verdict"] == "duplicate_call").count();
    assert_eq!(repeated, 5);
}

#[test]
fn byte_order_mark_is_no_part_of_the_first_column() {
    let place = Place::new();
    place.write("specs.csv", format!("\u{feff}{SPECS_HEADER}t,a,,5,true\n"));
    place.write("calls.csv", format!("\u{feff}{CALLS_HEADER}1,t,a,5\n"));
    let output = run(&place, &["check", "calls.csv", "--specs", "specs.csv", "-f", "jsonl"]);
    assert!(succeeded(&output).contains("compliant"));
    assert_eq!(told(&output), "");
}

#[test]
fn problems_and_calls_without_a_verdict_are_told_on_standard_error() {
    let place = Place::new();
    seed_in(&place);
    place.write("calls.csv", format!("{CALLS_HEADER}1,search_docs,lang,ko\n1,search_docs,scope,team\n2,search_docs\n"));
    let output = run(&place, &["check", "calls.csv", "--specs", "tool_specs.json", "-f", "json"]);
    let said: Vec<Value> = serde_json::from_str(&succeeded(&output)).unwrap();
    assert_eq!(said.len(), 1, "{said:?}");
    let told = told(&output);
    for expected in ["calls.csv:3 ✗", "calls.csv:4 ✗", "호출 1건", "calls.csv:2 1 search_docs.lang"] {
        assert!(told.contains(expected), "{expected}: {told}");
    }
}

// kept checks

/// Text with the names and times of checks taken out: what else is there is the same each time.
fn without_names(text: &str, runs: &[String]) -> String {
    let text = text.replace(&runs[0], "BEFORE").replace(&runs[1], "AFTER");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("20").filter(|at| rest.get(at + 4..at + 5) == Some("-")) {
        out += &rest[..at];
        out += "TIME";
        let end = rest[at..].find([',', '"', ')']).unwrap_or(0);
        rest = &rest[at + end..];
    }
    out + rest
}

fn two_kept(place: &Place) -> Vec<String> {
    seed_in(place);
    for calls in ["calls.jsonl", "calls-2.jsonl"] {
        let output = run(place, &["check", calls, "--specs", "tool_specs.json", "--db", "taco.duckdb", "-f", "json"]);
        succeeded(&output);
        assert!(told(&output).contains("calls compare"), "{}", told(&output));
    }
    let runs: Vec<Value> = serde_json::from_str(&succeeded(&run(place, &["list", "-f", "json"]))).unwrap();
    runs.iter().map(|run| run["call_run"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn comparison_of_the_shipped_runs_is_the_golden_one() {
    let place = Place::new();
    let runs = two_kept(&place);
    assert_eq!(runs.len(), 2);
    for (format, name) in [("table", "compare.txt"), ("md", "compare.md"), ("json", "compare.json")] {
        let found = without_names(&succeeded(&run(&place, &["compare", "--format", format])), &runs);
        if std::env::var_os("TACO_TRACE_MAKE_CALLS").is_some() {
            fs::write(fixture(name), &found).unwrap();
        }
        assert_eq!(found, fs::read_to_string(fixture(name)).unwrap(), "{name}");
    }
    // Named, and the other way round.
    let named = succeeded(&run(&place, &["compare", &runs[1][..6], &runs[0], "-f", "json"]));
    let named: Value = serde_json::from_str(&named).unwrap();
    let counted = |change: usize| named["changes"][change]["calls"].as_i64().unwrap();
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(counted), [2, 2, 1, 0, 0, 3, 1]);
    assert_eq!(run(&place, &["compare", "zz", &runs[0]]).status.code(), Some(3));
    assert_eq!(run(&place, &["compare", "", &runs[0]]).status.code(), Some(2));
    let listed = succeeded(&run(&place, &["list"]));
    assert!(runs.iter().all(|run| listed.contains(run.as_str())), "{listed}");
}

#[test]
fn check_is_kept_only_where_a_store_is_named() {
    let place = Place::seeded();
    fs::rename(place.db(), place.path("taco.duckdb")).unwrap();
    seed_in(&place);
    let bytes = fs::read(place.path("taco.duckdb")).unwrap();
    for arguments in [
        &["check", "--from-spans", "--specs-from-tools"][..],
        &["check", "--from-spans", "--specs", "tool_specs.json"],
        &["check", "calls.jsonl", "--specs-from-tools"],
        &["check", "calls.jsonl", "--specs", "tool_specs.json"],
    ] {
        let output = run(&place, arguments);
        succeeded(&output);
        assert!(!told(&output).contains("남겼습니다") && !told(&output).contains("남기지"), "{}", told(&output));
    }
    assert!(fs::read(place.path("taco.duckdb")).unwrap() == bytes, "the store is only read");
    assert_eq!(succeeded(&run(&place, &["list", "-f", "json"])), "[]\n");
    let output = run(&place, &["check", "--from-spans", "--specs-from-tools", "--db", "taco.duckdb"]);
    succeeded(&output);
    assert!(told(&output).contains("남겼습니다"), "{}", told(&output));
}

#[test]
fn verdicts_are_shown_also_when_the_check_cannot_be_kept() {
    let place = Place::new();
    seed_in(&place);
    place.write("text.duckdb", "no store");
    let check = ["check", "calls.jsonl", "--specs", "tool_specs.json", "-f", "json"];
    let expected = succeeded(&run(&place, &check));
    let output = run(&place, &[&check[..], &["--db", "text.duckdb"]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(String::from_utf8(output.stdout.clone()).unwrap(), expected);
    let words = told(&output);
    assert!(words.contains("이 검사를 저장소에 남기지 못했습니다.") && words.contains("text.duckdb"), "{words}");
}

#[test]
fn csv_steers_no_terminal() {
    let place = Place::new();
    seed_in(&place);
    let rows = "1\u{202e},search\u{1b}[31m_docs\u{202e},scope,glo\u{1b}bal\u{202e}\n2,x\u{1b}\u{202e},a,b\n";
    place.write("calls.csv", format!("{CALLS_HEADER}{rows}"));
    let check = ["check", "calls.csv", "--specs", "tool_specs.json", "-f", "csv"];
    let text = succeeded(&run(&place, &check));
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert!(text.contains("1\\u{202e},"), "{text}");
    let mut found = 0;
    for row in csv::Reader::from_reader(text.as_bytes()).records() {
        let evidence: Value = serde_json::from_str(&row.unwrap()[3]).unwrap();
        found +=
            evidence.as_array().unwrap().iter().filter(|cell| cell["value"].to_string().contains('\u{202e}')).count();
    }
    assert_eq!(found, 2, "as recorded once it is read as JSON: {text}");
}

#[test]
fn lists_fit_into_80_cells_and_keep_names_of_files() {
    let place = Place::new();
    seed_in(&place);
    let folder = "a/long/way/to/the/folder/of/the/recorded/calls/of/october/and/november";
    fs::create_dir_all(place.path(folder)).unwrap();
    let calls = format!("{folder}/calls-of-the-agent.csv");
    place.write(&calls, format!("{CALLS_HEADER}1,search_docs,lang,ko\n1,search_docs,scope,team\n2,search_docs\n"));
    let check = ["check", &calls, "--specs", "tool_specs.json", "--db", "taco.duckdb"];
    let output = run(&place, &check);
    succeeded(&output);
    let listed = succeeded(&run(&place, &["list"]));
    assert!(listed.contains("/calls-of-the-agent.csv") && listed.contains("tool_specs.json"), "{listed}");
    for line in listed.lines().chain(told(&output).lines()) {
        assert!(taco_trace::render::layout::width(line) <= 80, "{line}");
    }
}

#[test]
fn kept_check_can_be_asked_in_sql() {
    let place = Place::new();
    let runs = two_kept(&place);
    let rows = |sql: &str| place.rows(sql);
    let again = "SELECT s.call_run, s.verdict, s.place, s.call_no, s.checked_arg FROM set_call_check_v1 s ORDER BY ALL";
    let kept = "SELECT r.call_run, r.verdict, r.place, r.call_no, r.checked_arg FROM call_results r
        WHERE r.rank < 7 ORDER BY ALL";
    assert_eq!(rows(again), rows(kept));
    assert_eq!(rows("SELECT COUNT(*) FROM set_call_unjudged_v1"), ["1"]);
    let hash = taco_trace::digest::sha256_hex(&fs::read(fixture("calls.jsonl")).unwrap());
    let inputs = format!("SELECT role, path, sha256 FROM call_inputs WHERE call_run = '{}' ORDER BY number", runs[0]);
    assert_eq!(rows(&inputs)[1], format!("calls|calls.jsonl|{hash}"));
    let run =
        format!("SELECT calls, specs, left_out, unjudged, call_set FROM call_runs WHERE call_run = '{}'", runs[0]);
    assert_eq!(rows(&run), [format!("6|5|1|0|{CALL_SET}")]);
    assert_eq!(rows("SELECT code, line FROM call_issues"), ["call_repeated|7"]);
    // The same input once more: nothing changed.
    seed_in(&place);
    succeeded(&super::calls::run(
        &place,
        &["check", "calls-2.jsonl", "--specs", "tool_specs.json", "--db", "taco.duckdb", "-q", "-f", "csv"],
    ));
    let compared: Value =
        serde_json::from_str(&succeeded(&super::calls::run(&place, &["compare", "-f", "json"]))).unwrap();
    let counts: Vec<i64> =
        compared["changes"].as_array().unwrap().iter().map(|change| change["calls"].as_i64().unwrap()).collect();
    assert_eq!(counts, [0, 0, 4, 0, 0, 0, 0]);
}

#[test]
fn tables_of_kept_checks_have_comments() {
    let place = Place::new();
    Store::open(&place.db()).unwrap();
    let ours = "(table_name LIKE 'call\\_%' ESCAPE '\\' OR table_name IN ('checked_calls', 'left_out_calls'))
        AND NOT internal AND COALESCE(comment, '') = ''";
    assert_eq!(place.rows(&format!("SELECT table_name FROM duckdb_tables() WHERE {ours}")), [""; 0]);
    assert_eq!(place.rows(&format!("SELECT table_name, column_name FROM duckdb_columns() WHERE {ours}")), [""; 0]);
}

/// Checks of two stores go together: names say which is which.
#[test]
fn kept_checks_are_exported_and_imported() {
    let (from, into) = (Place::new(), Place::new());
    let mut runs = two_kept(&from);
    runs.extend(two_kept(&into));
    let export = from.path("export");
    for arguments in [
        vec!["store", "export", "--db", from.db().to_str().unwrap(), "--parquet", export.to_str().unwrap()],
        vec!["store", "import", export.to_str().unwrap(), "--db", into.db().to_str().unwrap()],
        vec!["store", "import", export.to_str().unwrap(), "--db", into.db().to_str().unwrap()],
    ] {
        succeeded(&program().args(arguments).output().unwrap());
    }
    let listed: Vec<Value> = serde_json::from_str(&succeeded(&run(&into, &["list", "-f", "json"]))).unwrap();
    let mut names: Vec<&str> = listed.iter().map(|run| run["call_run"].as_str().unwrap()).collect();
    names.sort_unstable();
    runs.sort_unstable();
    assert_eq!(names, runs);
    assert_eq!(into.rows("SELECT COUNT(*) FROM checked_calls"), ["28"]);
    assert_eq!(into.rows("SELECT COUNT(*) FROM call_results WHERE rank < 7"), ["28"]);
}

#[test]
fn span_id_that_two_traces_use_is_told_apart_by_its_trace() {
    let store = Store::in_memory().unwrap();
    let spans = Fixture::new().span(call("t1", "s1")).span(call("t2", "s1")).span(call("t2", "s2"));
    store.execute(&spans.statements()).unwrap();
    let check = store.begin_call_check("check", &std::env::temp_dir()).unwrap();
    assert_eq!(check.order_spans().unwrap(), 3);
    let ids: Vec<String> = check.spans(0, 10).unwrap().into_iter().map(|span| span.id).collect();
    assert_eq!(ids, ["t1/s1", "t2/s1", "s2"]);
    assert_eq!(check.spans(1, 2).unwrap().len(), 1);
    drop(check);
    // Nothing is left behind, and the next one begins anew.
    let check = store.begin_call_check("check", &std::env::temp_dir()).unwrap();
    assert_eq!(check.entries(), 0);
}

#[test]
fn spans_of_the_store_are_checked_against_its_tools() {
    let place = Place::new();
    let output = program()
        .args(["ingest", "-q", "fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json", "--db"])
        .arg(place.db())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let output = run(&place, &["check", "--from-spans", "--specs-from-tools", "-f", "json"]);
    let said: Vec<Value> = serde_json::from_str(&succeeded(&output)).unwrap();
    let unmapped = said.iter().filter(|said| said["verdict"] == "tool_unmapped").count();
    let undefined = place.rows(
        "SELECT COUNT(*) FROM (SELECT DISTINCT f.span_id FROM set_diagnosis_v2 f WHERE f.rule = 'undefined_tool')",
    );
    assert!(unmapped > 0 && undefined[0] != "0", "{said:?}");
    let missing: Vec<&str> = said
        .iter()
        .filter(|said| said["verdict"] == "required_arg_missing")
        .map(|said| said["checked_arg"].as_str().unwrap())
        .collect();
    let lacking =
        place.rows("SELECT DISTINCT f.arg_key FROM set_diagnosis_v2 f WHERE f.problem = 'missing' ORDER BY ALL");
    assert!(lacking.iter().all(|key| missing.contains(&key.as_str())), "{missing:?} {lacking:?}");
    assert_eq!(place.rows("SELECT COUNT(*) FROM call_runs"), ["1"]);
}
