//! What goes over the wire, and what is made of what comes back.

use serde_json::{Value, json};
use taco_trace::chat::{ChatError, ChatModel, ChatReply, ChatRequest, Finish, Message, ToolCall, Usage};
use taco_trace::chat::{anthropic, openai};

use super::super::support_model::{Answer, ModelServer, claude, claude_says, gpt, gpt_says};
use super::{KEY, Made, question};

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.to_owned(), name: "search".to_owned(), arguments: arguments.to_owned() }
}

/// A conversation with two calls at once, of which one failed.
fn conversation() -> ChatRequest {
    let mut request = question("출장비 규정은?");
    let calls = vec![call("c1", r#"{"q":"출장"}"#), call("c2", r#"{"q":"여비"}"#)];
    let result = |id: &str, content: &str, is_error| Message::Tool {
        call_id: id.to_owned(),
        content: content.to_owned(),
        is_error,
    };
    request.messages.push(Message::Assistant { text: "찾아보겠습니다.".to_owned(), calls });
    request.messages.push(result("c1", r#"{"n":1}"#, false));
    request.messages.push(result("c2", "시간이 지났습니다", true));
    request.messages.push(Message::User("계속하세요.".to_owned()));
    request
}

fn ask_claude(answer: &Answer, request: &ChatRequest) -> Result<ChatReply, ChatError> {
    Made::default().claude(&ModelServer::answering([answer.clone()])).chat(request)
}

fn ask_gpt(answer: &Answer, request: &ChatRequest) -> Result<ChatReply, ChatError> {
    Made::default().gpt(&ModelServer::answering([answer.clone()])).chat(request)
}

#[test]
fn anthropic_request_has_its_headers_and_form() {
    let server = ModelServer::answering([claude_says("안녕하세요.")]);
    let reply = Made::default().claude(&server).chat(&conversation()).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("안녕하세요.", Finish::Stop));
    assert_eq!(reply.usage, Usage { input_tokens: 100, output_tokens: 20 });
    assert_eq!(reply.model, "claude-test-1");
    let seen = server.only();
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert_eq!(seen.header("authorization"), None);
    let expected = json!({
        "model": "model-1",
        "max_tokens": 500,
        "system": "규정을 찾는 사람입니다.",
        "tools": [{
            "name": "search", "description": "규정을 찾습니다.",
            "input_schema": { "type": "object", "properties": { "q": { "type": "string" } } }
        }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "출장비 규정은?" }] },
            { "role": "assistant", "content": [
                { "type": "text", "text": "찾아보겠습니다." },
                { "type": "tool_use", "id": "c1", "name": "search", "input": { "q": "출장" } },
                { "type": "tool_use", "id": "c2", "name": "search", "input": { "q": "여비" } }
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "c1", "content": "{\"n\":1}" },
                { "type": "tool_result", "tool_use_id": "c2", "content": "시간이 지났습니다", "is_error": true },
                { "type": "text", "text": "계속하세요." }
            ] }
        ]
    });
    assert_eq!(seen.body, expected);
}

#[test]
fn openai_request_has_its_header_and_form() {
    let server = ModelServer::answering([gpt_says("안녕하세요.")]);
    let reply = Made::default().gpt(&server).chat(&conversation()).unwrap();
    assert_eq!((reply.text.as_str(), reply.finish), ("안녕하세요.", Finish::Stop));
    assert_eq!(reply.usage, Usage { input_tokens: 100, output_tokens: 20 });
    assert_eq!(reply.model, "gpt-test-1");
    let seen = server.only();
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(seen.header("x-api-key"), None);
    let call = |id: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": "search", "arguments": arguments } });
    let expected = json!({
        "model": "model-1",
        "max_tokens": 500,
        "tools": [{ "type": "function", "function": {
            "name": "search", "description": "규정을 찾습니다.",
            "parameters": { "type": "object", "properties": { "q": { "type": "string" } } }
        } }],
        "messages": [
            { "role": "system", "content": "규정을 찾는 사람입니다." },
            { "role": "user", "content": "출장비 규정은?" },
            { "role": "assistant", "content": "찾아보겠습니다.",
              "tool_calls": [call("c1", "{\"q\":\"출장\"}"), call("c2", "{\"q\":\"여비\"}")] },
            { "role": "tool", "tool_call_id": "c1", "content": "{\"n\":1}" },
            { "role": "tool", "tool_call_id": "c2", "content": "시간이 지났습니다" },
            { "role": "user", "content": "계속하세요." }
        ]
    });
    assert_eq!(seen.body, expected);
}

