//! Words and layout: particles, sentences, widths, and foreign text that must not steer a terminal.

use std::collections::BTreeMap;

use proptest::prelude::*;
use taco_trace::model::{
    Coverage, Diagnosis, Evidence, EvidenceValue, Finding, FixTarget, IssueCode, Rule, Status, ToolDefinition, Verdict,
};
use taco_trace::render::draft::{DraftFacts, MissingKey, draft, find_provider};
use taco_trace::render::issues::{IngestSummary, ToldIssue, ingest_summary, reason, skipped_lines};
use taco_trace::render::josa::{Ending, ending, wants_space};
use taco_trace::render::layout::{Style, width};
use taco_trace::render::notes::{NoteFacts, NoteKind, note};
use taco_trace::render::summary::{CallFacts, FindingFacts, RunFacts, TypeError, summary};
use taco_trace::render::terminal::{Assumptions, Report, RunView, ToolSetView, UnjudgedView};
use taco_trace::render::tree::{Derivation, Explanation, Node, explain};
use taco_trace::render::{Texts, errors, markdown, terminal};

/// Characters that could steer a terminal.
const STEERING: [char; 3] = ['\u{1b}', '\r', '\t'];
const START: &str = "2026-10-07T09:12:03.120+09:00";

#[test]
fn word_ending_is_that_of_its_reading() {
    let words = [
        (
            Ending::Consonant,
            "search_regulation hr_db_lookup leave_form query_plan get_item name time line 정산 3 6 10 100",
        ),
        (
            Ending::Consonant,
            "export_map ticket_stack pdf_scan lang_song meeting 규정 20 500 1000 notebook rank_system my_app",
        ),
        (
            Ending::Vowel,
            "ocr_attachment budget_api petition_search get_budget_status contract_registry dept_code id db date page \
             note user_id 부서 2 4 5 9 web_hook_service file_index bus_line_type2 law_article_list key value 도구 45",
        ),
        (Ending::Rieul, "url file_url rule table_file email html_url tool mail 물 1 7 8 11 27 서울"),
    ];
    for (expected, list) in words {
        for word in list.split_whitespace() {
            assert_eq!(ending(word), expected, "{word}");
        }
    }
    assert_eq!(ending("データ"), Ending::Unknown);
    assert_eq!(ending(""), Ending::Unknown);
}

#[test]
fn particle_stands_off_after_latin_and_not_after_hangul_or_digits() {
    assert!(wants_space("budget_api") && wants_space("tool2"));
    assert!(!wants_space("부서") && !wants_space("한도 3") && !wants_space("2"));
}

fn found(rule: Rule, tool: &str) -> FindingFacts {
    FindingFacts {
        rule,
        tool_name: tool.to_owned(),
        calls: 1,
        missing_keys: if rule == Rule::ArgsMismatch { vec!["dept_code".to_owned()] } else { Vec::new() },
        type_errors: Vec::new(),
        span_status: Some(Status::Error),
        in_messages: false,
        duration_ms: 12_400,
        timeout_ms: Some(8_000),
        timeout_gap_ms: Some(4_400),
        run_length: Some(4),
        max_retries: Some(3),
        later_from: 1,
    }
}

fn call(tool: &str, status: Status, keys: &[&str]) -> CallFacts {
    CallFacts {
        span_id: "0000000000000001".to_owned(),
        tool_name: tool.to_owned(),
        status,
        duration_ms: 5,
        args_key: Some(format!("{keys:?}")),
        keys: keys.iter().map(|key| (*key).to_owned()).collect(),
    }
}

fn run(verdict: Verdict, findings: Vec<FindingFacts>, final_status: Status, calls: Vec<CallFacts>) -> RunFacts {
    let tool_calls = calls.len() as i64;
    RunFacts { verdict, also_found: Vec::new(), findings, final_status, tool_calls, all_checked: true, calls }
}

