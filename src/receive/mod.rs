//! A live receiver: OTLP over HTTP in, rows of the store out.
//!
//! One thread speaks HTTP (`http`, over the streams of `connection`, which other servers use as well) and hands each
//! body through a bounded queue (`queue`) to one other thread (`writer`), which alone owns the store. That thread takes
//! everything that waits, commits it as one source and only then lets the answers go (`answer`): what was acknowledged
//! is on the disk. Decides no rule, prints nothing; the clock and the store come from outside. Start with [`run`].

mod answer;
mod decode;
mod http;
mod queue;
mod writer;

use std::future::Future;
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::connection::{self, Doors};
use crate::ingest::Options;
use crate::ingest::mask::Masker;
use crate::model::Issue;
use crate::render::Texts;
use crate::store::{Store, StoreError};

/// What one receiver takes at most. Bytes are counted as they come over the network unless said otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// A body, compressed or not, and what it decompresses to.
    pub body_bytes: usize,
    /// All bodies that are being read or wait for the writer.
    pub queue_bytes: usize,
    /// Requests that wait for the writer.
    pub queue_requests: usize,
    /// Connections; further ones wait until one closes.
    pub connections: usize,
    /// From the first byte of a request to the end of its head; also from connecting to the end of the first head.
    pub head_time: Duration,
    /// From the end of the head to the end of the body.
    pub body_time: Duration,
    /// Between two requests on a connection.
    pub idle_time: Duration,
    /// From the wish to stop until connections that have not ended their request are given up.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            queue_bytes: 128 << 20,
            queue_requests: 1_024,
            connections: 512,
            head_time: Duration::from_secs(10),
            body_time: Duration::from_secs(60),
            // Above the 90 s after which the Collector's client closes: it should be the one to close.
            idle_time: Duration::from_secs(180),
            drain_time: Duration::from_secs(10),
        }
    }
}

/// What a receiver needs from outside.
pub struct Setup {
    /// What it takes at most.
    pub limits: Limits,
    /// How spans are read.
    pub options: Options,
    /// Masks personal values before they are stored.
    pub masker: Option<Masker>,
    /// The words of answers and of issues.
    pub texts: Texts,
    /// Opens the store; called once more after each failure of the store.
    pub open: Box<dyn FnMut() -> Result<Store, StoreError> + Send>,
    /// The time as the store writes it; asked once before the store is written to.
    pub now: Box<dyn Fn() -> String + Send>,
    /// Is told what happens, on the writer's thread.
    pub tell: Box<dyn FnMut(Event) + Send>,
    /// How many issues of one commit are told at most.
    pub told_issues: usize,
}

/// What happens while receiving.
#[derive(Debug)]
pub enum Event {
    /// Requests were committed.
    Committed {
        /// Everything so far.
        totals: Totals,
        /// The first issues of these requests.
        issues: Vec<Issue>,
    },
    /// The store cannot be written to; told once until it can again. Senders are asked to come again.
    StoreFailed(StoreError),
    /// The store can be written to again.
    StoreBack,
}

/// Sums since the start. Spans of requests that were not committed are in none of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests that were acknowledged.
    pub requests: u64,
    /// Requests refused for good: malformed, too large, of another kind.
    pub refused: u64,
    /// Requests whose sender was asked to come again.
    pub deferred: u64,
    /// Transactions.
    pub commits: u64,
    /// Spans kept.
    pub kept: u64,
    /// Spans of other operations.
    pub dropped: u64,
    /// Spans met before.
    pub redelivered: u64,
    /// Spans left out because of an issue.
    pub skipped: u64,
    /// Issues met.
    pub issues: u64,
}

/// Why receiving could not begin, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system gives no thread, timer, socket or signal.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The thread that writes ended unexpectedly.
    #[error("the writer ended")]
    WriterEnded,
}

/// The same sums as they grow. Each is a number for people: no other memory depends on their order.
#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    refused: AtomicU64,
    deferred: AtomicU64,
    commits: AtomicU64,
    kept: AtomicU64,
    dropped: AtomicU64,
    redelivered: AtomicU64,
    skipped: AtomicU64,
    issues: AtomicU64,
}

impl Counts {
    fn totals(&self) -> Totals {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            requests: read(&self.requests),
            refused: read(&self.refused),
            deferred: read(&self.deferred),
            commits: read(&self.commits),
            kept: read(&self.kept),
            dropped: read(&self.dropped),
            redelivered: read(&self.redelivered),
            skipped: read(&self.skipped),
            issues: read(&self.issues),
        }
    }
}

fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

/// Receives on a bound socket until told to stop, and returns when everything taken is committed and answered.
///
/// `begin` is called when requests can be taken; it returns what ends when receiving should stop. It runs inside the
/// runtime, so that it may ask for signals.
///
/// # Errors
/// `Store` when the store does not open (later failures of it are events), `System`, `WriterEnded`.
pub fn run<S>(
    listener: TcpListener,
    mut setup: Setup,
    begin: impl FnOnce() -> io::Result<S>,
) -> Result<Totals, ReceiveError>
where
    S: Future<Output = ()> + Send + 'static,
{
    let store = (setup.open)()?;
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let limits = setup.limits.clone();
    let counts = Arc::new(Counts::default());
    let texts = Arc::new(setup.texts);
    let (sender, jobs) = mpsc::channel(limits.queue_requests);
    let writer = writer::Writer {
        body_bytes: limits.body_bytes,
        options: setup.options,
        masker: setup.masker,
        texts: Arc::clone(&texts),
        open: setup.open,
        now: setup.now,
        tell: setup.tell,
        told_issues: setup.told_issues,
        counts: Arc::clone(&counts),
    };
    let (alive, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
        // Dropped however the writer ends.
        let _alive = alive;
        writer.run(store, jobs);
    })?;
    let budget = queue::Budget::new(limits.queue_bytes);
    let shared = http::Shared { limits, texts, counts: Arc::clone(&counts), budget, sender };
    let served = runtime.block_on(serve(listener, shared, begin, ended));
    // Connections that were given up let go of the queue here; the writer then ends behind what it has taken.
    drop(runtime);
    thread.join().map_err(|_| ReceiveError::WriterEnded)?;
    served?;
    Ok(counts.totals())
}

async fn serve<S>(
    listener: TcpListener,
    shared: http::Shared,
    begin: impl FnOnce() -> io::Result<S>,
    ended: oneshot::Receiver<()>,
) -> io::Result<()>
where
    S: Future<Output = ()> + Send + 'static,
{
    let limits = shared.limits.clone();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let doors = Doors::new(listener, limits.connections, limits.head_time, limits.idle_time);
    let stop = begin()?;
    let stop = async move {
        tokio::select! {
            () = stop => {}
            _ = ended => {}
        }
    };
    connection::serve(doors, http::router(shared), stop, limits.drain_time).await.map(drop)
}
