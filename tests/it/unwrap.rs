//! Arguments as frameworks write them: wrappers, JSON in a text, Python literals, and what is none of these.

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::model::{ArgsForm, IssueCode, SpanRow};

use super::support_otlp::{Otlp, other, read, row, tool};

/// A tool span of a convention that takes nothing off but Python and JSON in a text.
fn plain(arguments: &str) -> SpanRow {
    row(&tool(2, "find").args(arguments))
}

fn traceloop(arguments: &str) -> SpanRow {
    let span = other(2, "find.tool").text("traceloop.span.kind", "tool").text("traceloop.entity.name", "find");
    row(&span.text("traceloop.entity.input", arguments))
}

fn openinference(arguments: &str) -> SpanRow {
    let span = other(2, "find").text("openinference.span.kind", "TOOL").text("tool.name", "find");
    row(&span.text("input.value", arguments))
}

fn langchain(arguments: &str) -> SpanRow {
    let span = other(2, "find").scope("openinference.instrumentation.langchain");
    let span = span.text("openinference.span.kind", "TOOL").text("tool.name", "find");
    row(&span.text("input.value", arguments))
}

/// Canonical arguments and form.
fn told(row: &SpanRow) -> (Option<&str>, Option<ArgsForm>) {
    (row.args_key.as_deref(), row.args_form)
}

