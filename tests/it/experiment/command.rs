//! `eval init|target check|cost|run|list`: what is written, kept and answered.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

use crate::support::repository;
use crate::support_cli::{Place, program, told};
use crate::support_model::{Answer, ModelServer};

fn eval(place: &Place, arguments: &[&str]) -> Command {
    let mut command = program();
    command.arg("eval").args(arguments).current_dir(place.path(""));
    command
}

fn output(place: &Place, arguments: &[&str]) -> Output {
    eval(place, arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let output = output(place, &[arguments, &["--format", "json"]].concat());
    serde_json::from_str(&text(&output)).unwrap_or_else(|_| panic!("{}{}", text(&output), told(&output)))
}

/// The cases of the repository on scripts whose names end so.
fn fixtures(ends: &[(&str, &str)]) -> Place {
    let place = Place::new();
    let folder = repository().join("fixtures/eval");
    let mut project = format!("[project]\nid = 'p'\ncases = '{}'\n", folder.join("cases").display());
    for (name, end) in ends {
        let scripts = folder.join("scripts");
        project += &format!("[targets.{name}]\nkind='script'\nscripts='{}'\nscripts_end='{end}'\n", scripts.display());
    }
    place.write("taco-eval.toml", project);
    place
}

#[test]
fn example_of_init_runs_at_once_and_is_never_written_over() {
    let place = Place::new();
    let made = output(&place, &["init", "p"]);
    assert_eq!(made.status.code(), Some(0), "{}", told(&made));
    let run = program().args(["eval", "run"]).current_dir(place.path("p")).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", told(&run));
    assert!(text(&run).contains("배포 판단: 통과 후보"), "{}", text(&run));
    let project = fs::read_to_string(place.path("p/taco-eval.toml")).unwrap();
    fs::remove_file(place.path("p/cases/01-mail-draft.json")).unwrap();
    let again = output(&place, &["init", "p"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(told(&again).contains("이미 있어"), "{}", told(&again));
    assert!(!place.path("p/cases/01-mail-draft.json").exists(), "nothing is made beside what is there");
    assert_eq!(fs::read_to_string(place.path("p/taco-eval.toml")).unwrap(), project);
}

#[test]
fn run_keeps_everything_and_its_exit_status_is_the_decision() {
    let place = fixtures(&[("good", ".pass.json"), ("bad", ".fail.json")]);
    let needed = output(&place, &["run"]);
    assert_eq!(needed.status.code(), Some(2));
    assert!(told(&needed).contains("bad, good"), "{}", told(&needed));
    let run =
        output(&place, &["run", "--target", "good", "--trials", "2", "--concurrency", "4", "--traces", "t.jsonl"]);
    assert_eq!(run.status.code(), Some(0), "{}{}", text(&run), told(&run));
    let counts = "SELECT (SELECT COUNT(*) FROM eval_trial_starts), (SELECT COUNT(*) FROM eval_trial_ends),
        (SELECT COUNT(DISTINCT verdict) FROM eval_trial_ends), (SELECT COUNT(*) FROM eval_cases),
        (SELECT COUNT(*) FROM eval_projects)";
    assert_eq!(place.rows(counts), ["32|32|1|16|1"]);
    assert_eq!(told(&run).lines().filter(|line| line.starts_with('[')).count(), 32, "{}", told(&run));
    // One run a turn, in the file and in the store, each judged by the contracts of its own case.
    let traces = "SELECT (SELECT COUNT(*) FROM eval_trial_traces), (SELECT COUNT(*) FROM traces),
        (SELECT COUNT(*) FROM eval_trial_traces t ANTI JOIN traces r ON r.trace_id = t.trace_id)";
    let lines = fs::read_to_string(place.path("t.jsonl")).unwrap().lines().count();
    assert_eq!(place.rows(traces), [format!("{lines}|{lines}|0")]);
    assert_eq!(place.rows("SELECT tool_set_default FROM judge_settings"), ["-"], "no tools were put in force");
    let undefined = "SELECT COUNT(*) FROM traces WHERE tool_set IS NULL";
    assert_eq!(place.rows(undefined), ["0"]);
    let diagnosed = program().args(["diagnose", "--format", "json", "--db"]).arg(place.db()).output().unwrap();
    let diagnosed = text(&diagnosed);
    assert!(diagnosed.contains("gen_ai") || diagnosed.contains("trace_id"), "{diagnosed}");
    let bad = output(&place, &["run", "--target", "bad", "--quiet"]);
    assert_eq!((bad.status.code(), told(&bad).as_str()), (Some(1), ""), "{}", text(&bad));
    assert!(text(&bad).contains("차단 권고"), "{}", text(&bad));
    let listed = json(&place, &["list"]);
    let words: Vec<&str> = listed.as_array().unwrap().iter().map(|one| one["decision"].as_str().unwrap()).collect();
    assert_eq!(words, ["blocked", "candidate"], "the newest first");
    let gate = output(&place, &["gate", "--config-hash", listed[1]["config_sha256"].as_str().unwrap()]);
    assert_eq!(gate.status.code(), Some(0), "{}", text(&gate));
}

#[test]
fn traces_that_could_not_be_written_come_out_again_and_nothing_is_tried_twice() {
    let place = fixtures(&[("good", ".pass.json")]);
    let nowhere = output(&place, &["run", "--traces", "nowhere/t.jsonl"]);
    assert_eq!(nowhere.status.code(), Some(3), "{}", told(&nowhere));
    let begun = "SELECT COUNT(*) FROM eval_experiments";
    assert_eq!(place.rows(begun), ["0"], "nothing was tried");
    if !std::path::Path::new("/dev/full").exists() {
        println!("skipped: there is no /dev/full");
        return;
    }
    let full = output(&place, &["run", "-q", "--traces", "/dev/full"]);
    assert_eq!(full.status.code(), Some(3), "{}", told(&full));
    assert!(text(&full).contains("배포 판단: 통과 후보"), "what came out of it is told: {}", text(&full));
    let id = place.rows("SELECT experiment_id FROM eval_experiments").remove(0);
    let hint = format!("eval run --resume {id} --traces");
    assert!(told(&full).contains(&hint) && !told(&full).contains("같은 명령"), "{}", told(&full));
    let trials = "SELECT COUNT(*), COUNT(DISTINCT trial_id) FROM eval_trial_starts";
    let spans = "SELECT COUNT(*), COUNT(DISTINCT trace_id) FROM spans";
    let (made, kept) = (place.rows(trials), place.rows(spans));
    let again = output(&place, &["run", "-q", "--resume", &id, "--traces", "t.jsonl"]);
    assert_eq!((again.status.code(), told(&again).as_str()), (Some(0), ""), "{}", text(&again));
    assert_eq!((place.rows(trials), place.rows(spans)), (made, kept));
    // The file holds what a run writes that meets no full disk.
    let whole = output(&place, &["run", "-q", "--traces", "u.jsonl"]);
    assert_eq!(whole.status.code(), Some(0), "{}", told(&whole));
    let lines = |name: &str| fs::read_to_string(place.path(name)).unwrap().lines().count();
    assert!(lines("t.jsonl") >= 16);
    assert_eq!(lines("t.jsonl"), lines("u.jsonl"));
}

#[test]
fn candidate_is_compared_with_the_newest_baseline_of_the_same_cases() {
    let place = fixtures(&[("good", ".pass.json"), ("bad", ".fail.json")]);
    let first = json(&place, &["run", "--target", "bad", "--baseline"]);
    assert_eq!((first["role"].as_str(), &first["baseline_experiment_id"]), (Some("baseline"), &Value::Null));
    let second = json(&place, &["run", "--target", "good", "--baseline"]);
    let candidate = json(&place, &["run", "--target", "bad"]);
    assert_eq!(candidate["baseline_experiment_id"], second["experiment_id"]);
    assert_eq!(candidate["decided"]["comparison"]["baseline_only"], 16);
    let kept = "SELECT COUNT(*), COUNT(baseline_experiment_id) FROM eval_decisions";
    assert_eq!(place.rows(kept), ["3|1"]);
    assert_eq!(first["config_sha256"], candidate["config_sha256"], "the role is no part of the configuration");
    // With other cases there is nothing to compare with.
    let cases = place.path("cases");
    fs::create_dir(&cases).unwrap();
    let one = "01-mail-draft.json";
    fs::copy(repository().join("fixtures/eval/cases").join(one), cases.join(one)).unwrap();
    let text = fs::read_to_string(place.path("taco-eval.toml")).unwrap();
    let folder = repository().join("fixtures/eval/cases");
    place.write("taco-eval.toml", text.replace(&folder.display().to_string(), "cases"));
    let alone = json(&place, &["run", "--target", "good"]);
    assert_eq!((&alone["baseline_experiment_id"], alone["decision"].as_str()), (&Value::Null, Some("candidate")));
}

#[test]
fn agent_over_http_is_asked_and_one_that_only_answers_leaves_checks_open() {
    let hello =
        r#"{"protocol": "irumx-eval-target/1", "name": "agent", "version": "7", "capabilities": ["proposals"]}"#;
    let turn = r#"{"output": {"text": "done"}, "usage": {"input_tokens": 5, "output_tokens": 2}}"#;
    for (kind, status) in [("http", 0), ("answer_only", 4)] {
        let answer = |body: &str| Answer::ok(&serde_json::from_str(body).unwrap());
        let server = ModelServer::answering([answer(hello), answer(hello), answer(turn)]);
        let place = Place::new();
        fs::create_dir(place.path("cases")).unwrap();
        place.write("cases/plain.json", crate::eval::plain().to_string());
        let project = format!(
            "[project]\nid='p'\ncases='cases'\n[targets.t]\nkind='{kind}'\naddress='{}/e'\n\
             allow_private_target=true\nauth_header='X-Key'\nauth_env='TACO_TEST_AUTH'\n",
            server.url()
        );
        place.write("taco-eval.toml", &project);
        for named in
            [&["target", "check", "t"][..], &["target", "check", "-t", "t"], &["target", "check", "--target", "t"]]
        {
            assert_eq!(output(&place, named).status.code(), Some(1), "{named:?}");
        }
        assert_eq!(output(&place, &["target", "check", "t", "-t", "t"]).status.code(), Some(2));
        let missing = output(&place, &["target", "check"]);
        assert_eq!(missing.status.code(), Some(1), "{}", told(&missing));
        assert!(text(&missing).contains("TACO_TEST_AUTH"), "{}", text(&missing));
        let with =
            |arguments: &[&str]| eval(&place, arguments).env("TACO_TEST_AUTH", "a-long-secret").output().unwrap();
        let checked = with(&["target", "check"]);
        assert_eq!(checked.status.code(), Some(0), "{}{}", text(&checked), told(&checked));
        assert!(text(&checked).contains("agent 7") && !text(&checked).contains("a-long-secret"), "{}", text(&checked));
        let run = with(&["run"]);
        assert_eq!(run.status.code(), Some(status), "{kind}: {}{}", text(&run), told(&run));
        let kept = "SELECT verdict, target_name, target_version, input_tokens, cost_usd FROM eval_trial_ends";
        let verdict = if kind == "http" { "PASS" } else { "UNKNOWN" };
        assert_eq!(place.rows(kept), [format!("{verdict}|agent|7|5|-")]);
        assert_eq!(
            place.rows("SELECT target_kind, allow_private_target FROM eval_experiments"),
            [format!("{kind}|true")]
        );
        let seen = server.seen();
        assert!(seen.iter().all(|seen| seen.header("x-key") == Some("a-long-secret")));
        assert_eq!(seen.last().unwrap().body["sandbox"].is_object(), kind == "http");
        // The rules on addresses hold again without the switch.
        place.write("taco-eval.toml", project.replace("allow_private_target=true\n", ""));
        let refused = with(&["run"]);
        assert_eq!(refused.status.code(), Some(3), "{}", told(&refused));
        assert!(told(&refused).contains("https 가 아닙니다"), "{}", told(&refused));
        assert_eq!(place.rows("SELECT COUNT(*) FROM eval_experiments"), ["1"], "no experiment began");
    }
}

#[test]
fn cost_is_told_before_anything_is_spent() {
    let place = Place::new();
    fs::create_dir(place.path("cases")).unwrap();
    let case = repository().join("fixtures/eval/cases/08-lost-after-effect.json");
    fs::copy(case, place.path("cases/one.json")).unwrap();
    let model = "[targets.m]\nkind='reference'\nprovider='openai'\nbase_url='http://127.0.0.1:1'\nmodel='m'\n";
    place.write("taco-eval.toml", format!("[project]\nid='p'\ncases='cases'\n{model}"));
    let unpriced = json(&place, &["cost"]);
    assert_eq!(unpriced["total"]["cost_usd"], Value::Null);
    let table = text(&output(&place, &["cost"]));
    assert!(table.contains("[prices]") && table.contains("모름"), "{table}");
    let refused = output(&place, &["run", "--max-cost", "1"]);
    assert_eq!(refused.status.code(), Some(2), "{}", told(&refused));
    place.write("taco-eval.toml", format!("[project]\nid='p'\ncases='cases'\n{model}[prices.m]\ninput=1\noutput=2\n"));
    let one = json(&place, &["cost"]);
    let three = json(&place, &["cost", "--trials", "3"]);
    let number = |whole: &Value, key: &str| whole["total"][key].as_u64().unwrap();
    for key in ["requests", "input_tokens", "output_tokens"] {
        assert!(number(&one, key) > 0, "{key}");
        assert_eq!(number(&three, key), 3 * number(&one, key), "{key}");
    }
    let tokens = number(&one, "input_tokens") + 2 * number(&one, "output_tokens");
    let told_cost: f64 = one["total"]["cost_usd"].as_str().unwrap().parse().unwrap();
    assert!((told_cost - f64::from(u32::try_from(tokens).unwrap()) / 1e6).abs() < 1e-12, "{told_cost} {tokens}");
    assert!(!place.db().exists(), "nothing was begun");
}

#[test]
fn what_cannot_be_used_is_told_before_a_store_is_made() {
    let place = Place::new();
    for (name, project, status, words) in [
        ("no file", None, 3, "프로젝트 파일이 없습니다"),
        ("a line", Some("[project]\nid = 1\n"), 3, "taco-eval.toml:2"),
        ("a key", Some("[project]\nid='a'\ncases='c'\n[targets.t]\nkind='script'\n"), 3, "`scripts` 이 없습니다"),
        ("a type", Some("[project]\nid = 1\n"), 3, "`id` 의 값은 따옴표로 묶은 글이어야 합니다"),
        (
            "a name",
            Some("[project]\nid='a'\ncase='c'\n"),
            3,
            "taco-eval.toml:3` 모르는 이름입니다: `case`\n\n도움말: `cases`",
        ),
        ("no name", Some("[project]\nid='a'\ncases='c'\nzzz=1\n"), 3, "쓸 수 있는 이름은 id, name, cases"),
        (
            "a word",
            Some("[project]\nid='a'\ncases='c'\n[targets.t]\nkind='htp'\n"),
            3,
            "`kind` 에 쓸 수 없는 값입니다: `htp`\n\n도움말: `http`",
        ),
        ("a need", Some("[project]\ncases='c'\n"), 3, "taco-eval.toml:1` `id` 이 없습니다"),
        ("no TOML", Some("[project]\nid = 'a\n"), 3, "taco-eval.toml:2:"),
        ("no TOML in Korean", Some("[project]\nid = 'a\n"), 3, "TOML 문법에 맞지 않습니다"),
        ("cases", Some("[project]\nid='a'\ncases='c'\n[targets.t]\nkind='script'\nscripts='s'\n"), 3, "파일"),
    ] {
        if let Some(text) = project {
            place.write("taco-eval.toml", text);
        }
        let run = output(&place, &["run"]);
        assert_eq!(run.status.code(), Some(status), "{name}: {}", told(&run));
        assert!(told(&run).contains(words), "{name}: {}", told(&run));
    }
    for folder in ["c", "s"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    let case = crate::eval::plain();
    place.write("c/one.json", case.to_string());
    place.write("s/one.json", "{}");
    assert!(told(&output(&place, &["run"])).contains("스크립트를 읽을 수 없습니다"));
    place.write("s/one.json", r#"{"format": "irumx-eval-script/1", "case_id": "other", "steps": []}"#);
    let lacking = output(&place, &["run"]);
    assert!(told(&lacking).contains("`plain`"), "{}", told(&lacking));
    assert_eq!(output(&place, &["target", "check"]).status.code(), Some(1));
    place.write("c/two.json", case.to_string());
    assert!(told(&output(&place, &["run"])).contains("같은 번호의 사례"));
    let unknown = output(&place, &["run", "--target", "x"]);
    assert_eq!(unknown.status.code(), Some(2));
    let mut wrong = case;
    wrong["limits"]["turns"] = 0.into();
    place.write("c/two.json", wrong.to_string());
    let linted = output(&place, &["run"]);
    assert_eq!(linted.status.code(), Some(1));
    assert!(text(&linted).contains("/limits/turns"), "{}", text(&linted));
    assert!(!place.db().exists());
}

/// The whole way through real sockets: preflight, turns, tools, approvals, a lost response, a limit, a duplicate event, a
/// signal to stop; several trials at a time.
#[test]
fn agent_in_python_is_tried_by_the_program() {
    use crate::target::python::{Python, SECRET};
    let Some(python) = Python::start() else { return };
    let place = Place::new();
    fs::create_dir(place.path("cases")).unwrap();
    let cases = ["02-approved-mail", "08-lost-after-effect", "11-call-limit", "13-duplicate-event", "15-cancel-signal"];
    for case in cases {
        let file = format!("{case}.json");
        fs::copy(repository().join("fixtures/eval/cases").join(&file), place.path("cases").join(&file)).unwrap();
    }
    let project = format!(
        "[project]\nid='p'\ncases='cases'\ntrials=2\nconcurrency=4\n[targets.py]\nkind='http'\naddress='{}'\n\
         allow_private_target=true\nauth_header='X-Agent-Key'\nauth_file='key.txt'\n",
        python.address
    );
    place.write("taco-eval.toml", project);
    place.write("key.txt", format!("{SECRET}\n"));
    let run = output(&place, &["run"]);
    let rows =
        place.rows("SELECT case_id, trial, verdict, reason FROM eval_checks WHERE verdict <> 'PASS' ORDER BY ALL");
    assert_eq!((run.status.code(), rows), (Some(0), vec![]), "{}{}", text(&run), told(&run));
    assert_eq!(place.rows("SELECT COUNT(*), COUNT(DISTINCT trial_id) FROM eval_trial_ends"), ["10|10"]);
    let held = fs::read(place.db()).unwrap();
    assert!(!held.windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()), "the key is in the store");
}
