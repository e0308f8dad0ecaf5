//! The reports for people: terminal, Markdown and tree, from diagnoses built by hand and from the seed's answers.
//!
//! Nothing is ingested and no SQL runs here: what a report says of a diagnosis is all that is tested.

mod build;

use proptest::prelude::*;
use taco_trace::model::{Coverage, Diagnosis, Rule, Status, Verdict};
use taco_trace::render::Texts;
use taco_trace::render::layout::{Style, width};
use taco_trace::render::terminal::{Assumptions, Report};
use taco_trace::render::tree::{Derivation, Explanation, Node, explain};
use taco_trace::render::{markdown, terminal};

use build::{Calls, TODAY, assumptions, calls, diagnosis, explanation, node, normal, report, seed, seed_calls, style};

const ESCAPE: char = '\u{1b}';

/// Every text that the three reports make of runs full of `text`.
fn everything(text: &str, style: Style) -> [String; 3] {
    let mut diagnoses: Vec<Diagnosis> = Rule::ALL.iter().map(|rule| diagnosis(*rule, text)).collect();
    diagnoses.push(normal());
    let calls = calls();
    let texts = Texts::korean();
    let report = report(&diagnoses, &calls, text);
    [
        terminal::report(&texts, &report, style),
        explain(&texts, &explanation(&diagnoses[0], text), style),
        markdown::report(&texts, &report),
    ]
}

/// `text` without its colour codes.
fn uncolored(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        out.push_str(part.split_once('m').expect("a colour code ends with m").1);
    }
    out
}

