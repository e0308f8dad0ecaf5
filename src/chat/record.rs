//! Exchanges with a model, written down as JSON lines, and a model that answers from them.
//!
//! A line has the request, the reply with its tokens, and what names the request: the sha256 of provider, model and
//! request in canonical JSON (RFC 8785). No key, no address, no time is in it.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, Usage};
use crate::digest::sha256_hex;

/// Names the form of a line; another one is refused.
const FORMAT: &str = "taco-trace-chat/1";

/// A model whose replies are written down.
pub struct Recorder {
    model: Box<dyn ChatModel>,
    output: Box<dyn Write + Send>,
}

impl Recorder {
    /// Writes each exchange of `model` to `output`, a line at a time, flushed.
    #[must_use]
    pub fn new(model: Box<dyn ChatModel>, output: Box<dyn Write + Send>) -> Self {
        Self { model, output }
    }
}

impl ChatModel for Recorder {
    fn provider(&self) -> &str {
        self.model.provider()
    }

    fn name(&self) -> &str {
        self.model.name()
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        let reply = self.model.chat(request)?;
        let line = Line::of(self.model.provider(), self.model.name(), request, &reply);
        let not_written = |message: String| ChatError::RecordNotWritten { message };
        let mut text = serde_json::to_string(&line).map_err(|error| not_written(error.to_string()))?;
        text.push('\n');
        // In one call: several programs may append to the file.
        let written = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
        written.map_err(|error| not_written(error.to_string()))?;
        Ok(reply)
    }
}

/// A model that answers what was recorded: to each request the replies that it got, in order.
pub struct Replay {
    provider: String,
    name: String,
    replies: BTreeMap<String, VecDeque<ChatReply>>,
}

impl Replay {
    /// Reads a record. The replies are those of `provider` and `name`; lines of other models are left alone.
    ///
    /// # Errors
    /// `RecordUnreadable`.
    pub fn read(provider: &str, name: &str, record: impl BufRead) -> Result<Self, ChatError> {
        let mut replies: BTreeMap<String, VecDeque<ChatReply>> = BTreeMap::new();
        for (number, line) in (1..).zip(record.lines()) {
            let wrong = |message: String| ChatError::RecordUnreadable { line: number, message };
            let line = line.map_err(|error| wrong(error.to_string()))?;
            if line.trim().is_empty() {
                continue;
            }
            let read: Line = serde_json::from_str(&line).map_err(|error| wrong(error.to_string()))?;
            if read.format != FORMAT {
                return Err(wrong(format!("format {}, not {FORMAT}", read.format)));
            }
            if read.provider == provider && read.model == name {
                replies.entry(read.request_sha256.clone()).or_default().push_back(read.reply());
            }
        }
        Ok(Self { provider: provider.to_owned(), name: name.to_owned(), replies })
    }
}

impl ChatModel for Replay {
    fn provider(&self) -> &str {
        &self.provider
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        let sha256 = request_sha256(&self.provider, &self.name, request);
        let Some(left) = self.replies.get_mut(&sha256) else { return Err(ChatError::NotRecorded { sha256 }) };
        left.pop_front().ok_or(ChatError::NothingLeft)
    }
}

/// What names a request to a model: sha256 of its canonical JSON, in 64 hex digits.
#[must_use]
pub fn request_sha256(provider: &str, model: &str, request: &ChatRequest) -> String {
    let whole = json!({ "provider": provider, "model": model, "request": request_json(request) });
    // Nothing of it can fail to be written; its plain form would name it as well.
    let canonical = serde_json_canonicalizer::to_vec(&whole).unwrap_or_else(|_| whole.to_string().into_bytes());
    sha256_hex(&canonical)
}

fn request_json(request: &ChatRequest) -> Value {
    let messages: Value = request.messages.iter().map(message_json).collect();
    let tools: Value = request
        .tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.description, "parameters": tool.parameters }))
        .collect();
    json!({ "system": request.system, "messages": messages, "tools": tools, "max_tokens": request.max_tokens })
}

fn message_json(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "text": text }),
        Message::Assistant { text, calls } => {
            let calls: Value = calls
                .iter()
                .map(|call| json!({ "id": call.id, "name": call.name, "arguments": call.arguments }))
                .collect();
            json!({ "role": "assistant", "text": text, "calls": calls })
        }
        Message::Tool { call_id, content, is_error } => {
            json!({ "role": "tool", "call_id": call_id, "content": content, "is_error": is_error })
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    format: String,
    provider: String,
    model: String,
    request_sha256: String,
    request: Value,
    reply: ReplyLine,
    usage: UsageLine,
}

#[derive(Serialize, Deserialize)]
struct ReplyLine {
    text: String,
    calls: Vec<CallLine>,
    finish: FinishLine,
    model: String,
}

#[derive(Serialize, Deserialize)]
struct CallLine {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FinishLine {
    Stop,
    ToolCalls,
    Length,
    Refused,
}

#[derive(Serialize, Deserialize)]
struct UsageLine {
    input_tokens: u64,
    output_tokens: u64,
}

impl Line {
    fn of(provider: &str, model: &str, request: &ChatRequest, reply: &ChatReply) -> Self {
        let calls = reply.calls.iter().map(|call| CallLine {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        });
        Self {
            format: FORMAT.to_owned(),
            provider: provider.to_owned(),
            model: model.to_owned(),
            request_sha256: request_sha256(provider, model, request),
            request: request_json(request),
            reply: ReplyLine {
                text: reply.text.clone(),
                calls: calls.collect(),
                finish: match reply.finish {
                    Finish::Stop => FinishLine::Stop,
                    Finish::ToolCalls => FinishLine::ToolCalls,
                    Finish::Length => FinishLine::Length,
                    Finish::Refused => FinishLine::Refused,
                },
                model: reply.model.clone(),
            },
            usage: UsageLine { input_tokens: reply.usage.input_tokens, output_tokens: reply.usage.output_tokens },
        }
    }

    fn reply(self) -> ChatReply {
        let calls = self.reply.calls.into_iter();
        ChatReply {
            text: self.reply.text,
            calls: calls.map(|call| ToolCall { id: call.id, name: call.name, arguments: call.arguments }).collect(),
            finish: match self.reply.finish {
                FinishLine::Stop => Finish::Stop,
                FinishLine::ToolCalls => Finish::ToolCalls,
                FinishLine::Length => Finish::Length,
                FinishLine::Refused => Finish::Refused,
            },
            usage: Usage { input_tokens: self.usage.input_tokens, output_tokens: self.usage.output_tokens },
            model: self.reply.model,
        }
    }
}
