//! `fixtures/days/`: three weeks of five agents, made here from a seed, so that a test, the README and a person who
//! tries a command have the same store to ask. `TACO_TRACE_MAKE_DAYS=1 cargo test --release days` writes them anew.

use std::fs;
use std::path::PathBuf;

use chrono::{Datelike, Days, NaiveDate, Weekday};
use serde_json::{Value, json};
use taco_trace::digest::sha256_hex;

use super::support::repository;

/// The first day, a Monday, and how many days there are.
const FIRST_DAY: (i32, u32, u32) = (2026, 9, 28);
const DAYS: u64 = 19;
/// From this day on the agents run with `tools-2.json`.
const SECOND_TOOLS: (i32, u32, u32) = (2026, 10, 12);
/// A day on which nobody works.
const HOLIDAY: (i32, u32, u32) = (2026, 10, 9);
/// Runs of each agent on a working day.
const RUNS: u64 = 4;

/// An agent, and the tools that it calls on an ordinary run.
const AGENTS: [(&str, &[&str]); 5] = [
    ("규정 질의 에이전트", &["org_chart_lookup", "search_regulation"]),
    ("예산 집행 질의 에이전트", &["org_chart_lookup", "budget_api", "contract_registry"]),
    ("민원 답변 초안 에이전트", &["petition_search", "search_regulation"]),
    ("인사 문의 에이전트", &["hr_db_lookup", "search_regulation"]),
    ("첨부 검토 에이전트", &["ocr_attachment", "contract_registry"]),
];

/// What goes wrong in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// `search_regulation` without `dept_code`, then with it.
    NoDeptCode,
    /// `budget_api` with the year as text.
    YearAsText,
    /// `hr_db_lookup` over its limit, told honestly.
    SlowLookup,
    /// `get_budget_status`, which no tools.json has, and an answer all the same.
    UndefinedTool,
    /// `contract_registry` fails and the run answers all the same.
    HiddenError,
    /// `petition_search` three times with the same arguments.
    Repeats,
    /// The final answer span never came.
    RootLost,
}

/// Agent by number, first and last week of three, one run in so many has the fault.
const FAULTS: [(usize, u64, u64, u64, Fault); 13] = [
    (0, 0, 1, 3, Fault::NoDeptCode),
    (2, 0, 1, 5, Fault::NoDeptCode),
    (3, 0, 1, 6, Fault::NoDeptCode),
    (3, 2, 2, 20, Fault::NoDeptCode),
    (1, 0, 0, 10, Fault::YearAsText),
    (1, 1, 2, 5, Fault::YearAsText),
    (4, 2, 2, 6, Fault::YearAsText),
    (3, 0, 2, 5, Fault::SlowLookup),
    (1, 2, 2, 6, Fault::UndefinedTool),
    (2, 2, 2, 9, Fault::UndefinedTool),
    (4, 0, 2, 7, Fault::HiddenError),
    (2, 1, 1, 4, Fault::Repeats),
    (4, 1, 1, 6, Fault::RootLost),
];

/// The person that a run is about: all invented, shaped as personal values are, so that masking can be seen.
const PEOPLE: [(&str, &str, &str); 4] = [
    ("A-10231", "010-2345-6789", "a10231@agency.go.kr"),
    ("A-10872", "010-8765-4321", "a10872@agency.go.kr"),
    ("B-20417", "02-2100-1234", "b20417@agency.go.kr"),
    ("C-30988", "010-5555-0199", "c30988@agency.go.kr"),
];
const DEPARTMENTS: [(&str, &str); 4] =
    [("회계과", "D-1203"), ("총무과", "D-1101"), ("정보화담당관", "D-2207"), ("민원여권과", "D-3310")];
const QUESTIONS: [&str; 4] = ["출장비 정산 기한", "연가 저축 한도", "수의계약 금액 기준", "민원 처리 기간 연장"];

/// Numbers from what a thing is called: the same wherever it is made.
fn number(what: &str) -> u64 {
    u64::from_str_radix(&sha256_hex(what.as_bytes())[..15], 16).expect("a digest is hex")
}

fn day(of: (i32, u32, u32)) -> NaiveDate {
    NaiveDate::from_ymd_opt(of.0, of.1, of.2).expect("the constants are dates")
}

/// One call: tool, arguments, milliseconds, why it failed.
type Call = (&'static str, Value, u64, Option<&'static str>);

/// A run while its spans are written.
struct Run {
    name: String,
    trace_id: String,
    clock_ns: u64,
    spans: Vec<Value>,
}

