//! `taco-trace report --html`: what stands on the page, what must not, and how it behaves in a browser.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use chrono::{Days, NaiveDate};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use taco_trace::model::{Coverage, Status, Verdict};
use taco_trace::render::chart::{self, Bar, Caption};
use taco_trace::render::page::{self, Counted, Page, PageRun};
use taco_trace::render::terminal::UnjudgedView;
use taco_trace::render::tree::Node;
use taco_trace::render::{Texts, layout};

use super::support::repository;
use super::support_cli::{Place, open, program, told};

/// A value that must not leave the site; recognisable wherever it turns up.
const SECRET: &str = "QZ7-SECRET-VALUE";
/// Names that would do harm if they were taken for HTML, for script or for an end of either.
const HOSTILE: [&str; 4] = [
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"'><svg onload=alert(3)>",
    "a\u{2028}b\u{202e}c<!--",
];

/// Runs the command with what is given, and the page at `name`.
fn report(place: &Place, name: &str, more: &[&str]) -> Output {
    let mut command = program();
    command.arg("report").arg("--html").arg(place.path(name)).arg("--db").arg(place.db()).args(more);
    command.output().expect("the program runs")
}

/// The page that it writes.
fn page_of(place: &Place, more: &[&str]) -> String {
    let output = report(place, "page.html", more);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(output.stdout.is_empty());
    fs::read_to_string(place.path("page.html")).expect("the page is there")
}

/// What the script of the page reads.
fn data_of(html: &str) -> Value {
    let (_, rest) = html.split_once(r#"<script type="application/json" id="data">"#).expect("the page has data");
    let (text, _) = rest.split_once("</script>").expect("the data ends");
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

fn ingest(place: &Place, traces: &Path, tools: &Path) {
    let mut command = program();
    command.args(["ingest", "--quiet"]).arg(traces).arg("--tools").arg(tools).arg("--db").arg(place.db());
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
}

/// The eight runs of the seed.
fn seed() -> Place {
    let place = Place::new();
    let folder = repository().join("fixtures/seed");
    ingest(&place, &folder.join("traces.jsonl"), &folder.join("tools.json"));
    place
}

/// Three weeks of five agents under two tool sets.
fn days() -> Place {
    let place = Place::new();
    let folder = repository().join("fixtures/days");
    for number in ["1", "2"] {
        ingest(&place, &folder.join(format!("tools-{number}")), &folder.join(format!("tools-{number}.json")));
    }
    place
}

/// A row of the span table.
fn row(trace: u32, span: u32, agent: Option<&str>, tool: Option<&str>, args: Option<&str>, status: &str) -> Value {
    json!({
        "trace_id": format!("{trace:032x}"), "span_id": format!("{trace:08x}{span:08x}"),
        "parent_span_id": tool.map(|_| format!("{trace:08x}{:08x}", 1)),
        "start_time": format!("2026-10-07T09:{trace:02}:{span:02}.000+09:00"),
        "operation": if tool.is_some() { "execute_tool" } else { "invoke_agent" },
        "agent_name": agent, "tool_name": tool, "tool_args": args, "status": status, "duration_ms": 900,
    })
}

/// Runs whose names, keys and arguments are hostile: each hostile name is an agent and an undefined tool, and the
/// defined tool gets arguments of another type, again and again.
fn hostile() -> Place {
    let place = Place::new();
    let schema = json!({"type": "object", "properties": {HOSTILE[0]: {"type": "integer"}, "year": {"type": "integer",
        "description": HOSTILE[1]}}, "required": ["year"]});
    let tools = json!([{"tool_name": "safe", "description": HOSTILE[1], "json_schema": schema.to_string(),
        "timeout_ms": 100, "max_retries": 1}]);
    let mut rows = Vec::new();
    for (trace, name) in (1..).zip(HOSTILE) {
        rows.push(row(trace, 1, Some(name), None, None, "ok"));
        rows.push(row(trace, 2, None, Some(name), Some("{}"), "error"));
        let args = json!({"year": SECRET, HOSTILE[0]: SECRET}).to_string();
        rows.push(row(trace, 3, None, Some("safe"), Some(&args), "error"));
        rows.push(row(trace, 4, None, Some("safe"), Some(&args), "ok"));
        rows.push(row(trace, 5, None, Some("safe"), Some(&json!({"q": SECRET}).to_string()), "ok"));
        // What follows `10` has no run of its own verdict but the type alone.
        rows.push(row(trace + 10, 1, Some(name), None, None, "ok"));
        rows.push(row(trace + 10, 2, None, Some("safe"), Some(&args), "ok"));
    }
    // A run that cannot be judged.
    rows.push(row(30, 2, None, Some(HOSTILE[0]), Some("{}"), "ok"));
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let (traces, tools) = (place.write("rows.jsonl", lines), place.write("tools.json", tools.to_string()));
    ingest(&place, &traces, &tools);
    // Texts of frameworks hold values too.
    open(&place.db())
        .execute(&format!(
            "UPDATE spans SET failure = '{SECRET}', asked_args = '{{\"a\":\"{SECRET}\"}}' WHERE status = 'ok'"
        ))
        .unwrap();
    place
}

fn diagnosed(place: &Place, more: &[&str]) -> Vec<Value> {
    let mut command = program();
    command.args(["diagnose", "--format", "json", "--db"]).arg(place.db()).args(more);
    let output = command.output().expect("the program runs");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(&output)))
}

