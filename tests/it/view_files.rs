//! Each view file keeps its contract: path and name, header, comments, columns, what it may read.
//!
//! What the rows of a view are is tested in `views.rs`, portability in `portable.rs`.

use std::collections::BTreeSet;
use std::fs;

use taco_trace::model::{Rule, Verdict};
use taco_trace::store::{CALL_SET, RULE_SET, Store, ViewFile, view_files};

use super::support::{answers, files_under, repository};

/// Header fields of a view file, in order.
const HEADER: [&str; 9] =
    ["View", "Judges", "Grain", "Reads", "Fires when", "Stays silent when", "Order", "Version", "Tests"];

/// What every rule has; the set has all of the columns below.
const RULE_COLUMNS: [(&str, &str); 5] = [
    ("trace_id", "VARCHAR"),
    ("finding", "VARCHAR"),
    ("tool_name", "VARCHAR"),
    ("span_id", "VARCHAR"),
    ("start_ns", "BIGINT"),
];
/// Of rules that also judge calls without a span of their own.
const CALL_COLUMNS: [(&str, &str); 1] = [("call_key", "VARCHAR")];
/// What the rule on arguments adds.
const ARGS_COLUMNS: [(&str, &str); 2] = [("arg_key", "VARCHAR"), ("problem", "VARCHAR")];
/// What the rules with a limit add.
const LIMIT_COLUMNS: [(&str, &str); 2] = [("measured", "BIGINT"), ("allowed", "BIGINT")];

/// What every check of calls has; the set has all of the columns below.
const CHECK_COLUMNS: [(&str, &str); 5] = [
    ("call_run", "VARCHAR"),
    ("place", "BIGINT"),
    ("call_no", "VARCHAR"),
    ("checked_arg", "VARCHAR"),
    ("tool_name_raw", "VARCHAR"),
];
/// The cells that checks rest on; each has those that it reads.
const CHECK_CELLS: [(&str, &str); 6] = [
    ("arg_value", "VARCHAR"),
    ("allowed_values", "VARCHAR"),
    ("max_number", "VARCHAR"),
    ("is_required", "BOOLEAN"),
    ("problem", "VARCHAR"),
    ("row_count", "BIGINT"),
];

/// What checks look at and no verdict rests on: behind the cells, and in no set.
const CHECK_FACTS: [(&str, &str); 1] = [("is_held", "BOOLEAN")];

const NOTE_COLUMNS: [(&str, &str); 7] = [
    ("trace_id", "VARCHAR"),
    ("tool_name", "VARCHAR"),
    ("span_id", "VARCHAR"),
    ("start_ns", "BIGINT"),
    ("measured", "BIGINT"),
    ("allowed", "BIGINT"),
    ("detail", "VARCHAR"),
];

/// Header fields with their text, continued lines joined.
fn header(file: &ViewFile) -> Vec<(String, String)> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in file.sql.lines().map_while(|line| line.strip_prefix("--")) {
        let field =
            HEADER.iter().find_map(|name| Some((name, line.strip_prefix(' ')?.strip_prefix(name)?.strip_prefix(':')?)));
        match (field, fields.last_mut()) {
            (Some((name, text)), _) => fields.push(((*name).to_owned(), text.trim().to_owned())),
            // A deeper line goes on with the field; any other is a remark.
            (None, Some((_, text))) if line.starts_with("   ") => *text = format!("{text} {}", line.trim()),
            _ => {}
        }
    }
    fields
}

fn field(file: &ViewFile, name: &str) -> String {
    header(file).into_iter().find(|(found, _)| found == name).map(|(_, text)| text).unwrap_or_default()
}

/// Tables and views after FROM and JOIN, without the steps that the file names itself.
fn relations(file: &ViewFile) -> BTreeSet<String> {
    let code: String = file
        .sql
        .lines()
        .filter(|line| !line.starts_with("--") && !line.starts_with("COMMENT ON"))
        .fold(String::new(), |code, line| code + line.split("--").next().unwrap_or_default() + " ");
    let words: Vec<&str> = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '(')).collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let steps: BTreeSet<&str> =
        words.windows(3).filter(|three| three[1] == "AS" && three[2].starts_with('(')).map(|three| three[0]).collect();
    let read = words.windows(2).filter(|pair| ["FROM", "JOIN"].contains(&pair[0]) && !pair[1].starts_with('('));
    read.map(|pair| pair[1]).filter(|name| !steps.contains(name)).map(str::to_owned).collect()
}

fn named(columns: &[(&str, &str)]) -> Vec<(String, String)> {
    columns.iter().map(|(name, column_type)| ((*name).to_owned(), (*column_type).to_owned())).collect()
}

