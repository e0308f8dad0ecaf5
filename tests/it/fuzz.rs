//! Readers under broken bytes: seeded changes of good files must not panic, and the sums must add up.
//!
//! A reader is a row of [`READERS`]: good inputs, and what reads them and checks what it can. The environment variable
//! TACO_TRACE_FUZZ_MIB says how much each of them reads (1 by default, for less than a second).

use std::fs;

use super::support::repository;
use super::support_read::read_bytes;

struct Reader {
    name: &'static str,
    /// Files under `fixtures/` to begin with.
    files: &'static [&'static str],
    /// Reads the bytes; panics when something about the result is wrong.
    read: fn(&[u8]),
}

/// Add a reader here.
const READERS: &[Reader] = &[
    Reader { name: "json lines", files: &["seed/traces.jsonl", "quirks/snake_case.jsonl"], read: as_a_file },
    Reader {
        name: "json documents",
        files: &["quirks/pretty_concatenated.json", "quirks/one_array.json"],
        read: as_a_file,
    },
    Reader {
        name: "protobuf",
        files: &["forms/one_message.binpb", "forms/delimited.binpb", "forms/collector_proto.binpb"],
        read: as_a_file,
    },
    Reader {
        name: "protobuf request",
        files: &["forms/one_message.binpb"],
        read: |bytes| {
            if let Ok(text) = taco_trace::ingest::protobuf::request_to_json(bytes) {
                assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{text}");
            }
        },
    },
    Reader {
        name: "framed zstd",
        files: &["forms/collector_json_zstd.jsonl.zst", "forms/collector_proto_zstd.binpb"],
        read: as_a_file,
    },
    Reader {
        name: "gzip and zstd",
        files: &["forms/delimited_in_gzip.binpb.gz", "forms/plain_zstd.jsonl.zst"],
        read: as_a_file,
    },
    Reader {
        name: "jaeger",
        files: &["forms/jaeger_download.json", "forms/jaeger_traces.jsonl", "forms/jaeger_elasticsearch.jsonl"],
        read: as_a_file,
    },
    Reader { name: "utf-16", files: &["forms/utf16le_bom.jsonl", "forms/utf16be_bare.jsonl"], read: as_a_file },
];

/// `read_bytes` holds the sums to adding up; besides, every line is read or told.
fn as_a_file(bytes: &[u8]) {
    let read = read_bytes(bytes);
    if read.report.lines_skipped > 0 {
        assert!(!read.issues.is_empty());
    }
}

/// splitmix64: the same changes on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// A few changes at random places: bits, bytes, what matters to a reader, pieces cut out, doubled or moved, and a cut end.
fn mutate(good: &[u8], random: &mut Random) -> Vec<u8> {
    const TELLING: &[&[u8]] = &[
        b"\0",
        b"\xff",
        b"\n",
        b"\r\n",
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"null",
        b"-1",
        b"1e999",
        b"\\ud83d",
        b"\x0a\x00",
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x12\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
        b"\x00\x00\x00\x00",
        b"\xff\xff\xff\xff",
        b"\x28\xb5\x2f\xfd",
        b"\x1f\x8b\x08",
        b"\xed\xa0\x80",
        b"\x00\xd8",
        b"\xdc\x00",
        b"traceID",
        b"spans",
    ];
    let mut bytes = good.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(bytes.len());
        let longest = 1 << random.below(10);
        let length = random.below(longest).min(bytes.len() - at);
        match random.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 if at < bytes.len() => bytes[at] = random.next().to_le_bytes()[0],
            2 => drop(bytes.drain(at..at + length)),
            3 => {
                let piece = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            4 if random.below(4) == 0 => bytes.truncate(at),
            5 => {
                let piece = TELLING[random.below(TELLING.len())];
                let end = (at + piece.len()).min(bytes.len());
                bytes.splice(at..end, piece.iter().copied());
            }
            6 => {
                let piece = TELLING[random.below(TELLING.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            _ => bytes[at..at + length].reverse(),
        }
    }
    bytes
}

#[test]
fn broken_bytes_never_panic_and_sums_add_up() {
    let mib: Option<u64> = std::env::var("TACO_TRACE_FUZZ_MIB").ok().and_then(|text| text.parse().ok());
    let budget = mib.unwrap_or(1) << 20;
    for reader in READERS {
        let good: Vec<Vec<u8>> = reader
            .files
            .iter()
            .map(|file| {
                fs::read(repository().join("fixtures").join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
            })
            .collect();
        good.iter().for_each(|bytes| (reader.read)(bytes));
        let (mut random, mut done) = (Random(0), 0);
        while done < budget {
            // The seed of each case alone makes it again.
            let seed = random.next();
            let bytes = mutate(&good[seed as usize % good.len()], &mut Random(seed));
            done += bytes.len() as u64 + 1;
            let outcome = std::panic::catch_unwind(|| (reader.read)(&bytes));
            assert!(outcome.is_ok(), "{}: seed {seed}", reader.name);
        }
    }
}
