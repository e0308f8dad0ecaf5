//! A run that is killed and gone on with, one that is cancelled, and one that a cap ends: no trial is lost, none counts
//! twice.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use super::held::HeldModel;
use crate::eval::plain;
use crate::support_cli::{Place, program, told};

/// A project with two cases, two trials each, on a model that waits for the test.
fn project(model: &HeldModel) -> Place {
    let place = Place::new();
    std::fs::create_dir(place.path("cases")).unwrap();
    for id in ["a", "b"] {
        let mut case = plain();
        case["id"] = id.into();
        // The clock of the machine must not decide.
        case["limits"]["time_ms"] = 3_600_000.into();
        place.write(&format!("cases/{id}.json"), case.to_string());
    }
    let text = format!(
        "[project]\nid = 'p'\ncases = 'cases'\ntrials = 2\n[targets.m]\nkind = 'reference'\nprovider = 'openai'\n\
         base_url = '{}'\nmodel = 'm'\n[prices.m]\ninput = 1\noutput = 1\n",
        model.url()
    );
    place.write("taco-eval.toml", text);
    place
}

fn eval(place: &Place, arguments: &[&str]) -> Command {
    let mut command = program();
    command.arg("eval").args(arguments).current_dir(place.path("")).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn output(place: &Place, arguments: &[&str]) -> Output {
    eval(place, arguments).output().unwrap()
}

/// Reads standard error up to a line that begins so.
fn until(child: &mut Child, beginning: &str) -> BufReader<std::process::ChildStderr> {
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with(beginning) {
        line.clear();
        assert!(reader.read_line(&mut line).unwrap() > 0, "no line {beginning}");
    }
    reader
}

const TRIALS: &str = "SELECT s.case_id, s.trial, s.attempt, e.verdict FROM eval_trial_starts s
    LEFT JOIN eval_trial_ends e ON e.trial_id = s.trial_id ORDER BY s.trial, s.case_id, s.attempt";

#[test]
fn killed_run_is_gone_on_with_and_no_trial_is_lost_or_counted_twice() {
    let model = HeldModel::new();
    let place = project(&model);
    let mut child = eval(&place, &["run"]).spawn().unwrap();
    model.wait();
    model.release(1);
    let reading = until(&mut child, "[1/4]");
    // The second trial has begun, and its model does not answer.
    model.wait();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(reading);
    assert_eq!(place.rows(TRIALS), ["a|1|1|PASS", "b|1|1|-"]);
    let first = "SELECT trial_id FROM eval_trial_ends WHERE verdict = 'PASS' ORDER BY ended_at, trial_id LIMIT 1";
    let kept = place.rows(first);
    // The request that was killed takes one reply along.
    model.release(1 + 2);
    let resumed = output(&place, &["run", "--resume"]);
    assert_eq!(resumed.status.code(), Some(4), "{}", told(&resumed));
    assert_eq!(place.rows(TRIALS), ["a|1|1|PASS", "b|1|1|ERROR", "a|2|1|PASS", "b|2|1|PASS"]);
    assert_eq!(place.rows(first), kept, "what had ended stays as it was");
    let why = "SELECT DISTINCT c.reason FROM eval_trial_checks c JOIN eval_trial_ends e ON e.trial_id = c.trial_id
        WHERE e.verdict = 'ERROR'";
    assert_eq!(place.rows(why), ["runner_failed"]);
    // Once more there is nothing to do, and the decision is the same.
    let again = output(&place, &["run", "--resume"]);
    assert_eq!((again.status.code(), place.rows(TRIALS).len()), (Some(4), 4), "{}", told(&again));
    model.release(1);
    let retried = output(&place, &["run", "--resume", "--retry-errors"]);
    assert_eq!(retried.status.code(), Some(0), "{}", told(&retried));
    let all = ["a|1|1|PASS", "b|1|1|ERROR", "b|1|2|PASS", "a|2|1|PASS", "b|2|1|PASS"];
    assert_eq!(place.rows(TRIALS), all);
    let decided = "SELECT decision FROM eval_decisions ORDER BY decided_ns";
    assert_eq!(place.rows(decided), ["held", "held", "candidate"]);
    // Each turn that was made is one run in the store, however often the experiment was gone on with.
    let runs = "SELECT COUNT(*), COUNT(DISTINCT trace_id) FROM traces";
    assert_eq!(place.rows(runs), ["4|4"]);
    assert!(!place.path("taco.duckdb.eval-run").exists());
    // A changed configuration is another experiment.
    let text = std::fs::read_to_string(place.path("taco-eval.toml")).unwrap();
    place.write("taco-eval.toml", text.replace("model = 'm'", "model = 'n'"));
    let changed = output(&place, &["run", "--resume"]);
    assert_eq!(changed.status.code(), Some(2));
    assert!(told(&changed).contains("설정이 바뀌었습니다"), "{}", told(&changed));
}

#[test]
fn cancelled_run_ends_its_trial_and_leaves_the_rest_as_cancelled() {
    let model = HeldModel::new();
    let place = project(&model);
    let none = output(&place, &["cancel"]);
    assert_eq!(none.status.code(), Some(2), "{}", told(&none));
    let mut child = eval(&place, &["run"]).spawn().unwrap();
    model.wait();
    model.release(1);
    let mut reading = until(&mut child, "[1/4]");
    model.wait();
    // Who wants the store meanwhile is told what holds it, and what to do.
    let held = output(&place, &["list"]);
    assert_eq!(held.status.code(), Some(3), "{}", told(&held));
    for word in ["실험 `", "eval cancel"] {
        assert!(told(&held).contains(word) && !told(&held).contains("ingest"), "{}", told(&held));
    }
    let other = output(&place, &["cancel", "nothing"]);
    assert_eq!(other.status.code(), Some(2), "{}", told(&other));
    let asked = output(&place, &["cancel"]);
    assert_eq!(asked.status.code(), Some(0), "{}", told(&asked));
    // The trial that goes on does not wait for its reply, which never comes.
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut reading, &mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(4), "{rest}");
    let trials = place.rows(TRIALS);
    assert_eq!((trials.len(), trials[0].as_str()), (4, "a|1|1|PASS"));
    assert_eq!(trials[1..], ["b|1|1|CANCELLED", "a|2|1|CANCELLED", "b|2|1|CANCELLED"]);
    assert!(!place.path("taco.duckdb.eval-cancel").exists() && !place.path("taco.duckdb.eval-run").exists());
    let resumed = output(&place, &["run", "--resume"]);
    assert_eq!((resumed.status.code(), place.rows(TRIALS)), (Some(4), trials), "what was cancelled stays so");
}

