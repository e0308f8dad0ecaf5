//! Names of attributes, of the GenAI semantic conventions.

#![allow(deprecated, reason = "the conventions moved to a repository of their own; the names are the same")]

use opentelemetry_semantic_conventions::attribute as given;

pub(super) const AGENT_NAME: &str = given::GEN_AI_AGENT_NAME;
pub(super) const CONVERSATION_ID: &str = given::GEN_AI_CONVERSATION_ID;
pub(super) const ERROR_TYPE: &str = given::ERROR_TYPE;
pub(super) const OPERATION_NAME: &str = given::GEN_AI_OPERATION_NAME;
pub(super) const PROVIDER_NAME: &str = given::GEN_AI_PROVIDER_NAME;
pub(super) const REQUEST_MAX_TOKENS: &str = given::GEN_AI_REQUEST_MAX_TOKENS;
pub(super) const REQUEST_MODEL: &str = given::GEN_AI_REQUEST_MODEL;
pub(super) const RESPONSE_FINISH_REASONS: &str = given::GEN_AI_RESPONSE_FINISH_REASONS;
pub(super) const RESPONSE_MODEL: &str = given::GEN_AI_RESPONSE_MODEL;
pub(super) const TOOL_CALL_ARGUMENTS: &str = given::GEN_AI_TOOL_CALL_ARGUMENTS;
pub(super) const TOOL_CALL_ID: &str = given::GEN_AI_TOOL_CALL_ID;
pub(super) const TOOL_CALL_RESULT: &str = given::GEN_AI_TOOL_CALL_RESULT;
pub(super) const TOOL_DESCRIPTION: &str = given::GEN_AI_TOOL_DESCRIPTION;
pub(super) const TOOL_NAME: &str = given::GEN_AI_TOOL_NAME;
pub(super) const TOOL_TYPE: &str = given::GEN_AI_TOOL_TYPE;
pub(super) const USAGE_INPUT_TOKENS: &str = given::GEN_AI_USAGE_INPUT_TOKENS;
pub(super) const USAGE_OUTPUT_TOKENS: &str = given::GEN_AI_USAGE_OUTPUT_TOKENS;
