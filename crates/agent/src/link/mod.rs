//! One kept-alive connection to the control plane. It is opened when first needed
//! and again after it broke; nothing is queued here.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use protocol::Problem;
use protocol::limits::MAX_BODY_BYTES;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::{Serialize, de::DeserializeOwned};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Url;

const CONNECT_LIMIT: Duration = Duration::from_secs(10); // bound: then the address is as good as down

#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    #[error("{0} is not an https URL with a host name")]
    Address(String),
    #[error("cannot connect to the control plane: {0}")]
    Unreachable(String),
    #[error("the control plane did not respond within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("the control plane refused the request ({status} {}): {}", problem.code, problem.detail)]
    Refused { status: StatusCode, problem: Box<Problem>, retry_after: Option<Duration> },
    #[error("unexpected response from the control plane: {0}")]
    Garbled(String),
}

impl LinkError {
    /// The code of the control plane's refusal, or nothing.
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { problem, .. } => &problem.code,
            _ => "",
        }
    }
}

/// Where the node listener is.
#[derive(Clone, Debug)]
pub struct Endpoint {
    host: String,
    port: u16,
    name: ServerName<'static>,
}

impl Endpoint {
    pub fn parse(url: &str) -> Result<Self, LinkError> {
        let wrong = || LinkError::Address(url.to_owned());
        let parsed = Url::parse(url).map_err(|_| wrong())?;
        let host = parsed.host_str().ok_or_else(wrong)?.trim_matches(['[', ']']).to_owned();
        if parsed.scheme() != "https" {
            return Err(wrong());
        }
        let name = ServerName::try_from(host.clone()).map_err(|_| wrong())?;
        Ok(Self { host, port: parsed.port().unwrap_or(443), name })
    }

    /// A new connection, with its handshake done. Has no time limit of its own.
    pub async fn dial(&self, tls: &Arc<ClientConfig>) -> Result<TlsStream<TcpStream>, LinkError> {
        let dial = async {
            let stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
            stream.set_nodelay(true)?;
            TlsConnector::from(Arc::clone(tls)).connect(self.name.clone(), stream).await
        };
        dial.await.map_err(unreachable)
    }
}

pub struct Link {
    endpoint: Endpoint,
    tls: Arc<ClientConfig>,
    open: Option<SendRequest<Full<Bytes>>>,
}

impl Link {
    pub fn new(endpoint: Endpoint, tls: Arc<ClientConfig>) -> Self {
        Self { endpoint, tls, open: None }
    }

    /// Uses another certificate from the next connection on.
    pub fn identify(&mut self, tls: Arc<ClientConfig>) {
        self.tls = tls;
        self.open = None;
    }

    pub fn close(&mut self) {
        self.open = None;
    }

    /// Sends a message and reads the answer to it, both within `limit`.
    pub async fn post<M, A>(&mut self, path: &str, message: &M, limit: Duration) -> Result<A, LinkError>
    where
        M: Serialize,
        A: DeserializeOwned,
    {
        let body = serde_json::to_vec(message).map_err(|error| LinkError::Garbled(error.to_string()))?;
        let (_, bytes) = self.call(Method::POST, path, body.into(), (limit, MAX_BODY_BYTES)).await?;
        serde_json::from_slice(&bytes).map_err(|error| LinkError::Garbled(error.to_string()))
    }

    /// Fetches a file of at most `most` bytes.
    pub async fn fetch(&mut self, path: &str, most: usize, limit: Duration) -> Result<(HeaderMap, Bytes), LinkError> {
        self.call(Method::GET, path, Bytes::new(), (limit, most)).await
    }

    async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
        (limit, most): (Duration, usize),
    ) -> Result<(HeaderMap, Bytes), LinkError> {
        let attempt = async {
            let reused = self.open.is_some();
            let first = self.exchange(&method, path, body.clone(), most).await;
            match first {
                // A kept-alive connection may have been closed while nobody looked.
                Err(LinkError::Unreachable(_)) if reused => self.exchange(&method, path, body, most).await,
                other => other,
            }
        };
        let answer = tokio::time::timeout(limit, attempt).await.unwrap_or(Err(LinkError::Silent(limit)));
        if !matches!(answer, Ok(_) | Err(LinkError::Refused { .. })) {
            self.open = None;
        }
        let (status, headers, bytes) = answer?;
        if status.is_success() {
            return Ok((headers, bytes));
        }
        let problem: Problem = serde_json::from_slice(&bytes).unwrap_or_default();
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        let retry_after = seconds.map(Duration::from_secs);
        Err(LinkError::Refused { status, problem: Box::new(problem), retry_after })
    }

    async fn exchange(
        &mut self,
        method: &Method,
        path: &str,
        body: Bytes,
        most: usize,
    ) -> Result<(StatusCode, HeaderMap, Bytes), LinkError> {
        let mut sender = match self.open.take() {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        sender.ready().await.map_err(unreachable)?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.endpoint.host)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|error| LinkError::Address(error.to_string()))?;
        let answer = sender.send_request(request).await.map_err(unreachable)?;
        let (head, body) = answer.into_parts();
        let most = if head.status.is_success() { most } else { MAX_BODY_BYTES };
        let bytes = Limited::new(body, most).collect().await.map_err(|error| LinkError::Garbled(error.to_string()))?;
        self.open = Some(sender);
        Ok((head.status, head.headers, bytes.to_bytes()))
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, LinkError> {
        let stream = tokio::time::timeout(CONNECT_LIMIT, self.endpoint.dial(&self.tls)).await;
        let stream = stream.map_err(|_| LinkError::Silent(CONNECT_LIMIT))??;
        let (sender, connection) =
            http1::Builder::new().max_buf_size(64 * 1024).handshake(TokioIo::new(stream)).await.map_err(unreachable)?;
        // Ends when the sender is dropped or the other side closes.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the control plane ended");
            }
        });
        Ok(sender)
    }
}

fn unreachable(error: impl std::error::Error) -> LinkError {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    LinkError::Unreachable(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_with_a_host() {
        assert!(Endpoint::parse("https://plane.example:8443").is_ok());
        assert!(Endpoint::parse("https://[::1]:8443/").is_ok());
        assert_eq!(Endpoint::parse("https://10.0.0.1").unwrap().port, 443);
        for wrong in ["http://plane.example", "plane.example:8443", "https://", "node"] {
            assert!(Endpoint::parse(wrong).is_err(), "{wrong}");
        }
    }
}
