//! Lint: every error with its pointer and line, all of them in order; and freezing.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taco_trace::eval::freeze::freeze;
use taco_trace::eval::lint::{CODES, SCHEMA, lint};
use taco_trace::render::{Texts, eval as words};

use super::{changed, plain, with};

fn found(document: &Value) -> Vec<(String, &'static str)> {
    lint(&document.to_string()).into_iter().map(|problem| (problem.pointer, problem.code)).collect()
}

fn without(pointer: &str) -> Value {
    let mut document = plain();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    document.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key).unwrap();
    document
}

/// The plain case with a check in place of its own.
fn check(check: Value) -> Value {
    let mut document = plain();
    document["checks"][0] = check;
    document["checks"][0]["id"] = json!("c");
    document
}

fn set(pointer: &str, value: Value) -> Value {
    let mut document = plain();
    *document.pointer_mut(pointer).unwrap_or_else(|| panic!("nothing at {pointer}")) = value;
    document
}

/// One document for each mistake: what is wrong with it, where and how it is called.
fn mistakes() -> Vec<(Value, &'static str, &'static str)> {
    let fault = |fault: Value| with("/faults", json!([fault]));
    let approval = |tool: &str, expires_at: &str| {
        with(
            "/approvals",
            json!([{"id": "a", "tool": tool, "arguments": {}, "tool_version": "2", "expires_at": expires_at}]),
        )
    };
    let count = |pointer: &str| check(json!({"kind": "state_count", "pointer": pointer, "max": 1}));
    let value =
        |pointer: &str, matcher: Value| check(json!({"kind": "state_value", "pointer": pointer, "value": matcher}));
    let end = "2026-10-06T11:00:00+09:00";
    vec![
        (without("/id"), "", "missing"),
        (without("/actor/org"), "/actor", "missing"),
        (with("/extra", json!(1)), "/extra", "unexpected"),
        (check(json!({"kind": "answer", "contains": ["a"], "max": 1})), "/checks/0/max", "unexpected"),
        (set("/name", json!(1)), "/name", "wrong_type"),
        (set("/name", json!("")), "/name", "empty_text"),
        (set("/format", json!("irumx-eval-case/2")), "/format", "not_allowed"),
        (set("/tools/0/effect", json!("look")), "/tools/0/effect", "not_allowed"),
        (set("/id", json!("a b")), "/id", "wrong_form"),
        (set("/turns", json!([])), "/turns", "too_few"),
        (set("/checks", json!([])), "/checks", "too_few"),
        (value("/notes/n1/to", json!({"equals": 1, "exists": true})), "/checks/0/value", "too_many"),
        (set("/limits/tool_calls", json!(0)), "/limits/tool_calls", "too_small"),
        (set("/limits/turns", json!(0)), "/limits/turns", "too_small"),
        (set("/limits/time_ms", json!(0)), "/limits/time_ms", "too_small"),
        (with("/requires", json!(["a", "a"])), "/requires", "repeated_item"),
        (set("/tools/1/result/record", json!({"id": "x"})), "/tools/1/result/record", "own_id"),
        (fault(json!({"tool": "add", "call": 0, "kind": "limit"})), "/faults/0/call", "too_small"),
        (fault(json!({"tool": "none", "call": 1, "kind": "limit"})), "/faults/0/tool", "unknown_tool"),
        (fault(json!({"tool": "add", "call": 10, "kind": "limit"})), "/faults/0/call", "fault_out_of_reach"),
        (fault(json!({"tool": "add", "call": 1, "kind": "delay"})), "/faults/0", "delay_and_kind"),
        (
            fault(json!({"tool": "add", "call": 1, "kind": "limit", "delay_ms": 5})),
            "/faults/0/delay_ms",
            "delay_and_kind",
        ),
        (
            fault(json!({"tool": "add", "call": 1, "kind": "limit", "message": "m"})),
            "/faults/0/message",
            "message_and_kind",
        ),
        (
            with(
                "/faults",
                json!([{"tool": "add", "call": 1, "kind": "limit"}, {"tool": "add", "call": 1, "kind": "tool_error"}]),
            ),
            "/faults/1",
            "repeated_fault",
        ),
        (approval("none", end), "/approvals/0/tool", "unknown_tool"),
        (approval("", end), "/approvals/0/tool", "empty_text"),
        (approval("add", end), "/approvals/0/tool", "approval_not_needed"),
        (approval("send", "tomorrow"), "/approvals/0/expires_at", "not_a_time"),
        (set("/now", json!("2026-10-06")), "/now", "not_a_time"),
        (
            set(
                "/turns",
                json!([
                    {"event_id": "a", "content": "", "now": "2026-10-07T00:00:00Z"},
                    {"event_id": "b", "content": "", "now": "2026-10-06T23:59:59Z"},
                ]),
            ),
            "/turns/1/now",
            "time_goes_back",
        ),
        (set("/world/notes", json!([{"id": "a"}, {"id": "a"}])), "/world/notes/1/id", "repeated_id"),
        (set("/world/mails", json!([{"id": "new"}])), "/world/mails/0/id", "reserved_id"),
        (set("/tools/1/name", json!("find")), "/tools/1/name", "repeated_id"),
        (set("/tools/2/result/collection", json!("none")), "/tools/2/result/collection", "unknown_collection"),
        (set("/tools/1/effect", json!("read")), "/tools/1/effect", "read_changes"),
        (set("/tools/0/parameters", json!({"type": "objekt"})), "/tools/0/parameters", "bad_schema"),
        (set("/tools/0/result/where", json!({"to": {"$arg": "to"}})), "/tools/0/result/where/to/$arg", "bad_template"),
        (
            set("/tools/0/result/where", json!({"to": {"$env": "HOME"}})),
            "/tools/0/result/where/to/$env",
            "bad_template",
        ),
        (
            check(json!({"kind": "event_count", "event": "call", "tool": "none", "max": 1})),
            "/checks/0/tool",
            "unknown_tool",
        ),
        (check(json!({"kind": "approval_integrity", "tools": ["none"]})), "/checks/0/tools/0", "unknown_tool"),
        (check(json!({"kind": "event_count", "event": "call"})), "/checks/0", "no_bounds"),
        (
            check(json!({"kind": "metric", "metric": "tool_calls", "min": 2, "max": 1})),
            "/checks/0/min",
            "bounds_crossed",
        ),
        (check(json!({"kind": "metric", "metric": "tool_calls", "min": 0})), "/checks/0/min", "always_holds"),
        (count("/none"), "/checks/0/pointer", "unknown_collection"),
        (count("/notes/n1"), "/checks/0/pointer", "names_no_value"),
        (count("/notes/~2"), "/checks/0/pointer", "not_a_pointer"),
        (value("/notes", json!({"exists": true})), "/checks/0/pointer", "names_no_value"),
        (value("/notes/new", json!({"exists": true})), "/checks/0/pointer", "names_no_value"),
        (value("/notes/new/first/to", json!({"exists": true})), "/checks/0/pointer", "names_no_value"),
        (value("/notes/n1/to", json!({"matches": "("})), "/checks/0/value/matches", "bad_regex"),
        (check(json!({"kind": "answer"})), "/checks/0", "empty_check"),
        (check(json!({"kind": "answer", "none_of": ["a", "[z-a]"]})), "/checks/0/none_of/1", "bad_regex"),
        (check(json!({"kind": "answer", "turn": 2, "contains": ["a"]})), "/checks/0/turn", "unknown_turn"),
        (check(json!({"kind": "no_marker_leak", "markers": []})), "/checks/0/markers", "too_few"),
        (check(json!({"kind": "no_marker_leak", "markers": [""]})), "/checks/0/markers/0", "empty_text"),
        (check(json!({"kind": "no_marker_leak", "markers": ["a b c d e"]})), "/checks/0/markers/0", "short_marker"),
        (
            check(json!({"kind": "event_count", "event": "call", "max": 1, "arguments": {"to": {"exists": true}}})),
            "/checks/0/arguments/to",
            "not_a_pointer",
        ),
        (
            check(json!({"kind": "any_of", "of": [
                {"kind": "answer", "contains": ["a"]}, {"kind": "answer", "matches": ["("]},
            ]})),
            "/checks/0/of/1/matches/0",
            "bad_regex",
        ),
        (
            changed(plain(), "/checks/1", json!({"id": "c1", "kind": "answer", "contains": ["a"]})),
            "/checks/1/id",
            "repeated_id",
        ),
        (set("/golden_flow", json!([{"turn": 1, "tool": "none"}])), "/golden_flow/0/tool", "unknown_tool"),
        (set("/golden_flow", json!([{"turn": 2, "answer": "a"}])), "/golden_flow/0/turn", "unknown_turn"),
        (set("/golden_flow", json!([{"turn": 1}])), "/golden_flow/0", "call_or_answer"),
        (
            set("/golden_flow", json!([{"turn": 1, "tool": "add", "arguments": {"to": 1}}])),
            "/golden_flow/0/arguments/to",
            "bad_arguments",
        ),
        (
            set("/golden_flow", Value::Array(vec![json!({"turn": 1, "tool": "find"}); 10])),
            "/golden_flow",
            "flow_over_limit",
        ),
        (set("/world/notes/0/size", json!(9_007_199_254_740_992_u64)), "/world/notes/0/size", "inexact_number"),
        (
            {
                let mut two = set("/golden_flow", json!([{"turn": 2, "answer": "a"}, {"turn": 1, "answer": "a"}]));
                two["turns"] = json!([{"event_id": "a", "content": ""}, {"event_id": "b", "content": ""}]);
                two
            },
            "/golden_flow/1/turn",
            "turn_goes_back",
        ),
        (set("/limits/turns", json!(9_007_199_254_740_993_u64)), "/limits/turns", "too_large"),
    ]
}