/// The counts in the tiles, in the order of the verdicts.
fn tiles(html: &str) -> Vec<u64> {
    let counts = html.split(r#"<span class="count">"#).skip(1);
    counts.map(|rest| rest.split('<').next().unwrap().replace(',', "").parse().unwrap()).collect()
}

#[test]
fn names_of_agents_and_descriptions_hold_no_personal_value() {
    let place = Place::new();
    let agent = "민원 담당 hong.gildong@example.go.kr";
    let schema = json!({"type": "object", "properties": {"year": {"type": "integer"}}, "required": ["year"]});
    let description = "묻는 곳은 010-1234-5678 입니다.";
    let tools = json!([{"tool_name": "budget", "description": description, "json_schema": schema.to_string(),
        "timeout_ms": 100, "max_retries": 1}]);
    let mut rows = Vec::new();
    for (trace, name) in [(1, Some(agent)), (2, Some("other")), (3, None)] {
        rows.push(row(trace, 1, name, None, None, "ok"));
        rows.push(row(trace, 2, None, Some("budget"), Some("{}"), "error"));
    }
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let (traces, tools) = (place.write("rows.jsonl", lines), place.write("tools.json", tools.to_string()));
    ingest(&place, &traces, &tools);
    for more in [&[][..], &["--with-args"], &["--agent", agent]] {
        let html = page_of(&place, more);
        for value in ["hong.gildong", "010-1234-5678"] {
            assert!(!html.contains(value), "{more:?}: {value}");
        }
        // The masked name is one name wherever it stands: the run, its span and the filter.
        assert!(html.contains("민원 담당 "), "{more:?}");
        let runs = data_of(&html)["runs"].as_array().unwrap().len();
        assert_eq!(runs, if more.contains(&"--agent") { 1 } else { 3 });
    }
    assert!(page_of(&place, &[]).contains("<dt>에이전트</dt><dd><b>3</b>"), "the one without a name counts");
}

#[test]
fn page_says_what_diagnose_says() {
    for place in [seed(), days(), hostile()] {
        let html = page_of(&place, &["--with-args"]);
        let (data, expected) = (data_of(&html), diagnosed(&place, &[]));
        let shown: BTreeMap<&str, &Value> =
            data["runs"].as_array().unwrap().iter().map(|run| (run["id"].as_str().unwrap(), run)).collect();
        let label = |place: &Value| match place.as_u64().unwrap() {
            6 => &data["unjudged"],
            place => &data["verdicts"][usize::try_from(place).unwrap()][1],
        };
        let name = |place: &Value| data["names"][usize::try_from(place.as_u64().unwrap()).unwrap()].clone();
        let plain = |text: &Value| layout::plain(text.as_str().unwrap_or_default()).into_owned();
        assert!(!expected.is_empty());
        for run in &expected {
            let found = shown[run["trace_id"].as_str().unwrap()];
            assert_eq!(label(&found["v"]), &run["verdict"]);
            let also: Vec<&Value> = found["also"].as_array().into_iter().flatten().map(label).collect();
            assert_eq!(also, run["also_found"].as_array().unwrap().iter().collect::<Vec<_>>());
            assert_eq!(found["calls"], run["tool_calls"]);
            assert_eq!(found["ok"], run["final_status"] == "ok");
            assert_eq!(found["fix"], run["fix_target"]);
            let text = |place: &Value| data["texts"][usize::try_from(place.as_u64().unwrap()).unwrap()].clone();
            assert_eq!(text(&found["says"]), plain(&run["summary"]));
            let notes: Vec<Value> = found["notes"].as_array().into_iter().flatten().map(text).collect();
            assert_eq!(notes, run["notes"].as_array().unwrap().iter().map(plain).collect::<Vec<_>>());
            let findings: Vec<Value> = found["found"].as_array().cloned().unwrap_or_default();
            let wanted = run["findings"].as_array().unwrap();
            assert_eq!(findings.len(), wanted.len());
            for (finding, wanted) in findings.iter().zip(wanted) {
                assert_eq!(label(&finding["v"]), &wanted["verdict"]);
                assert_eq!(name(&finding["tool"]), plain(&wanted["tool_name"]));
                let ids: Vec<&Value> = finding["calls"].as_array().unwrap().iter().map(|call| &call[0]).collect();
                assert_eq!(ids, wanted["span_ids"].as_array().unwrap().iter().collect::<Vec<_>>());
            }
        }
        let counts: Vec<u64> = Verdict::ALL
            .iter()
            .map(|verdict| expected.iter().filter(|run| run["verdict"] == verdict.label()).count() as u64)
            .collect();
        assert_eq!(tiles(&html), counts);
        let unjudged = data["runs"].as_array().unwrap().iter().filter(|run| run["v"] == 6).count();
        assert_eq!(shown.len(), expected.len() + unjudged);
    }
}

#[test]
fn findings_show_what_was_recorded_beside_what_is_defined() {
    let html = page_of(&seed(), &[]);
    let rows: Vec<Value> = data_of(&html)["runs"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|run| run["found"].as_array().cloned().unwrap_or_default())
        .flat_map(|finding| finding["rows"].as_array().cloned().unwrap())
        .collect();
    let expected = json!([
        ["year", "string", "integer"],
        ["부른 이름", "get_budget_status", "tools.json 에 이 이름이 없습니다"],
        ["도구 오류", "1번, 뒤에 성공한 호출 0건", "뒤에 성공한 호출이 있어야 합니다"],
        ["최종 답변", "ok", "회복하지 못했으면 error 여야 합니다"],
        ["도구 오류", "1번, 뒤에 성공한 호출 0건", "뒤에 성공한 호출이 있어야 합니다"],
        ["최종 답변", "ok", "회복하지 못했으면 error 여야 합니다"],
        ["같은 인자로 연달아", "4번", "한도 3번(첫 호출까지)"],
        ["걸린 시간", "12,400ms (4,400ms 넘김)", "제한 시간 8,000ms"],
        ["dept_code", "없음", "필수"],
    ]);
    assert_eq!(Value::from(rows), expected);
}

#[test]
fn values_of_arguments_and_results_stay_at_the_site() {
    let place = hostile();
    let without = page_of(&place, &[]);
    assert!(!without.contains(SECRET), "{}", &without[without.find(SECRET).unwrap_or(0)..][..200]);
    assert!(without.contains("정수가 아닌 문자열로 넘기는 등"), "the summary says the type without the value");
    assert!(without.contains("모델이 보낸 인자와 도구가 받은 인자가 다릅니다"));
    let with = page_of(&place, &["--with-args"]);
    assert!(with.matches(SECRET).count() > 10);
    let seed = seed();
    let without = page_of(&seed, &[]);
    for value in ["F-2210", "D-1203", "출장비 정산 기한", "'2026'", r#"\"2026\""#] {
        assert!(!without.contains(value), "{value}");
    }
    assert!(page_of(&seed, &["--with-args"]).contains("출장비 정산 기한"));
}

/// Personal values become pseudonyms, the same in each writing of the same store.
#[test]
fn personal_values_are_pseudonyms_even_with_arguments() {
    let place = Place::new();
    let args = json!({"year": "010-2345-6789", "to": "hong@example.go.kr"}).to_string();
    let rows = [row(1, 1, Some("agent"), None, None, "ok"), row(1, 2, None, Some("mail"), Some(&args), "ok")];
    let schema = json!({"type": "object", "properties": {"year": {"type": "integer"}}, "required": []}).to_string();
    let tools = json!([{"tool_name": "mail", "description": "", "json_schema": schema}]).to_string();
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    let (traces, tools) = (place.write("rows.jsonl", lines), place.write("tools.json", tools));
    ingest(&place, &traces, &tools);
    let html = page_of(&place, &["--with-args"]);
    assert!(!html.contains("2345") && !html.contains("hong"), "a phone number or an address is on the page");
    // In the summary, in the arguments of the finding and in those of the span.
    assert_eq!(html.matches("PHONE_").count(), 3);
    assert_eq!(html, page_of(&place, &["--with-args"]));
}

#[test]
fn hostile_names_are_text() {
    let place = hostile();
    for more in [&[][..], &["--with-args"]] {
        let html = page_of(&place, more);
        assert_eq!(html.matches("<script").count(), 2, "the data and the script");
        assert_eq!(html.matches("</script").count(), 2);
        for harm in ["<script>alert", "<img", "<svg onload", "onerror=alert(2)>", "\u{2028}", "\u{202e}"] {
            assert!(!html.contains(harm), "{harm}");
        }
        let names: Vec<Value> = data_of(&html)["names"].as_array().unwrap().clone();
        for name in HOSTILE {
            assert!(names.contains(&Value::from(layout::plain(name))), "{name}");
        }
    }
}

/// Whatever loads something: an address, or an attribute or a rule that takes one.
#[test]
fn page_loads_nothing() {
    for place in [seed(), days()] {
        let html = page_of(&place, &["--with-args"]);
        for outside in ["http:", "https:", "//www", "src=", "@import", "@font-face", "fetch(", "XMLHttp", "innerHTML"] {
            assert!(!html.contains(outside), "{outside}");
        }
        for (attribute, end) in [("href=\"", '"'), ("url(", ')')] {
            for rest in html.split(attribute).skip(1) {
                assert!(rest.starts_with('#'), "{attribute}{}", rest.split(end).next().unwrap());
            }
        }
        // `style` attributes and handlers would not pass the policy.
        for inline in [" style=\"", " onclick=", " onload="] {
            assert!(!html.contains(inline), "{inline}");
        }
    }
}

/// An independent decoder for the hashes of the policy.
fn base64(text: &str) -> Vec<u8> {
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits: Vec<u8> = text
        .trim_end_matches('=')
        .chars()
        .map(|c| u8::try_from(digits.find(c).unwrap()).unwrap())
        .flat_map(|digit| (0..6).rev().map(move |at| digit >> at & 1))
        .collect();
    bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | bit)).collect()
}

