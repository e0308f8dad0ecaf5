//! Files that grow, are renamed, rewritten or copied between two runs of ingest; and files that are followed.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use flate2::write::GzEncoder;
use proptest::prelude::*;
use taco_trace::ingest::source::{GoOn, HashMark, Probe};

use super::support_cli::{Place, pretty, program, request, requests, told};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// Sources in order of reading: lines, spans kept, spans met before.
fn readings(place: &Place) -> Vec<String> {
    place.rows("SELECT lines, spans_kept, spans_redelivered FROM sources ORDER BY source_id")
}

/// What one reading of this text comes to.
fn at_once(text: &[u8]) -> (Vec<String>, String, Vec<String>) {
    let place = Place::new();
    place.write("whole.jsonl", text);
    place.ingest(&["whole.jsonl"]);
    place.state()
}

#[test]
fn grown_file_is_read_on_with_its_places() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..3));
    place.ingested(&["t.jsonl"]);
    let more = format!("{}not json\n{}", requests(3..4), requests(4..5));
    place.append("t.jsonl", &more);
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0", "3|4|0"]);
    let whole = requests(0..3) + &more;
    assert_eq!(place.state(), at_once(whole.as_bytes()));
    assert_eq!(place.state().2, [format!("not_json|5|{}", requests(0..4).len())]);
    assert_eq!(place.rows("SELECT DISTINCT line FROM spans ORDER BY line"), ["1", "2", "3", "4", "6"]);
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place).len(), 2, "unchanged now");
}

/// Reading costs what was appended: the old part is looked at by both its ends only.
#[test]
fn old_part_of_a_grown_file_is_not_read() {
    let place = Place::new();
    let old = requests(0..40);
    place.write("t.jsonl", &old);
    place.ingested(&["t.jsonl"]);
    // A change in the middle that no reading on sees.
    let middle = old.len() / 2;
    let mut bytes = old.into_bytes();
    bytes[middle..middle + 40].fill(b'#');
    fs::write(place.path("t.jsonl"), &bytes).unwrap();
    place.append("t.jsonl", requests(40..41));
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place), ["40|80|0", "1|2|0"]);
    assert_eq!((place.state().0.len(), place.state().2), (82, Vec::new()));
}

#[test]
fn old_part_with_another_end_is_read_anew() {
    for change in ["head", "tail"] {
        let place = Place::new();
        let old = requests(0..40);
        place.write("t.jsonl", &old);
        place.ingested(&["t.jsonl"]);
        let mut bytes = old.into_bytes();
        // The first and the last byte of the 4 KiB that are looked at.
        let at = if change == "head" { 4095 } else { bytes.len() - 4096 };
        bytes[at] = b'#';
        bytes.extend(requests(40..41).into_bytes());
        fs::write(place.path("t.jsonl"), &bytes).unwrap();
        place.ingest(&["t.jsonl"]);
        let lines = place.rows("SELECT lines FROM sources ORDER BY source_id");
        assert_eq!(lines, ["40", "41"], "{change}");
        assert_eq!(place.rows("SELECT COUNT(*) - COUNT(DISTINCT (trace_id, span_id)) FROM spans"), ["0"]);
    }
}

#[test]
fn half_written_line_is_told_until_it_is_whole() {
    let whole = requests(0..3);
    let cuts = [
        // In the middle of the last line, inside a letter of three bytes, and before its last bracket.
        requests(0..2).len() + 100,
        whole.rfind('트').unwrap() + 1,
        whole.len() - 2,
    ];
    for cut in cuts {
        let place = Place::new();
        place.write("t.jsonl", &whole.as_bytes()[..cut]);
        place.ingested(&["t.jsonl"]);
        let offset = requests(0..2).len();
        let (_, lines, issues) = place.state();
        assert_eq!((lines.as_str(), issues), ("3|1", vec![format!("truncated_json|3|{offset}")]));
        // Still half written: told once, for the longer text.
        place.append("t.jsonl", &whole.as_bytes()[cut..=cut]);
        place.ingested(&["t.jsonl"]);
        let (_, lines, issues) = place.state();
        let told = usize::from(cut + 2 < whole.len());
        assert_eq!((issues.len(), lines), (told, format!("3|{told}")), "{cut}");
        place.append("t.jsonl", &whole.as_bytes()[cut + 1..]);
        place.ingested(&["t.jsonl"]);
        assert_eq!(place.state(), at_once(whole.as_bytes()), "{cut}");
    }
}

