//! Lines parsed on threads beside the reading: the same rows, issues and sums, whatever stands between them.
//!
//! `read_bytes` reads each input in turn and on threads and compares.

use std::fs;

use proptest::prelude::*;

use super::support::repository;
use super::support_read::read_bytes;

/// Lines of a good file, and what field files have between such lines.
fn lines() -> Vec<Vec<u8>> {
    let read = |file: &str| fs::read(repository().join("fixtures").join(file)).expect("the fixture is there");
    let good = read("seed/traces.jsonl");
    let mut lines: Vec<Vec<u8>> = good.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    lines.push(b"{\"resourceSpans\":[{}".to_vec());
    lines.push(b"{\"resourceSpans\":[".to_vec());
    lines.push(b"]}".to_vec());
    lines.push(b"{}".to_vec());
    lines.push(b"{\"a\":{}}{\"b\":{}".to_vec());
    lines.push(b"}".to_vec());
    lines.push(b"{\"a\":\"\xff\"}".to_vec());
    lines.push(b"{\"a\":1,}".to_vec());
    lines.push(b"2026-12-02 {\"resourceSpans\":[]}".to_vec());
    lines.push(b" \t".to_vec());
    lines.push(b"{\"resourceSpans\":[]}\r".to_vec());
    lines.extend(read("quirks/pretty_concatenated.json").split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn threads_change_nothing(picked in prop::collection::vec(any::<prop::sample::Index>(), 1..40), ends in any::<bool>()) {
        let all = lines();
        let mut bytes = picked.iter().map(|place| place.get(&all).as_slice()).collect::<Vec<_>>().join(&b'\n');
        if ends {
            bytes.push(b'\n');
        }
        read_bytes(&bytes);
    }
}

#[test]
fn threads_change_nothing_in_a_whole_file_followed_by_its_beginning() {
    let file = fs::read(repository().join("fixtures/seed/traces.jsonl")).expect("the fixture is there");
    let read = read_bytes(&[file.as_slice(), &file[..file.len() / 3]].concat());
    assert!(read.report.redelivered > 0 && read.report.kept > 0, "{:?}", read.report);
}
