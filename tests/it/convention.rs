//! Convention files: what they may say, how a span is recognised, and which of several keys counts.

use taco_trace::ingest::convention::{ConventionError, Conventions};
use taco_trace::ingest::document::{Context, MissingStatus, Parsed, parse};
use taco_trace::model::{Operation, SpanRow};

const OTEL: &str = include_str!("../../conventions/otel-genai.toml");

/// A convention of each kind met in the field, as data only.
const FIELD: &str = r#"
name = "field"
description = "conditions of every kind"
operation = ["openinference.span.kind"]
not_recorded = ["__REDACTED__"]

[[match]]
operation = "execute_tool"
when = [{ attribute = "openinference.span.kind", values = ["TOOL", "tool"] }, { attribute = "tool.name" }]

[[match]]
operation = "execute_tool"
when = [{ span_name = "running tool" }, { absent = "gen_ai.operation.name" }]

[[match]]
operation = "execute_tool"
when = [{ attribute = "ai.operationId", prefixes = ["ai.toolCall"] }]

[[match]]
operation = "invoke_agent"
when = [{ span_name_prefix = "agent run" }, { scope_name_prefix = "pydantic" }]

[[match]]
operation = "invoke_agent"
when = [{ scope_name = "gcp.vertex.agent" }, { span_name = "invocation" }]

[fields]
agent_name = ["agent.name"]
tool_name = ["tool.name", "gen_ai.tool.name", "ai.toolCall.name"]
arguments = ["input.value", "tool_arguments"]
"#;

fn field() -> Conventions {
    Conventions::from_toml(&[("otel-genai.toml", OTEL), ("field.toml", FIELD)]).unwrap()
}

/// A request of one span; `scope` and `attributes` are JSON members.
fn request(scope: &str, name: &str, attributes: &[(&str, &str)]) -> String {
    let attributes: Vec<String> = attributes
        .iter()
        .map(|(key, value)| format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#))
        .collect();
    format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{{scope}"spans":[{{"traceId":"7f21c0a4e93b4d1f8a6c2e5b90d417aa","spanId":"16eaf0f648963898","name":"{name}","startTimeUnixNano":"1000","endTimeUnixNano":"2000","attributes":[{}],"status":{{}}}}]}}]}}]}}"#,
        attributes.join(",")
    )
}

fn read(conventions: &Conventions, text: &str) -> Parsed {
    let context = Context { conventions, missing_status: MissingStatus::Skip, line: 1, byte_offset: 0 };
    let mut parsed = Parsed::default();
    parse(text, &context, &mut parsed).unwrap();
    parsed
}

fn only_span(conventions: &Conventions, text: &str) -> SpanRow {
    let parsed = read(conventions, text);
    assert_eq!(parsed.counts.kept, 1, "{:?}", parsed.counts);
    parsed.spans.into_iter().next().unwrap()
}

#[test]
fn builtin_conventions_are_readable_and_named() {
    let conventions = Conventions::builtin();
    assert!(conventions.names().any(|name| name == "otel-genai"));
    assert!(conventions.descriptions().all(|(name, description)| !name.is_empty() && !description.is_empty()));
}

