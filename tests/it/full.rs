//! No room left: each command says what it was writing and what stays valid, and nothing that was there is lost.

use std::fs;
use std::process::{Command, Output};

use super::support_cli::{SmallDisk, program, rows, told};

/// Two verdicts, both of `get_budget_status`.
const TWO: &str = "a5f03c8e";

fn status_and_words(output: &Output, named: &[&str]) {
    let said = told(output);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in named.iter().chain(&["도움말"]) {
        assert!(said.contains(part), "{part}: {said}");
    }
    for wrong in ["뜻밖의", "다 읽은 파일", "이미 들어간 파일"] {
        assert!(!said.contains(wrong), "{wrong}: {said}");
    }
}

/// A disk with a store of the seed on it.
fn disk() -> Option<SmallDisk> {
    let disk = SmallDisk::mounted(24)?;
    let output = program()
        .args(["ingest", "fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json", "--quiet", "--db"])
        .arg(disk.path("taco.duckdb"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    Some(disk)
}

#[test]
fn full_disk_keeps_no_half_of_a_review_or_decision() {
    let Some(disk) = disk() else { return };
    let db = disk.path("taco.duckdb");
    let run = |arguments: &[&str]| program().args(arguments).arg("--db").arg(&db).output().unwrap();
    let review = ["review", "dismiss", TWO, "--verdict", "error-hidden", "--reason", "x"];
    let decide = ["hq-candidates", "decide", "get_budget_status", "error-hidden", "--hold", "--reason", "x"];
    let fill = disk.fill();
    status_and_words(&run(&review), &["디스크가 가득 차 검토를 남기지 못했습니다", "이 검토를 하기 전 그대로"]);
    status_and_words(&run(&decide), &["디스크가 가득 차 정한 것을 남기지 못했습니다", "정하기 전 그대로"]);
    fs::remove_file(fill).unwrap();
    let count = "SELECT (SELECT COUNT(*) FROM reviews), (SELECT COUNT(*) FROM hq_decisions)";
    assert_eq!(rows(&db, count), ["0|0"]);
    // The help says: once more.
    for arguments in [&review[..], &decide] {
        let again = run(arguments);
        assert_eq!(again.status.code(), Some(0), "{}", told(&again));
    }
    assert_eq!(rows(&db, count), ["1|1"]);
}

#[test]
fn full_disk_leaves_the_result_that_was_there() {
    let Some(disk) = disk() else { return };
    let db = disk.path("taco.duckdb");
    let results = ["parquet", "csv"].map(|format| (format, disk.path(&format!("old 것's.{format}"))));
    for (_, path) in &results {
        fs::write(path, "as before").unwrap();
    }
    let fill = disk.fill();
    for (format, path) in &results {
        let output = program()
            .args(["sql", "SELECT i, random() AS r FROM range(1000000) t(i)", "--format", format, "--db"])
            .arg(&db)
            .arg("--output")
            .arg(path)
            .output()
            .unwrap();
        status_and_words(&output, &["결과를 쓰지 못했습니다", path.to_str().unwrap(), "쓰기 전 그대로"]);
        assert_eq!(fs::read_to_string(path).unwrap(), "as before");
    }
    let page = program().args(["report", "--db"]).arg(&db).arg("--html").arg(disk.path("new.html")).output().unwrap();
    status_and_words(&page, &["new.html", "없었으면 없습니다"]);
    let mut left: Vec<String> = fs::read_dir(fill.parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["fill", "old 것's.csv", "old 것's.parquet", "taco.duckdb"]);
}

#[test]
fn full_disk_ends_a_statement_that_writes_and_keeps_those_before() {
    let Some(disk) = disk() else { return };
    let db = disk.path("taco.duckdb");
    let run = |sql: &str| program().args(["sql", "--write", sql, "--db"]).arg(&db).output().unwrap();
    assert_eq!(run("CREATE TABLE notes (a VARCHAR)").status.code(), Some(0));
    let many = "INSERT INTO notes VALUES ('first'); INSERT INTO notes SELECT random()::VARCHAR FROM range(4000000)";
    status_and_words(&run(many), &["SQL 문장을 마치지 못했습니다", "앞서 마친 것은 남아 있습니다"]);
    assert_eq!(rows(&db, "SELECT a FROM notes"), ["first"]);
}

/// `/dev/full` takes nothing and says that there is no room.
#[test]
fn output_without_room_is_told_as_such() {
    if !std::path::Path::new("/dev/full").exists() {
        println!("skipped: there is no /dev/full");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("taco.duckdb");
    let seed = ["ingest", "fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json", "--quiet"];
    assert_eq!(program().args(seed).arg("--db").arg(&db).status().unwrap().code(), Some(0));
    let into_full = |command: &mut Command| command.stdout(fs::File::create("/dev/full").unwrap()).output().unwrap();
    let of_store: [&[&str]; 8] = [
        &["sql", "SELECT 1"],
        &["sql", "FROM range(1000000)", "--format", "csv"],
        &["sql", "--tables"],
        &["diagnose"],
        &["explain", TWO],
        &["review", "list"],
        &["store", "info"],
        &["report", "--html", "-"],
    ];
    let unbound: [&[&str]; 4] = [&["--help"], &["--version"], &["rules"], &["man"]];
    for arguments in of_store {
        let output = into_full(program().args(arguments).arg("--db").arg(&db));
        status_and_words(&output, &["자리가 없어", "표준 출력에 다 쓰지 못했습니다"]);
    }
    for arguments in unbound {
        status_and_words(&into_full(program().args(arguments)), &["자리가 없어", "표준 출력에 다 쓰지 못했습니다"]);
    }
    let named = program().args(["sql", "SELECT 1", "--output", "/dev/full", "--db"]).arg(&db).output().unwrap();
    status_and_words(&named, &["자리가 없어", "`/dev/full` 에 다 쓰지 못했습니다"]);
    // What was done stands, and to do it again would do it twice.
    let review = ["review", "dismiss", TWO, "--verdict", "error-hidden", "--reason", "x", "--db"];
    let output = into_full(program().args(review).arg(&db));
    status_and_words(&output, &["저장소에 남았고", "다시 하지 마세요"]);
    assert_eq!(rows(&db, "SELECT COUNT(*) FROM reviews"), ["1"]);
    let write = ["sql", "--write", "CREATE TABLE t (i INT); SELECT 1; CREATE TABLE u (i INT)", "--db"];
    status_and_words(&into_full(program().args(write).arg(&db)), &["앞서 마친 문장이 쓴 것은", "나머지 문장만"]);
    assert_eq!(rows(&db, "SELECT table_name FROM duckdb_tables() WHERE table_name IN ('t', 'u')"), ["t"]);
}

#[test]
fn export_without_room_names_the_folder_and_leaves_nothing() {
    let (Some(disk), folder) = (SmallDisk::mounted(1), tempfile::tempdir().unwrap()) else { return };
    let db = folder.path().join("taco.duckdb");
    let ingest = ["ingest", "fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json", "--quiet", "--db"];
    assert_eq!(program().args(ingest).arg(&db).output().unwrap().status.code(), Some(0));
    let fill = disk.fill();
    let target = disk.path("export");
    let output = program().args(["store", "export", "--parquet"]).arg(&target).arg("--db").arg(&db).output().unwrap();
    status_and_words(&output, &[&format!("`{}` 에 다 내보내지 못했습니다", target.display())]);
    let left: Vec<_> = fs::read_dir(target.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [fill]);
}
