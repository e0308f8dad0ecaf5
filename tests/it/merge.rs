//! Several spans of one call: which are merged, what the outer one takes, and that it can be taken back.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::support::answers;
use super::support_otlp::{Otlp, agent, id, lines, needs, other, tool, tools};
use super::support_run::{Outcome, judge_batches};

fn judge(files: &[&[Otlp]]) -> Outcome {
    let texts: Vec<String> = files.iter().map(|spans| lines(spans.iter())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let defined = tools(&[("find", needs(&["q"])), ("send", json!({ "type": "object" }))]);
    let outcome = judge_batches([(defined.as_str(), texts.as_slice())]);
    // Whatever happened, the counts of each file add up, and are those of the tables.
    let wrong = "SELECT source_id, spans_seen, spans_kept, spans_merged, spans_dropped, spans_redelivered, \
                 spans_skipped FROM sources s WHERE spans_seen <> spans_kept + spans_merged + spans_dropped + \
                 spans_redelivered + spans_skipped \
                 OR spans_kept <> (SELECT COUNT(*) FROM spans x WHERE x.source_id = s.source_id) \
                 OR spans_merged <> (SELECT COUNT(*) FROM merged_spans x WHERE x.source_id = s.source_id)";
    assert_eq!(answers(&outcome.store, wrong), [""; 0]);
    outcome
}

/// Inner and outer span of what was merged.
fn merged(outcome: &Outcome) -> Vec<String> {
    answers(&outcome.store, "SELECT span_id, outer_span_id FROM merged_spans ORDER BY 1")
}

fn pair(inner: u64, outer: u64) -> String {
    format!("{}|{}", id(inner), id(outer))
}

/// All that a tool span says, without where it was read.
fn facts(outcome: &Outcome) -> Vec<String> {
    let sql = "SELECT span_id, parent_span_id, tool_args, tool_args_raw, args_form, args_key, args_shape, tool_result, \
               error_type, failure, status, args_from_messages, asked_args FROM spans ORDER BY span_id";
    answers(&outcome.store, sql)
}

fn one(spans: &[Otlp]) -> Vec<String> {
    merged(&judge(&[spans]))
}

#[test]
fn same_tool_directly_inside_is_the_same_call_unless_both_have_other_ids() {
    let outer = || tool(2, "find");
    let inner = || tool(3, "find").below(2);
    assert_eq!(one(&[agent(1), outer(), inner()]), [pair(3, 2)]);
    assert_eq!(one(&[agent(1), outer().call_id("a"), inner().call_id("a")]), [pair(3, 2)]);
    assert_eq!(one(&[agent(1), outer().call_id("a"), inner()]), [pair(3, 2)]);
    assert_eq!(one(&[agent(1), outer(), inner().call_id("a")]), [pair(3, 2)]);
    assert_eq!(one(&[agent(1), outer().call_id("a"), inner().call_id("b")]), [""; 0]);
    assert_eq!(one(&[agent(1), outer(), tool(3, "send").below(2)]), [""; 0]);
    // Beside one another they are two calls.
    assert_eq!(one(&[agent(1), outer(), tool(3, "find")]), [""; 0]);
}

#[test]
fn kept_span_between_parts_them_and_a_dropped_one_does_not() {
    let around = |between: Otlp| one(&[agent(1), tool(2, "find"), between.below(2), tool(4, "find").below(3)]);
    assert_eq!(around(agent(3)), [""; 0]);
    assert_eq!(around(tool(3, "send")), [""; 0]);
    assert_eq!(around(other(3, "POST")), [pair(4, 2)]);
}

#[test]
fn three_levels_are_one_call_of_the_outermost() {
    let spans = [agent(1), tool(2, "find"), tool(3, "find").below(2), tool(4, "find").below(3), agent(5).below(4)];
    let outcome = judge(&[&spans]);
    assert_eq!(merged(&outcome), [pair(3, 2), pair(4, 2)]);
    assert_eq!(outcome.runs[0].diagnosis.tool_calls, 1);
    let parent = format!("SELECT parent_span_id FROM spans WHERE span_id = '{}'", id(5));
    assert_eq!(answers(&outcome.store, &parent), [id(2)]);
    let noted = answers(&outcome.store, "SELECT tool_name, measured FROM note_spans_merged_v1");
    assert_eq!(noted, ["find|2"]);
}

#[test]
fn merges_are_the_same_whichever_file_comes_first() {
    let spans =
        [agent(1), tool(2, "find"), other(3, "POST").below(2), tool(4, "find").below(3), tool(5, "send").below(4)];
    let whole = judge(&[&spans]);
    assert_eq!(merged(&whole), [pair(4, 2)]);
    for order in [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [3, 1, 0, 2, 4], [1, 3, 2, 4, 0]] {
        let shuffled: Vec<Otlp> = order.iter().map(|place| spans[*place].clone()).collect();
        let files: Vec<&[Otlp]> = shuffled.chunks(1).collect();
        let parts = judge(&files);
        assert_eq!(merged(&parts), merged(&whole), "{order:?}");
        assert_eq!(facts(&parts), facts(&whole), "{order:?}");
    }
}

#[test]
fn outer_takes_what_it_lacks_and_keeps_what_it_has() {
    let inner = || {
        let span = tool(3, "find").below(2).args(r#"{"q":"inner"}"#).error();
        span.text("gen_ai.tool.call.result", "inner result").text("error.type", "timeout")
    };
    let taken = "SELECT tool_args, tool_result, error_type, failure, status FROM spans WHERE tool_name = 'find'";
    let outcome = judge(&[&[agent(1), tool(2, "find"), inner()]]);
    assert_eq!(answers(&outcome.store, taken), [r#"{"q":"inner"}|inner result|timeout|error.type=timeout|ok"#]);
    let noted = answers(&outcome.store, "SELECT span_id, detail FROM note_failure_beside_status_v1");
    assert_eq!(noted, [format!("{}|error.type=timeout", id(2))]);
    let full = tool(2, "find").args(r#"{"q":"outer"}"#).text("gen_ai.tool.call.result", "r").text("error.type", "x");
    let outcome = judge(&[&[agent(1), full, inner()]]);
    assert_eq!(answers(&outcome.store, taken), [r#"{"q":"outer"}|r|x|error.type=x|ok"#]);
}

#[test]
fn inner_status_alone_is_a_failure_of_the_outer() {
    let outcome = judge(&[&[agent(1), tool(2, "find"), tool(3, "find").below(2).error()]]);
    let noted = answers(&outcome.store, "SELECT span_id, detail FROM note_failure_beside_status_v1");
    assert_eq!(noted, [format!("{}|status=error", id(2))]);
}

#[test]
fn agent_that_comes_between_later_undoes_the_merge_and_what_was_taken() {
    let spans = [
        agent(1),
        tool(2, "find"),
        tool(4, "find").below(3).args(r#"{"q":"a"}"#).text("gen_ai.tool.call.result", "r").text("error.type", "x"),
        tool(5, "send").below(4),
    ];
    let between = [agent(3).below(2)];
    let apart = judge(&[&spans, &between]);
    assert_eq!(merged(&apart), [""; 0]);
    let whole: Vec<Otlp> = spans.iter().chain(&between).cloned().collect();
    assert_eq!(facts(&apart), facts(&judge(&[&whole])));
    // The other way round they never were one.
    assert_eq!(facts(&judge(&[&between, &spans])), facts(&apart));
}

#[test]
fn what_the_outer_recorded_in_another_form_survives_a_merge_that_is_undone() {
    // A bare value has lost its name: no arguments, and yet something was recorded.
    let scope = "openinference.instrumentation.langchain";
    let outer =
        other(2, "find").below(1).scope(scope).text("openinference.span.kind", "TOOL").text("tool.name", "find");
    let spans = [agent(1), outer.text("input.value", "a"), tool(4, "find").below(3).args(r#"{"q":"a"}"#)];
    let between = [other(3, "POST").below(2)];
    let taken = format!("SELECT tool_args, tool_args_raw, args_form FROM spans WHERE span_id = '{}'", id(2));
    let before = judge(&[&spans]);
    assert_eq!(answers(&before.store, &taken), ["-|a|bare_value"]);
    let together = judge(&[&spans, &between]);
    assert_eq!(merged(&together), [pair(4, 2)]);
    assert_eq!(answers(&together.store, &taken), [r#"{"q":"a"}|a|bare_value"#]);
    // Delivered again, it is the same span and no conflict.
    let again = judge(&[&spans, &between, &spans]);
    assert_eq!(again.sources[2].totals.spans_redelivered, 3);
    assert_eq!(again.sources[2].issues.len(), 0, "{:?}", again.sources[2].issues);
    assert_eq!(facts(&again), facts(&together));
}

#[test]
fn redelivered_spans_of_a_merged_call_change_nothing() {
    let spans = [
        agent(1),
        tool(2, "find"),
        tool(3, "find").below(2).args(r#"{"q":"a"}"#).text("error.type", "x").error(),
        tool(4, "find").below(3).text("gen_ai.tool.call.result", "r"),
    ];
    let whole = judge(&[&spans]);
    for again in [&spans[..], &spans[1..2], &spans[2..3], &spans[3..4]] {
        let twice = judge(&[&spans, again]);
        assert_eq!(merged(&twice), [pair(3, 2), pair(4, 2)]);
        assert_eq!(facts(&twice), facts(&whole));
        assert_eq!(twice.sources[1].totals.spans_redelivered, again.len() as u64);
        assert_eq!(twice.sources[1].issues.len(), 0, "{:?}", twice.sources[1].issues);
    }
    // Other content under the id of the inner one is a conflict, and the first is kept.
    let other_content = [tool(3, "find").below(2).args(r#"{"q":"b"}"#)];
    let conflict = judge(&[&spans, &other_content]);
    assert_eq!(conflict.sources[1].issues.len(), 1);
    assert_eq!(facts(&conflict), facts(&whole));
}

#[test]
fn dropped_spans_delivered_again_leave_a_merge_as_it_is() {
    let spans = [agent(1), tool(2, "find"), other(3, "POST").below(2), tool(4, "find").below(3)];
    let again = judge(&[&spans, &spans[2..3]]);
    assert_eq!(merged(&again), [pair(4, 2)]);
}

#[test]
fn cycles_are_not_merged_and_end() {
    let two = [agent(1), tool(2, "find").below(3), tool(3, "find").below(2)];
    assert_eq!(one(&two), [""; 0]);
    assert_eq!(one(&[agent(1), tool(2, "find").below(2)]), [""; 0]);
    let through_dropped = [agent(1), tool(2, "find").below(4), tool(3, "find").below(2), other(4, "POST").below(3)];
    assert_eq!(one(&through_dropped), [""; 0]);
    // A call that hangs below a cycle is not part of it; there is no outermost, so it stays by itself.
    let below = [agent(1), tool(2, "find").below(3), tool(3, "find").below(2), tool(4, "find").below(3)];
    assert_eq!(one(&below), [""; 0]);
}

#[test]
fn equal_ids_in_two_traces_have_nothing_to_do_with_one_another() {
    let elsewhere = "00000000000000000000000000000001";
    let spans = [agent(1), tool(2, "find"), agent(1).trace(elsewhere), tool(3, "find").below(2).trace(elsewhere)];
    assert_eq!(one(&spans), [""; 0]);
}

/// What a span of the random trees is.
#[derive(Debug, Clone)]
struct Node {
    parent: usize,
    kind: u8,
    call_id: Option<u8>,
}

impl Node {
    fn tool(&self) -> Option<&'static str> {
        match self.kind {
            0..3 => Some("find"),
            3 => Some("send"),
            _ => None,
        }
    }

    fn is_kept(&self) -> bool {
        self.kind <= 4
    }
}

fn spans_of(nodes: &[Node]) -> Vec<Otlp> {
    let made = (1_u64..).zip(nodes).map(|(number, node)| {
        let span = match node.kind {
            0..=3 => tool(number, node.tool().unwrap()),
            4 => agent(number),
            _ => other(number, "POST"),
        };
        let span = match (node.call_id, node.tool()) {
            (Some(id), Some(_)) => span.call_id(&id.to_string()),
            _ => span,
        };
        if node.parent == 0 { span.root() } else { span.below(node.parent as u64) }
    });
    made.collect()
}

/// Walks up from each tool span, one step at a time.
fn merged_one_by_one(nodes: &[Node]) -> Vec<String> {
    let kept_above = |number: usize| {
        let mut above = nodes[number - 1].parent;
        while above != 0 && !nodes[above - 1].is_kept() {
            above = nodes[above - 1].parent;
        }
        above
    };
    let same_call = |number: usize| {
        let above = kept_above(number);
        let (inner, outer) = (&nodes[number - 1], nodes.get(above.wrapping_sub(1))?);
        let ids_agree = inner.call_id.is_none() || outer.call_id.is_none() || inner.call_id == outer.call_id;
        (inner.tool().is_some() && inner.tool() == outer.tool() && ids_agree).then_some(above)
    };
    let mut found = BTreeMap::new();
    for number in 1..=nodes.len() {
        let mut outermost = number;
        while let Some(above) = same_call(outermost) {
            outermost = above;
        }
        if outermost != number {
            found.insert(number as u64, outermost as u64);
        }
    }
    found.into_iter().map(|(inner, outer)| pair(inner, outer)).collect()
}

fn nodes() -> impl Strategy<Value = Vec<Node>> {
    let node = (any::<prop::sample::Index>(), 0_u8..6, prop_oneof![Just(None), (0_u8..2).prop_map(Some)]);
    prop::collection::vec(node, 1..9).prop_map(|drawn| {
        let place = |(number, (parent, kind, call_id)): (usize, (prop::sample::Index, u8, Option<u8>))| Node {
            parent: parent.index(number + 1),
            kind,
            call_id,
        };
        drawn.into_iter().enumerate().map(place).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]

    #[test]
    fn random_trees_merge_as_walking_up_step_by_step_does(
        nodes in nodes(),
        order in prop::collection::vec(any::<u32>(), 9..=9),
        again in any::<prop::sample::Index>(),
    ) {
        let spans = spans_of(&nodes);
        let whole = judge(&[&spans]);
        let has_kept = nodes.iter().any(Node::is_kept);
        prop_assert_eq!(merged(&whole), merged_one_by_one(&nodes));
        let mut shuffled: Vec<(u32, Otlp)> = order.into_iter().zip(spans.iter().cloned()).collect();
        shuffled.sort_by_key(|(key, _)| *key);
        let mut shuffled: Vec<Otlp> = shuffled.into_iter().map(|(_, span)| span).collect();
        shuffled.push(spans[again.index(spans.len())].clone());
        let files: Vec<&[Otlp]> = shuffled.chunks(2).collect();
        let parts = judge(&files);
        prop_assert_eq!(merged(&parts), merged(&whole));
        if has_kept {
            prop_assert_eq!(facts(&parts), facts(&whole));
        }
    }
}
