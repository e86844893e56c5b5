//! Who is spoken to, and the loop around attempts.

use std::{fmt, time::Duration};

use contract::Endpoint;
use http::header;
use url::Url;
use uuid::Uuid;

use crate::{
    ClientError, Credential, List, Pages, Request, address,
    answer::{Answer, Failure},
    request::Prepared,
    retry,
};

const USER_AGENT: &str = concat!("gpuaas-client/", env!("CARGO_PKG_VERSION"));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Options {
    /// How long one attempt may take.
    pub timeout: Duration,
    /// How often a request is sent at most.
    pub attempts: u32,
    /// The longest `Retry-After` that is waited for; a longer one is returned as the problem.
    pub longest_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(30), attempts: 4, longest_wait: Duration::from_secs(15) }
    }
}

/// Speaks to one server under one credential. Cheap to clone; clones share connections.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    pub(crate) base: Url,
    pub(crate) credential: Credential,
    pub(crate) options: Options,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base.as_str())
            .field("credential", &self.credential)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Client {
    pub fn new(base_url: &str, credential: Credential) -> Result<Self, ClientError> {
        Self::with_options(base_url, credential, Options::default())
    }

    pub fn with_options(base_url: &str, credential: Credential, options: Options) -> Result<Self, ClientError> {
        let base = address::base(base_url)?;
        let http = connector(reqwest::Client::builder().timeout(options.timeout))?;
        Ok(Self { http, base, credential, options })
    }

    /// The same server and connections under another credential.
    pub fn with_credential(&self, credential: Credential) -> Self {
        Self { credential, ..self.clone() }
    }

    /// Calls an endpoint under a new idempotency key.
    pub async fn call<E: Endpoint>(
        &self,
        path: E::Path,
        query: E::Query,
        body: E::Body,
    ) -> Result<E::Response, ClientError> {
        self.send(&Request::<E>::new(path, query, body)).await
    }

    /// Calls an endpoint under the caller's idempotency key.
    pub async fn call_with_key<E: Endpoint>(
        &self,
        key: impl Into<String>,
        path: E::Path,
        query: E::Query,
        body: E::Body,
    ) -> Result<E::Response, ClientError> {
        let request = Request::<E>::new(path, query, body).with_key(key);
        self.send(&request).await
    }

    /// Walks a list from the page that `query` names.
    pub fn pages<E: List>(&self, path: E::Path, query: E::Query) -> Pages<'_, E> {
        Pages::new(self, path, query)
    }

    /// Sends a request, again where that is safe and may help.
    pub async fn send<E: Endpoint>(&self, request: &Request<E>) -> Result<E::Response, ClientError> {
        let prepared = request.prepare(&self.base)?;
        let mut attempts_made = 0;
        loop {
            let failure = match self.attempt(&prepared).await {
                Ok(answer) => return answer.read(&prepared),
                Err(failure) => failure,
            };
            attempts_made += 1;
            let pause = retry::pause(&self.options, attempts_made, failure.outcome, prepared.repeatable, jitter());
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => return Err(failure.error),
            }
        }
    }

    async fn attempt(&self, prepared: &Prepared) -> Result<Answer, Failure> {
        let mut request =
            self.http.request(prepared.method.clone(), prepared.url.clone()).header(header::ACCEPT, prepared.media);
        if let Some(value) = self.credential.header().map_err(Failure::last)? {
            request = request.header(header::AUTHORIZATION, value);
        }
        if let Some(key) = &prepared.key {
            request = request.header("idempotency-key", key);
        }
        if let Some(body) = &prepared.body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body.clone());
        }
        let response = request.send().await.map_err(|error| Failure::unreachable(prepared, error))?;
        Answer::receive(response, prepared).await
    }
}

/// Adds what every connection needs, whatever is spoken over it.
pub(crate) fn connector(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, ClientError> {
    builder
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        // The API redirects nobody; following would take the credential elsewhere.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| ClientError::Unsendable(format!("cannot initialize TLS: {error}")))
}

/// The low bits of a version 7 UUID are random.
fn jitter() -> f64 {
    f64::from(Uuid::now_v7().as_u128() as u32) / f64::from(u32::MAX)
}
