//! The client of `irumx-eval-target/1`. It asks once: a turn that is asked again would be done again.

use std::fmt;
use std::time::Duration;

use reqwest::blocking::Client;
use reqwest::header::{
    ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, HeaderName, HeaderValue, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use serde_json::Value;

use super::address::{Pinned, Resolve, pin};
use super::error::TargetError;
use super::wire::{Answer, Preflight, TurnRequest, preflight_request, read_answer, read_preflight};
use crate::chat::key::Key;
use crate::outbound::{self, Unread, chain, error_message, is_late, one_line};

/// Headers that belong to the connection, not to the user.
const OWN_HEADERS: [HeaderName; 10] =
    [ACCEPT, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, TE, TRANSFER_ENCODING, UPGRADE];

/// How long to wait for a target, and how much to read of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest time until a connection stands.
    pub connect: Duration,
    /// Longest time of one request, from connecting to the last byte of the answer.
    pub request: Duration,
    /// Longest answer, in bytes.
    pub answer_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), request: Duration::from_secs(120), answer_bytes: 4 << 20 }
    }
}

/// A header that each request carries. `Debug` shows its name only.
#[derive(Clone)]
pub struct AuthHeader {
    name: HeaderName,
    value: HeaderValue,
    /// The value, and its last word: a target may repeat a token without the scheme before it.
    secrets: Vec<Key>,
}

impl AuthHeader {
    /// A header of this name with this value, as the user's environment or file has it.
    ///
    /// # Errors
    /// `Setup` when HTTP cannot hold it, or the connection sets such a header itself.
    pub fn new(name: &str, value: &Key) -> Result<Self, TargetError> {
        let setup = |message: &str| TargetError::Setup { message: message.to_owned() };
        let name = HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| setup("no name of a header"))?;
        if OWN_HEADERS.contains(&name) {
            return Err(setup(&format!("the connection sets {name} itself")));
        }
        let text = value.expose();
        let mut held = HeaderValue::from_str(text).map_err(|_| setup("the value has signs that no header can hold"))?;
        held.set_sensitive(true);
        let last = text.rsplit(' ').next().and_then(Key::new);
        Ok(Self { name, value: held, secrets: [value.clone()].into_iter().chain(last).collect() })
    }

    fn removed_from(&self, text: &str) -> String {
        self.secrets.iter().fold(text.to_owned(), |text, secret| secret.removed_from(&text))
    }
}

impl fmt::Debug for AuthHeader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuthHeader").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A target that can be asked. Each request goes to the addresses that its name had when the client was made.
#[derive(Debug)]
pub struct HttpTarget {
    client: Client,
    pinned: Pinned,
    auth: Option<AuthHeader>,
    limits: Limits,
}

impl HttpTarget {
    /// A client for an address, which is judged and resolved first; see [`pin`]. Nothing is sent.
    ///
    /// # Errors
    /// `Address`, `Setup`.
    pub fn new(
        address: &str,
        allow_private: bool,
        resolve: Resolve<'_>,
        auth: Option<AuthHeader>,
        limits: Limits,
    ) -> Result<Self, TargetError> {
        let pinned = pin(address, allow_private, resolve)?;
        let client = outbound::client(pinned.url().scheme() == "https")
            .connect_timeout(limits.connect)
            // A proxy of the environment would resolve the name itself, past what was judged.
            .no_proxy()
            .resolve_to_addrs(pinned.host(), pinned.addresses())
            .build()
            .map_err(|error| TargetError::Setup { message: chain(&error) })?;
        Ok(Self { client, pinned, auth, limits })
    }

    /// Where it asks.
    #[must_use]
    pub fn pinned(&self) -> &Pinned {
        &self.pinned
    }

    /// Asks what the target is. Blocks.
    ///
    /// # Errors
    /// See [`TargetError`].
    pub fn preflight(&self) -> Result<Preflight, TargetError> {
        read_preflight(&self.post(&preflight_request(), self.limits.request)?)
    }

    /// Delivers a turn and waits for its answer, no longer than `time` and than the limit of a request. Blocks.
    ///
    /// # Errors
    /// See [`TargetError`].
    pub fn turn(&self, turn: &TurnRequest<'_>, time: Duration) -> Result<Answer, TargetError> {
        read_answer(self.post(turn, time.min(self.limits.request))?)
    }

    fn post(&self, body: &impl serde::Serialize, time: Duration) -> Result<Value, TargetError> {
        let late = || {
            let seconds = u64::try_from(time.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
            TargetError::TimedOut { seconds }
        };
        let mut request = self.client.post(self.pinned.url().clone()).header(ACCEPT, "application/json").json(body);
        if let Some(auth) = &self.auth {
            request = request.header(auth.name.clone(), auth.value.clone());
        }
        let response = request
            .timeout(time)
            .send()
            .map_err(|error| if is_late(&error) { late() } else { self.unreachable(&chain(&error.without_url())) })?;
        let status = response.status().as_u16();
        if response.status().is_redirection() {
            return Err(TargetError::Redirected { status });
        }
        let body = outbound::body(response, self.limits.answer_bytes).map_err(|unread| match unread {
            Unread::TooLong => TargetError::TooLarge { bytes: self.limits.answer_bytes },
            Unread::Late => late(),
            Unread::Cut(error) => self.unreachable(&chain(&error)),
        })?;
        match status {
            200 => {
                // The parser tells places and kinds only, nothing of the text.
                let parsed = serde_json::from_slice(&body);
                let answer = parsed.map_err(|error| TargetError::Unreadable { message: error.to_string() })?;
                Ok(self.without_secrets(answer))
            }
            400..=499 => Err(TargetError::Refused { status, message: self.said(&body) }),
            500..=599 => Err(TargetError::Failed { status, message: self.said(&body) }),
            _ => Err(TargetError::Status { status }),
        }
    }

    fn unreachable(&self, message: &str) -> TargetError {
        TargetError::Unreachable { message: self.shown(message) }
    }

    /// What a body says of an error.
    fn said(&self, body: &[u8]) -> String {
        let parsed: Option<Value> = serde_json::from_slice(body).ok();
        // Parsed first: JSON may have escaped signs of the secret.
        self.shown(&parsed.map_or_else(|| String::from_utf8_lossy(body).into_owned(), |body| error_message(&body)))
    }

    fn shown(&self, text: &str) -> String {
        // Before the text is cut, lest a part of the secret stay.
        one_line(&self.auth.as_ref().map_or_else(|| text.to_owned(), |auth| auth.removed_from(text)))
    }

    /// The answer without the secret, should the target repeat it.
    fn without_secrets(&self, value: Value) -> Value {
        let Some(auth) = &self.auth else { return value };
        match value {
            Value::String(text) => Value::String(auth.removed_from(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.without_secrets(item)).collect(),
            Value::Object(members) => {
                let members = members.into_iter();
                members.map(|(key, value)| (auth.removed_from(&key), self.without_secrets(value))).collect()
            }
            plain => plain,
        }
    }
}
