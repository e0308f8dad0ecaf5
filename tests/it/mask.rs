//! Masking: what is taken for a personal value, what stands in its place, and that the rules see the same calls.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;
use serde_json::Value;
use taco_trace::ingest::args::canonical;
use taco_trace::ingest::mask::{MaskCounts, MaskKind, Masker};
use taco_trace::model::{Issue, IssueCode, Operation, OtelId as _, SpanId, SpanRow, Status, TraceId};
use taco_trace::store::Store;
use tempfile::TempDir;

use super::support::{answers, repository};

fn masker() -> Masker {
    Masker::new(b"a key that only the tests have")
}

fn text(masked: &str) -> String {
    masker().mask_text(masked).0.into_owned()
}

fn value(masked: &str) -> String {
    masker().mask_value(masked).0.into_owned()
}

/// The text with each pseudonym as `<kind>`.
fn kinds(masked: &str) -> String {
    let mut out = String::new();
    let mut rest = masked;
    'text: while !rest.is_empty() {
        for prefix in ["RRN_", "PHONE_", "CARD_", "EMAIL_", "EMP_"] {
            if let Some(behind) = rest.strip_prefix(prefix)
                && behind.len() >= 12
                && behind.bytes().take(12).all(|byte| byte.is_ascii_hexdigit())
            {
                out += &format!("<{}>", prefix.trim_end_matches('_'));
                rest = &behind[12..];
                continue 'text;
            }
        }
        let letter = rest.chars().next().unwrap();
        out.push(letter);
        rest = &rest[letter.len_utf8()..];
    }
    out
}

/// The thirteenth digit, straight from the rule of the law's annex.
fn with_check_digit(twelve: &str) -> String {
    let digits: Vec<u32> = twelve.chars().map(|digit| digit.to_digit(10).unwrap()).collect();
    let sum: u32 = (0..12).map(|place| digits[place] * (place as u32 % 8 + 2)).sum();
    let alien = (5..=8).contains(&digits[6]);
    let check = if alien { (13 - sum % 11) % 10 } else { (11 - sum % 11) % 10 };
    format!("{twelve}{check}")
}

fn with_luhn(head: &str) -> String {
    let sum = |number: &str| {
        number.chars().rev().enumerate().fold(0, |sum, (place, digit)| {
            let digit = digit.to_digit(10).unwrap() * (place as u32 % 2 + 1);
            sum + digit / 10 + digit % 10
        })
    };
    let check = (0..10).find(|check| sum(&format!("{head}{check}")) % 10 == 0).unwrap();
    format!("{head}{check}")
}

// what is found