#[test]
fn wrappers_are_taken_off_and_the_recorded_text_stays() {
    let recorded = r#"{"args":[],"kwargs":{"q":"a"}}"#;
    let row = traceloop(recorded);
    assert_eq!(told(&row), (Some(r#"{"q":"a"}"#), Some(ArgsForm::Wrapped)));
    assert_eq!(row.tool_args_raw.as_deref(), Some(recorded));
    assert_eq!(told(&traceloop(r#"{"inputs":{"q":"a"},"tags":[],"x":1}"#)).0, Some(r#"{"q":"a"}"#));
    let row = traceloop(r#"{"input_str":"{'q': 'a', 'n': None}","tags":[]}"#);
    assert_eq!(told(&row), (Some(r#"{"n":null,"q":"a"}"#), Some(ArgsForm::Wrapped)));
    assert_eq!(told(&openinference(r#"{"kwargs":{"q":"a"}}"#)).0, Some(r#"{"q":"a"}"#));
    let smolagents = r#"{"args": [], "sanitize_inputs_outputs": true, "kwargs": {"q": "a"}}"#;
    assert_eq!(told(&openinference(smolagents)).0, Some(r#"{"q":"a"}"#));
    // Wrappers in wrappers, to a limit.
    assert_eq!(told(&traceloop(r#"{"inputs":{"kwargs":{"q":"a"}}}"#)).0, Some(r#"{"q":"a"}"#));
}

#[test]
fn argument_that_is_called_as_a_wrapper_stays() {
    for own in [r#"{"kwargs":{"q":"a"},"other":1}"#, r#"{"input":"a","lang":"ko"}"#, r#"{"kwargs":"x y"}"#] {
        let row = openinference(own);
        assert_eq!(row.args_form, None, "{own}");
        assert_eq!(row.tool_args.as_deref(), Some(own));
    }
    assert_eq!(told(&plain(r#"{"kwargs":{"q":"a"}}"#)), (Some(r#"{"kwargs":{"q":"a"}}"#), None));
}

#[test]
fn positional_arguments_have_lost_their_names() {
    let recorded = r#"{"args":["a"],"kwargs":{"n":1}}"#;
    let row = traceloop(recorded);
    assert_eq!((row.tool_args.as_deref(), row.args_form), (None, Some(ArgsForm::Positional)));
    assert_eq!(row.tool_args_raw.as_deref(), Some(recorded));
    for empty in ["[]", "{}", "null"] {
        let row = traceloop(&format!(r#"{{"args":{empty},"kwargs":{{"n":1}}}}"#));
        assert_eq!(told(&row).0, Some(r#"{"n":1}"#), "{empty}");
    }
}

#[test]
fn bare_value_is_lost_where_the_convention_says_so() {
    for bare in ["Planning", "12", "\"Planning\"", "[1]", "travel expenses", "null"] {
        let row = langchain(bare);
        assert_eq!((row.tool_args.as_deref(), row.args_form), (None, Some(ArgsForm::BareValue)), "{bare}");
        assert_eq!(row.tool_args_raw.as_deref(), Some(bare));
    }
    assert_eq!(told(&langchain(r#"{"q":"a"}"#)), (Some(r#"{"q":"a"}"#), None));
    assert_eq!(told(&langchain("{'q': 'a'}")).0, Some(r#"{"q":"a"}"#));
    // Elsewhere it is what was recorded.
    assert_eq!(told(&openinference("12")), (Some("12"), None));
}

/// JSON text as a JSON string, so many times.
fn in_strings(json: &str, times: usize) -> String {
    (0..times).fold(json.to_owned(), |text, _| Value::String(text).to_string())
}

#[test]
fn json_in_a_string_is_taken_out() {
    for times in 1..=2 {
        let row = plain(&in_strings(r#"{"q":"a"}"#, times));
        assert_eq!(told(&row), (Some(r#"{"q":"a"}"#), Some(ArgsForm::JsonString)), "{times} times");
    }
    assert_eq!(told(&plain(&in_strings("[1]", 1))).0, Some("[1]"));
    // A text that is no structure is the text that it is.
    for text in ["\"a\"", "\"12\"", "\"{q}\"", "\"null\"", "\"\""] {
        assert_eq!(told(&plain(text)), (Some(text), None));
    }
}

#[test]
fn layers_beyond_the_limit_stay() {
    for (times, form) in [(4, Some(ArgsForm::JsonString)), (5, None), (9, None)] {
        let recorded = in_strings(r#"{"q":"a"}"#, times);
        let row = plain(&recorded);
        assert_eq!(row.args_form, form, "{times} times");
        assert_eq!(row.tool_args.as_deref() == Some(&*recorded), form.is_none(), "{times} times");
    }
}

#[test]
fn python_literals_are_read_as_python_reads_them() {
    let deep = format!("{{'a': {}1{}}}", "[".repeat(40), "]".repeat(40));
    let deep_json = format!(r#"{{"a":{}1{}}}"#, "[".repeat(40), "]".repeat(40));
    let table: &[(&str, &str)] = &[
        ("{'q': None}", r#"{"q":null}"#),
        ("{'a': True, 'b': False}", r#"{"a":true,"b":false}"#),
        ("{'q': \"what's new\"}", r#"{"q":"what's new"}"#),
        ("{'q': 'say \"hi\"'}", r#"{"q":"say \"hi\""}"#),
        (r"{'q': 'it\'s'}", r#"{"q":"it's"}"#),
        (r#"{'q': "a\"b'c"}"#, r#"{"q":"a\"b'c"}"#),
        (r"{'q': 'a\\b'}", r#"{"q":"a\\b"}"#),
        (r"{'q': 'a\nb\tc'}", r#"{"q":"a\nb\tc"}"#),
        (r"{'q': 'a\x41\u00e9'}", r#"{"q":"aAé"}"#),
        (r"{'q': '\U0001f600'}", "{\"q\":\"\u{1f600}\"}"),
        (r"{'q': '\d+'}", r#"{"q":"\\d+"}"#),
        (r"{'q': r'\n'}", r#"{"q":"\\n"}"#),
        (r"{'q': r'it\'s'}", r#"{"q":"it\\'s"}"#),
        ("{'q': u'a'}", r#"{"q":"a"}"#),
        (r"{'q': '\0'}", "{\"q\":\"\\u0000\"}"),
        (r"{'q': '\101\7'}", "{\"q\":\"A\\u0007\"}"),
        ("{'q': '예산 집행'}", r#"{"q":"예산 집행"}"#),
        ("{'q': ''}", r#"{"q":""}"#),
        ("{'q': 'None, True'}", r#"{"q":"None, True"}"#),
        ("{'q': '''a 'b' c'''}", r#"{"q":"a 'b' c"}"#),
        ("{'q': \"\"\"a\nb\"\"\"}", r#"{"q":"a\nb"}"#),
        ("{'q': 'a' 'b'}", r#"{"q":"ab"}"#),
        ("{'q': 'a' \"b\" r'c'}", r#"{"q":"abc"}"#),
        ("{'a': (1, 2)}", r#"{"a":[1,2]}"#),
        ("{'a': (1,)}", r#"{"a":[1]}"#),
        ("{'a': ()}", r#"{"a":[]}"#),
        ("{'a': (1)}", r#"{"a":1}"#),
        ("{'a': [1, 2,],}", r#"{"a":[1,2]}"#),
        ("{'a': {'b': [{'c': None}]}}", r#"{"a":{"b":[{"c":null}]}}"#),
        ("{ 'a' : 1 , 'b' : 2 }", r#"{"a":1,"b":2}"#),
        ("{'a': 1_000}", r#"{"a":1000}"#),
        ("{'a': .5}", r#"{"a":0.5}"#),
        ("{'a': 5.}", r#"{"a":5.0}"#),
        ("{'a': -.5}", r#"{"a":-0.5}"#),
        ("{'a': 5.e3}", r#"{"a":5.0e3}"#),
        ("{'a': 1e5}", r#"{"a":1e5}"#),
        ("{'a': -3, 'b': +3}", r#"{"a":-3,"b":3}"#),
        ("{'a': nan, 'b': -inf}", r#"{"a":"nan","b":"-inf"}"#),
        ("{'a': 123456789012345678901234567890}", r#"{"a":123456789012345678901234567890}"#),
        ("['a', None]", r#"["a",null]"#),
        ("{'b': 1, 'a': 2}", r#"{"a":2,"b":1}"#),
        (&deep, &deep_json),
    ];
    assert!(table.len() >= 40);
    for (literal, json) in table {
        let row = plain(literal);
        assert_eq!(told(&row), (Some(*json), Some(ArgsForm::PythonLiteral)), "{literal}");
        assert_eq!(row.tool_args_raw.as_deref(), Some(*literal));
    }
}

#[test]
fn what_is_no_literal_is_kept_as_recorded_with_an_issue() {
    let too_deep = format!("{{'a': {}1{}}}", "[".repeat(200), "]".repeat(200));
    for text in [
        "{'a', 'b'}",
        "{'a': set()}",
        "{'a': Decimal('1')}",
        "{'a': open}",
        "{a: 1}",
        "{1: 'a'}",
        "{'a': 1__0}",
        "{'a': _1}",
        "{'a': 1 2}",
        "{'a' 1}",
        "{'a': }",
        "{,}",
        "[,]",
        "{'a': 1,,}",
        "{'a': b'x'}",
        "{'a': f'x'}",
        "{'a': 1} trailing",
        "{'a': true}",
        "{'a': 007}",
        "{'a': '\\x4'}",
        "{'a': '\\u12'}",
        too_deep.as_str(),
    ] {
        let span = tool(2, "find").args(text);
        let row = row(&span);
        assert_eq!((row.args_form, row.args_key), (None, None), "{text}");
        assert_eq!(row.tool_args.as_deref(), Some(text));
        assert!(read(&span).issues.iter().any(|issue| issue.code == IssueCode::ArgsNotJson), "{text}");
    }
}

#[test]
fn nested_text_of_other_alphabets_does_not_cut_a_character_in_two() {
    for text in ["{'a': '\\x가'}", "{'a': '\\u가나다라'}", "{'가': 나}", "{'a': ㄱ"] {
        assert_eq!(plain(text).args_key, None, "{text}");
    }
}

#[test]
fn texts_that_were_cut_are_told_apart_from_those_that_are_wrong() {
    for text in [
        r#"{"q":"a…"#,
        r#"{"q":"a..."#,
        r#"{"q":"a[truncated]"#,
        r#"{"q":"a(truncated)"#,
        r#"{"q":"a<truncated>"#,
        r#"{"q":"a...}"#,
        r#"{"q":"abc"#,
        r#"{"q":"#,
        "{",
        "[1,",
    ] {
        assert_eq!(told(&plain(text)), (None, Some(ArgsForm::Truncated)), "{text}");
    }
    for text in [r#"{"q":}"#, "{q}", r#"{"q":"a"}}"#, "find it"] {
        assert_eq!(told(&plain(text)), (None, None), "{text}");
    }
    // A mark inside arguments that are whole says nothing.
    assert_eq!(told(&plain(r#"{"q":"a..."}"#)), (Some(r#"{"q":"a..."}"#), None));
    // Cut at lengths that limits have.
    for length in [214, 1028, 65_536] {
        let whole = format!(r#"{{"q":"{}"}}"#, "a".repeat(70_000));
        assert_eq!(plain(&whole[..length]).args_form, Some(ArgsForm::Truncated), "{length}");
    }
}

#[test]
fn nothing_and_null_are_told_apart() {
    for empty in ["", " ", "\n"] {
        let row = plain(empty);
        assert_eq!((row.args_form, row.args_key.as_deref()), (Some(ArgsForm::Empty), None), "{empty:?}");
    }
    assert_eq!(told(&plain("null")), (Some("null"), None));
    let absent = row(&tool(2, "find"));
    assert_eq!((absent.tool_args, absent.args_form), (None, None));
    let none: Otlp = tool(2, "find").value("gen_ai.tool.call.arguments", &json!({}));
    assert_eq!(row(&none).tool_args, None);
}

/// As `repr` would print it, or nearly: which quotes and which escapes is drawn.
fn printed(value: &Value, style: &mut impl Iterator<Item = u8>) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => printed_text(text, style),
        Value::Array(values) => {
            let inner: Vec<String> = values.iter().map(|value| printed(value, style)).collect();
            match style.next().unwrap_or(0) % 3 {
                0 => format!("[{}]", inner.join(", ")),
                1 if inner.len() > 1 => format!("({})", inner.join(",")),
                _ => format!("[{}]", inner.iter().map(|one| format!("{one} ,")).collect::<String>()),
            }
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                let key = printed_text(key, style);
                format!("{key}: {}", printed(value, style))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

fn printed_text(text: &str, style: &mut impl Iterator<Item = u8>) -> String {
    let style = style.next().unwrap_or(0);
    let quote = if style.is_multiple_of(2) { '\'' } else { '"' };
    let mut out = String::from(quote);
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            letter if letter == quote => {
                out.push('\\');
                out.push(letter);
            }
            letter if letter.is_control() => out.push_str(&format!("\\x{:02x}", u32::from(letter))),
            letter if style % 3 == 1 && !letter.is_ascii() => {
                out.push_str(&format!("\\U{:08x}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
    out.push(quote);
    out
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1.0e9..1.0e9_f64).prop_map(Value::from),
        r#"[a-z'"\\{}\[\]:,가-힣\n\t ]{0,8}"#.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(r#"[a-z'"\\가-힣]{0,5}"#, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn printed_as_python_and_read_back_is_the_same(
        members in prop::collection::btree_map("[a-z]{1,4}", json_value(), 0..4),
        style in prop::collection::vec(any::<u8>(), 1..9),
    ) {
        let value = Value::Object(members.into_iter().collect());
        let literal = printed(&value, &mut style.into_iter().cycle());
        let row = plain(&literal);
        let read: Value = serde_json::from_str(row.args_key.as_deref().unwrap_or_else(|| panic!("{literal}"))).unwrap();
        prop_assert_eq!(read, value, "{}", literal);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in r#"[{}\[\]()'"\\a-z0-9:, .…가-힣_xuU-]{0,40}"#) {
        for row in [plain(&text), traceloop(&text), langchain(&text)] {
            prop_assert!(row.args_key.is_none() || row.tool_args.is_some());
        }
    }
}