#[test]
fn plain_case_is_sound_also_at_the_edges() {
    assert_eq!(found(&plain()), []);
    for sound in [
        with("/faults", json!([{"tool": "add", "call": 9, "kind": "delay", "delay_ms": 1}])),
        check(json!({"kind": "no_marker_leak", "markers": ["a b c d e f"]})),
        check(json!({"kind": "metric", "metric": "tool_calls", "min": 1, "max": 1})),
        check(json!({"kind": "metric", "metric": "tool_calls", "min": 0, "max": 0})),
        check(json!({"kind": "answer", "turn": 1, "contains": ["a"]})),
        set("/golden_flow", Value::Array(vec![json!({"turn": 1, "tool": "find"}); 9])),
        set("/world/notes/0/size", json!(9_007_199_254_740_991_u64)),
        set("/world/notes/0/size", json!(-9_007_199_254_740_991_i64)),
        set("/limits", json!({"tool_calls": 1, "turns": 1, "time_ms": 1})),
    ] {
        assert_eq!(found(&sound), [], "{sound}");
    }
}

#[test]
fn each_mistake_has_its_code_and_pointer() {
    for (document, pointer, code) in mistakes() {
        let found = found(&document);
        assert!(found.contains(&(pointer.to_owned(), code)), "{code} at {pointer}: {found:?}");
    }
}

