//! `eval token` and `eval serve`: who may ask, what is answered, and that an experiment can be written meanwhile.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::Value;
use taco_trace::gate::{PREFIX, admitted, config_hash, new_token};
use taco_trace::model::{EvalVerdict, GateToken};

use super::{Lab, START_NS, ended, hash};
use crate::support_cli::{program, terminated, told};

fn lab() -> Lab {
    let lab = Lab::new();
    lab.experiment("x1", &["a"], |_| ());
    lab.trial("x1", "a", 1, ended(EvalVerdict::Pass));
    lab.decide("x1", None, START_NS + 1_000);
    lab
}

fn issue(lab: &Lab) -> String {
    lab.said(&["token", "issue", "--label", "배포 CI", "--expires", "30"], 0).trim_end().to_owned()
}

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn new(lab: &Lab) -> Self {
        let mut command = program();
        command.args(["eval", "serve", "--listen", "127.0.0.1:0", "--db"]).arg(lab.place.db());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/api/ci/gate"));
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { child, address }
    }

    /// Sends this request line with these headers; status, head and body of the answer.
    fn send(&self, line: &str, headers: &[&str]) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let request = format!("{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    fn ask(&self, config: &str, token: &str) -> (u16, String, String) {
        let line = format!("GET /api/ci/gate?config_hash={config}");
        self.send(&line, &[&format!("Authorization: Bearer {token}")])
    }

    fn stop(mut self) -> (Option<i32>, String) {
        terminated(&mut self.child)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn right_token_is_answered_as_the_guide_says() {
    let lab = lab();
    let token = issue(&lab);
    let server = Server::new(&lab);
    let (status, head, body) = server.ask(&hash('c'), &token);
    assert_eq!(status, 200, "{body}");
    assert!(head.contains("content-type: application/json") && head.contains("cache-control: no-store"), "{head}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    super::gate::assert_schema(&answer);
    let expected = serde_json::json!({
        "found": true, "decision": "candidate", "label": "통과 후보", "reasons": [], "experiment_id": "x1",
    });
    assert_eq!(answer, expected);
    // In the order of the guide.
    let keys: Vec<usize> =
        ["found", "decision", "label", "reasons", "experiment_id"].iter().map(|key| body.find(key).unwrap()).collect();
    assert!(keys.is_sorted(), "{body}");
    let (status, _, body) = server.ask(&hash('d'), &token);
    assert_eq!((status, serde_json::from_str::<Value>(&body).unwrap()["found"].clone()), (200, Value::Bool(false)));
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert!(said.contains("답한 물음 2건, 거절한 물음 0건"), "{said}");
}

/// As on the command line: a run that was killed leaves no decision, and what was seen until then stands.
#[test]
fn critical_violation_is_answered_before_anything_was_decided() {
    let lab = Lab::new();
    lab.experiment("x1", &["a", "b"], |_| ());
    lab.begin("x1", "b", 1, 1);
    let mut end = ended(EvalVerdict::Fail);
    end.checks[0].verdict = EvalVerdict::Fail;
    end.checks[0].severity = "critical".to_owned();
    lab.trial("x1", "a", 1, end);
    let token = issue(&lab);
    let server = Server::new(&lab);
    let (status, _, body) = server.ask(&hash('c'), &token);
    let answer: Value = serde_json::from_str(&body).unwrap();
    super::gate::assert_schema(&answer);
    assert_eq!((status, &answer["decision"], &answer["found"]), (200, &"blocked".into(), &true.into()), "{body}");
}

#[test]
fn whoever_has_no_token_that_counts_gets_401() {
    let lab = lab();
    let token = issue(&lab);
    let revoked = issue(&lab);
    let ids = lab.place.rows("SELECT token_id FROM eval_tokens ORDER BY issued_at, token_id");
    let of_token = |token: &str| {
        let digest = taco_trace::digest::sha256_hex(token.as_bytes());
        lab.place.rows(&format!("SELECT token_id FROM eval_tokens WHERE token_sha256 = '{digest}'"))[0].clone()
    };
    assert_eq!(ids.len(), 2);
    lab.said(&["token", "revoke", &of_token(&revoked)], 0);
    let expired = new_token().unwrap();
    let kept = GateToken {
        token_id: "old".to_owned(),
        project_id: "p".to_owned(),
        token_sha256: taco_trace::digest::sha256_hex(expired.as_bytes()),
        label: "l".to_owned(),
        issued_at: super::AT.to_owned(),
        expires_ns: 1,
        revoked_at: None,
    };
    lab.store().add_gate_token(&kept).unwrap();
    let server = Server::new(&lab);
    let sent = |headers: &[&str]| server.send(&format!("GET /api/ci/gate?config_hash={}", hash('c')), headers);
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    for (what, headers) in [
        ("none", vec![]),
        ("empty", vec!["Authorization: Bearer ".to_owned()]),
        ("another scheme", vec![format!("Authorization: Basic {token}")]),
        ("a wrong one", vec![bearer(&new_token().unwrap())]),
        ("its beginning", vec![bearer(&token[..token.len() - 1])]),
        ("its hash", vec![bearer(&kept.token_sha256)]),
        ("an expired one", vec![bearer(&expired)]),
        ("a revoked one", vec![bearer(&revoked)]),
        ("two of them", vec![bearer(&token), bearer(&token)]),
    ] {
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        let (status, head, body) = sent(&headers);
        assert_eq!(status, 401, "{what}: {body}");
        assert!(head.contains("www-authenticate: bearer") && head.contains("cache-control: no-store"), "{head}");
        assert!(!body.contains("x1") && !body.contains("found"), "{body}");
    }
    // Nothing of the question is told to those who may not ask.
    assert_eq!(server.ask("no-hash", &revoked).0, 401);
    assert_eq!(server.ask(&hash('c'), &token).0, 200);
}

#[test]
fn other_questions_get_400_404_and_405() {
    let lab = lab();
    let token = issue(&lab);
    let server = Server::new(&lab);
    for text in ["", "abc", &hash('g'), &(hash('c') + "c"), &format!("{}&config_hash={}", hash('c'), hash('c'))] {
        let (status, head, body) = server.ask(text, &token);
        assert_eq!(status, 400, "{text}: {body}");
        assert!(head.contains("cache-control: no-store"), "{head}");
    }
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(server.send("GET /api/ci/gate", &[&bearer]).0, 400);
    for path in ["/", "/api/ci/gate/", "/api/ci", "/api/sandbox/", "/api/ci/gate%20"] {
        assert_eq!(server.send(&format!("GET {path}?config_hash={}", hash('c')), &[&bearer]).0, 404, "{path}");
    }
    // No trial is open in the sandbox, and every token is refused there.
    assert_eq!(server.send("GET /api/sandbox/x/status", &[&bearer]).0, 401);
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        let (status, head, _) = server.send(&format!("{method} /api/ci/gate?config_hash={}", hash('c')), &[&bearer]);
        assert_eq!((status, head.contains("allow: get")), (405, true), "{method}");
    }
}

#[test]
fn token_of_one_project_does_not_see_another() {
    let lab = lab();
    lab.store().keep_project("q", "다른 프로젝트", super::AT).unwrap();
    let output = lab.eval(&["token", "issue", "--label", "l", "--expires", "30"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(told(&output).contains("p, q"), "{}", told(&output));
    let other = lab.said(&["token", "issue", "--label", "l", "--expires", "30", "--project", "q"], 0);
    let own = lab.said(&["token", "issue", "--label", "l", "--expires", "30", "--project", "p"], 0);
    let server = Server::new(&lab);
    let found = |token: &str| {
        let body = server.ask(&hash('c'), token.trim_end()).2;
        serde_json::from_str::<Value>(&body).unwrap()["found"] == Value::Bool(true)
    };
    assert_eq!((found(&other), found(&own)), (false, true));
}

#[test]
fn store_can_be_written_between_questions_and_what_is_written_is_answered() {
    let lab = lab();
    let token = issue(&lab);
    let server = Server::new(&lab);
    let decision = || {
        let (status, _, body) = server.ask(&hash('c'), &token);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!(decision(), "candidate");
    lab.experiment("x2", &["a"], |experiment| experiment.started_ns += 1);
    assert_eq!(decision(), "held");
    lab.trial("x2", "a", 1, ended(EvalVerdict::Fail));
    lab.decide("x2", None, START_NS + 2_000);
    assert_eq!(decision(), "review");
    // A token that is taken back counts no more at once.
    let id = lab.place.rows("SELECT token_id FROM eval_tokens").concat();
    lab.said(&["token", "revoke", &id], 0);
    assert_eq!(server.ask(&hash('c'), &token).0, 401);
}

#[test]
fn store_that_is_held_or_gone_gets_503() {
    let lab = lab();
    let token = issue(&lab);
    let server = Server::new(&lab);
    let holding = lab.store();
    let (status, head, _) = server.ask(&hash('c'), &token);
    assert_eq!((status, head.contains("retry-after: 1")), (503, true), "{head}");
    drop(holding);
    assert_eq!(server.ask(&hash('c'), &token).0, 200);
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert!(said.contains("503"), "{said}");
}

#[test]
fn many_questions_at_once_are_all_answered() {
    let lab = lab();
    let token = issue(&lab);
    let server = Server::new(&lab);
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..16)
            .map(|number| {
                let (server, token) = (&server, &token);
                scope.spawn(move || match number % 2 {
                    0 => server.ask(&hash('c'), token).0,
                    _ => server.ask(&hash('c'), "ievt_wrong").0,
                })
            })
            .collect();
        let statuses: Vec<u16> = asked.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(statuses, [200, 401].repeat(8));
    });
}

#[test]
fn token_is_shown_once_and_kept_as_its_hash_only() {
    let lab = lab();
    let token = issue(&lab);
    assert!(token.starts_with(PREFIX) && token.len() == PREFIX.len() + 64, "{token}");
    assert_ne!(token, issue(&lab));
    let bytes = std::fs::read(lab.place.db()).unwrap();
    assert!(!bytes.windows(32).any(|window| window == &token.as_bytes()[5..37]));
    let list = lab.said(&["token", "list"], 0);
    assert!(list.contains("배포 CI") && list.contains("쓸 수 있음") && !list.contains(PREFIX), "{list}");
    let json: Value = serde_json::from_str(&lab.said(&["token", "list", "--format", "json"], 0)).unwrap();
    assert_eq!((json[0]["state"].as_str(), json[0]["project_id"].as_str()), (Some("live"), Some("p")));
    assert!(json[0].get("token_sha256").is_none());
    let id = json[0]["token_id"].as_str().unwrap();
    lab.said(&["token", "revoke", id], 0);
    lab.said(&["token", "revoke", id], 0);
    assert_eq!(lab.place.rows("SELECT COUNT(*) FROM eval_token_revocations"), ["1"]);
    assert!(lab.said(&["token", "list"], 0).contains("취소"));
    let output = lab.eval(&["token", "revoke", &token]);
    assert_eq!(output.status.code(), Some(2));
    assert!(lab.eval(&["serve", "--listen", "nowhere"]).status.code() == Some(2));
}

#[test]
fn token_that_could_not_be_written_is_taken_back() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: there is no /dev/full");
        return;
    };
    let lab = lab();
    let mut command = program();
    command.args(["eval", "token", "issue", "--label", "l", "--expires", "9", "--db"]).arg(lab.place.db());
    let output = command.stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    let rows = lab.place.rows(
        "SELECT t.token_id, r.token_id = t.token_id FROM eval_tokens t
         LEFT JOIN eval_token_revocations r ON r.token_id = t.token_id",
    );
    let id = rows[0].strip_suffix("|true").unwrap_or_else(|| panic!("{rows:?}"));
    let said = told(&output);
    assert!(said.contains(&format!("취소했습니다: `{id}`")) && !said.contains("발급했습니다"), "{said}");
}