#[test]
fn last_line_that_is_whole_without_newline_is_taken() {
    for more in ["\n".to_owned() + &requests(2..3), "\r\n".to_owned() + &requests(2..3), requests(2..3), "\n".into()] {
        let place = Place::new();
        let begun = requests(0..2);
        place.write("t.jsonl", begun.trim_end());
        place.ingested(&["t.jsonl"]);
        assert_eq!(readings(&place), ["2|4|0"]);
        assert_eq!(place.state().2, [""; 0]);
        place.append("t.jsonl", &more);
        place.ingested(&["t.jsonl"]);
        let whole = begun.trim_end().to_owned() + &more;
        assert_eq!(place.state(), at_once(whole.as_bytes()), "{more:?}");
        assert_eq!(place.rows("SELECT SUM(spans_redelivered) FROM sources"), ["0"]);
    }
}

/// What was told of a line that is whole but for its newline stays told.
#[test]
fn issue_of_a_last_line_without_newline_stays() {
    let place = Place::new();
    let broken = request(1).replace("\"status\":{\"code\":1}", "\"status\":{\"code\":9}");
    place.write("t.jsonl", &broken);
    place.ingest(&["t.jsonl"]);
    let issues = place.state().2;
    assert!(!issues.is_empty());
    place.append("t.jsonl", "\n".to_owned() + &requests(2..3));
    place.ingested(&["t.jsonl"]);
    let (_, lines, now) = place.state();
    assert_eq!((lines.as_str(), now), ("2|0", issues));
}

