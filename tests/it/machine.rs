//! `diagnose` for machines: JUnit, SARIF and GitHub's annotations, held against what is published of these formats.

use std::fs;
use std::process::Output;

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::Value;
use taco_trace::render::sarif::uri;

use super::support::repository;
use super::support_cli::{Place, program, request, told};

const SEED: [&str; 3] = ["fixtures/seed/traces.jsonl", "--tools", "fixtures/seed/tools.json"];

fn diagnose(format: &str, more: &[&str]) -> Output {
    program().args(["diagnose", "--format", format]).args(more).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn seed(format: &str, more: &[&str]) -> String {
    let output = diagnose(format, &[&SEED, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    text(&output)
}

/// A run whose agent and tool have that name, and one that has no final answer.
fn hostile(place: &Place, name: &str) -> std::path::PathBuf {
    let quoted = serde_json::to_string(name).unwrap();
    let quoted = &quoted[1..quoted.len() - 1];
    let named = request(1).replace("예산 에이전트", quoted).replace(r#""search""#, &format!("\"{quoted}\""));
    let lost = request(2).replace("invoke_agent", "embeddings");
    place.write("traces: 100%,1.jsonl", format!("{named}\n{lost}\n"))
}

/// What a name may hold and no format must be broken by.
const NAMES: [&str; 6] = [
    "a\u{0}b\u{1b}[31mc\u{8}\u{c}\u{fffe}\u{ffff}\u{202e}d",
    "x\r\n::error title=y::z%0Aq",
    "]]><failure message='m'>&amp;\"'<!--",
    "한글 도구, 이름: \u{1f32e}",
    "a/b\\c",
    "",
];

// --- SARIF ---

fn sarif(text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let schema = fs::read_to_string(repository().join("fixtures/schemas/sarif-2.1.0-rtm.5.json")).unwrap();
    // The published pattern of a language has a bracket too many, which is no regular expression.
    let wrong = r"^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$";
    assert!(schema.contains(wrong));
    let schema: Value = serde_json::from_str(&schema.replace(wrong, "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$")).unwrap();
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(errors, [""; 0]);
    value
}

fn results(log: &Value) -> &Vec<Value> {
    log["runs"][0]["results"].as_array().unwrap()
}

#[test]
fn sarif_of_the_seed_has_a_result_for_each_finding_where_its_span_was_read() {
    let log = sarif(&seed("sarif", &[]));
    let found: Vec<String> = results(&log)
        .iter()
        .map(|result| {
            let location = &result["locations"][0]["physicalLocation"];
            format!(
                "{} {} {}:{}",
                result["ruleId"].as_str().unwrap(),
                result["level"].as_str().unwrap(),
                location["artifactLocation"]["uri"].as_str().unwrap(),
                location["region"]["startLine"]
            )
        })
        .collect();
    let lines: Vec<String> =
        fs::read_to_string(repository().join(SEED[0])).unwrap().lines().map(str::to_owned).collect();
    let line = |span: &str| lines.iter().position(|line| line.contains(span)).unwrap() + 1;
    let expected = [
        ("args-mismatch error", "16eaf0f648963898"),
        ("timeout-exceeded warning", "14435ebfb8edaaca"),
        ("retry-over-limit warning", "4f97e404096b9bb0"),
        ("error-hidden error", "b025a8d69896d987"),
        ("undefined-tool error", "fe41a71a6e6ce5fc"),
        ("error-hidden error", "fe41a71a6e6ce5fc"),
        ("args-mismatch error", "2bf035edfa25067f"),
    ]
    .map(|(verdict, span)| format!("{verdict} fixtures/seed/traces.jsonl:{}", line(span)));
    assert_eq!(found, expected);
}

#[test]
fn sarif_rules_are_the_verdicts_and_each_result_points_at_its_own() {
    let log = sarif(&seed("sarif", &["--all"]));
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), 6);
    assert_eq!(rules[0]["name"], "정의에 없는 도구를 부름");
    for result in results(&log) {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert_eq!(rules[index]["defaultConfiguration"]["level"], result["level"]);
        assert!(!rules[index]["fullDescription"]["text"].as_str().unwrap().is_empty());
    }
    let passed = results(&log).iter().filter(|result| result["kind"] == "pass").count();
    assert_eq!((results(&log).len(), passed), (9, 2));
}

#[test]
fn sarif_message_is_the_summary_and_logical_locations_name_the_way() {
    let log = sarif(&seed("sarif", &["--trace", "a5f0"]));
    let [first, second] = results(&log).as_slice() else { panic!("two findings") };
    assert!(first["message"]["text"].as_str().unwrap().contains("tools.json 에 없는 get_budget_status 를 불러"));
    assert!(second["message"]["text"].as_str().unwrap().starts_with("도구 오류 뒤에도 성공처럼 답함: "));
    let logical = second["locations"][0]["logicalLocations"].as_array().unwrap();
    let names: Vec<&str> = logical.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["예산 집행 질의 에이전트", "get_budget_status", "a5f03c8e21d74b6990e4c1a7b3d52f08", "fe41a71a6e6ce5fc"]
    );
    // The final answer is where a hidden error shows.
    assert_eq!(second["relatedLocations"][0]["message"]["text"], "span 38fd00a9e725c977");
    assert_ne!(first["partialFingerprints"], second["partialFingerprints"]);
}

#[test]
fn sarif_tells_what_cannot_be_judged_and_survives_every_name() {
    for name in NAMES {
        let place = Place::new();
        let path = hostile(&place, name);
        let output = diagnose("sarif", &[path.to_str().unwrap(), "--tools", SEED[2], "--all"]);
        let log = sarif(&text(&output));
        let told = &log["runs"][0]["invocations"][0]["toolExecutionNotifications"];
        if name.is_empty() {
            continue;
        }
        assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
        let result = &results(&log)[0];
        assert_eq!(result["ruleId"], "undefined-tool");
        let place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(place.starts_with("file:///") && place.ends_with("/traces%3A%20100%25%2C1.jsonl"), "{place}");
    }
}

#[test]
fn uri_is_relative_only_where_the_path_is() {
    assert_eq!(uri("a b/ㄱ.jsonl"), "a%20b/%E3%84%B1.jsonl");
    assert_eq!(uri("/x/c:d#e?f"), "file:///x/c%3Ad%23e%3Ff");
    // A colon in the first part would make it a scheme.
    assert_eq!(uri("c:d"), "c%3Ad");
    assert_eq!(uri("~a-b_c.d"), "~a-b_c.d");
}

#[test]
fn standard_input_has_no_file_but_a_line_of_reasoning() {
    let file = fs::File::open(repository().join(SEED[0])).unwrap();
    let output =
        program().args(["diagnose", "-", "--tools", SEED[2], "--format", "sarif"]).stdin(file).output().unwrap();
    let log = sarif(&text(&output));
    assert_eq!(results(&log).len(), 7);
    for result in results(&log) {
        assert!(result["locations"][0].get("physicalLocation").is_none());
        assert_eq!(result["locations"][0]["logicalLocations"].as_array().unwrap().len(), 4);
    }
}

// --- JUnit ---

/// Elements and their attributes as `junit-10.xsd` of Jenkins' xunit-plugin has them (fixtures/schemas/README.md).
const ALLOWED: [(&str, &[&str]); 8] = [
    ("testsuites", &["name", "time", "tests", "failures", "errors"]),
    (
        "testsuite",
        &[
            "name",
            "tests",
            "failures",
            "errors",
            "group",
            "time",
            "skipped",
            "timestamp",
            "hostname",
            "id",
            "package",
            "file",
            "log",
            "url",
        ],
    ),
    ("testcase", &["name", "time", "classname", "group"]),
    ("properties", &[]),
    ("property", &["name", "value"]),
    ("failure", &["type", "message"]),
    ("error", &["type", "message"]),
    ("skipped", &["type", "message"]),
];

/// Reads the document, holds it against the table and the characters of XML 1.0.
pub(crate) fn junit(xml: &str) -> Report {
    let allowed =
        |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(allowed), "{xml:?}");
    for tag in xml.split('<').skip(1).filter(|tag| !tag.starts_with(['/', '?', '!'])) {
        // An attribute's value cannot hold an angle bracket as it is.
        let tag = tag.split('>').next().unwrap().trim_end_matches('/');
        let name = tag.split_whitespace().next().unwrap();
        let (_, attributes) =
            ALLOWED.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no element {name}"));
        for part in tag.split('"').step_by(2).filter(|part| part.contains('=')) {
            let attribute = part.trim_end_matches('=').split_whitespace().last().unwrap();
            assert!(attributes.contains(&attribute), "{name} has no {attribute}");
        }
    }
    Report::deserialize_from_str(xml).unwrap_or_else(|error| panic!("{error}\n{xml}"))
}

