//! Reading a request within limits: path, query and body into contract types.

use axum::body::Body;
use bytes::Bytes;
use contract::{Code, Payload, is_nothing};
use http::{HeaderMap, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde_json::{Map, Value};

use super::failure::{Failure, Trouble};

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

pub fn headers_within(headers: &HeaderMap, uri: &Uri, limits: &ParseLimits) -> Result<(), Trouble> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if headers.len() > limits.headers || bytes > limits.header_bytes {
        let detail = format!("at most {} headers and {} bytes of them are taken", limits.headers, limits.header_bytes);
        return Err(Trouble::new(Code::HeadersTooLarge, detail));
    }
    if uri.query().map_or(0, str::len) > limits.query_bytes {
        return Err(Trouble::new(
            Code::HeadersTooLarge,
            format!("at most {} bytes of query are taken", limits.query_bytes),
        ));
    }
    Ok(())
}

pub fn path<P: Payload>(params: &PathParams) -> Result<P, Failure> {
    let fields: Map<String, Value> =
        params.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
    if params.iter().any(|(_, value)| value.contains('\0')) {
        return Err(Failure::new(Code::InvalidPath, "the address contains a NUL character"));
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
    Ok(parsed.0)
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
    let bytes = read(body, limits.body_bytes).await?;
    if bytes.is_empty() && is_nothing::<B>() {
        return typed(Value::Object(Map::new()));
    }
    if !is_json(headers) {
        return Err(Failure::new(Code::UnsupportedMediaType, "the body must come as `application/json`"));
    }
    if bytes.is_empty() {
        return Err(Failure::new(Code::InvalidBody, "a JSON body is needed"));
    }
    depth_within(&bytes, limits.depth)?;
    let value: Value = serde_json::from_slice(&bytes).map_err(|error| Failure::new(Code::InvalidBody, error))?;
    if !value.is_object() {
        return Err(Failure::new(Code::InvalidBody, "the body must be a JSON object"));
    }
    if contains_nul(&value) {
        return Err(Failure::new(Code::InvalidBody, "a text contains a NUL character"));
    }
    typed(value)
}

fn typed<B: Payload>(value: Value) -> Result<Parsed<B>, Failure> {
    let canonical = value.to_string();
    let body = serde_json::from_value(value).map_err(|error| Failure::new(Code::InvalidBody, error))?;
    Ok(Parsed { body, canonical })
}

async fn read(body: Body, limit: usize) -> Result<Bytes, Failure> {
    match Limited::new(body, limit).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            Err(Failure::new(Code::PayloadTooLarge, format!("the body may have at most {limit} bytes")))
        }
        Err(_) => Err(Failure::new(Code::InvalidBody, "the body ended before it was complete")),
    }
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

fn contains_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(contains_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || contains_nul(value)),
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
        assert!(contains_nul(&value));
        assert!(!contains_nul(&serde_json::json!({ "a": "\\u0000" })));
    }
}
