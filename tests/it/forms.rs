//! Forms of input beside JSON lines: protobuf, messages compressed one by one, UTF-16, Jaeger, and files of other kinds.
//!
//! `fixtures/forms/` holds the seed's traces in each form, made by other software than this; see its README.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use proptest::prelude::*;
use prost::Message;
use serde_json::Value;
use taco_trace::ingest::frame::{Framed, TextReader};
use taco_trace::ingest::protobuf::{ProtobufError, request_to_json};
use taco_trace::model::{IssueCode, OtelId as _, Severity, SpanId};

use super::support::{files_under, repository};
use super::support_read::{Read, read_bytes};
use super::support_run::judge_file;

fn stored(name: &str) -> Vec<u8> {
    fs::read(repository().join("fixtures").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn seed() -> Read {
    read_bytes(&stored("seed/traces.jsonl"))
}

/// The messages of a file with lengths of four bytes.
fn records(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let mut records = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (record, next) = after.split_at(u32::from_be_bytes(*length) as usize);
        records.push(record.to_vec());
        rest = next;
    }
    records
}

fn framed(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| [(record.len() as u32).to_be_bytes().to_vec(), record.clone()].concat()).collect()
}

fn delimited(records: &[Vec<u8>]) -> Vec<u8> {
    records
        .iter()
        .flat_map(|record| {
            let mut bytes = Vec::new();
            prost::encoding::encode_varint(record.len() as u64, &mut bytes);
            bytes.extend(record);
            bytes
        })
        .collect()
}

/// Offset of each record of a file with lengths of four bytes.
fn starts(records: &[Vec<u8>]) -> Vec<u64> {
    records
        .iter()
        .scan(0, |next, record| {
            let start = *next;
            *next += record.len() as u64 + 4;
            Some(start)
        })
        .collect()
}

// all forms

#[test]
fn every_form_gives_the_diagnoses_of_the_seed() {
    let tools = String::from_utf8(stored("seed/tools.json")).unwrap();
    let baseline = judge_file(&repository().join("fixtures/seed/traces.jsonl"), &tools).diagnoses();
    let files: Vec<String> = files_under("fixtures/forms").into_iter().filter(|path| !path.ends_with(".md")).collect();
    assert_eq!(files.len(), 14);
    for file in files {
        let found = judge_file(&repository().join(&file), &tools);
        assert_eq!(found.sources[0].issues, [], "{file}");
        assert_eq!(found.diagnoses(), baseline, "{file}");
    }
}

#[test]
fn line_of_a_span_is_the_number_of_its_message() {
    let expected = seed();
    let columns = |read: &Read| -> Vec<String> {
        // All that a row has but what a form leaves out: nothing here.
        read.spans.iter().map(|span| format!("{span:?}")).collect()
    };
    let files =
        ["collector_proto", "delimited", "one_message", "collector_proto_zstd"].map(|name| format!("{name}.binpb"));
    for file in files.iter().map(String::as_str).chain([
        "collector_json_zstd.jsonl.zst",
        "delimited_in_gzip.binpb.gz",
        "plain_zstd.jsonl.zst",
        "utf16le_bom.jsonl",
        "utf16be_bare.jsonl",
        "tempo_batches.jsonl",
        "tempo_trace.jsonl",
    ]) {
        let read = read_bytes(&stored(&format!("forms/{file}")));
        assert_eq!(columns(&read), columns(&expected), "{file}");
        assert_eq!((read.report.lines, read.report.lines_skipped), (8, 0), "{file}");
        assert_eq!(read.report.dropped, expected.report.dropped, "{file}");
        assert_eq!(read.report.scopes, expected.report.scopes, "{file}");
    }
}

// protobuf

fn any(value: Any) -> Option<AnyValue> {
    Some(AnyValue { value: Some(value) })
}

fn attribute(key: &str, value: Any) -> KeyValue {
    KeyValue { key: key.to_owned(), value: any(value), ..KeyValue::default() }
}

fn string(text: &str) -> Any {
    Any::StringValue(text.to_owned())
}

/// A tool call that is kept.
fn call(attributes: Vec<KeyValue>) -> Span {
    let named = [
        attribute("gen_ai.operation.name", string("execute_tool")),
        attribute("gen_ai.tool.name", string("budget_api")),
    ];
    Span {
        trace_id: (1..=16).collect(),
        span_id: (1..=8).collect(),
        name: "execute_tool budget_api".to_owned(),
        kind: 1,
        start_time_unix_nano: 1_791_331_923_200_028_279,
        end_time_unix_nano: 1_791_331_923_990_033_227,
        attributes: named.into_iter().chain(attributes).collect(),
        status: Some(Status { code: 2, message: "시간 초과".to_owned() }),
        ..Span::default()
    }
}

fn request(spans: Vec<Span>) -> ExportTraceServiceRequest {
    let resource = Resource { attributes: vec![attribute("service.name", string("agent"))], ..Resource::default() };
    let scope = InstrumentationScope { name: "demo".to_owned(), ..InstrumentationScope::default() };
    let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
    let group = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![group] }
}

