//! What people reported of trace files and of the tools that read them: one test a row.
//!
//! A row is a public issue, a synthetic input that shows what was reported (made here, a line or two), and what a good
//! tool does with it. The name of a test says the report; where several reports tell of the same kind, the first one
//! gives the name and the others stand in the comment.

use std::io::Cursor;

use taco_trace::ingest::frame::{Framed, TextReader};

use super::support_read::{Read, read_bytes};

/// A line with one tool call that is kept, with these members in place of its own.
fn call(span_id: &str, changes: &[(&str, &str)]) -> String {
    let own = [
        ("traceId", "\"7f21c0a4e93b4d1f8a6c2e5b90d417aa\"".to_owned()),
        ("spanId", format!("\"{span_id}\"")),
        ("startTimeUnixNano", "\"1791331924010042232\"".to_owned()),
        ("endTimeUnixNano", "\"1791331924190066905\"".to_owned()),
        ("kind", "1".to_owned()),
        ("status", "{\"code\":1}".to_owned()),
        ("tool", "\"search_regulation\"".to_owned()),
        ("args", "{\"stringValue\":\"{\\\"query\\\":\\\"출장비\\\"}\"}".to_owned()),
    ];
    let member = |name: &str| {
        let own = own.iter().find(|(known, _)| *known == name).map(|(_, json)| json.clone());
        let change = changes.iter().find(|(changed, _)| *changed == name).map(|(_, json)| (*json).to_owned());
        change.or(own).unwrap()
    };
    let attributes = format!(
        "[{{\"key\":\"gen_ai.operation.name\",\"value\":{{\"stringValue\":\"execute_tool\"}}}},\
          {{\"key\":\"gen_ai.tool.name\",\"value\":{{\"stringValue\":{}}}}},\
          {{\"key\":\"gen_ai.tool.call.arguments\",\"value\":{}}}]",
        member("tool"),
        member("args")
    );
    let members = ["traceId", "spanId", "startTimeUnixNano", "endTimeUnixNano", "kind", "status"]
        .map(|name| format!("\"{name}\":{},", member(name)));
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{{}},\"scopeSpans\":[{{\"scope\":{{}},\"spans\":[{{{}\"attributes\":{attributes}}}]}}]}}]}}",
        members.concat()
    )
}

const FIRST: &str = "16eaf0f648963898";
const SECOND: &str = "26eaf0f648963898";

fn read(text: &str) -> Read {
    read_bytes(text.as_bytes())
}

fn framed(records: &[Vec<u8>]) -> Vec<u8> {
    records.iter().flat_map(|record| [(record.len() as u32).to_be_bytes().to_vec(), record.clone()].concat()).collect()
}

#[test]
fn collector_contrib_34782_ids_in_base64_are_ids() {
    let line = call(FIRST, &[("traceId", "\"AAECAwQFBgcICQoLDA0ODw==\""), ("spanId", "\"AAECAwQFBgc=\"")]);
    let read = read(&line);
    assert_eq!(read.told(), [""; 0]);
    assert_eq!(read.spans[0].trace_id.to_string(), "000102030405060708090a0b0c0d0e0f");
    assert_eq!(read.spans[0].span_id.to_string(), "0001020304050607");
    // Cut base64 is no id: told, and no panic.
    let cut = self::read(&line.replace("ODw==", "ODw="));
    assert_eq!((cut.told(), cut.report.kept), (vec!["trace_id_invalid@1".to_owned()], 0));
}

#[test]
fn collector_contrib_35739_json_that_is_no_otlp_is_counted() {
    let read = read(&format!("{}\n{{\"hello\":\"world\"}}\n{}\n", call(FIRST, &[]), call(SECOND, &[])));
    assert_eq!(read.told(), ["not_trace_data@2"]);
    assert_eq!(read.issues[0].detail, "hello");
    assert_eq!((read.report.kept, read.report.lines, read.report.lines_skipped), (2, 3, 1));
}

