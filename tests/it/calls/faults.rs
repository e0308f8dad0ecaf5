//! What a check does where input, output or specification is not as it should be.

use std::fs;

use serde_json::{Value, json};
use taco_trace::render::calls::csv_text;
use taco_trace::store::Store;

use super::super::support_cli::{Place, told};
use super::{CALLS_HEADER, SPECS_HEADER, calls_of, fixture, run, seed_in, succeeded, told_issues};

/// A place with these files, and what `calls check` of `calls.csv` says with further arguments.
fn checked(files: &[(&str, String)], arguments: &[&str]) -> (Place, std::process::Output) {
    let place = Place::new();
    for (name, text) in files {
        place.write(name, text);
    }
    let output = run(&place, &[&["check"], arguments].concat());
    (place, output)
}

/// `call_no verdict` of each line of JSON.
fn said(output: &std::process::Output) -> Vec<String> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = |line: &str| {
        let said: Value = serde_json::from_str(line).unwrap();
        format!("{} {}", said["call_no"].as_str().unwrap(), said["verdict"].as_str().unwrap())
    };
    text.lines().map(line).collect()
}

fn tools(properties: &Value) -> String {
    let schema = json!({"type": "object", "properties": properties}).to_string();
    json!([{"tool_name": "t", "description": "", "timeout_ms": 1, "max_retries": 1, "json_schema": schema}]).to_string()
}

