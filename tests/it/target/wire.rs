//! What is said in `irumx-eval-target/1`: bodies to the letter, and what is read of answers.

use serde_json::{Value, json};
use taco_trace::chat::Usage;
use taco_trace::model::SandboxAccess;
use taco_trace::target::wire::{preflight_request, read_answer, read_preflight};
use taco_trace::target::{Preflight, Proposal, TargetError, TurnRequest};

use crate::eval::{case, plain};

fn access() -> SandboxAccess {
    SandboxAccess {
        base_url: "https://eval.example.com/api/sandbox/t1".to_owned(),
        token: "tk".to_owned(),
        expires_at: "2026-10-06T01:01:01Z".to_owned(),
    }
}

#[test]
fn a_turn_is_that_of_the_guide_to_the_letter() {
    let mut document = plain();
    document["business_rules"] = json!(["rule"]);
    document["turns"] = json!([
        {"event_id": "e1", "content": "c"},
        {"event_id": "e2", "content": "d", "now": "2026-10-07T09:00:00+09:00"},
    ]);
    let case = case(document);
    let access = access();
    let turn = |number| TurnRequest::new(&case, "t1", number, Some(&access));
    let tool = |place: usize, name: &str| json!({"name": name, "description": "", "parameters": plain()["tools"][place]["parameters"]});
    let body = json!({
        "protocol": "irumx-eval-target/1", "type": "turn",
        "trial_id": "t1", "turn": 1,
        "actor": {"id": "u1", "name": "n", "role": "r", "org": null},
        "business_rules": ["rule"], "now": "2026-10-06T10:00:00+09:00",
        "message": {"role": "user", "content": "c", "event_id": "e1"},
        "tools": [tool(0, "find"), tool(1, "add"), tool(2, "send")],
        "sandbox": {"base_url": "https://eval.example.com/api/sandbox/t1", "token": "tk",
                    "expires_at": "2026-10-06T01:01:01Z"},
    });
    assert_eq!(serde_json::to_value(turn(1).unwrap()).unwrap(), body);
    let second = serde_json::to_value(turn(2).unwrap()).unwrap();
    assert_eq!((&second["turn"], &second["now"]), (&json!(2), &json!("2026-10-07T09:00:00+09:00")));
    assert_eq!(second["message"]["event_id"], "e2");
    assert_eq!((turn(0), turn(3)), (None, None));
    assert_eq!(preflight_request(), json!({"protocol": "irumx-eval-target/1", "type": "preflight"}));
}

/// A target that only answers is offered nothing that it could call.
#[test]
fn answer_only_is_told_of_neither_tools_nor_sandbox() {
    let case = case(plain());
    let body = serde_json::to_value(TurnRequest::new(&case, "t1", 1, None).unwrap()).unwrap();
    let members: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["actor", "business_rules", "message", "now", "protocol", "trial_id", "turn", "type"];
    assert_eq!(members, expected);
}

#[test]
fn a_preflight_tells_name_version_and_capabilities() {
    let told = json!({
        "protocol": "irumx-eval-target/1", "name": "my-agent", "version": "2026.10.06",
        "capabilities": ["cancel_signal", "proposals"], "more": 1,
    });
    let found = read_preflight(&told).unwrap();
    let expected = Preflight {
        name: "my-agent".to_owned(),
        version: "2026.10.06".to_owned(),
        capabilities: vec!["cancel_signal".to_owned(), "proposals".to_owned()],
    };
    assert_eq!(found, expected);
    assert!(found.submits_proposals());
    let changed = |key: &str, value: Value| {
        let mut told = told.clone();
        told[key] = value;
        read_preflight(&told)
    };
    assert_eq!(changed("capabilities", Value::Null).unwrap().capabilities, [""; 0]);
    assert!(!changed("capabilities", json!(["cancel_signal"])).unwrap().submits_proposals());
    for (key, value, code) in [
        ("protocol", json!("irumx-eval-target/2"), "target_protocol"),
        ("protocol", Value::Null, "target_protocol"),
        ("name", Value::Null, "target_unreadable"),
        ("name", json!(" "), "target_unreadable"),
        ("version", json!(1), "target_unreadable"),
        ("capabilities", json!("cancel_signal"), "target_unreadable"),
        ("capabilities", json!([1]), "target_unreadable"),
    ] {
        assert_eq!(changed(key, value.clone()).unwrap_err().code(), code, "{key} {value}");
    }
    for other in [json!([]), json!("x"), Value::Null] {
        assert_eq!(read_preflight(&other).unwrap_err().code(), "target_unreadable");
    }
    let long = changed("name", json!("가\n".repeat(1_000))).unwrap().name;
    assert_eq!((long.chars().count(), long.contains('\n')), (200, false));
}

#[test]
fn an_answer_tells_its_text_proposals_other_events_and_usage() {
    let found = read_answer(json!({
        "output": {"text": "done", "more": 1},
        "events": [
            {"type": "proposal", "tool": "add", "arguments": {"to": "a"}, "blocked": true},
            {"type": "proposal", "tool": "find"},
            {"type": "tool_call", "tool": "add"},
            {"type": "proposal"},
            {"type": "proposal", "tool": "add", "blocked": "yes"},
            "free",
        ],
        "usage": {"input_tokens": 7, "output_tokens": 3, "cached_tokens": 1},
    }))
    .unwrap();
    let proposal = |tool: &str, arguments: Value, blocked: bool| Proposal { tool: tool.to_owned(), arguments, blocked };
    assert_eq!(found.text, "done");
    assert_eq!(found.proposals, [proposal("add", json!({"to": "a"}), true), proposal("find", json!({}), false)]);
    let others = json!([
        {"type": "tool_call", "tool": "add"}, {"type": "proposal"},
        {"type": "proposal", "tool": "add", "blocked": "yes"}, "free",
    ]);
    assert_eq!(json!(found.others), others, "kept as they were told");
    assert_eq!(found.usage, Some(Usage { input_tokens: 7, output_tokens: 3 }));

    let least = read_answer(json!({"output": {"text": ""}})).unwrap();
    assert_eq!((least.text.as_str(), least.proposals.len(), least.others.len(), least.usage), ("", 0, 0, None));
    for wrong in [
        json!([]),
        json!({}),
        json!({"output": "done"}),
        json!({"output": {"text": null}}),
        json!({"output": {"text": "a"}, "events": {}}),
        json!({"output": {"text": "a"}, "usage": {"input_tokens": -1}}),
        json!({"output": {"text": "a"}, "usage": "many"}),
        json!({"output": {"text": "a"}, "usage": [1, 2]}),
    ] {
        let found = read_answer(wrong.clone());
        assert!(matches!(found, Err(TargetError::Unreadable { .. })), "{wrong}: {found:?}");
    }
}
