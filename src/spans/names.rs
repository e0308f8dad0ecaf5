//! Names of attributes, of the GenAI semantic conventions.

#![allow(deprecated, reason = "the conventions moved to a repository of their own; the names are the same")]

use opentelemetry_semantic_conventions::attribute as given;

/// `gen_ai.agent.name`.
pub const AGENT_NAME: &str = given::GEN_AI_AGENT_NAME;
/// `gen_ai.conversation.id`.
pub const CONVERSATION_ID: &str = given::GEN_AI_CONVERSATION_ID;
/// `error.type`.
pub const ERROR_TYPE: &str = given::ERROR_TYPE;
/// `gen_ai.operation.name`.
pub const OPERATION_NAME: &str = given::GEN_AI_OPERATION_NAME;
/// `gen_ai.provider.name`.
pub const PROVIDER_NAME: &str = given::GEN_AI_PROVIDER_NAME;
/// `gen_ai.request.max_tokens`.
pub const REQUEST_MAX_TOKENS: &str = given::GEN_AI_REQUEST_MAX_TOKENS;
/// `gen_ai.request.model`.
pub const REQUEST_MODEL: &str = given::GEN_AI_REQUEST_MODEL;
/// `gen_ai.response.finish_reasons`.
pub const RESPONSE_FINISH_REASONS: &str = given::GEN_AI_RESPONSE_FINISH_REASONS;
/// `gen_ai.response.model`.
pub const RESPONSE_MODEL: &str = given::GEN_AI_RESPONSE_MODEL;
/// `gen_ai.tool.call.arguments`.
pub const TOOL_CALL_ARGUMENTS: &str = given::GEN_AI_TOOL_CALL_ARGUMENTS;
/// `gen_ai.tool.call.id`.
pub const TOOL_CALL_ID: &str = given::GEN_AI_TOOL_CALL_ID;
/// `gen_ai.tool.call.result`.
pub const TOOL_CALL_RESULT: &str = given::GEN_AI_TOOL_CALL_RESULT;
/// `gen_ai.tool.description`.
pub const TOOL_DESCRIPTION: &str = given::GEN_AI_TOOL_DESCRIPTION;
/// `gen_ai.tool.name`.
pub const TOOL_NAME: &str = given::GEN_AI_TOOL_NAME;
/// `gen_ai.tool.type`.
pub const TOOL_TYPE: &str = given::GEN_AI_TOOL_TYPE;
/// `gen_ai.usage.input_tokens`.
pub const USAGE_INPUT_TOKENS: &str = given::GEN_AI_USAGE_INPUT_TOKENS;
/// `gen_ai.usage.output_tokens`.
pub const USAGE_OUTPUT_TOKENS: &str = given::GEN_AI_USAGE_OUTPUT_TOKENS;
