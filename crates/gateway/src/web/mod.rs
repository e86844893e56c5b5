//! Web services: what listens in an allocation, reached by a browser at a host name
//! of its own, `<port>--<allocation>.<domain>`. One origin for each allocation and
//! port: a path would be no boundary between them.

mod cookies;
pub mod name;
mod origin;
mod pages;
mod proxy;
mod visits;

pub use name::{Named, WebOrigin};
pub use visits::Visits;

use crate::public::{Body, Visitor, exchange_for_web, refused};
use crate::{Gateway, secret};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use protocol::agent_binary::sha256_hex;
use std::sync::Arc;
use std::time::Duration;

/// Paths below it are the gateway's own, in every web service.
const OWN: &str = "/.gpuaas/";
const ENTER: &str = "/.gpuaas/enter";
const MAX_FORM: usize = 4 * 1024; // bound: one field with a ticket
const FORM_TIME: Duration = Duration::from_secs(10); // bound: a form of one field comes at once

/// Answers a request whose host name is a web service's.
pub async fn answer(
    gateway: Arc<Gateway>,
    visitor: Visitor,
    web: WebOrigin,
    request: Request<Incoming>,
) -> Response<Body> {
    let path = request.uri().path();
    if path == ENTER && request.method() == Method::POST {
        return enter(&gateway, &visitor, &web, request).await;
    }
    if path.starts_with(OWN) || path == OWN.trim_end_matches('/') {
        return pages::not_found();
    }
    if origin::is_foreign(&request, &web, gateway.settings.is_web_secure) {
        refused("foreign_origin");
        return pages::foreign();
    }
    let Some(cookie) = cookies::find(request.headers(), gateway.settings.is_web_secure) else {
        refused("no_cookie");
        return pages::sign_in(&web);
    };
    let visit = match visits::find(&gateway, &visitor, &web, &sha256_hex(cookie.as_bytes())).await {
        Ok(visit) => visit,
        Err(visits::Refused::Unknown) => {
            refused("cookie");
            return pages::sign_in(&web);
        }
        Err(visits::Refused::Away) => {
            refused("control_away");
            return pages::away();
        }
        Err(visits::Refused::TooMany) => {
            refused("too_many");
            return pages::too_many();
        }
    };
    visitor.vouch(&visit.vouched);
    proxy::pass(&gateway, &visitor, &web, &visit, request).await
}

/// Spends a ticket and gives the browser a cookie for it.
async fn enter(
    gateway: &Arc<Gateway>,
    visitor: &Visitor,
    web: &WebOrigin,
    request: Request<Incoming>,
) -> Response<Body> {
    let body = Limited::new(request.into_body(), MAX_FORM).collect();
    let Ok(Ok(body)) = tokio::time::timeout(FORM_TIME, body).await else { return pages::bad_request() };
    let body = body.to_bytes();
    let ticket = url::form_urlencoded::parse(&body).find(|(name, _)| name == "ticket").map(|(_, value)| value);
    let Some(ticket) = ticket else { return pages::bad_request() };
    let cookie = secret();
    let hash = sha256_hex(cookie.as_bytes());
    if let Err(farewell) = exchange_for_web(gateway, visitor, &ticket, &hash).await {
        refused(farewell.reason);
        return match farewell.code {
            4503 => pages::away(),
            4429 => pages::too_many(),
            _ => pages::sign_in(web),
        };
    }
    // The ticket may have been for another web service: its cookie is of no use here.
    match visits::find(gateway, visitor, web, &hash).await {
        Ok(_) => {
            let mut response = pages::moved("/");
            if let Ok(value) = HeaderValue::from_str(&cookies::set(&cookie, gateway.settings.is_web_secure)) {
                response.headers_mut().insert(header::SET_COOKIE, value);
            }
            *response.status_mut() = StatusCode::SEE_OTHER;
            response
        }
        Err(visits::Refused::Unknown) => {
            refused("other_web_service");
            pages::sign_in(web)
        }
        Err(visits::Refused::Away) => pages::away(),
        Err(visits::Refused::TooMany) => pages::too_many(),
    }
}