/// The row of one call in a file of one message.
fn row(span: Span) -> taco_trace::model::SpanRow {
    let read = read_bytes(&request(vec![span]).encode_to_vec());
    assert_eq!(read.told(), [""; 0]);
    read.spans.into_iter().next().unwrap()
}

#[test]
fn absent_status_of_protobuf_is_unset_and_no_broken_input() {
    for status in [None, Some(Status::default()), Some(Status { code: 1, message: String::new() })] {
        assert_eq!(row(Span { status, ..call(vec![]) }).status.as_str(), "ok");
    }
    let row = row(call(vec![]));
    assert_eq!((row.status.as_str(), row.status_message.as_deref()), ("error", Some("시간 초과")));
    assert_eq!((row.service_name.as_deref(), row.scope_name.as_deref()), (Some("agent"), Some("demo")));
    assert_eq!(row.trace_id.to_string(), "0102030405060708090a0b0c0d0e0f10");
}

#[test]
fn values_of_every_kind_come_through_protobuf_exactly() {
    let args = |value: Any| row(call(vec![attribute("gen_ai.tool.call.arguments", value)])).tool_args.unwrap();
    assert_eq!(
        args(string("{\"부서\":\"재\\u0000무\",\"q\":\"a\\\"b\\n\"}")),
        "{\"부서\":\"재\\u0000무\",\"q\":\"a\\\"b\\n\"}"
    );
    let letters = "\u{0}\u{1f}\t\u{7f}\u{2028}\\\"😀";
    assert_eq!(row(call(vec![attribute("gen_ai.tool.call.id", string(letters))])).call_id.as_deref(), Some(letters));
    assert_eq!(args(Any::IntValue(i64::MIN)), "-9223372036854775808");
    assert_eq!(args(Any::IntValue(9_007_199_254_740_993)), "9007199254740993");
    assert_eq!(args(Any::BoolValue(true)), "true");
    assert_eq!(args(Any::DoubleValue(0.1 + 0.2)), "0.30000000000000004");
    assert_eq!(args(Any::DoubleValue(5.0)), "5.0");
    assert_eq!(args(Any::DoubleValue(1e300)), "1e300");
    assert_eq!(args(Any::DoubleValue(f64::NAN)), "\"NaN\"");
    assert_eq!(args(Any::DoubleValue(f64::INFINITY)), "\"Infinity\"");
    assert_eq!(args(Any::DoubleValue(f64::NEG_INFINITY)), "\"-Infinity\"");
    for (bytes, base64) in [(&b"\xff"[..], "\"/w==\""), (b"\xff\xfe", "\"//4=\""), (b"\xff\xfe\xfd", "\"//79\"")] {
        assert_eq!(args(Any::BytesValue(bytes.to_vec())), base64);
    }
    assert_eq!(args(Any::BytesValue(b"{\"a\":1}".to_vec())), "{\"a\":1}");
    let values = vec![any(Any::IntValue(1)).unwrap(), AnyValue { value: None }, any(string("x")).unwrap()];
    let list = Any::ArrayValue(ArrayValue { values });
    let map = vec![attribute("q", list), attribute("빈 것", Any::KvlistValue(KeyValueList::default()))];
    assert_eq!(args(Any::KvlistValue(KeyValueList { values: map })), "{\"q\":[1,null,\"x\"],\"빈 것\":{}}");
    assert_eq!(
        row(call(vec![KeyValue { key: "gen_ai.tool.call.arguments".to_owned(), ..KeyValue::default() }])).tool_args,
        None
    );
}

/// The reference is the JSON that the protocol's own crate writes, for all that it writes right.
#[test]
fn json_of_a_request_is_that_of_the_protocol_crate() {
    for line in String::from_utf8(stored("seed/traces.jsonl")).unwrap().lines() {
        let request: ExportTraceServiceRequest = serde_json::from_str(line).unwrap();
        let ours: Value = serde_json::from_str(&request_to_json(&request.encode_to_vec()).unwrap()).unwrap();
        // Defaults are left out in the one and written in the other: read back, nothing is missing.
        let back: ExportTraceServiceRequest = serde_json::from_value(ours.clone()).unwrap();
        let plain = |mut request: ExportTraceServiceRequest| {
            for group in request.resource_spans.iter_mut().flat_map(|group| &mut group.scope_spans) {
                for span in &mut group.spans {
                    (span.flags, span.status) = (0, Some(span.status.take().unwrap_or_default()));
                }
            }
            request
        };
        assert_eq!(plain(back), plain(request), "{ours}");
    }
}

