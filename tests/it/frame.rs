//! Lines, documents over several lines, and what is left when they are cut.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::io::{self, Read};

use proptest::prelude::*;
use serde_json::Value;
use taco_trace::ingest::frame::{Framed, LineReader, raw_excerpt};

/// Gives at most `step` bytes at a time, then perhaps an error.
struct Stream<'a> {
    bytes: &'a [u8],
    step: usize,
    failure: Option<&'static str>,
}

impl Read for Stream<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.bytes.len().min(self.step).min(buffer.len());
        if length == 0
            && let Some(failure) = self.failure.take()
        {
            return Err(io::Error::other(failure));
        }
        buffer[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes = &self.bytes[length..];
        Ok(length)
    }
}

fn stream(bytes: &[u8]) -> Stream<'_> {
    Stream { bytes, step: usize::MAX, failure: None }
}

/// What a driver gets out of a stream: `text@number+lines`, `!` before a text that is no JSON, `long@number`, `damaged@number`.
fn drive<R: Read>(mut reader: LineReader<R>) -> (Vec<String>, u64) {
    let mut events = Vec::new();
    let mut lines = 0;
    loop {
        let (mut text, number, mut spans, outcome) = match reader.next() {
            None => break,
            Some(Framed::TooLong { number, .. }) => {
                events.push(format!("long@{number}"));
                lines += 1;
                continue;
            }
            Some(Framed::Damaged { number, .. }) => {
                events.push(format!("damaged@{number}"));
                continue;
            }
            Some(problem @ Framed::Problem { .. }) => panic!("lines have no such problem: {problem:?}"),
            Some(Framed::Line(line)) => (shown(line.bytes), line.number, line.lines, values(line.bytes)),
        };
        let mut good = outcome.is_ok();
        if outcome.is_err_and(|error| error.is_eof()) {
            match reader.extend() {
                Some(line) => {
                    assert_eq!(line.number, number);
                    (text, spans, good) = (shown(line.bytes), line.lines, values(line.bytes).is_ok());
                }
                None => assert_eq!(shown(reader.current().bytes), text),
            }
        }
        lines += spans;
        events.push(format!("{}{text}@{number}+{spans}", if good { "" } else { "!" }));
    }
    assert!(reader.next().is_none(), "the end stays the end");
    (events, lines + reader.blank_lines())
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn values(bytes: &[u8]) -> serde_json::Result<Vec<Value>> {
    serde_json::Deserializer::from_slice(bytes).into_iter().collect()
}

#[track_caller]
fn check(bytes: &str, expected: &[&str]) {
    for step in [1, 2, 7, usize::MAX] {
        let (events, lines) = drive(LineReader::new(Stream { bytes: bytes.as_bytes(), step, failure: None }));
        assert_eq!(events, expected, "step {step}");
        assert_eq!(lines, bytes.lines().count() as u64, "every line is counted once");
    }
}

#[track_caller]
fn check_limit(bytes: &str, limit: usize, expected: &[&str]) {
    for step in [1, usize::MAX] {
        let stream = Stream { bytes: bytes.as_bytes(), step, failure: None };
        let (events, lines) = drive(LineReader::with_limit(stream, limit));
        assert_eq!(events, expected, "step {step}");
        assert_eq!(lines, bytes.lines().count() as u64, "every line is counted once");
    }
}

#[test]
fn lines_have_numbers_offsets_and_ends() {
    let mut reader = LineReader::new(stream(b"{}\r\n\n \t\r\n[1]\nx"));
    let mut seen = Vec::new();
    while let Some(Framed::Line(line)) = reader.next() {
        seen.push((shown(line.bytes), line.number, line.byte_offset, line.lines, line.complete));
    }
    let expected = [("{}", 1, 0, 1, true), ("[1]", 4, 9, 1, true), ("x", 5, 13, 1, false)];
    assert_eq!(
        seen,
        expected.map(|(text, number, offset, lines, complete)| (text.to_owned(), number, offset, lines, complete))
    );
    assert_eq!(reader.blank_lines(), 2);
    assert_eq!(reader.position(), (5, 14));
}

#[test]
fn nothing_gives_nothing() {
    for bytes in ["", "\n", "\r\n\r\n", "  "] {
        check(bytes, &[]);
    }
    assert!(LineReader::new(stream(b"")).extend().is_none());
    assert!(LineReader::new(stream(b"")).current().bytes.is_empty());
}

#[test]
fn start_in_the_middle_of_a_file_keeps_its_place() {
    let mut reader = LineReader::new(stream(b"{}\n{\n}\n{}")).starting_at(10, 1000);
    let mut places = Vec::new();
    while let Some(Framed::Line(line)) = reader.next() {
        let (number, offset) = (line.number, line.byte_offset);
        let _ = reader.extend();
        places.push((number, offset, reader.position()));
    }
    assert_eq!(places, [(10, 1000, (11, 1003)), (11, 1003, (13, 1007)), (13, 1007, (13, 1009))]);
}

#[test]
fn carriage_return_inside_a_line_stays() {
    check("1\r2\r\n3\r", &["1\r2@1+1", "3\r@2+1"]);
}

#[test]
fn line_at_the_limit_is_read_and_over_it_is_passed_over() {
    check_limit("1234\n12345\n123456\n1\n", 5, &["1234@1+1", "12345@2+1", "long@3", "1@4+1"]);
    check_limit("12345\r\n123456\r\n", 5, &["12345@1+1", "long@2"]);
    check_limit("1\n12345", 5, &["1@1+1", "12345@2+1"]);
    check_limit("1\n123456", 5, &["1@1+1", "long@2"]);
    check_limit(&format!("{}\n7\n", "1".repeat(3_000_000)), 5, &["long@1", "7@2+1"]);
}

#[test]
fn line_over_the_limit_keeps_its_beginning_and_place() {
    let text = format!("1\n{}\n2\n", "가".repeat(2_000_000));
    let mut reader = LineReader::with_limit(stream(text.as_bytes()), 1000);
    assert!(matches!(reader.next(), Some(Framed::Line(_))));
    let Some(Framed::TooLong { number, byte_offset, raw_prefix }) = reader.next() else { panic!("not too long") };
    assert_eq!((number, byte_offset), (2, 2));
    assert_eq!(raw_excerpt(&raw_prefix), "가".repeat(200));
    assert!(raw_prefix.len() <= 800);
    assert!(reader.extend().is_none());
    let Some(Framed::Line(line)) = reader.next() else { panic!("no line") };
    assert_eq!((line.number, line.byte_offset, line.bytes), (3, 6_000_003, &b"2"[..]));
}

#[test]
fn limit_without_bound_does_not_overflow() {
    let (events, _) = drive(LineReader::with_limit(stream(b"{\n}\n1"), usize::MAX).starting_at(1, u64::MAX / 2));
    assert_eq!(events, ["{\n}@1+2", "1@3+1"]);
}

#[test]
fn document_over_several_lines_is_one_text() {
    check("{\n  \"a\": [\n    1\n  ]\n}\n{}\n", &["{\n  \"a\": [\n    1\n  ]\n}@1+5", "{}@6+1"]);
    check("{\r\n\r\n}\r\n{}\r\n", &["{\r\n\r\n}@1+3", "{}@4+1"]);
    check("\n[\n{}\n,\n{}\n]", &["[\n{}\n,\n{}\n]@2+5"]);
    check("{} [\n] {}\n1", &["{} [\n] {}@1+2", "1@3+1"]);
    check("{\"a\":\n\"b\\\"\\\\\\u00e9 {[\"}\n", &["{\"a\":\n\"b\\\"\\\\\\u00e9 {[\"}@1+2"]);
    check(
        "[\n-0.5e+10, 10, 0, -1E2,\ntrue, false, null\n]\n",
        &["[\n-0.5e+10, 10, 0, -1E2,\ntrue, false, null\n]@1+4"],
    );
}

#[test]
fn what_follows_on_the_last_line_comes_with_it() {
    check("{\n} {}\n{}\n", &["{\n} {}@1+2", "{}@3+1"]);
    check("{\n} x {\n{}\n", &["!{\n} x {@1+2", "{}@3+1"]);
    check("{\n} \"cut\n{}\n", &["!{\n} \"cut@1+2", "{}@3+1"]);
}

#[test]
fn documents_without_newline_between_are_cut_apart() {
    check("{\n\"a\":1\n}{\n\"b\":2\n}{\n}\n{}\n", &["{\n\"a\":1\n}@1+2", "{\n\"b\":2\n}@3+2", "{\n}@5+2", "{}@7+1"]);
    check("{\n} {} {\n{}\n", &["{\n} {} @1+1", "!{@2+1", "{}@3+1"]);
    check("{\n}{", &["!{\n}{@1+2"]);
}

#[test]
fn cut_line_is_reported_alone_and_good_lines_after_it_are_read() {
    for cut in [
        r#"{"a"#,
        r#"{"a":"b"#,
        r#"{"a""#,
        r#"{"a":"#,
        r#"{"a":1"#,
        r#"{"a":1,"#,
        r#"{"a":[{}"#,
        r#"{"a":[{},"#,
        "[",
        "{",
        "{\"a\":tru",
        "[-",
    ] {
        let bad = format!("!{cut}@1+1");
        check(&format!("{cut}\n{{\"b\":1}}\n{{\"c\":2}}\n"), &[&bad, "{\"b\":1}@2+1", "{\"c\":2}@3+1"]);
        check(&format!("{cut}\n{{\"b\":1}}\n"), &[&bad, "{\"b\":1}@2+1"]);
        check(&format!("{cut}\n\n"), &[&bad]);
        check(&format!("{cut}\n"), &[&bad]);
        check(cut, &[&bad]);
        let again = format!("!{cut}@2+1");
        check(&format!("{cut}\n{cut}\n{{}}\n{{}}\n"), &[&bad, &again, "{}@3+1", "{}@4+1"]);
        check(&format!("{cut}\n{{\n}}\n{{\n}}\n"), &[&bad, "{\n}@2+2", "{\n}@4+2"]);
    }
}

#[test]
fn text_that_cannot_become_json_is_not_extended() {
    for (second, name) in [
        ("}", "mismatch"),
        (",1]", "no value"),
        ("1 2]", "no comma"),
        ("01]", "leading zero"),
        ("1.]", "no fraction"),
        ("1e]", "no exponent"),
        ("-]", "no digits"),
        ("tru]", "word cut"),
        ("\"\\x\"]", "escape"),
        ("\"\\u12g4\"]", "hex"),
        ("\"\u{1}\"]", "control character"),
        ("{1:2}]", "key"),
        ("{\"a\" 2}]", "no colon"),
        ("{\"a\":1,}]", "comma at the end"),
        ("'a']", "quote"),
    ] {
        let (events, lines) = drive(LineReader::new(stream(format!("[\n{second}\n{{}}\n").as_bytes())));
        assert_eq!(events[0], "![@1+1", "{name}");
        assert_eq!((events.last().unwrap().as_str(), lines), ("{}@3+1", 3), "{name}");
    }
}

#[test]
fn inner_documents_of_one_without_its_end_are_read() {
    check(
        "[\n{\n\"a\":1\n}\n,\n{\n}\n{}\n{\n\"b\":\n",
        &["![@1+1", "{\n\"a\":1\n}@2+3", "!,@5+1", "{\n}@6+2", "{}@8+1", "!{@9+1", "!\"b\":@10+1"],
    );
}

#[test]
fn document_at_the_limit_is_read_and_over_it_is_not() {
    let document = "{\n\"a\":1\n}";
    check_limit(&format!("{document}\n1\n"), document.len(), &["{\n\"a\":1\n}@1+3", "1@4+1"]);
    check_limit(&format!("{document}\n1\n"), document.len() - 1, &["!{@1+1", "!\"a\":1@2+1", "!}@3+1", "1@4+1"]);
    // The value fits and what follows it on its line does not.
    check_limit("[\n1\n]           2\n3\n", 6, &["[\n1\n]@1+2", "long@3", "3@4+1"]);
    check_limit("[\n1\n]        \n3\n", 6, &["[\n1\n]@1+2", "long@3", "3@4+1"]);
}

#[test]
fn document_inside_one_over_the_limit_is_read() {
    // The attempt of line 1 stops inside the array of line 3, which the attempt of line 3 completes.
    check_limit("[\n7,\n[\n1,\n2\n]\n1\n", 9, &["![@1+1", "!7,@2+1", "[\n1,\n2\n]@3+4", "1@7+1"]);
}

#[test]
fn damage_comes_after_all_that_was_read() {
    for (bytes, expected) in [
        ("", vec!["damaged@1"]),
        ("1\n", vec!["1@1+1", "damaged@2"]),
        ("1\n{\"a\":", vec!["1@1+1", "!{\"a\":@2+1", "damaged@2"]),
        ("[\n1,\n2", vec!["![@1+1", "!1,@2+1", "2@3+1", "damaged@3"]),
        ("[\n1,\n2]", vec!["[\n1,\n2]@1+3", "damaged@3"]),
        ("1\n  ", vec!["1@1+1", "damaged@2"]),
    ] {
        for step in [1, usize::MAX] {
            let stream = Stream { bytes: bytes.as_bytes(), step, failure: Some("broken") };
            assert_eq!(drive(LineReader::new(stream)).0, expected);
        }
    }
    let mut reader = LineReader::new(Stream { bytes: b"1\n22", step: 1, failure: Some("broken") });
    let last = std::iter::from_fn(|| reader.next().map(|framed| format!("{framed:?}"))).last().unwrap();
    assert_eq!(last, r#"Damaged { number: 2, byte_offset: 4, message: "broken" }"#);
}

#[test]
fn damage_inside_a_long_line_is_told() {
    let stream = Stream { bytes: b"1234567\n123456789", step: 3, failure: Some("broken") };
    assert_eq!(drive(LineReader::with_limit(stream, 7)).0, ["1234567@1+1", "long@2", "damaged@2"]);
}

/// Calls `extend` after every line, as often as any driver could. A reader whose work grows with the square of the
/// input would not come back from these sizes.
fn exhaust(bytes: &[u8], limit: usize) -> u64 {
    let mut reader = LineReader::with_limit(stream(bytes), limit);
    let mut lines = 0;
    while let Some(framed) = reader.next() {
        let Framed::Line(line) = framed else {
            lines += 1;
            continue;
        };
        let spans = line.lines;
        lines += reader.extend().map_or(spans, |line| line.lines);
    }
    lines + reader.blank_lines()
}

#[test]
fn unfinished_texts_cost_no_more_than_their_length() {
    const COUNT: usize = 100_000;
    for (text, limit) in [
        ("[\n".repeat(COUNT), usize::MAX),
        ("[\n".repeat(COUNT), 50_000),
        ("{\"a\":\n".repeat(COUNT), usize::MAX),
        ("{\"a\":[1,\n".repeat(COUNT), usize::MAX),
        ("{\"a\":[1\n".repeat(COUNT), usize::MAX),
        ("[\n".repeat(4000) + &"1,\n".repeat(COUNT), usize::MAX),
        ("[\n".repeat(4000) + &"1,\n".repeat(COUNT), 100_000),
        ("[\n".repeat(4000) + &"1,\n".repeat(COUNT) + "}\n", usize::MAX),
        ("[\n".repeat(4000) + &"{\n},\n".repeat(COUNT / 2), usize::MAX),
        ("[\n".repeat(4000) + &"1,\n".repeat(30_000) + "1\n" + &"]".repeat(4000) + &"x".repeat(200_000), 150_000),
        ("[\n".repeat(4000) + &" ".repeat(500_000), 300_000),
        ("{\n}".repeat(COUNT), usize::MAX),
    ] {
        assert_eq!(exhaust(text.as_bytes(), limit), text.lines().count() as u64);
    }
}

#[test]
fn lines_across_blocks_are_whole() {
    let mut text = String::new();
    let mut expected = Vec::new();
    for (number, length) in
        [1_000_000, 10, 1_048_576, 3_000_000, 5, 700_000, 700_000, 2_000_000].into_iter().enumerate()
    {
        expected.push((number as u64 + 1, text.len() as u64, length));
        text += &"1".repeat(length);
        text.push('\n');
    }
    for step in [4096, usize::MAX] {
        let mut reader = LineReader::new(Stream { bytes: text.as_bytes(), step, failure: None });
        let mut seen = Vec::new();
        while let Some(Framed::Line(line)) = reader.next() {
            seen.push((line.number, line.byte_offset, line.bytes.len()));
        }
        assert_eq!(seen, expected);
    }
}

#[test]
fn excerpt_is_safe_to_show() {
    assert_eq!(raw_excerpt(b"a\tb\nc\x1b[31m\x7f\xff\xc2\x85"), "a\tb\u{fffd}c\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}");
    for (length, expected) in [(199, 199), (200, 200), (201, 200)] {
        assert_eq!(raw_excerpt("😀".repeat(length).as_bytes()).chars().count(), expected);
        assert_eq!(raw_excerpt(&vec![0xff; length]).chars().count(), expected);
    }
    assert_eq!(raw_excerpt(b""), "");
}

#[derive(Debug, Clone)]
enum Piece {
    Good(Value),
    Pretty(Value),
    /// Two pretty documents with nothing between them.
    Joined(Value, Value),
    /// A line cut at this share of its length.
    Cut(Value, f64),
    /// The first lines of a pretty document.
    CutPretty(Value, f64),
    Blank(&'static str),
}

fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9..1e9).prop_map(Value::from),
        "[ -~가-힣\\\\\"{}\\[\\]\n\t]{0,8}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z\"{]{0,4}", inner), 0..4).prop_map(|members| members.into_iter().collect()),
        ]
    })
}

