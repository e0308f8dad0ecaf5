//! `taco-trace sql`: what is asked, how answers look, what may be written, and how it ends.

mod ask;
mod prompt;
mod shown;
mod split;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use taco_trace::store::Store;
use taco_trace::store::ask::{Access, Asking, EXAMPLES};

use super::support::repository;
use super::support_cli::{Place, program, told};

/// A folder with an empty store.
fn empty() -> Place {
    let place = Place::new();
    drop(Store::open(&place.db()).unwrap());
    place
}

/// A folder with a store of the three weeks.
fn days() -> Place {
    let place = Place::new();
    for part in ["tools-1", "tools-2"] {
        let days = repository().join("fixtures/days");
        let output = program()
            .arg("ingest")
            .args([days.join(part), PathBuf::from("--tools"), days.join(format!("{part}.json"))])
            .arg("--db")
            .arg(place.db())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }
    place
}

fn sql(place: &Place) -> Command {
    let mut command = program();
    command.arg("sql").arg("--db").arg(place.db());
    command
}

fn run(place: &Place, arguments: &[&str]) -> Output {
    sql(place).args(arguments).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn asked(place: &Place, arguments: &[&str]) -> String {
    let output = run(place, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", told(&output));
    stdout(&output)
}

/// Fails with the status, says something of that in Korean, and writes nothing to standard output.
fn refused(place: &Place, arguments: &[&str], status: i32, named: &str) {
    let output = run(place, arguments);
    let said = told(&output);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {said}");
    assert!(said.contains(named), "{arguments:?}: {said}");
    assert!(said.contains("도움말"), "{arguments:?}: {said}");
    assert_eq!(stdout(&output), "", "{arguments:?}");
}

/// One value of each type, NULL beside empty text.
const TYPES: &str = "SELECT true AS bool, 7::UTINYINT AS tiny, (-9223372036854775808)::BIGINT AS big,
    170141183460469231731687303715884105727::HUGEINT AS huge, 340282366920938463463374607431768211455::UHUGEINT AS vast,
    0.1::FLOAT AS f, 1e20::DOUBLE AS d, 'nan'::DOUBLE AS nan, '-inf'::DOUBLE AS inf, -0.05::DECIMAL(10, 2) AS dec,
    12::DECIMAL(38, 0) AS whole, '규정' AS text, '' AS nothing, NULL AS missing, 'a'::ENUM('a', 'b') AS choice,
    DATE '0044-03-15 (BC)' AS bc, TIME '09:10:11.5' AS clock, TIMESTAMP '1969-12-31 23:59:59.25' AS at,
    TIMESTAMPTZ '2026-10-07 09:12:03+09' AS instant, TIMESTAMP_NS '2026-10-07 00:00:00.000000001' AS ns,
    INTERVAL '14 months 3 days 4 hours' AS span, 'a\\x00'::BLOB AS blob, [1, NULL] AS list, ['x']::VARCHAR[1] AS array,
    {'k': '값', 'n': [{'m': 1}]} AS struct, MAP {'x': 1} AS map, union_value(u := 5) AS united, '0101'::BIT AS bit,
    '{\"b\": 1,  \"a\": [2]}'::JSON AS json, '00000000-0000-0000-0000-00000000000a'::UUID AS id,
    'infinity'::DATE AS never";

#[test]
fn every_type_has_its_form_in_json() {
    let place = empty();
    let text = asked(&place, &["--format", "jsonl", TYPES]);
    assert_eq!(text.lines().count(), 1);
    // Digits are kept as they are: a parser that reads floats could not tell.
    for exact in [
        r#""big":-9223372036854775808,"#,
        r#""huge":170141183460469231731687303715884105727,"#,
        r#""vast":340282366920938463463374607431768211455,"#,
        r#""f":0.1,"#,
        r#""dec":-0.05,"#,
        r#""whole":12,"#,
        r#""json":{"b": 1,  "a": [2]},"#,
    ] {
        assert!(text.contains(exact), "{exact}: {text}");
    }
    let row: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({
        "bool": true, "tiny": 7, "d": 1e20, "nan": null, "inf": null, "text": "규정", "nothing": "", "missing": null,
        "choice": "a", "bc": "0044-03-15 (BC)", "clock": "09:10:11.5", "at": "1969-12-31 23:59:59.25",
        "instant": "2026-10-07 00:12:03+00", "ns": "2026-10-07 00:00:00.000000001",
        "span": "1 year 2 months 3 days 04:00:00", "blob": "6100", "list": [1, null], "array": ["x"],
        "struct": {"k": "값", "n": [{"m": 1}]}, "map": {"x": 1}, "united": 5, "bit": "0101",
        "id": "00000000-0000-0000-0000-00000000000a", "never": "infinity",
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&row[name], value, "{name}");
    }
}

#[test]
fn every_type_has_its_form_in_csv() {
    let place = empty();
    let text = asked(&place, &["--format", "csv", "--null", "NULL", TYPES]);
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = reader.records().next().unwrap().unwrap();
    let cell = |name: &str| &row[names.iter().position(|found| found == name).unwrap()];
    for (name, expected) in [
        ("bool", "true"),
        ("huge", "170141183460469231731687303715884105727"),
        ("f", "0.1"),
        ("nan", "nan"),
        ("inf", "-inf"),
        ("dec", "-0.05"),
        ("nothing", ""),
        ("missing", "NULL"),
        ("bc", "0044-03-15 (BC)"),
        ("blob", "6100"),
        ("list", "[1,null]"),
        ("struct", r#"{"k":"값","n":[{"m":1}]}"#),
        ("json", r#"{"b": 1,  "a": [2]}"#),
    ] {
        assert_eq!(cell(name), expected, "{name}");
    }
}

/// What DuckDB itself makes of dates and times is the measure, over all of their ranges.
#[test]
fn dates_and_times_are_written_as_duckdb_writes_them() {
    let place = empty();
    let columns = [
        "make_date(CAST(i * 41003017 % 2000000000 AS INTEGER))",
        "make_timestamp(i * 92233720368547 * 97)",
        "make_timestamp_ns(i * 92233720368547 * 97)",
        "TIME '00:00:00' + to_microseconds(i * i * 86399999 % 86400000000)",
        "to_months(CAST(i AS INTEGER)) + to_days(CAST(-i % 40 AS INTEGER)) + to_microseconds(i * 7654321)",
    ];
    for column in columns {
        let query = format!("SELECT {column} AS own, CAST({column} AS VARCHAR) AS duckdb FROM range(-900, 900) t(i)");
        let text = asked(&place, &["--format", "jsonl", &query]);
        assert_eq!(text.lines().count(), 1800);
        for line in text.lines() {
            let row: Value = serde_json::from_str(line).unwrap();
            assert_eq!(row["own"], row["duckdb"], "{column}");
        }
    }
}

#[test]
fn table_shows_null_beside_empty_text_and_no_control_characters() {
    let place = empty();
    let text =
        asked(&place, &["SELECT 1 AS n, 'a' AS word, NULL AS missing, '' AS nothing, chr(27) || '[31m\n' AS bad"]);
    assert_eq!(
        text,
        "n  word  missing  nothing  bad\n\
         ─  ────  ───────  ───────  ────────────\n\
         1  a     NULL              \\u{1b}[31m\\n\n\
         (1행)\n"
    );
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn markdown_escapes_what_it_would_read() {
    let place = empty();
    let text = asked(&place, &["--format", "md", "SELECT 'a|b' AS \"x|y\", 12 AS n, NULL::VARCHAR AS z"]);
    assert_eq!(text, "| x\\|y | n | z |\n| --- | ---: | --- |\n| a\\|b | 12 | NULL |\n");
}

#[test]
fn json_is_an_array_also_of_nothing() {
    let place = empty();
    assert_eq!(asked(&place, &["--format", "json", "SELECT 1 AS a WHERE false"]), "[]\n");
    assert_eq!(asked(&place, &["--format", "json", "FROM range(3) t(a)"]), "[\n{\"a\":0},\n{\"a\":1},\n{\"a\":2}\n]\n");
    let rows: Value = serde_json::from_str(&asked(&place, &["--format", "json", "FROM range(5000) t(a)"])).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 5000);
}

#[test]
fn names_that_repeat_are_told_apart_in_json() {
    let place = empty();
    let text = asked(&place, &["--format", "jsonl", "SELECT 1 AS a, 2 AS a, 3 AS a_1, 4 AS a"]);
    assert_eq!(text, "{\"a\":1,\"a_2\":2,\"a_1\":3,\"a_3\":4}\n");
}

#[test]
fn several_statements_answer_in_turn() {
    let place = empty();
    let both = "SELECT 1 AS a; -- ; no\nSELECT ';' AS b;";
    assert_eq!(asked(&place, &[both]), "a\n─\n1\n(1행)\n\nb\n─\n;\n(1행)\n");
    assert_eq!(asked(&place, &["--format", "csv", both]), "a\n1\n\nb\n;\n");
    assert_eq!(asked(&place, &["--format", "jsonl", both]), "{\"a\":1}\n{\"b\":\";\"}\n");
    refused(&place, &["--format", "json", both], 2, "2개");
    let after = asked(&place, &["--format", "json", "CREATE TEMP TABLE t AS SELECT 5 AS x; SELECT x FROM t"]);
    assert_eq!(after, "[\n{\"x\":5}\n]\n");
}

#[test]
fn statements_come_from_a_file_and_from_standard_input() {
    let place = empty();
    let file = place.write("query.sql", "\u{feff}SELECT 1 AS a;\n");
    for arguments in [vec!["-f", file.to_str().unwrap()], vec!["--file", "-"], vec!["-"], vec![]] {
        let mut command = sql(&place);
        command.args(&arguments).stdin(fs::File::open(&file).unwrap());
        let output = command.output().unwrap();
        assert_eq!(stdout(&output), "a\n─\n1\n(1행)\n", "{arguments:?}: {}", told(&output));
    }
    refused(&place, &["-f", "no-such.sql"], 3, "no-such.sql");
    // In the other commands -f is the format.
    refused(&place, &["-f", "csv", "SELECT 1"], 2, "`--format csv`");
    refused(&place, &["-f", file.to_str().unwrap(), "SELECT 1"], 2, "--format");
    let out = place.path("out.csv");
    assert_eq!(asked(&place, &["--format", "csv", "-o", out.to_str().unwrap(), "SELECT 1 AS a"]), "");
    assert_eq!(fs::read_to_string(out).unwrap(), "a\n1\n");
    refused(&place, &[], 2, "SQL");
    refused(&place, &[" ; -- nothing"], 2, "SQL");
}

#[test]
fn table_stops_at_a_thousand_rows_and_says_so() {
    let place = empty();
    for (rows, shown, more) in [(999, 999, false), (1000, 1000, false), (1001, 1000, true), (9000, 1000, true)] {
        let text = asked(&place, &[&format!("FROM range({rows}) t(i)")]);
        assert_eq!(text.lines().count(), shown + 3, "{rows}");
        assert_eq!(text.contains("--all-rows"), more, "{rows}");
    }
    let all = asked(&place, &["--all-rows", "FROM range(2500) t(i)"]);
    assert!(all.ends_with("2499\n(2,500행)\n"), "{all}");
    let lines = asked(&place, &["--format", "csv", "FROM range(2500) t(i)"]);
    assert_eq!(lines.lines().count(), 2501);
}

#[test]
fn output_is_written_whole_or_not_at_all() {
    let place = empty();
    let path = place.path("out.csv");
    let out = path.to_str().unwrap();
    assert_eq!(asked(&place, &["--format", "csv", "--bom", "--output", out, "SELECT '가' AS a"]), "");
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}a\n가\n");
    // It fails in its last rows.
    let failing = "SELECT CASE WHEN i < 99999 THEN i ELSE error('late') END AS a FROM range(100000) t(i)";
    refused(&place, &["--format", "csv", "--output", out, failing], 2, "late");
    assert_eq!(fs::read_to_string(&path).unwrap(), "\u{feff}a\n가\n");
    refused(&place, &["--output", place.path("no/such/out").to_str().unwrap(), "SELECT 1"], 3, "out");
    let left: Vec<PathBuf> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.iter().all(|path| !path.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn parquet_is_a_file_that_duckdb_reads_again() {
    let place = empty();
    let path = place.path("it's.parquet");
    let out = path.to_str().unwrap();
    refused(&place, &["--format", "parquet", "SELECT 1"], 2, "--output");
    refused(&place, &["--format", "parquet", "--output", "/dev/null", "SELECT 1"], 2, "--output");
    let store = place.db();
    let before = std::fs::read(&store).unwrap();
    refused(&place, &["--format", "csv", "--output", store.to_str().unwrap(), "SELECT 1"], 2, "저장소 파일 위에는");
    assert!(std::fs::read(&store).unwrap() == before, "a result replaced the store");
    refused(&place, &["--format", "parquet", "--output", out, "--tables"], 2, "parquet");
    refused(&place, &["--format", "parquet", "--output", out, "SELECT 1; SELECT 2"], 2, "2개");
    refused(&place, &["--format", "parquet", "--output", out, "SELECT nothing"], 2, "nothing");
    refused(&place, &["--format", "parquet", "--output", out, "EXPLAIN SELECT 1"], 2, "EXPLAIN");
    assert!(!path.exists());
    let query = "SELECT i, '값' || i AS text, [i] AS list FROM range(3) t(i) -- to the end";
    asked(&place, &["--format", "parquet", "--output", out, query]);
    let read = format!("SELECT * FROM '{}' ORDER BY i DESC LIMIT 1", out.replace('\'', "''"));
    assert_eq!(asked(&place, &["--format", "jsonl", &read]), "{\"i\":2,\"text\":\"값2\",\"list\":[2]}\n");
}

#[test]
fn whole_numbers_of_128_bits_keep_their_digits_in_parquet_or_it_is_said() {
    let place = empty();
    let path = place.path("wide.parquet");
    let out = path.to_str().unwrap();
    let most = "9".repeat(38);
    let written = |question: &str| told(&run(&place, &["--format", "parquet", "-o", out, question]));
    let read = |columns: &str| asked(&place, &["--format", "csv", &format!("SELECT {columns} FROM '{out}'")]);
    // Sums are HUGEINT. Names may repeat, and an order stays.
    let question = "SELECT SUM(i) AS \"a \"\"sum\"\"\", SUM(i) AS \"a \"\"sum\"\"\", i % 2 AS n \
                    FROM range(9007199254740992, 9007199254740996) t(i) GROUP BY n ORDER BY n DESC -- end";
    assert_eq!(written(question), "");
    assert_eq!(
        read("typeof(COLUMNS(*))").lines().nth(1).unwrap(),
        "\"DECIMAL(38,0)\",\"DECIMAL(38,0)\",BIGINT",
        "{}",
        read("*")
    );
    assert_eq!(read("*").lines().skip(1).collect::<Vec<_>>().len(), 2);
    assert!(read("*").contains("\n18014398509481988,18014398509481988,1\n18014398509481986,"), "{}", read("*"));
    for (value, fits) in [(most.clone(), true), (format!("-{most}"), true), (format!("1{}", "0".repeat(38)), false)] {
        let said = written(&format!("SELECT {value}::HUGEINT AS total, 1 AS n"));
        assert_eq!(said.contains("total"), !fits, "{value}: {said}");
        let type_name = if fits { "DECIMAL(38,0)" } else { "DOUBLE" };
        assert!(read("typeof(total)").contains(type_name), "{value}");
    }
    assert!(written("SELECT [5::HUGEINT] AS parts, 7::UHUGEINT AS whole").contains("쓰지 못했고"));
    assert!(read("typeof(whole)").contains("DECIMAL(38,0)"));
    for question in
        ["FROM (SELECT SUM(1) AS s)", "WITH a AS (SELECT SUM(1) AS s) SELECT s FROM a", "VALUES (1::HUGEINT)"]
    {
        assert_eq!(written(question), "", "{question}");
        assert!(read("typeof(COLUMNS(*))").contains("DECIMAL(38,0)"), "{question}");
    }
    refused(&place, &["--format", "parquet", "-o", out, "SELECT SUM(error('late')::INT) AS s"], 2, "late");
}

#[test]
fn without_write_nothing_is_written_anywhere() {
    let place = empty();
    let csv = place.path("x.csv");
    let out = csv.display();
    let before = fs::read(place.db()).unwrap();
    for statement in [
        "INSERT INTO hq_decisions SELECT * FROM hq_decisions".to_owned(),
        "CREATE TABLE t (i INT)".to_owned(),
        "CREATE OR REPLACE VIEW runs AS SELECT 1".to_owned(),
        "DROP VIEW runs".to_owned(),
        "UPDATE spans SET status = 'ok'".to_owned(),
        "WITH gone AS (DELETE FROM spans RETURNING *) SELECT * FROM gone".to_owned(),
        "COMMENT ON VIEW runs IS 'x'".to_owned(),
        format!("COPY (SELECT 1) TO '{out}'"),
        format!("copy (SELECT 1) to '{out}'"),
        format!("/* a */ -- b\n COPY (SELECT 1) TO '{out}'"),
        format!("EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'"),
        format!("EXPLAIN COPY (SELECT 1) TO '{out}'"),
        format!("EXPLAIN (ANALYZE) COPY (SELECT 1) TO '{out}'"),
        format!("PREPARE p AS COPY (SELECT 1) TO '{out}'"),
        format!("EXPORT DATABASE '{out}'"),
        format!("ATTACH '{out}' AS other"),
        "INSTALL httpfs".to_owned(),
        "LOAD httpfs".to_owned(),
        "SET threads = 1".to_owned(),
        "PRAGMA enable_profiling".to_owned(),
        format!("PRAGMA profiling_output = '{out}'"),
        "CALL enable_logging()".to_owned(),
        "SELECT * FROM enable_logging()".to_owned(),
        "CHECKPOINT".to_owned(),
        "CREATE PERSISTENT SECRET s (TYPE http)".to_owned(),
        "CREATE TEMP TABLE t AS SELECT ';' AS a".to_owned(),
    ] {
        refused(&place, &[&statement], 2, "--write");
    }
    assert!(!csv.exists());
    assert_eq!(fs::read(place.db()).unwrap(), before);
    assert!(!place.path("taco.duckdb.wal").exists());
}

#[test]
fn questions_of_every_kind_run_without_write() {
    let place = empty();
    let beside = place.write("beside.csv", "name,code\n예산과,D-1203\n");
    for statement in [
        "SELECT 1",
        "(SELECT 1)",
        "WITH a AS (SELECT 1 AS x) SELECT * FROM a",
        "FROM runs",
        "TABLE runs",
        "VALUES (1), (2)",
        "DESCRIBE runs",
        "SHOW TABLES",
        "SUMMARIZE runs",
        "EXPLAIN SELECT 1",
        "EXPLAIN ANALYZE SELECT ';'",
        "EXPLAIN (FORMAT json) SELECT 1",
        "PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
        "CREATE TEMP TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); SELECT sum(a) FROM t; DROP TABLE t",
        "CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 1; FROM v",
        "BEGIN; SELECT 1; COMMIT",
        "SET VARIABLE day = DATE '2026-10-07'; SELECT getvariable('day')",
        &format!("SELECT * FROM read_csv('{}')", beside.display()),
    ] {
        asked(&place, &[statement]);
    }
}

#[test]
fn with_write_statements_write() {
    let place = empty();
    let output = run(&place, &["--write", "CREATE TABLE notes (a INT); INSERT INTO notes VALUES (1), (2)"]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""), "{}", told(&output));
    assert!(told(&output).contains("2행이 바뀌었습니다"), "{}", told(&output));
    assert_eq!(asked(&place, &["--format", "csv", "SELECT sum(a) AS s FROM notes"]), "s\n3\n");
    let returned = asked(&place, &["--write", "--format", "csv", "DELETE FROM notes WHERE a = 1 RETURNING a"]);
    assert_eq!(returned, "a\n1\n");
    let csv = place.path("notes.csv");
    asked(&place, &["--write", &format!("COPY notes TO '{}'", csv.display())]);
    assert_eq!(fs::read_to_string(csv).unwrap(), "a\n2\n");
}

#[test]
fn wrong_sql_is_told_with_its_place() {
    let place = empty();
    let output = run(&place, &["SELECT 1;\n\nSELECT agentname\nFROM runs;"]);
    assert_eq!(output.status.code(), Some(2));
    let said = told(&output);
    for part in ["2번째 문장", "3번째 줄", "agent_name", "LINE 3: SELECT agentname", "\n               ^", "--schema"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(stdout(&output), "1\n─\n1\n(1행)\n");
    refused(&place, &["SELEC 1"], 2, "syntax error");
    refused(&place, &["SELECT * FROM verdict"], 2, "Did you mean \"verdicts\"?");
    refused(&place, &["SELECT ?"], 2, "parameters");
    refused(&place, &["SELECT '09:10:11+09'::TIMETZ AS \"at\""], 2, "\"at\" has no form here, cast it to VARCHAR");
    refused(&place, &["COPY"], 2, "syntax error");
    // A caret keeps its place below a number with more digits.
    let far = format!("{}SELECT nothing", "\n".repeat(11));
    let said = told(&run(&place, &[&format!("SELECT 1;{far}")]));
    let lines: Vec<&str> = said.lines().collect();
    let at = lines.iter().position(|line| line.starts_with("LINE 12: SELECT nothing")).unwrap();
    assert_eq!(lines[at + 1].find('^'), lines[at].find("nothing"), "{said}");
}

/// Not what follows the option, nor that the two may not stand together.
#[test]
fn unknown_option_is_told_by_its_name() {
    let place = empty();
    for (arguments, named) in [
        (&["--tabels"][..], "`--tabels`"),
        (&["--fromat", "csv", "SELECT 1"], "`--fromat`"),
        (&["--fromat=csv", "SELECT 1"], "`--fromat`"),
        (&["SELECT 1", "--fromat", "csv"], "`--fromat`"),
        (&["--tables", "--foo"], "`--foo`"),
        (&["--file", "q.sql", "--foo", "bar"], "`--foo`"),
        (&["-x", "SELECT 1"], "`-x`"),
    ] {
        let said = told(&run(&place, arguments));
        assert!(said.starts_with(&format!("모르는 옵션입니다: {named}\n")), "{arguments:?}: {said}");
        refused(&place, arguments, 2, named);
    }
    refused(&place, &["--fromat", "csv", "SELECT 1"], 2, "`--format` 를 뜻하셨는지");
    // A comment is none, whatever stands in it.
    for statement in ["-- a\nSELECT 1 AS a", "--a=b c\nSELECT 1 AS a", "--\nSELECT 1 AS a", "--a\nSELECT 1 AS a"] {
        assert_eq!(asked(&place, &["--format", "csv", statement]), "a\n1\n", "{statement}");
        assert_eq!(asked(&place, &[statement, "--format", "csv"]), "a\n1\n", "{statement}");
    }
}

#[test]
fn store_that_is_missing_or_held_is_told() {
    let place = Place::new();
    refused(&place, &["SELECT 1"], 3, "taco.duckdb");
    assert!(!place.db().exists());
    let held = Store::open(&place.db()).unwrap();
    refused(&place, &["SELECT 1"], 3, "다른 프로세스");
    drop(held);
    place.write("taco.duckdb", "not a store\n".repeat(2_000));
    refused(&place, &["SELECT 1"], 3, "taco.duckdb");
}

#[test]
fn store_that_is_not_current_is_brought_up_to_date_first() {
    let place = empty();
    outdate(&place.db());
    assert_eq!(asked(&place, &["--format", "csv", "SELECT count(*) AS n FROM verdicts"]), "n\n0\n");
    // It is current now: asking writes nothing.
    let before = fs::read(place.db()).unwrap();
    asked(&place, &["FROM verdicts"]);
    assert_eq!(fs::read(place.db()).unwrap(), before);
    let store = Store::open(&place.db()).unwrap();
    store.execute("INSERT INTO schema_migrations VALUES (999, 'later.sql', '')").unwrap();
    drop(store);
    refused(&place, &["SELECT 1"], 3, "새 판");
}

/// Takes a view away, as if an earlier program had made the store.
fn outdate(db: &Path) {
    Store::open(db).unwrap().execute("DROP VIEW verdicts").unwrap();
}

#[test]
fn store_that_others_read_can_be_read_and_not_brought_up_to_date() {
    let place = empty();
    let _reader = Asking::open(&place.db(), Access::ReadOnly).unwrap();
    asked(&place, &["FROM verdicts"]);
    refused(&place, &["--write", "FROM verdicts"], 3, "다른 프로세스");
    let other = place.path("other.duckdb");
    drop(Store::open(&other).unwrap());
    outdate(&other);
    // Into the same file, by a process of its own: closing it here would give the lock up.
    assert!(Command::new("cp").args([other, place.db()]).status().unwrap().success());
    refused(&place, &["FROM verdicts"], 3, "store info");
}

#[test]
fn interrupt_cancels_with_status_130_and_leaves_no_file() {
    let place = empty();
    let mut child = sql(&place)
        .args(["--format", "jsonl", "FROM range(1000000000000) t(i)"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // It answers: the signal comes while the statement runs.
    assert_eq!(lines.next().unwrap().unwrap(), "{\"i\":0}");
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", told(&output));
    assert!(told(&output).contains("멈췄습니다"));
}

#[test]
fn reader_that_leaves_early_is_no_failure() {
    let place = empty();
    let mut child = sql(&place)
        .args(["--format", "csv", "FROM range(1000000000)"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), told(&output).as_str()), (Some(0), ""));
}

/// Who gets no row still sees what was asked, also where the names do not fit into one line.
#[test]
fn answer_without_rows_has_its_columns() {
    let place = empty();
    assert_eq!(asked(&place, &["SELECT 1 AS a, 'x' AS word WHERE false"]), "a  word\n─  ────\n(0행)\n");
    let text = asked(&place, &["FROM spans"]);
    for column in ["trace_id", "tool_args", "duration_ms"] {
        assert!(text.contains(column), "{column}: {text}");
    }
    assert!(text.ends_with("\n(0행)\n") && text.lines().all(|line| line.len() <= 80), "{text}");
}

#[test]
fn documented_relations_come_first_with_their_comments() {
    let place = empty();
    let text = asked(&place, &["--tables", "--format", "csv"]);
    let names: Vec<&str> = text.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let first = [
        "spans",
        "tool_definitions",
        "runs",
        "findings",
        "verdicts",
        "ingest_issues",
        "reviews",
        "hq_decisions",
        "eval_trials",
        "eval_checks",
        "eval_events",
    ];
    assert_eq!(names[..11], first);
    assert!(names[11..].is_sorted(), "{names:?}");
    assert!(text.contains("\nverdicts,뷰,One of the six verdicts"), "{text}");
    // In the table those without one stand below, by name.
    let table = asked(&place, &["--tables"]);
    let (described, others) = table.split_once("설명이 없는 표와 뷰").unwrap();
    assert!(!described.contains("schema_migrations") && described.contains("One of the six verdicts"), "{table}");
    assert!(others.contains("schema_migrations") && others.contains("view_state"), "{table}");
    let schema = asked(&place, &["--schema", "RUNS", "--format", "csv"]);
    assert!(schema.contains("\nkorean_date,DATE,Date in Korea"), "{schema}");
    refused(&place, &["--schema", "nothing"], 2, "nothing");
    refused(&place, &["--tables", "SELECT 1"], 2, "--tables");
}

#[test]
fn examples_are_the_files_and_each_answers_over_three_weeks() {
    let place = days();
    let all = asked(&place, &["--examples"]);
    let expected: [&[&str]; 9] = [
        &["agent_name,tool_name,runs,rules", "민원 답변 초안 에이전트,search_regulation,10,args_mismatch"],
        &["time,trace,agent_name,verdict", "09:35:50,7aac2d5a,인사 문의 에이전트,제한 시간을 넘겨 끊김"],
        &["rule,week,runs,percent,change", "args_mismatch,2026-09-28,18,18.0,", "args_mismatch,2026-10-05,13,16.7,-5"],
        &[
            "tool_name,limit_ms,calls,over_limit,p95_ms,slowest_ms,trace",
            "hr_db_lookup,12000,56,10,14107,14709,20bfe997",
        ],
        &["tool_name,missing_key,calls,runs,agents,last_seen", "search_regulation,dept_code,27,27,3,2026-10-15"],
        &["severity,code,issues,files,first_place"],
        // No evaluation was made; tests/it/eval_report/views.rs asks of one.
        &["case_id,role,planned,passed,failed,undecided,mean_ms,cost_usd"],
        &["case_id,check_id,severity,reason,trials,first_trial"],
        &["case_id,trial,seq,turn,kind,tool,arguments"],
    ];
    let mut files: Vec<String> = super::support::files_under("sql/examples");
    files.sort();
    assert_eq!(files.len(), EXAMPLES.len());
    for (number, (example, lines)) in (1..).zip(EXAMPLES.iter().zip(expected)) {
        let file = format!("sql/examples/{number:02}_{}.sql", example.name);
        assert_eq!(files[number - 1], file);
        let text = fs::read_to_string(repository().join(&file)).unwrap();
        assert!(text.ends_with(";\n"), "{file}");
        let one = asked(&place, &["--examples", &number.to_string()]);
        assert!(one.ends_with(&text) && one.starts_with(&format!("-- {number}. ")), "{one}");
        assert!(one.lines().next().unwrap().ends_with("까?"), "{one}");
        assert!(all.contains(&one));
        // What is printed can be run as it is.
        let answer = asked(&place, &["--format", "csv", &one]);
        let found: Vec<&str> = answer.lines().take(lines.len()).collect();
        assert_eq!(found, lines, "{file}");
    }
    for readme in ["README.md", "README.ko.md"] {
        let text = fs::read_to_string(repository().join(readme)).unwrap();
        // The third is shortened there, the sixth has no rows here.
        for number in [1, 2, 4, 5] {
            let table = asked(&place, &[EXAMPLES[number - 1].sql]);
            assert!(
                text.contains(&format!("```text\n{table}```")),
                "{readme} shows another answer to {number}: {table}"
            );
        }
    }
    refused(&place, &["--examples", "10"], 2, "9");
    assert_eq!(asked(&place, &["--format", "csv", &all]).matches("\n\n").count(), 8);
}

#[test]
fn example_of_problems_counts_them_by_code() {
    let place = Place::new();
    let half = repository().join("fixtures/malformed/truncated_json_half.jsonl");
    let output = program().arg("ingest").arg(half).arg("--db").arg(place.db()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let answer = asked(&place, &["--format", "csv", EXAMPLES[5].sql]);
    assert!(answer.contains("\ndata_loss,truncated_json,1,1,"), "{answer}");
}
