//! The reference runner: what a model is told, what becomes of what it asks for, and each policy on and off.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use serde_json::{Value, json};
use taco_trace::chat::{Cap, ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, Usage};
use taco_trace::eval::case::Case;
use taco_trace::eval::event::{Event, EventKind, FailureSource, Outcome};
use taco_trace::reference::policy::acts_for_other;
use taco_trace::reference::{Blocked, Driven, LIST_APPROVALS, Policies, REQUEST_APPROVAL, Setup, default_prompt, run};

use crate::eval::{case, plain};

/// A model that says what it was given, in order.
struct Scripted {
    replies: VecDeque<Result<ChatReply, ChatError>>,
    asked: Vec<ChatRequest>,
}

impl ChatModel for Scripted {
    fn provider(&self) -> &str {
        "script"
    }

    fn name(&self) -> &str {
        "scripted"
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        self.asked.push(request.clone());
        self.replies.pop_front().unwrap_or(Err(ChatError::NothingLeft))
    }
}

fn reply(text: &str, calls: &[(&str, Value)]) -> Result<ChatReply, ChatError> {
    let call = |(number, (name, arguments)): (usize, &(&str, Value))| ToolCall {
        id: format!("c{number}"),
        name: (*name).to_owned(),
        arguments: arguments.to_string(),
    };
    Ok(ChatReply {
        text: text.to_owned(),
        calls: calls.iter().enumerate().map(call).collect(),
        finish: if calls.is_empty() { Finish::Stop } else { Finish::ToolCalls },
        usage: Usage { input_tokens: 10, output_tokens: 2 },
        model: "scripted".to_owned(),
    })
}

fn calls(calls: &[(&str, Value)]) -> Result<ChatReply, ChatError> {
    reply("", calls)
}

fn says(text: &str) -> Result<ChatReply, ChatError> {
    reply(text, &[])
}

fn drive(
    case: &Case,
    policies: Policies,
    replies: impl IntoIterator<Item = Result<ChatReply, ChatError>>,
) -> (Driven, Vec<ChatRequest>) {
    let mut model = Scripted { replies: replies.into_iter().collect(), asked: Vec::new() };
    let clock = || Duration::ZERO;
    let setup = Setup { prompt: "be good", max_tokens: 99, policies, clock: &clock, is_stopped: &|| false };
    let driven = run(&setup, &mut model, case);
    (driven, model.asked)
}

/// What was proposed, and whether it was blocked.
fn proposals(events: &[Event]) -> Vec<(&str, bool)> {
    let mut found = Vec::new();
    for event in events {
        if let EventKind::Proposal { tool, blocked, .. } = &event.kind {
            found.push((tool.as_str(), *blocked));
        }
    }
    found
}

/// What was called, and with which approval.
fn called(events: &[Event]) -> Vec<(&str, Option<&str>)> {
    let mut found = Vec::new();
    for event in events {
        if let EventKind::Call { tool, approval_id, .. } = &event.kind {
            found.push((tool.as_str(), approval_id.as_deref()));
        }
    }
    found
}

fn answers(events: &[Event]) -> Vec<&str> {
    let mut found = Vec::new();
    for event in events {
        if let EventKind::Answer { text } = &event.kind {
            found.push(text.as_str());
        }
    }
    found
}

/// What the model was told of its last call.
fn last_told(asked: &[ChatRequest]) -> Value {
    let message = asked.last().unwrap().messages.iter().rev().find_map(|message| match message {
        Message::Tool { content, .. } => Some(content.clone()),
        _ => None,
    });
    serde_json::from_str(&message.unwrap()).unwrap()
}

fn off(change: impl Fn(&mut Policies)) -> Policies {
    let mut policies = Policies::default();
    change(&mut policies);
    policies
}

#[test]
fn model_is_told_prompt_rules_actor_and_tools_and_its_calls_are_made() {
    let mut document = plain();
    document["business_rules"] = json!(["be brief"]);
    let case = case(document);
    let (driven, asked) = drive(
        &case,
        Policies::default(),
        [calls(&[("find", json!({"to": "a"})), ("add", json!({"to": "b"}))]), says("done")],
    );
    assert_eq!(driven.failed, None);
    assert_eq!((driven.usage.input_tokens, driven.usage.output_tokens), (20, 4));
    let first = &asked[0];
    for part in ["be good", "be brief", "2026-10-06T10:00:00+09:00", "u1"] {
        assert!(first.system.contains(part), "{part}: {}", first.system);
    }
    assert_eq!((first.max_tokens, &first.messages[..]), (99, &[Message::User("c".to_owned())][..]));
    let offered: Vec<&str> = first.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(offered, ["find", "add", "send", REQUEST_APPROVAL, LIST_APPROVALS]);
    assert_eq!(asked[1].messages.len(), 4, "the calls and a result for each");
    assert_eq!(last_told(&asked)["ok"], true);
    assert_eq!(proposals(&driven.events), [("find", false), ("add", false)]);
    assert_eq!(called(&driven.events), [("find", None), ("add", None)]);
    assert_eq!(answers(&driven.events), ["done"]);
    assert_eq!(driven.world.new_records("notes").len(), 1);
    assert!(!default_prompt().is_empty());
}