/// Also #32565, #38250 and #49328: the same file read as a plain zstd stream, and the other way round.
#[test]
fn collector_contrib_44077_zstd_with_and_without_lengths_is_read() {
    let lines = [call(FIRST, &[]), call(SECOND, &[])];
    let frames = lines.clone().map(|line| zstd::encode_all(line.as_bytes(), 3).unwrap());
    let with_lengths = read_bytes(&framed(&frames));
    let plain = read_bytes(&zstd::encode_all(lines.join("\n").as_bytes(), 3).unwrap());
    // Frames one after the other without lengths are a stream too; whoever wrote them left the newline out.
    let without = read_bytes(&frames.concat());
    for read in [&with_lengths, &plain, &without] {
        assert_eq!((read.report.kept, read.told().len()), (2, 0));
    }
    assert_eq!(with_lengths.places(), plain.places());
    let cut = read_bytes(&framed(&frames)[..frames[0].len() + 4 + 4 + 20]);
    assert_eq!((cut.report.kept, cut.told()), (1, vec!["record_truncated@2".to_owned()]));
    assert_eq!(cut.issues[0].byte_offset, frames[0].len() as u64 + 4);
}

#[test]
fn opentelemetry_java_6836_two_requests_on_a_line_are_two() {
    let read = read(&format!("{}{}\n", call(FIRST, &[]), call(SECOND, &[])));
    assert_eq!((read.report.kept, read.told().len(), read.report.lines), (2, 0, 1));
}

#[test]
fn collector_11072_access_log_line_behind_a_payload_is_skipped_with_the_reason() {
    let read = read(&format!("{}\n10.0.0.1 - - \"POST /v1/traces\" 200 -\n{}\n", call(FIRST, &[]), call(SECOND, &[])));
    assert_eq!((read.told(), read.report.kept), (vec!["not_json@2".to_owned()], 2));
    // The same without a newline between: nothing of such a line can be trusted.
    let glued =
        self::read(&format!("{}10.0.0.1 - - \"POST /v1/traces\" 200 -\n{}\n", call(FIRST, &[]), call(SECOND, &[])));
    assert_eq!((glued.told(), glued.report.kept), (vec!["trailing_characters@1".to_owned()], 1));
}

/// The protocol's own sample has spans with empty ids.
#[test]
fn jaeger_5293_spans_with_empty_ids_are_not_one_trace() {
    let empty = |id: &str| call(id, &[("traceId", "\"\""), ("spanId", "\"\"")]);
    let read = read(&format!("{}\n{}\n{}\n", empty(FIRST), empty(SECOND), call(FIRST, &[])));
    assert_eq!(read.told(), ["trace_id_missing@1", "trace_id_missing@2"]);
    assert_eq!((read.report.kept, read.report.skipped), (1, 2));
}

#[test]
fn jaeger_ui_2225_several_lines_of_json_are_read() {
    let whole: serde_json::Value = serde_json::from_str(&call(SECOND, &[])).unwrap();
    let pretty = serde_json::to_string_pretty(&whole).unwrap();
    let read = read(&format!("{}\n{pretty}\n{}\n", call(FIRST, &[]), call("36eaf0f648963898", &[])));
    assert_eq!((read.report.kept, read.told().len()), (3, 0));
    let lines: Vec<u64> = read.spans.iter().map(|span| span.line).collect();
    assert_eq!(lines, [1, 2, 2 + pretty.lines().count() as u64]);
}

#[test]
fn ai_helpers_536_last_line_that_was_cut_is_told_with_its_length() {
    let line = call(SECOND, &[]);
    let cut = &line[..line.find("search_reg").unwrap() + 4];
    let read = read(&format!("{}\n{cut}", call(FIRST, &[])));
    assert_eq!((read.report.kept, read.told()), (1, vec!["truncated_json@2".to_owned()]));
    assert_eq!(read.issues[0].detail, cut.len().to_string());
}

#[test]
fn duckdb_23120_text_behind_an_object_is_not_passed_over() {
    let read =
        read(&format!("{}\n{}TRAILER\n{}\n", call(FIRST, &[]), call(SECOND, &[]), call("36eaf0f648963898", &[])));
    assert_eq!((read.report.kept, read.told()), (2, vec!["trailing_characters@2".to_owned()]));
    assert_eq!(read.issues[0].detail, "TRAILER");
}

