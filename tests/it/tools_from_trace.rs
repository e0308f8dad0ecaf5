//! `taco-trace tools`: definitions out of traces and back, and each kind of difference.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use serde_json::{Value, json};
use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::tools::{ToolDefaults, parse_tools};

use super::support::repository;

fn taco_trace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taco-trace"));
    command.current_dir(repository()).env_remove("COLUMNS").args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A trace file of one span a list of attributes, each started a nanosecond after the one before it.
struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new(spans: &[&[(&str, &str)]]) -> Self {
        let lines: Vec<String> = (1..)
            .zip(spans)
            .map(|(start, attributes): (u64, _)| {
                let attributes: Vec<Value> = attributes
                    .iter()
                    .map(|(key, value)| json!({"key": key, "value": {"stringValue": value}}))
                    .collect();
                let span = json!({
                    "traceId": format!("{:032x}", 1), "spanId": format!("{start:016x}"), "name": "x",
                    "startTimeUnixNano": start.to_string(), "endTimeUnixNano": "99", "attributes": attributes,
                });
                json!({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).to_string()
            })
            .collect();
        let file = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(file.traces(), lines.join("\n")).unwrap();
        file
    }

    fn traces(&self) -> PathBuf {
        self.folder.path().join("traces.jsonl")
    }

    fn extract(&self, more: &[&str]) -> Output {
        taco_trace(&[&["tools", "from-trace", path(&self.traces())], more].concat())
    }

    fn check(&self, tools: &Value, more: &[&str]) -> Output {
        let file = self.folder.path().join("tools.json");
        fs::write(&file, tools.to_string()).unwrap();
        taco_trace(&[&["tools", "check", path(&self.traces()), "--tools", path(&file)], more].concat())
    }

    fn differences(&self, tools: &Value) -> Vec<Value> {
        let output = self.check(tools, &["--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        view["differences"].as_array().unwrap().clone()
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn rows(output: &Output) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn names(rows: &[Value]) -> Vec<&str> {
    rows.iter().map(|row| row["tool_name"].as_str().unwrap()).collect()
}

fn schema(row: &Value) -> Value {
    serde_json::from_str(row["json_schema"].as_str().unwrap()).unwrap()
}

const SCHEMA: &str =
    r#"{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q"]}"#;

fn offered(definitions: &Value) -> String {
    definitions.to_string()
}

fn definition(name: &str, schema: &str) -> Value {
    json!({"type": "function", "name": name, "description": "d", "parameters": serde_json::from_str::<Value>(schema).unwrap()})
}

/// Frameworks whose traces carry schemas, and whether these are those of the folder's tools.json to the letter of JSON.
/// CrewAI describes its tools otherwise on the spans of calls.
const REAL: [(&str, bool); 13] = [
    ("agent-framework-1.23.0", true),
    ("crewai-1.15.30-openinference", false),
    ("fastapi-pydantic-ai-2.68.0", true),
    ("google-adk-2.13.0-semconv", true),
    ("langchain-1.5.2-genai", true),
    ("langchain-1.5.2-openinference", true),
    ("llama-index-0.14.25-openinference", true),
    ("openai-agents-0.24.0-openinference", true),
    ("openai-agents-0.24.0-traceloop", true),
    ("pydantic-ai-1.0.18-v2", true),
    ("pydantic-ai-2.68.0-v5", true),
    ("strands-agents-1.62.0-latest", true),
    ("vercel-ai-sdk-6.0.326", true),
];

#[test]
fn real_traces_give_the_tools_that_their_makers_had() {
    for (framework, same) in REAL {
        let folder = format!("fixtures/real/{framework}");
        let output = taco_trace(&["tools", "from-trace", &format!("{folder}/traces.jsonl")]);
        let found = rows(&output);
        let text = fs::read_to_string(repository().join(&folder).join("tools.json")).unwrap();
        let expected: Vec<Value> = serde_json::from_str(&text).unwrap();
        let mut expected_names = names(&expected);
        expected_names.sort_unstable();
        assert_eq!(names(&found), expected_names, "{framework}");
        for row in found.iter().filter(|_| same) {
            let meant = expected.iter().find(|meant| meant["tool_name"] == row["tool_name"]).unwrap();
            assert_eq!(schema(row), schema(meant), "{framework}");
            let trimmed = |row: &Value| row["description"].as_str().unwrap().trim().to_owned();
            assert_eq!(trimmed(row), trimmed(meant), "{framework}");
        }
        // What is written can be read back: the same names, without an issue.
        let (set, issues) = parse_tools(&stdout(&output), "tools.json", ToolDefaults::default()).unwrap();
        assert_eq!(issues, [], "{framework}");
        assert_eq!(set.tools.iter().map(|tool| tool.tool_name.as_str()).collect::<Vec<_>>(), names(&found));
        assert!(set.tools.iter().all(|tool| tool.schema_readable && tool.timeout_ms.is_none()));
        let own = taco_trace(&[
            "tools",
            "check",
            &format!("{folder}/traces.jsonl"),
            "--tools",
            &format!("{folder}/tools.json"),
        ]);
        assert_ne!(same, stdout(&own).contains("설명이 다릅니다"), "{framework}: {}", stdout(&own));
    }
}

#[test]
fn traces_without_schemas_are_refused_with_the_names_that_they_have() {
    for (framework, name) in [("mastra-1.71.0", "search_regulation"), ("google-adk-2.13.0", "budget_api")] {
        let output = taco_trace(&["tools", "from-trace", &format!("fixtures/real/{framework}/traces.jsonl")]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
        assert!(stderr(&output).contains(name), "{}", stderr(&output));
    }
    let output = taco_trace(&["tools", "from-trace", "fixtures/real/openai-agents-0.24.0-genai/traces.jsonl"]);
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn written_tools_judge_like_those_given() {
    let folder = tempfile::tempdir().unwrap();
    let tools = folder.path().join("tools.json");
    let traces = "fixtures/real/langchain-1.5.2-genai/traces.jsonl";
    let written = taco_trace(&["tools", "from-trace", traces, "--output", path(&tools), "--quiet"]);
    assert_eq!((written.status.code(), written.stdout.len(), stderr(&written).as_str()), (Some(0), 0, ""));
    let judged = taco_trace(&["diagnose", traces, "--tools", path(&tools), "--format", "json", "--quiet"]);
    assert_eq!(judged.status.code(), Some(0), "{}", stderr(&judged));
    assert!(stdout(&judged).contains("budget_forecast"));
}

#[test]
fn each_shape_of_a_definition_is_read() {
    let plain: Value = serde_json::from_str(SCHEMA).unwrap();
    let shapes = [
        json!([{"type": "function", "function": {"name": "t", "parameters": plain}}]),
        json!([{"name": "t", "input_schema": plain}]),
        json!([{"name": "t", "inputSchema": plain}]),
        json!([{"name": "t", "inputSchema": {"json": plain}}]),
        json!([{"toolSpec": {"name": "t", "inputSchema": {"json": plain}}}]),
        json!([{"name": "t", "parameters_json_schema": plain}]),
        json!([{"name": "t", "parameters": SCHEMA}]),
        json!([json!({"name": "t", "parameters": plain}).to_string()]),
        json!(json!([{"name": "t", "parameters": plain}]).to_string()),
        json!({"tools": [{"name": "t", "parameters": plain}]}),
        json!({"name": "t", "parameters": plain}),
    ];
    for shape in shapes {
        let text = offered(&shape);
        let found = rows(&File::new(&[&[("gen_ai.tool.definitions", &text)]]).extract(&[]));
        assert_eq!((names(&found), schema(&found[0])), (vec!["t"], plain.clone()), "{shape}");
    }
}

#[test]
fn definitions_stand_in_lists_under_numbers_and_on_calls() {
    let openai = json!({"type": "function", "function": {"name": "b", "parameters": {"type": "object"}}}).to_string();
    let spring = [
        ("spring.ai.tool.definition.name", "c"),
        ("spring.ai.tool.definition.description", "물음"),
        ("spring.ai.tool.definition.schema", SCHEMA),
    ];
    let file = File::new(&[
        &[("llm.tools.0.tool.json_schema", &openai)],
        &[
            ("llm.request.functions.0.name", "a"),
            ("llm.request.functions.0.parameters", SCHEMA),
            ("llm.request.functions.1.name", "named"),
        ],
        &spring,
        // Agno has the arguments of the call where others have the schema.
        &[("tool.name", "d"), ("tool.parameters", r#"{"q":"x"}"#)],
        &[("tool.name", "e"), ("tool.description", "말만")],
    ]);
    let found = rows(&file.extract(&[]));
    assert_eq!(names(&found), ["a", "b", "c"]);
    assert_eq!(found[2]["description"], "물음");
}

#[test]
fn newest_schema_counts_in_whatever_order_the_spans_come() {
    let (old, new) = (definition("t", r#"{"type":"object"}"#), definition("t", SCHEMA));
    let (old, new) = (offered(&json!([old])), offered(&json!([new])));
    let file = File::new(&[
        &[("gen_ai.tool.definitions", &new)],
        &[("gen_ai.tool.definitions", &old)],
        &[("gen_ai.tool.definitions", &new)],
    ]);
    let output = file.extract(&[]);
    assert_eq!(schema(&rows(&output)[0]), serde_json::from_str::<Value>(SCHEMA).unwrap());
    assert!(stderr(&output).contains("가장 새 것을 쓴 도구: t"), "{}", stderr(&output));
    let text = fs::read_to_string(file.traces()).unwrap();
    fs::write(file.traces(), text.lines().rev().collect::<Vec<_>>().join("\n")).unwrap();
    assert_eq!(stdout(&file.extract(&[])), stdout(&output));
    // What the model was offered counts before what a later call says of its tool.
    let file = File::new(&[
        &[("gen_ai.tool.definitions", &new)],
        &[("gen_ai.tool.name", "t"), ("gen_ai.tool.json_schema", r#"{"type":"object"}"#)],
    ]);
    let output = file.extract(&[]);
    assert_eq!(schema(&rows(&output)[0]), serde_json::from_str::<Value>(SCHEMA).unwrap());
    assert!(!stderr(&output).contains("가장 새 것"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_written_is_told() {
    let mixed = offered(&json!([definition("t", SCHEMA), "bare", {"name": "null", "parameters": null}, 7, {}]));
    let file = File::new(&[
        &[("gen_ai.tool.definitions", &mixed)],
        &[("gen_ai.tool.definitions", r#"[{"name":"cut","par"#)],
        &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "ghost")],
    ]);
    let output = file.extract(&["--default-timeout-ms", "5000", "--default-max-retries", "2"]);
    let found = rows(&output);
    assert_eq!(names(&found), ["t"]);
    assert_eq!((&found[0]["timeout_ms"], &found[0]["max_retries"]), (&json!(5000), &json!(2)));
    let told = stderr(&output);
    assert!(told.contains("내지 않은 도구: bare, null"), "{told}");
    assert!(told.contains("정의가 없는 도구: ghost") && told.contains("읽지 못한 도구 정의 1건"), "{told}");
    assert_eq!(file.extract(&["--default-timeout-ms", "0"]).status.code(), Some(2));
}

#[test]
fn each_difference_is_told_with_its_key() {
    let theirs = offered(&json!([
        definition("same", SCHEMA),
        definition("new", SCHEMA),
        definition(
            "changed",
            r#"{"type":"object","title":"T","additionalProperties":false,"properties":{"n":{"type":"integer"},
            "q":{"type":["string","null"]},"x":{"type":"array","items":{"type":"string"}},"title":{"type":"string"}},
            "required":["n"]}"#
        ),
    ]));
    let file = File::new(&[
        &[("gen_ai.tool.definitions", &theirs)],
        &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "sane")],
        &[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", "changed")],
    ]);
    let ours = json!([
        definition("same", r#"{"required":["q"],"title":"S","properties":{"n":{"type":"integer","description":"수"},"q":{"type":"string"}}}"#),
        definition("gone", SCHEMA),
        {"tool_name": "changed", "description": "other", "json_schema":
            r#"{"type":"object","properties":{"n":{"type":"integer"},"q":{"type":"string"},
            "x":{"type":"array","items":{"type":"integer"}},"old":{}},"required":["q"]}"#},
    ]);
    let found = file.differences(&ours);
    let told: Vec<String> = found
        .iter()
        .map(|one| {
            format!(
                "{} {} {}",
                one["tool"].as_str().unwrap(),
                one["code"].as_str().unwrap(),
                one["key"].as_str().unwrap_or("-")
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "changed description -",
            "changed key_required n",
            "changed key_removed old",
            "changed key_type q",
            "changed key_required q",
            "changed key_inside x",
            "changed key_added title",
            "changed schema_other -",
            "gone not_in_traces -",
            "new not_in_tools -",
            "sane undefined -",
        ]
    );
    assert_eq!((&found[3]["in_tools"], &found[3]["in_traces"]), (&json!("string"), &json!("string|null")));
    assert_eq!((&found[1]["required_in_traces"], &found[4]["required_in_traces"]), (&json!(true), &json!(false)));
    assert_eq!((&found[10]["calls"], &found[10]["nearest"]), (&json!(1), &json!("same")));
    let table = file.check(&ours, &[]);
    assert_eq!(table.status.code(), Some(0));
    let text = stdout(&table);
    assert!(text.contains("가까운 이름: same") && text.contains("한 번도 불리지 않은 도구: gone, same"), "{text}");
    assert!(!text.contains(".j2:"), "{text}");
    assert_eq!(file.check(&ours, &["--fail-on-drift"]).status.code(), Some(1));
}

#[test]
fn help_is_korean_throughout() {
    for arguments in [&["tools", "--help"][..], &["tools", "from-trace", "--help"], &["tools", "check", "--help"]] {
        let text = stdout(&taco_trace(arguments));
        for english in ["Usage", "Options:", "Commands", "COMMAND", "Arguments"] {
            assert!(!text.contains(english), "{arguments:?}: {text}");
        }
    }
}

#[test]
fn no_difference_is_no_failure() {
    let file = File::new(&[&[("gen_ai.tool.definitions", &offered(&json!([definition("t", SCHEMA)])))]]);
    let same = json!([definition("t", SCHEMA)]);
    let output = file.check(&same, &["--fail-on-drift"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("어긋난 곳이 없습니다"), "{}", stdout(&output));
    let missing = taco_trace(&["tools", "check", path(&file.traces()), "--tools", "fixtures/no-such-tools.json"]);
    assert_eq!(missing.status.code(), Some(3));
    assert_eq!(taco_trace(&["tools"]).status.code(), Some(2));
}

#[test]
fn nearest_name_is_at_most_a_third_of_its_letters_away() {
    let nearest = |called: &str, defined: &str| {
        let file = File::new(&[&[("gen_ai.operation.name", "execute_tool"), ("gen_ai.tool.name", called)]]);
        let found = file.differences(&json!([definition(defined, SCHEMA)]));
        found.iter().find(|one| one["code"] == "undefined").unwrap()["nearest"].as_str().map(str::to_owned)
    };
    // Nine letters: three may change.
    assert_eq!(nearest("abcdefghi", "abcdefxxi").as_deref(), Some("abcdefxxi"));
    assert_eq!(nearest("abcdefghi", "abcdexxxi").as_deref(), Some("abcdexxxi"));
    assert_eq!(nearest("abcdefghi", "abcdxxxxi"), None);
    // Two letters in the shortest names.
    assert_eq!(nearest("ab", "xy").as_deref(), Some("xy"));
    assert_eq!(nearest("ab", "xyz"), None);
    assert_eq!(nearest("예산조회", "예산조희").as_deref(), Some("예산조희"));
}

#[test]
fn site_convention_says_where_its_definitions_stand() {
    let folder = tempfile::tempdir().unwrap();
    let convention = folder.path().join("site.toml");
    let head = "name = \"site\"\ndescription = \"s\"\n[[match]]\noperation = \"invoke_agent\"\nwhen = [{ attribute = \"a\" }]\n";
    fs::write(
        &convention,
        format!("{head}[[definitions]]\nlist = {{ attribute = \"acme.request\", pointer = \"/tools\" }}\n"),
    )
    .unwrap();
    let request = json!({"tools": [definition("t", SCHEMA)]}).to_string();
    let file = File::new(&[&[("acme.request", &request)]]);
    assert_eq!(file.extract(&[]).status.code(), Some(3));
    assert_eq!(names(&rows(&file.extract(&["--convention", path(&convention)]))), ["t"]);
    let refused = |section: &str| {
        let error =
            Conventions::from_toml(&[("site.toml", &format!("{head}[[definitions]]\n{section}\n"))]).unwrap_err();
        assert!(error.to_string().contains("`[[definitions]]` number 1"), "{error}");
    };
    refused("");
    refused("list = \"a\"\nname = [\"b\"]");
    refused("list = \"a\"\nindexed = \"b.*\"");
    refused("whole = [\".x\"]");
    refused("indexed = \"a.*\"\nwhole = [\".x\"]\nname = [\".y\"]");
    refused("indexed = \"a.*\"");
    refused("indexed = \"*\"\nwhole = [\".x\"]");
    refused("indexed = \"a.*.b\"\nwhole = [\".x\"]");
    refused("indexed = \"a.*.*\"\nwhole = [\".x\"]");
    refused("indexed = \"a.*\"\nname = [{ span_name = true }]");
    refused("name = [\"\"]");
    refused("list = { attribute = \"a\", pointer = \"b\" }");
}
