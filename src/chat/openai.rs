//! Chat Completions of OpenAI and of the servers that speak its form: `POST {base}/chat/completions`.

use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Map, Value, json};

use super::budget::Budget;
use super::http::{Clock, Endpoint, Limits, Sender, key_header};
use super::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, Usage};

/// Where OpenAI serves it.
pub const BASE_URL: &str = "https://api.openai.com/v1";
/// The host that wants the limit as `max_completion_tokens`: its newer models refuse `max_tokens`, which in turn is the
/// only name that many compatible servers know.
const OPENAI_HOST: &str = "api.openai.com";

/// A model behind Chat Completions.
pub struct OpenAi {
    sender: Sender,
    limit_name: &'static str,
}

impl OpenAi {
    /// A client; the key may be absent.
    ///
    /// # Errors
    /// `Setup`.
    pub fn new(endpoint: Endpoint, limits: Limits, clock: Clock, budget: Budget) -> Result<Self, ChatError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &endpoint.key {
            key_header(&mut headers, AUTHORIZATION, &format!("Bearer {}", key.expose()))?;
        }
        let limit_name = limit_name(&endpoint.base_url);
        Ok(Self { sender: Sender::new(endpoint, "/chat/completions", headers, limits, clock, budget)?, limit_name })
    }
}

/// Whether OpenAI itself is behind the address: it needs a key, and has its own name for the limit of tokens.
#[must_use]
pub fn is_openai(base_url: &str) -> bool {
    reqwest::Url::parse(base_url.trim()).is_ok_and(|url| url.host_str() == Some(OPENAI_HOST))
}

/// The member that limits the tokens of a reply at this address.
#[must_use]
pub fn limit_name(base_url: &str) -> &'static str {
    if is_openai(base_url) { "max_completion_tokens" } else { "max_tokens" }
}

impl ChatModel for OpenAi {
    fn provider(&self) -> &str {
        "openai"
    }

    fn name(&self) -> &str {
        self.sender.model()
    }

    fn chat(&mut self, request: &ChatRequest) -> Result<ChatReply, ChatError> {
        let body = body(self.sender.model(), request, self.limit_name);
        let asked = self.sender.model().to_owned();
        self.sender.post(&body, request.max_tokens, |answer| reply(answer, &asked))
    }
}

/// The request as the API takes it; `limit_name` as [`limit_name`] has it.
#[must_use]
pub fn body(model: &str, request: &ChatRequest, limit_name: &str) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert(limit_name.to_owned(), request.max_tokens.into());
    let system = (!request.system.is_empty()).then(|| json!({ "role": "system", "content": request.system }));
    let messages = system.into_iter().chain(request.messages.iter().map(message));
    body.insert("messages".to_owned(), messages.collect());
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let mut function = json!({ "name": tool.name, "parameters": tool.parameters });
            if !tool.description.is_empty() {
                function["description"] = tool.description.as_str().into();
            }
            json!({ "type": "function", "function": function })
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    Value::Object(body)
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Assistant { text, calls } if calls.is_empty() => json!({ "role": "assistant", "content": text }),
        Message::Assistant { text, calls } => {
            let text = if text.is_empty() { Value::Null } else { text.as_str().into() };
            let calls: Value = calls
                .iter()
                .map(|call| {
                    let function = json!({ "name": call.name, "arguments": call.arguments });
                    json!({ "id": call.id, "type": "function", "function": function })
                })
                .collect();
            json!({ "role": "assistant", "content": text, "tool_calls": calls })
        }
        // The form has no place for whether a call failed: its content says so.
        Message::Tool { call_id, content, .. } => {
            json!({ "role": "tool", "tool_call_id": call_id, "content": content })
        }
    }
}

/// What the API answers. The second value is what it says of tokens, if it does.
///
/// # Errors
/// `Unreadable`.
pub fn reply(answer: &Value, asked: &str) -> Result<(ChatReply, Option<Usage>), ChatError> {
    let unreadable = |message: &str| ChatError::Unreadable { message: message.to_owned() };
    let choice = answer.pointer("/choices/0").ok_or_else(|| unreadable("no choice in `choices`"))?;
    let message = choice.get("message").ok_or_else(|| unreadable("a choice without message"))?;
    let mut calls = Vec::new();
    let asked_for = message.get("tool_calls").and_then(Value::as_array);
    for (number, call) in (1..).zip(asked_for.into_iter().flatten()) {
        let function = call.get("function").unwrap_or(&Value::Null);
        let name = function.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| unreadable("a tool call without name"))?.to_owned();
        // Some servers leave the id out.
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.map_or_else(|| format!("call_{number}"), str::to_owned);
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => String::new(),
            // JSON itself instead of its text, as some servers have it.
            Some(value) => value.to_string(),
        };
        calls.push(ToolCall { id, name, arguments });
    }
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    let text = refusal.map_or_else(|| said(message.get("content")), str::to_owned);
    let finish = match choice.get("finish_reason").and_then(Value::as_str) {
        Some("content_filter") => Finish::Refused,
        _ if refusal.is_some() => Finish::Refused,
        Some("length") => Finish::Length,
        // Some servers say `stop` although they call.
        _ if calls.is_empty() => Finish::Stop,
        _ => Finish::ToolCalls,
    };
    let told = answer.get("usage").filter(|usage| usage.is_object()).map(|usage| {
        let count = |name: &str| usage.get(name).and_then(Value::as_u64).unwrap_or_default();
        Usage { input_tokens: count("prompt_tokens"), output_tokens: count("completion_tokens") }
    });
    let model = answer.get("model").and_then(Value::as_str).filter(|name| !name.is_empty()).unwrap_or(asked).to_owned();
    Ok((ChatReply { text, calls, finish, usage: told.unwrap_or_default(), model }, told))
}

/// A text, or the texts of its parts.
fn said(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => String::new(),
    }
}
