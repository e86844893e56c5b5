//! Calls to the control plane: a few kept-alive connections to its node listener,
//! on which this gateway is known by certificate. A call that spends something is
//! never sent a second time.

use crate::{complete_error, locked};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use protocol::Problem;
use protocol::gateway::{
    AdmitAnswer, AdmitRequest, BeatAnswer, BeatRequest, ChunkRequest, Done, ExchangeRequest, GrantAnswer, GrantRequest,
    JoinAnswer, JoinRequest, LeftRequest, SessionAnswer, SshRequest, WebVisitRequest, paths,
};
use protocol::limits::MAX_BODY_BYTES;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_rustls::TlsConnector;
use url::Url;

const CONNECT_LIMIT: Duration = Duration::from_secs(10); // bound: then the address is as good as down
const CALL_LIMIT: Duration = Duration::from_secs(15); // bound: somebody waits at a terminal for it
const CALLS: usize = 32; // bound: the control plane serves other gateways too
const IDLE_CONNECTIONS: usize = 8; // bound: what a quiet gateway keeps open
const IDLE_LIMIT: Duration = Duration::from_secs(30); // bound: well below the listener's own patience

#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    #[error("{0} is not an https URL with a host name")]
    Address(String),
    #[error("the control plane cannot be reached: {0}")]
    Unreachable(String),
    #[error("the control plane did not respond within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the control plane refused the request ({status} {}): {}", problem.code, problem.detail)]
    Refused { status: StatusCode, problem: Box<Problem> },
    #[error("the response of the control plane is malformed: {0}")]
    Garbled(String),
}

impl ControlError {
    /// Whether the control plane answered with such a code.
    pub fn is(&self, code: &str) -> bool {
        matches!(self, Self::Refused { problem, .. } if problem.code == code)
    }

    /// Whether the control plane itself said no, rather than not answering.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused { status, .. }
            if status.is_client_error() && *status != StatusCode::TOO_MANY_REQUESTS && *status != StatusCode::REQUEST_TIMEOUT)
    }
}

/// Whether a call may be sent again when its fate is not known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Safe,
    Never,
}

pub struct Control {
    host: String,
    port: u16,
    name: ServerName<'static>,
    lines: Mutex<Lines>,
    places: Semaphore,
}

struct Lines {
    tls: Arc<ClientConfig>,
    /// Counts certificates; a connection of an earlier one is not kept.
    age: u64,
    idle: Vec<(SendRequest<Full<Bytes>>, Instant)>,
}

