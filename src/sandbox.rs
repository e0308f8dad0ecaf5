//! The sandbox of `irumx-eval-target/1`: mock tools over HTTP, for targets that are agents of their own.
//!
//! One thread serves all trials that are open ([`Sandbox::start`]). A trial is opened by who runs it
//! ([`Sandbox::open`]), which gives a [`Lease`]: the address and the token that the target is told, and the steps that
//! only the runner takes. Each trial has a lock of its own, and nothing is waited for while it is held.
//!
//! ```text
//! runner --> Lease ---+--> Trial --> events
//! target --> http ----+
//! ```
//!
//! Records what is done and refuses no call for want of an approval: the judge looks at the events. Prints nothing; the
//! clock comes from outside. [`crate::demo::sandbox`] is a client of it.

mod http;
mod lease;
mod reply;

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use axum::Router;
use tokio::sync::oneshot;

pub use lease::Lease;

use crate::connection::{self, Doors};
use crate::digest::random_hex;
use crate::eval::case::Case;
use crate::model::SandboxAccess;

/// What comes before the id of a trial in every path.
pub const PATH: &str = "/api/sandbox/";
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// What a sandbox takes at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A body; a longer one is refused with 413.
    pub body_bytes: usize,
    /// Headers of a request; more are refused with 431.
    pub headers: usize,
    /// Requests of one trial that are recorded; further ones are told that the limit is reached (429). A target that
    /// runs wild would else fill the memory with its record.
    pub trial_requests: u64,
    /// All bodies of one trial that are recorded; further ones likewise.
    pub trial_bytes: u64,
    /// Connections; further ones wait until one closes.
    pub connections: usize,
    /// From connecting, or the first byte of a request, to the end of its head.
    pub head_time: Duration,
    /// From the end of the head to the end of the body; a later one is refused with 408.
    pub body_time: Duration,
    /// Between two requests on a connection.
    pub idle_time: Duration,
    /// How long a token counts beyond the time of its case, so that calls which come too late are seen as such.
    pub grace: Duration,
    /// From the wish to stop until requests that have not ended are given up.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            headers: 64,
            trial_requests: 10_000,
            trial_bytes: 64 << 20,
            connections: 512,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(30),
            idle_time: Duration::from_secs(60),
            grace: Duration::from_secs(60),
            drain_time: Duration::from_secs(2),
        }
    }
}

/// Time, given from outside.
pub struct Clock {
    /// Time since any moment, by a clock that does not go back: how long trials last, and when tokens die.
    pub elapsed: Box<dyn Fn() -> Duration + Send + Sync>,
    /// The time of the day, for what a target is told of the end of its token.
    pub now: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

/// What a sandbox needs from outside.
pub struct Setup {
    /// What it takes at most.
    pub limits: Limits,
    /// Its time.
    pub clock: Clock,
    /// Where targets find it, when that is not the address it listens on: `https://eval.example.com`, behind which a
    /// proxy passes what comes below [`PATH`] on to it.
    pub public_url: Option<String>,
}

/// Why a sandbox does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The public address is none.
    #[error("the public address is no address of http or https, or has a ? or #")]
    PublicUrl,
    /// The system gives no socket, thread or runtime.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// Why a trial is not opened.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum OpenError {
    /// A path cannot hold its id: an empty one, or dots only.
    #[error("no id of a trial: {0}")]
    Id(String),
    /// It is open already.
    #[error("the trial {0} is open already")]
    Open(String),
    /// The system gives no random bytes for its token.
    #[error("no random bytes: {0}")]
    NoRandom(String),
}

/// What the server and all leases share.
struct Shared {
    limits: Limits,
    clock: Clock,
    base: String,
    trials: Mutex<BTreeMap<String, Arc<lease::Entry>>>,
}

impl Shared {
    fn entry(&self, trial_id: &str) -> Option<Arc<lease::Entry>> {
        locked(&self.trials).get(trial_id).map(Arc::clone)
    }
}