#[test]
fn bytes_that_are_no_request_are_refused_with_the_place() {
    assert_eq!(request_to_json(b"").unwrap(), "{\"resourceSpans\":[]}");
    let refused = |bytes: &[u8]| request_to_json(bytes).unwrap_err();
    for (bytes, at) in
        [(&b"{\"resourceSpans\":[]}"[..], 0), (b"\x0a\x02\x0a\x00\x0a\x7f", 4), (b"\x08\x01", 0), (b"\x0a", 0)]
    {
        assert!(
            matches!(refused(bytes), ProtobufError::NotARequest { offset } if offset == at),
            "{:?}",
            refused(bytes)
        );
    }
    assert!(matches!(refused(b"\x0a\x03\x0a\x05\x00"), ProtobufError::NotARequest { offset: 4 }));
    assert_eq!(refused(b"\x0a").to_string(), "no protobuf message of OTLP: byte 0");
    assert!(matches!(refused(&logs()), ProtobufError::OtherSignal("resourceLogs")));
    assert!(matches!(refused(&metrics()), ProtobufError::OtherSignal("resourceMetrics")));
}

/// One level of values takes two messages, and prost stops at 100.
#[test]
fn values_nested_beyond_the_limit_cost_their_message_only() {
    let nested = |levels: usize| {
        let inner = (0..levels).fold(Any::BoolValue(true), |inner, _| {
            Any::ArrayValue(ArrayValue { values: vec![AnyValue { value: Some(inner) }] })
        });
        call(vec![attribute("x", inner)])
    };
    for (levels, kept) in [(20, 1), (30, 1), (60, 0), (1000, 0)] {
        let good = request(vec![Span { span_id: vec![9; 8], ..call(vec![]) }]).encode_to_vec();
        let read = read_bytes(&framed(&[request(vec![nested(levels)]).encode_to_vec(), good]));
        assert_eq!(read.report.kept, kept + 1, "{levels}");
        assert_eq!(read.told(), vec!["record_damaged@1"; usize::from(kept == 0)], "{levels}");
    }
}

#[test]
fn text_cut_inside_a_character_does_not_cost_the_message() {
    let mut bytes =
        request(vec![call(vec![attribute("gen_ai.tool.call.arguments", string("예산 X"))])]).encode_to_vec();
    let at = bytes.windows(2).position(|pair| pair == b" X").unwrap();
    bytes[at - 1] = b'?';
    bytes[at..at + 2].copy_from_slice(b"\xec\x82");
    let read = read_bytes(&bytes);
    assert_eq!(read.told(), ["args_not_json@1", "text_replaced@1"]);
    assert_eq!((read.issues[1].detail.as_str(), read.issues[1].code.severity()), ("4", Severity::Warning));
    assert_eq!(read.spans[0].tool_args.as_deref(), Some("예?????"));
}

/// A field with a length, by hand: the crate's other signals are not built in.
fn field(number: u8, contents: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(contents.len()).unwrap()], contents].concat()
}

/// A request of another signal: a resource with two attributes, a scope, and this record in it.
fn signal(record: &[u8]) -> Vec<u8> {
    let attributes = vec![attribute("service.name", string("agent")), attribute("host.name", string("h"))];
    let resource = Resource { attributes, ..Resource::default() }.encode_to_vec();
    let scope = field(2, &[field(1, &field(1, b"demo")), field(2, record)].concat());
    field(1, &[field(1, &resource), scope].concat())
}

/// A log record: its time and its body.
fn logs() -> Vec<u8> {
    signal(&[vec![0x09, 5, 0, 0, 0, 0, 0, 0, 0], field(5, &field(1, b"a line"))].concat())
}

/// A metric: name, description and an empty gauge.
fn metrics() -> Vec<u8> {
    signal(&[field(1, b"calls"), field(2, b"how many"), field(5, b"")].concat())
}

#[test]
fn other_signals_in_protobuf_are_named() {
    let good = request(vec![call(vec![])]).encode_to_vec();
    for bytes in [logs(), metrics()] {
        let read = read_bytes(&framed(&[good.clone(), bytes.clone()]));
        assert_eq!((read.report.kept, read.told()), (1, vec!["other_signal@2".to_owned()]));
        assert_eq!((read.report.lines, read.report.lines_skipped), (2, 0));
        assert_eq!(read_bytes(&delimited(&[bytes, good.clone()])).told(), ["other_signal@1"]);
    }
}

#[test]
fn damaged_message_is_told_and_the_next_is_read() {
    let whole = records(&stored("forms/collector_proto.binpb"));
    let places = starts(&whole);
    for frame in [framed, delimited] {
        for damaged in 0..whole.len() {
            let mut broken = whole.clone();
            // The tag of the second level: no message has a field 0.
            let at = broken[damaged].iter().position(|byte| *byte == 0x12).unwrap();
            broken[damaged][at] = 0x02;
            let read = read_bytes(&frame(&broken));
            assert_eq!(read.told(), [format!("record_damaged@{}", damaged + 1)]);
            assert_eq!((read.report.lines, read.report.lines_skipped), (8, 1));
            let expected: Vec<_> =
                seed().places().into_iter().filter(|(_, line)| *line != damaged as u64 + 1).collect();
            assert_eq!(read.places(), expected);
            if frame(&whole) == framed(&whole) {
                assert_eq!(read.issues[0].byte_offset, places[damaged]);
            }
        }
    }
}