#[rustfmt::skip]
const FOUND: [(&str, &str); 75] = [
    // resident and alien registration numbers
    ("900101-1234567", "<RRN>"),
    ("주민번호는 900101-1234567입니다.", "주민번호는 <RRN>입니다."),
    ("900101 - 1234567", "<RRN>"),
    ("900101\u{2013}1234567", "<RRN>"),
    ("(900101-2234567)", "(<RRN>)"),
    ("000229-3234567", "<RRN>"),
    ("040229-4234567", "<RRN>"),
    ("외국인 850315-5123456, 850315-6123456", "외국인 <RRN>, <RRN>"),
    ("150315-8123456", "<RRN>"),
    ("a=900101-1234567&b=1", "a=<RRN>&b=1"),
    ("\"900101-1234567\"", "\"<RRN>\""),
    ("900101-1234567/910202-2345678", "<RRN>/<RRN>"),
    // phones
    ("010-1234-5678", "<PHONE>"),
    ("01012345678", "<PHONE>"),
    ("010 1234 5678", "<PHONE>"),
    ("010.1234.5678", "<PHONE>"),
    ("010)1234-5678", "<PHONE>"),
    ("011-234-5678", "<PHONE>"),
    ("0162345678", "<PHONE>"),
    ("연락처:010-1234-5678번으로", "연락처:<PHONE>번으로"),
    ("전화010-1234-5678", "전화<PHONE>"),
    ("02-123-4567", "<PHONE>"),
    ("02-1234-5678", "<PHONE>"),
    ("(02) 1234-5678", "<PHONE>"),
    ("02)2345-6789", "<PHONE>"),
    ("0223456789", "<PHONE>"),
    ("031-234-5678", "<PHONE>"),
    ("064-712-3456", "<PHONE>"),
    ("070-1234-5678", "<PHONE>"),
    ("0505-123-4567", "<PHONE>"),
    ("0507-1234-5678", "<PHONE>"),
    ("+82-10-1234-5678", "<PHONE>"),
    ("+821012345678", "<PHONE>"),
    ("+82 (0)10 1234 5678", "<PHONE>"),
    ("+82-2-1234-5678", "<PHONE>"),
    ("+82 31 234 5678", "<PHONE>"),
    ("+82 010-1234-5678", "<PHONE>"),
    ("010-1234-5678, 010-8765-4321", "<PHONE>, <PHONE>"),
    ("010-1234-5678~9", "<PHONE>~9"),
    ("tel:010-1234-5678", "tel:<PHONE>"),
    ("hp-010-1234-5678", "hp-<PHONE>"),
    ("/users/01012345678/orders", "/users/<PHONE>/orders"),
    ("신청서_01012345678.pdf", "신청서_<PHONE>.pdf"),
    ("\\n010-1234-5678", "\\n<PHONE>"),
    ("\\uc804\\ud654010-1234-5678", "\\uc804\\ud654<PHONE>"),
    // cards
    ("4111111111111111", "<CARD>"),
    ("4111-1111-1111-1111", "<CARD>"),
    ("4111 1111 1111 1111", "<CARD>"),
    ("4111 1111 1111 1111 1234", "<CARD> 1234"),
    ("5555555555554444", "<CARD>"),
    ("2223003122003222", "<CARD>"),
    ("3782-822463-10005", "<CARD>"),
    ("3056 930902 5904", "<CARD>"),
    ("3530111333300000", "<CARD>"),
    ("6011111111111117", "<CARD>"),
    ("6200000000000005", "<CARD>"),
    ("카드 4111-1111-1111-1111로 결제", "카드 <CARD>로 결제"),
    // addresses
    ("hong@korea.kr", "<EMAIL>"),
    ("hong.gildong+tag@mail.example.co.kr", "<EMAIL>"),
    ("메일은 hong@korea.kr로 보내 주세요.", "메일은 <EMAIL>로 보내 주세요."),
    ("<hong@korea.kr>;<kim@korea.kr>", "<<EMAIL>>;<<EMAIL>>"),
    ("hong@korea.kr.", "<EMAIL>."),
    ("mailto:hong@korea.kr?subject=1", "mailto:<EMAIL>?subject=1"),
    ("...hong@korea.kr", "...<EMAIL>"),
    ("010-1234-5678@naver.com", "<EMAIL>"),
    ("hong@korea.kr-01012345678", "<EMAIL>-<PHONE>"),
    ("q@host.b@c.kr", "q@<EMAIL>"),
    // employee numbers
    ("사번 20190123", "사번 <EMP>"),
    ("사번: A12345 입니다", "사번: <EMP> 입니다"),
    ("사번A-1234", "사번<EMP>"),
    ("emp_id=E004521", "emp_id=<EMP>"),
    ("\\\"employee_no\\\":\\\"1234\\\"", "\\\"employee_no\\\":\\\"<EMP>\\\""),
    ("직원번호(20190123)", "직원번호(<EMP>)"),
    ("Employee Number: 12345", "Employee Number: <EMP>"),
    ("사번 1234567890", "사번 <EMP>"),
];

#[rustfmt::skip]
const LEFT_ALONE: [&str; 72] = [
    "", "가나다", "-", "@", "+82", "010", "(", "사번", "사번 123", "사번 12345678901", "employee_id1234", "공사번호 12345",
    // dates and times
    "2026-10-07", "2026-10-07T09:12:03.123456789+09:00", "20261007091203", "2026.10.07 09:12", "09:12:03.1234567",
    "1791372645123", "1710123456789", "1812255123456", "1791372645", "1791372645123456", "1791372645123456789",
    // no such day, no such century, other lengths
    "901301-1234567", "900132-1234567", "900230-1234567", "010229-3234567", "900101-0234567", "900101-9234567",
    "90010-11234567", "900101-123456", "900101-12345678", "1900101-1234567", "900101-1234567-1", "900101-1234567.5",
    "9001011234567",
    // ids
    "7f21c0a4e93b4d1f8a6c2e5b90d417aa", "16eaf0f648963898", "550e8400-e29b-41d4-a716-446655440000",
    "00000000-0000-0101-2345-010123456789", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "call_010123456789012345", "x01012345678", "01012345678x", "F-2210", "D-1203", "9500010112345678901234",
    "sha256:0101234567801012345678010123456780101234567801012345678010123", "a\\u0310-1234",
    // amounts, versions, addresses of machines, account numbers (not promised)
    "1,234,567,890", "1234567.89", "0.1012345678", "-4111.1111", "v1.2.3", "02.1.3", "192.168.10.12", "10.0.1.23:8080",
    "110-234-567890", "123-45-67890", "3333-01-1234567",
    // phones that are none
    "010-12-3456", "010-12345-678", "09-1234-5678", "010-1234-56789", "1-010-1234-5678", "0112345", "1588-1234",
    "0212345678",
    // cards that are none, addresses that are none
    "4111111111111112", "pkg@1.2.3", "hong@localhost", "@korea.kr",
];