/// What is said of one value under one property of a tools.json; `unjudged` with the keywords where nothing is.
fn under(property: &Value, value: &str) -> String {
    let call = format!("{CALLS_HEADER}1,t,a,{value}\n");
    let files = [("calls.csv", call), ("tools.json", tools(&json!({"a": property})))];
    let (_, output) = checked(
        &files,
        &["calls.csv", "--specs-from-tools", "--tools", "tools.json", "-f", "jsonl", "--issues", "all"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    match said(&output).first() {
        Some(said) => said[2..].to_owned(),
        None => {
            let told = told(&output);
            let reason = told.split("명세로 옮기지 못한 제한이 있는 인자(").nth(1).unwrap_or_else(|| panic!("{told}"));
            let keywords = reason.split(')').next().unwrap();
            for keyword in keywords.split(", ") {
                assert!(told.contains(&format!("(t.a: {keyword})")), "{keyword} is no issue: {told}");
            }
            format!("unjudged {keywords}")
        }
    }
}

// output

#[test]
fn result_never_takes_the_place_of_an_input() {
    let place = Place::new();
    seed_in(&place);
    place.write("tools.json", tools(&json!({"a": {"type": "string"}})));
    fs::create_dir(place.path("sub")).unwrap();
    fs::hard_link(place.path("calls.jsonl"), place.path("hard.jsonl")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(place.path("tool_specs.json"), place.path("link.json")).unwrap();
    let absolute = place.path("calls.jsonl");
    let specs = ["--specs", "tool_specs.json"];
    let from_tools = ["--specs-from-tools", "--tools", "tools.json"];
    let mut tried: Vec<(Vec<&str>, &str)> = vec![
        (specs.to_vec(), "calls.jsonl"),
        (specs.to_vec(), "./calls.jsonl"),
        (specs.to_vec(), "sub/../calls.jsonl"),
        (specs.to_vec(), absolute.to_str().unwrap()),
        (specs.to_vec(), "hard.jsonl"),
        (specs.to_vec(), "tool_specs.json"),
        (from_tools.to_vec(), "tools.json"),
    ];
    if cfg!(unix) {
        tried.push((specs.to_vec(), "link.json"));
    }
    let before = ["calls.jsonl", "tool_specs.json", "tools.json"].map(|name| fs::read(place.path(name)).unwrap());
    for (arguments, output) in tried {
        let more = ["-o", output, "-f", "json", "--db", "taco.duckdb"];
        let refused = run(&place, &[&["check", "calls.jsonl"], &arguments[..], &more].concat());
        assert_eq!(refused.status.code(), Some(2), "{output}: {}", told(&refused));
        assert!(told(&refused).contains("읽을 파일 위에는"), "{output}: {}", told(&refused));
        assert!(!place.db().exists(), "{output}: something was made");
    }
    let refused = run(&place, &["check", "calls.jsonl", specs[0], specs[1], "--db", "a.duckdb", "-o", "./a.duckdb"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(told(&refused).contains("저장소 파일 위에는") && !place.path("a.duckdb").exists(), "{}", told(&refused));
    let after = ["calls.jsonl", "tool_specs.json", "tools.json"].map(|name| fs::read(place.path(name)).unwrap());
    assert_eq!(before, after);
    // A file that is no input is replaced.
    place.write("old.json", "old");
    succeeded(&run(&place, &["check", "calls.jsonl", specs[0], specs[1], "-f", "json", "-o", "old.json"]));
    assert!(fs::read_to_string(place.path("old.json")).unwrap().starts_with('['));
}

#[test]
fn check_is_kept_once_its_result_is_written() {
    let place = Place::new();
    seed_in(&place);
    let check = ["check", "calls.jsonl", "--specs", "tool_specs.json", "--db", "taco.duckdb"];
    let output = run(&place, &[&check[..], &["-o", "no/such/folder.json"]].concat());
    assert_eq!(output.status.code(), Some(3));
    assert!(told(&output).contains("남기지 않았습니다"), "{}", told(&output));
    assert_eq!(place.rows("SELECT COUNT(*) FROM call_runs"), ["0"]);
    succeeded(&run(&place, &check));
    assert_eq!(place.rows("SELECT COUNT(*) FROM call_runs"), ["1"]);
}

#[test]
fn cells_of_csv_are_no_formulas() {
    for (text, expected) in [
        ("=1+1", "'=1+1"),
        ("+x", "'+x"),
        ("-x", "'-x"),
        ("@x", "'@x"),
        // Written out like every sign that steers.
        ("\tx", "'\\tx"),
        ("\rx", "'\\rx"),
        ("-1", "-1"),
        ("-1.5", "-1.5"),
        ("-1+2", "'-1+2"),
        ("--1", "'--1"),
        ("-", "'-"),
        ("+1", "'+1"),
        ("1", "1"),
        ("a=1", "a=1"),
        ("", ""),
    ] {
        assert_eq!(csv_text(text), expected, "{text}");
    }
    let calls = format!("{CALLS_HEADER}=cmd(),t,@a,1\n");
    let specs = format!("{SPECS_HEADER}t,@a,,5,true\n");
    let files = [("calls.csv", calls), ("specs.csv", specs)];
    let (_, output) = checked(&files, &["calls.csv", "--specs", "specs.csv", "-f", "csv"]);
    let text = succeeded(&output);
    assert!(text.contains("\n'=cmd(),compliant,'@a,"), "{text}");
}

// specifications

#[test]
fn tool_without_parameters_is_known() {
    let schema = |schema: Value| json!({"tool_name": "ping", "description": "", "json_schema": schema.to_string()});
    for schema in [schema(json!({})), schema(json!({"type": "object", "properties": {}}))] {
        let files = [
            ("calls.csv", format!("{CALLS_HEADER}1,Ping,,\n2,ping,a,1\n3,pong,,\n")),
            ("tools.json", json!([schema]).to_string()),
        ];
        let arguments = ["calls.csv", "--specs-from-tools", "--tools", "tools.json", "-f", "jsonl"];
        let (place, output) = checked(&files, &[&arguments[..], &["--db", "taco.duckdb"]].concat());
        assert_eq!(said(&output), ["3 tool_unmapped"]);
        let told = told(&output);
        assert!(told.contains("ping.a · 명세에 없는 인자"), "{told}");
        assert!(told.contains("Ping.(인자 없음) · 인자가 없는 호출"), "{told}");
        // The store says the same.
        assert_eq!(place.rows("SELECT call_no FROM set_call_check_v1"), ["3"]);
        assert_eq!(
            place.rows("SELECT call_no, reason FROM set_call_unjudged_v1 ORDER BY ALL"),
            ["1|no_argument", "2|not_listed"]
        );
        assert_eq!(place.rows("SELECT tool_key, reason FROM call_spec_gaps"), ["ping|no_arguments"]);
    }
}

#[test]
fn limit_that_no_specification_holds_leaves_a_compliant_value_unjudged() {
    for (property, value, expected) in [
        (json!({"enum": ["a|b", "c"]}), "c", "unjudged enum"),
        (json!({"enum": [["c"]]}), "c", "unjudged enum"),
        (json!({"enum": ["c"]}), "c", "compliant"),
        (json!({"maximum": -1}), "5", "unjudged maximum"),
        (json!({"maximum": 5}), "5", "compliant"),
        (json!({"maximum": 5}), "6", "number_over_limit"),
        (json!({"minimum": 0, "maximum": 5}), "0", "compliant"),
        (json!({"minimum": 0.0, "maximum": 5}), "0", "compliant"),
        (json!({"minimum": 0}), "5", "unjudged minimum"),
        (json!({"minimum": 1, "maximum": 5}), "0", "unjudged minimum"),
        (json!({"minimum": 1, "maximum": 5}), "6", "number_over_limit"),
        // max_number begins at 0: this range is another one.
        (json!({"minimum": -1, "maximum": 5}), "-1", "unjudged maximum, minimum"),
        (json!({"exclusiveMaximum": 5}), "5", "unjudged exclusiveMaximum"),
        (json!({"exclusiveMinimum": 0, "maximum": 5}), "0", "unjudged exclusiveMinimum"),
        (json!({"exclusiveMinimum": 0, "maximum": 5}), "6", "number_over_limit"),
        (json!({"multipleOf": 2, "maximum": 5}), "3", "unjudged multipleOf"),
        (json!({"pattern": "^a", "enum": ["b"]}), "b", "unjudged pattern"),
        (json!({"pattern": "^a", "enum": ["b"]}), "c", "value_not_allowed"),
        (json!({"maxLength": 1, "type": "string"}), "bb", "unjudged maxLength"),
        (json!({"const": "a"}), "b", "unjudged const"),
        (json!({"not": {}}), "b", "unjudged not"),
        (json!({"$ref": "#/$defs/x"}), "b", "unjudged $ref"),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), "b", "compliant"),
        (json!({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}), "b", "unjudged anyOf"),
        (json!({"type": "array", "items": {"type": "string"}}), "[]", "compliant"),
        (json!({"type": "array", "items": {"enum": ["a"]}}), "[]", "unjudged items"),
        (json!({"type": "object", "additionalProperties": false}), "{}", "unjudged additionalProperties"),
        (json!({"type": "object", "properties": {"b": {"title": "B"}}, "required": []}), "{}", "compliant"),
        (json!({"uniqueItems": false, "title": "x", "default": 1, "examples": [1]}), "b", "compliant"),
        (json!(true), "b", "compliant"),
        (json!(false), "b", "unjudged false"),
    ] {
        assert_eq!(under(&property, value), expected, "{property} {value}");
    }
    // An absent value breaks no limit of a value.
    assert_eq!(under(&json!({"pattern": "^a"}), ""), "compliant");
}

#[test]
fn limit_of_a_whole_tool_is_told_and_leaves_its_calls_unjudged() {
    let schema = json!({"properties": {"a": {"enum": ["x"]}}, "allOf": [{"properties": {"a": {"pattern": "y"}}}]});
    let tool = json!([{"tool_name": "t", "description": "", "json_schema": schema.to_string()}]);
    let files = [("calls.csv", format!("{CALLS_HEADER}1,t,a,x\n2,t,a,z\n")), ("tools.json", tool.to_string())];
    let (_, output) = checked(&files, &["calls.csv", "--specs-from-tools", "--tools", "tools.json", "-f", "jsonl"]);
    assert_eq!(said(&output), ["2 value_not_allowed"]);
    assert!(told(&output).contains("(t: allOf)"), "{}", told(&output));
}

#[test]
fn absent_argument_may_break_the_limit_of_a_whole_tool() {
    let calls = format!("{CALLS_HEADER}1,t,a,\n2,t,b,\n3,t,b,x\n");
    for (limit, of_optional) in [(json!({"not": {"required": ["c"]}}), "unjudged not"), (json!({}), "compliant")] {
        let mut schema = json!({"properties": {"a": {}, "b": {}}, "required": ["a"]});
        schema.as_object_mut().unwrap().extend(limit.as_object().unwrap().clone());
        let tool = json!([{"tool_name": "t", "description": "", "json_schema": schema.to_string()}]);
        let files = [("calls.csv", calls.clone()), ("tools.json", tool.to_string())];
        let (_, output) = checked(&files, &["calls.csv", "--specs-from-tools", "--tools", "tools.json", "-f", "jsonl"]);
        let (verdicts, text) = (said(&output), told(&output));
        if of_optional == "compliant" {
            assert_eq!(verdicts, ["2 compliant", "3 compliant", "1 required_arg_missing"]);
        } else {
            // What is missing is missing, whatever else holds.
            assert_eq!(verdicts, ["1 required_arg_missing"]);
            assert!(text.contains("2 t.b · 명세로 옮기지 못한 제한이 있는 도구(not)"), "{text}");
            assert!(text.contains("명세로 옮기지 못한 제한이 있는 도구 2"), "{text}");
        }
    }
}

#[test]
fn first_of_two_tools_with_one_name_wins_also_without_arguments() {
    let with = json!({"properties": {"a": {"enum": ["x"]}}, "required": ["a"]}).to_string();
    let without = json!({"properties": {}}).to_string();
    let calls = format!("{CALLS_HEADER}1,get-it,a,x\n");
    for (schemas, verdicts, row) in [
        ([&without, &with], &[][..], "2: get_it, getIt"),
        ([&with, &without], &["1 compliant"][..], "2: get_it, getIt"),
    ] {
        let tools = json!([
            {"tool_name": "get_it", "description": "", "json_schema": schemas[0]},
            {"tool_name": "getIt", "description": "", "json_schema": schemas[1]},
        ]);
        let files = [("calls.csv", calls.clone()), ("tools.json", tools.to_string())];
        let arguments = ["calls.csv", "--specs-from-tools", "--tools", "tools.json", "-f", "jsonl", "--issues", "all"];
        let (_, output) = checked(&files, &arguments);
        assert_eq!(said(&output), verdicts, "{schemas:?}");
        assert!(told(&output).contains(row), "{}", told(&output));
    }
}

#[test]
fn unjudged_calls_are_all_listed_when_asked_for() {
    let calls = (1..=9_000).map(|number| format!("{number},t,other,x\n")).collect::<String>();
    let files = [("calls.csv", format!("{CALLS_HEADER}{calls}")), ("specs.csv", format!("{SPECS_HEADER}t,a,,,true\n"))];
    let arguments = ["calls.csv", "--specs", "specs.csv", "-f", "jsonl"];
    let listed = |text: &str| text.lines().filter(|line| line.contains("t.other")).count();
    let (_, output) = checked(&files, &arguments);
    let text = told(&output);
    assert_eq!(listed(&text), 20, "{text}");
    assert!(text.contains("8,980건(--all-rows"), "{text}");
    let (_, output) = checked(&files, &[&arguments[..], &["--all-rows"]].concat());
    assert_eq!(listed(&told(&output)), 9_000);
}

#[test]
fn tool_whose_schema_cannot_be_read_is_known() {
    let tool = json!([{"tool_name": "t", "description": "", "json_schema": "{"},
        {"tool_name": "u", "description": "", "json_schema": "{\"properties\":{\"a\":{}}}"}]);
    let files = [("calls.csv", format!("{CALLS_HEADER}1,t,a,x\n2,u,a,z\n")), ("tools.json", tool.to_string())];
    let (_, output) = checked(&files, &["calls.csv", "--specs-from-tools", "--tools", "tools.json", "-f", "jsonl"]);
    assert_eq!(said(&output), ["2 compliant"]);
    assert!(told(&output).contains("t.a · 인자 스키마를 읽지 못한 도구"), "{}", told(&output));
}

#[test]
fn tool_whose_rows_were_refused_is_known() {
    // A limit that is no number, a row with a cell too few, and a row of JSON without a column.
    let specs = format!("{SPECS_HEADER}t,a,,x,true\ns,a,,\nu,a,,5,true\nu,b,,x,true\n");
    let calls = format!("{CALLS_HEADER}1,t,a,9\n2,T,other,9\n3,t,,\n4,s,a,9\n5,u,a,9\n6,u,b,9\n7,u,c,9\n8,v,a,9\n");
    let files = [("calls.csv", calls.clone()), ("specs.csv", specs)];
    let arguments = ["calls.csv", "--specs", "specs.csv", "-f", "jsonl"];
    let (_, output) = checked(&files, &arguments);
    assert_eq!(said(&output), ["5 number_over_limit", "8 tool_unmapped"]);
    let text = told(&output);
    let refused = "명세의 행을 읽지 못한 인자";
    for expected in ["t.a", "T.other", "t.(인자 없음)", "s.a", "u.b"] {
        assert!(text.contains(&format!("{expected} · {refused}")), "{expected}: {text}");
    }
    assert!(text.contains("u.c · 명세에 없는 인자") && text.contains(&format!("{refused} 5")), "{text}");
    let specs = r#"{"tool_id":"t","arg_name":"a","allowed_values":null,"max_number":null}
        {"tool_id":"u","arg_name":"a","allowed_values":null,"max_number":null,"is_required":true}"#;
    let (_, output) = checked(&[("calls.csv", calls), ("specs.csv", specs.to_owned())], &arguments);
    assert_eq!(said(&output), ["5 compliant", "4 tool_unmapped", "8 tool_unmapped"]);
    // A row that is read counts, whatever stands in one before it.
    let files = [
        ("calls.csv", format!("{CALLS_HEADER}1,t,a,9\n")),
        ("specs.csv", format!("{SPECS_HEADER}t,a,,x,true\nt,a,,5,true\n")),
    ];
    assert_eq!(said(&checked(&files, &arguments).1), ["1 number_over_limit"]);
}

// status

#[test]
fn strict_counts_every_problem_and_the_summary_unreadable_rows() {
    let specs = ("specs.csv", format!("{SPECS_HEADER}t,a,,5,true\n"));
    let status = |rows: &str, strict: &[&str]| {
        let files = [("calls.csv", format!("{CALLS_HEADER}{rows}")), specs.clone()];
        let (_, output) = checked(&files, &[&["calls.csv", "--specs", "specs.csv"], strict].concat());
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let unreadable = "읽지 못해 뺀 행이";
    assert_eq!(status("1,t,a,1\n", &["--strict"]).0, 0);
    for rows in ["1,t,a,1\n2,t\n", "1,t,a,1\n1,t,a,1\n"] {
        assert_eq!((status(rows, &[]).0, status(rows, &["--strict"]).0), (0, 1), "{rows}");
    }
    assert!(!status("1,t,a,1\n", &[]).1.contains(unreadable));
    // A repeated number was read.
    assert!(!status("1,t,a,1\n1,t,a,1\n", &[]).1.contains(unreadable));
    assert!(status("1,t,a,1\n2,t\n,t,a,1\n", &[]).1.contains("호출 입력에서 읽지 못해 뺀 행이 2건"));
    let files = [
        ("calls.csv", format!("{CALLS_HEADER}1,t,a,1\n")),
        ("specs.csv", format!("{SPECS_HEADER}t,a,,5,true\nt,b,,x,true\n")),
    ];
    let (_, output) = checked(&files, &["calls.csv", "--specs", "specs.csv", "-f", "md"]);
    assert!(succeeded(&output).contains("명세 입력에서 읽지 못해 뺀 행이 1건"));
}

/// The store of the seed with one span whose arguments are no object.
#[test]
fn span_that_cannot_be_checked_is_unjudged() {
    let place = Place::new();
    let output = super::program()
        .args(["ingest", "-q", "fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json", "--db"])
        .arg(place.db())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let first = place.rows(
        "SELECT span_id FROM spans WHERE operation = 'execute_tool' AND tool_name IN
        (SELECT tool_name FROM tool_definitions) AND args_key IS NOT NULL ORDER BY start_ns LIMIT 1",
    )[0]
    .clone();
    Store::open(&place.db())
        .unwrap()
        .execute(&format!("UPDATE spans SET args_key = NULL, tool_args = 'no' WHERE span_id = '{first}'"))
        .unwrap();
    let check = ["check", "--from-spans", "--specs-from-tools", "--db", "taco.duckdb", "-f", "json", "--fail-on"];
    let output = run(&place, &[&check[..], &["unjudged"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", told(&output));
    assert!(told(&output).contains("인자가 기록되지 않았거나"), "{}", told(&output));
    let unjudged = format!("SELECT call_no, reason FROM set_call_unjudged_v1 WHERE call_no = '{first}'");
    assert_eq!(place.rows(&unjudged), [format!("{first}|args_unreadable")]);
}

// kept checks

/// Each change, by what was said before and is said now.
#[test]
fn change_between_judged_and_unjudged_has_a_line_of_its_own() {
    let place = Place::new();
    place.write("specs.csv", format!("{SPECS_HEADER}t,a,x,,true\n"));
    // Three values of each call: compliant, deviating, unjudged.
    let row = |number: usize, state: usize| format!("{number},t,{}\n", ["a,x", "a,y", "b,x"][state]);
    for (name, state) in [("before.csv", 3), ("after.csv", 1)] {
        let rows: String = (0..9).map(|number| row(number, number / state % 3)).collect();
        place.write(name, format!("{CALLS_HEADER}{rows}"));
        succeeded(&run(&place, &["check", name, "--specs", "specs.csv", "--db", "taco.duckdb", "-f", "json"]));
    }
    let compare = |format: &str| succeeded(&run(&place, &["compare", "-f", format]));
    let compared: Value = serde_json::from_str(&compare("json")).unwrap();
    let listed: Vec<String> = compared["changes"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|change| {
            let name = change["change"].as_str().unwrap().to_owned();
            assert_eq!(change["calls"].as_u64(), change["list"].as_array().map(|list| list.len() as u64));
            let calls = change["list"].as_array().unwrap().clone();
            calls.into_iter().map(move |call| format!("{name} {}", call["call_no"].as_str().unwrap()))
        })
        .collect();
    // 0 to 2 were compliant, 3 to 5 deviating, 6 to 8 unjudged; now they are one after the other.
    let expected = [
        "newly_deviating 1",
        "newly_deviating 7",
        "repaired 3",
        "still_deviating 4",
        "newly_unjudged 2",
        "newly_unjudged 5",
        "judged_again 6",
    ];
    assert_eq!(listed, expected);
    let reasons = |change: usize| compared["changes"][change]["reasons"].clone();
    assert_eq!(reasons(1), json!({"value_not_allowed": 1}));
    assert_eq!(reasons(3), json!({"compliant": 1, "value_not_allowed": 1}));
    assert_eq!(reasons(4), json!({"compliant": 1}));
    let lines: Vec<String> = compare("jsonl")
        .lines()
        .map(|line| {
            let call: Value = serde_json::from_str(line).unwrap();
            format!("{} {}", call["change"].as_str().unwrap(), call["call_no"].as_str().unwrap())
        })
        .collect();
    assert_eq!(lines, expected);
    let csv = compare("csv");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows[0], "change,call_no,before,after");
    assert_eq!(
        rows[4..=5],
        ["still_deviating,4,value_not_allowed,value_not_allowed", "newly_unjudged,2,compliant,unjudged"]
    );
    for format in ["table", "md"] {
        let text = compare(format);
        assert!(text.contains("더는 판정하지 못함") && text.contains("다시 판정함"), "{text}");
    }
    assert!(compare("table").contains("고쳐짐 1건: 허용 값을 벗어남 1\n"), "{}", compare("table"));
}

#[test]
fn list_says_what_was_checked_and_delete_takes_it_out() {
    let place = Place::new();
    let runs = super::two_kept(&place);
    let listed = succeeded(&run(&place, &["list"]));
    for expected in ["calls.jsonl", "calls-2.jsonl", "tool_specs.json", "판정 안 함", "문제"] {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    let listed: Value = serde_json::from_str(&succeeded(&run(&place, &["list", "-f", "json"]))).unwrap();
    let inputs = json!([{"role": "specs", "path": "tool_specs.json"}, {"role": "calls", "path": "calls-2.jsonl"}]);
    assert_eq!((&listed[1]["inputs"], &listed[1]["unjudged"]), (&inputs, &json!(1)));
    assert_eq!(run(&place, &["delete"]).status.code(), Some(2));
    assert_eq!(run(&place, &["delete", "zz"]).status.code(), Some(3));
    // One wrong name, and nothing is deleted.
    assert_eq!(run(&place, &["delete", &runs[0], "zz"]).status.code(), Some(3));
    assert_eq!(place.rows("SELECT COUNT(*) FROM call_runs"), ["2"]);
    let output = run(&place, &["delete", &runs[0].to_uppercase()]);
    succeeded(&output);
    assert!(told(&output).contains("지웠습니다"), "{}", told(&output));
    for table in ["call_runs", "call_inputs", "checked_calls", "call_specs", "call_results"] {
        let runs_left = format!("SELECT DISTINCT call_run FROM {table}");
        assert_eq!(place.rows(&runs_left), [runs[1].as_str()], "{table}");
    }
    for table in ["left_out_calls", "call_issues", "call_spec_gaps"] {
        assert_eq!(place.rows(&format!("SELECT COUNT(*) FROM {table}")), ["0"], "{table}");
    }
    let upper = runs[1].to_uppercase();
    assert_eq!(run(&place, &["compare", &upper, &upper]).status.code(), Some(0));
}

#[test]
fn input_without_a_call_is_told_and_not_kept() {
    let specs = ("specs.csv", format!("{SPECS_HEADER}t,a,,5,true\n"));
    for empty in ["", CALLS_HEADER, "[]"] {
        let files = [("calls.csv", empty.to_owned()), specs.clone()];
        let arguments = ["calls.csv", "--specs", "specs.csv", "--db", "taco.duckdb", "-f", "json"];
        let (place, output) = checked(&files, &arguments);
        let text = told(&output);
        assert_eq!(succeeded(&output).trim(), "[]");
        assert!(text.contains("한 행도 없는 입력입니다: calls.csv") && text.contains("남기지 않았습니다"), "{text}");
        assert_eq!(place.rows("SELECT COUNT(*) FROM call_runs"), ["0"]);
        // Beside another it is told, and the check is kept.
        place.write("more.csv", format!("{CALLS_HEADER}1,t,a,1\n"));
        let output = run(&place, &[&["check", "more.csv"], &arguments[..]].concat());
        succeeded(&output);
        assert!(told(&output).contains("입력입니다: calls.csv"), "{}", told(&output));
        assert_eq!(place.rows("SELECT COUNT(*) FROM call_runs"), ["1"]);
    }
}

// words

#[test]
fn rows_beyond_twenty_are_counted() {
    let files = |rows: usize| {
        let calls: String = (0..rows).map(|number| format!("{number},t,a,9\n")).collect();
        [
            ("calls.csv", format!("{CALLS_HEADER}{calls}x,u,a,1\n")),
            ("specs.csv", format!("{SPECS_HEADER}t,a,,5,true\n")),
        ]
    };
    for format in ["table", "md"] {
        let arguments = ["calls.csv", "--specs", "specs.csv", "-f", format];
        for (rows, more) in [(19, None), (20, None), (21, Some("외 1건")), (30, Some("외 10건"))] {
            let text = succeeded(&checked(&files(rows), &arguments).1);
            assert_eq!(text.matches("상한 5").count() - text.matches("상한 5를").count(), rows.min(20), "{text}");
            assert_eq!(text.contains("--all-rows"), more.is_some(), "{rows}: {text}");
            assert!(more.is_none_or(|more| text.contains(more)), "{rows}: {text}");
            assert!(text.contains("명세에 없는 도구 u 를 불렀습니다"), "{text}");
        }
        let all = succeeded(&checked(&files(30), &[&arguments[..], &["--all-rows"]].concat()).1);
        assert!(!all.contains("--all-rows") && all.matches("상한을 강제하도록").count() == 30, "{all}");
    }
    // The last group too.
    let calls: String = (0..21).map(|number| format!("{number},u,a,9\n")).collect();
    let files =
        [("calls.csv", format!("{CALLS_HEADER}{calls}")), ("specs.csv", format!("{SPECS_HEADER}t,a,,5,true\n"))];
    assert!(succeeded(&checked(&files, &["calls.csv", "--specs", "specs.csv"]).1).contains("외 1건"));
}

#[test]
fn white_space_around_values_can_be_seen() {
    let files = [
        ("calls.csv", format!("{CALLS_HEADER}1 ,t,a, x\n2,t,a,\"\"\n3,t,a,\" \"\n4,t, a,x\n")),
        ("specs.csv", format!("{SPECS_HEADER}t,a,x,,true\n")),
    ];
    let (_, output) = checked(&files, &["calls.csv", "--specs", "specs.csv"]);
    let text = succeeded(&output);
    for expected in ["'1␣' · t · a = '␣x'", "2 · t · a = ''", "3 · t · a = '␣'", "a에 허용 목록에"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(told(&output).contains("t.'␣a'"), "{}", told(&output));
}

#[test]
fn hints_fit_the_command() {
    let place = Place::new();
    seed_in(&place);
    for arguments in [&["list"][..], &["compare"], &["delete", "x"]] {
        let output = run(&place, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}");
        assert!(told(&output).contains("calls check") && !told(&output).contains("ingest"), "{}", told(&output));
    }
    let output = run(&place, &["check", "calls.jsonl", "--specs", "tool_specs.json", "--fail-on", "foo"]);
    assert!(told(&output).contains("any, unjudged, compliant"), "{}", told(&output));
    // A header is no row 0.
    place.write("wrong.csv", "call_no,tool_name_raw,arg_name\n1,t,a\n");
    let output = run(&place, &["check", "wrong.csv", "--specs", "tool_specs.json"]);
    let text = told(&output);
    assert!(text.contains("(열 이름 줄: arg_value)") && !text.contains("행 0"), "{text}");
    assert!(text.contains("이 표를 읽지 않습니다"), "{text}");
}

#[test]
fn broken_first_line_makes_no_csv_of_json() {
    let rows = fs::read_to_string(fixture("calls.jsonl")).unwrap();
    let whole = calls_of(&rows).0.len();
    for (first, code) in [
        ("garbage, more\n", "not_json 1 "),
        ("\"text, more\"\n", "not_an_object 1 "),
        ("17\n", "not_an_object 1 "),
        ("\"no end\n", "not_json 1 "),
    ] {
        let (calls, issues) = calls_of(format!("{first}{rows}"));
        assert_eq!((calls.len(), told_issues(&issues)), (whole, vec![code.to_owned()]), "{first}");
    }
    // A header stays one, whatever stands below it.
    let (calls, issues) = calls_of(format!("{CALLS_HEADER}1,t,a,1\n{{\"x\"\n2,t,a,1\n"));
    assert_eq!((calls.len(), issues.len()), (2, 1));
}