#[test]
fn half_written_document_of_many_lines_is_read_whole_later() {
    let whole = requests(0..1) + &pretty(1) + &pretty(2) + &requests(3..4);
    let documents = requests(0..1).len() + pretty(1).len();
    for cut in [documents + 1, documents + 2, documents + pretty(2).len() / 2, documents + pretty(2).len() - 3] {
        let place = Place::new();
        place.write("t.json", &whole.as_bytes()[..cut]);
        place.ingested(&["t.json"]);
        assert!(!place.state().2.is_empty(), "{cut}");
        place.append("t.json", &whole.as_bytes()[cut..]);
        place.ingested(&["t.json"]);
        assert_eq!(place.state(), at_once(whole.as_bytes()), "{cut}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a file grows, it comes to what reading it at once comes to.
    #[test]
    fn growing_in_steps_is_as_reading_at_once(
        mut cuts in prop::collection::vec(0_usize..10_000, 1..4),
        end in 0_usize..3,
    ) {
        let half = request(90);
        let cut_at = |part: usize| &half[..half.floor_char_boundary(half.len() / part)];
        let mut text = "\u{feff}".to_owned() + &requests(0..1) + "\n  \n" + &pretty(1) + "no json\r\n" + &request(2);
        text += &(request(3) + "\r\n{\"resourceSpans\":[\n" + &requests(4..5) + cut_at(2) + "\n");
        let whole = requests(6..7);
        let last = [whole.as_str(), cut_at(3), "{\"a\":[\n"][end];
        text += &(requests(5..6) + last);
        let bytes = text.as_bytes();
        cuts.iter_mut().for_each(|cut| *cut = *cut * bytes.len() / 10_000);
        cuts.sort_unstable();
        let place = Place::new();
        place.write("t.jsonl", "");
        let mut written = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            place.append("t.jsonl", &bytes[written..cut]);
            written = cut;
            place.ingest(&["t.jsonl"]);
        }
        prop_assert_eq!(place.state(), at_once(bytes));
    }
}

#[test]
fn rotated_file_is_known_under_its_new_name() {
    // One name sorts before the file that is written now, one after it.
    for rotated in ["traces-2026-12-01.jsonl", "traces.jsonl.1"] {
        let place = Place::new();
        place.write("traces.jsonl", requests(0..3));
        place.ingested(&["traces.jsonl"]);
        // Two more lines before it is renamed, then a new one under the old name.
        place.append("traces.jsonl", requests(3..5));
        fs::rename(place.path("traces.jsonl"), place.path(rotated)).unwrap();
        place.write("traces.jsonl", requests(5..6));
        place.ingested(&["traces*"]);
        let mut lines = place.rows("SELECT lines, spans_redelivered FROM sources ORDER BY source_id");
        lines.sort_unstable();
        assert_eq!(lines, ["1|0", "2|0", "3|0"], "{rotated}");
        assert_eq!(place.state().0.len(), 12);
        place.append("traces.jsonl", requests(6..7));
        place.ingested(&["traces*"]);
        assert_eq!(readings(&place).last().unwrap(), "1|2|0");
        assert_eq!(readings(&place).len(), 4);
    }
}

#[test]
fn file_renamed_without_growing_is_unchanged_and_grows_on() {
    let place = Place::new();
    place.write("a.jsonl", requests(0..3));
    place.ingested(&["a.jsonl"]);
    fs::rename(place.path("a.jsonl"), place.path("b.jsonl")).unwrap();
    place.ingested(&["b.jsonl"]);
    place.ingested(&["b.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0"]);
    place.append("b.jsonl", requests(3..4));
    place.ingested(&["b.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0", "1|2|0"]);
}

/// What logrotate calls copytruncate: the content goes on in a copy, the file begins anew.
#[test]
fn copied_and_truncated_file_is_read_anew_and_its_copy_on() {
    for rewritten in [requests(5..6), requests(5..12)] {
        let place = Place::new();
        place.write("traces.jsonl", requests(0..3));
        place.ingested(&["traces.jsonl"]);
        place.append("traces.jsonl", requests(3..5));
        fs::copy(place.path("traces.jsonl"), place.path("traces.jsonl.1")).unwrap();
        let new = rewritten.lines().count();
        fs::write(place.path("traces.jsonl"), rewritten).unwrap();
        place.ingested(&["traces*"]);
        let counts = readings(&place);
        assert_eq!(counts[1..], [format!("{new}|{}|0", 2 * new), "2|4|0".to_owned()]);
    }
}

#[test]
fn file_rewritten_with_the_same_size_is_read_anew() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..3));
    place.ingested(&["t.jsonl"]);
    // In the middle, where no end tells.
    let text = requests(0..3).replace("\"n\\\":1}", "\"n\\\":7}");
    assert_ne!(text, requests(0..3));
    place.write("t.jsonl", &text);
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0", "3|0|6"]);
    assert_eq!(place.rows("SELECT code, line FROM ingest_issues"), ["span_conflict|2"]);
}

#[test]
fn file_that_was_only_touched_is_unchanged() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..3));
    place.ingested(&["t.jsonl"]);
    let rewritten = fs::read(place.path("t.jsonl")).unwrap();
    fs::remove_file(place.path("t.jsonl")).unwrap();
    place.write("t.jsonl", rewritten);
    place.ingested(&["t.jsonl"]);
    place.append("t.jsonl", requests(3..4));
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0", "1|2|0"]);
}

/// The content of a file that grew in steps has one hash, over the boundary of what is hashed as one.
#[test]
fn copy_of_a_grown_file_is_known() {
    let place = Place::new();
    let padding = format!("{{\"resourceSpans\":[],\"padding\":\"{}\"}}\n", "x".repeat(700_000));
    place.write("t.jsonl", requests(0..1) + &padding);
    place.ingested(&["t.jsonl"]);
    for step in 1..4 {
        place.append("t.jsonl", requests(step..step + 1) + &padding);
        place.ingested(&["t.jsonl"]);
    }
    assert_eq!(readings(&place).len(), 4);
    fs::copy(place.path("t.jsonl"), place.path("copy.jsonl")).unwrap();
    place.ingested(&["copy.jsonl", "t.jsonl"]);
    assert_eq!(readings(&place).len(), 4);
}

