//! Which inputs the arguments give, and the bytes they hold.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::fs;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use flate2::write::GzEncoder;
use taco_trace::ingest::frame::{Framed, LineReader};
use taco_trace::ingest::source::{Compression, FileKind, Input, Source, SourceError, expand, open};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(bytes, 1).unwrap()
}

/// Gives a few bytes at a time, as a pipe may.
fn trickle(bytes: Vec<u8>, step: u64) -> Box<dyn Read + Send> {
    struct Trickle(std::io::Cursor<Vec<u8>>, u64);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            Read::by_ref(&mut self.0).take(self.1).read(buffer)
        }
    }

    Box::new(Trickle(std::io::Cursor::new(bytes), step))
}

fn input(stored: &[u8]) -> Input {
    Input::new(Box::new(std::io::Cursor::new(stored.to_vec())), Some(stored.len() as u64)).unwrap()
}

/// What can be read, and the error at the end.
fn drain(mut input: Input) -> (Vec<u8>, Option<String>) {
    let mut bytes = Vec::new();
    let error = input.read_to_end(&mut bytes).err().map(|error| error.to_string());
    let mut rest = Vec::new();
    assert!(matches!(input.read_to_end(&mut rest), Ok(0)), "an input is at its end after an error");
    (bytes, error)
}

fn text_lines(count: usize) -> Vec<u8> {
    // Digits of a multiplicative sequence, so that the text does not compress to nothing.
    (0..count as u64)
        .flat_map(|n| format!("{{\"n\":{n},\"x\":{}}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes())
        .collect()
}

fn touch(folder: &Path, names: &[&str]) {
    for name in names {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"{}\n").unwrap();
    }
}

/// Expands one argument below `folder`; names relative to it.
fn expanded(folder: &Path, argument: &str) -> Vec<String> {
    relative(folder, &expand(&[folder.join(argument)], FileKind::Trace).unwrap())
}

fn relative(folder: &Path, sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .map(|source| match source {
            Source::File(path) => path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned(),
            Source::Stdin => source.name(),
        })
        .collect()
}

#[test]
fn folder_gives_trace_files_sorted_by_path() {
    let folder = tempfile::tempdir().unwrap();
    touch(
        folder.path(),
        &[
            "b.jsonl",
            "a/z.ndjson",
            "a.json",
            "c.json.gz",
            "c.jsonl.zst",
            "UP.JSON",
            "a.txt",
            "json",
            "x.gz",
            "x.json.bz2",
            "p.pb",
            "p.binpb",
            "p.OTLP",
            "p.binpb.zst",
            "p.proto",
            "pb",
        ],
    );
    let text = ["UP.JSON", "a/z.ndjson", "a.json", "b.jsonl", "c.json.gz", "c.jsonl.zst"];
    let protobuf = ["p.OTLP", "p.binpb", "p.binpb.zst", "p.pb"];
    assert_eq!(expanded(folder.path(), ""), [&text[..], &protobuf].concat());
}

#[test]
fn file_of_any_name_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    touch(folder.path(), &["trace.log", "we[i]rd*.txt"]);
    assert_eq!(expanded(folder.path(), "trace.log"), ["trace.log"]);
    assert_eq!(expanded(folder.path(), "we[i]rd*.txt"), ["we[i]rd*.txt"]);
}

#[test]
fn glob_matches_within_its_depth() {
    let folder = tempfile::tempdir().unwrap();
    touch(
        folder.path(),
        &["a1.log", "a2.log", "b.log", "sub/a3.log", "sub/deep/a4.log", "x{1}.log", "runs/one/t.jsonl"],
    );
    assert_eq!(expanded(folder.path(), "a*.log"), ["a1.log", "a2.log"]);
    assert_eq!(expanded(folder.path(), "a[2-3].log"), ["a2.log"]);
    assert_eq!(expanded(folder.path(), "?.log"), ["b.log"]);
    assert_eq!(expanded(folder.path(), "*/a*.log"), ["sub/a3.log"]);
    assert_eq!(expanded(folder.path(), "**/a*.log"), ["a1.log", "a2.log", "sub/a3.log", "sub/deep/a4.log"]);
    assert_eq!(expanded(folder.path(), "x{1}*"), ["x{1}.log"]);
    assert_eq!(expanded(folder.path(), "run*"), ["runs/one/t.jsonl"]);
    for pattern in ["z*.log", "a[", "no/such/*.log"] {
        let error = expand(&[folder.path().join(pattern)], FileKind::Trace).unwrap_err();
        assert!(matches!(&error, SourceError::NoMatch { pattern: text } if text.ends_with(pattern)), "{error}");
    }
}

