//! Answers in the form of the request: a response of the trace service, or a `google.rpc.Status` that says why not.

use std::collections::BTreeMap;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
use prost::Message as _;
use serde_json::json;

use crate::model::IssueCode;
use crate::render::Texts;
use crate::render::receive as words;

/// Seconds after which a sender may come again when the queue is full: a commit takes less.
const BUSY_SECONDS: u32 = 1;
/// Seconds after which a sender may come again when the store fails: someone has to make room.
const STORE_SECONDS: u32 = 10;

/// What a body holds, and so what its answer is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Protobuf,
}

impl Form {
    /// The form that the content type names; parameters such as a charset do not matter.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let value = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "application/json" => Some(Self::Json),
            "application/x-protobuf" => Some(Self::Protobuf),
            _ => None,
        }
    }

    const fn content_type(self) -> HeaderValue {
        match self {
            Self::Json => HeaderValue::from_static("application/json"),
            Self::Protobuf => HeaderValue::from_static("application/x-protobuf"),
        }
    }
}

/// What became of a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// It is in the store.
    Accepted {
        /// Spans left out.
        rejected: u64,
        /// Why, by code.
        lost: BTreeMap<IssueCode, u64>,
    },
    /// Nothing of it is in the store.
    Refused(Refusal),
}

/// Why a request was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No such path.
    Path(String),
    /// Logs, metrics or profiles.
    Signal(String),
    /// Another method than POST.
    Method(String),
    /// Neither JSON nor protobuf.
    ContentType(String),
    /// A compression that is not read.
    ContentEncoding(String),
    /// Over the limit, in bytes.
    TooLarge(usize),
    /// The body did not come in time.
    Slow,
    /// The body ended early.
    Cut,
    /// The compressed bytes are damaged.
    Damaged(String),
    /// No protobuf message of this kind.
    NotProtobuf(String),
    /// No trace data, with the reason of an issue.
    NotTraces(String),
    /// The queue is full.
    Busy,
    /// The store cannot be written to.
    Store,
}

/// The codes of `google.rpc.Code` that are used.
mod rpc {
    pub(super) const INVALID_ARGUMENT: i32 = 3;
    pub(super) const DEADLINE_EXCEEDED: i32 = 4;
    pub(super) const NOT_FOUND: i32 = 5;
    pub(super) const RESOURCE_EXHAUSTED: i32 = 8;
    pub(super) const UNIMPLEMENTED: i32 = 12;
    pub(super) const UNAVAILABLE: i32 = 14;
}

impl Refusal {
    /// HTTP status, code of the message, and the key of its text with the value that it names.
    fn parts(&self) -> (StatusCode, i32, &'static str, String) {
        let (status, code, kind, value) = match self {
            Self::Path(path) => (StatusCode::NOT_FOUND, rpc::NOT_FOUND, "path", path.as_str()),
            Self::Signal(path) => (StatusCode::NOT_FOUND, rpc::UNIMPLEMENTED, "signal", path.as_str()),
            Self::Method(name) => (StatusCode::METHOD_NOT_ALLOWED, rpc::UNIMPLEMENTED, "method", name.as_str()),
            Self::ContentType(name) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, rpc::INVALID_ARGUMENT, "content_type", name.as_str())
            }
            Self::ContentEncoding(name) => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, rpc::INVALID_ARGUMENT, "content_encoding", name.as_str())
            }
            Self::TooLarge(limit) => {
                let limit = limit.to_string();
                return (StatusCode::PAYLOAD_TOO_LARGE, rpc::INVALID_ARGUMENT, "too_large", limit);
            }
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, rpc::DEADLINE_EXCEEDED, "slow", ""),
            Self::Cut => (StatusCode::BAD_REQUEST, rpc::INVALID_ARGUMENT, "cut", ""),
            Self::Damaged(why) => (StatusCode::BAD_REQUEST, rpc::INVALID_ARGUMENT, "damaged", why.as_str()),
            Self::NotProtobuf(why) => (StatusCode::BAD_REQUEST, rpc::INVALID_ARGUMENT, "not_protobuf", why.as_str()),
            Self::NotTraces(why) => (StatusCode::BAD_REQUEST, rpc::INVALID_ARGUMENT, "not_traces", why.as_str()),
            Self::Busy => (StatusCode::TOO_MANY_REQUESTS, rpc::RESOURCE_EXHAUSTED, "busy", ""),
            Self::Store => (StatusCode::SERVICE_UNAVAILABLE, rpc::UNAVAILABLE, "store", ""),
        };
        (status, code, kind, value.to_owned())
    }

    /// Seconds after which the same request may be taken; none when it never will be.
    pub(super) const fn retry_after(&self) -> Option<u32> {
        match self {
            Self::Busy => Some(BUSY_SECONDS),
            Self::Store => Some(STORE_SECONDS),
            _ => None,
        }
    }
}

/// `google.rpc.Status` without details.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// The answer as it goes over the network.
pub(super) fn response(texts: &Texts, form: Form, answer: &Answer) -> Response {
    match answer {
        Answer::Accepted { rejected, lost } => accepted(texts, form, *rejected, lost),
        Answer::Refused(refusal) => refused(texts, form, refusal),
    }
}

fn accepted(texts: &Texts, form: Form, rejected: u64, lost: &BTreeMap<IssueCode, u64>) -> Response {
    let whole = rejected == 0 && lost.is_empty();
    let error_message = if whole { String::new() } else { words::partial(texts, rejected, lost) };
    let body = match form {
        Form::Json if whole => b"{}".to_vec(),
        // A 64-bit number is a text in proto3 JSON.
        Form::Json => json!({"partialSuccess": {"rejectedSpans": rejected.to_string(), "errorMessage": error_message}})
            .to_string()
            .into_bytes(),
        Form::Protobuf => {
            let rejected_spans = i64::try_from(rejected).unwrap_or(i64::MAX);
            let partial_success = (!whole).then_some(ExportTracePartialSuccess { rejected_spans, error_message });
            ExportTraceServiceResponse { partial_success }.encode_to_vec()
        }
    };
    written(StatusCode::OK, form, body)
}

fn refused(texts: &Texts, form: Form, refusal: &Refusal) -> Response {
    let (status, code, kind, value) = refusal.parts();
    let message = words::refusal(texts, kind, &value);
    let body = match form {
        Form::Json => json!({"code": code, "message": message}).to_string().into_bytes(),
        Form::Protobuf => RpcStatus { code, message }.encode_to_vec(),
    };
    let mut response = written(status, form, body);
    if let Some(seconds) = refusal.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if matches!(refusal, Refusal::Method(_)) {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    }
    response
}

fn written(status: StatusCode, form: Form, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, form.content_type());
    response
}