/// A copy that grows beside its original takes nothing from it.
#[test]
fn copy_that_grows_is_read_by_itself() {
    let place = Place::new();
    let half = &request(2)[..50];
    place.write("a.jsonl", requests(0..2) + half);
    place.ingested(&["a.jsonl"]);
    fs::copy(place.path("a.jsonl"), place.path("b.jsonl")).unwrap();
    place.append("b.jsonl", &request(2)[50..]);
    place.ingested(&["a.jsonl", "b.jsonl"]);
    let kept = place.rows("SELECT source, code FROM ingest_issues");
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].contains("a.jsonl") && kept[0].ends_with("truncated_json"));
    assert_eq!(readings(&place), ["3|4|0", "3|2|4"]);
}

#[test]
fn grown_compressed_file_is_read_anew_as_a_whole() {
    let place = Place::new();
    let first = gzip(&(requests(0..3) + "no json\n"));
    place.write("t.jsonl.gz", &first);
    place.ingested(&["t.jsonl.gz"]);
    place.append("t.jsonl.gz", gzip(&requests(3..5)));
    place.ingested(&["t.jsonl.gz"]);
    assert_eq!(readings(&place), ["0|6|0", "6|4|6"]);
    assert_eq!(place.state().1, "6|1");
    assert_eq!(place.rows("SELECT code, line, source_id FROM ingest_issues"), ["not_json|4|2"]);
    // Half a member: told until it is whole.
    let next = gzip(&requests(5..6));
    place.append("t.jsonl.gz", &next[..next.len() / 2]);
    place.ingested(&["t.jsonl.gz"]);
    assert_eq!(place.rows("SELECT code FROM ingest_issues WHERE code = 'stream_damaged'").len(), 1);
    place.append("t.jsonl.gz", &next[next.len() / 2..]);
    place.ingested(&["t.jsonl.gz"]);
    let (spans, lines, issues) = place.state();
    assert_eq!((spans.len(), lines.as_str(), issues.len()), (12, "7|1", 1));
    assert!(issues[0].starts_with("not_json|4|"), "{issues:?}");
}

/// A store whose files were read before positions were kept.
#[test]
fn file_of_an_older_store_that_grew_settles_as_repeats() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..3));
    place.ingested(&["t.jsonl"]);
    taco_trace::store::Store::open(&place.db()).unwrap().execute("DELETE FROM source_positions").unwrap();
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0"]);
    place.append("t.jsonl", requests(3..4));
    place.ingested(&["t.jsonl"]);
    place.append("t.jsonl", requests(4..5));
    place.ingested(&["t.jsonl"]);
    assert_eq!(readings(&place), ["3|6|0", "4|2|6", "1|2|0"]);
}

/// New lines with nothing to keep are no failure in a file of which something was kept.
#[test]
fn grown_part_without_agent_spans_is_no_failure() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..1));
    place.ingested(&["t.jsonl"]);
    place.append("t.jsonl", "{\"resourceSpans\":[]}\n");
    place.ingested(&["t.jsonl"]);
}

/// Content hashes of parts joined, and both ends, below, at and above their units.
#[test]
fn hash_of_a_file_read_in_parts_is_that_of_the_whole() {
    let place = Place::new();
    let chunk = 1024 * 1024;
    for size in [1_usize, 4095, 4096, 4097, chunk - 1, chunk, chunk + 1, 2 * chunk + 5] {
        let bytes: Vec<u8> = (0..size).map(|at| b'a' + (at % 23) as u8).collect();
        let path = place.write("bytes", &bytes);
        let probe = || Probe::open(&path).unwrap().unwrap();
        let whole = probe().content_hash(size as u64).unwrap();
        for cut in [0, 1, size / 2, size.saturating_sub(1), size] {
            // As it was when it ended at the cut.
            place.write("part", &bytes[..cut]);
            let mut first = Probe::open(&place.path("part")).unwrap().unwrap().into_input(None).unwrap();
            std::io::copy(&mut first, &mut std::io::sink()).unwrap();
            assert_eq!(first.content_hash(), probe().content_hash(cut as u64).unwrap(), "{size} {cut}");
            let mark: HashMark = first.hash_mark();
            assert!(mark.bytes <= cut as u64 && cut as u64 - mark.bytes < chunk as u64);
            for offset in [cut, cut / 2] {
                let mut second = probe().into_input(Some(GoOn { offset: offset as u64, mark })).unwrap();
                let mut rest = Vec::new();
                second.read_to_end(&mut rest).unwrap();
                assert_eq!((second.content_hash(), second.bytes_read()), (whole.clone(), size as u64));
                assert_eq!(rest, bytes[offset..], "{size} {cut} {offset}");
            }
            let print = probe().fingerprint(cut as u64).unwrap();
            assert!(probe().has_grown_from(&print).unwrap());
            let mut other = bytes.clone();
            for at in [0, cut.min(4096).saturating_sub(1), cut.saturating_sub(4096), cut.saturating_sub(1)] {
                other[at.min(size - 1)] ^= 1;
                place.write("other", &other);
                let grown = Probe::open(&place.path("other")).unwrap().unwrap().has_grown_from(&print).unwrap();
                assert_eq!(grown, cut == 0, "{size} {cut} {at}");
                other[at.min(size - 1)] ^= 1;
            }
        }
    }
}

