//! The gateway's own pages at an app's address. They load nothing and run nothing.

use super::AppName;
use crate::public::{Body, full};
use http::{HeaderValue, Response, StatusCode, header};

pub fn sign_in(app: &AppName) -> Response<Body> {
    let command = format!("gpuaas open {} {}", app.allocation, app.port);
    let text = format!("You are not signed in here. Run <code>{command}</code>, or open the app from the console.");
    page(StatusCode::UNAUTHORIZED, "Sign in", &text)
}

pub fn not_found() -> Response<Body> {
    page(StatusCode::NOT_FOUND, "Not found", "Nothing is served at this address.")
}

/// A page of another origin asked.
pub fn foreign() -> Response<Body> {
    page(StatusCode::FORBIDDEN, "Not from there", "Another site asked for this. Open the app itself.")
}

pub fn bad_request() -> Response<Body> {
    page(StatusCode::BAD_REQUEST, "Not understood", "The request could not be read. Open the app again.")
}

pub fn too_many() -> Response<Body> {
    page(
        StatusCode::TOO_MANY_REQUESTS,
        "Too many",
        "Too many at once, or too many wrong tickets. Try again in a minute.",
    )
}

pub fn away() -> Response<Body> {
    page(StatusCode::SERVICE_UNAVAILABLE, "Away", "The control plane does not answer. Try again in a moment.")
}

/// The host or the app does not answer.
pub fn unreachable(port: u16) -> Response<Body> {
    let text = format!("Nothing answers on port {port}. Start the app, and let it listen on that port.");
    page(StatusCode::BAD_GATEWAY, "No app", &text)
}

pub fn slow() -> Response<Body> {
    page(StatusCode::GATEWAY_TIMEOUT, "Too slow", "The app did not answer in time. Look at its log, and try again.")
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