impl Run {
    fn new(name: String, start_ns: u64) -> Self {
        let trace_id = sha256_hex(name.as_bytes())[..32].to_owned();
        Self { name, trace_id, clock_ns: start_ns, spans: Vec::new() }
    }

    fn span_id(&self, place: usize) -> String {
        sha256_hex(format!("{} span {place}", self.name).as_bytes())[..16].to_owned()
    }

    fn call(&mut self, (tool, arguments, milliseconds, failure): Call) {
        let start = self.clock_ns;
        self.clock_ns += milliseconds * 1_000_000;
        let status = failure.map_or(json!({}), |message| json!({"code": 2, "message": message}));
        let attributes = [
            ("gen_ai.operation.name", "execute_tool".to_owned()),
            ("gen_ai.tool.name", tool.to_owned()),
            ("gen_ai.tool.call.arguments", arguments.to_string()),
        ];
        let span = self.span(self.spans.len() + 1, &format!("execute_tool {tool}"), start, &attributes, &status);
        self.spans.push(span);
        self.clock_ns += 140_000_000;
    }

    fn answer(&mut self, agent: &str, start_ns: u64, is_error: bool) {
        let status =
            if is_error { json!({"code": 2, "message": "실패를 알리고 마쳤습니다"}) } else { json!({}) };
        let attributes =
            [("gen_ai.operation.name", "invoke_agent".to_owned()), ("gen_ai.agent.name", agent.to_owned())];
        let span = self.span(0, &format!("invoke_agent {agent}"), start_ns, &attributes, &status);
        self.spans.push(span);
    }

    fn span(&self, place: usize, name: &str, start: u64, attributes: &[(&str, String)], status: &Value) -> Value {
        let attributes: Vec<Value> =
            attributes.iter().map(|(key, text)| json!({"key": key, "value": {"stringValue": text}})).collect();
        let mut span = json!({
            "traceId": self.trace_id, "spanId": self.span_id(place), "name": name, "kind": 1,
            "startTimeUnixNano": start.to_string(), "endTimeUnixNano": self.clock_ns.to_string(),
            "attributes": attributes, "status": status,
        });
        if place > 0 {
            span["parentSpanId"] = json!(self.span_id(0));
        }
        span
    }
}

fn fault(agent: usize, date: NaiveDate, name: &str) -> Option<Fault> {
    let week = (date - day(FIRST_DAY)).num_days() as u64 / 7;
    FAULTS.into_iter().find_map(|(whose, first, last, one_in, fault)| {
        let falls_on = whose == agent && (first..=last).contains(&week);
        (falls_on && number(&format!("{name} {fault:?}")).is_multiple_of(one_in)).then_some(fault)
    })
}

/// An ordinary call of this tool.
fn ordinary(tool: &'static str, name: &str) -> Call {
    let at = |what: &str, of: usize| number(&format!("{name} {what}")) as usize % of;
    let (department, code) = DEPARTMENTS[at("department", 4)];
    let (employee, phone, mail) = PEOPLE[at("person", 4)];
    let question = QUESTIONS[at("question", 4)];
    let arguments = match tool {
        "search_regulation" => json!({"query": question, "dept_code": code}),
        "org_chart_lookup" => json!({"dept_name": department}),
        "hr_db_lookup" => json!({"employee_no": employee}),
        "ocr_attachment" => json!({"file_id": format!("F-{}", 2000 + at("file", 900)), "page": 1 + at("page", 9)}),
        "budget_api" => json!({"dept_code": code, "year": 2026, "quarter": 3}),
        "petition_search" => json!({"keyword": format!("{phone} {mail}"), "limit": 5}),
        _ => json!({"dept_code": code, "year": 2026}),
    };
    (tool, arguments, 180 + at(tool, 1700) as u64, None)
}

