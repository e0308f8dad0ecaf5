//! Calls that stand in the messages of a model: which of them have spans, and what those without are judged for.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::answers;
use super::support_otlp::{Otlp, TRACE, agent, asks, chat, id, lines, needs, other, tool, tools};
use super::support_run::{Outcome, judge_batches};

fn defined() -> String {
    tools(&[("find", needs(&["q"])), ("send", json!({ "type": "object" }))])
}

/// Judges files of spans, one after the other.
fn judge(files: &[&[Otlp]]) -> Outcome {
    let texts: Vec<String> = files.iter().map(|spans| lines(spans.iter())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    judge_batches([(defined().as_str(), texts.as_slice())])
}

fn judge_one(spans: &[Otlp]) -> Outcome {
    judge(&[spans])
}

/// Name, arguments, chat span and status of the calls without a span.
fn alone(outcome: &Outcome) -> Vec<String> {
    let sql = "SELECT tool_name, args_key, span_id, status FROM chat_calls WHERE alone ORDER BY 3, 1, 2";
    answers(&outcome.store, sql)
}

/// Span, arguments, whether they are a message's, and what the message has instead.
fn args_of_spans(outcome: &Outcome) -> Vec<String> {
    let sql = "SELECT span_id, args_key, args_from_messages, asked_args FROM spans \
               WHERE operation = 'execute_tool' ORDER BY span_id";
    answers(&outcome.store, sql)
}

fn verdicts(outcome: &Outcome) -> Vec<&'static str> {
    let [run] = outcome.runs.as_slice() else { panic!("{} runs", outcome.runs.len()) };
    std::iter::once(&run.diagnosis.verdict).chain(&run.diagnosis.also_found).map(|verdict| verdict.slug()).collect()
}

