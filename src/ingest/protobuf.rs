//! OTLP protobuf to the OTLP JSON that the other reader knows.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

/// Why bytes are no trace request.
#[derive(Debug, thiserror::Error)]
pub enum ProtobufError {
    /// The bytes are no message of this kind.
    #[error("{0}")]
    NotARequest(#[from] prost::DecodeError),
    /// The message has no JSON form.
    #[error("{0}")]
    NotJson(#[from] serde_json::Error),
}

/// The OTLP JSON text of an `ExportTraceServiceRequest` in protobuf.
///
/// # Errors
/// When the bytes are no such message.
pub fn request_to_json(bytes: &[u8]) -> Result<String, ProtobufError> {
    let request = ExportTraceServiceRequest::decode(bytes)?;
    Ok(serde_json::to_string(&request)?)
}