/// Without lengths in front, the members of the one message stand for messages.
#[test]
fn single_message_is_read_member_by_member() {
    let whole = records(&stored("forms/collector_proto.binpb"));
    let bytes = whole.concat();
    assert_eq!(bytes, stored("forms/one_message.binpb"));
    let start_of = |number: usize| whole[..number - 1].iter().map(Vec::len).sum::<usize>();
    let cut = read_bytes(&bytes[..start_of(6) + 100]);
    assert_eq!(cut.told(), ["record_truncated@6"]);
    assert_eq!(cut.issues[0].byte_offset, start_of(6) as u64);
    assert_eq!(cut.places(), seed().places().into_iter().filter(|(_, line)| *line < 6).collect::<Vec<_>>());
    let mut broken = bytes.clone();
    let at = start_of(6) + whole[5].iter().position(|byte| *byte == 0x12).unwrap();
    broken[at] = 0x02;
    let read = read_bytes(&broken);
    assert_eq!((read.told(), read.report.lines_skipped), (vec!["record_damaged@6".to_owned()], 1));
    assert_eq!(read.places(), seed().places().into_iter().filter(|(_, line)| *line != 6).collect::<Vec<_>>());
    // A tag that cannot be: nothing says where the next one stands.
    broken[start_of(6)] = 0x03;
    let lost = read_bytes(&broken);
    assert_eq!((lost.told(), lost.places()), (vec!["record_damaged@6".to_owned()], cut.places()));
}

#[test]
fn file_of_messages_cut_anywhere_keeps_what_came_before() {
    for file in ["collector_proto.binpb", "collector_proto_zstd.binpb", "collector_json_zstd.jsonl.zst"] {
        let bytes = stored(&format!("forms/{file}"));
        let records = records(&bytes);
        let places = starts(&records);
        let expected = seed().places();
        for length in (0..bytes.len()).step_by(7) {
            let whole =
                places.iter().zip(&records).filter(|(start, record)| *start + 4 + record.len() as u64 <= length as u64);
            let whole = whole.count();
            let is_cut = places.get(whole).is_some_and(|start| *start < length as u64);
            let read = read_bytes(&bytes[..length]);
            if whole == 0 && !read.told().iter().any(|told| told.starts_with("record")) {
                // Too little of it to know what it is.
                continue;
            }
            let kept: Vec<_> = expected.iter().filter(|(_, line)| *line <= whole as u64).cloned().collect();
            assert_eq!(read.places(), kept, "{file} {length}");
            let told = if is_cut { vec![format!("record_truncated@{}", whole + 1)] } else { Vec::new() };
            assert_eq!(read.told(), told, "{file} {length}");
            if is_cut {
                assert_eq!(read.issues[0].byte_offset, places[whole], "{file} {length}");
            }
        }
    }
}

/// The file exporter appends: what it was writing when it was killed stands in front of what it wrote after.
#[test]
fn record_cut_by_a_crash_does_not_cost_those_behind_it() {
    for file in ["collector_proto.binpb", "collector_proto_zstd.binpb", "collector_json_zstd.jsonl.zst"] {
        let records = records(&stored(&format!("forms/{file}")));
        let cut = &framed(&records[3..4])[..200];
        let bytes = [framed(&records[..3]), cut.to_vec(), framed(&records[4..])].concat();
        let read = read_bytes(&bytes);
        let lost: Vec<_> = seed().places().into_iter().filter(|(_, line)| *line == 4).map(|(id, _)| id).collect();
        let expected: Vec<_> = seed().places().into_iter().filter(|(id, _)| !lost.contains(id)).collect();
        assert_eq!(read.places(), expected, "{file}");
        assert_eq!(read.told().len(), 1, "{file} {:?}", read.told());
        assert_eq!((read.issues[0].line, read.issues[0].byte_offset), (4, starts(&records)[3]), "{file}");
    }
}

#[test]
fn wrong_length_costs_at_most_its_record() {
    for file in ["collector_proto.binpb", "collector_proto_zstd.binpb", "collector_json_zstd.jsonl.zst"] {
        let whole = stored(&format!("forms/{file}"));
        let at = starts(&records(&whole))[3] as usize;
        for change in [-1_i32, 1, 1000, 0x0100_0000, 0x7000_0000] {
            let mut bytes = whole.clone();
            let length = i32::from_be_bytes(*bytes[at..].first_chunk().unwrap()) + change;
            bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
            let read = read_bytes(&bytes);
            let before: Vec<_> = seed().places().into_iter().filter(|(_, line)| *line < 4).collect();
            assert!(before.iter().all(|place| read.places().contains(place)), "{file} {change}");
            assert!(read.told().first().is_some_and(|told| told.ends_with("@4")), "{file} {change} {:?}", read.told());
            if change.abs() <= 1000 {
                let behind = seed().places().into_iter().filter(|(_, line)| *line > 4);
                let read: BTreeSet<_> = read.places().into_iter().map(|(id, _)| id).collect();
                assert!(behind.map(|(id, _)| id).all(|id| read.contains(&id)), "{file} {change}");
            }
        }
    }
}

