//! The mock world and the trial around it: results, faults, limits, ids, and a naive world beside it.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::eval::case::{Case, FaultKind};
use taco_trace::eval::event::{ChangeOp, Event, EventKind, LimitKind, Outcome};
use taco_trace::eval::trial::Trial;
use taco_trace::eval::world::{Reply, World, WorldState, same};

use super::{case, changed, plain, with};

const NOW: &str = "2026-10-06T10:00:00+09:00";

fn one_tool(result: Value) -> Case {
    let mut document = plain();
    document["tools"] = json!([{
        "name": "t", "description": "", "version": "1", "effect": "write", "parameters": {"type": "object"}, "result": result,
    }]);
    case(document)
}

fn reply(case: &Case, arguments: Value) -> Reply {
    World::new(case).call("t", &arguments, NOW, None).0
}

#[test]
fn constant_is_filled_with_what_is_known() {
    let case = one_tool(json!({"kind": "constant", "value": {
        "said": {"$arg": "/a/0"}, "at": {"$now": true}, "by": {"$actor": "role"}, "no": {"$actor": "org"},
        "absent": {"$arg": "/b"}, "list": [{"$arg": "/b"}, 1], "plain": {"$arg": "/a/0", "more": 1},
    }}));
    let expected = json!({"said": "x", "at": NOW, "by": "r", "list": [null, 1], "plain": {"$arg": "/a/0", "more": 1}});
    assert_eq!(reply(&case, json!({"a": ["x"]})), Reply::Done(expected));
}

#[test]
fn look_up_gives_one_or_many_and_asks_only_what_was_given() {
    let look = |more: Value| {
        let mut result = json!({"kind": "lookup", "collection": "notes", "where": {"to": {"$arg": "/to"}}});
        result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        one_tool(result)
    };
    let one = look(json!({"fields": ["id", "size", "none"]}));
    assert_eq!(reply(&one, json!({"to": "a"})), Reply::Done(json!({"id": "n1", "size": 3})));
    assert_eq!(reply(&one, json!({"to": "z"})), Reply::ToolError("not_found".to_owned()));
    let many = look(json!({"many": true, "fields": ["id"]}));
    assert_eq!(reply(&many, json!({})), Reply::Done(json!({"count": 1, "records": [{"id": "n1"}]})));
    assert_eq!(reply(&many, json!({"to": "z"})), Reply::Done(json!({"count": 0, "records": []})));
    assert_eq!(reply(&many, json!({"to": null})), Reply::Done(json!({"count": 0, "records": []})));
}

#[test]
fn update_and_delete_name_a_record_and_keep_its_id() {
    let set = json!({"kind": "update", "collection": "notes", "id": {"$arg": "/id"}, "set": {"to": {"$arg": "/to"}}});
    let updating = one_tool(set);
    let mut world = World::new(&updating);
    let (done, changes) = world.call("t", &json!({"id": "n1", "to": "b"}), NOW, None);
    let record = json!({"id": "n1", "to": "b", "size": 3, "tags": ["x", "y"]});
    assert_eq!(done, Reply::Done(record.clone()));
    assert_eq!((changes[0].op, &changes[0].before["to"], &changes[0].after), (ChangeOp::Update, &json!("a"), &record));
    // An argument that was not given leaves the field as it is.
    assert_eq!(world.call("t", &json!({"id": "n1"}), NOW, None).0, Reply::Done(record));
    for arguments in [json!({"id": "n9"}), json!({}), json!({"id": 1})] {
        let (refused, changes) = world.call("t", &arguments, NOW, None);
        assert_eq!((refused, changes.len()), (Reply::ToolError("not_found".to_owned()), 0));
    }
    let deleting = one_tool(json!({"kind": "delete", "collection": "notes", "id": {"$arg": "/id"}}));
    let mut world = World::new(&deleting);
    assert_eq!(world.call("t", &json!({"id": "n1"}), NOW, None).0, Reply::Done(json!({"deleted": "n1"})));
    assert_eq!(world.state().collections["notes"], []);
    assert_eq!(world.call("t", &json!({"id": "n1"}), NOW, None).0, Reply::ToolError("not_found".to_owned()));
}