#[test]
fn what_is_empty_is_left_out() {
    let request = ChatRequest {
        messages: vec![
            Message::User("물음".to_owned()),
            Message::Assistant { text: String::new(), calls: Vec::new() },
            Message::User("다시".to_owned()),
        ],
        max_tokens: 1,
        ..ChatRequest::default()
    };
    let text = |text: &str| json!({ "type": "text", "text": text });
    let expected = json!({
        "model": "m", "max_tokens": 1, "messages": [{ "role": "user", "content": [text("물음"), text("다시")] }]
    });
    assert_eq!(anthropic::body("m", &request), expected);
    let body = openai::body("m", &request, "max_tokens");
    assert_eq!(body.get("tools"), None);
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(3));
}

/// A conversation may have begun with another model, whose arguments need not be an object.
#[test]
fn arguments_that_are_no_object_stand_in_one() {
    for (arguments, input) in [
        (r#"{"q":1}"#, json!({ "q": 1 })),
        ("", json!({})),
        ("[1]", json!({ "arguments": "[1]" })),
        ("{oops", json!({ "arguments": "{oops" })),
    ] {
        let calls = vec![call("c", arguments)];
        let messages = vec![Message::Assistant { text: String::new(), calls }];
        let body = anthropic::body("m", &ChatRequest { messages, ..ChatRequest::default() });
        assert_eq!(body["messages"][0]["content"][0]["input"], input, "{arguments}");
    }
}

#[test]
fn limit_is_named_as_the_host_wants_it() {
    for (base, name) in [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://api.openai.com", "max_completion_tokens"),
        ("https://api.openai.com.example/v1", "max_tokens"),
        ("http://10.0.0.5:8000/v1", "max_tokens"),
        ("no url", "max_tokens"),
    ] {
        assert_eq!(openai::limit_name(base), name, "{base}");
        assert_eq!(openai::is_openai(base), name == "max_completion_tokens", "{base}");
    }
}

#[test]
fn base_address_may_end_in_a_slash_or_a_version() {
    for end in ["", "/", "/v1", "/v1/"] {
        let server = ModelServer::answering([claude_says("예.")]);
        let made = Made::default();
        let endpoint = made.endpoint(format!("{}{end}", server.url()));
        let mut model = anthropic::Anthropic::new(endpoint, made.limits, made.clock(), made.budget.clone()).unwrap();
        model.chat(&question("?")).unwrap();
        assert_eq!(server.only().path, "/v1/messages", "{end}");
    }
}

#[test]
fn parallel_calls_come_back_in_order() {
    let content = json!([
        { "type": "thinking", "thinking": "…", "signature": "s" },
        { "type": "text", "text": "찾아" },
        { "type": "text", "text": "봅니다." },
        { "type": "tool_use", "id": "t1", "name": "search", "input": { "q": "가" } },
        { "type": "tool_use", "id": "t2", "name": "search", "input": {} }
    ]);
    let reply = ask_claude(&Answer::ok(&claude(&content, "tool_use")), &question("?")).unwrap();
    let calls = vec![call("t1", r#"{"q":"가"}"#), call("t2", "{}")];
    assert_eq!((reply.text.as_str(), &reply.calls, reply.finish), ("찾아봅니다.", &calls, Finish::ToolCalls));
    let function = |arguments: &Value| json!({ "name": "search", "arguments": arguments });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": "t1", "type": "function", "function": function(&json!("{\"q\":\"가\"}")) },
        // As some servers have it: no id, arguments that are no text.
        { "type": "function", "function": function(&json!({})) },
        { "id": "t3", "type": "function", "function": function(&json!("{broken")) }
    ] });
    for finish in ["tool_calls", "stop"] {
        let reply = ask_gpt(&Answer::ok(&gpt(&message, finish)), &question("?")).unwrap();
        let calls = [call("t1", r#"{"q":"가"}"#), call("call_2", "{}"), call("t3", "{broken")];
        assert_eq!((reply.text.as_str(), &reply.calls[..], reply.finish), ("", &calls[..], Finish::ToolCalls));
    }
}

#[test]
fn reasons_to_stop_have_one_name_for_both() {
    let text = json!([{ "type": "text", "text": "말" }]);
    for (reason, finish) in [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("something_new", Finish::Stop),
        ("max_tokens", Finish::Length),
        ("model_context_window_exceeded", Finish::Length),
        ("refusal", Finish::Refused),
    ] {
        let reply = ask_claude(&Answer::ok(&claude(&text, reason)), &question("?")).unwrap();
        assert_eq!(reply.finish, finish, "{reason}");
    }
    let message = json!({ "role": "assistant", "content": [{ "type": "text", "text": "말" }] });
    for (reason, finish) in
        [("stop", Finish::Stop), ("length", Finish::Length), ("content_filter", Finish::Refused), ("eos", Finish::Stop)]
    {
        let reply = ask_gpt(&Answer::ok(&gpt(&message, reason)), &question("?")).unwrap();
        assert_eq!((reply.finish, reply.text.as_str()), (finish, "말"), "{reason}");
    }
    let refusal = json!({ "role": "assistant", "content": null, "refusal": "할 수 없습니다." });
    let reply = ask_gpt(&Answer::ok(&gpt(&refusal, "stop")), &question("?")).unwrap();
    assert_eq!((reply.finish, reply.text.as_str()), (Finish::Refused, "할 수 없습니다."));
}

#[test]
fn tokens_of_a_cache_count_as_input() {
    let mut answer = claude(&json!([]), "end_turn");
    answer["usage"] = json!({
        "input_tokens": 5, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11, "output_tokens": 2
    });
    let reply = ask_claude(&Answer::ok(&answer), &question("?")).unwrap();
    assert_eq!(reply.usage, Usage { input_tokens: 23, output_tokens: 2 });
}

#[test]
fn reply_of_another_form_is_refused_at_once() {
    let server = ModelServer::answering([Answer::ok(&json!({ "choices": [] }))]);
    let made = Made::default();
    for mut model in made.both(&server) {
        assert!(matches!(model.chat(&question("?")), Err(ChatError::Unreadable { .. })), "{}", model.provider());
    }
    assert_eq!(server.seen().len(), 2, "none was sent again");
    for body in ["no json", "{\"choices\": nothing}", "[1]", "\"text\""] {
        let answer = Answer::Json(200, Vec::new(), body.to_owned());
        assert!(matches!(ask_gpt(&answer, &question("?")), Err(ChatError::Unreadable { .. })), "{body}");
        assert!(matches!(ask_claude(&answer, &question("?")), Err(ChatError::Unreadable { .. })), "{body}");
    }
    let nameless = json!({ "role": "assistant", "tool_calls": [{ "id": "c", "function": {} }] });
    let answer = Answer::ok(&gpt(&nameless, "tool_calls"));
    assert!(matches!(ask_gpt(&answer, &question("?")), Err(ChatError::Unreadable { .. })));
    for block in [
        json!({ "type": "text" }),
        json!({ "type": "tool_use", "id": "c" }),
        json!({ "type": "tool_use", "name": "n" }),
    ] {
        let answer = Answer::ok(&claude(&json!([block]), "end_turn"));
        assert!(matches!(ask_claude(&answer, &question("?")), Err(ChatError::Unreadable { .. })), "{block}");
    }
}

#[test]
fn error_with_status_200_is_an_error() {
    let answer = Answer::ok(&json!({ "error": { "message": "upstream failed", "code": 502 } }));
    let expected = ChatError::Status { status: 200, message: "upstream failed".to_owned() };
    assert_eq!(ask_gpt(&answer, &question("?")), Err(expected));
}

#[test]
fn closed_server_gets_no_key_when_there_is_none() {
    let server = ModelServer::answering([gpt_says("예.")]);
    let made = Made { key: None, ..Made::default() };
    made.gpt(&server).chat(&question("?")).unwrap();
    assert_eq!(server.only().header("authorization"), None);
}

#[test]
fn address_that_is_none_and_key_that_no_header_holds_are_refused() {
    let made = Made::default();
    for base in ["", "example.com/v1", "ftp://example.com", "http://", "http://a/v1?x=1", "http://a/v1#x"] {
        let model = openai::OpenAi::new(made.endpoint(base.to_owned()), made.limits, made.clock(), made.budget.clone());
        assert!(matches!(model.err(), Some(ChatError::Setup { .. })), "{base}");
    }
    let made = Made { key: Some("a secret\nkey of two lines"), ..Made::default() };
    let endpoint = made.endpoint("http://127.0.0.1:9".to_owned());
    let error = anthropic::Anthropic::new(endpoint, made.limits, made.clock(), made.budget.clone()).err().unwrap();
    assert!(!error.to_string().contains("secret") && !format!("{error:?}").contains("secret"), "{error:?}");
}