#[test]
fn policy_allows_the_script_and_the_style_of_the_page_alone() {
    let html = page_of(&seed(), &[]);
    let between = |from: &str, to: &str| html.split_once(from).unwrap().1.split_once(to).unwrap().0.to_owned();
    let policy = between("Content-Security-Policy\" content=\"", "\">");
    assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{policy}");
    let style = between("<style>", "</style>");
    let script = html.rsplit_once("<script>").unwrap().1.split_once("</script>").unwrap().0;
    for (directive, text) in [("style-src", style.as_str()), ("script-src", script)] {
        let hash = policy.split_once(&format!("{directive} 'sha256-")).unwrap().1.split_once('\'').unwrap().0;
        assert_eq!(base64(hash), Sha256::digest(text).to_vec(), "{directive}");
    }
}

#[test]
fn same_store_gives_the_same_bytes_wherever_it_lies() {
    let place = days();
    let first = page_of(&place, &[]);
    assert_eq!(page_of(&place, &[]), first);
    let other = Place::new();
    fs::copy(place.db(), other.db()).unwrap();
    assert_eq!(page_of(&other, &[]), first);
    assert!(!first.contains(place.db().to_str().unwrap()) && !first.contains("traces.jsonl"));
}

#[test]
fn runs_with_findings_come_first_when_not_all_are_put_on_the_page() {
    let place = days();
    let kinds = |most: &str| -> Vec<u64> {
        let html = page_of(&place, &["--max-runs", most]);
        data_of(&html)["runs"].as_array().unwrap().iter().map(|run| run["v"].as_u64().unwrap()).collect()
    };
    let all = kinds("5000");
    let problems = all.iter().filter(|kind| **kind < 5).count();
    let unjudged = all.iter().filter(|kind| **kind == 6).count();
    assert!(problems > 10 && unjudged == 2 && all.len() > problems + unjudged);
    for (most, left) in [
        (problems - 1, "문제 있는 실행 1건, 판정 불가 2건, 정상 완료"),
        (problems, "판정 불가 2건, 정상 완료"),
        (problems + 1, "판정 불가 1건, 정상 완료"),
        (problems + unjudged, "정상 완료"),
        (all.len() - 1, "정상 완료 1건"),
    ] {
        let html = page_of(&place, &["--max-runs", &most.to_string()]);
        let shown = kinds(&most.to_string());
        assert_eq!(shown.len(), most);
        assert_eq!(shown.iter().filter(|kind| **kind < 5).count(), problems.min(most));
        assert!(html.contains(&format!("뺀 것: {left}")), "{most}");
        // The counts are those of every run.
        assert_eq!(tiles(&html).iter().sum::<u64>(), (all.len() - unjudged) as u64);
    }
    for most in [all.len(), all.len() + 1] {
        assert!(page_of(&place, &["--max-runs", &most.to_string()]).contains("모두 실었습니다"));
    }
    assert_eq!(kinds("0").len(), 0);
}

