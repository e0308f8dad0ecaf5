//! A model that is no longer waited for when what asks it is stopped.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::{ChatError, ChatModel, ChatReply, ChatRequest};

/// How often is looked whether to stop, while a reply is waited for.
const LOOK: Duration = Duration::from_millis(100);

/// Around any model. A request that is given up goes on by itself until it is answered or late, and may be billed; the
/// model behind it is not asked again.
pub struct Stoppable<S> {
    /// None when a request was given up.
    model: Option<Box<dyn ChatModel>>,
    provider: String,
    name: String,
    is_stopped: S,
}

impl<S: Fn() -> bool + Send> Stoppable<S> {
    /// `is_stopped` says whether to wait no longer; it is asked ten times a second.
    pub fn new(model: Box<dyn ChatModel>, is_stopped: S) -> Self {
        let (provider, name) = (model.provider().to_owned(), model.name().to_owned());
        Self { model: Some(model), provider, name, is_stopped }
    }
}

impl<S: Fn() -> bool + Send> ChatModel for Stoppable<S> {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        if (self.is_stopped)() {
            return Err(ChatError::Stopped);
        }
        let mut model = self.model.take().ok_or(ChatError::Stopped)?;
        let (answer, answered) = channel();
        let request = request.clone();
        let asking = thread::Builder::new().name("model".to_owned()).spawn(move || {
            let reply = model.chat(&request);
            // Nobody takes it when it was given up.
            answer.send((model, reply)).ok();
        });
        let asking = asking.map_err(|error| ChatError::Setup { message: error.to_string() })?;
        loop {
            match answered.recv_timeout(LOOK) {
                Ok((model, reply)) => {
                    self.model = Some(model);
                    return reply;
                }
                Err(RecvTimeoutError::Timeout) if (self.is_stopped)() => return Err(ChatError::Stopped),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread ended without an answer, which only a panic does.
                Err(RecvTimeoutError::Disconnected) => match asking.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => return Err(ChatError::Stopped),
                },
            }
        }
    }
}
