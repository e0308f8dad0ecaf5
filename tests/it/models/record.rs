//! Records of exchanges, and a model that answers from them.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use taco_trace::chat::record::{Recorder, Replay, request_sha256};
use taco_trace::chat::{ChatError, ChatModel, ChatReply, ChatRequest};

use super::super::support_model::{Answer, ModelServer, claude, claude_says};
use super::{KEY, Made, question};

/// A file of the tests.
#[derive(Clone, Default)]
struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Asks these questions through a recorder.
fn recorded(server: &ModelServer, questions: &[&str]) -> (String, Vec<ChatReply>) {
    let paper = Paper::default();
    let mut model = Recorder::new(Box::new(Made::default().claude(server)), Box::new(paper.clone()));
    assert_eq!((model.provider(), model.name()), ("anthropic", "model-1"));
    let replies = questions.iter().map(|text| model.chat(&question(text)).unwrap()).collect();
    (paper.text(), replies)
}

fn replay(text: &str) -> Replay {
    Replay::read("anthropic", "model-1", text.as_bytes()).unwrap()
}

#[test]
fn replies_come_back_in_order_for_each_request() {
    let calls = json!([{ "type": "tool_use", "id": "t", "name": "search", "input": { "q": "가\n나" } }]);
    let server = ModelServer::answering([
        claude_says("첫째."),
        Answer::ok(&claude(&calls, "tool_use")),
        Answer::ok(&claude(&json!([]), "max_tokens")),
        Answer::ok(&claude(&json!([]), "refusal")),
    ]);
    let (text, replies) = recorded(&server, &["같은 물음", "다른 물음", "같은 물음", "같은 물음"]);
    assert_eq!(text.lines().count(), 4);
    assert!(!text.contains(KEY) && !text.contains("127.0.0.1"), "{text}");
    let mut model = replay(&text);
    assert_eq!((model.provider(), model.name()), ("anthropic", "model-1"));
    // Another order of the questions: each has its own.
    for (asked, at) in [("다른 물음", 1), ("같은 물음", 0), ("같은 물음", 2), ("같은 물음", 3)] {
        assert_eq!(model.chat(&question(asked)).as_ref(), Ok(&replies[at]), "{asked} {at}");
    }
    assert_eq!(model.chat(&question("같은 물음")), Err(ChatError::NothingLeft));
    let unknown = question("처음 듣는 물음");
    let sha256 = request_sha256("anthropic", "model-1", &unknown);
    assert_eq!(model.chat(&unknown), Err(ChatError::NotRecorded { sha256 }));
    assert_eq!(server.seen().len(), 4);
}

#[test]
fn line_has_what_was_asked_and_answered() {
    let (text, _) = recorded(&ModelServer::answering([claude_says("답입니다.")]), &["물음"]);
    let line: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(line["request"]["messages"], json!([{ "role": "user", "text": "물음" }]));
    assert_eq!(line["reply"]["text"], "답입니다.");
    assert_eq!(line["usage"], json!({ "input_tokens": 100, "output_tokens": 20 }));
    assert_eq!(line["request_sha256"], request_sha256("anthropic", "model-1", &question("물음")));
}

#[test]
fn request_is_named_by_all_of_it_and_not_by_the_order_of_keys() {
    let name = |request: &ChatRequest| request_sha256("anthropic", "m", request);
    let plain = question("물음");
    let mut swapped = plain.clone();
    swapped.tools[0].parameters =
        serde_json::from_str(r#"{ "properties": { "q": { "type": "string" } }, "type": "object" }"#).unwrap();
    assert_eq!(name(&swapped), name(&plain));
    let mut others = vec![question("물음?"); 4];
    others[1] = ChatRequest { system: String::new(), ..plain.clone() };
    others[2] = ChatRequest { max_tokens: 501, ..plain.clone() };
    others[3].tools[0].description.clear();
    for other in &others {
        assert_ne!(name(other), name(&plain));
    }
    assert_ne!(request_sha256("openai", "m", &plain), name(&plain));
    assert_ne!(request_sha256("anthropic", "n", &plain), name(&plain));
}

#[test]
fn lines_of_other_models_are_left_alone_and_broken_ones_told() {
    let (text, _) = recorded(&ModelServer::answering([claude_says("답.")]), &["물음"]);
    let mut other = Replay::read("openai", "model-1", text.as_bytes()).unwrap();
    assert!(matches!(other.chat(&question("물음")), Err(ChatError::NotRecorded { .. })));
    assert!(replay(&format!("\n{text}\n")).chat(&question("물음")).is_ok());
    for broken in ["no json".to_owned(), "{}".to_owned(), text.replace("taco-trace-chat/1", "taco-trace-chat/2")] {
        let error = Replay::read("anthropic", "model-1", format!("{text}{broken}\n").as_bytes()).err();
        assert!(matches!(error, Some(ChatError::RecordUnreadable { line: 2, .. })), "{broken}: {error:?}");
    }
    let error = Replay::read("anthropic", "model-1", &b"\xff\xfe"[..]).err();
    assert!(matches!(error, Some(ChatError::RecordUnreadable { line: 1, .. })), "{error:?}");
}

/// A model that fails leaves no line; a full disk is told.
#[test]
fn failures_are_not_recorded_and_failing_to_record_is_told() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from(std::io::ErrorKind::StorageFull))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let server = ModelServer::answering([Answer::status(400, &json!({})), claude_says("답.")]);
    let paper = Paper::default();
    let mut model = Recorder::new(Box::new(Made::default().claude(&server)), Box::new(paper.clone()));
    model.chat(&question("물음")).unwrap_err();
    assert_eq!(paper.text(), "");
    let mut model = Recorder::new(Box::new(Made::default().claude(&server)), Box::new(Full));
    let error = model.chat(&question("물음")).unwrap_err();
    assert!(matches!(error, ChatError::RecordNotWritten { .. }), "{error:?}");
}
