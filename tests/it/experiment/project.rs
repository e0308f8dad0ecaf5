//! `taco-eval.toml`: what is read, and each refusal with its line.

use taco_trace::chat::budget::Price;
use taco_trace::eval::judge::TargetKind;
use taco_trace::experiment::project::{AuthValue, Project, Prompt, Provider, TargetSetup, parse};
use taco_trace::reference::Policies;

const WHOLE: &str = r#"
[project]
id = "mail-agent"
name = "메일"
cases = "cases"
threshold = 0.9
trials = 5
concurrency = 4

[sandbox]
listen = "127.0.0.1:8080"
url = "https://eval.example.com"

[targets.demo]
kind = "script"
scripts = "scripts"
scripts_end = ".pass.json"

[targets.agent]
kind = "http"
address = "https://agent.example.com/eval"
allow_private_target = true
auth_header = "Authorization"
auth_env = "AGENT"

[targets.plain]
kind = "answer_only"
address = "https://agent.example.com/eval"
auth_header = "X-Key"
auth_file = "key.txt"

[targets.model]
kind = "reference"
provider = "openai"
base_url = "http://10.0.0.5:8000/v1"
model = "m-1"
max_tokens = 300
prompt_file = "prompt.txt"
[targets.model.policies]
approval_check = false

[prices."m-1"]
input = "0.15"
output = 3
"#;

fn whole() -> Project {
    parse(WHOLE).unwrap()
}

#[test]
fn every_kind_of_target_is_read() {
    let project = whole();
    assert_eq!((project.id.as_str(), project.name.as_str(), project.cases.as_str()), ("mail-agent", "메일", "cases"));
    assert_eq!((project.threshold, project.trials, project.concurrency), (0.9, 5, 4));
    assert_eq!(project.sandbox_listen.to_string(), "127.0.0.1:8080");
    assert_eq!(project.sandbox_url.as_deref(), Some("https://eval.example.com"));
    let kinds: Vec<(&str, TargetKind)> =
        project.targets.iter().map(|(name, target)| (name.as_str(), target.kind())).collect();
    let expected = [
        ("agent", TargetKind::Http),
        ("demo", TargetKind::Script),
        ("model", TargetKind::Reference),
        ("plain", TargetKind::AnswerOnly),
    ];
    assert_eq!(kinds, expected);
    assert!(project.targets["agent"].allows_private() && !project.targets["plain"].allows_private());
    let TargetSetup::Http(agent) = &project.targets["agent"] else { panic!("{project:?}") };
    let auth = agent.auth.as_ref().unwrap();
    assert_eq!((auth.header.as_str(), &auth.value), ("Authorization", &AuthValue::Env("AGENT".to_owned())));
    let TargetSetup::Reference(model) = &project.targets["model"] else { panic!("{project:?}") };
    assert_eq!((model.provider, model.model.as_str(), model.max_tokens), (Provider::Openai, "m-1", 300));
    assert_eq!(model.prompt, Prompt::File("prompt.txt".to_owned()));
    assert_eq!(model.policies, Policies { approval_check: false, ..Policies::default() });
    let price = Price { input: "0.15".parse().unwrap(), output: "3".parse().unwrap() };
    assert_eq!(project.prices["m-1"], price);
}

#[test]
fn what_is_left_out_has_a_default() {
    let project = parse("[project]\nid='a'\ncases='c'\n[targets.t]\nkind='script'\nscripts='s'\n").unwrap();
    assert_eq!((project.name.as_str(), project.threshold, project.trials, project.concurrency), ("a", 1.0, 1, 1));
    assert_eq!(project.sandbox_listen.to_string(), "127.0.0.1:0");
}

