//! The Messages API of Anthropic: `POST {base}/v1/messages`.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};

use super::budget::Budget;
use super::http::{Clock, Endpoint, Limits, Sender, key_header};
use super::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, Usage};

/// Where Anthropic serves it.
pub const BASE_URL: &str = "https://api.anthropic.com";
/// The version of the API whose form this is.
const VERSION: &str = "2023-06-01";

/// A model behind the Messages API.
pub struct Anthropic {
    sender: Sender,
}

impl Anthropic {
    /// A client. The base address may end in `/v1`, as some gateways give it.
    ///
    /// # Errors
    /// `Setup`.
    pub fn new(mut endpoint: Endpoint, limits: Limits, clock: Clock, budget: Budget) -> Result<Self, ChatError> {
        let base = endpoint.base_url.trim().trim_end_matches('/');
        endpoint.base_url = base.strip_suffix("/v1").unwrap_or(base).to_owned();
        let mut headers = HeaderMap::new();
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static(VERSION));
        if let Some(key) = &endpoint.key {
            key_header(&mut headers, HeaderName::from_static("x-api-key"), key.expose())?;
        }
        Ok(Self { sender: Sender::new(endpoint, "/v1/messages", headers, limits, clock, budget)? })
    }
}

impl ChatModel for Anthropic {
    fn provider(&self) -> &str {
        "anthropic"
    }

    fn name(&self) -> &str {
        self.sender.model()
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        let body = body(self.sender.model(), request);
        let asked = self.sender.model().to_owned();
        self.sender.post(&body, request.max_tokens, |answer| reply(answer, &asked))
    }
}

/// The request as the API takes it.
#[must_use]
pub fn body(model: &str, request: &ChatRequest) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("max_tokens".to_owned(), request.max_tokens.into());
    if !request.system.is_empty() {
        body.insert("system".to_owned(), request.system.as_str().into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut offer = json!({ "name": tool.name, "input_schema": tool.parameters });
            if !tool.description.is_empty() {
                offer["description"] = tool.description.as_str().into();
            }
            offer
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    // Roles take turns: what follows one another under one role is one message, so all results of parallel calls.
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in &request.messages {
        let (role, blocks) = blocks(message);
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    let messages = messages.into_iter().map(|(role, content)| json!({ "role": role, "content": content }));
    body.insert("messages".to_owned(), messages.collect());
    Value::Object(body)
}

/// The role of a message, and its content. The API refuses empty texts.
fn blocks(message: &Message) -> (&'static str, Vec<Value>) {
    let said = |text: &String| (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
    match message {
        Message::User(text) => ("user", said(text).into_iter().collect()),
        Message::Assistant { text, calls } => {
            let calls = calls.iter().map(
                |call| json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": input(&call.arguments) }),
            );
            ("assistant", said(text).into_iter().chain(calls).collect())
        }
        Message::Tool { call_id, content, is_error } => {
            let mut result = json!({ "type": "tool_result", "tool_use_id": call_id, "content": content });
            if *is_error {
                result["is_error"] = true.into();
            }
            ("user", vec![result])
        }
    }
}

/// Arguments as the object that the API wants; what is none stands in one as text.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(input @ Value::Object(_)) => input,
        _ if arguments.trim().is_empty() => json!({}),
        _ => json!({ "arguments": arguments }),
    }
}

/// What the API answers. The second value is what it says of tokens, if it does.
///
/// # Errors
/// `Unreadable`.
pub fn reply(answer: &Value, asked: &str) -> Result<(ChatReply, Option<Usage>), ChatError> {
    let unreadable = |message: &str| ChatError::Unreadable { message: message.to_owned() };
    let content = answer.get("content").and_then(Value::as_array).ok_or_else(|| unreadable("no array `content`"))?;
    let mut text = String::new();
    let mut calls = Vec::new();
    for block in content {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        match field("type") {
            Some("text") => text.push_str(field("text").ok_or_else(|| unreadable("a text block without text"))?),
            Some("tool_use") => {
                let name = field("name").ok_or_else(|| unreadable("a tool_use block without name"))?;
                let id = field("id").ok_or_else(|| unreadable("a tool_use block without id"))?;
                let arguments = block.get("input").map_or_else(|| "{}".to_owned(), Value::to_string);
                calls.push(ToolCall { id: id.to_owned(), name: name.to_owned(), arguments });
            }
            // Thinking, and kinds of blocks that are not made yet.
            _ => {}
        }
    }
    let finish = match answer.get("stop_reason").and_then(Value::as_str) {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::Refused,
        _ if calls.is_empty() => Finish::Stop,
        _ => Finish::ToolCalls,
    };
    let told = answer.get("usage").map(|usage| {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        // Those read from or written to a cache are counted apart there.
        let cached = count("cache_creation_input_tokens").saturating_add(count("cache_read_input_tokens"));
        Usage { input_tokens: count("input_tokens").saturating_add(cached), output_tokens: count("output_tokens") }
    });
    let model = answer.get("model").and_then(Value::as_str).unwrap_or(asked).to_owned();
    Ok((ChatReply { text, calls, finish, usage: told.unwrap_or_default(), model }, told))
}