#[test]
fn arguments_keep_their_order_and_files_come_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    touch(path, &["a.json", "b.json", "sub/c.json"]);
    let arguments = ["b.json", "-", "", "./a.json", "sub/../a.json", "*.json", "-"]
        .map(|argument| if argument == "-" { PathBuf::from("-") } else { path.join(argument) });
    assert_eq!(relative(path, &expand(&arguments, FileKind::Trace).unwrap()), ["b.json", "-", "a.json", "sub/c.json"]);
    assert_eq!(expand(&[], FileKind::Trace).unwrap(), []);
}

#[test]
fn absent_path_and_empty_folder_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    touch(folder.path(), &["notes.txt", "calls.CSV", "calls.csv.gz"]);
    let tables = expand(&[folder.path().to_owned()], FileKind::Table).unwrap();
    assert_eq!(relative(folder.path(), &tables), ["calls.CSV", "calls.csv.gz"]);
    assert!(matches!(expand(&[folder.path().join("none")], FileKind::Trace), Err(SourceError::NotFound { .. })));
    assert!(matches!(expand(&[folder.path().join("notes.txt/x")], FileKind::Trace), Err(SourceError::NotFound { .. })));
    assert!(matches!(expand(&[folder.path().to_owned()], FileKind::Trace), Err(SourceError::EmptyFolder { .. })));
    assert!(matches!(open(&Source::File(folder.path().join("none"))), Err(SourceError::NotFound { .. })));
    let error = open(&Source::File(folder.path().to_owned())).err().unwrap();
    assert!(matches!(error, SourceError::NotReadable { .. }));
    assert!(error.to_string().starts_with("cannot read "));
}

#[cfg(unix)]
#[test]
fn links_in_circles_end_and_dangling_links_are_told() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    touch(path, &["one/a.json", "two/b.json"]);
    symlink(path, path.join("one/up")).unwrap();
    symlink(path.join("two"), path.join("one/two")).unwrap();
    symlink(path.join("one"), path.join("two/one")).unwrap();
    symlink(path.join("one/a.json"), path.join("z.json")).unwrap();
    symlink(path.join("nowhere"), path.join("dangling")).unwrap();
    assert_eq!(expanded(path, "").len(), 2);
    assert_eq!(expanded(path, "*/*.json"), ["one/a.json", "two/b.json"]);
    symlink(path.join("nowhere"), path.join("dangling.json")).unwrap();
    let error = expand(&[path.to_owned()], FileKind::Trace).unwrap_err();
    assert!(matches!(error, SourceError::NotFound { path } if path.ends_with("dangling.json")));
}

#[test]
fn names_are_as_given() {
    assert_eq!(Source::Stdin.name(), "-");
    assert_eq!(Source::File(PathBuf::from("./a/../b.json")).name(), "./a/../b.json");
}

#[test]
fn compression_is_recognised_by_content() {
    let folder = tempfile::tempdir().unwrap();
    let text = text_lines(10);
    for (name, stored, compression) in [
        ("plain.gz", text.clone(), Compression::None),
        ("gzip.json", gzip(&text), Compression::Gzip),
        ("zstd.json", zstd(&text), Compression::Zstd),
        ("empty.json", Vec::new(), Compression::None),
    ] {
        let path = folder.path().join(name);
        fs::write(&path, &stored).unwrap();
        let mut input = open(&Source::File(path)).unwrap();
        assert_eq!(input.compression(), compression);
        assert_eq!(input.size(), Some(stored.len() as u64));
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, if stored.is_empty() { Vec::new() } else { text.clone() });
        assert_eq!(input.bytes_read(), stored.len() as u64);
    }
}

#[test]
fn several_members_and_frames_are_one_stream() {
    let text = text_lines(60_000);
    assert!(text.len() > 2 * 1024 * 1024);
    let (first, second) = text.split_at(text.len() / 3);
    let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    for stored in [
        [gzip(first), gzip(b""), gzip(second)].concat(),
        [gzip(first), gzip(second), vec![0; 700]].concat(),
        [zstd(first), zstd(second)].concat(),
        [skippable.clone(), zstd(first), zstd(b""), skippable.clone(), zstd(second), skippable].concat(),
    ] {
        assert_eq!(drain(input(&stored)), (text.clone(), None));
        let input = Input::new(trickle(stored, 4099), None).unwrap();
        assert_ne!(input.compression(), Compression::None);
        assert_eq!(drain(input), (text.clone(), None));
    }
}

#[test]
fn one_byte_at_a_time_is_enough() {
    let text = text_lines(50);
    for stored in [text.clone(), gzip(&text), zstd(&text)] {
        let mut input = Input::new(trickle(stored.clone(), 1), None).unwrap();
        assert_eq!((input.bytes_read() >= 4, input.size()), (true, None));
        let mut bytes = Vec::new();
        while let Some(byte) = input.fill_buf().unwrap().first().copied() {
            bytes.push(byte);
            input.consume(1);
        }
        assert_eq!(bytes, text);
    }
}

