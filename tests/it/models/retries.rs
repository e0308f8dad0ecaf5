//! When a request is sent again, after which pause, and what is told in the end.

use std::time::Duration;

use serde_json::json;
use taco_trace::chat::http::Limits;
use taco_trace::chat::key::{Key, without_key_words};
use taco_trace::chat::{ChatError, ChatModel};

use super::super::support_model::{Answer, ModelServer, claude_says, gpt_says};
use super::{KEY, Made, date_in, question};

fn error(status: u16, message: &str) -> Answer {
    Answer::status(status, &json!({ "type": "error", "error": { "type": "some_error", "message": message } }))
}

/// A whole answer that begins so and ends before its length.
fn cut() -> Answer {
    Answer::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"content\": [".to_vec())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn what_may_help_is_asked_again() {
    for status in [408, 409, 429, 500, 502, 503, 504, 529] {
        let server = ModelServer::answering([error(status, "busy"), claude_says("예.")]);
        let made = Made::default();
        assert_eq!(made.claude(&server).chat(&question("?")).unwrap().text, "예.", "{status}");
        assert_eq!(server.seen().len(), 2, "{status}");
        let [pause] = made.paused()[..] else { panic!("{:?}", made.paused()) };
        // The first pause, and up to as much again.
        assert!(pause >= seconds(1) && pause <= seconds(2), "{status}: {pause:?}");
    }
}

#[test]
fn what_cannot_help_is_told_at_once() {
    for status in [400, 401, 403, 404, 413, 422] {
        let server = ModelServer::answering([error(status, "no")]);
        let made = Made::default();
        for mut model in made.both(&server) {
            let expected = ChatError::Status { status, message: "no".to_owned() };
            assert_eq!(model.chat(&question("?")), Err(expected));
        }
        assert_eq!(server.seen().len(), 2, "{status}");
        assert_eq!(made.paused(), [Duration::ZERO; 0]);
    }
}

/// Too many requests by the status, but no wait fills an account.
#[test]
fn empty_account_is_told_at_once() {
    for body in [
        json!({ "error": { "message": "quota", "type": "insufficient_quota", "code": "insufficient_quota" } }),
        json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "quota",
                "details": { "error_code": "enforced_spend_limit_reached" } } }),
    ] {
        let server = ModelServer::answering([Answer::status(429, &body)]);
        let expected = ChatError::Status { status: 429, message: "quota".to_owned() };
        assert_eq!(Made::default().gpt(&server).chat(&question("?")), Err(expected));
        assert_eq!(server.seen().len(), 1, "{body}");
    }
}

#[test]
fn pauses_double_and_the_last_error_is_told() {
    let server = ModelServer::answering([error(500, "first"), error(503, "second"), error(529, "Overloaded")]);
    let made = Made::default();
    let expected = ChatError::Status { status: 529, message: "Overloaded".to_owned() };
    assert_eq!(made.claude(&server).chat(&question("?")), Err(expected));
    assert_eq!(server.seen().len(), 3);
    let [first, second] = made.paused()[..] else { panic!("{:?}", made.paused()) };
    assert!(first >= seconds(1) && first <= seconds(2), "{first:?}");
    assert!(second >= seconds(2) && second <= seconds(4), "{second:?}");
}

#[test]
fn no_retry_means_one_request() {
    let server = ModelServer::answering([error(500, "no")]);
    let made = Made { limits: Limits { retries: 0, ..Made::default().limits }, ..Made::default() };
    made.claude(&server).chat(&question("?")).unwrap_err();
    assert_eq!((server.seen().len(), made.paused().len()), (1, 0));
}

#[test]
fn retry_after_is_kept_to_up_to_its_ceiling() {
    let ceiling = Limits::default().longest_asked.as_secs();
    for (asked, expected) in [
        ("0".to_owned(), 0),
        ("7".to_owned(), 7),
        ((ceiling - 1).to_string(), ceiling - 1),
        (ceiling.to_string(), ceiling),
        ((ceiling + 1).to_string(), ceiling),
        (u64::MAX.to_string(), ceiling),
        (date_in(9), 9),
        (date_in(ceiling - 1), ceiling - 1),
        (date_in(ceiling), ceiling),
        (date_in(ceiling + 1), ceiling),
        // The past.
        ("Wed, 21 Oct 2015 07:28:00 GMT".to_owned(), 0),
    ] {
        let server = ModelServer::answering([error(429, "slow down").with("retry-after", &asked), gpt_says("예.")]);
        let made = Made::default();
        made.gpt(&server).chat(&question("?")).unwrap();
        assert_eq!(made.paused(), [seconds(expected)], "{asked}");
    }
    for unusable in ["soon", "-1", "1.5", ""] {
        let server = ModelServer::answering([error(503, "").with("retry-after", unusable), gpt_says("예.")]);
        let made = Made::default();
        made.gpt(&server).chat(&question("?")).unwrap();
        assert!(made.paused()[0] >= seconds(1) && made.paused()[0] <= seconds(2), "{unusable}: {:?}", made.paused());
    }
}