#[test]
fn cap_ends_a_run_cleanly_and_the_rest_can_be_made_later() {
    let model = HeldModel::new();
    let place = project(&model);
    model.release(2);
    let capped = output(&place, &["run", "--max-calls", "2", "--format", "json"]);
    assert_eq!(capped.status.code(), Some(4), "{}", told(&capped));
    assert!(told(&capped).contains("--max-calls"), "{}", told(&capped));
    let said: serde_json::Value = serde_json::from_slice(&capped.stdout).unwrap();
    assert_eq!((&said["is_capped"], &said["not_run"]), (&true.into(), &1.into()));
    // The trial that met the cap ended as an error of ours; the one behind it was not begun.
    assert_eq!(place.rows(TRIALS), ["a|1|1|PASS", "b|1|1|PASS", "a|2|1|ERROR"]);
    assert_eq!(said["spent"]["input_tokens"], 200);
    // 240 tokens at a dollar for a million.
    assert_eq!(place.rows("SELECT SUM(cost_usd) = 0.00024 FROM eval_trial_ends"), ["true"]);
    model.release(2);
    let done = output(&place, &["run", "--resume", "--retry-errors"]);
    assert_eq!(done.status.code(), Some(0), "{}", told(&done));
    let dear = output(&place, &["run", "--max-cost", "0.000001"]);
    assert_eq!(dear.status.code(), Some(4), "{}", told(&dear));
    assert!(told(&dear).contains("--max-cost"), "nothing was sent: {}", told(&dear));
}