#[test]
fn byte_order_mark_is_removed_once() {
    let text = "\u{feff}\u{feff}{}\n".as_bytes();
    for stored in [text.to_vec(), gzip(text), zstd(text)] {
        let input = input(&stored);
        assert_eq!(input.bom_bytes(), 3);
        assert_eq!(drain(input), ("\u{feff}{}\n".as_bytes().to_vec(), None));
    }
    for short in [&b""[..], b"\xef", b"\xef\xbb", b"{}"] {
        for stored in [short.to_vec(), gzip(short), zstd(short)] {
            let input = input(&stored);
            assert_eq!(input.bom_bytes(), 0);
            assert_eq!(drain(input), (short.to_vec(), None));
        }
    }
}

#[test]
fn truncated_stream_gives_all_that_was_decoded() {
    let text = text_lines(60_000);
    for stored in [gzip(&text), zstd(&text)] {
        for cut in [3, 4, 5, 20, stored.len() / 2, stored.len() - 1] {
            if stored.starts_with(&[0x28, 0xb5]) && cut < 4 {
                continue;
            }
            let (bytes, error) = drain(input(&stored[..cut]));
            assert!(text.starts_with(&bytes));
            assert!(error.is_some_and(|error| error.ends_with("stream ends early")), "cut at {cut}");
            // Half of the file holds nearly half of the text; at most one block is still inside the decoder.
            assert!(cut != stored.len() / 2 || bytes.len() + 256 * 1024 > text.len() / 2, "{}", bytes.len());
            assert!(cut != stored.len() - 1 || bytes.len() + 128 * 1024 > text.len());
        }
    }
    // A trailer that is missing takes no line with it.
    let stored = gzip(&text);
    assert_eq!(drain(input(&stored[..stored.len() - 8])).0, text);
}

#[test]
fn damaged_stream_gives_all_that_came_before() {
    let text = text_lines(60_000);
    let (first, second) = (gzip(&text), zstd(&text));
    for (stored, what) in [
        ([first.clone(), b"garbage".to_vec()].concat(), "behind gzip"),
        ([second.clone(), b"garbage".to_vec()].concat(), "behind zstd"),
    ] {
        let (bytes, error) = drain(input(&stored));
        assert_eq!(bytes, text, "{what}");
        assert!(error.is_some(), "{what}");
    }
    // Frames that are good before one that is not: nothing of the good ones is lost.
    let mut broken = second.clone();
    broken[5..40].fill(0xff);
    let (bytes, error) = drain(input(&[second, broken].concat()));
    assert!(bytes == text && error.is_some());
    // A wrong checksum is found at the end.
    let mut wrong = first.clone();
    let length = wrong.len();
    wrong[length - 6] ^= 1;
    let (bytes, error) = drain(input(&wrong));
    assert!(bytes == text && error.is_some());
    // A flipped bit in the middle: what came before it is the same text.
    let mut flipped = first;
    flipped[length / 2] ^= 0x10;
    let (bytes, error) = drain(input(&flipped));
    assert!(error.is_some());
    let same = bytes.iter().zip(&text).take_while(|(left, right)| left == right).count();
    assert!(same > text.len() / 3, "{same} of {}", text.len());
}

#[test]
fn lines_before_the_damage_are_read_with_their_numbers() {
    let text = text_lines(5_000);
    let stored = gzip(&text);
    let mut reader = LineReader::new(input(&stored[..stored.len() / 2]));
    let (mut count, mut end) = (0, 0);
    let mut last_complete = true;
    loop {
        match reader.next() {
            Some(Framed::Line(line)) => {
                count += 1;
                assert_eq!((line.number, line.byte_offset), (count, end));
                assert_eq!(line.bytes, &text[end as usize..end as usize + line.bytes.len()]);
                end += line.bytes.len() as u64 + 1;
                last_complete = line.complete;
            }
            Some(Framed::Damaged { number, message, .. }) => {
                assert_eq!(number, count + u64::from(last_complete));
                assert_eq!(message, "the gzip stream ends early");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(count > 2_000);
    assert_eq!(reader.next(), None);
}

#[test]
fn arbitrary_bytes_behind_a_magic_number_never_panic() {
    let mut seed = 1_u64;
    for round in 0..400 {
        let mut stored = if round % 2 == 0 { vec![0x1f, 0x8b, 8] } else { vec![0x28, 0xb5, 0x2f, 0xfd] };
        for _ in 0..round {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            stored.push((seed >> 33) as u8);
        }
        drain(input(&stored));
    }
}
