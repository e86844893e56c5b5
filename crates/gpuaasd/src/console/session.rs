//! A browser's session: the refresh token lies in a cookie that scripts cannot
//! read and that is sent here alone; pages hold only access tokens, in memory.
//! Each request here is passed on to the API's own endpoint, through its gates.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::RawPathParams,
    response::{IntoResponse, Response},
    routing::{delete, get, post},
};
use contract::{Code, sessions::TokenSet};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use serde_json::json;
use tower::ServiceExt;

use crate::control_plane::ControlPlane;
use platform::{
    http::{Arrival, PeerAddress, ProblemBuilder, render},
    policies::settings,
};

const PATH: &str = "/console/session";
// bound: an answer with tokens has about a kilobyte
const ANSWER_BYTES: usize = 64 * 1024;
/// What the API needs to know of the request that is passed on.
const PASSED_ON: [&str; 4] = ["authorization", "x-correlation-id", "traceparent", "x-forwarded-for"];

/// Not part of the API, whose clients keep their tokens themselves: its
/// documents do not describe it.
pub fn router(control_plane: &Arc<ControlPlane>, api: &Router) -> Router {
    let desk = Arc::new(Desk { control_plane: control_plane.clone(), api: api.clone() });
    let (open, oidc, refresh, end) = (desk.clone(), desk.clone(), desk.clone(), desk.clone());
    let mfa = desk.clone();
    Router::new()
        .route("/console/settings", get(move || settings(desk.clone())))
        .route(PATH, post(move |request: Request<Body>| async move { open.open(request, "/v1/sessions").await }))
        .route(
            "/console/session/oidc",
            post(move |request: Request<Body>| async move { oidc.open(request, "/v1/sessions/oidc/finish").await }),
        )
        .route(
            "/console/session/mfa",
            post(move |request: Request<Body>| async move { mfa.open(request, "/v1/sessions/mfa").await }),
        )
        .route(
            "/console/session/refresh",
            post(move |request: Request<Body>| async move { refresh.refresh(request).await }),
        )
        .route(
            "/console/session/{session_id}",
            delete(move |path: RawPathParams, request: Request<Body>| async move { end.end(path, request).await }),
        )
}

/// What a page must know before anybody is signed in.
async fn settings(desk: Arc<Desk>) -> Response {
    let body = json!({
        "oidc": desk.control_plane.people.oidc.is_some(),
        "mail": desk.control_plane.people.sending.is_some(),
        "self_service": desk.control_plane.policies.flag(settings::SELF_SERVICE),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let headers = [(header::CONTENT_TYPE, contract::JSON), (header::CACHE_CONTROL, "no-store")];
    (headers, body.to_string()).into_response()
}

struct Desk {
    control_plane: Arc<ControlPlane>,
    api: Router,
}

impl Desk {
    async fn open(&self, request: Request<Body>, path: &str) -> Response {
        let (parts, body) = request.into_parts();
        if let Some(refused) = self.foreign(&parts) {
            return refused;
        }
        let answer = self.pass_on(&parts, Method::POST, path, body).await;
        self.keep(answer).await
    }

    async fn refresh(&self, request: Request<Body>) -> Response {
        let (parts, _) = request.into_parts();
        if let Some(refused) = self.foreign(&parts) {
            return refused;
        }
        let token = match &kept(&parts.headers, self.cookie_name())[..] {
            [] => {
                let arrival = Arrival::new(&self.control_plane, &parts);
                let builder = ProblemBuilder::new(Code::Unauthenticated, "you are not signed in");
                return render(builder, &arrival.correlation_id);
            }
            [token] => token.clone(),
            // Another site of the same domain put one there; nobody can say which.
            _ => {
                let arrival = Arrival::new(&self.control_plane, &parts);
                let detail = "the browser sent two session cookies; clear the cookies of this domain and sign in again";
                return self
                    .forget(render(ProblemBuilder::new(Code::Unauthenticated, detail), &arrival.correlation_id));
            }
        };
        let body = Body::from(json!({ "refresh_token": token }).to_string());
        let answer = self.pass_on(&parts, Method::POST, "/v1/sessions/refresh", body).await;
        if answer.status() == StatusCode::UNAUTHORIZED {
            return self.forget(answer);
        }
        self.keep(answer).await
    }

    /// Signs out, and forgets the session here whatever the API says to it.
    async fn end(&self, path: RawPathParams, request: Request<Body>) -> Response {
        let (parts, _) = request.into_parts();
        if let Some(refused) = self.foreign(&parts) {
            return refused;
        }
        let session: String = path.iter().map(|(_, value)| value).filter(|it| is_plain(it)).collect();
        let answer = self.pass_on(&parts, Method::DELETE, &format!("/v1/sessions/{session}"), Body::empty()).await;
        self.forget(answer)
    }

    /// Refuses what another site's page sent. Its requests come without the
    /// cookie, which is `SameSite=Strict`; this holds where a browser errs.
    fn foreign(&self, parts: &http::request::Parts) -> Option<Response> {
        if is_of_this_site(parts) {
            return None;
        }
        let arrival = Arrival::new(&self.control_plane, parts);
        let builder =
            ProblemBuilder::new(Code::Forbidden, "the console's session only works on the console's own pages");
        Some(render(builder, &arrival.correlation_id))
    }

    async fn pass_on(&self, parts: &http::request::Parts, method: Method, path: &str, body: Body) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        for name in PASSED_ON {
            for value in parts.headers.get_all(name) {
                request = request.header(name, value);
            }
        }
        if let Some(peer) = parts.extensions.get::<PeerAddress>() {
            request = request.extension(*peer);
        }
        let request = request.header(header::CONTENT_TYPE, contract::JSON).body(body);
        let request = request.expect("a known path and received headers");
        let Ok(answer) = self.api.clone().oneshot(request).await;
        answer
    }

    /// Moves the refresh token of an answer into the cookie.
    async fn keep(&self, answer: Response) -> Response {
        if !answer.status().is_success() {
            return answer;
        }
        let (mut parts, body) = answer.into_parts();
        let tokens = match Limited::new(body, ANSWER_BYTES).collect().await {
            Ok(whole) => serde_json::from_slice::<TokenSet>(&whole.to_bytes()).ok(),
            Err(_) => None,
        };
        let tokens = tokens.expect("the API responds as its contract defines");
        let left = tokens.refresh_expires_at.as_second() - self.control_plane.db.clock.estimate().as_second();
        let cookie = self.cookie(tokens.refresh_token.expose(), left.max(0));
        parts.headers.insert(header::SET_COOKIE, cookie);
        parts.headers.remove(header::CONTENT_LENGTH);
        let body = json!({
            "access_token": tokens.access_token.expose(),
            "access_expires_at": tokens.access_expires_at,
            "session_id": tokens.session_id,
            "user_id": tokens.user_id,
        });
        Response::from_parts(parts, Body::from(body.to_string()))
    }

    fn forget(&self, mut answer: Response) -> Response {
        answer.headers_mut().insert(header::SET_COOKIE, self.cookie("", 0));
        answer
    }

    /// Where people come over TLS, the cookie never travels without it.
    fn is_secure(&self) -> bool {
        self.control_plane.config.identity.issuer.starts_with("https:")
    }

    /// Browsers take a cookie of that prefix from this very host alone, over TLS, for
    /// all of its paths: no other site of the domain can set it.
    fn cookie_name(&self) -> &'static str {
        if self.is_secure() { "__Host-gpuaas_refresh" } else { "gpuaas_refresh" }
    }

    fn cookie(&self, token: &str, seconds: i64) -> HeaderValue {
        let secure = if self.is_secure() { "; Secure" } else { "" };
        let name = self.cookie_name();
        let text = format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
        HeaderValue::from_str(&text).expect("tokens are plain text")
    }
}

