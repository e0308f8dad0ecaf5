//! Which texts are trace data, several values in one text, and texts that are left out as a whole.

use proptest::prelude::*;
use taco_trace::ingest::document::{DocumentError, MissingStatus, Parsed};
use taco_trace::model::IssueCode;

use super::{Span, assert_sums, codes, read, request, try_read, try_read_as};

fn refused(text: &str) -> DocumentError {
    let mut parsed = Parsed::default();
    try_read_as(&Span::call().request(), MissingStatus::Skip, &mut parsed).unwrap();
    let Err(error) = try_read_as(text, MissingStatus::Skip, &mut parsed) else { panic!("was read: {text}") };
    // Nothing of the text is left behind.
    assert_eq!((parsed.spans.len(), parsed.links.len(), parsed.issues.len(), parsed.counts.seen), (1, 0, 0, 1));
    assert!(parsed.tool_definitions.is_empty());
    error
}

fn refused_as(text: &str) -> (&'static str, bool) {
    let error = refused(text);
    (error.code.as_str(), error.incomplete)
}

#[test]
fn wrappers_and_old_names_are_trace_data() {
    let groups = format!("[{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}]", Span::call().json());
    for text in [
        format!("{{\"resourceSpans\":{groups}}}"),
        format!("{{\"resource_spans\":{groups}}}"),
        format!("{{\"batches\":{groups}}}"),
        format!("{{\"trace\":{{\"resourceSpans\":{groups}}}}}"),
        format!("{{\"result\":{{\"resourceSpans\":{groups}}}}}"),
        format!("{{\"data\":{{\"batches\":{groups}}}}}"),
        format!("{{\"data\":[{{\"resourceSpans\":{groups}}}]}}"),
        format!("{{\"status\":\"success\",\"result\":{{\"trace\":{{\"resourceSpans\":{groups}}}}}}}"),
        format!("[{{\"resourceSpans\":{groups}}}]"),
        groups.clone(),
        groups[1..groups.len() - 1].to_owned(),
        format!("\u{feff}  {{\"resourceSpans\":{groups}}}\r\n"),
        format!("{{\"resourceSpans\":{}}}", groups.replace("scopeSpans", "instrumentationLibrarySpans")),
        format!("{{\"resourceSpans\":{}}}", groups.replace("scopeSpans", "instrumentation_library_spans")),
        format!("{{\"resource\\u0053pans\":{groups}}}"),
    ] {
        let parsed = read(&text);
        assert_eq!((parsed.counts.kept, parsed.issues.len()), (1, 0), "{text}");
    }
}

#[test]
fn request_without_spans_is_read_without_an_issue() {
    for text in [
        "{}",
        "[]",
        r#"{"resourceSpans":[]}"#,
        r#"{"resourceSpans":null}"#,
        r#"{"resourceSpans":[{}]}"#,
        r#"{"resourceSpans":[{"scopeSpans":null}]}"#,
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":null}]}]}"#,
        "",
        " \n",
    ] {
        let parsed = read(text);
        assert_eq!((parsed.counts.seen, parsed.issues.len()), (0, 0), "{text}");
    }
}

#[test]
fn several_values_in_one_text_are_all_read() {
    let one = Span::call().request();
    assert_eq!(read(&format!("{one}{one}")).counts.kept, 2);
    assert_eq!(read(&format!(" {one} \n\r\n\t{one}\n[{one}] {{}} ")).counts.kept, 3);
    let pretty = serde_json::to_string_pretty(&serde_json::from_str::<serde_json::Value>(&one).unwrap()).unwrap();
    assert_eq!(read(&format!("{pretty}\n{pretty}{pretty}\n")).counts.kept, 3);
}

#[test]
fn words_behind_a_value_leave_the_text_out() {
    let one = Span::call().request();
    for trailer in ["TRAILER", " 10.0.0.1 - - \"POST /v1/traces\" 200 -", ",", "]", "}", " 5", " \"text\"", "\n가"] {
        let error = refused(&format!("{one}{trailer}"));
        assert_eq!((error.code, error.incomplete), (IssueCode::TrailingCharacters, false), "{trailer}");
        assert_eq!(error.detail, trailer.trim_ascii_start());
    }
    assert_eq!(refused_as(&format!("{one}{{x}}")), ("not_json", false));
}

#[test]
fn words_before_a_value_are_not_json() {
    let one = Span::call().request();
    for prefix in ["2026-10-07T13:00:00 INFO exporter ", "INFO ", "5 ", "[2026-10-07] ", "\"text\" "] {
        assert_eq!(refused_as(&format!("{prefix}{one}")), ("not_json", false), "{prefix}");
    }
}

