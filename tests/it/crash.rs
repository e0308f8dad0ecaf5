//! The program killed at any moment, a full disk, and two processes at once: a store is as before a file or after it.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

use super::support::answers;
use super::support_cli::{Place, SmallDisk, open, program, requests, rows, told};

/// More than a pipe holds: once so much is written, its reader has taken the rest.
const PIPE_BYTES: usize = 64 * 1024;

/// Everything in the store that must fit together, whatever was killed.
fn check(db: &Path, moment: &str) {
    let store = open(db);
    for (what, sql) in [
        ("spans of no source", "SELECT s.span_id FROM spans s ANTI JOIN sources o ON o.source_id = s.source_id"),
        ("links of no source", "SELECT l.span_id FROM span_links l ANTI JOIN sources o ON o.source_id = l.source_id"),
        ("issues of no source", "SELECT i.code FROM ingest_issues i ANTI JOIN sources o ON o.source_id = i.source_id"),
        (
            "positions of no source",
            "SELECT p.path FROM source_positions p ANTI JOIN sources o ON o.source_id = p.source_id",
        ),
        ("spans of no trace", "SELECT s.span_id FROM spans s ANTI JOIN traces t ON t.trace_id = s.trace_id"),
        ("traces twice", "SELECT trace_id FROM traces GROUP BY trace_id HAVING COUNT(*) > 1"),
        ("spans twice", "SELECT span_id FROM spans GROUP BY trace_id, span_id HAVING COUNT(*) > 1"),
        ("positions twice", "SELECT path FROM source_positions GROUP BY path HAVING COUNT(*) > 1"),
        (
            "spans that a source counts and has not",
            "SELECT o.path FROM sources o LEFT JOIN spans s ON s.source_id = o.source_id
             GROUP BY o.source_id, o.path, o.spans_kept HAVING o.spans_kept <> COUNT(s.span_id)",
        ),
        (
            "counts that do not add up",
            "SELECT path FROM sources
             WHERE spans_seen <> spans_kept + spans_merged + spans_dropped + spans_redelivered + spans_skipped",
        ),
    ] {
        assert_eq!(answers(&store, sql), [""; 0], "{what}, killed {moment}");
    }
}

/// Three files and their state in the store: lines and kept spans of each, in the order of paths.
struct Load {
    place: Place,
    names: [&'static str; 3],
}

impl Load {
    fn new() -> Self {
        let place = Place::new();
        place.write("a.jsonl", requests(0..40) + "no json\n");
        place.write("b.jsonl", requests(40..120));
        place.write("c.jsonl", requests(120..150));
        Self { place, names: ["a.jsonl", "b.jsonl", "c.jsonl"] }
    }

    fn command(&self) -> Command {
        let mut command = program();
        command.arg("ingest").args(self.names.map(|name| self.place.path(name))).arg("--db").arg(self.place.db());
        command
    }

    fn state(&self) -> Vec<String> {
        self.place.rows(
            "SELECT RIGHT(path, 7), SUM(lines), SUM(lines_skipped), SUM(spans_kept) FROM sources
             GROUP BY path ORDER BY path",
        )
    }