/// What a reader with a limit gives: `text@number`, `code@number`.
fn with_limit(bytes: &[u8], limit: usize) -> Vec<String> {
    let mut reader = TextReader::with_limit(bytes, limit);
    let mut events = Vec::new();
    while let Some(framed) = reader.next() {
        events.push(match framed {
            Framed::Line(line) => format!("text@{}", line.number),
            Framed::Problem { code, number, .. } => format!("{}@{number}", code.as_str()),
            Framed::TooLong { number, .. } => format!("long@{number}"),
            Framed::Damaged { number, .. } => format!("damaged@{number}"),
        });
    }
    events
}

#[test]
fn message_over_the_limit_is_passed_over() {
    let small = request(vec![call(vec![])]).encode_to_vec();
    let large = request(vec![call(vec![attribute("x", string("long"))])]).encode_to_vec();
    for frame in [framed, delimited] {
        let bytes = frame(&[small.clone(), large.clone(), small.clone()]);
        assert_eq!(with_limit(&bytes, large.len()), ["text@1", "text@2", "text@3"]);
        assert_eq!(with_limit(&bytes, large.len() - 1), ["text@1", "line_too_long@2", "text@3"]);
        // Not all of it is there: that is a cut file, or a length that is none.
        let cut = &bytes[..bytes.len() - small.len() - 6];
        assert_eq!(with_limit(cut, large.len() - 1), ["text@1", "record_truncated@2"]);
    }
    let json = format!("{{\"resourceSpans\":[],\"x\":\"{}\"}}", "y".repeat(500));
    let frame = zstd::encode_all(json.as_bytes(), 1).unwrap();
    for (limit, expected) in [(json.len(), "text@1"), (json.len() - 1, "record_damaged@1")] {
        assert_eq!(with_limit(&framed(std::slice::from_ref(&frame)), limit), [expected]);
    }
}

#[test]
fn empty_messages_are_passed_over_and_counted() {
    let call = request(vec![call(vec![])]).encode_to_vec();
    let empty = ExportTraceServiceRequest::default().encode_to_vec();
    for frame in [framed, delimited] {
        let read = read_bytes(&frame(&[call.clone(), empty.clone(), call.clone()]));
        assert_eq!((read.report.lines, read.report.lines_skipped, read.report.kept), (3, 0, 1));
        assert_eq!(read.told(), ["span_redelivered@3"]);
    }
}

#[test]
fn unreadable_lengths_end_the_file_after_a_few() {
    let good = request(vec![call(vec![])]).encode_to_vec();
    let noise = vec![vec![0xff; 40]; 10];
    let read = read_bytes(&framed(&[vec![good], noise].concat()));
    assert_eq!((read.report.kept, read.told()), (1, (2..5).map(|n| format!("record_damaged@{n}")).collect()));
}

// encodings

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    text.encode_utf16().flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

/// Lines of a stream that comes a few bytes at a time, and what was replaced.
fn texts(bytes: &[u8], step: usize) -> (Vec<(u64, String)>, u64) {
    struct Trickle<'a>(&'a [u8], usize);
    impl std::io::Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let (now, later) = self.0.split_at(self.0.len().min(self.1).min(buffer.len()));
            buffer[..now.len()].copy_from_slice(now);
            self.0 = later;
            Ok(now.len())
        }
    }
    let mut reader = TextReader::new(Trickle(bytes, step));
    let (mut lines, mut replaced) = (Vec::new(), 0);
    while let Some(framed) = reader.next() {
        match framed {
            Framed::Line(line) => lines.push((line.number, String::from_utf8(line.bytes.to_vec()).unwrap())),
            Framed::Problem { code: IssueCode::TextReplaced, detail, .. } => replaced += detail.parse::<u64>().unwrap(),
            other => panic!("{other:?}"),
        }
    }
    (lines, replaced)
}

#[test]
fn unpaired_surrogate_of_utf16_is_replaced_with_its_line() {
    let line = r#"{"spans":[{"trace_id":"7f21c0a4e93b4d1f8a6c2e5b90d417aa","span_id":"16eaf0f648963898","parent_span_id":null,"start_time":"2026-10-07T09:12:04.010+09:00","operation":"execute_tool","agent_name":null,"tool_name":"X도구","tool_args":null,"status":"ok","duration_ms":1}]}"#;
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(utf16("{}\n\n", false));
    let mut body = utf16(line, false);
    let at = body.windows(2).position(|unit| unit == [b'X', 0]).unwrap();
    body[at..at + 2].copy_from_slice(&0xd83d_u16.to_le_bytes());
    bytes.extend(body);
    let read = read_bytes(&bytes);
    assert_eq!(read.told(), ["text_replaced@3"]);
    assert_eq!((read.spans[0].line, read.spans[0].tool_name.as_deref()), (3, Some("\u{fffd}도구")));
    assert_eq!(read.report.lines, 3);
}