#[test]
fn call_whose_id_a_span_has_is_no_further_call() {
    let spans = [
        agent(1),
        chat(2).says(&[asks(Some("c1"), "find", &json!({ "q": "a" }))]),
        tool(4, "find").args(r#"{"q":"a"}"#).call_id("c1"),
    ];
    let outcome = judge_one(&spans);
    assert_eq!(alone(&outcome), [""; 0]);
    assert_eq!(verdicts(&outcome), ["normal"]);
    assert_eq!(outcome.runs[0].diagnosis.tool_calls, 1);
}

#[test]
fn calls_without_ids_are_paired_by_name_and_arguments() {
    let spans = [
        agent(1),
        chat(2).says(&[asks(None, "find", &json!({ "q": "a" })), asks(None, "find", &json!({ "q": "b" }))]),
        tool(4, "find").args(r#"{"q":"b"}"#),
    ];
    // The one left has the arguments that no span has, though it comes first.
    assert_eq!(alone(&judge_one(&spans)), [format!(r#"find|{{"q":"a"}}|{}|-"#, id(2))]);
}

#[test]
fn changed_arguments_are_paired_by_name_alone() {
    let spans = [
        agent(1),
        chat(2).says(&[asks(None, "find", &json!({ "q": "a" }))]),
        tool(4, "find").args(r#"{"q":"a","limit":"10"}"#),
    ];
    let outcome = judge_one(&spans);
    assert_eq!(alone(&outcome), [""; 0]);
    assert_eq!(verdicts(&outcome), ["normal"]);
}

#[test]
fn of_equal_calls_as_many_are_alone_as_spans_are_missing() {
    for (asked, spans_there) in [(1, 0), (2, 1), (3, 3), (12, 11)] {
        let parts: Vec<Value> = (0..asked).map(|_| asks(None, "find", &json!({ "q": "a" }))).collect();
        let mut spans = vec![agent(1), chat(2).says(&parts)];
        spans.extend((0..spans_there).map(|number| tool(4 + number, "find").args(r#"{"q":"a"}"#)));
        assert_eq!(alone(&judge_one(&spans)).len() as u64, asked - spans_there, "{asked} asked, {spans_there} spans");
    }
}

#[test]
fn spans_with_ids_do_not_stand_for_calls_with_other_ids() {
    let spans = [
        agent(1),
        chat(2).says(&[asks(Some("c1"), "find", &json!({})), asks(Some("c2"), "find", &json!({ "q": "b" }))]),
        tool(4, "find").args(r#"{"q":"b"}"#).call_id("c2"),
    ];
    let outcome = judge_one(&spans);
    assert_eq!(alone(&outcome), [format!("find|{{}}|{}|-", id(2))]);
    assert_eq!(verdicts(&outcome), ["args-mismatch"]);
}

#[test]
fn undefined_tool_in_messages_only_is_found_with_the_chat_span_as_evidence() {
    let spans = [agent(1), chat(2).says(&[asks(Some("c1"), "fnd", &json!({ "q": "a" }))])];
    let outcome = judge_one(&spans);
    assert_eq!(verdicts(&outcome), ["undefined-tool"]);
    let diagnosis = &outcome.diagnoses()[0];
    assert_eq!(diagnosis["findings"][0]["span_ids"], json!([id(2)]));
    assert!(diagnosis["findings"][0]["evidence"].to_string().contains(&id(2)));
    assert_eq!(diagnosis["tool_calls"], json!(0));
    let noted = answers(&outcome.store, "SELECT tool_name, measured, span_id FROM note_call_without_span_v1");
    assert_eq!(noted, [format!("fnd|1|{}", id(2))]);
    assert!(diagnosis["notes"].to_string().contains(&id(2)), "{}", diagnosis["notes"]);
}

#[test]
fn missing_argument_in_messages_only_is_a_mismatch() {
    let spans = [agent(1), chat(2).says(&[asks(Some("c1"), "find", &json!({}))])];
    let outcome = judge_one(&spans);
    assert_eq!(verdicts(&outcome), ["args-mismatch"]);
    assert_eq!(outcome.diagnoses()[0]["findings"][0]["missing_keys"], json!(["q"]));
    // Fitting arguments are none, though the call never ran.
    let spans = [agent(1), chat(2).says(&[asks(Some("c1"), "find", &json!({ "q": "a" }))])];
    assert_eq!(verdicts(&judge_one(&spans)), ["normal"]);
}

#[test]
fn only_a_recorded_failure_makes_a_call_in_messages_an_error() {
    let call = || chat(2).says(&[asks(Some("c1"), "send", &json!({}))]);
    let answer = |part: Value| chat(5).hears(&[part]);
    let hidden = |part: Value| verdicts(&judge_one(&[agent(1), call(), answer(part)]));
    let response = |result: Value| json!({ "type": "tool_call_response", "id": "c1", "result": result });
    assert_eq!(hidden(response(json!("Error: no such room"))), ["error-hidden"]);
    assert_eq!(hidden(response(json!({ "isError": true, "content": [] }))), ["error-hidden"]);
    assert_eq!(
        hidden(json!({ "type": "tool_call_response", "id": "c1", "is_error": true, "result": "x" })),
        ["error-hidden"]
    );
    assert_eq!(hidden(json!({ "type": "tool_call_response", "id": "c1", "response": "Error: x" })), ["error-hidden"]);
    assert_eq!(hidden(response(json!("Errors were none"))), ["normal"]);
    assert_eq!(hidden(response(json!({ "isError": false }))), ["normal"]);
    assert_eq!(hidden(json!({ "type": "tool_call_response", "id": "c2", "result": "Error: x" })), ["normal"]);
    // No answer at all: nobody knows.
    let outcome = judge_one(&[agent(1), call()]);
    assert_eq!(verdicts(&outcome), ["normal"]);
    assert_eq!(alone(&outcome), [format!("send|{{}}|{}|-", id(2))]);
}

#[test]
fn later_ok_span_of_the_tool_recovers_a_failure_in_messages() {
    let failed = json!({ "type": "tool_call_response", "id": "c1", "result": "Error: x" });
    let spans = |later: u64| {
        [
            agent(1),
            chat(2).says(&[asks(Some("c1"), "send", &json!({}))]),
            chat(5).hears(std::slice::from_ref(&failed)),
            tool(9, "send").args(r#"{"n":1}"#).call_id("c2").starts(later),
        ]
    };
    // The call stands at the end of its chat span, which is 3.
    assert_eq!(verdicts(&judge_one(&spans(3))), ["error-hidden"]);
    assert_eq!(verdicts(&judge_one(&spans(4))), ["normal"]);
}

#[test]
fn failure_may_come_in_a_later_file() {
    let call = [agent(1), chat(2).says(&[asks(Some("c1"), "send", &json!({}))])];
    let failed = [chat(5).hears(&[json!({ "type": "tool_call_response", "id": "c1", "result": "Error: x" })])];
    assert_eq!(verdicts(&judge(&[&call, &failed])), ["error-hidden"]);
    assert_eq!(verdicts(&judge(&[&failed, &call])), ["error-hidden"]);
}

#[test]
fn final_answers_and_handoffs_are_no_calls() {
    let parts = ["final_result", "final_result_2", "transfer_to_billing", "handoff", "final_answer"];
    let parts: Vec<Value> = parts.iter().map(|name| asks(Some(name), name, &json!({}))).collect();
    let outcome = judge_one(&[agent(1), chat(2).says(&parts)]);
    assert_eq!(alone(&outcome), [""; 0]);
    assert_eq!(verdicts(&outcome), ["normal"]);
}

#[test]
fn redacted_arguments_are_none() {
    for marker in ["__REDACTED__", "[REDACTED]", "<REDACTED>"] {
        let outcome = judge_one(&[agent(1), chat(2).says(&[asks(Some("c1"), "find", &json!(marker))])]);
        assert_eq!(alone(&outcome), [format!("find|-|{}|-", id(2))], "{marker}");
        assert_eq!(verdicts(&outcome), ["normal"], "{marker}");
    }
}

#[test]
fn call_repeated_by_several_chat_spans_counts_once_and_the_first_tells() {
    let call = [asks(Some("c1"), "fnd", &json!({ "q": "a" }))];
    let chats = [chat(2).ends(8).says(&call), chat(3).ends(7).says(&call), chat(4).ends(9).says(&call)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let spans: Vec<Otlp> =
            std::iter::once(agent(1)).chain(order.iter().map(|place| chats[*place].clone())).collect();
        assert_eq!(alone(&judge_one(&spans)), [format!(r#"fnd|{{"q":"a"}}|{}|-"#, id(3))], "{order:?}");
        let files: Vec<&[Otlp]> = spans.chunks(1).collect();
        assert_eq!(alone(&judge(&files)), [format!(r#"fnd|{{"q":"a"}}|{}|-"#, id(3))], "{order:?} by file");
    }
}

#[test]
fn span_without_arguments_has_those_of_its_message() {
    let spans = [agent(1), chat(2).says(&[asks(Some("c1"), "find", &json!({}))]), tool(4, "find").call_id("c1")];
    for files in [vec![&spans[..]], vec![&spans[..2], &spans[2..]], vec![&spans[2..], &spans[..2]]] {
        let outcome = judge(&files);
        assert_eq!(args_of_spans(&outcome), [format!("{}|{{}}|true|-", id(4))], "{} files", files.len());
        assert_eq!(verdicts(&outcome), ["args-mismatch"]);
        let noted = answers(&outcome.store, "SELECT tool_name, measured, detail FROM note_args_rewritten_v1");
        assert_eq!(noted, ["find|1|from_messages"]);
        assert_eq!(outcome.diagnoses()[0]["findings"][0]["span_ids"], json!([id(4)]));
    }
}

#[test]
fn changed_arguments_are_noted_and_those_of_the_span_are_judged() {
    let spans = [
        agent(1),
        chat(2).says(&[asks(Some("c1"), "find", &json!({}))]),
        tool(4, "find").args(r#"{"q":"default"}"#).call_id("c1"),
    ];
    for files in [vec![&spans[..]], vec![&spans[..2], &spans[2..]], vec![&spans[2..], &spans[..2]]] {
        let outcome = judge(&files);
        assert_eq!(verdicts(&outcome), ["normal"]);
        let noted = answers(&outcome.store, "SELECT span_id, detail FROM note_args_changed_v1");
        assert_eq!(noted, [format!("{}|{{}}", id(4))]);
    }
}

#[test]
fn arguments_of_a_wrong_pair_are_taken_back_when_the_right_one_comes() {
    let call = |q: &str| asks(None, "find", &json!({ "q": q }));
    let early = [agent(1), chat(2).says(&[call("a")]), tool(8, "find")];
    let late = [tool(4, "find"), chat(6).says(&[call("b")])];
    let expected = [format!(r#"{}|{{"q":"a"}}|true|-"#, id(4)), format!(r#"{}|{{"q":"b"}}|true|-"#, id(8))];
    assert_eq!(args_of_spans(&judge(&[&early, &late])), expected);
    assert_eq!(args_of_spans(&judge(&[&late, &early])), expected);
}

#[test]
fn tenth_call_of_a_message_comes_after_the_second() {
    let parts: Vec<Value> = (1..=12).map(|n| asks(None, "find", &json!({ "q": n.to_string() }))).collect();
    let mut spans = vec![agent(1), chat(2).says(&parts)];
    spans.extend((1..=12).map(|n| tool(10 + n, "find")));
    let expected: Vec<String> = (1..=12).map(|n| format!(r#"{}|{{"q":"{n}"}}|true|-"#, id(10 + n))).collect();
    assert_eq!(args_of_spans(&judge_one(&spans)), expected);
}

#[test]
fn merged_span_takes_no_second_call() {
    // Outer and inner span are one call; of the two calls asked for, one is alone.
    let spans = [
        agent(1),
        chat(2).says(&[asks(None, "find", &json!({ "q": "a" })), asks(None, "find", &json!({ "q": "a" }))]),
        tool(4, "find").args(r#"{"q":"a"}"#),
        tool(5, "find").args(r#"{"q":"a"}"#).call_id("inner").below(4),
    ];
    assert_eq!(alone(&judge_one(&spans)).len(), 1);
}

#[test]
fn span_between_that_undoes_a_merge_settles_messages_anew() {
    // Two spans of one tool, one inside the other: one call until an agent comes between them.
    let spans = [
        agent(1),
        chat(2).says(&[asks(None, "find", &json!({ "q": "a" })), asks(None, "find", &json!({ "q": "a" }))]),
        tool(4, "find").args(r#"{"q":"a"}"#),
        tool(6, "find").args(r#"{"q":"a"}"#).below(5),
    ];
    let between = [agent(5).below(4)];
    assert_eq!(alone(&judge(&[&spans, &between])), [""; 0]);
    // A dropped span between them leaves them one call.
    let between = [other(5, "http").below(4)];
    assert_eq!(alone(&judge(&[&spans, &between])).len(), 1);
}

#[test]
fn message_arguments_give_way_to_those_of_an_inner_span_in_any_order() {
    let spans = [
        agent(1),
        chat(2).says(&[asks(Some("c1"), "find", &json!({}))]),
        tool(4, "find").call_id("c1"),
        tool(5, "find").args(r#"{"q":"a"}"#).below(4),
    ];
    let expected = [format!(r#"{}|{{"q":"a"}}|false|{{}}"#, id(4))];
    for order in [[0, 1, 2, 3], [0, 2, 3, 1], [3, 2, 1, 0], [1, 2, 0, 3]] {
        let shuffled: Vec<Otlp> = order.iter().map(|place| spans[*place].clone()).collect();
        assert_eq!(args_of_spans(&judge_one(&shuffled)), expected, "{order:?}");
        let files: Vec<&[Otlp]> = shuffled.chunks(1).collect();
        assert_eq!(args_of_spans(&judge(&files)), expected, "{order:?} by file");
    }
}

#[test]
fn chat_calls_off_leaves_them_out() {
    let folder = tempfile::tempdir().unwrap();
    let (traces, defined_in) = (folder.path().join("t.jsonl"), folder.path().join("tools.json"));
    let spans = [agent(1), chat(2).says(&[asks(Some("c1"), "fnd", &json!({}))]), tool(4, "send").args("{}")];
    std::fs::write(&traces, lines(spans.iter())).unwrap();
    std::fs::write(&defined_in, defined()).unwrap();
    let judged = |more: &[&str]| {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_taco-trace"));
        command.arg("diagnose").arg(&traces).arg("--tools").arg(&defined_in).args(["--format", "json"]).args(more);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(judged(&[]).contains("fnd"));
    assert!(!judged(&["--chat-calls", "off"]).contains("fnd"));
}

#[test]
fn messages_in_the_event_of_an_inference_are_read_too() {
    let messages = json!([{ "role": "assistant", "parts": [asks(Some("c1"), "fnd", &json!({}))] }]).to_string();
    let event = "gen_ai.client.inference.operation.details";
    let outcome = judge_one(&[agent(1), chat(2).event(event, &[("gen_ai.output.messages", &messages)])]);
    assert_eq!(verdicts(&outcome), ["undefined-tool"]);
}

/// A trace drawn at random: what the model asked for and which spans there are.
#[derive(Debug, Clone)]
struct Drawn {
    /// Chat number, id, tool and arguments.
    asked: Vec<(u64, Option<u8>, u8, u8)>,
    /// Id, tool and arguments; none when not recorded.
    ran: Vec<(Option<u8>, u8, Option<u8>)>,
}

impl Drawn {
    fn spans(&self) -> Vec<Otlp> {
        let name = |tool: u8| ["find", "send", "fnd"][usize::from(tool)];
        let mut spans = vec![agent(1)];
        for number in 0..3 {
            let of_chat = self.asked.iter().filter(|(chat, ..)| *chat == number);
            let parts: Vec<Value> = of_chat
                .map(|(_, id, tool, args)| {
                    let id = id.map(|id| format!("c{id}"));
                    asks(id.as_deref(), name(*tool), &json!({ "q": args.to_string() }))
                })
                .collect();
            spans.push(chat(10 + number).says(&parts));
        }
        for (number, (id, tool_of, args)) in (20..).zip(&self.ran) {
            let mut span = tool(number, name(*tool_of));
            if let Some(args) = args {
                span = span.args(&json!({ "q": args.to_string() }).to_string());
            }
            if let Some(id) = id {
                span = span.call_id(&format!("c{id}"));
            }
            spans.push(span);
        }
        spans
    }

    /// Pairs one by one, as the rules say it: tool and chat of each call that no span stands for.
    fn alone(&self) -> Vec<String> {
        let mut calls: Vec<(u64, Option<u8>, u8, u8)> = Vec::new();
        let mut in_order = self.asked.clone();
        in_order.sort_by_key(|(chat, ..)| *chat);
        for call in in_order {
            // Of several with one id the first is the call.
            if call.1.is_none() || calls.iter().all(|other| other.1 != call.1) {
                calls.push(call);
            }
        }
        calls.retain(|(_, id, ..)| id.is_none() || self.ran.iter().all(|(other, ..)| other != id));
        for with_ids in [true, false] {
            let mut free: Vec<&(Option<u8>, u8, Option<u8>)> =
                self.ran.iter().filter(|(id, ..)| !with_ids || id.is_none()).collect();
            for exact in [true, false] {
                calls.retain(|(_, id, tool, args)| {
                    let fits =
                        |span: &&(Option<u8>, u8, Option<u8>)| span.1 == *tool && (!exact || span.2 == Some(*args));
                    let found = if id.is_some() == with_ids { free.iter().position(fits) } else { None };
                    found.is_none_or(|place| {
                        free.remove(place);
                        false
                    })
                });
            }
        }
        let mut alone: Vec<String> = calls
            .iter()
            .map(|(chat, _, tool, args)| {
                format!(r#"{}|{{"q":"{args}"}}|{}|-"#, ["find", "send", "fnd"][usize::from(*tool)], id(10 + chat))
            })
            .collect();
        alone.sort_by_key(|row| {
            let cells: Vec<String> = row.split('|').map(str::to_owned).collect();
            (cells[2].clone(), cells[0].clone(), cells[1].clone())
        });
        alone
    }
}

/// An id stands for one tool and one kind of arguments, as ids do.
fn drawn() -> impl Strategy<Value = Drawn> {
    let of_id = |id: Option<u8>, tool: u8, args: u8| match id {
        Some(id) => (Some(id), id % 3, id / 3),
        None => (None, tool, args),
    };
    let id = || prop_oneof![Just(None), (0_u8..6).prop_map(Some)];
    let asked = (0_u64..3, id(), 0_u8..3, 0_u8..2).prop_map(move |(chat, id, tool, args)| {
        let (id, tool, args) = of_id(id, tool, args);
        (chat, id, tool, args)
    });
    let ran = (id(), 0_u8..3, 0_u8..2, any::<bool>()).prop_map(move |(id, tool, args, recorded)| {
        let (id, tool, args) = of_id(id, tool, args);
        (id, tool, recorded.then_some(args))
    });
    (prop::collection::vec(asked, 0..6), prop::collection::vec(ran, 0..6)).prop_map(|(asked, ran)| Drawn { asked, ran })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn any_order_and_any_split_gives_what_pairing_one_by_one_gives(
        drawn in drawn(),
        seed in prop::collection::vec(any::<u32>(), 10..=10),
        cuts in prop::collection::vec(0_usize..10, 0..3),
        again in 0_usize..10,
    ) {
        let spans = drawn.spans();
        let whole = judge_one(&spans);
        prop_assert_eq!(alone(&whole), drawn.alone());
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|place| seed[place % seed.len()].rotate_left(u32::try_from(*place).unwrap()));
        let mut shuffled: Vec<Otlp> = order.iter().map(|place| spans[*place].clone()).collect();
        // One span is delivered again at the end.
        shuffled.push(shuffled[again % spans.len()].clone());
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % shuffled.len()).chain([0, shuffled.len()]).collect();
        cuts.sort_unstable();
        let files: Vec<&[Otlp]> = cuts.windows(2).map(|cut| &shuffled[cut[0]..cut[1]]).collect();
        let parts = judge(&files);
        prop_assert_eq!(alone(&parts), alone(&whole));
        prop_assert_eq!(args_of_spans(&parts), args_of_spans(&whole));
        prop_assert_eq!(&parts.runs[0].diagnosis.findings, &whole.runs[0].diagnosis.findings);
        prop_assert_eq!(parts.run(TRACE).diagnosis.verdict, whole.run(TRACE).diagnosis.verdict);
    }
}
