//! Reading a request within limits: path, query and body into contract types.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use contract::{Code, Payload, Timestamp, is_nothing};
use http::{HeaderMap, Uri, header};
use http_body_util::BodyExt;
use serde_json::{Map, Value};

use super::{
    failure::{Failure, ProblemBuilder},
    json,
};

/// The beginning of the year 4713 BC. The database's calendar begins 38 days earlier, so
/// that it knows what is derived from a time, too, as the beginning of its month.
const EARLIEST: Timestamp = Timestamp::constant(-210_866_803_200 + 38 * 86_400, 0);
// bound: what is read of a body that is too large, so that its sender can read the answer
const DRAIN_BYTES: usize = 16 * 1024 * 1024;
// bound: how long that may take
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy)]
pub struct ParseLimits {
    pub body_bytes: usize,
    pub depth: usize,
    pub query_bytes: usize,
    pub headers: usize,
    pub header_bytes: usize,
}

/// Captured path parameters, by name.
pub type PathParams = Vec<(String, String)>;

pub fn headers_within(headers: &HeaderMap, uri: &Uri, limits: &ParseLimits) -> Result<(), ProblemBuilder> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > limits.headers || bytes > limits.header_bytes {
        let detail = format!(
            "a request may have at most {} headers with {} bytes in total",
            limits.headers, limits.header_bytes
        );
        return Err(ProblemBuilder::new(Code::HeadersTooLarge, detail));
    }
    if uri.query().map_or(0, str::len) > limits.query_bytes {
        return Err(ProblemBuilder::new(
            Code::HeadersTooLarge,
            format!("the query may have at most {} bytes", limits.query_bytes),
        ));
    }
    Ok(())
}

pub fn path<P: Payload>(params: &PathParams) -> Result<P, Failure> {
    let fields: Map<String, Value> =
        params.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    if params.iter().any(|(_, value)| value.contains('\0')) {
        return Err(Failure::new(Code::InvalidPath, "the URL contains a NUL character"));
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| Failure::new(Code::InvalidPath, error))
}

pub fn query<Q: Payload>(uri: &Uri) -> Result<Q, Failure> {
    let parsed = axum::extract::Query::<Q>::try_from_uri(uri)
        .map_err(|error| Failure::new(Code::InvalidQuery, deepest(&error)))?;
    // Percent-decoded NUL would reach the database, which refuses it.
    if uri.query().is_some_and(|it| it.contains("%00")) {
        return Err(Failure::new(Code::InvalidQuery, "the query contains a NUL character"));
    }
    let mut pairs = url::form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes());
    if let Some((name, _)) = pairs.find(|(_, value)| is_too_early(value)) {
        return Err(too_early(Code::InvalidQuery).at(name).into());
    }
    Ok(parsed.0)
}

/// Whether it is a time that the database cannot store.
fn is_too_early(text: &str) -> bool {
    text.starts_with('-') && text.parse::<Timestamp>().is_ok_and(|it| it < EARLIEST)
}

fn too_early(code: Code) -> ProblemBuilder {
    ProblemBuilder::new(code, "the time is before 4713 BC, the earliest that is supported")
}