#[test]
fn utf16_is_told_by_its_mark_or_its_first_units() {
    for text in ["{\"a\":1}", "[]", "{}", "{\"가\":1}\n{}"] {
        for big_endian in [false, true] {
            let mark = utf16("\u{feff}", big_endian);
            let lines: Vec<_> = (1..).zip(text.lines().map(str::to_owned)).collect();
            for bytes in [utf16(text, big_endian), [mark, utf16(text, big_endian)].concat()] {
                assert_eq!(texts(&bytes, usize::MAX), (lines.clone(), 0), "{text} {big_endian}");
            }
        }
    }
}

// files of other kinds

#[test]
fn file_of_another_kind_is_one_issue_with_its_name() {
    let mut tar = b"traces.jsonl".to_vec();
    tar.resize(257, 0);
    tar.extend(b"ustar\x0000");
    let mut duckdb = vec![0x9d; 8];
    duckdb.extend(b"DUCK\x40\0\0\0\0\0\0\0");
    let noise: Vec<u8> = (0..5000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let kinds: [(&[u8], &str); 15] = [
        (b"%PDF-1.7\n1 0 obj\n", "PDF"),
        (b"PK\x03\x04\x14\0\x06\0", "ZIP (xlsx, docx)"),
        (b"PAR1\x15\0\x15", "Parquet"),
        (&duckdb, "DuckDB"),
        (b"SQLite format 3\0\x10\0", "SQLite"),
        (&tar, "tar"),
        (b"ARROW1\0\0", "Arrow"),
        (b"Obj\x01\x04", "Avro"),
        (b"\xfd7zXZ\0\0", "xz"),
        (b"BZh91AY&SY", "bzip2"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "OLE (xls, doc, hwp)"),
        (b"\n <!DOCTYPE html><html>", "HTML"),
        (b"<?xml version=\"1.0\"?>", "XML"),
        (b"\xff\xfe\0\0{\0\0\0", "UTF-32"),
        (&noise, "binary"),
    ];
    for (bytes, name) in kinds {
        let bytes = [bytes, &b"\nline\nline\n".repeat(1000)].concat();
        let read = read_bytes(&bytes);
        assert_eq!(read.told(), ["unknown_format@1"], "{name}");
        assert_eq!(read.issues[0].detail, name);
        assert_eq!((read.report.lines, read.report.lines_skipped), (1, 1), "{name}");
    }
}

#[test]
fn file_of_another_kind_is_known_by_its_whole_hash() {
    let bytes = [b"PAR1".as_slice(), &vec![7; 5_000_000]].concat();
    let mut input =
        taco_trace::ingest::source::Input::new(Box::new(std::io::Cursor::new(bytes.clone())), None).unwrap();
    let mut reader = TextReader::new(&mut input);
    assert!(matches!(reader.next(), Some(Framed::Problem { code: IssueCode::UnknownFormat, .. })));
    assert!(reader.next().is_none());
    assert_eq!(input.bytes_read(), bytes.len() as u64);
}

#[test]
fn text_is_never_taken_for_another_kind() {
    let mut long = "\n".repeat(300);
    long.push_str("{}");
    for text in [
        "",
        "\n",
        "\n\n\n",
        " ",
        "{",
        "[",
        "\n{\"a\":1}\n",
        "{\n\n\"a\":1}",
        "{\n  \"resourceSpans\": []\n}\n",
        "a\n\nb",
        "\n\n\n\n\n\u{b}\n",
        "PARIS",
        "OR",
        "한글",
        "\u{1}",
        "2026-10-07 09:00:00 INFO {\"a\":1}",
        "time,level\n1,2\n",
        "\t{\"a\":1}",
        &long,
    ] {
        let told = read_bytes(text.as_bytes()).told();
        assert!(!told.iter().any(|told| told.contains("record") || told.contains("format")), "{text:?} {told:?}");
    }
}

// Jaeger

/// A Jaeger trace of one tool call with these members and tags besides.
fn jaeger(members: &str, tags: &str) -> String {
    format!(
        r#"{{"traceID":"7f21c0a4e93b4d1f8a6c2e5b90d417aa","spans":[{{"traceID":"7f21c0a4e93b4d1f8a6c2e5b90d417aa","spanID":"1",
        "operationName":"execute_tool t","startTime":1791331923200028,"duration":1500,{members}"processID":"p1",
        "tags":[{{"key":"gen_ai.operation.name","type":"string","value":"execute_tool"}},{{"key":"gen_ai.tool.name","type":"string","value":"t"}}{tags}]}}],
        "processes":{{"p1":{{"serviceName":"agent","tags":[]}}}}}}"#
    )
    .replace('\n', "")
}

fn jaeger_row(members: &str, tags: &str) -> taco_trace::model::SpanRow {
    let read = read_bytes(jaeger(members, tags).as_bytes());
    assert_eq!(read.told(), [""; 0]);
    read.spans.into_iter().next().unwrap()
}

