//! Calls to the issuer, each bounded in time and size. Errors carry no body
//! and no address: both may hold what must not be logged.

use std::time::Duration;

use reqwest::{Client, RequestBuilder, StatusCode, redirect};
use serde::de::DeserializeOwned;

#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{what} cannot be reached")]
    Unreachable {
        what: &'static str,
        #[source]
        source: reqwest::Error,
    },
    #[error("{what} returned status {status}")]
    Status { what: &'static str, status: u16 },
    #[error("{what} returned more than {BODY_BYTES} bytes")]
    TooLarge { what: &'static str },
    #[error("the response of {what} violates OpenID Connect: {why}")]
    Malformed { what: &'static str, why: &'static str },
}

// bound: a discovery document or key set is a few kilobytes
const BODY_BYTES: usize = 256 * 1024;
// bound: a request holds a database connection meanwhile, and several calls may follow each other
const PATIENCE: Duration = Duration::from_secs(4);
// bound: connecting takes a round trip or two
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

pub fn client() -> Client {
    // A redirect could lead a client secret to another host.
    let builder = Client::builder().redirect(redirect::Policy::none()).timeout(PATIENCE);
    builder.connect_timeout(CONNECT_PATIENCE).build().expect("the TLS library starts")
}

/// Sends a request and reads its whole answer, whatever the status.
pub async fn answer(what: &'static str, request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), FetchError> {
    let unreachable = |source: reqwest::Error| FetchError::Unreachable { what, source: source.without_url() };
    let request = match crate::telemetry::outgoing() {
        Some(trace) => request.header("traceparent", trace),
        None => request,
    };
    let mut response = request.header("accept", "application/json").send().await.map_err(unreachable)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
        if body.len() + chunk.len() > BODY_BYTES {
            return Err(FetchError::TooLarge { what });
        }
        body.extend_from_slice(&chunk);
    }
    Ok((response.status(), body))
}

/// As [`answer`], and the answer must be a success in JSON.
pub async fn json<T: DeserializeOwned>(what: &'static str, request: RequestBuilder) -> Result<T, FetchError> {
    let (status, body) = answer(what, request).await?;
    if status != StatusCode::OK {
        return Err(FetchError::Status { what, status: status.as_u16() });
    }
    parse(what, &body)
}

pub fn parse<T: DeserializeOwned>(what: &'static str, body: &[u8]) -> Result<T, FetchError> {
    // The parser's own message quotes values.
    serde_json::from_slice(body).map_err(|_| FetchError::Malformed { what, why: "the fields that it must have" })
}

#[cfg(test)]
mod tests {
    use axum::{Router, response::Redirect, routing::get};

    use super::*;

    #[tokio::test]
    async fn a_large_answer_and_a_redirect_are_refused() {
        let router = Router::new()
            .route("/large", get(|| async { format!("\"{}\"", "x".repeat(BODY_BYTES)) }))
            .route("/moved", get(|| async { Redirect::temporary("/small") }))
            .route("/small", get(|| async { "\"x\"" }));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await });
        let get = async |path: &str| json::<String>("it", client().get(format!("{base}{path}"))).await;
        assert_eq!(get("/small").await.unwrap(), "x");
        assert!(matches!(get("/large").await, Err(FetchError::TooLarge { .. })));
        assert!(matches!(get("/moved").await, Err(FetchError::Status { status: 307, .. })));
    }
}
