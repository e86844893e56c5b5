//! Single requests to Stripe, each bounded in time and size, and what its
//! answers mean. Errors carry neither the key nor what was sent.

use std::{borrow::Cow, time::Duration};

use kernel::secrets::Secret;
use reqwest::{Client, Method, Response, StatusCode, header};
use serde::{Deserialize, de::DeserializeOwned};
use url::{Url, form_urlencoded};

use platform::ports::payments::PaymentError;

/// The version of the API that this was written for, whatever the account's is.
pub const VERSION: &str = "2025-03-31.basil";

/// Parameters, in order.
pub type Form<'a> = Vec<(&'static str, Cow<'a, str>)>;

pub struct Calls {
    pub http: Client,
    pub base: Url,
    pub key: Secret,
}

// bound: a visit makes four calls at most and must end before its lease does
pub const PATIENCE: Duration = Duration::from_secs(7);
// bound: connecting takes a round trip or two
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(4);
// bound: a hundred objects of some kilobytes
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
// bound: an explanation is a sentence
const MAX_DETAIL: usize = 300;

#[derive(Deserialize)]
struct Refusal {
    error: RefusalDetail,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RefusalDetail {
    #[serde(rename = "type")]
    kind: String,
    code: Option<String>,
    message: Option<String>,
}

impl Calls {
    pub async fn read<T: DeserializeOwned>(&self, path: &str, query: &Form<'_>) -> Result<Option<T>, PaymentError> {
        match self.send(Method::GET, path, query, None).await? {
            Some(body) => parse(&body).map(Some),
            None => Ok(None),
        }
    }

    /// Asks for something under a name: asking again gives what came of it the first time.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, name: &str, form: Form<'_>) -> Result<T, PaymentError> {
        let body = self.send(Method::POST, path, &form, Some(name)).await?;
        parse(
            &body
                .ok_or_else(|| PaymentError::Refused { detail: "the object does not exist at the provider".into() })?,
        )
    }

    /// The body of a success; nothing when there is no such thing.
    async fn send(
        &self,
        method: Method,
        path: &str,
        form: &Form<'_>,
        name: Option<&str>,
    ) -> Result<Option<Vec<u8>>, PaymentError> {
        let mut address = self.base.join(path).map_err(|_| PaymentError::Malformed("an id"))?;
        let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        if method == Method::GET && !encoded.is_empty() {
            address.set_query(Some(&encoded));
        }
        let bearer = [b"Bearer ", self.key.expose()].concat();
        let mut value = header::HeaderValue::from_bytes(&bearer).map_err(|_| PaymentError::WrongKey)?;
        value.set_sensitive(true);
        let mut request =
            self.http.request(method, address).header(header::AUTHORIZATION, value).header("stripe-version", VERSION);
        if let Some(name) = name {
            request = request
                .header("idempotency-key", name)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(encoded);
        }
        let mut response = request.send().await.map_err(unanswered)?;
        let (status, after) = (response.status(), retry_after(&response));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unanswered)? {
            if body.len() + chunk.len() > MAX_BODY_BYTES {
                return Err(PaymentError::TooLarge { most: MAX_BODY_BYTES });
            }
            body.extend_from_slice(&chunk);
        }
        match status {
            it if it.is_success() => Ok(Some(body)),
            StatusCode::NOT_FOUND => Ok(None),
            other => Err(refusal(other, after, &body)),
        }
    }
}

fn unanswered(error: reqwest::Error) -> PaymentError {
    if error.is_timeout() { PaymentError::TimedOut } else { PaymentError::Unreachable(error.without_url()) }
}

fn refusal(status: StatusCode, after: Option<Duration>, body: &[u8]) -> PaymentError {
    let said = serde_json::from_slice::<Refusal>(body).map(|it| it.error).unwrap_or_default();
    if said.kind == "idempotency_error" {
        return PaymentError::NameReused;
    }
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => PaymentError::WrongKey,
        // 409: the first of two requests of one name is still under way.
        StatusCode::CONFLICT | StatusCode::TOO_MANY_REQUESTS => PaymentError::Busy { after },
        StatusCode::BAD_REQUEST | StatusCode::PAYMENT_REQUIRED => {
            let code = said.code.map(|it| format!("{it}: ")).unwrap_or_default();
            PaymentError::Refused { detail: plain(&format!("{code}{}", said.message.unwrap_or_default())) }
        }
        other if other.is_server_error() => PaymentError::Busy { after },
        other => PaymentError::Unexpected { status: other.as_u16() },
    }
}

/// A text from outside, fit to be shown: one line, bounded.
fn plain(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(MAX_DETAIL).collect::<String>().trim().to_owned()
}

fn retry_after(response: &Response) -> Option<Duration> {
    let seconds: u64 = response.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, PaymentError> {
    serde_json::from_slice(body).map_err(|_| PaymentError::Malformed("the fields of an object"))
}
