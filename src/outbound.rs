//! What clients of other servers share: no redirect and no retry behind their back, bodies within a limit, foreign
//! texts in one line.

use std::io::{self, Read as _};
use std::sync::Once;

use reqwest::blocking::{Client, ClientBuilder, Response};
use reqwest::{redirect, retry};
use serde_json::Value;

/// Longest part of what a server says that is told, in characters.
const MESSAGE_CHARS: usize = 300;

/// A client that follows no redirect: what it carries is for the address it was given. `secure` when it speaks TLS.
pub(crate) fn client(secure: bool) -> ClientBuilder {
    static PROVIDER: Once = Once::new();
    // An error means that the process has one already.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let builder = Client::builder()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .user_agent(concat!("taco-trace/", env!("CARGO_PKG_VERSION")));
    if secure {
        builder
    } else {
        // No certificates are needed, and a small container may have none, which would end the client here.
        builder.tls_certs_only([])
    }
}

/// Why the body of a response was not read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// It is longer than allowed.
    TooLong,
    /// It did not come in time.
    Late,
    /// The connection broke off.
    Cut(io::Error),
}

/// The whole body, when it has at most `limit` bytes.
///
/// # Errors
/// See [`Unread`].
pub(crate) fn body(response: Response, limit: u64) -> Result<Vec<u8>, Unread> {
    let mut bytes = Vec::new();
    if let Err(error) = response.take(limit.saturating_add(1)).read_to_end(&mut bytes) {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<reqwest::Error>());
        let is_late = error.kind() == io::ErrorKind::TimedOut || inner.is_some_and(reqwest::Error::is_timeout);
        return Err(if is_late { Unread::Late } else { Unread::Cut(error) });
    }
    if bytes.len() as u64 > limit { Err(Unread::TooLong) } else { Ok(bytes) }
}

/// Whether an answer came too late. A connection that did not stand in time is no slow answer.
pub(crate) fn is_late(error: &reqwest::Error) -> bool {
    error.is_timeout() && !error.is_connect()
}

/// A foreign text in one line without control characters, cut to a few hundred characters.
pub(crate) fn one_line(text: &str) -> String {
    let printable: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// What a body says of an error, in the forms of common servers.
pub(crate) fn error_message(body: &Value) -> String {
    let places = ["/error/message", "/message", "/error", "/detail"];
    let text = places.iter().find_map(|place| body.pointer(place)?.as_str().filter(|text| !text.trim().is_empty()));
    text.map_or_else(|| body.to_string(), str::to_owned)
}

/// An error with what caused it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