#[test]
fn jaeger_span_becomes_a_row() {
    let row = jaeger_row("", r#",{"key":"otel.library.name","type":"string","value":"demo"}"#);
    assert_eq!((row.span_id.to_string().as_str(), row.parent_span_id), ("0000000000000001", None));
    assert_eq!((row.start_ns, row.end_ns), (1_791_331_923_200_028_000, 1_791_331_923_201_528_000));
    assert_eq!((row.service_name.as_deref(), row.scope_name.as_deref()), (Some("agent"), Some("demo")));
    assert_eq!(row.status.as_str(), "ok");
}

#[test]
fn status_of_a_jaeger_span_stands_in_its_tags() {
    let tag = |key: &str, kind: &str, value: &str| format!(r#",{{"key":"{key}","type":"{kind}","value":{value}}}"#);
    for (tags, status) in [
        (tag("error", "bool", "true"), "error"),
        (tag("error", "string", "\"true\""), "error"),
        (tag("error", "bool", "false"), "ok"),
        (tag("otel.status_code", "string", "\"ERROR\""), "error"),
        (tag("otel.status_code", "string", "\"OK\""), "ok"),
        (tag("otel.status_code", "string", "\"OK\"") + &tag("error", "bool", "true"), "error"),
        (String::new(), "ok"),
    ] {
        assert_eq!(jaeger_row("", &tags).status.as_str(), status, "{tags}");
    }
    let described = tag("error", "bool", "true") + &tag("otel.status_description", "string", "\"시간 초과\"");
    assert_eq!(jaeger_row("", &described).status_message.as_deref(), Some("시간 초과"));
}

#[test]
fn parent_of_a_jaeger_span_is_the_one_it_is_a_child_of_in_its_trace() {
    const SAME: &str = "7f21c0a4e93b4d1f8a6c2e5b90d417aa";
    let reference = |kind: &str, trace: &str, span: &str| {
        format!(r#"{{"refType":"{kind}","traceID":"{trace}","spanID":"{span}"}}"#)
    };
    let child = reference("CHILD_OF", SAME, "a1");
    let follows = reference("FOLLOWS_FROM", SAME, "b2");
    let elsewhere = reference("CHILD_OF", "1", "c3");
    for (references, parent) in [
        (vec![&child], Some("00000000000000a1")),
        (vec![&follows], Some("00000000000000b2")),
        (vec![&follows, &child], Some("00000000000000a1")),
        (vec![&elsewhere, &child], Some("00000000000000a1")),
        (vec![&elsewhere], None),
        (vec![], None),
    ] {
        let list: Vec<&str> = references.into_iter().map(String::as_str).collect();
        let row = jaeger_row(&format!("\"references\":[{}],", list.join(",")), "");
        assert_eq!(row.parent_span_id, parent.and_then(SpanId::of_hex), "{list:?}");
    }
    assert_eq!(jaeger_row("\"parentSpanID\":\"a1\",", "").parent_span_id, SpanId::of_hex("00000000000000a1"));
}

#[test]
fn short_ids_of_jaeger_are_padded_and_wrong_ones_told() {
    let with_trace = |id: &str| read_bytes(jaeger("", "").replace("7f21c0a4e93b4d1f8a6c2e5b90d417aa", id).as_bytes());
    assert_eq!(with_trace("8a6c2e5b90d417aa").spans[0].trace_id.to_string(), "00000000000000008a6c2e5b90d417aa");
    for (id, code) in [("", "trace_id_missing@1"), ("0", "trace_id_missing@1"), ("xyz", "trace_id_invalid@1")] {
        assert_eq!(with_trace(id).told(), [code], "{id}");
    }
}

#[test]
fn jaeger_values_that_cannot_be_used_are_told_and_the_rest_is_read() {
    let good = jaeger("", "");
    for (from, to, code) in [
        ("\"startTime\":1791331923200028", "\"startTime\":\"soon\"", "time_invalid"),
        ("\"startTime\":1791331923200028", "\"startTime\":9223372036854775807", "time_invalid"),
        ("\"startTime\":1791331923200028", "\"startTime\":1791331923200028.5", "time_invalid"),
        ("\"startTime\":1791331923200028,", "", "time_missing"),
        ("\"duration\":1500", "\"duration\":-1", "end_before_start"),
        ("\"duration\":1500", "\"duration\":\"x\"", "time_invalid"),
        ("\"spanID\":\"1\",", "", "span_id_missing"),
        ("\"spans\":[", "\"spans\":[5,", "group_invalid"),
    ] {
        let bad = good.replacen(from, to, 1);
        assert_ne!(bad, good);
        let read = read_bytes(format!("{bad}\n{}", good.replace("\"spanID\":\"1\"", "\"spanID\":\"2\"")).as_bytes());
        assert_eq!(read.told(), [format!("{code}@1")], "{bad}");
        assert!(read.report.kept >= 1, "{bad}");
    }
}

/// The limit of 128 levels counts from the outside; seven of them are Jaeger's own.
#[test]
fn jaeger_document_that_is_too_deep_is_refused() {
    for (depth, kept, told) in [(120, 2, None), (121, 2, None), (122, 0, Some("nesting_too_deep@1"))] {
        let deep = format!(r#",{{"key":"x","value":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
        let other = jaeger("", "").replace("\"spanID\":\"1\"", "\"spanID\":\"2\"");
        let read = read_bytes(format!(r#"{{"data":[{other},{}]}}"#, jaeger("", &deep)).as_bytes());
        assert_eq!((read.report.kept, read.told().first().map(String::as_str)), (kept, told), "{depth}");
    }
}

#[test]
fn search_results_are_refused_with_the_reason() {
    let tempo = r#"{"traces":[{"traceID":"2f3e0cee77ae5dc9c17ade3689eb2e54","rootServiceName":"shop","startTimeUnixNano":"1684778327699392724","durationMs":557}],"metrics":{}}"#;
    let read = read_bytes(format!("{tempo}\n").as_bytes());
    assert_eq!((read.told(), read.report.lines_skipped), (vec!["search_results@1".to_owned()], 1));
    for other in [
        r#"{"traces":[]}"#,
        r#"{"traces":[1]}"#,
        r#"{"data":null,"errors":[{"code":404}]}"#,
        r#"{"hits":{"hits":[{"_source":{"a":1}}]}}"#,
    ] {
        assert_eq!(read_bytes(other.as_bytes()).told(), ["not_trace_data@1"], "{other}");
    }
}

#[test]
fn jaeger_in_a_gzip_and_on_one_line_with_another_is_read() {
    let two = format!("{}{}", jaeger("", ""), jaeger("", "").replace("\"spanID\":\"1\"", "\"spanID\":\"2\""));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(two.as_bytes()).unwrap();
    let read = read_bytes(&encoder.finish().unwrap());
    assert_eq!((read.report.kept, read.told().len()), (2, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// The standard library's decoder is the reference.
    #[test]
    fn utf16_gives_the_text_of_the_standard_library(
        units in prop::collection::vec(
            prop_oneof![4 => 0x20_u16..0x7f, 1 => Just(b'\n'.into()), 1 => prop::num::u16::ANY, 2 => 0xd800_u16..0xe000], 0..80),
        big_endian in prop::bool::ANY,
        odd in prop::bool::ANY,
        step in 1_usize..9,
    ) {
        let mut bytes = if big_endian { vec![0xfe, 0xff] } else { vec![0xff, 0xfe] };
        bytes.extend(units.iter().flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() }));
        // Zeros behind the mark are another encoding's.
        prop_assume!(units.first() != Some(&0));
        let mut text = String::from_utf16_lossy(&units);
        if odd {
            bytes.push(0x61);
            text.push('\u{fffd}');
        }
        let expected: Vec<_> = (1..)
            .zip(text.split('\n'))
            .map(|(number, line)| (number, line.strip_suffix('\r').unwrap_or(line).to_owned()))
            .filter(|(_, line)| !line.trim_matches([' ', '\t', '\r']).is_empty())
            .collect();
        let count = char::decode_utf16(units.iter().copied()).filter(Result::is_err).count() as u64;
        let (lines, replaced) = texts(&bytes, step);
        let without_cr = |lines: Vec<(u64, String)>| -> Vec<_> {
            lines.into_iter().map(|(number, line)| (number, line.trim_end_matches('\r').to_owned())).collect()
        };
        prop_assert_eq!(without_cr(lines), without_cr(expected));
        prop_assert_eq!(replaced, count + u64::from(odd));
    }

    #[test]
    fn printable_text_is_read_by_lines(text in "[\\x09\\x0a\\x0d\\x20-\\x7e]{0,300}") {
        prop_assume!(!["%PDF", "PAR1", "BZh", "ORC", "ARROW1", "<?xml", "<html", "<!"].iter().any(|magic| text.trim().starts_with(magic)));
        let told = read_bytes(text.as_bytes()).told();
        prop_assert!(!told.iter().any(|told| told.contains("record") || told.contains("format")), "{:?}", told);
    }

    #[test]
    fn messages_cut_alike_whatever_their_sizes(
        sizes in prop::collection::vec(0_usize..400, 1..8),
        step in 1_usize..50,
    ) {
        let records: Vec<Vec<u8>> = (1..).zip(&sizes).map(|(number, size): (u8, _)| {
            let span = Span { span_id: vec![number; 8], ..call(vec![attribute("x", string(&"y".repeat(*size)))]) };
            request(vec![span]).encode_to_vec()
        }).collect();
        for bytes in [framed(&records), delimited(&records), records.concat()] {
            let (lines, _) = texts(&bytes, step);
            prop_assert_eq!(lines.len(), records.len());
            for ((number, text), (expected, record)) in lines.iter().zip((1..).zip(&records)) {
                prop_assert_eq!(*number, expected);
                prop_assert_eq!(text, &request_to_json(record).unwrap());
            }
        }
    }
}