#[test]
fn shipped_example_is_read() {
    let project = parse(include_str!("../../../src/experiment/data/taco-eval.toml")).unwrap();
    assert_eq!(project.targets.len(), 1);
    // What stands behind one `#` is read as well when it is put in force.
    let text = include_str!("../../../src/experiment/data/taco-eval.toml");
    let all: Vec<&str> = text
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.starts_with('[') || rest.contains(" = ") => rest,
            _ => line,
        })
        .collect();
    let project = parse(&all.join("\n")).unwrap();
    assert_eq!(project.targets.keys().collect::<Vec<_>>(), ["agent", "demo", "model"]);
}

/// Each text put in the place of another, with the line and the code of what is wrong.
#[test]
fn mistakes_are_refused_with_their_line() {
    let table: [(&str, &str, usize, &str); 31] = [
        ("id = \"mail-agent\"", "id = \"\"", 3, "range"),
        ("id = \"mail-agent\"", "id = \"메일\"", 3, "range"),
        ("cases = \"cases\"", "cases = \" \"", 5, "missing"),
        ("cases = \"cases\"\n", "", 2, "missing"),
        ("cases = \"cases\"", "cases = cases", 5, "syntax"),
        ("trials = 5", "trials = 5.0", 7, "type"),
        ("trials = 5", "trials = 5\ntrials = 6", 8, "repeated"),
        ("kind = \"http\"", "kind = 3", 20, "type"),
        ("allow_private_target = true", "allow_private_target = \"yes\"", 22, "type"),
        ("approval_check = false", "approval_check = 0", 40, "type"),
        ("cases = \"cases\"", "case = \"cases\"", 5, "unknown"),
        ("threshold = 0.9", "threshold = 1.01", 6, "range"),
        ("threshold = 0.9", "threshold = -0.01", 6, "range"),
        ("threshold = 0.9", "threshold = \"0.9\"", 6, "type"),
        ("trials = 5", "trials = 0", 7, "range"),
        ("trials = 5", "trials = 1001", 7, "range"),
        ("concurrency = 4", "concurrency = 65", 8, "range"),
        ("listen = \"127.0.0.1:8080\"", "listen = \"localhost\"", 11, "range"),
        ("scripts = \"scripts\"\n", "", 14, "missing"),
        ("scripts_end = \".pass.json\"", "address = \"https://a.example.com\"", 17, "foreign"),
        ("scripts_end = \".pass.json\"", "model = \"m\"", 17, "foreign"),
        ("kind = \"http\"", "kind = \"web\"", 20, "word"),
        ("auth_env = \"AGENT\"", "auth_env = \"AGENT\"\nauth_file = \"k\"", 25, "both"),
        ("auth_env = \"AGENT\"\n", "", 23, "missing"),
        ("auth_header = \"X-Key\"\n", "", 29, "missing"),
        ("provider = \"openai\"\n", "", 32, "missing"),
        ("max_tokens = 300", "max_tokens = 0", 37, "range"),
        ("prompt_file = \"prompt.txt\"", "prompt = \"p\"\nprompt_file = \"prompt.txt\"", 39, "both"),
        ("approval_check = false", "approval = false", 40, "unknown"),
        ("input = \"0.15\"", "input = \"free\"", 43, "amount"),
        ("output = 3", "output = -3", 44, "amount"),
    ];
    for (old, new, line, code) in table {
        assert!(WHOLE.contains(old), "{old}");
        let error = parse(&WHOLE.replacen(old, new, 1)).expect_err(new);
        assert_eq!((error.line, error.reason.code()), (line, code), "{new}: {error}");
    }
    let error = parse("[project]\nid='a'\ncases='c'\n").unwrap_err();
    assert_eq!((error.line, error.reason.code()), (2, "no_target"));
    for edge in ["threshold = 0.0", "threshold = 1.0"] {
        assert!(parse(&WHOLE.replacen("threshold = 0.9", edge, 1)).is_ok(), "{edge}");
    }
    for edge in ["trials = 1", "trials = 1000"] {
        assert!(parse(&WHOLE.replacen("trials = 5", edge, 1)).is_ok(), "{edge}");
    }
}
