//! One call before it is sent.

use contract::{Endpoint, Idempotency, is_nothing};
use http::{HeaderValue, Method};
use url::Url;
use uuid::Uuid;

use crate::{ClientError, address};

/// What is said to an endpoint. Sending one twice uses one idempotency key,
/// so it has one effect.
pub struct Request<E: Endpoint> {
    pub path: E::Path,
    pub query: E::Query,
    pub body: E::Body,
    key: String,
}

impl<E: Endpoint> Request<E> {
    pub fn new(path: E::Path, query: E::Query, body: E::Body) -> Self {
        Self { path, query, body, key: Uuid::now_v7().to_string() }
    }

    /// Takes the caller's own key, which may come from an earlier run of a program.
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    pub(crate) fn prepare(&self, base: &Url) -> Result<Prepared, ClientError> {
        let info = E::INFO;
        let url = address::build(base, info.path, &self.path, &self.query)?;
        let body =
            if is_nothing::<E::Body>() { None } else { Some(serde_json::to_vec(&self.body).map_err(unserializable)?) };
        let key = if info.policy.idempotency.needs_key() { Some(key_header(&self.key)?) } else { None };
        Ok(Prepared {
            operation: info.operation,
            media: info.media,
            method: Method::from_bytes(info.verb.as_str().as_bytes()).expect("verbs are HTTP methods"),
            url,
            body,
            key,
            repeatable: match info.policy.idempotency {
                Idempotency::Natural | Idempotency::KeyRequired | Idempotency::KeyRequiredSealed => true,
                Idempotency::Exempt { .. } => false,
            },
        })
    }
}

/// The same bytes for every attempt.
pub(crate) struct Prepared {
    pub operation: &'static str,
    /// What a success comes as.
    pub media: &'static str,
    pub method: Method,
    pub url: Url,
    pub body: Option<Vec<u8>>,
    pub key: Option<HeaderValue>,
    /// Whether it may be sent again when it is unknown what became of it.
    pub repeatable: bool,
}

impl Prepared {
    /// For messages: without the query, which may name people.
    pub fn address(&self) -> String {
        format!("{}{}", self.url.origin().ascii_serialization(), self.url.path())
    }
}

pub(crate) fn unserializable(error: serde_json::Error) -> ClientError {
    ClientError::Unsendable(format!("a value cannot be encoded as JSON: {error}"))
}

fn key_header(key: &str) -> Result<HeaderValue, ClientError> {
    let fits = (1..=128).contains(&key.len()) && key.bytes().all(|it| it.is_ascii_graphic());
    HeaderValue::from_str(key).ok().filter(|_| fits).ok_or_else(|| {
        ClientError::Unsendable("an idempotency key must have 1 to 128 visible ASCII characters, without spaces".into())
    })
}