#[test]
fn summary_tells_each_situation_in_its_own_sentence() {
    use Status::{Error, Ok};
    let texts = Texts::korean();
    let args = || found(Rule::ArgsMismatch, "lookup");
    let mismatch = Rule::ArgsMismatch.verdict();
    let later = |keys: &[&str]| vec![call("lookup", Error, &[]), call("other", Ok, &[]), call("lookup", Ok, keys)];
    let two_later = vec![call("lookup", Error, &[]), call("lookup", Error, &[]), call("lookup", Ok, &["dept_code"])];
    let accepted = FindingFacts { span_status: Some(Ok), ..args() };
    let typed = FindingFacts {
        missing_keys: Vec::new(),
        type_errors: vec![TypeError {
            key: "year".to_owned(),
            received: "boolean".to_owned(),
            declared: "integer|null".to_owned(),
            value: "true".to_owned(),
        }],
        ..args()
    };
    let several_types = FindingFacts {
        missing_keys: Vec::new(),
        type_errors: ["\"\"", "\"1\""]
            .map(|value| TypeError {
                key: "year".to_owned(),
                received: "string".to_owned(),
                declared: "integer".to_owned(),
                value: value.to_owned(),
            })
            .to_vec(),
        ..args()
    };
    let hidden = || found(Rule::ErrorHidden, "lookup");
    let normal = Verdict::Normal;
    let cases = [
        (run(mismatch, vec![args()], Ok, later(&["dept_code"])), "다음 호출에서 dept_code 를 넣어 답을 냈습니다."),
        (run(mismatch, vec![args()], Ok, two_later), "뒤의 호출에서 dept_code 를 넣어 답을 냈습니다."),
        (run(mismatch, vec![args()], Ok, later(&["query"])), "없이 불러 오류가 났습니다."),
        (run(mismatch, vec![args()], Error, later(&["dept_code"])), "없이 불러 오류가 났습니다."),
        (run(mismatch, vec![accepted], Ok, later(&[])), "없이 불렀고, 도구는 그대로 받아 ok 로 끝났습니다."),
        (
            run(mismatch, vec![typed], Ok, later(&[])),
            "year 를 정수·null 이 아닌 참거짓 'true' 로 넘겨 오류가 났습니다.",
        ),
        (
            run(Rule::TimeoutExceeded.verdict(), vec![found(Rule::TimeoutExceeded, "a"); 2], Ok, later(&[])),
            "제한 시간을 넘긴 호출은 모두 2번입니다.",
        ),
        (
            run(Rule::RetryOverLimit.verdict(), vec![found(Rule::RetryOverLimit, "a"); 3], Ok, later(&[])),
            "한도를 넘긴 되풀이는 모두 3번입니다.",
        ),
        (
            run(Rule::ErrorHidden.verdict(), vec![hidden(), found(Rule::ErrorHidden, "ocr")], Ok, later(&[])),
            "lookup, ocr 이 오류를 낸 뒤 성공하지 못했는데",
        ),
        (
            run(Rule::UndefinedTool.verdict(), vec![found(Rule::UndefinedTool, "nope")], Error, later(&[])),
            "nope 를 불러 12,400ms 에 오류가 났고, 실행이 error 로 끝났습니다.",
        ),
        (run(normal, Vec::new(), Ok, Vec::new()), "도구를 부르지 않고 오류 없이 끝났습니다."),
        (run(normal, Vec::new(), Error, Vec::new()), "도구를 부르지 않은 채 실행이 error 로 끝났습니다."),
        (
            run(normal, Vec::new(), Error, vec![call("a", Ok, &[])]),
            "한 번을 정의대로 불렀지만 실행은 error 로 끝났습니다.",
        ),
        (run(normal, Vec::new(), Error, vec![call("a", Error, &[])]), "실행이 error 로 끝나 실패를 알렸고"),
        (run(normal, Vec::new(), Error, later(&["x"])), "뒤의 호출이 회복했지만 실행은 error 로 끝났고"),
        // The ok call started no later than the error, or the rule would be silent.
        (
            run(Rule::ErrorHidden.verdict(), vec![hidden()], Ok, later(&[])),
            "lookup 이 오류를 한 번 낸 뒤에 시작해 성공한 호출이 없는데 실행은 ok 로 끝났습니다.",
        ),
        (
            run(mismatch, vec![several_types], Ok, later(&[])),
            "year 를 정수가 아닌 빈 문자열로 넘기는 등 키 2개를 다른 형식으로 넘겨 오류가 났습니다.",
        ),
        (run(normal, Vec::new(), Ok, later(&["x"])), "lookup 첫 호출의 오류를 다른 인자의 두 번째 호출이 회복해"),
    ];
    for (facts, expected) in cases {
        let told = summary(&texts, &facts);
        assert!(told.contains(expected), "{told}\n  lacks {expected}");
        assert!(told.ends_with("니다."), "{told}");
    }
}