#[test]
fn broken_json_is_refused_as_a_whole() {
    let one = Span::call().request();
    for broken in [
        "{\"a\":1,}",
        "{'a':1}",
        "{\"resourceSpans\":[\"\u{0}\"]}",
        "{\"a\":\"\t\"}",
        "{\"a\":01}",
        "nope",
        "{\"a\":\"\\x\"}",
    ] {
        assert_eq!(refused_as(broken), ("not_json", false), "{broken}");
    }
    // A good span in front of the fault does not stay.
    let late_fault = one.replace("]}]}]}", "]}]}],\"x\":nope}");
    assert_eq!(refused_as(&late_fault), ("not_json", false));
    assert!(refused(&late_fault).detail.contains("column"));
}

#[test]
fn text_cut_anywhere_is_incomplete() {
    let one = format!(
        "{}\n{}",
        Span::call().args(r#"{"stringValue":"{\"a\":\"가\\u0041\"}"}"#).request(),
        Span::of("chat").request()
    );
    let second = one.find('\n').unwrap() + 1;
    for (at, _) in one.char_indices().skip(1) {
        if at + 1 == second || at == second {
            continue;
        }
        let error = refused(&one[..at]);
        assert_eq!(
            (error.code, error.incomplete, error.detail),
            (IssueCode::TruncatedJson, true, at.to_string()),
            "{at}"
        );
    }
    assert_eq!(refused_as("\"text"), ("truncated_json", false));
}

#[test]
fn what_is_no_object_is_refused_with_its_type() {
    for (text, kind) in [
        ("\"text\"", "string"),
        ("42", "number"),
        ("null", "null"),
        ("true", "boolean"),
        ("[1,2]", "number"),
        ("[[\"a\"]]", "string"),
    ] {
        let error = refused(text);
        assert_eq!(
            (error.code, error.detail.as_str(), error.incomplete),
            (IssueCode::NotAnObject, kind, false),
            "{text}"
        );
    }
}

#[test]
fn object_that_is_no_trace_data_is_refused_with_its_keys() {
    let error = refused(r#"{"hello":"world","b":1,"c":{},"d":[],"e":null,"f":6}"#);
    assert_eq!((error.code, error.detail.as_str()), (IssueCode::NotTraceData, "hello, b, c, d, e"));
    for text in [r#"[{"a":1},{"b":2}]"#, r#"{"trace":5}"#, r#"{"result":{"x":1}}"#, r#"{"trace_id":"x"}"#] {
        assert_eq!(refused_as(text), ("not_trace_data", false), "{text}");
    }
}

#[test]
fn unknown_value_beside_trace_data_is_an_issue() {
    let one = Span::call().request();
    let parsed = read(&format!("{one}{{\"hello\":1}}"));
    assert_eq!((parsed.counts.kept, codes(&parsed)), (1, vec!["not_trace_data"]));
    let parsed = read(&format!("[{one},5,6,7]"));
    assert_eq!((parsed.counts.kept, codes(&parsed)), (1, vec!["not_an_object"]));
}

#[test]
fn other_signal_is_an_issue_and_no_error() {
    for key in ["resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics"] {
        let parsed = read(&format!("{{\"{key}\":[{{}}]}}"));
        assert_eq!((codes(&parsed), parsed.issues[0].detail.as_str()), (vec!["other_signal"], key));
    }
    let mixed = Span::call().request().replacen('{', "{\"resourceLogs\":[],", 1);
    assert_eq!((read(&mixed).counts.kept, codes(&read(&mixed))), (1, vec!["other_signal"]));
}

#[test]
fn bad_group_costs_only_itself() {
    let good = format!("{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}", Span::call().json());
    for (bad, key) in [
        (r#"{"scopeSpans":[{"spans":7}]}"#, "spans"),
        (r#"{"scopeSpans":[{"spans":{"a":1}}]}"#, "spans"),
        (r#"{"scopeSpans":[{"spans":[1,null,[{}],"x"]}]}"#, "spans"),
        (r#"{"scopeSpans":[5,5]}"#, "scopeSpans"),
        (r#"{"scopeSpans":"x"}"#, "scopeSpans"),
        (r#"{"scope_spans":true}"#, "scope_spans"),
        ("5", "resourceSpans"),
        ("[[]]", "resourceSpans"),
    ] {
        let parsed = read(&format!("{{\"resourceSpans\":[{bad},{good}]}}"));
        assert_eq!((parsed.counts.kept, codes(&parsed)), (1, vec!["group_invalid"]), "{bad}");
        assert_eq!(parsed.issues[0].detail, key);
    }
    for (text, key) in [(r#"{"resourceSpans":7}"#, "resourceSpans"), (r#"{"batches":{}}"#, "batches")] {
        let parsed = read(text);
        assert_eq!((codes(&parsed), parsed.issues[0].detail.as_str()), (vec!["group_invalid"], key));
    }
    let odd = request(&Span::call().json()).replace(r#""scope":{"name":"demo"}"#, r#""scope":[1]"#);
    assert_eq!(read(&odd).counts.kept, 1);
}

#[test]
fn nesting_over_the_limit_is_an_error_where_it_would_be_read() {
    let arrays = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(read(&arrays(127)).counts.seen, 0);
    assert_eq!(refused_as(&arrays(129)), ("nesting_too_deep", false));
    assert_eq!(refused_as(&arrays(100_000)), ("nesting_too_deep", false));
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(refused_as(&objects(128)), ("not_trace_data", false));
    assert_eq!(refused_as(&objects(129)), ("nesting_too_deep", false));
    let wrappers = format!("{}1{}", "{\"trace\":".repeat(1_000), "}".repeat(1_000));
    assert_eq!(refused_as(&wrappers), ("nesting_too_deep", false));
}

#[test]
fn deep_value_that_nobody_reads_does_no_harm() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    assert_eq!(Span::call().with("events", &deep).row().tool_name.as_deref(), Some("search"));
    assert_eq!(Span::call().attribute("big", &deep).row().tool_name.as_deref(), Some("search"));
    let parsed = read(&Span::call().with("attributes", &format!("[{deep}]")).request());
    assert_eq!(codes(&parsed), ["attributes_invalid"]);
}

#[test]
fn sums_add_up_over_several_texts() {
    let mut parsed = Parsed::default();
    for span in [Span::call(), Span::of("chat"), Span::of("chat"), Span::call().without("status")] {
        try_read_as(&span.request(), MissingStatus::Skip, &mut parsed).unwrap();
        assert!(try_read_as("{", MissingStatus::Skip, &mut parsed).is_err());
    }
    assert_sums(&parsed);
    assert_eq!((parsed.counts.seen, parsed.counts.kept, parsed.counts.skipped), (4, 1, 1));
    assert_eq!(parsed.counts.scopes.get("demo"), Some(&4));
}

/// A value where another was: wrong types, wrong texts, right ones.
fn odd_value() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "null",
        "true",
        "0",
        "-1",
        "2",
        "1.5",
        "1e3",
        "\"\"",
        "\"x\"",
        "[]",
        "{}",
        "[null]",
        "{\"a\":1}",
        "[{}]",
        "\"execute_tool\"",
        "{\"code\":2}",
        "\"16eaf0f648963898\"",
        "{\"stringValue\":\"x\"}",
    ])
}

proptest! {
    #[test]
    fn mutated_bytes_of_real_lines_never_break_the_sums(
        line in 0_usize..3,
        edits in prop::collection::vec((0_usize..5_000, any::<u8>()), 1..4),
        cut: Option<prop::sample::Index>,
    ) {
        let file = include_str!("../../../fixtures/quirks/split_shuffled.jsonl");
        let mut bytes = file.lines().nth(line).unwrap().as_bytes().to_vec();
        for (at, byte) in edits {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut parsed = Parsed::default();
        let before = parsed.counts.clone();
        let outcome = try_read_as(&text, MissingStatus::Skip, &mut parsed);
        assert_sums(&parsed);
        if outcome.is_err() {
            prop_assert_eq!(&parsed.counts, &before);
            prop_assert!(parsed.spans.is_empty() && parsed.issues.is_empty() && parsed.links.is_empty());
        }
    }

    #[test]
    fn members_of_any_type_cost_at_most_their_span(values in prop::collection::vec((0_usize..8, odd_value()), 1..5)) {
        let mut span = Span::call();
        for (member, value) in values {
            span.0[member].1 = value.to_owned();
        }
        let parsed = try_read(&request(&[span.json(), Span::of("invoke_agent").json()].join(","))).unwrap();
        prop_assert_eq!(parsed.counts.seen, 2);
        prop_assert_eq!(parsed.spans.last().map(|row| row.agent_name.as_deref()), Some(Some("a")));
        prop_assert_eq!(parsed.counts.skipped > 0, parsed.issues.iter().any(|issue| issue.code.severity() == taco_trace::model::Severity::DataLoss));
    }

    #[test]
    fn any_text_is_read_or_refused_without_a_panic(wild in "[\\[\\]{}\":,a-z0-9.eE\\\\ \n가-]{0,60}") {
        let mut parsed = Parsed::default();
        let _ = try_read_as(&wild, MissingStatus::Skip, &mut parsed);
        assert_sums(&parsed);
    }
}