#[test]
fn values_are_found_wherever_they_stand() {
    for (written, expected) in FOUND {
        assert_eq!(kinds(&text(written)), expected, "{written}");
    }
}

#[test]
fn other_numbers_and_texts_are_left_alone() {
    for written in LEFT_ALONE {
        let (masked, counts) = masker().mask_text(written);
        assert_eq!(masked, written);
        assert!(matches!(masked, Cow::Borrowed(_)), "{written} is not copied");
        assert_eq!(counts, MaskCounts::default());
    }
}

#[test]
fn texts_of_the_shipped_tools_and_ids_of_the_seed_are_left_alone() {
    for path in ["fixtures/seed/tools.json", "fixtures/generated/tools.json"] {
        let written = fs::read_to_string(repository().join(path)).unwrap();
        assert_eq!(text(&written), written, "{path}");
        assert_eq!(value(&written), written, "{path}");
    }
}

// boundaries

#[test]
fn thirteen_digits_are_a_number_only_with_the_right_check_digit() {
    for head in ["900101123456", "040229423456", "850315512345", "150315812345"] {
        let right = with_check_digit(head);
        for digit in 0..10 {
            let written = format!("{head}{digit}");
            let expected = if written == right { "<RRN>" } else { &written };
            assert_eq!(kinds(&text(&written)), expected);
        }
        assert_eq!(text(&right), text(&format!("{}-{}", &right[..6], &right[6..])), "with and without the dash");
    }
}

#[test]
fn thirteen_digits_of_milliseconds_are_never_a_number() {
    // 2023-11-14 to 2030-03-17, one a minute or so.
    for milliseconds in (1_700_000_000_000_i64..1_900_000_000_000).step_by(61_234_567) {
        let written = milliseconds.to_string();
        assert_eq!(text(&written), written);
        assert_eq!(value(&written), written);
    }
    // The years of birth beside those are looked at.
    for head in ["161012312345", "190101312345"] {
        assert_eq!(kinds(&text(&with_check_digit(head))), "<RRN>", "{head}");
    }
    assert_eq!(kinds(&text("171012-3123456")), "<RRN>", "with the dash there is no doubt");
}

#[test]
fn card_needs_a_known_network_its_length_and_the_luhn_sum() {
    for (head, known) in [
        ("422222222222", true),
        ("41111111111", false),
        ("4111111111111", false),
        ("411111111111111", true),
        ("411111111111111111", true),
        ("4111111111111111111", false),
        ("500000000000000", false),
        ("510000000000000", true),
        ("550000000000000", true),
        ("560000000000000", false),
        ("222099999999999", false),
        ("222100000000000", true),
        ("272099999999999", true),
        ("272100000000000", false),
        ("34000000000000", true),
        ("35000000000000", false),
        ("352799999999999", false),
        ("352800000000000", true),
        ("358999999999999", true),
        ("359000000000000", false),
        ("3050000000000", true),
        ("3060000000000", false),
        ("643999999999999", false),
        ("644000000000000", true),
        ("949999999999999", true),
        ("959999999999999", false),
        ("123456789012345", false),
    ] {
        let number = with_luhn(head);
        let expected = if known { "<CARD>" } else { &number };
        assert_eq!(kinds(&text(&number)), expected, "{head}");
        let last = number.pop_digit();
        for other in (0..10).filter(|digit| *digit != last) {
            let written = format!("{head}{other}");
            assert_eq!(text(&written), written);
        }
    }
}

trait PopDigit {
    fn pop_digit(&self) -> u32;
}

impl PopDigit for String {
    fn pop_digit(&self) -> u32 {
        self.chars().next_back().and_then(|digit| digit.to_digit(10)).unwrap()
    }
}

#[test]
fn value_between_letters_of_several_bytes_is_cut_at_whole_letters() {
    for around in ["가", "é", "😀", "\u{3000}", "\u{feff}", "\u{2013}", "\u{301}"] {
        for written in ["010-1234-5678", "900101-1234567", "4111111111111111", "hong@korea.kr"] {
            let masked = text(&format!("{around}{written}{around}"));
            assert!(masked.starts_with(around) && masked.ends_with(around), "{masked}");
            assert!(!masked.contains(written), "{masked}");
        }
    }
}