fn any_piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        3 => any_value().prop_map(Piece::Good),
        2 => any_value().prop_map(Piece::Pretty),
        1 => (any_value(), any_value()).prop_map(|(first, second)| Piece::Joined(first, second)),
        2 => (any_value(), 0.0..1.0).prop_map(|(value, share)| Piece::Cut(value, share)),
        2 => (any_value(), 0.0..1.0).prop_map(|(value, share)| Piece::CutPretty(value, share)),
        1 => prop_oneof![Just(""), Just("  "), Just("\t")].prop_map(Piece::Blank),
    ]
}

/// Writes the pieces; returns the text and the line on which each intact value starts, in order of its id.
fn write(pieces: &[(Piece, bool)]) -> (String, Vec<u64>) {
    let (mut text, mut starts) = (String::new(), Vec::new());
    for (piece, carriage_return) in pieces {
        let line = |text: &str| text.matches('\n').count() as u64 + 1;
        let marked = |starts: &mut Vec<u64>, at: u64, value: &Value| {
            starts.push(at);
            serde_json::json!({"id": starts.len() - 1, "value": value})
        };
        let pretty = |value: &Value| serde_json::to_string_pretty(value).unwrap();
        let unmarked = |value: &Value| serde_json::json!({"lost": value});
        let mut block = match piece {
            Piece::Good(value) => marked(&mut starts, line(&text), value).to_string(),
            Piece::Pretty(value) => pretty(&marked(&mut starts, line(&text), value)),
            Piece::Joined(first, second) => {
                let first = pretty(&marked(&mut starts, line(&text), first));
                let at = line(&text) + first.matches('\n').count() as u64;
                first + &pretty(&marked(&mut starts, at, second))
            }
            Piece::Cut(value, share) => {
                let whole: Vec<char> = unmarked(value).to_string().chars().collect();
                let length = 1 + (share * (whole.len() - 1) as f64) as usize;
                whole[..length.min(whole.len() - 1)].iter().collect()
            }
            Piece::CutPretty(value, share) => {
                let whole = pretty(&unmarked(value));
                let count = whole.lines().count();
                let length = 1 + (share * (count - 1) as f64) as usize;
                whole.lines().take(length.min(count - 1)).collect::<Vec<_>>().join("\n")
            }
            Piece::Blank(blank) => (*blank).to_owned(),
        } + "\n";
        if *carriage_return {
            block = block.replace('\n', "\r\n");
        }
        text += &block;
    }
    (text, starts)
}

