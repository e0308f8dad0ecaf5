//! Bodies of requests, read a chunk at a time.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};

/// How long the rest of a refused body is read and thrown away, so that the sender comes to read the answer.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It is longer than allowed.
    TooLarge,
    /// It did not come in time.
    Slow,
    /// The connection broke off.
    Cut,
}

/// The whole body, when it has at most `limit` bytes and comes within `time`.
///
/// # Errors
/// See [`Unread`].
pub(crate) async fn whole(body: &mut Body, limit: usize, time: Duration) -> Result<Vec<u8>, Unread> {
    if body.size_hint().lower() > limit as u64 {
        return Err(Unread::TooLarge);
    }
    let read = async {
        let mut bytes = Vec::new();
        while let Some(chunk) = next_chunk(body).await {
            let chunk = chunk.map_err(|_| Unread::Cut)?;
            if chunk.len() > limit - bytes.len() {
                return Err(Unread::TooLarge);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    };
    tokio::time::timeout(time, read).await.map_err(|_| Unread::Slow)?
}

/// Throws away what is left of a body, up to `limit` bytes of it.
pub(crate) async fn drain(body: &mut Body, limit: usize) {
    let all = async {
        let mut left = limit;
        while let Some(Ok(chunk)) = next_chunk(body).await {
            let Some(rest) = left.checked_sub(chunk.len()) else { break };
            left = rest;
        }
    };
    tokio::time::timeout(DRAIN_TIME, all).await.ok();
}

/// The next bytes of a body; none at its end. Trailers are passed over.
pub(crate) async fn next_chunk(body: &mut Body) -> Option<Result<Bytes, axum::Error>> {
    loop {
        match poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await? {
            Ok(frame) => {
                if let Ok(data) = frame.into_data() {
                    return Some(Ok(data));
                }
            }
            Err(error) => return Some(Err(error)),
        }
    }
}