#[test]
fn period_and_agent_choose_runs() {
    let place = days();
    for more in [
        &["--since", "2026-10-05"][..],
        &["--until", "2026-10-02"],
        &["--since", "2026-10-02", "--until", "2026-10-06"],
        &["--agent", "규정 질의 에이전트"],
        &["--since", "2027-01-01"],
    ] {
        let data = data_of(&page_of(&place, more));
        let mut shown: Vec<&str> = data["runs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|run| run["v"] != 6)
            .map(|run| run["id"].as_str().unwrap())
            .collect();
        let expected = diagnosed(&place, more);
        let mut expected: Vec<&str> = expected.iter().map(|run| run["trace_id"].as_str().unwrap()).collect();
        shown.sort_unstable();
        expected.sort_unstable();
        assert_eq!(shown, expected, "{more:?}");
    }
    let html = page_of(&place, &["--since", "2026-10-02", "--until", "2026-10-06"]);
    assert!(html.contains(r#"<time datetime="2026-10-02">"#) && html.contains(r#"<time datetime="2026-10-06">"#));
    assert!(page_of(&place, &["--agent", "규정 질의 에이전트"]).contains("<p class=\"only\">"));
}

/// Rows of the list of what recurs: tool, verdict, number of agents, number of runs.
fn recurring(html: &str) -> Vec<String> {
    let Some((_, table)) = html.split_once(r#"<table class="recurring">"#) else { return Vec::new() };
    let table = table.split_once("</table>").unwrap().0;
    let text = |row: &str, from: &str| row.split_once(from).unwrap().1.split_once("</").unwrap().0.to_owned();
    let rows = table.split("<tr>").skip(2);
    rows.map(|row| {
        let cells = [
            text(row, "<code>"),
            row.split_once("</svg><span>").unwrap().1.split_once('<').unwrap().0.to_owned(),
            text(row, r#"data-head="에이전트">"#),
            text(row, r#"data-head="실행">"#),
        ];
        cells.join("|")
    })
    .collect()
}

#[test]
fn what_recurs_is_listed_unless_it_was_dismissed() {
    let place = days();
    for more in [&[][..], &["--since", "2026-10-05"], &["--until", "2026-10-05"]] {
        let html = page_of(&place, more);
        let listed = recurring(&html);
        // Counted anew from what diagnose says.
        let mut groups: BTreeMap<(String, String), BTreeMap<String, usize>> = BTreeMap::new();
        for run in diagnosed(&place, more) {
            let mut seen: Vec<(String, String)> = Vec::new();
            for finding in run["findings"].as_array().unwrap() {
                let key = (
                    finding["tool_name"].as_str().unwrap().to_owned(),
                    finding["verdict"].as_str().unwrap().to_owned(),
                );
                if !seen.contains(&key) {
                    seen.push(key.clone());
                    *groups
                        .entry(key)
                        .or_default()
                        .entry(run["agent_name"].as_str().unwrap().to_owned())
                        .or_default() += 1;
                }
            }
        }
        let mut expected: Vec<String> = groups
            .iter()
            .filter(|(_, agents)| agents.len() > 1)
            .map(|((tool, verdict), agents)| {
                format!("{tool}|{verdict}|{}|{}", agents.len(), agents.values().sum::<usize>())
            })
            .collect();
        let mut sorted = listed.clone();
        sorted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        assert!(!listed.is_empty());
        let alone = groups.len() - expected.len();
        assert_eq!(html.contains(&format!("판정 {alone}가지는 뺐습니다")), alone > 0);
    }
    let listed = recurring(&page_of(&place, &[]));
    assert!(listed.len() > 2, "{listed:?}");
    // One agent's runs dismissed leave the group with that agent gone.
    let store = open(&place.db());
    store
        .execute(
            "INSERT INTO reviews SELECT trace_id, 'undefined_tool', NULL, 'dismissed', 'why', 'me', '', 1
            FROM (SELECT DISTINCT trace_id FROM findings WHERE rule = 'undefined_tool')",
        )
        .unwrap();
    drop(store);
    let html = page_of(&place, &[]);
    let after = recurring(&html);
    assert_eq!(after, listed.iter().filter(|row| !row.contains("정의에 없는")).cloned().collect::<Vec<_>>());
    let data = data_of(&html);
    let reviewed =
        data["runs"].as_array().unwrap().iter().flat_map(|run| run["found"].as_array().into_iter().flatten());
    for finding in reviewed {
        assert_eq!(finding["review"] == "dismissed", finding["v"] == 0, "{finding}");
    }
    // With one agent: the groups in which it has part, with all their agents.
    let own = recurring(&page_of(&place, &["--agent", "규정 질의 에이전트"]));
    assert!(!own.is_empty() && own.iter().all(|row| after.contains(row)), "{own:?}");
    assert!(own.len() < after.len());
}

#[test]
fn wrong_use_and_places_that_cannot_be_written_are_told() {
    let place = seed();
    let missing = |more: &[&str]| program().arg("report").args(more).output().expect("the program runs");
    assert_eq!(missing(&[]).status.code(), Some(2));
    assert_eq!(missing(&["--html", "x.html", "--max-runs", "many"]).status.code(), Some(2));
    assert_eq!(missing(&["--html", "x.html", "--since", "yesterday"]).status.code(), Some(2));
    let output = missing(&["--html", "x.html", "--db", "no-store.duckdb"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(told(&output).contains("no-store.duckdb"));
    let output = report(&place, "no/such/page.html", &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(told(&output).contains("page.html"));
    assert!(!Path::new("x.html").exists() && !place.path("no").exists());
    let mut command = program();
    let printed = command.args(["report", "--html", "-", "--db"]).arg(place.db()).output().expect("the program runs");
    assert_eq!(String::from_utf8(printed.stdout).unwrap(), page_of(&place, &[]));
}

#[test]
fn store_without_runs_gives_a_page_that_says_so() {
    let place = Place::new();
    drop(taco_trace::store::Store::open(&place.db()).unwrap());
    let html = page_of(&place, &[]);
    assert_eq!(tiles(&html), [0; 6]);
    assert!(html.contains("에이전트 둘 이상에서 되풀이된 것이 없습니다"));
    assert_eq!(data_of(&html)["runs"], json!([]));
}

#[test]
fn grid_steps_are_round_and_at_most_four() {
    for (highest, step) in
        [(0, 1), (1, 1), (4, 1), (5, 2), (8, 2), (9, 5), (20, 5), (21, 10), (40, 10), (41, 20), (200, 50)]
    {
        assert_eq!(chart::grid_step(highest), step, "{highest}");
    }
    assert!(chart::grid_step(u64::MAX) > 0);
}

fn bar(label: &str, counts: chart::Counts) -> Bar {
    Bar { label: label.to_owned(), title: label.to_owned(), note: String::new(), link: String::new(), counts }
}

/// The values of an attribute of the rectangles of a class, in order.
fn measures(svg: &str, class: &str, attribute: &str) -> Vec<f64> {
    let rects = svg.split("<rect ").skip(1).filter(|rect| rect.starts_with(&format!("class=\"{class}\"")));
    rects
        .map(|rect| {
            let value = rect.split_once(&format!(" {attribute}=\"")).unwrap().1.split_once('"').unwrap().0;
            value.trim_end_matches('%').parse().unwrap()
        })
        .collect()
}

#[test]
fn bars_are_as_long_as_their_counts() {
    let caption = Caption { id: "c", title: "t<", description: "d&" };
    let bars = [bar("1", [2, 0, 0, 0, 0, 6, 2]), bar("2", [0, 0, 0, 0, 4, 1, 0]), bar("3", [0; 7])];
    let svg = chart::columns(&caption, &bars);
    let height = |class: &str| measures(&svg, class, "height");
    let same = |one: f64, other: f64| assert!((one - other).abs() < 0.05, "{one} {other}");
    same(height("k5")[0], 3.0 * height("k0")[0]);
    same(height("k5")[0], 6.0 * height("k5")[1]);
    same(height("k4")[0], 2.0 * height("k6")[0]);
    assert_eq!(measures(&svg, "hit", "x").len(), 3);
    // They stand on one another: normal runs above those that cannot be judged, and these above problems.
    let y = |class: &str| measures(&svg, class, "y")[0];
    assert!((y("k0") - y("k6") - height("k6")[0]).abs() < 0.02 && (y("k6") - y("k5") - height("k5")[0]).abs() < 0.02);
    assert!(svg.contains("t&lt;") && svg.contains("d&amp;") && svg.contains(r#"role="img""#));
    let svg = chart::rows(&caption, &bars);
    let width = |class: &str| measures(&svg, class, "width");
    assert_eq!((width("k0")[0], width("k6")[0], width("k5")), (20.0, 20.0, vec![60.0, 10.0]));
    assert_eq!((measures(&svg, "k0", "x")[0], measures(&svg, "k5", "x")[0]), (0.0, 40.0));
    // No bars and bars without runs are no reason to divide by nothing.
    for svg in [chart::columns(&caption, &[]), chart::rows(&caption, &[bar("0", [0; 7])])] {
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

/// A page with these counted runs alone.
fn page_with<'a>(counted: Vec<Counted<'a>>, runs: Vec<PageRun<'a>>) -> String {
    let values = Page {
        asked: (None, None),
        agent: None,
        counted,
        runs,
        recurring: Vec::new(),
        alone: 0,
        coverage: Coverage::default(),
        rule_set: ("set".to_owned(), "sha".to_owned()),
        tool_sets: Vec::new(),
        version: "0",
        with_args: false,
    };
    page::page(&Texts::korean(), &values)
}

fn counted(date: NaiveDate, agent: Option<&str>) -> Counted<'_> {
    Counted { date, agent, verdict: Some(Verdict::Normal), also: &[] }
}

fn columns(html: &str) -> usize {
    let svg = html.split_once(r#"aria-labelledby="days-t"#).unwrap().1.split_once("</svg>").unwrap().0;
    svg.matches(r#"class="hit""#).count()
}

#[test]
fn columns_stand_for_days_then_weeks_then_months() {
    let first = NaiveDate::from_ymd_opt(2026, 1, 5).unwrap();
    assert_eq!(first.format("%a").to_string(), "Mon");
    for (days, bars, title) in [
        (0, 1, "날짜별"),
        (61, 62, "날짜별"),
        // 63 days from a Monday are nine weeks.
        (62, 9, "주별"),
        (63, 10, "주별"),
        (433, 62, "주별"),
        // 5 January 2026 to 15 March 2027.
        (434, 15, "달별"),
    ] {
        let last = first.checked_add_days(Days::new(days)).unwrap();
        let html = page_with(vec![counted(first, None), counted(last, None)], Vec::new());
        assert_eq!(columns(&html), bars, "{days}");
        assert!(html.contains(&format!("{title} 판정")), "{days}");
    }
}

#[test]
fn agents_beyond_a_dozen_share_a_bar() {
    let date = NaiveDate::from_ymd_opt(2026, 10, 7).unwrap();
    let names: Vec<String> = (0..14).map(|number| format!("agent {number:02}")).collect();
    for (agents, bars) in [(12, 12), (13, 13), (14, 13)] {
        let html = page_with(names[..agents].iter().map(|name| counted(date, Some(name))).collect(), Vec::new());
        let svg = html.split_once(r#"aria-labelledby="agents-t"#).unwrap().1.split_once("</svg>").unwrap().0;
        assert_eq!(svg.matches(r#"class="hit""#).count(), bars, "{agents}");
        assert_eq!(svg.contains("그 밖의 에이전트 2개"), agents == 14);
        // The table has every agent.
        assert!(html.contains(&format!(r#"<th scope="row">agent {:02}</th>"#, agents - 1)));
    }
}

#[test]
fn spans_beyond_the_limit_are_left_out_but_for_evidence() {
    let node = |index: usize, findings: Vec<usize>| Node {
        depth: 1,
        operation: "execute_tool".to_owned(),
        name: "a".to_owned(),
        span_id: format!("{index:016x}"),
        status: Status::Ok,
        start_time: String::new(),
        offset_ms: 0,
        duration_ms: 1,
        tool_args: None,
        place: String::new(),
        findings,
    };
    let shown = |plain: usize, evidence: usize| {
        let nodes = (0..plain).map(|index| node(index, Vec::new()));
        let nodes = nodes.chain((0..evidence).map(|index| node(1000 + index, vec![0]))).collect();
        let view = UnjudgedView {
            trace_id: "t".to_owned(),
            start_time: "2026-10-07T09:00:00.000+09:00".to_owned(),
            tool_calls: 1,
            reason: "no_invoke_agent".to_owned(),
        };
        let run =
            PageRun { judged: Err(view), summary: String::new(), notes: Vec::new(), arguments: Vec::new(), nodes };
        let run = data_of(&page_with(Vec::new(), vec![run]))["runs"][0].clone();
        (run["spans"].as_array().unwrap().len(), run["cut"].as_str().map(str::to_owned))
    };
    assert_eq!(shown(200, 0), (200, None));
    assert_eq!(shown(199, 1), (200, None));
    let (drawn, told) = shown(200, 1);
    assert_eq!((drawn, told.unwrap().contains("span 201개 가운데 200개")), (200, true));
    assert_eq!(shown(3, 250).0, 250);
}

/// Chromium and chromedriver, driven by `tests/browser/page_test.py`.
///
/// Skipped where one of them or Python is missing, unless `TACO_TRACE_REQUIRE_BROWSER=1` demands it.
#[test]
fn page_works_in_a_browser() {
    let required = std::env::var_os("TACO_TRACE_REQUIRE_BROWSER").is_some_and(|value| value == "1");
    for needed in ["python3", "chromedriver"] {
        let found = Command::new(needed).arg("--version").output();
        if !found.as_ref().is_ok_and(|output| output.status.success()) {
            assert!(!required, "no {needed}: {found:?}");
            eprintln!("skipped: no {needed}");
            return;
        }
    }
    let places = [days(), hostile()];
    let pages: Vec<PathBuf> = places
        .iter()
        .map(|place| {
            page_of(place, &["--with-args"]);
            place.path("page.html")
        })
        .collect();
    let output = Command::new("python3")
        .arg(repository().join("tests/browser/page_test.py"))
        .args(&pages)
        .output()
        .expect("python3 ran just now");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("OK"), "{told}");
}
