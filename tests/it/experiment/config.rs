//! The hash of a configuration: everything that decides behaviour changes it, nothing else does.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use taco_trace::eval::case::Case;
use taco_trace::eval::script::{Script, Step};
use taco_trace::experiment::config::{Contents, config};
use taco_trace::experiment::project::{Project, TargetSetup, parse};

use crate::eval::plain;

const MODEL: &str = "[project]\nid='a'\ncases='c'\n[targets.t]\nkind='reference'\nprovider='openai'\nmodel='m'\n";

fn setup(text: &str) -> TargetSetup {
    let project: Project = parse(text).unwrap();
    project.targets["t"].clone()
}

fn case(document: Value) -> Case {
    serde_json::from_value(document).unwrap()
}

fn prompt(text: &str) -> Contents {
    Contents { prompt: text.to_owned(), ..Contents::default() }
}

fn hash(setup: &TargetSetup, contents: &Contents, cases: &[Case]) -> String {
    config(setup, contents, cases).sha256
}

#[test]
fn any_change_that_decides_behaviour_changes_the_hash() {
    let cases = [case(plain())];
    let mut hashes = BTreeSet::new();
    let mut add = |what: &str, hash: String| assert!(hashes.insert(hash), "{what} changes nothing");
    add("first", hash(&setup(MODEL), &prompt("p"), &cases));
    add("prompt", hash(&setup(MODEL), &prompt("p."), &cases));
    for more in [
        "model='n'",
        "provider='anthropic'",
        "base_url='http://10.0.0.5/v1'",
        "max_tokens=9",
        "policies={approval_check=false}",
        "policies={tool_eligibility=false}",
        "policies={personal_connection=false}",
        "policies={unknown_writes=false}",
        "policies={duplicate_events=false}",
        "policies={human_takeover=false}",
    ] {
        let key = more.split('=').next().unwrap();
        let kept: Vec<&str> = MODEL.lines().filter(|line| !line.starts_with(key)).collect();
        add(more, hash(&setup(&format!("{}\n{more}\n", kept.join("\n"))), &prompt("p"), &cases));
    }
    for (pointer, value) in [
        ("/tools/0/description", json!("other")),
        ("/tools/0/version", json!("2")),
        ("/tools/0/effect", json!("write")),
        ("/tools/0/needs_approval", json!(true)),
        ("/tools/0/name", json!("look")),
        ("/tools/1/parameters/required", json!([])),
        ("/tools/1/result/id_prefix", json!("x")),
        ("/id", json!("another")),
    ] {
        let mut changed = plain();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[key] = value;
        add(pointer, hash(&setup(MODEL), &prompt("p"), &[case(changed)]));
    }
    let http = |more: &str| setup(&format!("[project]\nid='a'\ncases='c'\n[targets.t]\n{more}\n"));
    let agent = "kind='http'\naddress='https://a.example.com'";
    add("http", hash(&http(agent), &Contents::default(), &cases));
    add("kind", hash(&http(&agent.replace("http'", "answer_only'")), &Contents::default(), &cases));
    add("address", hash(&http(&agent.replace("a.ex", "b.ex")), &Contents::default(), &cases));
    let auth = format!("{agent}\nauth_header='X-A'\nauth_env='E'");
    add("header", hash(&http(&auth), &Contents::default(), &cases));
    let script = http("kind='script'\nscripts='s'");
    let steps = |steps: Vec<Step>| Contents {
        scripts: [(
            "plain".to_owned(),
            vec![Script { format: "irumx-eval-script/1".to_owned(), case_id: "plain".to_owned(), steps }],
        )]
        .into(),
        ..Contents::default()
    };
    add("script", hash(&script, &steps(vec![Step::Turn]), &cases));
    add("steps", hash(&script, &steps(vec![Step::Turn, Step::Turn]), &cases));
}

#[test]
fn nothing_else_changes_the_hash() {
    let (one, mut other) = (plain(), plain());
    other["id"] = "z".into();
    other["tools"].as_array_mut().unwrap().reverse();
    let both = [case(one.clone()), case(other.clone())];
    let first = hash(&setup(MODEL), &prompt("p"), &both);
    // Cases, tools and keys in another order, and other white space.
    other["tools"].as_array_mut().unwrap().reverse();
    let spaced: Value = serde_json::from_str(&serde_json::to_string_pretty(&one).unwrap()).unwrap();
    assert_eq!(hash(&setup(MODEL), &prompt("p"), &[case(other.clone()), case(spaced)]), first);
    // What is said and tried, and how often, is of the case and the experiment.
    let mut said = one.clone();
    said["turns"][0]["content"] = "other words".into();
    said["checks"][0]["max"] = 1.into();
    assert_eq!(hash(&setup(MODEL), &prompt("p"), &[case(said), case(other.clone())]), first);
    let cases = [case(one), case(other)];
    let rewritten = "prices={}\n[project]\ncases = 'd'  # other\nid = 'b'\ntrials = 9\nthreshold = 0.5\n\
        [targets.t]\nmodel = \"m\"\nprovider = \"openai\"\nkind = \"reference\"\nmax_tokens = 1024\n\
        base_url = 'https://api.openai.com/v1/'\npolicies = {unknown_writes = true}\n";
    assert_eq!(hash(&setup(rewritten), &prompt("p"), &cases), first, "defaults written out are the same");
    let agent = |more: &str| {
        let text =
            format!("[project]\nid='a'\ncases='c'\n[targets.t]\nkind='http'\naddress='https://a.example.com'\n{more}");
        hash(&setup(&text), &Contents::default(), &cases)
    };
    let first = agent("auth_header='X-Key'\nauth_env='ONE'\n");
    assert_eq!(agent("auth_header='x-key'\nauth_file='two'\nallow_private_target=true\n"), first);
}

#[test]
fn no_secret_is_in_the_document() {
    let text = "[project]\nid='a'\ncases='c'\n[targets.t]\nkind='http'\naddress='https://a.example.com'\n\
        auth_header='X-Key'\nauth_env='NAME_OF_SECRET'\n";
    let made = config(&setup(text), &Contents::default(), &[case(plain())]);
    assert!(made.document.contains("x-key") && !made.document.contains("NAME_OF_SECRET"), "{}", made.document);
    assert_eq!(taco_trace::digest::sha256_hex(made.document.as_bytes()), made.sha256);
}
