//! What a customer runs to hear of events: a real HTTP server that keeps what
//! it was sent, and misbehaves when told to.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_lc_rs::hmac;
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

/// What it does with a request once it has read it.
#[derive(Debug, Clone)]
pub enum ReceiverBehavior {
    Answer(u16),
    /// Answers, but takes its time.
    Slowly(Duration),
    /// Reads and never says anything.
    Hang,
    /// Says 200 and never stops talking.
    Endless,
    Redirect(String),
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// When all of it was read.
    pub at: jiff::Timestamp,
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

pub struct Receiver {
    pub url: String,
    manner: Arc<Mutex<ReceiverBehavior>>,
    heard: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Receiver {
    pub async fn start() -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let manner = Arc::new(Mutex::new(ReceiverBehavior::Answer(200)));
        let heard = Arc::new(Mutex::new(Vec::new()));
        tokio::spawn({
            let (manner, heard) = (manner.clone(), heard.clone());
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(serve(stream, manner.clone(), heard.clone()));
                }
            }
        });
        Receiver { url, manner, heard }
    }

    pub fn behave(&self, manner: ReceiverBehavior) {
        *self.manner.lock().unwrap() = manner;
    }

    pub fn heard(&self) -> Vec<ReceivedRequest> {
        self.heard.lock().unwrap().clone()
    }
}

impl ReceivedRequest {
    pub fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// As the guide tells receivers to: whether any of the signatures is that
    /// of the time and the body by this secret.
    pub fn is_signed_by(&self, secret: &str) -> bool {
        let header = &self.headers["gpuaas-signature"];
        let part =
            |name: &'static str| header.split(',').filter_map(move |it| it.strip_prefix(name)?.strip_prefix('='));
        let at = part("t").next().unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let expected = hmac::sign(&key, &[at.as_bytes(), b".", &self.body].concat());
        let expected: String = expected.as_ref().iter().map(|it| format!("{it:02x}")).collect();
        part("v1").any(|it| it == expected)
    }

    pub fn signatures(&self) -> usize {
        self.headers["gpuaas-signature"].matches("v1=").count()
    }
}

async fn serve(stream: TcpStream, manner: Arc<Mutex<ReceiverBehavior>>, heard: Arc<Mutex<Vec<ReceivedRequest>>>) {
    let mut stream = BufReader::new(stream);
    let Some(request) = read(&mut stream).await else { return };
    heard.lock().unwrap().push(request);
    let manner = manner.lock().unwrap().clone();
    let answer = |status: u16, more: &str| format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n{more}\r\n");
    // Whoever sent it may be gone by now.
    let _ = match manner {
        ReceiverBehavior::Answer(status) => stream.write_all(answer(status, "").as_bytes()).await,
        ReceiverBehavior::Slowly(pause) => {
            // pause: the manner that the test asked for
            tokio::time::sleep(pause).await;
            stream.write_all(answer(200, "").as_bytes()).await
        }
        ReceiverBehavior::Redirect(to) => {
            stream.write_all(answer(302, &format!("location: {to}\r\n")).as_bytes()).await
        }
        ReceiverBehavior::Hang => std::future::pending().await,
        ReceiverBehavior::Endless => {
            let mut said = stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
            let chunk = [b"1000\r\n".as_slice(), &[b'x'; 4096], b"\r\n"].concat();
            while said.is_ok() {
                said = stream.write_all(&chunk).await;
            }
            said
        }
    };
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<ReceivedRequest> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|it| *it > 0)?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        stream.read_line(&mut header).await.ok().filter(|it| *it > 0)?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(ReceivedRequest { at: jiff::Timestamp::now(), line: line.trim().to_owned(), headers, body })
}
