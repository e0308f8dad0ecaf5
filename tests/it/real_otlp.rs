//! OTLP JSON as found in public projects: read, or refused with the reason, and never a crash.

use std::fs;

use super::support::{files_under, repository};
use super::support_read::read_bytes;

/// File, spans met, spans kept, issues. None of them has agents or tools: their spans are dropped and counted.
const FOUND: &[(&str, u64, u64, &[&str])] = &[];

#[test]
fn files_of_public_projects_are_read_or_refused_with_the_reason() {
    let files = files_under("fixtures/real/otlp");
    let listed: Vec<String> = FOUND.iter().map(|(file, ..)| format!("fixtures/real/otlp/{file}")).collect();
    assert_eq!(files, listed);
    for (file, (_, seen, kept, told)) in files.iter().zip(FOUND) {
        let read = read_bytes(&fs::read(repository().join(file)).unwrap());
        assert_eq!((read.report.seen, read.report.kept), (*seen, *kept), "{file}");
        assert_eq!(read.told(), *told, "{file}");
    }
}
