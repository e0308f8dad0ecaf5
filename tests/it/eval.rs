//! Evaluation: cases, the mock world, the judge, decisions, and the commands around cases.

mod cases;
mod command;
mod decide;
mod judge;
mod lint;
mod marker;
mod world;

use serde_json::{Value, json};
use taco_trace::eval::case::Case;
use taco_trace::eval::event::{Event, EventKind};
use taco_trace::eval::judge::{Judgement, Observed, Observes, TargetKind, judge};
use taco_trace::eval::world::WorldState;

/// A case that lint finds nothing wrong with: a read, a write and an external tool, one turn, one check.
pub(crate) fn plain() -> Value {
    let text = json!({"type": "string"});
    let note = json!({
        "type": "object", "properties": {"to": text, "text": text}, "required": ["to"], "additionalProperties": false,
    });
    json!({
        "format": "irumx-eval-case/1",
        "id": "plain",
        "name": "plain",
        "actor": {"id": "u1", "name": "n", "role": "r", "org": null},
        "business_rules": [],
        "now": "2026-10-06T10:00:00+09:00",
        "turns": [{"event_id": "e1", "content": "c"}],
        "world": {"notes": [{"id": "n1", "to": "a", "size": 3, "tags": ["x", "y"]}], "mails": []},
        "tools": [
            {"name": "find", "description": "", "version": "1", "effect": "read", "parameters": {"type": "object"},
             "result": {"kind": "lookup", "collection": "notes", "where": {"to": {"$arg": "/to"}}, "many": true}},
            {"name": "add", "description": "", "version": "1", "effect": "write", "parameters": note,
             "result": {"kind": "insert", "collection": "notes", "id_prefix": "n",
                        "record": {"to": {"$arg": "/to"}, "by": {"$actor": "id"}, "at": {"$now": true}}}},
            {"name": "send", "description": "", "version": "2", "effect": "external", "parameters": note,
             "result": {"kind": "insert", "collection": "mails", "id_prefix": "m", "record": {"to": {"$arg": "/to"}}}},
        ],
        "expected": [],
        "forbidden": [],
        "checks": [{"id": "c1", "kind": "metric", "metric": "tool_calls", "max": 9}],
        "limits": {"tool_calls": 9, "turns": 3, "time_ms": 1000},
        "golden_flow": [{"turn": 1, "answer": "a"}],
    })
}

/// The plain case with this at a pointer.
pub(crate) fn with(pointer: &str, value: Value) -> Value {
    changed(plain(), pointer, value)
}

/// A document with this at a pointer whose parent is there.
pub(crate) fn changed(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent).unwrap() {
        Value::Array(items) => items.insert(key.parse().unwrap(), value),
        Value::Object(members) => drop(members.insert(key.to_owned(), value)),
        other => panic!("{other} has no members"),
    }
    document
}

pub(crate) fn case(document: Value) -> Case {
    serde_json::from_value(document).unwrap()
}

/// The plain case with only this check.
fn checked(check: Value) -> Case {
    let mut check = check;
    check.as_object_mut().unwrap().entry("id").or_insert(json!("c"));
    let mut document = plain();
    document["checks"] = json!([check]);
    case(document)
}

/// Events with their numbers, ten milliseconds apart; a turn begins the next turn.
pub(crate) fn numbered(kinds: impl IntoIterator<Item = EventKind>) -> Vec<Event> {
    let mut turn = 0;
    let number = |(seq, kind): (u64, EventKind)| {
        if matches!(kind, EventKind::Turn { .. }) {
            turn += 1;
        }
        Event { seq, at_ms: seq * 10, turn, kind }
    };
    (1..).zip(kinds).map(number).collect()
}

pub(crate) fn turn() -> EventKind {
    EventKind::Turn { event_id: "e1".to_owned(), duplicate: false }
}

pub(crate) fn said(text: &str) -> EventKind {
    EventKind::Answer { text: text.to_owned() }
}

pub(crate) fn called(call: u64, tool: &str, arguments: Value) -> EventKind {
    EventKind::Call { call, tool: tool.to_owned(), arguments, approval_id: None }
}

/// Everything is observed, and the world is what the changes made of it.
fn all() -> Observes {
    TargetKind::Script.observes(true)
}

pub(crate) fn world_after(case: &Case, events: &[Event]) -> WorldState {
    let mut world = WorldState::initial(case);
    for event in events {
        if let EventKind::StateChange { change, .. } = &event.kind {
            world.apply(change);
        }
    }
    world
}

fn judged(case: &Case, events: &[Event]) -> Judgement {
    judged_of(case, events, all())
}

fn judged_of(case: &Case, events: &[Event], observes: Observes) -> Judgement {
    let capabilities = vec!["cancel_signal".to_owned()];
    let world = world_after(case, events);
    judge(Observed { case, observes, capabilities: &capabilities, events, world: &world })
}