#[test]
fn newest_name_counts_and_older_names_fill_in() {
    let conventions = Conventions::builtin();
    let call = [("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "t")];
    let args = |more: &[(&str, &str)]| {
        let attributes: Vec<(&str, &str)> = call.iter().chain(more).copied().collect();
        only_span(&conventions, &request("", "x", &attributes)).tool_args
    };
    assert_eq!(
        args(&[("gen_ai.tool.input", "3"), ("gen_ai.tool.call.arguments", "1"), ("gen_ai.tool.arguments", "2")])
            .unwrap(),
        "1"
    );
    assert_eq!(args(&[("gen_ai.tool.input", "3"), ("gen_ai.tool.arguments", "2")]).unwrap(), "2");
    assert_eq!(args(&[("gen_ai.tool.input", "3")]).unwrap(), "3");
    assert_eq!(args(&[]), None);
}

#[test]
fn marker_of_redaction_is_not_recorded_and_hides_no_older_key() {
    let conventions = Conventions::builtin();
    for marker in ["__REDACTED__", "[REDACTED]", "<REDACTED>"] {
        let attributes = [
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.name", "t"),
            ("gen_ai.tool.call.arguments", marker),
            ("gen_ai.tool.call.result", marker),
        ];
        let parsed = read(&conventions, &request("", "x", &attributes));
        assert_eq!(parsed.spans[0].tool_args, None);
        assert_eq!(parsed.spans[0].tool_result, None);
        assert!(parsed.issues.is_empty(), "{:?}", parsed.issues);
    }
}

#[test]
fn first_convention_that_recognises_a_span_counts() {
    let attributes = [
        ("openinference.span.kind", "TOOL"),
        ("tool.name", "by-field"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "by-otel"),
    ];
    let span = only_span(&field(), &request("", "x", &attributes));
    assert_eq!((&*span.convention, span.tool_name.as_deref()), ("otel-genai", Some("by-otel")));
    let turned = Conventions::from_toml(&[("field.toml", FIELD), ("otel-genai.toml", OTEL)]).unwrap();
    let span = only_span(&turned, &request("", "x", &attributes));
    assert_eq!((&*span.convention, span.tool_name.as_deref()), ("field", Some("by-field")));
}

#[test]
fn all_conditions_of_a_match_must_hold() {
    let conventions = field();
    let kept = |name: &str, attributes: &[(&str, &str)]| read(&conventions, &request("", name, attributes)).counts.kept;
    assert_eq!(kept("x", &[("openinference.span.kind", "TOOL"), ("tool.name", "t")]), 1);
    assert_eq!(kept("x", &[("openinference.span.kind", "tool"), ("tool.name", "t")]), 1);
    assert_eq!(kept("x", &[("openinference.span.kind", "TOOL")]), 0);
    assert_eq!(kept("x", &[("openinference.span.kind", "CHAIN"), ("tool.name", "t")]), 0);
    assert_eq!(kept("running tool", &[("gen_ai.tool.name", "t")]), 1);
    assert_eq!(kept("running tools", &[("gen_ai.tool.name", "t")]), 0);
    assert_eq!(kept("running tool", &[("gen_ai.tool.name", "t"), ("gen_ai.operation.name", "chat")]), 0);
    assert_eq!(kept("x", &[("ai.operationId", "ai.toolCall"), ("ai.toolCall.name", "t")]), 1);
    assert_eq!(kept("x", &[("ai.operationId", "ai.generateText"), ("ai.toolCall.name", "t")]), 0);
}

#[test]
fn scope_conditions_hold_wherever_the_scope_stands() {
    let conventions = field();
    let before = request(r#""scope":{"name":"pydantic-ai"},"#, "agent run", &[("agent.name", "a")]);
    assert_eq!(only_span(&conventions, &before).operation, Operation::InvokeAgent);
    let exact = request(r#""scope":{"name":"gcp.vertex.agent"},"#, "invocation", &[]);
    assert_eq!(only_span(&conventions, &exact).scope_name.as_deref(), Some("gcp.vertex.agent"));

    let after = request("", "agent run", &[]).replace("]}]}]}", r#"],"scope":{"name":"pydantic-ai"}}]}]}"#);
    let span = only_span(&conventions, &after);
    assert_eq!(span.scope_name.as_deref(), Some("pydantic-ai"));
    assert_eq!(read(&conventions, &request("", "agent run", &[])).counts.kept, 0);
    assert_eq!(read(&conventions, &request(r#""scope":{"name":"other"},"#, "agent run", &[])).counts.kept, 0);
}

#[test]
fn dropped_span_is_counted_under_the_operation_of_any_convention() {
    let parsed = read(&field(), &request("", "x", &[("openinference.span.kind", "CHAIN")]));
    assert_eq!(parsed.counts.dropped.get("CHAIN"), Some(&1));
    let parsed = read(&Conventions::builtin(), &request("", "x", &[("some.kind", "CHAIN")]));
    assert_eq!(parsed.counts.dropped.get(""), Some(&1));
}

#[test]
fn broken_file_is_refused_with_its_name_and_the_reason() {
    let refused = |text: &str| {
        let error = Conventions::from_toml(&[("site.toml", text)]).unwrap_err();
        let mut words = error.to_string();
        let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(&error);
        while let Some(source) = cause {
            words.push_str(&format!(": {source}"));
            cause = source.source();
        }
        assert!(words.contains("site.toml"), "{words}");
        words
    };
    let changed = |from: &str, to: &str| {
        assert!(FIELD.contains(from));
        refused(&FIELD.replacen(from, to, 1))
    };
    assert!(refused("name = ").contains("line 1"));
    assert!(changed("not_recorded", "not_recoreded").contains("not_recoreded"));
    assert!(changed("span_name =", "spanname =").contains("spanname"));
    assert!(changed("arguments =", "argument =").contains("argument"));
    assert!(changed(r#""execute_tool""#, r#""run_tool""#).contains("run_tool"));
    assert!(changed(r#"name = "field""#, r#"name = """#).contains("`name` is empty"));
    assert!(changed(r#"{ span_name = "running tool" }"#, "{}").contains("number 2"));
    assert!(changed(r#"{ span_name = "running tool" }"#, r#"{ span_name = "a", absent = "b" }"#).contains("names 2"));
    assert!(
        changed(r#"{ span_name = "running tool" }"#, r#"{ span_name = "a", values = ["b"] }"#).contains("`attribute`")
    );
    assert!(changed(r#"["TOOL", "tool"]"#, "[]").contains("never hold"));
    assert!(changed(r#"prefixes = ["ai.toolCall"]"#, r#"prefixes = ["a"], values = ["a"]"#).contains("either"));
    assert!(changed(r#"tool_name = ["tool.name", "gen_ai.tool.name", "ai.toolCall.name"]"#, "").contains("tool_name"));
    assert!(changed(r#"["agent.name"]"#, r#"[""]"#).contains("key is empty"));
    assert!(refused("name = \"a\"\ndescription = \"b\"\nmatch = []\n[fields]\n").contains("[[match]]"));
    let empty = "name = \"a\"\ndescription = \"b\"\n[[match]]\noperation = \"invoke_agent\"\nwhen = []\n[fields]\n";
    assert!(refused(empty).contains("every span"));
}

#[test]
fn same_name_twice_and_no_file_are_refused() {
    let twice = Conventions::from_toml(&[("a.toml", OTEL), ("b.toml", OTEL)]).unwrap_err();
    assert!(twice.to_string().contains("b.toml") && twice.to_string().contains("otel-genai"), "{twice}");
    assert!(matches!(Conventions::from_toml(&[]), Err(ConventionError::None)));
}