/// Every cookie of that name.
fn kept(headers: &HeaderMap, name: &str) -> Vec<String> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|it| it.to_str().ok());
    let pairs = cookies.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    pairs.filter(|(it, token)| *it == name && !token.is_empty()).map(|(_, token)| token.to_owned()).collect()
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
}

/// Browsers say where a request comes from. Programs do not, and have no
/// cookie that anybody else could make them send.
fn is_of_this_site(parts: &http::request::Parts) -> bool {
    let said = |name: &str| parts.headers.get(name).map(|it| it.to_str().unwrap_or("unreadable"));
    if let Some(site) = said("sec-fetch-site") {
        return site == "same-origin";
    }
    let Some(origin) = said("origin") else { return true };
    let host = said("host").or_else(|| parts.uri.authority().map(|it| it.as_str()));
    let origin = origin.split_once("://").map(|(_, rest)| rest);
    origin.is_some() && origin == host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn comes(headers: &[(&str, &str)]) -> bool {
        let mut request = Request::post(PATH);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        is_of_this_site(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn only_pages_of_this_site_and_programs_may_use_the_session() {
        assert!(comes(&[]));
        assert!(comes(&[("sec-fetch-site", "same-origin")]));
        assert!(comes(&[("origin", "https://gpu.example.com"), ("host", "gpu.example.com")]));
        assert!(!comes(&[("sec-fetch-site", "same-site")]));
        assert!(!comes(&[("sec-fetch-site", "cross-site")]));
        assert!(!comes(&[("sec-fetch-site", "none")]));
        assert!(!comes(&[("origin", "https://evil.example.com"), ("host", "gpu.example.com")]));
        assert!(!comes(&[("origin", "null"), ("host", "gpu.example.com")]));
        let lies = [("sec-fetch-site", "cross-site"), ("origin", "https://a.example"), ("host", "a.example")];
        assert!(!comes(&lies), "what the browser says counts first");
    }

    #[test]
    fn the_cookie_is_found_among_others() {
        let headers = |text: &str| HeaderMap::from_iter([(header::COOKIE, text.parse().unwrap())]);
        assert_eq!(kept(&headers("a=b; gpuaas_refresh=gpr_1; c=d"), "gpuaas_refresh"), ["gpr_1"]);
        assert_eq!(kept(&headers("gpuaas_refresh=1; gpuaas_refresh=2"), "gpuaas_refresh"), ["1", "2"]);
        for none in ["xgpuaas_refresh=gpr_1", "gpuaas_refresh=", "a=b"] {
            assert!(kept(&headers(none), "gpuaas_refresh").is_empty(), "{none}");
        }
        assert!(kept(&HeaderMap::new(), "gpuaas_refresh").is_empty());
    }
}
