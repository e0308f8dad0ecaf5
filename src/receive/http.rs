//! One request: what it must look like, its body within the limits, its answer.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method};
use axum::response::Response;
use tokio::sync::{mpsc, oneshot};

use super::answer::{self, Answer, Form, Refusal};
use super::decode::Coding;
use super::queue::{self, Budget, Job};
use super::{Counts, Limits, add};
use crate::connection::Phase;
use crate::connection::body::{drain, next_chunk};
use crate::render::Texts;

/// The path of traces in OTLP over HTTP.
const TRACES: &str = "/v1/traces";
/// The paths of other signals, to say more than that they are not there.
const OTHER_SIGNALS: [&str; 3] = ["/v1/logs", "/v1/metrics", "/v1development/profiles"];
/// Memory that a body gets at once, however long it says it is.
const FIRST_BYTES: usize = 1 << 20;

/// What all handlers share.
pub(super) struct Shared {
    pub(super) limits: Limits,
    pub(super) texts: Arc<Texts>,
    pub(super) counts: Arc<Counts>,
    pub(super) budget: Arc<Budget>,
    pub(super) sender: mpsc::Sender<Job>,
}

/// One handler for all paths: what is no trace request gets an answer of the same kind.
pub(super) fn router(shared: Shared) -> Router {
    Router::new().fallback(handle).with_state(Arc::new(shared))
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(phase): ConnectInfo<Phase>,
    request: Request,
) -> Response {
    let _busy = phase.busy();
    let (head, mut body) = request.into_parts();
    let form = Form::of(&head.headers);
    let answer = match take(&shared, &head, form, &mut body).await {
        Ok(answer) => answer,
        Err(refusal) => {
            // Who asks whether to send the body has not sent it.
            if refusal != Refusal::Slow && !head.headers.contains_key(EXPECT) {
                drain(&mut body, shared.limits.body_bytes).await;
            }
            Answer::Refused(refusal)
        }
    };
    if let Answer::Refused(refusal) = &answer {
        let deferred = refusal.retry_after().is_some();
        add(if deferred { &shared.counts.deferred } else { &shared.counts.refused }, 1);
    }
    answer::response(&shared.texts, form.unwrap_or(Form::Json), &answer)
}

/// Hands the body to the writer and waits for its answer.
async fn take(shared: &Shared, head: &Parts, form: Option<Form>, body: &mut Body) -> Result<Answer, Refusal> {
    let (form, coding) = check(head, form)?;
    let body = tokio::time::timeout(shared.limits.body_time, read(shared, body)).await.map_err(|_| Refusal::Slow)??;
    let (reply, answer) = oneshot::channel();
    shared.sender.try_send(Job { body, coding, form, reply }).map_err(|error| match error {
        mpsc::error::TrySendError::Full(_) => Refusal::Busy,
        mpsc::error::TrySendError::Closed(_) => Refusal::Store,
    })?;
    // The writer answers everything it takes, unless it ended.
    answer.await.map_err(|_| Refusal::Store)
}

fn check(head: &Parts, form: Option<Form>) -> Result<(Form, Coding), Refusal> {
    let path = head.uri.path();
    if OTHER_SIGNALS.contains(&path) {
        return Err(Refusal::Signal(path.to_owned()));
    }
    if path != TRACES {
        return Err(Refusal::Path(path.to_owned()));
    }
    if head.method != Method::POST {
        return Err(Refusal::Method(head.method.to_string()));
    }
    let form = form.ok_or_else(|| Refusal::ContentType(named(&head.headers, CONTENT_TYPE)))?;
    let codings = head.headers.get_all(CONTENT_ENCODING);
    let mut names = codings.iter().map(|value| value.to_str().ok().and_then(Coding::from_name));
    let coding = names.next().unwrap_or(Some(Coding::Identity)).filter(|_| names.next().is_none());
    let coding = coding.ok_or_else(|| Refusal::ContentEncoding(named(&head.headers, CONTENT_ENCODING)))?;
    Ok((form, coding))
}

/// The values of a header as text.
fn named(headers: &HeaderMap, name: HeaderName) -> String {
    let values: Vec<_> = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    values.join(", ")
}

/// Reads the body, which takes room of the queue as it grows.
async fn read(shared: &Shared, body: &mut Body) -> Result<queue::Body, Refusal> {
    let limit = shared.limits.body_bytes;
    let announced = body.size_hint().lower();
    if announced > limit as u64 {
        return Err(Refusal::TooLarge(limit));
    }
    let announced = usize::try_from(announced).unwrap_or(usize::MAX);
    if !shared.budget.has_room(announced) {
        return Err(Refusal::Busy);
    }
    let mut kept = queue::Body::new(&shared.budget, announced.min(FIRST_BYTES));
    while let Some(chunk) = next_chunk(body).await {
        let chunk = chunk.map_err(|_| Refusal::Cut)?;
        if chunk.len() > limit - kept.bytes().len() {
            return Err(Refusal::TooLarge(limit));
        }
        if !kept.extend(&chunk) {
            return Err(Refusal::Busy);
        }
    }
    Ok(kept)
}