#[test]
fn summary_names_the_other_verdicts() {
    let texts = Texts::korean();
    let mut facts = run(
        Rule::TimeoutExceeded.verdict(),
        vec![found(Rule::TimeoutExceeded, "a"), found(Rule::ErrorHidden, "a")],
        Status::Ok,
        vec![call("a", Status::Error, &[])],
    );
    facts.also_found = vec![Rule::ErrorHidden.verdict()];
    assert!(summary(&texts, &facts).ends_with("'도구 오류 뒤에도 성공처럼 답함' 판정도 함께 걸렸습니다."));
}

#[test]
fn summary_of_several_undefined_tools_claims_no_more_than_all_calls_show() {
    use Status::{Error, Ok};
    let texts = Texts::korean();
    let told = |calls: &[(&str, Status)]| {
        let calls: Vec<CallFacts> = calls.iter().map(|(tool, status)| call(tool, *status, &[])).collect();
        let names: std::collections::BTreeSet<&str> =
            calls.iter().map(|call| call.tool_name.as_str()).filter(|name| *name != "known").collect();
        let findings = names.into_iter().map(|name| found(Rule::UndefinedTool, name)).collect();
        summary(&texts, &run(Rule::UndefinedTool.verdict(), findings, Error, calls))
    };
    let alone = "다른 도구를 부르지 않은 채 실행이 error 로 끝났습니다.";
    assert_eq!(
        told(&[("a_api", Error), ("b_api", Ok)]),
        format!("tools.json 에 없는 a_api, b_api 를 불러 2번 가운데 1번 오류가 났고, {alone}")
    );
    assert_eq!(
        told(&[("a_api", Error), ("a_api", Error)]),
        format!("tools.json 에 없는 a_api 를 불러 모두 오류가 났고, {alone}")
    );
    assert_eq!(
        told(&[("a_api", Ok), ("known", Ok)]),
        "tools.json 에 없는 a_api 를 불러 ok 를 받았고, 실행이 error 로 끝났습니다."
    );
    let four = [("a", Ok), ("b", Ok), ("c", Ok), ("d", Ok)];
    assert!(told(&four).starts_with("tools.json 에 없는 a, b, c 등 도구 4개를 불러 모두 ok 를 받았고"));
}

#[test]
fn summary_has_two_sentences_at_most() {
    let texts = Texts::korean();
    for rule in [Rule::ArgsMismatch, Rule::TimeoutExceeded, Rule::RetryOverLimit] {
        let mut facts = run(
            rule.verdict(),
            vec![found(rule, "a"), found(rule, "a"), found(Rule::ErrorHidden, "a")],
            Status::Ok,
            vec![call("a", Status::Error, &[]); 2],
        );
        facts.also_found = vec![Rule::ErrorHidden.verdict()];
        let told = summary(&texts, &facts);
        assert!(told.contains("모두 2번이고, '도구 오류 뒤에도 성공처럼 답함' 판정도 함께 걸렸습니다."), "{told}");
        assert_eq!(told.matches("니다.").count(), 2, "{told}");
    }
}