fn deepest(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

/// A body as parsed, with its canonical text for the idempotency hash.
pub struct Parsed<B> {
    pub body: B,
    pub canonical: String,
}

pub async fn body<B: Payload>(headers: &HeaderMap, body: Body, limits: &ParseLimits) -> Result<Parsed<B>, Failure> {
    let bytes = read(headers, body, limits.body_bytes).await?;
    if bytes.is_empty() && is_nothing::<B>() {
        return typed(Value::Object(Map::new()));
    }
    if !is_json(headers) {
        return Err(Failure::new(Code::UnsupportedMediaType, "the body must be sent as `application/json`"));
    }
    if bytes.is_empty() {
        return Err(Failure::new(Code::InvalidBody, "a JSON body is required"));
    }
    depth_within(&bytes, limits.depth)?;
    let value = json::read(&bytes).map_err(|error| Failure::new(Code::InvalidBody, error))?;
    if !value.is_object() {
        return Err(Failure::new(Code::InvalidBody, "the body must be a JSON object"));
    }
    if any_text(&value, &|it| it.contains('\0')) {
        return Err(Failure::new(Code::InvalidBody, "a text contains a NUL character"));
    }
    if any_text(&value, &is_too_early) {
        return Err(too_early(Code::InvalidBody).into());
    }
    typed(value)
}

fn typed<B: Payload>(value: Value) -> Result<Parsed<B>, Failure> {
    let canonical = value.to_string();
    let body = serde_json::from_value(value).map_err(|error| Failure::new(Code::InvalidBody, error))?;
    Ok(Parsed { body, canonical })
}

async fn read(headers: &HeaderMap, body: Body, limit: usize) -> Result<Vec<u8>, Failure> {
    let too_large = || Failure::new(Code::PayloadTooLarge, format!("the body may have at most {limit} bytes"));
    if is_asked_for(headers) && said_length(headers).is_some_and(|it| it > limit) {
        return Err(too_large());
    }
    collect(body, limit).await.map_err(|unread| match unread {
        Unread::TooLarge => too_large(),
        Unread::Cut => Failure::new(Code::InvalidBody, "the body ended before it was complete"),
    })
}

/// Why a body was not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLarge,
    Cut,
}

/// Reads a body of at most so many bytes. Some of what is too much is read too:
/// a connection that closes while its client still sends loses the answer.
pub async fn collect<B>(mut body: B, limit: usize) -> Result<Vec<u8>, Unread>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
{
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Unread::Cut)?.into_data() else { continue };
        if bytes.len() + data.len() > limit {
            let read = bytes.len() + data.len();
            drop(bytes);
            let _ = tokio::time::timeout(DRAIN_PATIENCE, drain(&mut body, DRAIN_BYTES.saturating_sub(read))).await;
            return Err(Unread::TooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes)
}

/// Reads what is left, up to so many bytes, and keeps nothing.
async fn drain<B: hyper::body::Body<Data = Bytes> + Unpin>(body: &mut B, mut left: usize) {
    while let Some(Ok(frame)) = body.frame().await {
        match left.checked_sub(frame.data_ref().map_or(0, |it| it.len())) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

/// Whether the client sends the body only once it was asked to.
fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.get(header::EXPECT).is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

fn said_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|it| it.to_str().ok())
        .map(|it| it.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .is_some_and(|it| it == "application/json")
}

/// Counts brackets outside strings, before any recursive parser sees the text.
fn depth_within(bytes: &[u8], limit: usize) -> Result<(), Failure> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > limit {
                    return Err(Failure::new(
                        Code::InvalidBody,
                        format!("the body is nested deeper than {limit} levels"),
                    ));
                }
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => (),
        }
    }
    Ok(())
}

/// Whether any text in it, names included, is such a one.
fn any_text(value: &Value, is_one: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_one(text),
        Value::Array(items) => items.iter().any(|it| any_text(it, is_one)),
        Value::Object(fields) => fields.iter().any(|(name, value)| is_one(name) || any_text(value, is_one)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_is_counted_outside_strings_only() {
        assert!(depth_within(br#"{"a":"[[[[\"[["}"#, 1).is_ok());
        assert!(depth_within(b"[[]]", 1).is_err());
        assert!(depth_within(&b"[".repeat(100_000), 32).is_err());
    }

    #[test]
    fn nul_is_found_anywhere() {
        let value = serde_json::json!({ "a": [{ "b\0": 1 }] });
        let is_nul = |it: &str| it.contains('\0');
        assert!(any_text(&value, &is_nul));
        assert!(!any_text(&serde_json::json!({ "a": "\\u0000" }), &is_nul));
    }

    #[test]
    fn times_before_the_databases_calendar_are_found() {
        assert!(is_too_early("-009000-01-01T00:00:00Z") && is_too_early("-004713-12-31T23:59:59Z"));
        assert!(!is_too_early("-004712-01-01T00:00:00Z") && !is_too_early("2026-01-01T00:00:00Z"));
        assert!(!is_too_early("-a name") && !is_too_early(""));
    }
}