// pseudonyms

#[test]
fn equal_values_have_one_pseudonym_however_they_are_written() {
    for same in [
        &["010-1234-5678", "01012345678", "010 1234 5678", "+82-10-1234-5678", "+821012345678", "+82 (0)10-1234-5678"]
            [..],
        &["02-2345-6789", "0223456789", "(02) 2345-6789", "+82-2-2345-6789"],
        &["900101-1234567", "900101 - 1234567", "900101\u{2013}1234567"],
        &["4111111111111111", "4111-1111-1111-1111", "4111 1111 1111 1111"],
        &["hong@korea.kr", "HONG@Korea.KR"],
    ] {
        let pseudonyms: BTreeSet<String> = same.iter().map(|written| text(written)).collect();
        assert_eq!(pseudonyms.len(), 1, "{same:?}: {pseudonyms:?}");
    }
    assert_eq!(text("사번 a-1234").replace("사번 ", ""), text("사번: A1234").replace("사번: ", ""));
    assert_eq!(value(r#"{"사번":"A1234"}"#).len(), r#"{"사번":"EMP_c0ffee123456"}"#.len());
    assert_eq!(value(r#"{"사번":"A-1234"}"#), value(r#"{"사번":"a1234"}"#));
}

#[test]
fn other_values_kinds_and_keys_have_other_pseudonyms() {
    let phones: BTreeSet<String> = (0..20_000).map(|number| text(&format!("010-1234-{number:04}"))).collect();
    assert_eq!(phones.len(), 10_000 + 10_000, "five digits are no phone number and stay as they are");
    assert_ne!(text("010-1234-5678"), Masker::new(b"another key").mask_text("010-1234-5678").0);
    let digits = |masked: &str| masked[masked.len() - 12..].to_owned();
    assert_ne!(digits(&value(r#"{"사번":"01012345678"}"#)[..22 + "사번".len() - 4]), digits(&text("01012345678")));
    assert_ne!(masker().fingerprint(), Masker::new(b"another key").fingerprint());
    assert_eq!(masker().fingerprint(), masker().fingerprint());
}

#[test]
fn counts_are_by_kind() {
    let (_, counts) = masker().mask_text("010-1234-5678 hong@korea.kr 010-1234-5678 900101-1234567 사번 12345");
    let told: BTreeMap<&str, u64> = counts.iter().map(|(kind, count)| (kind.as_str(), count)).collect();
    assert_eq!(told, BTreeMap::from([("email", 1), ("employee", 1), ("phone", 2), ("resident", 1)]));
    assert_eq!((counts.total(), counts.of(MaskKind::Card), counts.of(MaskKind::Phone)), (5, 0, 2));
}

// JSON

fn json_kinds(written: &str) -> String {
    kinds(&value(written))
}

#[test]
fn json_keeps_keys_spacing_types_and_other_values() {
    for (written, expected) in [
        (r#"{"phone": "010-1234-5678"}"#, r#"{"phone": "<PHONE>"}"#),
        (r#"{ "010-1234-5678" : 1 }"#, r#"{ "010-1234-5678" : 1 }"#),
        (r#"{"사번":"A1234"}"#, r#"{"사번":"<EMP>"}"#),
        (r#"{"Employee-No":["A1","B2"],"x":"A1"}"#, r#"{"Employee-No":["<EMP>","<EMP>"],"x":"A1"}"#),
        (r#"{"emp_id":{"x":"A1"},"emp_id2":"A1"}"#, r#"{"emp_id":{"x":"A1"},"emp_id2":"A1"}"#),
        (r#"{"emp_id":"모름"}"#, r#"{"emp_id":"모름"}"#),
        (r#"{"emp_id":null,"a":true,"b":1.50,"c":-3e5}"#, r#"{"emp_id":null,"a":true,"b":1.50,"c":-3e5}"#),
        (r#"["\uc804\ud654 010-1234-5678\n"]"#, "[\"전화 <PHONE>\\n\"]"),
        (r#""{\"phone\":\"010-1234-5678\"}""#, r#""{\"phone\":\"<PHONE>\"}""#),
        (r#"{"a":"x\u0041","b":"hong@korea.kr"}"#, r#"{"a":"x\u0041","b":"<EMAIL>"}"#),
        (r#""hong@korea.kr""#, r#""<EMAIL>""#),
        ("010-1234-5678", "<PHONE>"),
        ("{\"a\":\"010-1234-5678\"", "{\"a\":\"<PHONE>\""),
        ("", ""),
    ] {
        assert_eq!(json_kinds(written), expected);
    }
}

#[test]
fn json_number_becomes_another_number() {
    let resident = with_check_digit("900101123456");
    for written in [resident.as_str(), "4111111111111111"] {
        for (before, behind) in [("", ""), ("{\"n\":", "}"), ("[1, ", " ,2]"), ("\"{\\\"n\\\":", "}\"")] {
            let masked = value(&format!("{before}{written}{behind}"));
            let number = masked.strip_prefix(before).unwrap().strip_suffix(behind).unwrap();
            assert!(
                (9_000_000_000_000_000..9_007_000_000_000_000).contains(&number.parse::<u64>().unwrap()),
                "{masked}"
            );
            assert_ne!(number, written);
        }
    }
    assert!(value(r#"{"사번":20190123}"#).starts_with(r#"{"사번":900"#));
    assert!(value(r#"{"emp_id":7}"#).starts_with(r#"{"emp_id":900"#));
    for other in ["-4111111111111111", "4111111111111111.0", "4111111111111111e0", r#"{"emp_id":1.5}"#, "20190123"] {
        assert_eq!(value(other), other);
    }
    // The first and the last pseudonym there is, and their neighbours.
    for (number, kept) in [
        ("8999999999999999", false),
        ("9000000000000000", true),
        ("9006999999999999", true),
        ("9007000000000000", false),
    ] {
        let written = format!("{{\"emp_id\":{number}}}");
        assert_eq!(value(&written) == written, kept, "{number}");
    }
}

#[test]
fn fields_named_on_the_command_line_are_employee_numbers_too() {
    let masker = masker().with_fields(&["공무원 ID".to_owned()]);
    assert_eq!(kinds(&masker.mask_value(r#"{"공무원_id":"Z99","id":"Z99"}"#).0), r#"{"공무원_id":"<EMP>","id":"Z99"}"#);
    assert_eq!(json_kinds(r#"{"공무원_id":"Z99"}"#), r#"{"공무원_id":"Z99"}"#);
}

#[test]
fn json_deeper_than_the_limit_of_arguments_stays_json() {
    for depth in [127, 128, 129, 5_000] {
        let written = format!("{}\"010-1234-5678\"{}", "[".repeat(depth), "]".repeat(depth));
        let expected = written.replace("010-1234-5678", "<PHONE>");
        assert_eq!(json_kinds(&written), expected);
    }
}

// rows and issues

fn row(tool_args: Option<&str>) -> SpanRow {
    SpanRow {
        trace_id: TraceId::of_hex("01012345678010123456780101234567").unwrap(),
        span_id: SpanId::of_hex("0101234567801012").unwrap(),
        parent_span_id: None,
        operation: Operation::ExecuteTool,
        agent_name: Some("hong@korea.kr 에이전트".to_owned()),
        tool_name: Some("hong@korea.kr".to_owned()),
        tool_args: tool_args.map(str::to_owned),
        args_key: tool_args.and_then(|text| Some(canonical(text).ok()?.text)),
        args: tool_args.and_then(|text| Some(canonical(text).ok()?.args)).unwrap_or_default(),
        status: Status::Error,
        start_ns: 1,
        end_ns: 2,
        call_id: Some("call_1".to_owned()),
        tool_result: Some(r#"{"phone":"010-1234-5678"}"#.to_owned()),
        tool_args_raw: None,
        args_form: None,
        failure: None,
        error_type: Some("no user 900101-1234567".to_owned()),
        status_message: Some("사번 A1234 없음".to_owned()),
        service_name: None,
        scope_name: None,
        convention: "c".into(),
        line: 1,
    }
}

#[test]
fn row_is_masked_in_its_texts_and_its_arguments_are_read_anew() {
    let mut masked = row(Some(r#"{"b": "010-1234-5678", "a": 20190123, "사번": 20190123}"#));
    let counts = masker().mask_row(&mut masked);
    assert_eq!(counts.total(), 6);
    assert_eq!((masked.trace_id, masked.span_id), (row(None).trace_id, row(None).span_id));
    assert_eq!(masked.tool_name, row(None).tool_name);
    let texts = [&masked.agent_name, &masked.tool_result, &masked.error_type, &masked.status_message];
    assert_eq!(
        texts.map(|column| kinds(column.as_deref().unwrap())),
        ["<EMAIL> 에이전트", r#"{"phone":"<PHONE>"}"#, "no user <RRN>", "사번 <EMP> 없음"]
    );
    let tool_args = masked.tool_args.unwrap();
    assert!(kinds(&tool_args).starts_with(r#"{"b": "<PHONE>", "a": 20190123, "사번": 900"#), "{tool_args}");
    let read = canonical(&tool_args).unwrap();
    assert_eq!((masked.args_key.as_deref(), &masked.args), (Some(read.text.as_str()), &read.args));
}

#[test]
fn row_without_a_value_keeps_its_arguments() {
    for tool_args in [None, Some("{"), Some(r#"{"a":1}"#)] {
        let mut masked = row(tool_args);
        masker().mask_row(&mut masked);
        let written = row(tool_args);
        assert_eq!(
            (masked.tool_args, masked.args_key, masked.args),
            (written.tool_args, written.args_key, written.args)
        );
    }
}

fn issue(raw: &str) -> Issue {
    let code = IssueCode::NotJson;
    Issue { code, line: 1, byte_offset: 0, trace_id: None, span_id: None, detail: raw.to_owned(), raw: raw.to_owned() }
}

fn masked_raw(raw: &str) -> String {
    let mut issue = issue(raw);
    masker().mask_issue(&mut issue);
    assert_eq!(issue.raw, issue.detail);
    kinds(&issue.raw)
}

#[test]
fn excerpt_shows_no_value_and_no_beginning_of_one_that_was_cut() {
    assert_eq!(masked_raw("\"a\":\"010-1234-5678\""), "\"a\":\"<PHONE>\"");
    for (value, rest) in
        [("010-1234-5678", ""), ("010 1234 5678", ""), ("hong.gildong@korea.kr", ""), ("900101-1234567", "")]
    {
        for cut in 1..=value.len() {
            // Below, at and above the 200 characters that an excerpt keeps.
            let head = format!("{}\"", "가".repeat(199 - cut));
            let excerpt = format!("{head}{}", &value[..cut]);
            assert_eq!(excerpt.chars().count(), 200);
            assert_eq!(masked_raw(&excerpt), format!("{head}{rest}"), "{excerpt}");
        }
    }
    let whole = format!("{}\"0101", "가".repeat(194));
    assert_eq!(masked_raw(&whole), whole, "199 characters were not cut");
    let long = "a".repeat(200);
    assert_eq!(masked_raw(&long), "a".repeat(136), "a long run loses what a value could be");
}

// properties

/// Pieces that values are made of, and what may stand between them.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "010",
        "1234",
        "5678",
        "-",
        " ",
        ".",
        "@",
        "+82",
        "(0)",
        "02",
        "900101",
        "1234567",
        "4111",
        "1111",
        "hong",
        "korea",
        "kr",
        "b",
        "_",
        "PHONE_c0ffee123456",
        "EMAIL_a00000000000",
        "사번",
        "emp_id",
        ":",
        "A",
        "가",
        "é",
        "\\n",
        "\\u0041",
        "9",
        "01012345678",
        "4111111111111111",
        "x@y.kr",
        "%",
        "\u{2013}",
        "\n",
        "{",
        "\"",
        "'",
        "9000000000000000",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn json_value() -> impl Strategy<Value = Value> {
    let number = prop::sample::select(vec![0_u64, 7, 20_190_123, 4_111_111_111_111_111, 9_000_000_000_000_000]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number.prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        pieces().prop_map(Value::from),
        Just(Value::from(r#"{"emp_id":"A1","n":4111111111111111}"#)),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop_oneof![pieces(), Just("emp_id".to_owned()), Just("사번".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..4).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value with each leaf as the name of its type: an integer is told from other numbers.
fn shape(value: &Value) -> Value {
    match value {
        Value::Array(values) => values.iter().map(shape).collect(),
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), shape(value))).collect(),
        Value::String(_) => Value::from("string"),
        Value::Number(number) if number.is_f64() => Value::from("number"),
        Value::Number(_) => Value::from("integer"),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn masking_twice_is_masking_once(written in pieces()) {
        let once = text(&written);
        prop_assert_eq!(&text(&once), &once, "{}", written);
        let once = value(&written);
        prop_assert_eq!(&value(&once), &once, "{}", written);
    }

    #[test]
    fn any_text_is_masked_without_a_panic_and_to_the_same(written in any::<String>()) {
        prop_assert_eq!(text(&written), text(&written));
        prop_assert_eq!(value(&text(&written)), value(&text(&written)));
        masked_raw(&written);
    }

    #[test]
    fn json_stays_json_of_the_same_shape(written in json_value()) {
        let once = value(&written.to_string());
        let read: Value = serde_json::from_str(&once).unwrap();
        prop_assert_eq!(shape(&read), shape(&written));
        prop_assert_eq!(value(&once), once);
    }

    /// The same value in two calls stays the same value, whatever stands around it.
    #[test]
    fn equal_arguments_stay_equal(members in prop::collection::btree_map(pieces(), json_value(), 0..4)) {
        let forth: Vec<_> = members.iter().map(|(key, value)| format!("{}:{value}", Value::from(key.as_str()))).collect();
        let back: Vec<_> = forth.iter().rev().cloned().collect();
        let key = |members: &[String]| canonical(&value(&format!("{{{}}}", members.join(" , ")))).unwrap().text;
        prop_assert_eq!(key(&forth), key(&back));
    }
}

// the command

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_taco-trace"))
        .current_dir(folder.path())
        .env_remove("TACO_TRACE_MASK_KEY")
        .args(arguments)
        .output()
        .unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn fixture(name: &str) -> String {
    repository().join("fixtures").join(name).display().to_string()
}

#[test]
fn verdicts_are_those_without_masking() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["seed", "generated"] {
        let [traces, tools] = ["traces.jsonl", "tools.json"].map(|file| fixture(&format!("{name}/{file}")));
        let judged = |more: &[&str]| -> Vec<(Value, Value, Value, usize)> {
            let output =
                run(&folder, &[&["diagnose", &traces, "--tools", &tools, "--format", "json", "-q"], more].concat());
            assert!(output.status.success(), "{}", stderr(&output));
            let runs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
            let verdict = |run: &Value| {
                let findings = run["findings"].as_array().unwrap().len();
                (run["trace_id"].clone(), run["verdict"].clone(), run["also_found"].clone(), findings)
            };
            runs.iter().map(verdict).collect()
        };
        let without = judged(&[]);
        assert!(!without.is_empty());
        assert_eq!(judged(&["--mask"]), without, "{name}");
    }
}

/// One run whose calls hold values: the first two are the same call, written differently.
const CALLS: [&str; 3] = [
    r#"{"phone":"010-1234-5678","사번":20190123}"#,
    r#"{"사번":20190123,"phone":"010-1234-5678"}"#,
    r#"{"phone":"010-8765-4321","사번":20190123}"#,
];

fn write_calls(folder: &TempDir) {
    let root = r#"{"trace_id":"00000000000000000000000000000001","span_id":"00000000000000aa","parent_span_id":null,"start_time":"2026-10-07T09:00:00.000+09:00","operation":"invoke_agent","agent_name":"a","tool_name":null,"tool_args":null,"status":"ok","duration_ms":9000}"#;
    let mut lines = vec![root.to_owned(), "not json, 010-1234-5678".to_owned()];
    lines.extend(CALLS.iter().zip(1..).map(|(args, number)| {
        let args = Value::from(*args);
        format!(
            r#"{{"trace_id":"00000000000000000000000000000001","span_id":"{number:016x}","parent_span_id":"00000000000000aa","start_time":"2026-10-07T09:00:0{number}.000+09:00","operation":"execute_tool","agent_name":null,"tool_name":"t","tool_args":{args},"status":"ok","duration_ms":1}}"#
        )
    }));
    fs::write(folder.path().join("calls.jsonl"), lines.join("\n")).unwrap();
}

fn stored(folder: &TempDir) -> Store {
    Store::open_existing(&folder.path().join("taco.duckdb")).unwrap()
}

const TEXTS: &str = "SELECT tool_args FROM spans WHERE tool_args IS NOT NULL ORDER BY span_id";

#[test]
fn ingest_counts_what_it_masked_and_no_value_is_in_the_store() {
    let folder = tempfile::tempdir().unwrap();
    write_calls(&folder);
    let output = run(&folder, &["ingest", "calls.jsonl", "--mask"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("가린 값 7개: 전화번호 4 · 사번 3\n"), "{}", stderr(&output));
    let store = stored(&folder);
    assert_eq!(answers(&store, "SELECT * FROM masked_counts ORDER BY kind"), ["1|employee|3", "1|phone|4"]);
    assert_eq!(answers(&store, "SELECT COUNT(DISTINCT args_key), COUNT(DISTINCT tool_args) FROM spans"), ["2|3"]);
    assert_eq!(answers(&store, "SELECT COUNT(DISTINCT args_shape) FROM spans"), ["1"]);
    drop(store);
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        let holds = |value: &str| bytes.windows(value.len()).any(|window| window == value.as_bytes());
        assert_eq!(holds("010-1234-5678"), path.ends_with("calls.jsonl"), "{}", path.display());
        assert_eq!(holds("20190123"), path.ends_with("calls.jsonl"), "{}", path.display());
    }
}

#[test]
fn ingest_without_a_value_says_so() {
    let folder = tempfile::tempdir().unwrap();
    write_calls(&folder);
    let root = fs::read_to_string(folder.path().join("calls.jsonl")).unwrap().lines().next().unwrap().to_owned();
    fs::write(folder.path().join("root.jsonl"), root).unwrap();
    let output = run(&folder, &["ingest", "root.jsonl", "--mask"]);
    assert!(stderr(&output).contains("가린 값이 없습니다.\n"), "{}", stderr(&output));
    let output = run(&folder, &["ingest", &fixture("seed/traces.jsonl"), "--db", "b.duckdb"]);
    assert!(!stderr(&output).contains("가린 값"), "{}", stderr(&output));
}

#[test]
fn store_keeps_one_key_of_its_own() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let texts = |folder: &TempDir| {
        write_calls(folder);
        let output = run(folder, &["ingest", "calls.jsonl", "--mask"]);
        assert!(output.status.success(), "{}", stderr(&output));
        answers(&stored(folder), TEXTS)
    };
    let first = texts(&one);
    assert_ne!(first, texts(&two), "each store has its own");
    // The same spans once more, in a file that is not known: the same values, so no conflict.
    let again = fs::read_to_string(one.path().join("calls.jsonl")).unwrap() + "\n\n";
    fs::write(one.path().join("again.jsonl"), again).unwrap();
    assert!(run(&one, &["ingest", "again.jsonl", "--mask"]).status.success());
    let store = stored(&one);
    assert_eq!(answers(&store, "SELECT COUNT(*) FROM ingest_issues WHERE code = 'span_conflict'"), ["0"]);
    assert_eq!(answers(&store, "SELECT spans_redelivered FROM sources ORDER BY source_id"), ["0", "4"]);
    assert_eq!(answers(&store, "SELECT COUNT(*), COUNT(key) FROM mask_key"), ["1|1"]);
}

#[test]
fn key_from_a_file_or_the_environment_gives_the_same_pseudonyms_in_every_store() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&one, &two] {
        write_calls(folder);
    }
    fs::write(one.path().join("mask.key"), "0123456789abcdef\r\n").unwrap();
    assert!(run(&one, &["ingest", "calls.jsonl", "--mask", "--mask-key-file", "mask.key"]).status.success());
    let from_variable = Command::new(env!("CARGO_BIN_EXE_taco-trace"))
        .current_dir(two.path())
        .env("TACO_TRACE_MASK_KEY", "0123456789abcdef")
        .args(["ingest", "calls.jsonl", "--mask"])
        .status()
        .unwrap();
    assert!(from_variable.success());
    assert_eq!(answers(&stored(&one), TEXTS), answers(&stored(&two), TEXTS));
    assert_eq!(answers(&stored(&one), "SELECT key FROM mask_key"), ["-"]);
}

#[test]
fn wrong_key_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    write_calls(&folder);
    let key = |bytes: &str| fs::write(folder.path().join("mask.key"), bytes).unwrap();
    let with_key = ["ingest", "calls.jsonl", "--mask", "--mask-key-file", "mask.key"];
    let refused = |arguments: &[&str], words: &str, status: i32| {
        let output = run(&folder, arguments);
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    };
    refused(&with_key, "파일이 없습니다: `mask.key`", 3);
    key("0123456789abcde\n");
    refused(&with_key, "너무 짧습니다", 2);
    key("0123456789abcdef");
    assert!(run(&folder, &with_key).status.success());
    key("0123456789abcdeg");
    refused(&with_key, "다른 열쇠", 2);
    refused(&["ingest", "calls.jsonl", "--mask"], "그 열쇠가 없습니다", 2);
    refused(&["ingest", "calls.jsonl", "--mask-key-file", "mask.key"], "빠진 인자", 2);
    assert_eq!(answers(&stored(&folder), "SELECT COUNT(*) FROM sources"), ["1"]);
}

#[test]
fn store_without_a_key_takes_the_one_given_only_when_masking() {
    let folder = tempfile::tempdir().unwrap();
    write_calls(&folder);
    assert!(run(&folder, &["ingest", "calls.jsonl"]).status.success());
    assert_eq!(answers(&stored(&folder), "SELECT COUNT(*) FROM mask_key"), ["0"]);
    assert_eq!(answers(&stored(&folder), TEXTS), CALLS);
    assert!(Path::new(&folder.path().join("taco.duckdb")).exists());
}
