//! OTLP JSON as found in public projects: read, or refused with the reason, and never a crash.

use std::fs;

use super::support::{files_under, repository};
use super::support_read::read_bytes;

/// File, spans in it, issues. None of them has agents or tools: all spans are dropped and counted, and a span that is
/// dropped is never found fault with.
const FOUND: &[(&str, u64, &[&str])] = &[
    ("dogtap/otel-node-http-traces.json", 1, &[]),
    ("dogtap/traces.json", 0, &[]),
    ("jaeger/apiv3_GetTrace.json", 1, &[]),
    ("jaeger/default.json", 1, &[]),
    ("jaeger/example_trace.json", 5, &[]),
    ("jaeger/otlp2jaeger-in.json", 2, &[]),
    ("opentelemetry-proto/trace.json", 1, &[]),
    ("otlp2parquet/invalid_malformed.json", 0, MALFORMED),
    ("otlp2parquet/invalid_trace_invalid_base64.json", 1, &[]),
    ("otlp2parquet/invalid_trace_mixed_encoding.json", 1, &[]),
    ("otlp2parquet/trace.json", 2, &[]),
    ("otlp2parquet/traces.jsonl", 19, &[]),
];

/// A document with a comment in it is no JSON. Where it cannot go on, its lines are looked at one by one.
const MALFORMED: &[&str] = &[
    "truncated_json@1",
    "not_json@2",
    "truncated_json@3",
    "not_json@4",
    "not_json@5",
    "not_trace_data@6",
    "not_json@12",
    "not_json@13",
    "not_json@14",
    "truncated_json@15",
    "not_json@16",
    "not_json@17",
    "truncated_json@18",
    "not_json@19",
    "not_json@20",
    "not_json@21",
];

#[test]
fn files_of_public_projects_are_read_or_refused_with_the_reason() {
    let files = files_under("fixtures/real/otlp");
    let listed: Vec<String> = FOUND.iter().map(|(file, ..)| format!("fixtures/real/otlp/{file}")).collect();
    assert_eq!(files, listed);
    for (file, (_, seen, told)) in files.iter().zip(FOUND) {
        let read = read_bytes(&fs::read(repository().join(file)).unwrap());
        assert_eq!((read.report.seen, read.report.dropped.values().sum()), (*seen, *seen), "{file}");
        assert_eq!(read.told(), *told, "{file}");
    }
}