/// Found by 1.8 million random texts: a text that ends with the stream was let one byte over the limit.
#[test]
fn extended_text_at_the_end_of_the_stream_keeps_the_limit() {
    for limit in [5, 6] {
        let mut reader = LineReader::with_limit(&b"[\n]{{{"[..], limit);
        assert!(matches!(reader.next(), Some(Framed::Line(_))));
        assert!(reader.extend().is_some_and(|line| line.bytes.len() <= limit), "{limit}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn every_intact_value_is_delivered_once_with_its_line(
        pieces in prop::collection::vec((any_piece(), any::<bool>()), 0..12),
        step in prop_oneof![1_usize..40, Just(usize::MAX)],
    ) {
        let (text, starts) = write(&pieces);
        let mut reader = LineReader::new(Stream { bytes: text.as_bytes(), step, failure: None });
        let (mut found, mut lines) = (Vec::new(), 0);
        while let Some(framed) = reader.next() {
            let Framed::Line(line) = framed else { panic!("{framed:?}") };
            let number = line.number;
            lines += line.lines;
            let counted = line.lines;
            let mut outcome = values(line.bytes);
            if outcome.as_ref().is_err_and(serde_json::Error::is_eof) && let Some(line) = reader.extend() {
                lines += line.lines - counted;
                prop_assert_eq!(&text.as_bytes()[line.byte_offset as usize..][..line.bytes.len()], line.bytes);
                outcome = values(line.bytes);
            }
            for value in outcome.unwrap_or_default() {
                if let Some(id) = value.get("id").and_then(Value::as_u64) {
                    found.push((id, number));
                }
            }
        }
        let expected: Vec<_> = (0..).zip(starts).collect();
        prop_assert_eq!(found, expected, "{}", text);
        prop_assert_eq!(lines + reader.blank_lines(), text.matches('\n').count() as u64);
    }

    #[test]
    fn arbitrary_bytes_keep_their_place(
        bytes in prop::collection::vec(
            prop_oneof![4 => prop::sample::select(b"{}[],:\"\\\n\r 01-.eEtrufalsn".to_vec()), 1 => any::<u8>()], 0..200),
        step in 1_usize..20,
        limit in 0_usize..60,
        fails in any::<bool>(),
    ) {
        let stream = Stream { bytes: &bytes, step, failure: fails.then_some("broken") };
        let mut reader = LineReader::with_limit(stream, limit);
        let (mut lines, mut end, mut damages) = (0, 0, 0);
        while let Some(framed) = reader.next() {
            match framed {
                Framed::TooLong { number, byte_offset, raw_prefix } => {
                    prop_assert!(bytes[byte_offset as usize..].starts_with(&raw_prefix));
                    prop_assert_eq!(number, 1 + bytes[..byte_offset as usize].iter().filter(|byte| **byte == b'\n').count() as u64);
                    lines += 1;
                }
                Framed::Damaged { byte_offset, .. } => {
                    prop_assert_eq!(byte_offset, bytes.len() as u64);
                    damages += 1;
                }
                Framed::Problem { code, .. } => panic!("lines have no such problem: {code:?}"),
                Framed::Line(_) => {
                    let _ = reader.extend();
                    let line = reader.current();
                    prop_assert!(line.bytes.len() <= limit);
                    prop_assert!(line.byte_offset >= end);
                    prop_assert_eq!(&bytes[line.byte_offset as usize..][..line.bytes.len()], line.bytes);
                    prop_assert_eq!(line.number, 1 + bytes[..line.byte_offset as usize].iter().filter(|byte| **byte == b'\n').count() as u64);
                    end = line.byte_offset + line.bytes.len() as u64;
                    lines += line.lines;
                }
            }
        }
        prop_assert_eq!(damages, u64::from(fails));
        let newlines = bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        let expected = newlines + u64::from(bytes.last().is_some_and(|byte| *byte != b'\n'));
        prop_assert_eq!(lines + reader.blank_lines(), expected);
    }

    #[test]
    fn value_over_several_lines_is_completed_exactly(value in any_value(), crlf in any::<bool>()) {
        let mut text = serde_json::to_string_pretty(&serde_json::json!([value])).unwrap();
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let whole = format!("{text}\n5\n");
        let mut reader = LineReader::new(stream(whole.as_bytes()));
        prop_assert!(matches!(reader.next(), Some(Framed::Line(_))));
        if text.contains('\n') {
            let line = reader.extend().unwrap();
            prop_assert_eq!(shown(line.bytes), text.clone());
        }
        prop_assert!(matches!(reader.next(), Some(Framed::Line(line)) if line.bytes == b"5"));
    }
}