impl Control {
    pub fn new(url: &str, tls: Arc<ClientConfig>) -> Result<Self, ControlError> {
        let wrong = || ControlError::Address(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        let host = parsed.host_str().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        if parsed.scheme() != "https" {
            return Err(wrong());
        }
        let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
        let lines = Mutex::new(Lines { tls, age: 0, idle: Vec::new() });
        Ok(Self { host, port: parsed.port().unwrap_or(443), name, lines, places: Semaphore::new(CALLS) })
    }

    /// Shows another certificate from the next connection on.
    pub fn identify(&self, tls: Arc<ClientConfig>) {
        let mut lines = locked(&self.lines);
        lines.age += 1;
        lines.tls = tls;
        lines.idle.clear();
    }

    pub async fn join(&self, message: &JoinRequest) -> Result<JoinAnswer, ControlError> {
        self.post(paths::JOIN, message, Repeat::Never).await
    }

    pub async fn beat(&self, message: &BeatRequest) -> Result<BeatAnswer, ControlError> {
        self.post(paths::BEAT, message, Repeat::Safe).await
    }

    pub async fn admit(&self, message: &AdmitRequest) -> Result<AdmitAnswer, ControlError> {
        self.post(paths::ADMIT, message, Repeat::Safe).await
    }

    /// Spends the ticket.
    pub async fn exchange(&self, message: &ExchangeRequest) -> Result<SessionAnswer, ControlError> {
        self.post(paths::EXCHANGE, message, Repeat::Never).await
    }

    pub async fn web_visit(&self, message: &WebVisitRequest) -> Result<SessionAnswer, ControlError> {
        self.post(paths::WEB_VISIT, message, Repeat::Safe).await
    }

    /// Begins a session when the key is proven.
    pub async fn ssh(&self, message: &SshRequest) -> Result<SessionAnswer, ControlError> {
        let repeat = if message.is_proven { Repeat::Never } else { Repeat::Safe };
        self.post(paths::SSH, message, repeat).await
    }

    pub async fn grant(&self, message: &GrantRequest) -> Result<GrantAnswer, ControlError> {
        self.post(paths::GRANT, message, Repeat::Safe).await
    }

    pub async fn left(&self, message: &LeftRequest) -> Result<Done, ControlError> {
        self.post(paths::LEFT, message, Repeat::Safe).await
    }

    pub async fn chunk(&self, message: &ChunkRequest) -> Result<Done, ControlError> {
        self.post(paths::CHUNK, message, Repeat::Safe).await
    }

    async fn post<M, A>(&self, path: &'static str, message: &M, repeat: Repeat) -> Result<A, ControlError>
    where
        M: Serialize,
        A: DeserializeOwned,
    {
        let body = serde_json::to_vec(message).map_err(|error| ControlError::Garbled(error.to_string()))?;
        let call = async {
            let _place = self.places.acquire().await.expect("the semaphore is never closed");
            self.call(path, body.into(), repeat).await
        };
        let answer = tokio::time::timeout(CALL_LIMIT, call).await;
        let (status, bytes) = answer.unwrap_or(Err(ControlError::Silent(CALL_LIMIT)))?;
        if status.is_success() {
            return serde_json::from_slice(&bytes).map_err(|error| ControlError::Garbled(error.to_string()));
        }
        let problem = serde_json::from_slice(&bytes).unwrap_or_default();
        Err(ControlError::Refused { status, problem: Box::new(problem) })
    }

    async fn call(&self, path: &str, body: Bytes, repeat: Repeat) -> Result<(StatusCode, Bytes), ControlError> {
        // A kept connection may have been closed while nobody looked: each is tried
        // at most once, and the last attempt is on a new one.
        for _ in 0..=IDLE_CONNECTIONS {
            let (kept, age) = self.take();
            let is_kept = kept.is_some();
            let mut line = match kept {
                Some(line) => line,
                None => self.connect().await?,
            };
            let request = self.request(path, body.clone())?;
            let answer = match line.try_send_request(request).await {
                Ok(answer) => answer,
                Err(mut error) => {
                    // If it came back, not a byte of it was sent.
                    let is_unsent = error.take_message().is_some();
                    if is_kept && (is_unsent || repeat == Repeat::Safe) {
                        continue;
                    }
                    return Err(ControlError::Unreachable(complete_error(error.error())));
                }
            };
            let (head, body) = answer.into_parts();
            let bytes = Limited::new(body, MAX_BODY_BYTES).collect().await;
            let bytes = bytes.map_err(|error| ControlError::Garbled(error.to_string()))?.to_bytes();
            self.keep(line, age);
            return Ok((head.status, bytes));
        }
        Err(ControlError::Unreachable("every connection was lost".into()))
    }

    fn request(&self, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>, ControlError> {
        Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| ControlError::Address(error.to_string()))
    }

    fn take(&self) -> (Option<SendRequest<Full<Bytes>>>, u64) {
        let mut lines = locked(&self.lines);
        lines.idle.retain(|(line, since)| since.elapsed() < IDLE_LIMIT && line.is_ready());
        (lines.idle.pop().map(|(line, _)| line), lines.age)
    }

    fn keep(&self, line: SendRequest<Full<Bytes>>, age: u64) {
        let mut lines = locked(&self.lines);
        if lines.age == age && lines.idle.len() < IDLE_CONNECTIONS && !line.is_closed() {
            lines.idle.push((line, Instant::now()));
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, ControlError> {
        let tls = Arc::clone(&locked(&self.lines).tls);
        let dial = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            TlsConnector::from(tls).connect(self.name.clone(), stream).await
        };
        let stream = tokio::time::timeout(CONNECT_LIMIT, dial).await;
        let stream = stream.map_err(|_| ControlError::Silent(CONNECT_LIMIT))?;
        let stream = stream.map_err(|error| ControlError::Unreachable(complete_error(&error)))?;
        let shaken = http1::Builder::new().max_buf_size(64 * 1024).handshake(TokioIo::new(stream)).await;
        let (line, connection) = shaken.map_err(|error| ControlError::Unreachable(complete_error(&error)))?;
        // Ends when the sender is dropped or the other side closes.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the control plane ended");
            }
        });
        Ok(line)
    }
}