#[test]
fn junit_of_the_seed_has_a_test_for_each_run_and_a_failure_for_each_wrong_one() {
    let xml = seed("junit", &[]);
    let report = junit(&xml);
    assert_eq!((report.tests, report.failures, report.errors), (8, 6, 0));
    assert!(!xml.lines().nth(1).unwrap().contains("skipped"), "{xml}");
    let suite = &report.test_suites[0];
    assert_eq!((suite.tests, suite.failures, suite.skipped), (8, 6, 0));
    let case = &suite.test_cases[0];
    assert_eq!(case.name.as_str(), "7f21c0a4e93b4d1f8a6c2e5b90d417aa 2026-10-07 09:12:03");
    assert_eq!(case.classname.as_ref().unwrap().as_str(), "규정 질의 에이전트");
    let TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, message, ty, description, .. } = &case.status
    else {
        panic!("{:?}", case.status)
    };
    assert_eq!(ty.as_ref().unwrap().as_str(), "args-mismatch");
    assert!(message.as_ref().unwrap().contains("필수 키 dept_code 없이 불러 오류가 났고"));
    let body = description.as_ref().unwrap();
    for part in [
        "도구 정의와 맞지 않는 인자로 부름: search_regulation · 필수 키 dept_code 없음",
        "  16eaf0f648963898 · 180ms · error · fixtures/seed/traces.jsonl:1",
        "인자 {\"query\":\"출장비 정산 기한\"}",
        "고칠 곳: 도구 설명",
    ] {
        assert!(body.contains(part), "{part}\n{}", body.as_str());
    }
    let properties: Vec<(&str, &str)> =
        suite.properties.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    for (name, value) in [("taco_trace.rule_set", "set_diagnosis_v2"), ("taco_trace.coverage.tool_calls", "16")] {
        assert!(properties.contains(&(name, value)), "{name}: {properties:?}");
    }
}