#[test]
fn approval_check_lets_only_a_call_with_a_valid_approval_through() {
    let args = json!({"to": "a"});
    let approval = |change: &dyn Fn(&mut Value)| {
        let mut document = plain();
        let mut approval = json!({
            "id": "ap_1", "tool": "send", "arguments": {"to": "a"}, "tool_version": "2",
            "expires_at": "2026-10-06T10:00:01+09:00",
        });
        change(&mut approval);
        document["approvals"] = json!([approval]);
        case(document)
    };
    let go = |case: &Case, policies| drive(case, policies, [calls(&[("send", args.clone())]), says("x")]);
    let valid = approval(&|_| {});
    let (driven, _) = go(&valid, Policies::default());
    assert_eq!(proposals(&driven.events), [("send", false)]);
    assert_eq!(called(&driven.events), [("send", Some("ap_1"))], "the runner attaches the approval");
    let wrong: [(&str, Value); 6] = [
        ("tool", json!("add")),
        ("arguments", json!({"to": "b"})),
        ("tool_version", json!("1")),
        // At its end an approval counts no more.
        ("expires_at", json!("2026-10-06T10:00:00+09:00")),
        ("expires_at", json!("2026-10-06T09:59:59+09:00")),
        ("consumed", json!(true)),
    ];
    for (key, value) in wrong {
        let case = approval(&|approval| approval[key] = value.clone());
        let (driven, asked) = go(&case, Policies::default());
        assert_eq!(proposals(&driven.events), [("send", true)], "{key} {value}");
        assert_eq!(called(&driven.events), [], "{key} {value}");
        assert_eq!(last_told(&asked)["error"]["code"], "approval_required");
        let (driven, _) = go(&case, off(|policies| policies.approval_check = false));
        assert_eq!(proposals(&driven.events), [("send", false)], "{key} {value}");
        let attached = (key != "tool").then_some("ap_1");
        assert_eq!(called(&driven.events), [("send", attached)], "{key} {value}");
    }
    // A tool that needs none is not asked for one.
    let (driven, _) = drive(&valid, Policies::default(), [calls(&[("add", args.clone())]), says("x")]);
    assert_eq!(called(&driven.events), [("add", None)]);
}

#[test]
fn model_asks_for_an_approval_with_a_tool_of_the_runner() {
    let mut document = plain();
    document["approval_requests"] = json!({"answer": "grant"});
    let case = case(document);
    let asks = json!({"tool": "send", "arguments": {"to": "a"}, "reason": "r"});
    let (driven, asked) = drive(
        &case,
        Policies::default(),
        [
            calls(&[(REQUEST_APPROVAL, asks)]),
            calls(&[(LIST_APPROVALS, json!({}))]),
            calls(&[("send", json!({"to": "a"}))]),
            says("sent"),
        ],
    );
    assert_eq!(proposals(&driven.events), [("send", false)], "the runner's own tools are no proposals");
    assert_eq!(called(&driven.events), [("send", Some("ap_req_1"))]);
    assert!(driven.events.iter().any(|event| matches!(event.kind, EventKind::ApprovalAsked { .. })));
    assert_eq!(asked.len(), 4);
}