/// Also phoenix#10021. Such a document is held once: 200 MB on one line take 208 MB beside the 54 MB of an empty run.
#[test]
fn jaeger_ui_3170_document_of_60_mb_is_one_text() {
    let filler = format!(",\"filler\":\"{}\"}}", "가".repeat(20 << 20));
    let line = call(FIRST, &[]);
    let line = format!("{}{filler}", line.strip_suffix('}').unwrap());
    assert!(line.len() > 60 << 20);
    let mut reader = TextReader::new(Cursor::new(line.as_bytes()));
    assert!(matches!(reader.next(), Some(Framed::Line(text)) if text.bytes == line.as_bytes()));
    drop(reader);
    let read = read(&line);
    assert_eq!((read.report.kept, read.told().len(), read.report.lines), (1, 0, 1));
}

#[test]
fn opentelemetry_proto_json_is_read_leniently_and_exactly() {
    let lenient = call(
        FIRST,
        &[
            ("kind", "\"SPAN_KIND_INTERNAL\""),
            ("status", "{\"code\":\"STATUS_CODE_ERROR\",\"unknown\":1}"),
            ("startTimeUnixNano", "1791331924010042232"),
            (
                "args",
                "{\"kvlistValue\":{\"values\":[{\"key\":\"n\",\"value\":{\"intValue\":9007199254740993}},{\"key\":\"m\",\"value\":{\"intValue\":\"9007199254740993\"}}]}}",
            ),
        ],
    );
    let snake = lenient
        .replace("resourceSpans", "resource_spans")
        .replace("scopeSpans", "scope_spans")
        .replace("traceId", "trace_id")
        .replace("spanId", "span_id")
        .replace("startTimeUnixNano", "start_time_unix_nano")
        .replace("endTimeUnixNano", "end_time_unix_nano")
        .replace("kvlistValue", "kvlist_value")
        .replace("intValue", "int_value")
        .replace("stringValue", "string_value");
    for text in [lenient, snake] {
        let read = read(&text);
        assert_eq!(read.told(), [""; 0]);
        let span = &read.spans[0];
        assert_eq!((span.status.as_str(), span.start_ns), ("error", 1_791_331_924_010_042_232));
        assert_eq!(span.tool_args.as_deref(), Some("{\"n\":9007199254740993,\"m\":9007199254740993}"));
    }
}

/// Also langfuse PR14667.
#[test]
fn langfuse_8550_korean_escapes_are_decoded_and_a_lone_surrogate_is_told() {
    let read = read(&call(
        FIRST,
        &[("tool", "\"\\ucd9c\\uc7a5\\ube44\""), ("args", "{\"stringValue\":\"{\\\"q\\\":\\\"\\ucd9c\\uc7a5\\\"}\"}")],
    ));
    assert_eq!(read.told(), [""; 0]);
    assert_eq!(read.spans[0].tool_name.as_deref(), Some("출장비"));
    assert_eq!(read.spans[0].args_key.as_deref(), Some("{\"q\":\"출장\"}"));
    let lone = |tool: &str| self::read(&call(FIRST, &[("tool", tool)]));
    for (tool, name, replaced) in [
        ("\"a\\ud83d\"", "a\u{fffd}", "1"),
        ("\"\\ud83d\\ud83d\\ude00\"", "\u{fffd}😀", "1"),
        ("\"\\ude00\\ud83dx\"", "\u{fffd}\u{fffd}x", "2"),
    ] {
        let read = lone(tool);
        assert_eq!((read.told(), read.issues[0].detail.as_str()), (vec!["text_replaced@1".to_owned()], replaced));
        assert_eq!(read.spans[0].tool_name.as_deref(), Some(name));
    }
    // A pair is a letter, and behind an escaped backslash there is no escape.
    for (tool, name) in [("\"\\ud83d\\ude00\"", "😀"), ("\"\\\\ud83d\"", "\\ud83d"), ("\"\\uD83D\\uDE00\"", "😀")] {
        assert_eq!((lone(tool).told().len(), lone(tool).spans[0].tool_name.as_deref()), (0, Some(name)));
    }
}

/// Names are kept letter by letter: a name in jamo (NFD) stays apart from the same name in syllables (NFC). To compare
/// them as equal is left open.
#[test]
fn langfuse_8550_name_in_jamo_stays_as_recorded() {
    let read = read(&call(FIRST, &[("tool", "\"\u{110e}\u{116e}\u{11af}\"")]));
    assert_eq!((read.told().len(), read.spans[0].tool_name.as_deref()), (0, Some("\u{110e}\u{116e}\u{11af}")));
}
