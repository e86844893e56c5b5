//! The gateway's own pages at a web service's address. They load nothing and run nothing.

use super::WebOrigin;
use crate::public::{Body, full};
use http::{HeaderValue, Response, StatusCode, header};

pub fn sign_in(web: &WebOrigin) -> Response<Body> {
    let command = format!("gpuaas open {} {}", web.allocation, web.port);
    let text =
        format!("You are not signed in to this web service. Run <code>{command}</code>, or open it from the console.");
    page(StatusCode::UNAUTHORIZED, "Sign in", &text)
}

pub fn not_found() -> Response<Body> {
    page(StatusCode::NOT_FOUND, "Not found", "Nothing is served at this address.")
}

/// A page of another origin asked.
pub fn foreign() -> Response<Body> {
    page(StatusCode::FORBIDDEN, "Request blocked", "The request came from another site. Open the web service directly.")
}

pub fn bad_request() -> Response<Body> {
    page(StatusCode::BAD_REQUEST, "Bad request", "The request is malformed. Open the web service again.")
}

pub fn too_many() -> Response<Body> {
    page(
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests",
        "Too many concurrent requests, or too many invalid tickets. Try again in a minute.",
    )
}

pub fn away() -> Response<Body> {
    page(
        StatusCode::SERVICE_UNAVAILABLE,
        "Service unavailable",
        "The control plane does not respond. Try again in a moment.",
    )
}

/// The host or the web service does not answer.
pub fn unreachable(port: u16) -> Response<Body> {
    let text = format!("No service is listening on port {port}. Start the web service on that port and try again.");
    page(StatusCode::BAD_GATEWAY, "Web service unavailable", &text)
}

pub fn slow() -> Response<Body> {
    page(
        StatusCode::GATEWAY_TIMEOUT,
        "Gateway timeout",
        "The web service did not respond in time. Check its log and try again.",
    )
}

pub fn moved(to: &'static str) -> Response<Body> {
    let mut response = page(StatusCode::SEE_OTHER, "Signed in", "You are signed in.");
    response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(to));
    response
}

/// What stands in `text` is ours, or was read as an id.
fn page(status: StatusCode, title: &str, text: &str) -> Response<Body> {
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <body><main><h1>{title}</h1><p>{text}</p></main></body></html>\n"
    );
    let mut response = Response::new(full(html));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"),
    );
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