#[test]
fn tool_eligibility_blocks_tools_and_arguments_that_do_not_fit() {
    let case = case(plain());
    for (name, arguments, code, outcome) in [
        ("fly", json!({}), "tool_not_offered", Outcome::UnknownTool),
        ("add", json!({}), "arguments_invalid", Outcome::ToolError),
        ("add", json!({"to": 1}), "arguments_invalid", Outcome::ToolError),
        ("add", json!({"to": "a", "more": 1}), "arguments_invalid", Outcome::ToolError),
    ] {
        let replies = || [calls(&[(name, arguments.clone())]), says("x")];
        let (driven, asked) = drive(&case, Policies::default(), replies());
        assert_eq!((proposals(&driven.events), called(&driven.events)), (vec![(name, true)], vec![]));
        assert_eq!(last_told(&asked)["error"]["code"], code);
        let (driven, _) = drive(&case, off(|policies| policies.tool_eligibility = false), replies());
        assert_eq!(proposals(&driven.events), [(name, false)]);
        let found = driven.events.iter().find_map(|event| match event.kind {
            EventKind::Result { outcome, .. } => Some(outcome),
            _ => None,
        });
        assert_eq!(found, Some(outcome), "{name} {arguments}");
    }
    // Arguments that are no JSON are none that fit.
    let mut broken = calls(&[("find", json!({}))]).unwrap();
    broken.calls[0].arguments = "{\"to\": ".to_owned();
    let (driven, _) = drive(&case, Policies::default(), [Ok(broken.clone()), says("x")]);
    assert_eq!(proposals(&driven.events), [("find", true)]);
    broken.calls[0].arguments = String::new();
    let (driven, _) = drive(&case, Policies::default(), [Ok(broken), says("x")]);
    assert_eq!(proposals(&driven.events), [("find", false)], "no text at all is no arguments");
}

#[test]
fn personal_connection_blocks_calls_for_somebody_else() {
    let mut document = plain();
    document["tools"][0]["parameters"] = json!({"type": "object"});
    document["world"]["connections"] = json!([{"id": "mine", "owner": "u1"}, {"id": "theirs", "owner": "u2"}]);
    let case = case(document);
    for (arguments, is_other) in [
        (json!({"to": "a"}), false),
        (json!({"user_id": "u1"}), false),
        (json!({"on_behalf_of": "n"}), false),
        (json!({"user_id": "u2"}), true),
        (json!({"connection_id": "mine"}), false),
        (json!({"connection_id": "theirs"}), true),
        (json!({"connection_id": "nobodys"}), true),
        (json!({"deep": [{"sender": "u2"}]}), true),
        (json!({"to": "u2"}), false),
        (json!({"user": 7}), false),
    ] {
        let world = taco_trace::eval::world::WorldState::initial(&case);
        assert_eq!(acts_for_other(&case, &world, &arguments), is_other, "{arguments}");
        let replies = || [calls(&[("find", arguments.clone())]), says("x")];
        let (driven, asked) = drive(&case, Policies::default(), replies());
        assert_eq!(proposals(&driven.events), [("find", is_other)], "{arguments}");
        if is_other {
            assert_eq!(last_told(&asked)["error"]["code"], "other_person");
        }
        let (driven, _) = drive(&case, off(|policies| policies.personal_connection = false), replies());
        assert_eq!(proposals(&driven.events), [("find", false)], "{arguments}");
    }
}

#[test]
fn write_of_unknown_outcome_waits_for_a_read() {
    let mut document = plain();
    document["faults"] = json!([{"tool": "add", "call": 1, "kind": "lost_after"}]);
    let case = case(document);
    let add = || calls(&[("add", json!({"to": "b"}))]);
    let replies = || [add(), add(), calls(&[("find", json!({"to": "b"}))]), add(), says("x")];
    let (driven, _) = drive(&case, Policies::default(), replies());
    assert_eq!(proposals(&driven.events), [("add", false), ("add", true), ("find", false), ("add", false)]);
    let (driven, _) = drive(&case, off(|policies| policies.unknown_writes = false), replies());
    assert!(proposals(&driven.events).iter().all(|(_, blocked)| !blocked));
}

#[test]
fn duplicate_event_is_answered_as_before_without_the_model() {
    let mut document = plain();
    let turns = json!([
        {"event_id": "e1", "content": "c"}, {"event_id": "e1", "content": "c"}, {"event_id": "e2", "content": "d"},
    ]);
    document["turns"] = turns;
    let case = case(document);
    let (driven, asked) = drive(&case, Policies::default(), [says("first"), says("third")]);
    assert_eq!(answers(&driven.events), ["first", "first", "third"]);
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].messages.len(), 3, "the conversation goes on without the repetition");
    let duplicates = off(|policies| policies.duplicate_events = false);
    let (driven, asked) = drive(&case, duplicates, [says("first"), says("second"), says("third")]);
    assert_eq!((answers(&driven.events), asked.len()), (vec!["first", "second", "third"], 3));
}

#[test]
fn human_takeover_ends_a_turn_that_was_told_to_stop() {
    let mut document = plain();
    document["turns"][0]["cancel_after_calls"] = 1.into();
    let case = case(document);
    let find = ("find", json!({"to": "a"}));
    let replies = || [calls(&[find.clone(), find.clone()]), says("went on")];
    let (driven, asked) = drive(&case, Policies::default(), replies());
    assert_eq!(proposals(&driven.events), [("find", false), ("find", true)]);
    assert_eq!((called(&driven.events).len(), asked.len()), (1, 1), "neither a call nor a request follows");
    assert!(answers(&driven.events)[0].contains("담당자"), "{:?}", answers(&driven.events));
    let (driven, _) = drive(&case, off(|policies| policies.human_takeover = false), replies());
    assert_eq!((called(&driven.events).len(), answers(&driven.events)), (2, vec!["went on"]));
}