#[test]
fn body_that_is_cut_is_asked_for_again() {
    let without_length = Answer::Bytes(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{\"content\": [".to_vec());
    let hung_up = Answer::Bytes(Vec::new());
    for broken in [cut(), without_length, hung_up] {
        let server = ModelServer::answering([broken.clone(), claude_says("예.")]);
        let made = Made::default();
        assert_eq!(made.claude(&server).chat(&question("?")).unwrap().text, "예.", "{broken:?}");
        assert_eq!((server.seen().len(), made.paused().len()), (2, 1), "{broken:?}");
    }
    let server = ModelServer::answering([cut()]);
    let error = Made::default().claude(&server).chat(&question("?")).unwrap_err();
    assert!(matches!(&error, ChatError::Unreachable { server: address, .. } if *address == server.url()), "{error:?}");
    assert_eq!(server.seen().len(), 3);
}

#[test]
fn server_that_is_not_there_is_asked_again_and_told() {
    // A port that was free a moment ago: the listener is closed at once.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let made = Made::default();
    let endpoint = made.endpoint(format!("http://user:{KEY}@127.0.0.1:{port}/path"));
    let mut model =
        taco_trace::chat::openai::OpenAi::new(endpoint, made.limits, made.clock(), made.budget.clone()).unwrap();
    let error = model.chat(&question("?")).unwrap_err();
    let ChatError::Unreachable { server, message } = &error else { panic!("{error:?}") };
    assert_eq!(*server, format!("http://127.0.0.1:{port}"));
    assert!(!message.contains("path") && !message.contains(KEY), "{message}");
    assert_eq!(made.paused().len(), 2);
    assert_eq!(made.budget.spent().calls, 3);
}

#[test]
fn server_that_does_not_answer_is_given_up() {
    let server = ModelServer::answering([Answer::Silence]);
    let limits = Limits { request: Duration::from_millis(50), retries: 1, ..Limits::default() };
    let made = Made { limits, ..Made::default() };
    let error = made.claude(&server).chat(&question("?")).unwrap_err();
    assert_eq!(error, ChatError::TimedOut { server: server.url(), seconds: 1 });
    assert_eq!(made.paused().len(), 1);
}

#[test]
fn key_is_not_carried_elsewhere() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = ModelServer::answering([claude_says("예.")]);
        let target = format!("{}/v1/messages", elsewhere.url());
        let server = ModelServer::answering([error(status, "").with("location", &target)]);
        for mut model in Made::default().both(&server) {
            let expected = ChatError::Redirected { server: server.url(), status };
            assert_eq!(model.chat(&question("?")), Err(expected));
        }
        assert_eq!((server.seen().len(), elsewhere.seen().len()), (2, 0), "{status}");
    }
}

#[test]
fn message_of_an_error_is_found_in_each_form_and_cut() {
    for (body, message) in [
        (r#"{"error":{"message":"a\nb\u001b[2J"}}"#, "a b [2J"),
        (r#"{"error":"plain"}"#, "plain"),
        (r#"{"object":"error","message":"vllm"}"#, "vllm"),
        (r#"{"detail":"Not Found"}"#, "Not Found"),
        (r#"{"detail":[{"loc":1}]}"#, r#"{"detail":[{"loc":1}]}"#),
        ("<html> no </html>", "<html> no </html>"),
        ("", ""),
    ] {
        let server = ModelServer::answering([Answer::Json(400, Vec::new(), body.to_owned())]);
        let expected = ChatError::Status { status: 400, message: message.to_owned() };
        assert_eq!(Made::default().gpt(&server).chat(&question("?")), Err(expected), "{body}");
    }
    for (length, shown) in [(299, 299), (300, 300), (301, 301)] {
        let server = ModelServer::answering([error(400, &"가".repeat(length))]);
        let ChatError::Status { message, .. } = Made::default().gpt(&server).chat(&question("?")).unwrap_err() else {
            panic!("no status")
        };
        // 300 characters, and a sign that there was more.
        assert_eq!((message.chars().count(), message.ends_with('…')), (shown, length > 300));
    }
}

#[test]
fn key_that_a_server_repeats_is_told_to_nobody() {
    let text = format!("Incorrect API key provided: {KEY}, or sk-proj-abc***xyz.");
    let server = ModelServer::answering([error(401, &text), claude_says(&format!("열쇠는 {KEY} 입니다."))]);
    let mut model = Made::default().claude(&server);
    let told = model.chat(&question("?")).unwrap_err();
    let expected = "Incorrect API key provided: ***, or ***".to_owned();
    assert_eq!(told, ChatError::Status { status: 401, message: expected });
    assert_eq!(model.chat(&question("?")).unwrap().text, "열쇠는 *** 입니다.");
}

#[test]
fn key_shows_nothing_of_itself() {
    let key = Key::new(&format!("  {KEY}\n")).unwrap();
    assert_eq!(format!("{key:?}"), "Key(***)");
    assert_eq!(key.removed_from(&format!("a{KEY}b{KEY}")), "a***b***");
    // What servers of closed networks want as a key is no secret, and may be a word.
    // A short one is taken out as a word of its own alone.
    assert_eq!(
        Key::new("EMPTY").unwrap().removed_from("EMPTY: the EMPTY set, EMPTYING it"),
        "***: the *** set, EMPTYING it"
    );
    assert_eq!(Key::new("1234567").unwrap().removed_from("1234567 x1234567"), "*** x1234567");
    // As JSON writes it within a text.
    let quoted = Key::new(r#"ab"c\d-KEYKEY"#).unwrap();
    assert_eq!(quoted.removed_from(r#"{"text":"ab\"c\\d-KEYKEY"} ab"c\d-KEYKEY"#), r#"{"text":"***"} ***"#);
    assert_eq!(Key::new("12345678").unwrap().removed_from("12345678"), "***");
    assert_eq!(Key::new(" \n"), None);
    assert_eq!(without_key_words("말 sk-abc, task-1 sk- (sk-ant-x)"), "말 ***, task-1 sk- (***)");
}
