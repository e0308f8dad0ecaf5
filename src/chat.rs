//! Models that are asked: requests and replies in one form, whoever serves the model.
//!
//! The words are those of the GenAI semantic conventions (`gen_ai.operation.name` = `chat`).

use serde_json::Value;

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOffer {
    /// Its name.
    pub name: String,
    /// What it does, as the model reads it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

/// A call that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// `gen_ai.tool.call.id`.
    pub id: String,
    /// Name of the tool, which need not exist.
    pub name: String,
    /// The arguments as JSON text, as the model wrote them: not always valid.
    pub arguments: String,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// What the person says.
    User(String),
    /// What the model said, with the calls that it asked for.
    Assistant {
        /// Its text; empty when it only calls.
        text: String,
        /// The calls, in order.
        calls: Vec<ToolCall>,
    },
    /// What came of a call.
    Tool {
        /// The id of the call.
        call_id: String,
        /// The result as text, JSON as a rule.
        content: String,
        /// Whether the call failed.
        is_error: bool,
    },
}

/// What a model is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatRequest {
    /// The system instructions; empty when there are none.
    pub system: String,
    /// The conversation so far, the oldest first.
    pub messages: Vec<Message>,
    /// The tools offered.
    pub tools: Vec<ToolOffer>,
    /// `gen_ai.request.max_tokens`.
    pub max_tokens: u32,
}

/// Tokens of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// `gen_ai.usage.input_tokens`.
    pub input_tokens: u64,
    /// `gen_ai.usage.output_tokens`.
    pub output_tokens: u64,
}

/// Why a model stopped (`gen_ai.response.finish_reasons`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It was done.
    Stop,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It ran out of tokens: what it said is cut off.
    Length,
    /// It, or a filter before it, declined to answer.
    Refused,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// Its text; empty when it only calls.
    pub text: String,
    /// The calls that it asks for, in order.
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it cost.
    pub usage: Usage,
    /// `gen_ai.response.model`: the name by which the provider calls it.
    pub model: String,
}

/// A model that can be asked.
pub trait ChatModel: Send {
    /// `gen_ai.provider.name`: `anthropic`, `openai`, `script`.
    fn provider(&self) -> &str;

    /// `gen_ai.request.model`.
    fn name(&self) -> &str;

    /// Asks once and waits for the whole reply. Blocks.
    ///
    /// # Errors
    /// What kept it from answering, when asking again did not help.
    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError>;
}

/// Why a model gave no reply. No text of an error holds a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// It has nothing to say to this: a script or a record that ends before the conversation does.
    #[error("no reply is left for this request")]
    NothingLeft,
}