/// The program following files, with what it says on standard error line by line.
struct Watcher {
    child: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Watcher {
    fn begin(place: &Place, arguments: &[&str]) -> Self {
        let mut child = program()
            .args(["ingest", "--watch", "--watch-interval", "0.02", "--db"])
            .arg(place.db())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines }
    }

    fn on(place: &Place, what: &Path) -> Self {
        Self::begin(place, &[what.to_str().unwrap()])
    }

    /// Waits for a line with this text.
    fn wait_for(&mut self, text: &str) -> String {
        let mut met = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.unwrap();
            if line.contains(text) {
                return line;
            }
            met.push(line);
        }
        panic!("no line with {text}: {met:?}");
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// The exit status, what came on standard output, and the rest of standard error.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let rest: Vec<String> = self.lines.map_while(Result::ok).collect();
        (self.child.wait().unwrap().code(), out, rest.join("\n"))
    }
}

#[test]
fn followed_folder_is_read_and_judged_as_it_grows() {
    let place = Place::new();
    fs::create_dir(place.path("logs")).unwrap();
    let mut watcher = Watcher::on(&place, &place.path("logs"));
    watcher.wait_for("지켜봅니다");
    watcher.wait_for("기다립니다");
    place.write("logs/t.jsonl", requests(0..2));
    let line = watcher.wait_for("t.jsonl");
    assert!(line.contains("처음 읽음") && line.contains("줄 2개") && line.contains("남김 4"), "{line}");
    // Half a line is no problem yet.
    place.append("logs/t.jsonl", requests(2..3) + &request(3)[..80]);
    let line = watcher.wait_for("t.jsonl");
    assert!(line.contains("늘어난 곳부터 읽음") && !line.contains("문제"), "{line}");
    place.append("logs/t.jsonl", request(3)[80..].to_owned() + "\n");
    watcher.wait_for("t.jsonl");
    fs::rename(place.path("logs/t.jsonl"), place.path("logs/t-1.jsonl")).unwrap();
    place.write("logs/t.jsonl", requests(4..5));
    let line = watcher.wait_for("t.jsonl");
    assert!(line.contains("내용이 바뀌어 처음부터 읽음"), "{line}");
    // In between the store is free: at the latest when the line just told is some milliseconds old.
    let judged = (0..500)
        .map(|_| program().args(["diagnose", "--all", "--db"]).arg(place.db()).output().unwrap())
        .find(|output| output.status.code() != Some(3))
        .expect("the store is free in between");
    assert_eq!(judged.status.code(), Some(0), "{}", told(&judged));
    watcher.signal("-INT");
    let (status, out, rest) = watcher.end();
    assert_eq!(status, Some(0), "{rest}");
    assert!(rest.contains("줄 5개 · 트레이스 5개 · 문제 0건"), "{rest}");
    let verdicts: Vec<&str> = out.lines().collect();
    assert_eq!(verdicts.len(), 5, "{out}");
    assert!(verdicts[0].contains("  000000010000  예산 에이전트  정상 완료"), "{out}");
    let (spans, lines, issues) = place.state();
    assert_eq!((spans.len(), lines.as_str(), issues.len()), (10, "5|0", 0));
}