#[test]
fn every_text_is_there_and_polite() {
    let texts = Texts::korean();
    for kind in NoteKind::ALL {
        let facts = NoteFacts {
            note: *kind,
            tool_name: "lookup".to_owned(),
            span_id: Some("00ff".to_owned()),
            measured: Some(2),
            limit: Some(2),
            detail: Some("wrapped".to_owned()),
        };
        let told = note(&texts, &facts);
        assert!(told.ends_with("니다."), "{kind:?}: {told}");
        assert_eq!(NoteKind::from_name(kind.as_str()), Some(*kind));
    }
    for code in IssueCode::ALL {
        for detail in ["", "12"] {
            let told = reason(&texts, *code, detail);
            assert!(told.contains("니다"), "{code:?}: {told}");
        }
    }
    for kind in "usage file_not_found file_not_readable no_match empty_folder store_locked store_not_openable \
                 store_newer store_changed store_missing tools_not_json tools_not_list nothing_recognised \
                 output_not_writable disk_full output_full stdout_not_writable done_not_told sql_not_told \
                 trace_not_found trace_ambiguous unknown_verdict bad_date date_range rule_not_found \
                 no_definitions no_call_rows no_call_specs no_tools_in_store call_check_refused call_runs_too_few \
                 call_run_not_found call_run_ambiguous sql_twice trace_blank agent_unknown person_unknown \
                 period_reversed pairs_with_rules selection_empty tools_required manifest_missing \
                 manifest_not_json manifest_shape manifest_verdict manifest_contradiction manifest_no_files other \
                 model_no_key model_no_price model_setup model_unreachable model_timed_out model_redirected \
                 model_status model_unreadable model_cap_calls model_cap_cost model_stopped model_nothing_left \
                 model_not_recorded model_record_unreadable model_record_not_written draft_model_missing \
                 draft_model_unused model_record_unused eval_no_project eval_project eval_target_unknown \
                 eval_target_needed eval_case_twice eval_case_lost eval_script eval_no_script eval_auth_missing \
                 eval_no_price eval_target eval_sandbox eval_sandbox_url eval_init_exists eval_config_changed eval_not_running \
                 eval_token_not_told eval_store_locked eval_store_missing eval_traces_not_written"
        .split_whitespace()
    {
        let told = errors::error(&texts, kind, &BTreeMap::new());
        assert!(told.contains("도움말: "), "{kind}: {told}");
        assert!(!told.contains(".j2") && !told.contains("\n\n\n"), "{kind}: {told}");
    }
}

#[test]
fn issue_list_stops_and_counts_the_rest() {
    let texts = Texts::korean();
    let told = ToldIssue {
        source: "a\u{1b}[2Jb.jsonl".to_owned(),
        line: 7,
        code: IssueCode::NotJson,
        reason: "이유입니다".to_owned(),
    };
    let text = skipped_lines(&texts, &[told], 1_025);
    assert!(text.contains("b.jsonl:7 ✗ 이유입니다") && text.contains("외 1,024건"), "{text}");
    assert!(!text.contains('\u{1b}'));
    let counts = IngestSummary {
        files: 1,
        unchanged: 2,
        lines: 3,
        lines_skipped: 1,
        spans_kept: 1_234,
        spans_skipped: 1,
        spans_redelivered: 0,
        dropped: BTreeMap::from([("chat".to_owned(), 5), (String::new(), 6)]),
        issues: 2,
        traces: 1,
        seconds: 0.5,
        spans_merged: 3,
        coverage: Some(Coverage { tool_calls: 4, with_arguments: 3, ..Coverage::default() }),
        captures: vec![("otel-genai".to_owned(), Some("CAPTURE=true".to_owned()))],
    };
    let text = ingest_summary(&texts, &counts);
    assert!(
        text.contains("1,234")
            && text.contains("chat 5")
            && text.contains("(없음) 6")
            && text.contains("버림 11")
            && text.contains("CAPTURE")
            && text.contains("버림 11")
            && text.contains("0.50초"),
        "{text}"
    );
}

#[test]
fn draft_names_only_the_missing_keys_and_stays_polite() {
    let texts = Texts::korean();
    let key = |key: &str, description: Option<&str>| MissingKey {
        key: key.to_owned(),
        description: description.map(str::to_owned),
    };
    let facts = DraftFacts {
        tool_name: "lookup".to_owned(),
        description: "찾습니다.".to_owned(),
        missing: vec![key("dept_code", None), key("zzz", None), key("year", Some("회계 연도"))],
        providers: Vec::new(),
    };
    assert_eq!(
        draft(&texts, &facts),
        "찾습니다. dept_code(부서 코드), zzz, year(회계 연도)는 빠뜨리면 안 되는 값입니다."
    );
    let bare = DraftFacts { missing: vec![key("zzz", None)], description: String::new(), ..facts };
    assert_eq!(draft(&texts, &bare), "zzz 는 빠뜨리면 안 되는 값입니다.");
}

#[test]
fn draft_keeps_the_lines_of_a_description_and_ends_its_last_sentence() {
    let texts = Texts::korean();
    let told = |description: &str| {
        let missing = vec![MissingKey { key: "zzz".to_owned(), description: Some("값.\n둘째 줄".to_owned()) }];
        let tool_name = "lookup".to_owned();
        draft(&texts, &DraftFacts { tool_name, description: description.to_owned(), missing, providers: Vec::new() })
    };
    assert_eq!(told("Search regulations"), "Search regulations. zzz(값)은 빠뜨리면 안 되는 값입니다.");
    assert_eq!(
        told("찾습니다.\n\tArgs:\n\tq: 질문\n"),
        "찾습니다.\n Args:\n q: 질문.\nzzz(값)은 빠뜨리면 안 되는 값입니다."
    );
    assert!(!told("a\u{1b}[2Jb").contains('\u{1b}'));
    let long = "가".repeat(3_000);
    assert!(told(&long).starts_with(&long), "a draft that is pasted must not lose the end of a description");
}