    /// The store holds whole files only, the first of them without a gap.
    fn check(&self, moment: &str) -> usize {
        let all = ["a.jsonl|41|1|80", "b.jsonl|80|0|160", "c.jsonl|30|0|60"];
        if !self.place.db().exists() {
            return 0;
        }
        check(&self.place.db(), moment);
        let state = self.state();
        assert!(all.starts_with(&state.iter().map(String::as_str).collect::<Vec<_>>()), "{moment}: {state:?}");
        let issues = self.place.rows("SELECT COUNT(*) FROM ingest_issues").concat();
        assert_eq!(issues == "1", !state.is_empty(), "{moment}");
        state.len()
    }
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program runs")
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Killed at a known place of its input: 25 times, with more bytes of the last file read each time.
#[test]
fn killed_while_it_reads_a_file_it_keeps_the_ones_before() {
    let place = Place::new();
    place.write("first.jsonl", requests(0..5));
    let text = requests(1_000..1_200);
    let bytes = text.as_bytes();
    assert!(bytes.len() > 2 * PIPE_BYTES);
    let command = || {
        let mut command = program();
        command.arg("ingest").arg(place.path("first.jsonl")).args(["-", "--db"]).arg(place.db()).stdin(Stdio::piped());
        command
    };
    for round in 0..25 {
        let mut child = start(&mut command());
        let mut input = child.stdin.take().unwrap();
        // The reader has at least what goes beyond the pipe, so the first file is committed.
        let fed = PIPE_BYTES + 1 + round * (bytes.len() - PIPE_BYTES - 1) / 24;
        input.write_all(&bytes[..fed]).unwrap();
        kill(child);
        let moment = format!("with {fed} bytes fed");
        check(&place.db(), &moment);
        assert_eq!(place.rows("SELECT lines, spans_kept FROM sources"), ["5|10"], "{moment}");
    }
    let mut child = start(&mut command());
    child.stdin.take().unwrap().write_all(bytes).unwrap();
    assert!(child.wait().unwrap().success());
    check(&place.db(), "never");
    assert_eq!(place.rows("SELECT lines, spans_kept FROM sources ORDER BY source_id"), ["5|10", "200|400"]);
}

/// How many bytes the store has on the disk, with what is not yet merged into it.
fn size(db: &Path) -> u64 {
    let wal = PathBuf::from(format!("{}.wal", db.display()));
    [db, &wal].iter().filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
}

/// Killed when the store has so many bytes: while it is made, in commits, and when it is closed. 15 times.
#[test]
fn killed_while_it_writes_it_has_whole_files() {
    let load = Load::new();
    // The sizes that a load that is left alone passes through: a commit is a step or several.
    let mut child = start(&mut load.command());
    let mut sizes = vec![0];
    while child.try_wait().unwrap().is_none() {
        let now = size(&load.place.db());
        if sizes.last() < Some(&now) {
            sizes.push(now);
        }
        std::thread::yield_now();
    }
    assert_eq!(load.check("never"), 3);
    let mut kept = Vec::new();
    for round in 0..15 {
        for file in fs::read_dir(load.place.path("")).unwrap() {
            let path = file.unwrap().path();
            if path.to_string_lossy().contains("duckdb") {
                fs::remove_file(path).unwrap();
            }
        }
        let enough = sizes[round * (sizes.len() - 1) / 14];
        let mut child = start(&mut load.command());
        while size(&load.place.db()) < enough && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        kill(child);
        kept.push(load.check(&format!("at {enough} bytes of {sizes:?}")));
        assert!(start(&mut load.command()).wait().unwrap().success());
        assert_eq!(load.check("never"), 3);
    }
    println!("whole files after each kill: {kept:?}");
    assert_eq!(kept[0], 0, "killed before there is a store");
}

/// Killed after so much of the time that a load takes: 10 times, one store, files that grow in between.
#[test]
fn killed_at_any_time_it_comes_to_the_same_in_the_end() {
    let place = Place::new();
    let names = ["a.jsonl", "b.jsonl"];
    let command = || {
        let mut command = program();
        command.arg("ingest").args(names.map(|name| place.path(name))).arg("--db").arg(place.db());
        command
    };
    // The second file ends in the middle of a line each time; the rest of the line comes with the next step.
    let mut rest = String::new();
    let mut grow = |step: u32| {
        let text = |file: u32| requests(step * 60 + file * 30..step * 60 + file * 30 + 30);
        let half = text(1);
        let (now, later) = half.split_at(half.len() - 200);
        for (name, more) in [("a.jsonl", text(0)), ("b.jsonl", std::mem::take(&mut rest) + now)] {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(place.path(name)).unwrap();
            file.write_all(more.as_bytes()).unwrap();
        }
        rest = later.to_owned();
    };
    grow(0);
    let begun = Instant::now();
    assert!(start(&mut command()).wait().unwrap().success());
    let usual = begun.elapsed();
    for step in 1..=10 {
        grow(step);
        let mut child = command().stderr(Stdio::piped()).spawn().unwrap();
        // Ends when the process does.
        let mut stderr = child.stderr.take().unwrap();
        let (sender, ended) = channel();
        let reader = std::thread::spawn(move || {
            stderr.read_to_end(&mut Vec::new()).ok();
            sender.send(()).ok();
        });
        let moment = usual * step / 10;
        if ended.recv_timeout(moment) == Err(RecvTimeoutError::Timeout) {
            child.kill().unwrap();
        }
        child.wait().unwrap();
        reader.join().unwrap();
        check(&place.db(), &format!("after {moment:?}"));
    }
    assert!(start(&mut command()).wait().unwrap().success());
    check(&place.db(), "never");
    // 11 steps of 30 requests a file; of the second file the last one is half written.
    assert_eq!(place.rows("SELECT SUM(spans_kept), SUM(spans_redelivered) FROM sources"), ["1318|0"]);
    let (_, lines, issues) = place.state();
    assert_eq!((lines.as_str(), issues.len()), ("660|1", 1));
    assert!(issues[0].starts_with("truncated_json|330|"), "{issues:?}");
}

#[test]
fn full_disk_is_told_and_leaves_the_files_before() {
    let Some(disk) = SmallDisk::mounted(6) else { return };
    let place = Place::new();
    place.write("small.jsonl", requests(0..20));
    // Texts that do not compress, more than the disk holds.
    let mut seed = 1_u64;
    let mut noise = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:016x}", seed ^ (seed >> 29))
    };
    let large: String = (100..3_100)
        .flat_map(|number| requests(number..number + 1).lines().map(str::to_owned).collect::<Vec<_>>())
        .map(|line| {
            let noise: String = (0..250).map(|_| noise()).collect();
            line.replace("{\\\"n\\\":", &format!("{{\\\"t\\\":\\\"{noise}\\\",\\\"n\\\":")) + "\n"
        })
        .collect();
    place.write("large.jsonl", large);
    let db = disk.path("taco.duckdb");
    let ingest = |name: &str| program().arg("ingest").arg(place.path(name)).arg("--db").arg(&db).output().unwrap();
    assert_eq!(ingest("small.jsonl").status.code(), Some(0));
    let full = ingest("large.jsonl");
    assert_eq!(full.status.code(), Some(3), "{}", told(&full));
    assert!(told(&full).contains("디스크가 가득"), "{}", told(&full));
    check(&db, "by a full disk");
    assert_eq!(rows(&db, "SELECT lines, spans_kept FROM sources"), ["20|40"]);
    // It can be asked, and goes on once there is room.
    let judged = program().args(["diagnose", "--all", "--db"]).arg(&db).output().unwrap();
    assert_eq!(judged.status.code(), Some(0), "{}", told(&judged));
    place.write("next.jsonl", requests(50..60));
    let next = ingest("next.jsonl");
    assert_eq!(next.status.code(), Some(0), "{}", told(&next));
    assert_eq!(rows(&db, "SELECT lines, spans_kept FROM sources ORDER BY source_id"), ["20|40", "10|20"]);
}

