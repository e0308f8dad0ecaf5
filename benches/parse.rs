//! Throughput of the steps of ingest on 4 MB in memory, one thread: bytes a second of the input.
//!
//! `lines` cuts lines only, `document` parses each line into rows, `read` does both and settles repeated spans,
//! `append` builds Arrow batches of the rows and appends them to a store in memory (bytes are those of the input the
//! rows came from), `canonical` writes the arguments of all calls in canonical form (bytes are those of the arguments).

mod traces;

use std::convert::Infallible;
use std::hint::black_box;
use std::io::Cursor;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use taco_trace::ingest::convention::Conventions;
use taco_trace::ingest::document::{Context, MissingStatus, Parsed, parse};
use taco_trace::ingest::frame::{Framed, LineReader};
use taco_trace::ingest::{self, Batch, ChatCalls, Options, Start, args};
use taco_trace::model::SpanRow;
use taco_trace::store::{SourceIdentity, Store};

const BYTES: u64 = 4_000_000;

fn input(lean: bool) -> Vec<u8> {
    let plan = traces::Plan { bytes: BYTES, seed: 4, lean, one_line: false };
    let mut made = Vec::new();
    let summary = traces::write(&mut made, &plan).expect("memory can be written");
    // The steps are measured on what they read whole.
    assert_eq!(parse_all(&lines(&made), &Conventions::builtin()).counts.kept, summary.delivered.kept);
    made
}

fn lines(input: &[u8]) -> Vec<&str> {
    std::str::from_utf8(input).expect("the generator writes UTF-8").lines().collect()
}

fn parse_all(lines: &[&str], conventions: &Conventions) -> Parsed {
    let mut parsed = Parsed::default();
    for line in lines {
        let context = Context { conventions, missing_status: MissingStatus::Skip, line: 1, byte_offset: 0 };
        parse(line, &context, &mut parsed).expect("the generator writes trace data");
    }
    parsed
}

fn steps(criterion: &mut Criterion) {
    for (form, lean) in [("rich", false), ("lean", true)] {
        let bytes = input(lean);
        let mut group = criterion.benchmark_group(form);
        group.throughput(Throughput::Bytes(bytes.len() as u64)).measurement_time(Duration::from_secs(4));
        cut(&mut group, &bytes);
        documents(&mut group, &bytes);
        read(&mut group, &bytes);
        append(&mut group, &bytes);
        canonical(&mut group, &bytes);
        group.finish();
    }
}

fn cut(group: &mut BenchmarkGroup<'_, WallTime>, bytes: &[u8]) {
    group.bench_function("lines", |bencher| {
        bencher.iter(|| {
            let mut reader = LineReader::new(Cursor::new(bytes));
            let mut total = 0;
            while let Some(Framed::Line(line)) = reader.next() {
                total += line.bytes.len();
            }
            total
        });
    });
}

fn documents(group: &mut BenchmarkGroup<'_, WallTime>, bytes: &[u8]) {
    let (lines, conventions) = (lines(bytes), Conventions::builtin());
    group.bench_function("document", |bencher| bencher.iter(|| parse_all(&lines, &conventions)));
}

fn read(group: &mut BenchmarkGroup<'_, WallTime>, bytes: &[u8]) {
    let options = Options {
        conventions: Conventions::builtin(),
        missing_status: MissingStatus::Skip,
        chat_calls: ChatCalls::Read,
    };
    group.bench_function("read", |bencher| {
        bencher.iter(|| {
            let mut sink = |batch: Batch| -> Result<(), Infallible> {
                black_box(batch);
                Ok(())
            };
            ingest::read(&mut Cursor::new(bytes), Start::default(), &options, &mut sink, &mut |_, _| ())
        });
    });
}

fn append(group: &mut BenchmarkGroup<'_, WallTime>, bytes: &[u8]) {
    let parsed = parse_all(&lines(bytes), &Conventions::builtin());
    let store = Store::in_memory().expect("DuckDB starts");
    let batch_id = store.begin_batch("2026-10-01T00:00:00.000+09:00").expect("a batch begins");
    let identity = || SourceIdentity { path: "memory".to_owned(), size_bytes: 0, modified_ns: None };
    group.bench_function("append", |bencher| {
        bencher.iter(|| {
            // Dropped without being finished, so that each round finds the store as it was.
            let mut writer = store.begin_source(batch_id, identity()).expect("a file begins");
            writer
                .append(&parsed.spans, &parsed.links, &parsed.issues, &|_, _| String::new())
                .expect("rows can be appended");
        });
    });
}

fn canonical(group: &mut BenchmarkGroup<'_, WallTime>, bytes: &[u8]) {
    let parsed = parse_all(&lines(bytes), &Conventions::builtin());
    let texts: Vec<&str> = parsed.spans.iter().filter_map(|row: &SpanRow| row.tool_args.as_deref()).collect();
    let total: usize = texts.iter().map(|text| text.len()).sum();
    group.throughput(Throughput::Bytes(total as u64));
    group.bench_function("canonical", |bencher| {
        bencher.iter(|| texts.iter().filter_map(|text| args::canonical(text).ok()).count());
    });
}

criterion_group!(benches, steps);
criterion_main!(benches);
