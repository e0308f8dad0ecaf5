//! The gate over HTTP: `GET /api/ci/gate?config_hash=…` with a bearer token.
//!
//! Reads only: the store is opened for each request and closed behind it, so that an experiment can be written
//! meanwhile. Prints nothing; the clock comes from outside. Start with [`run`].

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};

use super::{PREFIX, admitted, config_hash};
use crate::connection::{self, Doors, Phase};
use crate::eval_report::gate_answer;
use crate::render::{Texts, eval_report as words};
use crate::store::{Store, StoreError};

/// Where the gate is.
pub const PATH: &str = "/api/ci/gate";

/// What a server takes at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at once; others wait.
    pub connections: usize,
    /// For the head of a request.
    pub head_time: Duration,
    /// Between two requests of a connection.
    pub idle_time: Duration,
    /// From the wish to stop until requests that have not ended are given up.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(5),
        }
    }
}

/// What a server needs from outside.
pub struct Setup {
    /// What it takes at most.
    pub limits: Limits,
    /// What is served beside the gate.
    pub beside: Router,
    /// The store.
    pub db: PathBuf,
    /// The words of answers.
    pub texts: Texts,
    /// The time, nanoseconds since 1970 UTC.
    pub now_ns: Box<dyn Fn() -> i64 + Send + Sync>,
    /// Is told when the store could not be read, on any thread.
    pub tell: Box<dyn Fn(&StoreError) + Send + Sync>,
}

/// Sums since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were answered.
    pub answered: u64,
    /// Requests refused.
    pub refused: u64,
}

struct Shared {
    setup: Setup,
    /// One store at a time: locks of files are those of the process, and closing one store would give up the lock of
    /// another that is still read.
    reading: Mutex<()>,
    answered: AtomicU64,
    refused: AtomicU64,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    BadHash,
    Unauthorized,
    NotFound,
    Method,
    Unavailable,
}

impl Refusal {
    const fn parts(self) -> (StatusCode, &'static str) {
        match self {
            Self::BadHash => (StatusCode::BAD_REQUEST, "bad_hash"),
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        }
    }
}

/// Serves on a bound socket until told to stop, and returns when the requests under way are answered.
///
/// `begin` is called when requests can be taken; it returns what ends when serving should stop. It runs inside the
/// runtime, so that it may ask for signals.
///
/// # Errors
/// When the system gives no runtime, socket or signal.
pub fn run<S>(listener: TcpListener, mut setup: Setup, begin: impl FnOnce() -> io::Result<S>) -> io::Result<Totals>
where
    S: Future<Output = ()> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let drain = setup.limits.drain_time;
    let beside = std::mem::take(&mut setup.beside);
    let shared = Arc::new(Shared {
        setup,
        reading: Mutex::new(()),
        answered: AtomicU64::default(),
        refused: AtomicU64::default(),
    });
    let served = runtime.block_on(serve(listener, Arc::clone(&shared), beside, begin));
    runtime.shutdown_timeout(drain);
    served?;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    Ok(Totals { answered: read(&shared.answered), refused: read(&shared.refused) })
}

async fn serve<S>(
    listener: TcpListener,
    shared: Arc<Shared>,
    beside: Router,
    begin: impl FnOnce() -> io::Result<S>,
) -> io::Result<()>
where
    S: Future<Output = ()> + Send + 'static,
{
    let limits = shared.setup.limits.clone();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let doors = Doors::new(listener, limits.connections, limits.head_time, limits.idle_time);
    let router = Router::new().fallback(handle).with_state(shared).merge(beside);
    let stop = begin()?;
    connection::serve(doors, router, stop, limits.drain_time).await.map(drop)
}

async fn handle(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(phase): ConnectInfo<Phase>,
    request: Request,
) -> Response {
    let _busy = phase.busy();
    // A body is not asked for, and not read.
    let (head, _) = request.into_parts();
    let answer = take(&shared, head).await;
    let counted = if answer.is_ok() { &shared.answered } else { &shared.refused };
    counted.fetch_add(1, Ordering::Relaxed);
    match answer {
        Ok(body) => response(StatusCode::OK, body),
        Err(refusal) => {
            let (status, code) = refusal.parts();
            let mut response = response(status, words::gate_refusal(&shared.setup.texts, code));
            let header = match refusal {
                Refusal::Unauthorized => Some((WWW_AUTHENTICATE, "Bearer")),
                Refusal::Method => Some((ALLOW, "GET")),
                Refusal::Unavailable => Some((RETRY_AFTER, "1")),
                Refusal::BadHash | Refusal::NotFound => None,
            };
            if let Some((name, value)) = header {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            response
        }
    }
}

fn response(status: StatusCode, body: String) -> Response {
    // What stood a moment ago may not stand now.
    (status, [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], body).into_response()
}

async fn take(shared: &Arc<Shared>, head: Parts) -> Result<String, Refusal> {
    if head.uri.path() != PATH {
        return Err(Refusal::NotFound);
    }
    if head.method != Method::GET {
        return Err(Refusal::Method);
    }
    let token = connection::bearer(&head.headers)
        .filter(|token| token.starts_with(PREFIX))
        .ok_or(Refusal::Unauthorized)?
        .to_owned();
    let hash = asked_hash(head.uri.query().unwrap_or_default());
    let shared = Arc::clone(shared);
    // Opening a store blocks.
    let answered = tokio::task::spawn_blocking(move || shared.answer(&token, hash.as_deref()));
    answered.await.unwrap_or(Err(Refusal::Unavailable))
}

/// The one hash that a query asks for.
fn asked_hash(query: &str) -> Option<String> {
    let mut asked = query.split('&').filter_map(|pair| pair.strip_prefix("config_hash="));
    let text = asked.next().filter(|_| asked.next().is_none())?;
    config_hash(text)
}

impl Shared {
    /// Blocks. Who may not ask learns nothing of the question.
    fn answer(&self, token: &str, hash: Option<&str>) -> Result<String, Refusal> {
        let _one = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let unavailable = |error: StoreError| {
            (self.setup.tell)(&error);
            Refusal::Unavailable
        };
        let store = Store::open_to_read(&self.setup.db).map_err(unavailable)?;
        let tokens = store.gate_tokens().map_err(unavailable)?;
        let kept = admitted(&tokens, token, (self.setup.now_ns)()).ok_or(Refusal::Unauthorized)?;
        let hash = hash.ok_or(Refusal::BadHash)?;
        let answer = gate_answer(&store, hash, Some(&kept.project_id)).map_err(unavailable)?;
        Ok(words::gate_json(&self.setup.texts, &answer))
    }
}