#[test]
fn view_files_on_disk_in_order_and_embedded_are_the_same() {
    let order = fs::read_to_string(repository().join("sql/_order")).unwrap();
    let embedded: Vec<&str> = view_files().iter().map(|file| file.path).collect();
    assert_eq!(order.lines().collect::<Vec<_>>(), embedded, "sql/_order against src/store/views.rs");
    let on_disk: BTreeSet<String> = ["base", "rules", "notes", "checks", "sets", "people"]
        .iter()
        .flat_map(|kind| files_under(&format!("sql/{kind}")))
        .collect();
    let listed: BTreeSet<String> = embedded.iter().map(|path| format!("sql/{path}")).collect();
    assert_eq!(on_disk, listed, "files under sql/ against sql/_order");
}

#[test]
fn view_file_creates_exactly_the_view_of_its_path() {
    for file in view_files() {
        let path = file.path;
        let name_is_plain = file.name().chars().all(|c| c.is_ascii_lowercase() || c == '_');
        let number = file.version().strip_prefix('v').and_then(|number| number.parse::<u32>().ok());
        let is_versioned = number.is_some_and(|number| number > 0);
        assert!(name_is_plain && is_versioned != file.is_for_people(), "{path}");
        let (mut created, mut commented) = (0, BTreeSet::new());
        for statement in
            file.sql.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n").split(";\n")
        {
            match statement.split_whitespace().collect::<Vec<_>>().as_slice() {
                ["CREATE", "OR", "REPLACE", "VIEW", view, "AS", ..] if *view == file.view() => created += 1,
                ["COMMENT", "ON", "VIEW", view, "IS", ..] => _ = commented.insert((*view).to_owned()),
                ["COMMENT", "ON", "COLUMN", column, "IS", ..] => {
                    commented.insert(column.split('.').next().unwrap_or_default().to_owned());
                }
                other => panic!("{path}: {other:?}"),
            }
        }
        assert_eq!((created, commented), (1, BTreeSet::from([file.view()])), "{path}");
    }
}

#[test]
fn view_file_has_every_header_field_in_order() {
    for file in view_files() {
        let fields = header(file);
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, HEADER, "{}", file.path);
        assert!(fields.iter().all(|(_, text)| !text.is_empty()), "{}: {fields:?}", file.path);
        assert_eq!(field(file, "View"), file.view(), "{}", file.path);
        assert!(repository().join(field(file, "Tests")).is_file(), "{}: no tests", file.path);
        let is_first = file.version() == "v1" || file.is_for_people();
        assert_eq!(field(file, "Version") == "first.", is_first, "{}: say what differs", file.path);
    }
}

#[test]
fn view_file_reads_what_its_header_says() {
    for file in view_files() {
        let told: BTreeSet<String> =
            field(file, "Reads").trim_end_matches('.').split(',').map(|name| name.trim().to_owned()).collect();
        assert_eq!(told, relations(file), "{}", file.path);
    }
}

/// base reads tables, rules read base, notes read both, checks read tables and each other, sets read all, views for people read what is told by sets and
/// each other: nothing flows back.
#[test]
fn view_file_reads_only_kinds_below_it() {
    for file in view_files() {
        let above: &[&str] = match file.kind() {
            "base" => &["rule_", "note_", "check_", "set_"],
            "rules" => &["rule_", "note_", "check_", "set_"],
            "notes" => &["note_", "check_", "set_"],
            "checks" => &["base_", "rule_", "note_", "set_"],
            "people" => &["rule_", "note_", "check_"],
            _ => &["set_"],
        };
        let wrong: Vec<String> =
            relations(file).into_iter().filter(|name| above.iter().any(|kind| name.starts_with(kind))).collect();
        assert_eq!(wrong, [""; 0], "{}", file.path);
    }
}

#[test]
fn view_and_each_column_has_a_comment() {
    // In a file: a store in memory, which no other client opens, has no comments.
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("taco.duckdb")).unwrap();
    let ours = "NOT internal AND schema_name = 'main'";
    let views = answers(&store, &format!("SELECT view_name FROM duckdb_views() WHERE {ours} ORDER BY view_name"));
    let mut files: Vec<String> = view_files().iter().map(ViewFile::view).collect();
    files.sort_unstable();
    assert_eq!(views, files);
    let bare = "COALESCE(comment, '') = ''";
    assert_eq!(answers(&store, &format!("SELECT view_name FROM duckdb_views() WHERE {ours} AND {bare}")), [""; 0]);
    let columns = format!(
        "SELECT table_name, column_name FROM duckdb_columns() WHERE {ours} AND {bare}
            AND table_name IN (SELECT view_name FROM duckdb_views() WHERE {ours}) ORDER BY ALL"
    );
    assert_eq!(answers(&store, &columns), [""; 0]);
}

