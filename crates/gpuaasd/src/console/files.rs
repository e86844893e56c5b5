//! The console's files. Every address that nothing else answers and that a
//! browser wants to show is a view of the console, which finds its own way.

use std::borrow::Cow;

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use rust_embed::RustEmbed;

use crate::control_plane::ControlPlane;
use fleet::gateways::Door;

/// Debug builds read the folder when they are asked, so that a build of the
/// console needs none of the program.
#[derive(RustEmbed)]
#[folder = "../../console/dist"]
struct Built;

const INDEX: &str = "index.html";
/// Names of files below it change with what they hold.
const HASHED: &str = "assets/";
/// What belongs to programs: an unknown address there is a problem, not a page.
const OF_PROGRAMS: [&str; 4] = ["v1", ".well-known", "console", "unsubscribe"];
/// Forms of a file that are smaller, the best first.
const SMALLER: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// Nothing from elsewhere, no code and no style inside the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      font-src 'self'; manifest-src 'self'; base-uri 'none'; frame-ancestors 'none'";
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <meta name=\"viewport\" content=\"width=device-width\"><title>The console is not built</title>\
    <h1>The console is not built</h1>\
    <p>This binary was built without the console; the API is not affected. Run <code>scripts/console.sh build</code> \
    in the repository, then build <code>gpuaasd</code> again: <code>make dev</code> does both.</p></html>\n";

/// What a request is answered with.
enum FileResponse<'a> {
    File(&'a str),
    /// The page that shows every view.
    Page,
}

/// A file of the console, or the page that shows every view; `None` when the
/// request is not for the console.
pub async fn serve(control_plane: &ControlPlane, parts: &Parts) -> Option<Response> {
    let (response, policy) = match find(parts)? {
        FileResponse::File(name) => (file(name, &parts.headers), policy(&[])),
        FileResponse::Page => (page(&parts.headers), policy(&control_plane.fleet.doors.all(&control_plane.db).await)),
    };
    Some(guarded(response, &policy))
}

fn find(parts: &Parts) -> Option<FileResponse<'_>> {
    if !matches!(parts.method, Method::GET | Method::HEAD) {
        return None;
    }
    let name = parts.uri.path().trim_start_matches('/');
    if !name.is_empty() && name != INDEX && Built::get(&place(name)).is_some() {
        return Some(FileResponse::File(name));
    }
    let first = name.split('/').next().unwrap_or_default();
    if name.starts_with(HASHED) || OF_PROGRAMS.contains(&first) || !wants_page(&parts.headers) {
        return None;
    }
    Some(FileResponse::Page)
}

fn page(asked: &HeaderMap) -> Response {
    match Built::get(&place(INDEX)) {
        Some(_) => file(INDEX, asked),
        None => (StatusCode::SERVICE_UNAVAILABLE, html(), NOT_BUILT).into_response(),
    }
}

/// Besides this server, pages talk to gateways, and send their readers to web services
/// with a ticket in a form. Each web service has an origin of its own.
fn policy(doors: &[Door]) -> String {
    let mut sockets: Vec<&str> = doors.iter().map(|it| it.public_url.as_str()).collect();
    sockets.dedup();
    let sockets: String = sockets.iter().map(|it| format!(" {it}")).collect();
    let web: String = doors.iter().map(|it| format!(" {}", it.web_origin("*"))).collect();
    format!("{POLICY}; connect-src 'self'{sockets}; form-action 'self'{web}")
}

fn place(name: &str) -> String {
    format!("site/{name}")
}

fn wants_page(headers: &HeaderMap) -> bool {
    said(headers, header::ACCEPT).contains("text/html")
}

fn said(headers: &HeaderMap, name: header::HeaderName) -> &str {
    headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default()
}

