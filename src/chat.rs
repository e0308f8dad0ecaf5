//! Models that are asked: requests and replies in one form, whoever serves the model.
//!
//! The words are those of the GenAI semantic conventions (`gen_ai.operation.name` = `chat`). The clients
//! ([`anthropic`], [`openai`]) send over [`http`], which retries and asks the [`budget`] before each request.
//! [`record`] stands around or in place of any of them, [`stoppable`] around those that take long. Reads no
//! environment, opens no file, and asks no clock but the one that it is given.

pub mod anthropic;
pub mod budget;
pub mod http;
pub mod key;
pub mod openai;
pub mod record;
pub mod stoppable;

use serde_json::Value;

use budget::Usd;

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

impl Usage {
    /// Both together.
    #[must_use]
    pub const fn plus(self, more: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
        }
    }
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

/// Why a model gave no reply. No text of an error holds a key, and what a server says is cut to a few hundred
/// characters without control characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChatError {
    /// It has nothing to say to this: a script or a record that ends before the conversation does.
    #[error("no reply is left for this request")]
    NothingLeft,
    /// The record holds no reply to such a request.
    #[error("the record holds no reply to the request {sha256}")]
    NotRecorded {
        /// The request, as [`record::request_sha256`] names it.
        sha256: String,
    },
    /// A line of a record cannot be read.
    #[error("line {line} of the record cannot be read: {message}")]
    RecordUnreadable {
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// The reply is there, but could not be recorded.
    #[error("the reply could not be recorded: {message}")]
    RecordNotWritten {
        /// What the system says.
        message: String,
    },
    /// What asked was stopped, and waits no longer.
    #[error("the reply is no longer waited for")]
    Stopped,
    /// Another request might go over what may be spent. Nothing was sent.
    #[error("the spending cap is reached: {0}")]
    Cap(Cap),
    /// What may be spent is limited, but what the model costs is not known. Nothing was sent.
    #[error("no price of {model} is known, which the cap on costs needs")]
    NoPrice {
        /// The model.
        model: String,
    },
    /// The client cannot be made: an address that is none, a key that no header can hold.
    #[error("the client cannot be set up: {message}")]
    Setup {
        /// What is wrong.
        message: String,
    },
    /// The server cannot be reached, or hung up before the reply was whole, each time.
    #[error("{server} cannot be reached: {message}")]
    Unreachable {
        /// Scheme, host and port.
        server: String,
        /// What the system says.
        message: String,
    },
    /// The server did not answer in time, each time.
    #[error("{server} did not answer within {seconds} s")]
    TimedOut {
        /// Scheme, host and port.
        server: String,
        /// The limit of a whole request, in seconds, rounded up.
        seconds: u64,
    },
    /// The server sends elsewhere. A key is not carried there.
    #[error("{server} redirects with status {status}")]
    Redirected {
        /// Scheme, host and port.
        server: String,
        /// The HTTP status.
        status: u16,
    },
    /// The server refuses the request: at once, or still after asking again.
    #[error("status {status}: {message}")]
    Status {
        /// The HTTP status.
        status: u16,
        /// What the server says of it; empty when it says nothing.
        message: String,
    },
    /// The reply is not of the form that it should have.
    #[error("the reply cannot be read: {message}")]
    Unreadable {
        /// What is wrong with it.
        message: String,
    },
}

impl ChatError {
    /// Whether what may be spent kept the request from being sent.
    #[must_use]
    pub const fn is_cap(&self) -> bool {
        matches!(self, Self::Cap(_) | Self::NoPrice { .. })
    }
}

/// What of a cap would be passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Cap {
    /// The number of requests, those sent again included.
    #[error("{allowed} requests were sent")]
    Calls {
        /// How many may be sent.
        allowed: u64,
    },
    /// The cost, with the next request at its worst.
    #[error("{spent} USD were spent, the next request may cost {next} USD, {allowed} USD are allowed")]
    Cost {
        /// What may be spent.
        allowed: Usd,
        /// What was spent so far, with what requests under way may cost.
        spent: Usd,
        /// What the next request may cost at most.
        next: Usd,
    },
}