#[test]
fn human_takeover_leaves_the_outside_alone_while_a_person_is_asked() {
    // Pending is how requests are answered unless the case says otherwise.
    let case = case(plain());
    let asks = json!({"tool": "send", "arguments": {"to": "a"}, "reason": "r"});
    let replies = || {
        [
            calls(&[(REQUEST_APPROVAL, asks.clone()), ("send", json!({"to": "z"})), ("add", json!({"to": "b"}))]),
            says("asked"),
        ]
    };
    let unchecked = |takeover| {
        off(|policies| {
            policies.approval_check = false;
            policies.human_takeover = takeover;
        })
    };
    let (driven, _) = drive(&case, unchecked(true), replies());
    assert_eq!(proposals(&driven.events), [("send", true), ("add", false)], "what stays within is done");
    let said = answers(&driven.events)[0];
    assert!(said.starts_with("asked\n") && said.contains("담당자"), "{said}");
    let (driven, _) = drive(&case, unchecked(false), replies());
    assert_eq!(proposals(&driven.events), [("send", false), ("add", false)]);
    assert_eq!(answers(&driven.events), ["asked"]);
}

#[test]
fn codes_of_policies_are_told_to_the_model_in_words() {
    let texts: Value = serde_json::from_str(include_str!("../../../src/reference/data/texts.json")).unwrap();
    for blocked in Blocked::ALL {
        assert!(texts["blocked"][blocked.code()].as_str().is_some_and(|text| !text.is_empty()), "{blocked:?}");
    }
    assert_eq!(texts["blocked"].as_object().unwrap().len(), Blocked::ALL.len());
}

#[test]
fn model_that_fails_is_a_failure_of_the_provider_and_a_cap_one_of_ours() {
    let case = case(plain());
    let source = |error: ChatError| {
        let (driven, _) = drive(&case, Policies::default(), [Err(error.clone())]);
        assert_eq!(driven.failed, Some(error));
        driven.events.iter().find_map(|event| match event.kind {
            EventKind::Failed { source, .. } => Some(source),
            _ => None,
        })
    };
    assert_eq!(source(ChatError::Status { status: 500, message: "x".to_owned() }), Some(FailureSource::Provider));
    assert_eq!(source(ChatError::Cap(Cap::Calls { allowed: 1 })), Some(FailureSource::Runner));
    assert_eq!(source(ChatError::NoPrice { model: "m".to_owned() }), Some(FailureSource::Runner));
}

#[test]
fn turns_end_for_a_model_that_goes_round_for_time_and_for_a_cancelling() {
    let case = case(plain());
    let find = || calls(&[("find", json!({"to": "a"}))]);
    let (driven, asked) = drive(&case, Policies::default(), std::iter::repeat_with(find).take(100));
    // The case allows 9 calls.
    assert_eq!((asked.len(), called(&driven.events).len(), answers(&driven.events).len()), (17, 17, 1));
    let mut model = Scripted { replies: [find(), says("late")].into(), asked: Vec::new() };
    let now = Cell::new(0);
    let clock = || {
        now.set(now.get() + 400);
        Duration::from_millis(now.get())
    };
    let policies = Policies::default();
    let setup = Setup { prompt: "", max_tokens: 9, policies, clock: &clock, is_stopped: &|| false };
    let driven = run(&setup, &mut model, &case);
    assert!(driven.events.iter().any(|event| matches!(event.kind, EventKind::LimitReached { .. })));
    let stopped = Setup { prompt: "", max_tokens: 9, policies, clock: &|| Duration::ZERO, is_stopped: &|| true };
    let driven = run(&stopped, &mut Scripted { replies: VecDeque::new(), asked: Vec::new() }, &case);
    assert!(matches!(driven.events[..], [Event { kind: EventKind::Cancelled { .. }, .. }]), "{:?}", driven.events);
}

/// A delay of the case is added to the clock; nobody waits for it.
#[test]
fn delay_of_a_case_passes_at_once() {
    let mut document = plain();
    document["faults"] = json!([{"tool": "find", "call": 1, "kind": "delay", "delay_ms": 600}]);
    let (driven, _) = drive(&case(document), Policies::default(), [calls(&[("find", json!({}))]), says("x")]);
    assert_eq!(driven.events.last().unwrap().at_ms, 600);
}