fn file(name: &str, asked: &HeaderMap) -> Response {
    let accepted = said(asked, header::ACCEPT_ENCODING);
    let smaller = SMALLER.iter().filter(|(encoding, _)| takes(accepted, encoding));
    let mut forms = smaller.map(|(encoding, end)| (Some(*encoding), place(name) + end)).chain([(None, place(name))]);
    let found = forms.find_map(|(encoding, place)| Some((encoding, Built::get(&place)?)));
    let Some((encoding, found)) = found else { return StatusCode::NOT_FOUND.into_response() };
    let tag: String = found.metadata.sha256_hash().iter().take(12).map(|it| format!("{it:02x}")).collect();
    let tag = format!("\"{tag}\"");
    let unchanged = said(asked, header::IF_NONE_MATCH) == tag;
    let mut response = match unchanged {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => bytes(found.data).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media(name)));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    let keep = if name.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(keep));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(header::ETAG, tag);
    }
    if let Some(encoding) = encoding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

fn bytes(data: Cow<'static, [u8]>) -> bytes::Bytes {
    match data {
        Cow::Borrowed(data) => bytes::Bytes::from_static(data),
        Cow::Owned(data) => data.into(),
    }
}

/// Whether an encoding is named, and not with a weight of zero.
fn takes(accepted: &str, encoding: &str) -> bool {
    let mut named = accepted.split(',').map(|it| it.split(';').map(str::trim));
    named.any(|mut it| it.next() == Some(encoding) && !it.any(|weight| weight == "q=0"))
}

fn html() -> [(header::HeaderName, &'static str); 2] {
    [(header::CONTENT_TYPE, media(INDEX)), (header::CACHE_CONTROL, "no-store")]
}

fn media(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

fn guarded(mut response: Response, policy: &str) -> Response {
    // Addresses of gateways are made of letters, digits and dots: it always is a header.
    let policy = HeaderValue::from_str(policy).unwrap_or(HeaderValue::from_static(POLICY));
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoding_is_used_where_it_is_named() {
        assert!(takes("gzip, deflate, br", "br"));
        assert!(takes("br;q=0.5", "br"));
        assert!(!takes("br;q=0, gzip", "br"));
        assert!(!takes("brotli", "br"));
        assert!(!takes("", "gzip"));
    }

    #[test]
    fn the_policy_allows_nothing_unsafe() {
        let plain = policy(&[]);
        assert!(!plain.contains("unsafe") && !plain.contains('*') && !plain.contains("http"));
        assert!(plain.ends_with("; connect-src 'self'; form-action 'self'"));
    }

    #[test]
    fn content_policy_allows_gateways_exactly_and_forms_to_their_web_services() {
        let door = |url: &str, web: &str| Door { public_url: url.into(), web_domain: web.into() };
        let policy = policy(&[
            door("ws://127.0.0.1:9443", "web.localhost"),
            door("wss://gw.example.com", "a.example.net"),
            door("wss://gw.example.com", "b.example.net"),
        ]);
        assert!(policy.contains("; connect-src 'self' ws://127.0.0.1:9443 wss://gw.example.com; "), "{policy}");
        let forms = "form-action 'self' http://*.web.localhost:9443 https://*.a.example.net https://*.b.example.net";
        assert!(policy.ends_with(forms) && !policy.contains("unsafe"), "{policy}");
    }

    #[test]
    fn only_what_a_browser_would_show_is_a_page() {
        let asked = |path: &str, accept: &'static str| {
            let request = http::Request::get(path).header(header::ACCEPT, accept).body(()).unwrap();
            find(&request.into_parts().0).is_some()
        };
        assert!(asked("/", "text/html,*/*"));
        assert!(asked("/allocations/alloc-1", "text/html"));
        assert!(!asked("/allocations/alloc-1", "application/json"));
        for path in ["/v1/nowhere", "/v1", "/.well-known/nowhere", "/assets/none.js", "/console/session"] {
            assert!(!asked(path, "text/html"), "{path}");
        }
        assert!(asked("/v1-guide", "text/html"));
    }
}
