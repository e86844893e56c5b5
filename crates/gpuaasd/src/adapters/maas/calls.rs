//! Single requests to a MAAS server, each bounded in time and size, and what
//! its answers mean. Errors carry neither the key nor what was sent.

use std::{borrow::Cow, time::Duration};

use kernel::clock::Clock;
use reqwest::{Client, Method, Response, StatusCode, header};
use serde::de::DeserializeOwned;
use url::{Url, form_urlencoded};

use super::{oauth::ApiKey, wire};
use platform::ports::metal::MetalError;

/// Parameters, in order; a name may be repeated.
pub type Form<'a> = Vec<(&'static str, Cow<'a, str>)>;

pub fn encode(form: &Form<'_>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish()
}

pub struct Calls {
    pub http: Client,
    pub base: Url,
    pub key: ApiKey,
    pub clock: Clock,
}

// bound: a visit makes three calls at most and must end before its lease does
pub const PATIENCE: Duration = Duration::from_secs(12);
// bound: connecting takes a round trip or two
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(4);
// bound: a machine is described in some 30 KB; a thousand of them fit
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
// bound: an explanation is a sentence
const MAX_DETAIL: usize = 300;
// bound: a read is repeated for a hiccup; for an outage the work queue waits
const MAX_READS: u32 = 3;
// bound: a pause between two reads, where MAAS asks for none or for a longer one
const PAUSE: Duration = Duration::from_millis(200);

impl Calls {
    /// Reads, and reads again after a hiccup.
    pub async fn read<T: DeserializeOwned>(&self, path: &str, query: &str) -> Result<T, MetalError> {
        let mut tries = 1;
        loop {
            match self.send(Method::GET, path, query, None).await {
                Err(MetalError::Unreachable(_) | MetalError::Busy { .. }) if tries < MAX_READS => {
                    tokio::time::sleep(PAUSE * tries).await;
                    tries += 1;
                }
                Err(error) => return Err(error),
                Ok(body) => return parse(&body),
            }
        }
    }

    /// Asks for a change, once: whether it happened is for the caller to see.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        operation: &str,
        form: Form<'_>,
    ) -> Result<T, MetalError> {
        parse(&self.change(path, operation, form).await?)
    }

    /// As [`Calls::post`], for what answers with nothing of use.
    pub async fn order(&self, path: &str, operation: &str, form: Form<'_>) -> Result<(), MetalError> {
        self.change(path, operation, form).await.map(|_| ())
    }

    async fn change(&self, path: &str, operation: &str, form: Form<'_>) -> Result<Vec<u8>, MetalError> {
        self.send(Method::POST, path, &format!("op={operation}"), Some(encode(&form))).await
    }

    async fn send(&self, method: Method, path: &str, query: &str, form: Option<String>) -> Result<Vec<u8>, MetalError> {
        let mut address = self.base.join(path).map_err(|_| MetalError::BadAccess("the URL is not valid"))?;
        address.set_query((!query.is_empty()).then_some(query));
        let authorization = self.key.header(self.clock.estimate().as_second());
        let mut request = self.http.request(method, address).header(header::ACCEPT, "application/json");
        let mut value = header::HeaderValue::from_bytes(authorization.expose())
            .map_err(|_| MetalError::BadAccess("the API key contains invalid characters"))?;
        value.set_sensitive(true);
        request = request.header(header::AUTHORIZATION, value);
        if let Some(form) = form {
            request = request.header(header::CONTENT_TYPE, "application/x-www-form-urlencoded").body(form);
        }
        let mut response = request.send().await.map_err(unanswered)?;
        let (status, after) = (response.status(), retry_after(&response));
        let most = if status.is_success() { MAX_BODY_BYTES } else { MAX_DETAIL * 4 };
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unanswered)? {
            if body.len() + chunk.len() > most {
                if status.is_success() {
                    return Err(MetalError::TooLarge { most });
                }
                break;
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() { Ok(body) } else { Err(refusal(status, after, &body)) }
    }
}

fn unanswered(error: reqwest::Error) -> MetalError {
    if error.is_timeout() { MetalError::TimedOut } else { MetalError::Unreachable(error.without_url()) }
}

fn refusal(status: StatusCode, after: Option<Duration>, body: &[u8]) -> MetalError {
    let detail = wire::plain(&String::from_utf8_lossy(body), MAX_DETAIL);
    match status {
        StatusCode::UNAUTHORIZED => MetalError::WrongKey,
        StatusCode::FORBIDDEN => MetalError::Forbidden { detail },
        StatusCode::NOT_FOUND | StatusCode::GONE => MetalError::NotFound,
        StatusCode::CONFLICT => MetalError::Conflict { detail },
        StatusCode::BAD_REQUEST => MetalError::BadRequest { detail },
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS | StatusCode::BAD_GATEWAY => {
            MetalError::Busy { after }
        }
        other => MetalError::Unexpected { status: other.as_u16(), detail },
    }
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, MetalError> {
    serde_json::from_slice(body).map_err(|_| MetalError::Malformed("the fields of a machine"))
}
