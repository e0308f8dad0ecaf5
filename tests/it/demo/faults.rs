//! Each fault alone gives its verdict; none gives a normal one. Judged by the program.

use std::collections::BTreeMap;

use serde_json::Value;
use taco_trace::demo::{AgentConfig, Fault, questions};
use taco_trace::model::Status;

use super::super::support_cli::{Place, program, told};
use super::support::{attribute, careful, of, question, run, shipped, spans};

const VERDICTS: [(Fault, &str); 5] = [
    (Fault::DropArg, "도구 정의와 맞지 않는 인자로 부름"),
    (Fault::Slow, "제한 시간을 넘겨 끊김"),
    (Fault::Repeat, "같은 호출을 재시도 한도보다 많이 되풀이함"),
    (Fault::SwallowError, "도구 오류 뒤에도 성공처럼 답함"),
    (Fault::UnknownTool, "정의에 없는 도구를 부름"),
];

/// Verdict, also_found and final status of each trace, by the program.
fn judged(place: &Place, lines: &str) -> BTreeMap<String, (String, usize, String)> {
    let path = place.write("traces.jsonl", lines);
    let tools = place.write("tools.json", taco_trace::demo::TOOLS_JSON);
    let arguments = ["--format", "json", "--tools"];
    let output = program().arg("diagnose").arg(&path).args(arguments).arg(&tools).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let runs: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    runs.iter()
        .map(|run| {
            let also = run["also_found"].as_array().unwrap().len();
            (text(&run["trace_id"]), (text(&run["verdict"]), also, text(&run["final_status"])))
        })
        .collect()
}

#[test]
fn no_fault_is_a_normal_run() {
    let mut lines = String::new();
    for (seed, question) in (0..).zip(questions::shipped()) {
        lines += &run(AgentConfig { seed, ..shipped() }, &mut careful(), &question).1;
    }
    let judged = judged(&Place::new(), &lines);
    assert_eq!(judged.len(), questions::shipped().len());
    assert!(judged.values().all(|found| *found == ("정상 완료".to_owned(), 0, "ok".to_owned())), "{judged:?}");
}

#[test]
fn each_fault_alone_gives_its_verdict() {
    for (fault, verdict) in VERDICTS {
        let (mut lines, mut outcomes) = (String::new(), Vec::new());
        for (seed, question) in (0..).zip(questions::shipped()) {
            let config = AgentConfig { faults: vec![fault], seed, ..shipped() };
            let (outcome, line) = run(config, &mut careful(), &question);
            lines += &line;
            outcomes.push((question, outcome));
        }
        let judged = judged(&Place::new(), &lines);
        for (question, outcome) in outcomes {
            assert_eq!(outcome.injected.len(), 1, "{fault} {}", question.text);
            assert_eq!(outcome.status, Status::Ok, "{fault} {}", question.text);
            let (found, also, status) = &judged[&outcome.trace_id];
            // A look-up beside the one that was swallowed succeeds after it, which the rule takes as made good.
            let beside = fault == Fault::SwallowError
                && question.tools.iter().filter(|tool| **tool == outcome.injected[0].tool).count() > 1;
            if beside && found == "정상 완료" {
                continue;
            }
            assert_eq!((found.as_str(), status.as_str()), (verdict, "ok"), "{}", question.text);
            // A name that does not exist never succeeds: the rule of hidden errors sees it as well.
            assert_eq!(*also, usize::from(fault == Fault::UnknownTool), "{fault} {}", question.text);
        }
    }
}

#[test]
fn run_that_gives_up_closes_as_error() {
    use taco_trace::demo::{ScriptConfig, ScriptModel};
    for (fault, verdict) in [VERDICTS[0], VERDICTS[1], VERDICTS[4]] {
        let mut model = ScriptModel::new(ScriptConfig { seed: 0, omits_percent: 0, recovers_percent: 0 });
        let config = AgentConfig { faults: vec![fault], ..shipped() };
        let (outcome, lines) = run(config, &mut model, &question("q01"));
        assert_eq!(outcome.status, Status::Error);
        let judged = judged(&Place::new(), &lines);
        assert_eq!(judged[&outcome.trace_id], (verdict.to_owned(), 0, "error".to_owned()));
    }
}