#[test]
fn junit_time_is_that_of_the_run() {
    let report = junit(&seed("junit", &["--trace", "80a3"]));
    let run: Value = serde_json::from_str(&seed("json", &["--trace", "80a3"])).unwrap();
    assert_eq!(run.as_array().unwrap().len(), 1);
    let lines = fs::read_to_string(repository().join(SEED[0])).unwrap();
    let of_trace = lines.lines().find(|line| line.contains("80a3f6d21c7e48b5b04a9e3c6f1d2208")).unwrap();
    let times = |key: &str| -> Vec<u64> {
        let split = of_trace.split(key).skip(1);
        split
            .map(|rest| rest.chars().filter(char::is_ascii_digit).take(19).collect::<String>().parse().unwrap())
            .collect()
    };
    let first = *times("startTimeUnixNano").iter().min().unwrap();
    let last = *times("endTimeUnixNano").iter().max().unwrap();
    let time = report.test_suites[0].test_cases[0].time.unwrap();
    assert_eq!(time.as_millis(), u128::from((last - first) / 1_000_000));
}

#[test]
fn junit_skips_what_cannot_be_judged_and_survives_every_name() {
    for name in NAMES.iter().filter(|name| !name.is_empty()) {
        let place = Place::new();
        let path = hostile(&place, name);
        let output = diagnose("junit", &[path.to_str().unwrap(), "--tools", SEED[2]]);
        let report = junit(&text(&output));
        let suite = &report.test_suites[0];
        assert_eq!((suite.tests, suite.failures, suite.skipped), (2, 1, 1), "{name:?}");
        let TestCaseStatus::Skipped { message, ty, .. } = &suite.test_cases[1].status else { panic!("not skipped") };
        assert_eq!(ty.as_ref().unwrap().as_str(), "unjudged");
        assert!(message.as_ref().unwrap().contains("invoke_agent span 이 없습니다"));
    }
}

