//! Requests to a provider: sent within time limits, again where that may help, and never with the key elsewhere.

use std::time::{Duration, SystemTime};

use backon::{BackoffBuilder, ExponentialBuilder};
use reqwest::Url;
use reqwest::blocking::{Client, Response};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use serde_json::Value;

use super::budget::{Budget, Price, worst_case};
use super::key::{Key, without_key_words};
use super::{ChatError, Usage};
use crate::outbound::{self, Unread, chain, error_message, is_late, one_line};

/// A longer reply is none: a model writes some thousand tokens.
const REPLY_BYTES: u64 = 32 << 20;

/// Where a model is served.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Address before the path that each provider's form adds: `https://api.anthropic.com`,
    /// `https://api.openai.com/v1`.
    pub base_url: String,
    /// Name of the model.
    pub model: String,
    /// The key; servers of closed networks may need none.
    pub key: Option<Key>,
    /// What the model costs, for a cap on costs.
    pub price: Option<Price>,
}

/// How long to wait, and how often to ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest time until a connection stands.
    pub connect: Duration,
    /// Longest time of one request, from connecting to the last byte of the reply.
    pub request: Duration,
    /// How often a request is sent again.
    pub retries: u32,
    /// The pause before it is sent again for the first time; each further one is twice as long. Up to as much again is
    /// added at random, so that clients which failed together do not come back together.
    pub first_pause: Duration,
    /// Longest pause before the random part is added.
    pub longest_pause: Duration,
    /// Longest pause that a server can ask for with `Retry-After`; it is cut to this.
    pub longest_asked: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            request: Duration::from_secs(120),
            retries: 4,
            first_pause: Duration::from_secs(1),
            longest_pause: Duration::from_secs(30),
            longest_asked: Duration::from_secs(60),
        }
    }
}

/// Time, given from outside, so that tests need not wait.
pub struct Clock {
    /// Waits so long.
    pub sleep: Box<dyn FnMut(Duration) + Send>,
    /// The time now, for a `Retry-After` that is a date.
    pub now: fn() -> SystemTime,
}

/// Sends requests to one endpoint.
pub(super) struct Sender {
    client: Client,
    url: Url,
    headers: HeaderMap,
    endpoint: Endpoint,
    limits: Limits,
    clock: Clock,
    budget: Budget,
}

/// What an attempt came to.
enum Attempt {
    /// The body of an answer with status 200, as JSON.
    Answered(Value),
    /// Asking again may help, after as long as the server asks for.
    Again(ChatError, Option<Duration>, Cost),
    /// It will not.
    Failed(ChatError, Cost),
}

/// Whether a failed attempt may be billed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cost {
    /// The server refused it, or never saw it.
    None,
    /// The reply, or a part of it, was made and lost.
    Unknown,
}

impl Sender {
    /// For `path` below the base address, with these headers on every request; those with the key are marked as
    /// sensitive by the caller.
    ///
    /// # Errors
    /// `Setup`.
    pub(super) fn new(
        endpoint: Endpoint,
        path: &str,
        mut headers: HeaderMap,
        limits: Limits,
        clock: Clock,
        budget: Budget,
    ) -> Result<Self, ChatError> {
        let url = address(&endpoint.base_url, path)?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let client = client(&url, &limits)?;
        Ok(Self { client, url, headers, endpoint, limits, clock, budget })
    }

    /// Name of the model.
    pub(super) fn model(&self) -> &str {
        &self.endpoint.model
    }

    /// Posts the body until it is answered, and returns what `read` makes of the answer.
    ///
    /// # Errors
    /// What the last attempt came to.
    pub(super) fn post<T>(
        &mut self,
        body: &Value,
        max_tokens: u32,
        read: impl Fn(&Value) -> Result<(T, Option<Usage>), ChatError>,
    ) -> Result<T, ChatError> {
        let body = serde_json::to_vec(body).map_err(|error| ChatError::Setup { message: error.to_string() })?;
        let worst = worst_case(body.len(), max_tokens);
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(self.limits.first_pause)
            .with_max_delay(self.limits.longest_pause)
            .with_max_times(self.limits.retries as usize)
            .with_jitter()
            .build();
        loop {
            let admitted = self.budget.admit(&self.endpoint.model, self.endpoint.price, worst)?;
            let (error, asked, cost) = match self.attempt(body.clone()) {
                Attempt::Answered(answer) => {
                    let reply = read(&answer);
                    self.budget.settle(&admitted, reply.as_ref().ok().and_then(|(_, usage)| *usage));
                    return reply.map(|(reply, _)| reply);
                }
                Attempt::Failed(error, cost) => (error, None, Some(cost)),
                Attempt::Again(error, asked, cost) => (error, Some(asked), Some(cost)),
            };
            if cost == Some(Cost::None) {
                self.budget.refused(&admitted);
            }
            let Some((pause, asked)) = asked.and_then(|asked| Some((pauses.next()?, asked))) else {
                return Err(error);
            };
            (self.clock.sleep)(asked.map_or(pause, |asked| asked.min(self.limits.longest_asked)));
        }
    }