#[test]
fn every_code_is_reached_and_has_words() {
    let texts = Texts::korean();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut texts_of = mistakes().into_iter().map(|(document, ..)| document.to_string()).collect::<Vec<_>>();
    texts_of.extend(["{".to_owned(), r#"{"a": 1, "a": 2}"#.to_owned()]);
    texts_of.push(r#"{"format": "irumx-eval-case-proposal-v1"}"#.to_owned());
    for text in texts_of {
        for problem in lint(&text) {
            let said = words::problem(&texts, &problem);
            assert!(!said.is_empty() && !said.contains("eval_problems.j2"), "{}: {said}", problem.code);
            assert!(!said.contains('\n'), "{said}");
            reached.insert(problem.code);
        }
    }
    // `schema` is for keywords that the schema does not use today.
    let known: BTreeSet<&str> = CODES.into_iter().filter(|code| *code != "schema").collect();
    assert_eq!(reached, known);
    assert!(CODES.is_sorted());
}

#[test]
fn all_mistakes_are_told_in_the_order_of_the_document() {
    let text = r#"{
  "format": "irumx-eval-case/1",
  "limits": {"tool_calls": 0, "turns": 1, "time_ms": 1},
  "checks": [
    {"id": "a", "kind": "answer", "matches": ["("]},
    {"id": "a", "kind": "answer", "contains": ["x"], "turn": 7}
  ],
  "turns": [{"event_id": "e", "content": "c", "event_id": "f"}],
  "id": "x",
  "now": "never"
}"#;
    let found: Vec<(u64, String, &str)> =
        lint(text).into_iter().map(|problem| (problem.line, problem.pointer, problem.code)).collect();
    let missing = found.iter().filter(|(_, _, code)| *code == "missing").count();
    assert_eq!(missing, 8, "{found:#?}");
    let rest: Vec<(u64, &str, &str)> = found
        .iter()
        .filter(|(_, _, code)| *code != "missing")
        .map(|(line, pointer, code)| (*line, pointer.as_str(), *code))
        .collect();
    assert_eq!(
        rest,
        [
            (3, "/limits/tool_calls", "too_small"),
            (5, "/checks/0/matches/0", "bad_regex"),
            (6, "/checks/1/id", "repeated_id"),
            (6, "/checks/1/turn", "unknown_turn"),
            (8, "/turns/0/event_id", "repeated_key"),
            (10, "/now", "not_a_time"),
        ]
    );
}

#[test]
fn text_that_is_no_json_is_told_with_its_line() {
    for (text, line) in [("", 1), ("{\n\n", 3), ("{\"a\": 1}\n{}", 2), ("\"\u{0}\"", 1)] {
        let problems = lint(text);
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].line, problems[0].code), (line, "not_json"), "{text:?}");
    }
    for text in ["[]", "1", "null", "\"a\""] {
        assert_eq!(lint(text)[0].code, "wrong_type", "{text}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(lint(&deep)[0].code, "not_json");
}

#[test]
fn unpublished_format_is_named_and_refused() {
    let text = "{\n \"format\": \"irumx-eval-case-proposal-v1\", \"anything\": []}";
    let problems = freeze(text).unwrap_err();
    assert_eq!(problems.len(), 1);
    assert_eq!(
        (problems[0].line, problems[0].pointer.as_str(), problems[0].code),
        (2, "/format", "unpublished_format")
    );
}

#[test]
fn frozen_version_is_of_the_meaning_and_not_of_the_writing() {
    let compact = plain().to_string();
    let (frozen, case) = freeze(&compact).unwrap();
    assert_eq!((frozen.id.as_str(), case.id.as_str(), frozen.sha256.len()), ("plain", "plain", 64));
    let pretty = serde_json::to_string_pretty(&plain()).unwrap().replace("\"time_ms\": 1000", "\"time_ms\": 1e3");
    assert_ne!(pretty, compact);
    // 1e3 is no whole number to the types, so it is refused and not frozen as another version.
    assert!(freeze(&pretty).is_err() || freeze(&pretty).unwrap().0.sha256 == frozen.sha256);
    let marked = format!("\u{feff}{}", serde_json::to_string_pretty(&plain()).unwrap());
    assert_eq!(freeze(&marked).unwrap().0, frozen);
    let other = set("/turns/0/content", json!("d"));
    assert_ne!(freeze(&other.to_string()).unwrap().0.sha256, frozen.sha256);
    // What was frozen freezes to itself.
    assert_eq!(freeze(&frozen.document).unwrap().0, frozen);
    assert!(
        freeze(&compact.replacen("\"id\"", "\"id\":\"x\",\"id\"", 1))
            .unwrap_err()
            .iter()
            .any(|one| one.code == "repeated_key")
    );
}

#[test]
fn schema_is_a_schema_that_describes_every_property() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let undescribed: Vec<&String> = schema["properties"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, property)| property["description"].as_str().is_none_or(str::is_empty))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(undescribed, [""; 0]);
}
