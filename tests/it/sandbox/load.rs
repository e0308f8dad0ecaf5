//! A thousand calls at once over twenty trials: each trial has exactly its own events.

use std::collections::{BTreeMap, BTreeSet};
use std::thread;

use proptest::prelude::*;
use serde_json::{Value, json};
use taco_trace::eval::event::EventKind;

use super::{Bench, Caller, called, faulty};
use crate::eval::{case, world_after};

const TRIALS: usize = 20;
const CALLS: usize = 1_000;
/// Callers that are under way at the same time.
const AT_ONCE: usize = 200;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_thousand_concurrent_calls_leave_each_trial_exactly_its_own_events(
        plan in proptest::collection::vec((0..TRIALS, prop_oneof![Just("add"), Just("find"), Just("send")]), CALLS),
    ) {
        let bench = Bench::new();
        let document = faulty(Value::Null, CALLS as u64);
        let leases: Vec<_> =
            (0..TRIALS).map(|number| bench.open(&format!("trial {number}"), document.clone())).collect();
        let callers: Vec<Caller> = leases.iter().map(Caller::of).collect();
        // Each call names itself, so that no two are alike.
        let calls: Vec<(usize, &str, String)> =
            plan.iter().enumerate().map(|(number, (trial, tool))| (*trial, *tool, format!("call {number}"))).collect();
        let replies: Vec<(usize, &str, String, Value)> = thread::scope(|scope| {
            let callers = &callers;
            let work = |part: &'_ [(usize, &'static str, String)]| {
                let part = part.to_vec();
                scope.spawn(move || {
                    let call = |(trial, tool, name): (usize, &'static str, String)| {
                        let answer = callers[trial].call(tool, json!({ "to": name }));
                        assert_eq!(answer.status, 200, "{answer:?}");
                        (trial, tool, name, answer.body["result"].clone())
                    };
                    part.into_iter().map(call).collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = calls.chunks(CALLS / AT_ONCE).map(work).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let mut ids: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
        for (trial, tool, name, result) in &replies {
            if *tool != "find" {
                prop_assert_eq!(&result["to"], &json!(name));
                let id = format!("{tool} {}", result["id"]);
                prop_assert!(ids.entry(*trial).or_default().insert(id), "an id that was given twice");
            }
        }
        for (number, lease) in leases.into_iter().enumerate() {
            let own: Vec<&(usize, &str, String)> = calls.iter().filter(|(trial, ..)| *trial == number).collect();
            let (events, world) = lease.close();
            let sorted = |mut texts: Vec<String>| { texts.sort_unstable(); texts };
            let expected = sorted(own.iter().map(|(.., name)| json!({ "to": name }).to_string()).collect());
            let found = sorted(called(&events).iter().map(Value::to_string).collect());
            prop_assert_eq!(found, expected, "trial {}", number);
            prop_assert!((1..).zip(&events).all(|(place, event)| event.seq == place));
            // Each call stands with its result, before the next one.
            let mut open = 0;
            let mut count = 0;
            for event in &events {
                match event.kind {
                    EventKind::Call { call, .. } => {
                        count += 1;
                        prop_assert_eq!((open, call), (0, count));
                        open = call;
                    }
                    EventKind::Result { call, .. } => {
                        prop_assert_eq!(call, open);
                        open = 0;
                    }
                    _ => {}
                }
            }
            let made = own.iter().filter(|(_, tool, _)| *tool != "find").count();
            prop_assert_eq!(world.created.values().map(Vec::len).sum::<usize>(), made);
            prop_assert_eq!(ids.get(&number).map_or(0, BTreeSet::len), made);
            prop_assert_eq!(&world, &world_after(&case(document.clone()), &events));
        }
    }
}
