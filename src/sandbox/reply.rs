//! What a request is answered: status and body, as the protocol has them.

use axum::http::header::{ALLOW, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use crate::eval::case::RequestAnswer;
use crate::eval::trial::{Asked, HeldApproval, Trial};
use crate::eval::world;

/// Why a request is not taken. Nothing of it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No token, that of another trial, or one that is dead; also no such trial.
    Unauthorized,
    /// Nothing is at this path.
    NotFound,
    /// Another method is meant; that one.
    Method(&'static str),
    /// The body is no JSON, or none of this form.
    BadRequest,
    /// The body is too long.
    TooLarge,
    /// The body did not come in time.
    Slow,
    /// There are too many headers.
    Headers,
    /// More was recorded of this trial than may be.
    Limit,
}

impl Refusal {
    fn told(self) -> (StatusCode, &'static str) {
        match self {
            Self::Unauthorized => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found"),
            Self::Method(_) => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::BadRequest => (StatusCode::BAD_REQUEST, "bad_request"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            Self::Slow => (StatusCode::REQUEST_TIMEOUT, "slow"),
            Self::Headers => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "too_many_headers"),
            Self::Limit => (StatusCode::TOO_MANY_REQUESTS, "limit"),
        }
    }
}

/// An answer.
pub(super) struct Reply {
    status: StatusCode,
    body: Value,
    header: Option<(HeaderName, &'static str)>,
}

impl Reply {
    fn new(status: StatusCode, body: Value) -> Self {
        Self { status, body, header: None }
    }

    fn unknown_tool() -> Self {
        Self::new(StatusCode::NOT_FOUND, json!({ "ok": false, "error": { "code": "unknown_tool" } }))
    }

    /// What came of a call.
    pub(super) fn of_call(reply: world::Reply) -> Self {
        match reply {
            world::Reply::Done(result) => Self::new(StatusCode::OK, json!({ "ok": true, "result": result })),
            world::Reply::ToolError(message) => {
                let error = json!({ "code": "tool_error", "message": message });
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, json!({ "ok": false, "error": error }))
            }
            world::Reply::Lost => {
                let body = json!({ "ok": false, "outcome": "unknown", "error": { "code": "response_lost" } });
                Self::new(StatusCode::GATEWAY_TIMEOUT, body)
            }
            world::Reply::Limit => Self::refusing(Refusal::Limit),
            world::Reply::UnknownTool => Self::unknown_tool(),
        }
    }

    /// The approvals of the trial.
    pub(super) fn of_approvals(approvals: &[HeldApproval]) -> Self {
        let told = |held: &HeldApproval| {
            json!({
                "approval_id": held.id,
                "tool": held.tool,
                "tool_version": held.tool_version,
                "arguments": held.arguments,
                "arguments_sha256": held.arguments_sha256,
                "expires_at": held.expires_at,
                "consumed": held.consumed,
            })
        };
        Self::new(StatusCode::OK, json!({ "approvals": approvals.iter().map(told).collect::<Vec<_>>() }))
    }

    /// The answer to a request for approval; none when there is no such tool.
    pub(super) fn of_request(asked: Option<&Asked>) -> Self {
        let Some(asked) = asked else { return Self::unknown_tool() };
        let status = match asked.answer {
            RequestAnswer::Pending => "pending",
            RequestAnswer::Grant => "granted",
            RequestAnswer::Deny => "denied",
        };
        let mut body = json!({ "ok": true, "request_id": asked.request_id, "status": status });
        if let Some(id) = &asked.approval_id {
            body["approval_id"] = id.as_str().into();
        }
        Self::new(StatusCode::OK, body)
    }

    /// How the trial stands.
    pub(super) fn of_status(trial: &Trial<'_>) -> Self {
        let (cancelled, left) = (trial.is_cancelled(), trial.tool_calls_left());
        Self::new(StatusCode::OK, json!({ "cancelled": cancelled, "tool_calls_left": left }))
    }

    /// That the request is not taken.
    pub(super) fn refusing(refusal: Refusal) -> Self {
        let (status, code) = refusal.told();
        let header = match refusal {
            Refusal::Unauthorized => Some((WWW_AUTHENTICATE, "Bearer")),
            Refusal::Method(allowed) => Some((ALLOW, allowed)),
            _ => None,
        };
        Self { header, ..Self::new(status, json!({ "ok": false, "error": { "code": code } })) }
    }

    pub(super) fn response(self) -> Response {
        let mut response = (self.status, [(CONTENT_TYPE, "application/json")], self.body.to_string()).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, axum::http::HeaderValue::from_static(value));
        }
        response
    }
}
