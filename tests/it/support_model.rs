//! A server on this machine that answers as a provider of models would, as told beforehand.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What the server does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Status, further headers, body.
    Json(u16, Vec<(&'static str, String)>, String),
    /// These bytes, then it hangs up.
    Bytes(Vec<u8>),
    /// Nothing, until the server ends.
    Silence,
}

impl Answer {
    pub(crate) fn ok(body: &Value) -> Self {
        Self::Json(200, Vec::new(), body.to_string())
    }

    pub(crate) fn status(status: u16, body: &Value) -> Self {
        Self::Json(status, Vec::new(), body.to_string())
    }

    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Json(status, mut headers, body) => {
                headers.push((name, value.to_owned()));
                Self::Json(status, headers, body)
            }
            other => other,
        }
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct State {
    answers: VecDeque<Answer>,
    seen: Vec<Seen>,
    /// Connections on which nothing is said.
    held: Vec<TcpStream>,
    is_over: bool,
}

/// The server; it ends when this goes.
pub(crate) struct ModelServer {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Gives these answers in order, and the last one over and over.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine can be had");
        let address = listener.local_addr().expect("it has an address");
        let state = Arc::new(Mutex::new(State { answers: answers.into_iter().collect(), ..State::default() }));
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                if shared.lock().expect("no test panics with it").is_over {
                    return;
                }
                serve(stream, &shared);
            }
        });
        Self { address, state, thread: Some(thread) }
    }

    /// `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.lock().expect("no test panics with it").seen.clone()
    }

    /// The only request.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:#?}");
        seen[0].clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        if let Ok(mut state) = self.state.lock() {
            state.is_over = true;
            state.held.clear();
        }
        TcpStream::connect(self.address).ok();
        self.thread.take().map(JoinHandle::join);
    }
}

fn serve(stream: TcpStream, state: &Mutex<State>) {
    let Some(seen) = request(&stream) else { return };
    let answer = {
        let mut state = state.lock().expect("no test panics with it");
        state.seen.push(seen);
        let next = if state.answers.len() > 1 { state.answers.pop_front() } else { state.answers.front().cloned() };
        next.expect("a server has at least one answer")
    };
    let mut output = &stream;
    match answer {
        Answer::Json(status, headers, body) => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            let head = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{headers}\
                 connection: close\r\n\r\n",
                body.len()
            );
            output.write_all(head.as_bytes()).and_then(|()| output.write_all(body.as_bytes())).ok();
        }
        Answer::Bytes(bytes) => drop(output.write_all(&bytes).ok()),
        Answer::Silence => state.lock().expect("no test panics with it").held.push(stream),
    }
}

fn request(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { path, headers, body: serde_json::from_slice(&body).ok()? })
}

/// A reply of the Messages API that says this.
pub(crate) fn claude_says(text: &str) -> Answer {
    Answer::ok(&claude(&json!([{ "type": "text", "text": text }]), "end_turn"))
}

/// A reply of the Messages API.
pub(crate) fn claude(content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test-1", "content": content,
        "stop_reason": stop_reason, "stop_sequence": null, "usage": { "input_tokens": 100, "output_tokens": 20 }
    })
}

/// A reply of Chat Completions that says this.
pub(crate) fn gpt_says(text: &str) -> Answer {
    Answer::ok(&gpt(&json!({ "role": "assistant", "content": text }), "stop"))
}

/// A reply of Chat Completions.
pub(crate) fn gpt(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-test-1",
        "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 }
    })
}