/// A panic while the lock was held leaves what was recorded so far.
fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn shared(address: SocketAddr, setup: Setup) -> Result<Arc<Shared>, StartError> {
    let origin = match &setup.public_url {
        Some(url) => public(url).ok_or(StartError::PublicUrl)?,
        None => format!("http://{address}"),
    };
    let base = format!("{origin}{PATH}");
    Ok(Arc::new(Shared { limits: setup.limits, clock: setup.clock, base, trials: Mutex::default() }))
}

/// A running sandbox. It ends when it is dropped; leases that are still open can then only be closed.
pub struct Sandbox {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sandbox {
    /// A sandbox that another server answers for: what comes below [`PATH`] at this address is for the router. Its
    /// limits on connections are those of the server.
    ///
    /// # Errors
    /// [`StartError::PublicUrl`].
    pub fn behind(address: SocketAddr, setup: Setup) -> Result<(Self, Router), StartError> {
        let shared = shared(address, setup)?;
        let router = http::below(Arc::clone(&shared));
        Ok((Self { shared, address, stop: None, thread: None }, router))
    }

    /// Serves on a bound socket, on a thread of its own, until it is dropped.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start(listener: TcpListener, setup: Setup) -> Result<Self, StartError> {
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let shared = shared(address, setup)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        // Made here, so that a socket which the runtime does not take is told to who starts.
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let served = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
            runtime.block_on(serve(listener, served, stopped));
        })?;
        Ok(Self { shared, address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens a trial: its time begins now. The token is new, and counts for this trial until the lease ends or its
    /// time is over.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open(&self, trial_id: &str, case: Arc<Case>) -> Result<Lease, OpenError> {
        if matches!(trial_id, "" | "." | "..") {
            return Err(OpenError::Id(trial_id.to_owned()));
        }
        let token = random_hex::<TOKEN_BYTES>().map_err(OpenError::NoRandom)?;
        let time = Duration::from_millis(case.limits.time_ms).saturating_add(self.shared.limits.grace);
        let access = SandboxAccess {
            base_url: format!("{}{}", self.shared.base, http::segment(trial_id)),
            expires_at: rfc3339((self.shared.clock.now)().checked_add(time)),
            token,
        };
        let begun = (self.shared.clock.elapsed)();
        let entry = Arc::new(lease::Entry::new(&access.token, begun, begun.saturating_add(time), case));
        let mut trials = locked(&self.shared.trials);
        if trials.contains_key(trial_id) {
            return Err(OpenError::Open(trial_id.to_owned()));
        }
        trials.insert(trial_id.to_owned(), Arc::clone(&entry));
        drop(trials);
        Ok(Lease::new(Arc::clone(&self.shared), entry, trial_id.to_owned(), access))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // An error says that it has ended by itself.
            stop.send(()).ok();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

async fn serve(listener: tokio::net::TcpListener, shared: Arc<Shared>, stop: oneshot::Receiver<()>) {
    let limits = shared.limits.clone();
    let doors = Doors::new(listener, limits.connections, limits.head_time, limits.idle_time);
    let stop = async move {
        stop.await.ok();
    };
    // Who started it is no longer there to be told of an error.
    connection::serve(doors, http::router(shared), stop, limits.drain_time).await.ok();
}

/// The public address without a slash at its end.
fn public(url: &str) -> Option<String> {
    let url = reqwest::Url::parse(url.trim()).ok()?;
    let is_plain = url.query().is_none() && url.fragment().is_none() && url.username().is_empty();
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host() && url.password().is_none();
    (is_plain && is_web).then(|| url.as_str().trim_end_matches('/').to_owned())
}

/// A time in UTC, to the second; empty when there is none.
fn rfc3339(time: Option<SystemTime>) -> String {
    let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let time = since.and_then(|since| chrono::DateTime::from_timestamp(i64::try_from(since.as_secs()).ok()?, 0));
    time.map(|time| time.to_rfc3339_opts(chrono::SecondsFormat::Secs, true)).unwrap_or_default()
}
