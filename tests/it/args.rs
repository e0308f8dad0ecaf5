//! Canonical arguments: what makes two calls the same call, and the types of their top-level keys.

use proptest::prelude::*;
use taco_trace::ingest::args::{ArgsError, MAX_ARGS_DEPTH, canonical, compact};
use taco_trace::model::{CallArg, JsonType};

fn text(json: &str) -> String {
    canonical(json).unwrap().text
}

/// `key:json_type/written_type=value` of each top-level key.
fn keys(json: &str) -> Vec<String> {
    let read = canonical(json).unwrap();
    let told = |arg: &CallArg| {
        let (json_type, written_type) = (arg.json_type.as_str(), arg.written_type.as_str());
        format!("{}:{json_type}/{written_type}={}", arg.key, read.value(arg))
    };
    read.args.iter().map(told).collect()
}

#[test]
fn canonical_sorts_keys_at_every_level() {
    assert_eq!(text(r#"{"b":{"d":1,"c":[{"f":1,"e":2}]},"a":2}"#), r#"{"a":2,"b":{"c":[{"e":2,"f":1}],"d":1}}"#);
}

#[test]
fn canonical_sorts_by_code_point_not_by_utf16_unit() {
    // U+FF5E sorts before U+1F600 by code point and after its surrogates by UTF-16 unit.
    assert_eq!(
        text("{\"\u{1f600}\":1,\"\u{ff5e}\":2,\"가\":3,\"Z\":4}"),
        "{\"Z\":4,\"가\":3,\"\u{ff5e}\":2,\"\u{1f600}\":1}"
    );
}

#[test]
fn canonical_keeps_array_order() {
    assert_eq!(text("[3, 1 ,2, []  , {} ]"), "[3,1,2,[],{}]");
}

#[test]
fn canonical_drops_white_space_only_outside_strings() {
    assert_eq!(
        text(" \t\r\n{ \"a b\" : \" c \" , \"d\" : [ 1 , true , null ] } \n"),
        r#"{"a b":" c ","d":[1,true,null]}"#
    );
}

#[test]
fn canonical_keeps_number_text() {
    for number in
        ["1", "1.0", "1e2", "1E2", "1e+2", "-0", "-0.0", "0", "100", "123456789012345678901234567890", "1e400"]
    {
        assert_eq!(text(number), number);
        assert_eq!(text(&format!("{{\"n\" : {number} }}")), format!("{{\"n\":{number}}}"));
    }
}

#[test]
fn canonical_spells_escapes_in_one_way() {
    assert_eq!(text(r#""\u0041\/\u00e9\ud83d\ude00\u0022\u005c""#), "\"A/é😀\\\"\\\\\"");
    assert_eq!(
        text(r#""\u0008\u0009\u000a\u000c\u000d\u0001\u001F\u007f""#),
        "\"\\b\\t\\n\\f\\r\\u0001\\u001f\u{7f}\""
    );
    assert_eq!(text(r#"{"\u0061":1}"#), text(r#"{"a":1}"#));
    assert_eq!(text(r#""\ucd9c\uc7a5\ube44""#), "\"출장비\"");
}

#[test]
fn canonical_replaces_lone_surrogates() {
    assert_eq!(text(r#""a\ud83d""#), "\"a\u{fffd}\"");
    assert_eq!(text(r#""\ude00b""#), "\"\u{fffd}b\"");
    assert_eq!(text(r#""\ud83d\u0041""#), "\"\u{fffd}A\"");
    assert_eq!(text(r#""\ud83d\n""#), "\"\u{fffd}\\n\"");
    assert_eq!(text(r#""\ud83d\ud83d\ude00""#), "\"\u{fffd}😀\"");
    assert_eq!(text(r#"{"\ud800":1}"#), "{\"\u{fffd}\":1}");
}

#[test]
fn canonical_of_a_repeated_key_takes_the_last_value() {
    assert_eq!(text(r#"{"a":1,"b":2,"a":3}"#), r#"{"a":3,"b":2}"#);
    assert_eq!(text(r#"{"x":[{"a":1,"\u0061":{"z":1,"z":2}}]}"#), r#"{"x":[{"a":{"z":2}}]}"#);
    assert_eq!(keys(r#"{"a":"x","a":3,"a":true}"#), ["a:boolean/boolean=true"]);
}

#[test]
fn canonical_lists_top_level_keys_in_order() {
    let listed = keys(r#"{"s":"x","o":{"b":1,"a":2},"l":[1],"z":null,"i":3,"f":1.5}"#);
    let expected = [
        "f:number/number=1.5",
        "i:integer/integer=3",
        "l:array/array=[1]",
        r#"o:object/object={"a":2,"b":1}"#,
        r#"s:string/string="x""#,
        "z:null/null=null",
    ];
    assert_eq!(listed, expected);
    assert!(keys("[1]").is_empty());
    assert!(keys("\"text\"").is_empty());
    assert!(keys("{}").is_empty());
}

#[test]
fn number_without_fractional_part_is_an_integer_and_written_as_it_is() {
    let types = |number: &str| {
        let args = canonical(&format!("{{\"n\":{number}}}")).unwrap().args;
        (args[0].json_type, args[0].written_type)
    };
    for written in ["3", "-3", "0", "-0", "123456789012345678901234567890"] {
        assert_eq!(types(written), (JsonType::Integer, JsonType::Integer), "{written}");
    }
    let whole = [
        "3.0",
        "3e0",
        "30e-1",
        "1e400",
        "1.5e1",
        "0.0",
        "0e-5",
        "-2.50e+1",
        "1e99999999999999999999",
        "0e-99999999999999999999",
    ];
    for written in whole {
        assert_eq!(types(written), (JsonType::Integer, JsonType::Number), "{written}");
    }
    for written in
        ["1.5", "15e-1", "3e-1", "-0.1", "1.25e1", "1e-99999999999999999999", "1.000000000000000000000000000001"]
    {
        assert_eq!(types(written), (JsonType::Number, JsonType::Number), "{written}");
    }
}

#[test]
fn boolean_is_never_an_integer() {
    assert_eq!(keys(r#"{"a":true,"b":false}"#), ["a:boolean/boolean=true", "b:boolean/boolean=false"]);
}

#[test]
fn text_that_is_not_one_json_value_is_refused_with_the_position() {
    for wrong in
        ["", " ", "dept_code=D-1203", r#"{"dept_code":"D-12"#, "{} {}", "{'a':1}", "01", "{\"a\":\"\u{0}\"}", "nul"]
    {
        match canonical(wrong) {
            Err(ArgsError::NotJson(words)) => assert!(words.contains("column"), "{words}"),
            other => panic!("{wrong:?}: {other:?}"),
        }
        assert_eq!(compact(wrong), None);
    }
}

#[test]
fn nesting_at_the_limit_is_read_and_over_it_refused() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert_eq!(text(&nested(MAX_ARGS_DEPTH - 1)), nested(MAX_ARGS_DEPTH - 1));
        assert_eq!(text(&nested(MAX_ARGS_DEPTH)), nested(MAX_ARGS_DEPTH));
        assert_eq!(canonical(&nested(MAX_ARGS_DEPTH + 1)), Err(ArgsError::TooDeep));
        assert_eq!(canonical(&nested(100_000)), Err(ArgsError::TooDeep));
        assert_eq!(compact(&nested(MAX_ARGS_DEPTH + 1)), None);
    }
}

#[test]
fn compact_keeps_the_order_of_keys() {
    assert_eq!(compact(" { \"b\" : 1, \"a\" : [ {\"d\":1, \"c\":2} ] } ").unwrap(), r#"{"b":1,"a":[{"d":1,"c":2}]}"#);
    assert_eq!(compact(r#"{"b":1,"a":2,"b":3}"#).unwrap(), r#"{"a":2,"b":3}"#);
}

/// A JSON value with numbers as text.
#[derive(Debug, Clone, PartialEq)]
enum Value {
    Scalar(&'static str),
    Text(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop::sample::select(vec!["null", "true", "false", "0", "-0", "1", "1.0", "1e2", "2.5"]);
    let leaf = prop_oneof![scalar.prop_map(Value::Scalar), "[a-c\"\\\\\n가😀]{0,4}".prop_map(Value::Text)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::btree_map("[a-d가\"]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Writes a value in one of many spellings; `seed` picks key order, spaces and escapes.
fn spell(value: &Value, seed: &mut u64, out: &mut String) {
    space(seed, out);
    match value {
        Value::Scalar(text) => out.push_str(text),
        Value::Text(text) => spell_text(text, seed, out),
        Value::Array(items) => {
            out.push('[');
            for (position, item) in items.iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                spell(item, seed, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<&(String, Value)> = members.iter().collect();
            if !members.is_empty() {
                let by = usize::try_from(draw(seed)).unwrap_or(0) % members.len();
                members.rotate_left(by);
            }
            out.push('{');
            for (position, (key, item)) in members.into_iter().enumerate() {
                if position > 0 {
                    out.push(',');
                }
                space(seed, out);
                spell_text(key, seed, out);
                space(seed, out);
                out.push(':');
                spell(item, seed, out);
            }
            out.push('}');
        }
    }
    space(seed, out);
}

fn spell_text(text: &str, seed: &mut u64, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        if draw(seed).is_multiple_of(2) || letter < ' ' || letter == '"' || letter == '\\' {
            letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04X}")));
        } else {
            out.push(letter);
        }
    }
    out.push('"');
}

fn space(seed: &mut u64, out: &mut String) {
    out.push_str(["", "", " ", "\n\t"][usize::try_from(draw(seed) % 4).unwrap()]);
}

fn draw(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

fn spelled(value: &Value, mut seed: u64) -> String {
    let mut out = String::new();
    spell(value, &mut seed, &mut out);
    out
}

proptest! {
    #[test]
    fn canonical_is_blind_to_key_order_spaces_and_escapes(value in value(), one: u64, other: u64) {
        let first = text(&spelled(&value, one));
        prop_assert_eq!(&first, &text(&spelled(&value, other)));
        // And nothing else was lost: the text means what the value means.
        prop_assert_eq!(
            serde_json::from_str::<serde_json::Value>(&first).unwrap(),
            serde_json::from_str::<serde_json::Value>(&spelled(&value, one)).unwrap()
        );
    }

    #[test]
    fn canonical_tells_different_values_apart(one in value(), other in value(), seed: u64) {
        let same = text(&spelled(&one, seed)) == text(&spelled(&other, seed));
        prop_assert_eq!(same, one == other);
    }

    #[test]
    fn canonical_and_compact_are_idempotent(value in value(), seed: u64) {
        let spelled = spelled(&value, seed);
        let once = canonical(&spelled).unwrap();
        prop_assert_eq!(&canonical(&once.text).unwrap(), &once);
        let compacted = compact(&spelled).unwrap();
        prop_assert_eq!(compact(&compacted).unwrap(), compacted.clone());
        prop_assert_eq!(canonical(&compacted).unwrap().text, once.text);
    }

    #[test]
    fn canonical_of_any_text_does_not_panic(wild in "[\\[\\]{}\",:0-9eE.\\\\u\\-+ adnrtf가]{0,40}") {
        if let Ok(read) = canonical(&wild) {
            prop_assert_eq!(canonical(&read.text).unwrap().text, read.text);
        }
    }
}