#[test]
fn provider_is_a_tool_that_says_it_finds_the_key_and_no_other() {
    let texts = Texts::korean();
    let tool = |name: &str, description: &str, json_schema: &str| ToolDefinition {
        tool_name: name.to_owned(),
        description: description.to_owned(),
        json_schema: json_schema.to_owned(),
        timeout_ms: None,
        max_retries: None,
        schema_readable: true,
        params: Vec::new(),
    };
    let by_name = r#"{"properties":{"dept_name":{}},"required":["dept_name"]}"#;
    let yields = |key: &str, description: &str, schema: &str| {
        let tools = [tool("caller", description, "{}"), tool("other", description, schema)];
        find_provider(&texts, &tools, "caller", key).map(|provider| (provider.tool_name, provider.input_key))
    };
    for (key, description) in [
        ("dept_code", "부서 이름으로 부서 코드를 찾습니다."),
        ("deptCode", "부서 이름으로 부서 코드를 반환합니다."),
        ("dept_code", "부서 이름으로 dept_code 를 찾습니다."),
        ("dept_code", "Returns the department code of a name"),
        ("dept_code", "Looks up a dept_code by name."),
    ] {
        let found = Some(("other".to_owned(), Some("dept_name".to_owned())));
        assert_eq!(yields(key, description, by_name), found, "{key}: {description}");
    }
    for (key, description) in [
        ("dept_code", "부서 코드를 받아 예산을 조회합니다."),
        ("dept_code", "부서 코드를 삭제합니다."),
        ("dept_code", "부서 코드로 예산을 조회합니다."),
        ("dept_code", "dept_code 로 예산을 조회합니다."),
        ("dept_code", "Deletes the dept_code."),
        // A key of one part is a word like any other.
        ("host", "Performs an automated penetration test against the specified host."),
        ("name", "이름을 찾습니다."),
        ("to_date", "Retrieve up-to-date information."),
    ] {
        assert_eq!(yields(key, description, by_name), None, "{key}: {description}");
    }
    let takes_it = r#"{"properties":{"dept_code":{}}}"#;
    let needs_it = r#"{"properties":{},"required":["dept_code"]}"#;
    for schema in [takes_it, needs_it, "not json"] {
        assert_eq!(yields("dept_code", "부서 코드를 찾습니다.", schema), None, "{schema}");
    }
    assert_eq!(find_provider(&texts, &[tool("caller", "부서 코드를 찾습니다.", "{}")], "caller", "dept_code"), None);
}

/// A diagnosis in which every text is `foreign`.
fn diagnosis(rule: Rule, foreign: &str) -> Diagnosis {
    let finding = Finding {
        rule,
        tool_name: foreign.to_owned(),
        span_ids: vec!["00000000000000aa".to_owned(), "00000000000000bb".to_owned()],
        missing_keys: vec![foreign.to_owned()],
        type_errors: vec![format!("{foreign}: string → integer")],
        timeout_gap_ms: Some(1),
        run_length: Some(4),
        evidence: vec![Evidence::span("00000000000000aa", "tool_args", EvidenceValue::Text(foreign.to_owned()))],
        review: None,
    };
    Diagnosis {
        trace_id: "7f21c0a4e93b4d1f8a6c2e5b90d417aa".to_owned(),
        agent_name: Some(foreign.to_owned()),
        final_status: Status::Ok,
        tool_calls: 1,
        verdict: rule.verdict(),
        also_found: vec![Rule::ErrorHidden.verdict()],
        findings: vec![finding],
        notes: vec![foreign.to_owned()],
        fix_target: Some(FixTarget::ToolDescription),
        description_draft: Some(format!("{foreign} 뒤에 붙은 말입니다.")),
        summary: foreign.to_owned(),
    }
}

