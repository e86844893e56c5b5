//! As much of HTTP/1.1 as the load generator needs: one keep-alive connection,
//! one request at a time, answers with a length. As every client of the server
//! must, it opens a connection again that the server has closed between requests.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Connection {
    address: SocketAddr,
    /// None after an error, and when the server said that it closes.
    stream: Option<TcpStream>,
    used: Instant,
    buffer: Vec<u8>,
}

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The server closes a connection that nothing is said on for ten seconds.
const IDLE: Duration = Duration::from_secs(5);
/// How often a request that may be repeated is sent.
const TRIES: u32 = 3;

/// Connections opened again since they were last asked about.
static RECONNECTS: AtomicU64 = AtomicU64::new(0);

pub fn take_reconnects() -> u64 {
    RECONNECTS.swap(0, Ordering::Relaxed)
}

/// Why an exchange failed, by how much of the answer had come.
#[derive(Debug)]
enum Broken {
    Unanswered(String),
    Answered(String),
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Self, String> {
        let stream = Some(connect(address).await?);
        Ok(Self { address, stream, used: Instant::now(), buffer: Vec::with_capacity(4096) })
    }

    /// As [`Connection::send`], with the answer's body.
    pub async fn ask(&mut self, request: &[u8]) -> Result<serde_json::Value, String> {
        self.send(request).await?;
        let body = self.buffer.windows(4).position(|it| it == b"\r\n\r\n").map_or(&[][..], |it| &self.buffer[it + 4..]);
        serde_json::from_slice(body).map_err(|error| format!("the answer is no JSON: {error}"))
    }

    /// Sends a whole request and reads its answer; only success is accepted. A request
    /// that may be repeated is, where the server closed before it said anything.
    pub async fn send(&mut self, request: &[u8]) -> Result<(), String> {
        let mut tries = 0;
        let status = loop {
            tries += 1;
            match tokio::time::timeout(PATIENCE, self.exchange(request)).await {
                Ok(Ok(status)) => break status,
                Ok(Err(Broken::Unanswered(_))) if tries < TRIES && may_be_repeated(request) => (),
                Ok(Err(Broken::Unanswered(text) | Broken::Answered(text))) => return Err(text),
                Err(_) => {
                    return Err(format!("the server did not answer within {PATIENCE:?}: {}", first_line(request)));
                }
            }
        };
        if (200..300).contains(&status) {
            return Ok(());
        }
        Err(format!("{} was refused: {}", first_line(request), String::from_utf8_lossy(&self.buffer)))
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<u16, Broken> {
        // Taken out, so that a connection with half an answer is never used again.
        let mut stream = match self.stream.take().filter(|_| self.used.elapsed() < IDLE) {
            Some(stream) => stream,
            None => {
                RECONNECTS.fetch_add(1, Ordering::Relaxed);
                connect(self.address).await.map_err(Broken::Answered)?
            }
        };
        self.buffer.clear();
        let unanswered = |error| Broken::Unanswered(format!("the server broke off before it answered: {error}"));
        stream.write_all(request).await.map_err(unanswered)?;
        loop {
            let is_first = self.buffer.is_empty();
            match stream.read_buf(&mut self.buffer).await {
                Ok(0) if is_first => {
                    let text = "the server closed the connection before it answered";
                    return Err(Broken::Unanswered(text.to_owned()));
                }
                Ok(0) => return Err(Broken::Answered("the server closed the connection in its answer".to_owned())),
                Err(error) if is_first => return Err(unanswered(error)),
                Err(error) => return Err(Broken::Answered(format!("the server broke off in its answer: {error}"))),
                Ok(_) => (),
            }
            if let Some(head) = whole(&self.buffer).map_err(Broken::Answered)? {
                self.used = Instant::now();
                self.stream = Some(stream).filter(|_| !head.closes);
                return Ok(head.status);
            }
        }
    }
}

async fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| format!("cannot connect: {error}"))?;
    stream.set_nodelay(true).map_err(|error| format!("cannot connect: {error}"))?;
    Ok(stream)
}