#[test]
fn rule_and_note_views_keep_the_column_contract() {
    let store = Store::in_memory().unwrap();
    for file in view_files() {
        let expected = match file.kind() {
            "rules" => named(&match (file.name(), file.version()) {
                ("args_mismatch", "v1") => [&RULE_COLUMNS[..], &ARGS_COLUMNS].concat(),
                ("args_mismatch", _) => [&RULE_COLUMNS[..], &CALL_COLUMNS, &ARGS_COLUMNS].concat(),
                ("timeout_exceeded" | "retry_over_limit", _) => [&RULE_COLUMNS[..], &LIMIT_COLUMNS].concat(),
                (_, "v1") => RULE_COLUMNS.to_vec(),
                _ => [&RULE_COLUMNS[..], &CALL_COLUMNS].concat(),
            }),
            "notes" => named(&NOTE_COLUMNS),
            _ => continue,
        };
        assert_eq!(store.columns(&file.view()).unwrap(), expected, "{}", file.path);
    }
}

#[test]
fn set_views_put_the_contract_behind_name_and_place() {
    let store = Store::in_memory().unwrap();
    let all_rules = [&RULE_COLUMNS[..], &CALL_COLUMNS, &ARGS_COLUMNS, &LIMIT_COLUMNS].concat();
    for (view, own, contract) in [
        (RULE_SET, [("priority", "INTEGER"), ("rule", "VARCHAR")], all_rules),
        ("set_note_v2", [("place", "INTEGER"), ("note", "VARCHAR")], NOTE_COLUMNS.to_vec()),
        (CALL_SET, [("rank", "INTEGER"), ("verdict", "VARCHAR")], [&CHECK_COLUMNS[..], &CHECK_CELLS].concat()),
    ] {
        assert_eq!(store.columns(view).unwrap(), named(&[&own[..], &contract].concat()), "{view}");
    }
}

#[test]
fn check_views_keep_the_column_contract() {
    let store = Store::in_memory().unwrap();
    for file in view_files().iter().filter(|file| file.kind() == "checks") {
        let columns = store.columns(&file.view()).unwrap();
        let (own, cells) = columns.split_at(CHECK_COLUMNS.len());
        assert_eq!(own, named(&CHECK_COLUMNS), "{}", file.path);
        let known = named(&[&CHECK_CELLS[..], &CHECK_FACTS].concat());
        let in_order: Vec<_> = known.into_iter().filter(|cell| cells.contains(cell)).collect();
        assert_eq!(cells, in_order, "{}", file.path);
    }
}

/// A rule without a place in the set would judge nothing; one in two versions would judge twice.
#[test]
fn sets_hold_each_rule_and_each_note_once() {
    let sources = |view: &str, kind: &str| -> Vec<String> {
        let file = view_files().iter().find(|file| file.view() == view).unwrap();
        let read = relations(file).into_iter();
        read.filter_map(|name| Some(name.strip_prefix(kind)?.rsplit_once("_v")?.0.to_owned())).collect()
    };
    let names = |kind: &str| -> BTreeSet<String> {
        view_files().iter().filter(|file| file.kind() == kind).map(|file| file.name().to_owned()).collect()
    };
    let rules: BTreeSet<String> = Rule::ALL.iter().map(|rule| rule.as_str().to_owned()).collect();
    assert_eq!(names("rules"), rules);
    assert_eq!(sources(RULE_SET, "rule_"), Vec::from_iter(rules));
    assert_eq!(sources("set_note_v2", "note_"), Vec::from_iter(names("notes")));
}

#[test]
fn sql_code_lines_are_under_80_characters() {
    let mut wrong = Vec::new();
    let files = files_under("sql").into_iter().chain(files_under("migrations"));
    for path in files.filter(|path| path.ends_with(".sql")) {
        let text = fs::read_to_string(repository().join(&path)).unwrap();
        let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with("COMMENT ON "));
        let long = lines.filter(|(_, line)| line.chars().count() >= 80 || *line != line.trim_end());
        wrong.extend(long.map(|(number, _)| format!("{path}:{number}")));
    }
    assert_eq!(wrong, [""; 0], "lines that are too long or end in blanks");
}

/// The clock and chance have no place in a view, nor has text for people but for the words of the schema.
#[test]
fn sql_holds_no_clock_no_chance_and_no_hangul() {
    let targets = ["도구 설명", "인자 스키마", "제한 시간 설정", "재시도 설정", "오류 처리 흐름"];
    let words: Vec<&str> = Verdict::ALL.into_iter().map(Verdict::label).chain(targets).collect();
    for path in files_under("sql").into_iter().filter(|path| path.ends_with(".sql")) {
        let mut text = fs::read_to_string(repository().join(&path)).unwrap().to_lowercase();
        if path.starts_with("sql/people/") {
            words.iter().for_each(|word| text = text.replace(&format!("'{word}'"), ""));
        }
        for refused in ["now()", "random()", "current_timestamp", "current_date", "today()"] {
            assert!(!text.contains(refused), "{path}: {refused}");
        }
        assert!(!text.chars().any(|c| ('가'..='힣').contains(&c)), "{path}: Hangul");
    }
}
