//! One request: whose it is, what it asks for, its body within the limits, what it does to the trial.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::EXPECT;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};
use axum::response::Response;
use axum::routing::any;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::lease::{Alive, Entry};
use super::reply::{Refusal, Reply};
use super::{PATH, Shared};
use crate::connection::body::{Unread, drain, whole};
use crate::connection::{Phase, bearer};
use crate::digest::sha256_hex;

/// What a name keeps in a path.
const IN_PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A name as one part of a path.
pub(super) fn segment(name: &str) -> String {
    utf8_percent_encode(name, IN_PATH).to_string()
}

/// One handler for all paths.
pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(handle).with_state(shared)
}

/// The same for a server that answers other paths as well.
pub(super) fn below(shared: Arc<Shared>) -> Router {
    Router::new().route(&format!("{PATH}{{*rest}}"), any(handle)).with_state(shared)
}

/// What a request asks for.
enum Wanted {
    Call(String),
    Approvals,
    AskApproval,
    Status,
}

/// The body of a call. Members that are not known are passed over.
#[derive(Deserialize)]
struct CallBody {
    /// Anything: what is no object is for the contract of the tool to refuse.
    #[serde(default = "none_given")]
    arguments: Value,
    #[serde(default)]
    approval_id: Option<String>,
}

/// The body of a request for approval.
#[derive(Deserialize)]
struct RequestBody {
    tool: String,
    #[serde(default = "none_given")]
    arguments: Value,
    #[serde(default)]
    reason: String,
}

fn none_given() -> Value {
    Value::Object(Map::new())
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(phase): ConnectInfo<Phase>,
    request: Request,
) -> Response {
    let _busy = phase.busy();
    let (head, mut body) = request.into_parts();
    let (reply, late) = match take(&shared, &head, &mut body).await {
        Ok(taken) => taken,
        Err(refusal) => {
            // Who asks whether to send the body has not sent it.
            if refusal != Refusal::Slow && !head.headers.contains_key(EXPECT) {
                drain(&mut body, shared.limits.body_bytes).await;
            }
            (Reply::refusing(refusal), Duration::ZERO)
        }
    };
    if !late.is_zero() {
        tokio::time::sleep(late).await;
    }
    reply.response()
}

/// The answer, and how much later it is given: nothing is held meanwhile.
async fn take(shared: &Shared, head: &Parts, body: &mut Body) -> Result<(Reply, Duration), Refusal> {
    if head.headers.len() > shared.limits.headers {
        return Err(Refusal::Headers);
    }
    let below = head.uri.path().strip_prefix(PATH).ok_or(Refusal::NotFound)?;
    let mut parts = below.split('/');
    let entry = entry(shared, parts.next().unwrap_or_default(), &head.headers)?;
    // Also the time: nothing is read for a token that is dead.
    drop(entry.alive(&shared.clock).ok_or(Refusal::Unauthorized)?);
    let wanted = wanted(&head.method, &parts.collect::<Vec<_>>())?;
    let body = match wanted {
        Wanted::Call(_) | Wanted::AskApproval => {
            let limits = &shared.limits;
            whole(body, limits.body_bytes, limits.body_time).await.map_err(|unread| match unread {
                Unread::TooLarge => Refusal::TooLarge,
                Unread::Slow => Refusal::Slow,
                Unread::Cut => Refusal::BadRequest,
            })?
        }
        Wanted::Approvals | Wanted::Status => Vec::new(),
    };
    // The trial may have ended while the body came.
    let mut alive = entry.alive(&shared.clock).ok_or(Refusal::Unauthorized)?;
    act(shared, &mut alive, wanted, &body)
}

/// The trial of this path, when the token is its own.
fn entry(shared: &Shared, part: &str, headers: &HeaderMap) -> Result<Arc<Entry>, Refusal> {
    let trial_id = decoded(part).ok_or(Refusal::Unauthorized)?;
    let token = bearer(headers).ok_or(Refusal::Unauthorized)?;
    let sha256 = sha256_hex(token.as_bytes());
    // A trial that is not there is answered like a token that is not its own.
    shared.entry(&trial_id).filter(|entry| entry.is_token(&sha256)).ok_or(Refusal::Unauthorized)
}

fn wanted(method: &Method, parts: &[&str]) -> Result<Wanted, Refusal> {
    let (wanted, allowed) = match parts {
        ["tools", name] => (Wanted::Call(decoded(name).ok_or(Refusal::NotFound)?.into_owned()), Method::POST),
        ["approvals"] => (Wanted::Approvals, Method::GET),
        ["approval-requests"] => (Wanted::AskApproval, Method::POST),
        ["status"] => (Wanted::Status, Method::GET),
        _ => return Err(Refusal::NotFound),
    };
    if *method == allowed {
        return Ok(wanted);
    }
    Err(Refusal::Method(if allowed == Method::POST { "POST" } else { "GET" }))
}

fn decoded(part: &str) -> Option<Cow<'_, str>> {
    percent_decode_str(part).decode_utf8().ok().filter(|name| !name.is_empty())
}

fn act(shared: &Shared, alive: &mut Alive<'_>, wanted: Wanted, body: &[u8]) -> Result<(Reply, Duration), Refusal> {
    let limits = &shared.limits;
    let at_ms = alive.at_ms;
    let counted = |alive: &mut Alive<'_>| {
        if alive.count(body.len(), limits.trial_requests, limits.trial_bytes) { Ok(()) } else { Err(Refusal::Limit) }
    };
    match wanted {
        Wanted::Call(tool) => {
            let CallBody { arguments, approval_id } = parsed(body)?;
            counted(alive)?;
            let trial = alive.trial().ok_or(Refusal::Unauthorized)?;
            let late_ms = trial.delay_of_next(&tool, &arguments);
            let reply = trial.call_late(at_ms, late_ms, &tool, &arguments, approval_id.as_deref());
            Ok((Reply::of_call(reply), Duration::from_millis(late_ms)))
        }
        Wanted::AskApproval => {
            let RequestBody { tool, arguments, reason } = parsed(body)?;
            counted(alive)?;
            let trial = alive.trial().ok_or(Refusal::Unauthorized)?;
            let asked = trial.ask_approval(at_ms, &tool, &arguments, &reason);
            Ok((Reply::of_request(asked.as_ref()), Duration::ZERO))
        }
        Wanted::Approvals => {
            let trial = alive.trial().ok_or(Refusal::Unauthorized)?;
            Ok((Reply::of_approvals(trial.approvals()), Duration::ZERO))
        }
        Wanted::Status => {
            let trial = alive.trial().ok_or(Refusal::Unauthorized)?;
            Ok((Reply::of_status(trial), Duration::ZERO))
        }
    }
}

/// A JSON object of this form. Without the map in between an array would do as well.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    let members: Map<String, Value> = serde_json::from_slice(body).map_err(|_| Refusal::BadRequest)?;
    serde_json::from_value(Value::Object(members)).map_err(|_| Refusal::BadRequest)
}
