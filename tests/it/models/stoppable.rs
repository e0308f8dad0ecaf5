//! A model that is waited for until somebody says not to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use taco_trace::chat::stoppable::Stoppable;
use taco_trace::chat::{ChatError, ChatModel, ChatReply, ChatRequest};

use super::super::support_model::{Answer, ModelServer, claude_says};
use super::{Made, question};

#[test]
fn reply_comes_through_and_the_model_can_be_asked_again() {
    let server = ModelServer::answering([claude_says("하나"), Answer::status(400, &"no".into()), claude_says("둘")]);
    let mut model = Stoppable::new(Box::new(Made::default().claude(&server)), || false);
    assert_eq!((model.provider(), model.name()), ("anthropic", "model-1"));
    assert_eq!(model.chat(&question("?")).unwrap().text, "하나");
    let expected = ChatError::Status { status: 400, message: "\"no\"".to_owned() };
    assert_eq!(model.chat(&question("?")), Err(expected));
    assert_eq!(model.chat(&question("?")).unwrap().text, "둘");
}

#[test]
fn stopped_before_nothing_is_sent() {
    let server = ModelServer::answering([claude_says("하나")]);
    let mut model = Stoppable::new(Box::new(Made::default().claude(&server)), || true);
    assert_eq!(model.chat(&question("?")), Err(ChatError::Stopped));
    assert_eq!(server.seen().len(), 0);
}

/// A model that says when it is asked and never replies.
struct Mute {
    asked: Sender<()>,
    go: Receiver<()>,
}

impl ChatModel for Mute {
    fn provider(&self) -> &str {
        "none"
    }

    fn name(&self) -> &str {
        "mute"
    }

    fn chat(&mut self, _: &ChatRequest) -> Result<ChatReply, ChatError> {
        self.asked.send(()).unwrap();
        self.go.recv().ok();
        Err(ChatError::NothingLeft)
    }
}

#[test]
fn reply_that_does_not_come_is_given_up_and_the_model_with_it() {
    let ((asked, is_asked), (_word, go)) = (channel(), channel());
    let is_stopped = AtomicBool::new(false);
    let mut model = Stoppable::new(Box::new(Mute { asked, go }), || is_stopped.load(Ordering::Relaxed));
    let stop = &is_stopped;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            is_asked.recv().unwrap();
            stop.store(true, Ordering::Relaxed);
        });
        assert_eq!(model.chat(&question("?")), Err(ChatError::Stopped));
    });
    is_stopped.store(false, Ordering::Relaxed);
    assert_eq!(model.chat(&question("?")), Err(ChatError::Stopped), "the model is gone");
}

struct Broken;

impl ChatModel for Broken {
    fn provider(&self) -> &str {
        "none"
    }

    fn name(&self) -> &str {
        "broken"
    }

    fn chat(&mut self, _: &ChatRequest) -> Result<ChatReply, ChatError> {
        panic!("a fault of ours")
    }
}

#[test]
#[should_panic(expected = "a fault of ours")]
fn panic_of_a_model_is_that_of_who_asks() {
    Stoppable::new(Box::new(Broken), || false).chat(&question("?")).ok();
}
