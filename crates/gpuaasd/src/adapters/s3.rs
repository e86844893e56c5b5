//! Recordings in an S3-compatible store: three requests, signed with signature
//! version 4. Buckets are addressed by path, which every such store understands.

use std::time::Duration;

use aws_lc_rs::{
    digest::{SHA256, digest},
    hmac,
};
use bytes::Bytes;
use contract::Timestamp;
use futures_util::future::BoxFuture;
use kernel::{clock::Clock, secrets::Secret};
use reqwest::{Client, Method, StatusCode};
use url::Url;

use platform::ports::recording_store::{RecordingStore, StoreError};

// bound: one piece is half a megabyte at most
const PATIENCE: Duration = Duration::from_secs(15);
// bound: a piece and a little more; a larger answer is none of ours
const MAX_ANSWER: usize = 2 * 1024 * 1024;

/// How a store is reached.
#[derive(Clone)]
pub struct S3Access {
    /// `https://host/bucket`, or with a folder behind it.
    pub url: Url,
    pub region: String,
    pub access_key: String,
    pub secret_key: Secret,
}

pub struct S3 {
    access: S3Access,
    clock: Clock,
    client: Client,
}

impl S3 {
    pub fn new(access: S3Access, clock: Clock) -> S3 {
        let client = Client::builder().timeout(PATIENCE).redirect(reqwest::redirect::Policy::none()).build();
        S3 { access, clock, client: client.expect("the TLS library is there") }
    }

    async fn ask(&self, method: Method, key: &str, body: Bytes) -> Result<(StatusCode, Bytes), StoreError> {
        let away = |error: reqwest::Error| StoreError::Away(why(&error.without_url()));
        let url = self.place(key)?;
        let hash = hex(digest(&SHA256, &body).as_ref());
        let signed = sign(&self.access, &method, &url, &hash, self.clock.estimate());
        let mut request = self.client.request(method, url).header("x-amz-content-sha256", hash);
        request = request.header("x-amz-date", signed.at).header("authorization", signed.authorization);
        let mut answer = request.body(body).send().await.map_err(away)?;
        let status = answer.status();
        let mut read = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(away)? {
            if read.len() + piece.len() > MAX_ANSWER {
                return Err(StoreError::Refused("the response is larger than any chunk".into()));
            }
            read.extend_from_slice(&piece);
        }
        Ok((status, read.into()))
    }

    fn place(&self, key: &str) -> Result<Url, StoreError> {
        let mut url = self.access.url.clone();
        let refused = || StoreError::Refused("`recordings.s3_url` is not the URL of a bucket".into());
        url.path_segments_mut().map_err(|()| refused())?.pop_if_empty().extend(key.split('/'));
        Ok(url)
    }
}

impl RecordingStore for S3 {
    fn put<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (status, said) = self.ask(Method::PUT, key, bytes).await?;
            done(status, &said)
        })
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, StoreError>> {
        Box::pin(async move {
            let (status, bytes) = self.ask(Method::GET, key, Bytes::new()).await?;
            if is_missing(status, &bytes) {
                return Ok(None);
            }
            done(status, &bytes).map(|()| Some(bytes))
        })
    }

    fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let (status, said) = self.ask(Method::DELETE, key, Bytes::new()).await?;
            if is_missing(status, &said) { Ok(()) } else { done(status, &said) }
        })
    }
}

/// Whether there is no such piece. A bucket that is not there is another matter: what
/// is in it, wherever it went, is neither missing nor deleted.
fn is_missing(status: StatusCode, said: &[u8]) -> bool {
    status == StatusCode::NOT_FOUND && String::from_utf8_lossy(said).contains("<Code>NoSuchKey</Code>")
}

