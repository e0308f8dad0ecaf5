//! Two ways of settling a trace, while its ids are in memory and by the statements: both come to the same.

use std::fs;

use proptest::prelude::*;
use serde_json::json;
use taco_trace::model::{IssueCode, OtelId as _, SpanId, SpanLink, TraceId};
use taco_trace::store::{SourceIdentity, SourceTotals, Store};

use super::support::answers;
use super::support_otlp::{Otlp, TRACE, agent, asks, chat, id, lines, needs, other, tool, tools};
use super::support_run::{Outcome, judge_batches};

/// Another trace of the same file, so that equal span ids meet.
const ELSEWHERE: &str = "00000000000000000000000000000001";

fn judge(files: &[Vec<Otlp>]) -> Outcome {
    let texts: Vec<String> = files.iter().map(|spans| lines(spans.iter())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    judge_batches([(tools(&[("find", needs(&["q"]))]).as_str(), texts.as_slice())])
}

/// All that settling works out.
fn facts(outcome: &Outcome) -> Vec<Vec<String>> {
    let spans = "SELECT trace_id, span_id, parent_span_id, parent_lost, tool_args, args_key, args_shape, \
                 args_from_messages, asked_args, tool_result, failure FROM spans ORDER BY ALL";
    let merged = "SELECT trace_id, span_id, outer_span_id FROM merged_spans ORDER BY ALL";
    let calls = "SELECT trace_id, call_key, tool_name, failure FROM chat_calls WHERE alone ORDER BY ALL";
    let cycles = "SELECT trace_id FROM ingest_issues WHERE code = 'parent_cycle' ORDER BY ALL";
    let traces = "SELECT trace_id FROM traces ORDER BY ALL";
    [spans, merged, calls, cycles, traces].map(|sql| answers(&outcome.store, sql)).to_vec()
}

/// A file that brings a dropped span of each trace, on its own: what follows is settled by the statements.
fn heralds() -> Vec<Otlp> {
    [TRACE, ELSEWHERE].map(|trace| other(90, "GET").trace(trace)).to_vec()
}

fn both_ways(spans: &[Otlp]) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    (facts(&judge(&[spans.to_vec()])), facts(&judge(&[heralds(), spans.to_vec()])))
}

#[test]
fn dropped_spans_are_climbed_to_the_kept_one_the_root_or_nowhere() {
    let spans = [
        agent(1),
        tool(2, "find").below(3),
        other(3, "POST").below(4),
        other(4, "POST").below(1),
        tool(5, "find").below(6),
        other(6, "POST"),
        tool(7, "find").below(8),
        other(8, "POST").below(70),
    ];
    let (at_once, by_statements) = both_ways(&spans);
    assert_eq!(at_once, by_statements);
    let outcome = judge(&[spans.to_vec()]);
    let parents = "SELECT ltrim(parent_span_id, '0'), parent_lost FROM spans ORDER BY span_id";
    assert_eq!(answers(&outcome.store, parents), ["-|false", "1|false", "-|false", "-|true"]);
    assert_eq!(outcome.sources[0].totals.traces, 1);
}

#[test]
fn circles_are_told_once_whichever_way() {
    for spans in [
        vec![agent(1).below(2), tool(2, "find")],
        vec![agent(1).below(1)],
        // Of dropped spans it is none: nothing goes round in what is kept.
        vec![agent(1).below(2), other(2, "POST").below(3), other(3, "POST").below(2)],
        vec![agent(1).below(2), other(2, "POST").below(1)],
    ] {
        let (at_once, by_statements) = both_ways(&spans);
        assert_eq!(at_once, by_statements, "{spans:?}");
    }
    let outcome = judge(&[vec![agent(1).below(2), tool(2, "find")]]);
    let told: Vec<IssueCode> = outcome.sources[0].issues.iter().map(|issue| issue.code).collect();
    assert_eq!(told, [IssueCode::ParentCycle]);
}