/// The JSON at an address, of a server that ends its answer by closing.
pub async fn fetch(address: SocketAddr, path: &str) -> Result<serde_json::Value, String> {
    let failed = |error| format!("cannot read {path}: {error}");
    let mut stream = connect(address).await?;
    let request = format!("GET {path} HTTP/1.0\r\nhost: bench\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.map_err(failed)?;
    let start = answer.windows(4).position(|it| it == b"\r\n\r\n").ok_or(format!("{path} has no answer"))?;
    serde_json::from_slice(&answer[start + 4..]).map_err(|error| format!("{path} is no JSON: {error}"))
}

/// The text of a request.
pub fn request(method: &str, path: &str, token: &str, more: &str, body: &str) -> String {
    let content = match body.len() {
        0 => String::new(),
        length => format!("content-type: application/json\r\ncontent-length: {length}\r\n"),
    };
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n{more}{content}\r\n{body}")
}

/// Whether sending it twice does no more than sending it once.
fn may_be_repeated(request: &[u8]) -> bool {
    let is_idempotent = [&b"GET "[..], b"PUT "].iter().any(|it| request.starts_with(it));
    is_idempotent || String::from_utf8_lossy(request).contains("\r\nidempotency-key: ")
}

/// Method and path, for an error; never the headers, which hold a token.
fn first_line(request: &[u8]) -> String {
    let line = request.split(|it| *it == b'\r').next().unwrap_or_default();
    String::from_utf8_lossy(line).trim_end_matches(" HTTP/1.1").to_owned()
}

#[derive(Debug, PartialEq)]
struct Head {
    status: u16,
    /// Whether the server takes no further request on this connection.
    closes: bool,
}

/// The head of an answer that is there with its whole body.
fn whole(bytes: &[u8]) -> Result<Option<Head>, String> {
    let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else { return Ok(None) };
    let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "the answer's head is not text")?;
    let status = text.get(9..12).and_then(|it| it.parse().ok()).ok_or("the answer has no status")?;
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = match length.and_then(|it| it.parse().ok()) {
        Some(length) => length,
        None if status == 204 => 0,
        None => return Err("the answer has no length".to_owned()),
    };
    let closes = text.lines().any(|line| line == "connection: close");
    Ok((bytes.len() >= end + 4 + length).then_some(Head { status, closes }))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn answer_is_whole_when_its_body_is() {
        let text = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(whole(text), Ok(Some(Head { status: 201, closes: false })));
        assert_eq!(whole(&text[..text.len() - 1]), Ok(None));
        assert_eq!(whole(&text[..20]), Ok(None));
        let last = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(whole(last), Ok(Some(Head { status: 200, closes: true })));
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }

    #[test]
    fn request_is_repeated_where_that_does_no_harm() {
        let post = |more: &str| request("POST", "/v1/a", "t", more, "{}");
        assert!(may_be_repeated(request("GET", "/v1/a", "t", "", "").as_bytes()));
        assert!(may_be_repeated(post("idempotency-key: 1\r\n").as_bytes()));
        assert!(!may_be_repeated(post("").as_bytes()));
        assert_eq!(first_line(post("").as_bytes()), "POST /v1/a");
    }

    /// Answers so many requests on each connection, then closes it.
    async fn server(most: usize, says_so: bool) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let close = if says_so { "connection: close\r\n" } else { "" };
        let answer = format!("HTTP/1.1 200 OK\r\n{close}content-length: 2\r\n\r\n{{}}");
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                for _ in 0..most {
                    let mut bytes = [0; 1024];
                    let _ = stream.read(&mut bytes).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            }
        });
        address
    }

    #[tokio::test]
    async fn connection_that_was_closed_is_opened_again() {
        for says_so in [true, false] {
            let mut connection = Connection::open(server(1, says_so).await).await.unwrap();
            for _ in 0..3 {
                connection.ask(request("GET", "/a", "t", "", "").as_bytes()).await.unwrap();
            }
        }
        let mut connection = Connection::open(server(1, false).await).await.unwrap();
        let post = request("POST", "/a", "t", "", "{}");
        connection.send(post.as_bytes()).await.unwrap();
        let error = connection.send(post.as_bytes()).await.unwrap_err();
        assert!(error.contains("before it answered"), "{error}");
        connection.send(post.as_bytes()).await.unwrap();
    }
}