#[test]
fn ids_run_on_past_those_that_are_there_and_are_never_given_twice() {
    let mut document = plain();
    document["world"]["notes"] = json!([{"id": "n0002"}]);
    let delete = json!({
        "name": "del", "description": "", "version": "1", "effect": "write", "parameters": {},
        "result": {"kind": "delete", "collection": "notes", "id": {"$arg": "/id"}},
    });
    let case = case(changed(document, "/tools/0", delete));
    let mut world = World::new(&case);
    let add = |world: &mut World<'_>| match world.call("add", &json!({"to": "a"}), NOW, None).0 {
        Reply::Done(record) => record["id"].as_str().unwrap().to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!((add(&mut world), add(&mut world)), ("n0001".to_owned(), "n0003".to_owned()));
    world.call("del", &json!({"id": "n0003"}), NOW, None);
    assert_eq!(add(&mut world), "n0004");
    assert_eq!(world.state().created["notes"], ["n0001", "n0004"]);
    // That of a record that was deleted stays its own.
    let mut world = World::new(&case);
    world.call("del", &json!({"id": "n0002"}), NOW, None);
    assert_eq!((add(&mut world), add(&mut world)), ("n0001".to_owned(), "n0003".to_owned()));
}

#[test]
fn arguments_are_held_against_the_contract_and_unknown_tools_are_not_found() {
    let case = case(plain());
    let mut world = World::new(&case);
    for arguments in [json!({}), json!({"to": 1}), json!({"to": "a", "x": 1})] {
        let (refused, changes) = world.call("add", &arguments, NOW, None);
        assert!(
            matches!(&refused, Reply::ToolError(message) if message.starts_with("invalid_arguments")),
            "{refused:?}"
        );
        assert_eq!(changes, []);
    }
    assert_eq!(world.call("none", &json!({}), NOW, None), (Reply::UnknownTool, Vec::new()));
}

/// A trial with a fault at the second call of `add`, which is called three times.
fn faulty(kind: FaultKind) -> (Vec<Event>, WorldState) {
    let fault = json!([{"tool": "add", "call": 2, "kind": kind, "message": "closed"}]);
    let case = case(with("/faults", fault));
    let mut trial = Trial::new(&case);
    trial.next_turn(0);
    trial.call(1, "find", &json!({}), None);
    for to in ["b", "c", "d"] {
        trial.call(2, "add", &json!({"to": to}), None);
    }
    trial.finish()
}

/// A call that the contract refuses does not come to the tool: the fault waits for one that does.
#[test]
fn refused_arguments_use_no_fault_up() {
    for kind in ["tool_error", "lost_before", "lost_after", "delay", "limit"] {
        let mut document = plain();
        let name = document["tools"][1]["name"].as_str().unwrap().to_owned();
        document["faults"] = json!([{"tool": name, "call": 1, "kind": kind}]);
        if kind == "delay" {
            document["faults"][0]["delay_ms"] = json!(7);
        }
        let case = case(document);
        let mut trial = Trial::new(&case);
        trial.next_turn(0);
        assert_eq!(trial.delay_of_next(&name, &json!({})), 0, "{kind}");
        let refused = trial.call(1, &name, &json!({}), None);
        assert!(matches!(refused, Reply::ToolError(message) if message.starts_with("invalid_arguments")), "{kind}");
        let injected = |trial: &Trial<'_>| {
            let calls = trial.events().iter().filter_map(|event| match event.kind {
                EventKind::FaultInjected { call, .. } => Some(call),
                _ => None,
            });
            calls.collect::<Vec<_>>()
        };
        assert_eq!(injected(&trial), [0_u64; 0], "{kind}");
        assert_eq!(trial.delay_of_next(&name, &json!({"to": "a"})), if kind == "delay" { 7 } else { 0 });
        trial.call(2, &name, &json!({"to": "a"}), None);
        assert_eq!(injected(&trial), [2], "{kind}");
    }
}

