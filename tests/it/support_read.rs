//! Bytes through opening, framing and reading, without a store: what a file of them gives.

use std::convert::Infallible;
use std::io::Cursor;

use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::MissingStatus;
use taco_trace::ingest::source::Input;
use taco_trace::ingest::{self, Batch, ChatCalls, Options, Parallel, Report, Start};
use taco_trace::model::{Issue, SpanRow};

/// What bytes gave.
pub(crate) struct Read {
    /// Sums.
    pub(crate) report: Report,
    /// Kept spans, in order.
    pub(crate) spans: Vec<SpanRow>,
    /// Problems met, in order.
    pub(crate) issues: Vec<Issue>,
}

impl Read {
    /// The issues as `code@line`.
    pub(crate) fn told(&self) -> Vec<String> {
        self.issues.iter().map(|issue| format!("{}@{}", issue.code.as_str(), issue.line)).collect()
    }

    /// Ids and lines of the kept spans, sorted.
    pub(crate) fn places(&self) -> Vec<(String, u64)> {
        let mut places: Vec<_> = self.spans.iter().map(|span| (span.span_id.to_string(), span.line)).collect();
        places.sort_unstable();
        places
    }
}

/// Reads stored bytes as a file is read, in turn and on threads: what differs, and sums that do not add up, fail.
pub(crate) fn read_bytes(stored: &[u8]) -> Read {
    let read = read_with(stored, Parallel::NONE);
    // Small, so that a small input has several chunks.
    for (threads, chunk_bytes) in [(1, 1), (3, 2_000)] {
        let other = read_with(stored, Parallel { threads, chunk_bytes });
        assert_eq!(read.report, other.report, "{threads} threads, chunks of {chunk_bytes} bytes");
        assert_eq!(read.issues, other.issues, "{threads} threads, chunks of {chunk_bytes} bytes");
        assert_eq!(read.spans, other.spans, "{threads} threads, chunks of {chunk_bytes} bytes");
    }
    read
}

/// Reads stored bytes with so many threads.
fn read_with(stored: &[u8], parallel: Parallel) -> Read {
    let size = Some(stored.len() as u64);
    let mut input = Input::new(Box::new(Cursor::new(stored.to_vec())), size).expect("bytes in memory can be read");
    let start = Start { line: 1, byte_offset: input.bom_bytes() };
    let options = Options {
        conventions: Conventions::builtin(),
        missing_status: MissingStatus::Skip,
        chat_calls: ChatCalls::Read,
    };
    let (mut spans, mut issues) = (Vec::new(), Vec::new());
    let mut sink = |batch: Batch| -> Result<(), Infallible> {
        spans.extend(batch.spans);
        issues.extend(batch.issues);
        Ok(())
    };
    let Ok(report) = ingest::read_in_parallel(&mut input, start, &options, parallel, None, &mut sink, &mut |_, _| {});
    let dropped: u64 = report.dropped.values().sum();
    assert_eq!(report.seen, report.kept + dropped + report.redelivered + report.skipped, "{report:?}");
    assert_eq!(report.kept, spans.len() as u64);
    assert!(report.lines_skipped <= report.lines, "{report:?}");
    Read { report, spans, issues }
}
