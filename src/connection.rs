//! Connections of a server: not too many of them, and none that is waited for without end; bodies within their limit.
//!
//! The HTTP library times nothing by itself, so the stream under it does. It knows in which [`Phase`] its connection
//! is, since the handler says when a request begins and ends.

pub(crate) mod body;

use std::future::{Future, IntoFuture as _};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::extract::connect_info::Connected;
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Sleep;

/// How long to wait when the system gives no further connection, for example for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// A request is expected to go on until its head is complete.
const HEAD: u8 = 0;
/// A handler has the request and times the rest.
const BUSY: u8 = 1;
/// No byte of a further request has come.
const IDLE: u8 = 2;

/// Where a connection stands; shared by its stream and its handler.
#[derive(Debug, Clone)]
pub(crate) struct Phase(Arc<AtomicU8>);

impl Phase {
    /// The handler has a request until the guard is dropped.
    pub(crate) fn busy(&self) -> Busy<'_> {
        self.0.store(BUSY, Ordering::Relaxed);
        Busy(self)
    }
}

/// See [`Phase::busy`].
pub(crate) struct Busy<'a>(&'a Phase);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.0.store(IDLE, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Doors>> for Phase {
    fn connect_info(stream: IncomingStream<'_, Doors>) -> Self {
        stream.io().phase.clone()
    }
}

/// Accepts connections while there is room; the others wait in the system's queue.
pub(crate) struct Doors {
    listener: TcpListener,
    room: Arc<Semaphore>,
    head_time: Duration,
    idle_time: Duration,
}

impl Doors {
    /// Lets so many connections in at once; `head_time` is for the head of a request, `idle_time` between two.
    pub(crate) fn new(listener: TcpListener, connections: usize, head_time: Duration, idle_time: Duration) -> Self {
        Self { listener, room: Arc::new(Semaphore::new(connections)), head_time, idle_time }
    }
}

/// Serves what comes through the doors until `stop` ends, and then what is under way, for so long. Whether all of it
/// was answered.
///
/// # Errors
/// Those of the system.
pub(crate) async fn serve(
    doors: Doors,
    router: Router,
    stop: impl Future<Output = ()> + Send + 'static,
    drain_time: Duration,
) -> io::Result<bool> {
    let (stopping, stopped) = oneshot::channel();
    let signal = async move {
        stop.await;
        stopping.send(()).ok();
    };
    let service = router.into_make_service_with_connect_info::<Phase>();
    let serving = axum::serve(doors, service).with_graceful_shutdown(signal).into_future();
    tokio::select! {
        done = serving => done.map(|()| true),
        () = async {
            stopped.await.ok();
            tokio::time::sleep(drain_time).await;
        } => Ok(false),
    }
}

/// The token of the one `Authorization` header.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl Listener for Doors {
    type Io = TimedStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TimedStream, SocketAddr) {
        loop {
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&self.room).acquire_owned().await else { continue };
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    // Answers are short and must not wait for more to come.
                    stream.set_nodelay(true).ok();
                    let phase = Phase(Arc::new(AtomicU8::new(HEAD)));
                    let timer = Box::pin(tokio::time::sleep(self.head_time));
                    let (head_time, idle_time) = (self.head_time, self.idle_time);
                    return (
                        TimedStream { stream, phase, timer, timed: HEAD, head_time, idle_time, _place: place },
                        address,
                    );
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A stream whose peer has a limited time for the head of a request and between two requests.
pub(crate) struct TimedStream {
    stream: TcpStream,
    phase: Phase,
    timer: Pin<Box<Sleep>>,
    /// The phase that `timer` was set for.
    timed: u8,
    head_time: Duration,
    idle_time: Duration,
    _place: OwnedSemaphorePermit,
}

impl TimedStream {
    /// An error when the time of this phase is over; else the task is woken when it is.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<u8> {
        let phase = self.phase.0.load(Ordering::Relaxed);
        if phase != self.timed {
            self.timed = phase;
            self.timer.set(tokio::time::sleep(if phase == IDLE { self.idle_time } else { self.head_time }));
        }
        if phase != BUSY && self.timer.as_mut().poll(context).is_ready() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(phase)
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let phase = self.check(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if phase == IDLE && read.is_ready() && buffer.filled().len() > before {
            self.phase.0.store(HEAD, Ordering::Relaxed);
        }
        read
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // A peer that never reads its answers is given up like one that never asks again.
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