#[test]
fn dropped_span_with_two_parents_is_the_same_whichever_way() {
    for other_parent in [agent(4), other(4, "POST")] {
        let spans = [
            agent(1),
            other_parent,
            other(2, "POST").below(4),
            other(2, "POST").below(1),
            tool(3, "find").below(2),
            tool(5, "find").below(2),
        ];
        let (at_once, by_statements) = both_ways(&spans);
        assert_eq!(at_once, by_statements);
    }
}

#[test]
fn traces_are_counted_whether_they_are_new_or_not() {
    let first = vec![agent(1)];
    let second = vec![agent(1), agent(2), agent(1).trace(ELSEWHERE), other(2, "GET").trace(&"ab".repeat(16))];
    let outcome = judge(&[first, second]);
    assert_eq!(outcome.sources.iter().map(|source| source.totals.traces).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn file_of_many_spans_is_committed_without_the_log() {
    for (spans, logged) in [(49_999, true), (50_000, false), (50_001, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taco.duckdb");
        let store = Store::open(&path).unwrap();
        let batch = store.begin_batch("2026-10-07T09:00:00.000+09:00").unwrap();
        // The second finds the log empty.
        for trace in [TRACE, ELSEWHERE] {
            let identity = SourceIdentity { path: trace.to_owned(), size_bytes: 0, modified_ns: None };
            let mut writer = store.begin_source(batch, identity).unwrap();
            let link = |number| SpanLink {
                trace_id: TraceId::of_hex(trace).unwrap(),
                span_id: SpanId::of_hex(&id(number)).unwrap(),
                parent_span_id: None,
            };
            let links: Vec<SpanLink> = (1..=spans).map(link).collect();
            writer.append(&[], &links, &[], &|_, _| String::new()).unwrap();
            writer.finish(SourceTotals::default(), &|_, _| String::new()).unwrap();
            let log = fs::metadata(folder.path().join("taco.duckdb.wal")).map_or(0, |log| log.len());
            assert_eq!(log > 0, logged, "{spans} spans, {log} bytes");
        }
        drop(store);
        let store = Store::open_existing(&path).unwrap();
        let kept = answers(&store, "SELECT COUNT(*) FROM span_links GROUP BY trace_id");
        assert_eq!(kept, [spans.to_string(), spans.to_string()]);
    }
}

/// One span: what it is, what it stands below (0: nothing, 10: a span that never comes), in which trace.
fn span() -> impl Strategy<Value = (u8, u64, bool)> {
    (0_u8..8, 0_u64..11, prop::bool::weighted(0.2))
}

fn span_of(number: u64, (kind, parent, elsewhere): (u8, u64, bool)) -> Otlp {
    let made = match kind {
        0 | 1 => agent(number),
        2 => tool(number, "find").call_id("a"),
        3 => tool(number, "find"),
        4 => tool(number, "send").args(r#"{"q":1}"#),
        5 => chat(number).says(&[asks(Some("a"), "find", &json!({ "q": number }))]),
        _ => other(number, "POST"),
    };
    let made = if parent == 0 { made.root() } else { made.below(parent) };
    if elsewhere { made.trace(ELSEWHERE) } else { made }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn any_spans_come_to_the_same_at_once_by_the_statements_and_in_parts(
        drawn in prop::collection::vec(span(), 1..10),
        at in any::<prop::sample::Index>(),
        last_first in any::<bool>(),
    ) {
        let mut spans: Vec<Otlp> = (1..).zip(drawn).map(|(number, drawn)| span_of(number, drawn)).collect();
        let (at_once, by_statements) = both_ways(&spans);
        prop_assert_eq!(&at_once, &by_statements);
        if last_first {
            spans.reverse();
        }
        let (one, other) = spans.split_at(at.index(spans.len() + 1));
        let in_parts = facts(&judge(&[one.to_vec(), other.to_vec()]));
        // A circle that a later file opens was there, and was told.
        for (place, (whole, part)) in at_once.iter().zip(&in_parts).enumerate() {
            if place != 3 {
                prop_assert_eq!(whole, part);
            }
        }
    }
}