#[test]
fn faults_hit_their_call_and_do_what_they_say() {
    for (kind, outcome, made) in [
        (FaultKind::ToolError, Outcome::ToolError, 2),
        (FaultKind::LostBefore, Outcome::ResponseLost, 2),
        (FaultKind::LostAfter, Outcome::ResponseLost, 3),
        (FaultKind::Delay, Outcome::Ok, 3),
        (FaultKind::Limit, Outcome::Limit, 2),
    ] {
        let (events, world) = faulty(kind);
        assert_eq!(world.created["notes"].len(), made, "{kind:?}");
        let outcomes: Vec<Outcome> = events
            .iter()
            .filter_map(|event| match event.kind {
                EventKind::Result { outcome, .. } => Some(outcome),
                _ => None,
            })
            .collect();
        assert_eq!(outcomes, [Outcome::Ok, Outcome::Ok, outcome, Outcome::Ok], "{kind:?}");
        let injected = events.iter().filter(|event| matches!(event.kind, EventKind::FaultInjected { call: 3, .. }));
        assert_eq!(injected.count(), 1, "{kind:?}");
    }
    let (events, _) = faulty(FaultKind::ToolError);
    assert!(events.iter().any(|event| matches!(&event.kind, EventKind::Result { value, .. } if value == "closed")));
}

#[test]
fn calls_below_at_and_above_the_limit() {
    let mut case = case(plain());
    for (calls, reached) in [(8, false), (9, false), (10, true), (11, true)] {
        let mut trial = Trial::new(&case);
        trial.next_turn(0);
        let replies: Vec<Reply> = (0..calls).map(|_| trial.call(1, "find", &json!({}), None)).collect();
        assert_eq!(replies.iter().filter(|reply| **reply == Reply::Limit).count(), usize::from(reached) * (calls - 9));
        assert_eq!(trial.tool_calls_left(), 9_u64.saturating_sub(calls as u64));
        let limits = trial.events().iter().filter(|event| matches!(event.kind, EventKind::LimitReached { .. }));
        assert_eq!(limits.count(), usize::from(reached), "told once, {calls}");
    }
    for (at, reached) in [(999, false), (1000, false), (1001, true)] {
        let mut trial = Trial::new(&case);
        trial.next_turn(0);
        assert_eq!(trial.call(at, "find", &json!({}), None) == Reply::Limit, reached, "{at}");
        let is_time = |event: &Event| matches!(event.kind, EventKind::LimitReached { limit: LimitKind::Time });
        assert_eq!(trial.events().iter().any(is_time), reached, "{at}");
    }
    case.turns = vec![case.turns[0].clone(); 4];
    for (limit, begun) in [(3, 3), (4, 4), (5, 4)] {
        case.limits.turns = limit;
        let mut trial = Trial::new(&case);
        assert_eq!((0..6).filter(|_| trial.next_turn(0)).count(), begun, "{limit}");
        let is_turns = |event: &&Event| matches!(event.kind, EventKind::LimitReached { limit: LimitKind::Turns });
        assert_eq!(trial.events().iter().filter(is_turns).count(), usize::from(limit < 4), "{limit}");
    }
}

#[test]
fn turns_know_their_time_duplicates_and_when_to_stop() {
    let turns = json!([
        {"event_id": "a", "content": "", "cancel_after_calls": 2},
        {"event_id": "b", "content": "", "now": "2026-10-07T09:00:00+09:00"},
        {"event_id": "a", "content": ""},
    ]);
    let mut document = plain();
    document["turns"] = turns;
    let case = case(document);
    let mut trial = Trial::new(&case);
    trial.next_turn(5);
    assert_eq!(trial.now(), NOW);
    for (calls, cancelled) in [(1, false), (2, true), (3, true)] {
        trial.call(5, "find", &json!({}), None);
        assert_eq!(trial.is_cancelled(), cancelled, "{calls}");
    }
    trial.next_turn(3);
    assert!(!trial.is_cancelled());
    assert_eq!(trial.now(), "2026-10-07T09:00:00+09:00");
    trial.next_turn(6);
    assert_eq!(trial.now(), "2026-10-07T09:00:00+09:00");
    let (events, _) = trial.finish();
    let turns: Vec<(u64, u64, bool)> = events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Turn { duplicate, .. } => Some((event.turn, event.at_ms, duplicate)),
            _ => None,
        })
        .collect();
    assert_eq!(turns, [(1, 5, false), (2, 5, false), (3, 6, true)], "the clock does not go back");
}

#[test]
fn events_are_numbered_and_come_back_from_json() {
    let (events, _) = faulty(FaultKind::LostAfter);
    assert!((1..).zip(&events).all(|(number, event)| event.seq == number));
    for event in events {
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event, "{text}");
    }
}