    fn attempt(&self, body: Vec<u8>) -> Attempt {
        let sent = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let response = match sent.timeout(self.limits.request).send() {
            Ok(response) => response,
            Err(error) => {
                // Nothing can have been billed before a connection stood.
                let cost = if error.is_connect() { Cost::None } else { Cost::Unknown };
                return Attempt::Again(self.not_answered(error), None, cost);
            }
        };
        let status = response.status().as_u16();
        if response.status().is_redirection() && response.headers().contains_key(LOCATION) {
            return Attempt::Failed(ChatError::Redirected { server: self.server(), status }, Cost::None);
        }
        let asked = self.retry_after(&response);
        let body = match self.body(response) {
            Ok(body) => body,
            Err(error) => return Attempt::Again(error, None, Cost::Unknown),
        };
        if status == 200 {
            return self.answered(&body);
        }
        let parsed: Option<Value> = serde_json::from_str(&body).ok();
        let message = self.shown(&parsed.as_ref().map_or_else(|| body.clone(), error_message));
        let error = ChatError::Status { status, message };
        if may_help(status) && !parsed.as_ref().is_some_and(is_out_of_money) {
            Attempt::Again(error, asked, Cost::None)
        } else {
            Attempt::Failed(error, Cost::None)
        }
    }

    fn answered(&self, body: &str) -> Attempt {
        match serde_json::from_str::<Value>(body) {
            // Some gateways tell of errors with status 200.
            Ok(answer) if answer.get("error").is_some_and(|error| !error.is_null()) => {
                let error = ChatError::Status { status: 200, message: self.shown(&error_message(&answer)) };
                Attempt::Failed(error, Cost::None)
            }
            Ok(answer) => Attempt::Answered(answer),
            Err(error) => {
                let is_cut = error.is_eof();
                let error = ChatError::Unreadable { message: error.to_string() };
                // A body without a length that ends early was cut; anything else would come again.
                if is_cut { Attempt::Again(error, None, Cost::Unknown) } else { Attempt::Failed(error, Cost::Unknown) }
            }
        }
    }

    /// The whole body, without the key, should a server repeat it.
    fn body(&self, response: Response) -> Result<String, ChatError> {
        let bytes = outbound::body(response, REPLY_BYTES).map_err(|unread| match unread {
            Unread::Late => self.late(),
            Unread::Cut(error) => self.unreachable(&chain(&error)),
            Unread::TooLong => ChatError::Unreadable { message: format!("more than {REPLY_BYTES} bytes") },
        })?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(match &self.endpoint.key {
            Some(key) => key.removed_from(&text),
            None => text,
        })
    }

    fn not_answered(&self, error: reqwest::Error) -> ChatError {
        if is_late(&error) { self.late() } else { self.unreachable(&chain(&error.without_url())) }
    }

    fn late(&self) -> ChatError {
        let seconds = self.limits.request.as_millis().div_ceil(1_000);
        ChatError::TimedOut { server: self.server(), seconds: u64::try_from(seconds).unwrap_or(u64::MAX) }
    }

    fn unreachable(&self, message: &str) -> ChatError {
        ChatError::Unreachable { server: self.server(), message: self.shown(message) }
    }

    /// Scheme, host and port: nothing else of the address is told, which may hold names and passwords.
    fn server(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    fn retry_after(&self, response: &Response) -> Option<Duration> {
        let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
        if let Ok(seconds) = text.parse::<u64>() {
            return Some(Duration::from_secs(seconds));
        }
        let until = httpdate::parse_http_date(text).ok()?;
        Some(until.duration_since((self.clock.now)()).unwrap_or_default())
    }

    /// A foreign text as it is told: in one line, cut, without keys.
    fn shown(&self, text: &str) -> String {
        let text = self.endpoint.key.as_ref().map_or_else(|| text.to_owned(), |key| key.removed_from(text));
        without_key_words(&one_line(&text))
    }
}

/// A header whose value is a key: it is shown by no log.
///
/// # Errors
/// `Setup` when a header cannot hold it.
pub(super) fn key_header(headers: &mut HeaderMap, name: HeaderName, value: &str) -> Result<(), ChatError> {
    let mut value = HeaderValue::from_str(value)
        .map_err(|_| ChatError::Setup { message: "the key has signs that no header can hold".to_owned() })?;
    value.set_sensitive(true);
    headers.insert(name, value);
    Ok(())
}

/// The address of a path below the base.
fn address(base_url: &str, path: &str) -> Result<Url, ChatError> {
    let wrong = |message: &str| ChatError::Setup { message: message.to_owned() };
    let parse = |text: &str| text.parse().map_err(|_| wrong("the address of the server is no URL"));
    // Without the path, which would pass as a host where there is none.
    let base: Url = parse(base_url.trim())?;
    if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
        return Err(wrong("the address of the server begins with neither http:// nor https://"));
    }
    if base.query().is_some() || base.fragment().is_some() {
        return Err(wrong("the address of the server has a ? or #"));
    }
    parse(&format!("{}{path}", base.as_str().trim_end_matches('/')))
}

fn client(url: &Url, limits: &Limits) -> Result<Client, ChatError> {
    let builder = outbound::client(url.scheme() == "https").connect_timeout(limits.connect).timeout(limits.request);
    builder.build().map_err(|error| ChatError::Setup { message: chain(&error) })
}

/// Whether asking again may help.
const fn may_help(status: u16) -> bool {
    matches!(status, 408 | 409 | 429 | 500..=599)
}

/// Limits that stay reached until somebody pays, although their status is that of too many requests.
fn is_out_of_money(body: &Value) -> bool {
    let codes = [body.pointer("/error/code"), body.pointer("/error/type"), body.pointer("/error/details/error_code")];
    codes.into_iter().flatten().filter_map(Value::as_str).any(|code| {
        matches!(code, "insufficient_quota" | "enforced_spend_limit_reached" | "billing_hard_limit_reached")
    })
}