/// The calls of a run, and whether it owned up to a failure.
fn calls(agent: usize, fault: Option<Fault>, name: &str) -> (Vec<Call>, bool) {
    let mut calls: Vec<Call> = AGENTS[agent].1.iter().map(|tool| ordinary(tool, name)).collect();
    match fault {
        Some(Fault::NoDeptCode) => {
            let mut without = ordinary("search_regulation", name);
            without.1.as_object_mut().expect("arguments are an object").remove("dept_code");
            calls.insert(calls.len() - 1, ("search_regulation", without.1, 160, Some("dept_code is required")));
        }
        Some(Fault::YearAsText) => {
            let mut texted = ordinary("budget_api", name);
            texted.1["year"] = json!("2026");
            calls.retain(|call| call.0 != "budget_api");
            calls.push(texted);
        }
        Some(Fault::SlowLookup) => {
            let over = 12_050 + number(&format!("{name} over")) % 3000;
            calls.truncate(0);
            calls.push(("hr_db_lookup", ordinary("hr_db_lookup", name).1, over, Some("deadline exceeded")));
        }
        Some(Fault::UndefinedTool) => {
            let arguments = json!({"dept_code": "D-1203"});
            calls.push(("get_budget_status", arguments, 0, Some("unknown tool get_budget_status")));
        }
        Some(Fault::HiddenError) => {
            let last = calls.pop().expect("each agent calls a tool");
            calls.push(("contract_registry", last.1, 640, Some("upstream 503")));
        }
        Some(Fault::Repeats) => {
            let first = calls[0].clone();
            calls.insert(0, first.clone());
            calls.insert(0, first);
        }
        Some(Fault::RootLost) | None => {}
    }
    (calls, fault == Some(Fault::SlowLookup))
}

/// A run as a request, as the Collector's file exporter writes a line.
fn run(agent: usize, date: NaiveDate, place: u64) -> String {
    let name = format!("{} {date} {place}", AGENTS[agent].0);
    let midnight = date.and_hms_opt(0, 0, 0).expect("midnight").and_utc().timestamp_nanos_opt().expect("in range");
    let seconds = 9 * 3600 + place * 7200 + number(&name) % 7000;
    // Nine hours back from midnight in UTC is midnight in Korea.
    let start = midnight as u64 - 9 * 3_600_000_000_000 + seconds * 1_000_000_000;
    let mut run = Run::new(name.clone(), start + 900_000_000);
    let fault = fault(agent, date, &name);
    let (calls, is_error) = calls(agent, fault, &name);
    for call in calls {
        run.call(call);
    }
    run.clock_ns += 1_100_000_000;
    if fault != Some(Fault::RootLost) {
        run.answer(AGENTS[agent].0, start, is_error);
    }
    let service = json!({"key": "service.name", "value": {"stringValue": "taco-works"}});
    let request = json!({"resourceSpans": [{
        "resource": {"attributes": [service]},
        "scopeSpans": [{"scope": {"name": "taco-orchestrator"}, "spans": run.spans}],
    }]});
    request.to_string()
}

/// The tools of the seed, and what was changed in the third week: `search_regulation` asks for the department code,
/// `hr_db_lookup` has half again as much time.
fn tools() -> [Value; 2] {
    let text = fs::read_to_string(repository().join("fixtures/seed/tools.json")).expect("the tools of the seed");
    let first: Value = serde_json::from_str(&text).expect("tools.json is JSON");
    let mut second = first.clone();
    second[0]["description"] = json!(
        "기관 내부 규정 문서에서 질문과 관련된 조문을 찾습니다. dept_code(부서 코드)는 빠뜨리면 안 되는 값입니다. \
         부서 이름만 알면 먼저 org_chart_lookup 으로 부서 코드를 받으세요."
    );
    second[2]["timeout_ms"] = json!(12_000);
    [first, second]
}

/// Every file of the folder that is made: name and text.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = (1..)
        .zip(tools())
        .map(|(version, tools)| {
            (format!("tools-{version}.json"), serde_json::to_string_pretty(&tools).expect("a value can be written"))
        })
        .map(|(name, text)| (name, text + "\n"))
        .collect();
    for offset in 0..DAYS {
        let date = day(FIRST_DAY) + Days::new(offset);
        if matches!(date.weekday(), Weekday::Sat | Weekday::Sun) || date == day(HOLIDAY) {
            continue;
        }
        let mut text = String::new();
        for place in 0..RUNS {
            for agent in 0..AGENTS.len() {
                text.push_str(&run(agent, date, place));
                text.push('\n');
            }
        }
        let week = if date < day(SECOND_TOOLS) { "tools-1" } else { "tools-2" };
        files.push((format!("{week}/{date}.jsonl"), text));
    }
    files
}

fn folder() -> PathBuf {
    repository().join("fixtures/days")
}

#[test]
fn days_are_what_the_generator_makes() {
    let made = files();
    if std::env::var_os("TACO_TRACE_MAKE_DAYS").is_some() {
        for (name, text) in &made {
            let path = folder().join(name);
            fs::create_dir_all(path.parent().expect("a file stands in a folder")).unwrap();
            fs::write(path, text).unwrap();
        }
    }
    for (name, text) in &made {
        let there = fs::read_to_string(folder().join(name)).unwrap_or_default();
        assert!(there == *text, "fixtures/days/{name} is not what the generator makes");
    }
}