#[test]
fn values_are_the_same_by_number_and_whatever_the_order_of_keys() {
    assert!(same(&json!(1), &json!(1.0)) && same(&json!([1, {"a": 2.0}]), &json!([1.0, {"a": 2}])));
    for (one, other) in [(json!(1), json!("1")), (json!([1]), json!([1, 2])), (json!({"a": 1}), json!({"b": 1}))] {
        assert!(!same(&one, &other), "{one} {other}");
    }
}

/// What a naive world holds: records by id in order of coming, and how many were made.
#[derive(Default)]
struct Naive {
    records: Vec<(String, BTreeMap<String, Value>)>,
    made: Vec<String>,
    count: u64,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn world_is_that_of_a_naive_one_and_follows_from_its_events(
        steps in proptest::collection::vec((0..4_u8, 0..6_u64, 0..3_u8, 0..5_u8), 0..40),
    ) {
        let tool = |name: &str, result: Value| json!({
            "name": name, "description": "", "version": "1", "effect": "write", "parameters": {}, "result": result,
        });
        let id = json!({"$arg": "/id"});
        let mut document = plain();
        document["world"] = json!({"c": [{"id": "r0002", "k": 0}]});
        document["limits"]["tool_calls"] = json!(100);
        document["tools"] = json!([
            tool("insert", json!({"kind": "insert", "collection": "c", "id_prefix": "r", "record": {"k": {"$arg": "/k"}}})),
            tool("update", json!({"kind": "update", "collection": "c", "id": id, "set": {"k": {"$arg": "/k"}}})),
            tool("delete", json!({"kind": "delete", "collection": "c", "id": id})),
            tool("find", json!({"kind": "lookup", "collection": "c", "where": {"k": {"$arg": "/k"}}, "many": true})),
        ]);
        let kinds = ["tool_error", "lost_before", "lost_after", "delay", "limit"];
        let fault = |call: usize| {
            let mut fault = json!({"tool": "insert", "call": call, "kind": kinds[call % 5]});
            if call % 5 == 3 { fault["delay_ms"] = json!(1); }
            fault
        };
        let faults: Vec<Value> = (1..=10).map(fault).collect();
        document["faults"] = json!(faults);
        let case = case(document);
        let mut trial = Trial::new(&case);
        trial.next_turn(0);
        let mut naive = Naive::default();
        naive.records.push(("r0002".to_owned(), BTreeMap::from([("k".to_owned(), json!(0))])));
        let mut inserts = 0;
        for (what, number, k, _) in steps {
            let (name, id) = (["insert", "update", "delete", "find"][usize::from(what)], format!("r{number:04}"));
            let reply = trial.call(1, name, &json!({"id": id, "k": k}), None);
            match name {
                "insert" => {
                    inserts += 1;
                    // Every fifth rest: 2 is lost_after, 3 is delay; above ten there is no fault.
                    if inserts > 10 || [2, 3].contains(&(inserts % 5)) {
                        loop {
                            naive.count += 1;
                            let id = format!("r{:04}", naive.count);
                            if id != "r0002" && naive.records.iter().all(|(there, _)| *there != id) {
                                naive.made.push(id.clone());
                                naive.records.push((id, BTreeMap::from([("k".to_owned(), json!(k))])));
                                break;
                            }
                        }
                    }
                }
                "update" => {
                    for (there, fields) in &mut naive.records {
                        if *there == id { fields.insert("k".to_owned(), json!(k)); }
                    }
                }
                "delete" => {
                    naive.records.retain(|(there, _)| *there != id);
                    naive.made.retain(|there| *there != id);
                }
                _ => {
                    let count = naive.records.iter().filter(|(_, fields)| fields["k"] == json!(k)).count();
                    let Reply::Done(found) = reply else { panic!("a look-up of many always answers") };
                    prop_assert_eq!(&found["count"], &json!(count));
                }
            }
        }
        let (events, world) = trial.finish();
        let there: Vec<(String, Value)> = world.collections["c"]
            .iter()
            .map(|record| (record["id"].as_str().unwrap().to_owned(), record["k"].clone()))
            .collect();
        let expected: Vec<(String, Value)> =
            naive.records.iter().map(|(id, fields)| (id.clone(), fields["k"].clone())).collect();
        prop_assert_eq!(there, expected);
        prop_assert_eq!(world.created.get("c").cloned().unwrap_or_default(), naive.made);
        prop_assert_eq!(super::world_after(&case, &events), world);
    }
}
