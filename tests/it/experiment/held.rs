//! A model behind Chat Completions whose replies wait until the test lets them go.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use serde_json::json;

use crate::support_model::gpt;

/// The server; its threads end with the process of the test.
pub(super) struct HeldModel {
    address: SocketAddr,
    came: Receiver<()>,
    go: Sender<()>,
}

impl HeldModel {
    pub(super) fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (coming, came) = channel();
        let (go, going) = channel::<()>();
        std::thread::spawn(move || {
            let going = Mutex::new(going);
            std::thread::scope(|scope| {
                for stream in listener.incoming().map_while(Result::ok) {
                    let (coming, going) = (coming.clone(), &going);
                    scope.spawn(move || serve(&stream, &coming, going));
                }
            });
        });
        Self { address, came, go }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until a request is there.
    pub(super) fn wait(&self) {
        self.came.recv().unwrap();
    }

    /// Lets so many replies go, of requests that are there or will be.
    pub(super) fn release(&self, replies: usize) {
        for _ in 0..replies {
            self.go.send(()).unwrap();
        }
    }
}

fn serve(mut stream: &TcpStream, coming: &Sender<()>, going: &Mutex<Receiver<()>>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let line = line.trim().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    if length == 0 {
        return None;
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    coming.send(()).ok()?;
    going.lock().ok()?.recv().ok()?;
    let body = gpt(&json!({ "role": "assistant", "content": "done" }), "stop").to_string();
    let head = format!(
        "HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()
}