/// The block of the run whose headline is `headline`, up to the empty line below it.
fn block(text: &str, headline: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != headline).take_while(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

// --- the seed's runs ---

#[test]
fn terminal_report_of_the_seed_counts_runs_by_verdict_in_order_of_priority() {
    let (runs, calls) = (seed(), seed_calls());
    let report = Report { show_all: false, unjudged: Vec::new(), ..report(&runs, &calls, "tools.json") };
    let text = terminal::report(&Texts::korean(), &report, style(200));
    assert_eq!(
        text.lines().next().unwrap(),
        "실행 8건 · 정의에 없는 도구를 부름 1 · 도구 정의와 맞지 않는 인자로 부름 2 · 제한 시간을 넘겨 끊김 1 · \
         같은 호출을 재시도 한도보다 많이 되풀이함 1 · 도구 오류 뒤에도 성공처럼 답함 1 · 정상 완료 2"
    );
    assert!(text.contains("정상 완료 2건"));
    assert!(text.contains("--all"));
    assert!(!text.contains("8d47a1e0c3b24f9682e5d7c1a09b3f55"), "a normal run is only counted");
}

#[test]
fn terminal_block_of_a_timeout_shows_measured_beside_defined() {
    let (runs, calls) = (seed(), seed_calls());
    let text = terminal::report(&Texts::korean(), &report(&runs, &calls, "tools.json"), style(80));
    assert_eq!(
        block(&text, "■ 제한 시간을 넘겨 끊김"),
        [
            "■ 제한 시간을 넘겨 끊김",
            "  에이전트  인사 문의 에이전트",
            "  트레이스  80a3f6d21c7e48b5b04a9e3c6f1d2208",
            "  시각      2026-10-07 09:31:40",
            "  요약      hr_db_lookup 이 12,400ms 만에 오류로 끝나 제한 시간 8,000ms 를",
            "            4,400ms 넘겼습니다.",
            "  근거      hr_db_lookup · 제한 시간 8,000ms, 4,400ms 넘김",
            "              14435ebfb8edaaca    12,400ms  error",
            "  고칠 곳   제한 시간 설정",
            "  참고      - 에이전트가 실패를 알리고 끝나 최종 답변 span 이 error 입니다. 오류",
            "            숨김 판정에는 들지 않습니다.",
        ]
    );
}

#[test]
fn terminal_block_of_a_missing_key_shows_arguments_and_the_draft_as_a_diff() {
    let (runs, calls) = (seed(), seed_calls());
    let text = terminal::report(&Texts::korean(), &report(&runs, &calls, "tools.json"), style(80));
    let block = block(&text, "■ 도구 정의와 맞지 않는 인자로 부름").join("\n");
    for part in [
        "search_regulation · 필수 키 dept_code 없음",
        "16eaf0f648963898       310ms  error",
        "인자 {\"query\":\"출장비 정산 기한\"}",
        "고칠 곳   도구 설명",
        "      기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다.",
        "    + dept_code(부서 코드)는 빠뜨리면 안 되는 값입니다.",
    ] {
        assert!(block.contains(part), "{part}\n{block}");
    }
}

#[test]
fn terminal_block_of_a_run_with_two_rules_names_the_second_and_the_final_answer() {
    let (runs, calls) = (seed(), seed_calls());
    let text = terminal::report(&Texts::korean(), &report(&runs, &calls, "tools.json"), style(80));
    let block = block(&text, "■ 정의에 없는 도구를 부름").join("\n");
    assert!(block.contains("함께      도구 오류 뒤에도 성공처럼 답함"), "{block}");
    assert!(block.contains("fe41a71a6e6ce5fc         0ms  error"), "{block}");
    assert!(block.contains("38fd00a9e725c977   최종 답변  ok"), "{block}");
}

#[test]
fn terminal_block_of_a_retry_lists_every_span_of_the_stretch() {
    let (runs, calls) = (seed(), seed_calls());
    let text = terminal::report(&Texts::korean(), &report(&runs, &calls, "tools.json"), style(80));
    let block = block(&text, "■ 같은 호출을 재시도 한도보다 많이 되풀이함").join("\n");
    assert!(block.contains("ocr_attachment · 연달아 4번, 한도 3번"), "{block}");
    for span in ["4f97e404096b9bb0", "2245cf68a42f3d0f", "ead273920e3b58ff", "086fb743579fd9f8"] {
        assert!(block.contains(span), "{span}\n{block}");
    }
}

#[test]
fn terminal_report_with_all_lists_normal_runs_with_their_notes() {
    let (runs, calls) = (seed(), seed_calls());
    let text = terminal::report(&Texts::korean(), &report(&runs, &calls, "tools.json"), style(200));
    assert!(text.contains("9a12e7c40b5f4d83a6e1c9b2d70f4e31 2026-10-07 09:31:40 민원 답변 초안 에이전트"));
    assert!(text.contains("    - petition_search 를 같은 인자로 연달아 2번 불렀고"));
}

#[test]
fn reports_say_coverage_reasons_and_assumptions() {
    let (runs, calls) = (seed(), seed_calls());
    let report = report(&runs, &calls, "tools.json");
    let texts = Texts::korean();
    for text in [terminal::report(&texts, &report, style(300)), markdown::report(&texts, &report)] {
        for part in [
            "도구 호출 16건: 인자 기록 15",
            "정의된 도구 15 · 제한 시간 15 · 재시도 한도 15",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true",
            "판정 불가 2",
            "invoke_agent span 이 없습니다",
            "위에 아무 span 도 없는 invoke_agent span 이 없습니다",
            "최종 답변 span 은",
            "max_retries 는 첫 호출까지 센",
            "OTel 규칙이 아니라",
            "(0123456789ab)",
            "(abababababab)",
            "도구 정의 없이 판정한 실행 2건",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }
}

#[test]
fn coverage_without_a_gap_names_no_setting() {
    let runs = seed();
    let calls = seed_calls();
    let mut report = report(&runs, &calls, "tools.json");
    assert!(terminal::report(&Texts::korean(), &report, style(80)).contains("CAPTURE"));
    report.captures.clear();
    assert!(!terminal::report(&Texts::korean(), &report, style(80)).contains("CAPTURE"));
}

#[test]
fn markdown_report_of_the_seed_has_a_row_per_span_and_a_diff() {
    let (runs, calls) = (seed(), seed_calls());
    let text = markdown::report(&Texts::korean(), &report(&runs, &calls, "tools.json"));
    for part in [
        "| 제한 시간을 넘겨 끊김 | 1 |",
        "## 제한 시간을 넘겨 끊김 · 80a3f6d21c7e48b5b04a9e3c6f1d2208",
        "| 제한 시간을 넘겨 끊김 | hr_db_lookup | 14435ebfb8edaaca | 12,400ms | error | 제한 시간 8,000ms, 4,400ms 넘김 |",
        "```diff\n  기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다.\n+ dept_code(부서 코드)는",
        "- 고칠 곳: 재시도 설정",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

// --- every verdict, empty reports ---

#[test]
fn every_verdict_is_rendered_by_every_report() {
    for verdict in Verdict::ALL {
        let one = match verdict {
            Verdict::Found(rule) => diagnosis(rule, "a"),
            Verdict::Normal => normal(),
        };
        let runs = [one];
        let calls = calls();
        let texts = Texts::korean();
        let report = report(&runs, &calls, "tools.json");
        for text in [
            terminal::report(&texts, &report, style(80)),
            markdown::report(&texts, &report),
            explain(&texts, &explanation(&runs[0], "a"), style(80)),
        ] {
            assert!(text.contains(verdict.label()), "{text}");
            assert!(!text.contains("j2"), "a template failed: {text}");
        }
    }
}

#[test]
fn empty_report_says_that_no_run_matches() {
    let calls = Calls::new();
    let empty = Report {
        unjudged: Vec::new(),
        coverage: Coverage::default(),
        assumptions: Assumptions { tool_sets: Vec::new(), ..assumptions("") },
        ..report(&[], &calls, "")
    };
    let texts = Texts::korean();
    assert!(terminal::report(&texts, &empty, style(80)).starts_with("조건에 맞는 실행이 없습니다.\n"));
    assert!(markdown::report(&texts, &empty).contains("\n조건에 맞는 실행이 없습니다.\n"));
}

#[test]
fn call_without_figures_is_not_taken_for_the_final_answer() {
    let (runs, calls) = ([diagnosis(Rule::RetryOverLimit, "a")], Calls::new());
    let text = terminal::report(&Texts::korean(), &report(&runs, &calls, "tools.json"), style(80));
    assert!(text.contains("16eaf0f648963898           -  -"), "{text}");
    assert!(text.contains("01bc655993a9926d           -  -"), "{text}");
}

#[test]
fn draft_without_a_known_description_is_shown_whole() {
    let runs = [diagnosis(Rule::ArgsMismatch, "a")];
    let calls = calls();
    let mut report = report(&runs, &calls, "tools.json");
    report.runs[0].described = None;
    let texts = Texts::korean();
    for text in [terminal::report(&texts, &report, style(80)), markdown::report(&texts, &report)] {
        assert!(text.contains(&format!("+ {TODAY}")), "{text}");
    }
}

#[test]
fn draft_is_compared_by_sentence_and_line_but_not_at_a_point_inside_a_word() {
    let mut one = diagnosis(Rule::ArgsMismatch, "a");
    one.description_draft = Some("v1.2 를 씁니다. 둘째입니다.\n```\r셋째".to_owned());
    let (runs, calls) = ([one], calls());
    let mut report = report(&runs, &calls, "tools.json");
    report.runs[0].described = Some(("a", "v1.2 를 씁니다. 옛말입니다."));
    let texts = Texts::korean();
    let text = terminal::report(&texts, &report, style(80));
    let diff = "      v1.2 를 씁니다.\n    - 옛말입니다.\n    + 둘째입니다.\n    + ```\\r셋째\n";
    assert!(text.contains(diff), "{text}");
    let text = markdown::report(&texts, &report);
    let diff = "````diff\n  v1.2 를 씁니다.\n- 옛말입니다.\n+ 둘째입니다.\n+ ```\\r셋째\n````\n";
    assert!(text.contains(diff), "{text}");
}

// --- foreign text ---

#[test]
fn terminal_and_tree_neutralise_control_characters_and_line_breaks() {
    let text = "a\u{1b}[31mb\rc\nd\te\u{202e}f\u{9b}g";
    let [terminal, tree, markdown] = everything(text, style(300));
    let harmless = everything("a", style(300));
    for (text, plain) in [terminal, tree].iter().zip(&harmless) {
        assert!(text.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{text:?}");
        assert_eq!(text.lines().count(), plain.lines().count(), "{text}");
    }
    assert!(markdown.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{markdown:?}");
    assert_eq!(markdown.lines().count(), harmless[2].lines().count(), "{markdown}");
}

#[test]
fn tree_neutralises_the_statement_too() {
    let one = diagnosis(Rule::UndefinedTool, "a");
    let mut explanation = explanation(&one, "a");
    explanation.derivations[0].sql = "SELECT '\u{1b}[2J'".to_owned();
    let text = explain(&Texts::korean(), &explanation, style(80));
    assert!(text.contains("SELECT '\\u{1b}[2J'"), "{text}");
}

#[test]
fn markdown_tables_keep_their_columns_whatever_a_name_holds() {
    let [_, _, text] = everything("a|b\\|c `d` <img src=x> [x](y) **z** _q_ &amp;", style(80));
    let bars = |line: &str| line.replace("\\\\", "").replace("\\|", "").matches('|').count();
    let mut columns = 0;
    for line in text.lines() {
        match line.starts_with('|') {
            true if columns == 0 => columns = bars(line),
            true => assert_eq!(bars(line), columns, "{line}"),
            false => columns = 0,
        }
    }
    let outside_fences: String = text.split("```").step_by(2).collect();
    for markup in [" <img", " [x]", " **z", " _q", " `d", " &amp"] {
        assert!(!outside_fences.contains(markup), "{markup}\n{text}");
    }
}

#[test]
fn markdown_cell_escapes_what_would_be_read_and_nothing_else() {
    for (text, cell) in [
        ("search_regulation", "search_regulation"),
        ("_x", "\\_x"),
        ("x_", "x\\_"),
        ("a__b", "a\\_\\_b"),
        ("a|b", "a\\|b"),
        ("a\nb", "a\\\\nb"),
        ("- a", "\\- a"),
        ("-1", "\\-1"),
        ("a - b", "a - b"),
        ("12. a", "12\\. a"),
        ("12 a", "12 a"),
        ("1) a", "1\\) a"),
        ("=== a", "\\=== a"),
        ("http://x.kr", "http\\://x.kr"),
        ("www.x.kr", "www\\.x.kr"),
        ("{\"a\":1}", "{\"a\":1}"),
        ("한_글", "한_글"),
        ("", ""),
    ] {
        assert_eq!(markdown::cell(text), cell, "{text:?}");
    }
}

#[test]
fn markdown_fence_is_longer_than_any_backticks_in_the_draft() {
    for (backticks, fence) in [("", "```"), ("``", "```"), ("```", "````"), ("`````", "``````")] {
        let mut one = diagnosis(Rule::ArgsMismatch, "a");
        one.description_draft = Some(format!("{TODAY} 새 문장 {backticks}."));
        let (runs, calls) = ([one], calls());
        let text = markdown::report(&Texts::korean(), &report(&runs, &calls, "tools.json"));
        assert!(text.contains(&format!("\n\n{fence}diff\n")), "{text}");
        assert!(text.contains(&format!("\n{fence}\n")), "{text}");
    }
}

// --- the tree ---

#[test]
fn tree_draws_guides_marks_and_bars() {
    let one = diagnosis(Rule::TimeoutExceeded, "hr_db_lookup");
    let mut nodes = vec![
        node(0, "인사 문의", 0, 1000),
        node(1, "first", 0, 500),
        node(2, "below", 0, 250),
        node(1, "last", 500, 500),
    ];
    nodes[1].status = Status::Error;
    nodes[1].findings = vec![0];
    let explanation = Explanation {
        diagnosis: Some(&one),
        unjudged: None,
        nodes,
        derivations: vec![Derivation { sql: "SELECT *\nFROM rule_timeout_exceeded_v1;".to_owned() }],
    };
    let text = explain(&Texts::korean(), &explanation, style(80));
    let lines: Vec<&str> = text.lines().collect();
    let line = |name: &str| *lines.iter().find(|line| line.contains(name)).unwrap();
    assert!(line("✓ 인사 문의").ends_with(&format!("   1,000ms {}", "█".repeat(20))), "{text}");
    assert!(line("first").starts_with("├─ ✗ first [1]"), "{text}");
    assert!(line("first").ends_with(&format!("     500ms {}{}", "█".repeat(10), "·".repeat(10))), "{text}");
    assert!(line("below").starts_with("│  └─ ✓ below"), "{text}");
    assert!(line("last").starts_with("└─ ✓ last"), "{text}");
    assert!(line("last").ends_with(&format!("{}{}", "·".repeat(10), "█".repeat(10))), "{text}");
    for part in [
        "16eaf0f648963898 · execute_tool · error · 2026-10-07 09:31:40",
        "[1] 제한 시간을 넘겨 끊김",
        "제한 시간 8,000ms, 4,400ms 넘김",
        "tool_definitions[hr_db_lookup].timeout_ms = 8000",
        "count(spans.span_id) = 0",
        "      SELECT *\n      FROM rule_timeout_exceeded_v1;",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn tree_of_a_deep_chain_stays_within_the_width() {
    let nodes: Vec<Node> = (0..3000).map(|depth| node(depth, "a", 0, 10)).collect();
    let explanation =
        Explanation { diagnosis: None, unjudged: Some("no_invoke_agent"), nodes, derivations: Vec::new() };
    let text = explain(&Texts::korean(), &explanation, style(40));
    assert!(text.starts_with("□ invoke_agent span 이 없습니다."), "{text}");
    assert_eq!(text.matches('✓').count(), 3000);
    assert!(text.lines().all(|line| width(line) <= 40));
}

#[test]
fn tree_of_nothing_is_rendered() {
    let empty = Explanation { diagnosis: None, unjudged: None, nodes: Vec::new(), derivations: Vec::new() };
    assert_eq!(explain(&Texts::korean(), &empty, style(80)).trim(), "");
    let one = normal();
    let normal = Explanation { diagnosis: Some(&one), nodes: vec![node(0, "", i64::MIN, i64::MIN)], ..empty };
    assert!(explain(&Texts::korean(), &normal, style(80)).contains("걸린 판정이 없습니다."));
}

// --- widths and colour ---

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_line_is_wider_than_the_width(
        text in "([가-힣]{1,30}|[a-z_]{1,60}| |\\PC|\\{\"k\":\"[가-힣a-z]{0,40}\"\\}){0,12}",
        cells in 40_usize..=120,
    ) {
        let [terminal, tree, _] = everything(&text, style(cells));
        for line in terminal.lines().chain(tree.lines()) {
            prop_assert!(width(line) <= cells, "{} > {cells}: {line:?}", width(line));
        }
    }

    #[test]
    fn colour_changes_nothing_but_colour(text in "([가-힣]{1,20}|\\PC| |\n){0,12}", cells in 40_usize..=120) {
        let plain = everything(&text, style(cells));
        let colored = everything(&text, Style { width: cells, color: true });
        for (plain, colored) in plain.iter().zip(&colored).take(2) {
            prop_assert_eq!(plain.matches(ESCAPE).count(), 0);
            prop_assert_ne!(colored.matches(ESCAPE).count(), 0);
            prop_assert_eq!(&uncolored(colored), plain);
        }
    }
}