#[test]
fn project_of_a_token_and_of_the_gate_may_be_named_by_its_file() {
    let lab = lab();
    let file = lab.place.write("p.toml", "[project]\nid='p'\ncases='c'\n[targets.t]\nkind='script'\nscripts='s'\n");
    let file = file.to_str().unwrap();
    lab.said(&["token", "issue", "--label", "l", "--expires", "9", "-p", file], 0);
    lab.said(&["token", "issue", "--label", "l", "--expires", "9", "-p", "p"], 0);
    assert_eq!(lab.place.rows("SELECT DISTINCT project_id FROM eval_tokens"), ["p"]);
    let hash = super::hash('9');
    let by_name = lab.eval(&["gate", "--config-hash", &hash, "-p", "p"]);
    let by_file = lab.eval(&["gate", "--config-hash", &hash, "-p", file]);
    assert_eq!((by_name.status.code(), by_name.stdout), (by_file.status.code(), by_file.stdout));
}

#[test]
fn time_of_a_token_has_an_end_in_the_future() {
    let lab = lab();
    for wrong in ["0", "-1", "367", "2020-01-01", "2999-01-01", "soon", "", "9999999999999999999"] {
        let output = lab.eval(&["token", "issue", "--label", "l", &format!("--expires={wrong}")]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    // As a word of its own it is a value too, not an option.
    for wrong in ["-1", "367"] {
        let output = lab.eval(&["token", "issue", "--label", "l", "--expires", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        let said = told(&output);
        assert!(said.contains(&format!("`{wrong}`")) && said.contains("1일부터 366일까지"), "{said}");
    }
    for right in ["1", "366", "30d"] {
        lab.said(&["token", "issue", "--label", "l", "--expires", right], 0);
    }
    assert_eq!(lab.eval(&["token", "issue", "--label", " ", "--expires", "1"]).status.code(), Some(2));
    let empty = Lab::new();
    empty.store().execute("DELETE FROM eval_projects").unwrap();
    assert_eq!(empty.eval(&["token", "issue", "--label", "l", "--expires", "1"]).status.code(), Some(2));
    assert_eq!(empty.said(&["token", "list"], 0), "발급한 토큰이 없습니다.\n");
}

#[test]
fn token_counts_until_its_end_and_not_at_it() {
    let token = new_token().unwrap();
    let kept = |sha256: String, revoked: Option<&str>| GateToken {
        token_id: "1".to_owned(),
        project_id: "p".to_owned(),
        token_sha256: sha256,
        label: "l".to_owned(),
        issued_at: super::AT.to_owned(),
        expires_ns: 100,
        revoked_at: revoked.map(str::to_owned),
    };
    let digest = taco_trace::digest::sha256_hex(token.as_bytes());
    let own = kept(digest.clone(), None);
    let others = [kept("0".repeat(64), None), own.clone(), kept("f".repeat(64), None)];
    assert_eq!(admitted(&others, &token, 99), Some(&own));
    assert_eq!(admitted(&others, &token, 100), None);
    assert_eq!(admitted(&others, &token, 101), None);
    assert_eq!(admitted(&[kept(digest, Some("t"))], &token, 1), None);
    assert_eq!(admitted(&[], &token, 1), None);
    assert_eq!(config_hash(&hash('A')), Some(hash('a')));
    assert_eq!(config_hash(&hash('z')), None);
}
