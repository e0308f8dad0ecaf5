//! Models that are asked: wire forms, retries, the cap, records, and drafts of descriptions by them.

mod budget;
mod drafts;
mod objections;
mod options;
mod record;
mod retries;
mod stoppable;
mod wire;

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use taco_trace::chat::anthropic::Anthropic;
use taco_trace::chat::budget::{Budget, Price};
use taco_trace::chat::http::{Clock, Endpoint, Limits};
use taco_trace::chat::key::Key;
use taco_trace::chat::openai::OpenAi;
use taco_trace::chat::{ChatModel, ChatRequest, Message, ToolOffer};

use super::support_model::ModelServer;

/// The key of the tests: it must stand nowhere but in a header.
const KEY: &str = "test-key-0123456789abcdef";

/// The time of the tests, in seconds since 1970 UTC: 2026-10-07 00:00.
const NOW: u64 = 1_791_331_200;

/// The pauses that a client asked for, in order.
type Pauses = Arc<Mutex<Vec<Duration>>>;

/// How a client of the tests is made.
struct Made {
    limits: Limits,
    budget: Budget,
    price: Option<Price>,
    key: Option<&'static str>,
    pauses: Pauses,
}

impl Default for Made {
    fn default() -> Self {
        let limits = Limits { retries: 2, request: Duration::from_secs(20), ..Limits::default() };
        Self { limits, budget: Budget::default(), price: None, key: Some(KEY), pauses: Pauses::default() }
    }
}

impl Made {
    fn endpoint(&self, base_url: String) -> Endpoint {
        Endpoint { base_url, model: "model-1".to_owned(), key: self.key.and_then(Key::new), price: self.price }
    }

    /// A clock that stands still; what it is asked to wait is noted.
    fn clock(&self) -> Clock {
        let pauses = Arc::clone(&self.pauses);
        let sleep = move |pause| pauses.lock().unwrap().push(pause);
        Clock { sleep: Box::new(sleep), now: || UNIX_EPOCH + Duration::from_secs(NOW) }
    }

    fn claude(&self, server: &ModelServer) -> Anthropic {
        Anthropic::new(self.endpoint(server.url()), self.limits, self.clock(), self.budget.clone()).unwrap()
    }

    fn gpt(&self, server: &ModelServer) -> OpenAi {
        let endpoint = self.endpoint(format!("{}/v1", server.url()));
        OpenAi::new(endpoint, self.limits, self.clock(), self.budget.clone()).unwrap()
    }

    fn both(&self, server: &ModelServer) -> [Box<dyn ChatModel>; 2] {
        [Box::new(self.claude(server)), Box::new(self.gpt(server))]
    }

    fn paused(&self) -> Vec<Duration> {
        self.pauses.lock().unwrap().clone()
    }
}

fn question(text: &str) -> ChatRequest {
    ChatRequest {
        system: "규정을 찾는 사람입니다.".to_owned(),
        messages: vec![Message::User(text.to_owned())],
        tools: vec![ToolOffer {
            name: "search".to_owned(),
            description: "규정을 찾습니다.".to_owned(),
            parameters: json!({ "type": "object", "properties": { "q": { "type": "string" } } }),
        }],
        max_tokens: 500,
    }
}

/// The date of HTTP that is so many seconds from the time of the tests.
fn date_in(seconds: u64) -> String {
    let then: SystemTime = UNIX_EPOCH + Duration::from_secs(NOW + seconds);
    httpdate::fmt_http_date(then)
}
