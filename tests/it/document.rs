//! Texts to rows: what is kept, dropped, skipped and said of it, and real files in every encoding met.

mod encodings;
mod span_rows;
mod texts;

use std::fmt::Write as _;

use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::{Context, DocumentError, MissingStatus, Parsed, parse};
use taco_trace::model::{Issue, IssueCode, Operation, OtelId as _, SpanId, SpanRow, Status};

const TRACE: &str = "7f21c0a4e93b4d1f8a6c2e5b90d417aa";
const SPAN: &str = "16eaf0f648963898";
const PARENT: &str = "7dce21d9e08414bd";

fn try_read_as(text: &str, missing_status: MissingStatus, parsed: &mut Parsed) -> Result<(), DocumentError> {
    let conventions = Conventions::builtin();
    parse(text, &Context { conventions: &conventions, missing_status, line: 7, byte_offset: 99 }, parsed)
}

fn try_read(text: &str) -> Result<Parsed, DocumentError> {
    let mut parsed = Parsed::default();
    try_read_as(text, MissingStatus::Skip, &mut parsed)?;
    assert_sums(&parsed);
    Ok(parsed)
}

fn read(text: &str) -> Parsed {
    try_read(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn assert_sums(parsed: &Parsed) {
    let counts = &parsed.counts;
    assert_eq!(counts.kept + counts.dropped.values().sum::<u64>() + counts.skipped, counts.seen);
    assert_eq!(counts.kept, parsed.spans.len() as u64);
}

fn codes(parsed: &Parsed) -> Vec<&'static str> {
    parsed.issues.iter().map(|issue| issue.code.as_str()).collect()
}

/// The members of a span, each a JSON text that a test may change or take away.
#[derive(Clone)]
struct Span(Vec<(&'static str, String)>);

impl Span {
    /// A tool call that is kept.
    fn call() -> Self {
        Self(vec![
            ("traceId", format!("\"{TRACE}\"")),
            ("spanId", format!("\"{SPAN}\"")),
            ("parentSpanId", format!("\"{PARENT}\"")),
            ("name", "\"execute_tool search\"".to_owned()),
            ("startTimeUnixNano", "\"1791331924010042232\"".to_owned()),
            ("endTimeUnixNano", "\"1791331924190066905\"".to_owned()),
            ("attributes", attributes(&[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "search")])),
            ("status", "{\"code\":1}".to_owned()),
        ])
    }

    fn of(operation: &str) -> Self {
        Self::call()
            .with("attributes", &attributes(&[("gen_ai.operation.name", operation), ("gen_ai.agent.name", "a")]))
    }

    fn with(mut self, name: &'static str, json: &str) -> Self {
        match self.0.iter_mut().find(|(member, _)| *member == name) {
            Some((_, value)) => json.clone_into(value),
            None => self.0.push((name, json.to_owned())),
        }
        self
    }

    fn without(mut self, name: &str) -> Self {
        self.0.retain(|(member, _)| *member != name);
        self
    }

    /// With one more attribute, whose AnyValue is given as JSON.
    fn attribute(mut self, key: &str, value: &str) -> Self {
        for (member, json) in &mut self.0 {
            if *member == "attributes" {
                json.truncate(json.len() - 1);
                write!(json, ",{{\"key\":\"{key}\",\"value\":{value}}}]").unwrap();
            }
        }
        self
    }

    fn args(self, value: &str) -> Self {
        self.attribute("gen_ai.tool.call.arguments", value)
    }

    fn json(&self) -> String {
        let members: Vec<String> = self.0.iter().map(|(name, json)| format!("\"{name}\":{json}")).collect();
        format!("{{{}}}", members.join(","))
    }

    fn request(&self) -> String {
        request(&self.json())
    }

    /// Reads the span alone, which must be kept without an issue.
    fn row(&self) -> SpanRow {
        let parsed = read(&self.request());
        assert!(parsed.issues.is_empty(), "{:?}", parsed.issues);
        assert_eq!(parsed.counts.kept, 1, "{:?}", parsed.counts);
        parsed.spans.into_iter().next().unwrap()
    }

    /// Reads the span alone, which must be skipped with one issue.
    fn skipped(&self) -> Issue {
        let parsed = read(&self.request());
        assert_eq!(parsed.counts.skipped, 1, "{:?}", parsed.counts);
        assert_eq!(parsed.issues.len(), 1, "{:?}", parsed.issues);
        parsed.issues.into_iter().next().unwrap()
    }

    fn skipped_as(&self) -> (IssueCode, String) {
        let issue = self.skipped();
        (issue.code, issue.detail)
    }
}

fn attributes(texts: &[(&str, &str)]) -> String {
    let members: Vec<String> = texts
        .iter()
        .map(|(key, text)| format!("{{\"key\":\"{key}\",\"value\":{{\"stringValue\":\"{text}\"}}}}"))
        .collect();
    format!("[{}]", members.join(","))
}

fn request(spans: &str) -> String {
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":{}}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"demo\"}},\"spans\":[{spans}]}}]}}]}}",
        attributes(&[("service.name", "agent")])
    )
}

/// Trace, span and parent in hex; the parent empty where there is none.
fn ids_of(row: &SpanRow) -> [String; 3] {
    let parent = row.parent_span_id.map(|id| id.to_string());
    [row.trace_id.to_string(), row.span_id.to_string(), parent.unwrap_or_default()]
}

#[test]
fn tool_call_with_everything_becomes_a_full_row() {
    let span = Span::call()
        .args(r#"{"stringValue":"{\"b\": 1, \"a\":2}"}"#)
        .attribute("gen_ai.tool.call.id", r#"{"stringValue":"call_1"}"#)
        .attribute("gen_ai.tool.call.result", r#"{"stringValue":"none"}"#)
        .attribute("gen_ai.agent.name", r#"{"stringValue":"not of a tool call"}"#)
        .attribute("error.type", r#"{"stringValue":"timeout"}"#)
        .with("status", r#"{"code":2,"message":"too slow"}"#);
    let row = span.row();
    assert_eq!(ids_of(&row), [TRACE, SPAN, PARENT]);
    assert_eq!((row.operation, row.status), (Operation::ExecuteTool, Status::Error));
    assert_eq!((row.agent_name.as_deref(), row.tool_name.as_deref()), (None, Some("search")));
    assert_eq!(row.tool_args.as_deref(), Some(r#"{"b": 1, "a":2}"#));
    assert_eq!(row.args_key.as_deref(), Some(r#"{"a":2,"b":1}"#));
    assert_eq!(row.args.iter().map(|arg| arg.key.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!((row.start_ns, row.end_ns), (1_791_331_924_010_042_232, 1_791_331_924_190_066_905));
    assert_eq!((row.call_id.as_deref(), row.tool_result.as_deref()), (Some("call_1"), Some("none")));
    assert_eq!((row.error_type.as_deref(), row.status_message.as_deref()), (Some("timeout"), Some("too slow")));
    assert_eq!((row.service_name.as_deref(), row.scope_name.as_deref()), (Some("agent"), Some("demo")));
    assert_eq!((&*row.convention, row.line), ("otel-genai", 7));
}

#[test]
fn agent_run_has_an_agent_name_and_no_columns_of_a_call() {
    let row = Span::of("invoke_agent")
        .args(r#"{"stringValue":"{}"}"#)
        .attribute("gen_ai.tool.name", r#"{"stringValue":"t"}"#)
        .attribute("gen_ai.tool.call.result", r#"{"stringValue":"r"}"#)
        .row();
    assert_eq!((row.operation, row.agent_name.as_deref()), (Operation::InvokeAgent, Some("a")));
    assert_eq!((row.tool_name, row.tool_args, row.tool_result, row.args_key), (None, None, None, None));
    let unnamed = Span::call()
        .with("attributes", &attributes(&[("gen_ai.operation.name", "invoke_agent"), ("gen_ai.agent.name", "")]));
    assert_eq!(unnamed.row().agent_name, None);
}

#[test]
fn other_spans_are_dropped_counted_and_never_found_fault_with() {
    let broken = Span::of("chat").with("startTimeUnixNano", "true").without("status").with("parentSpanId", "\"x\"");
    let http = Span::call().with("attributes", "null").with("spanId", "\"\"");
    let parsed = read(&request(&[broken.json(), Span::of("chat").json(), http.json()].join(",")));
    assert!(parsed.issues.is_empty(), "{:?}", parsed.issues);
    assert_eq!(
        parsed.counts.dropped.iter().map(|(name, count)| (name.as_str(), *count)).collect::<Vec<_>>(),
        [("", 1), ("chat", 2)]
    );
    let links: Vec<_> = parsed.links.iter().map(|link| (Some(link.span_id), link.parent_span_id)).collect();
    let (span, parent) = (SpanId::of_hex(SPAN), SpanId::of_hex(PARENT));
    assert_eq!(links, [(span, None), (span, parent)]);
    assert_eq!(parsed.counts.scopes.get("demo"), Some(&3));
}

#[test]
fn skipped_span_leaves_a_link_and_the_rest_of_the_line_is_read() {
    let parsed = read(&request(&[Span::call().without("status").json(), Span::of("invoke_agent").json()].join(",")));
    assert_eq!((parsed.counts.kept, parsed.counts.skipped), (1, 1));
    assert_eq!(parsed.links.len(), 1);
    let issue = &parsed.issues[0];
    assert_eq!((issue.line, issue.byte_offset), (7, 99));
    assert_eq!((issue.trace_id.as_deref(), issue.span_id.as_deref()), (Some(TRACE), Some(SPAN)));
    assert!(issue.raw.starts_with(&format!("{{\"traceId\":\"{TRACE}\"")), "{}", issue.raw);
    assert!(issue.raw.chars().count() <= 200);
}

#[test]
fn first_fault_of_a_span_is_the_one_told() {
    let mut span = Span::call()
        .with("traceId", "\"zz\"")
        .with("spanId", "\"\"")
        .without("startTimeUnixNano")
        .with("endTimeUnixNano", "\"0\"")
        .with("status", "7")
        .with("attributes", &attributes(&[("gen_ai.operation.name", "execute_tool")]));
    let mut told = Vec::new();
    for (member, good) in [
        ("traceId", format!("\"{TRACE}\"")),
        ("spanId", format!("\"{SPAN}\"")),
        ("startTimeUnixNano", "\"5\"".to_owned()),
        ("endTimeUnixNano", "\"5\"".to_owned()),
        ("status", "{}".to_owned()),
    ] {
        told.push(span.skipped().code.as_str());
        span = span.with(member, &good);
    }
    told.push(span.skipped().code.as_str());
    let order =
        ["trace_id_invalid", "span_id_missing", "time_missing", "time_invalid", "status_invalid", "tool_name_missing"];
    assert_eq!(told, order);
}

#[test]
fn ids_in_every_spelling_become_lower_case_hex() {
    let upper = Span::call()
        .with("traceId", &format!("\"{}\"", TRACE.to_uppercase()))
        .with("spanId", &format!("\"{}\"", SPAN.to_uppercase()));
    let base64 = Span::call().with("traceId", "\"fyHApOk7TR+KbC5bkNQXqg==\"").with("spanId", "\"Furw9kiWOJg=\"");
    let url_base64 = Span::call().with("traceId", "\"fyHApOk7TR-KbC5bkNQXqg==\"");
    let of_hex = Span::call()
        .with("traceId", "\"N2YyMWMwYTRlOTNiNGQxZjhhNmMyZTViOTBkNDE3YWE=\"")
        .with("spanId", "\"MTZlYWYwZjY0ODk2Mzg5OA==\"")
        .with("parentSpanId", "\"N2RjZTIxZDllMDg0MTRiZA==\"");
    for span in [Span::call(), upper, base64, url_base64, of_hex] {
        let row = span.row();
        assert_eq!(ids_of(&row), [TRACE, SPAN, PARENT]);
    }
}

#[test]
fn unusable_ids_are_missing_or_invalid() {
    let id = |member, json: &str| Span::call().with(member, json).skipped().code.as_str();
    for missing in ["\"\"", "null", "\"00000000000000000000000000000000\"", "\"AAAAAAAAAAAAAAAAAAAAAA==\""] {
        assert_eq!(id("traceId", missing), "trace_id_missing", "{missing}");
    }
    for missing in ["\"\"", "null", "\"0000000000000000\"", "\"AAAAAAAAAAA=\""] {
        assert_eq!(id("spanId", missing), "span_id_missing", "{missing}");
    }
    assert_eq!(Span::call().without("traceId").skipped_as(), (IssueCode::TraceIdMissing, String::new()));
    assert_eq!(Span::call().without("spanId").skipped_as(), (IssueCode::SpanIdMissing, String::new()));
    let wrong = [
        &format!("\"{SPAN}\""),
        &format!("\"{TRACE}0\""),
        "\"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz\"",
        "5",
        "{}",
        "\"Furw9kiWOJg=\"",
    ];
    for invalid in wrong {
        assert_eq!(id("traceId", invalid), "trace_id_invalid", "{invalid}");
    }
    for invalid in [&format!("\"{TRACE}\""), "\"zzzzzzzzzzzzzzzz\"", "[]", "\"fyHApOk7TR+KbC5bkNQXqg==\""] {
        assert_eq!(id("spanId", invalid), "span_id_invalid", "{invalid}");
    }
    assert_eq!(Span::call().with("spanId", "\"가나\"").skipped_as(), (IssueCode::SpanIdInvalid, "\"가나\"".to_owned()));
}

#[test]
fn parent_is_none_when_empty_and_warned_of_when_unreadable() {
    for none in ["\"\"", "null", "\"0000000000000000\""] {
        assert_eq!(Span::call().with("parentSpanId", none).row().parent_span_id, None, "{none}");
    }
    assert_eq!(Span::call().without("parentSpanId").row().parent_span_id, None);
    for invalid in ["\"xyz\"", "12", "{\"a\":1}"] {
        let parsed = read(&Span::call().with("parentSpanId", invalid).request());
        assert_eq!(codes(&parsed), ["parent_id_invalid"]);
        assert_eq!((parsed.issues[0].detail.as_str(), &parsed.spans[0].parent_span_id), (invalid, &None));
    }
}

#[test]
fn times_are_read_exactly_from_strings_integers_and_exponents() {
    let end = |json: &str| Span::call().with("startTimeUnixNano", "1").with("endTimeUnixNano", json).row().end_ns;
    assert_eq!(end("\"1791331923200028279\""), 1_791_331_923_200_028_279);
    assert_eq!(end("1791331923200028279"), 1_791_331_923_200_028_279);
    assert_eq!(end("1.791331923200028279e18"), 1_791_331_923_200_028_279);
    assert_eq!(end("1.791331923200028279E+18"), 1_791_331_923_200_028_279);
    assert_eq!(end("\"1.7913319232e18\""), 1_791_331_923_200_000_000);
    assert_eq!(end("17913319232000282790e-1"), 1_791_331_923_200_028_279);
    assert_eq!(end("5.0"), 5);
    assert_eq!(end("9223372036854775807"), i64::MAX);
    assert_eq!(end("1"), 1);
}

#[test]
fn unusable_times_are_missing_or_invalid() {
    let start = |json: &str| Span::call().with("startTimeUnixNano", json).skipped_as();
    let end = |json: &str| Span::call().with("endTimeUnixNano", json).skipped_as();
    let wrong = [
        "0",
        "\"0\"",
        "-1",
        "\"-5\"",
        "1.5",
        "15e-1",
        "9223372036854775808",
        "1e400",
        "1e99999999999",
        "true",
        "\"\"",
        "\"now\"",
        "\" 5\"",
        "[5]",
        "{}",
    ];
    for json in wrong {
        assert_eq!(start(json), (IssueCode::TimeInvalid, format!("startTimeUnixNano {json}")));
        assert_eq!(end(json), (IssueCode::TimeInvalid, format!("endTimeUnixNano {json}")));
    }
    assert_eq!(start("null"), (IssueCode::TimeMissing, "startTimeUnixNano".to_owned()));
    assert_eq!(
        Span::call().without("endTimeUnixNano").skipped_as(),
        (IssueCode::TimeMissing, "endTimeUnixNano".to_owned())
    );
}

#[test]
fn end_may_equal_the_start_but_not_precede_it() {
    let between = |end: &str| Span::call().with("startTimeUnixNano", "5000000").with("endTimeUnixNano", end);
    assert_eq!(between("5000001").row().duration_ms(), 0);
    assert_eq!(between("5000000").row().duration_ms(), 0);
    assert_eq!(between("4999999").skipped_as(), (IssueCode::EndBeforeStart, "5000000 > 4999999".to_owned()));
}

#[test]
fn status_is_read_in_every_spelling() {
    let status = |json: &str| Span::call().with("status", json).row().status;
    let ok = [
        "{}",
        "{\"code\":0}",
        "{\"code\":1}",
        "{\"code\":null}",
        "{\"code\":\"1\"}",
        "{\"code\":\"STATUS_CODE_UNSET\"}",
        "{\"code\":\"STATUS_CODE_OK\"}",
        "{\"code\":\"Unset\"}",
        "{\"code\":\"Ok\"}",
        "{\"code\":\"OK\"}",
        "{\"message\":\"\"}",
        "{\"code\":1.0}",
    ];
    for json in ok {
        assert_eq!(status(json), Status::Ok, "{json}");
    }
    for json in [
        "{\"code\":2}",
        "{\"code\":\"2\"}",
        "{\"code\":\"STATUS_CODE_ERROR\"}",
        "{\"code\":\"Error\"}",
        "{\"code\":\"ERROR\"}",
    ] {
        assert_eq!(status(json), Status::Error, "{json}");
    }
}

#[test]
fn status_of_another_kind_is_invalid_with_its_value() {
    let status = |json: &str| Span::call().with("status", json).skipped_as();
    for code in ["3", "99", "-1", "1.5", "\"FINE\"", "\"\"", "true", "[]"] {
        assert_eq!(status(&format!("{{\"code\":{code}}}")), (IssueCode::StatusInvalid, code.to_owned()));
    }
    for json in ["2", "\"ERROR\"", "[]", "false"] {
        assert_eq!(status(json), (IssueCode::StatusInvalid, json.to_owned()));
    }
}

#[test]
fn absent_status_is_skipped_or_unset_as_the_option_says() {
    let span = Span::call().without("status");
    assert_eq!(span.skipped_as(), (IssueCode::StatusMissing, String::new()));
    let mut parsed = Parsed::default();
    try_read_as(&span.request(), MissingStatus::Unset, &mut parsed).unwrap();
    assert_eq!((parsed.spans[0].status, parsed.issues.len()), (Status::Ok, 0));
    // Null is the default of proto3 JSON, and the key is there.
    assert_eq!(Span::call().with("status", "null").row().status, Status::Ok);
}

#[test]
fn tool_call_without_a_name_is_skipped() {
    let named = |value: &str| {
        let span = Span::call().with("attributes", &attributes(&[("gen_ai.operation.name", "execute_tool")]));
        span.attribute("gen_ai.tool.name", value)
    };
    for missing in ["{}", "null", "{\"stringValue\":\"\"}", "{\"arrayValue\":{}}"] {
        assert_eq!(named(missing).skipped().code, IssueCode::ToolNameMissing, "{missing}");
    }
    assert_eq!(named("{\"intValue\":\"5\"}").row().tool_name.as_deref(), Some("5"));
    assert_eq!(named("{\"string_value\":\"t\"}").row().tool_name.as_deref(), Some("t"));
    let replaced = read(&named("{\"stringValue\":\"t\\ud83d\"}").request());
    assert_eq!((codes(&replaced), replaced.spans[0].tool_name.as_deref()), (vec!["text_replaced"], Some("t\u{fffd}")));
}

#[test]
fn arguments_of_every_kind_become_text() {
    let args = |value: &str| Span::call().args(value).row().tool_args;
    let text = |value: &str| args(value).unwrap();
    assert_eq!(text(r#"{"stringValue":"{\"a\" : 1}"}"#), r#"{"a" : 1}"#);
    assert_eq!(text(r#"{"stringValue":"null"}"#), "null");
    assert_eq!(text(r#"{"intValue":"9007199254740993"}"#), "9007199254740993");
    assert_eq!(text(r#"{"intValue":-3}"#), "-3");
    assert_eq!(text(r#"{"intValue":"oops"}"#), r#""oops""#);
    assert_eq!(text(r#"{"doubleValue":5}"#), "5.0");
    assert_eq!(text(r#"{"doubleValue":1e3}"#), "1e3");
    assert_eq!(text(r#"{"doubleValue":2.50}"#), "2.50");
    assert_eq!(text(r#"{"doubleValue":"NaN"}"#), r#""NaN""#);
    assert_eq!(text(r#"{"doubleValue":"-Infinity"}"#), r#""-Infinity""#);
    assert_eq!(text(r#"{"boolValue":true}"#), "true");
    assert_eq!(text(r#"{"bytesValue":"eyJhIjoxfQ=="}"#), r#"{"a":1}"#);
    assert_eq!(text(r#"{"bytesValue":"/w=="}"#), r#""/w==""#);
    assert_eq!(text(r#"{"bytesValue":"aGVsbG8="}"#), r#""aGVsbG8=""#);
    assert_eq!(
        text(r#"{"arrayValue":{"values":[{"intValue":"1"},{},{"stringValue":"a\u0022"},null]}}"#),
        r#"[1,null,"a\"",null]"#
    );
    assert_eq!(text(r#"{"arrayValue":{}}"#), "[]");
    let map = r#"{"kvlistValue":{"values":[{"key":"b","value":{"kvlist_value":{"values":[{"value":{"boolValue":false},"key":"c"}]}}},{"key":"a","value":{"doubleValue":1}}]}}"#;
    assert_eq!(text(map), r#"{"b":{"c":false},"a":1.0}"#);
    for none in ["{}", "null", r#"{"stringValue":null}"#, r#"{"future":1}"#] {
        assert_eq!(args(none), None, "{none}");
    }
    assert_eq!(Span::call().row().tool_args, None);
}

#[test]
fn structured_arguments_and_their_text_are_the_same_call() {
    let map = r#"{"kvlistValue":{"values":[{"key":"year","value":{"intValue":"2026"}},{"key":"dept","value":{"stringValue":"D"}}]}}"#;
    let text = r#"{"stringValue":"{\"dept\": \"D\", \"year\": 2026}"}"#;
    assert_eq!(Span::call().args(map).row().args_key, Span::call().args(text).row().args_key);
}

#[test]
fn arguments_that_are_not_json_are_kept_with_a_warning() {
    for (value, recorded) in [
        (r#"{"stringValue":"dept_code=D-1203"}"#.to_owned(), "dept_code=D-1203".to_owned()),
        (r#"{"stringValue":""}"#.to_owned(), String::new()),
        (format!(r#"{{"stringValue":"{}"}}"#, "[".repeat(200)), "[".repeat(200)),
    ] {
        let parsed = read(&Span::call().args(&value).request());
        assert_eq!(codes(&parsed), ["args_not_json"]);
        assert_eq!((parsed.spans[0].tool_args.as_ref(), &parsed.spans[0].args_key), (Some(&recorded), &None));
    }
}

#[test]
fn structured_arguments_over_the_depth_are_kept_as_they_stand() {
    let nested = |depth: usize| {
        format!("{}{{\"boolValue\":true}}{}", "{\"arrayValue\":{\"values\":[".repeat(depth), "]}}".repeat(depth))
    };
    assert_eq!(
        Span::call().args(&nested(40)).row().tool_args.unwrap(),
        format!("{}true{}", "[".repeat(40), "]".repeat(40))
    );
    let parsed = read(&Span::call().args(&nested(5_000)).request());
    assert_eq!(codes(&parsed), ["args_not_json"]);
    assert!(parsed.spans[0].tool_args.as_ref().unwrap().starts_with("{\"values\":[{\"arrayValue\""));
}

#[test]
fn attribute_may_have_its_value_before_its_key() {
    let json = r#"[{"value":{"stringValue":"x"},"key":"other"},{"value":{"stringValue":"execute_tool"},"key":"gen_ai.operation.name"},{"extra":1,"value":{"stringValue":"t"},"key":"gen_ai\u002etool.name"}]"#;
    assert_eq!(Span::call().with("attributes", json).row().tool_name.as_deref(), Some("t"));
}

#[test]
fn repeated_attribute_counts_once_and_is_told_once_a_key() {
    let span = Span::call()
        .attribute("gen_ai.tool.name", r#"{"stringValue":"second"}"#)
        .attribute("gen_ai.tool.name", r#"{"stringValue":"third"}"#)
        .attribute("unwanted", "{}")
        .attribute("unwanted", "{}");
    let parsed = read(&span.request());
    assert_eq!(codes(&parsed), ["attribute_repeated"]);
    assert_eq!(parsed.issues[0].detail, "gen_ai.tool.name");
    assert_eq!(parsed.spans[0].tool_name.as_deref(), Some("search"));
    let chat = Span::of("chat").attribute("gen_ai.operation.name", r#"{"stringValue":"chat"}"#);
    assert!(read(&chat.request()).issues.is_empty());
}

#[test]
fn attributes_of_another_shape_skip_the_span() {
    for (json, kind) in [
        ("{\"a\":1}", "object"),
        ("7", "number"),
        ("\"x\"", "string"),
        ("[1]", "number"),
        ("[null]", "null"),
        ("[{\"value\":{}}]", "object without a key"),
    ] {
        assert_eq!(Span::call().with("attributes", json).skipped_as(), (IssueCode::AttributesInvalid, kind.to_owned()));
    }
    let kept_but_damaged = attributes(&[("gen_ai.operation.name", "execute_tool")]).replace(']', ",5]");
    assert_eq!(Span::call().with("attributes", &kept_but_damaged).skipped().code, IssueCode::AttributesInvalid);
    let dropped_and_damaged = attributes(&[("gen_ai.operation.name", "chat")]).replace(']', ",5]");
    assert!(read(&Span::call().with("attributes", &dropped_and_damaged).request()).issues.is_empty());
}

#[test]
fn members_in_any_order_and_unknown_ones_make_the_same_row() {
    let plain = Span::call().row();
    let mut reversed = Span::call().with("flags", "257").with("events", "null").with("links", "{\"a\":[1e999]}");
    reversed.0.reverse();
    assert_eq!(reversed.row(), plain);
    let group_last = format!(
        "{{\"resourceSpans\":[{{\"scopeSpans\":[{{\"spans\":[{}],\"scope\":{{\"version\":\"1\",\"name\":\"demo\"}}}}],\"resource\":{{\"attributes\":{}}}}}]}}",
        reversed.json(),
        attributes(&[("service.name", "agent")])
    );
    let parsed = read(&group_last);
    assert_eq!(parsed.spans, [plain]);
    assert_eq!(parsed.counts.scopes.get("demo"), Some(&1));
}

#[test]
fn each_group_names_only_its_own_rows() {
    let group = |service: &str, scope: &str| {
        format!(
            "{{\"resource\":{{\"attributes\":{}}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"{scope}\"}},\"spans\":[{}]}}]}}",
            attributes(&[("service.name", service)]),
            Span::call().json()
        )
    };
    let bare = format!("{{\"scopeSpans\":[{{\"spans\":[{}]}}]}}", Span::call().json());
    let parsed = read(&format!("{{\"resourceSpans\":[{},{bare},{}]}}", group("a", "x"), group("b", "y")));
    let names: Vec<_> =
        parsed.spans.iter().map(|row| (row.service_name.as_deref(), row.scope_name.as_deref())).collect();
    assert_eq!(names, [(Some("a"), Some("x")), (None, None), (Some("b"), Some("y"))]);
    assert_eq!(parsed.counts.scopes.keys().collect::<Vec<_>>(), ["", "x", "y"]);
}