// --- GitHub ---

#[test]
fn github_has_an_annotation_for_each_wrong_run_and_counts_at_the_end() {
    let text = seed("github", &[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(
        lines[0],
        "::error title=도구 정의와 맞지 않는 인자로 부름,file=fixtures/seed/traces.jsonl,line=1::search_regulation 을 필수 키 \
         dept_code 없이 불러 오류가 났고, 다음 호출에서 dept_code 를 넣어 답을 냈습니다. (에이전트 규정 질의 에이전트 · 트레이스 \
         7f21c0a4e93b4d1f8a6c2e5b90d417aa · span 16eaf0f648963898)"
    );
    assert_eq!(
        lines[6],
        "::notice title=taco-trace::실행 8건 · 정의에 없는 도구를 부름 1 · 도구 정의와 맞지 않는 인자로 부름 2 · 제한 시간을 넘겨 끊김 1 · \
         같은 호출을 재시도 한도보다 많이 되풀이함 1 · 도구 오류 뒤에도 성공처럼 답함 1 · 정상 완료 2"
    );
    assert_eq!(seed("github", &["--all"]).lines().filter(|line| line.starts_with("::notice")).count(), 3);
}

#[test]
fn github_commands_cannot_be_forged_by_a_name() {
    for name in NAMES.iter().filter(|name| !name.is_empty()) {
        let place = Place::new();
        let path = hostile(&place, name);
        let text = text(&diagnose("github", &[path.to_str().unwrap(), "--tools", SEED[2]]));
        let kinds: Vec<&str> = text.lines().map(|line| line[2..].split(' ').next().unwrap()).collect();
        assert_eq!(kinds, ["error", "warning", "notice"], "{text}");
        assert!(text.lines().all(|line| line.starts_with("::") && !line.contains('\r')), "{text}");
        assert!(text.contains("/traces%3A 100%25%2C1.jsonl,line=1::"), "{text}");
    }
    let place = Place::new();
    let path = hostile(&place, "x%0Ay");
    let text = text(&diagnose("github", &[path.to_str().unwrap(), "--tools", SEED[2]]));
    assert!(text.contains("x%250Ay"), "{text}");
}

// --- all of them ---

#[test]
fn filters_limit_and_output_hold_for_every_format() {
    let place = Place::new();
    for format in ["junit", "sarif", "github"] {
        let count = |more: &[&str]| {
            let text = seed(format, more);
            match format {
                "junit" => junit(&text).tests,
                "sarif" => results(&sarif(&text)).len(),
                _ => text.lines().count() - 1,
            }
        };
        assert_eq!(count(&["--trace", "80a3"]), 1, "{format}");
        assert_eq!(count(&["--limit", "1"]), 1, "{format}");
        assert_eq!(count(&["--limit", "0"]), 0, "{format}");
        assert_eq!(count(&["--agent", "인사 문의 에이전트"]), 1, "{format}");
        assert_eq!(count(&["--verdict", "timeout-exceeded"]), 1, "{format}");
        assert_eq!(count(&["--until", "2026-10-06"]), 0, "{format}");
        let path = place.path(format);
        let output = diagnose(format, &[&SEED[..], &["--output", path.to_str().unwrap()]].concat());
        assert!(output.status.success() && output.stdout.is_empty());
        assert_eq!(fs::read_to_string(&path).unwrap(), seed(format, &[]));
    }
}

#[test]
fn a_store_gives_the_same_as_the_files() {
    let place = Place::new();
    let db = place.db();
    let ingested = program().arg("ingest").args(SEED).arg("--db").arg(&db).output().unwrap();
    assert!(ingested.status.success());
    for format in ["junit", "sarif", "github"] {
        let stored = diagnose(format, &["--db", db.to_str().unwrap()]);
        assert_eq!(text(&stored), seed(format, &[]), "{format}");
    }
}

#[test]
fn dismissed_finding_is_shown_as_such_and_does_not_count() {
    let place = Place::new();
    let db = place.db();
    let db = db.to_str().unwrap();
    for arguments in [
        [&["ingest"][..], &SEED, &["--db", db]].concat(),
        ["review", "dismiss", "80a3", "--verdict", "timeout-exceeded", "--reason", "점검 시간", "--db", db].to_vec(),
    ] {
        assert!(program().args(&arguments).output().unwrap().status.success(), "{arguments:?}");
    }
    let one = |format: &str| text(&diagnose(format, &["--db", db, "--trace", "80a3"]));
    let junit = junit(&one("junit"));
    assert_eq!((junit.failures, junit.test_suites[0].skipped), (0, 1));
    let log = sarif(&one("sarif"));
    let result = &results(&log)[0];
    assert_eq!(result["suppressions"][0]["justification"], "오탐으로 넘김: 점검 시간");
    assert!(one("junit").contains("message=\"오탐으로 넘김: 점검 시간\""), "{}", one("junit"));
    assert!(result.get("baselineState").is_none());
    let github = one("github");
    assert!(github.lines().count() == 1 && github.contains("(오탐으로 넘긴 판정만 있어 접은 실행 1건)"), "{github}");
    assert!(!github.contains("기준선"), "{github}");
    // What is dismissed in one run is no new finding of that run either.
    let baseline = place.path("baseline.json");
    let others = ["--db", db, "--until", "2026-10-07 09:31:00"];
    let path = baseline.to_str().unwrap();
    assert!(diagnose("json", &[&others[..], &["--write-baseline", path]].concat()).status.success());
    let held = diagnose("json", &["--db", db, "--baseline", path, "--trace", "80a3"]);
    assert_eq!(held.status.code(), Some(0), "{}", told(&held));
    let counts = told(&held).replace("\n  오탐", " 오탐");
    assert!(counts.contains("기준선에 있음 0건 · 무시하기로 함 0건 · 오탐으로 넘김 1건"), "{counts}");
    let github = text(&diagnose("github", &["--db", db, "--baseline", path]));
    assert!(github.contains("(기준선에 있는 것만 있어 접은 실행 1건) (오탐으로 넘긴 판정만 있어"), "{github}");
}

/// Of two verdicts the first is dismissed: the annotation is of the other, and says so.
#[test]
fn annotation_is_of_what_counts() {
    let place = Place::new();
    let db = place.db();
    let db = db.to_str().unwrap();
    let review = ["review", "dismiss", "a5f0", "--verdict", "undefined-tool", "--reason", "시험", "--db", db];
    for arguments in [[&["ingest"][..], &SEED, &["--db", db]].concat(), review.to_vec()] {
        assert!(program().args(&arguments).output().unwrap().status.success(), "{arguments:?}");
    }
    let github = text(&diagnose("github", &["--db", db, "--trace", "a5f0"]));
    let line = github.lines().next().unwrap();
    assert!(line.starts_with("::error title=도구 오류 뒤에도 성공처럼 답함,"), "{line}");
    assert!(line.ends_with(" · 오탐으로 넘김: 정의에 없는 도구를 부름)"), "{line}");
    assert!(!github.contains("접은 실행"), "{github}");
    assert!(line.contains("::도구 오류 뒤에도 성공처럼 답함: "), "{line}");
    let junit = text(&diagnose("junit", &["--db", db, "--trace", "a5f0"]));
    assert!(junit.contains("type=\"error-hidden\""), "{junit}");
    assert!(junit.contains("<failure message=\"도구 오류 뒤에도 성공처럼 답함: get_budget_status"), "{junit}");
}

#[test]
fn fail_on_sets_the_status_in_every_format() {
    for format in ["junit", "sarif", "github"] {
        let output = diagnose(format, &[&SEED[..], &["--fail-on", "error-hidden"]].concat());
        assert_eq!(output.status.code(), Some(1), "{format}");
        let output = diagnose(format, &[&SEED[..], &["--fail-on", "error-hidden", "--trace", "80a3"]].concat());
        assert_eq!(output.status.code(), Some(0), "{format}");
    }
}
