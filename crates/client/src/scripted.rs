//! A server for tests that answers each connection with the next line of a
//! script and remembers what it was asked.

use std::sync::{Arc, Mutex};

use contract::{Code, Problem};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

pub enum Act {
    Answer {
        status: u16,
        headers: Vec<(&'static str, &'static str)>,
        body: String,
    },
    /// Takes the request and closes without a word.
    HangUp,
    /// Takes the request and never answers.
    Stall,
}

impl Act {
    pub fn json(status: u16, body: Value) -> Self {
        Act::text(status, body.to_string())
    }

    pub fn text(status: u16, body: String) -> Self {
        Act::Answer { status, headers: vec![("content-type", "application/json")], body }
    }

    pub fn problem(code: Code) -> Self {
        let problem: Problem = code.problem("as scripted", "c-1");
        Act::Answer {
            status: code.info().status,
            headers: vec![("content-type", "application/problem+json")],
            body: serde_json::to_string(&problem).unwrap(),
        }
    }

    pub fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        if let Act::Answer { headers, .. } = &mut self {
            headers.push((name, value));
        }
        self
    }
}

pub struct Server {
    pub url: String,
    requests: Arc<Mutex<Vec<Received>>>,
}

#[derive(Debug, Clone)]
pub struct Received {
    /// Verb and address.
    pub line: String,
    headers: Vec<(String, String)>,
    pub body: String,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name)?;
        Some(&found.1)
    }
}

impl Server {
    pub async fn start(script: Vec<Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        tokio::spawn(async move {
            for act in script {
                let (mut stream, _) = listener.accept().await.unwrap();
                let received = read_request(&mut stream).await;
                seen.lock().unwrap().push(received);
                match act {
                    Act::HangUp => drop(stream),
                    Act::Stall => std::mem::forget(stream),
                    Act::Answer { status, headers, body } => answer(stream, status, &headers, &body).await,
                }
            }
        });
        Self { url, requests }
    }

    pub fn requests(&self) -> Vec<Received> {
        self.requests.lock().unwrap().clone()
    }
}

async fn read_request(stream: &mut TcpStream) -> Received {
    let mut bytes = Vec::new();
    let head_end = loop {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap();
        bytes.extend_from_slice(&chunk[..count]);
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        assert_ne!(count, 0, "the request ended early");
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.lines();
    let line = lines.next().unwrap().trim_end_matches(" HTTP/1.1").to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|it| it.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = bytes.split_off(head_end + 4);
    while body.len() < length {
        let mut chunk = [0; 4096];
        let count = stream.read(&mut chunk).await.unwrap();
        body.extend_from_slice(&chunk[..count]);
    }
    Received { line, headers, body: String::from_utf8(body).unwrap() }
}

async fn answer(mut stream: TcpStream, status: u16, headers: &[(&str, &str)], body: &str) {
    let mut text = format!("HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    stream.write_all(text.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
}
