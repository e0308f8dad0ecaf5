//! A site's own log format, as README.md shows it.

use assert_cmd::Command;

const TRACES: &str = "fixtures/site/traces.jsonl";
const CONVENTION: &str = "fixtures/site/orchestrator.toml";

/// Exit status, standard output and standard error of `diagnose` on the site's traces.
fn diagnose(more: &[&str]) -> (i32, String, String) {
    let mut command = Command::cargo_bin("taco-trace").unwrap();
    command.args(["diagnose", TRACES, "--tools", "fixtures/seed/tools.json"]).args(more);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn unknown_format_is_no_empty_success() {
    let (status, shown, told) = diagnose(&[]);
    assert_eq!((status, shown.as_str()), (3, ""));
    assert!(told.contains("site.orchestrator 3") && told.contains("--convention"), "{told}");
}

#[test]
fn file_of_the_site_makes_its_runs_judged_as_the_readme_shows() {
    let (status, shown, _) = diagnose(&["--convention", CONVENTION]);
    assert_eq!(status, 0);
    let readme = std::fs::read_to_string("README.md").unwrap();
    let printed = readme.split("--convention fixtures/site/orchestrator.toml").nth(1).unwrap();
    let printed = printed.split("```text\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(shown.starts_with(printed), "{shown}");
}

#[test]
fn wrong_file_of_a_site_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.toml");
    for (text, reason) in [
        ("name = 3", "invalid type: integer `3`"),
        ("name = \"x\"\ndescription = \"\"\nmatch = []", "`[[match]]`"),
        ("name = \"otel-genai\"\ndescription = \"\"\nmatch = []\nelse = 1", "unknown field `else`"),
    ] {
        std::fs::write(&wrong, text).unwrap();
        let (status, _, told) = diagnose(&["--convention", wrong.to_str().unwrap()]);
        assert_eq!(status, 3, "{text}");
        assert!(told.contains("wrong.toml") && told.contains(reason), "{told}");
    }
    let (status, _, told) = diagnose(&["--convention", "not/there.toml"]);
    assert_eq!(status, 3);
    assert!(told.contains("not/there.toml"), "{told}");
}