fn report<'a>(
    diagnosis: &'a Diagnosis,
    calls: &'a BTreeMap<String, (Option<i64>, Option<Status>)>,
    foreign: &'a str,
    show_all: bool,
) -> Report<'a> {
    let normal = RunView {
        diagnosis,
        start_time: START.to_owned(),
        calls,
        described: Some((foreign, foreign)),
        drafted_by: None,
        folded: false,
    };
    Report {
        runs: vec![normal],
        unjudged: vec![UnjudgedView {
            trace_id: "80a3f6d21c7e48b5b04a9e3c6f1d2208".to_owned(),
            start_time: START.to_owned(),
            tool_calls: 2,
            reason: "no_invoke_agent".to_owned(),
        }],
        coverage: Coverage { tool_calls: 12_345, with_arguments: 3, ..Coverage::default() },
        captures: vec![(foreign.to_owned(), Some(foreign.to_owned()))],
        assumptions: Assumptions {
            rule_set: "set_diagnosis_v1".to_owned(),
            rule_set_sha256: "0123456789abcdef".to_owned(),
            tool_sets: vec![
                ToolSetView { sha256: None, source: None, tools: None, traces: 1 },
                ToolSetView {
                    sha256: Some("ab".repeat(32)),
                    source: Some(foreign.to_owned()),
                    tools: Some(7),
                    traces: 8,
                },
            ],
        },
        show_all,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn lines_fit_the_width_and_colour_changes_no_letter(
        foreign in "(한글 문장이 길게 이어집니다|[a-z_]{1,60}|\\{\"키\":\"값 [가-힣]{0,90}\"\\}|\u{1b}\\[31m\r\n\t|[ -~가-힣]{0,120}){1,4}",
        cells in 40_usize..121,
        rule in prop::sample::select(Rule::ALL.to_vec()),
        show_all: bool,
    ) {
        let texts = Texts::korean();
        let mut normal = diagnosis(rule, &foreign);
        if show_all {
            normal.verdict = Verdict::Normal;
        }
        let calls = BTreeMap::from([("00000000000000aa".to_owned(), (Some(12_400), Some(Status::Error)))]);
        let shown = report(&normal, &calls, &foreign, show_all);
        let plain = terminal::report(&texts, &shown, Style { width: cells, color: false });
        for line in plain.lines() {
            prop_assert!(width(line) <= cells, "{} > {cells}: {line}", width(line));
        }
        prop_assert!(!plain.contains(STEERING));
        let coloured = terminal::report(&texts, &shown, Style { width: cells, color: true });
        prop_assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
        let page = markdown::report(&texts, &shown);
        prop_assert!(!page.contains(STEERING));
    }

    #[test]
    fn tree_lines_fit_the_width(
        name in "[a-z_가-힣\u{1b}]{0,50}",
        cells in 40_usize..121,
        offset_ms in 0_i64..10_000,
        duration_ms in 0_i64..100_000,
    ) {
        let node = |depth, offset_ms| Node {
            depth,
            operation: "execute_tool".to_owned(),
            name: name.clone(),
            span_id: "00000000000000aa".to_owned(),
            status: Status::Error,
            start_time: START.to_owned(),
            offset_ms,
            duration_ms,
            tool_args: Some(name.clone()),
            place: format!("{name}:3"),
            findings: vec![0],
        };
        let run = diagnosis(Rule::TimeoutExceeded, &name);
        let explanation = Explanation {
            diagnosis: Some(&run),
            unjudged: None,
            nodes: vec![node(0, 0), node(1, offset_ms), node(2, offset_ms), node(1, offset_ms)],
            derivations: vec![Derivation { sql: "SELECT 1;".to_owned() }],
        };
        let text = explain(&Texts::korean(), &explanation, Style { width: cells, color: false });
        for line in text.lines() {
            prop_assert!(width(line) <= cells, "{} > {cells}: {line}", width(line));
        }
        prop_assert!(!text.contains(STEERING));
    }
}

#[test]
fn markdown_cells_hold_foreign_signs_and_fences_are_long_enough() {
    let texts = Texts::korean();
    let foreign = "a|b`c`\n<script>* ````";
    let run = diagnosis(Rule::ArgsMismatch, foreign);
    let calls = BTreeMap::new();
    let page = markdown::report(&texts, &report(&run, &calls, foreign, false));
    assert!(page.contains("a\\|b\\`c\\`\\\\n\\<script\\>\\* "), "{page}");
    assert!(page.contains("\n`````diff\n"), "{page}");
    assert!(!page.lines().any(|line| line.starts_with("<script")));
}