/// An error and what caused it, down to the connection that was refused.
fn why(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |it| it.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn done(status: StatusCode, said: &[u8]) -> Result<(), StoreError> {
    if status.is_success() {
        return Ok(());
    }
    // Stores say why in a few lines of XML, which hold no secret.
    let text: String = String::from_utf8_lossy(said).chars().filter(|it| !it.is_control()).take(300).collect();
    let text = format!("{status} {text}");
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(StoreError::Away(text));
    }
    Err(StoreError::Refused(text))
}

struct Signed {
    at: String,
    authorization: String,
}

/// Signature version 4 over the address, the host, the time and the body's hash.
fn sign(access: &S3Access, method: &Method, url: &Url, body_hash: &str, now: Timestamp) -> Signed {
    const HEADERS: &str = "host;x-amz-content-sha256;x-amz-date";
    let at = now.strftime("%Y%m%dT%H%M%SZ").to_string();
    let day = now.strftime("%Y%m%d").to_string();
    let host = match url.port() {
        Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
        None => url.host_str().unwrap_or_default().to_owned(),
    };
    let canonical = format!(
        "{method}\n{}\n{}\nhost:{host}\nx-amz-content-sha256:{body_hash}\nx-amz-date:{at}\n\n{HEADERS}\n{body_hash}",
        url.path(),
        url.query().unwrap_or_default()
    );
    let scope = format!("{day}/{}/s3/aws4_request", access.region);
    let text = format!("AWS4-HMAC-SHA256\n{at}\n{scope}\n{}", hex(digest(&SHA256, canonical.as_bytes()).as_ref()));
    let mut key = [b"AWS4", access.secret_key.expose()].concat();
    for part in [day.as_str(), &access.region, "s3", "aws4_request"] {
        key = keyed(&key, part);
    }
    let signature = hex(&keyed(&key, &text));
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={HEADERS}, Signature={signature}",
        access.access_key
    );
    Signed { at, authorization }
}

fn keyed(key: &[u8], text: &str) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes()).as_ref().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example in the description of the signature: a bucket's lifecycle is read.
    #[test]
    fn the_signature_is_the_one_that_its_description_shows() {
        let access = S3Access {
            url: "https://examplebucket.s3.amazonaws.com".parse().unwrap(),
            region: "us-east-1".into(),
            access_key: "AKIAIOSFODNN7EXAMPLE".into(), // secret-scan: allow
            secret_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned().into(), // secret-scan: allow
        };
        let at: Timestamp = "2013-05-24T00:00:00Z".parse().unwrap();
        let url: Url = "https://examplebucket.s3.amazonaws.com/?lifecycle=".parse().unwrap();
        let empty = hex(digest(&SHA256, b"").as_ref());
        let signed = sign(&access, &Method::GET, &url, &empty, at);
        assert_eq!(signed.at, "20130524T000000Z");
        let signature = "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"; // secret-scan: allow
        assert!(signed.authorization.ends_with(signature), "{}", signed.authorization);
    }

    #[test]
    fn only_a_piece_can_be_missing() {
        let said = |code: &str| format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into_bytes();
        assert!(is_missing(StatusCode::NOT_FOUND, &said("NoSuchKey")));
        assert!(!is_missing(StatusCode::NOT_FOUND, &said("NoSuchBucket")));
        assert!(!is_missing(StatusCode::NOT_FOUND, b"<html>not found</html>"), "it may be no store at all");
        assert!(!is_missing(StatusCode::OK, &said("NoSuchKey")));
        let refused = done(StatusCode::NOT_FOUND, &said("NoSuchBucket")).unwrap_err();
        assert!(matches!(&refused, StoreError::Refused(why) if why.contains("NoSuchBucket")), "{refused}");
    }

    #[test]
    fn a_key_stays_below_the_bucket() {
        let url = "https://store.example/bucket/kept/".parse().unwrap();
        let access = S3Access { url, region: "r".into(), access_key: "a".into(), secret_key: "s".to_owned().into() };
        let place = S3::new(access, Clock::default()).place("recording-1/0/7").unwrap();
        assert_eq!(place.as_str(), "https://store.example/bucket/kept/recording-1/0/7");
    }
}