/// The judged trace must not give the answer away.
#[test]
fn trace_does_not_tell_of_the_fault() {
    for fault in Fault::ALL {
        let config = AgentConfig { faults: vec![fault], ..shipped() };
        let (outcome, lines) = run(config, &mut careful(), &question("q15"));
        let hidden = [fault.as_str(), "inject", "fault"];
        assert!(hidden.iter().all(|word| !lines.contains(word)), "{fault}: {lines}");
        assert!(lines.contains(&outcome.injected[0].span_id));
    }
}

#[test]
fn seed_chooses_the_call() {
    let hit = |seed: u64| {
        let config = AgentConfig { faults: vec![Fault::Slow], seed, ..shipped() };
        run(config, &mut careful(), &question("q15")).0.injected[0].tool.clone()
    };
    let tools: std::collections::BTreeSet<String> = (0..16).map(hit).collect();
    assert_eq!(tools.into_iter().collect::<Vec<_>>(), ["budget_api", "org_chart_lookup"]);
    assert_eq!(hit(3), hit(3));
}

#[test]
fn repetitions_follow_one_another_with_keys_in_another_order() {
    for seed in 0..8 {
        let config = AgentConfig { faults: vec![Fault::Repeat], seed, ..shipped() };
        let (outcome, lines) = run(config, &mut careful(), &question("q19"));
        let spans = spans(&lines);
        let mut calls = of(&spans, "execute_tool");
        calls.sort_by_key(|span| span["startTimeUnixNano"].as_str().unwrap().to_owned());
        let key = |span: &Value| {
            let arguments: Value =
                serde_json::from_str(&attribute(span, "gen_ai.tool.call.arguments").unwrap()).unwrap();
            (attribute(span, "gen_ai.tool.name"), arguments.to_string())
        };
        let longest = calls.chunk_by(|a, b| key(a) == key(b)).map(<[_]>::len).max().unwrap();
        assert!(longest > 2, "one more than max_retries: {longest}");
        if outcome.injected[0].tool == "budget_api" {
            let written: std::collections::BTreeSet<_> =
                outcome.calls.iter().filter(|call| call.tool == "budget_api").map(|call| &call.arguments).collect();
            assert!(written.len() > 2, "{written:?}");
        }
        let ids: std::collections::BTreeSet<_> =
            calls.iter().map(|span| attribute(span, "gen_ai.tool.call.id")).collect();
        assert_eq!(ids.len(), calls.len(), "every call has an id of its own");
    }
}

#[test]
fn two_faults_hit_two_calls() {
    let mut both = 0;
    for (seed, question) in (0..).zip(questions::shipped()) {
        let config = AgentConfig { faults: vec![Fault::SwallowError, Fault::Slow], seed, ..shipped() };
        let (outcome, _) = run(config, &mut careful(), &question);
        let spans: std::collections::BTreeSet<_> = outcome.injected.iter().map(|injected| &injected.span_id).collect();
        assert_eq!(spans.len(), outcome.injected.len());
        both += usize::from(outcome.injected.len() == 2);
    }
    assert_eq!(both, questions::shipped().len());
}

/// Where there are more faults than calls, none is always the one that has to stay out.
#[test]
fn of_all_faults_at_once_each_gets_its_share() {
    let mut hit: BTreeMap<Fault, usize> = BTreeMap::new();
    let mut runs = 0;
    for seed in 0..5 {
        for question in questions::shipped() {
            let config = AgentConfig { faults: Fault::ALL.to_vec(), seed, ..shipped() };
            let (outcome, _) = run(config, &mut careful(), &question);
            runs += 1;
            outcome.injected.iter().for_each(|injected| *hit.entry(injected.fault).or_default() += 1);
        }
    }
    for fault in Fault::ALL {
        let hits = hit.get(&fault).copied().unwrap_or_default();
        assert!(hits * 5 >= runs, "{}: {hits} of {runs}", fault.as_str());
    }
}

#[test]
fn names_of_faults_are_read_back() {
    for fault in Fault::ALL {
        assert_eq!(fault.as_str().parse(), Ok(fault));
        assert_eq!(serde_json::to_value(fault).unwrap(), fault.as_str());
    }
    assert!("Slow".parse::<Fault>().is_err());
}