#[test]
fn second_process_says_who_holds_the_store_and_ends() {
    let place = Place::new();
    place.write("t.jsonl", requests(0..3));
    let mut holder = program()
        .args(["ingest", "-", "--db"])
        .arg(place.db())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = holder.stdin.take().unwrap();
    let text = requests(100..300);
    assert!(text.len() > PIPE_BYTES);
    // Once this is written the holder has its store open.
    input.write_all(text.as_bytes()).unwrap();
    for arguments in
        [&["ingest", "t.jsonl", "--db"][..], &["diagnose", "--db"], &["ingest", "--watch", "t.jsonl", "--db"]]
    {
        let arguments = arguments.iter().map(|word| if *word == "t.jsonl" { place.path(word) } else { word.into() });
        let refused = program().args(arguments).arg(place.db()).output().unwrap();
        assert_eq!(refused.status.code(), Some(3), "{}", told(&refused));
        let holder = holder.id().to_string();
        assert!(told(&refused).contains("taco.duckdb") && told(&refused).contains(&holder), "{}", told(&refused));
    }
    drop(input);
    assert!(holder.wait_with_output().unwrap().status.success());
    check(&place.db(), "never");
    place.ingested(&["t.jsonl"]);
    assert_eq!(place.rows("SELECT spans_kept FROM sources ORDER BY source_id"), ["400", "6"]);
}

/// Following ends between files: the one at hand is in the store as a whole or not at all.
#[test]
fn follower_that_is_ended_while_it_reads_leaves_whole_files() {
    for round in 0..4 {
        let load = Load::new();
        let mut child = start(
            program()
                .args(["ingest", "--watch", "--quiet"])
                .args(load.names.map(|name| load.place.path(name)))
                .arg("--db")
                .arg(load.place.db()),
        );
        while size(&load.place.db()) < round * 400_000 && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        // Before it has a handler for it, the signal just ends it.
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        child.wait().unwrap();
        load.check(&format!("in round {round}"));
        assert!(start(&mut load.command()).wait().unwrap().success());
        assert_eq!(load.check("never"), 3);
    }
}
