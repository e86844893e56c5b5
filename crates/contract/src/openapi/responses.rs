//! Responses: the success of an operation and the problems it shares with others.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{Code, EndpointInfo};

const CORRELATION_ID: &str = "x-correlation-id";
const RETRY_AFTER: &str = "Retry-After";

pub(super) fn headers() -> Value {
    json!({
        CORRELATION_ID: {
            "description": "Names this request in logs, audit and events; send it when asking for help.",
            "schema": { "type": "string" },
        },
        RETRY_AFTER: {
            "description": "Seconds to wait before asking again.",
            "schema": { "type": "integer", "minimum": 0 },
        },
    })
}

pub(super) fn success(info: &EndpointInfo, schema: Value) -> Value {
    json!({
        "description": reason(info.success),
        "headers": documented_headers(&[CORRELATION_ID]),
        "content": { info.media: { "schema": schema } },
    })
}

/// A problem response and its name in the document. Operations that can answer
/// the same codes share one.
pub(super) fn problem(codes: &[Code]) -> (String, Value) {
    let mut headers = vec![CORRELATION_ID];
    if codes.iter().any(|it| names_a_time(*it)) {
        headers.push(RETRY_AFTER);
    }
    let names: Vec<&str> = codes.iter().map(|it| it.info().name).collect();
    let meanings: Vec<String> = codes.iter().map(|it| format!("`{}`: {}.", it.info().name, it.info().title)).collect();
    let response = json!({
        "description": meanings.join(" "),
        "headers": documented_headers(&headers),
        "content": {
            "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } },
        },
        "x-codes": names,
    });
    (problem_name(codes), response)
}

pub(super) fn problem_name(codes: &[Code]) -> String {
    let names: Vec<String> = codes.iter().map(|it| format!("{it:?}")).collect();
    names.join("Or")
}

fn names_a_time(code: Code) -> bool {
    matches!(code, Code::TooManyRequests | Code::Unavailable | Code::InProgress)
}

fn documented_headers(names: &[&str]) -> Map<String, Value> {
    names
        .iter()
        .map(|name| {
            let reference = format!("#/components/headers/{name}");
            ((*name).to_owned(), json!({ "$ref": reference }))
        })
        .collect()
}

fn reason(status: u16) -> &'static str {
    StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason()).unwrap_or("Success")
}