/// A run whose answer comes later is judged when it is there.
#[test]
fn followed_run_is_judged_once_its_answer_is_there() {
    let place = Place::new();
    let request = request(1);
    // The call in one request, the answer in the next.
    let answer = request.rfind(",{\"traceId\"").unwrap();
    let (call, rest) = request.split_at(answer);
    place.write("t.jsonl", format!("{call}]}}]}}]}}\n"));
    let mut watcher = Watcher::on(&place, &place.path("t.jsonl"));
    watcher.wait_for("처음 읽음");
    place.append("t.jsonl", format!("{}{}\n", &call[..call.find("{\"traceId\"").unwrap()], &rest[1..]));
    watcher.wait_for("늘어난");
    watcher.signal("-TERM");
    let (status, out, rest) = watcher.end();
    assert_eq!((status, out.lines().count()), (Some(0), 1), "{out}{rest}");
}

#[test]
fn quiet_watcher_tells_verdicts_only() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..1));
    let path = place.path("t.jsonl");
    let mut watcher = Watcher::begin(&place, &["--quiet", path.to_str().unwrap()]);
    let mut out = BufReader::new(watcher.child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("정상 완료"), "{line}");
    watcher.signal("-TERM");
    assert_eq!(watcher.lines.map_while(Result::ok).count(), 0);
    assert_eq!(watcher.child.wait().unwrap().code(), Some(0));
}

#[test]
fn watcher_waits_while_another_process_has_the_store() {
    let place = Place::new();
    let path = place.path("t.jsonl");
    let mut watcher = Watcher::on(&place, &path);
    watcher.wait_for("기다립니다");
    let mut holder = program()
        .args(["ingest", "-", "--db"])
        .arg(place.db())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // More than a pipe holds: once it is written the holder reads, with its store open.
    let mut input = holder.stdin.take().unwrap();
    input.write_all(requests(100..300).as_bytes()).unwrap();
    place.write("t.jsonl", requests(0..1));
    let line = watcher.wait_for("다른 프로세스가");
    assert!(line.contains("taco.duckdb"), "{line}");
    drop(input);
    assert!(holder.wait_with_output().unwrap().status.success());
    watcher.wait_for("처음 읽음");
    watcher.signal("-INT");
    assert_eq!(watcher.end().0, Some(0));
    assert_eq!(place.state().0.len(), 402);
}

/// The first signal lets what is at hand end; when that cannot end, the second one ends it.
#[test]
fn second_signal_ends_at_once() {
    let place = Place::new();
    // More verdicts than a pipe holds, which nobody reads.
    place.write("t.jsonl", requests(0..1_500));
    let mut watcher = Watcher::on(&place, &place.path("t.jsonl"));
    watcher.wait_for("처음 읽음");
    let id = watcher.child.id().to_string();
    let mut sent = 0;
    let status = loop {
        Command::new("kill").args(["-INT", &id]).stderr(Stdio::null()).status().unwrap();
        sent += 1;
        assert!(sent < 5_000, "signals do not end it");
        if let Some(status) = watcher.child.try_wait().unwrap() {
            break status;
        }
    };
    assert_eq!(status.code(), Some(130));
    assert_eq!(place.state().0.len(), 3_000);
}

#[test]
fn wrong_use_of_watching_is_told() {
    for arguments in [
        &["--watch"][..],
        &["--watch", "-"],
        &["--watch", "--strict", "x"],
        &["--watch-interval", "1", "x"],
        &["--watch", "--watch-interval", "0.009", "x"],
        &["--watch", "--watch-interval", "86401", "x"],
        &["--watch", "--watch-interval", "soon", "x"],
    ] {
        let place = Place::new();
        let output = program().arg("ingest").args(arguments).arg("--db").arg(place.db()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", told(&output));
        assert!(!place.db().exists());
    }
    // At the bounds the value is good and only `-` is wrong.
    for seconds in ["0.01", "86400"] {
        let output = program().args(["ingest", "--watch", "--watch-interval", seconds, "-"]).output().unwrap();
        assert!(output.status.code() == Some(2) && told(&output).contains("`-`"), "{}", told(&output));
    }
}
