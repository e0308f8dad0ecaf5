//! Every command that needs no model and listens to nobody, in a process without any network.

use std::process::Command;

use super::support::repository;
use super::support_cli::Place;

/// How to run something without a network; none where that is not allowed.
fn without_network() -> Option<&'static [&'static str]> {
    let ways: [&[&str]; 2] = [&["unshare", "-n"], &["unshare", "-r", "-n"]];
    let works = |way: &&[&str]| {
        let tried = Command::new(way[0]).args(&way[1..]).arg("true").output();
        tried.is_ok_and(|output| output.status.success())
    };
    let found = ways.into_iter().find(works);
    if found.is_none() {
        println!("skipped: taking the network away (unshare -n) is not allowed here");
    }
    found
}

#[test]
fn commands_without_a_model_work_without_a_network() {
    let Some(way) = without_network() else { return };
    let place = Place::seeded();
    let path = |name: &str| place.path(name).to_str().unwrap().to_owned();
    let db = path("taco.duckdb");
    let repository = |name: &str| repository().join(name).to_str().unwrap().to_owned();
    let (traces, tools) = (repository("fixtures/seed/traces.jsonl"), repository("fixtures/seed/tools.json"));
    let run = |arguments: &[&str]| {
        let mut command = Command::new(way[0]);
        command.args(&way[1..]).arg(env!("CARGO_BIN_EXE_taco-trace")).args(arguments);
        command.current_dir(env!("CARGO_MANIFEST_DIR")).env("USER", "tester").stdin(std::process::Stdio::null());
        let output = command.output().expect("unshare was tried before");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
        output.stdout
    };
    let (export, page, gathered) = (path("export"), path("page.html"), path("tools.json"));
    let commands: &[&[&str]] = &[
        &["ingest", &traces, "--tools", &tools, "--db", &db],
        &["diagnose", &traces, "--tools", &tools],
        &["diagnose", "--db", &db],
        &["explain", "a5f03c8e", "--db", &db],
        &["compare", "--base", "rules:v1", "--head", "rules:v2", "--db", &db],
        &["review", "dismiss", "a5f03c8e", "--verdict", "error-hidden", "--reason", "x", "--db", &db],
        &["review", "list", "--db", &db],
        &["hq-candidates", "--db", &db],
        &["report", "--html", &page, "--db", &db],
        &["rules"],
        &["sql", "SELECT COUNT(*) FROM runs", "--db", &db],
        &["store", "info", "--db", &db],
        &["store", "export", "--parquet", &export, "--db", &db],
        &["store", "vacuum", "--db", &db],
        &["doctor", &traces],
        &["tools", "apply-draft", &traces, "--tools", &tools, "-o", &gathered, "--yes"],
        &["bench", "labelled", "fixtures/real/google-adk-2.13.0"],
        &["calls", "check", "fixtures/calls/calls.jsonl", "--specs", "fixtures/calls/tool_specs.json"],
        &["completions", "bash"],
        &["man"],
        &["demo", "bench", "--runs", "5"],
        &["demo", "compare", "--questions", "2"],
    ];
    for arguments in commands {
        run(arguments);
    }
    assert!(!run(&["diagnose", "--db", &db]).is_empty());
}
