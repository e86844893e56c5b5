//! As much of HTTP/1.1 as the load generator needs: one keep-alive connection,
//! one request at a time, answers with a length. Anything else is an error.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|error| format!("cannot connect: {error}"))?;
        stream.set_nodelay(true).map_err(|error| format!("cannot connect: {error}"))?;
        Ok(Self { stream, buffer: Vec::with_capacity(4096) })
    }

    /// As [`Connection::send`], with the answer's body.
    pub async fn ask(&mut self, request: &[u8]) -> Result<serde_json::Value, String> {
        self.send(request).await?;
        let body = self.buffer.windows(4).position(|it| it == b"\r\n\r\n").map_or(&[][..], |it| &self.buffer[it + 4..]);
        serde_json::from_slice(body).map_err(|error| format!("the answer is no JSON: {error}"))
    }

    /// Sends a whole request and reads its answer; only success is accepted.
    pub async fn send(&mut self, request: &[u8]) -> Result<(), String> {
        let broken = |error| format!("the server broke off: {error}");
        self.stream.write_all(request).await.map_err(broken)?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await.map_err(broken)? == 0 {
                return Err("the server closed the connection before it answered".to_owned());
            }
            match answer(&self.buffer)? {
                Answer::Partial => (),
                Answer::Whole(status) if (200..300).contains(&status) => return Ok(()),
                Answer::Whole(_) => return Err(format!("refused: {}", String::from_utf8_lossy(&self.buffer))),
            }
        }
    }
}

/// The text of a request.
pub fn request(method: &str, path: &str, token: &str, more: &str, body: &str) -> String {
    let content = match body.len() {
        0 => String::new(),
        length => format!("content-type: application/json\r\ncontent-length: {length}\r\n"),
    };
    format!("{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n{more}{content}\r\n{body}")
}

#[derive(Debug, PartialEq)]
enum Answer {
    Partial,
    Whole(u16),
}

fn answer(bytes: &[u8]) -> Result<Answer, String> {
    let Some(head) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else { return Ok(Answer::Partial) };
    let text = std::str::from_utf8(&bytes[..head]).map_err(|_| "the answer's head is not text")?;
    let status = text.get(9..12).and_then(|it| it.parse().ok()).ok_or("the answer has no status")?;
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|it| it.parse().ok()).ok_or("the answer has no length")?;
    Ok(if bytes.len() >= head + 4 + length { Answer::Whole(status) } else { Answer::Partial })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_its_body_is() {
        let text = b"HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(answer(text), Ok(Answer::Whole(201)));
        assert_eq!(answer(&text[..text.len() - 1]), Ok(Answer::Partial));
        assert_eq!(answer(&text[..20]), Ok(Answer::Partial));
        assert!(answer(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
