//! tools.json: its forms, its problems, its versions.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use taco_trace::ingest::tools::{ToolDefaults, ToolsError, parse_tools};
use taco_trace::model::span::JsonType;
use taco_trace::model::{Issue, IssueCode, ToolDefinition, ToolSet};

fn parse(text: &str) -> (ToolSet, Vec<Issue>) {
    parse_tools(text, "tools.json", ToolDefaults::default()).unwrap()
}

fn parse_good(text: &str) -> Vec<ToolDefinition> {
    let (set, issues) = parse(text);
    assert_eq!(issues, []);
    set.tools
}

fn details(issues: &[Issue]) -> Vec<(IssueCode, &str)> {
    issues.iter().map(|issue| (issue.code, issue.detail.as_str())).collect()
}

/// Key, position, required position, declared type.
fn params(tool: &ToolDefinition) -> Vec<(&str, Option<i64>, Option<i64>, String)> {
    tool.params
        .iter()
        .map(|param| (param.key.as_str(), param.position, param.required_position, param.declared_type()))
        .collect()
}

fn of_schema(schema: &str) -> ToolDefinition {
    parse_good(&format!(r#"[{{"tool_name":"t","json_schema":{schema}}}]"#)).remove(0)
}

#[test]
fn definitions_as_text_or_structure_keep_text_and_order() {
    let tools = parse_good(include_str!("../../fixtures/tools/definitions.json"));
    assert_eq!(tools.len(), 2);
    assert_eq!(tools[0].tool_name, "search_regulation");
    assert_eq!(tools[0].description, "기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다.");
    assert!(tools[0].json_schema.starts_with(r#"{"type":"object","properties":{"query""#));
    assert_eq!((tools[0].timeout_ms, tools[0].max_retries), (Some(5000), Some(2)));
    assert_eq!(
        params(&tools[0]),
        [("query", Some(0), Some(0), "string".to_owned()), ("dept_code", Some(1), Some(1), "string".to_owned())]
    );
    assert_eq!(
        tools[1].json_schema,
        r#"{"type":"object","properties":{"year":{"type":["integer","null"]},"dept_code":{"type":"string"}},"required":["dept_code"]}"#
    );
    assert_eq!(tools[1].params[0].types, [JsonType::Integer, JsonType::Null]);
    assert_eq!(
        params(&tools[1]),
        [("year", Some(0), None, "integer|null".to_owned()), ("dept_code", Some(1), Some(0), "string".to_owned())]
    );
}

#[test]
fn definitions_beside_spans_are_read() {
    let tools = parse_good(include_str!("../../fixtures/tools/wrapped.json"));
    assert_eq!(tools.len(), 1);
    assert_eq!((tools[0].timeout_ms, tools[0].max_retries), (Some(6000), Some(3)));
}

#[test]
fn foreign_forms_give_the_same_definition() {
    let schema = r#"{"type":"object","properties":{"year":{"type":"integer"},"dept_code":{"type":"string"}},"required":["dept_code"]"#;
    for text in [
        include_str!("../../fixtures/tools/openai.json"),
        include_str!("../../fixtures/tools/anthropic.json"),
        include_str!("../../fixtures/tools/mcp.json"),
    ] {
        let tool = parse_good(text).remove(0);
        assert_eq!((tool.tool_name.as_str(), tool.description.as_str()), ("budget_api", "Budget of a department."));
        assert!(tool.json_schema.starts_with(schema), "{}", tool.json_schema);
        assert!(tool.schema_readable);
        assert_eq!((tool.timeout_ms, tool.max_retries), (None, None));
        assert_eq!(
            params(&tool),
            [("year", Some(0), None, "integer".to_owned()), ("dept_code", Some(1), Some(0), "string".to_owned())]
        );
    }
}

#[test]
fn openai_responses_form_and_absent_parameters_are_read() {
    let tools = parse_good(include_str!("../../fixtures/tools/openai.json"));
    assert_eq!(tools[1].tool_name, "org_chart_lookup");
    assert_eq!(tools[1].description, "");
    assert_eq!(tools[1].params[0].key, "dept_name");
    assert_eq!((tools[2].tool_name.as_str(), tools[2].json_schema.as_str()), ("today", "{}"));
    assert!(tools[2].schema_readable);
}

#[test]
fn lists_under_tools_and_mixed_forms_are_read() {
    let text = r#" {"tools":[{"type":"function","function":{"name":"a","parameters":{}}},{"name":"b","inputSchema":{}},
        {"name":"c","input_schema":{}},{"tool_name":"d","json_schema":"true"}]}"#;
    let names: Vec<_> = parse_good(text).into_iter().map(|tool| tool.tool_name).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);
    assert_eq!(parse_good("[]"), []);
}

#[test]
fn limits_beside_a_foreign_form_are_read() {
    let tools =
        parse_good(r#"[{"type":"function","timeout_ms":7,"function":{"name":"a","parameters":{},"max_retries":2}}]"#);
    assert_eq!((tools[0].timeout_ms, tools[0].max_retries), (Some(7), Some(2)));
}

#[test]
fn byte_order_mark_is_accepted_and_counted() {
    let text = "\u{feff}[{\"tool_name\":\"a\",\"json_schema\":\"{}\"},\n 5]";
    let (set, issues) = parse(text);
    assert_eq!(set.tools.len(), 1);
    assert_eq!((issues[0].line, issues[0].byte_offset), (2, text.find('5').unwrap() as u64));
}

#[test]
fn problems_become_issues_and_the_rest_is_read() {
    let (set, issues) = parse(include_str!("../../fixtures/tools/problems.json"));
    assert_eq!(
        set.tools.iter().map(|tool| tool.tool_name.as_str()).collect::<Vec<_>>(),
        ["good", "schema_not_json", "schema_wrong_type", "schema_of_unknown_draft", "limits_wrong"]
    );
    for tool in &set.tools[1..4] {
        assert!(!tool.schema_readable && tool.params.is_empty(), "{}", tool.tool_name);
        assert_eq!((tool.timeout_ms, tool.max_retries), (Some(10), Some(2)));
    }
    assert_eq!((set.tools[4].timeout_ms, set.tools[4].max_retries), (None, None));
    assert!(set.tools[4].schema_readable);
    assert_eq!((set.tools[0].timeout_ms, set.tools[0].max_retries), (Some(1), Some(1)));
    assert_eq!(
        details(&issues),
        [
            (
                IssueCode::ToolSchemaInvalid,
                "2: schema_not_json: not JSON: EOF while parsing a value at line 1 column 8"
            ),
            (
                IssueCode::ToolSchemaInvalid,
                "3: schema_wrong_type: not a JSON Schema: /properties/q/type: \"dict\" is not valid under any of the schemas listed in the 'anyOf' keyword"
            ),
            (
                IssueCode::ToolSchemaInvalid,
                "4: schema_of_unknown_draft: unknown $schema: https://example.invalid/schema"
            ),
            (IssueCode::ToolLimitInvalid, "5: limits_wrong: timeout_ms: 0"),
            (IssueCode::ToolLimitInvalid, "5: limits_wrong: max_retries: \"5\""),
            (IssueCode::ToolRepeated, "6: good: already defined at 1"),
            (IssueCode::ToolInvalid, "7: no tool name"),
            (IssueCode::ToolInvalid, "8: not an object"),
            (IssueCode::ToolInvalid, "9: the tool name is empty"),
        ]
    );
    assert_eq!(issues.iter().map(|issue| issue.line).collect::<Vec<_>>(), [3, 4, 5, 6, 6, 7, 8, 9, 10]);
    assert_eq!(issues[7].raw, "\"budget_api\"");
}

#[test]
fn limit_is_an_integer_of_one_or_more() {
    let defaults = ToolDefaults { timeout_ms: Some(77), max_retries: None };
    for (written, expected, valid) in [
        ("1", Some(1), true),
        ("2", Some(2), true),
        ("8000.0", Some(8000), true),
        ("8e3", Some(8000), true),
        ("9223372036854775807", Some(i64::MAX), true),
        ("null", Some(77), true),
        ("0", Some(77), false),
        ("-1", Some(77), false),
        ("-0", Some(77), false),
        ("0.5", Some(77), false),
        ("1.5", Some(77), false),
        ("\"5\"", Some(77), false),
        ("true", Some(77), false),
        ("[1]", Some(77), false),
        ("9223372036854775808", Some(77), false),
        ("1e99", Some(77), false),
        ("1e999", Some(77), false),
    ] {
        let text = format!(r#"[{{"tool_name":"t","json_schema":"{{}}","timeout_ms":{written}}}]"#);
        let (set, issues) = parse_tools(&text, "tools.json", defaults).unwrap();
        assert_eq!(set.tools[0].timeout_ms, expected, "{written}");
        assert_eq!(issues.is_empty(), valid, "{written}");
        if !valid {
            assert_eq!(
                details(&issues),
                [(IssueCode::ToolLimitInvalid, format!("1: t: timeout_ms: {written}").as_str())]
            );
        }
    }
}

#[test]
fn defaults_fill_what_is_absent_only() {
    let defaults = ToolDefaults { timeout_ms: Some(100), max_retries: Some(4) };
    let text = r#"[{"tool_name":"t","json_schema":"{}","timeout_ms":5},{"name":"u","input_schema":{}}]"#;
    let (set, _) = parse_tools(text, "x", defaults).unwrap();
    assert_eq!((set.tools[0].timeout_ms, set.tools[0].max_retries), (Some(5), Some(4)));
    assert_eq!((set.tools[1].timeout_ms, set.tools[1].max_retries), (Some(100), Some(4)));
    assert_eq!(set.source, "x");
}

#[test]
fn required_only_keys_come_last_in_the_order_of_required() {
    let tool =
        of_schema(r#"{"properties":{"z":{},"a":true,"m":{"type":["number","string"]}},"required":["y","a","b"]}"#);
    assert_eq!(
        params(&tool),
        [
            ("z", Some(0), None, String::new()),
            ("a", Some(1), Some(1), String::new()),
            ("m", Some(2), None, "number|string".to_owned()),
            ("y", None, Some(0), String::new()),
            ("b", None, Some(2), String::new()),
        ]
    );
}

#[test]
fn repeated_property_takes_its_last_value() {
    let tool = of_schema(r#"{"properties":{"a":{"type":"string"},"b":{},"a":{"type":"integer"}}}"#);
    assert_eq!(params(&tool), [("a", Some(0), None, "integer".to_owned()), ("b", Some(1), None, String::new())]);
}

#[test]
fn nested_properties_and_combinators_do_not_count() {
    let tool = of_schema(
        r#"{"allOf":[{"properties":{"x":{}},"required":["x"]}],"properties":{"a":{"type":"object","properties":{"deep":{}},"required":["deep"]}}}"#,
    );
    assert_eq!(params(&tool), [("a", Some(0), None, "object".to_owned())]);
}

#[test]
fn schema_given_as_structure_is_minified_outside_strings_only() {
    let tool = of_schema("{ \"title\" : \"a \\\" b\\\\\" ,\n\t\"maximum\" : 1.50e1 }");
    assert_eq!(tool.json_schema, r#"{"title":"a \" b\\","maximum":1.50e1}"#);
    let written = "{ \"type\" : \"object\" }";
    let tool = of_schema(&serde_json::to_string(written).unwrap());
    assert_eq!(tool.json_schema, written);
}

#[test]
fn schema_that_is_no_schema_leaves_the_limits() {
    let deep = format!("{}{}", r#"{"not":"#.repeat(400), "{}".to_owned() + &"}".repeat(400));
    for schema in [
        "5",
        "[]",
        "null",
        "\"\"",
        "\"not json\"",
        r#"{"required":["a","a"]}"#,
        r#"{"required":"a"}"#,
        r#"{"type":"STRING"}"#,
        r#"{"$schema":""}"#,
        r#"{"$schema":"file:///etc/hostname"}"#,
        r#"{"$schema":"http://127.0.0.1:9/x"}"#,
        r#"{"maximum":1e999}"#,
        "\"{\\\"a\\\":1} x\"",
        r#""\ud800""#,
        &deep,
    ] {
        let (set, issues) = parse(&format!(r#"[{{"tool_name":"t","json_schema":{schema},"max_retries":3}}]"#));
        assert_eq!(issues.len(), 1, "{schema}");
        assert_eq!(issues[0].code, IssueCode::ToolSchemaInvalid);
        assert!(
            issues[0].detail.starts_with("1: t: ") && issues[0].detail.chars().count() < 220,
            "{}",
            issues[0].detail
        );
        assert!(!set.tools[0].schema_readable && set.tools[0].params.is_empty());
        assert_eq!(set.tools[0].max_retries, Some(3));
    }
}

#[test]
fn schemas_of_every_built_in_draft_are_read() {
    for draft in [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
        "https://json-schema.org/draft/2020-12/schema",
    ] {
        let tool = of_schema(&format!(r#"{{"$schema":"{draft}","properties":{{"a":{{"type":"boolean"}}}}}}"#));
        assert_eq!(tool.params[0].types, [JsonType::Boolean], "{draft}");
    }
}

#[test]
fn absent_schema_is_an_issue_except_for_functions() {
    let (set, issues) = parse(r#"[{"name":"web_search","type":"web_search_20250305"},{"name":"f","type":"function"}]"#);
    assert_eq!(details(&issues), [(IssueCode::ToolSchemaInvalid, "1: web_search: no JSON Schema")]);
    assert_eq!(set.tools[0].json_schema, "");
    assert_eq!(set.tools[1].json_schema, "{}");
}

#[test]
fn member_without_usable_name_is_left_out() {
    for (member, why) in [
        ("null", "not an object"),
        ("[]", "not an object"),
        ("{}", "no tool name"),
        (r#"{"tool_name":5}"#, "the tool name is not a string"),
        (r#"{"tool_name":null}"#, "the tool name is not a string"),
        (r#"{"name":""}"#, "the tool name is empty"),
        (r#"{"function":"f"}"#, "function is no object"),
        (r#"{"type":"function","function":{"parameters":{}}}"#, "no tool name"),
        (r#"{"type":"web_search"}"#, "no tool name"),
    ] {
        let (set, issues) = parse(&format!("[{member}]"));
        assert_eq!(set.tools, [], "{member}");
        assert_eq!(details(&issues), [(IssueCode::ToolInvalid, format!("1: {why}").as_str())], "{member}");
    }
}

#[test]
fn text_that_is_not_json_says_where() {
    let error = parse_tools("[\n {\"tool_name\": }]", "tools.json", ToolDefaults::default()).unwrap_err();
    assert_eq!(error, ToolsError::NotJson { line: 2, column: 16, message: "expected value".to_owned() });
    for text in ["", " ", "{", "[] []", "[1,]", "{\"a\":1}\n{\"b\":2}"] {
        let error = parse_tools(text, "tools.json", ToolDefaults::default()).unwrap_err();
        assert!(matches!(error, ToolsError::NotJson { .. }), "{text}");
    }
}

#[test]
fn json_without_a_list_is_refused() {
    for text in [
        "{}",
        "5",
        "null",
        "\"[]\"",
        r#"{"tools":{}}"#,
        r#"{"tool_definitions":null}"#,
        r#"{"result":{}}"#,
        r#"{"result":[]}"#,
        r#"{"tool_name":"a"}"#,
    ] {
        assert_eq!(parse_tools(text, "x", ToolDefaults::default()).unwrap_err(), ToolsError::NotAList, "{text}");
    }
}

#[test]
fn deep_nesting_does_not_overflow() {
    let text = "[".repeat(200_000) + &"]".repeat(200_000);
    let (set, issues) = parse(&text);
    assert_eq!((set.tools.len(), issues.len()), (0, 1));
}

#[test]
fn set_version_depends_on_content_only() {
    let text = r#"[{"tool_name":"a","description":"d","json_schema":{"type":"object"},"timeout_ms":1}]"#;
    let same = "[ {\"timeout_ms\" : 1.0, \"json_schema\": \"{\\\"type\\\":\\\"object\\\"}\",\"description\":\"d\",\"tool_name\":\"a\"} ]";
    let version = parse(text).0.sha256;
    assert_eq!(version.len(), 64);
    assert!(version.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)));
    assert_eq!(parse_tools(same, "elsewhere", ToolDefaults::default()).unwrap().0.sha256, version);
    for other in [
        text.replace(r#""d""#, r#""e""#),
        text.replace(r#""a""#, r#""b""#),
        text.replace(":1}", ":2}"),
        text.replace("\"object\"", "\"array\""),
        text.replace(r#","timeout_ms":1"#, r#","max_retries":1"#),
    ] {
        assert_ne!(parse(&other).0.sha256, version, "{other}");
    }
    let defaults = ToolDefaults { timeout_ms: None, max_retries: Some(1) };
    assert_ne!(parse_tools(text, "x", defaults).unwrap().0.sha256, version);
}
